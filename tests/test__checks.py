import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from stablebag._checks import (
    as_share,
    check_bags,
    check_delta,
    check_epsilon,
    check_integer,
    check_real,
    check_samples,
    hold_read_only,
    refuse_type,
    refuse_value,
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
