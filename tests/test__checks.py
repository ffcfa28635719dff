import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from stablebag._checks import (
    as_array,
    as_positions,
    as_reals,
    as_share,
    check_bags,
    check_choice,
    check_delta,
    check_epsilon,
    check_flag,
    check_integer,
    check_jobs,
    check_real,
    check_samples,
    distinct,
    hold_read_only,
    is_missing,
    refuse_format,
    refuse_masked,
    refuse_type,
    refuse_value,
    shown,
    whole_rows,
)


def test_error_names_the_parameter_the_expected_value_the_actual_value_and_the_way_out():
    error = refuse_value("n_bags", "plan", "an integer >= 1", 0, "an average needs one. Use 10.")
    assert str(error) == (
        "The 'n_bags' parameter of plan must be an integer >= 1. Got 0: an average needs one. Use 10."
    )
    assert isinstance(error, ValueError)
    short = refuse_type("X", "fit", "an array", "x" * 1000)
    assert isinstance(short, TypeError)
    assert len(str(short)) < 100  # a long value is cut
    assert str(short).endswith(" instead.")


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_integers_of_any_type_become_ints(value):
    assert type(check_integer(value, "k", "f", minimum=3)) is int


@pytest.mark.parametrize(("value", "error"), [
    (True, TypeError), (3.0, TypeError), ("3", TypeError), (None, TypeError), (np.array([3]), TypeError),
    (2, ValueError),
])  # fmt: skip
def test_check_integer_rejects_other_types_and_too_small_values(value, error):
    with pytest.raises(error, match="'k' parameter of f must be an integer >= 3"):
        check_integer(value, "k", "f", minimum=3)


@pytest.mark.parametrize(("value", "options"), [
    (0, {}), (1.0, {"high": 1.0}), (math.inf, {}), (np.float32(0.5), {}), (Fraction(1, 2), {}),
    (1e-300, {"open_low": True}),
])  # fmt: skip
def test_numbers_inside_the_interval_become_floats(value, options):
    checked = check_real(value, "e", "f", **options)
    assert type(checked) is float
    assert checked == value


@pytest.mark.parametrize(("value", "options", "interval"), [
    (-1e-300, {}, r"\[0, inf\]"), (0.0, {"open_low": True}, r"\(0, inf\]"), (math.inf, {"finite": True}, r"\[0, inf\)"),
    (math.nan, {}, r"\[0, inf\]"), (1.1, {"high": 1.0}, r"\[0, 1\]"),
])  # fmt: skip
def test_check_real_rejects_nan_and_numbers_outside_the_interval(value, options, interval):
    with pytest.raises(ValueError, match=f"must be a number in {interval}. Got"):
        check_real(value, "e", "f", **options)


@pytest.mark.parametrize("value", [True, "0.5", None, 1j])
def test_check_real_rejects_other_types(value):
    with pytest.raises(TypeError, match="must be a number in"):
        check_real(value, "e", "f")


def test_errors_explain_what_delta_epsilon_rows_and_bags_mean():
    for check, bad, reason in (
        (check_delta, 5, r"it is a fraction of the training rows\. For 5%, use 0\.05\.$"),
        (check_delta, -1, r"For one row in twenty, use 0\.05\.$"),
        (check_epsilon, -1, "how far a prediction may change"),
        (check_samples, 1, "at least one must remain"),
        (check_bags, 0, "or math.inf for derandomized bagging"),
    ):
        with pytest.raises(ValueError, match=reason):
            check(bad, "f")
    assert check_bags(math.inf, "f") == math.inf
    with pytest.raises(TypeError, match="'n_bags'"):
        check_bags(10.0, "f")


def test_fractions_of_rows_are_exact_when_they_mean_a_whole_number_of_rows():
    for n in (3, 7, 49, 100, 442, 1000):
        for rows in range(n + 1):
            assert as_share(rows / n, n) == Fraction(rows, n)
            assert whole_rows(rows / n, n) == rows
    assert whole_rows(0.0399, 100) == 3
    assert whole_rows(np.nextafter(0.04, 0), 100) == 3


