import json
import math
import re

import numpy as np
import pytest

from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    PoissonizedBagging,
    StratifiedSubbagging,
    Subbagging,
    certify,
    plan,
)
from stablebag._wording import rounded_up
from stablebag.proving import PointCertificate, ReusedBagsCertificate, VectorOutputs
from stablebag.proving.bounds import vector_epsilon
from stablebag.proving.certificate import TRIVIAL, Bound, Proof, StabilityCertificate, enough_bags
from stablebag.proving.outputs import AdaptiveOutputs, Outputs, UnboundedOutputs
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.resampling import ResamplingScheme
from stablebag.showing import PhaseDiagramDisplay
from theorems.enumeration import all_ensembles

# ---------------------------------------------------------------------------------------------------------- certificate


GOLDEN = [
    (Subbagging(0.5), 0.0707814950399), (BernoulliSubbagging(0.5), 0.0707106781187),
    (ClassicalBagging(1.0), 0.092817323725), (ClassicalBagging(250), 0.0570329049323),
    (PoissonizedBagging(1.0), 0.0926898545813),
]  # fmt: skip


@pytest.mark.parametrize(("scheme", "epsilon"), GOLDEN, ids=str)
def test_golden_values_of_the_paper(scheme, epsilon):
    certificate = Certificate(scheme, n_samples=500)
    assert certificate.epsilon(0.1, bound="paper") == pytest.approx(epsilon, abs=1e-12)
    assert certificate.mean(bound="paper") == pytest.approx(epsilon * math.sqrt(0.1), abs=1e-12)


def test_whole_rows_are_counted():
    certificate = Certificate(Subbagging(0.5), n_samples=500)
    # 50 rows may exceed it, so the 51st largest may not.
    assert certificate.epsilon(0.1) == pytest.approx(0.0561874494, abs=1e-10)
    assert certificate.epsilon(0.1019) == certificate.epsilon(0.1)
    assert certificate.delta(0.0561874495) == pytest.approx(50 / 500)
    assert certificate.delta(0.0561874493) == pytest.approx(51 / 500)
    assert certificate.delta(0.07, "paper") == 51 / 500


def test_a_law_without_a_frontier_counts_whole_rows_in_theorem_8(monkeypatch):
    certificate = Certificate(ClassicalBagging(1.0), n_samples=10**6)
    assert certificate.epsilon(1e-5) == pytest.approx(certificate.epsilon(1e-5, "paper") * math.sqrt(10 / 11))
    assert "the exact frontier is not known for this scheme and size" in joined(certificate.explain(1e-5))
    monkeypatch.setattr("stablebag.proving.frontier.MOST_ROWS", 3000)  # and not 30,000, which take seconds
    many = Certificate(Subbagging(0.5), n_samples=10**5)
    assert "no smaller number holds for every learner" in joined(many.explain(0.002))
    assert many.epsilon(0.005) > many.epsilon(0.0101) > many.epsilon(0.05)
    # The frontier at 3,000 rows is an upper bound beyond them, until Theorem 8 is below it.
    assert many.epsilon(0.031) == many.epsilon(0.04) == many.epsilon(2999 / 10**5)
    for delta in (0.031, 0.06):
        told = joined(many.explain(delta))
        assert "is computed for up to 3,000 rows" in told
        assert "no smaller number" not in told


@pytest.mark.slow
def test_past_ten_thousand_rows_the_frontier_is_exact():
    certificate = Certificate(Subbagging(0.5), n_samples=100_000)
    assert certificate.epsilon(0.12) == pytest.approx(0.00364177036, rel=1e-8)
    assert "no smaller number holds for every learner" in joined(certificate.explain(0.12))
    assert certificate.epsilon(0.11999) > 0.00364177036 * (1 + 1e-8)  # one row less is not enough


def test_certified_delta_is_a_multiple_of_one_row_and_never_above_one():
    certificate = Certificate(Subbagging(0.5), n_samples=30)
    for epsilon in np.linspace(0, 1.5, 200):
        for bound in ("best", "paper"):
            delta = certificate.delta(epsilon, bound)
            assert delta * 30 == pytest.approx(round(delta * 30), abs=1e-9)
            assert 0 <= delta <= 1


def test_no_row_exceeds_the_worst_case():
    certificate = Certificate(Subbagging(0.25), n_samples=40, range_length=8.0)
    assert certificate.worst_case() == 2.0
    assert certificate.delta(2.0) == 0
    assert certificate.delta(math.nextafter(2.0, 0)) > 0
    assert certificate.epsilon(0.0) == 2.0
    assert certificate.epsilon(0.0, bound="paper") == math.inf


def test_all_rows_may_do_anything():
    assert Certificate(Subbagging(0.5), n_samples=10).epsilon(1.0) == 0.0
    assert Certificate(Subbagging(0.5), n_samples=10).delta(0.0) == 1.0


