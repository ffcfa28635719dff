import math

import numpy as np
import pytest

from resampling.own_schemes import Declared
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    PoissonizedBagging,
    Subbagging,
    certify,
)
from stablebag.proving import VectorOutputs, bounds
from stablebag.proving.coupling import ANY, INDEPENDENT, NAMES, Matched, as_coupling, matched

HALF = [Subbagging(221), BernoulliSubbagging(0.5), ClassicalBagging(1.0), PoissonizedBagging(0.7)]


def joined(text):
    return " ".join(text.split())


def test_the_noise_is_that_of_outputs_which_vary_as_much_as_they_can():
    # Outputs in [0, 1] have a standard deviation of at most one half.
    for coupling in (ANY, INDEPENDENT):
        assert coupling.noise == coupling.of_deviations(0.5, 0.5)
    assert (ANY.noise, INDEPENDENT.noise) == (1.0, 0.5)


def test_deviations_add_up_and_independent_ones_by_their_squares():
    assert ANY.of_deviations(0.3, 0.4) == pytest.approx(0.49)
    assert INDEPENDENT.of_deviations(0.3, 0.4) == pytest.approx(0.25)
    np.testing.assert_allclose(INDEPENDENT.of_deviations(np.array([0.0, 0.3]), 0.4), [0.16, 0.25])


def test_radii_worked_by_hand():
    # sqrt(2 / B log(4 / t)) and sqrt(1 / B log(2 / t)), with t such that the logarithm is 2.
    assert ANY.radius(100, 4 / math.e**2) == pytest.approx(0.2)
    assert INDEPENDENT.radius(100, 2 / math.e**2) == pytest.approx(math.sqrt(0.02))
    np.testing.assert_allclose(ANY.radius(100, np.array([0.1, 0.5])), np.sqrt(0.02 * np.log([40.0, 8.0])))


@pytest.mark.parametrize("share", [1e-9, 0.05, 0.5, 1.0])
def test_an_assumption_never_makes_it_worse(share):
    assert INDEPENDENT.radius(100, share) < ANY.radius(100, share)


def test_couplings_are_found_by_their_names():
    assert NAMES == ("any", "independent", "matched")
    assert {name: as_coupling(name, "here") for name in NAMES[:2]} == {"any": ANY, "independent": INDEPENDENT}
    assert as_coupling(INDEPENDENT, "here") is INDEPENDENT
    assert str(INDEPENDENT) == "independent"
    law = Subbagging(2).resolve(4)
    assert as_coupling("matched", "here", law) == matched(law)
    assert as_coupling(matched(law), "here") == matched(law)
    assert str(matched(law)) == "matched"
    for value in ("none", None, 1):
        words = r"'coupling' parameter of here must be one of 'any', 'independent', 'matched'"
        with pytest.raises(ValueError, match=words):
            as_coupling(value, "here")


# ------------------------------------------------------------------------------------------------------- matched bags


def test_the_noise_of_matched_bags_worked_by_hand():
    # Subbagging: min(p, p / 2 (1 + 1 / max(m, n - m))); for the others p.
    assert matched(Subbagging(221).resolve(442)).noise == pytest.approx(0.25 * (1 + 1 / 221))
    assert matched(Subbagging(88).resolve(442)).noise == pytest.approx(0.09982871897, rel=1e-9)
    assert matched(Subbagging(2).resolve(4)).noise == pytest.approx(0.375)
    assert matched(Subbagging(5).resolve(6)).noise == pytest.approx(0.5)
    assert matched(Subbagging(1).resolve(2)).noise == pytest.approx(0.5)  # p itself
    assert matched(BernoulliSubbagging(0.3).resolve(10)).noise == pytest.approx(0.3)
    assert matched(PoissonizedBagging(5).resolve(10)).noise == pytest.approx(1 - math.exp(-0.5))
    assert matched(ClassicalBagging(2).resolve(4)).noise == pytest.approx(7 / 16)


def test_in_units_of_the_variance():
    assert matched(Subbagging(2).resolve(4)).per_variance == pytest.approx(2 * 0.5 * 1.5)
    assert matched(BernoulliSubbagging(0.3).resolve(10)).per_variance == pytest.approx(1 / 0.7)
    assert matched(PoissonizedBagging(5).resolve(10)).per_variance == pytest.approx(math.exp(0.5))
    assert matched(ClassicalBagging(2).resolve(4)).per_variance == math.inf
    # Outputs in [0, 1] have a variance of at most 1/4: the two bounds of subbagging agree.
    coupling = matched(Subbagging(2).resolve(5))
    assert coupling.per_variance / 4 == pytest.approx(coupling.noise)


