import json
from fractions import Fraction

import pytest

from stablebag import (
    BernoulliSubbagging,
    Certificate,
    Subbagging,
)
from stablebag.proving.outputs import (
    AdaptiveOutputs,
    BoxOutputs,
    ClassOutputs,
    Outputs,
    UnboundedOutputs,
    VectorOutputs,
    condition_on_classes,
    describe_shift,
    outputs_from_dict,
)


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


def test_what_bags_without_rows_add_is_said_with_its_reason():
    assert "moves the output by up to 0.125. The bounds include that." in describe_shift(0.125, 0.2, 10)
    assert "2 rows are each the only one of its class:" in describe_shift(0.1, 0.2, 10)
    assert "one row is the only one of its class:" in describe_shift(0.1, 0.1, 10)
    assert "any row may be the only one of its class:" in describe_shift(0.1, 1.0, 10)
    assert describe_shift(0.0, 0.2, 10) == ""


def test_classes_are_spoken_of_only_where_bags_can_be_empty():
    never, sometimes = Subbagging(2).resolve(10), BernoulliSubbagging(2).resolve(10)
    assert condition_on_classes(0.1, 0.2, never) == ""
    assert condition_on_classes(0.1, 0.2, sometimes) == " with these class sizes"
    assert condition_on_classes(0.1, 1.0, sometimes) == " with as many classes"
    assert condition_on_classes(0.0, 0.0, sometimes) == " in which no class has a single row"


def test_unbounded_outputs_say_what_a_bag_without_rows_predicts():
    assert "of which one without rows predicts 0" in joined(
        Certificate(BernoulliSubbagging(0.5), 30, outputs=UnboundedOutputs()).explain()
    )


def test_a_certificate_without_a_range_speaks_of_that_of_the_outputs():
    text = joined(Certificate(Subbagging(0.5), 500, outputs=UnboundedOutputs()).explain(0.1))
    assert "Theorem 12 for unbounded outputs" in text
    assert "times the range of the learner's outputs at that point when left out" in text
    assert "Theorem 19" in joined(Certificate(Subbagging(0.5), 500, 1000, outputs=UnboundedOutputs()).explain(0.1))


@pytest.mark.parametrize(("call", "error", "words"), [
    (lambda: UnboundedOutputs(2.0), ValueError, "Leave the length out"),
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
