import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.calibration import calibration_curve
from sklearn.datasets import load_diabetes, load_iris, make_blobs
from sklearn.ensemble import BaggingClassifier, BaggingRegressor, ExtraTreesClassifier
from sklearn.linear_model import BayesianRidge, LogisticRegression, Ridge
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    r2_score,
)
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from learners import RowRecorder
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FunctionRegressor,
    ParquetTable,
    Subbagging,
    certify,
    forget,
    leave_one_out,
    leave_one_out_error,
    predict_interval,
)
from stablebag.models import fitting
from stablebag.models.fitted import Fitted

# ---------------------------------------------------------------------------------------------------------- predictions


@pytest.fixture
def model():
    def mean(X, y, seed):
        return lambda points: np.full(len(points), y.mean())

    X, y = np.arange(4.0)[:, None], np.array([0.0, 2.0, 4.0, 10.0])
    return BaggedRegressor(FunctionRegressor(mean), scheme=Subbagging(3), n_bags="all").fit(X, y)


def test_predict_once_has_every_bags_prediction_at_every_point(model):
    once = model.predict_once(np.zeros((2, 1)))
    assert len(once) == 2
    assert once.bags == model.bags_
    # Without the last row, without the third, ...
    np.testing.assert_allclose(once.raw, np.repeat([[2.0], [4.0], [14 / 3], [16 / 3]], 2, axis=1))


def test_stored_predictions_are_read_only(model):
    once = model.predict_once(np.zeros((2, 1)))
    with pytest.raises(ValueError, match="read-only"):
        once.raw[0, 0] = 7.0


def test_slices_of_predictions_have_their_own_fingerprint(model):
    once = model.predict_once(np.arange(6.0)[:, None])
    some = once[1:3]
    np.testing.assert_array_equal(some.raw, once.raw[:, 1:3])
    assert len({once.points, some.points, once[2:4].points}) == 3
    assert model.predict_once(np.arange(6.0)[:, None]).points == once.points


def test_stored_predictions_replace_the_points_as_one_block(model):
    points = np.arange(6.0)[:, None]
    once = model.predict_once(points)
    raw = once.of(model)
    np.testing.assert_array_equal(raw, np.concatenate([block for _, block in Fitted(model).raw_blocks(points)], axis=1))


def test_predictions_of_another_model_raise(model):
    once = model.predict_once(np.zeros((2, 1)))
    other = BaggedRegressor(scheme=Subbagging(2), n_bags="all").fit(Fitted(model).X, Fitted(model).y)
    with pytest.raises(ValueError, match="another model"):
        list(once.of(other))
    with pytest.raises(ValueError, match="another model"):
        certify(other, once)


# ----------------------------------------------------------------------------------------------------------- out of bag

pytestmark = pytest.mark.kernels

DIABETES, IRIS = load_diabetes(return_X_y=True), load_iris(return_X_y=True)


def test_oob_score_uses_the_bags_without_each_row():
    X, y = DIABETES[0][:60], DIABETES[1][:60]
    model = BaggedRegressor(Ridge(), n_bags=60, random_state=0, oob_score=True).fit(X, y)
    bags = np.array([fitted.predict(X) for fitted in model])
    for row in range(60):  # rows that set the range are clipped to what it is without them
        out = bags[[row not in rows for rows in model.estimators_samples_], row]
        low, high = model.prediction_range_(np.delete(y, row))
        assert model.oob_prediction_[row] == pytest.approx(np.clip(out, low, high).mean())
    assert model.oob_score_ == r2_score(y, model.oob_prediction_)


def test_classifier_scores_labels_and_stores_probabilities():
    X, y = IRIS
    labels = np.array(["a", "b", "c"])[y]
    model = BaggedClassifier(n_bags=60, random_state=0, oob_score=True).fit(X, labels)
    assert model.oob_decision_function_.shape == (150, 3)
    np.testing.assert_allclose(model.oob_decision_function_.sum(axis=1), 1)
    predicted = model.classes_[model.oob_decision_function_.argmax(axis=1)]
    assert model.oob_score_ == accuracy_score(labels, predicted)
    assert not hasattr(model, "oob_prediction_")
    assert 1 - model.oob_score_ == pytest.approx(leave_one_out_error(model, "zero_one").value)


