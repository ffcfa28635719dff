import hashlib
import pickle
import subprocess
import sys
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest

from stablebag import BaggedRegressor, Subbagging
from stablebag._wording import GROUPS
from stablebag.resampling import Bags, RowIds
from stablebag.resampling.units import Units, as_row_ids

NAMES = ["ann", "bob", "ann", "eve", "bob", "ann"]


@pytest.fixture
def units():
    return Units.of_groups(pd.Series(NAMES, name="patient_id"), 6)


def test_groups_are_numbered_in_order_of_appearance(units):
    assert units.labels.tolist() == ["ann", "bob", "eve"]
    assert units.of_rows.tolist() == [0, 1, 0, 2, 1, 0]
    assert units.sizes.tolist() == [3, 2, 1]
    assert (len(units), units.n_rows, repr(units)) == (3, 6, "3 groups of 6 rows")
    assert units.names_of_rows.tolist() == NAMES


def test_integer_groups_are_numbered_in_order_of_appearance():
    groups = np.random.default_rng(0).integers(-5, 5, size=50)
    fast, slow = Units.of_groups(groups, 50), Units.of_groups(groups.tolist(), 50)
    assert fast == slow
    assert fast.labels.tolist() == list(dict.fromkeys(groups.tolist()))


def test_rows_of_groups_are_in_table_order_with_repeats(units):
    assert units.rows_of(np.array([1, 0, 1])).tolist() == [1, 4, 0, 2, 5, 1, 4]
    assert units.rows_of(np.array([], dtype=int)).tolist() == []
    rows = units.rows_of_bags(Bags([[2, 0], [], [1, 1]], 3))
    assert [bag.tolist() for bag in rows] == [[3, 0, 2, 5], [], [1, 4, 1, 4]]
    assert rows.n_samples == 6


def test_groups_of_one_row_are_rows_with_ids():
    units, bags = Units.of_groups(["b", "a", "c"], 3), Bags([[2, 0]], 3)
    assert units.are_rows
    assert units.rows_of_bags(bags) is bags
    assert units.ids == RowIds(["b", "a", "c"], 3)


@pytest.mark.parametrize(
    "make", [list, tuple, np.array, pd.Series, pd.Index, pl.Series, lambda g: pd.Series(g, dtype="category")]
)
def test_groups_can_be_any_sequence(make):  # fmt: skip
    assert Units.of_groups(make(NAMES), 6) == Units.of_groups(NAMES, 6)


def test_taking_some_groups_keeps_their_rows_in_order(units):
    some = units.take(np.array([0, 2]))
    assert some.labels.tolist() == ["ann", "eve"]
    assert some.of_rows.tolist() == [0, 0, 1, 0]
    assert some.noun == GROUPS


def test_more_rows_can_join_existing_or_new_groups(units):
    more = units.joined(["zoe", "bob", "zoe"], 3, "learn")
    assert more.labels.tolist() == ["ann", "bob", "eve", "zoe"]
    assert more.of_rows.tolist() == [0, 1, 0, 2, 1, 0, 3, 1, 3]


def test_groups_are_found_by_label(units):
    assert units.positions(["eve", "ann"], "forget").tolist() == [2, 0]
    with pytest.raises(ValueError, match=r"there is no such group\. The groups are 'ann', 'bob', 'eve'\."):
        units.positions(["joe"], "forget")
    with pytest.raises(ValueError, match="one group is listed twice"):
        units.positions(["ann", "ann"], "forget")


def test_rows_of_a_frame_are_found_by_index():
    units = Units(RowIds(None, 3), labels=pd.Index([30, 10, 20]))
    assert units.positions([10], "forget").tolist() == [1]
    assert units.take(np.array([0, 2])).positions([20], "forget").tolist() == [1]
    assert units.describe(1) == "row 10"
    twice = Units(RowIds(None, 3), labels=pd.Index([7, 7, 8]))
    with pytest.raises(ValueError, match=r"two rows have this ID"):
        twice.positions([8], "forget")


