"""Scores on held-out rows that fit the task, beside those of a constant, and losses row by row."""

import difflib
import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.utils.metaestimators import available_if

from stablebag.learning.outputs import one_hot

REGRESSION = ("neg_root_mean_squared_error", "neg_mean_absolute_error", "r2")
CLASSIFICATION = ("accuracy", "neg_log_loss")
IMBALANCED = ("balanced_accuracy", "average_precision", "roc_auc")
_LINEAR = ("neg_root_mean_squared_error", "neg_mean_absolute_error", "neg_median_absolute_error", "neg_max_error")
_WITHOUT_UNIT = ("r2", "explained_variance", "neg_mean_absolute_percentage_error")
RARE = 0.2  # a class with a smaller share of the training rows makes the classes imbalanced
_SMALLEST = np.finfo(float).eps  # the logarithm of a probability of zero would be infinite


class Score(NamedTuple):
    """A score on the held-out rows; NaN where a model has none.

    Attributes
    ----------
    name : str
        What it is called.
    base : float
        The base learner's.
    bagged : float
        The bagged model's.
    constant : float
        That of a constant: the mean of the training targets, or the frequencies of the classes.
    lower_is_better : bool
        Whether it is a loss.
    """

    name: str
    base: float
    bagged: float
    constant: float
    lower_is_better: bool


class Loss(NamedTuple):
    """A loss of three models at the same held-out rows, one number for each row.

    Attributes
    ----------
    name : str
        What it is called.
    base : ndarray of shape (n_rows,) or None
        The base learner's; None if it has none.
    bagged : ndarray of shape (n_rows,)
        The bagged model's.
    constant : ndarray of shape (n_rows,)
        That of a constant.
    """

    name: str
    base: np.ndarray | None
    bagged: np.ndarray
    constant: np.ndarray


class HeldOut:
    """What three models predict at the held-out rows: the base learner, the bagged model, and a constant.

    Parameters
    ----------
    alone : estimator or None
        The base learner, fitted to all training rows; None if it was not.
    model : BaggedRegressor or BaggedClassifier
        The fitted bagged model.
    X_test : array or DataFrame
        The held-out rows.
    averaged : ndarray of shape (n_rows,) or (n_rows, n_classes)
        What the bagged model predicts there.
    y_test : ndarray of shape (n_rows,)
        The targets of the held-out rows.
    """

    def __init__(self, alone: Any, model: Any, X_test: Any, averaged: np.ndarray, y_test: np.ndarray) -> None:
        self.classes = None if averaged.ndim == 1 else model.classes_
        if self.classes is None:
            self.y, trained = np.asarray(y_test, dtype=float), np.asarray(model.y_, dtype=float)
            self.base: Any = None if alone is None else _Numbers(alone.predict(X_test))
            self.bagged: Any = _Numbers(averaged)
            self.constant: Any = DummyRegressor().fit(np.zeros((len(trained), 1)), trained)
            self.is_imbalanced, self.rare = False, None
            self.unit = float(np.abs(self.y).max(initial=0.0)) or 1.0  # a unit whose squares stay floats
            return
        self.unit = 1.0
        # Classes are counted, the most frequent of two first: scores of one class are then those of the rarer.
        counts = np.array([(model.y_ == label).sum() for label in self.classes])
        self.order = np.argsort(-counts, kind="stable") if len(counts) == 2 else np.arange(len(counts))
        self.y, trained = self._counted(y_test), self._counted(model.y_)
        self.is_imbalanced = bool(counts.min() < RARE * counts.sum())
        self.rare = self.classes[self.order[1]] if len(counts) == 2 else None
        number = np.arange(len(counts))
        self.base = None
        if alone is not None:
            self.base = _Labels(number, self._counted(alone.predict(X_test)), *self._scores(alone, X_test))
        decided = self._counted(self.classes[averaged.argmax(axis=1)])  # as predict decides
        self.bagged = _Labels(number, decided, averaged[:, self.order])
        self.constant = DummyClassifier(strategy="prior").fit(np.zeros((len(trained), 1)), trained)

    def scores(self, metrics: tuple[str, ...] = ()) -> tuple[Score, ...]:
        """Return the scores that were asked for by scikit-learn's names, or those that fit the task."""
        chosen = metrics or REGRESSION
        if not metrics and self.classes is not None:
            two = IMBALANCED if len(self.classes) == 2 else IMBALANCED[:1]
            chosen = (*CLASSIFICATION, *(two if self.is_imbalanced else ()))
        rows, found = np.zeros((len(self.y), 1)), []
        models: list[Any] = [self.base, self.bagged, self.constant]
        if self.classes is not None and (self.y >= len(self.classes)).any():
            # Of a class that was not trained on there is no probability: only decisions are scored.
            number = np.arange(len(self.classes))
            models = [None if each is None else _Labels(number, each.predict(rows)) for each in models]
        for name in chosen:
            scorer, sign = get_scorer(checked_metric(name)), -1.0 if name.startswith("neg_") else 1.0
            unit = self.unit if name in (*_LINEAR, *_WITHOUT_UNIT) else 1.0
            y, back = self.y / unit if unit != 1 else self.y, sign * (unit if name in _LINEAR else 1.0)
            scaled = unit != 1
            asked = [_Numbers(each.predict(rows) / unit) if scaled and each is not None else each for each in models]
            base, bagged, constant = (back * _value(scorer, each, rows, y) for each in asked)
            if not (math.isnan(base) and math.isnan(bagged)):
                found.append(Score(_words(name), base, bagged, constant, sign < 0))
        return tuple(found)

    def losses(self) -> tuple[Loss, ...]:
        """Return the losses by which models are compared, the one that says most of a model first.

        For numbers it is the squared error. For classes it is the Brier score, which takes decisions where a learner
        has no probabilities, then the share of wrong decisions and, with probabilities, the logarithmic loss.
        """
        models = (self.base, self.bagged, self.constant)
        if self.classes is None:
            rows, y = np.zeros((len(self.y), 1)), self.y / self.unit
            squares: list[Any] = [
                None if each is None else (each.predict(rows) / self.unit - y) ** 2 for each in models
            ]
            return (Loss("squared error", *squares),)
        known = (self.y >= 0) & (self.y < len(self.classes))
        rows, y = np.zeros((int(known.sum()), 1)), self.y[known]
        number = np.arange(len(self.classes))
        wrong, tables = list[Any](), list[Any]()
        for each in models:
            if each is None:
                wrong.append(None)
                tables.append(None)
                continue
            decided = each.predict(rows) if each is self.constant else each.labels[known]
            wrong.append((decided != y).astype(float))
            table = each.predict_proba(rows) if each is self.constant else each.table
            table = one_hot(decided, number) if table is None else table
            tables.append(table[known] if len(table) > len(y) else table)
        truth = one_hot(y, number)
        brier: list[Any] = [None if table is None else ((table - truth) ** 2).sum(axis=1) for table in tables]
        log: list[Any] = [
            None if table is None else -np.log(np.maximum((table * truth).sum(axis=1), _SMALLEST)) for table in tables
        ]
        if self.base is not None and self.base.table is None:
            log[0] = None
        return Loss("Brier score", *brier), Loss("share of wrong decisions", *wrong), Loss("log loss", *log)

    def _counted(self, labels: Any) -> np.ndarray:
        """The numbers of labels; a label that was not trained on gets one beyond."""
        assert self.classes is not None
        places = {label: place for place, label in enumerate(self.classes[self.order].tolist())}
        return np.array([places.get(label, len(places)) for label in np.asarray(labels).tolist()], dtype=int)

    def _scores(self, alone: Any, X_test: Any) -> tuple[np.ndarray | None, np.ndarray | None]:
        """What a learner has of probabilities, and else of decision values, for the classes in our order."""
        places = np.argsort(self._counted(alone.classes_)) if hasattr(alone, "classes_") else self.order
        if hasattr(alone, "predict_proba"):
            return np.asarray(alone.predict_proba(X_test), dtype=float)[:, places], None
        if hasattr(alone, "decision_function"):
            values = np.asarray(alone.decision_function(X_test), dtype=float)
            if values.ndim == 1:
                return None, values if places[0] == 0 else -values
            return None, values[:, places] if values.shape[1] == len(places) else None
        return None, None