def test_arrays_of_results_are_read_only():
    @dataclass(frozen=True)
    class Measured:
        values: np.ndarray
        name: str

        def __post_init__(self):
            hold_read_only(self)

    given = np.zeros(3)
    measured = Measured(given, "name")
    with pytest.raises(ValueError, match="read-only"):
        measured.values[0] = 1.0
    given[0] = 1.0  # the caller's own array stays writeable
    assert measured.name == "name"


class BrokenRepr:
    def __repr__(self):
        raise RuntimeError("no words")


def test_any_value_is_shown_on_one_short_line():
    assert shown("a\tb\x1b[31m\u202e") == r"'a\tb\x1b[31m\u202e'"
    assert shown(np.arange(10**6)).isprintable()
    assert len(shown(np.arange(10**6))) < 60
    assert len(shown([[list(range(100))] * 100] * 100)) < 300
    assert shown(BrokenRepr()).startswith("<BrokenRepr ")
    assert shown(10**5000).isprintable()
    assert "\n" not in shown(pd.DataFrame({"a": [1, 2]}))


def test_masked_entries_raise_but_an_empty_mask_does_not():
    refuse_masked(np.ma.masked_array([1.0, 2.0], [False, False]), "X", "f")
    refuse_masked(np.ma.masked_array([1.0, 2.0]), "X", "f")
    with pytest.raises(ValueError, match=r"'X' parameter of f must be without masked entries\. Got 1: .* Drop or fill"):
        refuse_masked(np.ma.masked_array([1.0, 2.0], [True, False]), "X", "f")
    with pytest.raises(ValueError, match="without masked entries"):
        as_array(np.ma.masked_array([1.0], [True]), "X", "f")


@pytest.mark.parametrize("value", [
    [1, 2], (1, 2), range(1, 3), np.array([1, 2]), pd.Series([1, 2], index=[7, 8]), pl.Series([1, 2]), pd.Index([1, 2]),
])  # fmt: skip
def test_sequences_become_arrays(value):
    np.testing.assert_array_equal(as_array(value, "y", "f"), [1, 2])


@pytest.mark.parametrize(("value", "error"), [
    (iter([1, 2]), TypeError), ({1, 2}, TypeError), ({1: 2}, TypeError), (range(2**40), TypeError),
    ((each for each in (1, 2)), TypeError), ([[1], [2, 3]], ValueError),
])  # fmt: skip
def test_sets_mappings_iterators_and_ragged_lists_are_not_arrays(value, error):
    with pytest.raises(error, match="'y' parameter of f must be an array"):
        as_array(value, "y", "f")


@pytest.mark.parametrize("value", [
    [0, 1], [False, True], np.array([0, 1], np.uint8), np.float32([0, 1]), [Fraction(0), Decimal(1)],
    np.array([0, np.bool_(True)], dtype=object),
])  # fmt: skip
def test_real_numbers_of_any_kind_become_floats(value):
    reals = as_reals(value, "y", "f")
    assert reals.dtype == float
    assert reals.tolist() == [0.0, 1.0]


@pytest.mark.parametrize("value", [
    ["0", "1"], [0, "1"], [1j], [1, None], np.array(["2020-01-01"], "datetime64[D]"), [b"1"], [10**400], [[1], 2],
])  # fmt: skip
def test_as_reals_rejects_strings_dates_complex_and_huge_numbers(value):
    with pytest.raises((TypeError, ValueError), match="'y' parameter of f must be an array of numbers"):
        as_reals(value, "y", "f")


def test_as_reals_accepts_nan():
    assert math.isnan(as_reals([math.nan, 1], "y", "f")[0])


@pytest.mark.parametrize("value", [[2, 0], (2, 0), np.array([2, 0], np.uint8), np.array([2, 0], object)])
def test_one_dimensional_integers_are_positions(value):
    places = as_positions(value, "rows", "f", "whole numbers")
    assert places.dtype == np.int64
    assert places.tolist() == [2, 0]
    assert as_positions([], "rows", "f", "whole numbers").tolist() == []


