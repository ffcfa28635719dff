"""Checks of what Proposition 5 of Barber and Samworth (2026) requires of a law of bags, for users' unequal schemes.

No row may be in every bag, and what a scheme declares (the chance of each row, their covariance or its norm, listed
bags, the law without a row) must agree with what it lists and draws.
"""

import itertools
import math
from typing import Any

import numpy as np
from scipy.special import rel_entr

from stablebag._checks import refuse_value
from stablebag.resampling.assumptions import MOST_LISTED, WeightedBag
from stablebag.resampling.covariance import given_out, moments

_MOST_DRAWN = 2_000_000  # the most rows of drawn bags that are compared with what is declared
_MOST_WATCHED = 400  # the most rows whose pairs are compared
_MOST_ROWS = 2**31
_BAGS_MATCHED = 50  # that are drawn with and without a row
_FALSE_ALARM = 1e-12  # bounds the chance that a correct scheme is refused because of what it happens to draw
_ROUNDING = 1e-9


def check_unequal_scheme(law: Any, who: str) -> None:
    """Refuse the law of a scheme in which a row is in every bag, or that contradicts itself."""
    n, scheme = law.n_samples, law.scheme
    if n > _MOST_ROWS:
        reason = "every row has a probability of its own."
        raise refuse_value("n_samples", who, f"at most {_MOST_ROWS:,} where rows differ", n, reason)
    listed = _checked_bags(law, who)
    _check_probabilities(np.asarray(scheme.inclusion_probabilities(n)), n, who)
    covariance = np.asarray(scheme.covariance(n), dtype=float) if scheme.knows_covariance(n) else None
    if listed:
        _check_listed_bags(law, listed, covariance, who)
    if covariance is not None:
        _check_covariance(law.inclusion_probabilities, covariance, who)
    _check_norm(law, who)
    _check_row_constants(law, covariance, who)
    _check_draws(law, covariance, who)
    _check_norm_of_draws(law, who)
    _check_laws_without_a_row(law, covariance, who)


def _check_probabilities(inclusion: np.ndarray, n_samples: int, who: str) -> None:
    if inclusion.shape != (n_samples,) or inclusion.dtype.kind not in "biuf":
        raise ValueError(
            f"{who} must have one inclusion probability for each row. Got an array of shape {inclusion.shape} and type "
            f"{inclusion.dtype}. Check inclusion_probabilities."
        )
    wrong = np.flatnonzero(~((inclusion >= 0) & (inclusion < 1 - _ROUNDING)))
    if len(wrong):
        row, found = int(wrong[0]), float(inclusion[wrong[0]])
        why = "it is in every bag and leaving it out means nothing" if found >= 1 - _ROUNDING else "that is no chance"
        raise ValueError(f"{who} has row {row} in a bag with probability {found:g}: {why}. Draw smaller bags.")
    if not inclusion.any():
        raise ValueError(f"{who} has no row in any bag, so there is nothing to learn from. Draw larger bags.")


def _check_covariance(inclusion: np.ndarray, covariance: np.ndarray, who: str) -> None:
    n = len(inclusion)
    if covariance.shape != (n, n) or not np.allclose(covariance, covariance.T, atol=_ROUNDING):
        raise ValueError(f"{who} must have a symmetric covariance of {n} by {n} numbers. Check covariance.")
    if not np.allclose(np.diag(covariance), inclusion * (1 - inclusion), atol=_ROUNDING):
        row = int(np.argmax(np.abs(np.diag(covariance) - inclusion * (1 - inclusion))))
        raise ValueError(
            f"{who} declares the variance {covariance[row, row]:g} for row {row}, but for its inclusion probability "
            f"{inclusion[row]:g} it is {inclusion[row] * (1 - inclusion[row]):g}. Check covariance."
        )
    together = covariance + np.outer(inclusion, inclusion)
    most = np.minimum(inclusion, inclusion[:, None])
    least = np.maximum(0, inclusion + inclusion[:, None] - 1)
    if (together > most + _ROUNDING).any() or (together < least - _ROUNDING).any():
        off = np.maximum(together - most, least - together)
        i, j = (int(k) for k in np.unravel_index(int(off.argmax()), off.shape))
        raise ValueError(
            f"{who} declares a covariance by which rows {i} and {j} are both in a bag with probability "
            f"{together[i, j]:g}, which is impossible for their inclusion probabilities. Check covariance."
        )


