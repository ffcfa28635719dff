"""Theorems 8, 12, 13, 14 and 18, exactly: all n <= 8, all m, four schemes, several learners on each."""

import math

import numpy as np
import pytest

from grids import together
from stablebag import BernoulliSubbagging, Certificate, ClassicalBagging, ObservedRange, Subbagging, TrimmedRange
from stablebag.models.ranges import as_prediction_range
from stablebag.proving import bounds
from theorems.enumeration import enumerate_law, for_all_laws, learners

MOVING = as_prediction_range(lambda y: (y.mean() - 1, y.mean() + 1), "here")
ROUNDING = 1e-12  # a perturbation is a sum of at most 6,435 floats


@pytest.fixture
def rng(seed):
    return np.random.default_rng(seed)


@for_all_laws(8)
def test_mean_square_is_at_most_the_constant_times_the_variance(ensemble, rng):
    for name, outputs in learners(ensemble, rng):
        mean_square = np.mean(ensemble.perturbations(outputs) ** 2)
        assert mean_square <= ensemble.constant * ensemble.variance(outputs) + ROUNDING, name
        assert ensemble.variance(outputs) <= 0.25 + ROUNDING


@for_all_laws(8)
def test_theorem_8_holds(ensemble, rng):
    n = ensemble.law.n_samples
    for name, outputs in learners(ensemble, rng):
        moved = ensemble.perturbations(outputs)
        for epsilon in np.linspace(0.01, 1, 34):
            share = np.mean(moved > epsilon + ROUNDING)
            assert share <= bounds.average_case_delta(epsilon, ensemble.constant, n), name


@for_all_laws(8)
def test_certificates_are_never_violated(ensemble, rng):
    n = ensemble.law.n_samples
    certificate = Certificate(ensemble.law, n)
    for name, outputs in learners(ensemble, rng):
        moved = ensemble.perturbations(outputs)
        for rows in range(n + 1):
            for bound in ("best", "paper"):
                assert np.sum(moved > certificate.epsilon(rows / n, bound) + ROUNDING) <= rows, name
        for epsilon in np.linspace(0, 1, 34):
            assert np.mean(moved > epsilon + ROUNDING) <= certificate.delta(epsilon), name
        assert moved.max() <= certificate.worst_case() + ROUNDING
        assert moved.mean() <= certificate.mean() + ROUNDING


@for_all_laws(8)
def test_theorem_12_holds_for_unbounded_outputs(ensemble, rng):
    n = ensemble.law.n_samples
    for outputs in (rng.normal(size=len(ensemble.bags)), rng.standard_cauchy(size=len(ensemble.bags))):
        moved, variance = ensemble.perturbations(outputs), ensemble.variance(outputs)
        slack = ROUNDING * np.abs(outputs).max()
        assert bounds.data_dependent_scale(variance) <= np.ptp(outputs) + slack
        for rows in range(1, n + 1):
            epsilon = bounds.unbounded_epsilon(rows / n, ensemble.constant, variance)
            assert np.sum(moved > epsilon + slack) <= rows
        for epsilon in np.linspace(0.01, 2, 20) * np.sqrt(variance):
            assert np.mean(moved > epsilon + slack) <= bounds.unbounded_delta(epsilon, ensemble.constant, variance, n)


@for_all_laws(8)
@together(prediction_range=[ObservedRange(), TrimmedRange(2), MOVING])
def test_theorem_13_holds_for_clipped_outputs(ensemble, rng, prediction_range):  # trimmed by two: four rows at least
    n = ensemble.law.n_samples
    if n < 4 and isinstance(prediction_range, TrimmedRange):
        return
    for targets in (rng.normal(size=n), rng.integers(0, 3, n).astype(float), np.zeros(n)):
        outputs = 2 * rng.normal(size=len(ensemble.bags))
        low, high = prediction_range.interval(targets)
        full = ensemble.average(np.clip(outputs, low, high))
        left_out = [
            ensemble.left_out(np.clip(outputs, *prediction_range.interval(np.delete(targets, row))))[row]
            for row in range(n)
        ]
        moved = np.abs(full - left_out)
        delta_range = prediction_range.delta(targets)
        certificate = Certificate(ensemble.law, n, range_length=high - low, delta_range=delta_range)
        for rows in range(n + 1):
            epsilon = certificate.epsilon(rows / n, bound="paper")
            assert np.sum(moved > epsilon + ROUNDING) <= rows
            # "best" asks for ranges that do not reach further.
            if isinstance(prediction_range, ObservedRange | TrimmedRange):
                assert np.sum(moved > certificate.epsilon(rows / n) + ROUNDING) <= rows
        if isinstance(prediction_range, ObservedRange | TrimmedRange):
            for order in (1, 2, 4, math.inf):
                norm = moved.max() if math.isinf(order) else np.mean(moved**order) ** (1 / order)
                assert norm <= certificate.norm(order) + ROUNDING


@for_all_laws(8)
def test_theorem_14_holds(ensemble, rng):
    p = bounds.worst_case_epsilon(ensemble.law.inclusion_probability)
    for name, outputs in learners(ensemble, rng):
        assert ensemble.perturbations(outputs).max() <= p + ROUNDING, name


