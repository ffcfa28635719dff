import math

import numpy as np
import pytest

from stablebag import BernoulliSubbagging, Certificate, ClassicalBagging, Subbagging
from stablebag.proving import unstable_epsilon
from stablebag.showing import PhaseDiagramDisplay


def test_phase_diagram_has_the_borders_of_the_paper():
    display = PhaseDiagramDisplay.from_certificate(Certificate(Subbagging(0.5), 500), bound="paper")
    delta = display.delta
    np.testing.assert_allclose(display.guaranteed, 1 / np.sqrt(4 * 499 * delta))
    np.testing.assert_allclose(display.impossible, [unstable_epsilon(500, 250, share) for share in delta])
    assert (display.impossible < display.guaranteed).all()
    assert PhaseDiagramDisplay.from_certificate(Certificate(ClassicalBagging(), 500)).impossible is None


def test_exact_frontier_is_drawn_where_it_is_known():
    display = PhaseDiagramDisplay.from_certificate(Certificate(BernoulliSubbagging(0.3), 60))
    assert display.impossible is None
    np.testing.assert_allclose(display.exact_.get_ydata(), display.guaranteed)
    paper = PhaseDiagramDisplay.compute(Certificate(Subbagging(0.5), 60), bound="paper")
    assert (paper.impossible <= paper.exact + 1e-12).all()
    assert (paper.exact < paper.guaranteed).all()
    changing = PhaseDiagramDisplay.compute(Certificate(Subbagging(0.5), 60, delta_range=0.05, reach=1.0))
    assert changing.exact is None
    unknown = PhaseDiagramDisplay.compute(Certificate(ClassicalBagging(1.0), 10**6))
    assert unknown.exact is None


def test_diagram_without_any_guarantee_raises_an_error():
    with pytest.raises(ValueError, match="Nothing is guaranteed"):
        PhaseDiagramDisplay.from_certificate(Certificate(Subbagging(0.5), 100, delta_range=1.0))
    with pytest.raises(ValueError, match="Nothing is guaranteed"):  # too large to draw
        PhaseDiagramDisplay([0.1, 0.2], [1.7e308, 1.6e308], None).plot()


def test_borders_are_drawn_in_units_of_the_range():
    one = PhaseDiagramDisplay.compute(Certificate(Subbagging(0.5), 60))
    wide = PhaseDiagramDisplay.from_certificate(Certificate(Subbagging(0.5), 60, range_length=100.0))
    np.testing.assert_allclose(wide.guaranteed_.get_ydata(), 100 * one.guaranteed)
    np.testing.assert_allclose(wide.impossible_.get_ydata(), 100 * one.impossible)
    np.testing.assert_allclose(wide.exact_.get_ydata(), 100 * one.exact)
    assert wide.ax_.get_title() == "subbagging, 30 of 60 rows"


def test_only_certificates_can_be_drawn():
    with pytest.raises(TypeError, match="certify"):
        PhaseDiagramDisplay.from_certificate("subbagging")


@pytest.mark.parametrize("n", [10**6, 10**12, 2**63])
def test_diagram_of_very_many_rows_has_the_same_form(n):
    for n_bags in (1000, math.inf):
        display = PhaseDiagramDisplay.compute(Certificate(Subbagging(0.5), n, n_bags))
        assert (np.diff(display.guaranteed) <= 0).all()
        assert (display.impossible <= display.guaranteed).all()
        assert display.exact is None
