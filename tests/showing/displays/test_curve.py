import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    Certificate,
    FixedRange,
    StabilityCurveDisplay,
    Subbagging,
    certify,
    leave_one_out,
    leave_one_out_refit,
)
from stablebag.measuring import Perturbations
from stablebag.proving.frontier import frontier


def test_curves_equal_those_of_the_perturbations_and_the_certificate(measured):
    certificate = Certificate(Subbagging(0.5), 100, 400)
    display = StabilityCurveDisplay.from_perturbations(measured, certificate=certificate, show_noise=True)
    epsilon, delta = measured["bagged"].curve("max")
    np.testing.assert_array_equal(display.lines_["bagged"].get_xdata(), epsilon)
    np.testing.assert_array_equal(display.lines_["bagged"].get_ydata(), delta)
    corners = np.column_stack(display.guarantee_.get_data())[::2]
    assert len(corners) > 50
    for epsilon, delta in corners:
        assert certificate.epsilon(delta) == epsilon
    assert display.ax_.get_xlim()[1] > certificate.curve()[0].max() >= certificate.epsilon(0.01)  # all is visible
    assert display.noise == {"bagged": pytest.approx(np.sqrt(1 / 400))}


@pytest.fixture(scope="module")
def fitted():
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, random_state=0).fit(X[:100], y[:100])
    labels = np.where(y[:100] > 140, "high", "low")
    voter = BaggedClassifier(DecisionTreeClassifier(max_depth=2), n_bags=60, random_state=0).fit(X[:100], labels)
    return model, voter, X[100:105], X, y


def test_certificate_is_drawn_only_with_measurements_that_it_covers(fitted):
    model, voter, points, X, y = fitted
    moved, classes = leave_one_out(model, points), leave_one_out(voter, points)
    draw = StabilityCurveDisplay.from_perturbations
    for certificate in (certify(model, reused=True), certify(model, points, reused=True)):
        for over in ("max", "mean"):
            display = draw(moved, certificate=certificate, over_points=over)
            epsilon, delta = display.lines_["measured"].get_data()
            proved = dict(zip(*display.guarantee_.get_data(), strict=True))
            for level, share in proved.items():
                assert (delta[epsilon >= level] <= share + 1e-12).all()  # the measured curve is never above
    for display in (
        draw(classes, certificate=certify(voter, reused=True)),
        draw(classes.in_norm(), certificate=certify(voter, vector=True, reused=True)),
    ):
        assert display.guarantee_.get_label() == "guaranteed"
    other = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, random_state=1).fit(X[:100], y[:100])
    fewer = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=50, random_state=0).fit(X[:100], y[:100])
    smaller = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, random_state=0).fit(X[:90], y[:90])
    wider = BaggedRegressor(n_bags=60, prediction_range=FixedRange(0, 1000), random_state=0).fit(X[:100], y[:100])
    for measured, certificate, why in (
        (moved, certify(model), "a bagged model refitted"),
        (moved, Certificate(Subbagging(0.5), 100), "all bags"),
        (moved, certify(other, reused=True), "different bags"),
        (moved, certify(fewer, reused=True), "60 bags, and the bound is for 50"),
        (moved, certify(smaller, reused=True), "100 rows, and the bound about 90"),
        (moved, certify(wider, reused=True), "a range of length 304, and the bound on one of length 1000"),
        (moved, certify(model, points[:2], reused=True), "5 points, and the bound at 2"),
        (
            classes.in_norm(),
            certify(voter, reused=True),
            "vector of class probabilities, and the bound about each class",
        ),
        (classes.in_norm(), certify(voter), "vector of class probabilities"),
        (classes, certify(voter, vector=True, reused=True), "For in_norm\\(\\), use vector=True"),
        (moved.loss(lambda a, b: np.abs(a - b), y[100:105]), certify(model, reused=True), "a loss"),
        (leave_one_out_refit(Ridge(), X[:100], y[:100], points, rows=[0]), certify(model), "not bagged"),
    ):
        with pytest.raises(ValueError, match=f"cannot show this bound with this measurement.*{why}"):
            draw(measured, certificate=certificate)
    both = draw({"tree": leave_one_out_refit(Ridge(), X[:100], y[:100], points, rows=[0]), "bagged": moved},
                certificate=certify(model, reused=True))  # fmt: skip
    assert both.guarantee_.get_label() == "guaranteed for bagged"


def test_certificate_of_refits_is_drawn_only_if_every_row_was_left_out():
    X, y = load_diabetes(return_X_y=True)
    X, y, points = X[:20], y[:20], X[100:103]
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=20, random_state=0).fit(X, y)
    draw = StabilityCurveDisplay.from_perturbations
    every = draw(leave_one_out_refit(model, X, y, points), certificate=certify(model))
    assert every.guarantee_.get_label() == "guaranteed, on average over draws of the bags"
    some = leave_one_out_refit(model, X, y, points, rows=[0, 1])
    with pytest.raises(ValueError, match=r"cannot show this bound .*: only 2 of the 20 rows were left out"):
        draw(some, certificate=certify(model))
    assert not hasattr(draw(some), "guarantee_")


def test_curve_of_a_classifier_is_that_of_the_class_that_changes_most():
    rng = np.random.default_rng(0)
    moved = Perturbations(np.zeros((2, 3)), rng.random((50, 2, 3)), np.arange(50))
    epsilon, delta = StabilityCurveDisplay.from_perturbations(moved).curves["measured"]
    assert delta[10] == moved.delta(epsilon[10], "max").max()


def test_vacuous_certificates_are_not_drawn(measured):
    nothing = Certificate(Subbagging(0.5), 100, delta_range=1.0)
    display = StabilityCurveDisplay.from_perturbations(measured, certificate=nothing)
    display.figure_.canvas.draw()
    assert not hasattr(display, "guarantee_")
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["base learner", "bagged"]


def test_guarantee_is_drawn_in_steps():
    """A straight line between two steps would be below a learner that attains the frontier."""
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
    levels = [level for level in np.linspace(0.01, 0.49, 97) if level >= epsilon[0]]
    for level in levels:
        drawn = delta[np.searchsorted(epsilon, level, side="right") - 1]
        assert float(moved.delta(level)[0]) <= drawn + 1e-12
    assert any(float(moved.delta(level)[0]) > np.interp(level, epsilon[::2], delta[::2]) for level in levels)
