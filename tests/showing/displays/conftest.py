import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from stablebag.measuring import Perturbations
from stablebag.measuring.perturbations import BagSpread

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    settings = dict(mpl.rcParams)
    yield
    plt.close("all")
    assert dict(mpl.rcParams) == settings  # no display changes them


@pytest.fixture
def measured():
    rng = np.random.default_rng(0)
    base = Perturbations(np.zeros(3), rng.normal(size=(100, 3)), np.arange(100))
    bags = BagSpread(np.ones(3), n_bags=400, n_without=np.full(100, 200))
    bagged = Perturbations(np.zeros(3), 0.1 * rng.normal(size=(100, 3)), np.arange(100), bags=bags)
    return {"base learner": base, "bagged": bagged}