def _check_norm(law: Any, who: str) -> None:
    inclusion = law.inclusion_probabilities
    least = float(np.max(inclusion / (1 - inclusion))) / law.n_samples
    if not least * (1 - _ROUNDING) <= law.constant < math.inf:
        raise ValueError(
            f"{who} has the covariance norm {law.constant:g}, which by its inclusion probabilities is at least "
            f"{least:g}. Check covariance_norm."
        )


def _check_row_constants(law: Any, covariance: np.ndarray | None, who: str) -> None:
    """Check constants of rows that are not all the norm: M may not exceed them in any direction."""
    n, constants, inclusion = law.n_samples, law.row_constants, law.inclusion_probabilities
    if constants.shape == (n,) and (constants >= law.constant * (1 - _ROUNDING)).all():
        return
    if covariance is None or constants.shape != (n,) or not (constants > 0).all():
        raise ValueError(f"{who} must have {n} positive row constants, and a covariance to check them by.")
    scale = 1 / ((1 - inclusion) * np.sqrt(n * constants))
    if (found := float(np.linalg.eigvalsh(covariance * scale * scale[:, None])[-1])) > 1 + 1e-9:
        raise ValueError(f"{who} has row constants that its covariance exceeds {found:.4g} times. Check row_constants.")


def _checked_bags(law: Any, who: str) -> list[WeightedBag]:
    """The bags that a scheme lists, if it does and there are not too many."""
    n, bags = law.n_samples, law.scheme.enumerate_bags(law.n_samples)
    listed = [] if bags is None else list(itertools.islice(bags, MOST_LISTED))
    if len(listed) == MOST_LISTED:
        return []  # there may be more, so sums over these mean nothing
    for bag, probability in listed:
        if any(not 0 <= row < n for row in bag):
            raise ValueError(f"{who} lists bag {tuple(bag)}, but the rows are numbered from 0 to {n - 1}.")
        if not probability >= 0:
            raise ValueError(f"{who} lists bag {tuple(bag)} with probability {probability}. Check enumerate_bags.")
    if bags is not None and not math.isclose(total := float(sum(p for _, p in listed)), 1.0, abs_tol=_ROUNDING):
        raise ValueError(f"{who} lists probabilities that add up to {total!r}, not to 1. Check enumerate_bags.")
    return listed


def _check_listed_bags(law: Any, listed: list[WeightedBag], covariance: np.ndarray | None, who: str) -> None:
    """Check what is listed against what is declared and what is drawn."""
    found = moments(listed, law.n_samples)
    for name, declared, by_list in zip(
        ("inclusion probabilities", "covariance"), (law.inclusion_probabilities, covariance), found, strict=True
    ):
        if declared is not None and not np.allclose(declared, by_list, rtol=1e-6, atol=_ROUNDING):
            raise ValueError(f"{who} declares other {name} than its listed bags have. Make them agree.")
    known = {tuple(sorted(bag)) for bag, probability in listed if probability > 0}
    for drawn in law.draw(20, random_state=0):
        if tuple(sorted(drawn.tolist())) not in known:
            raise ValueError(f"{who} draws bag {tuple(drawn.tolist())}, which it does not list. Check enumerate_bags.")


