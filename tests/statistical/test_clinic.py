"""What docs/units.md says of patients and rows holds on the smaller clinic of the quick mode of its example.

The seeds are those of the example, so nothing here is left to chance: a claim fails only where the library gives other
numbers.
"""

import importlib.util
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "clinic.py"


@pytest.fixture(scope="module")
def clinic():
    spec = importlib.util.spec_from_file_location("clinic", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_least_squares_looks_stable_without_a_row_and_bagging_patients_repairs_it(clinic):
    """With ten other seeds (1 to 10), the three ratios were at least 10.4, 3.4 and 2.1, and the bound held."""
    moved, proved = clinic.measure(clinic.LEARNERS["least squares"], clinic.QUICK)
    mean = {name: one.mean("mean") for name, one in moved.items()}
    assert mean["not bagged, a patient"] > 5 * mean["not bagged, a row"]
    assert mean["not bagged, a patient"] > 2 * mean["bagged by patients, a patient"]
    assert mean["bagged by rows, a patient"] > 1.5 * mean["bagged by patients, a patient"]
    bound = proved["patients"].epsilon(clinic.DELTA)
    assert (moved["bagged by patients, a patient"].epsilon(clinic.DELTA) < bound).all()


@pytest.mark.parametrize("name", ["least squares", "deep tree"])
def test_only_bags_of_patients_cover_new_patients_and_know_their_error(clinic, name):
    """Margins are at least four standard errors over the ten data sets."""
    outcome = clinic.simulate(clinic.LEARNERS[name], clinic.QUICK)
    (rows, _), (patients, _) = outcome["rows"], outcome["patients"]
    assert rows[0] < 0.6
    assert patients[0] > 0.8
    assert rows[2] < 0.5 * rows[3]
    assert 0.7 < patients[2] / patients[3] < 1.3
