"""Checks of what the theorems require of a law of bags (Assumptions 5 and 7), for schemes other than the paper's four.

All rows must be alike, every row must be in some bags but not in others, and what a scheme declares (its p, q, counts,
listed bags and law without a row) must agree with what it lists and draws.
"""

import itertools
import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

Probability: TypeAlias = Fraction | float
WeightedBag: TypeAlias = tuple[tuple[int, ...], Probability]

MOST_LISTED = 1_000_000  # the most bags that are listed to work out p and q
MOST_CHECKED = 20_000  # the most that are listed to check that all permutations of the rows are alike
_MOST_DRAWN = 2_000_000  # the most rows of drawn bags that are compared with p
_MOST_WATCHED = 400  # the most rows whose pairs are compared with p and q
_BAGS_MATCHED = 50  # that are drawn with and without a row
_FALSE_ALARM = 1e-12  # bounds the chance that a correct scheme is refused because of what it happens to draw
_ROUNDING = 1e-9


def check_inclusion(who: str, p: Probability) -> None:
    """Refuse an inclusion probability of zero or one."""
    if not 0 < float(p) < 1:
        raise ValueError(
            f"{who} breaks Assumption 7 (0 < p < 1): its inclusion probability is p = {float(p):g}, so every row is in "
            f"{'every' if p >= 1 else 'no'} bag and leaving it out means nothing. Draw smaller, non-empty bags."
        )


def check_own_scheme(law: Any, who: str) -> None:
    """Refuse the law of a scheme that does not treat all rows alike, or that contradicts itself."""
    n, scheme = law.n_samples, law.scheme
    listed = scheme.enumerate_bags(n)
    if listed is not None and not _are_too_many(law):
        _check_listed_bags(law, listed, who)
    check_inclusion(who, law.inclusion_probability)
    _check_covariance(law, who)
    _check_counts(law, who)
    _check_draws(law, who)
    _check_law_without_one(law, who)
    _check_matched(law, who)


def _are_too_many(law: Any) -> bool:
    """Whether the scheme's own count_bags says that there are too many bags to list."""
    says = type(law.scheme).count_bags
    return says.__qualname__ != "ResamplingScheme.count_bags" and bool(law.support_size > MOST_LISTED)


def _check_covariance(law: Any, who: str) -> None:
    n, (p, q) = law.n_samples, law.p_and_q
    largest, smallest = p * (1 - p) / (n - 1), -p * (1 - p)
    if not smallest * (1 + _ROUNDING) <= q <= largest * (1 + _ROUNDING):
        side, limit = ("above p (1 - p) / (n_samples - 1)", largest) if q > 0 else ("below -p (1 - p)", smallest)
        raise ValueError(
            f"{who} breaks Assumption 5 (all rows alike): q = {float(q):g} is {side} = {float(limit):g}, which is "
            "impossible for a symmetric scheme. Check inclusion_probability and negative_covariance."
        )


def _check_listed_bags(law: Any, listed: Iterable[WeightedBag], who: str) -> None:
    """Check what a scheme lists against Assumption 5, against what it declares and against what it draws."""
    n = law.n_samples
    mass: dict[tuple[int, ...], Probability] = {}
    together = np.zeros((n, n))  # the chance that two rows are both in a bag
    by_count: dict[int, Probability] = {}
    for number, (bag, probability) in enumerate(itertools.islice(listed, MOST_LISTED)):
        if number == MOST_LISTED - 1:
            return  # there may be more, so sums over these mean nothing
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
            raise ValueError(f"{who} declares {name} {declared:g}, but by its listed bags it is {found:g}.")
    counts = law.count_law(n)
    if counts is not None:
        found_counts = np.array([float(by_count.get(size, 0)) for size in range(n + 1)])
        if not np.allclose(counts, found_counts, atol=_ROUNDING):
            raise ValueError(f"{who} has a count_law that disagrees with its listed bags. Check count_law.")
    for drawn in law.draw(20, random_state=0):
        if tuple(sorted(drawn.tolist())) not in mass:
            raise ValueError(f"{who} draws bag {tuple(drawn.tolist())}, which it does not list. Check enumerate_bags.")


