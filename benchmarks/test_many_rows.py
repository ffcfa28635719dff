"""Very many rows: rows in no bag need neither time nor memory, and large bags need little more than their own size."""

import math
import tracemalloc

import numpy as np
from helpers import cpu_seconds

from stablebag import Certificate, Subbagging, plan
from stablebag.measuring.leave_one_out import perturbations_of
from stablebag.models.average import BagAverage
from stablebag.proving import unstable_epsilon
from stablebag.resampling import Bags
from stablebag.resampling.covariance import largest_eigenvalue
from stablebag.showing import PhaseDiagramDisplay


def peak_of(task):
    """The CPU seconds of a task, and the largest number of additional bytes that it needs."""
    taken = cpu_seconds(task)
    tracemalloc.start()
    task()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return taken, peak


def test_leaving_out_each_of_a_billion_rows(ratios):
    law = Subbagging(10_000).resolve(10**9)
    bags = law.draw(1000, 0)
    raw = np.random.default_rng(0).normal(size=(1000, 100))
    average = BagAverage(law, bags, np.full(1000, 1e-3), True, np.empty(0))
    found = []

    def measure():
        moved = perturbations_of(average, raw)
        repr(moved)
        moved.curve()
        found[:] = [moved.delta(1e-3), moved.epsilon(1e-6), moved.most_influential(5)]

    taken, peak = peak_of(measure)
    title = "10^9 rows, 1,000 bags of 10,000, 100 points: leave-one-out, summaries, curve, most influential rows"
    ratios(title, "ten seconds / ours", 10 / taken, 1.0)
    ratios(title, "1 GB / memory", 1e9 / peak, 1.0)


def test_the_eigenvalue_of_small_bags_of_very_many_rows(ratios):
    bags = Subbagging(10_000).resolve(10**8).draw(1000, 0)
    taken, peak = peak_of(lambda: largest_eigenvalue(bags))
    title = "10^8 rows, 1,000 bags of 10,000: certify(reused=True)"
    ratios(title, "ten seconds / ours", 10 / taken, 1.0)
    ratios(title, "1 GB / memory", 1e9 / peak, 1.0)


def test_the_eigenvalue_of_large_bags(ratios):
    rng, n, n_bags = np.random.default_rng(0), 10**6, 200
    bags = Bags((rng.permutation(n)[: n // 2] for _ in range(n_bags)), n)
    taken, peak = peak_of(lambda: largest_eigenvalue(bags[:]))  # a copy without cached results
    title = f"10^6 rows, {n_bags} bags of half of them: certify(reused=True), in {taken:.0f} s"
    ratios(title, "memory of the bags / memory beside them", 4 * int(bags.sizes.sum()) / peak, 1.0)


def test_drawing_a_tenth_of_very_many_rows(ratios):
    n, rng = 10**7, np.random.default_rng(0)
    law = Subbagging(n // 10).resolve(n)
    ours = cpu_seconds(lambda: law.draw(3, 0))
    permuting = cpu_seconds(lambda: [rng.permutation(n)[: n // 10] for _ in range(3)])
    ratios("3 bags of a tenth of 10^7 rows", "numpy permuting all rows / ours", permuting / ours, None)


def test_certificates_do_not_grow_with_the_rows(ratios):
    def everything(n):
        for n_bags in (1000, math.inf):
            certificate = Certificate(Subbagging(0.5), n, n_bags)
            certificate.delta(0.01)
            certificate.explain(0.05)
            PhaseDiagramDisplay.compute(certificate)
        plan(n, 0.05, 0.05)
        unstable_epsilon(n, n // 2, 0.1)

    for n, name in ((10**6, "10^6"), (10**12, "10^12"), (2**63, "2^63")):
        taken = cpu_seconds(lambda n=n: everything(n))
        title = f"{name} rows: certificates, plan, phase diagrams, unstable_epsilon"
        ratios(title, "ten seconds / ours", 10 / taken, 1.0)
