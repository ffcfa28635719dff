"""Sentences of certificates and plans, held against all bags of small tables; README.md lists them."""

import itertools
import math
import re

import numpy as np
import pytest

from claims.reading import ROUNDING, joined, number_after, promised_rows
from stablebag import (
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    ClusterSubbagging,
    FixedRange,
    FunctionRegressor,
    ObservedRange,
    PoissonizedBagging,
    StratifiedSubbagging,
    Subbagging,
    TrimmedRange,
    certify,
    leave_one_out,
    plan,
)
from stablebag.proving.certificate import replace_bags
from stablebag.proving.outputs import UnboundedOutputs
from stablebag.proving.points import PointCertificate
from theorems.enumeration import enumerate_law, learners

SMALL = [
    (Subbagging(1), 2),
    (Subbagging(1), 3),
    (Subbagging(4), 5),
    (Subbagging(3), 6),
    (BernoulliSubbagging(0.5), 5),
    (ClassicalBagging(2), 3),
    (ClassicalBagging(4), 4),
    (StratifiedSubbagging({"a": 1, "b": 2}, list("aabbb")), 5),
    (ClusterSubbagging(1, list("aaabbc")), 6),
]
DELTAS = (0.0, 0.2, 1 / 3, 0.5, 0.99)


@pytest.mark.parametrize(("scheme", "n"), SMALL, ids=str)
@pytest.mark.parametrize("length", [1.0, 1e-300, 1e300])
def test_no_learner_has_more_rows_with_a_larger_change_than_the_sentences_say(scheme, n, length, seed):
    ensemble = enumerate_law(scheme.resolve(n))
    texts = [Certificate(scheme, n, range_length=length).explain(delta) for delta in DELTAS]
    for name, outputs in learners(ensemble, np.random.default_rng(seed)):
        moved = ensemble.perturbations(outputs) * length
        for text in texts:
            further = moved > number_after(text, "the prediction by more than") * (1 + ROUNDING)
            assert further.sum() <= promised_rows(text), (name, text)
            assert moved.max() <= number_after(text, "No row changes it by more than") * (1 + ROUNDING)
            assert moved.mean() <= number_after(text, "mean change over rows is at most") * (1 + ROUNDING)


@pytest.mark.parametrize("delta", [0.05, 1 / 3, 0.5, 2 / 3])
def test_with_finitely_many_bags_the_printed_share_and_mean_hold_on_average_over_draws(delta):
    """Two bags of two of four rows, drawn independently with and without a row: all pairs of draws are listed."""
    n, law = 4, Subbagging(2).resolve(4)
    ensemble = enumerate_law(law)
    text = Certificate(Subbagging(2), n, n_bags=2, coupling="independent").explain(delta)
    outputs = ensemble.inside[:, 0].astype(float)  # the memorizer of row 0
    with_all = np.array([np.mean(pair) for pair in itertools.product(outputs, repeat=2)])
    moves = []  # for each row, over all pairs of draws, which are equally likely
    for row in range(n):
        without = outputs[~ensemble.inside[:, row]]
        left_out = np.array([np.mean(pair) for pair in itertools.product(without, repeat=2)])
        moves.append(np.abs(with_all[:, None] - left_out).ravel())
    if "Nothing is guaranteed" not in text:
        epsilon = number_after(text, "the prediction by more than")
        expected = np.mean([np.mean(each > epsilon + ROUNDING) for each in moves])
        percent, share = number_after(text, "at most"), number_after(text, "(delta =")
        assert expected <= min(percent / 100, share)
        assert delta <= share <= delta + 1e-4
        assert delta <= percent / 100 * (1 + ROUNDING) <= delta + 1e-4
    mean = number_after(text, "The mean change over rows, in expectation over bags and seeds, is at most")
    assert np.mean([each.mean() for each in moves]) <= mean
    assert np.mean([each.max() for each in moves]) > mean  # without these words it would be false


