"""Measure stablebag next to pyDVL, cleanlab, MAPIE and forestci, for the pages `docs/from_*.md`.

    pip install --group bench
    python benchmarks/coming_from.py cleanlab mapie forestci

prints the tables of these pages in about ten minutes. pyDVL 0.10 requires numpy below 2 and stablebag requires numpy 2,
so pip does not install both. pyDVL runs with numpy 2 all the same, if it is installed without its requirements:

    pip install --no-deps pydvl more-itertools pydeprecate deprecated wrapt numcodecs cvxpy clarabel osqp scs qdldl
    pip install cffi jinja2 pandas matplotlib psutil tqdm
    python benchmarks/coming_from.py pydvl
"""

import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
from helpers import cpu_seconds
from label_errors import FRESH_CLASSES, FRESH_NUMBERS, wrong_labels, wrong_numbers
from scipy.stats import spearmanr
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from stablebag import BaggedClassifier, BaggedRegressor, ClassicalBagging, leave_one_out, predict_interval, suspects


def squared(prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The loss whose negative mean is the utility."""
    return (prediction - y) ** 2


# --------------------------------------------------------------------------------------------------------------- pyDVL


def values_of(model: Any, X_test: np.ndarray, y_test: np.ndarray) -> np.ndarray:
    """The leave-one-out value of each row: how much larger the mean loss is without it."""
    return -leave_one_out(model, X_test).loss(squared, y_test).differences.mean(axis=1)


def in_row_order(result: Any) -> np.ndarray:
    """The values that pyDVL found, in the order of the rows."""
    return np.asarray(result.values)[np.argsort(result.indices)]


def of_pydvl(learner: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> np.ndarray:
    """Leave-one-out values of the same utility, by refits."""
    from pydvl.valuation import Dataset, LOOValuation, ModelUtility, SupervisedScorer

    scorer = SupervisedScorer("neg_mean_squared_error", Dataset(X_test, y_test), default=-np.var(y_test))
    return in_row_order(LOOValuation(ModelUtility(learner, scorer)).fit(Dataset(X, y)).result)


def pydvl() -> None:
    from pydvl.valuation import DataOOBValuation, Dataset

    X, y = load_diabetes(return_X_y=True)
    train, test = (X[:300], y[:300]), (X[300:], y[300:])
    learners = {
        "ridge regression": Ridge(0.01),
        "10 nearest neighbours": KNeighborsRegressor(10),
        "tree of depth 4": DecisionTreeRegressor(max_depth=4, random_state=0),
    }
    print("diabetes, 300 rows, utility: minus the mean squared error at 142 rows, 2,000 bags")
    print("time ratio and correlation (Pearson, Spearman), for pyDVL on the learner and on the bagged model")
    for name, learner in learners.items():
        bagged, found = BaggedRegressor(learner, n_bags=2000, random_state=0), {}

        def ours(bagged=bagged, found=found):
            found["ours"] = values_of(clone(bagged).fit(*train), *test)

        def alone(learner=learner, found=found):
            found["learner"] = of_pydvl(learner, *train, *test)

        def refits(bagged=bagged, found=found):
            found["bagged"] = of_pydvl(bagged, *train, *test)

        ours()  # imports modules
        own = cpu_seconds(ours)
        line = [name]
        for task, which in ((alone, "learner"), (refits, "bagged")):
            ratio = cpu_seconds(task) / own
            pair = found["ours"], found[which]
            line.append(f"{ratio:.1f} | {np.corrcoef(*pair)[0, 1]:.2f} | {spearmanr(*pair)[0]:.2f}")
        print("| " + " | ".join(line) + " |", flush=True)

    print("\nshare of planted errors among the 15 lowest values (15 of 300 targets shifted by two standard deviations)")
    for name, learner in learners.items():
        hits = defaultdict(list)
        for repetition in range(20):
            rng = np.random.default_rng(repetition)
            order = rng.permutation(len(y))
            rows, rest = order[:300], order[300:]
            wrong, planted = wrong_numbers(y[rows], "moved", 0.05, rng)
            model = BaggedRegressor(learner, n_bags=500, random_state=repetition).fit(X[rows], wrong)
            by_bags = in_row_order(DataOOBValuation(model).fit(Dataset(X[rows], wrong)).result)
            lowest = {
                "LOOValuation of the learner": np.argsort(of_pydvl(learner, X[rows], wrong, X[rest], y[rest]))[:15],
                "leave_one_out": np.argsort(values_of(model, X[rest], y[rest]))[:15],
                "DataOOBValuation of the bagged model": np.argsort(by_bags)[:15],
                "suspects": [far.number for far in suspects(model, X[rest], k=15).unusual],
            }
            for method, listed in lowest.items():
                hits[method].append(np.isin(listed, planted).sum() / 15)
        print(name, {method: f"{np.mean(shares):.2f}" for method, shares in hits.items()}, flush=True)

    X, y = load_breast_cancer(return_X_y=True)
    model = BaggedClassifier(DecisionTreeClassifier(), n_bags=300, oob_score=True, random_state=0).fit(X, y)
    theirs = in_row_order(DataOOBValuation(model).fit(Dataset(X, y)).result)
    difference = np.abs(theirs - model.oob_decision_function_[np.arange(len(y)), y]).max()
    print(f"\nData-OOB and the out-of-bag probability of a row's own class differ by at most {difference:.1e}")


# ------------------------------------------------------------------------------------------------------------- cleanlab


def class_lists(model: Any, X: np.ndarray, y: np.ndarray, others: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the whole ranking of each method, from the most suspicious row; `others` are probabilities by 5 folds."""
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    probabilities = np.clip(model.oob_decision_function_, 0, 1)
    probabilities = probabilities / probabilities.sum(axis=1, keepdims=True)
    yield "`suspects`", np.array([far.number for far in suspects(model, X[:2], k=len(X)).unusual])
    for name, inputs in (("same probabilities", probabilities), ("gradient boosting", others)):
        found = find_label_issues(y, inputs, return_indices_ranked_by="self_confidence", n_jobs=1)
        scores = get_label_quality_scores(y, inputs, method="self_confidence")
        scores[found] -= 1.0  # rows that it calls wrong come before the others
        yield f"`find_label_issues`, {name}", np.argsort(scores, kind="stable")
        yield f"its own list, {name}", found


def number_lists(model: Any, X: np.ndarray, y: np.ndarray, learner: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the whole ranking of each method, from the most suspicious row."""
    from cleanlab.regression.learn import CleanLearning
    from cleanlab.regression.rank import get_label_quality_scores

    yield "`suspects`", np.array([far.number for far in suspects(model, X[:2], k=len(X)).unusual])
    unit = 10 * np.std(y)
    scores = get_label_quality_scores(y / unit, model.oob_prediction_ / unit, method="residual")
    yield "residuals, same predictions", np.argsort(scores, kind="stable")
    found = CleanLearning(learner, seed=0).find_label_issues(X, y)
    yield "`CleanLearning`", np.argsort(found["label_quality"].to_numpy(), kind="stable")
    listed = np.flatnonzero(found["is_label_issue"].to_numpy())
    yield "its own list, `CleanLearning`", listed


def shown_lists(found: dict[Any, list[tuple[float, float, float]]], lengths: list[str]) -> None:
    """Print precision and recall by data, method and length of the list."""
    methods = list(dict.fromkeys(key[1] for key in found))
    tables = [*dict.fromkeys(key[0] for key in found), "all"]
    for length in lengths:
        some = [method for method in methods if any(key[1:] == (method, length) for key in found)]
        if some:
            print(f"\n{length}: precision / recall (rows in the list)\n| data |", " | ".join(some), "|")
            print("|---|" + "---:|" * len(some))
        for data in tables if some else []:
            cells = []
            for method in some:
                values = [v for key, all_of in found.items() for v in all_of
                          if key[0] in (data,) * (data != "all") + (key[0],) * (data == "all")
                          and key[1:] == (method, length)]  # fmt: skip
                precision, recall, size = np.mean(values, axis=0)
                cells.append(f"{precision:.2f} / {recall:.2f} ({size:.0f})")
            print(f"| {data} |", " | ".join(cells), "|", flush=True)


def cleanlab(repetitions: int = 5) -> None:
    lengths = ["10 rows", "as many rows as errors", "twice as many rows as errors", "its own list"]
    for of_classes, tables in ((True, FRESH_CLASSES), (False, FRESH_NUMBERS)):
        found: dict[Any, list[tuple[float, float, float]]] = defaultdict(list)
        for (name, load), repetition in ((table, one) for table in tables.items() for one in range(repetitions)):
            rng = np.random.default_rng([repetition, 5])
            X, y = load()
            if len(y) > 800:
                some = rng.choice(len(y), 800, replace=False)
                X, y = X[some], y[some]
            y, planted = wrong_labels(y, "any row", 0.05, rng) if of_classes else wrong_numbers(y, "moved", 0.05, rng)
            scaled = make_pipeline(StandardScaler(), LogisticRegression() if of_classes else Ridge())
            boosting: Any = (HistGradientBoostingClassifier if of_classes else HistGradientBoostingRegressor)(
                max_iter=50, random_state=0
            )
            others = cross_val_predict(boosting, X, y, method="predict_proba") if of_classes else boosting
            for learner in (DecisionTreeClassifier() if of_classes else DecisionTreeRegressor(), scaled):
                kind: Any = BaggedClassifier if of_classes else BaggedRegressor
                model = kind(learner, n_bags=100, oob_score=True, random_state=repetition).fit(X, y)
                for method, order in (class_lists if of_classes else number_lists)(model, X, y, others):
                    own, n = method.startswith("its own list"), len(planted)
                    sizes = {"its own list": len(order)} if own else dict(zip(lengths, (10, n, 2 * n), strict=False))
                    for length, k in sizes.items():
                        hits = np.isin(order[:k], planted).sum()
                        listed = len(order[:k])
                        found[name, method, length].append((hits / max(listed, 1), hits / n, listed))
        print(f"\n5% of the {'labels' if of_classes else 'targets, shifted by two standard deviations'}:")
        shown_lists(found, lengths)


# ---------------------------------------------------------------------------------------------------------------- MAPIE


def mapie(repetitions: int = 20) -> None:
    from mapie.regression import CrossConformalizedQuantileRegressor as CrossQuantiles
    from mapie.regression import JackknifeAfterBootstrapRegressor
    from mapie.subsample import Subsample

    def houses(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(1300, 3))
        return X, np.exp(12 + X[:, 0] + 0.3 * X[:, 1] + 0.3 * rng.normal(size=1300))

    def friedman(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        drawn: tuple[np.ndarray, np.ndarray] = make_friedman1(1300, noise=1.0, random_state=int(rng.integers(10**6)))
        return drawn

    tree = DecisionTreeRegressor(min_samples_leaf=5, random_state=0)
    boosting = HistGradientBoostingRegressor(
        loss="quantile", quantile=0.5, max_iter=100, max_depth=3, min_samples_leaf=10, random_state=0
    )
    print("300 training rows, 1,000 new rows, level 0.9, 60 bags or 5 folds")
    print("covered, covered of the tenth with the largest predictions, median width (MAPIE's jackknife+: 1)")
    for name, draw in (("houses", houses), ("Friedman", friedman)):
        found = defaultdict(list)
        for repetition in range(repetitions):
            X, y = draw(np.random.default_rng(repetition))
            train, points, truth = (X[:300], y[:300]), X[300:], y[300:]
            bags = Subsample(n_resamplings=60, random_state=repetition)
            peer = JackknifeAfterBootstrapRegressor(tree, confidence_level=0.9, resampling=bags).fit_conformalize(
                *train
            )
            ends = {"MAPIE, jackknife+-after-bootstrap": peer.predict_interval(points)[1][:, :, 0].T}
            relative = JackknifeAfterBootstrapRegressor(
                tree, confidence_level=0.9, resampling=bags, conformity_score="gamma"
            )
            if (train[1] > 0).all():  # this score divides residuals by the prediction
                found_ends = relative.fit_conformalize(*train).predict_interval(points)[1]
                ends["MAPIE, jackknife+-after-bootstrap, gamma score"] = found_ends[:, :, 0].T
            model = BaggedRegressor(tree, scheme=ClassicalBagging(1.0), n_bags=60, random_state=repetition).fit(*train)
            for how, weighted in (("stablebag, jackknife+", False), ("stablebag, jackknife+, weighted", True)):
                ends[how] = predict_interval(model, points, confidence_level=0.9, locally_weighted=weighted)
            cross = CrossQuantiles(boosting, confidence_level=0.9, cv=5).fit_conformalize(*train)
            ends["MAPIE, conformalized quantiles"] = cross.predict_interval(points)[1][:, :, 0].T
            high = np.argsort(-model.predict(points))[:100]
            unit = None
            for how, (lower, upper) in ends.items():
                covered = (lower <= truth) & (truth <= upper)
                width = np.median(upper - lower)
                unit = width if unit is None else unit
                found[how].append((covered.mean(), covered[high].mean(), width / unit))
        for how, values in found.items():
            print(
                f"| {name} | {how} | " + " | ".join(f"{mean:.2f}" for mean in np.mean(values, axis=0)) + " |",
                flush=True,
            )


# ------------------------------------------------------------------------------------------------------------- forestci


def forestci(n_tables: int = 200) -> None:
    from forestci import random_forest_error

    n, n_trees, points = 200, 1000, make_friedman1(50, random_state=10**6)[0]
    heavy = np.random.default_rng(0)
    for noise in ("normal", "lognormal"):
        predictions, found = [], defaultdict(list)
        for table in range(n_tables):
            X, y = make_friedman1(n, noise=0.0, random_state=table)
            y = y + (heavy.normal(size=n) if noise == "normal" else np.exp(1.5 * heavy.normal(size=n)))
            model = BaggedRegressor(
                DecisionTreeRegressor(max_features=1 / 3),
                scheme=ClassicalBagging(1.0),
                n_bags=n_trees,
                random_state=table,
            ).fit(X, y)
            changes = leave_one_out(model, points)
            predictions.append(changes.prediction)
            found["stablebag: sqrt(n - 1) * debiased_rms()"].append(np.sqrt(n - 1) * changes.debiased_rms())
            if table % 4 == 0:
                forest = RandomForestRegressor(n_trees, max_features=1 / 3, random_state=table).fit(X, y)
                in_bags = np.stack([np.bincount(rows, minlength=n) for rows in model.estimators_samples_], axis=1)
                np.random.seed(table)  # noqa: NPY002 - forestci draws from numpy's global generator
                for name, ensemble, calibrate in (
                    ("forestci, a random forest, calibrated", forest, True),
                    ("forestci, a random forest, not calibrated", forest, False),
                    ("forestci, the bagged model, not calibrated", model, False),
                ):
                    inbag = in_bags if ensemble is model else None
                    variance = random_forest_error(ensemble, X.shape, points, inbag=inbag, calibrate=calibrate)
                    found[name].append(np.sqrt(np.where(variance < 0, 0, variance)))
        truth = np.std(predictions, axis=0, ddof=1)
        print(f"\n{noise} noise: ratio to the truth, zero or less, correlation with the truth over points, spread")
        for name, estimates in found.items():
            mean = np.mean(estimates, axis=0)
            spread = np.mean(np.std(estimates, axis=0) / mean)
            print(f"| {name} | {np.mean(mean / truth):.2f} | {np.mean(np.array(estimates) <= 0):.1%} | "
                  f"{np.corrcoef(mean, truth)[0, 1]:.2f} | {spread:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        for library in sys.argv[1:]:
            {"pydvl": pydvl, "cleanlab": cleanlab, "mapie": mapie, "forestci": forestci}[library]()
