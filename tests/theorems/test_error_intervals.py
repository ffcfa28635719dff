"""The theorem on the leave-one-out error (docs/proofs.md, 17), by exact expectation over every data set."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

from stablebag import BernoulliSubbagging, ClassicalBagging, Subbagging
from stablebag.proving.error_bounds import (
    ErrorBound,
    _expected_square,
    expected_spread,
    largest_proving_size,
    spread_without_each,
)
from stablebag.resampling import Bags
from stablebag.resampling.covariance import largest_eigenvalue

TARGETS = np.array([0.0, 0.3, 1.0])  # of a row of each kind; a row's kind is also its feature
CHANCES = np.array([0.5, 0.3, 0.2])
LOSSES = {
    "absolute": (lambda f, y: np.abs(f - y), 1.0),
    "squared": (lambda f, y: (f - y) ** 2, 2.0),
    "ramp": (lambda f, y: np.clip(4 * np.abs(f - y) - 1, 0, 1), 4.0),
}


class RandomOutputs:
    """0 or 1 at random for each sequence of rows and each point: depends on everything, and on the order."""

    def __init__(self, seed, *, ordered=True):
        self.rng, self.ordered, self.known = np.random.default_rng(seed), ordered, {}

    def __call__(self, bag):
        key = bag if self.ordered else tuple(sorted(bag))
        return self.known.setdefault(key, self.rng.integers(0, 2, 3).astype(float))


def memoriser(bag):
    """1 at points that are in the bag."""
    return np.array([float(kind in bag) for kind in range(3)])


def first_in_order(bag):
    return np.full(3, TARGETS[bag[0]] if bag else 0.5)


def threshold(bag):
    return np.full(3, float(sum(kind == 0 for kind in bag) * 2 > len(bag)))


LEARNERS = {
    "random": RandomOutputs(0), "random sets": RandomOutputs(1, ordered=False), "memoriser": memoriser,
    "first in order": first_in_order, "threshold": threshold,
}  # fmt: skip


def all_bags(n, m):
    return Bags(itertools.combinations(range(n), m), n), None


def drawn(n, scheme, n_bags, seed):
    draws = (scheme.resolve(n).draw(n_bags, random_state=1000 * seed + attempt) for attempt in itertools.count())
    return next(bags for bags in draws if _some_is_without_any_two(bags)), None


def _some_is_without_any_two(bags):
    outside = ~bags.inclusion
    return bool(((outside.T.astype(int) @ outside) > 0).all())


SETTINGS = {
    "all, 3 of 1": all_bags(3, 1), "all, 4 of 1": all_bags(4, 1), "all, 4 of 2": all_bags(4, 2),
    "all, 5 of 2": all_bags(5, 2), "all, 5 of 3": all_bags(5, 3),
    "drawn, 5 of 2": drawn(5, Subbagging(2), 12, 0), "drawn, 4 of 2": drawn(4, Subbagging(2), 9, 1),
    "drawn, Bernoulli": drawn(4, BernoulliSubbagging(0.4), 11, 2),
    "drawn, with repeats": drawn(5, ClassicalBagging(3), 14, 3),
}  # fmt: skip


@dataclass
class Exact:
    """Every data set of n rows, its chance, and the predictions at each kind of point without any two rows or fewer."""

    bags: Bags
    learner: object
    function: object
    units: list

    def __post_init__(self):
        self.n = n = self.bags.n_samples
        self.data = np.array(list(itertools.product(range(3), repeat=n)))
        self.chances = CHANCES[self.data].prod(axis=1)
        outputs = np.array([[self.learner(tuple(rows[bag].tolist())) for bag in self.bags] for rows in self.data])
        outside = (~self.bags.inclusion).astype(float)
        self.outputs, self.outside = outputs, outside
        self.whole = outputs.mean(axis=1)
        self.without = np.einsum("dbx,bi->dix", outputs, outside) / outside.sum(axis=0)[:, None]
        both = np.einsum("bi,bj->bij", outside, outside)
        self.without_two = np.einsum("dbx,bij->dijx", outputs, both) / both.sum(axis=0)[..., None]

    def loss(self, predictions, kind):
        """The mean loss at the rows of a unit of some kind; predictions have the kinds of points on the last axis."""
        points = self.units[kind]
        return self.function(predictions[..., points], TARGETS[points]).mean(axis=-1)

    def risk(self, predictions):
        """The expected loss at a new unit."""
        return sum(chance * self.loss(predictions, kind) for kind, chance in enumerate(CHANCES))

    def mean(self, values):
        return np.tensordot(self.chances, values, axes=1)

    def losses_at(self, predictions, kinds):
        """The loss of each data set's predictions at a unit of its kind."""
        table = np.stack([self.loss(predictions, kind) for kind in range(3)], axis=-1)
        return np.take_along_axis(table, kinds[..., None], axis=-1)[..., 0]

    def own_losses(self):
        return self.losses_at(self.without, self.data)

    def influence(self, i, kind):
        """h_i at a unit of some kind: its expected loss without unit i, less the expected risk."""
        return self.mean(self.loss(self.without[:, i], kind) - self.risk(self.without[:, i]))

    def centred(self):
        """D_i for every data set, shape (data sets, n), and h_i at the rows."""
        h = np.array([[self.influence(i, kind) for kind in range(3)] for i in range(self.n)])
        at_rows = h[np.arange(self.n), self.data]
        return self.own_losses() - self.risk(self.without) - at_rows, at_rows, h

    def replaced(self, j, kind):
        """The number of each data set with row j replaced by one of some kind."""
        changed = self.data.copy()
        changed[:, j] = kind
        return changed @ 3 ** np.arange(self.n - 1, -1, -1)


