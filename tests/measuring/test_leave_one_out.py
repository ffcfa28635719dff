"""Leave-one-out for free equals brute force, equals refitting, and says what is noise."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_iris
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from learners import RowRecorder
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    FunctionRegressor,
    PoissonizedBagging,
    Subbagging,
    TrimmedRange,
    certify,
    leave_one_out,
    leave_one_out_refit,
    on_progress,
    replace_one_refit,
    stream_leave_one_out,
)
from stablebag.paper.counterexamples import Memorizer
from stablebag.proving.bounds import memorizer_in_sample_delta
from stablebag.proving.scope import Rerun

SCHEMES = [Subbagging(0.5), BernoulliSubbagging(0.4), ClassicalBagging(1.0), PoissonizedBagging(0.5)]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(25, 3)), rng.normal(size=25), rng.normal(size=(7, 3))


# --------------------------------------------------------------------------------------------- from the bags themselves


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_reuse_is_the_average_over_the_bags_without_the_row(scheme, data):
    X, y, points = data
    model = BaggedRegressor(scheme=scheme, n_bags=150, prediction_range=FixedRange(-1, 1), random_state=0).fit(X, y)
    moved = leave_one_out(model, points)
    each = model.bag_predictions(points)
    np.testing.assert_allclose(moved.prediction, model.predict(points), atol=1e-12)
    for row in range(25):
        np.testing.assert_allclose(moved.left_out[row], each[model.bags_.without(row)].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(moved.bags.deviation, each.std(axis=0, ddof=1))
    np.testing.assert_allclose(moved.bags.extent, np.ptp(each, axis=0))
    assert (moved.estimated_scale <= moved.estimated_range * 1.01).all()


@pytest.mark.parametrize("prediction_range", [TrimmedRange(3), lambda y: (y.mean() - 0.3, y.mean() + 0.3)])
def test_rows_that_change_the_range_are_left_out_under_the_range_without_them(prediction_range, data):
    X, y, points = data
    model = BaggedRegressor(
        LinearRegression(),
        scheme=BernoulliSubbagging(0.1),
        n_bags=300,
        prediction_range=prediction_range,
        random_state=0,
    ).fit(X, y)
    moved = leave_one_out(model, points)
    empty = model.bags_.sizes == 0
    assert empty.any()
    for row in range(25):
        low, high = model.prediction_range_(np.delete(y, row))
        raw = np.array([estimator.predict(points) for estimator in model.estimators_])
        raw[empty] = (low + high) / 2
        expected = np.clip(raw, low, high)[model.bags_.without(row)].mean(axis=0)
        np.testing.assert_allclose(moved.left_out[row], expected, atol=1e-12)


def test_classifiers_give_each_classs_probability():
    X, y = load_iris(return_X_y=True)
    model = BaggedClassifier(DecisionTreeClassifier(), n_bags=80, random_state=0).fit(X, y)
    moved = leave_one_out(model, X[::10])
    assert moved.left_out.shape == (150, 15, 3)
    np.testing.assert_allclose(moved.left_out.sum(axis=2), 1)
    each = model.bag_predictions(X[::10])
    np.testing.assert_allclose(moved.left_out[7], each[model.bags_.without(7)].mean(axis=0))


def test_blocks_do_not_matter(data, monkeypatch):
    X, y, points = data
    model = BaggedRegressor(n_bags=100, random_state=0).fit(X, y)
    whole = leave_one_out(model, points)
    monkeypatch.setattr("stablebag.measuring.leave_one_out._BLOCK_BYTES", 1)
    np.testing.assert_allclose(leave_one_out(model, points).left_out, whole.left_out, atol=1e-12)


def test_streaming_is_the_same_without_keeping_a_model(data):
    X, y, points = data
    for model in (
        BaggedRegressor(n_bags=60, random_state=0),
        BaggedRegressor(n_bags=60, n_jobs=2, prediction_range=None, scheme=ClassicalBagging(), random_state=0),
        BaggedRegressor(KNeighborsRegressor(1), scheme=Subbagging(2), n_bags="all"),
    ):
        kept, streamed = leave_one_out(model.fit(X, y), points), stream_leave_one_out(model, X, y, points)
        np.testing.assert_array_equal(streamed.left_out, kept.left_out)
        np.testing.assert_array_equal(streamed.prediction, kept.prediction)
    fresh = BaggedRegressor(n_bags=60)
    stream_leave_one_out(fresh, X, y, points)
    assert not hasattr(fresh, "bags_")


def test_streaming_passes_weights_on(data):
    X, y, points = data
    weight = np.arange(1.0, 26.0)
    model = BaggedRegressor(Ridge(), n_bags=40, random_state=0)
    streamed = stream_leave_one_out(model, X, y, points, sample_weight=weight)
    kept = leave_one_out(model.fit(X, y, sample_weight=weight), points)
    np.testing.assert_array_equal(streamed.left_out, kept.left_out)


def test_a_row_in_every_bag_is_an_error_that_names_it(data):
    X, y, points = data
    model = BaggedRegressor(scheme=Subbagging(24), n_bags=5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"Row \d+ \(and \d+ others\) is in all 5 bags, so its .* Raise n_bags"):
        leave_one_out(model, points)


def test_only_fitted_bagged_models_reuse_bags(data):
    X, y, points = data
    with pytest.raises(TypeError, match="for other estimators use leave_one_out_refit"):
        leave_one_out(Ridge().fit(X, y), points)
    with pytest.raises(ValueError, match="is not fitted"):
        leave_one_out(BaggedRegressor(), points)
    with pytest.raises(TypeError, match="'model' parameter of stream_leave_one_out"):
        stream_leave_one_out(Ridge(), X, y, points)


# --------------------------------------------------------------------------------------------------------- by refitting


def test_refits_are_fits_without_the_row(data):
    X, y, points = data
    moved = leave_one_out_refit(Ridge(), X, y, points)
    np.testing.assert_allclose(moved.prediction, Ridge().fit(X, y).predict(points))
    for row in range(25):
        without = Ridge().fit(np.delete(X, row, axis=0), np.delete(y, row)).predict(points)
        np.testing.assert_allclose(moved.left_out[row], without)


def test_some_rows_can_be_chosen_and_jobs_do_not_matter(data, monkeypatch):
    X, y, points = data
    every = leave_one_out_refit(DecisionTreeRegressor(), X, y, points, random_state=0)
    some = leave_one_out_refit(DecisionTreeRegressor(), X, y, points, rows=[3, 20], n_jobs=2, random_state=0)
    assert some.rows.tolist() == [3, 20]
    np.testing.assert_array_equal(some.left_out, every.left_out[[3, 20]])
    monkeypatch.setattr("stablebag.measuring.refits._ROWS_AT_ONCE", 4)
    again = leave_one_out_refit(DecisionTreeRegressor(), X, y, points, random_state=0)
    np.testing.assert_array_equal(again.left_out, every.left_out)


def test_the_seed_is_the_same_with_and_without_the_row_and_differs_between_repeats(data):
    X, y, points = data
    seen = []

    def noted(X, y, seed):
        seen.append((len(y), seed))
        return lambda points: np.full(len(points), float(seed % 7))

    moved = leave_one_out_refit(FunctionRegressor(noted), X, y, points, n_repeats=3, rows=[0, 1], random_state=0)
    assert (moved.values == 0).all()
    assert moved.distances.shape == (3, 2, 7)
    assert len({seed for _, seed in seen}) == 3
    assert sorted(n for n, _ in seen) == [24] * 6 + [25] * 3


def test_randomized_learners_are_averaged_over_seeds(data):
    X, y, points = data
    learner = MLPRegressor(hidden_layer_sizes=(3,), max_iter=5)
    with pytest.warns(UserWarning, match="Maximum iterations"):
        moved = leave_one_out_refit(learner, X, y, points, rows=[0, 5], n_repeats=4, random_state=1)
    np.testing.assert_allclose(moved.values, moved.distances.mean(axis=0))
    assert set(np.unique(moved.delta(moved.values.mean()) * 8 % 1)) == {0.0}


def test_a_bagged_model_is_refitted_under_the_law_without_one(data):
    X, y, points = data
    model = BaggedRegressor(RowRecorder(), scheme=Subbagging(0.5), n_bags=3, random_state=0)
    seen = []

    class Spy(BaggedRegressor):
        def fit(self, X, y, sample_weight=None, **fit_params):
            super().fit(X, y, sample_weight, **fit_params)
            seen.append((self.scheme_.n_samples, self.scheme_.bag_size))
            return self

    leave_one_out_refit(Spy(**model.get_params(deep=False)), X, y, points, rows=[0, 1])
    assert seen == [(25, 12), (24, 12), (24, 12)]  # and not 24 // 2 by chance: see the next
    seen.clear()
    leave_one_out_refit(Spy(RowRecorder(), scheme=BernoulliSubbagging(5), n_bags=3), X, y, points, rows=[0])
    assert seen == [(25, 5.0), (24, 4.8)]


@pytest.mark.parametrize(
    "scheme", [Subbagging(2), Subbagging(5), BernoulliSubbagging(0.4), ClassicalBagging(3)], ids=str
)
@pytest.mark.parametrize("prediction_range", [None, FixedRange(-0.5, 0.5), TrimmedRange(2)], ids=str)
def test_with_all_bags_reuse_is_exactly_refitting_under_the_law_without_one(scheme, prediction_range):
    rng = np.random.default_rng(1)
    X, y, points = rng.normal(size=(6, 1)), rng.normal(size=6), rng.normal(size=(4, 1))
    model = BaggedRegressor(KNeighborsRegressor(1), scheme=scheme, n_bags="all", prediction_range=prediction_range)
    reused, refitted = leave_one_out(model.fit(X, y), points), leave_one_out_refit(model, X, y, points)
    np.testing.assert_allclose(reused.prediction, refitted.prediction, atol=1e-12)
    np.testing.assert_allclose(reused.left_out, refitted.left_out, atol=1e-12)


def test_classifiers_are_refitted_too_and_a_class_that_vanishes_gets_probability_zero():
    X, y = np.arange(8.0)[:, None], np.array(["a", "a", "a", "b", "b", "b", "b", "c"])
    moved = leave_one_out_refit(LogisticRegression(), X, y, X)
    assert moved.left_out.shape == (8, 8, 3)
    assert (moved.left_out[7, :, 2] == 0).all()
    assert (moved.left_out[0, :, 2] > 0).all()


def test_progress_is_told_after_each_fit(data):
    X, y, points = data
    calls = []
    with on_progress(lambda *numbers: calls.append(numbers)):
        leave_one_out_refit(SGDRegressor(), X, y, points, n_repeats=2)
    assert calls == [(done, 2 * 26) for done in range(2 * 26 + 1)]


def test_replacing_a_row(data):
    X, y, points = data
    X_new, y_new = X[::-1] + 1, y[::-1]
    moved = replace_one_refit(Ridge(), X, y, X_new, y_new, points)
    for row in (0, 13):
        X_other, y_other = X.copy(), y.copy()
        X_other[row], y_other[row] = X_new[row], y_new[row]
        np.testing.assert_allclose(moved.left_out[row], Ridge().fit(X_other, y_other).predict(points))
    frames = replace_one_refit(Ridge(), pd.DataFrame(X), y, pd.DataFrame(X_new), y_new, pd.DataFrame(points))
    np.testing.assert_allclose(frames.left_out, moved.left_out)
    assert frames.scope.rerun is Rerun.REPLACED


def test_corollary_17_holds_for_a_bagged_model(data):
    X, y, points = data
    model = BaggedRegressor(n_bags=200, prediction_range=FixedRange(-1, 1))
    moved = replace_one_refit(model, X, y, X[::-1], y[::-1], points, rows=range(10), random_state=0)
    certificate = Certificate(Subbagging(0.5), 25, 200, range_length=2.0)
    assert moved.mean("max") <= certificate.replace_one()


@pytest.mark.parametrize("rows", [[25], [-1], [0.5], "ab", [], [[1]]])
def test_rows_that_are_none_are_refused(rows, data):
    X, y, points = data
    with pytest.raises((ValueError, TypeError), match="row"):
        leave_one_out_refit(Ridge(), X, y, points, rows=rows)


def test_bad_refits_are_refused(data):
    X, y, points = data
    with pytest.raises(TypeError, match="'estimator' parameter of leave_one_out_refit"):
        leave_one_out_refit("ridge", X, y, points)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        leave_one_out_refit(Ridge(), X, y[:-1], points)
    with pytest.raises(ValueError, match="minimum of 2"):
        leave_one_out_refit(DummyRegressor(), X[:1], y[:1], points)
    with pytest.raises(ValueError, match="'n_repeats'"):
        leave_one_out_refit(Ridge(), X, y, points, n_repeats=0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        replace_one_refit(Ridge(), X, y, X[:-1], y[:-1], points)


# -------------------------------------------------------------------------------------------- theorems, on measurements


@pytest.mark.parametrize("scheme", [Subbagging(3), BernoulliSubbagging(0.5), ClassicalBagging(4)], ids=str)
def test_all_bags_obey_their_certificate_and_mix(scheme):
    rng = np.random.default_rng(0)
    X, y, points = rng.normal(size=(7, 2)), rng.normal(size=7), rng.normal(size=(30, 2))
    model = BaggedRegressor(DecisionTreeRegressor(random_state=0), scheme=scheme, n_bags="all").fit(X, y)
    moved, certificate = leave_one_out(model, points), certify(model)
    for rows in range(8):
        assert moved.epsilon(rows / 7, over_points="max") <= certificate.epsilon(rows / 7) + 1e-12
    assert moved.mean("max") <= certificate.mean() + 1e-12
    fixed = BaggedRegressor(DecisionTreeRegressor(random_state=0), scheme=scheme, n_bags="all", prediction_range=None)
    moved = leave_one_out(fixed.fit(X, y), points)
    inside, weights, each = fixed.bags_.inclusion, fixed.bag_weights_, fixed.bag_predictions(points)
    p = fixed.scheme_.inclusion_probability
    for row in range(7):
        weight = weights * inside[:, row]
        with_row = weight @ each / weight.sum()
        np.testing.assert_allclose(moved.prediction, p * with_row + (1 - p) * moved.left_out[row], atol=1e-12)


def test_the_memorizer_moves_by_p_at_its_own_rows():
    X, y = Memorizer.data_set(6)
    model = BaggedRegressor(Memorizer(), scheme=Subbagging(2), n_bags="all", prediction_range=FixedRange(0, 1))
    in_sample = leave_one_out(model.fit(X, y), X).in_sample()
    np.testing.assert_allclose(in_sample, 1 / 3)


@pytest.mark.parametrize(("n", "m"), [(6, 2), (7, 3), (9, 4)])
def test_the_memorizer_is_unstable_at_its_own_rows_below_p_and_stable_from_p_on(n, m):
    X, y = Memorizer.data_set(n)
    model = BaggedRegressor(Memorizer(), scheme=Subbagging(m), n_bags="all", prediction_range=FixedRange(0, 1))
    moved = leave_one_out(model.fit(X, y), X)
    for epsilon in (0.2 * m / n, m / n - 1e-9, m / n, m / n + 1e-9):
        assert moved.in_sample_delta(epsilon) == memorizer_in_sample_delta(epsilon, p=m / n)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_a_resolved_scheme_is_refitted_under_its_own_law_without_one(scheme, data):
    X, y, points = data
    settings = {"n_bags": 10, "random_state": 0}
    plain = leave_one_out_refit(BaggedRegressor(Ridge(), scheme=scheme, **settings), X, y, points, rows=[2])
    law = leave_one_out_refit(BaggedRegressor(Ridge(), scheme=scheme.resolve(25), **settings), X, y, points, rows=[2])
    np.testing.assert_array_equal(plain.left_out, law.left_out)
    with pytest.raises(ValueError, match="noise of the bags is not known"):
        _ = plain.noise


def test_a_bagged_model_inside_a_pipeline_is_refitted_under_the_law_without_one(data):
    X, y, points = data
    bagged = BaggedRegressor(Ridge(), scheme=Subbagging(0.5), n_bags=10, random_state=0)
    inside = leave_one_out_refit(make_pipeline(FunctionTransformer(), bagged), X[:24], y[:24], points, rows=[0, 5])
    alone = leave_one_out_refit(bagged, X[:24], y[:24], points, rows=[0, 5])
    np.testing.assert_array_equal(inside.left_out, alone.left_out)


def test_repeats_of_a_learner_without_seeds_are_refused(data):
    X, y, points = data
    for learner in (Ridge(random_state=3), LinearRegression(), BaggedRegressor(LinearRegression(), random_state=0)):
        with pytest.raises(ValueError, match="every repeat would be the same"):
            leave_one_out_refit(learner, X, y, points, n_repeats=2)


def test_replacements_must_look_like_what_they_replace(data):
    X, y, _ = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for other, targets in ((frame[["c", "b", "a"]], y), (frame[["a", "b"]], y), (X, y), (frame, y.astype(str))):
        with pytest.raises(ValueError, match="must look like what they replace"):
            replace_one_refit(Ridge(), frame, y, other, targets, frame[:2])


def test_a_class_that_vanishes_with_its_row_is_forgotten_by_empty_bags():
    X, y = np.arange(6.0)[:, None], np.array(list("aabbbc"))
    model = BaggedClassifier(KNeighborsClassifier(1), scheme=BernoulliSubbagging(0.4), n_bags="all").fit(X, y)
    refitted = leave_one_out_refit(model, X, y, X)
    np.testing.assert_allclose(leave_one_out(model, X).left_out, refitted.left_out, atol=1e-12)


def test_infinite_predictions_are_not_perfect_stability(data):
    X, y, points = data
    learner = FunctionRegressor(lambda X, y, seed: lambda points: np.full(len(points), np.inf if seed % 2 else 0.0))
    model = BaggedRegressor(learner, n_bags=40, prediction_range=None, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="NaN or infinite"), np.errstate(invalid="ignore"):
        leave_one_out(model, points)


def test_ensembles_that_see_fewer_rows_are_left_as_they_are(data):
    X, y, points = data
    inner = BaggedRegressor(Ridge(), n_bags=4)
    search = GridSearchCV(inner, {"n_bags": [3, 4]}, cv=2)
    nested = BaggedRegressor(inner, n_bags=3)
    for estimator in (search, nested, VotingRegressor([("a", inner), ("b", Ridge())])):
        assert leave_one_out_refit(estimator, X, y, points, rows=[0, 1], random_state=0).left_out.shape == (
            2,
            len(points),
        )


def test_ensembles_at_the_end_of_a_pipeline_keep_the_law_without_a_row(data):
    X, y, points = data
    seen = []

    def learner(X, y, seed):
        seen.append(len(y))
        return lambda points: np.zeros(len(points))

    bagged = BaggedRegressor(FunctionRegressor(learner), scheme=Subbagging(0.5), n_bags=3)
    for estimator in (
        make_pipeline(StandardScaler(), bagged),
        TransformedTargetRegressor(bagged, check_inverse=False),
    ):
        seen.clear()
        leave_one_out_refit(estimator, X, y, points, rows=[0], random_state=0)
        assert set(seen) == {len(y) // 2}  # 12 of 25 rows, and 12 of 24


def test_the_noise_of_bags_is_not_known_where_rows_are_replaced(data):
    X, y, points = data
    moved = replace_one_refit(BaggedRegressor(Ridge(), n_bags=5), X, y, X[::-1], y[::-1], points, rows=[0])
    with pytest.raises(ValueError, match="noise of the bags is not known"):
        _ = moved.noise


def test_targets_that_are_missing_are_refused_in_refits(data):
    X, y, points = data
    y = y.copy()
    y[3] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN"):
        leave_one_out_refit(DecisionTreeRegressor(criterion="absolute_error"), X, y, points, rows=[0])
