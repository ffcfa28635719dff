import pickle
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pytest

from stablebag._wording import GROUPS
from stablebag.resampling import Bags, RowIds
from stablebag.resampling.units import Units

NAMES = ["ann", "bob", "ann", "eve", "bob", "ann"]


@pytest.fixture
def units():
    return Units.of_groups(pd.Series(NAMES, name="patient_id"), 6)


def test_units_are_numbered_as_they_appear(units):
    assert units.labels.tolist() == ["ann", "bob", "eve"]
    assert units.of_rows.tolist() == [0, 1, 0, 2, 1, 0]
    assert units.sizes.tolist() == [3, 2, 1]
    assert (len(units), units.n_rows, repr(units)) == (3, 6, "3 groups of 6 rows")
    assert units.names_of_rows.tolist() == NAMES


def test_whole_numbers_are_numbered_as_they_appear_too():
    groups = np.random.default_rng(0).integers(-5, 5, size=50)
    fast, slow = Units.of_groups(groups, 50), Units.of_groups(groups.tolist(), 50)
    assert fast == slow
    assert fast.labels.tolist() == list(dict.fromkeys(groups.tolist()))


def test_rows_of_units_come_unit_by_unit_in_the_order_of_the_table_with_repeats(units):
    assert units.rows_of(np.array([1, 0, 1])).tolist() == [1, 4, 0, 2, 5, 1, 4]
    assert units.rows_of(np.array([], dtype=int)).tolist() == []
    rows = units.rows_of_bags(Bags([[2, 0], [], [1, 1]], 3))
    assert [bag.tolist() for bag in rows] == [[3, 0, 2, 5], [], [1, 4, 1, 4]]
    assert rows.n_samples == 6


def test_units_of_one_row_each_are_rows_under_their_names():
    units, bags = Units.of_groups(["b", "a", "c"], 3), Bags([[2, 0]], 3)
    assert units.are_rows
    assert units.rows_of_bags(bags) is bags
    assert units.ids == RowIds(["b", "a", "c"], 3)


@pytest.mark.parametrize(
    "make", [list, tuple, np.array, pd.Series, pd.Index, pl.Series, lambda g: pd.Series(g, dtype="category")]
)
def test_any_sequence_names_units(make):  # fmt: skip
    assert Units.of_groups(make(NAMES), 6) == Units.of_groups(NAMES, 6)


def test_some_of_the_units_keep_their_rows_in_order(units):
    some = units.take(np.array([0, 2]))
    assert some.labels.tolist() == ["ann", "eve"]
    assert some.of_rows.tolist() == [0, 0, 1, 0]
    assert some.noun == GROUPS


def test_more_rows_belong_to_units_that_are_there_or_to_new_ones(units):
    more = units.joined(["zoe", "bob", "zoe"], 3, "learn")
    assert more.labels.tolist() == ["ann", "bob", "eve", "zoe"]
    assert more.of_rows.tolist() == [0, 1, 0, 2, 1, 0, 3, 1, 3]


def test_units_are_found_by_what_they_are_called(units):
    assert units.positions(["eve", "ann"], "forget").tolist() == [2, 0]
    with pytest.raises(ValueError, match=r"no group is called so\. Groups are called 'ann', 'bob', 'eve'\."):
        units.positions(["joe"], "forget")
    with pytest.raises(ValueError, match="a patient is named twice"):
        units.positions(["ann", "ann"], "forget")


def test_rows_of_a_frame_are_found_by_its_index():
    units = Units(RowIds(None, 3), labels=pd.Index([30, 10, 20]))
    assert units.positions([10], "forget").tolist() == [1]
    assert units.take(np.array([0, 2])).positions([20], "forget").tolist() == [1]
    assert units.describe(1) == "row 10"
    twice = Units(RowIds(None, 3), labels=pd.Index([7, 7, 8]))
    with pytest.raises(ValueError, match=r"two rows are called so"):
        twice.positions([8], "forget")


def test_classes_that_only_one_unit_has_are_lost_without_it(units):
    assert units.classes_lost(np.array(list("aabcab"))) == {0: np.array([1]), 2: np.array([2])}
    lost = units.classes_lost(np.array(list("abcdbe")))
    assert {unit: classes.tolist() for unit, classes in lost.items()} == {0: [0, 2, 4], 1: [1], 2: [3]}
    assert Units(RowIds(None, 4)).classes_lost(np.array([1, 1, 2, 2])) == {}


