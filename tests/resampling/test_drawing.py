import itertools
from fractions import Fraction

import numpy as np
import pytest

from grids import together
from resampling.own_schemes import Declared
from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    PoissonizedBagging,
    Subbagging,
    certify,
)
from stablebag._seeds import Seeds
from stablebag.resampling import Bags, ResamplingScheme, drawing
from stablebag.resampling.drawing import (
    MOST_HASHED,
    N_KEYS,
    Arrivals,
    Part,
    Picked,
    RowKeys,
    _exponential,
    _smallest,
    _Table,
    batches,
    hashed,
    permuted,
    threshold_of,
)
from stablebag.resampling.units import RowIds

SCHEMES = [Subbagging(0.4), BernoulliSubbagging(0.4), ClassicalBagging(1.0), PoissonizedBagging(0.7)]
KINDS = ["counted", "labels", "sparse", "mixed", "numbers and labels"]


def names_of(kind, n):
    """Names for n rows: counted, texts, large whole numbers, or small and large ones."""
    rng = np.random.default_rng(n)
    if kind == "counted":
        return np.arange(n)
    if kind == "labels":
        return np.array([f"row {k}" for k in range(n)], dtype=object)
    large = rng.choice(2**40, n, replace=False) + 2**16
    if kind == "numbers and labels":
        return np.array([f"row {k}" if k % 3 else int(large[k]) if k % 2 else k for k in range(n)], dtype=object)
    return large if kind == "sparse" else np.where(np.arange(n) % 2, large, rng.choice(2**16, n, replace=False))


def named(law, names, n_bags, seed=0):
    """The bags as lists of names."""
    return [names[bag].tolist() for bag in law.draw(n_bags, seed, row_ids=names)]


def is_within(some, sequence):
    """Whether these come in the sequence in this order, perhaps with others between them."""
    rest = iter(sequence)
    return all(name in rest for name in some)


def smaller(law, n_gone):
    for _ in range(n_gone):
        law = law.without_one()
    return law


def at(n, first=0, n_bags=3, seed=0):
    return Arrivals(RowKeys(RowIds(None, n)), Seeds(seed), first, first + n_bags)


# -------------------------------------------------------------------------------------- a row is gone, or one is there


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@together(kind=KINDS, gone=[[0], [11], [23], [3, 7, 22]])
def test_removing_a_row_does_not_change_bags_without_it(scheme, kind, gone):
    law, names, n_bags = scheme.resolve(24), names_of(kind, 24), 30
    lost, rest = set(names[gone].tolist()), np.delete(names, gone)
    changed = 0
    pairs = zip(named(law, names, n_bags), named(smaller(law, len(gone)), rest, n_bags), strict=True)
    for before, after in pairs:
        if lost.isdisjoint(before):
            assert after == before  # in order, and with repeats
            continue
        changed += 1
        left = [name for name in before if name not in lost]
        assert lost.isdisjoint(after)
        assert is_within(left, after)
        # Nothing more comes, or others for those that are gone.
        assert len(after) == len(left if isinstance(scheme, BernoulliSubbagging | PoissonizedBagging) else before)
    assert changed > 0
    assert changed < n_bags or len(gone) > 1


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@together(kind=KINDS)
def test_adding_a_row_does_not_change_bags_without_it(scheme, kind):
    names, n_bags = names_of(kind, 24), 30
    law = scheme.resolve(24)
    larger = law.scheme.resolve(26)  # the same size or rate
    more = np.concatenate([names, ["x", "y"] if kind == "labels" else [2**50, 77_777]])
    new = set(more[24:].tolist())
    same = 0
    for before, after in zip(named(law, names, n_bags), named(larger, more, n_bags), strict=True):
        if new.isdisjoint(after):
            assert after == before
            same += 1
        else:
            assert is_within([name for name in after if name not in new], before)
    assert 0 < same < n_bags


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@together(kind=KINDS)
def test_bags_do_not_depend_on_the_order_of_the_table(scheme, kind):
    law, names = scheme.resolve(24), names_of(kind, 24)
    shuffled = np.random.default_rng(1).permutation(names)
    assert named(law, names, 40) == named(law, shuffled, 40)