def test_classes_lost_finds_classes_of_a_single_group(units):
    assert units.classes_lost(np.array(list("aabcab"))) == {0: np.array([1]), 2: np.array([2])}
    lost = units.classes_lost(np.array(list("abcdbe")))
    assert {unit: classes.tolist() for unit, classes in lost.items()} == {0: [0, 2, 4], 1: [1], 2: [3]}
    assert Units(RowIds(None, 4)).classes_lost(np.array([1, 1, 2, 2])) == {}


def test_units_can_be_pickled(units):
    again = pickle.loads(pickle.dumps(units))
    assert again == units
    assert again.rows_of(np.array([1])).tolist() == [1, 4]
    assert again.noun == units.noun


@pytest.mark.parametrize(("groups", "why"), [
    (["a"] * 6, r"the labels of two or more groups\. Got \"only 'a'\": without this group no row would remain"),
    (NAMES[:5], r"6 group labels, one for each row\. Got 5"),
    ([1.0, np.nan, 2.0, 1.0, 1.0, 2.0], r"row 1 has none\. Drop it, or give it its own group"),
    (["a", None, "b", None, None, None], r"4 rows \(1, 3, 4, \.\.\.\) have none"),
    (pd.Series(["a", pd.NA, "b", "a", "a", "a"]), "row 1 has none"),
    (pd.Series(pd.to_datetime(["2020-01-01", None, "2020-01-02", *["2020-01-01"] * 3])), "row 1 has none"),
    ("abcdef", r"pass the column of a table, for example groups=frame\['patient'\]"),
    (7, "a list with the group of each row"),
    ({1, 2, 3, 4, 5, 6}, "a list with"),
    (dict.fromkeys(range(6)), "a list with"),
    (np.ones((6, 1)), "one-dimensional"),
    ([[1], [2], [3], [1], [2], [3]], "hashable labels"),
    ([True, False] * 3, "labels, not True or False"),
])  # fmt: skip
def test_invalid_groups_raise(groups, why):
    with pytest.raises((TypeError, ValueError), match=rf"'groups' parameter of fit must be .*{why}"):
        Units.of_groups(groups, 6, "fit")


@pytest.mark.parametrize("groups", [
    [1.0, 2.0, 1.0, 2.0, 3.0, 3.0], [-1, 2**63, -1, 2**63, 5, 5], [date(2020, 1, 1)] * 3 + [date(2021, 1, 1)] * 3,
    [("a", 1), ("a", 2)] * 3, np.array(["x", "y"] * 3, dtype=object), pd.Series(pd.date_range("2020", periods=6)),
], ids=str)  # fmt: skip
def test_group_labels_of_many_types_are_accepted(groups):
    units = Units.of_groups(groups, 6)
    assert units.n_rows == 6
    assert units.positions([units.labels[1]], "here").tolist() == [1]


@pytest.mark.parametrize("name", ["patient_id", "row", None, 3])
def test_noun_is_group_whatever_the_column_is_called(name):
    assert Units.of_groups(pd.Series(NAMES, name=name), 6).noun == GROUPS


def test_remaining_groups_of_one_row_are_rows():
    units = Units.of_groups(["a", "a", "b", "c"], 4).take(np.array([1, 2]))
    assert units.are_rows
    assert units == Units.of_groups(["b", "c"], 2)
    assert units.are_groups


def test_fingerprint_identifies_the_grouping():
    one, same, other = (Units.of_groups(list(groups), 4) for groups in ("aabb", "xxyy", "abab"))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert Units.of_groups(list("abcd"), 4).fingerprint is None


def test_dates_beyond_the_range_of_nanoseconds_are_kept():
    from datetime import datetime

    far = [datetime(9999, 12, 31), datetime(1500, 1, 1), datetime(2020, 1, 1), np.datetime64("9999-12-31")]
    units = Units.of_groups(far, 4)
    assert [str(label)[:4] for label in units.labels] == ["9999", "1500", "2020", "9999"]
    assert units.positions([datetime(1500, 1, 1)], "here").tolist() == [1]


def test_pandas_periods_and_intervals_are_accepted():
    periods, bins = pd.period_range("2020", periods=3, freq="M").repeat(2), pd.cut(np.arange(6), 3)
    for groups in (periods, bins):
        assert len(Units.of_groups(groups, 6)) == 3


