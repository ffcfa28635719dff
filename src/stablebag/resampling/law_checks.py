"""Checks that custom schemes satisfy the assumptions of the theorems, and do not contradict themselves."""

import itertools
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.special import rel_entr

from stablebag._checks import refuse_value
from stablebag.resampling.bags import Probability, WeightedBag
from stablebag.resampling.covariance import given_out, moments

# ---------------------------------------------------------------------------------------------------------- assumptions
# Checks of custom symmetric schemes (Assumptions 5 and 7).
#
# A scheme must treat all rows alike, and every row must be in some bags but not in all. Its declarations (p, q, counts,
# listed bags and law without a row) must agree with the bags that it lists and draws.

MOST_LISTED = 1_000_000  # largest number of bags listed to compute p and q
MOST_CHECKED = 20_000  # largest number of bags listed to check all permutations of the rows
MOST_COUNTED = 3_000  # largest number of rows whose counts are compared with p and q
_MOST_DRAWN = 2_000_000  # largest total number of rows in the bags drawn for checks
_MOST_WATCHED = 400  # largest number of rows whose pairs are compared with p and q
_BAGS_MATCHED = 50  # bags drawn with and without a row
_FALSE_ALARM = 1e-12  # largest probability that the draws of a correct scheme raise an error
_ROUNDING = 1e-9


def check_inclusion(who: str, p: Probability) -> None:
    """Raise an error for an inclusion probability of zero or one."""
    if not 0 < float(p) < 1:
        raise ValueError(
            f"{who} violates Assumption 7 (0 < p < 1): its inclusion probability is p = {float(p):g}, so every row is "
            f"in {'every' if p >= 1 else 'no'} bag. Draw {'smaller' if p >= 1 else 'larger'} bags."
        )


def check_own_scheme(law: Any, who: str) -> None:
    """Raise an error if a scheme does not treat all rows alike, or contradicts itself."""
    n, scheme = law.n_samples, law.scheme
    listed = scheme.enumerate_bags(n)
    if listed is not None and not _are_too_many(law):
        _check_listed_bags(law, listed, who)
    check_inclusion(who, law.inclusion_probability)
    _check_covariance(law, who)
    _check_counts(law, min(n, MOST_COUNTED), who)
    _check_draws(law, who)
    _check_law_without_one(law, who)
    _check_matched(law, who)


def _are_too_many(law: Any) -> bool:
    """Return whether the scheme defines count_bags and has too many bags to list."""
    method = type(law.scheme).count_bags
    return method.__qualname__ != "ResamplingScheme.count_bags" and bool(law.support_size > MOST_LISTED)


def _check_covariance(law: Any, who: str) -> None:
    n, (p, q) = law.n_samples, law.p_and_q
    largest, smallest = p * (1 - p) / (n - 1), -p * (1 - p)
    if not smallest * (1 + _ROUNDING) <= q <= largest * (1 + _ROUNDING):
        side, limit = ("above p (1 - p) / (n_samples - 1)", largest) if q > 0 else ("below -p (1 - p)", smallest)
        raise ValueError(
            f"{who} violates Assumption 5 (all rows alike): q = {float(q):g} is {side} = {float(limit):g}, which is "
            "impossible for a symmetric scheme. Check inclusion_probability and negative_covariance."
        )