def test_epsilon_is_in_the_units_of_the_prediction():
    one, many = Certificate(Subbagging(0.5), 100, 500), Certificate(Subbagging(0.5), 100, 500, range_length=321.0)
    for bound in ("best", "paper"):
        assert many.epsilon(0.3, bound) == pytest.approx(321 * one.epsilon(0.3, bound))
        assert many.delta(100.0, bound) == pytest.approx(one.delta(100 / 321, bound))
    for name in ("worst_case", "mean", "loss", "replace_one"):
        assert getattr(many, name)() == pytest.approx(321 * getattr(one, name)())


def test_finite_bags_cost_something_and_less_the_more_they_are():
    epsilons = [Certificate(Subbagging(0.5), 1000, b).epsilon(0.05) for b in (100, 1000, 10_000, 10**8, math.inf)]
    assert epsilons == sorted(epsilons, reverse=True)
    assert epsilons[-2] == pytest.approx(epsilons[-1], rel=0.02)
    assert Certificate(Subbagging(0.5), 1000, 1000).epsilon(0.05, "paper") == pytest.approx(0.1885, abs=5e-5)


@pytest.mark.slow
def test_finitely_many_bags_have_the_smallest_of_all_bounds():
    for n in (50, 500, 3000):
        for n_bags in (10, 1000, 10**5, 10**7):
            certificate = Certificate(Subbagging(0.3), n, n_bags)
            for delta in (0.001, 0.01, 0.05, 0.3):
                paper, exact, best = (certificate.epsilon(delta, bound) for bound in ("paper", "exact", "best"))
                second = math.sqrt((certificate._constant / 4 + 1 / n_bags) / delta)
                assert best <= min(paper, exact, second, 1.0) * (1 + 1e-12)
                assert best == pytest.approx(min(exact, second, 1.0))
                independent = Certificate(Subbagging(0.3), n, n_bags, coupling="independent")
                assert independent.epsilon(delta) <= best


@pytest.mark.parametrize(("scheme", "n", "n_bags", "delta"), [
    (BernoulliSubbagging(97), 100, 10**4, 0.04), (Subbagging(0.99), 1000, 10**5, 0.01),
    (BernoulliSubbagging(0.99), 1000, 10**5, 0.01), (ClassicalBagging(5000), 1000, 10**5, 0.01),
])  # fmt: skip
def test_the_best_is_no_worse_than_the_exact_also_for_nearly_whole_bags(scheme, n, n_bags, delta):
    certificate = Certificate(scheme, n, n_bags)
    assert certificate.epsilon(delta) <= certificate.epsilon(delta, "exact")


def test_means_and_norms_are_never_above_the_papers_and_grow():
    for n_bags in (100, 10_000, math.inf):
        certificate = Certificate(ClassicalBagging(1.0), 300, n_bags)
        for order in (0.5, 1, 2, 3, 10, math.inf):
            assert certificate.norm(order) <= certificate.norm(order, "paper")
        norms = [certificate.norm(order) for order in (1, 2, 3, 10, math.inf)]
        assert norms == sorted(norms)
    mean = Certificate(Subbagging(10), 20).mean()
    assert mean == pytest.approx(0.0945225054, abs=1e-10)
    assert Certificate(Subbagging(10), 20, 10**6).mean() == pytest.approx(mean + 0.001, abs=1e-12)
    few = Certificate(Subbagging(10), 20, 10**6, coupling="independent")
    assert few.mean() == pytest.approx(mean + 0.001 / math.sqrt(2), abs=1e-12)


def test_a_range_that_changes_with_some_rows_costs_their_share():
    fixed = Certificate(Subbagging(0.5), 442)
    observed = Certificate(Subbagging(0.5), 442, delta_range=2 / 442, reach=1.0)
    assert observed.epsilon(12 / 442) == fixed.epsilon(10 / 442)
    assert observed.epsilon(12 / 442, "paper") == pytest.approx(fixed.epsilon(10 / 442, "paper"))
    assert observed.delta(0.1) == pytest.approx(fixed.delta(0.1) + 2 / 442)
    assert observed.worst_case() == observed.epsilon(0.0) == 1.0  # a row that moves the range may move all
    assert observed.epsilon(0.0, "paper") == math.inf
    assert observed.mean() == pytest.approx(fixed.mean() + 2 / 442)
    assert observed.delta(1.0) == 0.0
    assert observed.epsilon(0.5) == Certificate(Subbagging(0.5), 442, delta_range=0.0045).epsilon(0.5)  # rounded up


def test_of_rows_that_change_the_range_nothing_is_known_unless_its_reach_is():
    certificate = Certificate(Subbagging(0.5), 442, range_length=321.0, delta_range=2 / 442)
    assert certificate.worst_case() == certificate.mean() == certificate.norm(2) == math.inf
    assert certificate.epsilon(1 / 442) == math.inf
    assert certificate.epsilon(12 / 442) < 321
    assert certificate.delta(1e9) == 2 / 442
    assert "There is no bound on the mean change over rows" in certificate.explain()
    moving = Certificate(Subbagging(2), 5, range_length=0.0, delta_range=0.6, reach=14.0)
    assert moving.epsilon(0.5) == moving.worst_case() == 14.0
    assert moving.epsilon(0.6) == moving.epsilon(0.7, "paper") == 0.0
    assert moving.epsilon(0.6, "paper") == math.inf
    assert moving.delta(13.0) == moving.delta(0.0, "paper") == 0.6
    assert moving.mean() == pytest.approx(0.6 * 14)


