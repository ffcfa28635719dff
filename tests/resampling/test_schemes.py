import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest

from resampling.own_schemes import LikeSubbagging
from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    ClusterSubbagging,
    PoissonizedBagging,
    StratifiedSubbagging,
    Subbagging,
    random_n_bags,
)
from stablebag.models.fitted import Fitted
from stablebag.resampling.schemes import SCHEMES, as_law, probability_with_one_more

ALL = list(SCHEMES.values())


@pytest.mark.parametrize("scheme", ALL)
def test_small_bags_of_a_million_rows_can_be_drawn(scheme):
    bags = scheme(1000).resolve(1_000_000).draw(3, random_state=0)
    assert (abs(bags.sizes - 1000) < 200).all()


def test_constants_equal_golden_values():
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


def test_laws_of_a_billion_rows_can_be_resolved():
    for scheme in (Subbagging(10**9 - 1), BernoulliSubbagging(10**9 - 1), ClassicalBagging(10**9)):
        assert 0 < scheme.resolve(10**9).inclusion_probability < 1
    assert next(Subbagging(0.5).resolve(3000).support())[0].tolist() == list(range(1500))


@pytest.mark.parametrize("name", SCHEMES)
def test_schemes_have_names_and_closed_forms(name):
    law = SCHEMES[name](0.5).resolve(10)
    assert law.is_in_closed_form
    assert str(law).lower().startswith(name)


def test_as_law_accepts_schemes_names_and_laws():
    law = Subbagging(5).resolve(10)
    assert as_law("subbagging", 10, "it") == as_law(Subbagging(0.5), 10, "it") == as_law(law, 10, "it") == law
    with pytest.raises(ValueError, match=r"must be 10, as in its scheme. Got 11.* Pass the unresolved scheme"):
        as_law(law, 11, "it")
    with pytest.raises(TypeError, match=r"'scheme' parameter of it must be a resampling scheme, such as .* Got 0.5"):
        as_law(0.5, 10, "it")


# ------------------------------------------------------------------------------- schemes of one's own, and derived ones


@pytest.mark.parametrize(("n", "m"), [(40, 15), (4000, 1500)])
@pytest.mark.parametrize("n_bags", [100, math.inf])
def test_a_custom_scheme_with_the_same_law_gets_the_same_numbers(n, m, n_bags):
    coupling = "any" if math.isinf(n_bags) else "matched"
    own, built_in = (Certificate(scheme, n, n_bags, coupling=coupling) for scheme in (LikeSubbagging(m), Subbagging(m)))
    for delta in (0.02, 0.1, 0.5):
        assert own.epsilon(delta) == pytest.approx(built_in.epsilon(delta), rel=1e-9)
    assert (own.mean(), own.rms()) == pytest.approx((built_in.mean(), built_in.rms()), rel=1e-9)
    laws = own.scheme, built_in.scheme
    for name in ("raggedness", "subset_size", "empty_probability"):
        assert getattr(laws[0], name) == pytest.approx(getattr(laws[1], name), abs=1e-12)


def test_count_law_of_a_large_custom_scheme_must_agree_with_p():
    class Wrong(LikeSubbagging):
        def count_law(self, n_samples, n_rows):
            return np.eye(n_rows + 1)[0]  # no row is ever in a bag

    with pytest.raises(ValueError, match="By the count_law of Wrong, the probability of one row being in a bag is 0"):
        Wrong(2000).resolve(4000)


STRATA, CLUSTERS = ["a"] * 6 + ["b"] * 4, list("aabbccddee")


@pytest.mark.parametrize(("parent", "keywords"), [
    (Subbagging, {}), (BernoulliSubbagging, {}), (PoissonizedBagging, {}),
    (StratifiedSubbagging, {"strata": STRATA}), (ClusterSubbagging, {"clusters": CLUSTERS}),
])  # fmt: skip
@pytest.mark.parametrize("changed", ["pick", "draw_bag", "inclusion_probabilities", "enumerate_bags", "fix"])
def test_a_subclass_with_another_law_does_not_inherit_proved_numbers(parent, keywords, changed):
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
    assert not child.is_in_closed_form


@pytest.mark.parametrize("parent", [Subbagging, BernoulliSubbagging, StratifiedSubbagging])
def test_a_subclass_with_another_description_inherits_proved_numbers(parent):
    keywords = {"strata": STRATA} if parent is StratifiedSubbagging else {}
    words = {"describe": lambda self, n_samples, rows="rows": "some rows", "helper": lambda self: 7}
    child, law = (kind(0.4, **keywords).resolve(10) for kind in (type("Child", (parent,), words), parent))
    assert str(child) == "some rows"
    assert list(child.matched_noise) == list(law.matched_noise)
    assert (child.raggedness, child.subset_size) == (law.raggedness, law.subset_size)
    assert child.is_in_closed_form == law.is_in_closed_form


