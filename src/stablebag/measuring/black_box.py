"""How little can be learned about the stability of a learner by running it.

Kim and Barber (2023), "Black-box tests for algorithmic stability": split the data into disjoint sets, fit with and
without a row in each, and count. No test that is valid for every learner and every distribution has much more power.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import binom
from sklearn.base import is_classifier
from sklearn.utils import assert_all_finite, check_consistent_length

from stablebag._checks import (
    as_reals,
    check_delta,
    check_jobs,
    check_real,
    check_samples,
    distinct,
    hold_read_only,
    refuse_type,
    refuse_value,
)
from stablebag._seeds import RandomState, Seeds
from stablebag._wording import Result, as_given, paragraphs, rounded_down, rounded_up
from stablebag.models.fitting import fit_and_predict_bags
from stablebag.models.learners import may_predict
from stablebag.models.parallel import counted
from stablebag.models.rows import as_table, one_column, stacked, take_rows
from stablebag.models.solving import FitJob
from stablebag.proving.bounds import black_box_power_ceiling
from stablebag.resampling.bags import Bags


@dataclass(frozen=True, eq=False, repr=False)
class StabilityTest(Result):
    """The result of a black-box test of (epsilon, delta)-stability.

    Made by `stability_test`. A learner is called stable here if the chance that leaving out the last of `n_samples`
    rows moves its prediction at a new point by more than epsilon is at most delta, for the distribution of these data.

    Attributes
    ----------
    declared_stable : bool
        The verdict. An unstable learner is declared stable with probability at most `alpha`; nothing is known about a
        learner that is not declared stable.
    epsilon : float
        The perturbation that was tested for.
    delta : float
        The chance of exceeding it that was tested for.
    alpha : float
        The largest chance of declaring an unstable learner stable.
    n_samples : int
        The number of training rows in each data set.
    n_sets : int
        The number of disjoint data sets that the rows were enough for.
    n_exceeding : int
        The number of data sets in which the prediction moved by more than epsilon.
    distances : ndarray of shape (n_sets,)
        How far the prediction moved in each data set.
    critical : int
        With fewer exceedances than this, the learner is declared stable.
    chance_at_critical : float
        With exactly that many, the learner is declared stable with this chance, so that the level is exactly alpha.
    n_available : int
        The number of rows with targets.
    n_unlabelled : int
        The number of rows without targets.
    finite_targets : bool
        Whether targets take only finitely many values, as in classification.
    """

    declared_stable: bool
    epsilon: float
    delta: float
    alpha: float
    n_samples: int
    n_sets: int
    n_exceeding: int
    distances: np.ndarray
    critical: int
    chance_at_critical: float
    n_available: int
    n_unlabelled: int
    finite_targets: bool = False

    def __post_init__(self) -> None:
        hold_read_only(self)

    def power(self, true_delta: float = 0.0) -> float:
        """Return the chance that this test declares stable a learner that exceeds epsilon with chance `true_delta`.

        Parameters
        ----------
        true_delta : float, default=0.0
            How often the learner truly exceeds epsilon.

        Returns
        -------
        float
        """
        true_delta = check_delta(true_delta, "StabilityTest.power", name="true_delta")
        return _chance(self.n_sets, true_delta, self.critical, self.chance_at_critical)

    def ceiling(self, true_delta: float = 0.0) -> float:
        """Return the largest power of any valid black-box test with as many rows (Kim and Barber 2023).

        Parameters
        ----------
        true_delta : float, default=0.0
            How often the learner truly exceeds epsilon.

        Returns
        -------
        float
            It holds if features, and in regression targets, can take infinitely many values.
        """
        n_all = self.n_available + self.n_unlabelled
        ceiling = black_box_power_ceiling(self.alpha, self.delta, n_all, self.n_samples + 1, true_delta)
        if self.finite_targets:
            return ceiling
        labelled = black_box_power_ceiling(self.alpha, self.delta, self.n_available, self.n_samples, true_delta)
        return min(labelled, ceiling)

    def explain(self) -> str:
        """Explain in sentences what was learned, and how little could have been."""
        verdict = "declared stable" if self.declared_stable else "not declared stable"
        sentences = [
            f"The learner is {verdict}: in {self.n_exceeding:,} of {self.n_sets:,} disjoint data "
            f"{'set' if self.n_sets == 1 else 'sets'} of {self.n_samples:,} rows, leaving out one row moved the "
            f"prediction at a new point by more than {self.epsilon:g}.",
            f"If the rows are independent draws from one distribution, a learner that does so with a chance above "
            f"{as_given(self.delta)} is declared stable with probability at most {as_given(self.alpha)}; one that "
            f"never does, with probability {rounded_down(self.power())}. No test that works for every learner and "
            f"distribution could do better than {rounded_up(self.ceiling())} with these rows.",
        ]
        if self.n_exceeding == self.critical:
            sentences.insert(
                1,
                f"At exactly {self.critical} the verdict is drawn at random, stable with probability "
                f"{self.chance_at_critical:.4g}: with so few data sets, only a random verdict "
                "attains level alpha exactly.",
            )
        if self.ceiling() < 0.5:
            sentences.append(
                "This is how little can be learned by running a black box. Bagging makes a learner stable by "
                "construction: see certify."
            )
        return paragraphs(sentences)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line per data set: how far the prediction moved, and whether too far."""
        import pandas as pd

        return pd.DataFrame(self._columns)

    def _preview(self) -> tuple[str, Any, dict[str, Any]]:
        return "data set", range(self.n_sets), self._columns

    @property
    def _columns(self) -> dict[str, np.ndarray]:
        return {"distance": self.distances, "exceeds": self.distances > self.epsilon}


