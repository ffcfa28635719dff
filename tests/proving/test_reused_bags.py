import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, FunctionRegressor, certify, leave_one_out
from stablebag.proving import ReusedBagsCertificate
from stablebag.proving.scope import Quantity, Rerun, Scope

X, Y = load_diabetes(return_X_y=True)
X, Y, POINTS = X[:80], Y[:80], X[80:90]


def joined(text):
    return " ".join(str(text).split())


def test_ten_rows_worked_by_hand():
    scope = Scope(10, Quantity.NUMBER, Rerun.REUSED, 5)
    proved = ReusedBagsCertificate(0.04, 0.5, scale=0.5, range_length=1.0, scope=scope)
    assert proved.rms() == proved.mean() == pytest.approx(0.2 * 0.5)
    assert proved.epsilon(0.0) == pytest.approx(math.sqrt(10 / 1) * 0.1)
    assert proved.epsilon(0.39) == pytest.approx(math.sqrt(10 / 4) * 0.1)  # three rows may, and the fourth may not
    assert proved.delta(0.2) == 0.2  # a quarter of ten rows is two
    assert (proved.worst_case(), proved.delta(0.5), proved.epsilon(1.0)) == (0.5, 0.0, 0.0)
    changing = replace(proved, delta_range=0.1, reach=3.0)
    assert changing.epsilon(0.0) == changing.worst_case() == 3.0
    assert changing.epsilon(0.49) == proved.epsilon(0.39)
    assert changing.delta(0.2) == pytest.approx(0.3)
    assert changing.mean() == pytest.approx(0.1 + 0.1 * 3)
    assert changing.rms() == pytest.approx(math.sqrt(0.01 + 0.1 * 9))


@pytest.mark.parametrize("vector", [False, True])
def test_no_perturbation_by_reused_bags_exceeds_it(classifier, vector):
    model, points = classifier
    moved = leave_one_out(model, points)
    moved = moved.in_norm() if vector else moved
    everywhere, here = certify(model, vector=vector, reused=True), certify(model, points, vector=vector, reused=True)
    assert (moved.norm(2) <= here.rms() + 1e-12).all()
    assert (here.rms() <= everywhere.rms() + 1e-12).all()
    for rows in range(80):
        measured = moved.epsilon(rows / 80)
        assert (measured <= here.epsilon(rows / 80) + 1e-12).all()
        assert (here.epsilon(rows / 80) <= everywhere.epsilon(rows / 80) + 1e-12).all()
    assert (moved.max() <= everywhere.worst_case()).all()
    assert (moved.delta(0.05) <= here.delta(0.05)).all()
    assert (here.delta(0.05) <= everywhere.delta(0.05)).all()


def test_reused_bags_of_a_regressor_speak_in_its_units(regressor):
    certificate = certify(regressor, reused=True)
    assert certificate.rms() == pytest.approx(200 * math.sqrt(certificate.eigenvalue))
    assert certificate.epsilon(1.0) == 0.0
    assert certificate.delta(400.0) == 0.0
    assert certificate.delta(0.0) == 1.0
    text = joined(certificate.explain(0.1))
    assert (
        "For these 3,000 bags as they were drawn, every learner and every test point: at most 8 of the 80 rows" in text
    )
    assert "the learner as fitted, at these 10 points" in joined(certify(regressor, POINTS, reused=True))


def test_rows_that_change_the_range_are_not_spoken_of():
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=2), n_bags=300, random_state=0).fit(X, Y)
    certificate = certify(model, POINTS, reused=True)
    changing = round(model.prediction_range_.delta(Y) * 80)
    assert (certificate.epsilon((changing - 1) / 80) == certificate.worst_case()).all()
    assert certificate.worst_case() == model.prediction_range_.reach(Y)
    moved = leave_one_out(model, POINTS)
    for rows in range(changing, 80):
        assert (moved.epsilon(rows / 80) <= certificate.epsilon(rows / 80) + 1e-9).all()
    assert "rows whose removal changes the range itself" in joined(certificate)


def test_without_a_range_only_points_can_be_spoken_of():
    model = BaggedRegressor(LinearRegression(), n_bags=80, prediction_range=None, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="Give points"):
        certify(model, reused=True)
    certificate = certify(model, POINTS, reused=True)
    moved = leave_one_out(model, POINTS)
    assert (moved.norm(2) <= certificate.rms()).all()
    assert " inf " not in joined(certificate)


def test_a_row_that_stretches_the_range_is_within_the_worst_case():
    y = np.append(np.linspace(0, 1, 19), 100.0)
    learner = FunctionRegressor(lambda X, y, seed: lambda points: np.full(len(points), 1e6))
    model = BaggedRegressor(learner, n_bags=200, random_state=0).fit(X[:20], y)
    moved, certificate = leave_one_out(model, POINTS), certify(model, reused=True)
    assert moved.max().max() > 98
    for delta in np.arange(20) / 20:
        assert (moved.epsilon(delta) <= certificate.epsilon(delta)).all()
    assert certificate.worst_case() == certificate.epsilon(0.0) == 100.0
    assert certificate.delta(100.0) == 0.0
    assert "No row at all moves it by more than 100." in joined(certificate)
    assert "nothing more is known for delta = 0" in joined(certify(model, POINTS).explain(0.0))
