import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor
from stablebag.showing.study import study

EVIL = "<script>alert(1)</script>"
NAMES = ["ann", "bob", "eve", *(f"patient {k}" for k in range(12))]


@pytest.fixture(scope="session")
def diabetes():
    """A study of numbers with a column's name that must be escaped, and all rows."""
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X.rename(columns={"bmi": EVIL})
    options = {"n_refits": 15, "n_points": 6}
    return study(
        BaggedRegressor(DecisionTreeRegressor(max_depth=4), n_bags=60),
        X[:200],
        y[:200].to_numpy(),
        X[200:260],
        y[200:260],
        **options,
    ), X


@pytest.fixture(scope="session")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    labels = np.where(y == 1, "benign", "malignant")
    options = {"n_refits": 15, "n_points": 6}
    return study(
        BaggedClassifier(DecisionTreeClassifier(max_depth=3), n_bags=60),
        X[:200],
        labels[:200],
        X[200:260],
        labels[200:260],
        **options,
    )


@pytest.fixture(scope="session")
def visits():
    """A study of patients, with 1 to 4 visits each; of their columns, and what they are called."""
    rng = np.random.default_rng(0)
    patients = np.repeat([f"{name}{EVIL}" if name == "ann" else name for name in NAMES], rng.integers(1, 5, len(NAMES)))
    of = pd.Series(patients, name="patient_id")
    level = of.map({name: 10.0 * k for k, name in enumerate(dict.fromkeys(patients))})
    X = pd.DataFrame({"dose": rng.normal(size=len(of)), "sex": np.where(level > 60, "f", "m"), "level": level})
    y = (level + X["dose"]).to_numpy()
    options = {"n_refits": 5, "n_points": 4, "groups": of}
    numbers = X[["dose", "level"]]
    new = pd.DataFrame(rng.normal(size=(9, 2)), columns=numbers.columns, index=[f"new {k}" for k in range(9)])
    return (
        study(BaggedRegressor(DecisionTreeRegressor(max_depth=4), n_bags=60), numbers, y, new, np.zeros(9), **options),
        X,
        of,
    )
