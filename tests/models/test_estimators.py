import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, load_linnerud
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDClassifier
from sklearn.multioutput import MultiOutputRegressor, RegressorChain
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from learners import Voter
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    FixedRange,
    FunctionRegressor,
    ObservedRange,
    Subbagging,
    TrimmedRange,
    certify,
    forget,
    learn,
)
from stablebag.cli.saving import TRUSTED
from stablebag.models.fitted import Fitted

# ------------------------------------------------------------------------------------------------------------ regressor


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


def test_predictions_are_clipped_before_they_are_averaged(diabetes):
    X, y = diabetes
    model = BaggedRegressor(LinearRegression(), n_bags=20, prediction_range=FixedRange(100, 150), random_state=0)
    far = X * 20
    bags = model.fit(X, y).bag_predictions(far)
    assert set(np.unique(bags)) >= {100.0, 150.0}
    np.testing.assert_allclose(model.predict(far), bags.mean(axis=0))
    free = BaggedRegressor(LinearRegression(), n_bags=20, prediction_range=None, random_state=0).fit(X, y)
    assert free.range_ is None
    assert np.ptp(free.predict(far)) > 1000


def test_range_is_computed_from_the_targets(diabetes):
    X, y = diabetes
    assert BaggedRegressor(n_bags=2).fit(X, y).range_ == (y.min(), y.max())
    assert BaggedRegressor(n_bags=2, prediction_range=TrimmedRange(5)).fit(X, y).range_ == (
        np.sort(y)[4], np.sort(y)[-5]
    )  # fmt: skip
    assert BaggedRegressor(n_bags=2, prediction_range=lambda v: (0, v.mean())).fit(X, y).range_ == (0, y.mean())


def test_constant_target_is_predicted():
    model = BaggedRegressor(LinearRegression(), n_bags=3).fit([[1.0], [2.0], [3.0]], [7, 7, 7])
    assert model.predict([[100.0]]) == [7.0]
    assert certify(model).epsilon(0.1) == 0.0


def test_range_that_is_undefined_without_a_row_raises_in_fit():
    with pytest.raises(ValueError, match=r"Too few targets for TrimmedRange\(2\)"):
        BaggedRegressor(n_bags=2, prediction_range=TrimmedRange(2)).fit(np.zeros((3, 1)), [1.0, 2.0, 3.0])


def test_pair_of_numbers_as_a_range_raises_and_names_fixed_range():
    with pytest.raises(TypeError, match=r"Got \(0, 1\): for a fixed interval use FixedRange\(0, 1\)\."):
        BaggedRegressor(prediction_range=(0, 1)).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])


def test_infinite_predictions_without_a_range_raise(diabetes):
    X, y = diabetes
    learner = FunctionRegressor(lambda X, y, seed: lambda points: np.full(len(points), np.inf))
    with pytest.raises(ValueError, match="prediction at point 0 is infinite"):
        BaggedRegressor(learner, n_bags=2, prediction_range=None).fit(X, y).predict(X)
    assert (BaggedRegressor(learner, n_bags=2).fit(X, y).predict(X) == y.max()).all()


# ------------------------------------------------------------------------------------------------------ several outputs


@pytest.fixture(scope="module")
def people():
    return load_linnerud(return_X_y=True, as_frame=True)


def means(X, y, seed):
    return lambda points: np.tile(y.mean(axis=0), (len(points), 1))


SEVERAL = [
    DecisionTreeRegressor(max_depth=3), Ridge(), KNeighborsRegressor(2), MultiOutputRegressor(SVR()),
    RegressorChain(Ridge()), FunctionRegressor(means), BaggedRegressor(Ridge(), n_bags=2),
]  # fmt: skip


@pytest.mark.parametrize("learner", SEVERAL, ids=lambda learner: type(learner).__name__)
def test_several_outputs_are_averaged_separately(people, learner):
    X, y = people
    model = BaggedRegressor(learner, n_bags=6, random_state=0).fit(X, y)
    bags = model.bag_predictions(X)
    assert bags.shape == (6, 20, 3)
    by_hand = np.stack([np.clip(each.predict(X), y.min(), y.max()) for each in model.estimators_])
    np.testing.assert_array_equal(bags, by_hand)
    np.testing.assert_allclose(model.predict(X), bags.mean(axis=0))
    assert model.output_names_.tolist() == ["Weight", "Waist", "Pulse"]
    assert model.range_ == tuple(zip(y.min(), y.max(), strict=True))
    for place, name in enumerate(y):
        np.testing.assert_array_equal(model.output(name).predict(X), model.predict(X)[:, place])
        np.testing.assert_array_equal(model.output(place).bag_predictions(X), bags[..., place])


