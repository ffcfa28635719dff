import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from stablebag import Intervals, Perturbations
from stablebag._wording import Noun
from stablebag.measuring.names import Names
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.showing.report.charts import _series, interactive, static, static_charts


@pytest.fixture
def named():
    rng = np.random.default_rng(0)
    base = Perturbations(np.zeros(2), rng.normal(size=(30, 2)), np.arange(30))
    return {"base learner": base, "bagged": Perturbations(np.zeros(2), base.left_out / 10, np.arange(30))}


GUARANTEE = np.array([0.9, 0.5]), np.array([0.1, 0.3])


def test_a_static_picture_is_text_with_an_alternative():
    drawn = []
    picture = static(drawn.append, "Nothing yet.")
    assert len(drawn) == 1  # the axes
    head, data = picture["src"].split(",")
    assert head == "data:image/png;base64"
    assert base64.b64decode(data).startswith(b"\x89PNG")
    assert picture["alt"] == "Nothing yet."


def test_alternatives_say_what_the_pictures_show(named):
    intervals = Intervals(np.zeros(2), np.array([1.0, np.inf]), np.full(2, 0.5), 0.8, "jackknife+", "none")
    charts = static_charts(named, GUARANTEE, intervals, np.array([0.5, -1.0]))
    largest = [float(moved.values.max()) for moved in named.values()]
    for name in ("curves", "histogram"):
        assert f"base learner up to {largest[0]:.3g}, bagged up to {largest[1]:.3g}." in charts[name]["alt"]
    assert charts["intervals"]["alt"] == "Prediction intervals at 2 test points. 1 of 2 targets inside."


def test_intervals_that_are_not_there_or_all_infinite_have_no_picture(named):
    endless = Intervals(np.full(2, -np.inf), np.full(2, np.inf), np.zeros(2), 0.8, "jackknife+", "none")
    for intervals in (None, endless):
        assert set(static_charts(named, None, intervals, None)) == {"curves", "histogram"}


def test_the_interactive_chart_has_every_point_and_what_is_proved(named):
    library, script, div = interactive(named, GUARANTEE)
    assert "Bokeh" in library
    assert div.strip().startswith("<div")
    for label in ("all points together", "test point 1", "test point 2", "proved for the bagged model"):
        assert label in script
    assert "test point 3" not in script
    without = interactive(named, None)[1]
    assert "proved for the bagged model" not in without


def test_the_same_measurements_give_the_same_chart_to_the_last_letter(named):
    assert interactive(named, GUARANTEE) == interactive(named, GUARANTEE)


def test_a_curve_counts_the_rows_beyond_each_distance():
    moved = Perturbations(np.zeros(2), np.array([[0.1, 0.3], [0.1, 0.0], [0.2, 0.0], [0.4, 0.3]]), np.arange(4))
    steps, bins = _series(moved, "0", widest=0.4)
    assert list(dict.fromkeys(zip(steps["epsilon"], steps["delta"], strict=True))) == [
        (0.0, 1.0), (0.1, 1.0), (0.1, 0.5), (0.2, 0.5), (0.2, 0.25), (0.4, 0.25), (0.4, 0.0),
    ]  # fmt: skip
    assert sum(bins["share"]) == pytest.approx(1)
    assert bins["left"][0] == 0.0
    assert bins["right"][-1] == pytest.approx(0.4)
    together, _ = _series(moved, "all", widest=0.4)
    assert together["delta"][0] == 0.75  # two of eight are zero


def test_many_rows_make_no_more_steps_than_can_be_seen():
    values = np.random.default_rng(0).random((100_000, 1))
    moved = Perturbations(np.zeros(1), values, np.arange(100_000))
    steps, bins = _series(moved, "all", widest=1.0)
    assert len(steps["epsilon"]) == len(steps["delta"]) < 500
    assert len(json.dumps([steps, bins])) < 20_000


def test_charts_speak_of_what_is_left_out_and_call_points_as_in_their_frame(named):
    scope = Scope(30, Quantity.NUMBER, Rerun.ALONE, noun=Noun("patient", "patients"))
    evil = "</script><b>"
    of = {"scope": scope, "names": Names(points=np.array(["may", evil], dtype=object))}
    patients = {name: replace(moved, **of) for name, moved in named.items()}
    for name, picture in static_charts(patients, GUARANTEE, None, None).items():
        assert {"histogram": "each patient", "curves": "share of patients"}[name] in picture["alt"]
        assert "row" not in picture["alt"]
    script = interactive(patients, GUARANTEE)[1]
    for words in ("delta: share of patients", "how far a patient moves the prediction", "test row may"):
        assert words in script
    assert evil not in script
