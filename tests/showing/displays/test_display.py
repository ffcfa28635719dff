import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    IntervalDisplay,
    Intervals,
    PerturbationDisplay,
    Perturbations,
    PhaseDiagramDisplay,
    StabilityCurveDisplay,
    Subbagging,
    certify,
    certify_reused,
    leave_one_out,
    leave_one_out_refit,
    unstable_epsilon,
)
from stablebag.measuring.perturbations import BagSpread
from stablebag.proving.frontier import frontier

mpl.use("Agg")


@pytest.fixture(autouse=True)
def closed_figures():
    settings = dict(mpl.rcParams)
    yield
    plt.close("all")
    assert dict(mpl.rcParams) == settings  # no display alters them


@pytest.fixture
def measured():
    rng = np.random.default_rng(0)
    base = Perturbations(np.zeros(3), rng.normal(size=(100, 3)), np.arange(100))
    bags = BagSpread(np.ones(3), n_bags=400, n_without=np.full(100, 200))
    bagged = Perturbations(np.zeros(3), 0.1 * rng.normal(size=(100, 3)), np.arange(100), bags=bags)
    return {"base learner": base, "bagged": bagged}


def test_histograms_count_all_rows_and_keep_their_bars(measured):
    display = PerturbationDisplay.from_perturbations(measured, point=1, bins=10)
    assert list(display.bars_) == ["base learner", "bagged"]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["base learner", "bagged"]
    np.testing.assert_array_equal(display.distances["bagged"], measured["bagged"].values[:, 1])
    assert len(PerturbationDisplay.from_perturbations(measured["bagged"]).distances["measured"]) == 300


def test_curves_are_those_of_the_perturbations_and_of_the_certificate(measured):
    certificate = Certificate(Subbagging(0.5), 100, 400)
    display = StabilityCurveDisplay.from_perturbations(measured, certificate=certificate, show_noise=True)
    epsilon, delta = measured["bagged"].curve("max")
    np.testing.assert_array_equal(display.lines_["bagged"].get_xdata(), epsilon)
    np.testing.assert_array_equal(display.lines_["bagged"].get_ydata(), delta)
    corners = np.column_stack(display.guarantee_.get_data())[::2]
    for epsilon, delta in corners:
        assert certificate.epsilon(delta) == epsilon
    assert display.ax_.get_xlim()[1] > certificate.epsilon(0.1)
    assert display.noise == {"bagged": pytest.approx(np.sqrt(1 / 400))}


@pytest.fixture(scope="module")
def fitted():
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, random_state=0).fit(X[:100], y[:100])
    labels = np.where(y[:100] > 140, "high", "low")
    voter = BaggedClassifier(DecisionTreeClassifier(max_depth=2), n_bags=60, random_state=0).fit(X[:100], labels)
    return model, voter, X[100:105], X, y


def test_a_certificate_is_drawn_only_beside_what_it_speaks_of(fitted):
    model, voter, points, X, y = fitted
    moved, classes = leave_one_out(model, points), leave_one_out(voter, points)
    draw = StabilityCurveDisplay.from_perturbations
    for certificate in (certify_reused(model), certify_reused(model, points)):
        for over in ("max", "mean"):
            display = draw(moved, certificate=certificate, over_points=over)
            epsilon, delta = display.lines_["measured"].get_data()
            proved = dict(zip(*display.guarantee_.get_data(), strict=True))
            for level, share in proved.items():
                assert (delta[epsilon >= level] <= share + 1e-12).all()  # the measured curve is nowhere above
    draw(classes, certificate=certify_reused(voter))
    draw(classes.in_norm(), certificate=certify_reused(voter, vector=True))
    other = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, random_state=1).fit(X[:100], y[:100])
    fewer = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=50, random_state=0).fit(X[:100], y[:100])
    smaller = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, random_state=0).fit(X[:90], y[:90])
    wider = BaggedRegressor(n_bags=60, prediction_range=FixedRange(0, 1000), random_state=0).fit(X[:100], y[:100])
    for measured, certificate, why in (
        (moved, certify(model), "bags drawn anew"),
        (moved, Certificate(Subbagging(0.5), 100), "all bags"),
        (moved, certify_reused(other), "other bags"),
        (moved, certify_reused(fewer), "60 bags, and the bound of 50"),
        (moved, certify_reused(smaller), "100 rows, and the bound of 90"),
        (moved, certify_reused(wider), "a range of length 304, and the bound of 1000"),
        (moved, certify_reused(model, points[:2]), "5 points, and the bound at 2"),
        (classes.in_norm(), certify_reused(voter), "vector of class probabilities, and the bound of each class"),
        (classes.in_norm(), certify(voter), "vector of class probabilities"),
        (classes, certify_reused(voter, vector=True), "in_norm\\(\\) goes with vector=True"),
        (moved.loss(lambda a, b: np.abs(a - b), y[100:105]), certify_reused(model), "a loss"),
        (leave_one_out_refit(Ridge(), X[:100], y[:100], points, rows=[0]), certify(model), "not bagged"),
    ):
        with pytest.raises(ValueError, match=f"cannot show this bound beside this measurement.*{why}"):
            draw(measured, certificate=certificate)
    refitted = leave_one_out_refit(model, X[:100], y[:100], points, rows=[0, 1])
    assert draw(refitted, certificate=certify(model)).guarantee_.get_label() == "proved"
    both = draw({"tree": leave_one_out_refit(Ridge(), X[:100], y[:100], points, rows=[0]), "bagged": moved},
                certificate=certify_reused(model))  # fmt: skip
    assert both.guarantee_.get_label() == "proved of bagged"


