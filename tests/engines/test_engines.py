"""Bags fitted by dask, ray and Spark, really started: the same bits, and only the rows that a batch needs travel."""

import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from joblib._parallel_backends import ThreadingBackend
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, Subbagging, leave_one_out_error

pytestmark = pytest.mark.slow

NEEDS = {"dask": ("distributed",), "ray": ("ray",), "spark": ("pyspark", "joblibspark")}
REQUIRED = os.environ.get("STABLEBAG_ENGINES", "").split(",")


def missing(engine):
    """Why an engine cannot be started here; "" if it can."""
    for module in NEEDS[engine]:
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed"
    return "Spark needs Java" if engine == "spark" and shutil.which("java") is None else ""


@pytest.mark.parametrize("engine", NEEDS)
def test_engines_give_the_same_bits(engine, tmp_path):
    if REQUIRED != [""] and engine not in REQUIRED:
        pytest.skip(f"Only {' and '.join(REQUIRED)} was asked for.")
    if reason := missing(engine):
        assert engine not in REQUIRED, reason
        pytest.skip(f"{reason}: nothing is fitted on {engine}.")
    settings = {"HOME": str(tmp_path), "PYSPARK_PYTHON": sys.executable, "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
    command = [sys.executable, str(Path(__file__).with_name("run_on.py")), engine]
    done = subprocess.run(command, env=os.environ | settings, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    same = json.loads(done.stdout.strip().splitlines()[-1])
    assert len(same) == (11 if engine == "dask" else 10)  # of dask, how a death is told, too
    assert all(same.values()), same


class AnotherMachine(ThreadingBackend):
    """A backend that is not joblib's own, and notes what would travel to it."""

    travelled: list[int] = []  # noqa: RUF012 (cleared by the test)

    def submit(self, func, callback=None):
        self.travelled.append(len(pickle.dumps(func)))
        return super().submit(func, callback)


@pytest.mark.parametrize("weighted", [False, True])
def test_batch_for_another_machine_has_only_the_rows_of_its_bags(weighted):
    joblib.register_parallel_backend("another machine", AnotherMachine)
    AnotherMachine.travelled.clear()
    X = np.random.default_rng(0).normal(size=(20_000, 20))  # 3.2 MB
    weights = {"sample_weight": np.linspace(1, 2, len(X))} if weighted else {}
    settings = {"scheme": Subbagging(50), "n_bags": 10, "random_state": 0}
    here = BaggedRegressor(SVR(), **settings).fit(X, X[:, 0], **weights)
    with joblib.parallel_config(backend="another machine"):
        there = BaggedRegressor(SVR(), **settings, n_jobs=2).fit(X, X[:, 0], **weights)
    np.testing.assert_array_equal(there.predict(X[:9]), here.predict(X[:9]))
    assert 1 <= len(AnotherMachine.travelled) <= 10
    # A row takes 20 numbers, a target, a weight and its place in the bag; a job without rows takes a few kilobytes.
    assert sum(AnotherMachine.travelled) < 10 * (50 * 8 * 23 + 20_000)


@pytest.mark.parametrize("learner", [KNeighborsRegressor(1), DecisionTreeRegressor(), Ridge(), SVR()], ids=str)
def test_models_from_another_machine_are_the_same(learner):
    joblib.register_parallel_backend("another machine", AnotherMachine)
    X = np.random.default_rng(0).normal(size=(200, 2))
    settings = {"scheme": Subbagging(5), "n_bags": 20, "random_state": 0}
    here = BaggedRegressor(learner, **settings).fit(X, X[:, 0])
    with joblib.parallel_config(backend="another machine"):
        there = BaggedRegressor(learner, **settings, n_jobs=2).fit(X, X[:, 0])
    np.testing.assert_array_equal(there.predict(X), here.predict(X))
    assert str(leave_one_out_error(there)) == str(leave_one_out_error(here))