def test_order_within_a_bag_does_not_depend_on_its_other_rows():
    # Of the rows that two bags of the same number share, the order is the same, whichever law drew them.
    names = np.arange(30)
    laws = [Subbagging(5).resolve(30), Subbagging(25).resolve(30), BernoulliSubbagging(0.5).resolve(30)]
    drawn = [named(law, names, 50) for law in laws]
    for bags in zip(*drawn, strict=True):
        for one, other in itertools.combinations(bags, 2):
            assert [row for row in one if row in other] == [row for row in other if row in one]


def test_first_rows_are_nested_in_the_size():
    drawn = [Subbagging(m).resolve(30).draw(50, 0) for m in (1, 7, 8, 29)]
    for bags in zip(*drawn, strict=True):
        sets = [set(bag.tolist()) for bag in bags]
        assert all(one < other for one, other in itertools.pairwise(sets))


@together(m=range(1, 40))
def test_bags_of_all_sizes_are_matched(m):
    """At each m of 40 rows, and m of 39."""
    names = np.arange(40)
    for scheme in (Subbagging(m), ClassicalBagging(m), BernoulliSubbagging(m), PoissonizedBagging(m)):
        law = scheme.resolve(40)
        if law.inclusion_probability == 1 or (isinstance(scheme, Subbagging) and m == 39):
            continue
        before = named(law, names, 8)
        for gone in (0, 20, 39):
            after = named(law.without_one(), np.delete(names, gone), 8)
            for one, other in zip(before, after, strict=True):
                if gone not in one:
                    assert other == one
                else:
                    assert is_within([row for row in one if row != gone], other)


@pytest.mark.parametrize("scheme", [Subbagging(20), BernoulliSubbagging(20), ClassicalBagging(20),
                                    PoissonizedBagging(20)], ids=str)  # fmt: skip
@together(n=[2**16 - 1, 2**16, 2**16 + 1, 2**16 + 2, 70_000, 2**17 + 1])
def test_bags_do_not_depend_on_how_keys_are_computed(scheme, n):
    law, n_bags = scheme.resolve(n), 3
    before = law.draw(n_bags, 1)
    taken = before[0][0]
    gone = np.unique([0, taken, n - 1])
    rest = np.delete(np.arange(n), gone)
    listed = np.random.default_rng(0).permutation(n)  # the same names, but not counted
    for one, other in zip(before, law.draw(n_bags, 1, row_ids=listed), strict=True):
        assert one.tolist() == listed[other].tolist()
    for one, other in zip(before, smaller(law, len(gone)).draw(n_bags, 1, row_ids=rest), strict=True):
        assert is_within([row for row in one.tolist() if row not in gone], rest[other].tolist())
        assert np.isin(one, gone).any() or len(one) == len(other)


def test_last_row_can_be_removed_across_a_power_of_two():
    law = Subbagging(2000).resolve(2**16 + 1)
    for one, other in zip(law.draw(8, 0), law.without_one().draw(8, 0), strict=True):
        if 2**16 not in one:
            assert other.tolist() == one.tolist()


def test_small_bags_of_a_billion_rows():
    law = Subbagging(1000).resolve(10**9)
    bags = law.draw(2, 0)
    rows = np.concatenate(list(bags))
    assert bags.sizes.tolist() == [1000, 1000]
    assert [len(set(bag.tolist())) for bag in bags] == [1000, 1000]
    assert 0.45e9 < np.median(rows) < 0.55e9  # a median of 2,000: outside with a chance below 1e-4 for one fixed seed
    assert 10**9 - 1 not in rows
    for one, other in zip(bags, law.without_one().draw(2, 0), strict=True):
        assert one.tolist() == other.tolist()


