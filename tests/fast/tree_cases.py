"""Random tables, bags and parameters on which solved trees are compared with scikit-learn's, byte for byte.

``python tests/fast/tree_cases.py 20000`` runs as many cases, with a second number as the first seed and a
third argument as the compiled library to use. The tests run a share of them; STABLEBAG_TREE_CASES says how many.
"""

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag.fast.native import library as loading
from stablebag.fast.trees import Trees
from stablebag.models.solving import FitJob, same_model
from stablebag.resampling import Bags


class Case(NamedTuple):
    learner: Any
    X: np.ndarray
    y: np.ndarray
    rows: np.ndarray
    seed: int

    def job(self, **more: Any) -> FitJob:
        classes = np.unique(self.y) if isinstance(self.learner, DecisionTreeClassifier) else None
        bags = Bags([self.rows], len(self.y))
        return FitJob(self.learner, self.X, self.y, bags, np.array([self.seed]), classes=classes, **more)

    def solved(self) -> Any:
        solver = Trees(self.job())
        return solver.structure.estimator(solver.fit(self.rows, self.seed), self.seed)

    def by_scikit_learn(self) -> Any:
        learner = clone(self.learner)
        if learner.random_state is None:
            learner.set_params(random_state=self.seed)
        return learner.fit(self.X[self.rows], self.y[self.rows])

    def is_same(self) -> bool:
        return same_model(self.solved(), self.by_scikit_learn())


