"""What a certificate promises of label sets."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_wine

from stablebag import BaggedClassifier, BernoulliSubbagging, Certificate, Subbagging, certify
from stablebag.deciding.label_sets import LabelStability
from stablebag.models.fitted import Fitted
from stablebag.proving import VectorCertificate, certify_reused


@pytest.fixture(scope="module")
def fitted():
    X, y = load_wine(return_X_y=True)
    return BaggedClassifier(n_bags=100, random_state=0).fit(X[::2], y[::2]), X[1::2]


def shared(fitted, epsilon=None, delta=0.1, certificate=None):
    return LabelStability.of(*fitted, epsilon, delta, certificate, "predict_set")


def test_epsilon_is_just_above_what_is_proved_at_each_point(fitted):
    proved = certify_reused(*fitted, vector=True).epsilon(0.1)
    epsilon = shared(fitted).epsilon
    assert (epsilon > proved).all()
    assert epsilon == pytest.approx(proved, rel=1e-8, abs=1e-11)


def test_delta_of_a_given_epsilon_is_that_of_the_distances_from_epsilon_on(fitted):
    certificate = certify_reused(fitted[0], vector=True)
    for rows in (1, 5, 20):
        edge = certificate.epsilon(rows / 89)
        assert shared(fitted, edge * (1 + 1e-6), certificate=certificate).delta <= rows / 89
        assert shared(fitted, edge, certificate=certificate).delta >= certificate.delta(edge * (1 - 1e-9))


def test_the_two_ways_agree(fitted):
    for certificate in (None, certify(fitted[0], vector=True), certify(*fitted, vector=True, confidence=0.99)):
        forth = shared(fitted, delta=0.2, certificate=certificate)
        back = shared(fitted, float(forth.epsilon.max()), certificate=certificate)
        assert back.delta <= 0.2 + 1e-9


def test_what_is_compared_is_said(fitted):
    model = fitted[0]
    reused, everywhere = (
        shared(fitted).guarantee,
        shared(fitted, certificate=certify_reused(model, vector=True)).guarantee,
    )
    assert "these 100 bags as they were drawn and each of these 89 points" in reused
    assert "for all but at most 8 of the 89 rows (delta = 0.1)" in reused
    assert "the set from the bags without the row, with the same epsilon, has a label in common with this one" in reused
    assert reused.count(". ") == 1  # the promise, and its proof
    assert "every point" in everywhere
    anew = shared(fitted, certificate=certify(model, vector=True)).guarantee
    assert "every learner, every data set of 89 rows and every point" in anew
    assert "a model fitted anew without a row, with the same epsilon" in anew
    assert "a chance of at most 0.1, over the draw of bags and seeds and on average over the rows" in anew
    independent = shared(fitted, certificate=certify(model, vector=True, coupling="independent")).guarantee
    assert "same seed" in anew
    assert "same seed" not in independent


def test_a_confidence_is_paid_for_out_of_delta(fitted):
    certificate = certify(*fitted, vector=True, confidence=0.99)
    promise = shared(fitted, certificate=certificate)
    assert promise.epsilon == pytest.approx(certificate.epsilon(0.09), rel=1e-8)
    assert "Of this chance, 0.01 is that the bags understate" in promise.guarantee
    assert "confidence" not in promise.guarantee
    for delta in (0.05, 0.0):
        with pytest.raises(ValueError, match=r"delta.* must be above 0.05 .* Certify with a higher one"):
            shared(fitted, delta=delta, certificate=certify(*fitted, vector=True))


def test_of_a_given_epsilon_a_certificate_that_is_not_sure_says_how_sure_it_is(fitted):
    """Epsilon is fixed and delta comes from the bags, so what is said of delta holds with the confidence only."""
    certificate = certify(*fitted, vector=True, confidence=0.99)
    promise = shared(fitted, 0.9, certificate=certificate)
    assert promise.delta == pytest.approx(certificate.delta(0.9).max())
    assert promise.guarantee.startswith(
        "Proved, with a confidence of 0.99 over the draw of the bags, for this data set"
    )
    assert "understate" not in promise.guarantee


def test_where_nothing_is_proved_it_is_said(fitted):
    for certificate in (None, certify(fitted[0], vector=True), certify(*fitted, vector=True)):
        assert shared(fitted, 0.01, certificate=certificate).guarantee == (
            "Nothing is proved at epsilon = 0.01: it is too small for 89 rows with 100 bags."
        )


def test_all_bags_are_for_certain_and_about_refits_and_reuse_alike():
    X, y = np.arange(6.0)[:, None], np.array(list("aabbcc"))
    model = BaggedClassifier(scheme=Subbagging(3), n_bags="all", random_state=0).fit(X, y)
    ways = [None, certify(model, vector=True), certify(model, X, vector=True), certify_reused(model, vector=True)]
    for certificate in ways:
        words = shared((model, X), delta=0.4, certificate=certificate).guarantee
        assert "Proved for the average over all bags" in words
        assert "the set from all bags without the row, with the same seed and epsilon" in words


def test_one_bag_and_one_point_have_their_words():
    X, y = np.arange(6.0)[:, None], np.array(list("aabbcc"))
    model = BaggedClassifier(n_bags=30, random_state=0).fit(X, y)
    assert "and this point: for each of the 6 rows (delta = 0.1)" in shared((model, X[:1])).guarantee


def test_without_any_row_promised_epsilon_is_zero_and_with_all_it_is_the_worst_case(fitted):
    assert shared(fitted, delta=1).epsilon == pytest.approx(0, abs=1e-11)
    assert shared(fitted, 0.0).delta == 1
    assert shared(fitted, math.sqrt(2) + 1e-6).delta == 0


def test_a_certificate_of_something_else_is_refused(fitted):
    model, X = fitted
    other = BaggedClassifier(n_bags=100, random_state=1).fit(Fitted(model).X, Fitted(model).y)
    for certificate, said in (
        (certify(model), "certificate of vectors"),
        (Certificate(Subbagging(0.5), 89), "certificate of vectors"),
        (certify_reused(model), "vector of class probabilities"),
        (certify_reused(other, vector=True), "other bags"),
        (certify_reused(model, X[:5], vector=True), "points"),
        (certify_reused(model, X[::-1], vector=True), "other points"),
        (certify(model, X[:5], vector=True), "points"),
        (certify(BaggedClassifier(n_bags=100).fit(X[:50], Fitted(model).y[:50]), vector=True), "50 rows"),
        ("reused", "certificate of vectors"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            shared(fitted, certificate=certificate)


def test_a_certificate_of_shorter_vectors_is_refused(fitted):
    law, about = Subbagging(0.5), {"coupling": "matched"}
    n = len(Fitted(fitted[0]).y)
    with pytest.raises(ValueError, match=r"its radius is 0\.1, and probabilities of these classes have 0\.8165"):
        shared(fitted, certificate=VectorCertificate(law, n, 100, radius=0.1, **about))
    with pytest.raises(ValueError, match=r"its diameter is 1, and probabilities of these classes have 1\.414"):
        shared(fitted, certificate=VectorCertificate(law, n, 100, radius=math.sqrt(2 / 3), diameter=1.0, **about))


def test_a_certificate_without_the_shift_of_classes_that_can_be_lost_is_refused():
    """A bag without rows says 1 / 3 for each class, and 1 / 2 if one class has lost its only row."""
    X, y = np.arange(9.0)[:, None], np.array(list("aaaabbbbc"))
    model = BaggedClassifier(scheme=BernoulliSubbagging(0.3), n_bags=50, random_state=0).fit(X, y)
    own = certify(model, vector=True)
    assert own.shift > 0
    sizes = {"radius": own.radius, "diameter": own.diameter, "coupling": "matched"}
    with pytest.raises(ValueError, match="its shift is 0, and"):
        shared((model, X), certificate=VectorCertificate(BernoulliSubbagging(0.3), 9, 50, **sizes))
    less = VectorCertificate(BernoulliSubbagging(0.3), 9, 50, shift=own.shift, shifted_share=0.01, **sizes)
    with pytest.raises(ValueError, match=r"its shifted share is 0\.01, and"):
        shared((model, X), certificate=less)
    assert shared((model, X), certificate=own).delta == 0.1
