"""Label sets: what they hold, say and refuse."""

import itertools
import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClusterSubbagging,
    Subbagging,
    certify,
    inflated_argmax,
    leave_one_out,
    predict_set,
    random_n_bags,
)
from stablebag.deciding import LabelSets
from stablebag.deciding.label_sets import JackknifeSets, LabelStability, ScoreSet
from stablebag.models.fitted import Fitted
from stablebag.proving import VectorOutputs

# ----------------------------------------------------------------------------------------------------------- label sets


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    names = np.array(["barolo", "grignolino", "barbera"])
    X.index = [f"bottle {i}" for i in X.index]
    return X, names[y]


@pytest.fixture(scope="module")
def model(wine):
    X, y = wine
    return BaggedClassifier(n_bags=100, random_state=0).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def sets(model, wine):
    return predict_set(model, wine[0][1::2], delta=0.1)


def test_members_are_the_inflated_argmax_of_the_averaged_probabilities(model, wine, sets):
    points = wine[0][1::2]
    assert (sets.prediction == model.predict_proba(points)).all()
    assert (sets.members == inflated_argmax(model.predict_proba(points), sets.epsilon)).all()
    assert (sets.labels == model.classes_).all()
    assert sets.delta == 0.1


def test_a_given_epsilon_is_used_at_all_points_and_delta_is_computed_from_it(model, wine):
    sets = predict_set(model, wine[0][1::2], epsilon=0.3)
    assert (sets.epsilon == 0.3).all()
    assert 0 < sets.delta < 1
    assert (sets.members == inflated_argmax(sets.prediction, 0.3)).all()
    assert sets.delta > predict_set(model, wine[0][1::2], epsilon=0.4).delta


def test_results_do_not_depend_on_blocks_or_predict_once(model, wine, sets, monkeypatch):
    points = wine[0][1::2]
    assert (predict_set(model, model.predict_once(points), delta=0.1).members == sets.members).all()
    monkeypatch.setattr("stablebag.deciding.label_sets._ONCE", 0)
    monkeypatch.setattr("stablebag.models.fitted._BLOCK_BYTES", 8 * 100 * 3 * 7)
    by_parts = predict_set(model, points, delta=0.1)
    assert (by_parts.members == sets.members).all()
    assert (by_parts.prediction == sets.prediction).all()
    assert list(by_parts.to_frame().index) == list(points.index)


def test_to_frame_has_the_labels_of_points_and_classes(wine, sets):
    frame = sets.to_frame()
    assert list(frame.columns) == ["barbera", "barolo", "grignolino"]
    assert list(frame.index) == list(wine[0].index[1::2])
    assert (frame.to_numpy() == sets.members).all()


def test_summaries_of_sets():
    members = np.array([[True, False], [True, True], [False, False], [False, True]])
    prediction = np.array([[0.9, 0.1], [0.4, 0.6], [0.5, 0.5], [0.2, 0.8]])
    sets = LabelSets(members, np.array(["a", "b"]), prediction, "inflated-argmax", "None.")
    y = ["a", "b", "a", "a"]
    assert sets.sizes.tolist() == [1, 2, 0, 1]
    assert sets.singletons == 0.5
    assert sets.contains(y).tolist() == [True, True, False, False]
    assert sets.coverage(pd.Series(y)) == 0.5
    assert sets.correct_singletons(y) == 0.25
    assert sets.to_list() == [["a"], ["b", "a"], [], ["b"]]
    assert len(sets) == 4
    with pytest.raises(ValueError, match="read-only"):
        sets.members[0, 0] = False


def test_unknown_labels_are_in_no_set_and_labels_of_another_type_raise(sets):
    y = ["barolo"] * 88 + ["merlot"]
    assert not sets.contains(y)[-1]
    assert not sets.contains(["merlot"] * 89).any()
    assert sets.coverage(["merlot"] * 89) == sets.correct_singletons(["merlot"] * 89) == 0
    with pytest.raises(ValueError, match=r"same type as the model's.*'barbera', 'barolo', 'grignolino'"):
        sets.contains(np.zeros(89))
    for wrong in (["barolo"], None, "barolo", [["barolo", "merlot"]] * 89):
        with pytest.raises(ValueError, match=r"'y' parameter of LabelSets\.contains must be 89 labels"):
            sets.contains(wrong)