def test_replacing_a_row_needs_a_fixed_range():
    for certificate in (
        Certificate(Subbagging(0.5), 50, delta_range=0.04, reach=1.0),
        Certificate(Subbagging(0.5), 50, outputs=AdaptiveOutputs()),
        Certificate(Subbagging(0.5), 50, outputs=UnboundedOutputs()),
    ):
        with pytest.raises(ValueError, match="replace_one needs a range that is fixed"):
            certificate.replace_one()


def test_a_certificate_is_made_of_a_range_and_its_targets():
    y = [9.0, 12.0, 9.0, 15.5, 30.0, 11.8, 14.0, 17.3]
    observed = Certificate.for_targets(Subbagging(2), y)
    # Two rows have the smallest target, and one has the largest.
    outputs = AdaptiveOutputs(21.0, 1 / 8, 21.0, ends=((2, 2), (1, 1)))
    assert observed == Certificate(Subbagging(2), 8, outputs=outputs)
    fixed = Certificate.for_targets(Subbagging(2), y, FixedRange(0, 50), n_bags=100)
    assert fixed == Certificate(Subbagging(2), 8, 100, range_length=50.0)
    median = Certificate.for_targets(Subbagging(2), [0, 1, 2, 30, 40], lambda v: (np.median(v), np.median(v)))
    assert (median.range_length, median.reach, median.delta_range) == (0.0, 14.0, 1.0)
    tied = Certificate.for_targets(Subbagging(2), [0, 0, 1, 1])
    assert tied.outputs == AdaptiveOutputs(1.0, 0.0, 1.0, ends=((2, 2), (2, 2)))


@pytest.mark.slow
def test_printed_bounds_are_proved():
    for n in range(20, 300, 7):
        for n_bags in (math.inf, 5000):
            certificate = Certificate(Subbagging(0.3), n, n_bags, range_length=7.0)
            printed = re.search(r"by more than ([\d.e-]+)", joined(certificate.explain(0.3))).group(1)
            assert certificate.epsilon(0.3) <= float(printed) <= certificate.epsilon(0.3) * 1.001
            assert certificate.delta(float(printed)) <= 0.3


def test_a_range_of_no_length_leaves_nothing_to_move():
    certificate = Certificate(Subbagging(0.5), 20, 100, range_length=0.0)
    assert certificate.epsilon(0.5) == certificate.epsilon(0.0) == certificate.epsilon(0.0, "paper") == 0.0
    assert certificate.delta(0.0) == 0.0
    assert certificate.worst_case() == certificate.mean() == 0.0
    assert "more than 0 " in certificate.explain(0.5)


@pytest.mark.parametrize("n_bags", [math.inf, 10_000])
@pytest.mark.parametrize("scheme", [scheme for scheme, _ in GOLDEN], ids=str)
def test_round_trips_through_json(scheme, n_bags):
    certificate = Certificate(scheme, 300, n_bags, range_length=2.5, delta_range=0.01)
    text = json.dumps(certificate.to_dict(), allow_nan=False)
    assert Certificate.from_dict(json.loads(text)) == certificate
    third = Certificate(BernoulliSubbagging(100), 300)
    assert Certificate.from_dict(json.loads(json.dumps(third.to_dict()))) == third


def test_equality_is_of_what_is_certified():
    assert Certificate(Subbagging(0.5), 500) == Certificate(Subbagging(250), 500)
    assert Certificate(Subbagging(0.5), 500) == Certificate(Subbagging(0.5).resolve(500), 500)
    assert Certificate(Subbagging(0.5), 500) != Certificate(Subbagging(0.5), 500, 100)
    assert len({Certificate(Subbagging(0.5), 500), Certificate(Subbagging(250), 500)}) == 1


def test_a_certificate_cannot_be_altered():
    with pytest.raises(AttributeError):
        Certificate(Subbagging(0.5), 500).n_bags = 7


def test_a_scheme_of_ones_own_is_certified_and_read_back_with_the_scheme_at_hand():
    class Alternating(ResamplingScheme):
        def draw_bag(self, n_samples, generator):
            return np.flatnonzero(generator.random(n_samples) < 0.5)

        def inclusion_probability(self, n_samples):
            return 0.5

        def negative_covariance(self, n_samples):
            return 0.0

    scheme = Alternating()
    certificate = Certificate(scheme, 500)
    bernoulli = Certificate(BernoulliSubbagging(0.5), 500)
    assert bernoulli.epsilon(0.1) < certificate.epsilon(0.1) < bernoulli.epsilon(0.1, "paper")
    assert certificate.epsilon(0.1, "paper") == bernoulli.epsilon(0.1, "paper")
    values = json.loads(json.dumps(certificate.to_dict()))
    assert Certificate.from_dict(values, scheme) == certificate
    with pytest.raises(ValueError, match=r"'Alternating' is not one of .* Pass it as the second argument"):
        Certificate.from_dict(values)
    assert "Alternating on 500 rows" in str(certificate)


