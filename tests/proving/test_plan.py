import math
import re

import pytest

from resampling.own_schemes import Declared
from stablebag import (
    BernoulliSubbagging,
    Certificate,
    Subbagging,
    plan,
)
from stablebag.proving import VersionsCertificate


def joined(text):
    return " ".join(text.split())


def fewer_bags(n_bags):
    """The next smaller number with two digits."""
    return n_bags - 10 ** max(0, len(str(n_bags - 1)) - 2)


@pytest.mark.parametrize("name", ["subbagging", "bernoulli", "classical", "poissonized"])
@pytest.mark.parametrize(("n", "epsilon", "delta", "max_bags"), [
    (1000, 0.1, 0.1, 10_000), (50, 0.5, 0.1, 1000), (2_000, 0.05, 0.01, 20_000),
])  # fmt: skip
def test_a_plan_has_the_fewest_bags_of_nearly_the_largest_size(name, n, epsilon, delta, max_bags):
    found = plan(n, epsilon, delta, name, max_bags=max_bags)
    scheme, size = type(found.scheme), found.scheme.bag_size
    assert found.certificate.epsilon(delta) <= epsilon
    assert found.certificate == Certificate(found.scheme, n, found.n_bags, coupling="matched")
    assert not Certificate(found.scheme, n, fewer_bags(found.n_bags), coupling="matched").proves(epsilon, delta)
    largest = n - 1 if name in ("subbagging", "bernoulli") else n
    if size < largest:  # bags 8 % larger cannot be had with all the bags that are allowed, unless the search was quick
        larger = Certificate(scheme(min(largest, math.ceil(1.08 * size))), n, max_bags, coupling="matched")
        assert larger.quick_epsilon(delta) > epsilon
        is_slow = scheme(largest).resolve(n).count_law_roundings(1) > 1000
        assert is_slow or not larger.proves(epsilon, delta)


def test_a_plan_with_all_bags_has_the_largest_that_are_proved():
    for name, size in (("subbagging", 863), ("classical", 1000)):
        found = plan(1000, 0.1, 0.1, name, max_bags=math.inf)
        assert (found.scheme.bag_size, found.n_bags) == (size, math.inf)
        assert found.certificate.epsilon(0.1) <= 0.1
    assert Certificate(Subbagging(864), 1000).epsilon(0.1) > 0.1


def test_a_few_more_rows_in_a_bag_are_not_worth_many_more_bags():
    found = plan(1000, 0.2, 0.05)
    assert (found.scheme, found.n_bags) == (Subbagging(870), 120)
    assert (found.options[-1].bag_size, found.options[-1].n_bags) == (915, 10_000)


def test_a_scheme_with_its_own_bag_size_keeps_it():
    found = plan(1000, 0.2, 0.1, Subbagging(0.5))
    assert found.scheme == Subbagging(0.5)
    assert found.certificate.epsilon(0.1) <= 0.2
    assert Certificate(Subbagging(0.5), 1000, fewer_bags(found.n_bags), coupling="matched").epsilon(0.1) > 0.2


def test_a_plan_is_in_the_units_of_the_prediction_and_counts_rows_that_change_the_range():
    assert plan(200, 20.0, 0.1, range_length=200.0).scheme == plan(200, 0.1, 0.1).scheme
    assert plan(200, 0.1, 0.1, delta_range=0.01).scheme.bag_size < plan(200, 0.1, 0.1).scheme.bag_size


