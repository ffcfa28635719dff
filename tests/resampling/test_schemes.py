import math

import numpy as np
import pytest

from resampling.own_schemes import LikeSubbagging
from stablebag import (
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    ClusterSubbagging,
    PoissonizedBagging,
    StratifiedSubbagging,
    Subbagging,
)
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


# ------------------------------------------------------------------------------- schemes of one's own, and derived ones


@pytest.mark.parametrize(("n", "m"), [(40, 15), (4000, 1500)])
@pytest.mark.parametrize("n_bags", [100, math.inf])
def test_a_scheme_of_ones_own_with_the_same_law_gets_the_same_numbers(n, m, n_bags):
    coupling = "any" if math.isinf(n_bags) else "matched"
    own, built_in = (Certificate(scheme, n, n_bags, coupling=coupling) for scheme in (LikeSubbagging(m), Subbagging(m)))
    for delta in (0.02, 0.1, 0.5):
        assert own.epsilon(delta) == pytest.approx(built_in.epsilon(delta), rel=1e-9)
    assert (own.mean(), own.rms()) == pytest.approx((built_in.mean(), built_in.rms()), rel=1e-9)
    laws = own.scheme, built_in.scheme
    for name in ("raggedness", "subset_size", "empty_probability"):
        assert getattr(laws[0], name) == pytest.approx(getattr(laws[1], name), abs=1e-12)


def test_counts_of_a_large_scheme_of_ones_own_that_contradict_p_are_refused():
    class Wrong(LikeSubbagging):
        def count_law(self, n_samples, n_rows):
            return np.eye(n_rows + 1)[0]  # no row is ever in a bag

    with pytest.raises(ValueError, match="count_law by which the probability of one row being in a bag is 0"):
        Wrong(2000).resolve(4000)


STRATA, CLUSTERS = ["a"] * 6 + ["b"] * 4, list("aabbccddee")


@pytest.mark.parametrize(("parent", "keywords"), [
    (Subbagging, {}), (BernoulliSubbagging, {}), (PoissonizedBagging, {}),
    (StratifiedSubbagging, {"strata": STRATA}), (ClusterSubbagging, {"clusters": CLUSTERS}),
])  # fmt: skip
@pytest.mark.parametrize("changed", ["pick", "draw_bag", "inclusion_probabilities", "enumerate_bags", "fix"])
def test_a_scheme_that_changes_the_law_of_its_parent_does_not_inherit_what_is_proved_for_it(parent, keywords, changed):
    def its_own(self, *arguments):
        return getattr(parent, changed)(self, *arguments)

    child = type("Child", (parent,), {changed: its_own})(0.4, **keywords).resolve(10)
    (noise,) = child.matched_noise
    assert noise.per_variance == math.inf
    assert noise.share == 1
    assert noise.inclusion == pytest.approx(child.mean_inclusion)
    assert child.raggedness == pytest.approx(float(np.mean(1 / (1 - child.inclusion_probabilities))))
    assert child.subset_size is None
    assert child.strata is None
    assert not child.is_of_the_paper


@pytest.mark.parametrize("parent", [Subbagging, BernoulliSubbagging, StratifiedSubbagging])
def test_a_scheme_that_changes_words_alone_keeps_what_is_proved_for_its_parent(parent):
    keywords = {"strata": STRATA} if parent is StratifiedSubbagging else {}
    words = {"describe": lambda self, n_samples: "some rows", "helper": lambda self: 7}
    child, law = (kind(0.4, **keywords).resolve(10) for kind in (type("Child", (parent,), words), parent))
    assert str(child) == "some rows"
    assert list(child.matched_noise) == list(law.matched_noise)
    assert (child.raggedness, child.subset_size) == (law.raggedness, law.subset_size)
    assert child.is_of_the_paper == law.is_of_the_paper


def test_a_mixin_or_an_attribute_that_changes_the_law_counts_as_well():
    class Mixin:
        def pick(self, n_samples, arrivals):
            return arrivals.first_rows(self.whole_size(n_samples))

    law = type("Mixed", (Mixin, Subbagging), {})(0.4).resolve(10)
    assert law.subset_size is None
    scheme = LikeSubbagging(4)
    assert scheme.resolve(10).subset_size == 4
    scheme.pick = scheme.pick
    assert scheme.resolve(10).subset_size is None


def test_a_derived_scheme_may_say_again_what_holds_for_its_own_law():
    class Backwards(Subbagging):
        def draw_bag(self, n_samples, generator):
            return super().draw_bag(n_samples, generator)[::-1]

        def subset_size(self, n_samples):
            return super().subset_size(n_samples)

    assert Backwards(4).resolve(10).subset_size == 4