def _check_listed_bags(law: Any, listed: Iterable[WeightedBag], who: str) -> None:
    """Check the listed bags against Assumption 5, the declarations and the drawn bags."""
    n = law.n_samples
    mass: dict[tuple[int, ...], Probability] = {}
    together = np.zeros((n, n))  # probability that two rows are both in a bag
    by_count: dict[int, Probability] = {}
    for number, (bag, probability) in enumerate(itertools.islice(listed, MOST_LISTED)):
        if number == MOST_LISTED - 1:
            return  # there may be more bags, so these sums are incomplete
        if any(not 0 <= row < n for row in bag):
            raise ValueError(f"{who} lists bag {tuple(bag)}, but the rows are numbered from 0 to {n - 1}.")
        if not probability >= 0:
            raise ValueError(f"{who} lists bag {tuple(bag)} with probability {probability}. Check enumerate_bags.")
        key, rows = tuple(sorted(bag)), sorted(set(bag))
        mass[key] = mass.get(key, 0) + probability
        by_count[len(rows)] = by_count.get(len(rows), 0) + probability
        together[np.ix_(rows, rows)] += float(probability)
    if not math.isclose(total := float(sum(mass.values())), 1.0, abs_tol=_ROUNDING):
        raise ValueError(f"{who} lists probabilities that add up to {total!r}, not to 1. Check enumerate_bags.")
    _check_symmetry(mass, together, who)
    p, both = float(together[0, 0]), float(together[0, 1])
    for name, declared, found in (
        ("inclusion_probability", law.inclusion_probability, p),
        ("negative_covariance", law.negative_covariance, p * p - both),
    ):
        if not math.isclose(declared, found, rel_tol=1e-6, abs_tol=_ROUNDING):
            raise ValueError(
                f"{who} declares {name} {declared:g}, but its listed bags give {found:g}. Make them agree."
            )
    counts = law.count_law(n)
    if counts is not None:
        found_counts = np.array([float(by_count.get(size, 0)) for size in range(n + 1)])
        if not np.allclose(counts, found_counts, atol=_ROUNDING):
            raise ValueError(f"{who} has a count_law that disagrees with its listed bags. Check count_law.")
    for drawn in law.draw(20, random_state=0):
        if tuple(sorted(drawn.tolist())) not in mass:
            raise ValueError(f"{who} draws bag {tuple(drawn.tolist())}, which it does not list. Check enumerate_bags.")


def _check_symmetry(mass: dict[tuple[int, ...], Probability], together: np.ndarray, who: str) -> None:
    """Check that bags with permuted rows are equally likely.

    If there are too many bags, check only that all pairs of rows are treated alike. This is enough for everything
    except the exact frontier, which is not computed then.
    """
    n = len(together)
    by_row = np.diag(together)
    for row in range(n):
        if not math.isclose(by_row[row], by_row[0], rel_tol=_ROUNDING):
            raise ValueError(
                f"{who} violates Assumption 5 (all rows alike): row 0 is in a bag with probability {by_row[0]:g} and "
                f"row {row} with {by_row[row]:g}. Treat all rows alike, or derive from UnequalScheme."
            )
    apart = np.abs(together - together[0, 1]) * (1 - np.eye(n))
    if apart.max() > _ROUNDING * max(1e-3, float(together[0, 1])):
        i, j = np.unravel_index(int(apart.argmax()), apart.shape)
        raise ValueError(
            f"{who} violates Assumption 5 (all rows alike): rows 0 and 1 are both in a bag with probability "
            f"{together[0, 1]:g}, and rows {i} and {j} with {together[i, j]:g}. Treat all rows alike, or derive from "
            "UnequalScheme."
        )
    if len(mass) > MOST_CHECKED:
        return
    for permutation in ([1, 0, *range(2, n)], [*range(1, n), 0]):  # a swap and a cycle generate all permutations
        for bag, probability in mass.items():
            image = tuple(sorted(permutation[row] for row in bag))
            if not math.isclose(probability, mass.get(image, 0), rel_tol=_ROUNDING):
                raise ValueError(
                    f"{who} violates Assumption 5 (all rows alike): bag {bag} has probability {float(probability):g} "
                    f"and bag {image} has {float(mass.get(image, 0)):g}. Give bags with permuted rows the same "
                    "probability."
                )


def _check_counts(law: Any, n_rows: int, who: str) -> None:
    counts = law.count_law(n_rows)
    if counts is not None:
        check_counts(counts, n_rows, law.inclusion_probability, law.negative_covariance, who)


