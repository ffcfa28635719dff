import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import VotingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from learners import RowRecorder
from resampling.own_schemes import Declared
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    FunctionRegressor,
    PoissonizedBagging,
    StratifiedSubbagging,
    Subbagging,
    certify,
    forget,
    leave_one_out_refit,
    on_progress,
)
from stablebag.deciding import jackknife_intervals_refit
from stablebag.measuring import replace_one_refit
from stablebag.measuring.refits import (
    for_one_less,
    may_refit_without,
    names_of_rows,
    refit_without,
    refit_without_each,
    replacing_units,
    rows_replaced,
    rows_without,
    spread_of_a_few,
    units_for,
)
from stablebag.models.fitted import Fitted
from stablebag.proving.scope import Quantity, Rerun
from stablebag.resampling.units import RowIds, Units

# --------------------------------------------------------------------------------------------------------------- refits


SCHEMES = [Subbagging(0.5), BernoulliSubbagging(0.4), ClassicalBagging(1.0), PoissonizedBagging(0.5)]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(25, 3)), rng.normal(size=25), rng.normal(size=(7, 3))


def test_refits_equal_fits_without_the_row(data):
    X, y, points = data
    moved = leave_one_out_refit(Ridge(), X, y, points)
    np.testing.assert_allclose(moved.prediction, Ridge().fit(X, y).predict(points))
    for row in range(25):
        without = Ridge().fit(np.delete(X, row, axis=0), np.delete(y, row)).predict(points)
        np.testing.assert_allclose(moved.left_out[row], without)


def test_rows_can_be_chosen_and_n_jobs_does_not_matter(data, monkeypatch):
    X, y, points = data
    every = leave_one_out_refit(DecisionTreeRegressor(), X, y, points, random_state=0)
    some = leave_one_out_refit(DecisionTreeRegressor(), X, y, points, rows=[3, 20], n_jobs=2, random_state=0)
    assert some.rows.tolist() == [3, 20]
    np.testing.assert_array_equal(some.left_out, every.left_out[[3, 20]])
    monkeypatch.setattr("stablebag.measuring.refits._ROWS_AT_ONCE", 4)
    again = leave_one_out_refit(DecisionTreeRegressor(), X, y, points, random_state=0)
    np.testing.assert_array_equal(again.left_out, every.left_out)


def test_the_seed_is_the_same_without_the_row_and_differs_between_repeats(data):
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
        def _set_fitted(self, *arguments):
            model = super()._set_fitted(*arguments)
            seen.append((model.scheme_.n_samples, model.scheme_.bag_size))
            return model

    leave_one_out_refit(Spy(**model.get_params(deep=False)), X, y, points, rows=[0, 1])
    assert seen == [(25, 12), (24, 12), (24, 12)]  # and not 24 // 2 by chance: see the next
    seen.clear()
    leave_one_out_refit(Spy(RowRecorder(), scheme=BernoulliSubbagging(5), n_bags=3), X, y, points, rows=[0])
    assert seen == [(25, 5.0), (24, 4.8)]


def test_a_class_that_vanishes_with_a_row_gets_probability_zero():
    X, y = np.arange(8.0)[:, None], np.array(["a", "a", "a", "b", "b", "b", "b", "c"])
    moved = leave_one_out_refit(LogisticRegression(), X, y, X)
    assert moved.left_out.shape == (8, 8, 3)
    assert (moved.left_out[7, :, 2] == 0).all()
    assert (moved.left_out[0, :, 2] > 0).all()


def test_progress_is_reported_after_each_fit(data):
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


@pytest.mark.slow
def test_corollary_17_holds_for_a_bagged_model(data):
    X, y, points = data
    model = BaggedRegressor(n_bags=200, prediction_range=FixedRange(-1, 1))
    moved = replace_one_refit(model, X, y, X[::-1], y[::-1], points, rows=range(10), random_state=0)
    certificate = Certificate(Subbagging(0.5), 25, 200, range_length=2.0)
    assert moved.mean("max") <= certificate.replace_one()


