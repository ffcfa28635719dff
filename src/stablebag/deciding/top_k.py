"""Which items are about the first k: sets that have k items in common with and without most training rows."""

from typing import Any

import numpy as np

from stablebag._checks import check_integer, refuse_value
from stablebag.deciding.inflated_argmax import as_scores, inflated_argmax


def top_k_sets(scores: Any, k: int, epsilon: float) -> np.ndarray:
    """Return the items with about the k largest scores: k of them, or more where scores are close.

    If two vectors of scores are less than epsilon apart, their sets have at least k items in common. Liang, Soloff,
    Barber and Willett (2025), arXiv 2506.02257: the k - 1 largest, and the `inflated_argmax` of the others.
    Equivalently, an item is in the set if it is in the inflated argmax of the scores without the k - 1 largest of the
    other items; so how ties are broken does not matter. The proofs are in docs/proofs.md, 14.

    Parameters
    ----------
    scores : array-like of shape (n_items,) or (n_points, n_items)
        The scores of the items.
    k : int
        How many items are wanted, from 1 to n_items; 1 is the `inflated_argmax`.
    epsilon : float
        The distance of scores up to which sets have k items in common; zero gives the items that are not behind the
        k-th.

    Returns
    -------
    ndarray of bool, shaped like scores
        Which items are in the set.

    Examples
    --------
    >>> from stablebag import top_k_sets
    >>> top_k_sets([0.9, 0.6, 0.55, 0.52, 0.1], k=2, epsilon=0.1)
    array([ True,  True,  True, False, False])
    >>> top_k_sets([0.9, 0.6, 0.55, 0.52, 0.1], k=3, epsilon=0.1)
    array([ True,  True,  True,  True, False])
    """
    scores = as_scores(scores, "top_k_sets")
    k = check_integer(k, "k", "top_k_sets", minimum=1, reason="it is how many items are wanted.")
    if scores.ndim in (1, 2) and 0 < scores.shape[-1] < k:
        reason = f"there are {scores.shape[-1]} items."
        raise refuse_value("k", "top_k_sets", "at most the number of items", k, reason)
    if scores.ndim not in (1, 2) or not np.isfinite(scores).all():
        return inflated_argmax(scores, epsilon)  # which says what is wrong
    others = np.argsort(-scores, axis=-1, kind="stable")[..., k - 1 :]
    found = np.ones(scores.shape, dtype=bool)
    rest = inflated_argmax(np.take_along_axis(scores, others, axis=-1), epsilon)
    np.put_along_axis(found, others, rest, axis=-1)
    return found
