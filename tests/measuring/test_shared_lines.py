import math

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FixedRange,
    ObservedRange,
    PerturbationDisplay,
    PoissonizedBagging,
    StabilityCurveDisplay,
    Subbagging,
    TrimmedRange,
    leave_one_out,
)
from stablebag import leave_one_out as module
from stablebag.measuring import Perturbations
from stablebag.measuring import perturbations as shared_lines
from stablebag.measuring.leave_one_out import perturbations_of
from stablebag.measuring.perturbations import BagLines
from stablebag.models.average import BagAverage
from stablebag.models.ranges import PredictionRange
from stablebag.resampling import Bags

pytestmark = pytest.mark.kernels

RNG = np.random.default_rng(0)
X, Y, POINTS = RNG.normal(size=(60, 2)), RNG.normal(size=60), RNG.normal(size=(4, 2))
GROUPS = np.arange(60) // 2
SCHEMES = [Subbagging(5), BernoulliSubbagging(0.04), ClassicalBagging(6), PoissonizedBagging(0.06)]
RANGES = [None, FixedRange(-1, 1), ObservedRange(), TrimmedRange(2)]


def both(model, points, monkeypatch, **fit):
    """The same perturbations, as an array with a line for each row and by patterns."""
    model = model.fit(*fit.pop("data", (X, Y)), **fit)
    dense = leave_one_out(model, points)
    with monkeypatch.context() as patch:
        patch.setattr(module, "_are_shared", lambda *_, **__: True)
        shared = leave_one_out(model, points)
    assert isinstance(dense.left_out, np.ndarray)
    assert isinstance(shared.left_out, BagLines)
    return dense, shared


def assert_the_same(dense, shared):
    scale = max(1.0, float(np.abs(dense.left_out).max()))
    near = {"rtol": 1e-12, "atol": 1e-13 * scale}
    assert len(shared.rows) == len(dense.rows)
    assert shared.left_out.shape == dense.left_out.shape
    np.testing.assert_allclose(np.asarray(shared.left_out), dense.left_out, **near)
    np.testing.assert_allclose(shared.values, dense.values, **near)
    some = [3, -1, 0]
    np.testing.assert_allclose(shared.left_out[some], dense.left_out[some], **near)
    np.testing.assert_allclose(shared.left_out[2:5], dense.left_out[2:5], **near)
    np.testing.assert_allclose(shared.left_out[7], dense.left_out[7], **near)
    mask = np.arange(len(dense.left_out)) % 3 == 1
    np.testing.assert_allclose(shared.left_out[mask], dense.left_out[mask], **near)
    for wrong in ([1.9], mask[1:], ["a"]):
        with pytest.raises(IndexError, match="Rows are numbers"):
            shared.left_out[wrong]
    for over in (None, "max", "mean"):
        for order in (1, 1.5, 2, 3, math.inf):
            np.testing.assert_allclose(shared.norm(order, over), dense.norm(order, over), **near)
        for share in (0.0, 0.01, 0.1, 0.5, 1.0):
            np.testing.assert_allclose(shared.epsilon(share, over), dense.epsilon(share, over), **near)
        for level in (*np.quantile(dense.values, [0.3, 0.7, 0.95]).tolist(), 0.0, float(dense.values.max())):
            # Halfway between two distances, because the two may be on other sides of a tie.
            distances = np.unique(np.append(dense.values.round(12), [0.0, 1e3]))
            place = min(np.searchsorted(distances, level), len(distances) - 2)
            between = float(distances[place] + distances[place + 1]) / 2
            np.testing.assert_array_equal(shared.delta(between, over), dense.delta(between, over))
    np.testing.assert_allclose(shared.noise, dense.noise, **near)
    np.testing.assert_allclose(shared.row_norms(), dense.row_norms(), **near)
    np.testing.assert_allclose(shared.debiased_rms("mean"), dense.debiased_rms("mean"), **near)
    assert repr(shared) == repr(dense)
    epsilon, delta = shared.curve()
    np.testing.assert_array_equal(delta, [shared.delta(level, "max") for level in epsilon])
    for k in (1, 5, 100):
        np.testing.assert_allclose(shared.most_influential(k)[1], dense.most_influential(k)[1], **near)
    rows, effects = shared.most_influential(7)
    points = np.arange(len(dense.prediction))[:, None]
    np.testing.assert_allclose(effects, dense.differences[rows, points], **near)
    assert all(len(set(line.tolist())) == 7 for line in rows)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("prediction_range", RANGES, ids=str)