# ------------------------------------------------------------------------------------------------------------- in words


def joined(text):
    return " ".join(text.split())


def test_explanations_name_the_theorem_that_is_used():
    derandomized = Certificate(Subbagging(0.5), 500)
    assert "Proved by the exact frontier; no smaller number holds" in joined(derandomized.explain(0.1))
    assert "Proved by Theorem 14" in joined(derandomized.explain(0.0))
    text = joined(Certificate(Subbagging(0.5), 500, 1000).explain(0.1))
    assert "Proved by second moments of the bags." in text
    assert "every data set of 500 rows, however the bags of both fits depend on each other." in text
    assert "exact frontier, Theorem 9 for the bags" in joined(Certificate(Subbagging(0.5), 500, 10**6).explain(0.1))
    assert "Theorem 14, Theorem 9 for the bags" in joined(Certificate(Subbagging(10), 500, 10**5).explain(0.001))
    independent = Certificate(Subbagging(0.5), 500, 1000, coupling="independent")
    assert "if the bags with and without a row are drawn independently" in joined(independent.explain(0.1))
    independent = Certificate(Subbagging(0.5), 500, 10**6, coupling="independent")
    assert "Hoeffding's inequality for independent bags" in joined(independent.explain(0.1))
    matched = joined(Certificate(Subbagging(0.5), 500, 1000, coupling="matched").explain(0.1))
    assert "Proved by the exact frontier with tail bounds for the bags." in matched
    assert "if both fits have the same seed and row IDs, so that bags without the row stay the same." in matched
    clipped = Certificate(Subbagging(0.5), 500, delta_range=0.004)
    assert "Theorem 13 for the range" in joined(clipped.explain(0.1))
    assert "Theorem 20 for the range" in joined(
        Certificate(Subbagging(0.5), 500, 10_000, delta_range=0.004).explain(0.1)
    )


def test_explanations_of_finitely_many_bags_are_about_an_expectation():
    text = joined(Certificate(Subbagging(0.5), 500, 10_000).explain(0.1))
    assert "at most 10% of the 500 rows (delta = 0.1) are expected to change the prediction" in text
    assert "The expectation is over the draw of bags and seeds." in text


def test_vacuous_bounds_say_so_and_what_would_help():
    few = Certificate(Subbagging(0.5), 500, 5)
    assert "delta = 0.1. With infinitely many bags, the bound would be 0.05619. Use more bags" in joined(
        few.explain(0.1)
    )
    changing = Certificate(Subbagging(0.5), 500, delta_range=0.2)
    assert "100 of the 500 rows can change the range of predictions. Use a larger delta." in joined(
        changing.explain(0.1)
    )
    one = Certificate(Subbagging(0.5), 500, 1)
    assert "There is no bound on the mean change over rows" in joined(one.explain(0.1))