def test_a_classifiers_curve_is_of_the_class_that_moves_most():
    rng = np.random.default_rng(0)
    moved = Perturbations(np.zeros((2, 3)), rng.random((50, 2, 3)), np.arange(50))
    epsilon, delta = StabilityCurveDisplay.from_perturbations(moved).curves["measured"]
    assert delta[10] == moved.delta(epsilon[10], "max").max()


def test_the_phase_diagram_has_the_papers_borders():
    display = PhaseDiagramDisplay.from_certificate(Certificate(Subbagging(0.5), 500), bound="paper")
    delta = display.delta
    np.testing.assert_allclose(display.guaranteed, 1 / np.sqrt(4 * 499 * delta))
    np.testing.assert_allclose(display.impossible, [unstable_epsilon(500, 250, share) for share in delta])
    assert (display.impossible < display.guaranteed).all()
    assert PhaseDiagramDisplay.from_certificate(Certificate(ClassicalBagging(), 500)).impossible is None


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e12])
def test_any_scale_and_no_spread_can_be_drawn(scale):
    moved = {"one": Perturbations(np.zeros(1), scale * np.ones((5, 1)), np.arange(5)),
             "none": Perturbations(np.zeros(1), np.zeros((5, 1)), np.arange(5))}  # fmt: skip
    for display in (PerturbationDisplay, StabilityCurveDisplay):
        display.from_perturbations(moved).figure_.canvas.draw()
        display.from_perturbations(moved["none"]).figure_.canvas.draw()
    PhaseDiagramDisplay.from_certificate(Certificate(Subbagging(1), 2, range_length=scale)).figure_.canvas.draw()


def test_a_given_axes_is_drawn_on(measured):
    figure, ax = plt.subplots()
    assert StabilityCurveDisplay.from_perturbations(measured, ax=ax).figure_ is figure
    assert PerturbationDisplay({"a": np.ones(3)}).plot(ax=ax).ax_ is ax


def test_certificates_that_promise_nothing_are_not_drawn(measured):
    nothing = Certificate(Subbagging(0.5), 100, delta_range=1.0)
    StabilityCurveDisplay.from_perturbations(measured, certificate=nothing).figure_.canvas.draw()
    with pytest.raises(ValueError, match="Nothing is guaranteed"):
        PhaseDiagramDisplay.from_certificate(nothing)


def test_points_and_certificates_that_are_none_are_refused(measured):
    with pytest.raises(IndexError, match="Point 99 was asked for, and there are 3 points"):
        PerturbationDisplay.from_perturbations(measured, point=99)
    with pytest.raises(TypeError, match="certify"):
        PhaseDiagramDisplay.from_certificate("subbagging")


@pytest.mark.parametrize("display", [PerturbationDisplay, StabilityCurveDisplay])
def test_what_was_not_measured_is_refused(display):
    for bad in (np.zeros(3), {"a": np.zeros(3)}, None):
        with pytest.raises(TypeError, match="'perturbations' parameter"):
            display.from_perturbations(bad)


def test_intervals_are_drawn_with_the_targets_they_cover_and_miss():
    lower, upper = np.array([0.0, 1.0, -np.inf]), np.array([2.0, 3.0, np.inf])
    intervals = Intervals(lower, upper, np.array([1.0, 2.0, 5.0]), 0.8, "jackknife+", "none")
    display = IntervalDisplay.from_intervals(intervals, [1.5, 3.5, 0.0])
    assert display.ax_.get_title() == "jackknife+ at level 0.8 (1 infinite, not shown): 2 of 3 covered"
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


def test_the_exact_frontier_is_drawn_where_it_is_known():
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


def test_what_is_proved_is_drawn_in_steps():
    """Straight lines between two proved points would lie below the frontier's own learner."""
    law = Subbagging(3).resolve(6)
    point = frontier(law, 2)
    bags, weights = zip(*law.support(), strict=True)
    inside = np.array([np.isin(np.arange(6), bag) for bag in bags])
    outputs = point.outputs(inside[:, : point.n_plus].sum(axis=1), inside[:, point.n_plus : 2].sum(axis=1))
    outside = ~inside * np.array(weights, dtype=float)[:, None]
    left_out = outputs @ outside / outside.sum(axis=0)
    moved = Perturbations(np.array([outputs @ np.array(weights, dtype=float)]), left_out[:, None], np.arange(6))
    display = StabilityCurveDisplay.from_perturbations(moved, certificate=Certificate(Subbagging(3), 6))
    epsilon, delta = display.guarantee_.get_data()
    for level in np.linspace(0.01, 0.49, 97):
        if level >= epsilon[0]:
            drawn = delta[np.searchsorted(epsilon, level, side="right") - 1]
            assert float(moved.delta(level)[0]) <= drawn + 1e-12
