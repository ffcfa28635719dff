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


def test_a_refusal_names_the_parameter_what_it_must_be_what_it_is_and_the_way_out():
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
def test_integers_of_any_kind_become_ints(value):
    assert type(check_integer(value, "k", "f", minimum=3)) is int


@pytest.mark.parametrize(("value", "error"), [
    (True, TypeError), (3.0, TypeError), ("3", TypeError), (None, TypeError), (np.array([3]), TypeError),
    (2, ValueError),
])  # fmt: skip
def test_what_is_no_integer_or_too_small_is_refused(value, error):
    with pytest.raises(error, match="'k' parameter of f must be an integer >= 3"):
        check_integer(value, "k", "f", minimum=3)


@pytest.mark.parametrize(("value", "options"), [
    (0, {}), (1.0, {"high": 1.0}), (math.inf, {}), (np.float32(0.5), {}), (Fraction(1, 2), {}),
    (1e-300, {"open_low": True}),
])  # fmt: skip
def test_numbers_in_the_interval_become_floats(value, options):
    checked = check_real(value, "e", "f", **options)
    assert type(checked) is float
    assert checked == value


@pytest.mark.parametrize(("value", "options", "interval"), [
    (-1e-300, {}, r"\[0, inf\]"), (0.0, {"open_low": True}, r"\(0, inf\]"), (math.inf, {"finite": True}, r"\[0, inf\)"),
    (math.nan, {}, r"\[0, inf\]"), (1.1, {"high": 1.0}, r"\[0, 1\]"),
])  # fmt: skip
def test_numbers_outside_the_interval_are_refused_nan_too(value, options, interval):
    with pytest.raises(ValueError, match=f"must be a number in {interval}. Got"):
        check_real(value, "e", "f", **options)


@pytest.mark.parametrize("value", [True, "0.5", None, 1j])
def test_what_is_no_real_number_is_refused(value):
    with pytest.raises(TypeError, match="must be a number in"):
        check_real(value, "e", "f")


def test_shares_distances_rows_and_bags_say_what_they_are():
    for check, bad, reason in (
        (check_delta, 5, "For one row in twenty use 0.05"),
        (check_epsilon, -1, "how far a prediction may move"),
        (check_samples, 1, "at least one must remain"),
        (check_bags, 0, "or math.inf for derandomized bagging"),
    ):
        with pytest.raises(ValueError, match=reason):
            check(bad, "f")
    assert check_bags(math.inf, "f") == math.inf
    with pytest.raises(TypeError, match="'n_bags'"):
        check_bags(10.0, "f")


def test_shares_of_rows_are_whole_wherever_they_were_meant_so():
    for n in (3, 7, 49, 100, 442, 1000):
        for rows in range(n + 1):
            assert as_share(rows / n, n) == Fraction(rows, n)
            assert whole_rows(rows / n, n) == rows
    assert whole_rows(0.0399, 100) == 3
    assert whole_rows(np.nextafter(0.04, 0), 100) == 3


def test_what_was_measured_cannot_be_written_to():
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
    given[0] = 1.0  # the caller's own array stays as it was
    assert measured.name == "name"


class Unspeakable:
    def __repr__(self):
        raise RuntimeError("no words")


def test_whatever_is_refused_is_shown_on_one_short_line():
    assert shown("a\tb\x1b[31m\u202e") == r"'a\tb\x1b[31m\u202e'"
    assert shown(np.arange(10**6)).isprintable()
    assert len(shown(np.arange(10**6))) < 60
    assert len(shown([[list(range(100))] * 100] * 100)) < 300
    assert shown(Unspeakable()).startswith("<Unspeakable ")
    assert shown(10**5000).isprintable()
    assert "\n" not in shown(pd.DataFrame({"a": [1, 2]}))


def test_masked_entries_are_refused_and_a_mask_of_none_is_not():
    refuse_masked(np.ma.masked_array([1.0, 2.0], [False, False]), "X", "f")
    refuse_masked(np.ma.masked_array([1.0, 2.0]), "X", "f")
    with pytest.raises(ValueError, match=r"'X' parameter of f must be without masked entries\. Got 1: .* Drop or fill"):
        refuse_masked(np.ma.masked_array([1.0, 2.0], [True, False]), "X", "f")
    with pytest.raises(ValueError, match="without masked entries"):
        as_array(np.ma.masked_array([1.0], [True]), "X", "f")


@pytest.mark.parametrize("value", [
    [1, 2], (1, 2), range(1, 3), np.array([1, 2]), pd.Series([1, 2], index=[7, 8]), pl.Series([1, 2]), pd.Index([1, 2]),
])  # fmt: skip
def test_what_has_an_order_becomes_an_array(value):
    np.testing.assert_array_equal(as_array(value, "y", "f"), [1, 2])