@pytest.mark.parametrize("rows", [[25], [-1], [0.5], "ab", [], [[1]]])
def test_invalid_rows_raise(rows, data):
    X, y, points = data
    with pytest.raises((ValueError, TypeError), match="row"):
        leave_one_out_refit(Ridge(), X, y, points, rows=rows)


def test_bad_input_raises(data):
    X, y, points = data
    with pytest.raises(TypeError, match="'estimator' parameter of leave_one_out_refit"):
        leave_one_out_refit("ridge", X, y, points)
    with pytest.raises(TypeError, match=r"pass the estimator first, then the data: leave_one_out_refit\("):
        leave_one_out_refit(X, y, Ridge(), points)
    with pytest.raises(TypeError, match=r"this is a class\. Pass an instance: Ridge\(\)"):
        leave_one_out_refit(Ridge, X, y, points)
    with pytest.raises(TypeError, match="KMeans is a clusterer"):
        leave_one_out_refit(KMeans(2), X, y, points)
    with pytest.raises(TypeError, match=r"for the first 5, use range\(5\)"):
        leave_one_out_refit(Ridge(), X, y, points, rows=5)
    with pytest.raises(ValueError, match=r"X_test has 2 columns, but X has 3\. Pass points with the columns of X"):
        leave_one_out_refit(Ridge(), X, y, points[:, :2])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        leave_one_out_refit(Ridge(), X, y[:-1], points)
    with pytest.raises(ValueError, match="minimum of 2"):
        leave_one_out_refit(DummyRegressor(), X[:1], y[:1], points)
    with pytest.raises(ValueError, match="'n_repeats'"):
        leave_one_out_refit(Ridge(), X, y, points, n_repeats=0)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        replace_one_refit(Ridge(), X, y, X[:-1], y[:-1], points)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_a_resolved_scheme_uses_its_own_law_without_one(scheme, data):
    X, y, points = data
    settings = {"n_bags": 10, "random_state": 0}
    plain = leave_one_out_refit(BaggedRegressor(Ridge(), scheme=scheme, **settings), X, y, points, rows=[2])
    law = leave_one_out_refit(BaggedRegressor(Ridge(), scheme=scheme.resolve(25), **settings), X, y, points, rows=[2])
    np.testing.assert_array_equal(plain.left_out, law.left_out)
    with pytest.raises(ValueError, match="bagging noise is unknown"):
        _ = plain.noise


def test_a_bagged_model_in_a_pipeline_uses_the_law_without_one(data):
    X, y, points = data
    bagged = BaggedRegressor(Ridge(), scheme=Subbagging(0.5), n_bags=10, random_state=0)
    inside = leave_one_out_refit(make_pipeline(FunctionTransformer(), bagged), X[:24], y[:24], points, rows=[0, 5])
    alone = leave_one_out_refit(bagged, X[:24], y[:24], points, rows=[0, 5])
    np.testing.assert_array_equal(inside.left_out, alone.left_out)


def test_repeats_need_a_learner_with_a_free_random_state(data):
    X, y, points = data
    for learner in (Ridge(random_state=3), LinearRegression(), BaggedRegressor(LinearRegression(), random_state=0)):
        with pytest.raises(ValueError, match="all repeats would be equal"):
            leave_one_out_refit(learner, X, y, points, n_repeats=2)


def test_replacements_must_have_the_same_types_and_columns(data):
    X, y, _ = data
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for other, targets in ((frame[["c", "b", "a"]], y), (frame[["a", "b"]], y), (X, y), (frame, y.astype(str))):
        with pytest.raises(ValueError, match="must have the same types and columns as X and y"):
            replace_one_refit(Ridge(), frame, y, other, targets, frame[:2])


def test_ensembles_fitted_to_fewer_rows_are_not_changed(data):
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


