import math

import numpy as np
import pytest

from stablebag.measuring.perturbations import exceeded_by, norm, share_above, shares_above

COUNTS = np.array([3, 0, 1, 5, 2])
LINES = np.random.default_rng(0).integers(0, 4, size=(5, 3, 2)) / 4
ROWS = np.repeat(LINES, COUNTS, axis=0)


@pytest.mark.parametrize("order", [0.5, 1, 2, 3, 40, math.inf])
def test_a_norm_of_lines_is_that_of_their_rows(order):
    lines = LINES * (COUNTS > 0)[:, None, None]  # a line without rows has no distance
    np.testing.assert_allclose(norm(lines, order, COUNTS), norm(ROWS, order), rtol=1e-14)


@pytest.mark.parametrize("level", [0.0, 0.25, 0.3, 1.0])
def test_shares_of_lines_are_those_of_their_rows(level):
    np.testing.assert_array_equal(share_above(LINES, level, COUNTS), share_above(ROWS, level))
    np.testing.assert_array_equal(shares_above(LINES, np.array([level]), COUNTS)[..., 0], share_above(ROWS, level))
    np.testing.assert_array_equal(shares_above(ROWS, np.array([level]))[..., 0], share_above(ROWS, level))


@pytest.mark.parametrize("allowed", range(13))
def test_order_statistics_of_lines_are_those_of_their_rows(allowed):
    np.testing.assert_array_equal(exceeded_by(allowed, LINES, COUNTS), exceeded_by(allowed, ROWS))
