import json
import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from rendering import rendered
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
from stablebag.proving import PointCertificate, ReusedBagsCertificate, VersionsCertificate
from stablebag.proving.scope import Quantity, Rerun, Scope

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
    assert joined(certificate).startswith("As an estimate, not a guarantee, at each of these 10 points")
    assert np.isinf(certificate.epsilon(0.0)).all()
    assert (certificate.delta(1e-9) == 1).all()


def test_all_bags_listed_need_no_confidence():
    model = BaggedRegressor(
        DecisionTreeRegressor(random_state=0), scheme=Subbagging(2), n_bags="all", prediction_range=FixedRange(0, 400)
    ).fit(X[:7], Y[:7])
    certificate = certify(model, POINTS)
    assert certificate.confidence == 1.0
    assert joined(certificate).startswith("At each of these 10 points, none of the 7 rows")
    assert "This holds for this learner and data set." in joined(certificate)
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
    assert f"at half of the points by more than {rounded_up(float(middle))}" in joined(certificate.explain(0.1))


# ---------------------------------------------------------------------------------------------------------- reused bags


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


def test_reused_bags_of_a_regressor_give_bounds_in_its_units(regressor):
    certificate = certify(regressor, reused=True)
    assert certificate.rms() == pytest.approx(200 * math.sqrt(certificate.eigenvalue))
    assert certificate.epsilon(1.0) == 0.0
    assert certificate.delta(400.0) == 0.0
    assert certificate.delta(0.0) == 1.0
    text = joined(certificate.explain(0.1))
    assert "At any test point, at most 8 of the 80 rows" in text
    assert "This holds for every learner, with these 3,000 bags: the prediction without a row is" in text
    text = joined(certify(regressor, POINTS, reused=True))
    assert "At each of these 10 points, at most" in text
    assert "This holds for this learner and data set, with these 3,000 bags:" in text


def test_rows_that_change_the_range_count_with_the_worst_case():
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=2), n_bags=300, random_state=0).fit(X, Y)
    certificate = certify(model, POINTS, reused=True)
    changing = round(model.prediction_range_.delta(Y) * 80)
    assert (certificate.epsilon((changing - 1) / 80) == certificate.worst_case()).all()
    assert certificate.worst_case() == model.prediction_range_.reach(Y)
    moved = leave_one_out(model, POINTS)
    for rows in range(changing, 80):
        assert (moved.epsilon(rows / 80) <= certificate.epsilon(rows / 80) + 1e-9).all()
    assert "rows whose removal changes the range." in joined(certificate)


def test_without_a_range_a_certificate_needs_points():
    model = BaggedRegressor(LinearRegression(), n_bags=80, prediction_range=None, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="Pass points"):
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
    assert "No row changes it by more than 100." in joined(certificate)
    assert "the guarantee for delta = 0 is the one for every data set and point" in joined(
        certify(model, POINTS).explain(0.0)
    )


def test_markdown_of_every_certificate_has_the_sentences_of_explain():
    model = BaggedRegressor(n_bags=40, random_state=0).fit(X, Y)
    both = Subbagging(5).resolve(50)
    certificates = [certify(model), certify(model, POINTS), certify(model, reused=True), certify(model).leave_out(3)]
    for proved in [*certificates, VersionsCertificate(both, 3, 2, n_bags=100)]:
        texts, tags = rendered(proved.to_markdown(delta=0.2))
        assert joined(" ".join(texts)) == joined(proved.explain(delta=0.2))
        assert tags == {"p"}
        assert len(texts) == proved.to_markdown(0.2).count("\n\n") + 1  # no paragraph is wrapped
        assert proved.to_markdown() != proved.to_markdown(delta=0.2)