def test_the_noise_is_unknown_if_rows_are_replaced(data):
    X, y, points = data
    moved = replace_one_refit(BaggedRegressor(Ridge(), n_bags=5), X, y, X[::-1], y[::-1], points, rows=[0])
    with pytest.raises(ValueError, match="bagging noise is unknown"):
        _ = moved.noise


def test_missing_targets_raise(data):
    X, y, points = data
    y = y.copy()
    y[3] = np.nan
    with pytest.raises(ValueError, match="Input y contains NaN"):
        leave_one_out_refit(DecisionTreeRegressor(criterion="absolute_error"), X, y, points, rows=[0])


def test_refit_without_predicts_at_the_points_and_at_the_fold():
    X, y = np.zeros((4, 1)), np.array([0.0, 2.0, 4.0, 6.0])
    folds = [np.array([], dtype=int), np.array([0, 1]), np.array([3])]
    fits = refit_without(DummyRegressor(), X, y, folds, X[:3], one_less=False)
    # The mean of all, of the last two, and of the first three.
    assert [(points.tolist(), rows.tolist()) for points, rows in fits] == [
        ([3.0] * 3, []),
        ([5.0] * 3, [5.0] * 2),
        ([2.0] * 3, [2.0]),
    ]


def test_refit_without_uses_the_law_without_one_only_for_single_rows(data):
    X, y, points = data
    seen = []

    def noted(X, y, seed):
        seen.append(len(y))
        return lambda points: np.zeros(len(points))

    model = BaggedRegressor(FunctionRegressor(noted), scheme=Subbagging(0.6), n_bags=1, prediction_range=None)
    list(refit_without(model, X, y, [np.array([0])], points, random_state=0))
    list(refit_without(model, X, y, [np.arange(5)], points, one_less=False, random_state=0))
    assert seen == [15, 12]  # 15 of 25 are 15 of 24 without one; and 0.6 of 20


# --------------------------------------------------------------------------------------------------------- matched bags


def counting():
    seen = []

    def noted(X, y, seed):
        seen.append(len(y))
        return lambda points: np.full(len(points), float(np.mean(y)))

    return FunctionRegressor(noted), seen


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_only_bags_with_the_row_are_refitted(scheme, data):
    X, y, points = data
    learner, seen = counting()
    model = BaggedRegressor(learner, scheme=scheme, n_bags=20, random_state=0)
    rows = [0, 7, 24]
    leave_one_out_refit(model, X, y, points, rows=rows)
    law = scheme.resolve(25)
    bags = law.draw(20, 0)
    without = [law.without_one().draw(20, 0, row_ids=np.delete(np.arange(25), row)) for row in rows]
    again = [np.sum(less.sizes[bags.with_any(np.array([row]))] > 0) for row, less in zip(rows, without, strict=True)]
    assert len(seen) == np.sum(bags.sizes > 0) + sum(again)
    assert sum(again) < 3 * 20


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_forgetting_each_row_equals_fitting_without_it(scheme, n_jobs, data):
    X, y, points = data
    model = BaggedRegressor(DecisionTreeRegressor(max_features=1), scheme=scheme, n_bags=10, random_state=0)
    moved = leave_one_out_refit(model, X, y, points, rows=[0, 12], n_jobs=n_jobs)
    np.testing.assert_array_equal(moved.prediction, clone(model).fit(X, y).predict(points))
    for place, row in enumerate((0, 12)):
        rest = np.delete(np.arange(25), row)
        smaller = clone(model).set_params(scheme=scheme.resolve(25).without_one())
        fresh = smaller.fit(X[rest], y[rest], row_ids=rest).predict(points)
        np.testing.assert_array_equal(moved.left_out[place], fresh)


