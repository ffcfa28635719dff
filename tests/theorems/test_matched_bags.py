"""Matched bags (docs/proofs.md, 10): the noise of the bags that change, at most v, by enumeration and by refits.

With the same seed and one row less, bags without the row stay as they are. The mean over rows of E (y - y')^2, where y
and y' are what the learner outputs on a bag with and without the row, is then at most `matched(law).noise`.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from grids import first, together
from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    FunctionRegressor,
    PoissonizedBagging,
    Subbagging,
    certify,
    leave_one_out_refit,
)
from stablebag.proving import bounds
from stablebag.proving.coupling import matched

ROUNDING = 1e-12


# ------------------------------------------------------------------------------------ the supremum of v by enumeration


def swap_form(n, m):
    """The subsets of size m, and the matrix of (1/n) sum_i E (y - y')^2 as a quadratic form in the outputs y."""
    sets = list(itertools.combinations(range(n), m))
    place = {rows: k for k, rows in enumerate(sets)}
    form, weight = np.zeros((len(sets), len(sets))), 1 / len(sets) / n / (n - m)
    for rows in sets:
        here = place[rows]
        for gone, newcomer in itertools.product(rows, set(range(n)) - set(rows)):
            there = place[tuple(sorted({*rows} - {gone} | {newcomer}))]
            form[here, here] += weight
            form[there, there] += weight
            form[here, there] -= weight
            form[there, here] -= weight
    return sets, form


def supremum_over_zero_one(form):
    """The largest y A y over all 0/1 vectors, of which there are at most 2**20."""
    size = len(form)
    best, first = 0.0, 1 << 16
    for start in range(0, 1 << (size - 1), first):  # y and 1 - y have the same value
        numbers = np.arange(start, min(start + first, 1 << (size - 1)))
        outputs = (numbers[:, None] >> np.arange(size) & 1).astype(float)
        best = max(best, float(((outputs @ form) * outputs).sum(axis=1).max()))
    return best


@pytest.mark.parametrize(("n", "m", "supremum"), [
    (2, 1, 1 / 2), (3, 1, 2 / 9), (3, 2, 4 / 9), (4, 1, 1 / 6), (4, 2, 1 / 3), (4, 3, 1 / 2), (5, 1, 0.12),
    (5, 2, 4 / 15), (5, 3, 0.4), (5, 4, 0.48), (6, 2, None), (6, 4, None), (6, 5, 1 / 2), (6, 1, None), (7, 1, None),
])  # fmt: skip
def test_no_output_of_subbags_is_noisier_than_v(n, m, supremum):
    _, form = swap_form(n, m)
    found = supremum_over_zero_one(form)
    assert found <= matched(Subbagging(m).resolve(n)).noise + ROUNDING
    if supremum is not None:
        assert found == pytest.approx(supremum, abs=1e-9)


def test_v_is_attained_for_some_sizes():
    # theory.md, 13: two of five, and five of six.
    for n, m in ((5, 2), (6, 5)):
        _, form = swap_form(n, m)
        assert supremum_over_zero_one(form) == pytest.approx(matched(Subbagging(m).resolve(n)).noise)


@pytest.mark.parametrize(("n", "m", "golden"), [(6, 3, 1 / 3), (7, 3, 0.2571)])
def test_the_suprema_that_are_too_many_to_list_are_attained_by_a_search(n, m, golden):
    # 2**20 and 2**35 outputs: flip one at a time for as long as it helps.
    _, form = swap_form(n, m)
    rng, best = np.random.default_rng(0), 0.0
    for _ in range(60):
        y = rng.integers(0, 2, len(form)).astype(float)
        while True:
            gain = (1 - 2 * y) * 2 * (form @ y) + np.diag(form)
            if gain.max() <= ROUNDING:
                break
            y[gain.argmax()] = 1 - y[gain.argmax()]
        best = max(best, float(y @ form @ y))
    assert best <= matched(Subbagging(m).resolve(n)).noise + ROUNDING
    assert best == pytest.approx(golden, abs=1e-4)


@together(size=[(n, m) for n in range(2, 8) for m in range(1, n)])
def test_v_is_the_smallest_eigenvalue_of_swapping_a_row(size):
    n, m = size
    # Outputs in [0, 1] have |y - 1/2| <= 1/2, so that y A y <= (largest eigenvalue of A) C(n, m) / 4.
    sets, form = swap_form(n, m)
    eigenvalues = np.linalg.eigvalsh(form) * len(sets)
    # The walk that swaps a row has the eigenvalues 1 - j (n + 1 - j) / (m (n - m)).
    walk = {j: 1 - j * (n + 1 - j) / (m * (n - m)) for j in range(min(m, n - m) + 1)}
    assert eigenvalues.max() == pytest.approx(2 * m / n * (1 - min(walk.values())))
    assert 1 - min(walk.values()) == pytest.approx(1 + 1 / max(m, n - m))
    assert matched(Subbagging(m).resolve(n)).noise == pytest.approx(min(m / n, eigenvalues.max() / 4))
    assert matched(Subbagging(m).resolve(n)).per_variance == pytest.approx(eigenvalues.max())


@together(scheme=[BernoulliSubbagging(0.3), PoissonizedBagging(0.5)], n=[2, 4])
def test_the_parity_attains_p_where_rows_come_independently(scheme, n):
    law = scheme.resolve(n)
    p = law.inclusion_probability
    inside = np.array(list(itertools.product([0, 1], repeat=n)))
    weights = np.prod(np.where(inside, p, 1 - p), axis=1)
    rng = np.random.default_rng(n)

    def noise(output):
        table = {tuple(bag): output(bag) for bag in inside}
        moved = [sum((table[tuple(bag)] - table[tuple(np.where(np.arange(n) == i, 0, bag))]) ** 2 for i in range(n))
                 for bag in inside]  # fmt: skip
        return weights @ moved / n

    assert noise(lambda bag: bag.sum() % 2) == pytest.approx(p)
    assert matched(law).noise == pytest.approx(p)
    for _ in range(20):
        values = dict(zip(map(tuple, inside), rng.random(len(inside)), strict=True))
        outputs = np.array(list(values.values()))
        variance = weights @ outputs**2 - (weights @ outputs) ** 2
        found = noise(lambda bag, values=values: values[tuple(bag)])
        assert found <= p + ROUNDING
        assert found <= matched(law).per_variance * variance + ROUNDING  # Efron and Stein


@pytest.mark.parametrize(("n", "m"), [(2, 2), (3, 2), (3, 3)])
def test_classical_bags_are_never_noisier_than_p(n, m):
    """All sequences; each occurrence of the row gives way to a draw from the others."""
    bags = {rows: k for k, rows in enumerate(itertools.product(range(n), repeat=m))}
    form = np.zeros((len(bags), len(bags)))
    for rows, here in bags.items():
        for gone in range(n):
            others = [[row] if row != gone else [k for k in range(n) if k != gone] for row in rows]
            choices = list(itertools.product(*others))
            for after in choices:
                there, weight = bags[after], 1 / n**m / n / len(choices)
                form[[here, there], [here, there]] += weight if here != there else 0.0
                if here != there:
                    form[here, there] -= weight
                    form[there, here] -= weight
    rng, noise = np.random.default_rng(0), matched(ClassicalBagging(m).resolve(n)).noise
    best = max(float(y @ form @ y) for y in rng.integers(0, 2, (3000, len(bags))).astype(float))
    assert 0.5 * noise < best <= noise + ROUNDING


# -------------------------------------------------------------------------------------- learners that look at the order


def sign(sequence):
    """The sign of the permutation that sorts a sequence, as 0 or 1."""
    return float(sum(a > b for a, b in itertools.combinations(list(sequence), 2)) % 2)


def sign_of_all(bag, n):
    """The sign of the permutation of all n rows that begins with the bag."""
    return sign([*bag, *(row for row in range(n) if row not in bag)])


@pytest.mark.parametrize(("comes_last", "supremum"), [(False, 2 / 3), (True, 5 / 9)])
def test_an_order_that_changed_with_the_set_would_break_the_bound(comes_last, supremum):
    # theory.md, 13, "Order": two of three rows; the newcomer takes the place of the row that is gone, or the last.
    bags = list(itertools.permutations(range(3), 2))
    form = np.zeros((6, 6))
    for here, rows in enumerate(bags):
        for gone in rows:
            newcomer = ({0, 1, 2} - set(rows)).pop()
            stays = [row for row in rows if row != gone]
            after = [*stays, newcomer] if comes_last else [newcomer if row == gone else row for row in rows]
            there = bags.index(tuple(after))
            form[here, here] += 1 / 18
            form[there, there] += 1 / 18
            form[here, there] -= 1 / 18
            form[there, here] -= 1 / 18
    found = supremum_over_zero_one(form)
    assert found == pytest.approx(supremum)
    if not comes_last:  # each newcomer is a transposition of all three rows, so that the sign attains p
        signs = np.array([sign_of_all(rows, 3) for rows in bags])
        assert signs @ form @ signs == pytest.approx(2 / 3)
    assert found > matched(Subbagging(2).resolve(3)).noise == pytest.approx(0.5)


def squared_signs(before, after, n):
    return np.mean(
        [(sign_of_all(one, n) - sign_of_all(other, n)) ** 2 for one, other in zip(before, after, strict=True)]
    )


@pytest.mark.parametrize(("n", "m"), [(3, 2), (4, 3)])
def test_the_sign_of_the_order_does_not_break_the_bound(n, m, seed):
    """Drawn bags with and without each row. Squares are in [0, 1], so that Hoeffding's inequality gives the slack."""
    law, n_bags, false_alarm = Subbagging(m).resolve(n), 10_000, 1e-9
    before = [bag.tolist() for bag in law.draw(n_bags, seed)]
    matched_mean, in_place_mean = 0.0, 0.0
    for gone in range(n):
        rest = np.delete(np.arange(n), gone)
        after = [rest[bag].tolist() for bag in law.without_one().draw(n_bags, seed, row_ids=rest)]
        matched_mean += squared_signs(before, after, n) / n
        # The same rows, but with the newcomer where the other was.
        newcomers = [next(iter(set(new) - set(old)), None) for old, new in zip(before, after, strict=True)]
        in_place = [[newcomer if row == gone else row for row in old]
                    for old, newcomer in zip(before, newcomers, strict=True)]  # fmt: skip
        in_place_mean += squared_signs(before, in_place, n) / n
    slack = math.sqrt(math.log(1 / false_alarm) / 2 / n_bags)
    assert matched_mean <= matched(law).noise + slack
    assert in_place_mean == pytest.approx(m / n)  # whereas that would break it
    assert m / n > matched(law).noise + slack


# ------------------------------------------------------------------------------------------- fitted models, with refits


def parity(X, y, seed):
    return lambda points: np.full(len(points), float(X[:, 0].sum() % 2))


def threshold(X, y, seed):
    return lambda points: np.full(len(points), float(2 * np.sum(X[:, 0] % 2) > len(X)))


def memorizer(X, y, seed):
    return lambda points: np.isin(points[:, 0], X[:, 0]).astype(float)


def order(X, y, seed):
    return lambda points: np.full(len(points), sign(X[:, 0]))


LEARNERS = {f.__name__: f for f in (parity, threshold, memorizer, order)}
LAWS = [Subbagging(5), BernoulliSubbagging(0.3), ClassicalBagging(5), PoissonizedBagging(0.4)]
N_ROWS, N_BAGS, N_SEEDS, FALSE_ALARM = 10, 8, 400, 1e-6
X = np.arange(float(N_ROWS))[:, None]
POINT = X[:1]


def outputs(learner, law, rows, n_bags, seed):
    """What the learner outputs on each bag of these rows."""
    empty = 0.5  # the middle of the range
    drawn = law.draw(n_bags, seed, row_ids=rows)
    return np.array([learner(X[rows[bag]], None, None)(POINT)[0] if len(bag) else empty for bag in drawn])


def perturbations(learner, scheme, seed, n_bags):
    """The difference of each bag's output with all rows and without each; shape (n_rows, n_bags)."""
    law, everything = scheme.resolve(N_ROWS), np.arange(N_ROWS)
    with_all = outputs(learner, law, everything, n_bags, seed)
    rest = [np.delete(everything, row) for row in everything]
    return np.array([with_all - outputs(learner, law.without_one(), rows, n_bags, seed) for rows in rest])


def squares_by_run(learner, scheme, seed):
    """The mean over rows of the squared perturbation of 8 bags, many times, independently; each is in [0, 1]."""
    bags = perturbations(learner, scheme, seed, N_BAGS * N_SEEDS)
    return (bags.reshape(N_ROWS, N_SEEDS, N_BAGS).mean(axis=2) ** 2).mean(axis=0)


def model_of(name, scheme, random_state=None):
    settings = {"n_bags": N_BAGS, "prediction_range": FixedRange(0, 1), "random_state": random_state}
    return BaggedRegressor(FunctionRegressor(LEARNERS[name]), scheme=scheme, **settings)


@pytest.mark.parametrize("scheme", first(LAWS), ids=str)
@together(name=LEARNERS)
def test_refits_are_what_matched_bags_give(scheme, name):
    """What is measured by refits is what the next test works out from the bags."""
    moved = leave_one_out_refit(model_of(name, scheme, 3), X, X[:, 0] % 2, POINT, rows=[0, 4, 9])
    expected = perturbations(LEARNERS[name], scheme, 3, N_BAGS).mean(axis=1)[[0, 4, 9]]
    np.testing.assert_allclose(moved.prediction[0] - moved.left_out[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize("scheme", first(LAWS), ids=str)
@together(name=LEARNERS)
def test_the_certificate_is_never_broken_by_finitely_many_matched_bags(scheme, name, seed):
    squares = squares_by_run(LEARNERS[name], scheme, seed)
    proved = certify(model_of(name, scheme, 0).fit(X, X[:, 0] % 2))
    assert proved.coupling.name == "matched"
    # Six standard deviations of a mean of 400: exceeded by chance in fewer than 1 of 10 million runs.
    most, slack = proved.norm(2) ** 2, 6 * squares.std() / math.sqrt(N_SEEDS)
    assert squares.mean() <= most + slack
    assert most + slack < Certificate(scheme, N_ROWS, N_BAGS).norm(2) ** 2  # with bags coupled in any way


def test_measured_refits_over_many_seeds_stay_below_the_certificate():
    moved = leave_one_out_refit(model_of("parity", Subbagging(5)), X, X[:, 0] % 2, POINT, rows=[0, 1, 2, 3],
                                n_repeats=25, random_state=0)  # fmt: skip
    squares = (moved.distances[:, :, 0] ** 2).mean(axis=1)  # rows 0 to 3 are two even and two odd ones, as all are
    most = certify(model_of("parity", Subbagging(5), 0).fit(X, X[:, 0] % 2)).norm(2) ** 2
    log = math.log(1 / FALSE_ALARM)
    assert squares.mean() <= most + math.sqrt(2 * most * log / 25) + log / 75
    assert moved.scope.coupling == "matched"


@pytest.mark.parametrize("scheme", first(LAWS[:2]), ids=str)
def test_refits_move_as_far_as_predicted_and_less_than_with_bags_drawn_anew(scheme, seed):
    """The parity of ten rows: its mean square is (1 - 1 / B) L^2 + v / B, worked out by listing."""
    law = scheme.resolve(N_ROWS)
    # Parity of the sum of 0, ..., 9 is that of the number of odd rows, five of ten.
    if isinstance(scheme, Subbagging):
        odd = np.array([math.comb(5, k) * math.comb(5, 5 - k) / math.comb(10, 5) for k in range(6)])
        # An odd row that is gone leaves four odd of nine; a swap changes the parity if it is between odd and even.
        left_odd = [math.comb(4, k) * math.comb(5, 5 - k) / math.comb(9, 5) for k in range(5)]
        left_even = [math.comb(5, k) * math.comb(4, 5 - k) / math.comb(9, 5) for k in range(6)]
        # The pair that is swapped is a uniform pair of distinct rows: 5 * 5 * 2 of 10 * 9 differ.
        noise = law.inclusion_probability * 50 / 90
    else:
        p = law.inclusion_probability
        odd, left_odd, left_even = binom.pmf(range(6), 5, p), binom.pmf(range(5), 4, p), binom.pmf(range(6), 5, p)
        noise = p / 2  # only odd rows change the parity
    f, without = sum(odd[1::2]), [sum(left_odd[1::2]), sum(left_even[1::2])]
    square = np.mean([(f - g) ** 2 for g in without])
    predicted = (1 - 1 / N_BAGS) * square + noise / N_BAGS
    anew = square + (f * (1 - f) + np.mean([g * (1 - g) for g in without])) / N_BAGS
    squares = squares_by_run(parity, scheme, seed)
    # A mean of 400: six standard deviations, which happens by chance in fewer than 1 of 10 million runs.
    slack = 6 * squares.std() / math.sqrt(N_SEEDS)
    assert abs(squares.mean() - predicted) <= slack
    assert squares.mean() + slack < anew
    assert predicted <= certify_bound(law) + ROUNDING


def certify_bound(law):
    return Certificate(law, law.n_samples, N_BAGS, coupling="matched").norm(2) ** 2


@pytest.mark.parametrize("n_bags", [1, 5, 50])
def test_the_tail_of_matched_bags_holds_for_each_row(n_bags):
    """A learner that tells whether row 0 is in the bag: the noise is a Binomial count, so that its tail is exact."""
    for scheme in (Subbagging(2), BernoulliSubbagging(0.2)):
        law = scheme.resolve(10)
        p = law.inclusion_probability
        for share in (0.5, 0.1, 1e-3):
            radius = matched(law).radius(n_bags, share)
            counts = np.arange(n_bags + 1)
            assert binom.pmf(counts, n_bags, p)[np.abs(counts / n_bags - p) > radius].sum() <= share
    assert bounds.mean_square_perturbation(0.0, n_bags, matched(Subbagging(2).resolve(10))) ** 2 <= 0.2 / n_bags
