import itertools
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BernoulliSubbagging,
    ClassicalBagging,
    FixedRange,
    ObservedRange,
    PoissonizedBagging,
    Subbagging,
    TrimmedRange,
)
from stablebag.fast import neighbours as neighbours_limit
from stablebag.fast.neighbours import AllBagsOfNeighbours
from stablebag.models.learners import one_hot
from stablebag.models.solving import NotCovered

FINITE = [Subbagging(3), ClassicalBagging(4), BernoulliSubbagging(0.5)]
SCHEMES = [*FINITE, PoissonizedBagging(0.3)]
RNG = np.random.default_rng(0)
X, POINTS = RNG.normal(size=(5, 2)), RNG.normal(size=(3, 2))
Y, LABELS = RNG.normal(size=5), np.array(["a", "c", "a", "b", "a"])
CORNERS = np.array([[0, 0], [0, 1], [1, 0], [0, 0], [1, 1]], dtype=float)  # ties everywhere


class Listed:
    """The truth: all bags, each with its chance and its prediction at the points and at the rows."""

    def __init__(self, law, y, classes, predict, rows, points):
        self.law, self.y, self.classes, self.n_points = law, y, classes, len(points)
        bags, chances = zip(*law.support(mass=1.0 if law.scheme.has_finite_support else 1 - 1e-8), strict=True)
        self.chances, self.empty = np.array(chances, dtype=float), np.array([len(bag) == 0 for bag in bags])
        self.outside = np.array([[row not in bag for bag in bags] for row in range(len(y))])
        at, width = np.concatenate([points, rows]), 1 if classes is None else len(classes)
        self.raw = np.array([predict(bag, at) if len(bag) else np.zeros((len(at), width)) for bag in bags])

    def outputs(self, rest):
        """What is averaged if these rows are there."""
        there = None if self.classes is None else np.isin(self.classes, self.y[rest])
        filled = self.raw.copy()
        filled[self.empty] = np.ptp(self.y[rest]) / 2 + self.y[rest].min() if there is None else there / there.sum()
        return filled

    @property
    def prediction(self):
        return np.tensordot(self.chances, self.outputs(np.arange(len(self.y))), axes=1)[: self.n_points]

    @property
    def deviation(self):
        outputs = self.outputs(np.arange(len(self.y)))[:, : self.n_points]
        return np.sqrt(np.tensordot(self.chances, (outputs - self.prediction) ** 2, axes=1))

    @property
    def left_out(self):
        """Without each row, at the points and then at the rows."""
        without = []
        for row, outside in enumerate(self.outside):
            chances = self.chances * outside
            outputs = self.outputs(np.delete(np.arange(len(self.y)), row))
            without.append(np.tensordot(chances / chances.sum(), outputs, axes=1))
        return np.array(without)


def by_scikit_learn(rows, y, k, classes=None, **options):
    """What scikit-learn predicts in a bag; the mean of all of its rows if these are fewer than k."""
    options = {"algorithm": "kd_tree", **options}

    def predict(bag, points):
        near = min(k, len(bag))
        if classes is None:
            return KNeighborsRegressor(near, **options).fit(rows[bag], y[bag]).predict(points)[:, None]
        model = KNeighborsClassifier(near, **options).fit(rows[bag], y[bag])
        table = np.zeros((len(points), len(classes)))
        table[:, np.searchsorted(classes, model.classes_)] = model.predict_proba(points)
        return table

    return predict


def with_ties_shared(rows, targets, k):
    """What the k nearest predict if those that are equally far share the last places evenly."""

    def at(bag, point):
        distances, near = ((rows[bag] - point) ** 2).sum(axis=1), min(k, len(bag))
        last = np.sort(distances)[near - 1]
        nearer, tied = distances < last, distances == last
        return (targets[bag][nearer].sum(axis=0) + (near - nearer.sum()) * targets[bag][tied].mean(axis=0)) / near

    return lambda bag, points: np.array([at(bag, point) for point in points])


def columns(values, classes):
    return values[..., None] if classes is None else values


