import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from stablebag.models.solving import same_model

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(40, 3)), RNG.normal(size=40)
LEARNERS = [
    (DecisionTreeRegressor(random_state=0), Y),
    (Ridge(), Y),
    (LogisticRegression(), Y > 0),
    (make_pipeline(StandardScaler(), Ridge()), Y),
]


@pytest.mark.parametrize(("learner", "y"), LEARNERS, ids=lambda part: type(part).__name__)
def test_two_fits_to_the_same_rows_are_the_same(learner, y):
    from sklearn.base import clone

    assert same_model(clone(learner).fit(X, y), clone(learner).fit(X, y))


@pytest.mark.parametrize(("learner", "y"), LEARNERS, ids=lambda part: type(part).__name__)
def test_one_row_less_is_noticed(learner, y):
    from sklearn.base import clone

    assert not same_model(clone(learner).fit(X, y), clone(learner).fit(X[1:], y[1:]))


def test_the_last_bit_counts():
    one, other = Ridge().fit(X, Y), Ridge().fit(X, Y)
    other.coef_ = np.nextafter(other.coef_, np.inf)
    assert not same_model(one, other)


def test_the_sign_of_zero_counts_and_nan_is_itself():
    assert not same_model(np.array([0.0]), np.array([-0.0]))
    assert same_model(np.array([np.nan]), np.array([np.nan]))
    assert same_model(np.nan, np.nan)
    assert not same_model(0.0, -0.0)
    assert not same_model(np.float64(0.0), np.float64(-0.0))
    assert not same_model(np.array([None, 0.0]), np.array([None, -0.0]))
    assert same_model(np.array([None, np.nan, "a"]), np.array([None, float("nan"), "a"]))


@pytest.mark.parametrize(
    ("one", "other"),
    [(1, 1.0), (1, True), (np.float64(1), 1.0), ([1], (1,)), ({"a": 1}, {"b": 1}), (np.ones(2), np.ones(3)), (len, max),
     (np.ones(2), np.ones(2, dtype=np.float32)), ([1], [1, 2]), (slice(0, 1), slice(0, 2))],
)  # fmt: skip
def test_other_types_and_shapes_are_other(one, other):
    assert not same_model(one, other)


def test_a_missing_attribute_is_noticed():
    one, other = Ridge().fit(X, Y), Ridge().fit(X, Y)
    del other.n_features_in_
    assert not same_model(one, other)


def test_trees_for_searching_are_looked_into():
    from sklearn.neighbors import KNeighborsRegressor

    one, other = (KNeighborsRegressor(algorithm="kd_tree").fit(rows, Y) for rows in (X, X + 1))
    assert same_model(one._tree, KNeighborsRegressor(algorithm="kd_tree").fit(X, Y)._tree)
    assert not same_model(one._tree, other._tree)
