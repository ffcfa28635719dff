import pickle

import numpy as np
import pandas as pd
import pytest

from stablebag.resampling.unequal import Partition


def parts(values):
    return Partition.of(values, len(values), "strata", "fit")


def test_labels_of_any_kind_tell_rows_apart():
    for values in (["b", "a", "b"], np.array([2, 1, 2]), pd.Series([True, False, True]), pd.Categorical(list("yxy"))):
        found = parts(values)
        assert found.codes.tolist() == [1, 0, 1]
        assert found.sizes.tolist() == [1, 2]
        assert [rows.tolist() for rows in found.members] == [[1], [0, 2]]
    assert parts(np.array([1, "a", 1], dtype=object)).codes.tolist() == [0, 1, 0]  # of two kinds: as they appear
    dates = parts(np.array(["2026-01-02", "2026-01-01"], dtype="datetime64[D]"))
    assert dates.labels[0] == np.datetime64("2026-01-01")


@pytest.mark.parametrize("values", [
    [1.0, np.nan, 2.0], ["a", None, "b"], pd.Series(["a", pd.NA, "b"]),
    np.array(["2026", "NaT", "2025"], "datetime64[Y]"),
])  # fmt: skip
def test_a_missing_label_is_told_by_its_row(values):
    with pytest.raises(ValueError, match=r"The 'strata' parameter of fit .* row 1 has none. Give such rows a label"):
        parts(values)


def test_what_is_not_one_label_for_each_row_is_refused():
    with pytest.raises(ValueError, match=r"must be 4 labels, one for each row. Got 3: .* give them to fit"):
        Partition.of(list("aab"), 4, "strata", "fit")
    with pytest.raises(TypeError, match=r"Got 'an array of 2 axes': for several columns, join them"):
        parts(np.zeros((3, 2)))
    with pytest.raises(TypeError, match=r"one label for each row. Got 'abc'"):
        Partition.of("abc", 3, "strata", "fit")
    with pytest.raises(TypeError, match="labels that can be hashed"):
        parts(np.array([[1], {}, "a"], dtype=object))


def test_rows_go_and_come():
    whole = parts(list("abab"))
    assert whole.without([1]).values.tolist() == ["a", "a", "b"]
    assert whole.without([1, 3]).labels == ("a",)
    assert whole.joined(parts(["b"])).values.tolist() == list("ababb")


def test_it_is_equal_to_itself_after_a_trip():
    whole = parts(list("abab"))
    assert whole.members
    again = pickle.loads(pickle.dumps(whole))
    assert again == whole
    assert whole != parts(list("abba"))
    assert whole != "abab"
    assert repr(whole) == "<4 rows: ['a', 'b']>"
