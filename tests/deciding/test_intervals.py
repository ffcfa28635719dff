import copy
import math
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from rounding import assert_same_sums
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FunctionRegressor,
    ObservedRange,
    PoissonizedBagging,
    Subbagging,
    leave_one_out,
    on_progress,
    predict_interval,
    random_n_bags,
)
from stablebag._seeds import Seeds
from stablebag.deciding import Intervals, jackknife_intervals_refit
from stablebag.deciding.intervals import METHODS, shuffled_folds
from stablebag.measuring.leave_one_out import left_out_at_rows
from stablebag.resampling import ResamplingScheme
from stablebag.resampling.law import ResolvedScheme
from stablebag.resampling.schemes import probability_with_one_more

X = np.arange(9.0)[:, None]
Y = np.array([0.1, 0.9, 2.3, 2.7, 4.4, 4.8, 6.3, 6.6, 8.5])
GOLDEN = {
    "jackknife": (3.962619047619, 5.184047619048),
    "jackknife+": (3.980952380952, 5.095833333333),
    "jackknife-minmax": (3.874404761905, 5.277380952381),
}
GOLDEN_BAGS = ["012345", "345678", "024681", "135780", "234678", "014567"]


class GivenBags(ResamplingScheme):
    """Bags one after the other from a list, in place of any law."""

    def __init__(self, bags):
        self.bags = [[int(row) for row in bag] for bag in bags]
        self.place = 0

    def __deepcopy__(self, memo):
        return GivenBags(self.bags)

    def draw_bag(self, n_samples, generator):
        bag = self.bags[self.place % len(self.bags)]
        self.place += 1
        return np.array(bag)

    def inclusion_probability(self, n_samples):
        return 0.5

    def negative_covariance(self, n_samples):
        return 0.0


def joined(text):
    return " ".join(str(text).split())


def test_infinite_intervals_warn_how_many_rows_are_needed():
    with pytest.warns(UserWarning, match=r"level 0\.95 needs at least 19 training rows and there are 9\."):
        intervals = jackknife_intervals_refit(LinearRegression(), X, Y, [[4.5]], confidence_level=0.95)
    assert intervals.lower.tolist() == [-math.inf]
    assert intervals.upper.tolist() == [math.inf]
    assert "infinitely wide" in joined(intervals)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        enough = np.arange(19.0)
        jackknife_intervals_refit(LinearRegression(), enough[:, None], enough, [[4.5]], confidence_level=0.95)


# ------------------------------------------------------------------------------------------------------------ by refits


@pytest.mark.parametrize(("method", "ends"), GOLDEN.items())
def test_intervals_of_least_squares_equal_golden_values(method, ends):
    found = jackknife_intervals_refit(LinearRegression(), X, Y, [[4.5]], confidence_level=0.8, method=method)
    assert (found.lower[0], found.upper[0]) == pytest.approx(ends, abs=1e-11)
    assert found.prediction[0] == pytest.approx(4.573333333333)


def test_interval_of_three_folds_equals_golden_values(monkeypatch):
    folds = [np.arange(3), np.arange(3, 6), np.arange(6, 9)]
    monkeypatch.setattr("stablebag.deciding.intervals.shuffled_folds", lambda *arguments: folds)
    found = jackknife_intervals_refit(
        LinearRegression(), X, Y, [[4.5]], confidence_level=0.8, method="cv+", n_folds=3, random_state=0
    )
    assert (found.lower[0], found.upper[0]) == pytest.approx((4.03, 5.027298850575), abs=1e-11)


def test_folds_are_shuffled_seeded_and_cover_every_row():
    folds = shuffled_folds(23, 5, Seeds(3), "test")
    assert sorted(np.concatenate(folds).tolist()) == list(range(23))
    assert {len(fold) for fold in folds} == {4, 5}
    assert folds[0].tolist() != list(range(5))
    again = shuffled_folds(23, 5, Seeds(3), "test")
    assert all(np.array_equal(one, other) for one, other in zip(folds, again, strict=True))


