import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    Certificate,
    ClassicalBagging,
    ObservedRange,
    StratifiedSubbagging,
    Subbagging,
    TrimmedRange,
    certify,
    random_n_bags,
    select_model,
    stable_ranking,
)
from stablebag.resampling.schemes import SCHEMES
from stablebag.showing.study import study

X, y = load_diabetes(return_X_y=True)
X, y = X[:60], y[:60]


def test_setting_a_scheme_parameter_replaces_the_scheme():
    scheme = Subbagging(0.5)
    model = BaggedRegressor(scheme=scheme)
    assert model.get_params()["scheme__bag_size"] == 0.5
    assert "scheme__bag_size" not in model.get_params(deep=False)
    assert model.set_params(scheme__bag_size=0.3, n_bags=7) is model
    assert (model.scheme, model.n_bags, scheme) == (Subbagging(0.3), 7, Subbagging(0.5))
    assert clone(model).scheme == Subbagging(0.3)


def test_scheme_and_its_parameter_can_be_set_together_in_any_order():
    for order in (1, -1):
        settings = dict([("scheme", ClassicalBagging(1.0)), ("scheme__bag_size", 10)][::order])
        assert BaggedRegressor().set_params(**settings).scheme == ClassicalBagging(10)


def test_prediction_range_has_parameters_too():
    model = BaggedRegressor(prediction_range=TrimmedRange(2)).set_params(prediction_range__rank=3)
    assert model.prediction_range == TrimmedRange(3)
    assert not any(name.startswith("prediction_range__") for name in BaggedRegressor().get_params())


@pytest.mark.parametrize(("settings", "sentence"), [
    ({"scheme__size": 3}, r"no parameter scheme__size\. .* has scheme=Subbagging.*, with the parameters bag_size"),
    ({"prediction_range__rank": 3}, r"has prediction_range=ObservedRange\(\), which has no parameters"),
    ({"scheme__bag_size": -1}, "'bag_size' parameter of Subbagging must be a positive number"),
])  # fmt: skip
def test_unknown_nested_parameters_raise(settings, sentence):
    model = BaggedRegressor(prediction_range=ObservedRange())
    with pytest.raises(ValueError, match=sentence):
        model.set_params(**settings)
    assert model.scheme == Subbagging(0.5)


@pytest.mark.parametrize("scheme", [Subbagging(0.5), "subbagging"], ids=str)
def test_grid_search_over_the_bag_size_agrees_with_separate_fits(scheme):
    sizes, folds = [0.1, 0.8], [(np.arange(40), np.arange(40, 60))]
    model = BaggedRegressor(Ridge(0.01), scheme=scheme, n_bags=10, random_state=0)
    search = GridSearchCV(model, {"scheme__bag_size": sizes}, cv=folds).fit(X, y)
    by_hand = [
        clone(model).set_params(scheme=Subbagging(size)).fit(X[:40], y[:40]).score(X[40:], y[40:]) for size in sizes
    ]
    assert search.cv_results_["mean_test_score"].tolist() == by_hand
    assert by_hand[0] != by_hand[1]
    assert search.best_estimator_.scheme == Subbagging(sizes[int(np.argmax(by_hand))])
    deep = make_pipeline(StandardScaler(), model).set_params(baggedregressor__scheme__bag_size=0.2)
    assert deep[-1].scheme == Subbagging(0.2)


def test_warm_start_raises_once_for_a_new_bag_size():
    model = BaggedRegressor(Ridge(), n_bags=3, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="the data or the scheme changed since the first fit"):
        model.set_params(scheme__bag_size=0.2, n_bags=4).fit(X, y)


# ----------------------------------------------------------------------------------------------- schemes by their names


@pytest.mark.parametrize("name", SCHEMES)
def test_scheme_can_be_given_by_name(name):
    model, scheme = BaggedRegressor(Ridge(), scheme=name, n_bags=5, random_state=0), SCHEMES[name]()
    shown = f"BaggedRegressor(estimator=Ridge(), n_bags=5, random_state=0, scheme={name!r})"
    assert " ".join(repr(model).split()) == shown
    assert clone(model).get_params()["scheme"] == name
    assert model.get_params()["scheme__bag_size"] == scheme.bag_size
    by_name, by_itself = model.fit(X, y), clone(model).set_params(scheme=scheme).fit(X, y)
    assert by_name.scheme == name  # fit changes no parameter
    assert by_name.scheme_ == by_itself.scheme_ == scheme.resolve(60)
    np.testing.assert_array_equal(by_name.predict(X), by_itself.predict(X))
    assert certify(by_name).epsilon(0.1) == certify(by_itself).epsilon(0.1)
    assert model.set_params(scheme__bag_size=0.25).scheme == type(scheme)(0.25)


def test_scheme_names_work_everywhere():
    assert Certificate("classical", 60).scheme == Certificate(ClassicalBagging(), 60).scheme
    assert random_n_bags("classical", 60, 50, 0) == random_n_bags(ClassicalBagging(), 60, 50, 0)
    labels = (y > 100).astype(int)
    assert BaggedClassifier(scheme="bernoulli", n_bags=5, random_state=0).fit(X, labels).scheme_ == SCHEMES[
        "bernoulli"
    ]().resolve(60)
    for scheme in ("subbagging", Subbagging()):
        about = {"scheme": scheme, "n_bags": 30, "random_state": 0}
        bagging = BaggedRegressor(**about)
        assert select_model(lambda X, y: int(y.argmax()), X, y, bagging=bagging).stability.epsilon > 0
        assert (
            len(stable_ranking(lambda X, y: abs(X.mean(axis=0)), X, y, k=2, within="box", bagging=bagging).scores) == 10
        )
        studied = study(BaggedRegressor(Ridge(), **about), X[:50], y[:50], X[50:], n_refits=2, n_points=2)
        assert studied.model.scheme_ == Subbagging(25).resolve(50)


def test_unknown_scheme_name_raises_and_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"or one of 'subbagging', .*'poissonized'\. Got 'bag'"):
        BaggedRegressor(scheme="bag").fit(X, y)
    assert BaggedRegressor(scheme="bag").get_params()["scheme"] == "bag"  # asking for parameters checks none


def test_setting_the_bag_size_keeps_the_strata():
    labels = np.repeat(["a", "b"], 30)
    model = BaggedClassifier(scheme=StratifiedSubbagging(0.5), n_bags=5, random_state=0)
    model.set_params(scheme__bag_size=0.2).fit(X, labels)
    assert model.scheme_.bag_size == 12