@pytest.mark.parametrize("n_bags", [3, 30])
def test_every_summary_is_that_of_all_rows(scheme, prediction_range, n_bags, monkeypatch):
    about = {"n_bags": n_bags, "prediction_range": prediction_range, "random_state": 1}
    assert_the_same(*both(BaggedRegressor(DecisionTreeRegressor(), scheme=scheme, **about), POINTS, monkeypatch))


@pytest.mark.parametrize("scheme", SCHEMES[:3], ids=str)
def test_units_in_the_same_bags_are_alike(scheme, monkeypatch):
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=scheme, n_bags=12, random_state=1)
    assert_the_same(*both(model, POINTS, monkeypatch, groups=GROUPS))


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_classes_that_are_lost_with_a_row_are_looked_at_one_by_one(scheme, monkeypatch):
    labels = np.where(np.arange(60) < 30, "a", "b").astype(object)
    labels[11] = "alone"
    model = BaggedClassifier(GaussianNB(), scheme=scheme, n_bags=25, random_state=3)
    dense, shared = both(model, POINTS, monkeypatch, data=(X, labels))
    assert_the_same(dense, shared)
    np.testing.assert_array_equal(shared.flips(), dense.flips())
    assert_the_same_norms(dense.in_norm(), shared.in_norm())


def assert_the_same_norms(dense, shared):
    for order in (1, 2, math.inf):
        np.testing.assert_allclose(shared.norm(order), dense.norm(order), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(shared.values, dense.values, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(shared.epsilon(0.1), dense.epsilon(0.1), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("drawn", [True, False])
def test_rows_in_nearly_all_of_very_many_bags_lose_no_digits(drawn):
    """Against sums without any rounding; the sum over the bags with a row has 3,000 terms that cancel."""
    n, n_bags, rng = 6, 3_000, np.random.default_rng(0)
    bags = Bags([np.delete(np.arange(n), b % 5) if b < 15 else np.arange(1, n - 1) for b in range(n_bags)], n)
    raw = rng.normal(size=(n_bags, 2)) + 1000
    weights = np.full(n_bags, 1 / n_bags) if drawn else rng.dirichlet(np.ones(n_bags))
    law = Subbagging(4).resolve(n)
    lines = BagLines(BagAverage(law, bags, weights, drawn, np.empty(0)), raw)
    units = np.ones(n_bags) if drawn else weights
    for row in range(n - 1):
        there = bags.without(row)
        exact = [math.fsum(units[there] * raw[there, k]) / math.fsum(units[there]) for k in range(2)]
        for found in (lines[row], lines.lines(slice(None))[lines.line_of(np.array([row]))[0]]):
            np.testing.assert_allclose(found, exact, rtol=1e-14)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_norms_of_order_below_one_differ_by_rounding_to_that_power_at_most(scheme, monkeypatch):
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=scheme, n_bags=30, random_state=1)
    dense, shared = both(model, POINTS, monkeypatch)
    off = np.abs(np.asarray(shared.values) - dense.values).max()
    assert off < 1e-14
    for order in (0.1, 0.5, 0.9):
        means = shared.norm(order) ** order, dense.norm(order) ** order
        assert (np.abs(means[0] - means[1]) <= off**order + 1e-14).all()


def test_all_bags_have_weights(monkeypatch):
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=BernoulliSubbagging(0.3), n_bags="all")
    assert_the_same(*both(model, POINTS, monkeypatch, data=(X[:8], Y[:8])))


def model_of_few_bags(**about):
    return BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(5), n_bags=6, random_state=0, **about)