def test_cv_plus_with_one_fold_per_row_is_the_jackknife_plus():
    settings = {"confidence_level": 0.8, "random_state": 0}
    plus = jackknife_intervals_refit(LinearRegression(), X, Y, X, **settings)
    folds = jackknife_intervals_refit(LinearRegression(), X, Y, X, method="cv+", n_folds=9, **settings)
    np.testing.assert_allclose(plus.lower, folds.lower)
    np.testing.assert_allclose(plus.upper, folds.upper)
    assert "coverage is at least 0.6" in joined(folds)


@pytest.mark.slow
def test_refits_report_progress_and_do_not_depend_on_n_jobs():
    calls = []
    tree = DecisionTreeRegressor(max_features=1)
    table = np.random.default_rng(0).normal(size=(30, 4))
    settings = {"confidence_level": 0.8, "random_state": 5}
    with on_progress(lambda done, total: calls.append((done, total))):
        one = jackknife_intervals_refit(tree, table, table[:, 0], table[:4], **settings)
    two = jackknife_intervals_refit(tree, table, table[:, 0], table[:4], n_jobs=2, **settings)
    assert calls == [(done, 31) for done in range(32)]
    np.testing.assert_array_equal(one.lower, two.lower)


# -------------------------------------------------------------------------------------------------------- from the bags


def test_interval_after_bootstrap_equals_golden_values():
    law = ResolvedScheme(GivenBags(GOLDEN_BAGS), 9)  # a law that is none, and that resolve would refuse
    model = BaggedRegressor(LinearRegression(), scheme=law, n_bags=6, prediction_range=None)
    model.fit(X, Y)
    assert model.bags_.n_without.tolist() == [2, 2, 3, 2, 1, 2, 2, 2, 2]
    found = predict_interval(model, [[4.5]], confidence_level=0.8)
    assert (found.lower[0], found.upper[0]) == pytest.approx((3.974358974359, 5.150391604010), abs=1e-11)


@pytest.fixture(scope="module", params=[Subbagging(0.5), ClassicalBagging(1.0), BernoulliSubbagging(0.3)], ids=str)
def bagged(request, data):
    table, target = data
    learner = DecisionTreeRegressor(max_depth=3)
    return BaggedRegressor(learner, scheme=request.param, n_bags=80, random_state=0).fit(table[:100], target[:100])


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("method", ["jackknife", "jackknife+", "jackknife-minmax"])
def test_intervals_equal_the_textbook_formula(bagged, data, method, level):
    table, target = data
    moved, at_rows = leave_one_out(bagged, table[100:]), leave_one_out(bagged, table[:100])
    residuals = np.abs(target[:100] - at_rows.left_out[np.arange(100), np.arange(100)])
    rank = math.ceil(round(level * 101, 9))
    found = predict_interval(bagged, table[100:], confidence_level=level, method=method)
    if method == "jackknife+":
        lower = np.sort(moved.left_out - residuals[:, None], axis=0)[100 - rank]
        upper = np.sort(moved.left_out + residuals[:, None], axis=0)[rank - 1]
    else:
        radius = np.sort(residuals)[rank - 1]
        low, high = (moved.prediction,) * 2
        if method == "jackknife-minmax":
            low, high = moved.left_out.min(axis=0), moved.left_out.max(axis=0)
        lower, upper = low - radius, high + radius
    np.testing.assert_allclose(found.lower, lower, atol=1e-12)
    np.testing.assert_allclose(found.upper, upper, atol=1e-12)
    np.testing.assert_allclose(found.prediction, bagged.predict(table[100:]), atol=1e-12)