@pytest.mark.parametrize(("call", "words"), [
    (lambda: plan(100, 0.001, 0.05), r"Possible: epsilon >= 0.01006 for this delta\."),
    (lambda: plan(100, 0.05, 0.05, Subbagging(0.9)), "or more rows"),
    (lambda: plan(1000, 0.02, 0.05, coupling="any"), "or delta >= 0.2507 .* max_bags=25,000"),
    (lambda: plan(100, 0.0101, 0.001), "delta >= 0.0482 for this epsilon, or max_bags=16,000,000"),
    (lambda: plan(100, 0.01, 0.001), "max_bags=inf"),
    (lambda: plan(100, 0.1, 0.01, delta_range=0.02), r"No plan .* Possible: delta >= 0.02"),
])  # fmt: skip
def test_an_impossible_request_says_what_is_possible(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.slow
@pytest.mark.parametrize("delta_range", [0.0, 0.02])
@pytest.mark.parametrize(("n", "epsilon", "delta"), [
    (100, 0.001, 0.05), (1000, 0.0015, 0.05), (300, 0.004, 0.01), (100, 0.0101, 0.001), (20_000, 1e-4, 0.03),
])  # fmt: skip
def test_what_an_error_calls_possible_can_be_planned(n, epsilon, delta, delta_range):
    about = {"delta_range": delta_range, "coupling": "any"}
    with pytest.raises(ValueError, match="No plan") as refusal:
        plan(n, epsilon, delta, **about)
    pattern = r"(epsilon|delta|max_bags)(?: >= |=)([\d.,e-]+\d|inf)(?= for this|,? or|\.$|\. )"
    offers = dict(re.findall(pattern, str(refusal.value).partition("Possible")[2]))
    offers = {name: float(value.replace(",", "")) for name, value in offers.items()}
    assert offers or str(refusal.value).endswith("Use a range that fewer rows change.")
    if "epsilon" in offers:
        plan(n, offers["epsilon"], delta, **about)
    if "delta" in offers:
        plan(n, epsilon, offers["delta"], **about)
    if "max_bags" in offers:
        n_bags = offers["max_bags"]
        plan(n, epsilon, delta, **about, max_bags=n_bags if math.isinf(n_bags) else int(n_bags))


def test_no_row_at_all_can_be_planned_for_with_infinitely_many_bags():
    assert plan(100, 0.25, 0.0, max_bags=math.inf).scheme == Subbagging(25)


def test_a_resolved_scheme_can_be_planned_for():
    assert plan(1000, 0.2, 0.1, Subbagging(0.5).resolve(1000)).n_bags == plan(1000, 0.2, 0.1, Subbagging(0.5)).n_bags


def test_a_plan_reads_as_an_instruction():
    text = joined(str(plan(2000, 0.1, 0.05, "poissonized", max_bags=1000)))
    assert text.startswith("Use Poissonized bagging, 2,000 draws expected from 2,000 rows, with 410 bags.")
    assert "if both fits have the same seed and row IDs, so that bags without the row stay the same" in text
    assert "at most 5% of the 2,000 rows (delta = 0.05) are expected to change the prediction" in text


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: plan(1, 0.1, 0.1), ValueError, "'n_samples' parameter of plan"),
    (lambda: plan(500, 0.0, 0.1), ValueError, "'epsilon' parameter of plan"),
    (lambda: plan(500, 1.0, 0.1), ValueError, "below range_length=1. Got 1.0: no prediction changes by more"),
    (lambda: plan(500, 0.1, -0.1), ValueError, r"'delta' parameter of plan .* fraction of the training rows"),
    (lambda: plan(500, 0.1, 0.1, "bootstrap"), ValueError, r"one of \['bernoulli', .* Got 'bootstrap'"),
    (lambda: plan(500, 0.1, 0.1, 0.5), TypeError, "'scheme' parameter of plan"),
    (lambda: plan(500, 0.1, 0.1, max_bags=0), ValueError, "'max_bags' parameter of plan"),
    (lambda: plan(500, 0.1, 0.1, range_length=0), ValueError, "'range_length' parameter of plan"),
    (lambda: plan(500, 0.1, 0.1, max_bag_size=0), ValueError, "'max_bag_size' parameter of plan"),
    (lambda: plan(500, 0.1, 0.1, max_bag_size=0.5), TypeError, "'max_bag_size' parameter of plan"),
    (lambda: plan(500, 0.1, 0.1, coupling="none"), ValueError, "'coupling' parameter of Certificate"),
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


# ----------------------------------------------------------------------------------------- matched bags, and other ways


def test_a_plan_is_for_matched_bags_where_there_are_such():
    sharp = plan(442, 0.0763, 0.1, max_bags=500)
    assert sharp.certificate.coupling.name == "matched"
    assert sharp.scheme.bag_size > 221  # for which second moments prove 0.07552
    loose = plan(442, 0.15, 0.1, max_bags=500, coupling="any")
    assert loose.certificate.coupling.name == "any"
    assert loose.scheme.bag_size < plan(442, 0.15, 0.1, max_bags=500).scheme.bag_size
    with pytest.raises(ValueError, match="No plan with at most 500 bags"):
        plan(442, 0.0763, 0.1, max_bags=500, coupling="any")


