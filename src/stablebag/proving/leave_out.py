"""Leaving out k rows at once: how far the bagged prediction changes, on average over sets of k rows and at most.

Everything follows from the chances that a bag avoids given rows. They are computed in logarithms, so leaving out a
million of a billion rows takes no longer than one of ten (docs/proofs.md, 15).
"""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import as_fraction, check_bags, check_delta, check_epsilon, check_integer, refuse_value
from stablebag._wording import ROWS, Explained, Noun, as_given, count_bags, number, paragraphs, rounded_up
from stablebag.proving.coupling import Coupling, Matched, with_shift
from stablebag.proving.outputs import AdaptiveOutputs
from stablebag.proving.scope import Quantity
from stablebag.resampling.components import MOST_LISTED, Components, log_chances, of_any_law
from stablebag.resampling.law import ResolvedScheme


@dataclass(frozen=True)
class LeaveOut:
    """Bounds on the change without k rows, for outputs in an interval of length 1; made by `leave_out`.

    Attributes
    ----------
    law : ResolvedScheme
        The law of the bags of all rows.
    k : int
        The number of rows that are left out.
    parts : Components
        Bias and noise by component, per unit of variance, for matched bags.
    constant : float
        The largest mean over sets of k rows of the squared change, per unit of variance, for infinitely many bags.
    worst_case : float
        The largest change by any k rows, for infinitely many bags: the chance that a bag has one of them.
    """

    law: ResolvedScheme
    k: int
    parts: Components
    constant: float
    worst_case: float

    def mean_square(self, n_bags: float = math.inf) -> float:
        """Bound the mean over sets of k rows of the expected squared change, with this many matched bags."""
        n_bags = check_bags(n_bags, "mean_square")
        if math.isinf(n_bags):
            return self._derandomized
        noise = min(self.parts.limit, self.parts.top / 4)
        apart = (1 - 1 / n_bags) * self._derandomized + noise / n_bags
        return min(float(self.parts.mean_square(n_bags)), apart)

    def epsilon(self, delta: float, n_bags: float = math.inf) -> float:
        """Return the change that at most a share `delta` of the sets of k rows exceeds."""
        delta = check_delta(delta, "epsilon")
        most = self.worst_case if math.isinf(n_bags) else 1.0
        return most if delta == 0 else min(most, math.sqrt(self.mean_square(n_bags) / delta))

    def of_outputs(self, diameter: float, n_bags: float, coupling: Coupling, shift: float = 0.0) -> float:
        """Bound the mean square for outputs within 1/2 of a point that are at most `diameter` apart.

        Bags without rows may change the average by a `shift` for another reason.
        """
        derandomized = min(self.constant / 4, (self.worst_case * diameter) ** 2)
        if diameter == 1:
            derandomized = self._derandomized
        if math.isinf(n_bags):
            return (math.sqrt(derandomized) + shift) ** 2
        if not isinstance(coupling, Matched):
            return float(coupling.mean_square((math.sqrt(derandomized) + shift) ** 2, n_bags))
        limit = self.parts.limit * diameter**2
        apart = (1 - 1 / n_bags) * derandomized + min(limit, self.parts.top / 4) / n_bags
        return float(with_shift(min(self.parts.mean_square(n_bags, limit=limit), apart), n_bags, shift, 1.0))

    def of_variance(self, variance: Any, n_bags: float = math.inf, limit: float | None = None) -> Any:
        """Bound the mean square by the variance of a bag's output over bags, at a point or for vectors."""
        return self.parts.mean_square(n_bags, variance, limit)

    @cached_property
    def _derandomized(self) -> float:
        return min(self.constant / 4, _by_steps(self.law, self.k) / 4, self.worst_case**2)