def check(average, predict, rows, points, *, deviation=True):
    """Compare everything with the list of all bags, which is returned."""
    ranking, classes = average.ranked(points), average.classes
    listed = Listed(average.law, average.y, classes, predict, rows, points)
    close = {"atol": 1e-13 if average.law.scheme.has_finite_support else 1e-6, "rtol": 0}
    left_out, at = listed.left_out, np.arange(len(rows))
    np.testing.assert_allclose(columns(average.prediction([ranking]), classes), listed.prediction, **close)
    np.testing.assert_allclose(columns(average.left_out(ranking), classes), left_out[:, : len(points)], **close)
    found = average.left_out_at(slice(0, len(rows)), average.ranked(rows))
    np.testing.assert_allclose(columns(found, classes), left_out[at, len(points) + at], **close)
    if deviation:
        found = columns(average.deviation(ranking), classes)
        np.testing.assert_allclose(found**2, listed.deviation**2, **close)
    return listed


def small(scheme):
    """Few enough rows for the list of Poissonized bags, which is long."""
    return 3 if isinstance(scheme, PoissonizedBagging) else 5


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_a_regressor_is_the_average_of_scikit_learns_models_of_all_bags(scheme, k):
    n = small(scheme)
    law = (Subbagging(4) if isinstance(scheme, Subbagging) else scheme).resolve(n)
    average = AllBagsOfNeighbours(KNeighborsRegressor(k), X[:n], Y[:n], law, ObservedRange())
    check(average, by_scikit_learn(X[:n], Y[:n], k), X[:n], POINTS)


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_a_classifier_is_too_also_without_the_only_row_of_a_class(scheme, k):
    n = small(scheme)
    law, labels = scheme.resolve(n), LABELS[:n]
    classes = np.unique(labels)
    average = AllBagsOfNeighbours(KNeighborsClassifier(k), X[:n], labels, law, None, classes)
    check(average, by_scikit_learn(X[:n], labels, k, classes), X[:n], POINTS)


@pytest.mark.parametrize("options", [{"algorithm": "brute"}, {"algorithm": "ball_tree"}, {"p": 1}], ids=str)
def test_any_search_and_metric(options):
    law = Subbagging(3).resolve(5)
    average = AllBagsOfNeighbours(KNeighborsRegressor(2, **options), X, Y, law)
    check(average, by_scikit_learn(X, Y, 2, **options), X, POINTS)


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_rows_that_are_equally_far_share_their_places(scheme, k, algorithm):
    n = small(scheme)
    law, rows = scheme.resolve(n), CORNERS[:n]
    average = AllBagsOfNeighbours(KNeighborsRegressor(k, algorithm=algorithm), rows, Y[:n], law, ObservedRange())
    points = CORNERS[2:] / 2
    listed = check(average, with_ties_shared(rows, Y[:n, None], k), rows, points, deviation=False)
    assert (average.deviation(average.ranked(points)) >= listed.deviation[:, 0] - 1e-6).all()


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("scheme", FINITE, ids=str)
def test_with_ties_the_deviation_is_that_of_breaking_them_at_random(scheme, k):
    law = scheme.resolve(5)
    average = AllBagsOfNeighbours(KNeighborsRegressor(k), CORNERS, Y, law)
    point = np.zeros((1, 2))
    distances, total = (CORNERS**2).sum(axis=1), 0.0
    for bag, chance in law.support():
        near = min(k, len(bag))
        if near == 0:
            continue  # it predicts zero
        orders = [list(order) for order in itertools.permutations(range(len(bag)))]
        orders = [order for order in orders if (np.diff(distances[bag][order]) >= 0).all()]
        total += float(chance) * np.mean([Y[bag[order[:near]]].mean() ** 2 for order in orders])
    ranking = average.ranked(point)
    expected = total - float(average.prediction([ranking])[0]) ** 2
    assert float(average.deviation(ranking)[0]) ** 2 == pytest.approx(expected, abs=1e-14)


