import math

import pytest

from stablebag import BernoulliSubbagging, ClassicalBagging, PoissonizedBagging, Subbagging
from stablebag.resampling.schemes import SCHEMES, as_law

ALL = list(SCHEMES.values())


@pytest.mark.parametrize("scheme", ALL)
def test_a_million_rows_draw_small_bags(scheme):
    bags = scheme(1000).resolve(1_000_000).draw(3, random_state=0)
    assert (abs(bags.sizes - 1000) < 200).all()


def test_golden_constants():
    expected = {
        Subbagging(250): (0.5, 5.01002004008e-4),
        BernoulliSubbagging(0.5): (0.5, 0.0),
        ClassicalBagging(500): (0.632488745143, 2.70941236043e-4),
        ClassicalBagging(250): (0.393772934572, 3.68801290916e-4),
        PoissonizedBagging(500): (0.632120558829, 0.0),
    }
    for scheme, (p, q) in expected.items():
        law = scheme.resolve(500)
        assert law.inclusion_probability == pytest.approx(p, abs=1e-12)
        assert law.negative_covariance == pytest.approx(q, abs=1e-15)


def test_the_law_without_one_keeps_the_size_or_the_rate():
    assert Subbagging(0.5).resolve(500).without_one() == Subbagging(250).resolve(499)
    assert ClassicalBagging(1.0).resolve(500).without_one() == ClassicalBagging(500).resolve(499)
    assert BernoulliSubbagging(250).resolve(500).without_one() == BernoulliSubbagging(0.5).resolve(499)
    assert PoissonizedBagging(500).resolve(500).without_one() == PoissonizedBagging(1.0).resolve(499)


@pytest.mark.parametrize("scheme", ALL)
def test_two_rows_are_enough(scheme):
    law = scheme(1).resolve(2)
    assert 0 < law.inclusion_probability < 1
    assert {row for bag in law.draw(50, random_state=0) for row in bag.tolist()} == {0, 1}


@pytest.mark.parametrize(("law", "size"), [
    (Subbagging(2).resolve(5), 10), (BernoulliSubbagging(2).resolve(5), 32), (ClassicalBagging(2).resolve(5), 15),
    (PoissonizedBagging(2).resolve(5), math.inf), (Subbagging(250).resolve(500), math.comb(500, 250)),
], ids=str)  # fmt: skip
def test_support_size_needs_no_listing(law, size):
    assert law.support_size == size


def test_laws_of_a_billion_rows_resolve():
    for scheme in (Subbagging(10**9 - 1), BernoulliSubbagging(10**9 - 1), ClassicalBagging(10**9)):
        assert 0 < scheme.resolve(10**9).inclusion_probability < 1
    assert next(Subbagging(0.5).resolve(3000).support())[0].tolist() == list(range(1500))


@pytest.mark.parametrize("name", SCHEMES)
def test_a_scheme_is_found_by_its_name_and_is_one_of_the_papers(name):
    law = SCHEMES[name](0.5).resolve(10)
    assert law.is_of_the_paper
    assert str(law).lower().startswith(name)


def test_laws_are_made_of_schemes_names_and_laws():
    law = Subbagging(5).resolve(10)
    assert as_law("subbagging", 10, "it") == as_law(Subbagging(0.5), 10, "it") == as_law(law, 10, "it") == law
    with pytest.raises(ValueError, match=r"the scheme was resolved for n_samples=10. Resolve it again."):
        as_law(law, 11, "it")
    with pytest.raises(TypeError, match=r"'scheme' parameter of it must be a resampling scheme, such as .* Got 0.5"):
        as_law(0.5, 10, "it")