@pytest.mark.parametrize(
    ("scheme", "n", "n_bags", "fingerprint"),
    [
        (Subbagging(0.5), 30, 20, "5690286bd4b3e94dbb90cd1bc90e237b"),
        (Subbagging(20_000), 100_000, 4, "105211b99f62c2540cd33618a4a72ae3"),
        (Subbagging(0.5), 140_000, 2, "1f2dffecebc0c2883d24cf96a9075a39"),
        (ClassicalBagging(1.0), 30, 20, "88991ac8314a333ffeecde5575549573"),
        (ClassicalBagging(30_000), 100_000, 3, "fe3a4c92555ab6b8f91084eda40cc20f"),
        (BernoulliSubbagging(0.3), 100_000, 3, "714b832f2b18aeefd485c59190d5979a"),
        (PoissonizedBagging(0.4), 100_000, 3, "fba0fc72e31fdb27b6cb19d1a3adf35c"),
        (Subbagging(500), 10**9, 5, "c5bca1ba109d0eaccce32f763b09105f"),
        (Subbagging(500), 10**12, 5, "acba73145523a8f31fc96269fe8e839e"),
    ],
)
def test_bags_equal_golden_fingerprints(scheme, n, n_bags, fingerprint):
    assert scheme.resolve(n).draw(n_bags, 7).fingerprint == fingerprint


def test_bags_of_named_rows_equal_golden_fingerprints():
    ids = np.random.default_rng(0).permutation(300_000)[:50_000]
    drawn = Subbagging(10_000).resolve(50_000).draw(3, 7, row_ids=ids)
    assert drawn.fingerprint == "46b95fdb94ba1f05f8f9b4fb313b15c7"
    drawn = Subbagging(10).resolve(40).draw(9, 7, row_ids=[f"r{k}" for k in range(40)])
    assert drawn.fingerprint == "6a432d5050bb599587a2739fe1b7d2a5"


def test_too_many_rows_cannot_be_drawn_but_can_be_certified():
    law = Subbagging(0.5).resolve(2**63)
    with pytest.raises(ValueError, match=r"must be at most 2\*\*62 to draw bags. Got 9223372036854775808"):
        law.draw(1, 0)
    assert 0 < Certificate(law, 2**63, n_bags=100).epsilon(0.1) < 1


