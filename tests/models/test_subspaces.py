import itertools
import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from learners import RowRecorder
from marks import solver_chosen
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    ParquetTable,
    Subbagging,
    forget,
    learn,
    leave_one_out,
    leave_one_out_refit,
)
from stablebag.models.caching import keep_fits
from stablebag.models.learners import Subspaces

X = np.random.default_rng(0).normal(size=(40, 6))
Y = X @ [3.0, -2.0, 1.0, 0.5, 0.0, 0.0] + np.random.default_rng(1).normal(size=40)


def bagged(learner=None, **about):
    return BaggedRegressor(learner, **{"max_features": 3, "n_bags": 12, "random_state": 0, **about})


def test_every_set_of_columns_is_equally_likely(seed):
    found = [tuple(Subspaces(5, 2).of(seed * 10**6 + number)) for number in range(4000)]
    counts = np.array([found.count(pair) for pair in itertools.combinations(range(5), 2)])
    assert counts.sum() == 4000
    # A chi-square of nine degrees of freedom is above 40 once in 130,000 times.
    assert ((counts - 400) ** 2 / 400).sum() < 40


def test_columns_are_different_and_in_the_order_of_the_table():
    for seed in range(50):
        columns = Subspaces(7, 4).of(seed)
        assert len(columns) == 4
        assert (np.diff(columns) > 0).all()


@pytest.mark.parametrize(
    ("given", "size"), [(1, 1), (6, None), (1.0, None), (0.5, 3), (0.01, 1), (np.int64(2), 2), (0.29, 1), (5 / 6, 5)]
)
def test_a_number_or_a_share_of_columns_is_meant(given, size):
    drawn = Subspaces.read(given, 6, "BaggedRegressor")
    assert (None if drawn is None else drawn.size) == size


def test_a_share_is_evaluated_as_it_is_written():
    assert Subspaces.read(0.29, 100, "BaggedRegressor").size == 29


@pytest.mark.parametrize("given", [0, -1, 7, 0.0, 1.5, -0.5, np.nan, True, "sqrt", None, [1]])
def test_other_numbers_of_columns_are_refused_before_any_fit(given):
    with pytest.raises((TypeError, ValueError), match="The 'max_features' parameter of BaggedRegressor must be"):
        bagged(max_features=given).fit(X, Y)


def test_a_learner_sees_its_rows_in_its_columns_and_nothing_else():
    model = bagged(RowRecorder()).fit(X, Y)
    for fitted, rows, columns in zip(model, model.estimators_samples_, model.estimators_features_, strict=True):
        np.testing.assert_array_equal(fitted.X_, X[rows][:, columns])
    assert len({tuple(columns) for columns in model.estimators_features_}) > 5


def test_the_prediction_is_the_average_of_the_models_at_their_columns():
    model = bagged(LinearRegression()).fit(X, Y)
    single = [fitted.predict(X[:, columns]) for fitted, columns in zip(model, model.estimators_features_, strict=True)]
    np.testing.assert_allclose(model.predict(X), np.clip(single, *model.range_).mean(axis=0))
    np.testing.assert_allclose(model.bag_predictions(X), np.clip(single, *model.range_))


