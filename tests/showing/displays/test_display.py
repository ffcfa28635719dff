import sys
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from stablebag import Certificate, IntervalDisplay, PerturbationDisplay, StabilityCurveDisplay, Subbagging
from stablebag._wording import ROWS, Noun
from stablebag.deciding import Intervals
from stablebag.measuring import Perturbations
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.showing import PhaseDiagramDisplay
from stablebag.showing.displays.display import (
    BAGGED,
    COLOURS,
    GUARANTEE,
    HATCHES,
    LINES,
    OTHER,
    Display,
    Reach,
    as_steps,
    by_name,
    looks,
    noun_of,
)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_changes_of_any_scale_can_be_drawn_even_if_they_are_all_equal(scale):
    moved = {"one": Perturbations(np.zeros(1), scale * np.ones((5, 1)), np.arange(5)),
             "none": Perturbations(np.zeros(1), np.zeros((5, 1)), np.arange(5))}  # fmt: skip
    for display in (PerturbationDisplay, StabilityCurveDisplay):
        drawn = display.from_perturbations(moved)
        drawn.figure_.canvas.draw()
        assert 1.0 <= drawn.ax_.get_xlim()[1] / scale < 1.2
        nothing = display.from_perturbations(moved["none"])
        nothing.figure_.canvas.draw()
        assert nothing.ax_.get_xlim()[1] == pytest.approx(1.0, abs=0.1)
    phases = PhaseDiagramDisplay.from_certificate(Certificate(Subbagging(1), 2, range_length=scale))
    phases.figure_.canvas.draw()
    assert 1.0 < phases.ax_.get_ylim()[1] / phases.guaranteed.max() < 1.2


def test_given_axes_are_used(measured):
    figure, ax = plt.subplots()
    assert StabilityCurveDisplay.from_perturbations(measured, ax=ax).figure_ is figure
    assert PerturbationDisplay({"a": np.ones(3)}).plot(ax=ax).ax_ is ax
    intervals = Intervals(np.zeros(2), np.ones(2), np.full(2, 0.5), 0.8, "jackknife", "none")
    assert IntervalDisplay.from_intervals(intervals, ax=ax).ax_ is ax
    assert PhaseDiagramDisplay.from_certificate(Certificate(Subbagging(2), 4), ax=ax).ax_ is ax
    assert plt.get_fignums() == [figure.number]


def test_error_without_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'stablebag\[plot\]'"):
        Display().start(None)


@pytest.mark.parametrize("display", [PerturbationDisplay, StabilityCurveDisplay])
def test_only_perturbations_can_be_drawn(display):
    for bad in (np.zeros(3), {"a": np.zeros(3)}, None):
        with pytest.raises(TypeError, match="'perturbations' parameter"):
            display.from_perturbations(bad)


def test_perturbations_without_a_name_are_called_measured(measured):
    assert by_name(measured["bagged"], "owner") == {"measured": measured["bagged"]}
    assert list(by_name(measured, "owner")) == ["base learner", "bagged"]


def test_steps_hold_until_the_next_epsilon_and_use_the_smallest_share_at_each():
    epsilon, delta = as_steps(np.array([0.5, 0.2, 0.2]), np.array([0.0, 0.3, 0.4]))
    assert epsilon.tolist() == [0.2, 0.2, 0.2, 0.5, 0.5]
    assert delta.tolist() == [0.4, 0.4, 0.3, 0.3, 0.0]


def test_first_five_looks_differ_without_colour():
    assert len(COLOURS) == len(LINES) == len(HATCHES) == len(set(COLOURS)) == len(set(HATCHES))
    assert len({(colour, str(line)) for colour, line in zip(COLOURS, LINES, strict=True)}) == len(COLOURS)
    assert len({str(line) for line in LINES[:5]}) == 5


