import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, Certificate, FixedRange, Subbagging, certify, leave_one_out
from stablebag._wording import Noun
from stablebag.deciding import Intervals
from stablebag.measuring import Perturbations
from stablebag.measuring.perturbations import BagSpread, Names
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.showing.comparison import Comparison
from stablebag.showing.report.charts import (
    ChangeCurves,
    Changes,
    Guarantee,
    interactive,
    interval_picture,
    label_picture,
    static,
)


@pytest.fixture
def named():
    rng = np.random.default_rng(0)
    base = Perturbations(np.zeros(2), rng.normal(size=(30, 2)), np.arange(30))
    return {"base model": base, "bagged model": Perturbations(np.zeros(2), base.left_out / 10, np.arange(30))}


GUARANTEE = Guarantee((np.array([0.9, 0.5]), np.array([0.1, 0.3])))
GUARANTEED = "guaranteed for the bagged model"


def test_static_picture_takes_its_colours_from_the_page():
    drawn = []
    picture = static(lambda ax: drawn.append(ax.text(0.5, 0.5, "a word")), 'Nothing "yet".')
    assert len(drawn) == 1
    assert picture.svg.startswith("<svg ")
    assert 'aria-label="Nothing &quot;yet&quot;."' in picture.svg
    assert "a word</text>" in picture.svg  # text is not drawn as curves
    assert "currentColor" in picture.svg
    for word in ("#0102", "<!--", "<metadata", "<style", 'id="axes', "<?xml"):
        assert word not in picture.svg


def test_names_in_a_picture_are_escaped_and_need_no_glyphs():
    evil = "</svg><script>alert(1)</script> $\\frac$ \u4e2d\u6587"
    picture = static(lambda ax: ax.set(xlabel=evil, title=evil, ylabel=evil), evil)
    assert "<script>" not in picture.svg
    assert picture.svg.count("</svg>") == 1
    assert "\u4e2d\u6587" in picture.svg


def test_alternative_texts_say_what_the_pictures_show(named):
    largest = [float(moved.values.max()) for moved in named.values()]
    sizes = f"up to {largest[0]:.3g}, bagged model up to {largest[1]:.3g}."
    curves = ChangeCurves(named, GUARANTEE).picture()
    assert f"with the guarantee. Largest: base model {sizes}" in curves.alt
    both = Changes(Comparison(*named.values(), 30)).picture()
    assert both.alt == f"All changes when one row is left out, largest first: base model {sizes}"
    intervals = Intervals(np.zeros(2), np.array([1.0, np.inf]), np.full(2, 0.5), 0.8, "jackknife+", "none")
    picture = interval_picture(intervals, np.array([0.5, -1.0]), "price")
    assert picture.alt == "80% prediction intervals at 2 test points. 1 of 2 targets inside."


def test_infinite_intervals_have_no_picture():
    endless = Intervals(np.full(2, -np.inf), np.full(2, np.inf), np.zeros(2), 0.8, "jackknife+", "none")
    assert interval_picture(endless, None) is None


def test_label_picture_counts_the_decisions_that_flip(cancer):
    picture = label_picture(cancer.sets, np.arange(60) < 2, cancer.noun)
    assert "at 6 test points" in picture.alt
    assert "2 decisions flipped in a refit without one row." in picture.alt
    assert "points have a set of one label" in picture.svg
    assert "2 decisions flip without" not in picture.svg  # other rows were not left out


def test_guarantee_stays_true_with_fewer_steps():
    shares = np.arange(5000) / 5000
    epsilon = np.sqrt(1 / (shares + 1e-3))
    thin = Guarantee((epsilon, shares)).at("all")
    assert len(thin[0]) <= 200
    assert {epsilon.max(), epsilon.min()} <= set(thin[0])
    assert set(zip(*thin, strict=True)) <= set(zip(epsilon, shares, strict=True))


def test_bagged_model_has_the_same_colour_alone_and_with_the_base_model(named):
    both = {name: colour for name, colour, _ in ChangeCurves(named, GUARANTEE).legend()}
    alone = {name: colour for name, colour, _ in ChangeCurves({"bagged model": named["bagged model"]}).legend()}
    assert alone["bagged model"] == both["bagged model"]
    assert list(both) == ["base model", "bagged model", GUARANTEED]
    assert len(set(both.values())) == 3


