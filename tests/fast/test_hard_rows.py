"""A solver is verified with the first bag alone, so here that bag is harmless and others are not.

Whatever the rows and the parameters are, all bags have scikit-learn's bits, or its errors and warnings.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_classifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, PoissonizedBagging, Subbagging
from stablebag.models.solving import same_model

N, N_BAGS = 24, 6
SCHEMES = [Subbagging(8), PoissonizedBagging(0.4)]
LEARNERS = [
    DecisionTreeRegressor(),
    DecisionTreeClassifier(criterion="entropy"),
    Ridge(alpha=0.0),
    Ridge(alpha=1e-3, fit_intercept=False),
    LinearRegression(),
    LogisticRegression(C=100.0),
    make_pipeline(SimpleImputer(strategy="median"), StandardScaler(), Ridge()),
    make_pipeline(StandardScaler(), LogisticRegression()),
    KNeighborsRegressor(2),
    KNeighborsRegressor(2, weights="distance", algorithm="ball_tree"),
    KNeighborsClassifier(1, algorithm="brute"),
]
HARD = {
    "missing": np.nan,
    "infinite": np.inf,
    "beyond float32": 1e39,
    "the largest float32": float(np.finfo(np.float32).max),
    "squares overflow": 1e155,
    "the largest": -1.7e308,
    "squares underflow": 1e-170,
    "below the normal floats": 1e-310,
    "rounds to a tie in float32": 1 + 1e-9,
    "a negative zero": -0.0,
}


def easy_table(bag_of):
    """A table of small whole numbers, targets and classes, and the rows that the first bag lacks."""
    rng = np.random.default_rng(7)
    X = rng.integers(0, 4, size=(N, 3)).astype(float)
    y, labels = rng.integers(0, 5, size=N).astype(float), np.arange(N) % 2
    model = bag_of(BaggedRegressor(KNeighborsRegressor(1), solver="scikit-learn"))
    lacking = np.setdiff1d(np.arange(N), model.fit(X, y).bags_[0])
    return X, y, labels, lacking


def outcome(act):
    """What comes of something, or the error; and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = act()
        except Exception as error:
            found = error
    return found, {(one.category, str(one.message)) for one in caught}


def assert_scikit_learns(learner, X, y, scheme):
    kind = BaggedClassifier if is_classifier(learner) else BaggedRegressor
    about = {"scheme": scheme, "n_bags": N_BAGS, "random_state": 0}
    if kind is BaggedRegressor:
        about["prediction_range"] = None
    models = [kind(learner, solver=solver, **about) for solver in ("auto", "scikit-learn")]
    (ours, said), (theirs, meant) = (outcome(lambda model=model: list(model.fit(X, y).estimators_)) for model in models)
    assert said == meant
    if not isinstance(theirs, Exception):
        assert [same_model(*pair) for pair in zip(ours, theirs, strict=True)] == [True] * N_BAGS
        (ours, said), (theirs, meant) = (outcome(lambda model=model: model.predict_once(X).raw) for model in models)
        assert said == meant
    if isinstance(theirs, Exception):
        assert (type(ours), str(ours)) == (type(theirs), str(theirs))
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
def test_hard_values_outside_the_first_bag_have_scikit_learns_bits(learner, scheme):
    X, y, labels, lacking = easy_table(lambda model: model.set_params(scheme=scheme, n_bags=N_BAGS, random_state=0))
    y = labels if is_classifier(learner) else y
    for value in HARD.values():
        hard = X.copy()
        hard[lacking[:3], 1] = value
        assert_scikit_learns(learner, hard, y, scheme)
        if is_classifier(learner) or not np.isfinite(value):
            continue
        targets = y.copy()
        targets[lacking[:3]] = value
        assert_scikit_learns(learner, X, targets, scheme)
    rare = np.where(np.isin(np.arange(N), lacking[:2]), 7, y)  # a class, or a target, that the first bag lacks
    assert_scikit_learns(learner, pd.DataFrame(X, columns=list("abc")), rare, scheme)


EDGES = {
    "max_depth": [1, 2**31 - 1, 2**40, np.int64(2)],
    "min_samples_split": [N, N + 5, 2**40, 1e-9, 1.0, np.float32(0.3)],
    "min_samples_leaf": [N // 2, N + 1, 2**40, 1e-9, 0.5, 0.99, 1 / 3, np.float32(0.3)],
    "min_weight_fraction_leaf": [0.5, 1 / 3, 1e-300, 0, np.float32(0.1)],
    "max_features": [3, 4, 1e-9, 1 / 3, 1.0, "sqrt", "log2", np.int64(1)],
    "min_impurity_decrease": [1e-300, 1e300, 0, 1, np.float32(0.1)],
    "ccp_alpha": [0, 1e-300, 0.05],
    "max_leaf_nodes": [2, 5, 2**40],
    "splitter": ["random"],
    "monotonic_cst": [[0, 0, 0], [1, 0, -1]],
    "random_state": [0, 2**32 - 1, True, np.int32(3)],
}
OF_REGRESSORS = {"criterion": ["squared_error", "absolute_error", "poisson"]}
OF_CLASSIFIERS = {"criterion": ["gini", "entropy", "log_loss"], "class_weight": ["balanced", {0: 2.0}, {}]}


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
@pytest.mark.parametrize("name", [*EDGES, "criterion", "class_weight"])
def test_edge_cases_of_tree_parameters_have_scikit_learns_bits(kind, name):
    more = OF_CLASSIFIERS if kind is DecisionTreeClassifier else OF_REGRESSORS
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=N), rng.integers(0, 3, N), np.where(np.arange(N) < 2, 1.0, 0.0)])
    y = np.arange(N) % 3 if kind is DecisionTreeClassifier else np.round(np.abs(rng.normal(size=N)), 1)
    for value in (EDGES | more).get(name, []):
        for scheme in SCHEMES:
            assert_scikit_learns(kind(**{name: value}), X, y, scheme)
        with_missing = np.where((np.arange(N) == 5)[:, None] & (np.arange(3) == 1), np.nan, X)
        assert_scikit_learns(kind(**{name: value}), with_missing, y, SCHEMES[0])


@pytest.mark.parametrize("kind", [DecisionTreeRegressor, DecisionTreeClassifier])
@pytest.mark.parametrize("constant", ["columns", "targets", "one row", "two rows"])
def test_tables_with_nothing_to_split_have_scikit_learns_bits(kind, constant):
    X, y = np.ones((N, 2)), np.arange(N) % 2
    if constant == "targets":
        X, y = np.arange(2.0 * N).reshape(N, 2), np.where(np.arange(N) == 3, 1, 0)
    size = {"one row": 1, "two rows": 2}.get(constant, 8)
    assert_scikit_learns(kind(), X, y, Subbagging(size))
    assert_scikit_learns(kind(max_features=1, min_samples_leaf=2), X, y, Subbagging(size))
