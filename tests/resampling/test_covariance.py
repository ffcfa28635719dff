from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from stablebag import BaggedRegressor, BernoulliSubbagging, ClassicalBagging, StratifiedSubbagging, Subbagging, certify
from stablebag.resampling import Bags
from stablebag.resampling import covariance as module
from stablebag.resampling.covariance import (
    eigenvalue_bound,
    given_out,
    largest_eigenvalue,
    moments,
    norm_of,
    symmetric_norm,
)
from theorems.enumeration import all_ensembles


def test_moments_of_listed_bags_equal_those_of_the_law():
    law = ClassicalBagging(2).resolve(3)
    inclusion, covariance = moments(law.support(), 3)
    np.testing.assert_allclose(inclusion, law.inclusion_probability)
    np.testing.assert_allclose(covariance[0, 1:], -law.negative_covariance)


def test_norm_of_a_symmetric_law_is_the_bagging_constant():
    for m in (1, 3, 5):
        law = Subbagging(m).resolve(6)
        assert norm_of(*moments(law.support(), 6)) == pytest.approx(law.constant) == pytest.approx(m / (6 - m) / 5)
    assert symmetric_norm(6, Fraction(1, 2), Fraction(-1, 12)) == pytest.approx((1 + 5 / 3) / 6)


@pytest.mark.kernels
def test_norm_of_a_large_matrix_is_a_tight_upper_bound(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.1, 0.9, 500)
    factors = rng.normal(size=(500, 3))
    covariance = np.diag(p * (1 - p)) + 0.01 * factors @ factors.T
    scale = 1 / ((1 - p) * np.sqrt(500))
    dense = np.linalg.eigvalsh(covariance * scale * scale[:, None])[-1]
    assert dense <= norm_of(p, covariance) <= dense * (1 + 1e-9)
    monkeypatch.setattr(module, "MOST_DENSE", 0)
    assert dense <= norm_of(p, covariance) <= dense * 1.005


N = 5000
SPECTRA = {
    "even": np.linspace(0, 1, N),
    "all the same": np.ones(N),
    "half the same": np.arange(N) % 2,
    "one alone": np.where(np.arange(N) == 7, 1, 0.5),
    "one a millionth ahead": np.where(np.arange(N) == 7, 1, 1 - 1e-6),
    "one ahead of a cluster": np.where(np.arange(N) == 7, 1, np.linspace(0.999, 1 - 1e-7, N)),
    "ever more": 0.99 ** np.arange(N),
    "rank one": np.arange(N) == 7,
}


@pytest.mark.kernels
@pytest.mark.parametrize("spectrum", SPECTRA.values(), ids=SPECTRA)
@pytest.mark.parametrize("scale", [1.0, 1e-20, 1e20])
def test_bound_holds_for_any_spectrum(spectrum, scale):
    values = scale * np.asarray(spectrum, dtype=float)[:, None]
    assert scale <= eigenvalue_bound(lambda vectors: values * vectors, N) <= 1.003 * scale


@pytest.mark.kernels
@pytest.mark.parametrize(("n_blind", "largest", "most"), [(1, 1, 1.2), (4, 1, 1.2), (7, 1, 1.2), (1, 2, 2.5)])
def test_bound_covers_an_eigenvector_that_lanczos_misses(n_blind, largest, most):
    # It is orthogonal to the vector from which Lanczos starts and to some others, and rounding is kept from helping.
    rng = np.random.default_rng(module._SEED)
    starts = rng.normal(size=(N, module._VECTORS))
    top = np.linalg.qr(np.column_stack([starts[:, :n_blind], rng.normal(size=N)]))[0][:, -1:]

    def product(vectors):
        others = vectors - top @ (top.T @ vectors)
        others = 0.5 * (others - top @ (top.T @ others))
        return others if vectors.shape[1] == 1 else others + largest * top @ (top.T @ vectors)

    assert largest <= eigenvalue_bound(product, N) <= most


def test_bound_is_infinite_if_lanczos_misses_a_huge_eigenvalue():
    values = np.where(np.arange(N) == 7, 1e9, 1)[:, None]
    assert eigenvalue_bound(lambda vectors: vectors if vectors.shape[1] == 1 else values * vectors, N) == np.inf


