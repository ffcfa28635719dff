"""Laws that do not treat all rows alike (docs/proofs.md, 11): Proposition 5 of Barber and Samworth (2026), exactly.

All bags are listed, as arrays of outputs and on fitted models, with learners that are out to break a promise.
"""

import itertools
import math

import numpy as np
import pytest

from grids import first, together
from resampling.own_schemes import ListedUnequal, random_bags
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    Certificate,
    ClusterSubbagging,
    FixedRange,
    FunctionClassifier,
    FunctionRegressor,
    ObservedRange,
    StratifiedSubbagging,
    Subbagging,
    certify,
    forget,
    leave_one_out,
    leave_one_out_refit,
)
from stablebag.measuring import Perturbations
from stablebag.proving import bounds
from stablebag.proving.coupling import matched
from stablebag.resampling.covariance import moments, norm_of
from theorems.enumeration import enumerate_law, learners
from theorems.test_matched_bags import parity as sum_parity
from theorems.test_matched_bags import supremum_over_zero_one
from theorems.test_models_keep_their_certificates import CLASSIFIERS, POINTS, REGRESSORS, assert_kept

ROUNDING = 1e-11
STRATA = ["a", "a", "b", "b", "b", "c", "c"]
CLUSTERS = ["a", "b", "b", "c", "c", "c", "d"]
N = 7
SCHEMES = {
    "strata": StratifiedSubbagging(0.5, STRATA),
    "unequal shares": StratifiedSubbagging({"a": 1, "b": 2, "c": 1}, STRATA),
    "clusters": ClusterSubbagging(2, CLUSTERS),
    "most clusters": ClusterSubbagging(3, CLUSTERS),
    "own": ListedUnequal(random_bags(np.random.default_rng(7), N)),
    "own, other": ListedUnequal(random_bags(np.random.default_rng(8), N)),
}


def random_laws(rng, number):
    for _ in range(number):
        sizes = rng.integers(2, 4, rng.integers(2, 4))
        strata = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        each = {stratum: int(rng.integers(1, size)) for stratum, size in enumerate(sizes.tolist())}
        yield StratifiedSubbagging(each, strata).resolve(len(strata))
        sizes = rng.integers(1, 4, rng.integers(2, 5))
        clusters = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        yield ClusterSubbagging(int(rng.integers(1, len(sizes))), clusters).resolve(len(clusters))
        yield ListedUnequal(random_bags(rng, 6)).resolve(6)


# ------------------------------------------------------------------------------------------ outputs over all bags


def test_the_mean_square_is_at_most_the_norm_times_the_variance_and_each_row_at_most_its_chance(seed):
    rng = np.random.default_rng(seed)
    for law in random_laws(rng, 25):
        ensemble = enumerate_law(law)
        for name, outputs in learners(ensemble, rng):
            moved, variance = ensemble.perturbations(outputs), ensemble.variance(outputs)
            assert np.mean(moved**2) <= law.constant * variance + ROUNDING, name
            assert np.mean(moved**2) <= law.constant / 4 + ROUNDING
            assert (moved <= law.inclusion_probabilities + ROUNDING).all()
            assert np.sum(moved**2 / law.row_constants) / law.n_samples <= variance + ROUNDING
            certificate = Certificate(law, law.n_samples)
            ordered = np.sort(moved)[::-1]
            for rows in range(law.n_samples):
                assert ordered[rows] <= certificate.epsilon(rows / law.n_samples) + ROUNDING
            for order in (0.5, 1, 2, 3, 8, math.inf):
                norm = moved.max() if math.isinf(order) else np.mean(moved**order) ** (1 / order)
                assert norm <= certificate.norm(order) + ROUNDING


def test_outputs_along_the_top_eigenvector_attain_the_norm(seed):
    rng = np.random.default_rng(seed)
    for law in random_laws(rng, 15):
        n, ensemble = law.n_samples, enumerate_law(law)
        inclusion, covariance = moments(law.support(), n)
        weight = 1 / ((1 - inclusion) * math.sqrt(n))
        top = np.linalg.eigh(covariance * weight * weight[:, None])[1][:, -1]
        outputs = ensemble.inside @ (top * weight)
        outputs = (outputs - outputs.min()) / np.ptp(outputs)
        square = np.mean(ensemble.perturbations(outputs) ** 2)
        assert square == pytest.approx(law.constant * ensemble.variance(outputs), rel=1e-6)