def check_counts(counts: np.ndarray, n_rows: int, p: float, q: float, who: str) -> None:
    """Check that count_law agrees with p and q."""
    if counts.shape != (n_rows + 1,) or not (counts >= 0).all() or not math.isclose(counts.sum(), 1.0, abs_tol=1e-7):
        raise ValueError(f"The count_law of {who} must return {n_rows + 1} probabilities that add up to 1.")
    rows = np.arange(n_rows + 1)
    moments_of_rows = [
        ("one row", n_rows, rows, p),
        ("two rows", n_rows * (n_rows - 1), rows * (rows - 1.0), p * p - q),
    ]
    for name, most, hits, declared in moments_of_rows:
        if most and not math.isclose(found := float(counts @ hits) / most, declared, abs_tol=1e-7):
            raise ValueError(
                f"By the count_law of {who}, the probability of {name} being in a bag is {found:g}, but by its p and q "
                f"it is {declared:g}. Make them agree, or let count_law return None."
            )


def _check_draws(law: Any, who: str) -> None:
    """Compare drawn rows and pairs with p and q; a correct scheme raises an error with probability at most 1e-12."""
    n, p = law.n_samples, law.inclusion_probability
    bags = law.draw(max(1, min(1000, _MOST_DRAWN // n)), random_state=0)
    drawn = len(bags) - bags.n_without
    for row in (int(drawn.argmin()), int(drawn.argmax())):
        if _is_surprising(int(drawn[row]), len(bags), p, looks=n):
            raise ValueError(
                f"{who} declares inclusion_probability {p:g}, but row {row} is in {drawn[row]:,} of {len(bags):,} bags "
                "drawn. Treat all rows alike, and make draw_bag and inclusion_probability agree."
            )
    mean = float(drawn.mean()) / len(bags)
    if 2 * (mean - p) ** 2 > math.log(4 / _FALSE_ALARM) / len(bags):  # Hoeffding's inequality for bag sizes
        raise ValueError(
            f"{who} declares inclusion_probability {p:g}, but the drawn bags contain a share {mean:.4g} of the rows. "
            "Make draw_bag and inclusion_probability agree."
        )
    watched = np.linspace(0, n - 1, min(n, _MOST_WATCHED)).astype(int)
    inside = np.concatenate([bags.outside(slice(row, row + 1)) for row in watched], axis=1)
    inside = (~inside).astype(float)
    pairs = np.triu(inside.T @ inside, k=1)[np.triu_indices(len(watched), k=1)]
    chance = min(1.0, max(0.0, p * p - law.negative_covariance))
    for count in (int(pairs.min()), int(pairs.max())) if len(pairs) else ():
        if _is_surprising(count, len(bags), chance, looks=len(pairs)):
            raise ValueError(
                f"{who} declares p and q by which two rows are both in a bag with probability {chance:g}, but some "
                f"pair is in {count:,} of {len(bags):,} bags drawn. Treat all rows alike, and make draw_bag and "
                "negative_covariance agree."
            )


def _is_surprising(count: int, n_bags: int, chance: float, looks: int) -> bool:
    """Return whether the most extreme of `looks` counts is implausible for its probability, by Chernoff's bound."""
    if chance in (0.0, 1.0):
        return count != round(chance * n_bags)
    return _divergence(count / n_bags, chance) > math.log(8 * looks / _FALSE_ALARM) / n_bags


def _divergence(share: float, p: float) -> float:
    """Return the Kullback-Leibler divergence between two coins."""
    parts = ((share, p), (1 - share, 1 - p))
    return sum(a * math.log(a / b) for a, b in parts if a > 0)


def _check_law_without_one(law: Any, who: str) -> None:
    """Check p and the bag sizes of the law without a row against the law given that the row is not in the bag."""
    p, q, n = law.inclusion_probability, law.negative_covariance, law.n_samples
    smaller = law.without_one()
    declared, found = smaller.inclusion_probability, p + q / (1 - p)
    if not math.isclose(declared, found, rel_tol=1e-6, abs_tol=_ROUNDING):
        raise ValueError(
            f"{who} has a law without one row with inclusion probability {declared:g}, but given that a row is not in "
            f"the bag it is {found:g}. Check without_one."
        )
    if n > MOST_COUNTED:
        return
    counts, without = law.count_law(n), smaller.count_law(n - 1)
    if counts is not None and without is not None:
        given = (counts * (1 - np.arange(n + 1) / n))[:-1] / (1 - p)
        if not np.allclose(without, given, atol=1e-7):
            raise ValueError(
                f"{who} has a law without one row whose bag sizes differ from those of its own bags without that row. "
                "Check without_one."
            )


def _check_matched(law: Any, who: str) -> None:
    """Check for a scheme with `pick` that bags without a row do not change if the row is removed."""
    if not law.is_matched:
        return
    smaller, n = law.without_one(), law.n_samples
    if not smaller.is_matched:
        raise ValueError(f"{who} defines pick, but its law without one row does not. Define without_one as well.")
    bags = law.draw(_BAGS_MATCHED, random_state=0)
    for gone in {0, n // 2, n - 1}:
        rest = np.delete(np.arange(n), gone) if n <= _MOST_DRAWN else None
        if rest is None:
            return
        for bag, again in zip(bags, smaller.draw(_BAGS_MATCHED, random_state=0, row_ids=rest), strict=True):
            if gone not in bag and not np.array_equal(bag, rest[again]):
                raise ValueError(
                    f"{who} defines pick, but bags without row {gone} change if that row is removed. Choose rows only "
                    "by arrival, or define draw_bag instead."
                )


# -------------------------------------------------------------------------------------------------- unequal assumptions
# Checks of custom unequal schemes, for Proposition 5 of Barber and Samworth (2026).
#
# No row may be in every bag. A scheme's declarations (inclusion probabilities, covariance or its norm, listed bags, and
# laws without a row) must agree with the bags that it lists and draws.

_MOST_ROWS = 2**31


def check_unequal_scheme(law: Any, who: str) -> None:
    """Raise an error if a row is in every bag, or if a scheme contradicts itself."""
    n, scheme = law.n_samples, law.scheme
    if n > _MOST_ROWS:
        reason = "each row has its own probability, which must fit into memory."
        raise refuse_value("n_samples", who, f"at most {_MOST_ROWS:,} for unequal schemes", n, reason)
    listed = _checked_bags(law, who)
    _check_probabilities(np.asarray(scheme.inclusion_probabilities(n)), n, who)
    covariance = np.asarray(scheme.covariance(n), dtype=float) if scheme.knows_covariance(n) else None
    if listed:
        _check_unequal_listed_bags(law, listed, covariance, who)
    if covariance is not None:
        _check_unequal_covariance(law.inclusion_probabilities, covariance, who)
    _check_norm(law, who)
    _check_row_constants(law, covariance, who)
    _check_unequal_draws(law, covariance, who)
    _check_norm_of_draws(law, who)
    _check_laws_without_a_row(law, covariance, who)


def _check_probabilities(inclusion: np.ndarray, n_samples: int, who: str) -> None:
    if inclusion.shape != (n_samples,) or inclusion.dtype.kind not in "biuf":
        raise ValueError(
            f"The inclusion_probabilities of {who} must return one number for each row. It returned an array of shape "
            f"{inclusion.shape} and type {inclusion.dtype}."
        )
    wrong = np.flatnonzero(~((inclusion >= 0) & (inclusion < 1 - _ROUNDING)))
    if len(wrong):
        row, found = int(wrong[0]), float(inclusion[wrong[0]])
        if found >= 1 - _ROUNDING:
            raise ValueError(
                f"{who} has row {row} in a bag with probability {found:g}, but no row may be in every bag. Draw "
                "smaller bags."
            )
        raise ValueError(
            f"{who} has row {row} in a bag with probability {found:g}, which is not a probability. Check "
            "inclusion_probabilities."
        )
    if not inclusion.any():
        raise ValueError(f"{who} has no row in any bag. Draw larger bags.")


def _check_unequal_covariance(inclusion: np.ndarray, covariance: np.ndarray, who: str) -> None:
    n = len(inclusion)
    if covariance.shape != (n, n) or not np.allclose(covariance, covariance.T, atol=_ROUNDING):
        raise ValueError(f"The covariance of {who} must return a symmetric {n} by {n} matrix.")
    if not np.allclose(np.diag(covariance), inclusion * (1 - inclusion), atol=_ROUNDING):
        row = int(np.argmax(np.abs(np.diag(covariance) - inclusion * (1 - inclusion))))
        raise ValueError(
            f"{who} declares the variance {covariance[row, row]:g} for row {row}, but its inclusion probability "
            f"{inclusion[row]:g} gives {inclusion[row] * (1 - inclusion[row]):g}. Check covariance."
        )
    together = covariance + np.outer(inclusion, inclusion)
    most = np.minimum(inclusion, inclusion[:, None])
    least = np.maximum(0, inclusion + inclusion[:, None] - 1)
    if (together > most + _ROUNDING).any() or (together < least - _ROUNDING).any():
        off = np.maximum(together - most, least - together)
        i, j = (int(k) for k in np.unravel_index(int(off.argmax()), off.shape))
        raise ValueError(
            f"By the covariance of {who}, rows {i} and {j} are both in a bag with probability {together[i, j]:g}, "
            "which is impossible for their inclusion probabilities. Check covariance."
        )


def _check_norm(law: Any, who: str) -> None:
    inclusion = law.inclusion_probabilities
    least = float(np.max(inclusion / (1 - inclusion))) / law.n_samples
    if not least * (1 - _ROUNDING) <= law.constant < math.inf:
        raise ValueError(
            f"{who} has the covariance norm {law.constant:g}, but its inclusion probabilities require at least "
            f"{least:g}. Check covariance_norm."
        )


def _check_row_constants(law: Any, covariance: np.ndarray | None, who: str) -> None:
    """Check row constants below the norm: M may not exceed them in any direction."""
    n, constants, inclusion = law.n_samples, law.row_constants, law.inclusion_probabilities
    if constants.shape == (n,) and (constants >= law.constant * (1 - _ROUNDING)).all():
        return
    if covariance is None or constants.shape != (n,) or not (constants > 0).all():
        raise ValueError(
            f"The row_constants of {who} must return {n} positive numbers, and the scheme must define covariance to "
            "check them."
        )
    scale = 1 / ((1 - inclusion) * np.sqrt(n * constants))
    if (found := float(np.linalg.eigvalsh(covariance * scale * scale[:, None])[-1])) > 1 + 1e-9:
        raise ValueError(
            f"The row constants of {who} are too small: its covariance is {found:.4g} times as large. Check "
            "row_constants."
        )


def _checked_bags(law: Any, who: str) -> list[WeightedBag]:
    """Return the listed bags; an empty list if there are none or too many."""
    n, bags = law.n_samples, law.scheme.enumerate_bags(law.n_samples)
    listed = [] if bags is None else list(itertools.islice(bags, MOST_LISTED))
    if len(listed) == MOST_LISTED:
        return []  # there may be more bags, so sums would be incomplete
    for bag, probability in listed:
        if any(not 0 <= row < n for row in bag):
            raise ValueError(f"{who} lists bag {tuple(bag)}, but the rows are numbered from 0 to {n - 1}.")
        if not probability >= 0:
            raise ValueError(f"{who} lists bag {tuple(bag)} with probability {probability}. Check enumerate_bags.")
    if bags is not None and not math.isclose(total := float(sum(p for _, p in listed)), 1.0, abs_tol=_ROUNDING):
        raise ValueError(f"{who} lists probabilities that add up to {total!r}, not to 1. Check enumerate_bags.")
    return listed


def _check_unequal_listed_bags(law: Any, listed: list[WeightedBag], covariance: np.ndarray | None, who: str) -> None:
    """Check the listed bags against the declarations and the drawn bags."""
    found = moments(listed, law.n_samples)
    for name, declared, by_list in zip(
        ("inclusion probabilities", "covariance"), (law.inclusion_probabilities, covariance), found, strict=True
    ):
        if declared is not None and not np.allclose(declared, by_list, rtol=1e-6, atol=_ROUNDING):
            raise ValueError(f"The {name} of {who} and those of its listed bags differ. Make them agree.")
    known = {tuple(sorted(bag)) for bag, probability in listed if probability > 0}
    for drawn in law.draw(20, random_state=0):
        if tuple(sorted(drawn.tolist())) not in known:
            raise ValueError(f"{who} draws bag {tuple(drawn.tolist())}, which it does not list. Check enumerate_bags.")


def _drawn(law: Any, random_state: int) -> Any:
    return law.draw(max(1, min(1000, _MOST_DRAWN // law.n_samples)), random_state=random_state)


def _check_unequal_draws(law: Any, covariance: np.ndarray | None, who: str) -> None:
    """Compare drawn rows and pairs with the declarations; a correct scheme fails with probability at most 1e-12."""
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
            raise ValueError(
                f"{who} draws {empty:,} empty bags out of {len(bags):,}, too many for its empty_probability of "
                f"{law.empty_probability:g}. Check empty_probability."
            )
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
            f"By the covariance of {who}, rows {i} and {j} are both in a bag with probability {both[worst]:g}, but "
            f"they are in {int(pairs[worst]):,} of {len(bags):,} bags drawn. Make them agree."
        )


def _surprise(counts: np.ndarray, n_bags: int, chances: np.ndarray) -> np.ndarray:
    """Return how implausible counts are for their probabilities: the exponent in Chernoff's bound."""
    share = counts / n_bags
    near = np.where(chances < 1e-12, 0.0, np.where(chances > 1 - 1e-12, 1.0, chances))  # up to rounding
    return np.asarray(n_bags * (rel_entr(share, near) + rel_entr(1 - share, 1 - near)))


def _check_norm_of_draws(law: Any, who: str) -> None:
    """Raise an error for a norm that the drawn bags exceed, in the direction in which other drawn bags vary most.

    In any direction, the expected squared deviation is at most the norm. By the empirical Bernstein inequality (Maurer
    and Pontil 2009), it is not much below its mean over the drawn bags.
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
            f"{who} has the covariance norm {law.constant:g}, but the drawn bags have a variance of "
            f"{squares.mean():.4g} in one direction. Check covariance_norm, or define covariance."
        )


def _check_laws_without_a_row(law: Any, covariance: np.ndarray | None, who: str) -> None:
    """Check the law without a row against the law given that it is not in the bag and, if matched, the other bags."""
    n = law.n_samples
    for gone in sorted({0, n // 2, n - 1}):
        smaller = law.without([gone])
        if covariance is not None:
            found = given_out(law.inclusion_probabilities, covariance, gone)
            if not np.allclose(smaller.inclusion_probabilities, found, rtol=1e-6, atol=1e-7):
                raise ValueError(
                    f"{who} has a law without row {gone} whose inclusion probabilities differ from those given that "
                    "this row is not in the bag. Check without."
                )
        if law.is_matched:
            _check_unequal_matched(law, smaller, gone, who)


def _check_unequal_matched(law: Any, smaller: Any, gone: int, who: str) -> None:
    if not smaller.is_matched:
        raise ValueError(f"{who} defines pick, but its law without a row does not. Define without as well.")
    rest = np.delete(np.arange(law.n_samples), gone)
    again = smaller.draw(_BAGS_MATCHED, random_state=0, row_ids=rest)
    for bag, other in zip(law.draw(_BAGS_MATCHED, random_state=0), again, strict=True):
        if gone not in bag and not np.array_equal(bag, rest[other]):
            raise ValueError(
                f"{who} defines pick, but bags without row {gone} change if that row is removed. Choose rows only by "
                "arrival, or define draw_bag instead."
            )