def bounds_of(bags, lipschitz):
    eigenvalue, _ = largest_eigenvalue(bags)
    spreads = spread_without_each(bags, None, eigenvalue, np.arange(bags.n_samples))
    return lipschitz**2 * 0.25 * 2 * spreads.sum() / bags.n_samples**2, lipschitz * 0.5 * math.sqrt(eigenvalue)


ROWS = [[0], [1], [2]]  # of a unit of each kind: the kinds of points that its rows are
GROUPS = [[0], [1, 2], [0, 2, 2]]
CASES = [(setting, learner, loss) for setting in SETTINGS for learner in LEARNERS for loss in LOSSES
         if setting in ("all, 3 of 1", "all, 4 of 2", "drawn, 5 of 2") or loss == "absolute"]  # fmt: skip


@pytest.mark.parametrize("units", [ROWS, GROUPS], ids=["rows", "groups"])
@pytest.mark.parametrize(("setting", "learner", "loss"), CASES)
def test_the_error_is_independent_terms_a_small_remainder_and_a_small_drift(setting, learner, loss, units):
    bags, (function, lipschitz) = SETTINGS[setting][0], LOSSES[loss]
    exact = Exact(bags, LEARNERS[learner], function, units)
    n, (centred, at_rows, h) = bags.n_samples, exact.centred()
    squares, most_drift = bounds_of(bags, lipschitz)

    # The parts add up, and have mean zero; the independent ones lie in an interval of length 1.
    drift = (exact.risk(exact.without) - exact.risk(exact.whole)[:, None]).mean(axis=1)
    remainder = centred.mean(axis=1)
    total = exact.own_losses().mean(axis=1) - exact.risk(exact.whole)
    np.testing.assert_allclose(at_rows.mean(axis=1) + remainder + drift, total, atol=1e-12)
    np.testing.assert_allclose(h @ CHANCES, 0, atol=1e-12)
    assert np.ptp(h, axis=1).max() <= 1 + 1e-12
    assert abs(exact.mean(remainder)) < 1e-12
    assert abs(exact.mean(remainder * at_rows.mean(axis=1))) < 1e-12  # uncorrelated

    # Each step of the proof.
    changes = np.zeros((n, n))  # E (D_i - D_i^(j))^2
    steps = np.zeros((n, n))  # e_ij
    measured = np.zeros((n, n))  # 2 E (loss without i - loss without i and j)^2
    for i, j in itertools.permutations(range(n), 2):
        own = exact.own_losses()[:, i]
        two = exact.losses_at(exact.without_two[:, i, j], exact.data[:, i])
        measured[i, j] = 2 * exact.mean((own - two) ** 2)
        for kind in range(3):
            other = exact.replaced(j, kind)
            changes[i, j] += CHANCES[kind] * exact.mean((centred[:, i] - centred[other, i]) ** 2)
            steps[i, j] += CHANCES[kind] * exact.mean((own - own[other]) ** 2)
    assert (changes <= steps + 1e-12).all()
    assert (steps <= measured + 1e-12).all()
    for i in range(n):
        assert exact.mean(centred[:, i] ** 2) <= changes[i].sum() / 2 + 1e-12  # Efron and Stein
        for j in range(i):
            product = abs(exact.mean(centred[:, i] * centred[:, j]))
            assert product <= math.sqrt(changes[i, j] * changes[j, i]) / 2 + 1e-12
    square = exact.mean(remainder**2)
    assert square <= changes.sum() / n**2 + 1e-12
    assert square <= measured.sum() / n**2 + 1e-12
    assert measured.sum() / n**2 <= squares + 1e-12
    assert np.abs(drift).max() <= most_drift + 1e-12  # for every data set


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("learner", LEARNERS)
def test_of_some_rows_the_remainder_and_the_drift_are_bounded(setting, learner):
    """The mean over rows that were chosen without the data, while every row is left out beside them."""
    bags, some = SETTINGS[setting][0], [0, 2]
    exact, n = Exact(bags, LEARNERS[learner], LOSSES["absolute"][0], ROWS), bags.n_samples
    centred, at_rows, _ = exact.centred()
    eigenvalue, _ = largest_eigenvalue(bags)
    spreads = spread_without_each(bags, None, eigenvalue, np.array(some))
    drift = (exact.risk(exact.without[:, some]) - exact.risk(exact.whole)[:, None]).mean(axis=1)
    remainder, independent = centred[:, some].mean(axis=1), at_rows[:, some].mean(axis=1)
    total = exact.own_losses()[:, some].mean(axis=1) - exact.risk(exact.whole)
    np.testing.assert_allclose(independent + remainder + drift, total, atol=1e-12)
    assert abs(exact.mean(remainder * independent)) < 1e-12
    assert exact.mean(remainder**2) <= 0.25 * 2 * spreads.sum() / len(some) ** 2 + 1e-12
    assert np.abs(drift).max() <= 0.5 * math.sqrt(eigenvalue * n / len(some)) + 1e-12


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_sum_of_squares_without_a_second_row_is_bounded_at_every_point(setting):
    bags = SETTINGS[setting][0]
    n, eigenvalue = bags.n_samples, largest_eigenvalue(bags)[0]
    spreads = spread_without_each(bags, None, eigenvalue, np.arange(n))
    outside, rng = (~bags.inclusion).astype(float), np.random.default_rng(0)
    for i in range(n):
        some = outside[:, i] > 0
        off = outside[some]
        for outputs in [*rng.integers(0, 2, (200, some.sum())), *np.eye(some.sum())]:
            both = (outputs @ off) / off.sum(axis=0)
            moved = np.delete(outputs.mean() - both, i)
            assert (moved**2).sum() <= spreads[i] * outputs.var() + 1e-12