def case(number: int) -> Case:
    """Return a case; the same number gives the same one."""
    rng = np.random.default_rng([number, 2026])
    n, d = sizes(rng)
    X = np.column_stack([column(rng, n) for _ in range(d)])
    if d > 1 and rng.random() < 0.3:  # the same splits again, perhaps from the other side: equally good up to rounding
        X[:, rng.permutation(d)[: d // 2]] = rng.choice([1, -1]) * X[:, rng.permutation(d)[: d // 2]]
    if rng.random() < 0.1:
        X = X[rng.integers(n, size=n)]  # rows that repeat with other targets
    classifies = rng.random() < 0.4
    y = labels(rng, X) if classifies else targets(rng, X)
    X = X.astype(rng.choice([np.float64, np.float32])) if rng.random() < 0.9 else np.clip(X, -1e6, 1e6).astype(int)
    rows = bag(rng, n)
    if classifies and (y[rows] == y[rows[0]]).all():
        return case(number + 10**9)
    learner = (DecisionTreeClassifier if classifies else DecisionTreeRegressor)(**parameters(rng, d, classifies))
    return Case(learner, X, y, rows, int(rng.integers(2**32 - 1)))


def sizes(rng: np.random.Generator) -> tuple[int, int]:
    """Mostly small tables, some with many rows or columns."""
    n = int(rng.choice([rng.integers(2, 12), rng.integers(12, 80), rng.integers(80, 400), rng.integers(400, 1500)],
                       p=[0.25, 0.4, 0.3, 0.05]))  # fmt: skip
    most = 6 if n > 400 else 60
    d = int(rng.choice([1, rng.integers(1, 6), rng.integers(1, most + 1)], p=[0.1, 0.6, 0.3]))
    return n, d


def column(rng: np.random.Generator, n: int) -> np.ndarray:
    """A feature: continuous, tied, nearly constant, constant, or of extreme size."""
    kind = rng.integers(12)
    x = rng.normal(size=n)
    made: np.ndarray = [
        lambda: x,
        lambda: rng.random(n),
        lambda: np.round(x, 1),
        lambda: rng.integers(rng.integers(1, 12), size=n, endpoint=True).astype(float),
        lambda: np.full(n, rng.choice([0.0, -0.0, 1.5, 1e30])),
        lambda: 0.5 + rng.integers(0, 20, size=n) * 2.0**-24,  # steps of 6e-8
        lambda: rng.choice([0.0, 3e-8, 9e-8, 1e-7, 1.1e-7, 2e-7, 1.0], size=n),
        lambda: rng.choice([0.0, -0.0, 1e-40, -1e-40, 1e-45, 1e-7], size=n),
        lambda: x * 10.0 ** rng.uniform(-44, 37),
        lambda: np.where(rng.random(n) < 0.9, 0.0, x),
        lambda: np.sort(x) if rng.random() < 0.5 else np.sort(np.round(x, 1))[::-1],
        lambda: np.where(rng.random(n) < 0.5, x, 1 + x * 1e-8),
    ][kind]()
    return np.clip(made, -3e38, 3e38)


def targets(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Numbers whose sums are rounded, or exact."""
    n, noise = len(X), rng.normal(size=len(X))
    kinds = [
        lambda: noise,
        lambda: np.clip(X[:, 0], -10, 10) + 0.1 * noise,
        lambda: np.round(noise, 1),
        lambda: rng.integers(0, 5, size=n).astype(float),
        lambda: noise * 10.0 ** rng.uniform(-12, 12),
        lambda: 1e6 + noise,
        lambda: np.where(rng.random(n) < 0.8, 0.0, noise),
        lambda: np.full(n, rng.choice([0.0, -0.0, 0.1])),
        lambda: rng.integers(-8, 8, size=n) / 8 * 2.0 ** rng.integers(-30, 30),
        lambda: np.sin(np.clip(X[:, -1], -50, 50)),
    ]
    return kinds[rng.integers(len(kinds))]()


def labels(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Two to five classes, noisy or following a feature."""
    k = int(rng.integers(2, 6))
    codes = rng.integers(k, size=len(X)) if rng.random() < 0.6 else np.argsort(np.argsort(X[:, 0])) * k // len(X)
    if rng.random() < 0.3:
        codes = np.where(rng.random(len(X)) < 0.2, rng.integers(k, size=len(X)), codes)
    return (codes, codes * 3 - 1, np.array(list("zyxwv"))[codes], codes / 1)[rng.choice(4)]


def bag(rng: np.random.Generator, n: int) -> np.ndarray:
    """Rows of a bag: half of them, with repeats, all, or a few."""
    kind = rng.integers(5)
    if kind == 0:
        return rng.permutation(n)[: max(1, n // 2)]
    if kind == 1:
        return rng.integers(n, size=n)
    if kind == 2:
        return np.arange(n)
    if kind == 3:
        return np.sort(rng.integers(n, size=max(1, rng.integers(1, 2 * n))))
    return rng.integers(max(1, n // 8), size=n)  # the same rows again and again


def parameters(rng: np.random.Generator, d: int, classifies: bool) -> dict[str, Any]:
    """Some parameters that are not the defaults."""

    def one_of(*values: Any) -> Any:
        return values[rng.integers(len(values))]

    found: dict[str, Any] = {}
    if classifies:
        found["criterion"] = one_of("gini", "gini", "entropy", "log_loss")
    if rng.random() < 0.3:
        found["max_depth"] = one_of(1, 2, 3, 5, 8, 30)
    if rng.random() < 0.4:
        found["max_features"] = one_of(1, 2, max(1, d // 2), d, d + 3, 0.3, 0.5, 1.0, "sqrt", "log2")
    if rng.random() < 0.25:
        found["min_samples_leaf"] = one_of(1, 2, 3, 5, 20, 0.01, 0.05, 0.2, 0.45)
    if rng.random() < 0.2:
        found["min_samples_split"] = one_of(2, 3, 5, 10, 40, 0.01, 0.1, 0.5, 1.0)
    if rng.random() < 0.15:
        found["min_weight_fraction_leaf"] = one_of(0.0, 0.01, 0.1, 0.3, 0.5)
    if rng.random() < 0.15:
        found["min_impurity_decrease"] = one_of(1e-12, 1e-4, 0.01, 0.1)
    if rng.random() < 0.3:
        found["random_state"] = one_of(0, 1, 7, 2**31, 2**32 - 1)
    return found


def main(count: int, first: int = 0, path: str = "") -> int:
    """Compare some cases and print the numbers of those that differ; return how many."""
    if path:
        loading.PATH = Path(path)
    different = [number for number in range(first, first + count) if not case(number).is_same()]
    print(f"{count:,} cases from number {first}: {len(different)} differ", different[:20])
    return len(different)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(bool(main(*map(int, arguments[:2]), *arguments[2:])))
