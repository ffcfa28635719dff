import math

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.datasets import load_diabetes, make_classification
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    Bags,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    FunctionRegressor,
    PointCertificate,
    Subbagging,
    VectorCertificate,
    certify,
    certify_reused,
    leave_one_out,
)
from stablebag._wording import rounded_up
from stablebag.proving.bounds import observed_mean_square, standard_deviation_bound
from stablebag.proving.outputs import ClassOutputs
from stablebag.proving.reused_bags import largest_eigenvalue
from theorems.enumeration import all_ensembles, learners

X, Y = load_diabetes(return_X_y=True)
X, Y, POINTS = X[:80], Y[:80], X[80:90]


def joined(text):
    return " ".join(str(text).split())


@pytest.fixture(scope="module")
def regressor():
    tree = DecisionTreeRegressor(max_depth=3)
    return BaggedRegressor(tree, n_bags=3000, prediction_range=FixedRange(0, 400), random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def classifier():
    features, labels = make_classification(90, n_informative=4, n_classes=3, random_state=1)
    tree = DecisionTreeClassifier()
    return BaggedClassifier(tree, n_bags=400, random_state=0).fit(features[:80], labels[:80]), features[80:]


# ----------------------------------------------------------------------------------------------------------- at points


def test_golden_standard_deviation_bounds():
    y = [0.2, 0.5, 0.1, 0.9, 0.4, 0.6, 0.3, 0.7, 0.5, 0.8]
    assert np.var(y, ddof=1) == pytest.approx(0.0666666666667)
    slack = math.sqrt(-2 * math.log(0.05) / 9)
    assert math.sqrt(np.var(y, ddof=1)) + slack == pytest.approx(1.07411449997)
    assert standard_deviation_bound(np.std(y, ddof=1), 10, 0.95) == 0.5
    assert standard_deviation_bound(0.2, 1000, 0.95) == pytest.approx(0.277443282531, abs=1e-12)
    assert standard_deviation_bound(0.2, 1000, 1.0) == 0.5


@pytest.mark.parametrize("n_bags", [5, 30, 200])
@pytest.mark.parametrize("p", [0.01, 0.1, 0.5, 0.9])
def test_the_standard_deviation_is_missed_no_more_often_than_stated(n_bags, p):
    ones = np.arange(n_bags + 1)
    variances = ones * (n_bags - ones) / (n_bags * (n_bags - 1))
    missed = [math.sqrt(p * (1 - p)) > standard_deviation_bound(math.sqrt(v), n_bags, 0.9) for v in variances]
    assert binom.pmf(ones, n_bags, p)[missed].sum() <= 0.1


def test_the_mean_square_by_the_variance_holds_when_all_bags_are_listed(seed):
    for ensemble in all_ensembles(6):
        p = ensemble.law.inclusion_probability
        ragged = 1.0 if len(set(ensemble.inside.sum(axis=1))) == 1 else 1 / (1 - p)
        outside = ensemble.weights[:, None] * ~ensemble.inside
        for name, outputs in learners(ensemble, np.random.default_rng(seed)):
            left_out = ensemble.left_out(outputs)
            variance = ensemble.variance(outputs)
            square = (outputs[:, None] - left_out) ** 2
            each = (outside * square).sum(axis=0) / outside.sum(axis=0)  # the variance over the bags without a row
            for n_bags in (1, 50, math.inf):
                limit = np.mean(ensemble.perturbations(outputs) ** 2)
                independent = limit + (variance + each.mean()) / n_bags
                worst = limit + np.mean((math.sqrt(variance) + np.sqrt(each)) ** 2) / n_bags
                for coupling, value in (("independent", independent), ("any", worst)):
                    bound = observed_mean_square(math.sqrt(variance), ensemble.constant, n_bags, ragged, coupling)
                    assert value <= bound + 1e-14, name


def test_points_are_certified_with_a_confidence(regressor):
    certificate = certify(regressor, POINTS, confidence=0.9)
    assert isinstance(certificate, PointCertificate)
    assert certificate.proved
    everywhere = certify(regressor)
    assert everywhere == Certificate(Subbagging(40), 80, 3000, range_length=400.0)
    assert certificate.epsilon(0.1).shape == (10,)
    assert (certificate.epsilon(0.1) < everywhere.epsilon(0.1)).all()
    assert (certificate.standard_deviation > certificate.estimate).all()
    text = joined(certificate.explain(0.1))
    assert "With confidence 90 % over the draw of the bags, for this data set and these 10 points:" in text
    assert f"{certificate.epsilon(0.1).max():.3g}"[:3] in text
    assert (certify(regressor, POINTS, confidence=0.99).epsilon(0.1) > certificate.epsilon(0.1)).all()
    assert (
        certify(regressor, POINTS, coupling="independent").epsilon(0.1) < certify(regressor, POINTS).epsilon(0.1)
    ).all()
    nearly = certify(regressor, POINTS, confidence=1 - 1e-16)
    assert nearly.epsilon(0.1) == pytest.approx(np.minimum(everywhere.epsilon(0.1), nearly.epsilon(0.1)))


def test_bonferroni_pays_for_all_points_at_once(regressor):
    many = np.vstack([POINTS] * 5)
    first = certify(regressor, many).standard_deviation[:10]
    assert (first > certify(regressor, POINTS).standard_deviation).all()
    one = certify(regressor, POINTS[:1])
    expected = 400 * standard_deviation_bound(float(one.estimate[0] / 400), 3000, 0.95)
    assert one.standard_deviation[0] == pytest.approx(expected)
    assert "and this point:" in joined(one)


def test_shares_and_distances_at_points_read_each_other_back(regressor):
    certificate = certify(regressor, POINTS)
    epsilon = certificate.epsilon(0.2)
    for k, value in enumerate(epsilon):
        assert certificate.delta(value)[k] <= 0.2 + 1e-12
    assert (certificate.delta(0.0) <= 1).all()
    assert (certificate.delta(400.0) == 0).all()
    assert (certificate.epsilon(1.0) == 0).all()
    assert (certificate.epsilon(0.0) == 400.0).all()


def test_a_range_taken_from_the_targets_costs_its_share_of_rows():
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=2), n_bags=2000, random_state=0).fit(X, Y)
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
    assert joined(certificate).startswith("An estimate and no certificate")
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