def test_a_mixin_or_attribute_that_changes_the_law_drops_proved_numbers():
    class Mixin:
        def pick(self, n_samples, arrivals):
            return arrivals.first_rows(self.whole_size(n_samples))

    law = type("Mixed", (Mixin, Subbagging), {})(0.4).resolve(10)
    assert law.subset_size is None
    scheme = LikeSubbagging(4)
    assert scheme.resolve(10).subset_size == 4
    scheme.pick = scheme.pick
    assert scheme.resolve(10).subset_size is None


def test_a_subclass_can_define_proved_numbers_again():
    class Backwards(Subbagging):
        def draw_bag(self, n_samples, generator):
            return super().draw_bag(n_samples, generator)[::-1]

        def subset_size(self, n_samples):
            return super().subset_size(n_samples)

    assert Backwards(4).resolve(10).subset_size == 4


# ------------------------------------------------------------------------------------------------------------ bag sizes


WITHOUT_REPLACEMENT = [Subbagging, BernoulliSubbagging]


@pytest.mark.parametrize(("size", "n", "rows"), [
    (0.5, 7, 3), (0.29, 100, 29), (0.001, 10, 1), (3, 10, 3), (np.int64(3), 10, 3), (np.float32(0.29), 100, 29),
    (Fraction(1, 3), 10, 3), (0.999, 10, 9),
])  # fmt: skip
def test_fractions_are_floored_to_whole_rows_as_written(size, n, rows):
    assert Subbagging(size).resolve(n).bag_size == rows
    assert ClassicalBagging(size).resolve(n).bag_size == rows


def test_fractions_are_exact_if_the_size_is_random():
    assert BernoulliSubbagging(0.29).resolve(7).inclusion_probability == 0.29
    assert BernoulliSubbagging(0.29).resolve(7).bag_size == pytest.approx(2.03)
    assert PoissonizedBagging(0.29).resolve(7).bag_size == pytest.approx(2.03)
    assert BernoulliSubbagging(2).resolve(6).inclusion_probability == 1 / 3


def test_draws_with_replacement_may_exceed_the_number_of_rows():
    assert ClassicalBagging(2.0).resolve(10).bag_size == 20
    assert PoissonizedBagging(25).resolve(10).bag_size == 25


@pytest.mark.parametrize("scheme", ALL)
@pytest.mark.parametrize("bad", [0, -1, 0.0, -0.5, math.nan, math.inf, 1e308])
def test_invalid_bag_size_raises(scheme, bad):
    words = rf"'bag_size' parameter of {scheme.__name__} must be a positive .* Got {re.escape(str(bad))}"
    with pytest.raises(ValueError, match=words):
        scheme(bad)


@pytest.mark.parametrize("scheme", ALL)
@pytest.mark.parametrize("bad", ["half", None, True, [0.5], 1j])
def test_bag_size_of_another_type_raises(scheme, bad):
    with pytest.raises(TypeError, match=r"'bag_size' parameter of .* Got "):
        scheme(bad)


@pytest.mark.parametrize("scheme", WITHOUT_REPLACEMENT)
@pytest.mark.parametrize("bad", [500, 1.0, 501])
def test_bags_of_all_rows_without_replacement_raise(scheme, bad):
    with pytest.raises(ValueError, match=r"must be smaller than n_samples=500.*Use at most 499"):
        scheme(bad).resolve(500)


@pytest.mark.parametrize("scheme", WITHOUT_REPLACEMENT)
def test_error_for_a_float_above_one_suggests_an_int(scheme):
    with pytest.raises(
        ValueError, match=r"Got 250.0: a float is a fraction of the rows. For a number of rows, use 250"
    ):
        scheme(250.0)


def test_the_fraction_k_over_n_means_k_rows():
    assert all(Subbagging(k / n).resolve(n).bag_size == k for n in range(2, 120) for k in range(1, n))


def test_a_bag_does_not_keep_a_larger_array_in_memory():
    assert Subbagging(0.5).draw_bag(1000, np.random.default_rng(0)).base is None


# ----------------------------------------------------------------------------------------------------------- subbagging