@pytest.mark.kernels
def test_neither_blocks_nor_other_points_change_intervals_by_more_than_rounding(bagged, data, monkeypatch):
    table, target = data
    once = bagged.predict_once(table[100:])
    for method in METHODS:
        whole = predict_interval(bagged, once, method=method, confidence_level=0.7)
        alone = predict_interval(bagged, once[7:8], method=method, confidence_level=0.7)
        with monkeypatch.context() as patch:
            patch.setattr("stablebag.models.average._CACHED_BYTES", 1)
            patch.setattr("stablebag.models.average._MATRIX_BYTES", 32 * 80 * 7)
            blocks = predict_interval(bagged, table[100:], method=method, confidence_level=0.7)
        np.testing.assert_array_equal(whole.prediction, blocks.prediction)
        for side in ("lower", "upper"):
            assert_same_sums(getattr(alone, side), getattr(whole, side)[7:8], bagged, once.raw, target)
            assert_same_sums(getattr(blocks, side), getattr(whole, side), bagged, once.raw, target)
    again = left_out_at_rows(copy.deepcopy(bagged))
    assert_same_sums(again, left_out_at_rows(bagged), bagged, bagged.predict_once(table[:100]).raw)


@pytest.mark.parametrize("method", METHODS[:3])
def test_predictions_that_overflow_raise_but_nearly_overflowing_ones_do_not(method):
    table, target = np.arange(30.0)[:, None], np.linspace(0, 1, 30)
    huge = FunctionRegressor(lambda X, y, seed: lambda points: np.where(points[:, 0] < 100, 0.5, points[:, 0]))
    model = BaggedRegressor(huge, n_bags=40, prediction_range=None, random_state=0).fit(table, target)
    found = predict_interval(model, [[5.0], [1e306]], method=method, confidence_level=0.5)
    assert found.upper[0] < 2
    assert found.upper[1] == pytest.approx(1e306)
    for too_much in (1e308, np.inf):
        with pytest.raises(ValueError, match="infinite or NaN"), np.errstate(over="ignore", invalid="ignore"):
            predict_interval(model, np.array([[5.0], [too_much]]), method=method, confidence_level=0.5)


def test_mapie_agrees_on_identical_bags(data):
    pytest.importorskip("mapie")
    from mapie.regression import JackknifeAfterBootstrapRegressor
    from mapie.subsample import Subsample

    table, target = data
    learner = DecisionTreeRegressor(max_depth=3, random_state=0)
    model = BaggedRegressor(learner, n_bags=50, prediction_range=None, random_state=0).fit(table[:100], target[:100])

    class OurBags(Subsample):
        def split(self, X, *arguments, **named):
            for bag in model.bags_:
                yield bag, np.setdiff1d(np.arange(100), bag)

        def get_n_splits(self, *arguments, **named):
            return len(model.bags_)

    for theirs, ours in (("plus", "jackknife+"), ("minmax", "jackknife-minmax")):
        for level in (0.8, 0.9):
            settings = {"confidence_level": level, "method": theirs, "resampling": OurBags(n_resamplings=50)}
            peer = JackknifeAfterBootstrapRegressor(learner, aggregation_method="mean", **settings)
            peer.fit_conformalize(table[:100], target[:100])
            _, ends = peer.predict_interval(table[100:])
            found = predict_interval(model, table[100:], confidence_level=level, method=ours)
            np.testing.assert_allclose(found.lower, ends[:, 0, 0], rtol=0, atol=1e-10)
            np.testing.assert_allclose(found.upper, ends[:, 1, 0], rtol=0, atol=1e-10)


def test_frames_and_sparse_tables_are_accepted(data):
    from scipy import sparse

    table, target = data
    frame = pd.DataFrame(table, columns=list("abcde"))
    plain = BaggedRegressor(LinearRegression(), n_bags=40, random_state=0).fit(table, target)
    named = BaggedRegressor(LinearRegression(), n_bags=40, random_state=0).fit(frame, target)
    thin = BaggedRegressor(LinearRegression(), n_bags=40, random_state=0).fit(sparse.csr_array(table), target)
    expected = predict_interval(plain, table[:5])
    np.testing.assert_allclose(predict_interval(named, frame[:5]).lower, expected.lower)
    np.testing.assert_allclose(predict_interval(thin, sparse.csr_array(table[:5])).lower, expected.lower, atol=1e-6)
    by_refits = jackknife_intervals_refit(LinearRegression(), frame[:20], target[:20], frame[20:25])
    lower, upper = by_refits
    assert lower is by_refits.lower
    assert upper is by_refits.upper
    assert len(lower) == 5