def test_units_survive_pickling(units):
    again = pickle.loads(pickle.dumps(units))
    assert again == units
    assert again.rows_of(np.array([1])).tolist() == [1, 4]
    assert again.noun == units.noun


@pytest.mark.parametrize(("groups", "why"), [
    (["a"] * 6, r"names of two units or more\. Got \"only 'a'\": leaving it out leaves no row"),
    (NAMES[:5], r"6 names of units, one for each row\. Got 5"),
    ([1.0, np.nan, 2.0, 1.0, 1.0, 2.0], r"row 1 has none\. Leave it out, or give it a unit of its own"),
    (["a", None, "b", None, None, None], r"4 rows \(1, 3, 4, \.\.\.\) have none"),
    (pd.Series(["a", pd.NA, "b", "a", "a", "a"]), "row 1 has none"),
    (pd.Series(pd.to_datetime(["2020-01-01", None, "2020-01-02", *["2020-01-01"] * 3])), "row 1 has none"),
    ("abcdef", r"take the column of a table: groups=frame\['patient'\]"),
    (7, "a list with the unit of each row"),
    ({1, 2, 3, 4, 5, 6}, "a list with"),
    (dict.fromkeys(range(6)), "a list with"),
    (np.ones((6, 1)), "one-dimensional"),
    ([[1], [2], [3], [1], [2], [3]], "labels that can be hashed"),
    ([True, False] * 3, "names, not True or False"),
])  # fmt: skip
def test_groups_that_name_no_units_are_refused(groups, why):
    with pytest.raises((TypeError, ValueError), match=rf"'groups' parameter of fit must be .*{why}"):
        Units.of_groups(groups, 6, "fit")


@pytest.mark.parametrize("groups", [
    [1.0, 2.0, 1.0, 2.0, 3.0, 3.0], [-1, 2**63, -1, 2**63, 5, 5], [date(2020, 1, 1)] * 3 + [date(2021, 1, 1)] * 3,
    [("a", 1), ("a", 2)] * 3, np.array(["x", "y"] * 3, dtype=object), pd.Series(pd.date_range("2020", periods=6)),
], ids=str)  # fmt: skip
def test_units_have_names_of_many_kinds(groups):
    units = Units.of_groups(groups, 6)
    assert units.n_rows == 6
    assert units.positions([units.labels[1]], "here").tolist() == [1]


@pytest.mark.parametrize("name", ["patient_id", "row", None, 3])
def test_what_is_left_out_is_a_group_whatever_its_column_is_called(name):
    assert Units.of_groups(pd.Series(NAMES, name=name), 6).noun == GROUPS


def test_units_that_have_one_row_each_after_others_are_gone_are_rows():
    units = Units.of_groups(["a", "a", "b", "c"], 4).take(np.array([1, 2]))
    assert units.are_rows
    assert units == Units.of_groups(["b", "c"], 2)
    assert units.are_groups


def test_which_rows_belong_together_has_a_fingerprint():
    one, same, other = (Units.of_groups(list(groups), 4) for groups in ("aabb", "xxyy", "abab"))
    assert one.fingerprint == same.fingerprint != other.fingerprint
    assert Units.of_groups(list("abcd"), 4).fingerprint is None


def test_years_that_nanoseconds_do_not_reach_are_kept():
    from datetime import datetime

    far = [datetime(9999, 12, 31), datetime(1500, 1, 1), datetime(2020, 1, 1), np.datetime64("9999-12-31")]
    units = Units.of_groups(far, 4)
    assert [str(label)[:4] for label in units.labels] == ["9999", "1500", "2020", "9999"]
    assert units.positions([datetime(1500, 1, 1)], "here").tolist() == [1]


def test_periods_and_intervals_are_names():
    periods, bins = pd.period_range("2020", periods=3, freq="M").repeat(2), pd.cut(np.arange(6), 3)
    for groups in (periods, bins):
        assert len(Units.of_groups(groups, 6)) == 3


def test_rows_that_the_index_cannot_tell_apart_are_told_how_to_be_named():
    units = Units(RowIds(None, 3), labels=pd.Index([1, 1, 2]))
    with pytest.raises(ValueError, match=r"cannot be told apart by the index.*Fit with row_ids=range\(3\)"):
        units.positions([2], "forget")


def test_no_rows_are_no_units():
    with pytest.raises(ValueError, match=r"must be the names of two units or more. Got 'none'"):
        Units.of_groups([], 0)