def test_a_given_epsilon_is_printed_unrounded(model, wine):
    assert "with epsilon 0.9:" in predict_set(model, wine[0][1::2], epsilon=0.9).explain()


def test_explain_and_repr_describe_the_sets(sets, model, wine):
    said = sets.explain()
    assert str(sets) == said
    assert "89 inflated-argmax label sets with epsilon up to" in said
    assert "a label in common" in " ".join(said.split())
    one = predict_set(model, wine[0][1:2], epsilon=0.25)
    assert "1 inflated-argmax label set with epsilon 0.25:" in one.explain()
    page = sets._repr_html_()
    assert "<th>bottle 1</th><td>barolo</td>" in page
    assert "and 79 more" in page


def test_labels_are_escaped_in_html():
    sets = LabelSets(np.ones((1, 1), bool), np.array(["<b>"]), np.ones((1, 1)), "inflated-argmax", "a < b")
    assert "<b>" not in sets._repr_html_()


def test_groups_are_left_out(wine):
    X, y = wine
    groups = pd.Series(np.arange(89) // 3, name="estate")
    model = BaggedClassifier(n_bags=100, random_state=0).fit(X[::2], y[::2], groups=groups.to_numpy())
    said = predict_set(model, X[1::2], delta=0.1).guarantee
    assert "for all but at most 3 of the 30 groups" in said
    assert "row" not in said
    covering = predict_set(model, X[1::2], method="jackknife+", confidence_level=0.8)
    assert "a row drawn at random from a new group: coverage of each class is at least 0.6" in covering.guarantee


@pytest.mark.slow
def test_sets_with_all_bags(wine):
    X, y = wine[0][::10], wine[1][::10]
    model = BaggedClassifier(KNeighborsClassifier(3), scheme=Subbagging(3), n_bags="all").fit(X, y)
    stable = predict_set(model, X, delta=0.1)
    assert "the average over all bags" in stable.guarantee
    np.testing.assert_allclose(stable.prediction, model.predict_proba(X))
    covering = predict_set(model, X, method="jackknife+", confidence_level=0.8)
    assert "typically it is near 0.8. A class without training rows is in no set" in covering.guarantee


def test_invalid_arguments_raise(model, wine):
    X = wine[0]
    for options, said in (
        ({"method": "argmax"}, "one of"),
        ({"delta": 2.0}, "fraction of the training rows"),
        ({"epsilon": -0.1}, "epsilon"),
        ({"confidence_level": 1.0}, "between 0 and 1"),
        ({"method": "jackknife+", "epsilon": 0.1}, "only stable sets use it"),
        ({"method": "jackknife+", "certificate": certify(model, vector=True)}, "None for the jackknife"),
    ):
        with pytest.raises(ValueError, match=said):
            predict_set(model, X, **options)
    with pytest.raises(TypeError, match="use predict_interval"):
        predict_set(BaggedRegressor(n_bags=10).fit(X[::2], np.arange(89.0)), X)


def test_too_high_a_level_gives_all_labels_and_a_warning(model, wine):
    overall = {"method": "jackknife+", "by_class": False}
    with pytest.warns(
        UserWarning, match=r"all labels, because level 0\.995 needs at least 199 training rows and there are 89"
    ):
        assert predict_set(model, wine[0], **overall, confidence_level=0.995).members.all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predict_set(model, wine[0], **overall, confidence_level=0.98)


def test_coverage_by_class_includes_every_class_of_the_points(sets, wine):
    y = wine[1][1::2].copy()
    inside = sets.contains(y)
    assert sets.coverage_by_class(y) == {label: inside[y == label].mean() for label in sets.labels.tolist()}
    y[:2] = "merlot"
    assert list(sets.coverage_by_class(y)) == ["barbera", "barolo", "grignolino", "merlot"]
    assert sets.coverage_by_class(y)["merlot"] == 0
    assert list(sets.coverage_by_class(["barolo"] * 89)) == ["barolo"]


# ---------------------------------------------------------------------------------------------------------- stable sets


@pytest.fixture(scope="module")
def fitted():
    X, y = load_wine(return_X_y=True)
    return BaggedClassifier(n_bags=100, random_state=0).fit(X[::2], y[::2]), X[1::2]


def shared(fitted, epsilon=None, delta=0.1, certificate=None):
    return LabelStability.of(*fitted, epsilon, delta, certificate, "predict_set")


def test_epsilon_is_just_above_the_certificate_at_each_point(fitted):
    proved = certify(*fitted, vector=True, reused=True).epsilon(0.1)
    epsilon = shared(fitted).epsilon
    assert (epsilon > proved).all()
    assert epsilon == pytest.approx(proved, rel=1e-8, abs=1e-11)


def test_delta_of_a_given_epsilon_counts_distances_of_epsilon_or_more(fitted):
    certificate = certify(fitted[0], vector=True, reused=True)
    for rows in (1, 5, 20):
        edge = certificate.epsilon(rows / 89)
        assert shared(fitted, edge * (1 + 1e-6), certificate=certificate).delta <= rows / 89
        assert shared(fitted, edge, certificate=certificate).delta >= certificate.delta(edge * (1 - 1e-9))


def test_epsilon_from_delta_and_delta_from_epsilon_agree(fitted):
    for certificate in (None, certify(fitted[0], vector=True), certify(*fitted, vector=True, confidence=0.99)):
        forth = shared(fitted, delta=0.2, certificate=certificate)
        back = shared(fitted, float(forth.epsilon.max()), certificate=certificate)
        assert back.delta <= 0.2 + 1e-9


def test_the_guarantee_says_what_is_compared(fitted):
    model = fitted[0]
    reused, everywhere = (
        shared(fitted).guarantee,
        shared(fitted, certificate=certify(model, vector=True, reused=True)).guarantee,
    )
    assert "these 100 bags and each of these 89 points" in reused
    assert "for all but at most 8 of the 89 rows (delta = 0.1)" in reused
    assert "the set from the bags without the row, with the same epsilon, has a label in common with this one" in reused
    assert reused.count(". ") == 1  # the promise, and its proof
    assert "every point" in everywhere
    anew = shared(fitted, certificate=certify(model, vector=True)).guarantee
    assert "every learner, every data set of 89 rows and every point" in anew
    assert "a model refitted without a row, with the same epsilon" in anew
    assert "a probability of at most 0.1, over the draw of bags and seeds and on average over the rows" in anew
    independent = shared(fitted, certificate=certify(model, vector=True, coupling="independent")).guarantee
    assert "same seed" in anew
    assert "same seed" not in independent


def test_the_certificates_confidence_is_part_of_delta(fitted):
    certificate = certify(*fitted, vector=True, confidence=0.99)
    promise = shared(fitted, certificate=certificate)
    assert promise.epsilon == pytest.approx(certificate.epsilon(0.09), rel=1e-8)
    assert "This includes a probability of 0.01 that these bags understate their variance." in promise.guarantee
    assert "confidence" not in promise.guarantee
    for delta in (0.05, 0.0):
        with pytest.raises(ValueError, match=r"delta.* must be above 0.05 .* certify with a higher confidence"):
            shared(fitted, delta=delta, certificate=certify(*fitted, vector=True))


def test_with_a_given_epsilon_the_guarantee_states_the_confidence(fitted):
    """Epsilon is fixed and delta comes from the bags, so what is said of delta holds with the confidence only."""
    certificate = certify(*fitted, vector=True, confidence=0.99)
    promise = shared(fitted, 0.9, certificate=certificate)
    assert promise.delta == pytest.approx(certificate.delta(0.9).max())
    assert promise.guarantee.startswith("Proved with confidence 0.99 over the draw of the bags, for this data set")
    assert "understate" not in promise.guarantee


def test_a_trivial_guarantee_says_that_nothing_is_proved(fitted):
    for certificate in (None, certify(fitted[0], vector=True), certify(*fitted, vector=True)):
        assert shared(fitted, 0.01, certificate=certificate).guarantee == (
            "Nothing is proved at epsilon = 0.01: it is too small for 89 rows with 100 bags."
        )


def test_with_all_bags_the_guarantee_is_certain_and_covers_refits():
    X, y = np.arange(6.0)[:, None], np.array(list("aabbcc"))
    model = BaggedClassifier(scheme=Subbagging(3), n_bags="all", random_state=0).fit(X, y)
    ways = [None, certify(model, vector=True), certify(model, X, vector=True), certify(model, vector=True, reused=True)]
    for certificate in ways:
        words = shared((model, X), delta=0.4, certificate=certificate).guarantee
        assert "Proved for the average over all bags" in words
        assert "the set from all bags without the row, with the same seed and epsilon" in words


def test_one_bag_and_one_point_are_singular():
    X, y = np.arange(6.0)[:, None], np.array(list("aabbcc"))
    model = BaggedClassifier(n_bags=30, random_state=0).fit(X, y)
    assert "and this point: for each of the 6 rows (delta = 0.1)" in shared((model, X[:1])).guarantee


def test_extreme_deltas_and_epsilons(fitted):
    assert shared(fitted, delta=1).epsilon == pytest.approx(0, abs=1e-11)
    assert shared(fitted, 0.0).delta == 1
    assert shared(fitted, math.sqrt(2) + 1e-6).delta == 0


def test_a_certificate_for_something_else_raises(fitted):
    model, X = fitted
    other = BaggedClassifier(n_bags=100, random_state=1).fit(Fitted(model).X, Fitted(model).y)
    for certificate, said in (
        (certify(model), "vector of class probabilities"),
        (Certificate(Subbagging(0.5), 89), "vector of class probabilities"),
        (certify(model, reused=True), "vector of class probabilities"),
        (certify(other, vector=True, reused=True), "different bags"),
        (certify(model, X[:5], vector=True, reused=True), "points"),
        (certify(model, X[::-1], vector=True, reused=True), "different points"),
        (certify(model, X[:5], vector=True), "points"),
        (certify(BaggedClassifier(n_bags=100).fit(X[:50], Fitted(model).y[:50]), vector=True), "50 rows"),
        ("reused", "certificate for vectors"),
    ):
        with pytest.raises((TypeError, ValueError), match=said):
            shared(fitted, certificate=certificate)


def test_a_certificate_for_shorter_vectors_raises(fitted):
    law, about = Subbagging(0.5), {"coupling": "matched"}
    smaller = VectorOutputs(1.0, radius=math.sqrt(2 / 3))
    n = len(Fitted(fitted[0]).y)
    with pytest.raises(ValueError, match=r"its radius is 0\.1, but the probabilities of these classes need 0\.8165"):
        shared(fitted, certificate=Certificate(law, n, 100, outputs=VectorOutputs(radius=0.1), **about))
    with pytest.raises(ValueError, match=r"its diameter is 1, but the probabilities of these classes need 1\.414"):
        shared(fitted, certificate=Certificate(law, n, 100, outputs=smaller, **about))


def test_a_certificate_must_cover_classes_that_can_vanish():
    """A bag without rows says 1 / 3 for each class, and 1 / 2 if one class has lost its only row."""
    X, y = np.arange(9.0)[:, None], np.array(list("aaaabbbbc"))
    model = BaggedClassifier(scheme=BernoulliSubbagging(0.3), n_bags=50, random_state=0).fit(X, y)
    own = certify(model, vector=True)
    assert own.outputs.shift > 0
    with pytest.raises(ValueError, match="its shift is 0, but"):
        shared((model, X), certificate=own.with_outputs(replace(own.outputs, shift=0.0)))
    less = own.with_outputs(replace(own.outputs, shifted_share=0.01))
    with pytest.raises(ValueError, match=r"its shifted share is 0\.01, but"):
        shared((model, X), certificate=less)
    assert shared((model, X), certificate=own).delta == 0.1


# ------------------------------------------------------------------------------------------------------- jackknife sets


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int) + (X[:, 1] > 0.5)