def test_type_of_the_targets_and_threads_do_not_change_predictions(people):
    X, y = people
    expected = BaggedRegressor(Ridge(), n_bags=6, random_state=0).fit(X, y).predict(X)
    for targets in (y.to_numpy(), np.asfortranarray(y), y.to_numpy().tolist(), y.astype(object)):
        model = BaggedRegressor(Ridge(), n_bags=6, random_state=0).fit(X, targets)
        np.testing.assert_array_equal(model.predict(X), expected)
        assert Fitted(model).y.flags.c_contiguous
    with joblib.parallel_config("threading", n_jobs=2):
        np.testing.assert_array_equal(clone(model).fit(X, y).predict(X), expected)


def test_two_copies_of_one_output_have_the_same_results(people):
    X, y = people
    alone = BaggedRegressor(KNeighborsRegressor(2), n_bags=9, random_state=0, solver="scikit-learn")
    twice = clone(alone).fit(X, np.column_stack([y.Waist, y.Waist]))
    alone.fit(X, y.Waist)
    for place in (0, 1):
        np.testing.assert_array_equal(twice.output(place).predict(X), alone.predict(X))
        assert certify(twice.output(place)) == certify(alone)


def test_bags_without_rows_predict_the_middle_of_every_range(people):
    X, y = people
    for rule, middle in ((ObservedRange(), (y.min() + y.max()) / 2), (None, [0.0, 0.0, 0.0])):
        model = BaggedRegressor(n_bags=80, scheme=BernoulliSubbagging(0.05), prediction_range=rule, random_state=0)
        empty = np.flatnonzero(model.fit(X, y).bags_.sizes == 0)
        assert len(empty)
        np.testing.assert_allclose(model.bag_predictions(X)[empty[0]], np.tile(middle, (20, 1)))


def test_each_output_has_its_own_range(people):
    X, y = people
    rules = [FixedRange(150, 160), TrimmedRange(3), lambda targets: (0.0, float(np.median(targets)))]
    model = BaggedRegressor(n_bags=5, prediction_range=rules, random_state=0).fit(X, y)
    assert model.range_[0] == (150.0, 160.0)
    assert model.range_[1] == TrimmedRange(3)(y.Waist)
    assert model.range_[2] == (0.0, y.Pulse.median())
    predicted = model.bag_predictions(X)
    for place, (low, high) in enumerate(model.range_):
        assert low <= predicted[..., place].min() <= predicted[..., place].max() <= high
    assert model.output("Waist").prediction_range_ == TrimmedRange(3)
    assert clone(model).fit(X, y).range_ == model.range_
    free = BaggedRegressor(Ridge(), n_bags=5, prediction_range=None, random_state=0).fit(X, y)
    assert free.range_ is free.output("Waist").range_ is None


