"""Words in pictures, in the report and in the terminal: bounds beside what they bound, shares of what they are of."""

import math
import re

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.tree import DecisionTreeRegressor

from claims.reading import joined, number_after
from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    PerturbationDisplay,
    StabilityCurveDisplay,
    Subbagging,
    certify,
    leave_one_out,
    leave_one_out_refit,
    plan,
)
from stablebag.cli.main import main
from stablebag.deciding import LabelSets
from stablebag.measuring import Perturbations
from stablebag.paper.experiments import _factor, _spread
from stablebag.proving.outputs import UnboundedOutputs
from stablebag.showing import LabelSetDisplay, PhaseDiagramDisplay
from stablebag.showing.facts import guarantees
from stablebag.showing.study import Study


def words(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return joined(result.output)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X, points = rng.normal(size=(16, 2)), rng.normal(size=(3, 2))
    y = X[:, 0] + rng.normal(size=16)
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=2), n_bags=30, random_state=0).fit(X, y)
    return model, X, y, points


# ----------------------------------------------------------------------------------------------------------- pictures


@pytest.mark.parametrize(
    ("shape", "point", "label"),
    [
        ((1,), None, "share of rows"),
        ((3,), 0, "share of rows"),
        ((3,), None, "share of rows, over all points"),
        ((3, 2), 0, "share of rows, over all classes"),
        ((3, 2), None, "share of rows, over all points and classes"),
    ],
)
def test_histogram_names_the_whole_of_its_shares(shape, point, label):
    rng = np.random.default_rng(0)
    moved = Perturbations(rng.random(shape), rng.random((5, *shape)), np.arange(5))
    display = PerturbationDisplay.from_perturbations(moved, point=point)
    assert display.ax_.get_ylabel() == label
    counted = moved.values if point is None else moved.values[:, point]
    assert len(display.distances["measured"]) == counted.size  # one for each row alone only where the label says so
    assert (counted.size == 5) == (label == "share of rows")


def test_curve_says_whether_the_guarantee_holds_for_this_draw_or_on_average(fitted):
    model, X, y, points = fitted
    draw = StabilityCurveDisplay.from_perturbations
    reused, refitted = leave_one_out(model, points), leave_one_out_refit(model, X, y, points)
    assert draw(reused, certificate=certify(model, reused=True)).guarantee_.get_label() == "guaranteed"
    on_average = draw(refitted, certificate=certify(model)).guarantee_.get_label()
    assert on_average == "guaranteed, on average over draws of the bags"
    both = draw({"base": refitted, "bagged": reused}, certificate=certify(model, points, reused=True))
    assert both.guarantee_.get_label() == "guaranteed for bagged"