def by_definition(model, X, level, by_class):
    """Label by label, row by row; each unit has weight one, in fractions."""
    units, at_rows = model.units_, leave_one_out(model, Fitted(model).X).left_out
    left_out, n_labels = leave_one_out(model, X).left_out, len(model.classes_)
    inside = np.empty((len(X), n_labels), dtype=bool)
    for point in range(len(X)):
        for label in range(n_labels):
            beaten, total = Fraction(0), Fraction(0)
            for row, unit in enumerate(units.of_rows):
                if by_class and Fitted(model).y[row] != model.classes_[label]:
                    continue
                weight = Fraction(1, int(units.sizes[unit]))
                total += weight
                own = at_rows[unit, row, np.searchsorted(model.classes_, Fitted(model).y[row])]
                if left_out[unit, point, label] < own - 1e-12:
                    beaten += weight
            inside[point, label] = beaten < Fraction(str(level)) * (total + 1)
    return inside


@pytest.mark.kernels
@pytest.mark.filterwarnings("ignore:Every set has", "ignore:The sets have all", "ignore:These sets cover all classes")
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(12), [1, 2, 3, 4] * 3)])
def test_sets_follow_the_definition(level, groups, by_class):
    X, y = table(30)
    model = BaggedClassifier(LogisticRegression(), n_bags=60, random_state=1).fit(X, y, groups=groups)
    points = table(20, seed=1)[0]
    found = predict_set(model, points, method="jackknife+", confidence_level=level, by_class=by_class)
    assert (found.members == by_definition(model, points, level, by_class)).all()
    assert (found.prediction == model.predict_proba(points)).all()
    assert found.confidence_level == level
    assert found.epsilon is None
    assert found.delta is None