def test_losses_and_files_keep_lines(monkeypatch, tmp_path):
    dense, shared = both(model_of_few_bags(), POINTS, monkeypatch)
    losses = [moved.loss(lambda f, y: (f - y) ** 2, np.arange(4.0)) for moved in (dense, shared)]
    assert_the_same_norms(*losses)
    for ending in (".npz", ".json"):
        shared.save(tmp_path / f"moved{ending}")
        again = Perturbations.load(tmp_path / f"moved{ending}")
        assert_the_same(dense, again)
        assert len(again.left_out.lines(slice(None))) == len(shared.left_out.counts) < 60


def test_displays_count_a_line_as_often_as_it_has_rows(monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    dense, shared = both(model_of_few_bags(), POINTS, monkeypatch)
    for point in (None, 2):
        bars = [PerturbationDisplay.from_perturbations({"one": moved}, point=point).bars_ for moved in (dense, shared)]
        corners = [bar["one"][0].get_xy() for bar in bars]
        np.testing.assert_allclose(corners[1], corners[0], rtol=1e-9, atol=1e-12)
    for moved in (dense, shared):
        StabilityCurveDisplay.from_perturbations(moved)


def test_a_frame_and_in_sample_are_of_each_row(monkeypatch):
    pytest.importorskip("pandas")
    dense, shared = both(model_of_few_bags(), X, monkeypatch)
    np.testing.assert_allclose(shared.to_frame()["left_out"], dense.to_frame()["left_out"], rtol=1e-12)
    np.testing.assert_allclose(shared.in_sample(), dense.in_sample(), rtol=1e-12, atol=1e-15)


def test_streaming_holds_rows_together_too(monkeypatch):
    monkeypatch.setattr(module, "_DENSE_BYTES", 0)
    shared = leave_one_out(model_of_few_bags(), POINTS, X_train=X, y_train=Y)
    assert isinstance(shared.left_out, BagLines)
    fitted = leave_one_out(model_of_few_bags().fit(X, Y), POINTS)
    np.testing.assert_array_equal(shared.left_out.lines(slice(None)), fitted.left_out.lines(slice(None)))


def test_rows_in_several_bags_each_are_not_worth_it(monkeypatch):
    monkeypatch.setattr(module, "_DENSE_BYTES", 0)
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(0.5), n_bags=30, random_state=0).fit(X, Y)
    assert isinstance(leave_one_out(model, POINTS).left_out, np.ndarray)


def test_the_array_is_refused_where_it_is_large(monkeypatch):
    _, shared = both(model_of_few_bags(), POINTS, monkeypatch)
    monkeypatch.setattr(shared_lines, "MOST_BYTES", 8 * 60 * 4 - 1)
    sentence = r"An array of 60 rows by 4 points would take .* GiB, .* leave_one_out\(model, X, rows=...\)"
    for ask in (lambda: shared.values, lambda: shared.differences, shared.to_frame, lambda: shared.left_out[:]):
        with pytest.raises(ValueError, match=sentence):
            ask()
    assert shared.left_out[[1, 2]].shape == (2, 4)
    assert shared.max().shape == (4,)
    with pytest.raises(IndexError, match="outside of the 60 rows"):
        shared.left_out[60]
    with pytest.raises(TypeError, match="Take the rows first"):
        shared.left_out[1, 2]


def test_more_than_the_machine_has_is_refused(monkeypatch):
    model = model_of_few_bags().fit(X, Y)
    monkeypatch.setattr(module.os, "sysconf", lambda name: 1)
    with pytest.raises(ValueError, match=r"60 rows at 4 points would take .* rows=10_000"):
        leave_one_out(model, POINTS)


# -------------------------------------------------------------------------------------------------------- some rows


@pytest.mark.parametrize("scheme", [Subbagging(5), Subbagging(0.5)], ids=str)
@pytest.mark.parametrize("prediction_range", RANGES, ids=str)
def test_some_rows_are_the_lines_of_all(scheme, prediction_range):
    about = {"n_bags": 40, "prediction_range": prediction_range, "random_state": 0}
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=scheme, **about).fit(X, Y)
    everything, some = leave_one_out(model, POINTS), np.array([int(Y.argmax()), 3, 59, int(Y.argmin())])
    moved = leave_one_out(model, POINTS, rows=some)
    np.testing.assert_allclose(moved.left_out, everything.left_out[some], rtol=1e-12)
    assert moved.rows.tolist() == some.tolist()
    assert moved.scope.n_rows == 4
    np.testing.assert_array_equal(moved.bags.n_without, everything.bags.n_without[some])


