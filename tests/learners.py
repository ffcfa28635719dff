"""Learners that record their input, and learners that misbehave."""

import os
import time

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin


class RowRecorder(RegressorMixin, BaseEstimator):
    """Keeps the X, y, weights and seed of its fit; predicts the mean of y."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None, tag=None):
        self.X_, self.y_, self.sample_weight_, self.tag_, self.seed_ = X, y, sample_weight, tag, self.random_state
        return self

    def predict(self, X):
        return np.full(X.shape[0], np.mean(self.y_))


class Voter(ClassifierMixin, BaseEstimator):
    """A classifier without probabilities: predicts the most frequent label of its rows."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.winner_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.winner_)


class NeedsAllClasses(Voter):
    """Raises on a bag with fewer than `n_classes` classes."""

    def __init__(self, n_classes=2):
        self.n_classes = n_classes

    def fit(self, X, y):
        if len(np.unique(y)) < self.n_classes:
            raise ValueError(f"{len(np.unique(y))} classes are not {self.n_classes}")
        return super().fit(X, y)


class UnpicklableError(Exception):
    """An error that cannot be pickled."""

    def __init__(self, one, two):
        super().__init__(one)


class FailsOn(RegressorMixin, BaseEstimator):
    """Raises on a bag that starts with a given row."""

    def __init__(self, row=0, error=RuntimeError, in_predict=False):
        self.row = row
        self.error = error
        self.in_predict = in_predict

    def fit(self, X, y):
        self.bad_ = X[0, 0] == self.row
        if self.bad_ and not self.in_predict:
            self.fail()
        return self

    def predict(self, X):
        if self.bad_:
            self.fail()
        return np.zeros(X.shape[0])

    def fail(self):
        raise UnpicklableError("boom", 2) if self.error is UnpicklableError else self.error("boom")


class PredictsNaN(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.where(np.arange(X.shape[0]) == 1, np.nan, 0.0)


class Bare:
    """A learner with scikit-learn's interface but without its base classes, whose fit returns nothing."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def get_params(self, deep=True):
        return {"random_state": self.random_state}

    def set_params(self, **params):
        self.random_state = params.get("random_state", self.random_state)

    def fit(self, X, y):
        self.mean = float(np.mean(y))

    def predict(self, X):
        return np.full(len(X), self.mean)


class OwnClone(RegressorMixin, BaseEstimator):
    """Returns itself as its clone, like a frozen estimator."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def __sklearn_clone__(self):
        return self

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.zeros(X.shape[0])


class Reversed(ClassifierMixin, BaseEstimator):
    """Has its classes, and the columns of its probabilities, in decreasing order."""

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.classes_, self.share_ = self.classes_[::-1], (counts / counts.sum())[::-1]
        return self

    def predict_proba(self, X):
        return np.tile(self.share_, (X.shape[0], 1))

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[self.share_.argmax()])


class Says(ClassifierMixin, BaseEstimator):
    """Predicts given probabilities or labels."""

    def __init__(self, probabilities=None, label=None):
        self.probabilities = probabilities
        self.label = label

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.label)

    def __getattribute__(self, name):
        if name == "predict_proba" and self.probabilities is None:
            raise AttributeError(name)
        return super().__getattribute__(name)

    def predict_proba(self, X):
        return np.tile(self.probabilities, (X.shape[0], 1)) if np.ndim(self.probabilities) else np.zeros(X.shape[0])


class Sleeper(RegressorMixin, BaseEstimator):
    """Writes a file named after its process ID and sleeps."""

    def __init__(self, folder=None, seconds=0.2):
        self.folder = folder
        self.seconds = seconds

    def fit(self, X, y):
        with open(os.path.join(self.folder, str(os.getpid())), "a") as file:
            file.write(".")
        time.sleep(self.seconds)
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.zeros(X.shape[0])