def test_columns_depend_on_the_seed_and_the_bag_alone():
    """Not on rows, targets, learners, the number of bags, names or schemes."""
    columns = bagged().fit(X, Y).estimators_features_
    others = [
        bagged().fit(np.roll(X, 1, axis=0) * 2, Y[::-1]),
        bagged(Ridge()).fit(X, Y),
        bagged(n_bags=30).fit(X, Y),
        bagged(scheme="bernoulli").fit(X[:20], Y[:20], row_ids=range(100, 120)),
        bagged(ExtraTreeRegressor()).fit(X, Y, groups=np.arange(40) // 2),
        BaggedClassifier(max_features=3, n_bags=12, random_state=0).fit(X, Y > 0),
    ]
    for other in others:
        np.testing.assert_array_equal(other.estimators_features_[:12], columns)
    assert not np.array_equal(bagged(random_state=1).fit(X, Y).estimators_features_, columns)


def test_without_a_number_of_columns_learners_see_all():
    model = bagged(max_features=1.0).fit(X, Y)
    np.testing.assert_array_equal(model.estimators_features_, [np.arange(6)] * 12)
    assert model.estimators_.subspaces is None


@solver_chosen
def test_solvers_leave_subspaces_to_the_learner_and_say_so():
    for learner in (DecisionTreeRegressor(), Ridge(), KNeighborsRegressor()):
        assert str(bagged(learner).fit(X, Y).solver_) == "scikit-learn, because max_features draws columns for each bag"


def test_the_same_bits_for_any_number_of_jobs_and_batches():
    learner = make_pipeline(StandardScaler(), DecisionTreeRegressor())
    expected = bagged(learner).fit(X, Y)
    parallel = bagged(learner, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(parallel.predict(X), expected.predict(X))
    longer = bagged(learner, n_bags=5, warm_start=True).fit(X, Y).set_params(n_bags=12).fit(X, Y)
    np.testing.assert_array_equal(longer.predict(X), expected.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(expected)).predict(X), expected.predict(X))


def test_a_warm_start_with_another_number_of_columns_is_refused():
    model = bagged(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="max_features changed"):
        model.set_params(max_features=2, n_bags=20).fit(X, Y)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_frames_keep_their_names(library):
    frames = pytest.importorskip(library)
    names = list("abcdef")
    table = frames.DataFrame({name: X[:, place] for place, name in enumerate(names)})
    model = bagged(Ridge()).fit(table, Y)
    for fitted, columns in zip(model, model.estimators_features_, strict=True):
        assert list(fitted.feature_names_in_) == [names[column] for column in columns]
    np.testing.assert_allclose(model.predict(table), bagged(Ridge()).fit(X, Y).predict(X), rtol=1e-12)


def test_columns_of_sparse_tables_stay_sparse():
    model = bagged(RowRecorder()).fit(sparse.csc_array(X), Y)
    assert all(sparse.issparse(fitted.X_) and fitted.X_.shape[1] == 3 for fitted in model)
    ours, dense = bagged(Ridge(solver="lsqr")).fit(sparse.csr_array(X), Y), bagged(Ridge(solver="lsqr")).fit(X, Y)
    np.testing.assert_allclose(ours.predict(sparse.csr_array(X)), dense.predict(X), atol=1e-3)


def test_rows_that_are_not_in_memory_give_the_same_models(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef")).assign(y=Y)
    frame.to_parquet(tmp_path / "table.parquet")
    table, rows = ParquetTable(tmp_path / "table.parquet", target="y"), frame.drop(columns="y")
    expected = bagged(Ridge()).fit(rows, Y)
    np.testing.assert_array_equal(bagged(Ridge()).fit(table).predict(rows), expected.predict(rows))


def test_rows_are_forgotten_and_learned_exactly():
    model = bagged(Ridge(), scheme=Subbagging(20)).fit(X, Y)
    rest = np.delete(np.arange(40), 7)
    fresh = bagged(Ridge(), scheme=Subbagging(20)).fit(X[rest], Y[rest], row_ids=rest)
    without = forget(model, [7])
    np.testing.assert_array_equal(without.predict(X), fresh.predict(X))
    np.testing.assert_array_equal(without.estimators_features_, model.estimators_features_)
    again = learn(without, X[7:8], Y[7:8], row_ids=[7])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_leaving_out_is_measured_as_for_any_learner():
    model = bagged(Ridge()).fit(X, Y)
    moved = leave_one_out(model, X[:3])
    single = [f.predict(X[:3][:, columns]) for f, columns in zip(model, model.estimators_features_, strict=True)]
    single = np.clip(single, *model.range_)
    without = model.bags_.without(5)
    np.testing.assert_allclose(moved.left_out[5], single[without].mean(axis=0))
    streamed = leave_one_out(bagged(Ridge()), X[:3], X_train=X, y_train=Y)
    np.testing.assert_allclose(streamed.left_out, moved.left_out)
    refit = leave_one_out_refit(bagged(Ridge(), scheme=Subbagging(20)), X, Y, X[:3], rows=[5])
    rest = np.delete(np.arange(40), 5)
    fresh = bagged(Ridge(), scheme=Subbagging(20)).fit(X[rest], Y[rest], row_ids=rest)
    np.testing.assert_allclose(refit.left_out[0], fresh.predict(X[:3]))


def test_all_bags_have_one_seed_and_so_one_subspace_with_a_warning():
    with pytest.warns(UserWarning, match="all bags see the same 3 of 6 columns"):
        model = bagged(Ridge(), n_bags="all", scheme=Subbagging(2)).fit(X[:8], Y[:8])
    assert len({tuple(columns) for columns in model.estimators_features_}) == 1


def test_a_model_with_subspaces_survives_skops():
    skops = pytest.importorskip("skops.io")
    model = BaggedClassifier(DecisionTreeClassifier(), max_features=2, n_bags=5, random_state=0).fit(X, Y > 0)
    text = skops.dumps(model)
    again = skops.loads(text, trusted=skops.get_untrusted_types(data=text))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_bags_without_rows_and_of_one_class_need_no_columns():
    model = BaggedClassifier(max_features=1, scheme="poissonized", n_bags=40, random_state=0)
    model.set_params(scheme__bag_size=0.05).fit(X, Y > 0)
    assert (model.bags_.sizes == 0).any()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_fits_kept_for_other_columns_are_not_taken(tmp_path):
    with keep_fits(tmp_path / "kept"):
        one = bagged(Ridge(), max_features=2).fit(X, Y).predict(X)
        other = bagged(Ridge(), max_features=3).fit(X, Y).predict(X)
        with pytest.warns(UserWarning, match="12 of 12 fits are taken"):
            again = bagged(Ridge(), max_features=2).fit(X, Y).predict(X)
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_a_learner_that_names_a_column_fails_where_it_was_not_drawn():
    pandas = pytest.importorskip("pandas")
    named = make_pipeline(make_column_transformer((StandardScaler(), ["a", "b"])), Ridge())
    with pytest.raises(ValueError, match="Pipeline failed to fit on bag"):
        bagged(named).fit(pandas.DataFrame(X, columns=list("abcdef")), Y)