def checked_metric(name: str) -> str:
    """Return the name of a scorer of scikit-learn, and refuse another with those that look like it."""
    names = get_scorer_names()
    if name in names:
        return name
    near = difflib.get_close_matches(name, names, n=1) or difflib.get_close_matches(f"neg_{name}", names, n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    raise ValueError(
        f"There is no metric {name!r}.{meant} Use a name of scikit-learn's scorers, such as 'r2' or 'roc_auc'."
    )


def difference(first: np.ndarray, second: np.ndarray) -> tuple[float, float]:
    """Return the mean of a paired difference in loss, first minus second, and its standard error; NaN for one row."""
    each = first - second
    return float(each.mean()), float(each.std(ddof=1) / math.sqrt(len(each))) if len(each) > 1 else math.nan


def _value(scorer: Any, model: Any, rows: np.ndarray, y: np.ndarray) -> float:
    """A score; NaN if there is no model, or it has not what it needs, or the held-out rows have not."""
    if model is None:
        return math.nan
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of scores that are not defined: they are NaN
            return float(scorer(model, rows, y))
    except (ValueError, AttributeError, TypeError):
        return math.nan


def _words(name: str) -> str:
    known = {"r2": "R2", "roc_auc": "AUC"}
    return known.get(name, name.removeprefix("neg_").replace("_", " "))


class _Numbers(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A regressor that has predicted already."""

    def __init__(self, predicted: Any = ()) -> None:
        self.predicted = predicted
        self.fitted_ = True

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.predicted, dtype=float)


class _Labels(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that has predicted already, with probabilities or decision values if it has any."""

    def __init__(self, classes: Any = (), labels: Any = (), table: Any = None, values: Any = None) -> None:
        self.classes_, self.labels, self.table, self.values = classes, labels, table, values

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(self.labels)

    @available_if(lambda self: self.table is not None)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> np.ndarray:
        return np.asarray(self.table)

    @available_if(lambda self: self.values is not None)  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(self.values)