def test_a_classifier_is_certified_per_class_or_in_norm(classifier):
    model, points = classifier
    assert certify(model) == Certificate(Subbagging(40), 80, 400, outputs=ClassOutputs())
    assert certify(model, vector=True) == VectorCertificate.for_classes(Subbagging(40), 80, 3, 400)
    each, norm = certify(model, points), certify(model, points, vector=True)
    assert each.epsilon(0.1).shape == (10, 3)
    assert norm.epsilon(0.1).shape == (10,)
    # One-hot votes: the total variance is the Gini index of the shares.
    shares = model.predict_proba(points)
    np.testing.assert_allclose(norm.estimate**2, (1 - (shares**2).sum(axis=1)) * 400 / 399)
    assert (norm.standard_deviation <= math.sqrt(2 / 3)).all()
    assert "nothing more is known for delta = 0.05" in joined(norm)
    agreed = points[[np.argmax(shares.max(axis=1))]]
    unanimous = certify(model, agreed, confidence=0.5, vector=True)
    assert "move the vector of outputs by more than" in joined(unanimous.explain(0.5))


def test_one_bag_has_no_variance():
    with pytest.raises(ValueError, match="Fit more bags"):
        certify(BaggedRegressor(n_bags=1, random_state=0).fit(X, Y), POINTS)


@pytest.mark.parametrize("function", [certify, certify_reused])
def test_what_is_no_fitted_model_is_refused(function):
    with pytest.raises(TypeError, match="a fitted BaggedRegressor or BaggedClassifier"):
        function(LinearRegression().fit(X, Y))
    with pytest.raises(Exception, match="not fitted"):
        function(BaggedRegressor())
    with pytest.raises(ValueError, match=r"'vector' .* False for a regressor"):
        function(BaggedRegressor(n_bags=9, random_state=0).fit(X, Y), vector=True)