def test_subclasses_keep_their_class():
    class Sorted(Subbagging):
        def draw_bag(self, n_samples, generator):
            return np.sort(super().draw_bag(n_samples, generator))

    bag = Sorted(0.5).resolve(12).draw(1, random_state=0)[0]
    assert (np.diff(bag) > 0).all()
    assert type(Sorted(0.5).resolve(12).without_one().scheme) is Sorted


def test_two_of_four_rows_are_one_of_six_bags():
    law = Subbagging(2).resolve(4)
    listed = {tuple(bag.tolist()): p for bag, p in law.support()}
    assert listed == dict.fromkeys(itertools.combinations(range(4), 2), Fraction(1, 6))
    assert law.p_and_q == (Fraction(1, 2), Fraction(1, 12))  # 1/4 - 1/6


def test_count_law_of_subbagging_is_hypergeometric():
    np.testing.assert_allclose(Subbagging(2).resolve(4).count_law(2), [1 / 6, 2 / 3, 1 / 6])
    np.testing.assert_allclose(Subbagging(3).resolve(4).count_law(2), [0, 1 / 2, 1 / 2])
    np.testing.assert_allclose(Subbagging(3).resolve(4).count_law(4), [0, 0, 0, 1, 0])


def test_subbagging_draws_distinct_rows_of_one_size_in_random_order():
    bags = Subbagging(5).resolve(8).draw(300, random_state=0)
    assert (bags.sizes == 5).all()
    assert bags.counts.max() == 1
    assert {bag[0] for bag in bags} == set(range(8))


def test_describe_subbagging():
    assert str(Subbagging(0.29).resolve(10_000)) == "subbagging, 2,900 of 10,000 rows"


# ------------------------------------------------------------------------------------------------- Bernoulli subbagging


def test_probabilities_of_bernoulli_bags_of_two_rows():
    listed = {tuple(bag.tolist()): p for bag, p in BernoulliSubbagging(Fraction(1, 3)).resolve(2).support()}
    assert listed == {(): Fraction(4, 9), (0,): Fraction(2, 9), (1,): Fraction(2, 9), (0, 1): Fraction(1, 9)}


def test_count_law_of_bernoulli_subbagging_is_binomial():
    law = BernoulliSubbagging(0.25).resolve(10)
    np.testing.assert_allclose(law.count_law(3), np.array([27, 27, 9, 1]) / 64, rtol=1e-12)


def test_bernoulli_subbagging_draws_distinct_rows_of_random_size():
    bags = BernoulliSubbagging(0.5).resolve(10).draw(200, random_state=0)
    assert (bags.counts <= 1).all()
    assert len(set(bags.sizes.tolist())) >= 5
    assert abs(bags.sizes.mean() - 5) < 0.5  # the standard deviation of the mean is 0.11


def test_bags_are_empty_if_the_probability_is_tiny():
    law = BernoulliSubbagging(1e-12).resolve(1000)
    assert law.empty_probability == pytest.approx(1 - 1e-9, abs=1e-15)
    assert law.draw(50, random_state=0).sizes.tolist() == [0] * 50


def test_describe_bernoulli_subbagging():
    assert str(BernoulliSubbagging(250).resolve(1000)) == (
        "Bernoulli subbagging, each of 1,000 rows with probability 0.25"
    )


# ---------------------------------------------------------------------------------------------------- classical bagging


def test_q_of_classical_bagging_has_no_cancellation():
    n = m = 10**6
    exact = Fraction(n - 1, n) ** 4 - Fraction(n - 2, n) ** 2
    assert ClassicalBagging(2).resolve(n).negative_covariance == pytest.approx(float(exact), rel=1e-9)
    assert ClassicalBagging(m).resolve(n).negative_covariance == pytest.approx(math.exp(-2) / n, rel=1e-5)


def test_too_many_draws_raise():
    for size, n in [(50.0, 10), (3000, 3), (10**14, 500)]:
        with pytest.raises(ValueError, match=r"violates Assumption 7 \(0 < p < 1\)"):
            ClassicalBagging(size).resolve(n)


def test_probabilities_of_two_draws_from_three_rows():
    listed = {tuple(bag.tolist()): p for bag, p in ClassicalBagging(2).resolve(3).support()}
    once, twice = Fraction(2, 9), Fraction(1, 9)
    assert listed == {(0, 0): twice, (0, 1): once, (0, 2): once, (1, 1): twice, (1, 2): once, (2, 2): twice}


def test_one_draw_from_two_rows_takes_one_or_the_other():
    law = ClassicalBagging(1).resolve(2)
    assert law.inclusion_probability == pytest.approx(1 / 2)
    assert law.negative_covariance == pytest.approx(1 / 4)  # never both