@pytest.mark.slow
@pytest.mark.kernels
@pytest.mark.parametrize("by_class", [False, True])
def test_results_do_not_depend_on_the_block_size(monkeypatch, by_class):
    X, y = table(40)
    groups = np.arange(40) // 2
    points = table(25, seed=1)[0]
    for unit in (None, groups):
        model = BaggedClassifier(LogisticRegression(), n_bags=60, random_state=1).fit(X, y, groups=unit)
        rule = JackknifeSets(Fraction(8, 10), by_class)
        whole = rule.members(model, points)[1]
        with monkeypatch.context() as patch:
            patch.setattr("stablebag.deciding.label_sets._PAIRS", 100)
            patch.setattr("stablebag.measuring.leave_one_out._LEFT_OUT", 500)
            assert (rule.members(model, points)[1] == whole).all()


@pytest.mark.kernels
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(14), [1, 2, 3, 4, 1, 4, 5] * 2)])
def test_covered_rows_treats_each_training_row_as_new(by_class, groups):
    X, y = table(40)
    model = BaggedClassifier(LogisticRegression(), n_bags=60, random_state=1).fit(X, y, groups=groups)
    units, left_out = model.units_, leave_one_out(model, X).left_out
    own = left_out[units.of_rows, np.arange(40), np.searchsorted(model.classes_, y)]
    for row, found in enumerate(JackknifeSets(Fraction(8, 10), by_class).covered_rows(model)):
        others = [k for k in range(40) if units.of_rows[k] != units.of_rows[row] and (not by_class or y[k] == y[row])]
        weight = {k: Fraction(1, int(units.sizes[units.of_rows[k]])) for k in others}
        beaten = sum((weight[k] for k in others if own[k] > own[row] + 1e-12), Fraction(0))
        assert found == (beaten < Fraction(8, 10) * (sum(weight.values(), Fraction(0)) + 1))


