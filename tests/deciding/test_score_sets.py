import itertools
import math

import numpy as np
import pytest

from stablebag.deciding.label_sets import ScoreSet


@pytest.mark.parametrize("n_items", [2, 3, 5])
def test_radius_and_diameter_are_those_of_the_corners(n_items):
    cube = np.array(list(itertools.product([0.0, 1.0], repeat=n_items)))
    for within, corners in (("simplex", np.eye(n_items)), ("box", cube)):
        there = ScoreSet(within)
        far = np.linalg.norm(corners - there.centre(n_items), axis=1)
        assert there.radius(n_items) == pytest.approx(far.max())
        assert there.diameter(n_items) == pytest.approx(np.linalg.norm(corners[:, None] - corners, axis=2).max())
        assert there.diameter(n_items) <= 2 * there.radius(n_items)


def test_scores_beyond_a_ball_are_shortened():
    assert ScoreSet(2).held(np.array([3.0, -4.0])) == pytest.approx([1.2, -1.6])
    assert ScoreSet(2).held(np.array([1.0, -1.0])).tolist() == [1.0, -1.0]
    assert (ScoreSet(2).radius(7), ScoreSet(2).diameter(7), ScoreSet(2).centre(2).tolist()) == (2, 4, [0, 0])


def test_all_zeros_in_a_simplex_are_equal_scores():
    assert ScoreSet("simplex").held(np.zeros(4)).tolist() == [0.25] * 4
    assert math.fsum(ScoreSet("simplex").held(np.array([1 / 3, 1 / 3, 1 / 3 + 1e-9]))) == pytest.approx(1, abs=1e-15)


def test_scores_outside_of_a_simplex_or_a_box_are_refused():
    with pytest.raises(ValueError, match=r"Divide them by their sum"):
        ScoreSet("simplex").held(np.array([0.5, 0.6]))
    with pytest.raises(ValueError, match="at least 0"):
        ScoreSet("simplex").held(np.array([1.5, -0.5]))
    with pytest.raises(ValueError, match="between 0 and 1"):
        ScoreSet("box").held(np.array([0.5, 1.1]))


def test_sets_that_do_not_exist_are_refused():
    with pytest.raises(ValueError, match="'simplex', 'box' or a radius"):
        ScoreSet("circle")
    with pytest.raises(ValueError, match="how far scores are from the origin"):
        ScoreSet(0.0)


def test_sentences_name_the_set():
    assert [str(ScoreSet(within)) for within in ("simplex", "box", 1.5)] == [
        "scores that add up to 1",
        "scores between 0 and 1",
        "scores within 1.5 of the origin",
    ]


@pytest.mark.parametrize("size", [1e200, 1e-200, 3.0, 1e308])
def test_scores_of_any_size_keep_their_direction_in_a_ball(size):
    held = ScoreSet(min(1.0, size)).held(np.array([3.0, -4.0]) * (size / 4))
    assert held == pytest.approx(np.array([0.6, -0.8]) * min(1.0, size))


def test_a_name_of_numpys_own_kind_of_text_is_that_name():
    assert repr(ScoreSet(np.str_("box"))) == repr(ScoreSet("box"))