def test_golden_leave_one_out():
    rows, y = np.arange(1.0, 7.0)[:, None], np.array([1.0, 0, 1, 1, 0, 0])
    average = AllBagsOfNeighbours(KNeighborsRegressor(2), rows, y, Subbagging(3).resolve(6), ObservedRange())
    ranking = average.ranked([[0.0]] @ np.eye(1))
    prediction = average.prediction([ranking])
    assert prediction == pytest.approx(0.65)
    moved = prediction - average.left_out(ranking)
    np.testing.assert_allclose(moved[:, 0], [0.1, -0.2, 0.1, 0.1, -0.05, -0.05], atol=1e-15)
    assert (moved**2).mean() == pytest.approx(0.0125)


def test_the_order_of_the_rows_does_not_matter():
    rng = np.random.default_rng(1)
    rows, y, points = rng.integers(0, 3, (300, 3)).astype(float), rng.normal(size=300), rng.integers(0, 3, (9, 3)) * 1.0
    order, law = rng.permutation(300), Subbagging(0.5).resolve(300)
    one = AllBagsOfNeighbours(KNeighborsRegressor(5), rows, y, law)
    other = AllBagsOfNeighbours(KNeighborsRegressor(5), rows[order], y[order], law)
    at, there = one.ranked(points), other.ranked(points)
    np.testing.assert_allclose(one.prediction([at]), other.prediction([there]), atol=1e-14)
    np.testing.assert_allclose(one.left_out(at)[order], other.left_out(there), atol=1e-14)
    np.testing.assert_allclose(one.deviation(at), other.deviation(there), atol=1e-12)


@pytest.mark.parametrize("algorithm", ["kd_tree", "brute"])
def test_more_rows_than_count_are_searched_if_they_are_equally_far(algorithm):
    y = np.arange(400.0)
    average = AllBagsOfNeighbours(
        KNeighborsRegressor(3, algorithm=algorithm), np.ones((400, 20)), y, Subbagging(0.5)(400)
    )
    ranking = average.ranked(np.zeros((2, 20)))
    assert average.prediction([ranking]) == pytest.approx(y.mean())
    np.testing.assert_allclose(average.left_out(ranking)[:, 0], (y.sum() - y) / 399)


def test_blocks_are_the_whole(monkeypatch):
    rng = np.random.default_rng(2)
    rows, y = rng.normal(size=(200, 3)).round(1), rng.normal(size=200)
    average = AllBagsOfNeighbours(KNeighborsRegressor(3), rows, y, Subbagging(0.5).resolve(200), ObservedRange())
    whole = average.ranked(rows)
    monkeypatch.setattr(neighbours_limit, "_LIMIT_BLOCK", 1000)
    blocks = list(average.blocks(rows))
    assert len(blocks) > 5
    assert [place for points, _ in blocks for place in range(points.start, points.stop)] == list(range(200))
    found = average.prediction(ranking for _, ranking in blocks)
    np.testing.assert_allclose(found, average.prediction([whole]), atol=1e-14)
    at_rows = np.concatenate([average.left_out_at(*block) for block in blocks])
    np.testing.assert_allclose(at_rows, average.left_out_at(slice(0, 200), whole), atol=1e-14)
    part = whole[3:9]
    assert len(part) == 6
    np.testing.assert_allclose(average.left_out(part), average.left_out(whole)[:, 3:9], atol=1e-14)


def test_a_range_is_covered_if_the_targets_are_in_it():
    law, learner = Subbagging(3).resolve(5), KNeighborsRegressor(2)
    plain = AllBagsOfNeighbours(learner, X, Y, law)
    for rule in (ObservedRange(), FixedRange(-9, 9), FixedRange(Y.min(), Y.max())):
        average = AllBagsOfNeighbours(learner, X, Y, law, rule)
        np.testing.assert_array_equal(
            average.left_out(average.ranked(POINTS)), plain.left_out(plain.ranked(POINTS)), strict=True
        )
    for rule in (FixedRange(0, 9), FixedRange(-9, 0.1), TrimmedRange(2)):
        with pytest.raises(NotCovered, match="narrower than the targets"):
            AllBagsOfNeighbours(learner, X, Y, law, rule)


