"""Random tables of numbers, categories, dates and texts, on which trees behind a reader are compared with those solved.

``python tests/fast/reader_cases.py 1000`` runs as many cases, with a second number as the first seed.
"""

import sys
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from fast.tree_cases import bag, parameters
from stablebag.fast.reader import TreePipelines
from stablebag.models.rows import Points
from stablebag.models.solving import FitJob, General, same_model
from stablebag.resampling import Bags
from stablebag.tables.columns import KINDS, Columns, Kind

WORDS = np.array(["a", "an", "the", "of", "sun", "moon", "12", "x1", "été", "日本", "-", "!", "long-ish", "Straße"])


class Case(NamedTuple):
    learner: Any
    X: Any
    y: np.ndarray
    rows: np.ndarray
    points: Any
    seed: int

    def job(self, **more: Any) -> FitJob:
        classes = np.unique(self.y) if isinstance(self.learner[-1], DecisionTreeClassifier) else None
        bags = Bags([self.rows], len(self.y))
        return FitJob(self.learner, self.X, self.y, bags, np.array([self.seed]), classes=classes, **more)

    def is_same(self) -> bool:
        """Whether model and predictions have the bits of scikit-learn's own pipeline."""
        job = self.job()
        solver = TreePipelines(job)
        model = solver.fit(self.rows, self.seed)
        try:
            theirs = General(job).fit(self.rows, self.seed)
        except ValueError:  # scaled numbers are too large for floats, and the tree says so
            return model is None
        if model is None or not same_model(solver.structure.estimator(model, self.seed), theirs):
            return False
        said = solver.structure.predictor(Points(self.points))([model])[0]
        try:
            expected = asked(theirs, self.points, job.classes)
        except ValueError:  # far outside of the bag, a point has no place among floats, and the estimator says so
            return bool(np.isnan(said).all())
        return said.tobytes() == expected.tobytes()


def asked(model: Any, points: Any, classes: np.ndarray | None) -> np.ndarray:
    """Return what a model predicts: numbers, or the probabilities of all classes."""
    if classes is None:
        return np.asarray(model.predict(points))
    found = np.zeros((len(points), len(classes)))
    found[:, np.isin(classes, model.classes_)] = model.predict_proba(points)
    return found


def case(number: int) -> Case:
    """Return a case; the same number gives the same one."""
    rng = np.random.default_rng([number, 1789])
    n = int(rng.choice([rng.integers(2, 12), rng.integers(12, 80), rng.integers(80, 400)], p=[0.3, 0.4, 0.3]))
    kinds = {f"c{place}": str(rng.choice(KINDS, p=[0.4, 0.4, 0.1, 0.1])) for place in range(rng.integers(1, 9))}
    frame = pd.DataFrame({name: column(rng, kind, n + 20) for name, kind in kinds.items()})
    columns = Columns({name: Kind(kind) for name, kind in kinds.items()})
    X, points, rows = frame[:n], frame[rng.integers(0, n) :].sample(frac=1, random_state=number), bag(rng, n)
    classifies = rng.random() < 0.4
    y = np.array(list("zyxw"))[rng.integers(4, size=n)] if classifies else np.round(rng.normal(size=n), rng.integers(5))
    if classifies and (y[rows] == y[rows[0]]).all():
        return case(number + 10**9)
    tree = (DecisionTreeClassifier if classifies else DecisionTreeRegressor)(**parameters(rng, 9, classifies))
    return Case(columns.pipeline(tree), X, y, rows, points, int(rng.integers(2**31 - 1)))


def column(rng: np.random.Generator, kind: str, n: int) -> Any:
    """Values of a column, some of which may be missing, all alike, or in no row but one."""
    missing = rng.random(n) < rng.choice([0, 0, 0.02, 0.3, 0.95, 1])
    if kind == "date":
        days = pd.to_datetime("1999-12-01") + pd.to_timedelta(
            rng.integers(0, rng.choice([2, 900, 9**7]), n), unit="min"
        )
        return pd.Series(days).where(~missing)
    if kind == "text":
        texts = [" ".join(rng.choice(WORDS, rng.integers(9))) for _ in range(n)]
        return pd.Series(texts, dtype=object).where(~missing, None)
    if kind == "category":
        names = [f"{rng.choice(WORDS)}{code}" for code in range(rng.choice([1, 2, 12, 49, 50, 51, 400]))]
        names = ["True", "False", "missing", "nan", "a\0", ""] if rng.random() < 0.2 else names
        chosen = np.array(names, dtype=object)[np.minimum(rng.geometric(rng.choice([0.02, 0.3]), n), len(names)) - 1]
        return pd.Series(chosen, dtype=object).where(~missing, None)
    x = rng.normal(size=n)
    values = [
        lambda: x,
        lambda: np.round(x, 1),
        lambda: np.full(n, rng.choice([0.0, -0.0, 1.1, 1e30])),
        lambda: 1e6 + x * rng.choice([1.0, 1e-9]),
        lambda: np.where(rng.random(n) < 0.9, -0.0, x),
        lambda: x * 10.0 ** rng.uniform(-150, 100),
        lambda: rng.integers(0, 9, n),
        lambda: rng.integers(-(2**62), 2**62, n),
        lambda: rng.integers(0, 2**8, n).astype(rng.choice([np.uint8, np.int16, np.int32])),
    ][rng.integers(9)]()
    return (
        pd.Series(values).where(~missing, np.nan) if missing.any() and values.dtype.kind == "f" else pd.Series(values)
    )


def main(count: int, first: int = 0) -> int:
    """Compare some cases and print the numbers of those that differ; return how many."""
    different = [number for number in range(first, first + count) if not case(number).is_same()]
    print(f"{count:,} cases from number {first}: {len(different)} differ", different[:20])
    return len(different)


if __name__ == "__main__":
    sys.exit(bool(main(*map(int, sys.argv[1:]))))