def test_zero_matrix_has_bound_zero():
    assert eigenvalue_bound(np.zeros_like, 100) == 0


def test_given_out_makes_other_rows_more_likely_in_subbagging():
    np.testing.assert_allclose(given_out(*moments(Subbagging(2).resolve(4).support(), 4), row=1), 2 / 3)


# ----------------------------------------------------------------------------------------- the eigenvalue of drawn bags


GOLDEN_BAGS = Bags([[0, 1], [0, 2], [1, 3], [2, 3], [0, 3]], n_samples=4)


def test_eigenvalue_equals_golden_value():
    eigenvalue, inclusion = largest_eigenvalue(GOLDEN_BAGS)
    assert eigenvalue == pytest.approx(0.625, abs=1e-10)
    assert inclusion == 0.6
    y = np.array([0.9, 0.2, 0.7, 0.1, 0.6])
    left_out = [y[GOLDEN_BAGS.without(row)].mean() for row in range(4)]
    square = np.mean((y.mean() - left_out) ** 2)
    assert square == pytest.approx(0.0267361111)
    assert y.var() * eigenvalue == pytest.approx(0.0575)
    assert square <= y.var() * eigenvalue <= eigenvalue / 4


def dense_eigenvalue(bags, weights=None):
    inside = bags.inclusion.astype(float)
    weights = np.full(len(bags), 1 / len(bags)) if weights is None else weights
    share = weights @ inside
    covariance = (inside - share).T @ (weights[:, None] * (inside - share))
    matrix = covariance / np.outer(1 - share, 1 - share) / bags.n_samples
    return np.linalg.eigvalsh(matrix)[-1]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "n_bags"), [(30, 20), (20, 30), (600, 500), (450, 900)])
@pytest.mark.parametrize("scheme", [Subbagging(0.5), ClassicalBagging(1.0), BernoulliSubbagging(0.1)], ids=str)
def test_eigenvalue_is_that_of_the_dense_matrix_and_not_smaller(scheme, n, n_bags, seed):
    bags = scheme.resolve(n).draw(n_bags, random_state=seed)
    if (bags.n_without == 0).any():
        pytest.skip("a row is in every bag")
    dense = dense_eigenvalue(bags)
    eigenvalue, _ = largest_eigenvalue(bags)
    assert dense * (1 - 1e-12) <= eigenvalue <= dense * (1 + 1e-6)


def test_eigenvalue_of_all_bags_is_the_bagging_constant():
    for ensemble in all_ensembles(5):
        if np.isclose(ensemble.weights.sum(), 1, atol=1e-12) and not ensemble.inside.all(axis=0).any():
            bags = Bags(ensemble.bags, ensemble.law.n_samples)
            eigenvalue, _ = largest_eigenvalue(bags, ensemble.weights)
            assert eigenvalue == pytest.approx(ensemble.constant, rel=1e-9)


def test_the_memorizer_of_reused_bags_attains_the_worst_case():
    bags = Subbagging(0.5).resolve(30).draw(40, random_state=0)
    eigenvalue, inclusion = largest_eigenvalue(bags)
    row = int(np.argmin(bags.n_without))
    outputs = bags.inclusion[:, row].astype(float)
    moved = np.array([abs(outputs.mean() - outputs[bags.without(i)].mean()) for i in range(30)])
    assert moved[row] == pytest.approx(inclusion)
    assert np.mean(moved**2) <= eigenvalue * outputs.var()


def test_the_eigenvector_nearly_attains_the_bound():
    # Outputs along the leading direction over bags make the inequality an equality.
    bags = Subbagging(0.5).resolve(25).draw(60, random_state=0)
    inside = bags.inclusion.astype(float)
    share = inside.mean(axis=0)
    _, _, directions = np.linalg.svd(((inside - share) / (1 - share)).T)
    outputs = directions[0]
    moved = np.array([outputs.mean() - outputs[bags.without(i)].mean() for i in range(25)])
    assert np.mean(moved**2) == pytest.approx(largest_eigenvalue(bags)[0] * outputs.var(), rel=1e-9)


