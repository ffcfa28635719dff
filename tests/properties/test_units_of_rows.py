"""Models fitted with groups: what learners get, what one row per unit changes (nothing), and what is forgotten."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from learners import RowRecorder
from rounding import assert_same_bounds, assert_same_sums
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    PerturbationDisplay,
    PoissonizedBagging,
    Subbagging,
    certify,
    forget,
    learn,
    leave_one_out,
    leave_one_out_error,
    leave_one_out_refit,
    predict_interval,
)
from stablebag.deciding import jackknife_intervals_refit
from stablebag.measuring import replace_one_refit
from stablebag.models import PredictionRange
from stablebag.showing.study import Study

SCHEMES = [Subbagging(0.5), BernoulliSubbagging(0.4), ClassicalBagging(0.8), PoissonizedBagging(0.7)]
RNG = np.random.default_rng(0)
NAMES = np.array([f"p{k}" for k in range(14)])
GROUPS = RNG.permutation(np.repeat(NAMES, RNG.integers(1, 9, size=14)))
X = RNG.normal(size=(len(GROUPS), 3))
Y = X[:, 0] + RNG.normal(size=len(GROUPS))


def bagged(learner=None, **more):
    return BaggedRegressor(learner, **{"n_bags": 30, "random_state": 0, **more})


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_learner_gets_all_rows_of_its_groups_in_order_with_repeats(scheme):
    model = bagged(RowRecorder(), scheme=scheme).fit(X, Y, groups=GROUPS)
    repeats = 0
    for units, learner in zip(model.bags_, model.estimators_, strict=True):
        if len(units):
            rows = np.concatenate([np.flatnonzero(model.units_.labels[unit] == GROUPS) for unit in units])
            np.testing.assert_array_equal(learner.X_, X[rows])
            np.testing.assert_array_equal(learner.y_, Y[rows])
            repeats += len(rows) - len(np.unique(rows))
    assert (repeats > 0) == isinstance(scheme, ClassicalBagging | PoissonizedBagging)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize(
    "learner", [DecisionTreeRegressor(), Ridge(), RowRecorder()], ids=lambda one: type(one).__name__
)
def test_groups_of_one_row_each_equal_rows(learner, scheme):
    plain = bagged(learner, scheme=scheme).fit(X, Y)
    units = bagged(learner, scheme=scheme).fit(X, Y, groups=np.arange(len(Y)))
    assert units.bags_ == plain.bags_
    np.testing.assert_array_equal(units.predict(X), plain.predict(X))
    sums = {
        "averages": lambda model: leave_one_out(model, X).left_out,
        "ends": lambda model: predict_interval(model, X).upper,
        "errors": lambda model: leave_one_out_error(model).losses,
        "at rows": lambda model: leave_one_out(model, X).in_sample(),
    }
    for of in sums.values():
        assert_same_sums(of(units), of(plain), plain, plain.predict_once(X).raw, Y)
    assert certify(units).epsilon(0.1) == certify(plain).epsilon(0.1)
    assert_same_bounds(certify(units, reused=True).epsilon(0.1), certify(plain, reused=True).epsilon(0.1))
    named = bagged(learner, scheme=scheme).fit(X, Y, row_ids=[f"n{k}" for k in range(len(Y))])
    again = bagged(learner, scheme=scheme).fit(X, Y, groups=[f"n{k}" for k in range(len(Y))])
    np.testing.assert_array_equal(named.predict(X), again.predict(X))


@pytest.mark.parametrize(
    "learner", [DecisionTreeRegressor(), make_pipeline(StandardScaler(), Ridge()), KNeighborsRegressor(2)], ids=str
)
def test_solvers_n_jobs_and_warm_starts_do_not_change_bits_with_groups(learner):  # fmt: skip
    model = bagged(learner).fit(X, Y, groups=GROUPS)
    assert model.solver_.name != "scikit-learn"
    others = [
        bagged(learner, solver="scikit-learn"),
        bagged(learner, n_jobs=2),
        bagged(learner, n_bags=10, warm_start=True),
    ]
    for other in others:
        other.fit(X, Y, groups=GROUPS)
        if other.warm_start:
            other.set_params(n_bags=30).fit(X, Y, groups=GROUPS)
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    stream = leave_one_out(bagged(learner), X[:3], X_train=X, y_train=Y, fit_params={"groups": GROUPS})
    np.testing.assert_array_equal(stream.prediction, model.predict(X[:3]))
    assert_same_sums(stream.left_out, leave_one_out(model, X[:3]).left_out, model, model.predict_once(X[:3]).raw)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_forget_equals_a_fit_without_the_group_and_learn_restores_it(kind, scheme):
    y = Y if kind == "regressor" else np.where(Y > 0.5, "up", np.where(Y < -0.5, "down", "same"))
    model = (
        bagged(scheme=scheme) if kind == "regressor"
        else BaggedClassifier(DecisionTreeClassifier(), n_bags=30, scheme=scheme, random_state=0)
    ).fit(X, y, groups=GROUPS)  # fmt: skip
    predict = "predict" if kind == "regressor" else "predict_proba"
    without, stay = forget(model, ["p3", "p8"]), ~np.isin(GROUPS, ["p3", "p8"])
    fresh = clone(model).set_params(scheme=without.scheme_).fit(X[stay], y[stay], groups=GROUPS[stay])
    np.testing.assert_array_equal(getattr(without, predict)(X), getattr(fresh, predict)(X))
    assert without.units_ == fresh.units_
    back = learn(without, X[~stay], y[~stay], groups=GROUPS[~stay])
    np.testing.assert_allclose(getattr(back, predict)(X), getattr(model, predict)(X), atol=1e-12)
    assert not set(without.units_.labels) & {"p3", "p8"}


def test_more_rows_of_a_known_group_change_only_its_bags():
    model = bagged(RowRecorder(), prediction_range=None).fit(X, Y, groups=GROUPS)
    more = learn(model, X[:2], Y[:2], groups=["p5", "new"])
    fresh = clone(model).set_params(scheme=more.scheme_).fit(
        np.vstack([X, X[:2]]), np.concatenate([Y, Y[:2]]), groups=[*GROUPS, "p5", "new"]
    )  # fmt: skip
    np.testing.assert_array_equal(more.predict(X), fresh.predict(X))
    before, after = model.estimators_, more.estimators_
    touched = more.bags_.with_any(more.units_.positions(["p5", "new"], "here"))
    assert [b for b in range(30) if before[b] is not after[b]] == touched.tolist()
    listed = bagged(RowRecorder(), n_bags="all", scheme=Subbagging(1)).fit(X, Y, groups=GROUPS)
    once_more = learn(listed, X[:1], Y[:1] + 9, groups=["p5"])
    assert once_more.predict(X[:1]) != listed.predict(X[:1])


def test_learn_raises_without_the_right_groups():
    model, rows = bagged().fit(X, Y, groups=GROUPS), bagged().fit(X, Y)
    with pytest.raises(ValueError, match=r"fitted with groups, so learn needs the group of each new row"):
        learn(model, X[:1], Y[:1])
    with pytest.raises(ValueError, match=r"learn got groups, but the model was fitted without"):
        learn(rows, X[:1], Y[:1], groups=["a"])
    with pytest.raises(ValueError, match="got both groups and row_ids"):
        learn(model, X[:1], Y[:1], row_ids=["a"], groups=["a"])
    with pytest.raises(ValueError, match="Cannot forget 13 of 14 groups"):
        forget(model, NAMES[:13])


def test_rows_of_a_frame_are_forgotten_by_index():
    frame = pd.DataFrame(X, columns=list("abc"), index=RNG.permutation(len(Y)) + 1000)
    model = bagged().fit(frame, Y)
    name = leave_one_out(model, frame[:1]).most_influential(1)[0][0, 0]
    place = frame.index.get_loc(name)
    rest = np.delete(np.arange(len(Y)), place)
    without = forget(model, [name])
    fresh = bagged(scheme=without.scheme_).fit(frame.iloc[rest], Y[rest], row_ids=rest)
    np.testing.assert_array_equal(without.predict(frame), fresh.predict(frame))
    assert without.units_.labels.tolist() == frame.index[rest].tolist()
    again = learn(without, frame.iloc[[place]], Y[[place]])
    assert again.units_.labels[-1] == name
    with pytest.raises(ValueError, match="there is no such row"):
        forget(model, [0])


def test_standard_error_is_over_groups():
    model = bagged(n_bags=60).fit(X, Y, groups=GROUPS)
    error = leave_one_out_error(model)
    assert repr(error).endswith(f"over {len(Y)} rows of 14 groups")
    totals = [(error.losses[name == GROUPS] - error.value).sum() for name in NAMES]
    assert error.standard_error == pytest.approx(np.sqrt(14 / 13 * np.sum(np.square(totals))) / len(Y))
    copies = bagged(n_bags=60).fit(np.repeat(X, 3, axis=0), np.repeat(Y, 3), groups=np.repeat(np.arange(len(Y)), 3))
    plain = bagged(n_bags=60).fit(X, Y)
    thrice, once = leave_one_out_error(copies), leave_one_out_error(plain)
    assert thrice.value == pytest.approx(once.value, rel=0.3)
    assert thrice.standard_error == pytest.approx(once.standard_error, rel=0.3)  # copies say nothing new


def test_refits_of_a_bagged_model_leave_out_groups():
    model = bagged(scheme=Subbagging(4))
    by_forgetting = leave_one_out_refit(model, X, Y, X[:3], groups=GROUPS)
    whole = clone(model).fit(X, Y, groups=GROUPS)
    np.testing.assert_array_equal(by_forgetting.prediction, whole.predict(X[:3]))
    for unit in (0, 5):
        without = forget(whole, [whole.units_.labels[unit]])
        np.testing.assert_array_equal(by_forgetting.left_out[unit], without.predict(X[:3]))


# ---------------------------------------------------------------------------------------------------------- routing


def test_groups_are_routed_through_searches_pipelines_and_folds():
    model = bagged(DecisionTreeRegressor(), n_bags=5)
    with sklearn.config_context(enable_metadata_routing=True):
        scores = cross_val_score(model, X, Y, cv=GroupKFold(3), params={"groups": GROUPS})
        piped = cross_val_score(
            make_pipeline(StandardScaler(), model), X, Y, cv=GroupKFold(3), params={"groups": GROUPS}
        )
        search = GridSearchCV(model, {"n_bags": [2, 5]}, cv=GroupKFold(3)).fit(X, Y, groups=GROUPS)
        inner = bagged(GridSearchCV(Ridge(), {"alpha": [0.1, 1]}, cv=GroupKFold(2)), n_bags=3).fit(X, Y, groups=GROUPS)
        not_wanted = clone(model).set_fit_request(groups=False)
        by_rows = GridSearchCV(not_wanted, {"n_bags": [2]}, cv=GroupKFold(3)).fit(X, Y, groups=GROUPS)
    by_hand = [
        clone(model).fit(X[train], Y[train], groups=GROUPS[train]).score(X[test], Y[test])
        for train, test in GroupKFold(3).split(X, Y, GROUPS)
    ]
    np.testing.assert_array_equal(scores, by_hand)
    np.testing.assert_array_equal(piped, by_hand)  # trees do not mind the scale
    assert len(search.best_estimator_.units_) == 14
    assert len(inner.units_) == 14
    assert by_rows.best_estimator_.units_.are_rows
    without_routing = cross_val_score(model, X, Y, cv=GroupKFold(3), groups=GROUPS, params={"groups": GROUPS})
    np.testing.assert_array_equal(without_routing, by_hand)


# -------------------------------------------------------------------------------------------------------- bad input


def test_two_groups_are_enough_and_one_raises():
    two = bagged(n_bags=20).fit(X, Y, groups=np.arange(len(Y)) % 2)
    assert leave_one_out(two, X[:2]).values.shape == (2, 2)
    with pytest.raises(ValueError, match="the labels of two or more groups"):
        bagged().fit(X, Y, groups=np.zeros(len(Y)))


def test_warns_if_every_class_occurs_in_one_group_only():
    with pytest.warns(
        UserWarning, match=r"Every class occurs in a single group only.*predict classes that several groups"
    ):
        BaggedClassifier(LogisticRegression(), n_bags=5).fit(X, GROUPS, groups=GROUPS)


@pytest.mark.filterwarnings("ignore:Every class occurs in a single group")
def test_refits_may_leave_each_group_with_its_own_class():
    y, groups = np.array([0, 1, 0, 0, 1, 1]), [0, 0, 1, 1, 2, 2]
    model = BaggedClassifier(DecisionTreeClassifier(), scheme=BernoulliSubbagging(0.5), n_bags=40, random_state=0)
    moved = leave_one_out_refit(model, X[:6], y, X[:2], groups=groups)
    assert moved.left_out.shape == (3, 2, 2)


def test_fit_with_bad_groups_keeps_the_fitted_model():
    model = bagged().fit(X, Y, groups=GROUPS)
    before = model.predict(X)
    for bad in ({"groups": GROUPS[:3]}, {"groups": GROUPS, "row_ids": np.arange(len(Y))}):
        with pytest.raises(ValueError, match=r"'groups' parameter of BaggedRegressor|got both groups and row_ids"):
            model.fit(X, Y, **bad)
        np.testing.assert_array_equal(model.predict(X), before)


def test_warm_start_with_other_groups_raises():
    model = bagged(warm_start=True).fit(X, Y, groups=GROUPS)
    with pytest.raises(ValueError, match="groups changed since the first fit"):
        model.set_params(n_bags=40).fit(X, Y, groups=np.roll(GROUPS, 1))


def test_n_bags_all_works_with_groups():
    model = bagged(KNeighborsRegressor(1), n_bags="all", scheme=Subbagging(2)).fit(X, Y, groups=GROUPS)
    assert len(model.bags_) == 91


def test_sentences_are_about_groups():
    model = bagged(n_bags=4).fit(X, Y, groups=pd.Series(GROUPS, name="patient_id"))
    assert repr(model.bags_) == "Bags of 14 groups: 4 bags with 7 groups"
    assert repr(model.bags_[:2]) == "Bags of 14 groups: 2 bags with 7 groups"
    assert "every data set of 14 groups" in " ".join(certify(model).explain(0.3).split())
    assert "subbagging, 7 of 14 groups" in " ".join(certify(model).explain(0.3).split())
    many = bagged(n_bags=2, scheme=Subbagging(13)).fit(X, Y, groups=pd.Series(GROUPS, name="patient_id"))
    with pytest.raises(ValueError, match=r"With 2 bags, \d+ groups are never left out"):
        leave_one_out(many, X[:1])
    moved = leave_one_out(bagged(n_bags=50).fit(X, Y, groups=pd.Series(GROUPS, name="patient_id")), X[:2])
    assert repr(moved).startswith("Perturbations: 14 groups left out one at a time, 2 points")
    assert moved.to_frame().columns[0] == "group"
    with pytest.raises(ValueError, match="here groups of several rows were left out"):
        moved.in_sample()


def test_replace_one_bounds_of_groups_with_one_row_equal_those_of_rows():
    y = np.where(Y > 0, "up", "down")
    plain, units = (
        BaggedClassifier(DecisionTreeClassifier(), scheme=BernoulliSubbagging(0.1), n_bags=9, random_state=0).fit(
            X, y, **of
        )
        for of in ({}, {"groups": np.arange(len(y))})
    )
    assert certify(plain).replace_one() == certify(units).replace_one()
    assert certify(plain).replace_one_in_expectation() == certify(units).replace_one_in_expectation()


@pytest.mark.parametrize("routing", [False, True])
def test_refits_of_a_pipeline_draw_bags_of_groups(routing):
    pipeline = make_pipeline(
        StandardScaler(), bagged(RowRecorder(), n_bags=40, scheme=Subbagging(5), prediction_range=None)
    )
    with sklearn.config_context(enable_metadata_routing=routing):
        moved = leave_one_out_refit(pipeline, X, Y, X[:2], groups=GROUPS)
        intervals = jackknife_intervals_refit(pipeline, X, Y, X[:2], groups=GROUPS)
        replaced = replace_one_refit(pipeline, X, Y, X, Y, X[:2], groups=GROUPS, groups_replacement=GROUPS)
    whole = clone(pipeline).fit(X, Y, baggedregressor__groups=GROUPS)
    assert len(moved.rows) == 14
    assert "a new group" in intervals.guarantee
    assert (whole[-1].bags_.sizes == 5).all()
    np.testing.assert_array_equal(replaced.left_out, np.repeat(replaced.prediction[None], 14, axis=0))


def test_learner_with_routed_groups_gets_the_new_ones():
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1.0]}, cv=GroupKFold(2))
    with sklearn.config_context(enable_metadata_routing=True):
        model = bagged(search, n_bags=5, scheme=Subbagging(6)).fit(X, Y, groups=GROUPS)
        more = learn(model, X[:2], Y[:2], groups=["new", "p5"])
        fresh = clone(model).set_params(scheme=more.scheme_).fit(
            np.vstack([X, X[:2]]), np.concatenate([Y, Y[:2]]), groups=[*GROUPS, "new", "p5"]
        )  # fmt: skip
    np.testing.assert_array_equal(more.predict(X), fresh.predict(X))


def test_bound_for_other_groups_is_not_shown_with_a_measurement():
    one, other = (bagged(n_bags=50).fit(X, Y, groups=groups) for groups in (GROUPS, np.roll(GROUPS, 7)))
    assert "have different groups" in leave_one_out(one, X).scope.mismatch(certify(other, reused=True).scope)
    with pytest.raises(ValueError, match=r"'model' parameter of Study\.of must be about the same 14 groups"):
        Study.of(leave_one_out(one, X), certify(one, reused=True), model=bagged().fit(X, Y))
    with pytest.raises(ValueError, match=r"'anew' parameter of Study\.of"):
        Study.of(leave_one_out(one, X), certify(one, reused=True), anew=certify(bagged().fit(X, Y)))
    with pytest.raises(ValueError, match="on one axis"):
        PerturbationDisplay.from_perturbations(
            {"by row": leave_one_out(bagged().fit(X, Y), X), "by group": leave_one_out(one, X)}
        )


def test_own_range_for_rows_works_with_groups():
    class Padded(PredictionRange):
        def interval(self, y):
            return float(np.min(y)) - 1, float(np.max(y)) + 1

        def changes(self, y):
            return super().changes(y)

    model = bagged(prediction_range=Padded()).fit(X, Y, groups=GROUPS)
    expected = sum((Y[name != GROUPS].min(), Y[name != GROUPS].max()) != (Y.min(), Y.max()) for name in NAMES)
    assert certify(model).delta_range == expected / 14


def test_groups_in_another_order_than_the_rows_raise():
    frame = pd.DataFrame(X, columns=list("abc"), index=RNG.permutation(len(Y)) + 5)
    patient = pd.Series(GROUPS, index=frame.index, name="patient")
    with pytest.raises(ValueError, match=r"in the order of the rows of X.*Use groups\.loc\[X\.index\]"):
        bagged().fit(frame, Y, groups=patient.sort_index())
    again = bagged().fit(frame, Y, groups=patient.sort_index().loc[frame.index])
    assert again.units_ == bagged().fit(frame, Y, groups=patient.reset_index(drop=True)).units_
