import math

import numpy as np
import pytest

from stablebag import BernoulliSubbagging, Certificate, ClassicalBagging, FixedRange, Subbagging
from stablebag.proving import VectorOutputs
from stablebag.proving.bounds import vector_epsilon
from theorems.enumeration import all_ensembles

GOLDEN = [(500, 250, 0.1, 0.180360721443), (60_000, 30_000, 0.05, 0.00600010000167)]


@pytest.mark.parametrize(("n", "m", "epsilon", "delta"), GOLDEN)
def test_golden_values_of_ten_classes(n, m, epsilon, delta):
    certificate = Certificate.for_classes(Subbagging(m), n, n_classes=10)
    assert certificate.rms() ** 2 / epsilon**2 == pytest.approx(delta, abs=1e-11)
    assert certificate.delta(epsilon) == math.floor(delta * n) / n


def test_golden_values_of_finitely_many_bags():
    few = Certificate.for_classes(Subbagging(30_000), 60_000, 10, 1000, coupling="independent")
    assert few.rms() ** 2 == pytest.approx(0.00181500025, abs=1e-11)
    # Squares add up, so this is below (sqrt(c) + 2 / sqrt(B))^2 = .00407976212458 for any coupling.
    few = Certificate.for_classes(Subbagging(30_000), 60_000, 10, 1000)
    assert few.rms() ** 2 == pytest.approx(0.9 * (1 / 59_999 + 4 / 1000), abs=1e-11)


def test_a_vector_of_one_number_is_a_number():
    number = Certificate(Subbagging(0.4), 200)
    vector = Certificate(Subbagging(0.4), 200, outputs=VectorOutputs(radius=0.5))
    assert vector.rms() == pytest.approx(number.norm(2))
    assert vector.worst_case() == number.worst_case()
    assert vector.epsilon(0.1) >= number.epsilon(0.1)


def outputs_of_vectors(ensemble, kind, rng):
    n_bags = len(ensemble.bags)
    if kind == "probabilities":
        return rng.dirichlet(np.ones(3), n_bags)
    if kind == "votes":
        return np.eye(3)[rng.integers(0, 3, n_bags)]
    return np.eye(3)[ensemble.inside[:, :2].sum(axis=1)]  # votes by how many of two rows are in


@pytest.mark.parametrize("kind", ["probabilities", "votes", "memorized"])
def test_no_learner_exceeds_it_when_all_bags_are_listed(kind, seed):
    rng = np.random.default_rng(seed)
    for ensemble in all_ensembles(6):
        n = ensemble.law.n_samples
        certificate = Certificate.for_classes(ensemble.law, n, 3)
        outputs = outputs_of_vectors(ensemble, kind, rng)
        average = ensemble.weights @ outputs
        outside = ensemble.weights[:, None] * ~ensemble.inside
        left_out = outside.T @ outputs / outside.sum(axis=0)[:, None]
        moved = np.linalg.norm(average - left_out, axis=1)
        variance = ensemble.weights @ ((outputs - average) ** 2).sum(axis=1)
        assert np.mean(moved**2) <= ensemble.constant * variance + 1e-15
        assert math.sqrt(np.mean(moved**2)) <= certificate.rms() + 1e-15
        assert moved.max() <= certificate.worst_case() + 1e-12
        if kind != "probabilities":  # the Gini index of the votes
            assert variance == pytest.approx(1 - average @ average)
        for rows in range(n):
            assert (moved > certificate.epsilon(rows / n) + 1e-12).sum() <= rows


def test_finitely_many_bags_cost_something_and_a_share_of_zero_promises_the_diameter():
    epsilons = [Certificate.for_classes(Subbagging(0.5), 1000, 4, b).epsilon(0.05) for b in (10, 1000, 10**6)]
    assert epsilons == sorted(epsilons, reverse=True)
    assert Certificate.for_classes(Subbagging(0.5), 1000, 4, 10**6).epsilon(0.0) == math.sqrt(2)
    assert Certificate.for_classes(Subbagging(0.5), 1000, 4).epsilon(0.0) == math.sqrt(2) / 2
    small = Certificate.for_classes(Subbagging(10), 1000, 4, 10**7)
    assert "McDiarmid" in " ".join(small.explain(1e-5).split())
    assert small.epsilon(1e-5) < vector_epsilon(1e-5, 0.01 / 0.99 / 999, math.sqrt(0.75), 10**7)
    assert Certificate(Subbagging(0.5), 10, outputs=VectorOutputs()).epsilon(1.0) == 0.0
    assert Certificate.for_classes(Subbagging(0.5), 10, 1).epsilon(0.3) == 0.0