def test_a_low_level_has_no_guarantee(data):
    table, target = data
    low = jackknife_intervals_refit(LinearRegression(), table, target, table[:1], confidence_level=0.05)
    assert "Nothing is proved" in joined(low)
    crossed = Intervals(np.array([1.0]), np.array([0.5]), np.zeros(1), 0.05, "jackknife+", "none")
    assert crossed.width.tolist() == [0.0]
    assert not crossed.contains([0.7]).any()
    uneven = jackknife_intervals_refit(LinearRegression(), table, target, table[:1], method="cv+", n_folds=7)
    assert "folds have different sizes" in joined(uneven)


# -------------------------------------------------------------------------------------------- the number of bags, drawn


@pytest.mark.parametrize(("scheme", "n", "kept"), [
    (ClassicalBagging(100), 100, 0.369711212329), (Subbagging(50), 100, 0.504950495050),
    (BernoulliSubbagging(0.3), 100, 0.7), (PoissonizedBagging(0.5), 100, math.exp(-0.5)),
])  # fmt: skip
def test_probabilities_that_a_bag_avoids_one_more_row_equal_golden_values(scheme, n, kept):
    assert 1 - probability_with_one_more(scheme.resolve(n)) == pytest.approx(kept, abs=1e-12)
    draws = [int(random_n_bags(scheme, n, 200, random_state)) for random_state in range(300)]
    assert np.mean(draws) == pytest.approx(200, abs=6 * math.sqrt(200 * (1 - kept) / 300) + 1)
    assert random_n_bags(scheme, n, 200, 5) == random_n_bags(scheme, n, 200, 5)


def test_a_random_number_of_bags_survives_cloning_and_pickling(data):
    table, target = data
    number = random_n_bags(Subbagging(0.5), 150, 60, random_state=0)
    model = pickle.loads(pickle.dumps(clone(BaggedRegressor(LinearRegression(), n_bags=number, random_state=0))))
    found = predict_interval(model.fit(table, target), table[:1])
    assert joined(found).endswith("coverage is at least 0.8; typically it is near 0.9.")
    fixed = predict_interval(model.set_params(n_bags=int(number)).fit(table, target), table[:1])
    assert "with a fixed number, as here, it holds only approximately" in joined(fixed)
    changed = predict_interval(model.set_params(n_bags=number), table[:1])
    assert "holds only approximately" in joined(changed)  # it is what was fitted that counts
    other = predict_interval(model.fit(table[:100], target[:100]), table[:1])
    assert "holds only approximately" in joined(other)  # it was drawn for another number of rows
    minmax = predict_interval(model.fit(table, target), table[:1], method="jackknife-minmax")
    assert joined(minmax).endswith("coverage is at least 0.9.")
    assert "Nothing is proved" in joined(predict_interval(model, table[:1], method="jackknife"))


def test_random_n_bags_needs_a_law_for_one_more_row():
    class Half(ResamplingScheme):
        """Each row with probability one half, of at least ten rows; what it draws without one is another scheme."""

        def draw_bag(self, n_samples, generator):
            return np.flatnonzero(generator.random(n_samples) < 0.5)

        def inclusion_probability(self, n_samples):
            return 0.5

        def negative_covariance(self, n_samples):
            return 0.0

    with pytest.raises(TypeError, match="is unknown"):
        random_n_bags(Half(), 9, 50, random_state=0)


# ------------------------------------------------------------------------------------------------------ what comes back


