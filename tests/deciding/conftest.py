import numpy as np
import pytest


@pytest.fixture(scope="session")
def data():
    rng = np.random.default_rng(7)
    table = rng.normal(size=(150, 5))
    return table, table[:, 0] + rng.normal(size=150)