def test_a_row_in_every_bag_raises():
    with pytest.raises(ValueError, match="Row 1 is in every bag"):
        largest_eigenvalue(Bags([[0, 1], [1, 2]], n_samples=3))
    with pytest.raises(ValueError, match="no bags"):
        largest_eigenvalue(Bags([], n_samples=3))


@pytest.mark.parametrize("n_bags", [5, 500])
def test_empty_bags_have_eigenvalue_zero(n_bags):
    assert largest_eigenvalue(Bags([[]] * n_bags, n_samples=600)) == (0.0, 0.0)


@pytest.mark.kernels
@pytest.mark.parametrize(("n", "n_bags", "size"), [(30, 20, 0.5), (20, 30, 0.5), (90, 40, 3), (30, 200, 1)])
def test_bound_for_large_matrices_is_tight(n, n_bags, size, monkeypatch):
    bags = Subbagging(size).resolve(n).draw(n_bags, 0)
    solved = largest_eigenvalue(bags)
    monkeypatch.setattr(module, "MOST_DENSE", 0)
    monkeypatch.setattr(module, "_BLOCK_BYTES", 8 * 7 * n_bags)  # seven rows at a time
    bound = largest_eigenvalue(bags)
    assert solved[0] <= bound[0] <= solved[0] * 1.005
    assert bound[1] == solved[1]
    monkeypatch.setattr(module, "MOST_DENSE", 4000)
    assert largest_eigenvalue(bags) == pytest.approx(solved, rel=1e-12)


@pytest.mark.kernels
def test_repeated_eigenvalues_are_found(seed):
    # Where rows are paired every eigenvalue repeats; LAPACK's routine for the largest alone fails on some of these.
    rng = np.random.default_rng(seed)
    for _ in range(120):
        n = 2 * int(rng.integers(2, 6))
        law = StratifiedSubbagging(0.5, list(rng.permutation(list("aabbccddee"[:n])))).resolve(n)
        bags, weights = zip(*law.support(), strict=True)
        eigenvalue, _ = largest_eigenvalue(Bags(bags, n), np.array(weights, dtype=float))
        assert law.constant <= eigenvalue <= law.constant * (1 + 1e-11)


@pytest.mark.kernels
def test_bound_beyond_4000_bags_and_rows_covers_repeated_eigenvalues():
    # Each row is in one bag: the covariance has the eigenvalue 1 / (B - 1)^2, B - 1 times, and zero.
    bags = Bags(np.arange(10_002).reshape(5001, 2), n_samples=10_002)
    eigenvalue, inclusion = largest_eigenvalue(bags)
    assert 1 / 5000**2 <= eigenvalue <= 1.003 / 5000**2
    assert inclusion == 1 / 5001


def test_all_bags_of_paired_strata_are_certified():
    model = BaggedRegressor(LinearRegression(), scheme=StratifiedSubbagging(0.5, list("ababcc")), n_bags="all")
    model.fit(np.arange(12.0).reshape(6, 2) ** 2, np.arange(6.0))
    assert certify(model, reused=True).eigenvalue == pytest.approx(1 / 3, rel=1e-11)


def test_rows_that_share_a_pattern_are_counted_each():
    small = Bags([[0, 1], [1, 2], [3], [1, 3]], n_samples=5)
    # The same bags with seven copies of every row: the mean over rows is the same.
    copies = Bags([[7 * row + k for row in bag for k in range(7)] for bag in small], n_samples=35)
    assert dense_eigenvalue(copies) == pytest.approx(7 * dense_eigenvalue(small) / 7, rel=1e-12)
    assert largest_eigenvalue(copies)[0] == pytest.approx(largest_eigenvalue(small)[0], rel=1e-11)


def test_rows_in_no_bag_only_change_n():
    few, many = (Subbagging(20).resolve(n).draw(30, 0) for n in (400, 400))
    many = Bags(list(many), n_samples=10**12)
    value, share = largest_eigenvalue(few)
    assert largest_eigenvalue(many)[0] == pytest.approx(value * 400 / 10**12, rel=1e-12)
    assert largest_eigenvalue(many)[1] == share
