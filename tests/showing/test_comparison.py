import math

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, leave_one_out
from stablebag.measuring import Perturbations
from stablebag.showing.comparison import Comparison, bagged_by, select_rows
from stablebag.showing.facts import changes


def made_by_hand():
    left_out = np.array([[3.0, 0.0], [0.0, 4.0], [0.5, 0.5], [0.0, 0.0]])
    bagged = Perturbations(np.zeros(2), left_out, np.arange(4))
    base = Perturbations(np.zeros(2), 2 * left_out[[1, 3]], np.array([1, 3]))
    return Comparison.of(base, bagged)


def test_both_models_are_compared_by_the_same_rows_and_points():
    both = made_by_hand()
    assert both.bagged.rows.tolist() == [1, 3]
    assert both.where() == "2 of the 4 rows, at 2 test points"
    lines = {fact.label: (fact["base"], fact["bagged"]) for fact in changes(both, delta=0.25)}
    assert lines["typical change (root mean square)"] == (4.0, 2.0)  # sqrt(64 / 4)
    assert lines["75th percentile of changes"] == (0.0, 0.0)  # of 0, 0, 0, 8
    assert lines["largest change"] == (8.0, 4.0)
    assert both.still == 0.75


def test_range_of_the_ratio_takes_out_each_row_and_point():
    rng = np.random.default_rng(0)
    before, after = rng.normal(size=(2, 7, 4))
    weights = np.array([1.0, 3.0, 2.0])
    base, refits = Perturbations(np.zeros(4), before, np.arange(7)), Perturbations(np.zeros(4), after[:3], [0, 2, 5])
    reused = Perturbations(np.zeros(4), after, np.arange(7))

    def ratio(rows, points):
        chosen = np.isin([0, 2, 5], rows)
        squares = (after[:3][chosen][:, points] ** 2).mean(axis=1)
        alone = (before[[0, 2, 5]][chosen][:, points] ** 2).mean(axis=1)  # both models by the same rows
        return np.sqrt(np.average(alone, weights=weights[chosen]) / np.average(squares, weights=weights[chosen]))

    rows, points = [0, 2, 5], list(range(4))
    each = [ratio([row for row in rows if row != gone], points) for gone in rows]
    each += [ratio(rows, [point for point in points if point != gone]) for gone in points]
    found = Comparison(base, reused, 20, "", refits, None, weights).ratio()
    np.testing.assert_allclose(found, [ratio(rows, points), min(each), max(each)])
    all_left_out = Comparison(base, reused, 3, "", refits, None, weights).ratio()  # then only points are taken out
    values = [found.value, *each[3:]]
    np.testing.assert_allclose(all_left_out, [found.value, min(values), max(values)])


def test_ratio_is_undefined_without_changes_and_unbounded_below_noise():
    zero, one = (Perturbations(np.zeros(2), np.full((3, 2), value), np.arange(3)) for value in (0.0, 1.0))
    assert Comparison.of(zero, one).ratio() == (0.0, 0.0, 0.0)
    assert math.isnan(Comparison.of(zero, zero).ratio().value)
    assert Comparison.of(one, zero).ratio().value == math.inf
    assert Comparison.of(one, zero).ratio().high == math.inf


@pytest.mark.parametrize("classes", [False, True])
def test_some_rows_in_blocks_equal_those_of_all_rows(classes, monkeypatch):
    X, y = load_diabetes(return_X_y=True)
    X, Z, y = X[:60], X[60:70], y[:60]
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=50, random_state=0)
    if classes:
        model, y = BaggedClassifier(DecisionTreeClassifier(max_depth=3), n_bags=50, random_state=0), y > 140
    model.fit(X, y)
    rows = np.array([3, 17, 40])
    whole = select_rows(leave_one_out(model, Z), rows)
    monkeypatch.setattr("stablebag.showing.comparison._AT_ONCE", 200)
    some = bagged_by(model, Z, rows)
    np.testing.assert_allclose(some.left_out, whole.left_out, atol=1e-12)
    np.testing.assert_allclose(some.noise, whole.noise)
    assert some.scope.n_rows == 3
    without = 50 - model.bags_.inclusion[:, rows].sum(axis=0)
    np.testing.assert_array_equal(some.bags.n_without, without)