def test_error_for_a_duplicated_index_suggests_row_ids():
    units = Units(RowIds(None, 3), labels=pd.Index([1, 1, 2]))
    with pytest.raises(
        ValueError, match=r"index of the training frame does not identify the rows.*Fit with row_ids=range\(3\)"
    ):
        units.positions([2], "forget")


def test_empty_groups_raise():
    with pytest.raises(ValueError, match=r"must be the labels of two or more groups. Got 'none'"):
        Units.of_groups([], 0)


# -------------------------------------------------------------------------------------------------------------- row IDs


def test_default_row_ids_are_positions():
    ids = RowIds(None, 4)
    assert (len(ids), ids.is_counted, ids.are_numbers) == (4, True, True)
    assert ids.names.tolist() == ids.codes.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("names", [[0, 1, 2], range(3), np.arange(3, dtype=np.uint8), pd.Index([0, 1, 2])])
def test_explicit_positions_equal_the_default_row_ids(names):
    assert RowIds(names, 3).is_counted
    assert RowIds(names, 3) == RowIds(None, 3)


def test_integer_row_ids_are_kept():
    ids = RowIds([7, 2**62 - 1, 0], 3)
    assert ids.are_numbers
    assert not ids.is_counted
    assert ids.names.tolist() == ids.codes.tolist() == [7, 2**62 - 1, 0]


def test_codes_distinguish_labels_of_different_types():
    ids = RowIds(["1", 1.5, (1,), b"1", "True"], 5)
    assert not ids.are_numbers
    assert len(set(ids.codes.tolist())) == 5
    digest = hashlib.blake2b(b"str:'1'", digest_size=8).digest()
    assert int(ids.codes[0]) == int.from_bytes(digest, "little")


def test_codes_are_the_same_in_every_session():
    names = "['ann', ('b', 2), 2.5]"
    code = f"from stablebag.resampling import RowIds; print(RowIds({names}, 3).codes.tolist())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert other.stdout.strip() == str(RowIds(eval(names), 3).codes.tolist())


def test_numpy_strings_equal_python_strings():
    array = np.array(["ann", "bob"])
    assert RowIds(array, 2) == RowIds(["ann", "bob"], 2) == RowIds(pd.Index(["ann", "bob"]), 2)
    np.testing.assert_array_equal(RowIds(array, 2).codes, RowIds(["ann", "bob"], 2).codes)


def test_positions_are_found_by_row_id():
    assert RowIds(["ann", "bob", "eve"], 3).positions(["eve", "ann"]).tolist() == [2, 0]
    assert RowIds([30, 10, 20], 3).positions(np.array([10, 30])).tolist() == [1, 0]
    assert RowIds(None, 5).positions([4, 0]).tolist() == [4, 0]
    assert RowIds(None, 5).positions([]).tolist() == []


def test_row_ids_can_be_removed_and_added():
    ids = RowIds(["ann", "bob", "eve"], 3)
    assert ids.without(["bob"]) == RowIds(["ann", "eve"], 2)
    assert ids.without(["bob"]).joined(RowIds(["bob"], 1)) == RowIds(["ann", "eve", "bob"], 3)
    assert RowIds(None, 4).without([3]) == RowIds(None, 3)  # still counted
    assert RowIds(None, 4).without([0]).names.tolist() == [1, 2, 3]
    assert ids.take(np.array([2, 0])).names.tolist() == ["eve", "ann"]
    assert ids.names.tolist() == ["ann", "bob", "eve"]


def test_mixed_row_ids_keep_their_types():
    ids = RowIds([1, "a", 2], 3)
    np.testing.assert_array_equal(ids.without(["a"]).codes, ids.codes[[0, 2]])


def test_equality_compares_row_ids_and_their_order():
    assert RowIds(["a", "b"], 2) == RowIds(["a", "b"], 2)
    assert RowIds(["a", "b"], 2) != RowIds(["b", "a"], 2)
    assert RowIds(["a", "b"], 2) != RowIds(["a", "b", "c"], 3)
    assert RowIds([5, 6], 2) != RowIds(None, 2)
    assert RowIds([5, 6], 2) != RowIds(["5", "6"], 2)
    assert RowIds(None, 2) != [0, 1]