@pytest.mark.kernels
@pytest.mark.filterwarnings("ignore:Every set has", "ignore:The sets have all")
def test_sets_grow_with_the_level():
    X, y = table(60)
    model = BaggedClassifier(LogisticRegression(), n_bags=60, random_state=1).fit(X, y)
    sets = [
        predict_set(model, X, method="jackknife+", confidence_level=level).members for level in (0.3, 0.6, 0.9, 0.97)
    ]
    assert all((smaller <= larger).all() for smaller, larger in itertools.pairwise(sets))


@pytest.mark.kernels
def test_the_guarantee_states_its_assumptions():
    X, y = table(40)
    fixed = BaggedClassifier(LogisticRegression(), n_bags=60, random_state=0).fit(X, y)
    drawn = BaggedClassifier(LogisticRegression(), n_bags=random_n_bags(Subbagging(0.5), 40, 60), random_state=0)
    clusters = ClusterSubbagging(5, clusters=np.arange(40) // 4)
    unequal = BaggedClassifier(LogisticRegression(), scheme=clusters, n_bags=60, random_state=0).fit(X, y)
    said = {name: JackknifeSets(Fraction(9, 10)).guarantee(m) for name, m in (("fixed", fixed), ("unequal", unequal))}
    assert "coverage of each class is at least 0.8" in said["fixed"]
    assert "coverage is at least 0.8" in JackknifeSets(Fraction(9, 10), by_class=False).guarantee(fixed)
    assert "holds only approximately" in said["fixed"]
    assert said["unequal"].startswith("Nothing is proved")
    assert (
        JackknifeSets(Fraction(4, 10)).guarantee(fixed).startswith("Nothing is proved about their coverage at so low")
    )
    assert "approximately" not in JackknifeSets(Fraction(9, 10)).guarantee(drawn.fit(X, y))


# ----------------------------------------------------------------------------------------------------------- score sets


@pytest.mark.parametrize("n_items", [2, 3, 5])
def test_radius_and_diameter_equal_those_of_the_corners(n_items):
    cube = np.array(list(itertools.product([0.0, 1.0], repeat=n_items)))
    for within, corners in (("simplex", np.eye(n_items)), ("box", cube)):
        there = ScoreSet(within)
        far = np.linalg.norm(corners - there.centre(n_items), axis=1)
        assert there.radius(n_items) == pytest.approx(far.max())
        assert there.diameter(n_items) == pytest.approx(np.linalg.norm(corners[:, None] - corners, axis=2).max())
        assert there.diameter(n_items) <= 2 * there.radius(n_items)


def test_scores_outside_a_ball_are_scaled_to_its_radius():
    assert ScoreSet(2).held(np.array([3.0, -4.0])) == pytest.approx([1.2, -1.6])
    assert ScoreSet(2).held(np.array([1.0, -1.0])).tolist() == [1.0, -1.0]
    assert (ScoreSet(2).radius(7), ScoreSet(2).diameter(7), ScoreSet(2).centre(2).tolist()) == (2, 4, [0, 0])


def test_all_zeros_in_a_simplex_are_equal_scores():
    assert ScoreSet("simplex").held(np.zeros(4)).tolist() == [0.25] * 4
    assert math.fsum(ScoreSet("simplex").held(np.array([1 / 3, 1 / 3, 1 / 3 + 1e-9]))) == pytest.approx(1, abs=1e-15)


def test_scores_outside_a_simplex_or_a_box_raise():
    with pytest.raises(ValueError, match=r"Divide them by their sum"):
        ScoreSet("simplex").held(np.array([0.5, 0.6]))
    with pytest.raises(ValueError, match="nonnegative and add up to 1"):
        ScoreSet("simplex").held(np.array([1.5, -0.5]))
    with pytest.raises(ValueError, match="between 0 and 1"):
        ScoreSet("box").held(np.array([0.5, 1.1]))


def test_unknown_score_sets_raise():
    with pytest.raises(ValueError, match="'simplex', 'box' or a radius"):
        ScoreSet("circle")
    with pytest.raises(ValueError, match="the radius of the ball that holds all scores"):
        ScoreSet(0.0)


def test_score_sets_are_described_in_words():
    assert [str(ScoreSet(within)) for within in ("simplex", "box", 1.5)] == [
        "scores that add up to 1",
        "scores between 0 and 1",
        "scores within 1.5 of the origin",
    ]


@pytest.mark.parametrize("size", [1e200, 1e-200, 3.0, 1e308])
def test_extreme_scores_keep_their_direction_in_a_ball(size):
    held = ScoreSet(min(1.0, size)).held(np.array([3.0, -4.0]) * (size / 4))
    assert held == pytest.approx(np.array([0.6, -0.8]) * min(1.0, size))


def test_numpy_strings_are_accepted():
    assert repr(ScoreSet(np.str_("box"))) == repr(ScoreSet("box"))
