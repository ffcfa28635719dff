import base64
import json
from dataclasses import replace

import numpy as np
import pytest

from stablebag._wording import Noun
from stablebag.deciding import Intervals
from stablebag.measuring import Perturbations
from stablebag.measuring.perturbations import BagSpread, Names
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.showing.comparison import Comparison
from stablebag.showing.report.charts import (
    ChangeCurves,
    Changes,
    _series,
    interactive,
    interval_picture,
    label_picture,
    static,
)


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
    largest = [float(moved.values.max()) for moved in named.values()]
    said = f"up to {largest[0]:.4g}, bagged up to {largest[1]:.4g}."
    assert f"base learner {said}" in ChangeCurves(named, GUARANTEE).picture()["alt"]
    both = Changes(Comparison(*named.values(), 30)).picture()["alt"]
    assert both == f"All changes when one row is left out, largest first: base model {said}"
    intervals = Intervals(np.zeros(2), np.array([1.0, np.inf]), np.full(2, 0.5), 0.8, "jackknife+", "none")
    picture = interval_picture(intervals, np.array([0.5, -1.0]), "price")
    assert picture["alt"] == "Prediction intervals at 2 test points. 1 of 2 targets inside."


def test_intervals_that_are_all_infinite_have_no_picture():
    endless = Intervals(np.full(2, -np.inf), np.full(2, np.inf), np.zeros(2), 0.8, "jackknife+", "none")
    assert interval_picture(endless, None) is None


def test_labels_are_shown_with_the_decisions_that_hinge_on_one_row(cancer):
    hinges = np.arange(60) < 2
    picture = label_picture(cancer.sets, hinges, cancer.noun)
    assert "at 6 test points" in picture["alt"]
    assert "at 2 the decision hinges on one row." in picture["alt"]


def test_what_is_proved_stays_true_with_fewer_steps(named):
    shares = np.arange(5000) / 5000
    distances = np.sqrt(1 / (shares + 1e-3))
    thin = ChangeCurves(named, (distances, shares)).thinned()
    assert len(thin[0]) <= 200
    assert {distances.max(), distances.min()} <= set(thin[0])  # all of its range
    assert set(zip(*thin, strict=True)) <= set(zip(distances, shares, strict=True))


def test_what_is_bagged_has_its_colour_alone_and_beside_the_base_learner(named):
    both = {name: colour for name, colour, _ in ChangeCurves(named, GUARANTEE).legend()}
    alone = {name: colour for name, colour, _ in ChangeCurves({"bagged": named["bagged"]}).legend()}
    assert alone["bagged"] == both["bagged"]
    assert list(both) == ["base learner", "bagged", "proved for the bagged model"]
    assert len(set(both.values())) == 3


def test_the_interactive_chart_has_every_point_and_what_is_proved(named):
    chart = interactive(ChangeCurves(named, GUARANTEE))
    assert "Bokeh" in chart.library
    assert chart.curves.strip().startswith("<div")
    assert chart.changes == ""
    both = interactive(ChangeCurves(named, GUARANTEE), Changes(Comparison(*named.values(), 30)))
    assert both.changes.strip().startswith("<div")
    assert "share of all cases" in both.script
    assert [name for _, name in chart.points] == ["all points together", "test point 1", "test point 2"]
    assert set(json.loads(chart.data)) == {"all", "0", "1"}
    assert "proved for the bagged model" in chart.script
    assert "proved for the bagged model" not in interactive(ChangeCurves(named)).script


def test_the_same_measurements_give_the_same_chart_to_the_last_letter(named):
    assert interactive(ChangeCurves(named, GUARANTEE)) == interactive(ChangeCurves(named, GUARANTEE))


def test_a_curve_counts_the_rows_beyond_each_distance():
    moved = Perturbations(np.zeros(2), np.array([[0.1, 0.3], [0.1, 0.0], [0.2, 0.0], [0.4, 0.3]]), np.arange(4))
    moves = ChangeCurves({"bagged": moved})
    assert not moves.reach.log
    steps = _series(moved, "0", moves)
    assert list(dict.fromkeys(zip(steps["moves"], steps["share"], strict=True))) == [
        (0.0, 1.0), (0.1, 1.0), (0.1, 0.5), (0.2, 0.5), (0.2, 0.25), (0.4, 0.25), (0.4, 0.0),
    ]  # fmt: skip
    together = _series(moved, "all", moves)
    assert together["share"][0] == 0.75  # two of eight are zero