def test_after_forgetting_a_class_that_vanishes_gets_probability_zero():
    X, y = np.arange(9.0)[:, None], np.array(["a", "a", "a", "b", "b", "b", "b", "b", "c"])
    model = BaggedClassifier(DecisionTreeClassifier(), n_bags=10, random_state=0)
    moved = leave_one_out_refit(model, X, y, X)
    assert moved.left_out.shape == (9, 9, 3)
    assert (moved.left_out[8, :, 2] == 0).all()
    rest = np.arange(8)
    fresh = clone(model).set_params(scheme=Subbagging(4)).fit(X[rest], y[rest], row_ids=rest)
    np.testing.assert_array_equal(moved.left_out[8, :, :2], fresh.predict_proba(X))


def test_keep_rows_does_not_change_refits(data):
    X, y, points = data
    found = [
        leave_one_out_refit(BaggedRegressor(Ridge(), n_bags=5, keep_rows=keeps, random_state=0), X, y, points, rows=[3])
        for keeps in (True, False)
    ]
    np.testing.assert_array_equal(found[0].left_out, found[1].left_out)


def test_matched_bags_change_predictions_less_than_new_bags(data):
    """Bags that stay as they are add no noise: v / B against 2 s^2 / B. Seeds are fixed; the ratio is about four."""
    X, y, points = data
    learner = DecisionTreeRegressor()
    model = BaggedRegressor(learner, scheme=Subbagging(5), n_bags=20, prediction_range=FixedRange(-3, 3))
    moved = leave_one_out_refit(model, X, y, points, rows=range(6), n_repeats=4, random_state=0)
    matched_square = np.mean(moved.distances**2)
    squares = []
    for seed in range(4):
        with_all = clone(model).set_params(random_state=seed).fit(X, y).predict(points)
        for row in range(6):
            rest = np.delete(np.arange(25), row)
            other = clone(model).set_params(random_state=100 + seed).fit(X[rest], y[rest]).predict(points)
            squares.append(np.mean((with_all - other) ** 2))
    assert matched_square < np.mean(squares) / 2
    proved = certify(clone(model).set_params(random_state=0).fit(X, y))
    assert matched_square <= proved.norm(2) ** 2
    assert moved.scope.coupling == "matched"


def test_a_custom_scheme_without_matched_bags_is_refitted_completely(data):
    X, y, points = data
    learner, seen = counting()
    moved = leave_one_out_refit(
        BaggedRegressor(learner, scheme=Declared(0.5, 0.0), n_bags=6, random_state=0), X, y, points, rows=[0, 1]
    )
    assert len(seen) == 3 * 6
    assert moved.scope.coupling == "any"


def test_progress_counts_each_forgotten_row(data):
    X, y, points = data
    calls = []
    with on_progress(lambda *numbers: calls.append(numbers)):
        leave_one_out_refit(BaggedRegressor(Ridge(), n_bags=4), X, y, points, rows=[0, 1, 2], n_repeats=2)
    assert calls[-1] == (2 * 4, 2 * 4)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)


def test_a_replacement_keeps_the_row_id(data):
    X, y, points = data
    learner, _ = counting()
    model = BaggedRegressor(learner, n_bags=10, random_state=0)
    moved = replace_one_refit(model, X, y, X, y, points, rows=[0, 24])
    assert (moved.values == 0).all()  # the same row under the same name changes nothing


def test_a_row_whose_loss_leaves_one_class_is_measured():
    X = np.arange(6.0)[:, None]
    model = BaggedClassifier(DecisionTreeClassifier(), n_bags=5, random_state=0)
    moved = leave_one_out_refit(model, X, [0, 0, 0, 0, 0, 1], X[:2])
    assert moved.left_out.shape == (6, 2, 2)
    np.testing.assert_array_equal(moved.left_out[5], [[1.0, 0.0]] * 2)
    assert leave_one_out_refit(model, X, np.zeros(6), X[:2]).left_out.shape == (6, 2, 1)


