import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from stablebag import Intervals, Perturbations
from stablebag._wording import Noun
from stablebag.measuring.names import Names
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.showing.report.charts import Moves, _series, interactive, interval_picture, label_picture, static


@pytest.fixture
def named():
    rng = np.random.default_rng(0)
    base = Perturbations(np.zeros(2), rng.normal(size=(30, 2)), np.arange(30))
    return {"base learner": base, "bagged": Perturbations(np.zeros(2), base.left_out / 10, np.arange(30))}


GUARANTEE = np.array([0.9, 0.5]), np.array([0.1, 0.3])


def test_a_static_picture_is_text_for_light_and_dark_with_an_alternative():
    drawn = []
    picture = static(drawn.append, "Nothing yet.")
    assert len(drawn) == 2  # axes
    for paper in ("light", "dark"):
        head, data = picture[paper].split(",")
        assert head == "data:image/png;base64"
        assert base64.b64decode(data).startswith(b"\x89PNG")
    assert picture["light"] != picture["dark"]
    assert picture["alt"] == "Nothing yet."


def test_alternatives_say_what_the_pictures_show(named):
    charts = Moves(named, GUARANTEE).pictures()
    largest = [float(moved.values.max()) for moved in named.values()]
    for name in ("curves", "histogram"):
        assert f"base learner up to {largest[0]:.4g}, bagged up to {largest[1]:.4g}." in charts[name]["alt"]
    intervals = Intervals(np.zeros(2), np.array([1.0, np.inf]), np.full(2, 0.5), 0.8, "jackknife+", "none")
    picture = interval_picture(intervals, np.array([0.5, -1.0]), "price")
    assert picture["alt"] == "Prediction intervals at 2 test points. 1 of 2 targets inside."


def test_intervals_that_are_all_infinite_have_no_picture():
    endless = Intervals(np.full(2, -np.inf), np.full(2, np.inf), np.zeros(2), 0.8, "jackknife+", "none")
    assert interval_picture(endless, None) is None


def test_labels_are_shown_with_the_decisions_that_hinge_on_one_row(cancer):
    hinges = np.arange(60) < 2
    picture = label_picture(cancer.model, cancer.points, hinges, cancer.noun)
    assert "at 6 test points" in picture["alt"]
    assert "at 2 the decision hinges on one row." in picture["alt"]


def test_what_is_proved_stays_true_with_fewer_steps(named):
    shares = np.arange(5000) / 5000
    distances = np.sqrt(1 / (shares + 1e-3))
    thin = Moves(named, (distances, shares)).thinned()
    assert len(thin[0]) <= 200
    assert {distances.max(), distances.min()} <= set(thin[0])  # all of its range
    assert set(zip(*thin, strict=True)) <= set(zip(distances, shares, strict=True))


def test_what_is_bagged_has_its_colour_alone_and_beside_the_base_learner(named):
    both = {name: colour for name, colour, _ in Moves(named, GUARANTEE).legend()}
    alone = {name: colour for name, colour, _ in Moves({"bagged": named["bagged"]}).legend()}
    assert alone["bagged"] == both["bagged"]
    assert list(both) == ["base learner", "bagged", "proved for the bagged model"]
    assert len(set(both.values())) == 3


def test_the_interactive_chart_has_every_point_and_what_is_proved(named):
    chart = interactive(Moves(named, GUARANTEE))
    assert "Bokeh" in chart.library
    assert chart.curves.strip().startswith("<div")
    assert chart.bars.strip().startswith("<div")
    assert [name for _, name in chart.points] == ["all points together", "test point 1", "test point 2"]
    assert set(json.loads(chart.data)) == {"all", "0", "1"}
    assert "proved for the bagged model" in chart.script
    assert "proved for the bagged model" not in interactive(Moves(named)).script


def test_the_same_measurements_give_the_same_chart_to_the_last_letter(named):
    assert interactive(Moves(named, GUARANTEE)) == interactive(Moves(named, GUARANTEE))


def test_a_curve_counts_the_rows_beyond_each_distance():
    moved = Perturbations(np.zeros(2), np.array([[0.1, 0.3], [0.1, 0.0], [0.2, 0.0], [0.4, 0.3]]), np.arange(4))
    moves = Moves({"bagged": moved})
    assert not moves.reach.log
    steps, bins = _series(moved, "0", moves)
    assert list(dict.fromkeys(zip(steps["moves"], steps["share"], strict=True))) == [
        (0.0, 1.0), (0.1, 1.0), (0.1, 0.5), (0.2, 0.5), (0.2, 0.25), (0.4, 0.25), (0.4, 0.0),
    ]  # fmt: skip
    assert sum(bins["share"]) == pytest.approx(1, abs=1e-4)
    assert bins["left"][0] == 0.0
    assert bins["right"][-1] == pytest.approx(0.4)
    together, _ = _series(moved, "all", moves)
    assert together["share"][0] == 0.75  # two of eight are zero


def test_the_scale_is_logarithmic_for_curves_and_bars_alike(named):
    far = np.array([900.0, 0.5]), np.array([0.0, 0.3])
    moves = Moves(named, far)
    assert moves.reach.log
    assert moves.reach_of_bars.log
    assert moves.reach.high == 900.0  # all that is proved
    assert moves.reach_of_bars.high < 10
    for part in _series(named["bagged"], "all", moves):
        assert min(part.get("moves", part.get("left"))) > 0
    assert '"LogAxis"' in interactive(moves).script


def test_many_rows_make_no_more_steps_than_can_be_seen():
    values = np.random.default_rng(0).random((100_000, 1))
    moved = Perturbations(np.zeros(1), values, np.arange(100_000))
    steps, bins = _series(moved, "all", Moves({"bagged": moved}))
    assert len(steps["moves"]) == len(steps["share"]) < 500
    assert len(json.dumps([steps, bins])) < 20_000


def test_charts_speak_of_what_is_left_out_and_call_points_as_in_their_frame(named):
    scope = Scope(30, Quantity.NUMBER, Rerun.ALONE, noun=Noun("patient", "patients"))
    evil = "</script><b>"
    of = {"scope": scope, "names": Names(points=np.array(["may", evil], dtype=object))}
    patients = Moves({name: replace(moved, **of) for name, moved in named.items()}, GUARANTEE)
    for name, picture in patients.pictures().items():
        assert {"histogram": "each patient", "curves": "share of patients"}[name] in picture["alt"]
        assert "row" not in picture["alt"]
    chart = interactive(patients)
    assert "share of patients" in chart.script
    assert chart.points[1][1] == "test row may"
    assert evil not in chart.script + chart.data