VACUOUS = [
    (Certificate(Subbagging(0.5), 500, 10_000), 0.0),
    (Certificate(Subbagging(0.5), 500, 10_000, coupling="matched"), 0.0),
    (Certificate(Subbagging(0.5), 500, 5), 0.1),
    (Certificate(Subbagging(0.5), 500, 1), 0.1),
    (Certificate(Subbagging(1), 2, 1), 0.5),
    (Certificate(Subbagging(1), 3, 10, coupling="matched"), 0.0),
    (Certificate(Subbagging(0.5), 300, 100, delta_range=2 / 300), 0.001),
    (Certificate(Subbagging(0.5), 300, delta_range=2 / 300), 0.001),
    (Certificate(Subbagging(0.5), 8, 1, delta_range=0.25, reach=1.0), 0.05),
    (Certificate(Subbagging(0.5), 8, delta_range=1.0), 0.2),
    (Certificate.for_targets(Subbagging(4), [1.0, 2, 3, 4, 5, 6, 7, 8], lambda y: (0.0, float(sum(y)))), 0.2),
]


@pytest.mark.parametrize(("certificate", "delta"), VACUOUS, ids=str)
def test_what_is_suggested_where_nothing_is_guaranteed_does_help(certificate, delta):
    text, n, length = joined(certificate.explain(delta)), certificate.n_samples, certificate.range_length
    assert "Nothing is guaranteed for delta" in text
    assert "All that is known is that no prediction leaves its range" in text
    assert "Proved by" not in text
    many = replace_bags(certificate, 2**60).epsilon(delta) if math.isfinite(certificate.n_bags) else math.inf
    assert ("more bags" in text) == (many < length)
    assert ("larger delta" in text) == (certificate.quick_epsilon((n - 1) / n) < length)
    if "infinitely many bags, the bound" in text:
        ideal = replace_bags(certificate, math.inf).epsilon(delta)
        assert ideal <= number_after(text, "With infinitely many bags, the bound would be") <= ideal * 1.001


def test_what_is_guaranteed_is_said_to_be_proved():
    for delta in (0.05, 0.5, 0.999):
        text = joined(Certificate(Subbagging(0.5), 500, 10_000).explain(delta))
        assert "Nothing is guaranteed" not in text
        assert "Proved by" in text


def test_without_bounds_epsilon_has_the_range_of_the_outputs_as_its_unit():
    ensemble = enumerate_law(Subbagging(3).resolve(6))
    text = joined(Certificate(Subbagging(3), 6, outputs=UnboundedOutputs()).explain(0.2))
    epsilon = number_after(text, "the prediction by more than")
    outputs = 1000.0 * ensemble.inside[:, 0]
    moved = ensemble.perturbations(outputs)
    assert moved.max() > epsilon  # in the units of the prediction it would be false
    assert (moved > epsilon * np.ptp(outputs)).sum() <= 1
    assert f"{epsilon:g} times the range of the learner's outputs at that point" in text
    assert "No row changes it by more than 0.5 times that range" in text
    assert "times" not in joined(Certificate(Subbagging(3), 6).explain(0.2))


@pytest.mark.parametrize("rule", [ObservedRange(), TrimmedRange(2), FixedRange(-5, 5)], ids=str)
@pytest.mark.parametrize("y", [[1.0, 2, 3, 4, 5, 6], [0.0, 0, 0, 9, 9, 9], [0.0, 0, 1, 2, 3, 1e6]], ids=str)
def test_rows_that_can_change_the_range_are_those_that_do(rule, y):
    """Each row is left out in turn, and the range is taken from the others."""
    y = np.array(y)
    changing = sum(rule(np.delete(y, row)) != rule(y) for row in range(len(y)))
    text = joined(Certificate.for_targets(Subbagging(3), y, rule).explain(0.7))
    assert (f", which {changing} of the rows can change." in text) == (changing > 0)
    assert ("of the rows can change" in text) == (changing > 0)
    assert (" with this range of targets" in text) == (not isinstance(rule, FixedRange))
    model = BaggedRegressor(FunctionRegressor(memorizer), n_bags=40, prediction_range=rule, random_state=0)
    told = joined(certify(model.fit(np.arange(6.0)[:, None], y), reused=True).explain(0.7))
    assert (f"the {changing} rows whose" in told or "the 1 row whose" in told) == (changing > 0)


