import math
from functools import partial

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from stablebag import BaggedRegressor, Certificate, Subbagging, certify
from stablebag._wording import rounded_up
from stablebag.models.fitted import Fitted
from stablebag.proving import PointCertificate
from stablebag.proving.bounds import standard_deviation_bound
from stablebag.proving.outputs import ClassOutputs

X, Y = load_diabetes(return_X_y=True)
X, Y, POINTS = X[:80], Y[:80], X[80:90]


def joined(text):
    return " ".join(str(text).split())


def test_points_are_certified_with_a_confidence(regressor):
    certificate = certify(regressor, POINTS, confidence=0.9)
    assert isinstance(certificate, PointCertificate)
    assert certificate.proved
    everywhere = certify(regressor)
    assert everywhere == Certificate(Subbagging(40), 80, 3000, range_length=400.0, coupling="matched")
    assert certificate.epsilon(0.1).shape == (10,)
    assert (certificate.epsilon(0.1) < everywhere.epsilon(0.1)).all()
    assert (certificate.standard_deviation > certificate.estimate).all()
    text = joined(certificate.explain(0.1))
    assert "At each of these 10 points, at most 10% of the 80 rows (delta = 0.1) are expected" in text
    assert "for this learner and data set with 90% confidence over the draw of the model's bags" in text
    largest, middle = (rounded_up(float(of(certificate.epsilon(0.1)))) for of in (np.max, np.median))
    assert f"by more than {largest} when left out, and at half of the points by more than {middle}." in text
    assert (certify(regressor, POINTS, confidence=0.99).epsilon(0.1) > certificate.epsilon(0.1)).all()
    any_way, apart, matched = (
        certify(regressor, POINTS, coupling=name).epsilon(0.1) for name in ("any", "independent", "matched")
    )
    assert (matched < apart).all()
    assert (apart < any_way).all()
    assert (matched == certify(regressor, POINTS).epsilon(0.1)).all()  # it is the default
    nearly = certify(regressor, POINTS, confidence=1 - 1e-16)
    assert (nearly.standard_deviation == 200.0).all()  # half of the range, which no deviation exceeds
    assert nearly.epsilon(0.1) == pytest.approx(everywhere.epsilon(0.1))


def test_bonferroni_pays_for_all_points_at_once(regressor):
    many = np.vstack([POINTS] * 5)
    first = certify(regressor, many).standard_deviation[:10]
    assert (first > certify(regressor, POINTS).standard_deviation).all()
    one = certify(regressor, POINTS[:1])
    expected = 400 * standard_deviation_bound(float(one.estimate[0] / 400), 3000, 0.95)
    assert one.standard_deviation[0] == pytest.approx(expected)
    assert "At this point, at most 5%" in joined(one)


def test_a_classifier_is_certified_per_class_or_in_norm(classifier):
    model, points = classifier
    assert certify(model) == Certificate(Subbagging(40), 80, 400, outputs=ClassOutputs(), coupling="matched")
    vector = Certificate.for_classes(Subbagging(40), 80, 3, 400, coupling="matched")
    assert certify(model, vector=True) == vector
    each, norm = certify(model, points), certify(model, points, vector=True)
    assert each.epsilon(0.1).shape == (10, 3)
    assert norm.epsilon(0.1).shape == (10,)
    # One-hot votes: the total variance is the Gini index of the shares.
    shares = model.predict_proba(points)
    np.testing.assert_allclose(norm.estimate**2, (1 - (shares**2).sum(axis=1)) * 400 / 399)
    assert (norm.standard_deviation <= math.sqrt(2 / 3)).all()
    assert "the guarantee for delta = 0.05 is the one for every data set and point" in joined(norm)
    agreed = points[[np.argmax(shares.max(axis=1))]]
    unanimous = certify(model, agreed, confidence=0.5, vector=True)
    assert "change the vector of outputs by a distance of more than" in joined(unanimous.explain(0.5))


def test_one_bag_has_no_variance():
    with pytest.raises(ValueError, match="Fit more bags"):
        certify(BaggedRegressor(n_bags=1, random_state=0).fit(X, Y), POINTS)


