"""Certificates: the exact frontier against a linear programme, and the eigenvalue against a dense matrix."""

import itertools
import time

import numpy as np
from helpers import seconds
from scipy.optimize import linprog

from stablebag import ClassicalBagging, Subbagging
from stablebag.proving.frontier import work_out
from stablebag.resampling.covariance import largest_eigenvalue


def frontier_by_programme(n, m, rank):
    """The same number from all bags, by HiGHS: one programme for each split into rows that push and that pull."""
    inside = np.array([np.isin(np.arange(n), bag) for bag in itertools.combinations(range(n), m)])
    rows = (1 / len(inside) - ~inside / (~inside).sum(axis=0)).T[:rank]
    values = []
    for minus in range(rank // 2 + 1):
        signs = np.where(np.arange(rank) < minus, -1.0, 1.0)
        constraints = np.hstack([-signs[:, None] * rows, np.ones((rank, 1))])
        objective = np.append(np.zeros(len(inside)), -1.0)
        limits = [(0, 1)] * len(inside) + [(None, None)]
        values.append(-linprog(objective, A_ub=constraints, b_ub=np.zeros(rank), bounds=limits).fun)
    return max(values)


def test_the_exact_frontier(ratios):
    law = Subbagging(6).resolve(12)
    begin = time.perf_counter()
    programme = frontier_by_programme(12, 6, 8)
    listed = time.perf_counter() - begin
    ours = seconds(lambda: work_out(law, 8))
    assert abs(programme - work_out(law, 8).value) < 1e-9
    ratios("exact frontier, 12 rows, rank 8", "linear programme over all bags / ours", listed / ours, None)
    for scheme, n, rank in [
        (Subbagging(0.5), 500, 51), (Subbagging(0.5), 500, 400), (Subbagging(0.5), 10_000, 501),
        (Subbagging(0.5), 10_000, 9_000), (ClassicalBagging(1.0), 10_000, 501), (ClassicalBagging(1.0), 10_000, 9_000),
    ]:  # fmt: skip
        law = scheme.resolve(n)
        taken = seconds(lambda law=law, rank=rank: work_out(law, rank))
        ratios("exact frontier: one second / ours", f"{law}, rank {rank:,}", 1 / taken, None)


def test_the_eigenvalue_of_the_drawn_bags(ratios):
    bags = Subbagging(0.5).resolve(2500).draw(2500, random_state=0)

    def dense():
        inside = bags.inclusion.astype(float)
        share = inside.mean(axis=0)
        centred = (inside - share) / (1 - share)
        return np.linalg.eigvalsh(centred.T @ centred / centred.size)[-1]

    assert abs(dense() / largest_eigenvalue(bags)[0] - 1) < 1e-6
    title = "largest eigenvalue, 2,500 rows, 2,500 bags"
    ratios(title, "dense matrix / ours", seconds(dense) / seconds(lambda: largest_eigenvalue(bags)), None)
    many = Subbagging(0.5).resolve(20_000).draw(1000, random_state=0)
    taken = seconds(lambda: largest_eigenvalue(many))
    ratios("largest eigenvalue, 20,000 rows, 1,000 bags", "ten seconds / ours", 10 / taken, 1.0)