def memorizer(X, y, seed):
    """1 where row 0 was seen."""
    seen = float((X[:, 0] == 0).any())
    return lambda points: np.full(len(points), seen)


def parity(X, y, seed):
    """The number of rows, but for what is even of it: it differs from bag to bag, and has nothing to do with rows."""
    return lambda points: (X[:, 0].sum() * points[:, 0]) % 2


@pytest.mark.parametrize("n_bags", [12, "all"])
@pytest.mark.parametrize("function", [memorizer, parity])
@pytest.mark.parametrize("at", [None, 1, 3])
def test_what_is_printed_of_reused_bags_bounds_what_is_measured(n_bags, function, at):
    X, y = np.arange(8.0)[:, None], np.array([0.0, 0, 1, 1, 2, 3, 50, 51])
    model = BaggedRegressor(FunctionRegressor(function), scheme=Subbagging(3), n_bags=n_bags, random_state=0).fit(X, y)
    moved = leave_one_out(model, X[: at or 5]).values
    certificate = certify(model, None if at is None else X[:at], reused=True)
    for delta in (0.0, 0.3, 0.5, 0.9):
        text = joined(certificate.explain(delta))
        if "Nothing is guaranteed" in text:
            assert "Proved by" not in text
            continue
        epsilon = number_after(text, "the prediction by more than")
        assert ((moved > epsilon + ROUNDING).sum(axis=0) <= promised_rows(text)).all()
        assert moved.max() <= number_after(text, "No row changes it by more than")
        assert ("with these 12 bags" in text) == (n_bags != "all")
        assert ("with all bags" in text) == (n_bags == "all")
        assert "on average over the points" not in text or at == 3


@pytest.mark.slow
def test_four_times_as_many_reused_bags_halve_the_difference_to_infinitely_many():
    X, y = np.arange(20.0)[:, None], np.arange(20.0)
    prices, told = [], []
    for n_bags in (300, 1200):
        model = BaggedRegressor(FunctionRegressor(memorizer), n_bags=n_bags, random_state=0).fit(X, y)
        certificate = certify(model, reused=True)
        now, ideal = certificate.epsilon(0.2), certificate.epsilon(0.2) - certificate.price(0.2)[0]
        text = certificate.explain(0.2)
        assert number_after(text, "instead of") == pytest.approx(now, rel=1e-3)
        assert number_after(text, "With infinitely many bags, the bound would be about") == pytest.approx(
            ideal, rel=1e-3
        )
        prices.append(certificate.price(0.2)[0])
        told.append(number_after(text, "About"))
    assert told[0] == 1200
    assert prices[1] / prices[0] == pytest.approx(0.5, abs=0.1)


def test_a_vector_certificate_names_its_theorem_and_rounds_its_radius_up():
    for n_classes in range(2, 12):
        certificate = Certificate.for_classes(Subbagging(0.5), 300, n_classes)
        radius = number_after(certificate.explain(0.05), "vectors within")
        assert math.sqrt(1 - 1 / n_classes) <= radius <= math.sqrt(1 - 1 / n_classes) + 1e-3
        one_row = joined(certificate.explain(0.0))  # p times the diameter is less than the diameter
        assert "none of the 300 rows (delta = 0) changes the vector of outputs" in one_row
        assert "Proved by Theorem 14" in one_row
        assert "leaves its range" not in one_row
    finite = joined(Certificate.for_classes(Subbagging(0.5), 300, 2, 50).explain(0.0))
    assert "Nothing is guaranteed for delta = 0. Random bags always leave a small chance." in finite
    assert "All that is known is that no prediction leaves its range" in finite


def points(deviations, n_bags=math.inf, confidence=1.0, **about):
    certificate = Certificate(Subbagging(0.5), 100, n_bags, **about)
    deviations = np.array(deviations)
    return PointCertificate(certificate, deviations, deviations, confidence, proved=True)