def test_bags_without_rows_and_the_width_of_vectors_add_to_the_noise():
    law = BernoulliSubbagging(0.3).resolve(10)
    shifted = matched(law, shift=0.1, shifted_share=0.5)
    assert (shifted.noise, shifted.chance) == (pytest.approx(0.35), pytest.approx(0.4))
    wide = matched(law, diameter=0.5)
    assert (wide.noise, wide.chance) == (pytest.approx(0.075), pytest.approx(0.075))
    assert matched(PoissonizedBagging(50).resolve(10), shift=1.0, shifted_share=1.0).noise == 1.0


def test_the_mean_square_has_the_weights_of_all_pairs_of_bags():
    # Component 1 of two of four rows has the bias c = 1 / 3 and the noise 1, component 2 the noise 1.5. By themselves
    # rows and bags give 0.9 / 12 + 0.0375.
    coupling = matched(Subbagging(2).resolve(4))
    assert coupling.mean_square(1 / 12, 10) == pytest.approx((0.9 / 3 + 0.1) / 4)
    assert coupling.mean_square(0.01, 10) == pytest.approx(0.9 * 0.01 + 0.0375)  # if less is known to be of the rows
    assert coupling.mean_square(1 / 12, 1) == pytest.approx(0.375)  # one bag: all of it is noise
    assert coupling.mean_square(0.08, math.inf) == 0.08
    root = bounds.mean_square_perturbation(1 / 3, 10, coupling)
    assert root**2 == pytest.approx((0.9 / 3 + 0.1) / 4)


def test_the_radius_of_matched_bags_solves_bernsteins_inequality():
    for law in (Subbagging(2).resolve(200), Subbagging(0.5).resolve(20)):
        coupling = matched(law)
        for n_bags, share in ((100, 0.05), (10_000, 1e-6)):
            t = coupling.radius(n_bags, share)
            p = law.inclusion_probability
            solved = 2 * math.exp(-n_bags * t**2 / (2 * p + 2 * t / 3))
            hoeffding = math.sqrt(2 * math.log(2 / share) / n_bags)
            assert t == pytest.approx(hoeffding) or (solved == pytest.approx(share) and t < hoeffding)
    assert matched(Subbagging(2).resolve(200)).radius(100, 0.05) < 0.06 < INDEPENDENT.radius(100, 0.05)


@pytest.mark.parametrize("scheme", HALF, ids=str)
@pytest.mark.parametrize("n_bags", [1, 50, 5000])
def test_matched_bags_prove_no_less_than_any(scheme, n_bags):
    for delta in (0.01, 0.1, 0.5):
        sharp, loose = (Certificate(scheme, 442, n_bags, coupling=name) for name in ("matched", "any"))
        assert sharp.epsilon(delta) <= loose.epsilon(delta)
        assert sharp.mean() <= loose.mean()
        assert sharp.worst_case(delta) <= loose.worst_case(delta)
        assert sharp.norm(2) <= loose.norm(2)
        of = {"n_bags": n_bags, "outputs": VectorOutputs()}
        vectors = [Certificate(scheme, 442, **of, coupling=name).epsilon(delta) for name in ("matched", "any")]
        assert vectors[0] <= vectors[1]


@pytest.mark.parametrize(("m", "golden", "with_any", "with_tail"), [
    (221, 0.07551718507, 0.16021527468, 0.0678), (88, 0.04468304353, 0.14631892082, 0.0416),
])  # fmt: skip
def test_golden_values(m, golden, with_any, with_tail):
    # Second moments can be worked by hand. The tail (docs/proofs.md, 16) is smaller, and above the exact frontier.
    certificate = Certificate(Subbagging(m), 442, 500, coupling="matched")
    assert certificate.quick_epsilon(0.1) == pytest.approx(golden, rel=1e-9)
    assert Certificate(Subbagging(m), 442).epsilon(0.1) < certificate.epsilon(0.1) <= with_tail
    assert Certificate(Subbagging(m), 442, 500, coupling="any").epsilon(0.1) == pytest.approx(with_any, rel=1e-9)
    law = Subbagging(m).resolve(442)
    # Of component 1, or of the noisiest one (docs/proofs.md, 15); by themselves rows and bags give 0.1033 and 0.0583.
    of_rows = (1 - 1 / 500) * m / (442 - m) / 441 + 2 / 500 / (442 - m)
    of_bags = 2 * (m / 442) / 500 * (1 + 1 / max(m, 442 - m))
    by_hand = math.sqrt(max(of_rows, of_bags) / 4 / 0.1)
    apart = math.sqrt(((1 - 1 / 500) * law.constant / 4 + matched(law).noise / 500) / 0.1)
    assert apart == pytest.approx({221: 0.10334515376, 88: 0.05833508822}[m], rel=1e-9)
    assert by_hand == pytest.approx(golden, rel=1e-9)


