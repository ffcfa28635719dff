"""Random tables, bags and linear learners, and whether the solver does what scikit-learn does with them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline

from stablebag.fast.linear import Linear
from stablebag.models.rows import Points, take_rows
from stablebag.models.solving import FitJob, General, same_model

NUMBERS = ("normal", "constant", "collinear", "scales", "tiny", "whole", "negative zeros", "far from zero")
TABLES = ("by row", "by column", "read-only", "pandas", "polars", "backwards", "spread out")
LABELS = (
    np.arange(6),
    np.array(list("abcdef")),
    np.array(["xx", "b", "ccc", "d", "e", "f"], object),
    np.arange(6.0) - 2,
)


def draw_table(rng, numbers, table):
    """Draw a table of some kind, and its rows as plain numbers."""
    n, d = int(rng.choice([3, 8, 20, 60, 200])), int(rng.choice([1, 2, 3, 5, 10, 17, 40]))
    X = rng.normal(size=(n, d))
    if numbers == "constant":
        X[:, rng.integers(d)] = rng.normal()
    elif numbers == "collinear" and d > 1:
        X[:, 0] = 2 * X[:, 1]
    elif numbers == "scales":
        X *= 10.0 ** rng.integers(-12, 12, d)
    elif numbers == "tiny":
        X *= 1e-160
    elif numbers == "whole":
        X = rng.integers(-5, 6, (n, d))
    elif numbers == "negative zeros":
        X = np.where(rng.random((n, d)) < 0.8, -0.0, X)
    elif numbers == "far from zero":
        X += 1e6
    return as_table(X, table), X.astype(float)


def as_table(X, table):
    """The same numbers in another kind of table."""
    names = [f"x{j}" for j in range(X.shape[1])]
    if table == "by column":
        return np.asfortranarray(X)
    if table == "read-only":
        X = X.copy()
        X.flags.writeable = False
        return X
    if table == "pandas":
        return pd.DataFrame(X, columns=names)
    if table == "polars":
        return pl.DataFrame(X, schema=names)
    if table == "backwards":
        return np.ascontiguousarray(X[:, ::-1])[:, ::-1]
    if table == "spread out":
        wide = np.zeros((len(X), 2 * X.shape[1] + 1), X.dtype)
        wide[:, 1::2] = X
        return wide[:, 1::2]
    return X


def draw_regression(rng):
    """Draw a learner for numbers."""
    intercept = bool(rng.integers(2))
    if rng.random() < 0.6:
        alpha = float(rng.choice([0, 1e-10, 1e-3, 1, 100]))
        return Ridge(alpha=alpha, fit_intercept=intercept, solver=str(rng.choice(["auto", "cholesky"])))
    learner, tol = LinearRegression(fit_intercept=intercept), float(rng.choice([1e-6, 1e-12, 1e-2]))
    return learner.set_params(tol=tol) if "tol" in learner.get_params() else learner  # 1.6 has none


def draw_logistic(rng):
    """Draw a learner for labels."""
    return LogisticRegression(
        C=float(10.0 ** rng.integers(-3, 4)),
        fit_intercept=bool(rng.integers(2)),
        tol=float(rng.choice([1e-4, 1e-2, 1e-7])),
        max_iter=int(rng.choice([100, 100, 500, 10])),
    )


def draw_targets(rng, X, learner):
    """Draw numbers or labels for the rows."""
    score = X @ rng.normal(size=X.shape[1])
    score = score / max(score.std(), 1e-200) * (score.std() > 0) + rng.normal(size=len(X))
    if not isinstance(learner, LogisticRegression):
        return score
    n_classes = int(rng.choice([2, 2, 3, 4, 6]))
    labels = LABELS[rng.integers(len(LABELS))]
    return labels[np.searchsorted(np.quantile(score, np.arange(1, n_classes) / n_classes), score)]


def draw_points(rng, table, n_features):
    """Draw points of the kind of the table."""
    if not isinstance(table, np.ndarray):
        return take_rows(table, rng.integers(0, table.shape[0], 7))
    T, kind = int(rng.choice([1, 2, 10, 60])), rng.integers(4)
    if kind == 0:
        return rng.integers(-3, 4, (T, n_features))
    if kind == 1:
        return np.asfortranarray(rng.normal(size=(T, 2 * n_features)))[:, ::2]
    return np.asarray(rng.normal(size=(T, n_features)), order="CF"[kind - 2])


def draw_bags(rng, n, y, labels):
    """Draw bags with and without repeats; with labels, all have two classes."""
    with_repeats = [rng.integers(0, n, max(1, int(n * share))) for share in (0.2, 1)]
    bags = [*with_repeats, rng.permutation(n)[: max(1, n // 2)]]
    return [bag for bag in bags if not labels or len(set(y[bag])) > 1]


def solver_and_job(learner, X, y, bags):
    """Make a solver for a job."""
    last = learner.steps[-1][1] if isinstance(learner, Pipeline) else learner
    classes = np.unique(y) if isinstance(last, LogisticRegression) else None
    job = FitJob(learner, X, y, bags, np.arange(len(bags)), classes)
    return Linear(job), job


def theirs(job, place):
    """Return scikit-learn's model of a bag, and what it warns of."""
    general = General(job)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        model = general.fit(job.bags[place], place)
    return model, [str(warning.message) for warning in warned]


def check_bag(solver, job, place, points):
    """Check that a bag comes out to the last bit, or is handed back; return whether it was solved."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = solver.fit(job.bags[place], place)
    expected, warned = theirs(job, place)
    if model is None:
        return False
    assert not warned, f"scikit-learn warned: {warned}"
    assert same_model(solver.structure.estimator(model, place), expected)
    predict = solver.structure.predictor(Points(points))
    if predict is not None:
        line = predict([model])[0]
        if job.classes is not None:
            assert not np.delete(line, model.seen, axis=1).any()
            line = line[:, model.seen]
        asked = expected.predict if job.classes is None else expected.predict_proba
        assert np.array_equal(line, asked(points))
    return True


def check_many(rng, draw_learner, numbers, table, count):
    """Check many random cases; return how many bags were solved."""
    solved = 0
    for _ in range(count):
        learner = draw_learner(rng)
        X, plain = draw_table(rng, numbers, table)
        last = learner.steps[-1][1] if isinstance(learner, Pipeline) else learner
        y = draw_targets(rng, plain, last)
        bags = draw_bags(rng, len(plain), y, isinstance(last, LogisticRegression))
        if isinstance(last, LogisticRegression) and len(set(y)) < 2:
            continue
        solver, job = solver_and_job(learner, X, y, bags)
        points = draw_points(rng, X, plain.shape[1])
        solved += sum(check_bag(solver, job, place, points) for place in range(len(bags)))
    return solved


def check_junk(learner, X, y, junk):
    """Check that other rows outside of a bag, some of them extreme, change no bit of its model."""
    rng = np.random.default_rng(5)
    bag = rng.permutation(len(X))[: len(X) // 2]
    outside = np.setdiff1d(np.arange(len(X)), bag)
    other = X.copy()
    other[outside] = junk[: len(outside)]
    one, other = (solver_and_job(learner, table, y, [bag])[0].fit(bag, 0) for table in (X, other))
    assert all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in zip(one, other, strict=True))
