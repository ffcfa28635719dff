import copy
import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, Subbagging, select_model
from stablebag.deciding import search_winner
from stablebag.deciding.selection import _hashable, key_of


def test_the_choice_is_the_searchs_own_and_gives_its_parameters_back(data):
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1000.0], "fit_intercept": [True, False]})
    choice = search_winner(search)(*data, seed=0)
    assert dict(choice) == search.fit(*data).best_params_
    assert hash(choice) == hash(search_winner(search)(*data, seed=1))


def test_values_that_are_not_hashable_become_so(data):
    pipeline = make_pipeline(StandardScaler(), Ridge())
    grid = {"standardscaler": [StandardScaler(), MinMaxScaler(feature_range=(0, 2))], "ridge__alpha": np.array([0.1])}
    choice = search_winner(GridSearchCV(pipeline, grid))(*data, seed=0)
    assert choice[0] == ("ridge__alpha", 0.1)
    assert choice[1][1] in ("StandardScaler()", "MinMaxScaler(feature_range=(0, 2))")


def test_seeds_within_a_search_come_from_the_bag(data):
    folds = KFold(3, shuffle=True)
    search = RandomizedSearchCV(DecisionTreeRegressor(), {"max_depth": range(1, 9)}, n_iter=3, cv=folds)
    winner = search_winner(search)
    assert winner(*data, seed=5) == winner(*data, seed=5)
    assert len({winner(*data, seed=seed) for seed in range(8)}) > 1
    assert search.random_state is None
    assert folds.random_state is None


def test_bags_vote_on_the_winner_the_same_for_any_number_of_jobs(data):
    winner = search_winner(GridSearchCV(Ridge(), {"alpha": [1.0, 10.0, 100.0]}, cv=3))
    bagging = BaggedRegressor(scheme=Subbagging(0.3), n_bags=20, random_state=0)
    one, two = (select_model(winner, *data, bagging=bagging.set_params(n_jobs=jobs)) for jobs in (1, 2))
    assert one.choices == two.choices
    assert (one.shares == two.shares).all()
    assert "alpha=" in one.explain()


@pytest.mark.parametrize("values", [[np.nan], [KFold(2)], [partial(max, 1)]], ids=str)
def test_values_that_are_other_objects_in_every_bag_are_one_choice(values):
    keys = {key_of(_hashable(pickle.loads(pickle.dumps(value))), "search", "search_winner") for value in values * 3}
    assert len(keys) == 1
    assert _hashable(KFold(2)) != _hashable(KFold(3))


def test_values_of_other_types_are_other_models():
    """A tree that looks at 1 feature in a split, and one that looks at all of them (1.0)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    y = X.sum(axis=1)
    search = GridSearchCV(DecisionTreeRegressor(random_state=0), {"max_features": [1, 1.0]}, cv=2)
    found = select_model(
        search_winner(search), X, y, bagging=BaggedRegressor(scheme=Subbagging(0.5), n_bags=12, random_state=0)
    )
    values = [dict(choice)["max_features"] for choice in found.choices]
    assert sorted(map(repr, values)) == ["1", "1.0"]


def test_a_missing_number_is_not_the_text_that_names_it():
    assert key_of(_hashable(np.nan), "a", "b") != key_of(_hashable("nan"), "a", "b")


def test_estimators_that_look_alike_when_shortened_are_two_choices():
    long = [make_pipeline(*[MinMaxScaler((0, k + n)) for k in range(1, 40)]) for n in (0, 1)]
    assert "..." in repr(long[0])
    assert _hashable(long[0]) != _hashable(long[1])
    assert _hashable(long[0]) == _hashable(copy.deepcopy(long[0]))


def test_what_has_no_best_parameters_is_refused():
    with pytest.raises(TypeError, match="an unfitted search"):
        search_winner(GridSearchCV)
    several = GridSearchCV(Ridge(), {"alpha": [1.0]}, scoring=["r2", "max_error"], refit=False)
    with pytest.raises(ValueError, match="which one decides"):
        search_winner(several)
    with pytest.raises(TypeError, match=r"an unfitted search.*it has no best_params_ after fit"):
        search_winner(Ridge())
    with pytest.raises(TypeError, match=r"an unfitted search.*it has no best_params_ after fit"):
        select_model(
            search_winner(BaggingRegressor(n_estimators=2)),
            np.ones((9, 1)),
            np.arange(9.0),
            bagging=BaggedRegressor(n_bags=2),
        )
