"""How closely numbers agree for different kernels, threads and blocks, as docs/models.md promises."""

import numpy as np


def assert_same_sums(found, expected, model, *values):
    """Assert that sums over the bags agree to 4 n_bags eps times the largest of them and of `values`.

    A sum over B numbers has an error of at most B eps / 2 times the largest, in any order. Two sums are compared, and
    each may be an average at a point plus a residual, which is an average at a row: four such errors, and as much again
    for divisions, weights and deviations. `values` are the predictions of the bags and the targets. `model` is a fitted
    model, or its number of bags.
    """
    n_bags = model if isinstance(model, int) else len(model.bags_)
    sizes = [np.abs(np.asarray(some, dtype=float)).max(initial=0.0) for some in (found, expected, *values)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=4 * n_bags * np.finfo(float).eps * max(sizes))


def assert_same_bounds(found, expected):
    """Assert that bounds agree to nine digits, as eigenvalues, roots and logarithms do."""
    np.testing.assert_allclose(found, expected, rtol=1e-9)