def test_a_row_of_the_smallest_stratum_that_is_remembered_attains_the_bound():
    # Of two rows one, of four rows two: the norm is that of the pair, (1/6) (1) (2 / 1); half of the bags have row 0.
    law = StratifiedSubbagging(0.5, list("aabbbb")).resolve(6)
    ensemble = enumerate_law(law)
    moved = ensemble.perturbations(ensemble.inside[:, 0].astype(float))
    assert np.mean(moved**2) == pytest.approx(law.constant / 4) == pytest.approx(1 / 12)
    assert moved.max() == pytest.approx(0.5)
    assert law.inclusion_probabilities[0] == Certificate(law, 6).worst_case() == 0.5


def test_a_cluster_that_is_remembered_attains_the_bound():
    law = ClusterSubbagging(2, list("aabbccdd")).resolve(8)
    ensemble = enumerate_law(law)
    moved = ensemble.perturbations(ensemble.inside[:, 0].astype(float))
    assert np.mean(moved**2) == pytest.approx(law.constant / 4) == pytest.approx(2 / 8 * 4 / 3 / 4)


def test_golden_values():
    # Worked by hand from the closed forms: 5 of 10 and 45 of 90; 30 of 90 and 9 of 10.
    half = StratifiedSubbagging(0.5, ["rare"] * 10 + ["common"] * 90).resolve(100)
    assert half.constant == pytest.approx(10 / 9 / 100)
    # Eleven rows: ten rare ones of weight 0.9, and a common one of 89 / 90.
    assert Certificate(half, 100).epsilon(0.1) == pytest.approx(math.sqrt(0.25 / (9 + 89 / 90)))
    assert Certificate(half, 100).mean() == pytest.approx(math.sqrt((0.1 * 10 / 9 + 0.9 * 90 / 89) / 100 / 4))
    uneven = StratifiedSubbagging({"rare": 9, "common": 30}, ["rare"] * 10 + ["common"] * 90).resolve(100)
    assert uneven.constant == pytest.approx(9 * 10 / 9 / 100)
    assert Certificate(uneven, 100).worst_case() == 0.9
    # v = 0.1 * 0.25 * 1.2 + 0.9 * 0.25 * (1 + 1/45)
    assert matched(half).noise == pytest.approx(0.03 + 0.225 * 46 / 45)
    proved, any_way = Certificate(half, 100, 500, coupling="matched"), Certificate(half, 100, 500)
    # Jointly (docs/proofs.md, 15): the rare stratum's own component has the most, (499/500) (1/90) for its rows and
    # 2 (10) / (100 (500) 5) for the bags, of a variance of 1/4.
    assert proved.rms() == pytest.approx(math.sqrt((499 / 500 / 90 + 2 * 10 / (100 * 500 * 5)) / 4))
    assert proved.epsilon(0.1) == pytest.approx(proved.rms() / math.sqrt(0.1))
    assert any_way.rms() == pytest.approx(math.sqrt(1 / 360 + 1 / 500))
    # By rows: ten of them, of weight 9 in all, and what the bags add is weighted likewise.
    assert matched(half).weighted == pytest.approx((0.03 * 9 / 10 + 0.225 * 46 / 45 * 89 / 90) * 100)
    by_row = bounds.unequal_rows_epsilon(0.1, half.row_constants, 500, matched(half))
    # Jointly: the common stratum's own component has the most, 499/500 for its rows and, with weight 89/90 of each row,
    # 2 (90) / (500 (45)) for the bags.
    assert by_row == pytest.approx(math.sqrt((499 / 500 + 89 / 90 * 2 * 90 / (500 * 45)) / 4 / 9))
    # Five clusters of four rows, two in a bag: (4 / 20) (2 / 3) (5 / 4).
    assert ClusterSubbagging(2, np.arange(20) % 5).resolve(20).constant == pytest.approx(1 / 6)