def leave_out(law: ResolvedScheme, k: int) -> LeaveOut:
    """Return bounds on the change without k rows, for a law that treats all rows alike.

    The bags without the k rows follow the law of the other rows with the same bag size, or the same rate. On average
    over all sets of k rows, the squared change is at most `constant` times the variance of a bag's output.

    Parameters
    ----------
    law : ResolvedScheme
        The law of the bags of all rows.
    k : int
        The number of rows that are left out.

    Returns
    -------
    LeaveOut

    Examples
    --------
    >>> from stablebag import Subbagging
    >>> found = leave_out(Subbagging(1000).resolve(10_000), k=100)
    >>> round(found.constant, 9), round(found.epsilon(0.1), 8)
    (0.001122334, 0.05297014)
    """
    owner = "leave_out"
    k = check_integer(k, "k", owner, minimum=1)
    if not law.is_symmetric:
        reason = "its bags of the other rows would depend on which rows leave."
        raise refuse_value("law", owner, "one that treats all rows alike", str(law), reason)
    avoids = _log_avoidance(law, k) if k < law.n_samples else -math.inf
    if avoids == -math.inf:
        reason = f"no bag of {law}, avoids {k:,} given rows. Use fewer rows or smaller bags."
        raise refuse_value("k", owner, "small enough that a bag can avoid these rows", k, reason)
    worst = -math.expm1(avoids)
    parts = law.matched_components() if k == 1 else law.components_without(k, worst)
    if parts is None:
        parts = of_any_law(_largest_bias(law, k), worst)
    return LeaveOut(law, k, parts, parts.bias, worst)


# -------------------------------------------------------------------------------------------------------- certificates


