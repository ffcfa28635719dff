"""Measure what more bags buy on five tables: noise, error, guarantee and time; docs/choosing_bags.md has the result.

python benchmarks/default_bags.py
"""

import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    make_classification,
    make_friedman1,
)
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, Certificate, Subbagging, leave_one_out

NUMBERS = (100, 250, 500, 1_000, 2_000, 5_000)
DELTA = 0.1
POINTS = 200  # held-out points at which noise is measured


class Table(NamedTuple):
    """A table, and the bagged model that is fitted to it."""

    name: str
    X: Any
    y: Any
    model: Any


def tables() -> Iterator[Table]:
    """Yield five tables: small and large, numbers and classes, one with heavy tails, one with 3 % positives."""
    regressor, classifier = BaggedRegressor(DecisionTreeRegressor()), BaggedClassifier(DecisionTreeClassifier())
    yield Table("diabetes", *load_diabetes(return_X_y=True), regressor)
    yield Table("breast cancer", *load_breast_cancer(return_X_y=True), classifier)
    yield Table("digits", *load_digits(return_X_y=True), classifier)
    X, y = make_friedman1(10_000, random_state=0)
    yield Table("heavy tails", X, y + np.random.default_rng(0).standard_t(2, len(y)), regressor)
    yield Table("3 % positives", *make_classification(20_000, weights=[0.97], flip_y=0.01, random_state=0), classifier)


def main() -> None:
    """Print a line for each table and number of bags."""
    print("| table | rows | bags | seconds | error | noise | of changes | guarantee | of the limit |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, X, y, model in tables():
        X, held_out, y, truth = train_test_split(X, y, test_size=min(2_000, len(y) // 4), random_state=0)
        limit = Certificate(Subbagging(0.5), len(y)).epsilon(DELTA)
        for n_bags in NUMBERS:
            start = time.process_time()
            fitted = model.set_params(n_bags=n_bags, random_state=0).fit(X, y)
            seconds = time.process_time() - start
            is_classifier = hasattr(fitted, "predict_proba")
            if is_classifier:
                codes = np.searchsorted(fitted.classes_, truth)
                sure = fitted.predict_proba(held_out)
                error = float(np.mean(np.sum((sure - np.eye(sure.shape[1])[codes]) ** 2, axis=1)))  # Brier
                spread = 1.0
            else:
                error = float(np.mean(np.abs(fitted.predict(held_out) - truth)))
                spread = float(np.std(y))
            found = leave_one_out(fitted, held_out[:POINTS])
            if is_classifier:
                found = found.in_norm()
            changes, noise = float(np.sqrt(np.mean(found.norm(2) ** 2))), float(np.sqrt(np.mean(found.noise**2)))
            bag = fitted_sd(fitted, held_out[:POINTS])
            bound = Certificate(Subbagging(0.5), len(y), n_bags=n_bags, coupling="matched").epsilon(DELTA)
            share, of_changes = bag / np.sqrt(n_bags) / spread, min(1.0, (noise / changes) ** 2)
            print(
                f"| {name} | {len(y):,} | {n_bags:,} | {seconds:.1f} | {error:.4g} | {share:.2%} | {of_changes:.0%} "
                f"| {bound:.4f} | {bound / limit:.2f} |",
                flush=True,
            )


def fitted_sd(fitted: Any, X: Any) -> float:
    """Return the standard deviation of a bag's output over bags, root mean square over points."""
    outputs = np.stack(
        [
            member.predict_proba(X)[:, -1] if hasattr(member, "predict_proba") else member.predict(X)
            for member in list(fitted.estimators_)[:100]
        ]
    )
    return float(np.sqrt(np.mean(np.var(outputs, axis=0, ddof=1))))


if __name__ == "__main__":
    main()