def test_p_and_q_are_enough_to_plan_for_a_scheme_of_your_own():
    found = plan(442, 0.3, 0.1, Declared(0.5, 0.0))
    assert found.certificate.coupling.name == "any"
    assert found.certificate.epsilon(0.1) <= 0.3 < Certificate(Declared(0.5, 0.0), 442, 110).epsilon(0.1)
    assert found.n_bags == 120


def test_a_scheme_that_draws_other_bags_cannot_be_planned_as_matched():
    with pytest.raises(ValueError, match=r"for Declared\. Got 'matched': it draws different bags if a row is gone"):
        plan(442, 0.3, 0.1, Declared(0.5, 0.0), coupling="matched")


@pytest.mark.parametrize("name", ["subbagging", "bernoulli", "classical", "poissonized"])
def test_options_with_fewer_bags_have_smaller_ones_and_all_are_proved(name):
    found = plan(1000, 0.2, 0.05, name)
    assert len(found.options) >= 3
    bags, sizes = [option.n_bags for option in found.options], [option.bag_size for option in found.options]
    assert bags == sorted(set(bags))
    assert sizes == sorted(set(sizes))
    assert (found.n_bags, found.scheme.bag_size) in zip(bags, sizes, strict=True)
    assert bags[-1] in (found.n_bags, 10_000)  # the last has all the bags that are allowed, if that allows larger ones
    for option in found.options:
        size = round(option.bag_size)
        proved = Certificate(type(found.scheme)(size), 1000, option.n_bags, coupling="matched")
        assert proved.epsilon(0.05) == option.epsilon <= 0.2
        ideal = Certificate(type(found.scheme)(size), 1000, coupling="matched").epsilon(0.05)
        assert option.epsilon - option.price == pytest.approx(ideal)
        if option.n_bags < found.n_bags:  # bags 5 % larger are not proved
            larger = Certificate(
                type(found.scheme)(math.ceil(1.05 * size) + 1), 1000, option.n_bags, coupling="matched"
            )
            assert not larger.proves(0.2, 0.05)


def test_the_options_of_a_small_plan_worked_by_hand():
    # One bag of 2 of 50 rows: sqrt(v / delta), with v = 0.02 (1 + 1 / 48), and c plays no part.
    found = plan(50, 0.21, 0.5, max_bags=1)
    assert found.scheme == Subbagging(2)
    (option,) = found.options
    assert option.epsilon == pytest.approx(math.sqrt(0.02 * (1 + 1 / 48) / 0.5))
    assert (option.bag_size, option.n_bags) == (2, 1)


def test_a_plan_without_bags_to_count_has_one_way():
    options = plan(1000, 0.2, 0.05, max_bags=math.inf).options
    assert options[-1].n_bags == math.inf
    assert options[-1].price == 0


@pytest.mark.parametrize("name", ["subbagging", "classical"])
def test_bags_are_no_larger_than_can_be_afforded(name):
    free, held = plan(1000, 0.2, 0.05, name), plan(1000, 0.2, 0.05, name, max_bag_size=100)
    assert held.scheme.bag_size == 100 < free.scheme.bag_size
    assert held.n_bags < free.n_bags  # the fewest bags of that size
    assert Certificate(held.scheme, 1000, fewer_bags(held.n_bags), coupling="matched").epsilon(0.05) > 0.2
    assert plan(1000, 0.2, 0.05, name, max_bag_size=10**9).scheme == free.scheme
    assert all(option.bag_size <= 100 for option in held.options)


def test_more_bags_allow_larger_ones():
    sizes = [plan(1000, 0.1, 0.1, max_bags=n_bags).scheme.bag_size for n_bags in (30, 100, 1000, 10_000, math.inf)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] / 2


@pytest.mark.parametrize("name", ["subbagging", "bernoulli", "classical", "poissonized"])
@pytest.mark.parametrize("n", [10**12, 2**63])
def test_a_plan_for_very_many_rows_ends(name, n):
    found = plan(n, 0.05, 0.05, name)
    assert found.certificate.epsilon(0.05) <= 0.05
    assert found.n_bags <= 10_000
    assert Certificate(found.scheme, n, fewer_bags(found.n_bags), coupling="matched").epsilon(0.05) > 0.05


