"""What was measured in a setting of the paper, compared with the paper's claims."""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stablebag._wording import number, percent, rounded_up
from stablebag._writing import write_text
from stablebag.measuring.perturbations import Perturbations
from stablebag.paper.settings import Setting
from stablebag.proving.bounds import bagging_constant
from stablebag.proving.certificate import Certificate
from stablebag.proving.reused_bags import ReusedBagsCertificate
from stablebag.resampling.subbagging import Subbagging

_SLIGHTLY = 5.0  # a guarantee that is violated by less than this factor is slightly violated
_COMPARABLE = 3.0  # two learners whose shares of rows are within this factor are comparably stable


@dataclass(frozen=True)
class Claim:
    """What the paper says about a setting, and what was found.

    Attributes
    ----------
    setting : int
        The number of the setting.
    says : str
        What the paper says.
    found : str
        What was measured at the paper's test point.
    holds : bool
        Whether the two agree.
    over_points : str
        The same over all test points.
    """

    setting: int
    says: str
    found: str
    holds: bool
    over_points: str


@dataclass(frozen=True, eq=False)
class Result:
    """What was measured in one setting.

    Attributes
    ----------
    setting : Setting
        The setting.
    variant : str
        Whether the data are those of the paper's text or of its authors' script.
    seed : int
        The seed of the bags, the learners and the text's data.
    n_bags : int
        The number of bags.
    base : Perturbations
        The perturbations of the base learner, by refitting.
    bagged : Perturbations
        The perturbations of its subbagged version, by reusing the bags.
    literal : Perturbations or None
        The perturbations of the subbagged version by refitting on fresh bags, for some rows, if that was asked for.
    target_range : float
        The length of the observed range of the targets; 1 for probabilities.
    proved : ReusedBagsCertificate or None
        What is proved about the perturbations of the subbagged version, for the drawn bags and at these points.
    single_bags : ndarray of shape (n_single_bags, n_points) or None
        In Setting 2, the `excess` of the base learner fitted to the rows of a single bag, for the first bags.
    """

    setting: Setting
    variant: str
    seed: int
    n_bags: int
    base: Perturbations
    bagged: Perturbations
    literal: Perturbations | None
    target_range: float
    proved: ReusedBagsCertificate | None = None
    single_bags: np.ndarray | None = None

    @property
    def scale(self) -> np.ndarray:
        """The unit of the perturbations at each point: 1, or Range(D, x) estimated from the drawn bags."""
        if self.setting.classifies:
            return np.ones(len(self.bagged.prediction))
        return self.bagged.estimated_range

    def certificate(self, n_bags: int | float | None = None) -> Certificate:
        """Return what is proved about subbagging, in units of the range; `n_bags` is that of the run by default."""
        return Certificate(Subbagging(0.5), self.setting.n_samples, self.n_bags if n_bags is None else n_bags)

    def excess(self, perturbations: Perturbations) -> np.ndarray:
        """Return, at each point, the largest ratio of the measured share of rows to the share that Theorem 8 allows.

        The share of rows beyond epsilon jumps at each perturbation; just below the k-th largest it is k / n, where
        Theorem 8 allows c / (4 epsilon^2). If the ratio is above 1, the guarantee is violated by this factor.
        """
        return excess_of(perturbations.values / self.scale, self.setting.n_samples)

    def claims(self) -> list[Claim]:
        """Compare what the paper says about this setting with what was measured."""
        base, bagged = self.excess(self.base), self.excess(self.bagged)
        number = self.setting.number
        unstable, satisfied = "the base learner violates the guarantee", "the subbagged learner satisfies it"
        slightly = bagged[0] < base[0] and 1 < base[0] < _SLIGHTLY
        says, holds = {
            1: (unstable, base[0] > 1),
            2: ("the base learner is already stable", base[0] <= 1),
            3: ("the network slightly violates the guarantee, and subbagging improves on it", slightly),
            4: (unstable, base[0] > 1),
        }[number]
        claims = [
            Claim(number, says, _factor(base[0]), bool(holds), _spread(base)),
            Claim(number, satisfied, _factor(bagged[0]), bool(bagged[0] <= 1), _spread(bagged)),
        ]
        if number == 2:
            ratio = bagged / base
            comparable = 1 / _COMPARABLE <= ratio[0] <= _COMPARABLE
            over = f"{ratio.min():.2g} to {ratio.max():.2g} times"
            says = "the stability of subbagging is comparable to that of the base learner"
            claims.append(Claim(number, says, f"{ratio[0]:.2g} times the base learner's share", bool(comparable), over))
        if self.single_bags is not None:
            worst = self.single_bags.max(axis=1)
            found = f"{(self.single_bags[:, 0] > 1).sum()} of {len(worst)} bags violate it there"
            over = f"at the worst point {worst.min():.2g} to {worst.max():.2g} times what is allowed, by bag"
            claims.append(Claim(number, "each single bag is highly unstable", found, bool((worst > 1).all()), over))
        return claims

    def to_dict(self) -> dict[str, Any]:
        """Return every number of the result as a dictionary that JSON takes."""
        n, point = self.setting.n_samples, 0
        shares = [rows / n for rows in sorted({1, 2, 5, 10, 25, 50, 100, 250, n // 2}) if rows < n]
        limit, finite = self.certificate(math.inf), self.certificate()
        numbers: dict[str, Any] = {
            "setting": self.setting.number,
            "title": self.setting.title,
            "variant": self.variant,
            "seed": self.seed,
            "n_samples": n,
            "bag_size": n // 2,
            "n_bags": self.n_bags,
            "n_points": len(self.scale),
            "scale": self.scale.tolist(),
            "scale_is": "1" if self.setting.classifies else "Range(D, x), estimated from the drawn bags",
            "target_range": self.target_range,
            "guarantee": {
                "delta": shares,
                "theorem_8": [limit.epsilon(share, "paper") for share in shares],
                "exact": [limit.epsilon(share, "exact") for share in shares],
                "theorem_9": [finite.epsilon(share, "paper") for share in shares],
                "finitely_many_bags_drawn_anew": [finite.epsilon(share) for share in shares],
            },
        }
        for name, moved in (("base", self.base), ("subbagged", self.bagged)):
            epsilon, delta = moved.curve(over_points=None)
            numbers[name] = {
                "excess": self.excess(moved).tolist(),
                "prediction": moved.prediction.tolist(),
                "perturbations_by_point": (moved.values / self.scale).T.round(9).tolist(),
                "curve": {"epsilon": (epsilon / self.scale[point]).tolist(), "delta": delta[:, point].tolist()},
                "mean": (moved.mean() / self.scale).tolist(),
                "largest": (moved.max() / self.scale).tolist(),
            }
            if not self.setting.classifies:
                numbers[name]["excess_in_observed_range"] = self.excess_in_observed_range(moved).tolist()
        if self.literal is not None:
            rows = np.asarray(self.literal.rows)
            numbers["literal_refits"] = {
                "rows": rows.tolist(),
                "perturbations": (self.literal.values[:, point] / self.scale[point]).tolist(),
                "reused_bags": (self.bagged.values[rows, point] / self.scale[point]).tolist(),
            }
        if self.proved is not None:
            of_these = [(self.proved.epsilon(share) / self.scale)[point] for share in shares]
            numbers["guarantee"]["of_these_bags_at_the_papers_point"] = of_these
        if self.single_bags is not None:
            numbers["single_bags_excess"] = self.single_bags.tolist()
        numbers["claims"] = [vars(claim) for claim in self.claims()]
        return numbers

    def excess_in_observed_range(self, perturbations: Perturbations) -> np.ndarray:
        """Return `excess` in units of the observed range of the targets.

        Clipping to that range would change nothing here: a tree predicts averages of targets, so it never leaves it.
        """
        ratio: np.ndarray = self.excess(perturbations) * (self.scale / self.target_range) ** 2
        return ratio


def write_numbers(results: Iterable[Result], path: str | Path) -> None:
    """Write every number of some results to a JSON file."""
    write_text(path, json.dumps([result.to_dict() for result in results], indent=1) + "\n")


def excess_of(values: np.ndarray, n_samples: int) -> np.ndarray:
    """Return the largest ratio, over epsilon, of the share of rows beyond it to the share that Theorem 8 allows."""
    constant = bagging_constant(n_samples, *Subbagging(0.5).resolve(n_samples).p_and_q)
    ordered = -np.sort(-values, axis=0)
    share = np.arange(1, len(ordered) + 1)[:, None] / len(ordered)
    ratio: np.ndarray = (share * ordered**2).max(axis=0) / (constant / 4)
    return ratio


def first_class(moved: Perturbations) -> Perturbations:
    """Keep the probability of the first of two classes, as the authors' script does; the other moves equally far."""
    if moved.prediction.ndim == 1:
        return moved
    spread = moved.bags
    if spread is not None:
        extent = None if spread.extent is None else spread.extent[:, 0]
        spread = replace(spread, deviation=spread.deviation[:, 0], extent=extent)
    return replace(moved, prediction=moved.prediction[:, 0], left_out=moved.left_out[:, :, 0], bags=spread)


def _factor(excess: float) -> str:
    return f"{percent(excess)} of what is allowed" if excess <= 1 else f"{rounded_up(excess)} times what is allowed"


def _spread(excess: np.ndarray) -> str:
    return f"{number(excess.min())} to {rounded_up(excess.max())} (violated at {(excess > 1).sum()} of {len(excess)})"
