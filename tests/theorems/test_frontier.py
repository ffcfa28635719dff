"""The exact frontier: what the linear programme over all bags gives, and what a learner attains."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from grids import first, together
from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.proving import unstable_epsilon
from stablebag.proving.bounds import bagging_constant, kth_perturbation
from stablebag.proving.frontier import all_plus, frontier, largest_mean, work_out
from theorems.enumeration import all_ensembles, enumerate_law, enumerate_patterns, for_all_laws, learners

GOLDEN = [
    (Subbagging(3), [0.5, 0.3, 0.2, 0.2, 0.2, 0.2]),
    (BernoulliSubbagging(3), [0.5, 0.25, 0.25, 0.1875, 0.1875, 0.15625]),
    (ClassicalBagging(6), [0.6651020233, 0.4179955418, 0.3556255668, 0.282464, 0.2448324852, 0.23056]),
]  # fmt: skip


def influence(ensemble):
    """The matrix that takes outputs over bags to f - f^i, one line for each row i."""
    outside = ensemble.weights[:, None] * ~ensemble.inside
    return (ensemble.weights[:, None] - outside / outside.sum(axis=0)).T


def by_programme(ensemble, plus, minus):
    """The largest t such that some outputs in [0, 1] move by t with `plus` rows and against `minus` others."""
    rows = influence(ensemble)[: plus + minus]
    signs = np.repeat([1.0, -1.0], [plus, minus])
    constraints = np.hstack([-signs[:, None] * rows, np.ones((plus + minus, 1))])
    objective = np.zeros(constraints.shape[1])
    objective[-1] = -1.0
    limits = [(0, 1)] * len(ensemble.weights) + [(None, None)]
    solved = linprog(objective, A_ub=constraints, b_ub=np.zeros(plus + minus), bounds=limits, method="highs")
    assert solved.status == 0
    return -solved.fun


def mean_by_programme(ensemble, signs):
    """The largest mean of signed movements: attained where the output is 1 on the bags that raise it."""
    return np.maximum(signs @ influence(ensemble), 0).sum() / len(signs)


def by_patterns(ensemble):
    """The same law by who is in the bag, which is all that the average and what is left out depend on."""
    patterns, places = np.unique(ensemble.inside, axis=0, return_inverse=True)
    weights = np.bincount(places.ravel(), weights=ensemble.weights)
    return type(ensemble)(ensemble.law, [np.flatnonzero(row) for row in patterns], weights, patterns)


@for_all_laws(6)
def test_the_frontier_is_the_value_of_the_programme_over_all_bags(ensemble):
    ensemble = by_patterns(ensemble)
    for rank in range(1, ensemble.law.n_samples + 1):
        splits = [by_programme(ensemble, rank - minus, minus) for minus in range(rank // 2 + 1)]
        assert frontier(ensemble.law, rank).value == pytest.approx(max(splits), abs=1e-9)


@for_all_laws(6)
def test_the_largest_mean_is_that_over_all_sign_patterns(ensemble):
    ensemble = by_patterns(ensemble)
    n = ensemble.law.n_samples
    signs = [np.where(np.arange(n) < minus, -1.0, 1.0) for minus in range(n // 2 + 1)]
    largest = max(mean_by_programme(ensemble, pattern) for pattern in signs)
    assert largest_mean(ensemble.law) == pytest.approx(largest, abs=1e-12)


@for_all_laws(6)
def test_no_learner_is_above_the_frontier_and_the_half_space_attains_it(ensemble):
    ensemble, law, n = by_patterns(ensemble), ensemble.law, ensemble.law.n_samples
    points = [frontier(law, rank) for rank in range(1, n + 1)]
    allowed = np.array([point.value for point in points])
    for _, outputs in learners(ensemble, np.random.default_rng(n)):
        moved = ensemble.perturbations(outputs)
        assert (np.sort(moved)[::-1] <= allowed + 1e-15).all()
        assert moved.mean() <= largest_mean(law) + 1e-15
    for rank, point in enumerate(points, start=1):
        plus, minus = ensemble.inside[:, : point.n_plus], ensemble.inside[:, point.n_plus : rank]
        outputs = point.outputs(plus.sum(axis=1), minus.sum(axis=1))
        assert outputs.min() >= 0
        assert outputs.max() <= 1
        np.testing.assert_allclose(ensemble.perturbations(outputs)[:rank].min(), point.value, atol=1e-9)


@pytest.mark.parametrize(("scheme", "values"), GOLDEN, ids=str)
def test_golden_values_of_six_rows(scheme, values):
    law = scheme.resolve(6)
    assert [frontier(law, rank).value for rank in range(1, 7)] == pytest.approx(values, abs=2e-10)


def test_golden_values_of_five_hundred_rows():
    law = Subbagging(250).resolve(500)
    golden = {1: 0.5, 2: 0.2505010020, 6: 0.1564375016, 26: 0.0775711337, 51: 0.0561874494}
    assert {rank: frontier(law, rank).value for rank in golden} == pytest.approx(golden, abs=1e-10)


def test_golden_values_of_the_largest_mean():
    golden = {(6, 3): 0.2, (20, 10): 0.0945225054, (20, 5): 0.0557275542}
    for (n, m), value in golden.items():
        assert largest_mean(Subbagging(m).resolve(n)) == pytest.approx(value, abs=1e-10)


SCHEMES = [
    Subbagging(1), Subbagging(0.1), Subbagging(0.5), Subbagging(0.9), Subbagging(39), BernoulliSubbagging(0.03),
    BernoulliSubbagging(0.5), BernoulliSubbagging(0.97), ClassicalBagging(1), ClassicalBagging(0.4),
    ClassicalBagging(1.0), ClassicalBagging(3.0), PoissonizedBagging(0.1), PoissonizedBagging(1.0),
    PoissonizedBagging(4.0),
]  # fmt: skip


@pytest.mark.parametrize("n", first([40, 41, 200]))
@together(scheme=SCHEMES)
def test_the_frontier_lies_between_the_lower_bound_and_theorem_8_and_falls(scheme, n):
    law = scheme.resolve(n)
    constant = bagging_constant(n, *law.p_and_q)
    values = [frontier(law, rank).value for rank in range(1, n + 1)]
    for rank, value in enumerate(values, start=1):
        assert value <= kth_perturbation(rank, n, constant, law.inclusion_probability) * (1 + 1e-10)
        assert value >= all_plus(law, rank) * (1 - 1e-15)
        if isinstance(scheme, Subbagging):
            assert value >= unstable_epsilon(n, int(law.bag_size), (rank - 1) / n) - 1e-15
    assert all(later <= earlier * (1 + 1e-10) for earlier, later in itertools.pairwise(values))
    assert values[0] == law.inclusion_probability
    assert max(all_plus(law, n), values[-1] * (1 - 1e-10)) <= largest_mean(law) <= math.sqrt(constant / 4) * (1 + 1e-10)


@pytest.mark.parametrize("scheme", first([Subbagging(0.5), BernoulliSubbagging(0.2), ClassicalBagging(1.0)]), ids=str)
def test_the_pruned_search_finds_the_largest_of_all_splits(scheme):
    from stablebag.proving.frontier import _best_weight

    law = scheme.resolve(60)
    for rank in (7, 30, 59, 60):
        counts = law.count_law(rank)
        splits = [_best_weight(counts, law.inclusion_probability, minus)[0] for minus in range(rank // 2 + 1)]
        assert max(splits) <= frontier(law, rank).value <= max(splits) * (1 + 1e-10)


@pytest.mark.parametrize("scheme", first([Subbagging(0.4), BernoulliSubbagging(0.4), ClassicalBagging(1.0)]), ids=str)
def test_cutting_tails_changes_nothing_that_shows(scheme, monkeypatch):
    law = scheme.resolve(300)
    whole = {}
    with monkeypatch.context() as patch:
        patch.setattr("stablebag.proving.frontier._TAIL", 1e-290)
        for rank in (20, 150, 300):
            whole[rank] = work_out(law, rank).value
    for rank, value in whole.items():
        assert value <= frontier(law, rank).value <= value * (1 + 1e-10)


def test_splits_that_tie_are_not_all_worked_out(monkeypatch):
    # With independent inclusion at p = 1/2 all splits have the same bound.
    from stablebag.proving import frontier as module

    worked_out = []
    original = module._best_weight
    monkeypatch.setattr(module, "_best_weight", lambda *args: worked_out.append(args) or original(*args))
    for rank in (499, 500):
        module.work_out(BernoulliSubbagging(0.5).resolve(500), rank)
    assert len(worked_out) < 10


@pytest.mark.slow
def test_many_rows_have_the_constant_of_the_normal_law():
    # As K grows, eps*(K) approaches sqrt(2 / pi) times the bound of Theorem 8.
    law = Subbagging(0.5).resolve(100_000)
    constant = bagging_constant(law.n_samples, *law.p_and_q)
    ratio = frontier(law, 5000).value / kth_perturbation(5000, law.n_samples, constant, 0.5)
    assert ratio == pytest.approx(math.sqrt(2 / math.pi), abs=2e-4)


def test_the_law_of_how_many_rows_are_in_a_bag_is_that_of_the_listed_bags():
    for ensemble in [*all_ensembles(5), enumerate_law(ClassicalBagging(9).resolve(4))]:
        for rows in range(ensemble.law.n_samples + 1):
            listed = np.bincount(ensemble.inside[:, :rows].sum(axis=1), weights=ensemble.weights, minlength=rows + 1)
            np.testing.assert_allclose(ensemble.law.count_law(rows), listed, atol=1e-14)


def test_a_level_frontier_is_level():
    # Bags of 7 of 14 rows: from rank 9 on nothing falls.
    law = Subbagging(7).resolve(14)
    values = [frontier(law, rank).value for rank in range(1, 15)]
    assert values == sorted(values, reverse=True)
    assert len({frontier(law, rank).value for rank in (12, 13, 14)}) == 1


def test_a_scheme_that_cannot_say_how_many_rows_are_in_a_bag_has_no_frontier():
    assert frontier(Subbagging(0.5).resolve(60_000), 40_000) is None
    assert frontier(ClassicalBagging(1.0).resolve(10**6), 20) is None
    assert all_plus(ClassicalBagging(1.0).resolve(10**6), 20) == 0.0
    assert largest_mean(Subbagging(0.5).resolve(30_000)) is None
    assert enumerate_patterns(PoissonizedBagging(2).resolve(3)).law.count_law(3) is not None


@pytest.mark.parametrize(("rank", "error"), [(0, ValueError), (7, ValueError), (1.5, TypeError)])
def test_ranks_that_are_none_are_refused(rank, error):
    with pytest.raises(error, match="rank"):
        frontier(Subbagging(3).resolve(6), rank)