def test_oob_score_can_be_any_metric():
    X, y = DIABETES
    model = BaggedRegressor(Ridge(), n_bags=40, random_state=0, oob_score=mean_absolute_error).fit(X, y)
    assert model.oob_score_ == pytest.approx(leave_one_out_error(model, "absolute").value)
    classifier = BaggedClassifier(n_bags=40, random_state=0, oob_score=balanced_accuracy_score).fit(*IRIS)
    assert 0.9 < classifier.oob_score_ <= 1


def test_oob_score_is_close_to_the_score_on_new_rows_and_to_scikit_learn():
    X, y = DIABETES
    about = {"random_state": 0, "oob_score": True}
    ours = BaggedRegressor(scheme="classical", n_bags=100, **about).fit(X[:300], y[:300])
    theirs = BaggingRegressor(n_estimators=100, **about).fit(X[:300], y[:300])
    assert abs(ours.oob_score_ - ours.score(X[300:], y[300:])) < 0.15
    assert abs(ours.oob_score_ - theirs.oob_score_) < 0.05
    ours = BaggedClassifier(scheme="classical", n_bags=50, **about).fit(*IRIS)
    assert abs(ours.oob_score_ - BaggingClassifier(n_estimators=50, **about).fit(*IRIS).oob_score_) < 0.03


def test_oob_score_raises_before_fitting_if_a_row_is_in_every_bag():
    class NeverFitted(RowRecorder):
        def fit(self, X, y):
            raise AssertionError("it was fitted")

    with pytest.raises(ValueError, match=r"With 1 bag, 221 rows are never left out\. Use 50 bags or more\."):
        BaggedRegressor(NeverFitted(), n_bags=1, random_state=0, oob_score=True).fit(*DIABETES)


@pytest.mark.parametrize("given", ["r2", 1, None, 0.5, [True]])
def test_wrong_oob_score_raises(given):
    with pytest.raises(
        TypeError, match="The 'oob_score' parameter of BaggedRegressor must be True, False or a function"
    ):
        BaggedRegressor(oob_score=given).fit(*DIABETES)


def test_without_oob_score_nothing_is_scored():
    model = BaggedClassifier(n_bags=5, random_state=0).fit(*IRIS)
    assert not [name for name in vars(model) if name.startswith("oob_") and name.endswith("_")]


def test_warm_start_updates_or_removes_the_oob_score():
    about = {"n_bags": 30, "random_state": 0, "oob_score": True}
    X, y = DIABETES
    model = BaggedRegressor(Ridge(), warm_start=True, **about).fit(X, y)
    before = model.oob_score_
    model.set_params(n_bags=60).fit(X, y)
    assert model.oob_score_ != before
    assert model.oob_score_ == BaggedRegressor(Ridge(), **{**about, "n_bags": 60}).fit(X, y).oob_score_
    model.set_params(n_bags=70, oob_score=False).fit(X, y)
    assert not hasattr(model, "oob_score_")
    assert not hasattr(model, "oob_prediction_")


def test_forget_updates_the_oob_score():
    X, y = DIABETES
    about = {"scheme": Subbagging(100), "n_bags": 40, "random_state": 0, "oob_score": True}
    without = forget(BaggedRegressor(Ridge(), **about).fit(X, y), [3])
    rest = np.delete(np.arange(len(y)), 3)
    assert without.oob_score_ == BaggedRegressor(Ridge(), **about).fit(X[rest], y[rest], row_ids=rest).oob_score_