@pytest.mark.parametrize("n_bags", [50, 5000, math.inf])
@pytest.mark.parametrize("scheme", [Subbagging(0.5), BernoulliSubbagging(0.2), ClassicalBagging(1.0)], ids=str)
def test_delta_and_epsilon_read_each_other_back(scheme, n_bags):
    certificate = Certificate.for_classes(scheme, 300, 5, n_bags)
    for delta in (0.01, 0.1, 0.5):
        assert certificate.delta(certificate.epsilon(delta)) <= delta + 1e-9
    assert certificate.delta(math.sqrt(2)) == 0.0
    assert "the vector of outputs" in " ".join(str(certificate).split())


@pytest.mark.parametrize(("call", "words"), [
    (lambda: VectorOutputs(radius=-1), "'radius'"),
    (lambda: VectorOutputs(3), "'length' .* at most 2"),
    (lambda: Certificate(Subbagging(0.5), 10, coupling="loose", outputs=VectorOutputs()), "'coupling'"),
    (lambda: Certificate.for_classes(Subbagging(0.5), 10, 0), "'n_classes'"),
    (lambda: Certificate(Subbagging(0.5), 10, outputs=VectorOutputs()).epsilon(2), "'delta'"),
])  # fmt: skip
def test_bad_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_box_is_a_vector_within_half_its_diagonal():
    y = [[0.0, 0.0], [1.0, 4.0], [3.0, 2.0], [3.0, 4.0], [0.0, 0.0], [1.0, 1.0]]
    fixed = Certificate.for_targets(Subbagging(3), y, [FixedRange(0, 3), FixedRange(0, 4)], vector=True)
    assert (fixed.outputs.radius, fixed.range_length, fixed.delta_range, fixed.reach) == (2.5, 5.0, 0.0, 5.0)
    plain = Certificate(Subbagging(3), 6, outputs=VectorOutputs(radius=2.5))
    for share in (0.0, 0.2, 0.5, 0.9, 1.0):
        assert fixed.epsilon(share) == plain.epsilon(share)
    assert (fixed.rms(), fixed.mean(), fixed.worst_case()) == (plain.rms(), plain.mean(), plain.worst_case())
    assert fixed.scope.quantity is not plain.scope.quantity


@pytest.mark.parametrize("n_bags", [math.inf, 300])
def test_rows_that_change_a_range_are_counted_first(n_bags):
    rng = np.random.default_rng(0)
    y = np.column_stack([rng.normal(size=40), rng.normal(size=40)])
    box = Certificate.for_targets(Subbagging(20), y, n_bags=n_bags, coupling="any", vector=True)
    changing = {int(place(column)) for column in y.T for place in (np.argmin, np.argmax)}
    assert box.delta_range == len(changing) / 40
    free = Certificate(Subbagging(20), 40, n_bags, outputs=VectorOutputs(radius=box.outputs.radius))
    assert box.epsilon(0.05) == box.worst_case() == box.reach
    for rows in (len(changing), 10, 25):
        assert box.epsilon(rows / 40) == pytest.approx(free.epsilon((rows - len(changing)) / 40), rel=1e-9)
    assert box.delta(box.epsilon(0.5)) <= 0.5 + 1e-9
    assert box.rms() == pytest.approx(min(box.reach, math.hypot(free.rms(), math.sqrt(box.delta_range) * box.reach)))
    text = " ".join(box.explain(0.5).split())
    assert "with these ranges of targets" in text
    assert f"the middle of a box that {round(40 * box.delta_range)} of the rows can change" in text
    assert Certificate.from_dict(box.to_dict()) == box
    assert box.price(0.5)[0] >= 0.0


def test_two_equal_outputs_are_root_two_times_one():
    y = np.random.default_rng(0).normal(size=30)
    one = Certificate.for_targets(Subbagging(10), y[:, None], vector=True)
    two = Certificate.for_targets(Subbagging(10), np.column_stack([y, y]), vector=True)
    assert one.delta_range == two.delta_range == Certificate.for_targets(Subbagging(10), y).delta_range
    for share in (0.1, 0.3, 0.6):
        assert two.epsilon(share) == pytest.approx(math.sqrt(2) * one.epsilon(share))
        assert one.epsilon(share) >= Certificate.for_targets(Subbagging(10), y).epsilon(share) - 1e-12