def test_interactive_chart_has_every_point_and_the_guarantee(named):
    chart = interactive(ChangeCurves(named, GUARANTEE))
    assert "Bokeh" in chart.library
    assert chart.curves.strip().startswith("<div")
    assert chart.changes == ""
    both = interactive(ChangeCurves(named, GUARANTEE), Changes(Comparison(*named.values(), 30)))
    assert both.changes.strip().startswith("<div")
    assert "this many changes" in both.script
    assert "1 in 10" in both.script
    assert [name for _, name in chart.points] == ["average of all", "test point 1", "test point 2"]
    assert set(json.loads(chart.data)) == {"all", "0", "1"}
    assert GUARANTEED in chart.script
    assert GUARANTEED not in interactive(ChangeCurves(named)).script


def test_same_measurements_give_the_same_chart_to_the_last_letter(named):
    assert interactive(ChangeCurves(named, GUARANTEE)) == interactive(ChangeCurves(named, GUARANTEE))


def test_curve_counts_the_rows_beyond_each_change():
    moved = Perturbations(np.zeros(2), np.array([[0.1, 0.3], [0.1, 0.0], [0.2, 0.0], [0.4, 0.3]]), np.arange(4))
    curves = ChangeCurves({"bagged model": moved})
    assert not curves.reach.log
    steps = curves.series("0")["bagged model"]
    assert list(dict.fromkeys(zip(steps["moves"], steps["share"], strict=True))) == [
        (0.0, 1.0), (0.1, 1.0), (0.1, 0.5), (0.2, 0.5), (0.2, 0.25), (0.4, 0.25), (0.4, 0.0),
    ]  # fmt: skip
    together = curves.series("all")["bagged model"]
    assert together["share"][0] == 0.75  # two of eight are zero


def test_scale_is_logarithmic_if_the_guarantee_is_far_larger_than_the_changes(named):
    far = Guarantee((np.array([900.0, 0.5]), np.array([0.0, 0.3])))
    curves = ChangeCurves(named, far)
    assert curves.reach.log
    assert curves.reach.high == pytest.approx(1.2 * 900.0)
    assert min(curves.series("all")["bagged model"]["moves"]) > 0
    assert '"LogAxis"' in interactive(curves).script


def test_axis_reaches_as_far_as_the_guarantee_for_few_rows(named):
    shares = np.array([0.0, 0.04, 0.5])
    curves = ChangeCurves(named, Guarantee((np.array([900.0, 5.0, 1.0]), shares)), delta=0.05)
    assert not curves.reach.log
    assert curves.reach.high == pytest.approx(1.2 * 5.0)


@pytest.mark.parametrize("at_points", [False, True])
def test_curve_of_each_point_is_below_the_guarantee_drawn_with_it(at_points):
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, random_state=0).fit(X[:60], y[:60])
    points = X[60:66]
    proved = certify(model, points, reused=True) if at_points else certify(model, reused=True)
    guarantee = Guarantee.of(proved)
    assert (guarantee.each is not None) == at_points
    curves = ChangeCurves({"bagged model": leave_one_out(model, points)}, guarantee)
    for key in ("all", *map(str, range(6))):
        series = curves.series(key)
        measured, guaranteed = (np.array([each["moves"], each["share"]]) for each in series.values())
        for level in np.unique(guaranteed[0]):
            share = guaranteed[1][guaranteed[0] <= level].min()
            assert (measured[1][measured[0] > level] <= share + 1e-9).all()


def test_average_of_all_points_does_not_bound_a_single_point():
    """Why each point has a guarantee of its own."""
    spread = np.array([0.1, 2.0])
    scope = SimpleNamespace(rerun=Rerun.REUSED)
    of_points = SimpleNamespace(
        n_samples=10, scope=scope, epsilon=lambda share: spread / np.sqrt(share * 10 + 1),
        curve=lambda over_points: (np.array([1.0]), np.array([0.2])),
    )  # fmt: skip
    first, second = (Guarantee.of(of_points).at(key) for key in "01")
    assert second[0].max() == pytest.approx(20 * first[0].max())


def test_certificates_without_any_bound_have_no_curve():
    assert Guarantee.of(Certificate(Subbagging(0.5), 100, delta_range=1.0)) is None


def test_guarantee_of_refits_is_named_as_an_average():
    X, y = load_diabetes(return_X_y=True)
    options = {"prediction_range": FixedRange(0, 400), "n_bags": 20, "random_state": 0}
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=2), **options).fit(X[:40], y[:40])
    assert Guarantee.of(certify(model)).name.endswith("on average over draws of the bags")
    assert Guarantee.of(certify(model, reused=True)).name == GUARANTEED