@dataclass(frozen=True, eq=False)
class LeaveOutCertificate(Explained):
    """A guarantee for leaving out several random rows at once.

    Made by `Certificate.leave_out`. All sets of k rows are equally likely to leave. For chosen rows, such as the
    oldest, only the worst case holds. With finitely many bags, the chance is also over the draw of bags and seeds.

    Attributes
    ----------
    certificate : Certificate
        The guarantee for one row.
    proved : LeaveOut
        The bounds for outputs in an interval of length 1.
    delta_range : float
        A bound on the share of the sets of k rows whose removal changes the range of predictions.
    shift : float
        How far bags without rows can change the average of a classifier when classes are gone.

    Examples
    --------
    >>> from stablebag import Certificate, Subbagging
    >>> certificate = Certificate(Subbagging(44), n_samples=442, n_bags=1000, coupling="matched")
    >>> print(certificate.leave_out(22).explain(delta=0.1))
    At any test point, leaving out 22 random rows changes the prediction by more than 0.1215 with
    a chance of at most 0.1. The chance is over which rows leave, and over the draw of bags and
    seeds. This holds for every learner and every data set of 442 rows, if both fits have the same
    seed and row IDs, so that bags without the row stay the same.
    Proved by mean squares over all sets of 22 rows and second moments of the bags. Setting:
    subbagging, 44 of 442 rows (p = 0.09955, q = 0.000203); 1,000 bags; predictions in a range of
    length 1.
    Chosen rows, such as the oldest, can change it by more. With infinitely many bags, no 22 rows
    change it by more than 0.9063 (the chance that a bag has one of them).
    """

    certificate: Any
    proved: LeaveOut
    delta_range: float = 0.0
    shift: float = 0.0

    @classmethod
    def of(cls, certificate: Any, k: int) -> "LeaveOutCertificate":
        """Return the guarantee for `k` rows, given that for one."""
        k = check_integer(k, "k", "Certificate.leave_out", minimum=1)
        outputs, law, noun = certificate.outputs, certificate.scheme, certificate.noun
        proved, changing, shift = leave_out(law, k), 0.0, 0.0
        if isinstance(outputs, AdaptiveOutputs):
            known = outputs.delta_range if k == 1 else outputs.share_of_sets(law.n_samples, k)
            if known is None:
                raise ValueError(
                    f"leave_out({k}) needs to know how many {noun.plural} move the range of predictions. That is known "
                    "for certify(model) and Certificate.for_targets with ObservedRange or TrimmedRange. Otherwise use "
                    "prediction_range=FixedRange(low, high)."
                )
            changing = known
        if outputs.quantity in (Quantity.CLASS, Quantity.VECTOR) and law.empty_probability > 0:
            # The bags without these k rows that have no rows at all, and give the classes that are left more.
            empty = min(1.0, law.empty_probability / (1 - proved.worst_case)) if proved.worst_case < 1 else 1.0
            shift = empty * outputs.diameter
        return cls(certificate, proved, changing, shift)

    @property
    def k(self) -> int:
        """The number of rows that are left out."""
        return self.proved.k

    @property
    def n_samples(self) -> int:
        """The number of training rows."""
        return int(self.certificate.n_samples)

    @property
    def range_length(self) -> float:
        """The largest distance between two predictions."""
        return float(self.certificate.range_length)

    def epsilon(self, delta: float) -> float:
        """Return the change that at most a share `delta` of the sets of k rows exceeds.

        Parameters
        ----------
        delta : float
            A share of all sets of k rows, in [0, 1]. With finitely many bags, it is a chance.

        Returns
        -------
        float
            In the units of the prediction.
        """
        delta = check_delta(delta, "LeaveOutCertificate.epsilon")
        if self.k == 1:
            return float(self.certificate.epsilon(delta))
        if delta == 1 or delta <= self.delta_range:
            return 0.0 if delta == 1 else self.worst_case()
        return min(self.worst_case(), self._rms_of_free_sets / math.sqrt(delta - self.delta_range))

    def delta(self, epsilon: float) -> float:
        """Return the largest share of sets of k rows that can change the prediction by more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A change, in the units of the prediction.

        Returns
        -------
        float
        """
        epsilon = check_epsilon(epsilon, "LeaveOutCertificate.delta")
        if self.k == 1:
            return float(self.certificate.delta(epsilon))
        if epsilon >= self.worst_case():
            return 0.0
        root = self._rms_of_free_sets
        return 1.0 if root >= epsilon else min(1.0, (root / epsilon) ** 2 + self.delta_range)

    def mean(self) -> float:
        """Return a bound on the mean change over sets of k rows."""
        return float(self.certificate.mean()) if self.k == 1 else self.rms()

    def rms(self) -> float:
        """Return a bound on the root of the mean over sets of k rows of the expected squared change."""
        if self.k == 1:
            return float(self.certificate.rms())
        return min(
            self.range_length, math.hypot(self._rms_of_free_sets, math.sqrt(self.delta_range) * self.range_length)
        )

    def worst_case(self) -> float:
        """Return the change that no k rows exceed, whichever they are; with finitely many bags, the range."""
        if self.k == 1:
            return float(self.certificate.worst_case())
        is_better = math.isinf(self.certificate.n_bags) and self.delta_range == 0
        return self._of_all_bags if is_better else self.range_length

    def explain(self, delta: float = 0.05) -> str:
        """Explain in sentences what is guaranteed for a share `delta` of the sets of k rows.

        Parameters
        ----------
        delta : float, default=0.05
            A share of all sets of k rows, in [0, 1].

        Returns
        -------
        str
        """
        of, epsilon = self.certificate, self.epsilon(check_delta(delta, "LeaveOutCertificate.explain"))
        noun, k, drawn = of.noun, self.k, math.isfinite(of.n_bags)
        several = f"{k:,} {noun.plural if k > 1 else noun.singular}"
        changed = f"{of.outputs.moved} more than {rounded_up(epsilon)}{of.outputs.unit}"
        over = (
            f"which {noun.plural} leave, and over the draw of bags and seeds" if drawn else f"which {noun.plural} leave"
        )
        guarantee = (
            f"At any test point, leaving out {k:,} random {noun.plural if k > 1 else noun.singular} changes {changed} "
            f"with a chance of at most {as_given(delta)}. The chance is over {over}. {of.holds_for()}"
        )
        if epsilon >= self.range_length > 0:
            guarantee = f"Nothing is guaranteed for delta = {as_given(delta)}. Use a larger delta, or smaller bags."
        bags = " and second moments of the bags" if drawn else ""
        proof = of.best(delta).proof.sentence if k == 1 else f"Proved by mean squares over all sets of {several}{bags}."
        sentences = [guarantee, f"{proof} Setting: {of.describe_setting()}."]
        kept = " that leave the range as it is" if self.delta_range > 0 else ""
        if self._of_all_bags < self.range_length:
            sentences.append(
                f"Chosen {noun.plural}, such as the oldest, can change it by more. With infinitely many bags, no "
                f"{several}{kept} {'change' if k > 1 else 'changes'} it by more than "
                f"{rounded_up(self._of_all_bags)}{of.outputs.unit} (the chance that a bag has "
                f"{'one of them' if k > 1 else 'it'})."
            )
        if self.delta_range > 0 and k > 1:
            sentences.append(
                f"At most {as_given(float(100 * as_fraction(self.delta_range)))}% of the sets of {several} change the "
                "range of predictions. They are counted as changing the prediction."
            )
        if self.shift > 0 and k > 1:
            sentences.append(
                f"The bounds include {rounded_up(self.shift * of.outputs.width)} for bags without {noun.plural}, which "
                "give all remaining classes the same probability. Subbagging and classical bagging have no such bags."
            )
        return paragraphs(sentences)

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as a dictionary for JSON."""
        return {**self.certificate.to_dict(), "about": "random rows left out together", "n_left_out": self.k}

    @property
    def _of_all_bags(self) -> float:
        """The largest change with infinitely many bags by any k rows that leave the range as it is."""
        outputs = self.certificate.outputs
        largest = min(outputs.diameter, self.proved.worst_case * outputs.diameter + self.shift)
        return float(largest * outputs.width)

    @property
    def _rms_of_free_sets(self) -> float:
        """The bound on the root mean square over the sets of k rows that leave the range as it is."""
        outputs, coupling, n_bags = self.certificate.outputs, self.certificate.coupling, self.certificate.n_bags
        square = self.proved.of_outputs(outputs.diameter, n_bags, coupling, self.shift)
        return float(min(outputs.diameter, math.sqrt(square)) * outputs.width)


# -------------------------------------------------------------------------------------------------------- two versions


@dataclass(frozen=True)
class BetweenVersions:
    """Bounds on the change between two versions of a data set, for outputs in an interval of length 1.

    Made by `between_versions`.

    Attributes
    ----------
    changed_bags : float
        The chance that a bag differs between the versions.
    random_rows : float
        The mean squared change with infinitely many bags, if chance alone decides which rows are gone and new.
    worst_case : float
        The largest change with infinitely many bags, whichever rows are gone and new.
    """

    changed_bags: float
    random_rows: float
    worst_case: float

    def mean_square(self, n_bags: float = math.inf, *, random_rows: bool = True) -> float:
        """Bound the expected squared change with this many matched bags; for any rows if not `random_rows`."""
        n_bags = check_bags(n_bags, "mean_square")
        square = min(self.random_rows, self.worst_case**2) if random_rows else self.worst_case**2
        return square if math.isinf(n_bags) else (1 - 1 / n_bags) * square + self.changed_bags / n_bags

    def epsilon(self, delta: float, n_bags: float = math.inf, *, random_rows: bool = True) -> float:
        """Return the change that is exceeded with a chance of at most `delta`."""
        delta = check_delta(delta, "epsilon")
        most = self.worst_case if math.isinf(n_bags) else 1.0
        root = math.sqrt(self.mean_square(n_bags, random_rows=random_rows))
        return most if delta == 0 else min(most, root / math.sqrt(delta))


def between_versions(law: ResolvedScheme, n_gone: int, n_new: int) -> BetweenVersions:
    """Return how far a prediction changes if some rows are gone and others are new, with the same seed and row IDs.

    The law is that of the first version. Bags of the second version have the same size, or rows the same rate. The
    bound `random_rows` assumes that each row of both versions is as likely as any other to be gone or new. That is
    random churn; it is false for rows that were chosen.

    Parameters
    ----------
    law : ResolvedScheme
        The law of the bags of the first version.
    n_gone : int
        The number of its rows that are gone in the second version.
    n_new : int
        The number of new rows in the second version.

    Returns
    -------
    BetweenVersions

    Examples
    --------
    >>> from stablebag import Subbagging
    >>> found = between_versions(Subbagging(5_000).resolve(10_000), n_gone=100, n_new=100)
    >>> round(found.epsilon(0.1), 4), round(found.worst_case, 4)
    (0.2225, 1.0)
    """
    owner = "between_versions"
    n_gone = check_integer(n_gone, "n_gone", owner, minimum=0)
    n_new = check_integer(n_new, "n_new", owner, minimum=0)
    if not law.is_symmetric:
        reason = "its bags of the other rows would depend on which rows are gone."
        raise refuse_value("law", owner, "one that treats all rows alike", str(law), reason)
    fixed = law.scheme.without_one(law.n_samples)  # the bag size as a number of rows, or the rate
    both, second = (fixed.resolve(law.n_samples + more) for more in (n_new, n_new - n_gone))
    if n_gone + n_new == 0:
        return BetweenVersions(0.0, 0.0, 0.0)
    changed = -math.expm1(_log_avoidance(both, n_gone + n_new))
    first_step = leave_out(law, n_gone) if n_gone else None
    second_step = leave_out(second, n_new) if n_new else None
    worst = max(step.worst_case for step in (first_step, second_step) if step)
    roots = [math.sqrt(step.mean_square()) for step in (first_step, second_step) if step]
    square = sum(roots) ** 2
    if (m := both.subset_size) is not None:
        n = both.n_samples
        gone, new = n_gone / (n - n_gone), n_new / (n - n_new)
        square = min(square, m / (n - m) * (gone + new + 2 * gone * new) / 4)
    return BetweenVersions(changed, square, worst)


@dataclass(frozen=True, eq=False)
class VersionsCertificate(Explained):
    """The guarantee for the change of a prediction between two versions, for every learner and every test point.

    It is the attribute `guarantee` of `Versions`. There are two bounds. One holds if chance alone decided which rows
    left and came; the other holds for any rows.

    Attributes
    ----------
    law : ResolvedScheme
        The law of the bags of the old version.
    n_left : int
        How many of its rows, or groups, left.
    n_came : int
        How many of the new version's rows, or groups, came.
    n_bags : float
        The number of bags of each version; infinite if all possible bags are averaged.
    range_length : float
        The largest distance between two predictions.
    noun : Noun
        What left and came.

    Examples
    --------
    >>> from stablebag import Subbagging
    >>> proved = VersionsCertificate(Subbagging(1000).resolve(10_000), n_left=100, n_came=100)
    >>> round(proved.epsilon(0.1), 4), round(proved.worst_case(), 4)
    (0.0745, 1.0)
    """

    law: ResolvedScheme
    n_left: int
    n_came: int
    n_bags: float = math.inf
    range_length: float = 1.0
    noun: Noun = ROWS
    _proved: BetweenVersions = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_proved", between_versions(self.law, self.n_left, self.n_came))

    def epsilon(self, delta: float) -> float:
        """Return the change that is exceeded with a chance of at most `delta`, if which rows left and came was random.

        Parameters
        ----------
        delta : float
            A chance, in [0, 1]: over the rows that left and came and, with finitely many bags, over the draw of bags.

        Returns
        -------
        float
            In the units of the prediction.
        """
        return self.range_length * self._proved.epsilon(check_delta(delta, "VersionsCertificate.epsilon"), self.n_bags)

    def epsilon_of_any_rows(self, delta: float) -> float:
        """Return the change that is exceeded with a chance of at most `delta`, whichever rows left and came.

        Parameters
        ----------
        delta : float
            A chance, in [0, 1], over the draw of the bags.

        Returns
        -------
        float
            In the units of the prediction. With infinitely many bags it is the worst case, whatever the chance.
        """
        delta = check_delta(delta, "VersionsCertificate.epsilon_of_any_rows")
        if math.isinf(self.n_bags):
            return self.worst_case()
        return self.range_length * self._proved.epsilon(delta, self.n_bags, random_rows=False)

    def worst_case(self) -> float:
        """Return the change that is never exceeded with infinitely many bags, whichever rows left and came."""
        return self.range_length * self._proved.worst_case

    def explain(self, delta: float = 0.05) -> str:
        """Explain both bounds in sentences.

        Parameters
        ----------
        delta : float, default=0.05
            A chance, in [0, 1].

        Returns
        -------
        str
        """
        delta = check_delta(delta, "VersionsCertificate.explain")
        drawn, rows = math.isfinite(self.n_bags), self.noun.plural
        over = f"these {rows} and the draw of bags and seeds" if drawn else f"these {rows}"
        left, came = self.noun.count(self.n_left), f"{self.n_came:,}"
        sizes = f"{self.law}; {left} left and {came} came; {count_bags(self.n_bags)} in each version"
        sentences = [
            f"If which {rows} left and came was random (each {self.noun.singular} of both versions as likely as any "
            f"other): the chance, over {over}, that a prediction changes by more than "
            f"{rounded_up(self.epsilon(delta))} is at most {as_given(delta)}.",
            f"Whichever {rows} left and came, chosen or not: with infinitely many bags, no prediction changes by more "
            f"than {rounded_up(self.worst_case())}.",
        ]
        if drawn:
            sentences[1] += (
                f" With {count_bags(self.n_bags)}, the chance over their draw and seeds of a change by more than "
                f"{rounded_up(self.epsilon_of_any_rows(delta))} is at most {as_given(delta)}."
            )
        if self.range_length and rounded_up(self.worst_case()) == rounded_up(self.range_length):
            sentences[1] += " That is the whole range, so nothing is promised about chosen rows."
        sentences.append(
            f"Both hold for every learner and every test point ({sizes}; predictions in a range of length "
            f"{number(self.range_length)})."
        )
        return paragraphs(sentences)

    def in_short(self, delta: float = 0.05) -> str:
        """Say both bounds in two sentences.

        Parameters
        ----------
        delta : float, default=0.05
            A chance, in [0, 1].

        Returns
        -------
        str
        """
        delta = check_delta(delta, "VersionsCertificate.in_short")
        epsilon, most, rows = self.epsilon(delta), self.epsilon_of_any_rows(delta), self.noun.plural
        if self.n_left + self.n_came == 0:
            return f"With the same {rows}, no prediction changes."
        chance = "the chance of a change by more than"
        if epsilon >= self.range_length:
            return f"Nothing is guaranteed for a chance of {as_given(delta)} with bags of this size and number."
        first = (
            f"If which {rows} left and came was random, {chance} {rounded_up(epsilon)} is guaranteed to be at most "
            f"{as_given(delta)}."
        )
        if most >= self.range_length * (1 - 1e-9):
            return f"{first} Nothing is guaranteed about {rows} that were chosen."
        if math.isinf(self.n_bags):
            return f"{first} Whichever {rows} left and came, no prediction changes by more than {rounded_up(most)}."
        second = f"{chance} {rounded_up(most)} is at most {as_given(delta)}, over the draw of bags"
        return f"{first} Whichever {rows} left and came: {second}."

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as a dictionary that JSON takes."""
        return {
            "about": "two versions of a data set, with the same seed and row IDs",
            "bags": str(self.law),
            "n_left": self.n_left,
            "n_came": self.n_came,
            "n_bags": None if math.isinf(self.n_bags) else int(self.n_bags),
            "range_length": self.range_length,
            "if_rows_were_random": {str(delta): self.epsilon(delta) for delta in (0.01, 0.05, 0.1)},
            "whichever_rows": {str(delta): self.epsilon_of_any_rows(delta) for delta in (0.01, 0.05, 0.1)},
            "worst_case_of_infinitely_many_bags": self.worst_case(),
        }