def test_refits_use_given_row_ids_or_those_of_a_fitted_model(data):
    X, y, points = data
    names = [f"row {k}" for k in range(len(y))]
    model = BaggedRegressor(DecisionTreeRegressor(random_state=0), n_bags=6, random_state=0).fit(X, y, row_ids=names)
    for moved in (
        leave_one_out_refit(model, X, y, points, rows=[3]),
        leave_one_out_refit(clone(model), X, y, points, rows=[3], row_ids=names),
    ):
        np.testing.assert_array_equal(moved.prediction, model.predict(points))
        np.testing.assert_array_equal(moved.left_out[0], forget(model, ["row 3"]).predict(points))


def test_bags_are_matched_inside_pipelines_and_target_transformers(data):
    X, y, points = data
    model = BaggedRegressor(DecisionTreeRegressor(random_state=0), n_bags=6, random_state=0)
    plain = leave_one_out_refit(model, X, y, points, rows=[3, 9])
    for wrapped in (
        make_pipeline(FunctionTransformer(), model),
        TransformedTargetRegressor(model),
        TransformedTargetRegressor(make_pipeline(FunctionTransformer(), model)),
    ):
        moved = leave_one_out_refit(wrapped, X, y, points, rows=[3, 9])
        np.testing.assert_allclose(moved.left_out, plain.left_out)


def test_refits_of_any_estimator_measure_several_outputs(data):
    X, y, points = data
    both = pd.DataFrame({"up": y, "down": -3 * y})
    moved = leave_one_out_refit(LinearRegression(), X, both, points)
    alone = leave_one_out_refit(LinearRegression(), X, y, points)
    np.testing.assert_allclose(moved.left_out[..., 0], alone.left_out)
    np.testing.assert_allclose(moved.left_out[..., 1], -3 * alone.left_out)
    np.testing.assert_allclose(moved.in_norm().values, np.sqrt(10) * alone.values)
    assert moved.names.classes.tolist() == ["up", "down"]
    assert (moved.scope.quantity, moved.scope.rerun) == (Quantity.OUTPUT, Rerun.ALONE)


def test_refits_of_a_bagged_model_of_several_outputs_match_its_certificate(data):
    X, y, points = data
    both = np.column_stack([y, y**2])
    model = BaggedRegressor(Ridge(), n_bags=7, random_state=0)
    moved = leave_one_out_refit(model, X, both, points, rows=[0, 5])
    for place, row in enumerate((0, 5)):
        without = forget(clone(model).fit(X, both), [row])
        np.testing.assert_array_equal(moved.left_out[place], without.predict(points))
    everything = leave_one_out_refit(model, X, both, points)
    assert everything.in_norm().scope.mismatch(certify(model.fit(X, both), vector=True).scope) is None
    assert everything.in_norm().scope.mismatch(certify(model.output(0)).scope) is not None


def test_replacements_and_folds_take_one_output_at_a_time(data):
    X, y, points = data
    both = np.column_stack([y, y])
    with pytest.raises(ValueError, match="pass one column at a time"):
        replace_one_refit(Ridge(), X, both, X, both, points)
    with pytest.raises(ValueError, match="pass one column at a time"):
        jackknife_intervals_refit(Ridge(), X, both, points)
    with pytest.raises(ValueError, match="pass one column at a time"):
        leave_one_out_refit(LogisticRegression(), X, both > 0, points)
    with pytest.raises(ValueError, match="without missing values"):
        leave_one_out_refit(Ridge(), X, pd.DataFrame({"a": ["x"] * 25, "b": y}), points)


