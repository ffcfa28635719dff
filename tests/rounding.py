"""How closely numbers agree, whichever kernels, threads and blocks made them: what docs/models.md promises."""

import numpy as np


def assert_same_sums(found, expected, model, *values):
    """Assert that sums over the bags are the same: to 4 n_bags eps times the largest of them and of `values`.

    A sum over B numbers is off by at most B eps / 2 times the largest of them, in any order. What is compared was added
    up twice, and may be an average at a point plus a residual, which is an average at a row: four such errors, and as
    much again for divisions, weights and deviations. `values` are the predictions of bags and the targets. The model is
    a fitted one, or its number of bags.
    """
    n_bags = model if isinstance(model, int) else len(model.bags_)
    sizes = [np.abs(np.asarray(some, dtype=float)).max(initial=0.0) for some in (found, expected, *values)]
    np.testing.assert_allclose(found, expected, rtol=0, atol=4 * n_bags * np.finfo(float).eps * max(sizes))


def assert_same_bounds(found, expected):
    """Assert that bounds are the same: eigenvalues, roots and logarithms to nine digits."""
    np.testing.assert_allclose(found, expected, rtol=1e-9)
