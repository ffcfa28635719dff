"""Sentences about what was measured: perturbations, errors, black-box tests, and rows that no bag leaves out."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from claims.reading import joined, number_after
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    Subbagging,
    leave_one_out,
    leave_one_out_error,
    leave_one_out_refit,
)
from stablebag.measuring import stability_test
from stablebag.measuring.black_box import StabilityTest


def table(seed, n=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + rng.standard_t(2, n), rng.normal(size=(4, 2))


def lines_of(moved):
    """The table that is printed, by the name of each line: average and worst."""
    found = re.findall(r"^(.*?)\s+([0-9.,e+-]+)\s+([0-9.,e+-]+)$", repr(moved).replace(",", ""), re.M)
    return {name.strip(): (float(average), float(worst)) for name, average, worst in found}


@pytest.mark.parametrize("n_bags", [50, "all"])
def test_table_of_perturbations_equals_direct_numbers(n_bags, seed):
    X, y, points = table(seed, 30 if n_bags == 50 else 8)
    tree = DecisionTreeRegressor(random_state=0)
    model = BaggedRegressor(tree, scheme=Subbagging(4), n_bags=n_bags, random_state=seed).fit(X, y)
    moved = leave_one_out(model, points)
    shown, values = lines_of(moved), moved.values
    assert shown["mean over rows"] == pytest.approx((values.mean(), values.mean(axis=0).max()), rel=1e-3)
    assert shown["largest"] == pytest.approx((values.max(axis=0).mean(), values.max()), rel=1e-3)
    worst = shown["95th percentile"][1]
    assert ((values > worst * 1.001).mean(axis=0) <= 0.05).all()
    assert ("bagging noise (estimated)" in shown) == (n_bags == 50)  # nothing is estimated where nothing was drawn
    assert ("without bagging noise" in shown) == (n_bags == 50)


@pytest.mark.parametrize("target", [3.7, 1e300, 1e-300])
@pytest.mark.parametrize("learner", [DummyRegressor(), LinearRegression()], ids=str)
def test_table_without_changes_has_zeros(target, learner, seed):
    X, y, points = table(seed, 10)
    model = BaggedRegressor(learner, n_bags=40, random_state=seed).fit(X, np.full(len(y), target))
    assert set(lines_of(leave_one_out(model, points)).values()) == {(0.0, 0.0)}


def test_noise_of_redrawn_bags_is_unknown(seed):
    X, y, points = table(seed, 8)
    model = BaggedRegressor(DecisionTreeRegressor(), n_bags=5, random_state=seed).fit(X, y)
    assert "estimated" not in repr(leave_one_out_refit(model, X, y, points))


def test_leave_one_out_error_names_its_standard_error(seed):
    X, y, _ = table(seed)
    model = BaggedRegressor(DecisionTreeRegressor(), n_bags=60, random_state=seed).fit(X, y)
    error = leave_one_out_error(model, "absolute")
    assert number_after(repr(error), "(standard error") == pytest.approx(error.losses.std(ddof=1) / 30**0.5, rel=0.05)
    assert repr(error).endswith(" over 30 rows")
    assert repr(leave_one_out_error(model, rows=[1])).endswith("(standard error unknown) over 1 row")


def test_error_of_zero_is_not_called_certain():
    X, labels = np.r_[np.zeros(10), np.ones(10)][:, None], np.repeat(["a", "b"], 10)
    model = BaggedClassifier(DecisionTreeClassifier(), n_bags=60, random_state=0).fit(X, labels)
    assert repr(leave_one_out_error(model)) == "0 (standard error unknown: all losses are equal) over 20 rows"


@pytest.mark.parametrize("groups", [None, pd.Series(np.arange(60) // 2)])
def test_with_as_many_bags_as_the_error_asks_for_a_row_that_is_always_in_is_unlikely(groups):
    X, y, points = table(0, 60)
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(0.9), n_bags=3, random_state=0)
    with pytest.raises(ValueError, match="are never left out") as refused:
        leave_one_out(model.fit(X, y, groups=groups), points)
    told, units = str(refused.value), "rows" if groups is None else "groups"
    always = len(model.bags_.in_every_bag())
    assert told.startswith(f"With 3 bags, {always} {units} are never left out. Use ")
    enough, p, n = int(number_after(told, "Use")), model.scheme_.inclusion_probability, len(model.units_)
    assert n * p**enough <= 0.01 < n * p ** (enough - 1)
    model.set_params(n_bags=enough).fit(X, y, groups=groups)
    leave_one_out(model, points)


@pytest.mark.parametrize("n_sets", [1, 5, 40])
@pytest.mark.parametrize("delta", [0.0, 1 / 3, 0.1, 1.0])
@pytest.mark.parametrize("alpha", [0.01, 0.05, 1 / 3])
def test_a_black_box_test_says_no_more_than_it_can(n_sets, delta, alpha):
    from stablebag.measuring.black_box import _critical

    counts = (*_critical(n_sets, delta, alpha), 50 * n_sets + n_sets, 0)
    told = StabilityTest(False, 1.0, delta, alpha, 50, n_sets, 0, np.zeros(n_sets), *counts)
    text = joined(told.explain())
    level = number_after(text, "is declared stable with probability at most")
    for chance in (delta, (1 + delta) / 2, 1.0):  # a learner that exceeds epsilon with a chance of delta or more
        below = binom.cdf(told.critical - 1, n_sets, chance)
        assert below + told.chance_at_critical * binom.pmf(told.critical, n_sets, chance) <= level + 1e-12
    power = number_after(text, "never does is declared stable with probability")
    ceiling = number_after(text, "do better than")
    assert power <= told.power() + 1e-12
    assert told.power() <= ceiling
    assert f"of {n_sets} disjoint data {'set' if n_sets == 1 else 'sets'} of" in text
    assert "If the rows are independent draws from one distribution" in text


def test_black_box_test_counts_larger_changes(seed):
    X, y, _ = table(seed, 60)
    found = stability_test(DecisionTreeRegressor(), X, y, epsilon=0.1, delta=0.2, n_samples=10, random_state=seed)
    assert f"in {(found.distances > 0.1).sum()} of {len(found.distances)} disjoint data sets" in joined(found)