def test_the_quick_bound_is_never_below_the_best():
    for scheme in (Subbagging(0.3), BernoulliSubbagging(0.6)):
        for n_bags in (1, 100, 10_000, math.inf):
            for delta in (0.0, 0.013, 0.1, 0.5, 1.0):
                certificate = Certificate(scheme, 60, n_bags, delta_range=0.02, range_length=3.0, coupling="matched")
                assert certificate.quick_epsilon(delta) >= certificate.epsilon(delta) - 1e-12


def test_bags_need_not_be_larger_than_one_can_afford():
    assert plan(1000, 0.1, 0.1, max_bag_size=50).scheme == Subbagging(50)
    assert plan(1000, 0.1, 0.1, max_bag_size=10**6) == plan(1000, 0.1, 0.1)
    with pytest.raises(ValueError, match="'max_bag_size' parameter of plan"):
        plan(1000, 0.1, 0.1, max_bag_size=0)


def test_very_many_rows_are_planned_for():
    found = plan(10**12, 0.05, 0.05)
    # c + 2 / (B (n - m)) is about (1 + 1e-4) / (n - m), and n - m = (1 + 1e-4) / (4 * 0.05^3) = 2000.2.
    assert found.options[-1].bag_size == 10**12 - 2001
    assert found.scheme.bag_size == math.ceil(0.95 * (10**12 - 2001))
    assert found.certificate.epsilon(0.05) <= 0.05
    assert plan(10**12, 0.05, 0.05, max_bags=math.inf).scheme.bag_size == 999_999_998_000


def test_a_scheme_with_its_own_bag_size_must_be_affordable():
    with pytest.raises(ValueError, match=r"at least 500\. Got 10: a scheme object keeps its bag size"):
        plan(1000, 0.1, 0.1, Subbagging(500), max_bag_size=10)


# ------------------------------------------------------------------------------------------------------ random churn


def test_a_plan_for_churn_has_the_fewest_bags_of_nearly_the_largest_size():
    found = plan(1000, epsilon=0.2, delta=0.1, churn=0.01)
    assert found.certificate.epsilon(0.1) <= 0.2
    assert (found.certificate.n_left, found.certificate.n_came) == (10, 10)
    law = Subbagging(found.scheme.bag_size).resolve(1000)
    assert VersionsCertificate(law, 10, 10, fewer_bags(found.n_bags)).epsilon(0.1) > 0.2
    larger = Subbagging(math.ceil(found.scheme.bag_size / 0.94)).resolve(1000)
    assert VersionsCertificate(larger, 10, 10, 10_000).epsilon(0.1) > 0.2
    text = " ".join(str(found).split())
    assert "if the same share of rows is replaced, more rows do not make predictions change less" in text
    assert "If which rows left and came was random" in text
    assert "<pre" in found._repr_html_()


def test_the_share_of_rows_in_a_bag_decides_how_much_random_churn_changes():
    asked = {"epsilon": 0.1, "delta": 0.1, "churn": 0.01, "max_bags": math.inf}
    sizes = [plan(n, **asked).scheme.bag_size / n for n in (10_000, 100_000, 1_000_000)]
    assert max(sizes) - min(sizes) < 0.001
    # With half bags and 1% churn, epsilon is about .22 at delta = .1, and with tenths .074, whatever n is.
    for n in (10_000, 100_000):
        for share, epsilon in ((0.5, 0.2225), (0.1, 0.0745)):
            proved = VersionsCertificate(Subbagging(share).resolve(n), n // 100, n // 100)
            assert proved.epsilon(0.1) == pytest.approx(epsilon, rel=0.01)


@pytest.mark.parametrize(("more", "words"), [
    ({"churn": 0.0}, "churn"),
    ({"churn": 0.01, "coupling": "any"}, "coupling"),
    ({"churn": 0.01, "delta_range": 0.1}, "delta_range"),
    ({"churn": 0.01, "n_samples": 10**9}, "Plan for fewer rows"),
    ({"churn": 0.01, "max_bags": 3}, "Use more bags"),
    ({"churn": 0.5, "max_bags": math.inf, "epsilon": 0.001}, "less churn"),
])  # fmt: skip
def test_impossible_plans_for_churn_raise_an_error(more, words):
    with pytest.raises(ValueError, match=words):
        plan(**({"n_samples": 100, "epsilon": 0.2, "delta": 0.1} | more))
