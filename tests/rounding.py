"""How closely two sums over the same bags agree, whichever kernels, threads and blocks added them up."""

import numpy as np


def tolerance(model, *values):
    """Return 4 n_bags eps times the largest of all predictions by a bag, targets and values.

    A sum over B numbers is off by at most B eps / 2 times their sizes, in any order. What is compared here was added up
    twice, and may be an average at a point plus a residual, which is an average at a row: four such errors in all.
    """
    sizes = [np.abs(np.asarray(value, dtype=float)).max(initial=0.0) for value in values]
    return 4 * len(model.bags_) * np.finfo(float).eps * max(sizes)


def assert_same_sums(found, expected, model, *values):
    """Assert that sums over the bags of a fitted model are the same, where `values` has what they are sums of."""
    allowed = tolerance(model, found, expected, *values)
    np.testing.assert_allclose(found, expected, rtol=0, atol=allowed)
