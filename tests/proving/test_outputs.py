import json
import math
from fractions import Fraction

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    FixedRange,
    ObservedRange,
    Subbagging,
)
from stablebag.models.fitted import Fitted
from stablebag.proving.outputs import (
    AdaptiveOutputs,
    BoxOutputs,
    ClassOutputs,
    Labels,
    Outputs,
    UnboundedOutputs,
    VectorOutputs,
    condition_on_classes,
    describe_shift,
    outputs_from_dict,
    scope_of,
)
from stablebag.proving.scope import Quantity, Rerun, Scope

# -------------------------------------------------------------------------------------------------------------- outputs


def joined(text):
    return " ".join(text.split())


@pytest.mark.parametrize("outputs", [
    Outputs(2.5), AdaptiveOutputs(2.5, 0.1, 3.0), AdaptiveOutputs(2.5, 0.1), ClassOutputs(shift=0.1, shifted_share=0.5),
    UnboundedOutputs(), VectorOutputs(1.2, radius=0.7, shift=0.1, shifted_share=0.5), BoxOutputs(2.5, 0.1, 3.0),
    BoxOutputs(2.5, reach=2.5, of_targets=False),
], ids=repr)  # fmt: skip
def test_outputs_are_read_back(outputs):
    assert outputs_from_dict(json.loads(json.dumps(outputs.to_dict(), allow_nan=False))) == outputs


def test_a_share_of_rows_is_rounded_up_to_whole_ones():
    assert AdaptiveOutputs(2.0, 0.101, 3.0).for_rows(10) == AdaptiveOutputs(2.0, 0.2, 3.0)
    assert AdaptiveOutputs(2.0, 0.3, 3.0).for_rows(10) == AdaptiveOutputs(2.0, 0.3, 3.0)
    assert AdaptiveOutputs(2.0, 0.0, 3.0).for_rows(10).reach == 2.0  # no row changes it, so none reaches further


def test_a_shift_of_no_rows_is_none():
    assert ClassOutputs(shift=0.1, shifted_share=0.0) == ClassOutputs(shift=0.0, shifted_share=0.5) == ClassOutputs()
    assert ClassOutputs(shift=0.1, shifted_share=0.5).shift == 0.1


def test_a_sentence_says_what_bags_without_rows_add_and_why():
    assert "The bounds include 0.125 for bags without rows" in describe_shift(0.125, 0.2, 10)
    assert "2 rows are each the only one of its class." in describe_shift(0.1, 0.2, 10)
    assert "one row is the only one of its class." in describe_shift(0.1, 0.1, 10)
    assert "any row may be the only one of its class." in describe_shift(0.1, 1.0, 10)
    assert describe_shift(0.0, 0.2, 10) == ""


def test_classes_are_spoken_of_only_where_bags_can_be_empty():
    never, sometimes = Subbagging(2).resolve(10), BernoulliSubbagging(2).resolve(10)
    assert condition_on_classes(0.1, 0.2, never) == ""
    assert condition_on_classes(0.1, 0.2, sometimes) == " with these class sizes"
    assert condition_on_classes(0.1, 1.0, sometimes) == " with as many classes"
    assert condition_on_classes(0.0, 0.0, sometimes) == " in which no class has a single row"


def test_unbounded_outputs_say_what_a_bag_without_rows_predicts():
    assert "a bag without rows predicts 0" in joined(
        Certificate(BernoulliSubbagging(0.5), 30, outputs=UnboundedOutputs()).explain()
    )