def test_confidence_is_never_rounded_up():
    for confidence in (0.5, 0.95, 0.999999999, 1 - 1e-15):
        text = points([0.1, 0.2], 1000, confidence).explain(0.2)
        assert number_after(text, "data set with") <= 100 * confidence
        assert "100% confidence" not in joined(text)
    assert "with 95% confidence over" in joined(points([0.1, 0.2], 1000, 0.95).explain(0.2))
    assert "confidence" not in points([0.1, 0.2]).explain(0.2)  # all bags were listed


@pytest.mark.parametrize("deviations", [[0.3, 0.2, 0.1], [0.5, 0.5, 0.1], [0.5, 0.4, 0.1, 0.1], [0.2], [0.5, 0.5]])
def test_the_bounds_at_half_of_the_points_and_at_the_best_point_hold_there(deviations):
    certificate = points(deviations)
    epsilon, text = certificate.epsilon(0.1), joined(certificate.explain(0.1))
    anywhere = certificate.certificate.epsilon(0.1)
    says_no_more = "the guarantee for delta = 0.1 is the one for every data set and point" in text
    assert says_no_more == bool((epsilon >= anywhere).all())
    if not says_no_more:
        assert epsilon.max() <= number_after(text, "the prediction by more than")
    if "at half of the points" in text:
        assert np.mean(epsilon <= number_after(text, "at half of the points by more than")) >= 0.5
    elif "at the best point" in text:
        assert epsilon.min() <= number_after(text, "at the best point by more than")
    assert ("at half" in text or "at the best" in text) == (epsilon.min() < epsilon.max())


def test_where_nothing_is_known_of_every_point_no_infinite_number_is_printed():
    X, y = np.arange(8.0)[:, None], np.arange(8.0)
    model = BaggedRegressor(FunctionRegressor(parity), scheme=Subbagging(3), n_bags="all", prediction_range=None)
    text = certify(model.fit(X, y), X[:3]).explain(0.3)
    assert "inf" not in text
    assert "every point, the bound is" not in joined(text)
    assert "every point, the bound is" in joined(points([0.3, 0.2]).explain(0.1))


@pytest.mark.parametrize("n_samples", [1000, 10**9])
@pytest.mark.parametrize("scheme", ["subbagging", "poissonized"])
def test_all_numbers_of_bags_that_a_plan_prints_give_its_guarantee(scheme, n_samples):
    found = plan(n_samples, epsilon=0.1, delta=0.1, scheme=scheme)
    text = joined(found).split(" At any test point")[0]
    assert "e+" not in text
    assert f"with {found.n_bags:,} bags." in text
    options = re.findall(r"([\d,]+) bags of ([\d,.]+) rows", text)
    assert len(options) == len(found.options) - 1
    for option in options:
        n_bags, size = (int(float(part.replace(",", ""))) for part in option)
        other = Certificate(type(found.scheme)(size), n_samples, n_bags, coupling=found.certificate.coupling.name)
        assert other.epsilon(0.1) <= 0.1 * 1.002
        assert (size < found.certificate.scheme.bag_size) == (n_bags < found.n_bags)


def test_schemes_are_described_in_plain_numbers():
    assert str(PoissonizedBagging(0.5).resolve(10**9)) == (
        "Poissonized bagging, 500,000,000 draws expected from 1,000,000,000 rows"
    )
    assert str(PoissonizedBagging(1).resolve(9)) == "Poissonized bagging, 1 draw expected from 9 rows"
    assert str(BernoulliSubbagging(0.9999999).resolve(10**9)).endswith("with probability 1 - 1e-07")
    assert str(StratifiedSubbagging(0.5, ["a"] * 4).resolve(4)) == "stratified subbagging, 2 of 4 rows in 1 stratum"
    clusters = ClusterSubbagging(2, clusters=list("aabbccdd")).resolve(8)
    assert str(clusters) == "cluster subbagging, 2 of 4 clusters, 8 rows in all"
    assert "in a range of length 12,346. No row" in joined(
        Certificate(Subbagging(0.5), 50, range_length=12345.6).explain()
    )
