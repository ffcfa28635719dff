import numpy as np
import pytest
from matplotlib.colors import to_rgba

from stablebag._wording import Noun, rounded_down
from stablebag.deciding import LabelSets, SelectionStability
from stablebag.measuring.perturbations import Names
from stablebag.showing import LabelSetDisplay

PREDICTION = np.array([[0.8, 0.15, 0.05], [0.1, 0.42, 0.48]])


def sets(prediction=PREDICTION):
    return LabelSets(prediction > 0.4, np.array(["cat", "dog", "hen"]), prediction, "inflated-argmax", "none")


def stability(about):
    flips = np.array([[False, True], [False, False]])
    rules = dict.fromkeys(("argmax", "inflated-argmax"), flips)
    return SelectionStability(rules, about, Names(), Noun("patient", "patients"))


def test_two_likeliest_labels_are_drawn_with_the_closest_decision_first():
    display = LabelSetDisplay.from_sets(sets())
    assert display.order_.tolist() == [1, 0]
    np.testing.assert_allclose(display.first_.get_offsets(), [[0, 0.48], [1, 0.8]])
    np.testing.assert_allclose(display.second_.get_offsets(), [[0, 0.42], [1, 0.15]])
    assert display.ax_.get_title() == "1 of 2 points have a set of one label (inflated-argmax)"
    assert not hasattr(display, "hinges_")


def test_labels_in_the_set_are_filled_and_others_hollow():
    filled = LabelSetDisplay.from_sets(sets()).second_.get_facecolors()
    np.testing.assert_allclose(filled, [to_rgba("tab:red"), to_rgba("white")])


def test_legend_names_only_marks_that_are_drawn():
    labels = [text.get_text() for text in LabelSetDisplay.from_sets(sets()).ax_.get_legend().get_texts()]
    assert labels == ["likeliest label, in the set", "second label, in the set", "second label, not in the set"]


def test_decisions_that_flip_without_one_group_are_marked():
    display = LabelSetDisplay.from_sets(sets(), stability(sets()))
    assert display.hinges_.get_offsets()[:, 0].tolist() == [0]  # the second point, which is drawn first
    assert display.ax_.get_title().splitlines() == [
        "1 of 2 points have a set of one label (inflated-argmax)",
        "1 decision flips without one patient",
    ]


def test_closest_decisions_of_many_are_drawn_and_the_others_are_counted():
    first = np.linspace(0.99, 0.51, 300)
    many = sets(np.column_stack([first, 1 - first, np.zeros(300)]))
    flips = np.zeros((1, 300), dtype=bool)
    flips[0, [0, 299]] = True  # of the farthest and the closest decision
    rules = dict.fromkeys(("argmax", "inflated-argmax"), flips)
    display = LabelSetDisplay.from_sets(many, SelectionStability(rules, many, Names(), Noun()))
    assert display.order_.tolist() == list(range(299, 219, -1))
    assert len(display.first_.get_offsets()) == 80
    assert "300 points" in display.ax_.get_title()
    assert display.ax_.get_title().endswith("\n2 decisions flip without one row")
    assert display.hinges_.get_label() == "decision flips without one row (1 more not drawn)"
    lead = 2 * first[219] - 1
    assert display.ax_.get_xlabel().endswith(f"the likeliest label leads by {rounded_down(lead, 2)} or more)")
    assert len(LabelSetDisplay.from_sets(many, most=300).order_) == 300
    with pytest.raises(ValueError, match="'most' parameter of LabelSetDisplay"):
        LabelSetDisplay.from_sets(many, most=0)


def test_stability_at_other_points_raises_an_error():
    with pytest.raises(ValueError, match="measure it with the same model at the same points"):
        LabelSetDisplay.from_sets(sets(), stability(sets(PREDICTION[::-1])))
    with pytest.raises(TypeError, match="'stability'"):
        LabelSetDisplay.from_sets(sets(), np.zeros(2))
    with pytest.raises(TypeError, match="'sets'"):
        LabelSetDisplay.from_sets(PREDICTION)
    alone = LabelSets(np.ones((1, 1), dtype=bool), np.array(["cat"]), np.ones((1, 1)), "inflated-argmax", "none")
    with pytest.raises(ValueError, match="two labels or more"):
        LabelSetDisplay.from_sets(alone)