@for_all_laws(8)
def test_the_memorizer_attains_theorem_14(ensemble):
    moved = ensemble.perturbations(ensemble.inside[:, 0].astype(float))
    assert moved[0] == pytest.approx(ensemble.law.inclusion_probability, abs=ROUNDING)


@for_all_laws(8)
def test_theorem_18_holds(ensemble, rng):
    p = ensemble.law.inclusion_probability
    for name, outputs in learners(ensemble, rng):
        moved = ensemble.perturbations(outputs)
        for order in (0.5, 1, 1.5, 2, 3, 4, 8):
            norm = np.mean(moved**order) ** (1 / order)
            assert norm <= bounds.norm_perturbation(order, ensemble.constant, p) + ROUNDING, (name, order)
        assert moved.max() <= bounds.norm_perturbation(math.inf, ensemble.constant, p) + ROUNDING


@for_all_laws(8)
def test_average_is_a_mixture_of_bags_with_and_without_a_row(ensemble, rng):
    p = ensemble.law.inclusion_probability
    outputs = rng.random(len(ensemble.bags))
    inside = ensemble.weights[:, None] * ensemble.inside
    with_row = outputs @ inside / inside.sum(axis=0)
    mixture = p * with_row + (1 - p) * ensemble.left_out(outputs)
    np.testing.assert_allclose(mixture, ensemble.average(outputs), atol=1e-12)


@together(size=[(n, m) for n in range(2, 9) for m in range(1, n)])
def test_the_memorizer_makes_the_mean_square_bound_an_equality_under_subbagging(size):
    n, m = size
    ensemble = enumerate_law(Subbagging(m).resolve(n))
    outputs = ensemble.inside[:, 0].astype(float)
    moved, p = ensemble.perturbations(outputs), m / n
    np.testing.assert_allclose(moved, [p] + [p / (n - 1)] * (n - 1), atol=ROUNDING)
    mean_square = np.mean(moved**2)
    assert mean_square == pytest.approx(p**2 / (n - 1), abs=ROUNDING)
    assert mean_square == pytest.approx(ensemble.constant * ensemble.variance(outputs), abs=ROUNDING)


@pytest.mark.parametrize(("n", "value"), [(4, 1 / 12), (6, 0.05), (8, 0.0357142857142857)])
def test_half_bags_attain_a_quarter_of_the_constant(n, value):
    ensemble = enumerate_law(Subbagging(n // 2).resolve(n))
    assert np.mean(ensemble.perturbations(ensemble.inside[:, 0].astype(float)) ** 2) == pytest.approx(value)
    assert ensemble.constant / 4 == pytest.approx(value)


@pytest.mark.parametrize("n", [2, 4, 6, 8])
def test_all_but_one_row_and_split_outputs_move_every_prediction_by_a_half(n):
    ensemble = enumerate_law(Subbagging(n - 1).resolve(n))
    outputs = np.arange(n) % 2.0
    np.testing.assert_allclose(ensemble.perturbations(outputs), 0.5)
    assert ensemble.constant / 4 == pytest.approx(0.25)


def test_the_tiny_ensemble_worked_by_hand():
    ensemble = enumerate_law(Subbagging(2).resolve(4))
    assert [bag.tolist() for bag in ensemble.bags] == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    outputs = np.array([0.9, 0.2, 0.7, 0.1, 0.6, 0.4])
    # Without row 0 there are the bags (1, 2), (1, 3), (2, 3): (0.1 + 0.6 + 0.4) / 3.
    assert ensemble.average(outputs) == pytest.approx(0.483333333333)
    np.testing.assert_allclose(ensemble.left_out(outputs), [0.366666666667, 0.433333333333, 0.733333333333, 0.4])
    variance = ensemble.variance(outputs)
    assert variance == pytest.approx(0.0780555555556)
    assert bounds.data_dependent_scale(variance) == pytest.approx(0.558768487141)
    assert np.mean(ensemble.perturbations(outputs) ** 2) == pytest.approx(0.0213888888889)
    assert ensemble.constant * variance == pytest.approx(0.0260185185185)
    assert ensemble.constant / 4 == pytest.approx(0.0833333333333)


@pytest.mark.parametrize("scheme", [Subbagging(2), BernoulliSubbagging(2), ClassicalBagging(2)])
def test_leaving_out_a_row_is_bagging_the_other_rows_under_the_law_without_one(scheme, rng):
    n = 5
    law = scheme.resolve(n)
    ensemble, smaller = enumerate_law(law), enumerate_law(law.without_one())
    value = {tuple(bag): rng.random() for bag in map(np.ndarray.tolist, ensemble.bags)}
    outputs = np.array([value[tuple(bag.tolist())] for bag in ensemble.bags])
    for row in range(n):
        others = np.delete(np.arange(n), row)
        refit = np.array([value[tuple(others[bag].tolist())] for bag in smaller.bags])
        assert ensemble.left_out(outputs)[row] == pytest.approx(smaller.average(refit), abs=1e-12)