def test_changing_returned_names_does_not_change_the_ids():
    labels, numbers = RowIds(["a", "b"], 2), RowIds([5, 6], 2)
    labels.names[0] = "z"
    assert labels.names.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match="read-only"):
        numbers.names[0] = 7
    given = np.array([5, 6])
    ids = RowIds(given, 2)
    given[0] = 9
    assert ids.names.tolist() == [5, 6]


def test_row_ids_can_be_pickled():
    for names in (None, [9, 4], ["a", ("b", 1)]):
        ids = RowIds(names, 2)
        again = pickle.loads(pickle.dumps(ids))
        assert again == ids
        np.testing.assert_array_equal(again.codes, ids.codes)


def test_repr_shows_a_few_row_ids():
    assert repr(RowIds(None, 1000)) == "RowIds: 0, ..., 999"
    assert repr(RowIds(["a", "b"], 2)) == "RowIds: 'a', 'b' (2 rows)"
    assert repr(RowIds([5, 6, 7, 8], 4)) == "RowIds: 5, 6, 7, ... (4 rows)"


def test_row_ids_can_be_the_index_of_a_frame():
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=["ann", "bob"])
    assert as_row_ids("index", frame, 2, "fit") == RowIds(["ann", "bob"], 2)
    pairs = frame.set_index(pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    assert as_row_ids("index", pairs, 2, "fit").names.tolist() == [("a", 1), ("a", 2)]
    assert as_row_ids(None, frame, 2, "fit") == RowIds(None, 2)
    for table, value in ((frame, "names"), (frame.to_numpy(), "index")):
        with pytest.raises(ValueError, match='or "index" with a pandas DataFrame'):
            as_row_ids(value, table, 2, "fit")


def test_dates_are_accepted_but_missing_ones_raise():
    dates = pd.to_datetime(["2024-01-01", "2024-01-02"])
    assert RowIds(dates, 2) == RowIds(dates.to_numpy(), 2)
    with pytest.raises(ValueError, match="row 1 has none"):
        RowIds(pd.DatetimeIndex(["2024-01-01", None]), 2)


BAD = [
    ([3, 1, 3], ValueError, "a unique ID for each row. Got 3: two rows have this ID"),
    (["a", "b", "a"], ValueError, "a unique ID for each row. Got 'a': two rows have this ID"),
    ([True, "a", "b"], TypeError, r"IDs, not True or False. Got True: this looks like a mask"),
    ([0, float(2**60), 2], ValueError, "larger floats cannot represent all integers"),
    ([1, 1.0, "a"], ValueError, "two rows have this ID"),  # equal, so that no one could tell which is meant
    ([0, -1, 2], ValueError, r"integers from 0 to 2\*\*62 - 1, or labels. Got -1"),
    ([0, 2**62, 2], ValueError, r"integers from 0 to 2\*\*62 - 1, or labels. Got 4611686018427387904"),
    (np.array([0, 2**63, 2], dtype=np.uint64), ValueError, "Got 9223372036854775808"),
    ([0, 2**70, 2], ValueError, "Got 1180591620717411303424"),
    (["a", None, "b"], ValueError, "an ID for each row. Got None: row 1 has none"),
    ([0.0, 1.0, float("nan")], ValueError, "an ID for each row. Got nan: row 2 has none"),
    (np.array([0.0, np.nan, 1.0]), ValueError, "an ID for each row. Got nan: row 1 has none"),
    (pd.array([1, None, 2], dtype="Int64"), ValueError, "row 1 has none"),
    ([0, 1], ValueError, "3 row IDs, one for each row. Got 2"),
    ([], ValueError, "3 row IDs, one for each row. Got 0"),
    ([[1], [2], [3]], TypeError, r"hashable labels. Got \[1\]"),
    (np.arange(3)[:, None], ValueError, "one-dimensional. Got 'an array with 2 dimensions'"),
    ([object(), "a", "b"], TypeError, "its repr may differ between sessions"),
    ([frozenset("ab"), "a", "b"], TypeError, "its repr may differ between sessions"),
    ([("a", object()), "a", "b"], TypeError, "its repr may differ between sessions"),
    ([len, "a", "b"], TypeError, "its repr may differ between sessions"),
    ({"a", "b", "c"}, TypeError, "a list of IDs of rows"),
    ({"a": 1, "b": 2, "c": 3}, TypeError, "a list of IDs of rows"),
    (3, TypeError, "a list of IDs of rows. Got 3"),
    ("abc", TypeError, "a list of IDs of rows. Got 'abc'"),
]  # fmt: skip


@pytest.mark.parametrize(("names", "error", "words"), BAD, ids=[str(k) for k in range(len(BAD))])
def test_errors_for_row_ids_give_the_value(names, error, words):
    with pytest.raises(error, match=f"^The 'row_ids' parameter of here must be .*{words}"):
        RowIds(names, 3, "here")


@pytest.mark.parametrize("names", [names for names, *_ in BAD if not isinstance(names, str)], ids=lambda names: "")
def test_a_fit_with_invalid_row_ids_fits_nothing(names):
    X = np.zeros((3, 1))
    with pytest.raises((ValueError, TypeError), match="'row_ids' parameter of BaggedRegressor"):
        (model := BaggedRegressor(n_bags=2)).fit(X, X[:, 0], row_ids=names)
    assert not hasattr(model, "bags_")
    with pytest.raises((ValueError, TypeError), match=r"'row_ids' parameter of Subbagging\.draw"):
        Subbagging(1).resolve(3).draw(2, 0, row_ids=names)


def test_row_ids_of_another_length_raise():
    with pytest.raises(ValueError, match="3 row IDs, one for each row"):
        as_row_ids(RowIds(None, 4), None, 3, "fit")
    with pytest.raises(ValueError, match="3 row IDs, one for each row"):
        Subbagging(1).resolve(3).draw(2, 0, row_ids=RowIds(None, 4))


@pytest.mark.parametrize(("ids", "asked", "error", "words"), [
    (RowIds(None, 3), [3], ValueError, r"IDs of existing rows. Got \[3\]: there is no such row"),
    (RowIds(None, 3), [0, -1], ValueError, r"Got \[-1\]: there is no such row"),
    (RowIds(None, 3), ["0"], ValueError, r"Got \['0'\]: there is no such row"),
    (RowIds(None, 3), [2**70], ValueError, "there is no such row"),
    (RowIds(["0", "1"], 2), [0], ValueError, r"Got \[0\]: there is no such row"),
    (RowIds([5, 9], 2), [5, 7, 6], ValueError, r"Got \[7, 6\]: there is no such row"),
    (RowIds(["a", "b"], 2), ["a", "a"], ValueError, "distinct IDs of rows. .* one row is listed twice"),
    (RowIds(["a", "b"], 2), [None], ValueError, "an ID for each row. Got None"),
    (RowIds(["a", "b"], 2), [[1]], TypeError, "hashable labels"),
    (RowIds(["a", "b"], 2), "a", TypeError, "a list of IDs of rows. Got 'a'"),
    (RowIds(None, 3), 1, TypeError, "a list of IDs of rows. Got 1"),
])  # fmt: skip
def test_unknown_row_ids_raise(ids, asked, error, words):
    with pytest.raises(error, match=words):
        ids.positions(asked, "forget")


def test_added_row_ids_must_be_new():
    with pytest.raises(ValueError, match="Got 2: two rows have this ID"):
        RowIds(None, 3).joined(RowIds([2], 1))
    assert RowIds(None, 3).joined(RowIds(["a"], 1)).names.tolist() == [0, 1, 2, "a"]


def test_integral_floats_are_integers():
    np.testing.assert_array_equal(RowIds([3.0, 1.0], 2).names, [3, 1])
    assert RowIds(None, 5).positions([3.0]).tolist() == [3]


def test_iteration_and_membership_of_row_ids():
    ids = RowIds(["ann", "bob"], 2)
    assert list(ids) == ["ann", "bob"]
    assert ids[1] == "bob"
    assert "ann" in ids
    assert "eve" not in ids
    with pytest.raises(ValueError, match=r"there is no such row \(and 2 more\)\. The rows are 'ann', 'bob'\."):
        ids.positions(["v", "w", "x", "y", "z"])