@pytest.mark.parametrize(("n", "m", "n_bags"), [(3, 1, 2), (3, 1, 4), (4, 1, 3), (4, 2, 3), (4, 3, 3), (5, 2, 3)])
def test_on_average_over_every_draw_of_bags_the_bound_before_the_draw_holds(n, m, n_bags, seed):
    """Every sequence of so many bags; a row in every bag has the middle of the range in place of an average."""
    kinds = np.array([[row in bag for row in range(n)] for bag in itertools.combinations(range(n), m)])
    draws = np.array(list(itertools.product(range(len(kinds)), repeat=n_bags)))
    outside = (~kinds)[draws].astype(float)  # (draws, bags, rows)
    rng = np.random.default_rng(seed)
    for outputs in [*rng.integers(0, 2, (30, len(kinds))), *np.eye(len(kinds))[:3], kinds[:, 0], kinds.sum(axis=1) % 2]:
        y = outputs.astype(float)[draws]
        count = outside.sum(axis=1)
        alone = np.where(count > 0, np.einsum("db,dbi->di", y, outside) / np.maximum(count, 1), 0.5)
        square = ((y.mean(axis=1)[:, None] - alone) ** 2).mean()
        assert square <= 0.25 * _expected_square(n, m, n_bags) + 1e-12
        if m > n - 2:
            continue
        both = np.einsum("dbi,dbj->dij", outside, outside)
        two = np.einsum("db,dbi,dbj->dij", y, outside, outside) / np.maximum(both, 1)
        changes = (alone[:, :, None] - np.where(both > 0, two, 0.5)) ** 2
        changes[:, np.arange(n), np.arange(n)] = 0
        assert (changes.sum(axis=2).mean(axis=0) <= 0.25 * expected_spread(n, m, n_bags) + 1e-12).all()