def test_vectors_replace_a_quarter_by_the_square_of_the_radius():
    # 2/3 is the squared radius of the probabilities of three classes, and 2 the largest squared distance of two.
    law = Subbagging(20).resolve(100)
    found = Certificate.for_classes(law, 100, 3, n_bags=50, coupling="matched")
    of_rows, of_bags = (1 - 1 / 50) * 0.2 / 0.8 / 99 + 2 / 50 / 80, 2 * 0.2 / 50 * (1 + 1 / 80)
    assert found.epsilon(0.5) == pytest.approx(math.sqrt(2 / 3 * max(of_rows, of_bags) / 0.5))


def test_a_fitted_model_is_certified_for_matched_bags():
    X = np.arange(30.0)[:, None]
    model = BaggedRegressor(n_bags=50, prediction_range=FixedRange(0, 1), random_state=0).fit(X, X[:, 0] % 2)
    assert isinstance(certify(model).coupling, Matched)
    assert certify(model) == Certificate(Subbagging(15), 30, 50, coupling="matched")
    assert certify(model, coupling="any").epsilon(0.2) > certify(model).epsilon(0.2)
    assert "bags without the row stay the same" in joined(certify(model).explain(0.2))
    points = certify(model, X[:4])
    assert points.certificate.coupling.name == "matched"
    labels = BaggedClassifier(n_bags=50, random_state=0).fit(X, (X[:, 0] % 2).astype(int))
    for vector in (False, True):
        assert certify(labels, vector=vector).coupling.name == "matched"


def test_points_are_never_certified_worse_than_all_points():
    X = np.arange(30.0)[:, None]
    model = BaggedRegressor(n_bags=50, prediction_range=FixedRange(0, 1), random_state=0).fit(X, X[:, 0] % 2)
    points = certify(model, X)
    assert (points.epsilon(0.2) <= certify(model).epsilon(0.2) + 1e-12).all()
    assert (points.epsilon(0.2) <= certify(model, X, coupling="any").epsilon(0.2) + 1e-12).all()


def test_the_observed_mean_square_of_matched_bags_worked_by_hand():
    # Jointly s^2 max((1 - 1 / B) c + 1 / B, 1.5 / B) for two of four rows, where c = 1 / 3; by themselves rows and bags
    # give s^2 ((1 - 1 / B) c + w / B), with w = 2 p (1 + 1 / max(m, n - m)) = 1.5.
    coupling = matched(Subbagging(2).resolve(4))
    found = bounds.observed_mean_square(0.1, 1 / 3, 10, coupling=coupling, width=1.0)
    assert found == pytest.approx(0.01 * (0.9 / 3 + 0.1))
    assert bounds.observed_mean_square(0.1, 0.1, 10, coupling=coupling, width=1.0) == pytest.approx(
        0.01 * (0.9 * 0.1 + 0.15)
    )
    # With the largest deviation it is the bound for all points.
    assert bounds.observed_mean_square(0.5, 1 / 3, 10, coupling=coupling, width=1.0) == pytest.approx(
        coupling.mean_square(1 / 12, 10)
    )
    # Of classical bags the noise is p times the squared length, however small the deviation, or by the variance.
    classical = matched(ClassicalBagging(2).resolve(4))
    found = bounds.observed_mean_square(0.3, 0.2, 10, coupling=classical, width=1.0)
    apart = min(0.09 * 0.2 * 0.9 + 7 / 160, 0.09 * (0.2 + 4 / 10))
    assert found == pytest.approx(min(apart, classical.parts.mean_square(10, 0.09)))


def test_a_scheme_that_draws_other_bags_cannot_be_matched():
    law = Declared(0.5, 0.0).resolve(8)
    words = r"one of \('any', 'independent'\) for Declared. Got 'matched': it draws different bags if a row is gone"
    for call in (lambda: matched(law), lambda: as_coupling("matched", "here", law),
                 lambda: Certificate(law, 8, 10, outputs=VectorOutputs(), coupling="matched")):  # fmt: skip
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(TypeError, match=r"the coupling of a law. Got 'matched': use matched\(law\)"):
        as_coupling("matched", "here")


def test_a_scheme_that_draws_otherwise_than_its_parent_has_no_more_than_p():
    class Likewise(Subbagging):
        pass

    class Otherwise(Subbagging):
        def pick(self, n_samples, arrivals):
            return super().pick(n_samples, arrivals)

    law, other = Likewise(2).resolve(4), Otherwise(2).resolve(4)
    assert law.is_matched
    assert other.is_matched
    assert matched(law) == matched(Subbagging(2).resolve(4))
    assert (matched(other).noise, matched(other).per_variance) == (0.5, math.inf)