def test_wrong_ranges_for_several_outputs_raise(people):
    X, y = people
    for rules, message in (
        ([FixedRange(0, 1)], "a list of 3 ranges"),
        ([FixedRange(0, 1), None, None], "all outputs are clipped or none"),
        ([1, 2, 3], "must be a prediction range"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            BaggedRegressor(n_bags=2, prediction_range=rules).fit(X, y)
    with pytest.raises(TypeError, match="must be a prediction range"):
        BaggedRegressor(n_bags=2, prediction_range=[FixedRange(0, 1)]).fit(X, y.Waist)


def test_model_of_one_output_shares_the_fitted_models(people):
    X, y = people
    model = BaggedRegressor(n_bags=5, random_state=0).fit(X, y)
    waist = model.output("Waist")
    assert waist is model.output("Waist") is model.output(1)
    assert waist.bags_ is model.bags_
    assert waist.estimators_ is model.estimators_
    assert Fitted(waist).X is Fitted(model).X
    np.testing.assert_array_equal(Fitted(waist).y, y.Waist)
    assert not Fitted(waist).y.flags.writeable
    assert waist.output_[:2] == ("Waist", 1)
    assert not hasattr(waist, "output_names_")
    with pytest.raises(ValueError, match=r"one of 'Weight', 'Waist', 'Pulse'\. Got 'waist'"):
        model.output("waist")
    with pytest.raises(ValueError, match="has only one output"):
        waist.output("Waist")
    with pytest.raises(ValueError, match="has only one output"):
        BaggedRegressor(n_bags=2).fit(X, y.Waist).output(0)


def test_refitting_the_model_of_one_output_starts_from_scratch(people):
    X, y = people
    waist = BaggedRegressor(n_bags=5, random_state=0, warm_start=True).fit(X, y).output("Waist")
    waist.fit(X, y.Pulse)
    assert not hasattr(waist, "output_")
    np.testing.assert_array_equal(
        waist.predict(X), BaggedRegressor(n_bags=5, random_state=0).fit(X, y.Pulse).predict(X)
    )
    again = BaggedRegressor(n_bags=5, random_state=0).fit(X, y).output("Waist").set_params(warm_start=True, n_bags=9)
    with pytest.raises(ValueError, match="the outputs changed since the first fit"):
        again.fit(X, y.Waist)


def test_predict_once_serves_all_outputs_without_mixing_them_up(people):
    X, y = people
    model = BaggedRegressor(n_bags=5, random_state=0).fit(X, y)
    at = model.predict_once(X)
    waist, pulse = model.output("Waist"), model.output("Pulse")
    np.testing.assert_array_equal(Fitted(waist).raw(at), Fitted(waist).raw(X))
    np.testing.assert_array_equal(Fitted(pulse).raw(at[2:5]), Fitted(pulse).raw(X[2:5]))
    np.testing.assert_array_equal(Fitted(waist).raw(waist.predict_once(X)), Fitted(waist).raw(X))
    for other in (pulse, model):
        with pytest.raises(ValueError, match="of output 'Waist' only"):
            Fitted(other).raw(waist.predict_once(X))


def test_warm_start_needs_the_same_outputs(people):
    X, y = people
    model = BaggedRegressor(Ridge(), n_bags=3, random_state=0, warm_start=True).fit(X, y)
    model.set_params(n_bags=6).fit(X, y.to_numpy())
    np.testing.assert_array_equal(
        model.predict(X), BaggedRegressor(Ridge(), n_bags=6, random_state=0).fit(X, y).predict(X)
    )
    for other in (y.rename(columns={"Waist": "waist"}), y[["Weight", "Waist"]], y.Waist, y + 1):
        with pytest.raises(ValueError, match="it a clone"):
            model.set_params(n_bags=7).fit(X, other)
        assert model.output_names_.tolist() == ["Weight", "Waist", "Pulse"]
    assert model.predict(X).shape == (20, 3)
    single = BaggedRegressor(Ridge(), n_bags=3, random_state=0, warm_start=True).fit(X, y.Waist).set_params(n_bags=4)
    with pytest.raises(ValueError, match="the outputs changed since the first fit"):
        single.fit(X, y)
    assert single.predict(X).shape == (20,)
    assert single.set_params(warm_start=False).fit(X, y).predict(X).shape == (20, 3)
    assert single.fit(X, y.Waist).predict(X).shape == (20,)
    assert not hasattr(single, "output_names_")


@pytest.mark.parametrize("groups", [None, np.repeat(list("abcdefghij"), 2)])
def test_forget_and_learn_work_with_several_outputs(people, groups):
    X, y = people
    model = BaggedRegressor(Ridge(), n_bags=12, scheme=Subbagging(4), random_state=0).fit(X, y, groups=groups)
    gone = [3] if groups is None else ["b"]
    rows = [3] if groups is None else [2, 3]
    without = forget(model, gone)
    rest = np.delete(np.arange(20), rows)
    names = {"row_ids": rest} if groups is None else {"groups": groups[rest]}
    fresh = clone(model).fit(X.iloc[rest], y.iloc[rest], **names)
    np.testing.assert_array_equal(without.predict(X), fresh.predict(X))
    assert without.output_names_.tolist() == list(y)
    names = {"row_ids": rows} if groups is None else {"groups": groups[rows]}
    again = learn(without, X.iloc[rows], y.iloc[rows], **names)
    np.testing.assert_allclose(again.predict(X), model.predict(X))
    for other in (y.Waist, y[["Waist", "Weight", "Pulse"]], y[["Waist", "Pulse"]].to_numpy()):
        with pytest.raises(ValueError, match="with the columns"):
            learn(without, X.iloc[rows], other.iloc[rows] if hasattr(other, "iloc") else other[rows], **names)
    for function in (forget, lambda model, gone: learn(model, X, y)):
        with pytest.raises(ValueError, match=r"needs the model of all outputs.*\.output\('Waist'\)"):
            function(model.output("Waist"), gone)


def test_n_bags_all_with_several_outputs_agrees_with_each_output(people):
    X, y = people[0][:6], people[1][:6]
    model = BaggedRegressor(KNeighborsRegressor(1), n_bags="all", scheme=Subbagging(2)).fit(X, y)
    assert len(model.bags_) == 15
    for name in y:
        alone = BaggedRegressor(KNeighborsRegressor(1), n_bags="all", scheme=Subbagging(2)).fit(X, y[name])
        np.testing.assert_allclose(model.output(name).predict(X), alone.predict(X))


def test_models_of_several_outputs_can_be_saved(people):
    X, y = people
    rules = [FixedRange(100, 200), ObservedRange(), ObservedRange()]
    for learner in (DecisionTreeRegressor(max_depth=2), Ridge()):
        model = BaggedRegressor(learner, n_bags=4, prediction_range=rules, random_state=0).fit(X, y)
        for one in (model, model.output("Waist")):
            pickled = pickle.loads(pickle.dumps(one))
            np.testing.assert_array_equal(pickled.predict(X), one.predict(X))
            data = skops.io.dumps(one)
            types = skops.io.get_untrusted_types(data=data)
            loaded = skops.io.loads(data, trusted=types)
            np.testing.assert_array_equal(loaded.predict(X), one.predict(X))
            assert {name for name in types if name.startswith("stablebag")} <= TRUSTED
        assert pickled.output_.name == loaded.output_.name == "Waist"
        loaded = skops.io.loads(skops.io.dumps(model), trusted=sorted(TRUSTED))
        assert loaded.output("Waist").range_ == model.output("Waist").range_


def test_multi_output_tag_is_the_learners():
    for learner, several in ((None, True), (Ridge(), True), (SVR(), False), (FunctionRegressor(means), True)):
        assert BaggedRegressor(learner).__sklearn_tags__().target_tags.multi_output is several
    assert not BaggedClassifier().__sklearn_tags__().target_tags.multi_output


def test_unsupported_uses_of_several_outputs_raise_with_a_way_out(people):
    X, y = people
    with pytest.raises(ValueError, match=r"with 3 outputs; .* wrap it in MultiOutputRegressor"):
        BaggedRegressor(SVR(), n_bags=2).fit(X, y)
    with pytest.raises(ValueError, match="fit one model per column"):
        BaggedClassifier(n_bags=2).fit(X, y > y.median())
    flat = FunctionRegressor(lambda X, y, seed: lambda points: np.zeros(len(points)))
    with pytest.raises(ValueError, match=r"predicted an array of shape \(20,\) instead of \(20, 3\)"):
        BaggedRegressor(flat, n_bags=2).fit(X, y).predict(X)
    wide = FunctionRegressor(lambda X, y, seed: lambda points: np.zeros((len(points), 2)))
    with pytest.raises(ValueError, match=r"predicted an array of shape \(20, 2\) instead of \(20,\)"):
        BaggedRegressor(wide, n_bags=2).fit(X, y.Waist).predict(X)
    spoiled = y.astype(float).copy()
    spoiled.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        BaggedRegressor(n_bags=2).fit(X, spoiled)
    with pytest.raises(ValueError, match="missing values"):
        BaggedRegressor(n_bags=2).fit(X, spoiled.astype(object).where(spoiled.notna(), None))
    with pytest.raises(ValueError, match="needs numbers as targets"):
        BaggedRegressor(n_bags=2).fit(X, y.astype(str).to_numpy(dtype=str))
    with pytest.raises(ValueError, match="inconsistent numbers"):
        BaggedRegressor(n_bags=2).fit(X, y[:7])
    infinite = FunctionRegressor(lambda X, y, seed: lambda points: np.full((len(points), 3), np.inf))
    with pytest.raises(ValueError, match="prediction at point 0 is infinite"):
        BaggedRegressor(infinite, n_bags=2, prediction_range=None).fit(X, y).predict(X)


def test_one_column_is_one_output(people):
    X, y = people
    with pytest.warns(UserWarning, match="column-vector"):
        model = BaggedRegressor(n_bags=3, random_state=0).fit(X, y[["Waist"]])
    assert model.predict(X).shape == (20,)
    assert not hasattr(model, "output_names_")


def test_outputs_with_numbers_as_names_are_chosen_by_name(people):
    X, y = people
    model = BaggedRegressor(n_bags=3, random_state=0).fit(X, pd.DataFrame(y.to_numpy(), columns=[10, 20, 30]))
    assert model.output(20).output_.number == 1
    with pytest.raises(ValueError, match="one of 10, 20, 30"):
        model.output(1)


# ----------------------------------------------------------------------------------------------------------- classifier


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def test_classifier_averages_probabilities_or_else_votes(iris):
    X, y = iris
    model = BaggedClassifier(DecisionTreeClassifier(max_depth=1), n_bags=30, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), model.bag_predictions(X).mean(axis=0))
    np.testing.assert_array_equal(model.predict(X), model.predict_proba(X).argmax(axis=1))
    for learner in (Voter(), SGDClassifier(loss="hinge"), SVC()):
        votes = BaggedClassifier(learner, n_bags=10, random_state=0).fit(X, y).bag_predictions(X)
        assert set(np.unique(votes)) == {0.0, 1.0}


@pytest.mark.parametrize("labels", [
    ["no", "maybe", "yes"], [-1, 0, 7], [0.5, 1.5, 2.5], np.array(["a", "b", "c"], dtype=object),
], ids=str)  # fmt: skip
def test_labels_of_any_type_are_predicted_unchanged(labels, iris):
    X, y = iris
    y = np.asarray(labels)[y]
    if y.dtype.kind == "f":
        with pytest.raises(ValueError, match="Unknown label type"):
            BaggedClassifier(n_bags=3).fit(X, y)
        return
    model = BaggedClassifier(n_bags=30, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.classes_, np.unique(y))
    assert (model.predict(X) == y).mean() > 0.9


def test_two_classes_may_be_booleans(iris):
    X, y = iris[0][:100], iris[1][:100].astype(bool)
    model = BaggedClassifier(LogisticRegression(), n_bags=5, random_state=0).fit(X, y)
    assert model.predict(X).dtype == bool
    assert model.predict_proba(X).shape == (100, 2)


def test_targets_with_one_class_raise():
    with pytest.raises(ValueError, match="at least 2 classes in the data, but the data contains only one class: 'a'"):
        BaggedClassifier(n_bags=2).fit([[1], [2]], ["a", "a"])


@pytest.mark.parametrize("labels", [
    pd.Series([None, "a", "b", "a"], dtype="string"), np.array([None, "a", "b", "a"], dtype=object),
    pd.Series([np.nan, "a", "b", "a"], dtype=object),
], ids=["string", "object", "series"])  # fmt: skip
def test_missing_labels_raise(labels):
    with pytest.raises(ValueError, match="Input y contains NaN"):
        BaggedClassifier(n_bags=2).fit(np.zeros((4, 1)), labels)


@pytest.mark.parametrize("name", ["None", "nan", "NaN", "NaT", "<NA>"])
def test_class_may_be_named_like_a_missing_value(name):
    X, labels = np.zeros((10, 1)), pd.Series([name, "A"] * 5, dtype=object)
    assert set(BaggedClassifier(n_bags=3, random_state=0).fit(X, labels).classes_) == {name, "A"}
    for missing in (None, np.nan, pd.NA, pd.NaT):
        with pytest.raises(ValueError, match="NaN or missing values"):
            BaggedClassifier(n_bags=3).fit(X, pd.Series([missing, "A"] * 5, dtype=object))
