import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import StackingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor

from learners import RowRecorder
from stablebag import BaggedClassifier, BaggedRegressor, Subbagging

X = np.random.default_rng(0).normal(size=(30, 3))
Y = X[:, 0]


def test_a_fitted_model_is_a_sequence_of_its_bags_models():
    model = BaggedRegressor(Ridge(), n_bags=7, random_state=0).fit(X, Y)
    assert len(model) == 7
    assert [fitted.intercept_ for fitted in model] == [model[number].intercept_ for number in range(7)]
    assert model[-1].intercept_ == model[6].intercept_ == model.estimators_[6].intercept_
    assert [fitted.intercept_ for fitted in model[2:4]] == [model[2].intercept_, model[3].intercept_]
    with pytest.raises(IndexError):
        model[7]


@pytest.mark.parametrize("model", [BaggedRegressor(), BaggedClassifier()])
def test_an_unfitted_model_says_so_and_is_no_empty_sequence(model):
    asked = [len, iter, lambda m: m[0], lambda m: m.estimators_samples_, lambda m: m.estimators_features_]
    for ask in asked:
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            ask(model)
    assert model
    assert not hasattr(model, "estimators_samples_")


def test_the_samples_are_what_each_learner_saw_in_its_order_and_with_repeats():
    for scheme in ("subbagging", "classical"):
        model = BaggedRegressor(RowRecorder(), scheme=scheme, n_bags=5, random_state=0).fit(X, Y)
        for fitted, rows in zip(model, model.estimators_samples_, strict=True):
            assert rows.dtype.kind == "i"
            np.testing.assert_array_equal(fitted.X_, X[rows])


def test_the_samples_are_rows_where_bags_are_drawn_over_units():
    groups = np.arange(30) // 3
    model = BaggedRegressor(RowRecorder(), n_bags=5, random_state=0).fit(X, Y, groups=groups)
    for fitted, rows in zip(model, model.estimators_samples_, strict=True):
        assert len(rows) == 15
        np.testing.assert_array_equal(fitted.y_, Y[rows])


def test_a_bag_can_be_fitted_again_from_its_rows_and_columns():
    model = BaggedRegressor(DecisionTreeRegressor(), max_features=2, n_bags=4, random_state=0).fit(X, Y)
    rows, columns = model.estimators_samples_[1], model.estimators_features_[1]
    again = clone(model[1]).fit(X[rows][:, columns], Y[rows])
    np.testing.assert_array_equal(again.predict(X[:, columns]), model[1].predict(X[:, columns]))


@pytest.mark.parametrize("fitted", [False, True])
def test_having_a_length_changes_nothing_for_scikit_learn(fitted):
    model = BaggedRegressor(Ridge(), scheme=Subbagging(10), n_bags=3, random_state=0)
    model = model.fit(X, Y) if fitted else model
    words = ["BaggedRegressor(estimator=Ridge(),", "n_bags=3,", "random_state=0,", "scheme=Subbagging(bag_size=10))"]
    assert repr(model).split() == words
    assert "BaggedRegressor" in model._repr_html_()
    assert clone(model).get_params().keys() == model.get_params().keys()
    assert make_pipeline(model).fit(X, Y).predict(X).shape == (30,)
    search = GridSearchCV(make_pipeline(Ridge()), {"ridge": [model, Ridge()]}, cv=2).fit(X, Y)
    assert [type(one).__name__ for one in search.cv_results_["param_ridge"]] == ["BaggedRegressor", "Ridge"]
    assert StackingRegressor([("bagged", model), ("ridge", Ridge())]).fit(X, Y).predict(X).shape == (30,)
    assert BaggedRegressor(model, n_bags=2, random_state=0).fit(X, Y).predict(X).shape == (30,)