def test_the_scale_is_logarithmic_if_what_is_proved_reaches_far(named):
    far = np.array([900.0, 0.5]), np.array([0.0, 0.3])
    moves = ChangeCurves(named, far)
    assert moves.reach.log
    assert moves.reach.high == 900.0  # all that is proved
    assert min(_series(named["bagged"], "all", moves)["moves"]) > 0
    assert '"LogAxis"' in interactive(moves).script


def rare():
    """A base model that changes in 3 of 1,000 cases, by 1, and a bagged one that changes in all, by 0.01."""
    base, rows = np.zeros((100, 10)), np.arange(100)
    base[:3, 0] = 1.0
    return Comparison(*(Perturbations(np.zeros(10), each, rows) for each in (base, np.full((100, 10), 0.01))), 100)


def test_a_model_that_rarely_changes_by_much_is_drawn_above_one_that_often_changes_by_little():
    changes = Changes(rare())
    (share, base), (whole, bagged) = changes.curves["base model"], changes.curves["bagged"]
    assert base[share <= 0.003].min() == 1.0
    assert base[share > 0.003].max() == 0.0
    assert (bagged == 0.01).all()
    assert whole[-1] == pytest.approx(1)
    assert changes.smallest == pytest.approx(0.0005)  # half a case, so that the largest change is seen
    first, second = changes.bars()
    assert (first.name, first.text, first.share) == ("base model", "0.0548", 1.0)  # sqrt(0.003)
    assert (second.name, second.text) == ("bagged model", "0.01")
    assert second.share == pytest.approx(0.01 / np.sqrt(0.003))


def test_weights_count_in_the_curve_of_changes():
    base = Perturbations(np.zeros(1), np.arange(4.0)[:, None], np.arange(4))
    refits = Perturbations(np.zeros(1), np.array([[5.0], [1.0]]), np.array([0, 2]))
    changes = Changes(Comparison(base, base, 9, "", refits, None, np.array([1.0, 3.0])))
    share, value = changes.curves["bagged"]
    assert (share.tolist(), value.tolist()) == ([0.25, 1.0], [5.0, 1.0])
    assert changes.bars()[1].text == "2.65"  # sqrt((25 + 3) / 4)


def test_what_was_not_measured_one_by_one_is_not_drawn(named):
    noisy = BagSpread(np.full(2, 0.1), None, 50, np.full(30, 25))
    reused = replace(named["bagged"], bags=noisy)
    for spread, name in ((None, "bagged model, apart from bagging noise"), (np.ones((30, 2)), "estimated")):
        changes = Changes(Comparison(named["base learner"], reused, 30, spread=spread))
        assert changes.curves == {}
        assert changes.picture() is None
        assert changes.bars()[1].name.endswith(name)


def test_many_rows_make_no_more_steps_than_can_be_seen():
    values = np.random.default_rng(0).random((100_000, 1))
    moved = Perturbations(np.zeros(1), values, np.arange(100_000))
    steps = _series(moved, "all", ChangeCurves({"bagged": moved}))
    assert len(steps["moves"]) == len(steps["share"]) < 500
    assert len(json.dumps(steps)) < 20_000
    curves = Changes(Comparison(moved, moved, 100_000)).curves
    assert all(len(share) <= 200 for share, _ in curves.values())


def test_charts_speak_of_what_is_left_out_and_call_points_as_in_their_frame(named):
    scope = Scope(30, Quantity.NUMBER, Rerun.ALONE, noun=Noun("patient", "patients"))
    evil = "</script><b>"
    of = {"scope": scope, "names": Names(points=np.array(["may", evil], dtype=object))}
    patients = ChangeCurves({name: replace(moved, **of) for name, moved in named.items()}, GUARANTEE)
    picture = patients.picture()
    assert "share of patients" in picture["alt"]
    assert "row" not in picture["alt"]
    chart = interactive(patients)
    assert "share of patients" in chart.script
    assert chart.points[1][1] == "test row may"
    assert evil not in chart.script + chart.data
