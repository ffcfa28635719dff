import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from stablebag.deciding.ranking import Importances


def test_importances_come_before_coefficients_and_those_are_sizes(data):
    X, y = data
    tree = DecisionTreeRegressor(random_state=0)
    assert (Importances(tree)(X, y, 1) == tree.fit(X, y).feature_importances_).all()
    assert Importances(LinearRegression())(X, -y, 0) == pytest.approx(np.abs(LinearRegression().fit(X, y).coef_))
    assert Importances(LogisticRegression())(X, y > 0, 0).shape == (5,)  # of shape (1, 5) there


def test_the_last_step_of_a_pipeline_is_asked(data):
    assert Importances(make_pipeline(StandardScaler(), LinearRegression()))(*data, 0).shape == (5,)


def test_the_seed_is_that_of_the_bag(data):
    scores = [Importances(ExtraTreeRegressor(max_depth=2))(*data, seed).tolist() for seed in (1, 1, 2)]
    assert scores[0] == scores[1] != scores[2]


def test_learners_without_scores_of_features_are_refused(data):
    X, y = data
    with pytest.raises(TypeError, match="neither feature_importances_ nor coef_"):
        Importances(KNeighborsRegressor())(X, y, 0)
    with pytest.raises(TypeError, match="coefficients for 3 outputs"):
        Importances(LogisticRegression())(X, np.digitize(y, [-0.5, 0.5]), 0)
