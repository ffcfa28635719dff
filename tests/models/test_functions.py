import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    FixedRange,
    FunctionClassifier,
    FunctionRegressor,
    StratifiedSubbagging,
    Subbagging,
    on_progress,
)
from stablebag.models.functions import BaggedFindings, Finder, call_with_seed, find_in_bags

# ------------------------------------------------------------------------------------------------------------ functions


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


def first_target(X, y, seed):
    return lambda points: np.full(len(points), y[0])


def slope(X, y, seed):
    coefficients = np.linalg.lstsq(np.asarray(X), y, rcond=None)[0]
    return lambda points: np.asarray(points) @ coefficients


def coin(X, y, seed):
    side = np.random.default_rng(seed).integers(2)
    return lambda points: np.full(len(points), float(side))


def shares(X, y, seed):
    counts = np.unique(y, return_counts=True)[1]
    return lambda points: np.tile(counts / counts.sum(), (len(points), 1))


def test_any_function_can_be_bagged(diabetes):
    X, y = diabetes
    ours = BaggedRegressor(FunctionRegressor(slope), n_bags=10, random_state=0).fit(X, y)
    theirs = BaggedRegressor(LinearRegression(fit_intercept=False), n_bags=10, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X), rtol=1e-6)


def test_function_gets_a_different_seed_in_every_bag(diabetes):
    X, y = diabetes
    model = BaggedRegressor(FunctionRegressor(coin), n_bags=200, prediction_range=FixedRange(0, 1), random_state=0)
    assert 0.3 < model.fit(X, y).predict(X[:1])[0] < 0.7
    kept = BaggedRegressor(FunctionRegressor(coin, random_state=5), n_bags=20, prediction_range=FixedRange(0, 1))
    assert kept.fit(X, y).predict(X[:1])[0] in (0.0, 1.0)


def test_function_classifier_accepts_probabilities_or_labels(iris):
    X, y = iris
    model = BaggedClassifier(FunctionClassifier(shares), n_bags=50, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:2]), 1 / 3, atol=0.05)
    alone = FunctionClassifier(first_target).fit(X, y)
    assert alone.predict(X[:3]).tolist() == [0, 0, 0]


def test_closures_work_with_several_jobs(diabetes):
    X, y = diabetes
    offset = 3.0

    def shifted(X, y, seed):
        return lambda points: np.full(len(points), y.mean() + offset)

    predictions = [
        BaggedRegressor(FunctionRegressor(shifted), n_bags=20, n_jobs=n_jobs, random_state=0).fit(X, y).predict(X)
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(*predictions)


def test_wrong_functions_raise(diabetes):
    X, y = diabetes
    with pytest.raises(TypeError, match="'algorithm' parameter of FunctionRegressor"):
        FunctionRegressor("mean").fit(X, y)
    with pytest.raises(TypeError, match="must return a function"):
        FunctionRegressor(lambda X, y, seed: 3).fit(X, y)
    with pytest.raises(NotFittedError):
        FunctionRegressor(slope).predict(X)


def test_labels_may_be_a_column():
    X, y = np.zeros((10, 1)), np.repeat([0, 1], 5)
    learner = FunctionClassifier(lambda X, y, seed: lambda points: np.ones((len(points), 1)))
    np.testing.assert_array_equal(BaggedClassifier(learner, n_bags=5).fit(X, y).predict(X), 1)


# ------------------------------------------------------------------------------------------------------------- findings

X, Y = np.arange(20.0)[:, None], np.array(list("ab" * 10))


def draws(X, y, seed):
    return sorted(X.ravel().tolist()), seed, float(np.random.random())  # noqa: NPY002 (what users do)


def found(**parameters):
    return BaggedFindings(Finder(draws), n_bags=8, random_state=3, **parameters).fit(X, Y).found


def test_finder_gets_the_rows_of_each_bag_and_a_seed():
    model = BaggedFindings(Finder(draws), n_bags=8, random_state=3).fit(X, Y)
    assert [rows for rows, _, _ in model.found] == [sorted(X[bag, 0].tolist()) for bag in model.bags_]
    assert len({seed for _, seed, _ in model.found}) == 8


def test_findings_are_the_same_for_any_n_jobs():
    assert found() == found(n_jobs=2)


def test_seed_is_passed_only_to_functions_that_take_it():
    assert call_with_seed(lambda X, y: "none", 1, 2, 7) == "none"
    assert call_with_seed(lambda X, y, other: other, 1, 2, 7) == 7
    assert call_with_seed(lambda X, y, *, seed=0: seed, 1, 2, 7) == 7
    assert call_with_seed(lambda X, y, alpha=0.5: alpha, 1, 2, 7) == 0.5
    assert call_with_seed(max, 1, 2, 7) == 2  # no signature


def test_finder_is_not_called_for_a_bag_without_rows():
    model = BaggedFindings(Finder(lambda X, y: len(X)), scheme=BernoulliSubbagging(0.1), n_bags=30, random_state=0)
    sizes = model.fit(X[:8], Y[:8], groups=list("aabbccdd")).bags_.sizes
    assert 0 in sizes
    assert model.found == [2 * size or None for size in sizes.tolist()]


def test_error_in_a_finder_names_the_bag():
    def fails(X, y):
        if 3 in X:
            raise KeyError("three")

    model = BaggedFindings(Finder(fails), n_bags=6, random_state=0)
    with pytest.raises(RuntimeError, match=r"Finder failed to fit on bag \d \(10 rows\): KeyError: 'three'"):
        model.fit(X, Y)


def test_finder_without_targets_gets_none_as_y():
    bagging = BaggedRegressor(scheme=Subbagging(2), n_bags="all")
    model = find_in_bags(Finder(lambda X, y: y, has_targets=False), X[:3], None, "test", bagging=bagging)
    assert model.found == [None] * 3
    with pytest.raises(TypeError, match="function of X and y"):
        find_in_bags(Finder("no function"), X, Y, "test", bagging=bagging)


def test_finder_reports_progress_and_cannot_predict():
    told = []
    with on_progress(lambda done, total: told.append((done, total))):
        found()
    assert told == [(done, 8) for done in range(9)]
    with pytest.raises(TypeError, match="cannot predict"):
        Finder(draws).predict(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bagging": BaggedClassifier(n_bags=0)}, "The 'n_bags' parameter of BaggedClassifier must be"),
        ({"groups": [1, 2]}, "The 'groups' parameter of select_model must be"),
        ({"bagging": BaggedRegressor(scheme=StratifiedSubbagging(0.5))}, "select_model needs the stratum of each row"),
        (
            {"bagging": BaggedRegressor(max_features=1)},
            "'max_features' parameter of BaggedRegressor must be 1.0 in sel",
        ),
        ({"bagging": Subbagging(2)}, "The 'bagging' parameter of select_model must be a BaggedRegressor"),
    ],
)
def test_errors_name_the_bagged_model_or_the_function_that_was_called(options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        find_in_bags(Finder(draws), X, Y, "select_model", **options)


def test_finder_uses_the_bags_of_the_given_model():
    options = {"scheme": BernoulliSubbagging(0.3), "n_bags": 6, "random_state": 5}
    model = find_in_bags(
        Finder(draws), X, Y, "select_model", bagging=BaggedClassifier(DecisionTreeClassifier(), **options)
    )
    same = BaggedClassifier(**options).fit(X, Y)
    assert [rows for rows, _, _ in model.found] == [sorted(X[bag, 0].tolist()) for bag in same.bags_]