@pytest.mark.parametrize("value", [
    [True, False], [0.0, 1.0], ["0"], [[0, 1]], 3, [None], [2**63], [10**400], [-(10**400)], np.array([True], object),
])  # fmt: skip
def test_as_positions_rejects_masks_floats_strings_tables_and_huge_numbers(value):
    with pytest.raises((TypeError, ValueError), match="'rows' parameter of f must be whole numbers"):
        as_positions(value, "rows", "f", "whole numbers")


def test_error_for_a_mask_or_floats_as_positions_gives_the_way_out():
    with pytest.raises(TypeError, match=r"a boolean mask is not accepted\. Pass np\.flatnonzero\(mask\)\.$"):
        as_positions([True, False], "rows", "f", "whole numbers")
    with pytest.raises(TypeError, match=r"floats are not accepted\. Pass integers\.$"):
        as_positions([0.0, 1.0], "rows", "f", "whole numbers")


@pytest.mark.parametrize("value", [
    None, math.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), Decimal("nan"),
    Decimal("sNaN"), complex(math.nan, 0),
])  # fmt: skip
def test_none_nan_na_and_nat_are_missing(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", [
    "nan", "None", "", "NA", 0, False, math.inf, Decimal(1), np.datetime64("2020-01-01"), (), np.array([math.nan]),
])  # fmt: skip
def test_other_values_are_not_missing(value):
    assert not is_missing(value)


def test_distinct_sorts_labels_and_rejects_missing_ones():
    assert distinct(np.array(["nan", "None", "nan"], object), "y", "f").tolist() == ["None", "nan"]
    assert distinct(np.array([3, 1, 3]), "y", "f").tolist() == [1, 3]
    for missing in (None, math.nan, pd.NA):
        with pytest.raises(ValueError, match="some labels are missing"):
            distinct(np.array(["a", missing], object), "y", "f")
    with pytest.raises(TypeError, match=r"labels of one type.*Convert them all to strings"):
        distinct(np.array(["a", 1], object), "y", "f")


@pytest.mark.parametrize("value", ["C", "", None, 0, ["a"], b"a", BrokenRepr()])
def test_check_choice_accepts_only_the_choices(value):
    assert check_choice("a", "way", "f", ("a", "b")) == "a"
    assert type(check_choice(np.str_("b"), "way", "f", ("a", "b"))) is str
    with pytest.raises(ValueError, match=r"'way' parameter of f must be one of 'a', 'b'\. Got"):
        check_choice(value, "way", "f", iter(("a", "b")))


@pytest.mark.parametrize("value", [0, 1, "True", None, np.array([True]), 1.0])
def test_check_flag_accepts_only_bools(value):
    assert check_flag(np.True_, "quick", "f") is True
    assert check_flag(False, "quick", "f") is False
    with pytest.raises(TypeError, match="'quick' parameter of f must be True or False"):
        check_flag(value, "quick", "f")


def test_jobs_are_none_or_a_nonzero_integer():
    assert [check_jobs(value, "f") for value in (None, 1, -1, np.int64(3))] == [None, 1, -1, 3]
    for value in (0, 1.0, "2", True, math.nan):
        with pytest.raises((TypeError, ValueError), match="use 1, or -1 for all processors"):
            check_jobs(value, "f")


@pytest.mark.parametrize("value", [0, 2, "1", 1.0, True, None, math.nan, [1], 10**400])
def test_unknown_formats_raise(value):
    refuse_format(1, 1, "It")
    with pytest.raises(ValueError, match=r"^It is written in format .*, and this version .* reads format 1\."):
        refuse_format(value, 1, "It")


def test_a_float16_fraction_means_its_decimal():
    assert as_share(np.float16(0.1), 50) == Fraction(1, 10)
    assert as_share(np.float16(0.5), 2**64 - 1) == as_share(0.5, 2**64 - 1)
