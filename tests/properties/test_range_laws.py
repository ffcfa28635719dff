"""delta_I in closed form is delta_I by leaving out every row."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from stablebag import ObservedRange, TrimmedRange
from stablebag.models.ranges import as_prediction_range

tied = st.integers(2, 25).flatmap(lambda n: arrays(float, n, elements=st.integers(0, 5).map(float)))
loose = st.integers(2, 25).flatmap(lambda n: arrays(float, n, elements=st.floats(-1e6, 1e6)))


@given(st.one_of(tied, loose), st.data())
def test_closed_form_equals_brute_force_with_and_without_ties(y, data):
    rank = data.draw(st.integers(1, len(y) // 2))
    trimmed = TrimmedRange(rank)
    assert trimmed.delta(y) == as_prediction_range(trimmed.interval, "here").delta(y) <= 2 * rank / len(y)
    assert ObservedRange().delta(y) == as_prediction_range(lambda values: (values.min(), values.max()), "here").delta(y)


@given(st.one_of(tied, loose), st.data())
def test_leaving_out_a_row_never_extends_a_range(y, data):
    trimmed = TrimmedRange(data.draw(st.integers(1, len(y) // 2)))
    low, high = trimmed.interval(y)
    for row in range(len(y)):
        low_without, high_without = trimmed.interval(np.delete(y, row))
        assert low <= low_without <= high_without <= high
