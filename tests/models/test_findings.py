import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    StratifiedSubbagging,
    Subbagging,
    on_progress,
)
from stablebag.models.functions import BaggedFindings, Finder, call_with_seed, find_in_bags

X, Y = np.arange(20.0)[:, None], np.array(list("ab" * 10))


def draws(X, y, seed):
    return sorted(X.ravel().tolist()), seed, float(np.random.random())  # noqa: NPY002 (what users do)


def found(**parameters):
    return BaggedFindings(Finder(draws), n_bags=8, random_state=3, **parameters).fit(X, Y).found


def test_the_function_gets_the_rows_of_each_bag_and_a_seed():
    model = BaggedFindings(Finder(draws), n_bags=8, random_state=3).fit(X, Y)
    assert [rows for rows, _, _ in model.found] == [sorted(X[bag, 0].tolist()) for bag in model.bags_]
    assert len({seed for _, seed, _ in model.found}) == 8


def test_what_is_found_is_the_same_for_any_number_of_jobs():
    assert found() == found(n_jobs=2)


def test_a_seed_is_passed_only_to_those_who_ask_for_it():
    assert call_with_seed(lambda X, y: "none", 1, 2, 7) == "none"
    assert call_with_seed(lambda X, y, other: other, 1, 2, 7) == 7
    assert call_with_seed(lambda X, y, *, seed=0: seed, 1, 2, 7) == 7
    assert call_with_seed(lambda X, y, alpha=0.5: alpha, 1, 2, 7) == 0.5
    assert call_with_seed(max, 1, 2, 7) == 2  # no signature


def test_a_bag_without_rows_does_not_reach_the_function():
    model = BaggedFindings(Finder(lambda X, y: len(X)), scheme=BernoulliSubbagging(0.1), n_bags=30, random_state=0)
    sizes = model.fit(X[:8], Y[:8], groups=list("aabbccdd")).bags_.sizes
    assert 0 in sizes
    assert model.found == [2 * size or None for size in sizes.tolist()]


def test_a_function_that_fails_says_in_which_bag():
    def fails(X, y):
        if 3 in X:
            raise KeyError("three")

    model = BaggedFindings(Finder(fails), n_bags=6, random_state=0)
    with pytest.raises(RuntimeError, match=r"Finder failed to fit on bag \d \(10 rows\): KeyError: 'three'"):
        model.fit(X, Y)


def test_without_targets_the_function_gets_none():
    bagging = BaggedRegressor(scheme=Subbagging(2), n_bags="all")
    model = find_in_bags(Finder(lambda X, y: y, has_targets=False), X[:3], None, "test", bagging=bagging)
    assert model.found == [None] * 3
    with pytest.raises(TypeError, match="function of X and y"):
        find_in_bags(Finder("no function"), X, Y, "test", bagging=bagging)


def test_progress_is_told_and_nothing_is_predicted():
    told = []
    with on_progress(lambda done, total: told.append((done, total))):
        found()
    assert told == [(done, 8) for done in range(9)]
    with pytest.raises(TypeError, match="predicts nothing"):
        Finder(draws).predict(X)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bagging": BaggedClassifier(n_bags=0)}, "The 'n_bags' parameter of BaggedClassifier must be"),
        ({"groups": [1, 2]}, "The 'groups' parameter of select_model must be"),
        ({"bagging": BaggedRegressor(scheme=StratifiedSubbagging(0.5))}, "stratified by given labels in select_model"),
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


def test_bags_are_those_of_the_bagged_model_that_is_passed():
    options = {"scheme": BernoulliSubbagging(0.3), "n_bags": 6, "random_state": 5}
    model = find_in_bags(
        Finder(draws), X, Y, "select_model", bagging=BaggedClassifier(DecisionTreeClassifier(), **options)
    )
    same = BaggedClassifier(**options).fit(X, Y)
    assert [rows for rows, _, _ in model.found] == [sorted(X[bag, 0].tolist()) for bag in same.bags_]
