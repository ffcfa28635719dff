import copy
import marshal
import pickle
import types

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.datasets import make_classification
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from learners import RowRecorder, Voter
from marks import solver_chosen
from resampling.own_schemes import Declared
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FunctionRegressor,
    PoissonizedBagging,
    Subbagging,
    forget,
    learn,
)
from stablebag.models.fitted import Fitted

SCHEMES = [Subbagging(0.3), BernoulliSubbagging(0.3), ClassicalBagging(0.4), PoissonizedBagging(0.4)]
N = 30
X, Y = (
    np.round(part, 3)
    for part in (np.random.default_rng(0).normal(size=(N, 3)), np.random.default_rng(1).normal(size=N))
)
LABELS = np.array(["a", "b", "c"])[np.arange(N) % 3]
FRAME = pd.DataFrame(X, columns=["u", "v", "w"], index=[f"patient {k}" for k in range(N)])


def model_of(kind, scheme, **settings):
    """A model of randomized trees, so that learners' seeds matter as well."""
    settings = {"n_bags": 12, "random_state": 5, **settings}
    if kind == "regressor":
        return BaggedRegressor(DecisionTreeRegressor(max_features=1), scheme=scheme, **settings), Y
    return BaggedClassifier(DecisionTreeClassifier(max_features=1), scheme=scheme, **settings), LABELS


def law_without(model, n_gone):
    law = model.scheme_
    for _ in range(n_gone):
        law = law.without_one()
    return law


def same(one, other, points=X):
    """Refuse two models that differ in a bit of what can be asked of them."""
    assert one.bags_ == other.bags_
    assert one.scheme_ == other.scheme_
    assert one.units_.ids == other.units_.ids
    assert getattr(one, "range_", None) == getattr(other, "range_", None)
    np.testing.assert_array_equal(getattr(one, "classes_", []), getattr(other, "classes_", []))
    np.testing.assert_array_equal(Fitted(one).y, Fitted(other).y)
    np.testing.assert_array_equal(Fitted(one).average.weights, Fitted(other).average.weights)
    np.testing.assert_array_equal(one.bag_predictions(points), other.bag_predictions(points))
    np.testing.assert_array_equal(one.predict(points), other.predict(points))
    if Fitted(one).X is not None:
        np.testing.assert_array_equal(np.asarray(Fitted(one).X), np.asarray(Fitted(other).X))


def state(model):
    """All that a model holds, but for places of names that are looked up once and then kept."""
    held = {name: value for name, value in model.__dict__.items() if name != "units_"}
    return pickle.dumps(held), model.units_.ids.names.tolist() if hasattr(model, "units_") else None


# ------------------------------------------------------------------------------------------ the same as fitting anew


@pytest.mark.parametrize("gone", [[7], [0, 13, N - 1]], ids=["one", "several"])
@pytest.mark.parametrize("kind", ["regressor", "classifier"])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_forget_equals_a_fit_without_the_rows(scheme, kind, gone):
    model, y = model_of(kind, scheme)
    model.fit(X, y)
    rest = np.delete(np.arange(N), gone)
    law = law_without(model, len(gone))
    fresh = model_of(kind, law)[0].fit(X[rest], y[rest], row_ids=rest)
    same(forget(model, gone), fresh)


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_learn_equals_a_fit_with_the_rows(scheme, kind):
    model, y = model_of(kind, scheme)
    few = N - 3
    model.fit(X[:few], y[:few])
    law = model.scheme_.scheme.resolve(N)  # the same size or rate
    fresh = model_of(kind, law)[0].fit(X, y)
    same(learn(model, X[few:], y[few:]), fresh)
    same(learn(model, X[few:], y[few:], row_ids=[50, 40, 2**40]),
         model_of(kind, law)[0].fit(X, y, row_ids=[*range(few), 50, 40, 2**40]))  # fmt: skip


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_learning_forgotten_rows_restores_the_model(scheme, kind):
    model, y = model_of(kind, scheme)
    model.fit(X, y)
    last = [N - 2, N - 1]
    same(learn(forget(model, last), X[last], y[last], row_ids=last), model)
    # A row from the middle is the last of the table afterwards, and all else is the same.
    again = learn(forget(model, [3]), X[3:4], y[3:4], row_ids=[3])
    np.testing.assert_array_equal(again.bag_predictions(X), model.bag_predictions(X))
    order = again.units_.ids.names
    assert [order[bag].tolist() for bag in again.bags_] == [bag.tolist() for bag in model.bags_]


