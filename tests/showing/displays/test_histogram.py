import numpy as np
import pytest

from stablebag import PerturbationDisplay


def test_histograms_count_all_rows_and_keep_their_bars(measured):
    display = PerturbationDisplay.from_perturbations(measured, point=1, bins=10)
    assert list(display.bars_) == ["base learner", "bagged"]
    assert [text.get_text() for text in display.ax_.get_legend().get_texts()] == ["base learner", "bagged"]
    np.testing.assert_array_equal(display.distances["bagged"], measured["bagged"].values[:, 1])
    assert len(PerturbationDisplay.from_perturbations(measured["bagged"]).distances["measured"]) == 300


def test_bars_are_shares_of_rows_from_zero_to_the_largest_change():
    display = PerturbationDisplay({"tree": np.array([0.1, 0.1, 0.2, 0.8]), "bagged": np.array([0.1, 0.1])}).plot(bins=2)
    corners = {name: bars[0].get_xy() for name, bars in display.bars_.items()}
    assert sorted(set(corners["tree"][:, 0])) == pytest.approx([0.0, 0.4, 0.8])
    assert sorted(set(corners["tree"][:, 1])) == pytest.approx([0.0, 0.25, 0.75])
    assert sorted(set(corners["bagged"][:, 1])) == pytest.approx([0.0, 1.0])


def test_overlapping_bars_differ_in_colour_and_hatching(measured):
    tree, bagged = (bars[0] for bars in PerturbationDisplay.from_perturbations(measured).bars_.values())
    assert tree.get_facecolor() != bagged.get_facecolor()
    assert tree.get_hatch() != bagged.get_hatch()
    assert tree.get_alpha() == bagged.get_alpha() < 1


def test_point_that_does_not_exist_raises_an_error(measured):
    with pytest.raises(IndexError, match="point=99 does not exist: there are 3 points"):
        PerturbationDisplay.from_perturbations(measured, point=99)


@pytest.mark.parametrize(("options", "error", "words"), [
    ({"bins": 0}, ValueError, "'bins'"), ({"bins": "auto"}, TypeError, "'bins'"),
    ({"point": -1}, ValueError, "'point'"),
])  # fmt: skip
def test_invalid_bins_and_points_raise_an_error(measured, options, error, words):
    with pytest.raises(error, match=words):
        PerturbationDisplay.from_perturbations(measured, **options)


def test_first_bar_of_a_logarithmic_scale_includes_smaller_changes():
    values = np.concatenate([np.zeros(30), np.geomspace(1e-3, 1.0, 70)])
    display = PerturbationDisplay({"tree": values}).plot(bins=5, scale="log")
    corners = display.bars_["tree"][0].get_xy()
    assert max(corners[:, 1]) == pytest.approx(0.45)  # 30 zeros, the smallest, and a fifth of the 70
    assert display.ax_.get_xlabel().endswith("(the first bar includes all smaller ones)")