def test_before_the_draw_bounds_fall_with_the_number_of_bags_to_that_of_all_bags():
    found = [
        expected_spread(200, 40, n_bags)
        for n_bags in (50, 200, 1000, 1999, 2600, 10_000, 10**7, 10**9, 2**60, math.inf)
    ]
    assert (np.diff(found)[:-2] < 0).all()
    assert found[-2] == pytest.approx(found[-1], rel=1e-6)
    assert found[-1] == pytest.approx(40 / 159 * 199 / 198)
    assert found[-4] == pytest.approx(found[-1], rel=1e-3)
    assert expected_spread(200, 199, 100) == math.inf
    bags = Subbagging(40).resolve(200).draw(400, random_state=0)
    assert (
        expected_spread(200, 40, 400)
        < spread_without_each(bags, None, largest_eigenvalue(bags)[0], np.arange(200)).min()
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_bound_from_all_bags_is_not_below_the_exact_one(setting, monkeypatch):
    bags = SETTINGS[setting][0]
    rows, eigenvalue = np.arange(bags.n_samples), largest_eigenvalue(bags)[0]
    exact = spread_without_each(bags, None, eigenvalue, rows)
    monkeypatch.setattr("stablebag.proving.error_bounds._MOST_EXACT", 0)
    by_pairs = spread_without_each(bags, None, eigenvalue, rows)
    weighted = spread_without_each(bags, np.full(len(bags), 1 / len(bags)), eigenvalue, rows)
    monkeypatch.setattr("stablebag.proving.error_bounds._MOST_PAIRS", 0)
    by_rows = spread_without_each(bags, None, eigenvalue, rows)
    assert (exact <= by_pairs + 1e-9).all()
    assert (by_pairs <= by_rows + 1e-9).all()
    np.testing.assert_allclose(by_pairs, weighted)


def test_three_rows_by_hand():
    """All bags of one of three rows, the learner says its row's target: the median row decides.

    With kinds 0 and 1 equally likely (targets 0 and 1) and absolute loss, f without row i is the mean of the other two
    targets, so every loss has conditional mean 1/2: h_i = 0, the risk is 1/2 and the drift 0. D_i = |f_i - y_i| - 1/2,
    which is (2 y_i - 1)(1/2 - f_i) = -2 u_i (u_j + u_k) / 2 with u = y - 1/2. The mean of the three is
    -(2/3)(u_1 u_2 + u_1 u_3 + u_2 u_3), with mean square (4/9) 3 / 16 = 1/12. The bound is 2 (1/4) times the sum of
    three eigenvalues, over 9: without row i there are two bags of one of two rows, and
    (f_i - f_ij)^2 + (f_i - f_ik)^2 = 2 ((a - b) / 2)^2 = 2 Var, so the eigenvalue is 2, and the bound is 1/3.

    What is measured has the same expectation as the remainder's square: E (D_i - D_i^(j))^2 = u_i^2 E (u_j - u_j')^2
    = 1/8 for each of the six pairs, and 6 (1/8) / 9 = 1/12.
    """
    bags = all_bags(3, 1)[0]
    spreads = spread_without_each(bags, None, largest_eigenvalue(bags)[0], np.arange(3))
    np.testing.assert_allclose(spreads, 2)
    bound = ErrorBound.of_subbags(3, 1, math.inf, upper=1, lipschitz=1, scale=0.5)
    assert bound.remainder**2 == pytest.approx(1 / 3)
    assert bound.drift == pytest.approx(0.5 * math.sqrt(1 / 4))  # c = (1/2) (1/3) / (2/3)
    data = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    without = np.stack([data[:, [1, 2]].mean(axis=1), data[:, [0, 2]].mean(axis=1), data[:, [0, 1]].mean(axis=1)], 1)
    found = np.abs(without - data).mean(axis=1) - 0.5
    assert found.mean() == pytest.approx(0)
    assert (found**2).mean() == pytest.approx(1 / 12)


def test_golden_values_of_all_bags():
    bound = ErrorBound.of_subbags(1000, 100, math.inf, upper=1, lipschitz=1, scale=0.5)
    assert bound.remainder**2 == pytest.approx(0.5 * 100 * 999 / (1000 * 899 * 998))
    assert bound.drift == pytest.approx(0.00527310, rel=1e-6)
    for n, m, width in [(1000, 100, 0.09405), (1000, 10, 0.06252), (10_000, 1000, 0.02973),
                        (10_000, 100, 0.01977), (1000, 500, 0.17598)]:  # fmt: skip
        bound = ErrorBound.of_subbags(n, m, math.inf, upper=1, lipschitz=1, scale=0.5)
        assert bound.half_width(0.95) == pytest.approx(width, abs=6e-6)
    # With a remainder bounded by 1.5 in place of 1, as by Cauchy and Schwarz without the projections:
    looser = ErrorBound(1000, 1.0, math.sqrt(8.359322e-5), 0.00527310)
    assert looser.remainder**2 == pytest.approx(1.5 * 0.5 * 100 / (899 * 998), rel=1e-6)
    assert looser.half_width(0.95) == pytest.approx(0.1024, abs=6e-5)


def test_the_split_of_what_is_missed_is_the_best_one():
    bound = ErrorBound.of_subbags(1000, 100, math.inf, upper=1, lipschitz=1, scale=0.5)
    split = [math.sqrt(math.log(2 / a) / 2000) + bound.remainder / math.sqrt(0.05 - a) + bound.drift
             for a in np.linspace(1e-4, 0.0499, 5000)]  # fmt: skip
    assert bound.half_width(0.95) <= min(split) <= bound.half_width(0.95) * (1 + 1e-6)
    twice = bound.half_width(0.95, differs=True)
    assert bound.half_width(0.95) < twice < 2 * bound.half_width(0.95)


def test_the_bag_size_that_proves_a_share_is_the_largest_one():
    size = largest_proving_size(1000, scale=0.5, square=0.01)
    for m, holds in ((size, True), (size + 1, False)):
        bound = ErrorBound.of_subbags(1000, m, math.inf, upper=1, lipschitz=1, scale=0.5)
        assert (1000 * bound.remainder**2 <= 0.01) == holds
    assert largest_proving_size(10, scale=0.5, square=1e-6) == 0


@pytest.mark.parametrize("missed", [0.05, 0.01])
def test_one_end_alone_is_missed_no_more_often_than_it_says(missed):
    """The most lopsided remainder: far below its mean with a small probability, and slightly above otherwise."""
    bound = ErrorBound(10**12, upper=1.0, remainder=1.0, drift=0.0)
    for one_sided in (True, False):
        half = bound.half_width(1 - missed, one_sided=one_sided)
        chance = 1 / (1 + half**2)  # of a value of half, with mean zero and variance one: Cantelli's inequality
        assert half**2 * chance + (1 - chance) * (half * chance / (1 - chance)) ** 2 == pytest.approx(1)
        assert chance <= missed * (1 + 1e-9)
    independent = ErrorBound(100, upper=1.0, remainder=0.0, drift=0.0)
    assert independent.half_width(0.95, one_sided=True) == pytest.approx(math.sqrt(math.log(1 / 0.05) / 200))
    assert bound.half_width(1 - missed, one_sided=True) < bound.half_width(1 - missed)
