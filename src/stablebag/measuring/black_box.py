"""A test of stability that only runs the learner.

From Kim and Barber (2023), "Black-box tests for algorithmic stability": split the data into disjoint sets, fit with and
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
    refuse_value,
)
from stablebag._seeds import RandomState, Seeds
from stablebag._wording import Result, as_given, paragraphs, rounded_down, rounded_up
from stablebag.measuring.refits import check_learner
from stablebag.models.fitting import fit_and_predict_bags
from stablebag.models.parallel import counted
from stablebag.models.rows import as_table, one_column, stacked, take_rows
from stablebag.models.solving import FitJob
from stablebag.proving.bounds import black_box_power_ceiling
from stablebag.resampling.bags import Bags


@dataclass(frozen=True, eq=False, repr=False)
class StabilityTest(Result):
    """The result of a black-box test of (epsilon, delta)-stability.

    Returned by `stability_test`. Here, a learner is stable if leaving out the last of `n_samples` rows changes its
    prediction at a new point by more than epsilon with probability at most delta, for the distribution of these data.

    Attributes
    ----------
    declared_stable : bool
        The verdict. An unstable learner is declared stable with probability at most `alpha`. If a learner is not
        declared stable, nothing is known about it.
    epsilon : float
        The change that was tested for.
    delta : float
        The probability of exceeding `epsilon` that was tested for.
    alpha : float
        The largest probability of declaring an unstable learner stable.
    n_samples : int
        The number of training rows in each data set.
    n_sets : int
        The number of disjoint data sets that the rows were split into.
    n_exceeding : int
        The number of data sets in which the prediction changed by more than epsilon.
    distances : ndarray of shape (n_sets,)
        The change of the prediction in each data set.
    critical : int
        If fewer data sets than this exceed epsilon, the learner is declared stable.
    chance_at_critical : float
        If exactly that many do, the learner is declared stable with this probability, so that the level is exactly
        alpha.
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
        """Return the probability that this test declares a learner stable.

        Parameters
        ----------
        true_delta : float, default=0.0
            The probability that the learner exceeds epsilon.

        Returns
        -------
        float
        """
        true_delta = check_delta(true_delta, "StabilityTest.power", name="true_delta")
        return _chance(self.n_sets, true_delta, self.critical, self.chance_at_critical)

    def ceiling(self, true_delta: float = 0.0) -> float:
        """Return the largest power of any valid black-box test with these numbers of rows (Kim and Barber 2023).

        Parameters
        ----------
        true_delta : float, default=0.0
            The probability that the learner exceeds epsilon.

        Returns
        -------
        float
            Valid if features can take infinitely many values and, in regression, targets too.
        """
        n_all = self.n_available + self.n_unlabelled
        ceiling = black_box_power_ceiling(self.alpha, self.delta, n_all, self.n_samples + 1, true_delta)
        if self.finite_targets:
            return ceiling
        labelled = black_box_power_ceiling(self.alpha, self.delta, self.n_available, self.n_samples, true_delta)
        return min(labelled, ceiling)

    def explain(self) -> str:
        """Explain the verdict, and the most that any such test could find, in sentences."""
        verdict = "declared stable" if self.declared_stable else "not declared stable"
        sentences = [
            f"The learner is {verdict}: in {self.n_exceeding:,} of {self.n_sets:,} disjoint data "
            f"{'set' if self.n_sets == 1 else 'sets'} of {self.n_samples:,} rows, leaving out one row changed the "
            f"prediction at a new point by more than {self.epsilon:g}.",
            f"If the rows are independent draws from one distribution, a learner that does so with probability above "
            f"{as_given(self.delta)} is declared stable with probability at most {as_given(self.alpha)}. One that "
            f"never does is declared stable with probability {rounded_down(self.power())}. With these rows, no test "
            f"that is valid for every learner and distribution could do better than {rounded_up(self.ceiling())}.",
        ]
        if self.n_exceeding == self.critical:
            sentences.insert(
                1,
                f"With exactly {self.critical} such data sets, the verdict is drawn at random: stable with probability "
                f"{self.chance_at_critical:.4g}. Only a random verdict has level alpha exactly.",
            )
        if self.ceiling() < 0.5:
            sentences.append(
                "Running a learner reveals little about its stability. Bagging makes a learner stable by construction: "
                "see certify."
            )
        return paragraphs(sentences)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line per data set: the change, and whether it exceeds epsilon."""
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

    The rows are shuffled and split into as many disjoint data sets as possible, each with its own test point. In each
    data set, the learner is fitted to all rows and to all but the last, with the same seed.

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
        How far a prediction may change, in the units of the prediction.
    delta : float
        The probability with which it may change more than that.
    n_samples : int
        The number of training rows in each data set.
    alpha : float, default=0.05
        The largest probability of declaring an unstable learner stable.
    X_unlabelled : like X or None, default=None
        More rows, without targets, to use as test points.
    n_jobs : int or None, default=None
        The number of fits in parallel.
    random_state : None, int, RandomState or Generator, default=None
        Determines the order of the rows, the learner's seeds and the verdict at the critical number.

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
    row changed the prediction at a new point by more than 20.
    If the rows are independent draws from one distribution, a learner that does so with probability
    above 0.1 is declared stable with probability at most 0.05. One that never does is declared
    stable with probability 0.1433. With these rows, no test that is valid for every learner and
    distribution could do better than 0.1557.
    Running a learner reveals little about its stability. Bagging makes a learner stable by
    construction: see certify.
    """
    owner = "stability_test"
    check_jobs(n_jobs, owner)
    epsilon = check_real(epsilon, "epsilon", owner, reason="it is how far a prediction may change, in its own units.")
    reason = "it is the probability with which a prediction may change by more than epsilon, such as 0.1."
    delta = check_real(delta, "delta", owner, high=1.0, reason=reason)
    alpha = check_real(alpha, "alpha", owner, high=1.0)
    n = check_samples(n_samples, owner)
    check_learner(estimator, owner)
    X, y = as_table(X, "X", owner), one_column(y, owner, "test one column at a time.", warn=False)
    check_consistent_length(X, y)
    if not is_classifier(estimator):
        y = as_reals(y, "y", owner, "numbers")
        assert_all_finite(y, input_name="y", estimator_name=type(estimator).__name__)
    if X_unlabelled is not None:
        X_unlabelled = as_table(X_unlabelled, "X_unlabelled", owner)
        if X_unlabelled.shape[1] != X.shape[1]:
            reason = "it must have the same columns as X."
            expected = f"a table with {X.shape[1]} columns"
            raise refuse_value("X_unlabelled", owner, expected, X_unlabelled.shape[1], reason)
    n_unlabelled = 0 if X_unlabelled is None else X_unlabelled.shape[0]
    n_sets = min(len(y) // n, (len(y) + n_unlabelled) // (n + 1))
    if n_sets == 0:
        reason = f"{len(y)} rows are too few for a data set of this size and a test point. Use a smaller n_samples."
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
    """Return how far leaving out the last row of each set changes the prediction at the set's own point."""
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
    with np.errstate(over="ignore"):  # an overflow to infinity exceeds any epsilon, which is correct
        changes = np.abs(predictions[0] - predictions[1])
    return np.asarray(changes.reshape(len(sets), -1).max(axis=1))


def _finite(predictions: np.ndarray, estimator: Any) -> np.ndarray:
    if not np.isfinite(predictions).all():
        number = int(np.argwhere(~np.isfinite(predictions))[0][0])
        raise ValueError(
            f"{type(estimator).__name__} predicted NaN or infinity on data set {number}, so the change is undefined. "
            "Test a learner that clips its predictions."
        )
    return predictions


def _critical(n_sets: int, delta: float, alpha: float) -> tuple[int, float]:
    """Return the critical number, and the probability of declaring stability there: the level at delta is alpha."""
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
