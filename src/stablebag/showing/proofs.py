"""What is proved beside what is measured of the same thing, with the price of finitely many bags."""

import math
from typing import Any, NamedTuple

import numpy as np

from stablebag._wording import percent
from stablebag.measuring.perturbations import Perturbations
from stablebag.proving.protocol import StabilityCertificate


class Proof(NamedTuple):
    """A line of the table of what is proved.

    Attributes
    ----------
    what : str
        What is bounded: how the row is left out, and over what the number is.
    measured : float
        The same, measured; NaN if it was not.
    proved : float
        The bound; NaN if nothing is proved beyond the range of the predictions.
    error : float, default=NaN
        The standard error of what was measured, if it was for a few rows drawn at random, and not for all.
    price : float, default=NaN
        What of the bound is due to drawing finitely many bags; NaN if that is not known, or there is no bound.
    enough : int or None, default=None
        How many bags would halve that price; None if that is not known.
    """

    what: str
    measured: float
    proved: float
    error: float = math.nan
    price: float = math.nan
    enough: int | None = None


def proofs(
    bagged: Perturbations,
    proved: StabilityCertificate,
    anew: StabilityCertificate | None = None,
    refitted: Perturbations | None = None,
    delta: float = 0.05,
    weights: np.ndarray | None = None,
) -> list[Proof]:
    """Put what is proved beside what is measured of the same thing, at the worst of the points.

    Parameters
    ----------
    bagged : Perturbations
        The bagged model's, by all rows, from the bags without each.
    proved : certificate
        What is proved about these.
    anew : certificate or None, default=None
        What is proved about the bagged model fitted again with the same seed.
    refitted : Perturbations or None, default=None
        The bagged model's by some rows drawn at random, without which it was fitted again with the same seed.
    delta : float, default=0.05
        A share of the training rows, or units, in [0, 1]: those whose perturbations may be larger.
    weights : ndarray or None, default=None
        How many rows that were drawn at random each row of `refitted` stands for; None is one each.

    Returns
    -------
    list of Proof
    """
    noun = bagged.noun
    most, reused = f"{percent(1 - delta)} of the {noun.plural}", "by these bags"
    # What is proved of bags drawn anew is about the average over draws; one draw may be worse.
    again = "fitted again with the same seed (proved on average over seeds)"
    lines = [
        _line(f"{reused}: {most} move it by at most", bagged.epsilon(delta, "max"), proved, delta),
        Proof(f"{reused}: mean over the {noun.plural}", bagged.mean("max"), _bound(proved, proved.mean())),
        Proof(f"{reused}: largest of all {noun.plural}", bagged.max("max"), _bound(proved, proved.worst_case())),
    ]
    if anew is not None:
        lines.append(_line(f"{again}: {most} move it by at most", math.nan, anew, delta))
    if anew is not None and refitted is not None:
        means = refitted.values.mean(axis=1)  # over points, for each row
        shares = np.ones(len(means)) if weights is None else weights
        unit = float(means.max(initial=0.0)) or 1.0  # in which squares stay floats
        error = unit * float((means / unit).std(ddof=1)) / math.sqrt(len(means)) if len(means) > 1 else math.nan
        n_left_out = round(shares.sum())
        is_sample = n_left_out < len(bagged.rows)
        error = error if is_sample and (shares == 1).all() else math.nan
        of = f"{noun.count(n_left_out)} drawn at random" if is_sample else f"all {noun.count(n_left_out)}"
        what = f"{again}: mean over points, and {of}"
        what += f", estimated from {len(means):,} of them" if (shares > 1).any() else ""
        lines.append(Proof(what, float(np.average(means, weights=shares)), _bound(anew, anew.mean()), error))
    return lines


def _line(what: str, measured: Any, proved: StabilityCertificate, delta: float) -> Proof:
    bound = _bound(proved, proved.epsilon(delta))
    if math.isnan(bound) or not hasattr(proved, "price"):
        return Proof(what, float(measured), bound)
    price, enough = proved.price(delta)
    return Proof(what, float(measured), bound, price=price, enough=enough)


def _bound(proved: StabilityCertificate, values: Any) -> float:
    """The bound at the worst point; NaN if it is not below the range, which is known without any proof."""
    worst = float(np.max(values))
    return worst if worst < proved.range_length * (1 - 1e-9) else math.nan