@pytest.mark.parametrize("function", [certify, partial(certify, reused=True)])
def test_what_is_no_fitted_model_is_refused(function):
    with pytest.raises(TypeError, match="a fitted BaggedRegressor or BaggedClassifier"):
        function(LinearRegression().fit(X, Y))
    with pytest.raises(Exception, match="not fitted"):
        function(BaggedRegressor())
    with pytest.raises(ValueError, match=r"'vector' .* False for a regressor"):
        function(BaggedRegressor(n_bags=20, random_state=0).fit(X, Y), vector=True)


def test_a_confidence_outside_its_domain_is_refused(regressor):
    for confidence in (0.0, 1.0, 1.5):
        with pytest.raises(ValueError, match="'confidence'"):
            certify(regressor, POINTS, confidence=confidence)


# ------------------------------------------------------------------------------------------------------ several outputs


def test_several_outputs_are_certified_each_alone_or_as_a_vector():
    targets = np.column_stack([Y, 1000 * Y])
    model = BaggedRegressor(LinearRegression(), n_bags=300, random_state=0).fit(X, targets)
    assert certify(model.output(0)) == certify(BaggedRegressor(n_bags=300, random_state=0).fit(X, Y))
    assert certify(model.output(1)).range_length == 1000 * certify(model.output(0)).range_length
    expected = Certificate.for_targets(Subbagging(40), targets, n_bags=300, coupling="matched", vector=True)
    assert certify(model, vector=True) == expected
    for function in (certify, partial(certify, reused=True)):
        with pytest.raises(ValueError, match=r"this one has 2. Pass model.output\(0\), or vector=True"):
            function(model)
        with pytest.raises(ValueError, match="False for a regressor"):
            function(model.output(0), vector=True)


@pytest.mark.slow
def test_at_points_each_output_is_bounded_on_its_own_range():
    targets = np.column_stack([Y, 1000 * Y])
    model = BaggedRegressor(LinearRegression(), n_bags=3000, random_state=0).fit(X, targets)
    certificate = certify(model, POINTS, vector=True)
    each = 1 - 0.05 / 20  # ten points and two outputs
    lengths = np.diff(np.array(model.range_), axis=1).ravel()
    spread = Fitted(model).average.estimated_deviation(model.bag_predictions(POINTS))
    above = standard_deviation_bound(spread / lengths, 3000, each) * lengths
    np.testing.assert_allclose(certificate.standard_deviation, np.linalg.norm(above, axis=1))
    assert (certificate.epsilon(0.2) <= certify(model, vector=True).epsilon(0.2)).all()
    assert "change the vector of outputs by a distance of more than" in joined(certificate.explain(0.2))


def test_an_output_that_is_constant_adds_nothing():
    targets = np.column_stack([Y, np.full(80, 7.0)])
    model = BaggedRegressor(LinearRegression(), n_bags=50, random_state=0).fit(X, targets)
    assert certify(model.output(1)).epsilon(0.1) == 0.0
    assert certify(model, vector=True).range_length == certify(model.output(0)).range_length
    alone = certify(model.output(0), POINTS).standard_deviation
    assert np.isfinite(certify(model, POINTS, vector=True).epsilon(0.1)).all()
    assert (certify(model, POINTS, vector=True).standard_deviation >= 0.99 * alone).all()


def test_without_a_range_a_vector_is_certified_for_the_drawn_bags_at_points_alone():
    targets = np.column_stack([Y, -Y])
    model = BaggedRegressor(LinearRegression(), n_bags=50, prediction_range=None, random_state=0).fit(X, targets)
    with pytest.raises(ValueError, match="no guarantee for the vector of outputs"):
        certify(model, vector=True)
    with pytest.raises(ValueError, match="Pass points"):
        certify(model, vector=True, reused=True)
    alone = certify(model.output(0), POINTS, reused=True)
    np.testing.assert_allclose(certify(model, POINTS, vector=True, reused=True).rms(), np.sqrt(2) * alone.rms())