def rare():
    """A base model that changes in 3 of 1,000 cases, by 1, and a bagged one that changes in all, by 0.01."""
    base, rows = np.zeros((100, 10)), np.arange(100)
    base[:3, 0] = 1.0
    return Comparison(*(Perturbations(np.zeros(10), each, rows) for each in (base, np.full((100, 10), 0.01))), 100)


def test_model_with_rare_large_changes_is_drawn_above_one_with_many_small_changes():
    changes = Changes(rare())
    (share, base), (whole, bagged) = changes.curves["base model"], changes.curves["bagged model"]
    assert base[share <= 0.003].min() == 1.0
    assert base[share > 0.003].max() == 0.0
    assert (bagged == 0.01).all()
    assert whole[-1] == pytest.approx(1)
    assert changes.smallest == pytest.approx(0.0005)  # half a case, so that the largest change is visible
    first, second = changes.bars()
    assert (first.name, first.text, first.share) == ("base model", "0.0548", 1.0)  # sqrt(0.003)
    assert (second.name, second.text) == ("bagged model", "0.01")
    assert second.share == pytest.approx(0.01 / np.sqrt(0.003))


def test_example_reads_the_curves_where_both_models_change():
    base, bagged = np.zeros((1000, 10)), np.full((1000, 10), 0.0123456)
    base[:30, 0] = 1.0
    rows = np.arange(1000)
    changes = Changes(Comparison(*(Perturbations(np.zeros(10), each, rows) for each in (base, bagged)), 1000))
    words = "For example, 1 in 1,000 changes is 1 or more for the base model, and 0.0123 or more when bagged."
    assert changes.example() == words
    assert changes.ticks == {1.0: "all", 0.1: "1 in 10", 0.01: "1 in 100", 0.001: "1 in 1,000", 0.0001: "1 in 10,000"}
    assert Changes(rare()).example() == ""  # too few changes to say more than the curve does


def test_weights_count_in_the_curve_of_changes():
    base = Perturbations(np.zeros(1), np.arange(4.0)[:, None], np.arange(4))
    refits = Perturbations(np.zeros(1), np.array([[5.0], [1.0]]), np.array([0, 2]))
    changes = Changes(Comparison(base, base, 9, "", refits, None, np.array([1.0, 3.0])))
    share, value = changes.curves["bagged model"]
    assert (share.tolist(), value.tolist()) == ([0.25, 1.0], [5.0, 1.0])
    assert changes.bars()[1].text == "2.65"  # sqrt((25 + 3) / 4)


def test_changes_that_were_not_measured_one_by_one_are_not_drawn(named):
    noisy = BagSpread(np.full(2, 0.1), None, 50, np.full(30, 25))
    reused = replace(named["bagged model"], bags=noisy)
    for spread, name in ((None, "bagged model, without bagging noise"), (np.ones((30, 2)), "(50 bags), estimated")):
        changes = Changes(Comparison(named["base model"], reused, 30, spread=spread))
        assert changes.curves == {}
        assert changes.picture() is None
        assert changes.bars()[1].name.endswith(name)


def test_many_rows_have_no_more_steps_than_are_visible():
    values = np.random.default_rng(0).random((100_000, 1))
    moved = Perturbations(np.zeros(1), values, np.arange(100_000))
    steps = ChangeCurves({"bagged model": moved}).series("all")["bagged model"]
    assert len(steps["moves"]) == len(steps["share"]) < 500
    assert len(json.dumps(steps)) < 20_000
    curves = Changes(Comparison(moved, moved, 100_000)).curves
    assert all(len(share) <= 200 for share, _ in curves.values())


def test_charts_name_groups_and_test_points(named):
    scope = Scope(30, Quantity.NUMBER, Rerun.ALONE, noun=Noun("patient", "patients"))
    evil = "</script><b>"
    of = {"scope": scope, "names": Names(points=np.array(["may", evil], dtype=object))}
    patients = ChangeCurves({name: replace(moved, **of) for name, moved in named.items()}, GUARANTEE)
    picture = patients.picture()
    assert "share of patients" in picture.alt
    assert "row" not in picture.alt
    chart = interactive(patients)
    assert "share of patients" in chart.script
    assert chart.points[1][1] == "test row may"
    assert evil not in chart.script + chart.data