def test_oob_score_uses_bags_without_the_whole_group():
    X, y = DIABETES[0][:60], DIABETES[1][:60]
    model = BaggedRegressor(Ridge(), n_bags=60, random_state=0, oob_score=True, prediction_range=None)
    model.fit(X, y, groups=np.arange(60) // 2)
    bags = np.array([fitted.predict(X) for fitted in model])
    out = [0 not in rows and 1 not in rows for rows in model.estimators_samples_]
    np.testing.assert_allclose(model.oob_prediction_[:2], bags[out][:, :2].mean(axis=0))


@pytest.mark.parametrize("keep_rows", [True, False])
def test_oob_score_works_without_stored_rows(keep_rows, monkeypatch):
    model = BaggedRegressor(Ridge(), n_bags=40, random_state=0, oob_score=True, keep_rows=keep_rows).fit(*DIABETES)
    assert model.oob_prediction_ is Fitted(model).left_out_at_rows(X=DIABETES[0])
    assert pickle.loads(pickle.dumps(model)).oob_score_ == model.oob_score_
    if keep_rows:
        monkeypatch.setattr(Fitted, "raw_blocks", None)
        assert leave_one_out_error(model).value > 0


def test_several_outputs_have_a_joint_and_a_separate_oob_score():
    X, y = DIABETES[0][:80], np.column_stack([DIABETES[1], DIABETES[0][:, 2]])[:80]
    about = {"n_bags": 60, "random_state": 0}
    model = BaggedRegressor(Ridge(), oob_score=True, **about).fit(X, y)
    assert model.oob_prediction_.shape == (80, 2)
    assert model.oob_score_ == r2_score(y, model.oob_prediction_)
    for number in (0, 1):
        alone = BaggedRegressor(Ridge(), oob_score=True, **about).fit(X, y[:, number])
        view = model.output(number)
        np.testing.assert_allclose(view.oob_prediction_, alone.oob_prediction_, rtol=1e-9)
        assert view.oob_score_ == pytest.approx(alone.oob_score_)
        assert not view.oob_prediction_.flags.writeable
    assert model.oob_prediction_.shape == (80, 2)  # as it was


def test_model_of_one_output_has_no_oob_score_from_a_custom_metric():
    def of_both(y, predicted):
        assert y.shape == predicted.shape == (40, 2)
        return 7.0

    X, y = DIABETES[0][:40], np.column_stack([DIABETES[1], DIABETES[0][:, 2]])[:40]
    model = BaggedRegressor(Ridge(), n_bags=40, random_state=0, oob_score=of_both).fit(X, y)
    assert model.oob_score_ == 7
    assert model.output(0).oob_prediction_.shape == (40,)
    assert not hasattr(model.output(0), "oob_score_")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("learner", [None, ExtraTreesClassifier(3), LogisticRegression(C=1e4, max_iter=1000)])
def test_probability_metrics_accept_oob_decision_function(classes, learner):
    X, y = make_blobs(120, centers=4 * np.eye(3)[:classes] * 9, random_state=0)
    model = BaggedClassifier(learner, n_bags=97, random_state=0, oob_score=True).fit(X, y)
    found = model.oob_decision_function_
    assert found.max() > 1 - 1e-6
    averages = leave_one_out(model, X[:20]).left_out, model.predict_proba(X), found
    assert all(0 <= average.min() <= average.max() <= 1 for average in averages)
    log_loss(y, found)
    brier_score_loss(y == 1, found[:, 1])
    calibration_curve(y == 1, found[:, 1])


def test_averages_of_decision_functions_are_not_clipped():
    X, y = make_blobs(60, centers=[[-9, 0], [9, 0]], random_state=0)
    model = BaggedClassifier(LogisticRegression(C=100), n_bags=20, random_state=0).fit(X, y)
    assert np.abs(model.decision_function(X)).max() > 2


@pytest.mark.parametrize("n_bags", [7, "all"])
def test_averages_of_ones_are_one_for_any_weights(n_bags):
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    model = BaggedClassifier(scheme=ClassicalBagging(3), n_bags=n_bags, random_state=0).fit(X, y)
    assert model.predict_proba(X).max() <= 1
    if n_bags == "all":
        assert np.asarray(leave_one_out(model, X).left_out).max() <= 1


class Witness(RegressorMixin, BaseEstimator):
    """Predicts how far the first column is from the mean of its rows; keeps which rows it was fitted to and asked."""

    def fit(self, X, y):
        column = first_column(X)
        self.fitted_, self.asked_, self.level_ = set(column), [], column.mean()
        return self

    def predict(self, X):
        column = first_column(X)
        self.asked_.extend(column)
        return np.abs(column - self.level_)


def first_column(X):
    first = X.toarray()[:, 0] if sparse.issparse(X) else np.asarray(X)[:, 0]
    return np.asarray(first, dtype=float)


def asked_only_what_they_lack(model, rows):
    """Whether the model of every bag was asked about those of some rows that it lacks, each once, and no others."""
    numbers = first_column(Fitted(model).X)
    for fitted, bag in zip(model.estimators_, model.estimators_samples_, strict=True):
        lacking = [numbers[row] for row in rows if row not in bag]
        assert fitted.fitted_ == set(numbers[bag])
        assert sorted(fitted.asked_) == sorted(lacking)
    return True


N = 24
TABLE, TARGET = np.column_stack([np.arange(float(N)), np.ones((N, 2))]), np.arange(float(N)) ** 2


KINDS = {"array": np.asarray, "pandas": pd.DataFrame, "polars": pl.DataFrame, "sparse": sparse.csr_array}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("scheme", ["subbagging", "classical"])
@pytest.mark.parametrize("groups", [None, np.arange(N) // 3], ids=["rows", "groups"])
def test_models_predict_only_at_rows_outside_their_bags(kind, scheme, groups):
    model = BaggedRegressor(Witness(), scheme=scheme, n_bags=30, random_state=0, oob_score=True)
    model.fit(kind(TABLE), TARGET, groups=groups)
    assert asked_only_what_they_lack(model, range(N))
    leave_one_out_error(model)  # made from what is already known
    predict_interval(model, kind(TABLE[:1] + 0.5), confidence_level=0.8)
    for fitted in model.estimators_:
        assert fitted.asked_.count(0.5) == 1
        fitted.asked_.remove(0.5)
    assert asked_only_what_they_lack(model, range(N))


def test_with_n_bags_all_models_predict_only_at_rows_outside_their_bags():
    model = BaggedRegressor(Witness(), scheme=Subbagging(3), n_bags="all", oob_score=True).fit(TABLE[:6], TARGET[:6])
    assert len(model.bags_) == 20
    assert asked_only_what_they_lack(model, range(6))


def test_bag_with_all_rows_does_not_predict():
    model = BaggedRegressor(Witness(), scheme=BernoulliSubbagging(0.8), n_bags=60, random_state=0, oob_score=True)
    model.fit(TABLE[:6], TARGET[:6])
    assert sum(len(set(bag)) == 6 for bag in model.estimators_samples_) > 5
    assert asked_only_what_they_lack(model, range(6))


def test_small_bags_predict_at_all_rows_at_once():
    model = BaggedRegressor(Witness(), scheme=Subbagging(1), n_bags=60, random_state=0, oob_score=True)
    model.fit(TABLE, TARGET)  # taking 23 of 24 rows out costs more than it spares
    assert all(sorted(fitted.asked_) == sorted(TABLE[:, 0]) for fitted in model.estimators_)
    all_asked = Fitted(model).average.left_out_at(slice(0, N), model.predict_once(TABLE).raw)
    np.testing.assert_array_equal(model.oob_prediction_, all_asked)


def test_error_at_some_rows_predicts_at_no_others():
    model = BaggedRegressor(Witness(), n_bags=30, random_state=0).fit(TABLE, TARGET)
    leave_one_out_error(model, rows=[7, 3])
    assert asked_only_what_they_lack(model, [7, 3])


def test_spread_uses_predictions_outside_the_bags_only():
    model = BaggedRegressor(Witness(), n_bags=30, random_state=0).fit(TABLE, TARGET)
    Fitted(model).spread_at_rows()
    assert asked_only_what_they_lack(model, range(N))


def test_rows_from_files_are_predicted_only_outside_their_bags(tmp_path):
    pd.DataFrame({"x": TABLE[:, 0], "one": TABLE[:, 1], "y": TARGET}).to_parquet(tmp_path / "rows.parquet")
    table = ParquetTable(tmp_path / "rows.parquet", target="y")
    about = {"n_bags": 30, "random_state": 0, "oob_score": True}
    model = BaggedRegressor(Witness(), **about).fit(table)
    for fitted, bag in zip(model.estimators_, model.estimators_samples_, strict=True):
        assert sorted(fitted.asked_) == sorted(set(range(N)) - set(bag.tolist()))
    in_memory = BaggedRegressor(Witness(), **about).fit(*table.to_memory())
    np.testing.assert_array_equal(model.oob_prediction_, in_memory.oob_prediction_)


LEARNERS = {  # without a solver, and such that a prediction does not depend on the other points
    "tree": DecisionTreeRegressor(max_depth=4),
    "neighbours": KNeighborsRegressor(3, metric="canberra"),
    "function": FunctionRegressor(lambda X, y, seed: lambda points: points[:, 0] * y.mean() + seed % 7),
}


@pytest.mark.parametrize("learner", LEARNERS.values(), ids=LEARNERS)
@pytest.mark.parametrize("max_features", [1.0, 0.5], ids=["all columns", "half of the columns"])
def test_left_out_averages_have_the_same_bits_as_with_all_predictions(learner, max_features, monkeypatch):
    X, y = DIABETES[0][:80], DIABETES[1][:80]
    about = {"n_bags": 40, "random_state": 0, "oob_score": True, "solver": "scikit-learn"}
    model = BaggedRegressor(learner, max_features=max_features, **about).fit(X, y)
    all_asked = Fitted(model).average.left_out_at(slice(0, 80), model.predict_once(X).raw)
    np.testing.assert_array_equal(model.oob_prediction_, all_asked)
    monkeypatch.setattr(fitting, "_SMALL_PREDICTION", 0)
    monkeypatch.setattr(fitting, "_BLOCK_BYTES", 3000)
    del model._memory
    np.testing.assert_array_equal(model.oob_prediction_, Fitted(model.set_params(n_jobs=2)).left_out_at_rows())


@pytest.mark.parametrize("votes", [False, True])
def test_classifiers_have_the_same_bits_as_with_all_predictions(votes):
    X, y = IRIS
    learner = LinearSVC() if votes else DecisionTreeClassifier(max_depth=2)
    model = BaggedClassifier(learner, n_bags=30, random_state=0, oob_score=True, solver="scikit-learn").fit(X, y)
    all_asked = Fitted(model).average.left_out_at(slice(0, 150), model.predict_once(X).raw)
    np.testing.assert_array_equal(model.oob_decision_function_, all_asked)


def test_several_outputs_have_the_same_bits_as_with_all_predictions():
    X, y = DIABETES[0][:60], np.column_stack([DIABETES[1], DIABETES[0][:, 2]])[:60]
    about = {"n_bags": 40, "random_state": 0, "oob_score": True, "solver": "scikit-learn"}
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), **about).fit(X, y)
    all_asked = Fitted(model).average.left_out_at(slice(0, 60), model.predict_once(X).raw)
    np.testing.assert_array_equal(model.oob_prediction_, all_asked)


@pytest.mark.parametrize("n_features", [10, 200])
def test_products_of_fewer_rows_differ_only_by_rounding(n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, n_features))
    about = {"n_bags": 40, "random_state": 0, "oob_score": True, "prediction_range": None}
    model = BaggedRegressor(BayesianRidge(), **about).fit(X, X.sum(axis=1))
    all_asked = Fitted(model).average.left_out_at(slice(0, 150), model.predict_once(X).raw)
    np.testing.assert_allclose(model.oob_prediction_, all_asked, rtol=0, atol=1e-12 * np.abs(all_asked).max())