@pytest.mark.parametrize(("value", "error"), [
    (iter([1, 2]), TypeError), ({1, 2}, TypeError), ({1: 2}, TypeError), (range(2**40), TypeError),
    ((each for each in (1, 2)), TypeError), ([[1], [2, 3]], ValueError),
])  # fmt: skip
def test_what_has_no_order_comes_one_by_one_or_is_ragged_is_refused(value, error):
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
def test_texts_dates_complex_numbers_and_what_no_float_holds_are_no_reals(value):
    with pytest.raises((TypeError, ValueError), match="'y' parameter of f must be an array of numbers"):
        as_reals(value, "y", "f")


def test_nan_is_a_float_like_another_and_left_to_the_caller():
    assert math.isnan(as_reals([math.nan, 1], "y", "f")[0])


@pytest.mark.parametrize("value", [[2, 0], (2, 0), np.array([2, 0], np.uint8), np.array([2, 0], object)])
def test_whole_numbers_in_one_line_are_positions(value):
    places = as_positions(value, "rows", "f", "whole numbers")
    assert places.dtype == np.int64
    assert places.tolist() == [2, 0]
    assert as_positions([], "rows", "f", "whole numbers").tolist() == []


@pytest.mark.parametrize("value", [
    [True, False], [0.0, 1.0], ["0"], [[0, 1]], 3, [None], [2**63], [10**400], [-(10**400)], np.array([True], object),
])  # fmt: skip
def test_masks_floats_texts_tables_and_giants_are_no_positions(value):
    with pytest.raises((TypeError, ValueError), match="'rows' parameter of f must be whole numbers"):
        as_positions(value, "rows", "f", "whole numbers")


@pytest.mark.parametrize("value", [
    None, math.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.timedelta64("NaT"), Decimal("nan"),
    Decimal("sNaN"), complex(math.nan, 0),
])  # fmt: skip
def test_none_nan_na_and_nat_are_missing(value):
    assert is_missing(value)


@pytest.mark.parametrize("value", [
    "nan", "None", "", "NA", 0, False, math.inf, Decimal(1), np.datetime64("2020-01-01"), (), np.array([math.nan]),
])  # fmt: skip
def test_texts_that_spell_what_is_missing_are_not(value):
    assert not is_missing(value)


def test_labels_that_differ_are_in_order_and_none_may_be_missing():
    assert distinct(np.array(["nan", "None", "nan"], object), "y", "f").tolist() == ["None", "nan"]
    assert distinct(np.array([3, 1, 3]), "y", "f").tolist() == [1, 3]
    for missing in (None, math.nan, pd.NA):
        with pytest.raises(ValueError, match="some are missing"):
            distinct(np.array(["a", missing], object), "y", "f")
    with pytest.raises(TypeError, match="labels of one kind, which have an order"):
        distinct(np.array(["a", 1], object), "y", "f")


@pytest.mark.parametrize("value", ["C", "", None, 0, ["a"], b"a", Unspeakable()])
def test_a_choice_is_one_of_the_words(value):
    assert check_choice("a", "way", "f", ("a", "b")) == "a"
    assert type(check_choice(np.str_("b"), "way", "f", ("a", "b"))) is str
    with pytest.raises(ValueError, match=r"'way' parameter of f must be one of 'a', 'b'\. Got"):
        check_choice(value, "way", "f", iter(("a", "b")))


@pytest.mark.parametrize("value", [0, 1, "True", None, np.array([True]), 1.0])
def test_a_flag_is_true_or_false_and_nothing_else(value):
    assert check_flag(np.True_, "quick", "f") is True
    assert check_flag(False, "quick", "f") is False
    with pytest.raises(TypeError, match="'quick' parameter of f must be True or False"):
        check_flag(value, "quick", "f")


def test_jobs_are_none_or_a_whole_number_that_is_not_zero():
    assert [check_jobs(value, "f") for value in (None, 1, -1, np.int64(3))] == [None, 1, -1, 3]
    for value in (0, 1.0, "2", True, math.nan):
        with pytest.raises((TypeError, ValueError), match="use 1, or -1 for all processors"):
            check_jobs(value, "f")


@pytest.mark.parametrize("value", [0, 2, "1", 1.0, True, None, math.nan, [1], 10**400])
def test_other_formats_than_the_known_one_are_refused_in_a_sentence(value):
    refuse_format(1, 1, "It")
    with pytest.raises(ValueError, match=r"^It is written in format .*, and this version .* reads format 1\."):
        refuse_format(value, 1, "It")


def test_a_share_of_numpys_short_kind_is_as_it_is_written():
    assert as_share(np.float16(0.1), 50) == Fraction(1, 10)
    assert as_share(np.float16(0.5), 2**64 - 1) == as_share(0.5, 2**64 - 1)
