import math
import re

import pytest

from stablebag import (
    Certificate,
    Subbagging,
    plan,
)


def joined(text):
    return " ".join(text.split())


@pytest.mark.parametrize("name", ["subbagging", "bernoulli", "classical", "poissonized"])
@pytest.mark.parametrize(("n", "epsilon", "delta", "max_bags"), [
    (1000, 0.1, 0.1, 10_000), (1000, 0.1, 0.1, math.inf), (50, 0.5, 0.1, 1000), (5_000, 0.05, 0.01, 20_000),
])  # fmt: skip
def test_a_plan_is_certified_and_no_larger_bag_nor_fewer_bags_would_be(name, n, epsilon, delta, max_bags):
    found = plan(n, epsilon, delta, name, max_bags=max_bags)
    assert found.certificate.epsilon(delta) <= epsilon
    assert found.certificate == Certificate(found.scheme, n, found.n_bags)
    largest = n - 1 if name in ("subbagging", "bernoulli") else n
    if found.scheme.bag_size < largest:
        larger = type(found.scheme)(found.scheme.bag_size + 1)
        assert Certificate(larger, n, max_bags).epsilon(delta) > epsilon
    if found.n_bags == math.inf:
        assert max_bags == math.inf
    else:
        assert found.n_bags <= max_bags
        assert Certificate(found.scheme, n, found.n_bags - 1).epsilon(delta) > epsilon


def test_a_scheme_with_its_own_bag_size_keeps_it():
    found = plan(1000, 0.2, 0.1, Subbagging(0.5))
    assert found.scheme == Subbagging(0.5)
    assert Certificate(Subbagging(0.5), 1000, found.n_bags - 1).epsilon(0.1) > 0.2


def test_a_plan_is_in_the_units_of_the_prediction_and_pays_for_the_range():
    assert plan(1000, 20.0, 0.1, range_length=200.0).scheme == plan(1000, 0.1, 0.1).scheme
    assert plan(1000, 0.1, 0.1, delta_range=0.01).scheme.bag_size < plan(1000, 0.1, 0.1).scheme.bag_size


@pytest.mark.parametrize(("call", "words"), [
    (lambda: plan(100, 0.001, 0.05), r"Possible: epsilon >= 0.03961 for this delta\."),
    (lambda: plan(100, 0.05, 0.05, Subbagging(0.9)), "or more rows"),
    (lambda: plan(1000, 0.02, 0.05), "or delta >= 0.2507 for this epsilon, or the same request with max_bags=24,278"),
    (lambda: plan(100, 0.01, 0.001), "the same request with max_bags=inf"),
    (lambda: plan(100, 0.1, 0.01, delta_range=0.02), r"No plan .* Possible: delta >= 0.02"),
])  # fmt: skip
def test_an_impossible_request_says_what_is_possible(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("delta_range", [0.0, 0.02])
@pytest.mark.parametrize(("n", "epsilon", "delta"), [
    (100, 0.001, 0.05), (1000, 0.02, 0.05), (300, 0.03, 0.01), (100, 0.0101, 0.001), (20_000, 0.02, 0.03),
])  # fmt: skip
def test_what_an_impossible_request_is_told_is_indeed_possible(n, epsilon, delta, delta_range):
    with pytest.raises(ValueError, match="No plan") as refusal:
        plan(n, epsilon, delta, delta_range=delta_range)
    pattern = r"(epsilon|delta|max_bags)(?: >= |=)([\d.,e-]+\d|inf)(?= for this|,? or|\.$|\. )"
    offers = dict(re.findall(pattern, str(refusal.value).split("Possible")[1]))
    offers = {name: float(value.replace(",", "")) for name, value in offers.items()}
    assert offers or "use a fixed range" in str(refusal.value)
    if "epsilon" in offers:
        plan(n, offers["epsilon"], delta, delta_range=delta_range)
    if "delta" in offers:
        plan(n, epsilon, offers["delta"], delta_range=delta_range)
    if "max_bags" in offers:
        n_bags = offers["max_bags"]
        plan(n, epsilon, delta, delta_range=delta_range, max_bags=n_bags if math.isinf(n_bags) else int(n_bags))


def test_no_row_at_all_can_be_planned_for_with_infinitely_many_bags():
    assert plan(100, 0.25, 0.0, max_bags=math.inf).scheme == Subbagging(25)


def test_a_resolved_scheme_can_be_planned_for():
    assert plan(1000, 0.2, 0.1, Subbagging(0.5).resolve(1000)).n_bags == plan(1000, 0.2, 0.1, Subbagging(0.5)).n_bags


def test_a_plan_reads_as_an_instruction():
    text = joined(str(plan(10_000, 0.05, 0.05, "poissonized")))
    assert text.startswith("Use Poissonized bagging, 6,931 draws expected from 10,000 rows, with")
    assert "is at most 0.05 on average over the rows" in text


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: plan(1, 0.1, 0.1), ValueError, "'n_samples' parameter of plan"),
    (lambda: plan(500, 0.0, 0.1), ValueError, "'epsilon' parameter of plan"),
    (lambda: plan(500, 1.0, 0.1), ValueError, "below range_length=1. Got 1.0: no prediction moves further"),
    (lambda: plan(500, 0.1, -0.1), ValueError, r"'delta' parameter of plan .* share of the training rows"),
    (lambda: plan(500, 0.1, 0.1, "bootstrap"), ValueError, r"one of \['bernoulli', .* Got 'bootstrap'"),
    (lambda: plan(500, 0.1, 0.1, 0.5), TypeError, "'scheme' parameter of plan"),
    (lambda: plan(500, 0.1, 0.1, max_bags=0), ValueError, "'max_bags' parameter of plan"),
    (lambda: plan(500, 0.1, 0.1, range_length=0), ValueError, "'range_length' parameter of plan"),
])  # fmt: skip
def test_bad_input_is_refused_with_the_value(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_plan_for_six_rows_worked_by_hand():
    # With all bags the best promise for one row of six is the frontier at the second: 0.3 for three of six rows
    # in a bag, and 0.4 for four.
    found = plan(6, 0.301, 1 / 6, max_bags=math.inf)
    assert (found.scheme, found.n_bags, found.epsilon, found.delta) == (Subbagging(3), math.inf, 0.301, 1 / 6)
    assert found.explain() == str(found)