def test_count_law_of_two_draws_from_three_rows():
    law = ClassicalBagging(2).resolve(3)
    np.testing.assert_allclose(law.count_law(3), [0, 1 / 3, 2 / 3, 0], atol=1e-15)
    np.testing.assert_allclose(law.count_law(1), [4 / 9, 5 / 9])


def test_count_law_that_takes_too_long_is_none():
    assert ClassicalBagging(10**9).resolve(10**9).count_law(1) is None


def test_describe_classical_bagging():
    assert str(ClassicalBagging(0.5).resolve(3000)) == "classical bagging, 1,500 draws from 3,000 rows"


# -------------------------------------------------------------------------------------------------- Poissonized bagging


def test_probabilities_of_poissonized_bags_of_two_rows():
    law = PoissonizedBagging(0.5).resolve(2)  # one draw is expected
    listed = {tuple(bag.tolist()): p * math.e for bag, p in law.support(mass=0.9)}
    assert listed == pytest.approx({(): 1, (0,): 1 / 2, (1,): 1 / 2, (0, 0): 1 / 8, (0, 1): 1 / 4, (1, 1): 1 / 8})


def test_a_rate_of_log_two_puts_every_row_into_half_of_the_bags():
    law = PoissonizedBagging(math.log(2)).resolve(10)
    assert law.inclusion_probability == pytest.approx(0.5)
    assert law.negative_covariance == 0
    np.testing.assert_allclose(law.count_law(2), [1 / 4, 1 / 2, 1 / 4])


def test_poissonized_bags_have_repeats_and_random_sizes():
    bags = PoissonizedBagging(0.5).resolve(4).draw(200, random_state=0)
    assert bags.counts.max() >= 2
    assert {0, 1, 2, 3} <= set(bags.sizes.tolist())
    assert abs(bags.sizes.mean() - 2) < 0.5  # the standard deviation of the mean is 0.1


def test_describe_poissonized_bagging():
    assert str(PoissonizedBagging(1.5).resolve(1000)) == "Poissonized bagging, 1,500 draws expected from 1,000 rows"


# ---------------------------------------------------------------------------------------------- a random number of bags


def test_the_law_with_one_more_row_keeps_the_size_or_the_rate():
    assert probability_with_one_more(Subbagging(0.5).resolve(99)) == 49 / 100
    assert probability_with_one_more(BernoulliSubbagging(0.5).resolve(99)) == 0.5
    assert probability_with_one_more(ClassicalBagging(1.0).resolve(10)) == pytest.approx(1 - (10 / 11) ** 10)


def test_random_n_bags_depends_on_the_seed_and_varies_around_the_expected_number():
    numbers = [random_n_bags(Subbagging(0.5), 99, 500, random_state) for random_state in range(40)]
    assert numbers[3] == random_n_bags(Subbagging(0.5), 99, 500, random_state=3)
    assert len(set(map(int, numbers))) > 10
    assert 400 < min(map(int, numbers)) < 500 < max(map(int, numbers)) < 600  # the standard deviation is 16


def test_random_n_bags_is_recognized_only_with_its_own_law():
    number, X = random_n_bags(Subbagging(0.5), 20, 10, random_state=0), np.arange(20.0)[:, None]
    model = BaggedRegressor(n_bags=number, random_state=0).fit(X, X.ravel())
    assert len(model.bags_) == int(number) == len(range(number))
    assert Fitted(model).has_random_n_bags
    assert number.law == model.scheme_
    other = BaggedRegressor(n_bags=number, scheme=Subbagging(0.2), random_state=0).fit(X, X.ravel())
    assert not Fitted(other).has_random_n_bags


def test_random_n_bags_needs_a_known_larger_law():
    class Half(BernoulliSubbagging):
        def without_one(self, n_samples):
            return BernoulliSubbagging(0.5).fix(n_samples - 1)

    with pytest.raises(TypeError, match=r"law on 10 rows .* is unknown"):
        random_n_bags(Half(0.5), 9, 50, random_state=0)


def test_random_n_bags_rejects_invalid_numbers_and_other_laws():
    with pytest.raises(ValueError, match=r"'n_bags' parameter of random_n_bags must be an integer >= 1. Got 0"):
        random_n_bags(Subbagging(0.5), 20, 0)
    with pytest.raises(ValueError, match="must be 30, as in its scheme"):
        random_n_bags(Subbagging(0.5).resolve(30), 20, 10)
