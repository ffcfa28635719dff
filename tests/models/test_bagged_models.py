import re

import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    certify,
    forget,
    learn,
    leave_one_out,
    leave_one_out_error,
    predict_interval,
    predict_set,
    suspects,
)
from stablebag.deciding import selection_stability
from stablebag.models.ensemble import check_bagged

X, y = load_diabetes(return_X_y=True)
X, y = X[:50], y[:50]
LABELS = np.where(y > 120, "high", "low")
OF_NUMBERS = {
    "predict_interval": lambda model: predict_interval(model, X),
    "leave_one_out": lambda model: leave_one_out(model, X),
    "certify": certify,
    "certify at points": lambda model: certify(model, X),
    "certify of reused bags": lambda *given: certify(*given, reused=True),
    "leave_one_out_error": leave_one_out_error,
    "forget": lambda model: forget(model, [1]),
    "learn": lambda model: learn(model, X[:1], y[:1]),
    "leave_one_out, bag by bag": lambda model: leave_one_out(model, X, X_train=X, y_train=y),
}
OF_CLASSES = {
    "predict_set": lambda model: predict_set(model, X),
    "selection_stability": lambda model: selection_stability(model, X),
}


@pytest.fixture(scope="module")
def regressor():
    return make_pipeline(StandardScaler(), BaggedRegressor(Ridge(), n_bags=30, random_state=0)).fit(X, y)


@pytest.fixture(scope="module")
def classifier():
    bagged = BaggedClassifier(LogisticRegression(), n_bags=30, random_state=0)
    return make_pipeline(StandardScaler(), bagged).fit(X, LABELS)


@pytest.mark.parametrize("function", [*OF_NUMBERS, *OF_CLASSES])
def test_every_function_says_which_part_of_a_pipeline_to_pass(function, regressor, classifier):
    ask, model = (OF_NUMBERS | OF_CLASSES)[function], classifier if function in OF_CLASSES else regressor
    sentence = "pass pipeline[-1]. Pass it the rows that pipeline[:-1].transform(X) returns. The results are then about"
    with pytest.raises(TypeError, match=re.escape(sentence)):
        ask(model)


def test_passing_that_part_of_the_pipeline_works(regressor, classifier):
    rows = regressor[:-1].transform(X)
    assert len(predict_interval(regressor[-1], rows).lower) == 50
    assert leave_one_out(regressor[-1], rows).left_out.shape == (50, 50)
    assert len(predict_set(classifier[-1], classifier[:-1].transform(X))) == 50
    whole = BaggedRegressor(make_pipeline(StandardScaler(), Ridge()), n_bags=30, random_state=0).fit(X, y)
    assert len(predict_interval(whole, X).lower) == 50


def test_functions_say_to_pass_the_best_estimator_of_a_search():
    search = GridSearchCV(BaggedRegressor(Ridge(), n_bags=30, random_state=0), {"estimator__alpha": [1, 2]}, cv=2)
    with pytest.raises(TypeError, match=r"must be a fitted BaggedRegressor. Got .*: for other regressors, use"):
        predict_interval(search, X)
    search.fit(X, y)
    sentence = r"pass search.best_estimator_. The results then take the chosen parameters as given"
    with pytest.raises(TypeError, match=sentence):
        predict_interval(search, X)
    assert len(predict_interval(search.best_estimator_, X).lower) == 50


def test_bagged_model_is_found_inside_nested_searches_and_pipelines(regressor):
    search = GridSearchCV(regressor, {"baggedregressor__scheme__bag_size": [0.4, 0.5]}, cv=2).fit(X, y)
    with pytest.raises(TypeError, match=re.escape("pass search.best_estimator_[-1]. The results then")) as error:
        certify(search)
    assert "the rows that search.best_estimator_[:-1].transform(X) returns" in str(error.value)
    logs = TransformedTargetRegressor(regressor, func=np.log, inverse_func=np.exp).fit(X, y)
    with pytest.raises(TypeError, match=re.escape("pass model.regressor_[-1]. The results are then about the transf")):
        leave_one_out(logs, X)


def test_models_without_a_bagged_model_inside_get_another_message():
    with pytest.raises(
        TypeError, match=r"a fitted BaggedRegressor or BaggedClassifier. Got .*: for other estimators, use"
    ):
        leave_one_out(make_pipeline(StandardScaler(), Ridge()).fit(X, y), X)
    with pytest.raises(TypeError, match=r"must be a BaggedRegressor or BaggedClassifier. Got None instead."):
        check_bagged(None, "it", fitted=False)
    with pytest.raises(TypeError, match=r"a fitted BaggedClassifier. Got .*: for regressors, use predict_interval"):
        predict_set(BaggedRegressor(n_bags=3).fit(X, y), X)


@pytest.mark.parametrize("function", [leave_one_out, certify, predict_interval, predict_set, suspects])
def test_error_for_swapped_arguments_says_that_the_model_comes_first(function):
    model = BaggedRegressor(n_bags=3).fit(X, y)
    with pytest.raises(
        TypeError, match=rf"this is data\. Pass the model first: {function.__name__}\(model, \.\.\.\)\."
    ):
        function(X, model)
    with pytest.raises(TypeError, match=r"this is a class\. Pass a fitted instance: BaggedRegressor\(\.\.\.\)"):
        function(BaggedRegressor, X)


def test_unfitted_bagged_model_raises_unless_allowed():
    with pytest.raises(NotFittedError):
        predict_interval(BaggedRegressor(), X)
    check_bagged(BaggedRegressor(), "it", fitted=False)


def test_functions_of_one_output_reject_a_model_of_several():
    both = BaggedRegressor(Ridge(), n_bags=5, random_state=0).fit(X, np.column_stack([y, -y]))
    for function in (predict_interval, suspects):
        with pytest.raises(
            ValueError, match=r"needs a model of one output, and this one has 2\. Pass model\.output\(0\)"
        ):
            function(both, X)
    with pytest.raises(TypeError, match="a fitted BaggedClassifier"):
        predict_set(both, X)
    check_bagged(both, "certify", outputs="any")
    check_bagged(both.output(1), "predict_interval")
    with pytest.raises(ValueError, match="got the model of output 1"):
        check_bagged(both.output(1), "forget", outputs="all")