def stability_test(
    estimator: Any,
    X: Any,
    y: Any,
    epsilon: float,
    delta: float,
    n_samples: int,
    *,
    alpha: float = 0.05,
    X_unlabelled: Any = None,
    n_jobs: int | None = None,
    random_state: RandomState = None,
) -> StabilityTest:
    """Test whether a learner is stable on data sets of `n_samples` rows like these, by running it.

    The rows, in random order, are split into as many disjoint data sets as possible, each with its own test point. In
    each, the learner is fitted to all rows and to all but the last, with the same seed.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn regressor or classifier. For a classifier, the largest difference of probabilities over classes
        is compared.
    X : array-like, sparse array or data frame of shape (n_available, n_features)
        Rows, all drawn independently from the distribution in question.
    y : array-like of shape (n_available,)
        The targets of the rows.
    epsilon : float
        How far a prediction may move, in the units of the prediction.
    delta : float
        The chance with which it may move further.
    n_samples : int
        The number of training rows for which stability is in question.
    alpha : float, default=0.05
        The largest chance of declaring an unstable learner stable.
    X_unlabelled : like X or None, default=None
        Rows without targets, to predict at.
    n_jobs : int or None, default=None
        The number of fits in parallel.
    random_state : None, int, RandomState or Generator, default=None
        The source of randomness for the order of the rows, the learner's seeds and the verdict at the critical number.

    Returns
    -------
    StabilityTest

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from stablebag.measuring import stability_test
    >>> X, y = load_diabetes(return_X_y=True)
    >>> print(stability_test(DecisionTreeRegressor(), X, y, epsilon=20, delta=0.1, n_samples=40, random_state=0))
    The learner is not declared stable: in 4 of 10 disjoint data sets of 40 rows, leaving out one
    row moved the prediction at a new point by more than 20.
    If the rows are independent draws from one distribution, a learner that does so with a chance
    above 0.1 is declared stable with probability at most 0.05; one that never does, with
    probability 0.1433. No test that works for every learner and distribution could do better than
    0.1557 with these rows.
    This is how little can be learned by running a black box. Bagging makes a learner stable by
    construction: see certify.
    """
    owner = "stability_test"
    check_jobs(n_jobs, owner)
    epsilon = check_real(epsilon, "epsilon", owner, reason="it is how far a prediction may move, in its own units.")
    reason = "it is the chance with which a prediction may move further, such as 0.1."
    delta = check_real(delta, "delta", owner, high=1.0, reason=reason)
    alpha = check_real(alpha, "alpha", owner, high=1.0)
    n = check_samples(n_samples, owner)
    if not (hasattr(estimator, "fit") and may_predict(estimator)) or isinstance(estimator, type):
        raise refuse_type("estimator", owner, "an unfitted scikit-learn regressor or classifier", estimator)
    X, y = as_table(X, "X", owner), one_column(y, owner, "take one column at a time.", warn=False)
    check_consistent_length(X, y)
    if not is_classifier(estimator):
        y = as_reals(y, "y", owner, "numbers")
        assert_all_finite(y, input_name="y", estimator_name=type(estimator).__name__)
    if X_unlabelled is not None:
        X_unlabelled = as_table(X_unlabelled, "X_unlabelled", owner)
        if X_unlabelled.shape[1] != X.shape[1]:
            reason = "it is a table with the same columns."
            raise refuse_value("X_unlabelled", owner, f"of {X.shape[1]} columns", X_unlabelled.shape[1], reason)
    n_unlabelled = 0 if X_unlabelled is None else X_unlabelled.shape[0]
    n_sets = min(len(y) // n, (len(y) + n_unlabelled) // (n + 1))
    if n_sets == 0:
        reason = f"{len(y)} rows do not make one data set of that size and a test point. Use fewer."
        raise refuse_value("n_samples", owner, f"at most {min(len(y), len(y) + n_unlabelled - 1)}", n, reason)
    seeds = Seeds.from_random_state(random_state, owner)
    generator = next(seeds.bag_generators(0, 1))
    order = generator.permutation(len(y))
    spare = np.concatenate([len(y) + generator.permutation(n_unlabelled), order[n_sets * n :]])[:n_sets]
    everything = X if X_unlabelled is None else stacked(X, X_unlabelled)
    points = take_rows(everything, spare)
    sets = order[: n_sets * n].reshape(n_sets, n)
    distances = _distances(estimator, X, y, sets, points, seeds, n_jobs)
    critical, at_critical = _critical(n_sets, delta, alpha)
    n_exceeding = int((distances > epsilon).sum())
    lucky = bool(generator.random() < at_critical)
    stable = n_exceeding < critical or (n_exceeding == critical and lucky)
    counts = (n, n_sets, n_exceeding, distances, critical, at_critical, len(y), n_unlabelled)
    return StabilityTest(stable, epsilon, delta, alpha, *counts, is_classifier(estimator))


def _distances(
    estimator: Any, X: Any, y: np.ndarray, sets: np.ndarray, points: Any, seeds: Seeds, n_jobs: int | None
) -> np.ndarray:
    """How far leaving out the last row of each set moves the prediction at the set's own point."""
    classes = distinct(y, "y", "stability_test") if is_classifier(estimator) else None
    each = seeds.learner_seeds(0, len(sets))
    predictions: list[np.ndarray] = []
    with counted(2 * len(sets)) as count:
        for rows in (sets, sets[:, :-1]):
            job = FitJob(estimator, X, y, Bags(rows, len(y)), each, classes)
            at_own_point = []
            for number, predicted in enumerate(fit_and_predict_bags(job, points, n_jobs)):
                at_own_point.append(predicted[number])
                count.one()
            predictions.append(_finite(np.stack(at_own_point), estimator))
    with np.errstate(over="ignore"):  # further than floats go is further than any epsilon
        moved = np.abs(predictions[0] - predictions[1])
    return np.asarray(moved.reshape(len(sets), -1).max(axis=1))


def _finite(predictions: np.ndarray, estimator: Any) -> np.ndarray:
    if not np.isfinite(predictions).all():
        number = int(np.argwhere(~np.isfinite(predictions))[0][0])
        raise ValueError(
            f"The prediction of {type(estimator).__name__} for data set {number} is infinite, so it is not known how "
            "far it moved. Clip predictions to a range."
        )
    return predictions


def _critical(n_sets: int, delta: float, alpha: float) -> tuple[int, float]:
    """The number below which a count declares stability, and the chance at that number: in total alpha at delta."""
    counts = np.arange(n_sets + 1)
    below = np.concatenate([[0.0], binom.cdf(counts, n_sets, delta)])  # P(fewer than k)
    critical = int(np.searchsorted(below, alpha, side="right")) - 1
    if critical > n_sets:
        return n_sets, 1.0
    at = float(binom.pmf(critical, n_sets, delta))
    return critical, float(min(1.0, (alpha - below[critical]) / at)) if at > 0 else 0.0


def _chance(n_sets: int, delta: float, critical: int, at_critical: float) -> float:
    total = float(binom.cdf(critical - 1, n_sets, delta)) + at_critical * float(binom.pmf(critical, n_sets, delta))
    return min(1.0, total) if not math.isnan(total) else 0.0
