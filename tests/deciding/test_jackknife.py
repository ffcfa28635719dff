import math
from fractions import Fraction

import numpy as np
import pytest

from stablebag.deciding.jackknife import CVPlus, Jackknife, JackknifeMinmax, JackknifePlus, quantile_rank

RESIDUALS, PREDICTION, LEFT_OUT = np.array([1.0, 3.0, 2.0]), np.array([10.0]), np.array([[9.0], [12.0], [10.0]])


def test_ranks_are_taken_in_whole_numbers():
    assert quantile_rank(0.9, 9) == 9
    assert quantile_rank(0.9, 10) == 10
    assert quantile_rank(0.8, 9) == 8
    assert quantile_rank(Fraction(1, 3), 8) == 3
    for level in (0.7, 0.8, 0.9, 0.95, 0.99, 0.29):
        exact = Fraction(str(level))
        for n in range(1, 300):
            assert quantile_rank(level, n) == -(-exact.numerator * (n + 1) // exact.denominator)


@pytest.mark.parametrize(("folds", "n", "slack"), [
    (10, 100, 0.0818181818), (5, 100, 0.0761904762), (10, 1000, 0.0178217822), (100, 100, 0.0),
])  # fmt: skip
def test_golden_slack_of_cross_validation(folds, n, slack):
    words = CVPlus(Fraction(95, 100), folds).guarantee(n)
    assert float(words.split("coverage is at least ")[1].split(";")[0]) == pytest.approx(0.9 - slack, abs=6e-4)


@pytest.mark.parametrize(("rule", "ends"), [
    (Jackknife(Fraction(1, 2)), (10 - 2, 10 + 2)),  # the second of the residuals 1, 2, 3
    (JackknifePlus(Fraction(1, 2)), (8, 12)),  # the second largest of 8, 9, 8, and the second smallest of 10, 15, 12
    (JackknifeMinmax(Fraction(1, 2)), (9 - 2, 12 + 2)),
    (CVPlus(Fraction(1, 2), n_folds=3), (8, 12)),
    (JackknifePlus(Fraction(3, 4)), (8, 15)),  # the third of each
], ids=lambda case: case.name if isinstance(case, Jackknife) else "")  # fmt: skip
def test_three_rows_worked_by_hand(rule, ends):
    lower, upper = rule.intervals(RESIDUALS, PREDICTION, LEFT_OUT)
    assert (lower.tolist(), upper.tolist()) == ([ends[0]], [ends[1]])


@pytest.mark.parametrize("kind", [Jackknife, JackknifePlus, JackknifeMinmax, CVPlus])
def test_a_rank_beyond_the_last_row_is_infinite(kind):
    assert kind(Fraction(4, 5)).rank(3) == 4
    lower, upper = kind(Fraction(4, 5)).intervals(RESIDUALS, PREDICTION, LEFT_OUT)
    assert (lower.tolist(), upper.tolist()) == ([-math.inf], [math.inf])


def test_guarantees_are_none_twice_the_miss_and_the_level():
    level = Fraction(9, 10)
    assert Jackknife(level).guarantee(100).startswith("Nothing is proved about their coverage")
    assert "coverage is at least 0.8; typically it is near 0.9" in JackknifePlus(level).guarantee(100)
    assert JackknifeMinmax(level).guarantee(100).endswith("coverage is at least 0.9.")
    assert "Nothing is proved" in JackknifePlus(Fraction(1, 2)).guarantee(100)  # 1 - 2 / 2
    assert "Folds differ in size" in CVPlus(level, n_folds=7).guarantee(100)
    assert "Folds differ in size" not in CVPlus(level, n_folds=5).guarantee(100)


def test_residuals_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="infinite or NaN"):
        Jackknife(Fraction(1, 2)).intervals(np.array([1.0, np.nan, 2.0]), PREDICTION, LEFT_OUT)
    with pytest.raises(ValueError, match="infinite or NaN"):
        JackknifePlus(Fraction(1, 2)).intervals(RESIDUALS, PREDICTION, LEFT_OUT * np.inf)