def test_displays_name_groups_that_are_left_out(measured):
    patients = Noun("patient", "patients")
    scope = Scope(100, Quantity.NUMBER, Rerun.ALONE, noun=patients)
    moved = {name: replace(each, scope=scope) for name, each in measured.items()}
    assert noun_of(measured) == ROWS
    assert noun_of(moved) == patients
    with pytest.raises(ValueError, match="Cannot draw perturbations by patients and rows on one axis"):
        noun_of({"a": measured["bagged"], "b": moved["bagged"]})
    assert PerturbationDisplay.from_perturbations(moved).ax_.get_ylabel().startswith("share of patients")
    assert "share of patients that" in StabilityCurveDisplay.from_perturbations(moved).ax_.get_ylabel()
    phases = PhaseDiagramDisplay.from_certificate(Certificate(Subbagging(2), 4, noun=patients))
    assert "share of patients" in phases.ax_.get_xlabel()
    assert "2 of 4 patients" in phases.ax_.get_title()


def test_bagged_has_the_same_colour_in_all_pictures():
    alone, second = looks(["bagged"])["bagged"], looks(["base learner", "bagged"])["bagged"]
    assert alone == second == looks(["a", "b", "bagged"])["bagged"]
    assert alone.colour == BAGGED
    assert len({look.colour for look in looks(["a", "bagged", "b", "c"]).values()}) == 4
    assert [look.colour for look in looks(["a", "b"]).values()] == list(COLOURS[:2])


def contrast(colour, paper):
    def brightness(name):
        parts = np.array(to_rgb(name))
        return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]

    first, second = sorted([brightness(colour), brightness(paper)])
    return (second + 0.05) / (first + 0.05)


@pytest.mark.parametrize("paper", ["#ffffff", "#14181d"])
@pytest.mark.parametrize("colour", [BAGGED, OTHER, GUARANTEE])
def test_colours_have_contrast_on_light_and_dark_backgrounds(colour, paper):
    assert contrast(colour, paper) >= 3  # WCAG 2, for graphics


def test_scale_is_logarithmic_if_most_of_a_histogram_would_be_one_bar():
    spread, crowd = np.linspace(0, 1, 50), np.append(np.full(60, 1e-3), 1.0)
    assert Reach.of([spread]) == Reach(0.0, 1.0, log=False)
    assert Reach.of([spread, crowd]).log
    assert not Reach.of([crowd], scale="linear").log
    assert not Reach.of([np.append(np.zeros(60), spread)]).log  # a logarithm does not spread zeros
    assert Reach.of([spread], guarantee=11.0) == Reach(pytest.approx(1 / 49, rel=0.5), 11.0, log=True)
    assert not Reach.of([spread], guarantee=9.0).log
    assert not Reach.of([np.zeros(3)], guarantee=9.0, scale="log").log
    with pytest.raises(ValueError, match="'scale'"):
        Reach.of([spread], scale="square")


def test_axes_write_thousands_with_commas():
    moved = Perturbations(np.zeros(1), np.geomspace(0.5, 2e6, 200)[:, None], np.arange(200))
    for display in (PerturbationDisplay, StabilityCurveDisplay):
        drawn = display.from_perturbations(moved, xlabel="euros")
        drawn.figure_.canvas.draw()
        assert drawn.ax_.get_xscale() == "log"
        assert "1,000,000" in [label.get_text() for label in drawn.ax_.get_xticklabels()]
        assert drawn.ax_.get_xlabel().startswith("euros")
        narrow = display.from_perturbations(moved, scale="linear")
        assert narrow.ax_.get_xscale() == "linear"


def test_narrow_logarithmic_scale_has_tick_labels(measured):
    moved = Perturbations(np.zeros(1), np.linspace(21, 49, 20)[:, None], np.arange(20))
    drawn = PerturbationDisplay.from_perturbations(moved, scale="log")
    drawn.figure_.canvas.draw()
    low, high = drawn.ax_.get_xlim()
    shown = [tick for tick in drawn.ax_.get_xticks() if low <= tick <= high]
    assert shown
