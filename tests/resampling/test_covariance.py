from fractions import Fraction

import numpy as np
import pytest

from stablebag import ClassicalBagging, Subbagging
from stablebag.resampling import covariance as module
from stablebag.resampling.covariance import eigenvalue_bound, given_out, moments, norm_of, symmetric_norm


def test_moments_of_listed_bags_are_those_of_the_law():
    law = ClassicalBagging(2).resolve(3)
    inclusion, covariance = moments(law.support(), 3)
    np.testing.assert_allclose(inclusion, law.inclusion_probability)
    np.testing.assert_allclose(covariance[0, 1:], -law.negative_covariance)


def test_the_norm_of_a_symmetric_law_is_the_bagging_constant():
    for m in (1, 3, 5):
        law = Subbagging(m).resolve(6)
        assert norm_of(*moments(law.support(), 6)) == pytest.approx(law.constant) == pytest.approx(m / (6 - m) / 5)
    assert symmetric_norm(6, Fraction(1, 2), Fraction(-1, 12)) == pytest.approx((1 + 5 / 3) / 6)


@pytest.mark.kernels
def test_large_matrices_have_a_norm_that_is_no_smaller_and_hardly_larger(seed, monkeypatch):
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
def test_no_eigenvalue_exceeds_the_bound_however_they_lie(spectrum, scale):
    values = scale * np.asarray(spectrum, dtype=float)[:, None]
    assert scale <= eigenvalue_bound(lambda vectors: values * vectors, N) <= 1.003 * scale


@pytest.mark.kernels
@pytest.mark.parametrize(("n_blind", "largest", "most"), [(1, 1, 1.2), (4, 1, 1.2), (7, 1, 1.2), (1, 2, 2.5)])
def test_an_eigenvector_that_the_iteration_never_meets_is_found_all_the_same(n_blind, largest, most):
    # It is orthogonal to the vector from which Lanczos starts and to some others, and rounding is kept from helping.
    rng = np.random.default_rng(module._SEED)
    starts = rng.normal(size=(N, module._VECTORS))
    top = np.linalg.qr(np.column_stack([starts[:, :n_blind], rng.normal(size=N)]))[0][:, -1:]

    def product(vectors):
        others = vectors - top @ (top.T @ vectors)
        others = 0.5 * (others - top @ (top.T @ others))
        return others if vectors.shape[1] == 1 else others + largest * top @ (top.T @ vectors)

    assert largest <= eigenvalue_bound(product, N) <= most


def test_an_eigenvalue_beyond_all_that_the_iteration_saw_has_no_bound():
    values = np.where(np.arange(N) == 7, 1e9, 1)[:, None]
    assert eigenvalue_bound(lambda vectors: vectors if vectors.shape[1] == 1 else values * vectors, N) == np.inf


def test_nothing_has_no_eigenvalue():
    assert eigenvalue_bound(np.zeros_like, 100) == 0


def test_given_that_a_row_is_out_the_others_are_likelier_in_subbagging():
    np.testing.assert_allclose(given_out(*moments(Subbagging(2).resolve(4).support(), 4), row=1), 2 / 3)
