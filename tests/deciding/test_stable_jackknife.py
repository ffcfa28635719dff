import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, Certificate, FixedRange, Subbagging, TrimmedRange, predict_interval
from stablebag.deciding import jackknife_intervals_refit
from stablebag.deciding.jackknife import quantile_rank
from stablebag.deciding.stable_jackknife import StableJackknife, stable_rank
from stablebag.measuring.leave_one_out import left_out_at_rows


def joined(text):
    return " ".join(str(text).split())


def test_ten_points_computed_by_hand():
    # Five of ten may be missed. Of 90 ordered pairs 2.9 unstable ones make 1.96 points strange, and 3.1 make 2.04:
    # t (t + 1) / 2 of them make t. Points are whole.
    assert stable_rank(2.9 / 90, 9, 0, Fraction(1, 2), "best") == 10 - (5 - 2)
    assert stable_rank(3.1 / 90, 9, 0, Fraction(1, 2), "best") == 10 - (5 - 3)
    assert stable_rank(0.0121, 9, 0, Fraction(1, 2), "paper") == 10 - (5 - 3)  # 2 sqrt(0.0121) of ten are 2.2
    assert stable_rank(0.0, 9, 1, Fraction(1, 2), "best") == 10 - (5 - 2)  # two ends of the range


def test_epsilon_is_added_to_the_residual():
    rule = StableJackknife(Fraction(1, 2), epsilon=0.5, delta=0.1, residual=2, range_length=4.0)
    lower, upper = rule.intervals(np.array([1.0, 3.0, 2.0]), np.array([10.0]), np.zeros((3, 1)))
    assert (lower.tolist(), upper.tolist()) == ([7.5], [12.5])
    assert "a share 0.1 of the rows changes a prediction by more than 0.5, which is added" in rule.guarantee(3)
    # Half of normal residuals of deviation 0.4 are within 0.6745 deviations.
    assert rule.typical_radius(3) == pytest.approx(0.5 + 0.4 * 0.6744897502, abs=1e-9)


def test_delta_costs_sqrt_two_delta_of_the_level():
    n, level = 100_000, Fraction(9, 10)
    for delta in (0.0, 1e-4, 1e-3):
        sharp, paper = (stable_rank(delta, n, 0, level, bound) for bound in ("best", "paper"))
        assert sharp / (n + 1) == pytest.approx(0.9 + math.sqrt(2 * delta), abs=1e-4)
        assert paper / (n + 1) == pytest.approx(0.9 + 2 * math.sqrt(delta), abs=1e-4)
        assert sharp <= paper
    assert stable_rank(0.0, 9, 0, level, "best") == quantile_rank(0.9, 9)
    assert stable_rank(2e-5, n, 1, level, "best") > stable_rank(2e-5, n, 0, level, "best")


def test_strange_points_are_at_most_as_many_as_the_counting_lemma_allows(seed):
    # Points of rank r are strange if r - 1 plus their number of unstable partners reaches k.
    rng = np.random.default_rng(seed)
    for _ in range(300):
        n_all = int(rng.integers(3, 30))
        k = int(rng.integers(1, n_all))
        unstable = rng.random((n_all, n_all)) < rng.choice([0.05, 0.3, 0.8])
        if rng.random() < 0.5:  # all of them where they hurt most: just below the rank
            unstable[:] = False
            for deficit in range(1, int(rng.integers(1, k + 1)) + 1):
                unstable[:deficit, k - deficit] = True
        np.fill_diagonal(unstable, False)
        strange = np.arange(n_all) + unstable.sum(axis=0) >= k
        total = int(unstable.sum())
        assert strange.sum() <= (n_all - k) + (math.sqrt(8 * total + 1) - 1) / 2 + 1e-9
        share = total / (n_all * (n_all - 1))
        levels = [Fraction(covered, n_all) for covered in range(n_all)]
        kept = [level for level in levels if stable_rank(share, n_all - 1, 0, level, "best") <= k]
        assert all(n_all - strange.sum() >= level * n_all for level in kept)


@pytest.mark.parametrize("bound", ["best", "paper"])
def test_the_stable_jackknife_adds_epsilon_to_a_residual_of_higher_rank(data, bound):
    table, target = data
    model = BaggedRegressor(
        DecisionTreeRegressor(max_depth=2, random_state=0),
        n_bags=400,
        prediction_range=FixedRange(-4, 4),
        random_state=0,
    ).fit(table, target)
    settings = {"confidence_level": 0.8, "method": "stable-jackknife", "delta": 0.004, "bound": bound}
    found = predict_interval(model, table[:3], **settings)
    epsilon = Certificate(Subbagging(75), 150, 400, range_length=8.0).epsilon(0.004, bound)
    rank = stable_rank(0.004, 150, 0, Fraction(4, 5), bound)
    assert rank > quantile_rank(0.8, 150)
    radius = np.sort(np.abs(target - left_out_at_rows(model)))[rank - 1] + epsilon
    np.testing.assert_allclose(found.upper - found.prediction, radius)
    np.testing.assert_allclose(found.prediction - found.lower, radius)
    assert "coverage is at least 0.8. By the certificate, at most a share" in joined(found)
    assert "Here bags are reused, so this holds only approximately" in joined(found)


