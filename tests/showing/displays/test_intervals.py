import numpy as np
import pandas as pd
import pytest

from stablebag import IntervalDisplay
from stablebag.deciding import Intervals


def test_intervals_are_drawn_with_targets_inside_and_outside():
    lower, upper = np.array([0.0, 1.0, -np.inf]), np.array([2.0, 3.0, np.inf])
    intervals = Intervals(lower, upper, np.array([1.0, 2.0, 5.0]), 0.8, "jackknife+", "none")
    display = IntervalDisplay.from_intervals(intervals, [1.5, 3.5, 0.0])
    title = "80% prediction intervals (jackknife+), 1 infinite and not drawn: 2 of 3 targets inside"
    assert display.ax_.get_title() == title
    assert len(display.bars_.get_segments()) == 2
    np.testing.assert_allclose(display.missed_.get_offsets(), [[2.0, 3.5]])
    np.testing.assert_allclose(display.covered_.get_offsets(), [[1.0, 1.5], [5.0, 0.0]])
    assert display.ax_.get_xlabel() == "prediction"


def test_intervals_are_drawn_against_a_feature():
    pd = pytest.importorskip("pandas")
    intervals = Intervals(np.zeros(2), np.ones(2), np.full(2, 0.5), 0.8, "jackknife", "none")
    display = IntervalDisplay.from_intervals(intervals, x=pd.Series([3.0, 4.0], name="age"))
    assert display.ax_.get_xlabel() == "age"
    assert not hasattr(display, "covered_")
    with pytest.raises(ValueError, match="'x'"):
        IntervalDisplay.from_intervals(intervals, x=[1.0])
    with pytest.raises(TypeError, match="'intervals'"):
        IntervalDisplay.from_intervals([1.0])


def test_predictions_are_drawn_if_there_are_no_targets():
    intervals = Intervals(np.zeros(2), np.ones(2), np.array([0.25, 0.5]), 0.8, "jackknife", "none")
    display = IntervalDisplay.from_intervals(intervals, x=[3.0, 4.0])
    (drawn,) = display.ax_.lines
    np.testing.assert_array_equal(np.column_stack(drawn.get_data()), [[3.0, 0.25], [4.0, 0.5]])
    assert display.ax_.get_title() == "80% prediction intervals (jackknife)"
    assert display.ax_.get_xlabel() == "feature"


def test_target_axis_has_the_name_of_the_column():
    intervals = Intervals(np.zeros(1), np.ones(1), np.full(1, 0.5), 0.8, "jackknife+", "none")
    draw = IntervalDisplay.from_intervals
    assert draw(intervals, pd.Series([0.5], name="price_eur")).ax_.get_ylabel() == "price_eur"
    assert draw(intervals, [0.5], ylabel="euros").ax_.get_ylabel() == "euros"
    assert draw(intervals, [0.5]).ax_.get_ylabel() == "target"


def test_dollar_signs_in_the_name_of_a_column_are_not_formulas():
    intervals = Intervals(np.zeros(1), np.ones(1), np.full(1, 0.5), 0.8, "jackknife+", "none")
    display = IntervalDisplay.from_intervals(intervals, pd.Series([0.5], name=r"US$ \frac $"))
    display.figure_.canvas.draw()
    assert display.ax_.get_ylabel() == r"US\$ \frac \$"