def test_rows_can_be_forgotten_one_by_one_or_all_at_once():
    model = model_of("regressor", Subbagging(0.3))[0].fit(X, Y)
    same(forget(forget(model, [4]), [20, 9]), forget(model, [9, 4, 20]))
    same(forget(model, []), model)


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_rows_of_frames_are_forgotten_by_index(kind):
    model, y = model_of(kind, ClassicalBagging(0.4))
    model.fit(FRAME, y, row_ids="index")
    rest = np.delete(np.arange(N), [2, 11])
    without = forget(model, ["patient 2", "patient 11"])
    fresh = model_of(kind, law_without(model, 2))[0].fit(FRAME.iloc[rest], y[rest], row_ids="index")
    same(without, fresh, FRAME)
    pd.testing.assert_frame_equal(Fitted(without).X, FRAME.iloc[rest])
    again = learn(without, FRAME.iloc[[2, 11]], y[[2, 11]], row_ids="index")
    np.testing.assert_array_equal(again.bag_predictions(FRAME), model.bag_predictions(FRAME))
    assert Fitted(again).X.index.tolist() == [*FRAME.index[rest], "patient 2", "patient 11"]


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_n_jobs_does_not_change_the_result_of_forget(kind):
    alone, y = model_of(kind, Subbagging(0.3), n_jobs=1)
    together, _ = model_of(kind, Subbagging(0.3), n_jobs=2)
    alone.fit(X, y), together.fit(X, y)
    same(forget(alone, [1, 2]), forget(together, [1, 2]))
    same(learn(alone, X[:2], y[:2]), learn(together, X[:2], y[:2]))


def test_forget_removes_all_copies_of_a_row_from_a_bag():
    model = BaggedRegressor(RowRecorder(), scheme=ClassicalBagging(2.0), n_bags=20, random_state=0).fit(X, Y)
    assert (model.bags_.counts[:, 6] > 1).any()
    without = forget(model, [6])
    for bag, fitted in zip(without.bags_, without.estimators_, strict=True):
        assert X[6].tolist() not in np.asarray(fitted.X_).tolist()
        np.testing.assert_array_equal(fitted.X_, np.delete(X, 6, axis=0)[bag])


def test_forgetting_the_last_row_of_a_class_removes_the_class():
    y = np.where(np.arange(N) == 4, "rare", LABELS)
    for scheme in SCHEMES:
        model = BaggedClassifier(Voter(), scheme=scheme, n_bags=15, random_state=0).fit(X, y)
        rest = np.delete(np.arange(N), 4)
        without = forget(model, [4])
        assert without.classes_.tolist() == ["a", "b", "c"]
        fresh = BaggedClassifier(Voter(), scheme=law_without(model, 1), n_bags=15, random_state=0)
        same(without, fresh.fit(X[rest], y[rest], row_ids=rest))
        back = learn(without, X[4:5], y[4:5], row_ids=[4])
        assert back.classes_.tolist() == ["a", "b", "c", "rare"]
        np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))


def test_forgetting_all_but_one_class_raises():
    model = BaggedClassifier(Voter(), scheme=Subbagging(2), n_bags=5, random_state=0).fit(X, LABELS == "a")
    with pytest.raises(ValueError, match="at least 2 classes"):
        forget(model, np.flatnonzero(LABELS == "a"))