# --------------------------------------------------------------------------------------------------------- the chances


def _log_avoidance(law: ResolvedScheme, n_rows: int) -> float:
    """Return the logarithm of the chance that a bag has none of this many given rows."""
    found = law.log_avoidance(n_rows)
    if found is None:
        reason = "define count_law in your scheme, which says how many of some rows are in a bag."
        raise refuse_value("law", "leave_out", "one whose bags are known", str(law), reason)
    return found


def _log_ratio(law: ResolvedScheme, k: int, common: np.ndarray) -> np.ndarray:
    """log of the chance to avoid two sets of k rows with this many in common, over the squared chance to avoid one."""
    known = law.log_joint_avoidance(k, common)
    if known is not None:
        return known
    once = _log_avoidance(law, k)
    return np.array([_log_avoidance(law, int(2 * k - x)) - 2 * once for x in common])


def _largest_bias(law: ResolvedScheme, k: int) -> float:
    """The largest mean square per unit of variance: of components 0 and 1, which no other exceeds."""
    n = law.n_samples
    if k > MOST_LISTED:
        return math.inf
    common = np.arange(max(0, 2 * k - n), k + 1, dtype=float)
    x = common[:-1]
    logs = log_chances(np.log((k - x) / (x + 1) * (k - x) / (n - 2 * k + x + 1)))
    ratio = _log_ratio(law, k, common)
    small = ratio < 30
    excess = np.exp(np.minimum(logs + np.where(small, 0.0, ratio), 700.0))
    excess[small] *= np.expm1(ratio[small])
    centred = (common - k * (k / n)) * (n / k / (n - k))
    both = float(excess.sum()), float((centred * excess).sum())
    return max(0.0, *both) * (1 + 1e-9) if max(both) < 1e200 else math.inf


def _by_steps(law: ResolvedScheme, k: int) -> float:
    """The mean square of k steps of one row each, by Minkowski's inequality, times four; for outputs in [0, 1]."""
    constants = law.constants_by_steps(k) if k <= MOST_LISTED else None
    return math.inf if constants is None else float(np.sqrt(constants).sum()) ** 2 * (1 + 1e-12)
