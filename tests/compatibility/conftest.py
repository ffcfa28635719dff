import numpy as np
import pytest


@pytest.fixture
def needs():
    """A module that may not be installed; the test is skipped then, with a sentence."""
    return lambda module, name: pytest.importorskip(module, reason=f"{name} is not installed: pip install {name}")


@pytest.fixture
def regression():
    """Thirty rows, three features, and a target that two of them tell."""
    X = np.random.default_rng(0).normal(size=(30, 3))
    return X, 2 * X[:, 0] - X[:, 1] + 0.1 * np.random.default_rng(1).normal(size=30)


@pytest.fixture
def classification(regression):
    """The same rows with two classes of unequal size."""
    X, y = regression
    return X, np.where(y > np.quantile(y, 0.6), "high", "low")


@pytest.fixture
def claims(regression):
    """A frame with a number, a text and a date, as tables are."""
    pd = pytest.importorskip("pandas", reason="pandas is not installed: pip install 'stablebag[cli]'")
    X, y = regression
    frame = pd.DataFrame({"amount": X[:, 0], "ward": np.resize(["north", "south", "west"], 30)})
    frame["day"] = pd.date_range("2024-01-01", periods=30)
    return frame, y