def test_keys_are_computed_only_for_rows_that_can_be_in_a_bag(monkeypatch):
    permuted, permute = [], drawing.permuted

    def counting(values, *rest, **way):
        permuted.append(len(values))
        return permute(values, *rest, **way)

    monkeypatch.setattr(drawing, "permuted", counting)
    Subbagging(2**18 // 10).resolve(2**18).draw(1, 0)
    assert 2**17 / 10 < sum(permuted) < 2**18 / 8  # rows below 2**16 have hashes


# ------------------------------------------------------------------------------------------------- what schemes ask for


def test_bags_do_not_depend_on_the_batch_size(monkeypatch):
    laws = [scheme.resolve(30) for scheme in SCHEMES]
    together = [law.draw(20, 0) for law in laws]
    monkeypatch.setattr(drawing, "_BATCH", 70)  # two bags of 30 rows
    assert [law.draw(20, 0) for law in laws] == together
    assert [law.draw(5, 0, first=15) for law in laws] == [bags[15:] for bags in together]


def test_batches_cover_all_bags_once():
    walked = [(part._first, part.n_bags) for part in batches(RowIds(None, 2**16), Seeds(0), 3, 14, 10)]
    assert walked == [(3, 4), (7, 4), (11, 3)]  # 2**18 keys at once


def test_bags_do_not_depend_on_the_first_threshold(monkeypatch):
    n, size = 500, 20
    rows = [set(line.tolist()) for line in at(n).first_rows(size).rows]
    drawn = [sorted(line.tolist()) for line in at(n).first_arrivals(size).rows]
    monkeypatch.setattr(drawing.math, "sqrt", lambda value: -3.0)  # too short a look at first
    assert [set(line.tolist()) for line in at(n).first_rows(size).rows] == rows
    assert [sorted(line.tolist()) for line in at(n).first_arrivals(size).rows] == drawn


def test_first_rows_have_the_smallest_keys():
    keys = RowKeys(RowIds(None, 50))
    _, values = keys.matrix(Seeds(0).bag_words(0, 3))
    for size in (1, 5, 49, 50):
        picked = at(50).first_rows(size)
        assert picked.again is None
        assert picked.sizes.tolist() == [size] * 3
        np.testing.assert_array_equal(np.sort(picked.rows), np.sort(np.argsort(values, axis=1)[:, :size]))


def test_rows_within_a_share_have_keys_below_it():
    _, values = RowKeys(RowIds(None, 50)).matrix(Seeds(0).bag_words(0, 3))
    picked = at(50).rows_within(0.25)
    for line, size, keys in zip(picked.rows, picked.sizes, values, strict=True):
        assert line[:size].tolist() == np.flatnonzero(keys < np.uint64(2**62)).tolist()
    assert at(50).rows_within(0).sizes.tolist() == [0, 0, 0]
    assert at(50).rows_within(1).sizes.tolist() == [50, 50, 50]


def test_first_arrivals_are_the_earliest_of_all_arrivals():
    many = at(10).arrivals_within(8.0)
    assert (many.sizes > 30).all()
    for size in (1, 10, 25):
        few = at(10).first_arrivals(size)
        assert few.sizes.tolist() == [size] * 3
        for bag in range(3):
            every = set(zip(many.rows[bag, : many.sizes[bag]], many.again[bag, : many.sizes[bag]], strict=True))
            taken = list(zip(few.rows[bag], few.again[bag], strict=True))
            assert len(set(taken)) == size
            assert set(taken) <= every
            # A row's second arrival is not taken before its first.
            assert all(again == 0 or (row, again - 1) in taken for row, again in taken)


def test_repeated_arrivals_of_a_row_do_not_depend_on_other_rows():
    few = at(10).arrivals_within(3.0)
    alone = Arrivals(RowKeys(RowIds([4], 1)), Seeds(0), 0, 3).arrivals_within(3.0)
    assert alone.sizes.tolist() == [np.sum(few.rows[bag, : few.sizes[bag]] == 4) for bag in range(3)]
    assert alone.sizes.max() > 1


def test_repeats_of_a_row_are_ordered_independently():
    picked = Picked(np.zeros((1, 3), dtype=np.int64), np.array([3]), np.array([[0, 1, 2]]))
    rows, sizes = at(2, n_bags=1).in_order(picked)
    assert (rows.tolist(), sizes.tolist()) == ([0, 0, 0], [3])
    # In some bags the two arrivals of row 0 lie on both sides of row 1, in others not.
    two = Picked(np.tile([0, 0, 1], (200, 1)), np.full(200, 3), np.tile([0, 1, 0], (200, 1)))
    rows, _ = at(2, n_bags=200).in_order(two)
    middle = np.sum(rows.reshape(200, 3)[:, 1] == 1)
    assert 25 < middle < 115  # Binomial(200, 1/3): outside with a chance below 1e-9


def test_padding_is_not_in_the_bag():
    picked = Picked(np.array([[3, 1, 0], [0, 0, 0]]), np.array([2, 0]))
    rows, sizes = at(4, n_bags=2).in_order(picked)
    assert sorted(rows.tolist()) == [1, 3]
    assert sizes.tolist() == [2, 0]


def test_uniforms_do_not_depend_on_the_rows():
    numbers = at(10, n_bags=500).uniforms()
    np.testing.assert_array_equal(Arrivals(RowKeys(RowIds(["a"], 1)), Seeds(0), 0, 500).uniforms(), numbers)
    assert len(set(numbers.tolist())) == 500
    assert ((numbers >= 0) & (numbers <= 1)).all()
    assert 0.4 < numbers.mean() < 0.6  # seven standard deviations


def test_tables_combine_parts_line_by_line():
    parts = [Part(np.array([0, 2]), np.array([5, 6]), np.array([0.5, 0.6])),
             Part(np.array([0, 0]), np.array([7, 5]), np.array([0.1, 0.9]), 1)]  # fmt: skip
    table = _Table.of(parts, 3, counted=True)
    assert table.rows.tolist() == [[5, 7, 5], [0, 0, 0], [6, 0, 0]]
    assert table.sizes.tolist() == [3, 0, 1]
    assert table.again.tolist() == [[0, 1, 1], [0, 0, 0], [0, 0, 0]]
    assert table.values.tolist() == [[0.5, 0.1, 0.9], [np.inf] * 3, [0.6, np.inf, np.inf]]
    rows, again = _smallest(table.rows[:1], table.values[:1], 2, table.again[:1])
    assert sorted(zip(rows[0].tolist(), again[0].tolist(), strict=True)) == [(5, 0), (7, 1)]
    assert _Table.of([], 2).sizes.tolist() == [0, 0]


def test_smaller_keys_are_earlier():
    keys = np.array([0, 1, 2**40, 2**63, N_KEYS - 1], dtype=np.uint64)
    times = _exponential(keys)
    assert (np.diff(times) > 0).all()
    assert times[3] == pytest.approx(np.log(2))
    assert times[0] == pytest.approx(2.0**-65)
    assert np.isfinite(times).all()


# --------------------------------------------------------------------------------------------------- bags, put together


def test_with_any_and_take():
    bags = Bags([[2, 0], [1, 1, 3], [], [3]], n_samples=4)
    assert bags.with_any(np.array([3])).tolist() == [1, 3]
    assert bags.with_any(np.array([0, 1])).tolist() == [0, 1]
    assert bags.with_any(np.array([], dtype=int)).tolist() == []
    assert bags.take(np.array([3, 1, 2])) == Bags([[3], [1, 1, 3], []], n_samples=4)
    assert len(bags.take(np.array([], dtype=int))) == 0
    assert Bags.from_flat(np.array([2, 0, 3], dtype=np.uint8), np.array([0, 2, 2, 3]), 4) == Bags([[2, 0], [], [3]], 4)


# ------------------------------------------------------------------------------------------------- schemes of one's own


class FewOrMany(ResamplingScheme):
    """A third of the rows with some chance, and otherwise two thirds, by a coin for each bag."""

    def __init__(self, few=1 / 2):
        self.few = few

    def pick(self, n_samples, arrivals):
        few, many = arrivals.rows_within(1 / 3), arrivals.rows_within(2 / 3)
        coin = arrivals.uniforms() < self.few
        rows, sizes = many.rows.copy(), np.where(coin, few.sizes, many.sizes)
        for bag in np.flatnonzero(coin):
            rows[bag, : sizes[bag]] = few.rows[bag, : sizes[bag]]
        return Picked(rows, sizes)

    def inclusion_probability(self, n_samples):
        return self.few / 3 + (1 - self.few) * 2 / 3

    def negative_covariance(self, n_samples):
        return self.inclusion_probability(n_samples) ** 2 - self.few / 9 - (1 - self.few) * 4 / 9

    def expected_size(self, n_samples):
        return n_samples * self.inclusion_probability(n_samples)

    def without_one(self, n_samples):
        # A row is out of a bag twice as often if the bag has few rows.
        return FewOrMany(2 * self.few / (1 + self.few))


class HalfOfThem(ResamplingScheme):
    """Says that it is matched, but how many rows it takes changes with their number."""

    def pick(self, n_samples, arrivals):
        return arrivals.first_rows((n_samples + 1) // 2)

    def inclusion_probability(self, n_samples):
        return ((n_samples + 1) // 2) / n_samples

    def negative_covariance(self, n_samples):
        return Subbagging((n_samples + 1) // 2).resolve(n_samples).negative_covariance

    def expected_size(self, n_samples):
        return n_samples * self.inclusion_probability(n_samples)

    def without_one(self, n_samples):
        return self


class Fixed(HalfOfThem):
    """Five rows, and five of those that are left."""

    def pick(self, n_samples, arrivals):
        return arrivals.first_rows(5)

    def inclusion_probability(self, n_samples):
        return 5 / n_samples

    def negative_covariance(self, n_samples):
        return Subbagging(5).resolve(n_samples).negative_covariance


def test_a_custom_scheme_can_define_pick():
    law = Fixed().resolve(12)
    assert law.is_matched
    assert law.draw(30, 0) == Subbagging(5).resolve(12).draw(30, 0)
    assert len(Fixed().draw_bag(12, np.random.default_rng(0))) == 5
    rest = np.delete(np.arange(12), 4)
    for one, other in zip(law.draw(30, 0), law.without_one().draw(30, 0, row_ids=rest), strict=True):
        assert 4 in one or rest[other].tolist() == one.tolist()
    # v is p: that it is a swap of one row is known of the paper's scheme alone.
    assert Certificate(Fixed(), 12, 100, coupling="matched").coupling.noise == pytest.approx(5 / 12)


def test_p_and_q_are_enough_for_a_scheme_with_pick():
    class NoSize(Fixed):
        expected_size = ResamplingScheme.expected_size

    assert NoSize().resolve(12).draw(3, 0) == Subbagging(5).resolve(12).draw(3, 0)


def test_pick_must_not_change_bags_without_the_removed_row():
    # The right laws, but not matched: with one row less, the coin falls on "few" more often.
    with pytest.raises(ValueError, match=r"bags without row \d+ change if that row is removed. Choose rows only by"):
        FewOrMany().resolve(12)


def test_without_one_must_be_the_conditional_law():
    with pytest.raises(ValueError, match="law without one row"):
        HalfOfThem().resolve(13)  # seven of 13, but six of 12


def test_a_scheme_with_pick_must_define_without_one():
    class Half(Fixed):
        without_one = ResamplingScheme.without_one

    with pytest.raises(ValueError, match=r"defines pick, but its law without one row does not\. Define without_one"):
        Half().resolve(12)


def test_a_scheme_that_overrides_draw_bag_is_not_matched():
    class Own(Subbagging):
        def draw_bag(self, n_samples, generator):
            return generator.choice(n_samples, self.bag_size, replace=False)

    for law in (Declared(0.5, 0.0).resolve(8), Own(3).resolve(8)):
        assert not law.is_matched
        assert law.draw(5, 0, row_ids=list("abcdefgh")) == law.draw(5, 0)  # names are of no use
    assert Subbagging(3).resolve(8).is_matched


def test_a_scheme_that_calls_the_inherited_draw_has_the_same_law():
    class Sorted(Subbagging):
        def draw_bag(self, n_samples, generator):
            return np.sort(super().draw_bag(n_samples, generator))

    bags = Sorted(3).resolve(8).draw(20, 0)
    assert all(len(set(bag.tolist())) == 3 and (np.diff(bag) > 0).all() for bag in bags)


def test_a_scheme_must_define_draw_bag_or_pick():
    class Nothing(ResamplingScheme):
        def inclusion_probability(self, n_samples):
            return 0.5

        def negative_covariance(self, n_samples):
            return 0.0

    with pytest.raises(TypeError, match="Nothing must define draw_bag or pick"):
        Nothing().resolve(4)


def test_without_matched_bags_the_certificate_allows_any_coupling():
    X = np.arange(8.0)[:, None]
    model = BaggedRegressor(scheme=Declared(0.5, 0.0), n_bags=5, random_state=0).fit(X, X[:, 0])
    assert certify(model).coupling.name == "any"
    for call in (lambda: certify(model, coupling="matched"),
                 lambda: Certificate(Declared(0.5, 0.0), 8, 5, coupling="matched")):  # fmt: skip
        words = r"'any', 'independent'\) for Declared. Got 'matched': it draws different bags if a row is gone"
        with pytest.raises(ValueError, match=words):
            call()


# --------------------------------------------------------------------------------------------------------- keys of rows


def keys_below(ids, threshold, seed=0, first=0, n_bags=3):
    """The rows with keys below a threshold, as {(bag, name): key}."""
    ids = ids if isinstance(ids, RowIds) else RowIds(ids, len(ids))
    names = range(len(ids)) if ids.is_counted else ids.names.tolist()
    seeds, found = Seeds(seed), {}
    for part in RowKeys(ids).below(threshold, seeds, first, seeds.bag_words(first, first + n_bags)):
        assert (np.diff(part.bag) >= 0).all()  # as the next step takes for granted
        for bag, row, value in zip(part.bag.tolist(), part.row.tolist(), part.value.tolist(), strict=True):
            assert (first + bag, names[row]) not in found
            found[first + bag, names[row]] = value
    return found


@pytest.mark.parametrize("bits", [16, 17, 25, 61])
def test_permutation_is_inverted_by_going_backwards(bits):
    round_keys, _ = Seeds(5).block_generator(0, bits, 8)
    some = np.random.default_rng(bits).integers(0, 1 << bits, 1000, dtype=np.uint64)
    there = permuted(some, bits, round_keys)
    assert (there < np.uint64(1 << bits)).all()
    np.testing.assert_array_equal(permuted(there, bits, round_keys, backwards=True), some)
    np.testing.assert_array_equal(permuted(permuted(some, bits, round_keys, backwards=True), bits, round_keys), some)


@pytest.mark.parametrize("bits", [16, 17])
def test_permutation_is_a_bijection_that_depends_on_its_keys(bits):
    everything = np.arange(1 << bits, dtype=np.uint64)
    shuffled = [permuted(everything, bits, Seeds(seed).block_generator(0, bits, 8)[0]) for seed in (0, 1)]
    for one in shuffled:
        np.testing.assert_array_equal(np.sort(one), everything)
    # Two random permutations agree about once, and a Poisson(1) number exceeds 20 with a chance of 1e-20.
    assert np.sum(shuffled[0] == shuffled[1]) <= 20
    assert np.sum(shuffled[0] == everything) <= 20


def blocks():
    some = np.sort(np.random.default_rng(0).choice(1 << 17, 5000, replace=False)) + (1 << 17)
    yield drawing._Counted(16, 100_000)
    yield drawing._Listed(17, np.arange(5000)[::-1], some.astype(np.uint64))


@pytest.mark.parametrize("block", list(blocks()), ids=["counted", "listed"])
@pytest.mark.parametrize("n_smallest", [0, 1, 700, 60_000])
def test_keys_from_rows_equal_keys_from_ranks(block, n_smallest):
    round_keys, _ = Seeds(3).block_generator(7, block.bits, 8)
    found = []
    for way in (block._from_ranks, block._from_rows):
        parts = list(way(n_smallest, round_keys))
        found.append({line for part in parts for line in zip(*(one.tolist() for one in part), strict=True)})
    assert found[0] == found[1]
    present = dict(zip(*(part.tolist() for part in block.some(slice(0, block.n_rows))), strict=True))
    assert all(present[number] == position for _, number, position in found[0])
    assert len(found[0]) <= n_smallest
    if n_smallest > 10_000:
        assert found[0]


def test_both_ways_find_the_same_rows_below_a_threshold(monkeypatch):
    ids, threshold = RowIds(None, 70_000), threshold_of(0.3)
    found = keys_below(ids, threshold, n_bags=2)
    for name, other in (("_from_ranks", "_from_rows"), ("_from_rows", "_from_ranks")):
        with monkeypatch.context() as patch:
            patch.setattr(drawing._Block, name, getattr(drawing._Block, other))
            assert keys_below(ids, threshold, n_bags=2) == found


def test_keys_of_ranks_computed_by_hand():
    # Of four numbers two are below one half, and one of these below one quarter but none below one eighth.
    noise = np.full(4, 2**64 - 1, dtype=np.uint64)
    found = drawing._keys_of_ranks(np.arange(4, dtype=np.uint64), [4, 2, 1, 0], noise)
    assert found.tolist() == [2**62 - 1, 2**63 - 1, 2**64 - 1, 2**64 - 1]
    found = drawing._keys_of_ranks(np.arange(4, dtype=np.uint64), [4, 2, 1, 0], np.zeros(4, dtype=np.uint64))
    assert found.tolist() == [2**61, 2**62, 2**63, 2**63]


def test_a_rank_below_all_halvings_has_the_smallest_key():
    counts = [1] * 65  # one number that was in the lower half 64 times
    assert drawing._keys_of_ranks(np.zeros(1, dtype=np.uint64), counts, np.full(1, 99, dtype=np.uint64)).tolist() == [0]


def test_thresholds_are_fractions_of_all_keys():
    assert threshold_of(0) == 0
    assert threshold_of(1) == threshold_of(1.0) == N_KEYS
    assert threshold_of(Fraction(1, 2)) == 2**63
    assert threshold_of(Fraction(1, 3)) == (2**64 - 1) // 3


def test_a_threshold_is_exact():
    names = [3, 70_000, 2**40 + 1, 12]
    everything = keys_below(names, N_KEYS)
    assert len(everything) == 3 * 4
    for value in everything.values():
        at, above = keys_below(names, value), keys_below(names, value + 1)
        assert at == {where: key for where, key in everything.items() if key < value}
        assert above == {where: key for where, key in everything.items() if key <= value}
    assert keys_below(names, 0) == {}


@pytest.mark.parametrize("share", [1e-4, 0.01, 0.5, 1.0])
def test_a_key_depends_only_on_seed_bag_and_row_id(share):
    threshold = threshold_of(share)
    counted = keys_below(RowIds(None, 70_000), threshold, n_bags=2)
    rest = np.random.default_rng(0).permutation(np.delete(np.arange(70_000), [0, 5, 65_535, 65_536, 69_999]))
    listed = keys_below(rest, threshold, n_bags=2)
    gone = {0, 5, 65_535, 65_536, 69_999}
    assert listed == {where: key for where, key in counted.items() if where[1] not in gone}
    later = keys_below(rest[:20], threshold, first=1, n_bags=1)
    few = set(rest[:20].tolist())
    assert later == {where: key for where, key in counted.items() if where[0] == 1 and where[1] in few}
    assert keys_below(rest[:20], N_KEYS, seed=1) != keys_below(rest[:20], N_KEYS, seed=0)


@pytest.mark.parametrize("n", [MOST_HASHED - 1, MOST_HASHED, MOST_HASHED + 1, 2 * MOST_HASHED, 2 * MOST_HASHED + 1])
def test_every_row_has_a_key_at_block_boundaries(n):
    part_rows = [part.row for part in RowKeys(RowIds(None, n)).below(N_KEYS, Seeds(0), 0, Seeds(0).bag_words(0, 1))]
    np.testing.assert_array_equal(np.sort(np.concatenate(part_rows)), np.arange(n))


def test_matrix_of_keys_exists_only_if_all_are_hashed():
    words = Seeds(0).bag_words(0, 2)
    rows, values = RowKeys(RowIds([7, 3], 2)).matrix(words)
    assert rows.tolist() == [[0, 1], [0, 1]]
    found = keys_below([7, 3], N_KEYS, n_bags=2)
    assert values.tolist() == [[found[bag, 7], found[bag, 3]] for bag in (0, 1)]
    assert RowKeys(RowIds([7, 70_000], 2)).matrix(words) is None
    assert RowKeys(RowIds(None, MOST_HASHED + 1)).matrix(words) is None
    assert RowKeys(RowIds(["a", "b"], 2)).matrix(words) is not None


def test_hashes_depend_on_both_words_and_the_number():
    code, words = np.array([7], dtype=np.uint64), Seeds(0).bag_words(0, 1)[0, :2]
    before = hashed(code, words)[0]
    for bit in range(64):
        flip = np.uint64(1 << bit)
        for other in (hashed(code ^ flip, words), hashed(code, words ^ np.array([flip, 0], dtype=np.uint64)),
                      hashed(code, words ^ np.array([0, flip], dtype=np.uint64))):  # fmt: skip
            assert 8 <= int(before ^ other[0]).bit_count() <= 56  # of 64 fair coins: outside with a chance of 1e-9


def test_bit_lengths_equal_those_of_python():
    numbers = [0, 1, 2, 3, 2**16 - 1, 2**16, 2**61, 2**62 - 1]
    assert drawing._bit_lengths(np.array(numbers, dtype=np.uint64)).tolist() == [k.bit_length() for k in numbers]


def test_small_thresholds_of_very_many_rows_compute_few_keys():
    # 10**12 rows: anything that walked them all would not end.
    found = keys_below(RowIds(None, 10**12), threshold_of(50 / 10**12), n_bags=4)
    assert 50 < len(found) < 400  # Poisson(200): outside with a chance below 1e-30
    assert all(0 <= row < 10**12 for _, row in found)