def test_rows_are_drawn_and_say_so():
    model = model_of_few_bags().fit(X, Y)
    moved = leave_one_out(model, POINTS, rows=20, random_state=5)
    assert len(set(moved.rows.tolist())) == 20
    assert moved.rows.tolist() == leave_one_out(model, POINTS, rows=20, random_state=5).rows.tolist()
    assert moved.rows.tolist() != leave_one_out(model, POINTS, rows=20, random_state=6).rows.tolist()
    assert "Perturbations by 20 of 60 rows" in repr(moved)
    assert leave_one_out(model, POINTS, rows=60).scope.n_rows is None


@pytest.mark.parametrize("rows", [0, 61, [60], [-1], [1, 1], [], [0.5], "a", [[1]], True])
def test_rows_that_are_none_are_refused(rows):
    with pytest.raises((ValueError, TypeError), match="'rows' parameter of leave_one_out must be"):
        leave_one_out(model_of_few_bags().fit(X, Y), POINTS, rows=rows)


# ----------------------------------------------------------------------------------------------------- very many rows


class Known(PredictionRange):
    """A range that is known without the targets."""

    def interval(self, y):
        return (-2.0, 2.0)

    def changes(self, y, groups=None):
        return {7: (-2.0, 1.0)}


def test_a_billion_rows():
    n, law = 10**9, Subbagging(50).resolve(10**9)
    bags = law.draw(40, 0)
    raw = np.random.default_rng(0).normal(size=(40, 3))
    average = BagAverage(law, bags, np.full(40, 1 / 40), True, np.empty(0), Known())
    moved = perturbations_of(average, raw)
    clipped = np.clip(raw, -2, 2)
    mean = clipped.mean(axis=0)
    alone = np.abs(mean - (clipped.sum(axis=0) - clipped) / 39)  # rows that are in one bag alone
    special = np.abs(mean - np.clip(raw, -2, 1).mean(axis=0))  # in no bag, but without it the range is another
    assert 7 not in np.concatenate(list(bags))
    assert len(np.unique(np.concatenate(list(bags)))) == 2000
    np.testing.assert_allclose(moved.max(), np.maximum(alone.max(axis=0), special), rtol=1e-12)
    np.testing.assert_allclose(moved.mean(), (50 * alone.sum(axis=0) + special) / n, rtol=1e-12)
    np.testing.assert_allclose(moved.norm(2), np.sqrt((50 * (alone**2).sum(axis=0) + special**2) / n), rtol=1e-12)
    np.testing.assert_array_equal(moved.delta(1e-9), 2001 / n)
    np.testing.assert_array_equal(moved.epsilon(2001 / n), 0.0)
    rows, effects = moved.most_influential(3)
    np.testing.assert_allclose(np.abs(effects[:, 0]), moved.max(), rtol=1e-12)
    assert (rows[:, 0] < n).all()
    assert "1,000,000,000 rows" in repr(moved)
    with pytest.raises(ValueError, match=r"An array of 1,000,000,000 rows by 3 points would take 22.4 GiB"):
        _ = moved.values


def test_rows_in_no_bag_move_nothing_at_all():
    law = Subbagging(2).resolve(9)
    bags = Bags([[0, 1], [1, 2], [4, 5]], 9)
    average = BagAverage(law, bags, np.full(3, 1 / 3), True, np.empty(0))
    raw = np.array([[0.1], [0.2], [0.7]])
    lines = BagLines(average, raw)
    assert (lines[[3, 6, 7, 8]] == lines.prediction).all()
    np.testing.assert_allclose(lines[[0, 1, 2, 4, 5]].ravel(), [0.45, 0.7, 0.4, 0.15, 0.15], rtol=1e-15)
    assert lines.counts.tolist() == [4, 1, 1, 2, 1]
    assert lines.n_without.tolist() == [3, 2, 2, 2, 1]