def test_a_confidence_outside_its_domain_is_refused(regressor):
    for confidence in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="'confidence'"):
            certify(regressor, POINTS, confidence=confidence)


# --------------------------------------------------------------------------------------------------------- reused bags

GOLDEN_BAGS = Bags([[0, 1], [0, 2], [1, 3], [2, 3], [0, 3]], n_samples=4)


def test_golden_eigenvalue():
    eigenvalue, inclusion = largest_eigenvalue(GOLDEN_BAGS)
    assert eigenvalue == pytest.approx(0.625, abs=1e-10)
    assert inclusion == 0.6
    y = np.array([0.9, 0.2, 0.7, 0.1, 0.6])
    left_out = [y[GOLDEN_BAGS.without(row)].mean() for row in range(4)]
    square = np.mean((y.mean() - left_out) ** 2)
    assert square == pytest.approx(0.0267361111)
    assert y.var() * eigenvalue == pytest.approx(0.0575)
    assert square <= y.var() * eigenvalue <= eigenvalue / 4


def dense_eigenvalue(bags, weights=None):
    inside = bags.inclusion.astype(float)
    weights = np.full(len(bags), 1 / len(bags)) if weights is None else weights
    share = weights @ inside
    covariance = (inside - share).T @ (weights[:, None] * (inside - share))
    matrix = covariance / np.outer(1 - share, 1 - share) / bags.n_samples
    return np.linalg.eigvalsh(matrix)[-1]


@pytest.mark.parametrize(("n", "n_bags"), [(30, 20), (20, 30), (600, 500), (450, 900)])
@pytest.mark.parametrize("scheme", [Subbagging(0.5), ClassicalBagging(1.0), BernoulliSubbagging(0.1)], ids=str)
def test_the_eigenvalue_is_that_of_the_dense_matrix_and_no_less(scheme, n, n_bags, seed):
    bags = scheme.resolve(n).draw(n_bags, random_state=seed)
    if (bags.n_without == 0).any():
        pytest.skip("a row is in every bag")
    dense = dense_eigenvalue(bags)
    eigenvalue, _ = largest_eigenvalue(bags)
    assert dense * (1 - 1e-12) <= eigenvalue <= dense * (1 + 1e-6)


def test_the_eigenvalue_of_all_bags_is_the_bagging_constant():
    for ensemble in all_ensembles(5):
        if np.isclose(ensemble.weights.sum(), 1, atol=1e-12) and not ensemble.inside.all(axis=0).any():
            bags = Bags(ensemble.bags, ensemble.law.n_samples)
            eigenvalue, _ = largest_eigenvalue(bags, ensemble.weights)
            assert eigenvalue == pytest.approx(ensemble.constant, rel=1e-9)


@pytest.mark.parametrize("vector", [False, True])
def test_no_perturbation_by_reused_bags_exceeds_it(classifier, vector):
    model, points = classifier
    moved = leave_one_out(model, points)
    moved = moved.in_norm() if vector else moved
    everywhere, here = certify_reused(model, vector=vector), certify_reused(model, points, vector=vector)
    assert (moved.norm(2) <= here.rms() + 1e-12).all()
    assert (here.rms() <= everywhere.rms() + 1e-12).all()
    for rows in range(80):
        measured = moved.epsilon(rows / 80)
        assert (measured <= here.epsilon(rows / 80) + 1e-12).all()
        assert (here.epsilon(rows / 80) <= everywhere.epsilon(rows / 80) + 1e-12).all()
    assert (moved.max() <= everywhere.worst_case()).all()
    assert (moved.delta(0.05) <= here.delta(0.05)).all()
    assert (here.delta(0.05) <= everywhere.delta(0.05)).all()