def test_a_certificate_without_a_range_speaks_of_that_of_the_outputs():
    text = joined(Certificate(Subbagging(0.5), 500, outputs=UnboundedOutputs()).explain(0.1))
    assert "Theorem 12 for unbounded outputs" in text
    assert "times the range of the learner's outputs at that point when left out" in text
    assert "Theorem 19" in joined(Certificate(Subbagging(0.5), 500, 1000, outputs=UnboundedOutputs()).explain(0.1))


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: UnboundedOutputs(2.0), ValueError, "Leave out range_length"),
    (lambda: ClassOutputs(shift=-0.1), ValueError, "'shift'"),
])  # fmt: skip
def test_bad_input_is_refused_with_the_value(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_a_dictionary_of_no_kind_is_refused():
    for values in ({"length": 1.0}, {"kind": "Numbers"}, "Outputs"):
        with pytest.raises(TypeError, match="whose kind is one of"):
            outputs_from_dict(values)


def test_lengths_are_floats_however_small_the_fraction():
    outputs = AdaptiveOutputs(Fraction(1, 10**400), 0.1, Fraction(1, 3))
    assert (outputs.length, outputs.reach) == (0.0, 1 / 3)
    assert {type(outputs.length), type(outputs.reach)} == {float}


# ---------------------------------------------------------------------------------------------------------- box changes


CORNERS = [[0.0, 5.0], [1.0, 5.0], [2.0, 7.0], [2.0, 9.0]]


def test_a_box_of_targets_by_hand():
    units, box = BoxOutputs.for_targets(CORNERS, ObservedRange(), None, "x")
    assert (len(units), box) == (
        4,
        BoxOutputs(math.hypot(2, 4), 0.5, math.hypot(2, 4), ((1, 1), (2, 2), (2, 2), (1, 1))),
    )
    units, box = BoxOutputs.for_targets(CORNERS, ObservedRange(), ["a", "a", "b", "c"], "x")
    assert (len(units), box.delta_range) == (3, 2 / 3)


def test_what_is_left_counts_whole_rows_if_all_bags_are_averaged():
    all_bags, drawn = (Certificate(Subbagging(2), 4, n, outputs=BoxOutputs(1.0, 0.5, 1.0)) for n in (math.inf, 50))
    assert all_bags.without_rows_changing_range(0.74) == 0.0
    assert all_bags.without_rows_changing_range(0.75) == 0.25
    assert drawn.without_rows_changing_range(0.74) == pytest.approx(0.24)
    assert all_bags.without_rows_changing_range(0.25) < 0
    few = Certificate(Subbagging(2), 442, 50, outputs=BoxOutputs(1.0, 3 / 442, 1.0))
    assert few.without_rows_changing_range(3 / 442) == 0.0


def test_sentences_speak_of_the_targets_only_if_the_box_depends_on_them():
    fixed = Certificate.for_targets(Subbagging(2), CORNERS, FixedRange(0, 9), vector=True)
    assert fixed.condition == ""
    assert "can change" not in fixed.explain(0.5)
    box = Certificate.for_targets(Subbagging(2), CORNERS, vector=True)
    assert box.condition == " with these ranges of targets"
    assert "2 of the rows can change" in " ".join(box.explain(0.9).split())


def test_values_that_are_none_are_refused():
    with pytest.raises(ValueError, match="'delta_range'"):
        BoxOutputs(1.0, 1.5, 1.0)
    with pytest.raises(ValueError, match="'reach'"):
        BoxOutputs(1.0, 0.5, math.nan)
    with pytest.raises(ValueError, match="one column for each output"):
        Certificate.for_targets(Subbagging(1), [1.0, 2.0, 3.0], vector=True)


# --------------------------------------------------------------------------------------------------------------- labels


def counted(y, groups=None):
    labels = Labels.of(y, groups, "here")
    return len(labels.units), labels.n_classes, labels.n_lonely, labels.n_lost


def test_labels_are_counted():
    assert counted(["a", "b", "a", "c", "a"]) == (5, 3, 2, 1)
    assert counted(np.array([1, 1])) == (2, 1, 0, 1)
    for y in (["a"], [["a", "b"]]):
        with pytest.raises(ValueError, match="'y' parameter of here must be a one-dimensional array of at least two"):
            Labels.of(y, None, "here")


def test_a_unit_can_take_several_classes_away():
    y, groups = ["a", "b", "c", "c", "d", "a"], ["p", "p", "p", "q", "q", "r"]
    assert counted(y, groups) == (3, 4, 2, 1)  # b only in p, d only in q
    assert counted(["a", "b", "c", "c"], ["p", "p", "q", "r"]) == (3, 3, 1, 2)
    assert counted(["a", "b", "c"], [1, 2, 3]) == counted(["a", "b", "c"]) == (3, 3, 3, 1)


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_the_shift_is_how_far_equal_probabilities_move_when_classes_are_gone(n_classes):
    for n_lost in range(1, n_classes):
        before, after = np.full(n_classes, 1 / n_classes), np.zeros(n_classes)
        after[n_lost:] = 1 / (n_classes - n_lost)
        labels = Labels(None, n_classes, 1, n_lost)
        assert labels.shift(0.3) == pytest.approx(0.3 * np.abs(before - after).max())
        assert labels.shift(0.3, vector=True) == pytest.approx(0.3 * math.dist(before, after))


# --------------------------------------------------------------------------------------------------------------- scopes


X, Y = np.arange(6.0)[:, None], np.arange(6.0)


def regressor(n_bags, rule):
    model = BaggedRegressor(DummyRegressor(), scheme=Subbagging(3), n_bags=n_bags, prediction_range=rule)
    return model.set_params(random_state=0).fit(X, Y)


def test_drawn_bags_are_reused_and_known_by_their_fingerprint():
    model = regressor(20, FixedRange(-1, 3))
    assert scope_of(Fitted(model).average) == Scope(6, Quantity.NUMBER, Rerun.REUSED, 20, model.bags_.fingerprint, 4.0)
    other = regressor(20, FixedRange(-1, 3)).set_params(random_state=1).fit(X, Y)
    assert scope_of(Fitted(other).average).bags != model.bags_.fingerprint


def test_all_bags_are_known_by_their_law():
    model = regressor("all", None)
    law = Subbagging(0.5).resolve(6).fingerprint
    assert scope_of(Fitted(model).average) == Scope(6, Quantity.NUMBER, Rerun.ALL, None, law, None)


def test_rows_that_change_the_range_are_counted():
    scope = scope_of(Fitted(regressor("all", ObservedRange())).average)
    assert (scope.range_length, scope.delta_range) == (5.0, 2 / 6)  # the smallest and the largest target


@pytest.mark.parametrize(("vector", "quantity", "length", "ways"), [
    (False, Quantity.CLASS, 1.0, 4), (True, Quantity.VECTOR, None, math.sqrt(4 * 3)),
])  # fmt: skip
def test_a_classifier_is_spoken_of_by_class_or_as_a_vector(vector, quantity, length, ways):
    model = BaggedClassifier(DummyClassifier(), scheme=BernoulliSubbagging(0.5), n_bags="all").fit(X, list("aabbcd"))
    scope = scope_of(Fitted(model).average, vector=vector)
    assert (scope.quantity, scope.range_length) == (quantity, length)
    # Without c's only row a bag has no row with probability 1 / 2^5, and says 1/4 of each class where it said 1/3.
    assert scope.shift == pytest.approx(2**-5 / ways)


def test_nothing_is_shifted_where_every_class_has_a_second_row():
    model = BaggedClassifier(DummyClassifier(), scheme=BernoulliSubbagging(0.5), n_bags="all").fit(X, list("aabbcc"))
    assert scope_of(Fitted(model).average).shift == 0.0
