import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from stablebag import BaggedClassifier, Subbagging, leave_one_out_error, plan
from stablebag.proving.error_bounds import ErrorBound


def width(n, m, n_bags, level=0.95, **about):
    bound = ErrorBound.of_subbags(n, m, n_bags, **({"upper": 1.0, "lipschitz": 1.0, "scale": 0.5} | about))
    return 2 * (bound.half_width(level) if math.isinf(n_bags) else bound.half_width_before_draw(level))


@pytest.mark.parametrize("max_bags", [math.inf, 5000])
def test_the_plan_has_large_bags_and_then_the_fewest(max_bags):
    found = plan(1000, error_width=0.3, max_bags=max_bags)
    m = found.scheme.bag_size
    assert found.width == pytest.approx(width(1000, m, found.n_bags))
    assert found.width <= 0.3
    largest = next(size for size in range(m, 1000) if width(1000, size + 1, max_bags) > 0.3)
    assert m == (largest if math.isinf(max_bags) else int(0.95 * largest))
    if math.isfinite(max_bags):
        assert width(1000, m, found.n_bags - 1) > 0.3
    for share, rows in found.rows.items():
        assert (
            width(rows, int(share * rows), max_bags) <= 0.3 < width(rows - 1, max(1, int(share * (rows - 1))), max_bags)
        )
    assert found.rows[0.01] < found.rows[0.1]
    assert f"Use subbagging, {m} of 1,000 rows, with " in str(found)


def test_other_losses_and_ranges_scale_the_plan():
    unit = plan(2000, error_width=0.2)
    assert plan(2000, error_width=20.0, upper=100, range_length=100).scheme == unit.scheme
    assert plan(2000, error_width=0.2, lipschitz=2).scheme.bag_size < unit.scheme.bag_size
    assert plan(2000, error_width=0.2, confidence_level=0.99).scheme.bag_size < unit.scheme.bag_size
    assert plan(2000, error_width=0.2, max_bag_size=7).scheme == Subbagging(7)


def test_a_plan_that_cannot_be_says_what_could():
    with pytest.raises(ValueError, match=r"prove an interval of width 0.05 .* error_width >= 0\.11\d+, or 4,318 rows"):
        plan(1000, error_width=0.05)
    with pytest.raises(ValueError, match="No bags of 2 rows"):
        plan(2, error_width=0.5)


def test_a_model_fitted_as_planned_has_an_interval_of_at_most_that_width(seed):
    planned = plan(400, error_width=0.5, max_bags=1000)
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 3))
    y = X[:, 0] + rng.normal(size=400) > 0
    settings = {"scheme": planned.scheme, "n_bags": planned.n_bags, "random_state": seed}
    model = BaggedClassifier(DecisionTreeClassifier(max_depth=2), **settings).fit(X, y)
    found = leave_one_out_error(model, "probability").interval(kind="proved")
    assert found.width <= planned.width


@pytest.mark.parametrize(("n", "wished", "level", "max_bags"), [
    (300, 0.3, 0.05, 300), (1000, 0.3, 0.2, 200), (300, 0.5, 0.5, 300), (100, 0.8, 0.95, 200),
])  # fmt: skip
def test_the_interval_of_drawn_bags_is_not_wider_than_planned_at_any_level(n, wished, level, max_bags, seed):
    planned = plan(n, error_width=wished, confidence_level=level, max_bags=max_bags)
    rows = np.arange(n)
    settings = {"scheme": planned.scheme, "n_bags": planned.n_bags, "random_state": seed}
    model = BaggedClassifier(DecisionTreeClassifier(max_depth=1), **settings).fit(rows[:, None], rows % 2)
    bound = leave_one_out_error(model, "probability")._evidence.proved[0]
    assert 2 * bound.half_width(level) <= planned.width <= wished


@pytest.mark.parametrize("given", [
    {"epsilon": 0.1}, {"delta": 0.1}, {"scheme": "bernoulli"}, {"coupling": "any"}, {"delta_range": 0.1},
    {"churn": 0.1},
])  # fmt: skip
def test_a_plan_of_the_error_takes_nothing_about_stability(given):
    with pytest.raises(ValueError, match=f"'{next(iter(given))}' parameter of plan must be left out with error_width"):
        plan(1000, error_width=0.3, **given)


def test_a_plan_needs_to_know_what_for():
    with pytest.raises(TypeError, match="give epsilon and delta, or error_width"):
        plan(1000)
    with pytest.raises(TypeError, match="'delta' parameter"):
        plan(1000, 0.1)
    for wrong in ({"error_width": 0}, {"confidence_level": 1}, {"lipschitz": -1}, {"upper": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            plan(1000, **({"error_width": 0.3} | wrong))