def _check_symmetry(mass: dict[tuple[int, ...], Probability], together: np.ndarray, who: str) -> None:
    """Check that bags which differ only in the names of their rows are equally likely.

    If there are too many bags for that, check only that all pairs of rows are alike. The exact frontier is then not
    worked out either, and everything else needs no more than this.
    """
    n = len(together)
    by_row = np.diag(together)
    for row in range(n):
        if not math.isclose(by_row[row], by_row[0], rel_tol=_ROUNDING):
            raise ValueError(
                f"{who} breaks Assumption 5 (all rows alike): row 0 is in a bag with probability {by_row[0]:g} and row "
                f"{row} with {by_row[row]:g}. Treat all rows alike, or derive it from UnequalScheme."
            )
    apart = np.abs(together - together[0, 1]) * (1 - np.eye(n))
    if apart.max() > _ROUNDING * max(1e-3, float(together[0, 1])):
        i, j = np.unravel_index(int(apart.argmax()), apart.shape)
        raise ValueError(
            f"{who} breaks Assumption 5 (all rows alike): rows 0 and 1 are both in a bag with probability "
            f"{together[0, 1]:g}, and rows {i} and {j} with {together[i, j]:g}. Treat all rows alike, or derive it "
            "from UnequalScheme."
        )
    if len(mass) > MOST_CHECKED:
        return
    for permutation in ([1, 0, *range(2, n)], [*range(1, n), 0]):  # a swap and a cycle generate all permutations
        for bag, probability in mass.items():
            image = tuple(sorted(permutation[row] for row in bag))
            if not math.isclose(probability, mass.get(image, 0), rel_tol=_ROUNDING):
                raise ValueError(
                    f"{who} breaks Assumption 5 (all rows alike): bag {bag} has probability {float(probability):g} and "
                    f"bag {image} has {float(mass.get(image, 0)):g}. Give bags that differ only in the names of "
                    "their rows the same probability."
                )


def _check_counts(law: Any, who: str) -> None:
    """Check that count_law agrees with p and q: a subclass may have inherited it."""
    p, q, n = law.inclusion_probability, law.negative_covariance, law.n_samples
    counts = law.count_law(n)
    if counts is None:
        return
    if counts.shape != (n + 1,) or not (counts >= 0).all() or not math.isclose(counts.sum(), 1.0, abs_tol=1e-7):
        raise ValueError(f"{who} has an invalid count_law: it must be {n + 1} probabilities that add up to 1.")
    sizes = np.arange(n + 1)
    mean, square = float(counts @ sizes) / n, float(counts @ (sizes * (sizes - 1.0))) / (n * (n - 1))
    for name, found, declared in (("one row", mean, p), ("two rows", square, p * p - q)):
        if not math.isclose(found, declared, abs_tol=1e-7):
            raise ValueError(
                f"{who} has a count_law by which the probability of {name} being in a bag is {found:g}, but by its p "
                f"and q it is {declared:g}. Make count_law agree with them, or let it return None."
            )


def _check_draws(law: Any, who: str) -> None:
    """Compare the drawn rows and pairs with p and q; the chance that a correct scheme is refused is at most 1e-12."""
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
    if 2 * (mean - p) ** 2 > math.log(4 / _FALSE_ALARM) / len(bags):  # Hoeffding's inequality for the sizes of bags
        raise ValueError(
            f"{who} declares inclusion_probability {p:g}, but the bags drawn have a share {mean:.4g} of the rows. "
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
    """Whether a count of bags is implausible for its chance, by Chernoff's bound, as the most extreme of `looks`."""
    if chance in (0.0, 1.0):
        return count != round(chance * n_bags)
    return _divergence(count / n_bags, chance) > math.log(8 * looks / _FALSE_ALARM) / n_bags


def _divergence(share: float, p: float) -> float:
    """The Kullback-Leibler divergence between two coins."""
    parts = ((share, p), (1 - share, 1 - p))
    return sum(a * math.log(a / b) for a, b in parts if a > 0)


def _check_law_without_one(law: Any, who: str) -> None:
    """Check, by p and the sizes of bags, that the law without a row is the law given that the row is out."""
    p, q, n = law.inclusion_probability, law.negative_covariance, law.n_samples
    smaller = law.without_one()
    declared, found = smaller.inclusion_probability, p + q / (1 - p)
    if not math.isclose(declared, found, rel_tol=1e-6, abs_tol=_ROUNDING):
        raise ValueError(
            f"{who} has a law without one row whose inclusion probability is {declared:g}, but given that a row is out "
            f"it is {found:g}. Check without_one."
        )
    counts, without = law.count_law(n), smaller.count_law(n - 1)
    if counts is not None and without is not None:
        given = (counts * (1 - np.arange(n + 1) / n))[:-1] / (1 - p)
        if not np.allclose(without, given, atol=1e-7):
            raise ValueError(
                f"{who} has a law without one row whose bags have other sizes than its own bags without that row. "
                "Check without_one."
            )


def _check_matched(law: Any, who: str) -> None:
    """Check, for a scheme that takes rows as they arrive, that bags without a row do not change when it is gone."""
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
                    f"{who} defines pick, but bags without row {gone} change when that row is gone. Take rows only by "
                    "when they arrive, or define draw_bag instead."
                )