def test_contains_and_coverage_count_covered_targets():
    found = Intervals(
        np.array([0.0, 1.0, -np.inf]), np.array([2.0, 1.5, np.inf]), np.zeros(3), 0.9, "jackknife+", "none"
    )
    assert found.contains([0.0, 1.6, 1e9]).tolist() == [True, False, True]
    assert found.coverage([2.0, 1.6, 1e9]) == pytest.approx(2 / 3)
    assert found.width.tolist() == [2.0, 0.5, np.inf]
    assert found.to_frame().columns.tolist() == ["prediction", "lower", "upper"]
    assert len(found.lower) == 3
    with pytest.raises(ValueError, match="Target 1 is NaN"):
        found.contains([1.0, np.nan, 2.0])
    with pytest.raises(ValueError, match="3 targets"):
        found.contains([1.0])
    with pytest.raises(AttributeError):
        found.lower = np.zeros(3)


def test_bad_input_raises(data):
    table, target = data
    model = BaggedRegressor(LinearRegression(), n_bags=60, random_state=0).fit(table, target)
    for level in (0.0, 1.0, -0.5, 1.5, math.nan):
        with pytest.raises(ValueError, match="'confidence_level'"):
            predict_interval(model, table, confidence_level=level)
    with pytest.raises(TypeError, match="'confidence_level'"):
        predict_interval(model, table, confidence_level="90%")
    with pytest.raises(ValueError, match=r"'method' .* Got 'naive'"):
        predict_interval(model, table, method="naive")
    with pytest.raises(ValueError, match="'method'"):
        predict_interval(model, table, method="cv+")
    with pytest.raises(ValueError, match=r"'delta' .* None for the jackknife\+"):
        predict_interval(model, table, delta=0.1)
    for points in (table[0], table[:, :2], table[:0]):
        with pytest.raises(ValueError, match="X_test"):
            jackknife_intervals_refit(LinearRegression(), table, target, points)
    with pytest.raises(TypeError, match="a ndarray like X"):
        jackknife_intervals_refit(LinearRegression(), table.tolist(), target, pd.DataFrame(table))
    endless = FunctionRegressor(lambda X, y, seed: lambda points: np.full(len(points), np.inf))
    with pytest.raises(ValueError, match="infinite or NaN"):
        jackknife_intervals_refit(endless, table, target, table[:1])
    with pytest.raises(TypeError, match="for other regressors, use jackknife_intervals_refit"):
        predict_interval(LinearRegression().fit(table, target), table)
    labels = target > 0
    with pytest.raises(TypeError, match="a fitted BaggedRegressor"):
        predict_interval(BaggedClassifier(n_bags=9, random_state=0).fit(table, labels), table)
    with pytest.raises(TypeError, match="intervals are for numeric targets"):
        jackknife_intervals_refit(LogisticRegression(), table, labels, table)
    with pytest.raises(TypeError, match="only bagged models have a certificate"):
        jackknife_intervals_refit(LinearRegression(), table, target, table, method="stable-jackknife")
    with pytest.raises(ValueError, match="'n_folds'"):
        jackknife_intervals_refit(LinearRegression(), table, target, table, method="cv+", n_folds=151)
    with pytest.raises(ValueError, match=r"'delta' .* at least"):
        predict_interval(model, table, method="stable-jackknife", delta=0.0)
    with pytest.raises(Exception, match="not fitted"):
        predict_interval(BaggedRegressor(), table)
    lonely = BaggedRegressor(LinearRegression(), scheme=Subbagging(140), n_bags=2, random_state=0).fit(table, target)
    with pytest.raises(ValueError, match=r"With 2 bags, .* never left out"):
        predict_interval(lonely, table)


def test_a_constant_target_has_intervals_of_zero_width():
    table = np.random.default_rng(0).normal(size=(30, 2))
    model = BaggedRegressor(KNeighborsRegressor(3), n_bags=60, random_state=0).fit(table, np.full(30, 2.5))
    for method in METHODS[:3]:
        found = predict_interval(model, table[:3], method=method)
        np.testing.assert_allclose(found.lower, 2.5)
        np.testing.assert_allclose(found.width, 0.0, atol=1e-12)
    assert isinstance(model.prediction_range_, ObservedRange)