def test_forget_updates_the_range():
    model = model_of("regressor", BernoulliSubbagging(2))[0].fit(X, Y)  # with bags without rows, in the middle of it
    highest = int(Y.argmax())
    without = forget(model, [highest])
    assert without.range_ == (Y.min(), np.sort(Y)[-2])
    assert (without.bags_.sizes == 0).any()
    rest = np.delete(np.arange(N), highest)
    same(without, model_of("regressor", law_without(model, 1))[0].fit(X[rest], Y[rest], row_ids=rest))


def test_forget_and_learn_update_weights_and_other_fit_parameters():
    weights, tags = np.arange(1.0, N + 1), "as it was"
    settings = {"n_bags": 8, "random_state": 0}
    model = BaggedRegressor(RowRecorder(), **settings).fit(X, Y, sample_weight=weights, tag=tags)
    rest = np.delete(np.arange(N), [3, 5])
    without = forget(model, [3, 5])
    for bag, fitted in zip(without.bags_, without.estimators_, strict=True):
        assert fitted.sample_weight_.tolist() == weights[rest][bag].tolist()
        assert fitted.tag_ == tags
    back = learn(without, X[[3, 5]], Y[[3, 5]], row_ids=[3, 5], sample_weight=weights[[3, 5]])
    for bag, fitted in zip(back.bags_, back.estimators_, strict=True):
        assert fitted.sample_weight_.tolist() == np.append(weights[rest], weights[[3, 5]])[bag].tolist()
    for wrong, words in (({}, "learn needs it for the new rows"), ({"sample_weight": [1.0]}, "each of the 2 new rows"),
                         ({"sample_weight": [1.0, 2.0], "other": 1}, "got other, which fit did not get")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            learn(without, X[[3, 5]], Y[[3, 5]], row_ids=[3, 5], **wrong)


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
@pytest.mark.parametrize("scheme", [Subbagging(2), BernoulliSubbagging(0.4), ClassicalBagging(2)], ids=str)
def test_forget_and_learn_work_with_n_bags_all(scheme, kind):
    n = 6
    model, y = model_of(kind, scheme, n_bags="all")
    model.fit(X[:n], y[:n])
    rest = np.delete(np.arange(n), 2)
    without = forget(model, [2])
    fresh = model_of(kind, law_without(model, 1), n_bags="all")[0].fit(X[rest], y[rest], row_ids=rest)
    same(without, fresh)
    same(learn(forget(model, [n - 1]), X[n - 1 : n], y[n - 1 : n], row_ids=[n - 1]), model)


@pytest.mark.parametrize("random_state", [None, "generator"])
def test_forget_reuses_seeds_that_were_drawn_at_random(random_state):
    given = np.random.default_rng(3) if random_state else None
    model = model_of("regressor", Subbagging(0.3), random_state=given)[0].fit(X, Y)
    state = None if given is None else copy.deepcopy(given.bit_generator.state)
    without = forget(model, [7])
    rest = np.delete(np.arange(N), 7)
    for before, after in zip(model.bags_, without.bags_, strict=True):
        assert 7 in before or rest[after].tolist() == before.tolist()
    same(learn(forget(model, [N - 1]), X[-1:], Y[-1:], row_ids=[N - 1]), model)
    assert given is None or given.bit_generator.state == state


def test_warm_start_works_after_forget():
    model = model_of("regressor", Subbagging(0.3), warm_start=True)[0].fit(X, Y)
    rest = np.delete(np.arange(N), 7)
    without = forget(model, [7]).set_params(n_bags=20).fit(X[rest], Y[rest], row_ids=rest)
    law = law_without(model, 1)
    same(without, model_of("regressor", law, n_bags=20)[0].fit(X[rest], Y[rest], row_ids=rest))
    with pytest.raises(ValueError, match="row_ids changed since the first fit"):
        without.set_params(n_bags=30).fit(X[rest], Y[rest])
    assert len(without.bags_) == 20


def test_learn_adds_rows_with_labels_to_rows_with_positions():
    model = model_of("regressor", Subbagging(9))[0].fit(X[:-2], Y[:-2])
    fresh = model_of("regressor", Subbagging(9))[0].fit(X, Y, row_ids=[*range(N - 2), "x", 2**40])
    same(learn(model, X[-2:], Y[-2:], row_ids=["x", 2**40]), fresh)


def test_row_ids_of_mixed_types_can_be_forgotten():
    names = [*range(N - 1), "last"]
    model = BaggedRegressor(RowRecorder(), n_bags=12, random_state=0).fit(X, Y, row_ids=names)
    without = forget(model, ["last"])
    for bag, fitted in zip(without.bags_, without.estimators_, strict=True):
        np.testing.assert_array_equal(fitted.X_, X[bag])  # the model of a bag has seen its rows


# --------------------------------------------------------------------------------------------------- what it costs


def counting():
    seen = []

    def fit(X, y, seed):
        seen.append(len(y))
        return lambda points: np.full(len(points), np.mean(y))

    return FunctionRegressor(fit), seen


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_forget_refits_only_bags_with_the_rows(scheme):
    learner, seen = counting()
    model = BaggedRegressor(learner, scheme=scheme, n_bags=40, random_state=0).fit(X, Y)
    for gone in ([5], [0, 17]):
        seen.clear()
        without = forget(model, gone)
        contained = model.bags_.with_any(np.array(gone))
        full = np.flatnonzero(without.bags_.sizes)
        assert len(seen) == len(np.intersect1d(contained, full))
        assert 0 < len(seen) < 40
        kept = np.setdiff1d(full, contained)
        assert all(without.estimators_[k] is model.estimators_[k] for k in kept)
    seen.clear()
    more = learn(model, X[:2], Y[:2])
    assert len(seen) == len(more.bags_.with_any(np.array([N, N + 1]))) < 40
    seen.clear()
    forget(model, [])
    assert seen == []


def test_with_n_bags_all_only_new_bags_are_fitted():
    learner, seen = counting()
    model = BaggedRegressor(learner, scheme=Subbagging(2), n_bags="all").fit(X[:6], Y[:6])
    assert len(seen) == 15
    seen.clear()
    without = forget(model, [3])
    assert seen == []  # the 10 pairs of the other five are known
    assert len(learn(without, X[3:4], Y[3:4]).bags_) == 15
    assert len(seen) == 5


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_forget_and_learn_do_not_change_the_given_model(kind):
    model, y = model_of(kind, ClassicalBagging(0.4))
    model.fit(X, y)
    before, fitted = state(model), list(model.estimators_.stored)
    without = forget(model, [1])
    learn(model, X[:1], y[:1])
    assert state(model) == before
    assert all(one is other for one, other in zip(model.estimators_.stored, fitted, strict=True))
    assert without is not model
    assert without.estimators_ is not model.estimators_
    assert (len(Fitted(model).y), len(Fitted(without).y)) == (N, N - 1)


# ------------------------------------------------------------------------------------------------ models without rows


def test_model_without_stored_rows_needs_them_again():
    weights = np.arange(1.0, N + 1)
    for given in ({}, {"sample_weight": weights}):
        keeping = model_of("regressor", Subbagging(0.3))[0].fit(X, Y, **given)
        model = model_of("regressor", Subbagging(0.3), keep_rows=False)[0].fit(X, Y, **given)
        assert Fitted(model).X is None
        with pytest.raises(
            ValueError, match=r"did not store its training rows \(keep_rows=False\). Pass the same rows again"
        ):
            forget(model, [3])
        without = forget(model, [3], X=X, **given)
        assert Fitted(without).X is None
        np.testing.assert_array_equal(without.bag_predictions(X), forget(keeping, [3]).bag_predictions(X))
        rest = np.delete(np.arange(N), 3)
        more = {name: np.append(value[rest], value[3]) for name, value in given.items()}
        again = learn(without, X[3:4], Y[3:4], row_ids=[3], X_before=X[rest], **more)
        np.testing.assert_array_equal(again.bag_predictions(X), model.bag_predictions(X))


def test_rows_other_than_those_of_fit_raise():
    model = model_of("regressor", Subbagging(0.3), keep_rows=False)[0].fit(X, Y)
    with pytest.raises(ValueError, match="The training rows must be the same as in fit"):
        forget(model, [3], X=X[::-1])
    with pytest.raises(ValueError, match="sample_weight must be the same as in fit"):
        forget(model, [3], X=X, sample_weight=np.ones(N))
    keeping = model_of("regressor", Subbagging(0.3))[0].fit(X, Y)
    with pytest.raises(ValueError, match=r"stored its training rows in fit\. Do not pass X"):
        forget(keeping, [3], X=X)


def test_learn_without_stored_rows_asks_for_x_before():
    model = model_of("regressor", Subbagging(0.3), keep_rows=False)[0].fit(X, Y)
    with pytest.raises(ValueError, match="X_before=") as refusal:
        learn(model, X[:1], Y[:1])
    assert "X=" not in str(refusal.value).replace("X_before=", "")


# ---------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda model: forget(model, [N]), ValueError, r"IDs of existing rows. Got \[30\]: there is no such row"),
    (lambda model: forget(model, ["3"]), ValueError, "there is no such row"),
    (lambda model: forget(model, [-1]), ValueError, "there is no such row"),
    (lambda model: forget(model, [3, 3]), ValueError, "distinct IDs of rows"),
    (lambda model: forget(model, [None]), ValueError, "an ID for each row. Got None"),
    (lambda model: forget(model, [[3]]), TypeError, "hashable labels"),
    (lambda model: forget(model, 3), TypeError, "a list of IDs of rows. Got 3"),
    (lambda model: forget(model, range(N)), ValueError, "Cannot forget 30 of 30 rows"),
    (lambda model: forget(model, range(1, N)), ValueError, "Cannot forget 29 of 30 rows"),
    (lambda model: forget(model, range(N - 5)), ValueError, "a bag of the same size would contain all the others"),
    (lambda model: learn(model, X[:1], Y[:1], row_ids=[3]), ValueError, "Got 3: the model already has a row"),
    (lambda model: learn(model, X[:1], Y[:1], row_ids=[-4]), ValueError, "Got -4"),
    (lambda model: learn(model, X[:2], Y[:2], row_ids=[50]), ValueError, "2 row IDs, one for each row"),
    (lambda model: learn(model, X[:2], Y[:1]), ValueError, "one target per new row.* got 2 rows and y of shape"),
    (lambda model: learn(model, X[:0], Y[:0]), ValueError, "at least one row, got 0 rows"),
    (lambda model: learn(model, X[:1, :2], Y[:1]), ValueError, "2 features"),
    (lambda model: learn(model, X[:1], [np.nan]), ValueError, "NaN"),
    (lambda model: learn(model, FRAME[:1], Y[:1]), (TypeError, ValueError), "ndarray|feature names"),
    (lambda model: forget(Ridge(), [0]), TypeError, "a fitted BaggedRegressor or BaggedClassifier"),
    (lambda model: learn(Ridge(), X[:1], Y[:1]), TypeError, "a fitted BaggedRegressor or BaggedClassifier"),
    (lambda model: forget(BaggedRegressor(), [0]), ValueError, "not fitted yet"),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_bad_input_raises_and_changes_nothing(call, error, words):
    model = model_of("regressor", Subbagging(0.3))[0].fit(X, Y)
    before = state(model)
    with pytest.raises(error, match=words):
        call(model)
    assert state(model) == before


def test_rows_with_labels_need_labels_for_new_rows():
    model = model_of("regressor", Subbagging(0.3))[0].fit(FRAME, Y, row_ids="index")
    with pytest.raises(ValueError, match=r"have labels as IDs, so learn needs one per new row"):
        learn(model, FRAME[:1], Y[:1])


def test_label_of_another_type_raises():
    model = BaggedClassifier(Voter(), n_bags=5, random_state=0).fit(X, np.arange(N) % 2)
    with pytest.raises(TypeError, match="of type int64, like the training targets"):
        learn(model, X[:1], [2.5])


def test_warm_start_with_other_row_ids_raises_and_changes_nothing():
    model = model_of("regressor", Subbagging(0.3), warm_start=True)[0].fit(X, Y, row_ids=np.arange(N) + 5)
    predicted = model.predict(X)
    for names in (None, np.arange(N) + 6, np.arange(N)[::-1] + 5, list(FRAME.index)):
        with pytest.raises(ValueError, match=r"row_ids changed since the first fit\. Fit a clone, or set warm"):
            model.set_params(n_bags=20).fit(X, Y, row_ids=names)
        np.testing.assert_array_equal(model.predict(X), predicted)
    model.fit(X, Y, row_ids=np.arange(N) + 5)
    assert len(model.estimators_) == 20


def test_own_scheme_without_matched_bags_cannot_forget():
    model = BaggedRegressor(Ridge(), scheme=Declared(0.5, 0.0), n_bags=3, random_state=0).fit(X, Y)
    for call in (lambda: forget(model, [0]), lambda: learn(model, X[:1], Y[:1])):
        with pytest.raises(TypeError, match=r"draws matched bags.* removing a row changes all its bags"):
            call()


# ------------------------------------------------------------------------------------------- names of rows on their way


def test_row_ids_can_be_passed_to_a_model_in_a_pipeline():
    alone = model_of("regressor", Subbagging(0.3))[0].fit(X, Y, row_ids=np.arange(N) + 5)
    pipeline = make_pipeline(FunctionTransformer(), model_of("regressor", Subbagging(0.3))[0])
    pipeline.fit(X, Y, baggedregressor__row_ids=np.arange(N) + 5)
    same(pipeline[-1], alone)


def test_row_ids_are_routed_as_metadata():
    names = np.arange(N) + 5
    alone = model_of("regressor", Subbagging(0.3))[0].fit(X, Y, row_ids=names)
    with config_context(enable_metadata_routing=True):
        bagged = model_of("regressor", Subbagging(0.3))[0].set_fit_request(row_ids=True)
        same(make_pipeline(FunctionTransformer(), bagged).fit(X, Y, row_ids=names)[-1], alone)
        direct = model_of("regressor", Subbagging(0.3))[0].fit(X, Y, row_ids=names)
        same(direct, alone)
        same(forget(direct, [9]), forget(alone, [9]))


def test_row_ids_and_weights_are_routed_together():
    names, weights = np.arange(N) + 5, np.arange(1.0, N + 1)
    with config_context(enable_metadata_routing=True):
        learner = RowRecorder().set_fit_request(sample_weight=True)
        bagged = BaggedRegressor(learner, n_bags=4, random_state=0).set_fit_request(row_ids=True)
        fitted = make_pipeline(FunctionTransformer(), bagged).fit(X, Y, row_ids=names, sample_weight=weights)[-1]
        assert fitted.units_.ids.names.tolist() == names.tolist()
        for bag, one in zip(fitted.bags_, fitted.estimators_, strict=True):
            assert one.sample_weight_.tolist() == weights[bag].tolist()


def test_bags_depend_on_row_ids_and_not_on_the_order_of_rows():
    order = np.random.default_rng(2).permutation(N)
    model = BaggedRegressor(RowRecorder(), n_bags=6, random_state=0).fit(X, Y)
    other = BaggedRegressor(RowRecorder(), n_bags=6, random_state=0).fit(X[order], Y[order], row_ids=order)
    for one, two in zip(model.estimators_, other.estimators_, strict=True):
        np.testing.assert_array_equal(Fitted(one).X, Fitted(two).X)
        assert one.seed_ == two.seed_


def test_forget_is_exact_for_classifiers_with_many_rows():
    features, labels = make_classification(300, n_informative=4, n_classes=3, random_state=1)
    model = BaggedClassifier(n_bags=30, random_state=0).fit(features, labels)
    rest = np.delete(np.arange(300), [0, 150])
    fresh = BaggedClassifier(scheme=Subbagging(150), n_bags=30, random_state=0)
    same(forget(model, [0, 150]), fresh.fit(features[rest], labels[rest], row_ids=rest), features)


def test_fit_parameter_that_would_become_one_per_row_raises():
    class Takes(Ridge):
        def fit(self, X, y, extra=None):
            return super().fit(X, y + np.sum(extra))

    model = BaggedRegressor(Takes(), scheme=Subbagging(0.3), n_bags=4, random_state=0)
    model.fit(X, Y, extra=np.arange(N - 1.0))
    with pytest.raises(ValueError, match="each bag would get only a part of it now"):
        forget(model, [0])
    model.fit(X, Y, extra=np.arange(N + 1.0))
    with pytest.raises(ValueError, match="as many as there will be rows after learn"):
        learn(model, X[:1], Y[:1])


def test_new_rows_of_other_types_raise():
    frame = pd.DataFrame({"kind": pd.Categorical(["a", "b"] * (N // 2)), "x": np.arange(N // 2 * 2.0)})
    model = BaggedRegressor(FunctionRegressor(lambda X, y, seed: lambda points: np.zeros(len(points))), n_bags=3,
                            random_state=0).fit(frame, frame.x)  # fmt: skip
    other = pd.DataFrame({"kind": pd.Categorical(["c"]), "x": [1.0]})
    with pytest.raises(ValueError, match="like the training rows"):
        learn(model, other, [0.0])


def test_fit_with_bad_row_ids_keeps_the_fitted_model():
    model = BaggedRegressor(Ridge(), n_bags=3, random_state=0).fit(X, Y)
    predicted = model.predict(X)
    with pytest.raises(ValueError, match="two rows have this ID"):
        model.fit(X, Y, row_ids=[0] * N)
    np.testing.assert_array_equal(model.predict(X), predicted)


def test_forget_has_no_parameter_y():
    model = BaggedRegressor(Ridge(), n_bags=3, keep_rows=False, random_state=0).fit(X, Y)
    with pytest.raises(TypeError, match="forget has no parameter y"):
        forget(model, [0], X=X, y=Y)


@solver_chosen
def test_changing_the_solver_leaves_no_forgotten_row_behind():
    model = BaggedRegressor(KNeighborsRegressor(3), n_bags=12, random_state=0).fit(X, Y)
    assert str(model.solver_) == "neighbours"
    without = forget(model.set_params(solver="scikit-learn"), [5])
    assert without.estimators_.structure is None
    assert str(without.solver_) == 'scikit-learn, because of solver="scikit-learn"'
    assert X[5].tobytes() in pickle.dumps(model)
    assert X[5].tobytes() not in pickle.dumps(without)
    expected = forget(model.set_params(solver="auto"), [5])
    assert X[5].tobytes() not in pickle.dumps(expected)
    same(without, expected)


def _with_a_function_inside(table):
    return np.column_stack([sorted(column, key=lambda value: -value) for column in np.asarray(table).T])


def test_pickled_function_counts_as_the_same(monkeypatch):
    learner = make_pipeline(FunctionTransformer(_with_a_function_inside), Ridge())
    model = BaggedRegressor(learner, n_bags=10, random_state=0).fit(X, Y)
    # Another process imports the function anew: the functions inside of it have other addresses there.
    copied = types.FunctionType(
        marshal.loads(marshal.dumps(_with_a_function_inside.__code__)), globals(), _with_a_function_inside.__name__
    )
    monkeypatch.setitem(globals(), copied.__name__, copied)
    model.estimator.steps[0][1].func = copied
    assert len(forget(model, [3]).bags_) == 10


def test_another_function_with_the_same_name_is_noticed():
    learner = make_pipeline(FunctionTransformer(lambda table: np.sin(table)), Ridge())
    model = BaggedRegressor(learner, n_bags=10, random_state=0).fit(X, Y)
    model.estimator.steps[0][1].func = lambda table: np.exp(table)
    with pytest.raises(ValueError, match="functiontransformer__func changed"):
        forget(model, [3])