@pytest.mark.parametrize("n", [3, 5, 20])
def test_shaded_area_of_a_phase_diagram_is_proved_between_whole_rows(n):
    certificate = Certificate(Subbagging(0.5), n)
    display = PhaseDiagramDisplay.from_certificate(certificate)
    assert display.guaranteed_.get_drawstyle() == "steps-post"
    shaded = next(area for area in display.ax_.collections if area.get_label() == "guaranteed for every learner")
    corners = shaded.get_paths()[0].vertices
    for share in np.linspace(1 / n, (n // 2) / n, 50):
        lower = min(height for at, height in corners if at <= share + 1e-12)  # steps fall to the right
        assert lower >= certificate.epsilon(min(share, 1.0)) - 1e-9


def test_phase_diagram_with_empty_bags_calls_nothing_impossible():
    few = PhaseDiagramDisplay.compute(Certificate(BernoulliSubbagging(0.5), 6))
    assert few.exact is None
    assert PhaseDiagramDisplay.compute(Certificate(BernoulliSubbagging(0.5), 60)).exact is not None
    assert PhaseDiagramDisplay.compute(Certificate(Subbagging(3), 6)).exact is not None


def test_a_phase_diagram_names_the_unit_of_epsilon():
    unbounded = PhaseDiagramDisplay.from_certificate(Certificate(Subbagging(3), 6, outputs=UnboundedOutputs()))
    assert "times the range of the learner's outputs" in unbounded.ax_.get_ylabel()
    assert "times" not in PhaseDiagramDisplay.from_certificate(Certificate(Subbagging(3), 6)).ax_.get_ylabel()


def test_undrawn_decisions_lead_by_at_least_the_printed_margin(seed):
    first = np.random.default_rng(seed).uniform(0.5, 1, 40)
    prediction = np.stack([first, 1 - first], axis=1)
    sets = LabelSets(prediction > 0.5, np.array(["a", "b"]), prediction, "inflated-argmax", "none")
    display = LabelSetDisplay.from_sets(sets, most=20)
    others = np.delete(2 * first - 1, display.order_)
    assert number_after(display.ax_.get_xlabel(), "the likeliest label leads by") <= others.min()


# -------------------------------------------------------------------------------------------------- what is proved


def test_guarantee_of_refits_is_called_an_average_over_seeds(fitted):
    model, X, y, points = fitted
    refitted = leave_one_out_refit(model, X, y, points, rows=range(5))
    measured, proved = leave_one_out(model, points), certify(model, points, reused=True)
    lines = [*guarantees(measured, proved, certify(model), refitted, delta=0.001)]
    assert [line.label.split(":")[0] for line in lines] == ["bags reused"] * 3 + ["refit"] * 2
    assert not any("100%" in line.label for line in lines)  # of 99.9 % of the rows
    assert lines[0].label == "bags reused: 99.9% of rows, at most"
    note = Study.of(measured, proved, anew=certify(model), model=model).facts().section("guarantees").note
    assert "Refit: the model refitted without the row, same seed; guaranteed on average over seeds." in note


def test_report_rounds_the_largest_change_of_probabilities_only_with_about():
    from pathlib import Path

    import stablebag

    report = Path(stablebag.__file__).parent / "showing/report"
    text = "".join((report / name).read_text() for name in ("page.html.jinja", "page.py", "charts.py"))
    assert "the largest possible change, about 1.41" in text
    assert len(re.findall(r"1\.41", text)) == 1


# --------------------------------------------------------------------------------------------------- the terminal


def test_plan_lists_options_only_if_there_are_several():
    asked = ("--delta", 0.1, "--scheme", "subbagging", "--max-bags", 2000)
    many = words("plan", "--n-samples", 1000, "--epsilon", 0.1, *asked)
    assert "at most 10% of the 1,000 rows (delta = 0.1) are expected to change the prediction by more than" in many
    assert "Larger bags usually predict better, and need more bags for the same guarantee:" in many
    few = words("plan", "--n-samples", 1000, "--epsilon", 0.9, "--delta", 0.5, "--scheme", "subbagging")
    assert len(plan(1000, 0.9, 0.5).options) == 1
    assert "Larger bags" not in few


def test_certify_prints_no_share_and_no_bound_that_is_rounded_down():
    share = 1 / 3
    told = words("certify", "--n-samples", 30, "--n-bags", 400, "--delta", share)
    certificate = Certificate(Subbagging(0.5), 30, 400, coupling="matched")
    assert number_after(told, "at most") / 100 >= share
    assert number_after(told, "(delta =") >= share
    lines = re.findall(r"([\d.]+) (\d+) ([\d.]+) ([\d.]+)", told.split("by the paper")[1])
    assert len(lines) == 5
    for delta, rows, epsilon, paper in lines:
        assert float(epsilon) >= certificate.epsilon(min(share, float(delta)) if delta == "0.3334" else float(delta))
        assert float(epsilon) <= float(paper) or float(paper) >= certificate.range_length
        assert int(rows) == math.floor(30 * min(float(delta), share) + 1e-9)


def test_the_papers_claims_are_not_rounded_across_what_is_allowed():
    for excess in (0.2, 0.99951, 0.999999, 1.0):
        assert re.fullmatch(r"(over )?[\d.]+% of the allowed share", _factor(excess))
        assert ("100%" in _factor(excess)) == (excess == 1)
    for excess in (1.0000001, 1.36, 9.8):
        assert number_after(f"is {_factor(excess)}", "is") > 1
    assert _spread(np.array([0.5, 1.0001])) == "0.5 to 1.001 (violated at 1 of 2)"