@pytest.mark.parametrize("scheme", [Subbagging(0.5), BernoulliSubbagging(0.1), ClassicalBagging(0.4)], ids=str)
@pytest.mark.parametrize("groups", [None, np.arange(24) // 2])
@pytest.mark.parametrize("classes", [False, True])
def test_a_fitted_model_is_refitted_like_an_unfitted_one(scheme, groups, classes):
    rng = np.random.default_rng(0)
    X, Z, y = rng.normal(size=(24, 2)), rng.normal(size=(5, 2)), rng.normal(size=24)
    if classes:
        y = np.array(["a", "b"])[(y > 0).astype(int)]
        y[:2] = "c"  # a group without which a class is gone
    maker, tree = (BaggedClassifier, DecisionTreeClassifier) if classes else (BaggedRegressor, DecisionTreeRegressor)
    about = {"scheme": scheme, "n_bags": 40, "random_state": 3}
    model = maker(tree(max_features=1), **about).fit(X, y, groups=groups)
    rows = np.arange(len(model.units_))  # some of them change the range, or the classes; some bags are empty
    found = refit_without_each(model, Z, rows, Fitted(model).raw(Z))
    fresh = leave_one_out_refit(maker(tree(max_features=1), **about), X, y, Z, groups=groups, random_state=0)
    np.testing.assert_array_equal(found.moved.left_out, fresh.left_out)
    np.testing.assert_array_equal(found.moved.prediction, fresh.prediction)
    assert found.moved.scope == fresh.scope
    changes = (found.moved.values**2).reshape(len(rows), 5, -1).sum(axis=2)
    assert (found.spread**2 >= changes - 1e-12).all()  # a mean of squares is at least the square of the mean


def test_a_fitted_model_with_strata_is_refitted_like_an_unfitted_one(data):
    X, y, Z = data
    labels = np.where(y > 0, "a", "b")
    model = BaggedClassifier(DecisionTreeClassifier(), scheme=StratifiedSubbagging(0.5), n_bags=30, random_state=0)
    fresh = leave_one_out_refit(model, X, labels, Z, random_state=0)
    model.fit(X, labels)
    assert may_refit_without(model)
    found = refit_without_each(model, Z, np.arange(25), Fitted(model).raw(Z))
    np.testing.assert_array_equal(found.moved.left_out, fresh.left_out)
    assert found.moved.scope == fresh.scope
    own = BaggedRegressor(Ridge(), scheme=Declared(0.5, 0.0), n_bags=3, random_state=0).fit(X, y)
    assert not may_refit_without(own)  # whose bags are other ones without a row


def test_extreme_numbers_do_not_overflow():
    X, y = np.arange(12.0)[:, None], np.arange(12.0)
    for unit in (1e200, 1e-200):
        model = BaggedRegressor(DecisionTreeRegressor(), n_bags=20, random_state=0).fit(X, unit * y)
        raw = Fitted(model).raw(X[:3])
        found = refit_without_each(model, X[:3], np.arange(12), raw)
        assert 0 < found.spread.max() / unit < 12
        assert 0 < spread_of_a_few(model, X[:3], np.arange(12), raw, 0).max() / unit < 40


# ------------------------------------------------------------------------------------------------------- altered tables


GROUPS = ["p", "q", "p", "r", "q"]
UNITS = Units.of_groups(GROUPS, 5)


def test_all_rows_of_a_group_are_left_out():
    assert [rows_without(UNITS, unit).tolist() for unit in range(3)] == [[1, 3, 4], [0, 2, 3], [0, 1, 2, 4]]
    assert rows_without(Units(RowIds(None, 3)), 1).tolist() == [0, 2]


def test_replacement_rows_are_inserted_where_the_group_was():
    same = replacing_units(UNITS, ["q", "p", "r", "p", "q"], 5, "here")
    assert rows_replaced(UNITS, same, 0).tolist() == [6, 1, 8, 3, 4]
    assert rows_replaced(UNITS, same, 2).tolist() == [0, 1, 2, 7, 4]
    longer = replacing_units(UNITS, ["p", "p", "p", "q", "r"], 5, "here")
    assert rows_replaced(UNITS, longer, 0).tolist() == [5, 6, 7, 1, 3, 4]
    assert rows_replaced(UNITS, longer, 1).tolist() == [0, 8, 2, 3]


@pytest.mark.parametrize(("groups", "why"), [
    (None, "the group of each replacement"), (["p", "q", "q"], "the same groups as 'groups'"),
    (["p", "q", "r", "s"], "some of these groups replace no group"), (["p", "q", "s"], "'r' has no replacement"),
])  # fmt: skip
def test_replacements_for_other_groups_raise(groups, why):
    with pytest.raises(ValueError, match=f"'groups_replacement' parameter of here must be .*{why}"):
        replacing_units(UNITS, groups, 0 if groups is None else len(groups), "here")
    with pytest.raises(ValueError, match="None if groups is None"):
        replacing_units(Units(RowIds(None, 3)), [1, 2, 3], 3, "here")


def test_a_bagged_model_gets_its_groups_at_the_end_of_a_pipeline():
    bagged = BaggedRegressor(n_bags=5)
    assert names_of_rows(bagged, UNITS)["groups"].tolist() == GROUPS
    assert names_of_rows(bagged, Units(RowIds(None, 2)))["row_ids"].tolist() == [0, 1]
    assert list(names_of_rows(make_pipeline(StandardScaler(), bagged), UNITS)) == ["baggedregressor__groups"]
    assert list(names_of_rows(TransformedTargetRegressor(bagged), UNITS)) == ["groups"]
    assert names_of_rows(Ridge(), UNITS) == {}
    assert names_of_rows(bagged, UNITS, UNITS)["groups"].tolist() == GROUPS * 2


def test_groups_of_a_fitted_model_are_the_default():
    X, y = np.arange(5.0)[:, None], np.arange(5.0)
    model = BaggedRegressor(n_bags=5, scheme=Subbagging(1), random_state=0).fit(X, y, groups=GROUPS)
    assert units_for(model, X, 5, None, None, "here") is model.units_
    assert units_for(model, X, 4, None, None, "here").are_rows
    assert len(units_for(model, X, 5, None, [1, 1, 1, 2, 2], "here")) == 2
    assert len(leave_one_out_refit(model, X, y, X[:1]).rows) == 3


def test_without_a_group_bags_are_drawn_over_one_group_less():
    smaller = for_one_less(make_pipeline(StandardScaler(), BaggedRegressor(scheme=Subbagging(2))), 3, "here")
    assert (smaller[-1].scheme.n_samples, smaller[-1].scheme.bag_size) == (2, 2)


def mean(X, y, seed):
    return lambda points: np.full(len(points), y.mean())


def test_refits_of_a_mean_by_groups_equal_numbers_computed_directly():
    X, y = np.zeros((5, 1)), np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    without = leave_one_out_refit(FunctionRegressor(mean), X, y, [[0.0]], groups=GROUPS)
    assert without.left_out.ravel().tolist() == [8 / 3, 5 / 3, 7 / 4]
    replaced = replace_one_refit(
        FunctionRegressor(mean), X, y, X[:4], [10.0, 20.0, 30.0, 40.0], [[0.0]], groups=GROUPS,
        groups_replacement=["r", "p", "q", "p"],
    )  # fmt: skip
    assert replaced.left_out.ravel().tolist() == [
        (20 + 40 + 1 + 3 + 4) / 5,
        (30 + 0 + 2 + 3) / 4,
        (10 + 0 + 1 + 2 + 4) / 5,
    ]
    assert replaced.names.rows.tolist() == ["p", "q", "r"]


def test_groups_of_one_row_are_replaced_like_rows():
    rng = np.random.default_rng(0)
    X, y, other = rng.normal(size=(8, 2)), rng.normal(size=8), rng.normal(size=8)
    plain = replace_one_refit(LinearRegression(), X, y, X, other, X[:2])
    order = rng.permutation(8)
    units = replace_one_refit(
        LinearRegression(), X, y, X[order], other[order], X[:2], groups=np.arange(8), groups_replacement=order
    )
    np.testing.assert_array_equal(plain.left_out, units.left_out)
