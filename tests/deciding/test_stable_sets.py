"""What a certificate promises of label sets."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_wine

from stablebag import BaggedClassifier, Certificate, Subbagging, VectorCertificate, certify, certify_reused
from stablebag.deciding.stable_sets import SharedLabels


@pytest.fixture(scope="module")
def fitted():
    X, y = load_wine(return_X_y=True)
    return BaggedClassifier(n_bags=100, random_state=0).fit(X[::2], y[::2]), X[1::2]


def shared(fitted, epsilon=None, delta=0.1, certificate=None):
    return SharedLabels.of(*fitted, epsilon, delta, certificate, "predict_set")


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
    reused, everywhere = shared(fitted).words, shared(fitted, certificate=certify_reused(model, vector=True)).words
    assert "these 100 bags as they were drawn and each of these 89 points" in reused
    assert "at most 8 of the 89 rows" in reused
    assert "the average over the bags that do not contain it" in reused
    assert "every point" in everywhere
    anew = shared(fitted, certificate=certify(model, vector=True)).words
    assert "every learner, every data set of 89 rows and every point" in anew
    assert "a model fitted anew without it" in anew
    assert "at most 0.1 on average" in anew
    independent = shared(fitted, certificate=certify(model, vector=True, coupling="independent")).words
    assert "same seed" in anew
    assert "same seed" not in independent


def test_a_confidence_is_paid_for_out_of_delta(fitted):
    certificate = certify(*fitted, vector=True, confidence=0.99)
    promise = shared(fitted, certificate=certificate)
    assert promise.epsilon == pytest.approx(certificate.epsilon(0.09), rel=1e-8)
    assert "Of this share, 0.01 is for the chance that the bags understate" in promise.words
    assert shared(fitted, 0.5, certificate=certificate).delta == pytest.approx(certificate.delta(0.5).max() + 0.01)
    with pytest.raises(ValueError, match=r"above 0.05 .* Certify with a higher one"):
        shared(fitted, delta=0.05, certificate=certify(*fitted, vector=True))


def test_all_bags_are_for_certain_and_about_refits_and_reuse_alike():
    X, y = np.arange(6.0)[:, None], np.array(list("aabbcc"))
    model = BaggedClassifier(scheme=Subbagging(3), n_bags="all", random_state=0).fit(X, y)
    ways = [None, certify(model, vector=True), certify(model, X, vector=True), certify_reused(model, vector=True)]
    for certificate in ways:
        assert "Proved for the average over all bags" in shared((model, X), delta=0.4, certificate=certificate).words


def test_one_bag_and_one_point_have_their_words():
    X, y = np.arange(6.0)[:, None], np.array(list("aabbcc"))
    model = BaggedClassifier(n_bags=30, random_state=0).fit(X, y)
    assert "and this point: at most 0 of the 6 rows" in shared((model, X[:1])).words


def test_without_any_row_promised_epsilon_is_zero_and_with_all_it_is_the_worst_case(fitted):
    assert shared(fitted, delta=1).epsilon == pytest.approx(0, abs=1e-11)
    assert shared(fitted, 0.0).delta == 1
    assert shared(fitted, math.sqrt(2) + 1e-6).delta == 0


def test_a_certificate_of_something_else_is_refused(fitted):
    model, X = fitted
    other = BaggedClassifier(n_bags=100, random_state=1).fit(model.X_, model.y_)
    for certificate, said in (
        (certify(model), "certificate of vectors"),
        (Certificate(Subbagging(0.5), 89), "certificate of vectors"),
        (certify_reused(model), "vector of class probabilities"),
        (certify_reused(other, vector=True), "other bags"),
        (certify_reused(model, X[:5], vector=True), "points"),
        (certify_reused(model, X[::-1], vector=True), "other points"),
        (certify(model, X[:5], vector=True), "points"),
        (certify(BaggedClassifier(n_bags=100).fit(X[:50], model.y_[:50]), vector=True), "50 rows"),
        ("reused", "certificate of vectors"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            shared(fitted, certificate=certificate)


def test_a_certificate_of_shorter_vectors_is_refused(fitted):
    model, _ = fitted
    small = VectorCertificate(Subbagging(0.5), len(model.y_), 100, radius=0.1, coupling="matched")
    with pytest.raises(ValueError, match=r"vectors within 0\.1 of a point, unlike probabilities of 3 classes"):
        shared(fitted, certificate=small)