def test_a_rare_stratum_that_is_in_bags_often_does_not_spoil_the_promise_for_all():
    strata = ["rare"] * 8 + ["common"] * 392
    law = StratifiedSubbagging({"rare": 4, "common": 36}, strata).resolve(400)
    certificate = Certificate(law, 400)
    assert certificate.rms() == pytest.approx(math.sqrt(law.constant / 4))
    # The rare rows may each move it far, but they are only eight.
    assert certificate.epsilon(7 / 400) > 3 * certificate.epsilon(0.1)
    assert certificate.epsilon(0.1) < math.sqrt(law.constant / 4 / 0.1) / 3
    assert certificate.epsilon(0) == 0.5
    assert certificate.mean() < math.sqrt(law.constant / 4) / 2
    # 1 / 4 / 0.03^2 = 277.8: the eight rare rows weigh 7 together, and 27 of the others 9.863 each.
    assert certificate.delta(0.03) == 35 / 400


def test_one_stratum_promises_what_theorem_8_does_and_less_than_the_frontier():
    for n, m in ((6, 3), (8, 3), (12, 6)):
        one, plain = (
            Certificate(StratifiedSubbagging(m, ["x"] * n), n),
            Certificate(Subbagging(m), n),
        )
        assert one.rms() == pytest.approx(plain.rms())
        assert one.worst_case() == plain.worst_case()
        for rows in range(1, n):
            assert one.epsilon(rows / n) >= plain.epsilon(rows / n) - ROUNDING


# ----------------------------------------------------------------------------------------------------- fitted models


def literal_refits(unfitted, model, X, y):
    """Fit to the other rows, with the law of bags given that the row is out, as Definition 4 says."""
    law, without = model.scheme_, []
    classes = getattr(model, "classes_", None)
    for row in range(len(y)):
        rest = np.delete(np.arange(len(y)), row)
        smaller = type(model)(**{**unfitted.get_params(deep=False), "scheme": law.without([row])}).fit(X[rest], y[rest])
        if classes is None:
            without.append(smaller.predict(POINTS))
        else:
            all_classes = np.zeros((len(POINTS), len(classes)))
            all_classes[:, np.isin(classes, smaller.classes_)] = smaller.predict_proba(POINTS)
            without.append(all_classes)
    predicted = model.predict(POINTS) if classes is None else model.predict_proba(POINTS)
    return Perturbations(predicted, np.array(without), np.arange(len(y)))


@pytest.mark.parametrize("scheme", first(SCHEMES.values()), ids=SCHEMES)
@together(name=REGRESSORS, prediction_range=[FixedRange(0, 1), ObservedRange(), None])
def test_regressors_over_all_bags_keep_every_certificate(scheme, name, prediction_range):
    X, y = np.arange(float(N))[:, None], np.array([0.3, -0.2, 1.0, 0.4, 0.0, 0.9, 0.1])
    settings = {"scheme": scheme, "n_bags": "all", "prediction_range": prediction_range, "random_state": 0}
    unfitted = BaggedRegressor(FunctionRegressor(REGRESSORS[name]), **settings)
    model = unfitted.fit(X, y)
    literal = literal_refits(unfitted, model, X, y)
    np.testing.assert_allclose(leave_one_out(model, POINTS).left_out, literal.left_out, atol=1e-12)
    for certificate in (certify(model, POINTS), certify(model, POINTS, reused=True)):
        assert_kept(certificate, literal, N)
    if prediction_range is not None:
        assert_kept(certify(model), literal, N)
        assert_kept(certify(model, reused=True), literal, N)
        assert certify(model, reused=True).eigenvalue == pytest.approx(model.scheme_.constant)