def test_the_memorizer_of_reused_bags_attains_the_worst_case():
    bags = Subbagging(0.5).resolve(30).draw(40, random_state=0)
    eigenvalue, inclusion = largest_eigenvalue(bags)
    row = int(np.argmin(bags.n_without))
    outputs = bags.inclusion[:, row].astype(float)
    moved = np.array([abs(outputs.mean() - outputs[bags.without(i)].mean()) for i in range(30)])
    assert moved[row] == pytest.approx(inclusion)
    assert np.mean(moved**2) <= eigenvalue * outputs.var()


def test_the_direction_of_the_eigenvector_nearly_attains_it():
    # Outputs along the leading direction over bags make the inequality an equality.
    bags = Subbagging(0.5).resolve(25).draw(60, random_state=0)
    inside = bags.inclusion.astype(float)
    share = inside.mean(axis=0)
    _, _, directions = np.linalg.svd(((inside - share) / (1 - share)).T)
    outputs = directions[0]
    moved = np.array([outputs.mean() - outputs[bags.without(i)].mean() for i in range(25)])
    assert np.mean(moved**2) == pytest.approx(largest_eigenvalue(bags)[0] * outputs.var(), rel=1e-9)


def test_reused_bags_of_a_regressor_speak_in_its_units(regressor):
    certificate = certify_reused(regressor)
    assert certificate.rms() == pytest.approx(200 * math.sqrt(certificate.eigenvalue))
    assert certificate.epsilon(1.0) == 0.0
    assert certificate.delta(400.0) == 0.0
    assert certificate.delta(0.0) == 1.0
    text = joined(certificate.explain(0.1))
    assert (
        "For these 3,000 bags as they were drawn, every learner and every test point: at most 8 of the 80 rows" in text
    )
    assert "the learner as fitted, at these 10 points" in joined(certify_reused(regressor, POINTS))


def test_rows_that_change_the_range_are_not_spoken_of():
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=2), n_bags=300, random_state=0).fit(X, Y)
    certificate = certify_reused(model, POINTS)
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
        certify_reused(model)
    certificate = certify_reused(model, POINTS)
    moved = leave_one_out(model, POINTS)
    assert (moved.norm(2) <= certificate.rms()).all()
    assert "inf" not in joined(certificate)


def test_a_row_in_every_bag_is_refused():
    with pytest.raises(ValueError, match="Row 1 is in every bag"):
        largest_eigenvalue(Bags([[0, 1], [1, 2]], n_samples=3))
    with pytest.raises(ValueError, match="no bags"):
        largest_eigenvalue(Bags([], n_samples=3))


@pytest.mark.parametrize("n_bags", [5, 500])
def test_empty_bags_have_nothing_to_move(n_bags):
    assert largest_eigenvalue(Bags([[]] * n_bags, n_samples=600)) == (0.0, 0.0)


def test_a_row_that_stretches_the_range_is_within_the_worst_case():
    y = np.append(np.linspace(0, 1, 19), 100.0)
    learner = FunctionRegressor(lambda X, y, seed: lambda points: np.full(len(points), 1e6))
    model = BaggedRegressor(learner, n_bags=200, random_state=0).fit(X[:20], y)
    moved, certificate = leave_one_out(model, POINTS), certify_reused(model)
    assert moved.max().max() > 98
    for delta in np.arange(20) / 20:
        assert (moved.epsilon(delta) <= certificate.epsilon(delta)).all()
    assert certificate.worst_case() == certificate.epsilon(0.0) == 100.0
    assert certificate.delta(100.0) == 0.0
    assert "No row at all moves it by more than 100." in joined(certificate)
    assert "nothing more is known for delta = 0" in joined(certify(model, POINTS).explain(0.0))


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
    deviation = np.array([[0.4, 0.1, 0.1], [0.4, 0.1, 0.1], [0.3, 0.1, 0.1]])
    certificate = PointCertificate(Certificate(Subbagging(0.5), 100), deviation, deviation, 1.0, proved=True)
    (most, _, _), _, _ = certificate.epsilon(0.1)
    assert f"by more than {rounded_up(float(most))} at half of the points" in joined(certificate.explain(0.1))