def test_nan_prediction_at_a_training_row_names_the_row():
    class Undefined(Witness):
        def predict(self, X):
            return np.where(X[:, 0] == 17, np.nan, X[:, 0])

    with pytest.raises(ValueError, match=r"bag \d+: ValueError: its prediction at point 17 is NaN"):
        BaggedRegressor(Undefined(), n_bags=30, random_state=0, oob_score=True).fit(TABLE, TARGET)


def test_model_that_writes_to_its_points_does_not_affect_others():
    class Scribbler(Witness):
        def predict(self, X):
            prediction = super().predict(X)
            cells = X[:, 1]
            for cell in cells:
                cell.append("mine")
            return prediction + [len(cell) for cell in cells]

    X = np.empty((N, 2), dtype=object)
    X[:, 0], X[:, 1] = TABLE[:, 0], [[] for _ in range(N)]
    model = BaggedRegressor(Scribbler(), n_bags=30, random_state=0, oob_score=True).fit(X, TARGET)
    clean = BaggedRegressor(Witness(), n_bags=30, random_state=0, prediction_range=None).fit(TABLE, TARGET + 0)
    assert asked_only_what_they_lack(model, range(N))
    assert not any(Fitted(model).X[:, 1])
    raw = model.predict_once(X).raw - clean.predict_once(TABLE).raw
    np.testing.assert_allclose(raw, 1)