@pytest.mark.parametrize(
    "scheme", first([StratifiedSubbagging(0.5), *list(SCHEMES.values())[2:]]), ids=["strata", *list(SCHEMES)[2:]]
)
@together(name=CLASSIFIERS, labels=["aabbbcc", "aabbbbb"])
def test_classifiers_over_all_bags_keep_theirs(scheme, name, labels):
    X, y = np.arange(float(N))[:, None], np.array(list(labels))
    unfitted = BaggedClassifier(FunctionClassifier(CLASSIFIERS[name]), scheme=scheme, n_bags="all", random_state=0)
    model = unfitted.fit(X, y)
    literal = literal_refits(unfitted, model, X, y)
    np.testing.assert_allclose(leave_one_out(model, POINTS).left_out, literal.left_out, atol=1e-12)
    for certificate in (certify(model), certify(model, POINTS), certify(model, reused=True)):
        assert_kept(certificate, literal, N)
    for certificate in (certify(model, vector=True), certify(model, POINTS, vector=True)):
        assert_kept(certificate, literal.in_norm(), N)


# ------------------------------------------------------------------------------------------------------- matched bags


def swaps(law):
    """The bags, and the matrix of (1/n) sum_i E (y - y')^2, from the law of the bag without row i given the bag."""
    n, bags = law.n_samples, [tuple(bag.tolist()) for bag, _ in law.support()]
    place, form = {bag: k for k, bag in enumerate(bags)}, np.zeros((len(bags), len(bags)))
    for (bag, probability), gone in itertools.product(law.support(), range(n)):
        if gone not in bag:
            continue
        after = newcomers(law, bag.tolist(), gone)
        for other in after:
            here, there, weight = place[tuple(bag.tolist())], place[tuple(sorted(other))], probability / n / len(after)
            form[here, here] += weight
            form[there, there] += weight
            form[here, there] -= weight
            form[there, here] -= weight
    return form


def newcomers(law, bag, gone):
    """What a bag with row `gone` can become without it; all are equally likely."""
    if isinstance(law.scheme, StratifiedSubbagging):
        codes = law.scheme.strata.codes
        free = [row for row in range(law.n_samples) if codes[row] == codes[gone] and row not in bag]
        return [[*(row for row in bag if row != gone), row] for row in free]
    codes = law.scheme.clusters.codes
    rest = [row for row in bag if codes[row] != codes[gone]]
    return [[*rest, *np.flatnonzero(codes == code)] for code in set(codes.tolist()) - set(codes[bag].tolist())]


@pytest.mark.parametrize("scheme", [
    StratifiedSubbagging({"a": 1, "b": 2}, list("aabbbb")), StratifiedSubbagging({"a": 1, "b": 2}, list("aaabbb")),
    StratifiedSubbagging({"a": 1, "b": 1, "c": 1}, list("aabbcc")),
    StratifiedSubbagging({"a": 1, "b": 4}, list("aabbbbb")), ClusterSubbagging(2, list("abbcccd")),
    ClusterSubbagging(2, list("aabbccddee")), ClusterSubbagging(1, list("aabbc")),
], ids=str)  # fmt: skip
def test_no_output_of_matched_bags_is_noisier_than_v(scheme):
    law = scheme.resolve(len(scheme.strata if isinstance(scheme, StratifiedSubbagging) else scheme.clusters))
    form = swaps(law)
    assert supremum_over_zero_one(form) <= matched(law).noise + ROUNDING <= law.mean_inclusion + 2 * ROUNDING
    # In units of the variance: the largest eigenvalue of the form, with the law of the bags as weights.
    weights = np.array([float(p) for _, p in law.support()])
    ratio = np.linalg.eigvalsh(form / np.sqrt(np.outer(weights, weights)))[-1]
    assert ratio <= matched(law).per_variance + ROUNDING


def test_v_of_strata_is_attained_by_products_of_what_attains_it_in_each():
    # One of two rows in each of three strata: whether the number of first rows is even changes with every swap.
    law = StratifiedSubbagging(0.5, list("aabbcc")).resolve(6)
    assert supremum_over_zero_one(swaps(law)) == pytest.approx(matched(law).noise) == pytest.approx(0.5)