@pytest.mark.slow
def test_delta_is_chosen_for_typical_residuals_without_looking_at_the_actual_ones(data):
    table, target = data
    learner = DecisionTreeRegressor(max_depth=2, random_state=0)
    model = BaggedRegressor(learner, n_bags=400, prediction_range=FixedRange(-4, 4), random_state=0)
    level = Fraction(4, 5)
    widths = []
    for y in (target, -target[::-1], np.zeros(150)):
        found = predict_interval(model.fit(table, y), table[:1], confidence_level=0.8, method="stable-jackknife")
        widths.append(joined(found).split("by more than ")[1].split(",")[0])
    assert len(set(widths)) == 1
    certificate = Certificate(Subbagging(75), 150, 400, range_length=8.0)
    chosen = StableJackknife.chosen(certificate, FixedRange(-4, 4), level, None, "best", "test")
    for delta in (0.0, 1e-3, 5e-3, 0.01, 0.015):
        other = StableJackknife.chosen(certificate, FixedRange(-4, 4), level, delta, "best", "test")
        assert chosen.typical_radius(150) <= other.typical_radius(150) * 1.02


def test_with_all_bags_or_refits_the_guarantee_is_exact():
    rng = np.random.default_rng(0)
    table, target = rng.normal(size=(12, 2)), rng.normal(size=12)
    learner = DecisionTreeRegressor(random_state=0)
    settings = {"confidence_level": 0.5, "method": "stable-jackknife"}
    model = BaggedRegressor(learner, scheme=Subbagging(2), n_bags="all", prediction_range=FixedRange(-3, 3))
    found = predict_interval(model.fit(table, target), table[:2], **settings)
    assert "reused" not in joined(found)
    assert np.isfinite(found.width).all()
    again = jackknife_intervals_refit(model, table, target, table[:2], **settings)
    np.testing.assert_allclose(found.lower, again.lower)
    np.testing.assert_allclose(found.upper, again.upper)


def test_intervals_that_add_the_whole_range_warn(data):
    table, target = data
    model = BaggedRegressor(LinearRegression(), n_bags=30, prediction_range=FixedRange(-4, 4), random_state=0)
    with pytest.warns(UserWarning, match="adds the whole range of predictions, 8"):
        predict_interval(model.fit(table[:40], target[:40]), table[:1], method="stable-jackknife")


def test_too_few_rows_raise_an_error_with_the_number_needed(data):
    table, target = data
    model = BaggedRegressor(DecisionTreeRegressor(), n_bags=60, random_state=0).fit(table, target)
    with pytest.raises(
        ValueError, match=r"with 150 rows, because 2 of them can change the range, .* at least (\d+) rows"
    ) as refusal:
        predict_interval(model, table[:1], confidence_level=0.9, method="stable-jackknife")
    needed = int(str(refusal.value).split("at least ")[1].split(" ")[0])
    assert stable_rank(2 / needed, needed, 1, Fraction(9, 10), "best") <= needed
    assert stable_rank(2 / (needed - 1), needed - 1, 1, Fraction(9, 10), "best") > needed - 1
    with pytest.raises(
        ValueError, match=r"because a share 0\.2 of unstable rows may raise the miss probability by more than"
    ):
        predict_interval(model, table[:1], method="stable-jackknife", delta=Fraction(1, 5))
    lower = predict_interval(model, table[:1], confidence_level=0.5, method="stable-jackknife")
    assert np.isfinite(lower.width).all()
    trimmed = clone(model).set_params(prediction_range=TrimmedRange(3)).fit(table, target)
    with pytest.raises(ValueError, match=r"with 150 rows, because 6 of them can change the range"):
        predict_interval(trimmed, table[:1], confidence_level=0.9, method="stable-jackknife")


@pytest.mark.parametrize("rule", [None, lambda y: (min(y), max(y))], ids=["none", "function"])
def test_a_custom_range_raises(data, rule):
    table, target = data
    model = BaggedRegressor(LinearRegression(), n_bags=60, prediction_range=rule, random_state=0).fit(table, target)
    with pytest.raises(ValueError, match="needs predictions clipped to a FixedRange, ObservedRange or TrimmedRange"):
        predict_interval(model, table[:1], method="stable-jackknife")
