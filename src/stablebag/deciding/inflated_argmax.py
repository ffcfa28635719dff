"""The inflated argmax: the set of labels whose scores are close to the largest.

The label with the largest score is not stable, even if the scores are: if two scores are nearly equal, a tiny change
swaps them. Soloff, Barber and Willett (2024), "Building a stable classifier with the inflated argmax", return a set of
labels instead, which usually has one label. The proofs are in docs/proofs.md, 13.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from stablebag._checks import as_reals, check_real, refuse_masked, refuse_value

_BLOCK = 2**20  # scores at a time, to stay in the processor's cache
_REASON = "it is the distance of scores up to which sets share a label. Use a small number, such as 0.05."


def inflated_argmax(scores: Any, epsilon: Any) -> np.ndarray:
    """Return the labels whose score is close to the largest, so that similar scores give sets with a common label.

    Label j is in the set if some scores at a Euclidean distance below epsilon have j ahead of every other label by at
    least epsilon / sqrt(2). If two vectors of scores are less than epsilon apart, their sets have a label in common:
    the rule is epsilon-compatible. The set has a single label exactly if the largest score leads by at least
    epsilon / sqrt(2), and no epsilon-compatible rule that treats labels alike has a single label more often.

    Parameters
    ----------
    scores : array-like of shape (n_labels,) or (n_points, n_labels)
        The scores, such as class probabilities.
    epsilon : float, or array-like of shape (n_points,)
        Scores within this distance of each other give sets that share a label; zero returns the labels with the
        largest score. Sets of different epsilon need not share a label.

    Returns
    -------
    ndarray of bool, shaped like scores
        Whether each label is in the set. Labels with equal scores are either both in it or both not.

    Notes
    -----
    Let d be the difference between the largest score and each score, mu = epsilon / sqrt(2), and t the solution of
    sum (t - d)_+^2 + (sum (t - d)_+)^2 = epsilon^2. A label is in the set exactly if d < t + sum (t - d)_+ - mu
    (docs/proofs.md, 13). So one sort and one quadratic equation per point are enough.

    Examples
    --------
    >>> from stablebag import inflated_argmax
    >>> inflated_argmax([0.40, 0.37, 0.15, 0.08], epsilon=0.05)
    array([ True,  True, False, False])
    >>> inflated_argmax([[0.36, 0.34, 0.30], [0.8, 0.1, 0.1]], epsilon=0.1)
    array([[ True,  True,  True],
           [ True, False, False]])
    """
    scores, mu = _checked(scores, epsilon)
    lines = scores.reshape(-1, scores.shape[-1])
    found = np.empty(lines.shape, dtype=bool)
    step = max(1, _BLOCK // lines.shape[1])
    for first in range(0, len(lines), step):
        some = slice(first, first + step)
        found[some] = _inflated(lines[some], mu if mu.ndim == 0 else mu[some, None])
    return found.reshape(scores.shape)


def as_scores(scores: Any, owner: str) -> np.ndarray:
    """Return scores as an array of floats; strings and ragged lists raise an error."""
    reason = "every point must have one number for each label."
    return as_reals(scores, "scores", owner, reason=reason)


def _inflated(scores: np.ndarray, mu: Any) -> np.ndarray:
    """Apply the rule to one line of scores per point; `mu` is one number, or one for each line."""
    behind = _behind(scores)
    near: np.ndarray = (behind < mu) | (behind == 0)  # only these labels can be in the set
    n_near = near.sum(axis=1)
    several = np.flatnonzero(n_near > 2)  # the two nearest labels are always in the set
    if not len(several):
        return near
    unit = mu if np.ndim(mu) == 0 else mu[several]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        d = np.where(near[several], np.divide(behind[several], unit), 1.0)
    d = np.where(np.isnan(d), 0.0, d)  # 0 / 0, or inf / inf
    ordered = np.sort(d, axis=1)[:, : n_near[several].max()]
    near[several] &= d < np.maximum(_threshold(ordered), np.nextafter(ordered[:, 1], 2.0))[:, None]
    return near


def _threshold(d: np.ndarray) -> np.ndarray:
    """Return how far behind a label of the set can be, in units of mu; `d` is sorted, and only entries below 1 count.

    With the k nearest labels ahead of t, and D and E the sums of their d and d^2, the equation for t is
    k (k + 1) t^2 - 2 (k + 1) D t + D^2 + E = 2.
    """
    k = np.arange(1, d.shape[1] + 1)
    first, second = np.cumsum(d, axis=1), np.cumsum(d**2, axis=1)
    at_label = k * (k + 1) * d**2 - 2 * (k + 1) * first * d + first**2 + second
    count = np.maximum(((at_label < 2) & (d < 1)).sum(axis=1), 1)
    lines = np.arange(len(d))
    first, second = first[lines, count - 1], second[lines, count - 1]
    root = np.sqrt(np.maximum((first * (count + 1)) ** 2 - count * (count + 1) * (first**2 + second - 2), 0.0))
    t = (first * (count + 1) + root) / (count * (count + 1))
    threshold: np.ndarray = t + (count * t - first) - 1
    return threshold


def _behind(scores: np.ndarray) -> np.ndarray:
    """Return the difference between the largest score of each line and each score."""
    with np.errstate(over="ignore"):
        behind: np.ndarray = scores.max(axis=-1, keepdims=True) - scores
    return behind


def _checked(scores: Any, epsilon: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores as floats, and epsilon / sqrt(2) as one number or one for each point."""
    owner = "inflated_argmax"
    scores = as_scores(scores, owner)
    if scores.ndim not in (1, 2) or scores.shape[-1] == 0:
        reason = "every label needs a score."
        raise refuse_value("scores", owner, "of shape (n_labels,) or (n_points, n_labels)", scores.shape, reason)
    if not np.isfinite(scores).all():
        wrong = float(scores[~np.isfinite(scores)][0])
        raise refuse_value("scores", owner, "finite numbers", wrong, "drop labels without a score.")
    if (isinstance(epsilon, str) or not isinstance(epsilon, Sequence)) and getattr(epsilon, "shape", ()) == ():
        refuse_masked(epsilon, "epsilon", owner)
        epsilon = epsilon.item() if isinstance(epsilon, np.ndarray | np.generic) else epsilon
        return scores, np.asarray(check_real(epsilon, "epsilon", owner, reason=_REASON) / math.sqrt(2))
    each = as_reals(epsilon, "epsilon", owner, "one number, or one for each point", _REASON)
    if scores.ndim != 2 or each.shape != scores.shape[:1]:
        expected = "one number, or one for each point"
        raise refuse_value("epsilon", owner, expected, f"shape {each.shape}", f"the scores have shape {scores.shape}.")
    if not (each >= 0).all():
        raise refuse_value("epsilon", owner, "numbers in [0, inf]", float(each[~(each >= 0)][0]), _REASON)
    return scores, each / math.sqrt(2)
