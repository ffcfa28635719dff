import json
import math

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    FunctionRegressor,
    Subbagging,
    certify,
    leave_one_out,
)
from stablebag._wording import rounded_up
from stablebag.proving import PointCertificate

X, Y = load_diabetes(return_X_y=True)
X, Y, POINTS = X[:80], Y[:80], X[80:90]


def joined(text):
    return " ".join(str(text).split())


def test_six_rows_worked_by_hand():
    # Three of six rows in a bag: c = 1 / 5. The root mean square is sqrt(c) s, and the second of six rows moves it by
    # no more than sqrt(6 / 2) times that.
    s = np.array([0.1, 0.5])
    proved = PointCertificate(Certificate(Subbagging(3), 6), s, s, 1.0, proved=True)
    np.testing.assert_allclose(proved.rms_of_free_rows, math.sqrt(0.2) * s)
    np.testing.assert_allclose(proved.epsilon(1 / 6), [math.sqrt(3 * 0.2) * 0.1, 0.3])  # 0.3 is the exact frontier
    np.testing.assert_allclose(proved.delta(0.05), [4 / 6, 1.0])  # 0.2 * 0.01 / 0.0025 of six rows are 4.8
    np.testing.assert_allclose(proved.mean(), [math.sqrt(0.2) * 0.1, 0.2])  # 0.2 is the largest mean of all
    assert (proved.worst_case(), proved.n_samples, proved.range_length) == (0.5, 6, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        proved.standard_deviation[0] = 0.0


def test_rows_that_change_the_range_count_with_their_whole_reach():
    of = Certificate(Subbagging(3), 6, range_length=1.0, delta_range=1 / 6, reach=4.0)
    s = np.array([0.01])
    proved = PointCertificate(of, s, s, 1.0, proved=True)
    free = math.sqrt(0.2) * 0.01
    np.testing.assert_allclose(proved.mean(), [free + 4 / 6])
    np.testing.assert_allclose(proved.rms(), [math.sqrt(free**2 + 16 / 6)])
    np.testing.assert_allclose(proved.epsilon(2 / 6), [math.sqrt(6 / 2) * free])  # one of the two changes the range
    assert proved.epsilon(0.0).tolist() == [4.0]


def test_a_certificate_at_points_is_about_these_points():
    s = np.array([0.1, 0.5])
    proved = PointCertificate(Certificate(Subbagging(3), 6), s, s / 2, 0.9, proved=False, points="abc")
    assert (proved.scope.n_points, proved.scope.points, proved.scope.proved) == (2, "abc", False)
    values = json.loads(json.dumps(proved.to_dict()))
    assert (values["estimate"], values["confidence"], values["about"]) == ([0.05, 0.25], 0.9, "these points")


def test_shares_and_distances_at_points_read_each_other_back(regressor):
    certificate = certify(regressor, POINTS)
    epsilon = certificate.epsilon(0.2)
    for k, value in enumerate(epsilon):
        assert certificate.delta(value)[k] <= 0.2 + 1e-12
    assert (certificate.delta(0.0) == 1).all()
    assert (certificate.delta(400.0) == 0).all()
    assert (certificate.epsilon(1.0) == 0).all()
    assert (certificate.epsilon(0.0) == 400.0).all()


def test_a_range_taken_from_the_targets_costs_its_share_of_rows():
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=2), n_bags=400, random_state=0).fit(X, Y)
    certificate = certify(model, POINTS)
    changing = model.prediction_range_.delta(Y)
    assert changing > 0
    assert certificate.epsilon(changing / 2) == pytest.approx(model.range_[1] - model.range_[0])
    assert (certificate.delta(200.0) >= changing).all()


def test_unbounded_outputs_get_an_estimate_that_says_so():
    model = BaggedRegressor(LinearRegression(), n_bags=50, prediction_range=None, random_state=0).fit(X, Y)
    certificate = certify(model, POINTS)
    assert not certificate.proved
    np.testing.assert_allclose(certificate.estimate, model.bag_predictions(POINTS).std(axis=0, ddof=1))
    np.testing.assert_array_equal(certificate.standard_deviation, certificate.estimate)
    assert joined(certificate).startswith("An estimate, not a certificate")
    assert np.isinf(certificate.epsilon(0.0)).all()
    assert (certificate.delta(1e-9) == 1).all()


def test_all_bags_listed_need_no_confidence():
    model = BaggedRegressor(
        DecisionTreeRegressor(random_state=0), scheme=Subbagging(2), n_bags="all", prediction_range=FixedRange(0, 400)
    ).fit(X[:7], Y[:7])
    certificate = certify(model, POINTS)
    assert certificate.confidence == 1.0
    assert joined(certificate).startswith("For this data set and these 10 points:")
    moved = leave_one_out(model, POINTS)
    np.testing.assert_allclose(certificate.estimate, moved.bags.deviation)
    for rows in range(7):
        assert (moved.epsilon(rows / 7) <= certificate.epsilon(rows / 7) + 1e-9).all()


def parity(X, y, seed):
    return lambda points: np.full(len(points), float(len(X) % 2))


def test_at_points_no_more_is_claimed_than_anywhere():
    table = np.arange(100.0)[:, None]
    for scheme in (ClassicalBagging(20), BernoulliSubbagging(0.5), Subbagging(20)):
        model = BaggedRegressor(FunctionRegressor(parity), scheme=scheme, n_bags=50, prediction_range=FixedRange(0, 1))
        model.set_params(random_state=0).fit(table, np.linspace(0, 1, 100))
        here, anywhere = certify(model, table[:3]), certify(model)
        assert (here.mean() <= anywhere.mean()).all()
        assert (here.rms() <= anywhere.rms()).all()


def test_half_of_the_points_are_counted_by_point_and_not_by_class():
    deviation = np.array([[0.4, 0.1, 0.1], [0.3, 0.1, 0.1], [0.2, 0.1, 0.1]])
    certificate = PointCertificate(Certificate(Subbagging(0.5), 100), deviation, deviation, 1.0, proved=True)
    _, (middle, _, _), _ = certificate.epsilon(0.1)
    assert f"by more than {rounded_up(float(middle))} at half of the points" in joined(certificate.explain(0.1))