def test_printing_is_explaining():
    certificate = Certificate(Subbagging(0.5), 500)
    assert str(certificate) == certificate.explain()


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: Certificate(Subbagging(1.0), 500), ValueError, "every bag is the whole data set"),
    (lambda: Certificate("subaging", 500), ValueError, r"Subbagging\(bag_size=0.5\), or one of .* Got 'subaging'"),
    (lambda: Certificate(Subbagging, 500), TypeError, "'scheme' parameter of Certificate"),
    (lambda: Certificate(Subbagging(0.5).resolve(499), 500), ValueError, "must be 499, as in its scheme"),
    (lambda: Certificate(Subbagging(), 1), ValueError, "'n_samples' parameter of Certificate"),
    (lambda: Certificate(Subbagging(), 500.0), TypeError, "'n_samples' parameter of Certificate"),
    (lambda: Certificate(Subbagging(), 500, 0), ValueError, "'n_bags' parameter of Certificate"),
    (lambda: Certificate(Subbagging(), 500, 2.5), TypeError, "'n_bags' parameter of Certificate"),
    (lambda: Certificate(Subbagging(), 500, math.nan), TypeError, "'n_bags' parameter of Certificate"),
    (lambda: Certificate(Subbagging(), 500, range_length=-1), ValueError, "'range_length'"),
    (lambda: Certificate(Subbagging(), 500, range_length=math.inf), ValueError, "'range_length'"),
    (lambda: Certificate(Subbagging(), 500, delta_range=1.5), ValueError, "'delta_range'"),
    (lambda: Certificate(Subbagging(), 500).epsilon(1.5), ValueError, r"'delta' .* \[0, 1\]. Got 1.5"),
    (lambda: Certificate(Subbagging(), 500).epsilon(-0.1), ValueError, "Got -0.1"),
    (lambda: Certificate(Subbagging(), 500).epsilon(math.nan), ValueError, "Got nan"),
    (lambda: Certificate(Subbagging(), 500).epsilon("0.1"), TypeError, "'delta'"),
    (lambda: Certificate(Subbagging(), 500).epsilon(0.1, "tight"), ValueError, "Got 'tight'"),
    (lambda: Certificate(Subbagging(), 500).delta(-0.1), ValueError, "'epsilon'"),
    (lambda: Certificate(Subbagging(), 500).norm(0), ValueError, "'order'"),
    (lambda: Certificate(Subbagging(), 500).norm(2, "exact"), ValueError, "'bound'"),
    (lambda: Certificate(Subbagging(), 500, 100, coupling="none"), ValueError, "'coupling'"),
    (lambda: Certificate(Subbagging(), 500).loss(-1), ValueError, "'lipschitz'"),
    (lambda: Certificate(Subbagging(), 500).explain(2), ValueError, "'delta'"),
    (lambda: Certificate(Subbagging(), 500, reach=0.5), ValueError, "'reach' parameter"),
    (lambda: Certificate(Subbagging(), 500, range_length=2.0, outputs=Outputs()), ValueError, "None together with"),
    (lambda: Certificate.from_dict("{}"), TypeError, "json.loads"),
    (lambda: Certificate.from_dict({}), TypeError, "a dictionary from to_dict"),
])  # fmt: skip
def test_bad_input_is_refused_with_the_value(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_dictionary_that_contradicts_itself_is_refused():
    values = Certificate(Subbagging(0.1), 200).to_dict()
    with pytest.raises(ValueError, match=r"has inclusion_probability=0.1, but its other entries give 0.2"):
        Certificate.from_dict({**values, "bag_size": 40})
    with pytest.raises(ValueError, match="has scheme='Subbagging'"):
        Certificate.from_dict(values, scheme=BernoulliSubbagging(0.1))


@pytest.mark.parametrize("certificate", [
    Certificate(BernoulliSubbagging(0.5), 3, 3000), Certificate(BernoulliSubbagging(0.5), 50, 10**5),
    Certificate(Subbagging(0.5), 200, 500), Certificate(ClassicalBagging(), 40, 10**6, delta_range=0.05, reach=1.0),
], ids=["3 rows", "50 rows", "200 rows", "a range"])  # fmt: skip
def test_with_finitely_many_bags_more_is_promised_for_a_larger_share(certificate):
    shares = np.linspace(0, 1, 101)
    levels = np.array([certificate.epsilon(share) for share in shares])
    assert (np.diff(levels) <= 1e-12).all()
    for share, level in zip(shares[::10], levels[::10], strict=True):
        assert certificate.delta(level) <= share + 1e-9


def test_a_norm_is_no_larger_than_one_of_a_higher_order():
    certificate = Certificate(ClassicalBagging(1), 3, 3000, range_length=0.001, delta_range=0.5, reach=0.001)
    norms = [certificate.norm(order) for order in (0.5, 1, 1.5, 2, 3, 4, 8)]
    assert norms == sorted(norms)


def test_replacing_with_finitely_many_bags_is_in_expectation_over_them():
    assert "in expectation over the bags" in joined(Certificate(Subbagging(0.3), 100, 500).explain(0.5))


def test_many_rows_are_counted_without_their_laws(monkeypatch):
    monkeypatch.setattr("stablebag.proving.frontier.MOST_ROWS", 3000)  # the frontier there stands for all beyond
    certificate = Certificate(Subbagging(0.5), 10**9)
    # Theorem 8 allows n c / (4 epsilon^2) rows, c = 1 / (n - 1), and the frontier 2 / pi of them, by the normal law.
    assert round(certificate.delta(1e-4) * 10**9) == 10**8 // 4
    assert round(certificate.delta(1e-2) * 10**9) == int(2 / math.pi * 10**4 / 4)


# ---------------------------------------------------------------------------------------- rows that are not all alike

STRATA = ["rare"] * 10 + ["common"] * 90


def unequal(n_bags=math.inf, **settings):
    return Certificate(StratifiedSubbagging({"rare": 5, "common": 30}, STRATA), 100, n_bags, **settings)


@pytest.mark.parametrize("certificate", [unequal(), unequal(200), unequal(200, coupling="matched"), unequal(5000)])
def test_words_about_unequal_rows_claim_no_symmetry(certificate):
    for delta in (0.0, 0.05, 0.3):
        told = " ".join(certificate.explain(delta).split())
        assert "every data set of 100 rows in these strata" in told
        assert not re.search(r"p = |q = |frontier|no smaller|Theorem (8|14)|Corollary|Replacing", told)
        assert "a row is in a bag with probability 0.3333 to 0.5" in told
    told = " ".join(certificate.explain(0.3).split())
    assert 'Proposition 5 of Barber and Samworth (2026), "Algorithmic stability via ensembling"' in told


def test_what_needs_rows_that_are_alike_is_refused_where_they_are_not():
    certificate = unequal(200)
    for call in (lambda: certificate.epsilon(0.1, "paper"), lambda: certificate.delta(0.1, "paper"),
                 lambda: certificate.mean("paper"), lambda: certificate.norm(3, "paper")):  # fmt: skip
        with pytest.raises(ValueError, match=r"the theorems of the paper are about schemes that treat all rows alike"):
            call()
    with pytest.raises(ValueError, match=r"for StratifiedSubbagging. Got 'exact': the exact frontier is"):
        certificate.epsilon(0.1, "exact")
    with pytest.raises(ValueError, match="Corollary 17 is about schemes that treat all rows alike"):
        certificate.replace_one_in_expectation()
    assert unequal().replace_one() == 0.5


def test_certificates_of_unequal_rows_travel_with_their_scheme():
    certificate = unequal(200, coupling="matched")
    values = json.loads(json.dumps(certificate.to_dict()))
    assert values["largest_inclusion"] == 0.5
    assert values["bag_size"] == 35
    assert Certificate.from_dict(values, certificate.scheme.scheme) == certificate
    with pytest.raises(ValueError, match="Pass it as the second argument"):
        Certificate.from_dict(values)
    with pytest.raises(ValueError, match="The dictionary has"):
        Certificate.from_dict({**values, "constant": 1.0}, certificate.scheme.scheme)


def test_epsilon_and_delta_of_unequal_rows_agree():
    for certificate in (unequal(), unequal(300, coupling="matched")):
        for delta in (0.05, 0.1, 0.25):
            epsilon = certificate.epsilon(delta)
            assert certificate.delta(epsilon) <= delta + 1e-9
            assert certificate.quick_epsilon(delta) >= epsilon - 1e-12
        assert certificate.mean() <= certificate.rms() <= certificate.norm(4)


def test_labels_are_the_strata_of_schemes_without_their_own():
    scheme = StratifiedSubbagging({"rare": 5, "common": 30})
    assert Certificate.for_labels(scheme, STRATA).epsilon(0.1) == unequal().epsilon(0.1)
    vector = Certificate.for_labels(scheme, STRATA, 200, vector=True)
    assert "Proposition 5" in vector.explain(0.3)
    assert "in these strata" in " ".join(vector.explain(0.3).split())
    assert vector.worst_case() == pytest.approx(math.sqrt(2))
    with pytest.raises(ValueError, match="a label for each row"):
        Certificate(scheme, 100)


def test_unequal_rows_are_planned_for_and_drawn():
    law = unequal().scheme
    found = plan(100, 0.3, 0.1, scheme=law)
    assert (
        found.certificate.epsilon(0.1) <= 0.3 < Certificate(law, 100, found.n_bags - 1, coupling="matched").epsilon(0.1)
    )
    display = PhaseDiagramDisplay.compute(unequal())
    assert display.exact is None
    assert display.impossible is None


def test_a_dictionary_says_its_format_and_one_of_another_is_refused():
    certificate = Certificate(Subbagging(0.1), 200, 50)
    values = certificate.to_dict()
    assert values.pop("format") == 1
    assert Certificate.from_dict(values) == certificate  # those of before formats were named are of the first
    with pytest.raises(ValueError, match=r"The dictionary is written in format 2, and .* reads format 1\."):
        Certificate.from_dict({**values, "format": 2, "n_bags": "in the new way"})


def test_a_range_of_no_length_that_rows_change_promises_nothing_to_fewer_rows():
    words = joined(Certificate(Subbagging(0.5), 20, 100, range_length=0, delta_range=0.35).explain(0.05))
    assert "Nothing is guaranteed for delta = 0.05" in words
    assert "inf" not in words.replace("infinitely", "")


# ---------------------------------------------------------------------------------------------------------------- proof


def test_the_smaller_bound_is_the_better_whatever_its_proof():
    proved = [Bound(0.3, Proof("a long argument")), Bound(0.2, Proof("counting")), Bound(1.0, TRIVIAL)]
    assert min(proved).proof.words == "counting"
    assert sorted(proved)[-1].proof is TRIVIAL
    assert Bound(0.0, TRIVIAL) < Bound(0.1, TRIVIAL)


def test_of_two_proofs_of_one_number_the_first_is_named():
    assert Bound(0.2, Proof("one way")) == Bound(0.2, Proof("another"))
    assert min(Bound(0.2, Proof("one way")), Bound(0.2, Proof("another"))).proof.words == "one way"


def test_further_steps_follow_and_keep_what_is_exact():
    proof = Proof("the exact frontier", exact=True).and_("Theorem 13 for the range", "counting")
    assert proof == Proof("the exact frontier, Theorem 13 for the range, counting", exact=True)
    assert not Proof("Theorem 8").and_("Theorem 9").exact
    assert Proof("Theorem 8").and_() == Proof("Theorem 8")


# ------------------------------------------------------------------------------------------------------------- protocol


DEVIATION = np.array([0.1, 0.5])
CERTIFICATES = [
    Certificate(Subbagging(3), 6),
    Certificate(Subbagging(3), 6, 1000, range_length=4.0),
    Certificate.for_classes(Subbagging(3), 6, 3),
    PointCertificate(Certificate(Subbagging(3), 6), DEVIATION, DEVIATION, 1.0, proved=True),
    ReusedBagsCertificate(0.04, 0.5, scale=0.5, range_length=1.0, scope=Scope(6, Quantity.NUMBER, Rerun.REUSED, 5)),
]
each_certificate = pytest.mark.parametrize("certificate", CERTIFICATES, ids=lambda each: type(each).__name__)


@each_certificate
def test_certificates_answer_every_question(certificate):
    assert isinstance(certificate, StabilityCertificate)
    assert certificate.scope.n_samples == certificate.n_samples == 6


def test_what_cannot_answer_them_is_no_certificate():
    class Silent:
        scope = n_samples = range_length = None
        epsilon = delta = mean = rms = worst_case = curve = to_dict = Certificate.epsilon

    assert not isinstance(Silent(), StabilityCertificate)
    Silent.explain = Certificate.explain
    assert isinstance(Silent(), StabilityCertificate)
    assert not isinstance(Subbagging(3), StabilityCertificate)


@each_certificate
def test_answers_agree_with_each_other(certificate):
    epsilons = np.array([certificate.epsilon(rows / 6) for rows in range(7)])
    assert (np.diff(epsilons, axis=0) <= 0).all()
    assert (epsilons[0] <= certificate.worst_case()).all()
    assert (epsilons[-1] == 0).all()
    assert certificate.worst_case() <= certificate.range_length
    assert np.all(certificate.delta(certificate.worst_case()) == 0)
    assert np.all(certificate.mean() <= certificate.rms())
    assert np.all(certificate.rms() <= certificate.worst_case())


@each_certificate
@pytest.mark.parametrize("over_points", ["max", "mean"])
def test_a_curve_is_made_of_what_is_proved(certificate, over_points):
    epsilon, delta = certificate.curve(over_points)
    assert len(epsilon) == len(delta) > 1
    summary = np.max if over_points == "max" else np.mean
    for level, share in zip(epsilon, delta, strict=True):
        assert summary(certificate.delta(level * (1 + 1e-12))) <= share + 1e-12  # next to it, for rounding
    with pytest.raises(ValueError, match="'over_points' parameter of curve"):
        certificate.curve("median")


@each_certificate
def test_words_and_numbers_can_be_kept(certificate):
    assert str(certificate) == certificate.explain(0.05)
    assert certificate.explain(0.5) != certificate.explain(0.05)
    values = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert values["n_samples"] == 6


# ---------------------------------------------------------------------------------------------------------------- price


class Threshold:
    """A certificate that proves everything from some number of bags on, or up to one number later by `epsilon`."""

    def __init__(self, n_bags, fewest, late):
        self.n_bags, self.fewest, self.late = n_bags, fewest, late

    def proves(self, epsilon, delta):
        return self.n_bags >= self.fewest

    def epsilon(self, delta):
        return 0.0 if self.n_bags >= self.late else 1.0


@pytest.mark.parametrize(("fewest", "late", "near", "most", "found"), [
    (1, 1, 1000, 10**9, 1), (7, 7, 1000, 10**9, 7), (99, 99, 3, 10**9, 99), (101, 101, 3, 10**9, 110),
    (1234, 1234, 5, 10**9, 1300), (1234, 1234, 10**9, 10**9, 1300), (10**9, 10**9, 1, 10**9, 10**9),
    (10**9 + 1, 1, 100, 10**9, None), (1234, 1234, 10**4, 1250, 1250), (1234, 1234, 2, 1200, None),
    (1234, 1310, 10**4, 10**9, 1400),
])  # fmt: skip
def test_enough_bags_is_the_fewest_with_two_digits(fewest, late, near, most, found):
    assert enough_bags(lambda n_bags: Threshold(n_bags, fewest, late), 0.5, 0.1, near, most) == found


@pytest.mark.parametrize("scheme", [
    Subbagging(221), Subbagging(44), BernoulliSubbagging(0.3), ClassicalBagging(1.0), PoissonizedBagging(1.0),
], ids=str)  # fmt: skip
def test_with_enough_bags_epsilon_is_within_ten_percent_of_infinitely_many(scheme):
    def of(n_bags):
        return Certificate(scheme, 442, n_bags, coupling="matched")

    certificate, ideal = of(50), of(math.inf).epsilon(0.1)
    price, enough = certificate.price(0.1)
    assert price == certificate.epsilon(0.1) - ideal
    assert 100 < enough < 10 * 442
    assert of(enough).epsilon(0.1) <= 1.1 * ideal < of(math.ceil(0.9 * enough) - 1).epsilon(0.1)
    assert of(enough).price(0.1)[1] == enough
    with_enough, with_all = rounded_up(of(enough).epsilon(0.1)), rounded_up(ideal)
    text = joined(certificate.explain(0.1))
    assert f"With {enough:,} bags it would be {with_enough}, and with infinitely many {with_all}." in text
    text = joined(of(2 * enough).explain(0.1))
    assert f"More bags would lower this by less than 10%: with infinitely many it would be {with_all}." in text
    assert of(math.inf).price(0.1) == (0.0, None)
    assert "infinitely many it would be" not in joined(of(math.inf).explain(0.1))


def test_bags_that_are_not_matched_need_many_more():
    unmatched = Certificate(Subbagging(221), 442, 500)
    enough = unmatched.price(0.1)[1]
    assert enough > 50 * Certificate(Subbagging(221), 442, 500, coupling="matched").price(0.1)[1]
    assert f"With {enough:,} bags it would be" in joined(unmatched.explain(0.1))


def test_vectors_have_enough_bags_too():
    certificate = Certificate(Subbagging(221), 442, 50, coupling="matched", outputs=VectorOutputs())
    enough = certificate.price(0.1)[1]
    ideal = Certificate(Subbagging(221), 442, outputs=VectorOutputs()).epsilon(0.1)
    within = Certificate(Subbagging(221), 442, enough, coupling="matched", outputs=VectorOutputs())
    assert within.epsilon(0.1) <= 1.1 * ideal


@pytest.mark.parametrize("certificate", [
    Certificate(Subbagging(0.5), 100, 50, range_length=0.0),  # nothing moves
    Certificate(Subbagging(0.5), 100, 50, coupling="matched", delta_range=0.2, reach=1.0),  # too many rows change it
])  # fmt: skip
def test_no_number_of_bags_is_enough_where_nothing_is_promised(certificate):
    assert certificate.price(0.1) == (0.0, None)
    assert "infinitely many" not in joined(certificate.explain(0.1))


def test_no_number_of_bags_is_enough_if_a_whole_row_is_the_difference():
    # With random bags, one row in a hundred may be the one that moves the prediction by p = 0.5. With all bags it is
    # exactly one row, and the second one moves it by 0.2525 at most.
    certificate = Certificate(Subbagging(0.5), 100, 1000, coupling="matched")
    price, enough = certificate.price(0.01)
    assert enough is None
    assert price > 0.2
    assert "With infinitely many bags it would be 0.25" in joined(certificate.explain(0.01))


def test_a_fitted_model_says_what_more_bags_would_change():
    X = [[float(k)] for k in range(40)]
    model = BaggedRegressor(n_bags=50, prediction_range=FixedRange(0, 1), random_state=0).fit(X, [0.0, 1.0] * 20)
    price, enough = certify(model).price(0.22)
    assert f"With {enough:,} bags it would be" in joined(certify(model).explain(0.22))
    assert price > 0


@pytest.mark.parametrize(("n_bags", "coupling"), [(math.inf, "any"), (200, "any"), (200, "matched")])
def test_a_certificate_proves_what_its_epsilon_says(n_bags, coupling):
    certificate = Certificate(Subbagging(0.3), 90, n_bags, range_length=7.0, delta_range=0.02, coupling=coupling)
    for delta in (0.01, 0.05, 0.1, 0.4, 1.0):
        epsilon = certificate.epsilon(delta)
        assert certificate.proves(epsilon, delta)
        assert epsilon in (0, math.inf) or not certificate.proves(0.98 * epsilon, delta)


def test_the_curve_of_matched_bags_is_proved_and_near_epsilon():
    certificate = Certificate(Subbagging(0.5), 200, 400, range_length=3.0, coupling="matched")
    epsilons, deltas = certificate.curve()
    assert (np.diff(epsilons) <= 0).all()
    assert (np.diff(deltas) > 0).all()
    for place in range(0, len(deltas), 7):
        proved = certificate.epsilon(deltas[place])
        assert proved <= epsilons[place] * 1.0001 <= 1.15 * proved * 1.0001


# --------------------------------------------------------------------------------------------------------------- vector


GOLDEN_VECTOR = [(500, 250, 0.1, 0.180360721443), (60_000, 30_000, 0.05, 0.00600010000167)]


@pytest.mark.parametrize(("n", "m", "epsilon", "delta"), GOLDEN_VECTOR)
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


def test_few_bags_of_a_larger_size_get_no_smaller_epsilon():
    # With 4 bags the best number of rows for the exact frontier is 7, and Theorem 8 alone would take 1.
    epsilons = [Certificate(Subbagging(m), 107, n_bags=4).epsilon(0.75, "exact") for m in (7, 8, 9, 10)]
    assert epsilons == sorted(epsilons)
    assert epsilons[1] == pytest.approx(0.98192330)