def test_what_is_known_of_the_targets():
    law = BernoulliSubbagging(0.5).resolve(5)
    average = AllBagsOfNeighbours(KNeighborsRegressor(2), X, Y, law, ObservedRange())
    assert average.interval == (Y.min(), Y.max())
    assert set(average.range_changes) == {int(Y.argmin()), int(Y.argmax())}
    assert average.empty_value == pytest.approx((Y.min() + Y.max()) / 2)
    assert average.empty_without_a_lonely_unit == 0
    assert not average.drawn
    average.refuse_units_in_every_bag()
    labelled = AllBagsOfNeighbours(KNeighborsClassifier(2), X, LABELS, law, None, np.unique(LABELS))
    assert set(labelled.lonely_units) == {1, 3}
    assert labelled.empty_without_a_lonely_unit == pytest.approx(0.5**4)
    np.testing.assert_allclose(labelled.prediction([labelled.ranked(POINTS)]).sum(axis=1), 1)
    assert one_hot(LABELS, labelled.classes).shape == (5, 3)


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        (KNeighborsRegressor(2, weights="distance"), "weights"),
        (KNeighborsRegressor(2, p=3), "p=3"),
        (KNeighborsRegressor(4), "no 4 neighbours"),
        (DecisionTreeRegressor(), "DecisionTreeRegressor"),
    ],
    ids=str,
)
def test_what_has_no_closed_form_says_so(learner, reason):
    with pytest.raises(NotCovered, match=reason):
        AllBagsOfNeighbours(learner, X, Y, Subbagging(3).resolve(5))


def test_values_that_are_not_finite_are_refused():
    law = Subbagging(3).resolve(5)
    for value in (np.nan, 1e154):
        with pytest.raises(NotCovered, match="missing values, and numbers beyond 1e140"):
            AllBagsOfNeighbours(KNeighborsRegressor(2), np.where(X > 0, value, X), Y, law)
    with pytest.raises(ValueError, match="contains NaN"):
        AllBagsOfNeighbours(KNeighborsRegressor(2), X, Y, law).ranked(np.full((1, 2), np.nan))


def test_only_what_it_was_made_from_is_pickled():
    average = AllBagsOfNeighbours(KNeighborsRegressor(2), X, Y, Subbagging(3).resolve(5), ObservedRange())
    before = len(pickle.dumps(average))
    prediction = average.prediction([average.ranked(POINTS)])
    again = pickle.loads(pickle.dumps(average))
    assert len(pickle.dumps(average)) == before
    np.testing.assert_array_equal(again.prediction([again.ranked(POINTS)]), prediction)


def test_frames_are_tables_too():
    law, frame = Subbagging(3).resolve(5), pd.DataFrame(X, columns=["a", "b"])
    framed, plain = (AllBagsOfNeighbours(KNeighborsRegressor(2), table, Y, law) for table in (frame, X))
    np.testing.assert_array_equal(framed.prediction([framed.ranked(frame)]), plain.prediction([plain.ranked(X)]))


@pytest.mark.parametrize("kind", [Subbagging, ClassicalBagging, BernoulliSubbagging, PoissonizedBagging])
def test_a_hundred_thousand_rows(kind):
    rng = np.random.default_rng(3)
    n = 100_000
    rows = rng.normal(size=(n, 2))
    y = rows[:, 0] + 0.1 * rng.normal(size=n)
    average = AllBagsOfNeighbours(KNeighborsRegressor(5), rows, y, kind().resolve(n), ObservedRange())
    points = 0.5 * rng.normal(size=(4, 2))
    ranking = average.ranked(points)
    prediction = average.prediction([ranking])
    np.testing.assert_allclose(prediction, points[:, 0], atol=0.2)
    moved = np.abs(prediction - average.left_out(ranking))
    assert ((moved > 1e-3).sum(axis=0) < 40).all()  # only near rows matter
    assert ((moved > 1e-3).sum(axis=0) > 3).all()
    assert (average.deviation(ranking) < 0.1).all()
