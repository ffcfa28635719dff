"""Print the memory that trees take: `python benchmarks/memory.py auto`, or `scikit-learn` instead of `auto`.

It runs in a separate process, because the peak of a process includes everything that ran in it before. The numbers are
bytes: the peak of the resident size above that before the fit, after the fit and after a prediction at 1,000 points;
the stored arrays; and the pickled models.
"""

import json
import pickle
import sys
from pathlib import Path

import numpy as np

from stablebag import BaggedRegressor

N_TREES, N, D = 60, 20_000, 20
WHAT = f"{N_TREES} full trees, n = {N:,}, d = {D}"


def resident(name):
    """Return VmRSS, the resident size, or VmHWM, its maximum so far, in bytes; Linux reports kB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line.split()[1] for line in lines if line.startswith(name)))


def kept(models):
    """The bytes of the models' arrays, as stored by a solver or by scikit-learn's trees."""
    if models.n_arrays:
        return sum(part.nbytes for tree in models.stored for part in tree if isinstance(part, np.ndarray))
    states = (model.tree_.__getstate__() for model in models)
    return sum(state["nodes"].nbytes + state["values"].nbytes for state in states)


def main(solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    y = X[:, 0] * X[:, 1] + rng.normal(size=N)
    model = BaggedRegressor(n_bags=N_TREES, keep_rows=False, solver=solver, random_state=0)
    model.fit(X[:100], y[:100]).predict(X[:100])  # imports
    before = resident("VmRSS")
    model.fit(X, y)
    found = {"fit": resident("VmHWM") - before}
    model.predict(X[:1000])
    found["fit and predict"] = resident("VmHWM") - before
    print(json.dumps({**found, "kept": kept(model.estimators_), "pickled": len(pickle.dumps(model.estimators_))}))


if __name__ == "__main__":
    main(*sys.argv[1:])
