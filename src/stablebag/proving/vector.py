"""Certificates for vectors, such as a classifier's probabilities of all classes together, in Euclidean distance."""

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import (
    as_share,
    check_bags,
    check_delta,
    check_epsilon,
    check_integer,
    check_real,
    check_samples,
    refuse_value,
    whole_rows,
)
from stablebag._wording import ROWS, Noun, as_given, at_most, count_bags, paragraphs, rounded_up
from stablebag.learning.ranges import ObservedRange
from stablebag.proving import bounds
from stablebag.proving.box_changes import BoxChanges
from stablebag.proving.certificate import at_most_rows, first_step, law_to_dict, numbers_of
from stablebag.proving.coupling import Coupling, as_coupling
from stablebag.proving.labels import Labels
from stablebag.proving.outputs import about_empty_bags, such_classes
from stablebag.proving.price import about_bags, price_of_bags
from stablebag.proving.proof import ALL_ROWS, PROPOSITION_5, TRIVIAL, Bound, Proof
from stablebag.proving.protocol import Spoken
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.resampling.scheme import ResolvedScheme
from stablebag.resampling.schemes import Scheme, as_law
from stablebag.resampling.stratified import with_labels


@dataclass(frozen=True, init=False)
class VectorCertificate(Spoken):
    """What is proved about bagging any learner whose outputs are vectors, for every data set and every test point.

    As `Certificate`, with the Euclidean distance between the predictions with and without a row in place of a
    difference of numbers. For one class or output `Certificate` is sharper; for all of them jointly, this is.

    Parameters
    ----------
    scheme : ResamplingScheme
        How bags are drawn. It is kept resolved for `n_samples`.
    n_samples : int
        The number of training rows.
    n_bags : int or math.inf, default=inf
        The number of bags; ``math.inf`` stands for derandomized bagging.
    radius : float, default=1.0
        All outputs are within this distance of some point: sqrt(1 - 1 / L) for the probabilities of L classes.
    diameter : float or None, default=None
        The largest distance between two outputs: sqrt(2) for class probabilities. None stands for twice the radius.
    coupling : {"any", "independent", "matched"}, default="any"
        As in `Certificate`.
    shift : float, default=0.0
        How far bags without rows alone can move the average of a classifier when a class loses its only row.
    shifted_share : float, default=0.0
        The share of the rows that may be the only ones of their class.
    noun : Noun, default=ROWS
        What is left out, for sentences, as in `Certificate`.
    box : BoxChanges or None, default=None
        If the outputs are clipped to a box that is taken from the targets: which rows change it.

    Examples
    --------
    >>> from stablebag import Subbagging, VectorCertificate
    >>> certificate = VectorCertificate.for_classes(Subbagging(0.5), n_samples=500, n_classes=10)
    >>> round(certificate.delta(0.1), 4)  # of 500 rows, 90
    0.18
    >>> print(certificate.explain(delta=0.1))
    For every learner, every data set of 500 rows and every test point: at most 50 of the 500 rows
    (delta = 0.1) move the vector of outputs by a distance of more than 0.133 when left out.
    Proved by mean squares, counting whole rows (subbagging, 250 of 500 rows: p = 0.5, q =
    0.000501; infinitely many bags; outputs within 0.9487 of a point).
    """

    scheme: ResolvedScheme
    n_samples: int
    n_bags: int | float
    radius: float
    diameter: float
    coupling: Coupling
    shift: float
    shifted_share: float
    noun: Noun
    box: BoxChanges | None

    def __init__(
        self,
        scheme: Scheme,
        n_samples: int,
        n_bags: int | float = math.inf,
        *,
        radius: float = 1.0,
        diameter: float | None = None,
        coupling: Coupling | str = "any",
        shift: float = 0.0,
        shifted_share: float = 0.0,
        noun: Noun = ROWS,
        box: BoxChanges | None = None,
    ) -> None:
        owner = "VectorCertificate"
        n_samples = check_samples(n_samples, owner)
        radius = check_real(radius, "radius", owner, finite=True)
        diameter = 2 * radius if diameter is None else check_real(diameter, "diameter", owner)
        if diameter > 2 * radius:
            reason = "two points within a radius of a third are at most twice that apart."
            raise refuse_value("diameter", owner, f"at most 2 * radius={2 * radius:g}", diameter, reason)
        shift = check_real(shift, "shift", owner, high=diameter)
        shifted_share = check_delta(shifted_share, owner, name="shifted_share")
        law = as_law(scheme, n_samples, owner)
        unit = 2 * radius or 1.0
        shift, shifted_share = (shift, shifted_share) if shift > 0 and shifted_share > 0 else (0.0, 0.0)
        about = {"diameter": diameter / unit, "shift": shift / unit, "shifted_share": shifted_share}
        values = {
            "scheme": law,
            "n_samples": n_samples,
            "n_bags": check_bags(n_bags, owner),
            "radius": radius,
            "diameter": diameter,
            "coupling": as_coupling(coupling, owner, law, **about),
            "shift": shift,
            "shifted_share": shifted_share,
            "noun": noun,
            "box": box,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def for_classes(
        cls,
        scheme: Scheme,
        n_samples: int,
        n_classes: int,
        n_bags: int | float = math.inf,
        *,
        coupling: Coupling | str = "any",
    ) -> "VectorCertificate":
        """Return the certificate of the vector of class probabilities, or of votes, whatever the sizes of the classes.

        Parameters
        ----------
        scheme : ResamplingScheme
            How bags are drawn.
        n_samples : int
            The number of training rows.
        n_classes : int
            The number of classes.
        n_bags : int or math.inf, default=inf
            The number of bags; ``math.inf`` stands for derandomized bagging.
        coupling : {"any", "independent", "matched"}, default="any"
            As in `Certificate`.

        Returns
        -------
        VectorCertificate
        """
        owner = "VectorCertificate.for_classes"
        n_classes = check_integer(n_classes, "n_classes", owner, minimum=1)
        return cls._of_classes(as_law(scheme, n_samples, owner), n_classes, 1.0, n_bags, coupling)

    @classmethod
    def for_labels(
        cls,
        scheme: Scheme,
        y: Any,
        n_bags: int | float = math.inf,
        *,
        coupling: Coupling | str = "any",
        groups: Any = None,
    ) -> "VectorCertificate":
        """Return the certificate of the vector of class probabilities of a classifier fitted to these labels.

        Parameters
        ----------
        scheme : ResamplingScheme
            How bags are drawn; stratified ones without strata of their own have the classes as strata.
        y : array-like of shape (n_samples,)
            The labels of the training rows.
        n_bags : int or math.inf, default=inf
            The number of bags; ``math.inf`` stands for derandomized bagging.
        coupling : {"any", "independent", "matched"}, default="any"
            As in `Certificate`.
        groups : sequence of int or labels, of length n_samples, default=None
            The unit of each row, if units of several rows are left out, as in `fit`.

        Returns
        -------
        VectorCertificate
        """
        owner = "VectorCertificate.for_labels"
        labels = Labels.of(y, groups, owner)
        law = as_law(with_labels(scheme, y, labels.units), len(labels.units), owner)
        about = {"n_lost": labels.n_lost, "noun": labels.units.noun}
        return cls._of_classes(law, labels.n_classes, labels.share_lonely, n_bags, coupling, **about)  # type: ignore[arg-type]

    @classmethod
    def for_targets(
        cls,
        scheme: Scheme,
        y: Any,
        prediction_range: Any = ObservedRange(),  # noqa: B008 (frozen)
        n_bags: int | float = math.inf,
        *,
        coupling: Coupling | str = "any",
        groups: Any = None,
    ) -> "VectorCertificate":
        """Return the certificate of several outputs, each clipped to a range taken from its own targets.

        Parameters
        ----------
        scheme : ResamplingScheme
            How bags are drawn.
        y : array-like of shape (n_samples, n_outputs)
            The targets of the training rows.
        prediction_range : PredictionRange, callable or list of these, default=ObservedRange()
            The rule that turns the targets of an output into its interval, or one for each output.
        n_bags : int or math.inf, default=inf
            The number of bags; ``math.inf`` stands for derandomized bagging.
        coupling : {"any", "independent", "matched"}, default="any"
            As in `Certificate`.
        groups : sequence of int or labels, of length n_samples, default=None
            The unit of each row, if units of several rows are left out, as in `fit`.

        Returns
        -------
        VectorCertificate
        """
        units, length, box = BoxChanges.of_targets(y, prediction_range, groups, "VectorCertificate.for_targets")
        about = {"coupling": coupling, "noun": units.noun, "box": box}
        return cls(scheme, len(units), n_bags, radius=length / 2, **about)  # type: ignore[arg-type]

    @classmethod
    def _of_classes(
        cls,
        law: ResolvedScheme,
        n_classes: int,
        lonely: float,
        n_bags: int | float,
        coupling: Coupling | str,
        n_lost: int = 1,
        noun: Noun = ROWS,
    ) -> "VectorCertificate":
        """The certificate if a share of the rows may be the only ones of their class."""
        diameter = math.sqrt(2.0) if n_classes > 1 else 0.0
        shift = min(diameter, bounds.empty_bags_shift(law.empty_without_a_row, n_classes, n_lost, vector=True))
        about: dict[str, Any] = {"diameter": diameter, "shift": shift, "shifted_share": lonely, "noun": noun}
        return cls(law, law.n_samples, n_bags, radius=bounds.simplex_radius(n_classes), coupling=coupling, **about)

    def epsilon(self, delta: float) -> float:
        """Return the distance that at most a share `delta` of the rows can exceed.

        Parameters
        ----------
        delta : float
            A share of the training rows, in [0, 1].

        Returns
        -------
        float
        """
        return self._best(check_delta(delta, "VectorCertificate.epsilon")).value

    def delta(self, epsilon: float) -> float:
        """Return the share of rows that can move the outputs by a distance of more than `epsilon`.

        Parameters
        ----------
        epsilon : float
            A Euclidean distance.

        Returns
        -------
        float
        """
        epsilon = check_epsilon(epsilon, "VectorCertificate.delta")
        steps = self.n_samples if math.isinf(self.n_bags) else 2**50
        return first_step(0, steps, lambda step: self._best(step / steps).value <= epsilon) / steps

    def worst_case(self) -> float:
        """Return the distance that no row exceeds, including those that change the box to which outputs are clipped."""
        return max(self._most, self.reach)

    def mean(self) -> float:
        """Return a bound on the mean over rows of the expected distance."""
        return min(self.worst_case(), self._rms_of_free_rows + self.delta_range * self.reach)

    @property
    def scope(self) -> Scope:
        """What it is about."""
        rerun, n_bags = (Rerun.ALL, None) if math.isinf(self.n_bags) else (Rerun.ANEW, int(self.n_bags))
        coupling = None if n_bags is None else self.coupling.name
        law = self.scheme.fingerprint
        about = {"bags": law, "shift": self.shift, "coupling": coupling, "noun": self.noun}
        if self.box is None:
            return Scope(self.n_samples, Quantity.VECTOR, rerun, n_bags, **about)  # type: ignore[arg-type]
        about |= {"range_length": self.diameter, "delta_range": self.delta_range}
        return Scope(self.n_samples, Quantity.OUTPUTS, rerun, n_bags, **about)  # type: ignore[arg-type]

    @property
    def delta_range(self) -> float:
        """The share of rows whose removal changes the box to which outputs are clipped."""
        return 0.0 if self.box is None else self.box.share

    @property
    def reach(self) -> float:
        """How far such a row can move the outputs; zero if there is none."""
        return self.box.reach if self.box is not None and self.box.share > 0 else 0.0

    @property
    def range_length(self) -> float:
        """The largest distance between two outputs."""
        return self.diameter

    @property
    def such(self) -> str:
        """Which data sets the certificate is about, if not all."""
        such = such_classes(self.shift, self.shifted_share, self.scheme) if self.box is None else self.box.such
        return self.scheme.scheme.such + such

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as a dictionary that JSON takes."""
        return {
            **law_to_dict(self.scheme),
            "n_bags": None if math.isinf(self.n_bags) else self.n_bags,
            "radius": self.radius,
            "diameter": self.diameter,
            "shift": self.shift,
            "shifted_share": self.shifted_share,
            "coupling": self.coupling.name,
            "noun": asdict(self.noun),
            **({} if self.box is None else {"delta_range": self.delta_range, "reach": self.box.reach}),
        }

    def rms(self) -> float:
        """Return a bound on the root of the mean over rows of the expected squared distance."""
        return min(self.worst_case(), math.hypot(self._rms_of_free_rows, math.sqrt(self.delta_range) * self.reach))

    def explain(self, delta: float = 0.05) -> str:
        """Explain in sentences what is promised for a share `delta` of the rows.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        str
        """
        delta = check_delta(delta, "VectorCertificate.explain")
        bound = self._best(delta)
        moves = f"the vector of outputs by a distance of more than {rounded_up(bound.value)}"
        if math.isinf(bound.value) or bound.value >= self.diameter > 0:
            promise = f"nothing is promised for delta = {as_given(delta)}; the bound is vacuous."
        elif math.isinf(self.n_bags):
            promise = f"{at_most_rows(delta, self.n_samples)} {moves} when left out."
        else:
            promise = (
                f"the chance, over the draw of bags and seeds, that leaving out a row moves {moves} is at most "
                f"{as_given(delta)} on average over the rows."
            )
        law = self.scheme
        setting = (
            f"{law}: {numbers_of(law)}; {count_bags(self.n_bags)}; outputs within {at_most(self.radius)} of a point"
        )
        setting += "" if self.box is None else self.box.words(self.n_samples)
        sentences = [
            f"For every learner, every data set of {self.n_samples:,} rows{self.such} and every test point: {promise}",
            f"{bound.proof.sentence} ({setting}).",
            about_bags(lambda n_bags: self._with_bags(n_bags).epsilon(delta), self.n_bags, self.diameter),
            about_empty_bags(self.shift, self.shifted_share, self.n_samples),
        ]
        return paragraphs(self.noun.in_place_of_rows(sentence) for sentence in sentences if sentence)

    def price(self, delta: float = 0.05) -> tuple[float, int | None]:
        """Return what of epsilon is due to drawing finitely many bags, and how many would halve that.

        Parameters
        ----------
        delta : float, default=0.05
            A share of the training rows, in [0, 1].

        Returns
        -------
        price : float
        enough : int or None
            None if the bags are not drawn, or if no number tried is enough.
        """
        if math.isinf(self.n_bags):
            return 0.0, None
        return price_of_bags(lambda n_bags: self._with_bags(n_bags).epsilon(delta), self.n_bags)[1:]

    def _with_bags(self, n_bags: float) -> "VectorCertificate":
        sets = {"radius": self.radius, "diameter": self.diameter, "shift": self.shift}
        about = {"coupling": self.coupling, "shifted_share": self.shifted_share, "noun": self.noun, "box": self.box}
        return VectorCertificate(self.scheme, self.n_samples, n_bags, **sets, **about)  # type: ignore[arg-type]

    def without_rows_changing_range(self, delta: float) -> float:
        """Return what is left of a share of rows after those that change the box; below zero if nothing is."""
        return delta if self.box is None else self.box.left_of(delta, self.n_samples, math.isinf(self.n_bags))

    @property
    def _most(self) -> float:
        """How far a row that leaves the box unchanged can move the outputs."""
        most = self.diameter * (self.scheme.largest_inclusion if math.isinf(self.n_bags) else 1.0)
        return min(self.diameter, most + self.shift)

    @property
    def _rms_of_free_rows(self) -> float:
        """The bound on the root mean square over the rows that leave the box unchanged."""
        root = 2 * self.radius * bounds.mean_square_perturbation(self._constant, self.n_bags, self.coupling)
        return min(self._most, root)

    @cached_property
    def _constant(self) -> float:
        """The bagging constant c or, with a shift, what takes its place in the mean square."""
        in_radii = self.shift / (2 * self.radius) if self.shift else 0.0
        return bounds.shifted_constant(self.scheme.constant, in_radii, self.shifted_share)

    def _best(self, delta: float) -> Bound:
        """The smallest distance proved for a share `delta` of the rows."""
        if delta == 1:
            return Bound(0.0, ALL_ROWS)
        n, delta = self.n_samples, self.without_rows_changing_range(delta)
        if delta < 0:
            return Bound(self.worst_case(), TRIVIAL)
        worst_of_bags = min(self.diameter, self.scheme.largest_inclusion * self.diameter + self.shift)
        mean_squares = "mean squares" if self.scheme.is_symmetric else PROPOSITION_5

        def of_rows(rows: float) -> float:
            return min(worst_of_bags, self.radius * math.sqrt(n * self._constant / (rows + 1)))

        if math.isinf(self.n_bags):
            epsilon = of_rows(whole_rows(delta, n))
            proof = Proof(f"{mean_squares}, counting whole rows")
            if epsilon == worst_of_bags:
                one_row = "Theorem 14" if self.scheme.is_symmetric else "the chance of any row to be in a bag"
                proof = TRIVIAL if epsilon >= self.diameter else Proof(one_row)
            return Bound(epsilon, proof)
        proved = [Bound(self.diameter, TRIVIAL)]
        if delta > 0:
            squares = bounds.vector_epsilon(delta, self._constant, self.radius, self.n_bags, self.coupling)
            first = "" if self.scheme.is_symmetric else f"{PROPOSITION_5}, and "
            proved.append(Bound(squares, Proof(f"{first}second moments of the bags, {self.coupling.assumed}")))
            share = as_share(delta, n)
            for rows in {0, *(int(step) for step in np.geomspace(1, n, 60))}:  # the same for every delta
                rest = max(0.0, float(share) - rows / n)
                noise = bounds.vector_monte_carlo_radius(self.n_bags, rest, self.radius, self.diameter)
                tail = Proof(f"{mean_squares}, McDiarmid's inequality for the bags")
                proved.append(Bound(of_rows(rows) + noise, tail))
        return min(proved)