def _drawn(law: Any, random_state: int) -> Any:
    return law.draw(max(1, min(1000, _MOST_DRAWN // law.n_samples)), random_state=random_state)


def _check_draws(law: Any, covariance: np.ndarray | None, who: str) -> None:
    """Compare drawn rows and pairs with what is declared; a correct scheme is refused with a chance of 1e-12."""
    n, inclusion, bags = law.n_samples, law.inclusion_probabilities, _drawn(law, 0)
    counts = len(bags) - bags.n_without
    surprise = _surprise(counts, len(bags), inclusion)
    if surprise[row := int(surprise.argmax())] > math.log(8 * n / _FALSE_ALARM):
        raise ValueError(
            f"{who} declares that row {row} is in a bag with probability {inclusion[row]:g}, but it is in "
            f"{counts[row]:,} of {len(bags):,} bags drawn. Make them agree."
        )
    empty = int((bags.sizes == 0).sum())
    if empty / len(bags) > law.empty_probability:
        declared = np.array([law.empty_probability])
        if _surprise(np.array([empty]), len(bags), declared)[0] > math.log(8 / _FALSE_ALARM):
            raise ValueError(f"{who} draws {empty:,} of {len(bags):,} bags without rows. Check empty_probability.")
    if covariance is None:
        return
    watched = np.linspace(0, n - 1, min(n, _MOST_WATCHED)).astype(int)
    inside = np.concatenate([~bags.outside(slice(row, row + 1)) for row in watched], axis=1).astype(float)
    upper = np.triu_indices(len(watched), k=1)
    both = (covariance + np.outer(inclusion, inclusion))[np.ix_(watched, watched)][upper]
    pairs = (inside.T @ inside)[upper]
    surprise = _surprise(pairs, len(bags), np.clip(both, 0.0, 1.0))
    if len(pairs) and surprise.max() > math.log(8 * len(pairs) / _FALSE_ALARM):
        worst = int(surprise.argmax())
        i, j = (int(watched[side[worst]]) for side in upper)
        raise ValueError(
            f"{who} declares a covariance by which rows {i} and {j} are both in a bag with probability "
            f"{both[worst]:g}, but they are in {int(pairs[worst]):,} of {len(bags):,} bags drawn. Make them agree."
        )


def _surprise(counts: np.ndarray, n_bags: int, chances: np.ndarray) -> np.ndarray:
    """How implausible counts of bags are for their chances: the exponent in Chernoff's bound."""
    share = counts / n_bags
    near = np.where(chances < 1e-12, 0.0, np.where(chances > 1 - 1e-12, 1.0, chances))  # up to rounding
    return np.asarray(n_bags * (rel_entr(share, near) + rel_entr(1 - share, 1 - near)))


def _check_norm_of_draws(law: Any, who: str) -> None:
    """Refuse a norm that the drawn bags exceed, in the direction in which other drawn bags vary most.

    For any direction, the mean of the squared deviation is at most the norm; by the empirical inequality of Bernstein
    (Maurer and Pontil 2009) it is not much below its mean over the drawn bags.
    """
    n, inclusion = law.n_samples, law.inclusion_probabilities
    if n > _MOST_WATCHED * 10:
        return
    weight = 1 / ((1 - inclusion) * math.sqrt(n))
    first, second = ((bags.inclusion - inclusion) * weight for bags in (_drawn(law, 1), _drawn(law, 2)))
    if len(first) < 2:
        return
    direction = np.linalg.svd(first, full_matrices=False)[2][0]
    squares = (second @ direction) ** 2
    if_in, if_out = direction * weight * (1 - inclusion), -direction * weight * inclusion
    most = max(np.maximum(if_in, if_out).sum() ** 2, np.minimum(if_in, if_out).sum() ** 2)
    logs = math.log(2 / _FALSE_ALARM)
    slack = math.sqrt(2 * squares.var(ddof=1) * logs / len(squares)) + 7 * most * logs / (3 * (len(squares) - 1))
    if squares.mean() - slack > law.constant:
        raise ValueError(
            f"{who} has the covariance norm {law.constant:g}, but the bags drawn vary by {squares.mean():.4g}. Check "
            "covariance_norm, or define covariance."
        )


def _check_laws_without_a_row(law: Any, covariance: np.ndarray | None, who: str) -> None:
    """Check that the law without a row is the law given that it is out and, if matched, that other bags stay."""
    n = law.n_samples
    for gone in sorted({0, n // 2, n - 1}):
        smaller = law.without([gone])
        if covariance is not None:
            found = given_out(law.inclusion_probabilities, covariance, gone)
            if not np.allclose(smaller.inclusion_probabilities, found, rtol=1e-6, atol=1e-7):
                raise ValueError(
                    f"{who} has a law without row {gone} whose inclusion probabilities are not those given that this "
                    "row is out. Check without."
                )
        if law.is_matched:
            _check_matched(law, smaller, gone, who)


def _check_matched(law: Any, smaller: Any, gone: int, who: str) -> None:
    if not smaller.is_matched:
        raise ValueError(f"{who} defines pick, but its law without a row does not. Define without as well.")
    rest = np.delete(np.arange(law.n_samples), gone)
    again = smaller.draw(_BAGS_MATCHED, random_state=0, row_ids=rest)
    for bag, other in zip(law.draw(_BAGS_MATCHED, random_state=0), again, strict=True):
        if gone not in bag and not np.array_equal(bag, rest[other]):
            raise ValueError(
                f"{who} defines pick, but bags without row {gone} change when that row is gone. Take rows only by when "
                "they arrive, or define draw_bag instead."
            )