def test_drawn_pairs_have_the_law_that_is_listed(seed):
    """Frequencies of the newcomer, against Hoeffding's inequality with a false alarm of 1e-9."""
    law, n_bags = StratifiedSubbagging({"a": 2, "b": 2}, list("aaaaabbbb")).resolve(9), 6000
    bags, gone = law.draw(n_bags, seed), 1
    rest = np.delete(np.arange(9), gone)
    after = law.without([gone]).draw(n_bags, seed, row_ids=rest)
    pairs = [(set(bag.tolist()), set(rest[again].tolist())) for bag, again in zip(bags, after, strict=True)]
    changed = [(before, after - before) for before, after in pairs if gone in before]
    slack = math.sqrt(math.log(2e9) / 2 / n_bags)
    assert abs(len(changed) / n_bags - 2 / 5) <= slack
    slack = math.sqrt(math.log(2e9) / 2 / len(changed))
    for row in (0, 2, 3, 4):  # the newcomer is one of three outside, of four in all
        assert abs(np.mean([row in new for _, new in changed]) - 1 / 4) <= slack


N_BAGS, N_SEEDS = 8, 400
TEN = {
    "strata": StratifiedSubbagging({"a": 3, "b": 1}, list("aaaaaabbbb")),
    "clusters": ClusterSubbagging(2, list("aaabbccdde")),
}


@pytest.mark.parametrize("scheme", TEN.values(), ids=TEN)
def test_the_certificate_is_not_broken_by_finitely_many_matched_bags(scheme, seed):
    """The mean square over runs stays below the certificate: six standard deviations of a mean of 400 runs."""
    X, law, rows = np.arange(10.0)[:, None], scheme.resolve(10), np.arange(10)

    def outputs(law, rows):
        return np.array([sum_parity(X[rows[bag]], None, None)(POINTS)[0] for bag in law.draw(3200, seed, row_ids=rows)])

    with_all = outputs(law, rows)
    moved = [with_all - outputs(law.without([row]), np.delete(rows, row)) for row in rows]
    squares = (np.array(moved).reshape(10, N_SEEDS, N_BAGS).mean(axis=2) ** 2).mean(axis=0)
    proved = Certificate(law, 10, N_BAGS, coupling="matched")
    weighted = np.array(moved).reshape(10, N_SEEDS, N_BAGS).mean(axis=2) ** 2 / (10 * law.row_constants[:, None])
    weighted = weighted.sum(axis=0)
    noise = matched(law).noise / law.constant if matched(law).weighted is None else matched(law).weighted
    most = (1 - 1 / N_BAGS) / 4 + noise / N_BAGS
    assert weighted.mean() <= most + 6 * weighted.std() / math.sqrt(N_SEEDS)
    assert squares.mean() <= proved.rms() ** 2 + 6 * squares.std() / math.sqrt(N_SEEDS)
    assert proved.rms() < Certificate(law, 10, N_BAGS).rms()


@pytest.mark.parametrize("scheme", TEN.values(), ids=TEN)
def test_refits_and_forgetting_are_what_matched_bags_give(scheme):
    X, y = np.arange(10.0)[:, None], np.arange(10) % 2.0
    settings = {"scheme": scheme, "n_bags": N_BAGS, "prediction_range": FixedRange(0, 1), "random_state": 3}
    unfitted = BaggedRegressor(FunctionRegressor(sum_parity), **settings)
    moved = leave_one_out_refit(unfitted, X, y, POINTS, rows=[0, 7])
    model = unfitted.fit(X, y)
    for place, row in enumerate((0, 7)):
        rest = np.delete(np.arange(10), row)
        fresh = BaggedRegressor(FunctionRegressor(sum_parity), **{**settings, "scheme": model.scheme_.without([row])})
        predicted = fresh.fit(X[rest], y[rest], row_ids=rest).predict(POINTS)
        np.testing.assert_array_equal(forget(model, [row]).predict(POINTS), predicted)
        np.testing.assert_array_equal(moved.left_out[place], predicted)
    assert moved.scope.coupling == "matched"


@pytest.mark.slow
def test_the_norm_is_that_of_the_covariance_for_users_laws(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        law = ListedUnequal(random_bags(rng, 6)).resolve(6)
        assert law.constant == pytest.approx(norm_of(*moments(law.support(), 6)))
