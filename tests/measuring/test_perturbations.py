import json
import math

import numpy as np
import pandas as pd
import pytest

from stablebag.measuring import Perturbations
from stablebag.measuring.perturbations import BagSpread
from stablebag.proving.scope import Quantity, Rerun, Scope


@pytest.fixture
def moved():
    left_out = np.array([[0.4, 2.0], [0.8, 2.0], [0.5, 2.5], [0.6, 1.0]])
    return Perturbations(np.array([0.5, 2.0]), left_out, rows=np.array([10, 11, 12, 13]))


def test_values_are_distances_and_differences_have_a_sign(moved):
    np.testing.assert_allclose(moved.values, [[0.1, 0], [0.3, 0], [0, 0.5], [0.1, 1.0]], atol=1e-15)
    np.testing.assert_allclose(moved.differences[:, 1], [0, 0, -0.5, 1.0])


def test_delta_counts_strictly_larger_distances():
    moved = Perturbations(np.zeros(1), np.array([[0.25], [0.25], [0.5], [0.0]]), rows=np.arange(4))
    assert moved.delta(0.25) == [0.25]
    assert moved.delta(np.nextafter(0.25, 0)) == [0.25]  # a difference of one rounding is a tie
    assert moved.delta(0.25 - 1e-12) == [0.75]
    assert moved.delta(0.5) == [0.0]
    assert moved.delta(0.0) == [0.75]


def test_epsilon_inverts_delta_at_ties():
    moved = Perturbations(np.zeros(1), np.array([[0.25], [0.25], [0.5], [0.0]]), rows=np.arange(4))
    assert [moved.epsilon(delta)[0] for delta in (0, 0.2, 0.25, 0.5, 0.75, 1)] == [0.5, 0.5, 0.25, 0.25, 0.0, 0.0]
    for delta in np.linspace(0, 1, 21):
        assert moved.delta(moved.epsilon(delta)[0]) <= delta


def test_summaries_per_point_and_over_points(moved):
    np.testing.assert_allclose(moved.mean(), [0.125, 0.375])
    np.testing.assert_allclose(moved.max(), [0.3, 1.0])
    np.testing.assert_allclose(moved.norm(2), np.sqrt([0.11 / 4, 1.25 / 4]))
    assert moved.mean(over_points="max") == pytest.approx(0.375)
    assert moved.mean(over_points="mean") == pytest.approx(0.25)
    assert moved.norm(math.inf, over_points="max") == 1.0
    assert moved.delta(0.2, over_points="max") == 0.5
    assert moved.epsilon(0.25, over_points="max") == 0.5


def test_the_curve_is_delta_at_every_step(moved):
    for over_points in (None, "max", "mean"):
        epsilon, delta = moved.curve(over_points)
        assert epsilon[0] == 0
        for e, d in zip(epsilon, delta, strict=True):
            np.testing.assert_allclose(d, moved.delta(e, over_points))
    assert (delta[-1] == 0).all()


def test_long_curves_are_thinned_and_keep_their_ends():
    rng = np.random.default_rng(0)
    moved = Perturbations(np.zeros(30), rng.normal(size=(200, 30)), rows=np.arange(200))
    epsilon, delta = moved.curve()
    assert len(epsilon) == 1001
    assert epsilon[-1] == moved.values.max()
    assert delta[-1] == 0


def test_repeats_are_shares_of_seeds():
    distances = np.array([[[0.0], [1.0]], [[1.0], [1.0]]])  # two seeds, two rows, one point
    moved = Perturbations(np.zeros(1), np.zeros((2, 1)), rows=np.arange(2), distances=distances)
    assert moved.delta(0.5) == [0.75]
    np.testing.assert_allclose(moved.values, [[0.5], [1.0]])
    assert moved.epsilon(0.75) == [0.0]


def test_the_most_influential_rows_come_with_their_sign(moved):
    rows, effects = moved.most_influential(2)
    assert rows.tolist() == [[11, 10], [13, 12]]
    np.testing.assert_allclose(effects, [[-0.3, 0.1], [1.0, -0.5]])
    assert moved.most_influential(100)[0].shape == (2, 4)


def test_the_most_influential_rows_of_a_classifier_are_by_norm_over_classes():
    left_out = np.array([[[0.5, 0.5]], [[0.1, 0.9]], [[0.6, 0.4]]])
    moved = Perturbations(np.array([[0.5, 0.5]]), left_out, rows=np.arange(3))
    rows, effects = moved.most_influential(1)
    assert rows.tolist() == [[1]]
    np.testing.assert_allclose(effects, [[[0.4, -0.4]]])
    assert moved.max().shape == (1, 2)


def test_losses_are_perturbed_too(moved):
    squared = moved.loss(lambda f, y: (f - y) ** 2, [0.0, 1.0])
    np.testing.assert_allclose(squared.prediction, [0.25, 1.0])
    np.testing.assert_allclose(squared.left_out[3], [0.36, 0.0])
    with pytest.raises(ValueError, match="2 targets"):
        moved.loss(lambda f, y: f, [1.0])
    with pytest.raises(ValueError, match="elementwise"):
        moved.loss(lambda f, y: np.mean((f - y) ** 2), [0.0, 1.0])


def test_what_is_not_finite_is_refused_with_its_point():
    with pytest.raises(ValueError, match="prediction at point 1 is NaN or infinite"):
        Perturbations(np.array([0.0, np.nan]), np.zeros((2, 2)), rows=np.arange(2))
    with pytest.raises(ValueError, match="left_out at point 0 is NaN or infinite"):
        Perturbations(np.zeros(2), np.array([[np.inf, 0.0]]), rows=np.arange(1))


def test_norms_of_a_large_order_do_not_underflow():
    assert Perturbations(np.zeros(1), np.full((3, 1), 0.1), rows=np.arange(3)).norm(400) == pytest.approx(0.1)


def test_in_sample_is_the_diagonal():
    moved = Perturbations(np.zeros(2), np.array([[1.0, 2.0], [3.0, 4.0]]), rows=np.arange(2))
    assert moved.in_sample().tolist() == [1.0, 4.0]
    assert Perturbations(np.zeros(2), np.array([[3.0, 4.0]]), rows=np.array([1])).in_sample().tolist() == [4.0]
    with pytest.raises(ValueError, match="need the training rows as points"):
        Perturbations(np.zeros(1), np.zeros((2, 1)), rows=np.arange(2)).in_sample()


def test_noise_is_taken_off():
    left_out = np.array([[0.3], [-0.3]])
    bags = BagSpread(np.array([1.0]), n_bags=100, n_without=np.array([50, 50]))
    moved = Perturbations(np.zeros(1), left_out, np.arange(2), bags=bags)
    assert moved.noise == pytest.approx(0.1)  # 1 / 50 - 1 / 100
    assert moved.debiased_rms() == pytest.approx(math.sqrt(0.08))
    assert moved.estimated_scale == pytest.approx(2.0)
    assert Perturbations(np.zeros(1), left_out / 10, np.arange(2), bags=bags).debiased_rms() == 0


def test_without_bags_there_is_no_noise_and_no_scale(moved):
    assert (moved.noise == 0).all()
    with pytest.raises(ValueError, match="no bags to estimate a scale"):
        _ = moved.estimated_scale
    with pytest.raises(ValueError, match="no bags to estimate a range"):
        _ = moved.estimated_range


@pytest.mark.parametrize("ending", [".npz", ".json"])
def test_files_are_read_back(moved, tmp_path, ending):
    bags = BagSpread(np.sqrt([1.0, 2.0]), n_bags=100, n_without=np.array([50, 49, 48, 47]))
    full = Perturbations(moved.prediction, moved.left_out, moved.rows, bags=bags)
    full.save(tmp_path / f"moved{ending}")
    again = Perturbations.load(tmp_path / f"moved{ending}")
    np.testing.assert_array_equal(again.left_out, full.left_out)
    np.testing.assert_array_equal(again.bags.n_without, bags.n_without)
    assert (again.bags.n_bags, again.bags.extent, again.distances) == (100, None, None)
    assert repr(again) == repr(full)
    with pytest.raises(ValueError, match=r"a .npz or .json file"):
        full.save(tmp_path / "moved.csv")


def test_a_frame_has_a_line_for_each_row_and_point(moved):
    frame = moved.to_frame()
    assert list(frame) == ["row", "point", "prediction", "left_out", "difference", "distance"]
    line = frame[(frame["row"] == 13) & (frame["point"] == 1)]
    pd.testing.assert_series_equal(line["difference"], line["distance"], check_names=False)
    assert line["distance"].item() == 1.0
    classes = Perturbations(np.zeros((2, 3)), np.zeros((4, 2, 3)), rows=np.arange(4)).to_frame()
    assert list(classes)[:3] == ["row", "point", "class"]
    assert len(classes) == 24


def test_repr_is_a_table(moved):
    text = repr(moved)
    assert text.startswith("Perturbations by 4 rows at 2 points\n")
    assert "largest" in text
    assert "noise" not in text


@pytest.mark.parametrize(("call", "words"), [
    (lambda moved: moved.delta(-1.0), "'epsilon' parameter of Perturbations.delta"),
    (lambda moved: moved.epsilon(1.5), "'delta' parameter of Perturbations.epsilon"),
    (lambda moved: moved.norm(0), "'order'"),
    (lambda moved: moved.mean("median"), "'over_points'"),
    (lambda moved: moved.most_influential(0), "'k'"),
    (lambda moved: Perturbations(np.zeros(2), np.zeros((3, 1)), rows=np.arange(3)), "'left_out'"),
])  # fmt: skip
def test_bad_input_is_refused(moved, call, words):
    with pytest.raises(ValueError, match=words):
        call(moved)


def test_the_worst_case_of_a_randomized_learner_is_over_rows_of_the_chance_over_seeds():
    distances = np.array([[[0.0], [0.3], [0.5]], [[0.9], [0.3], [0.0]], [[0.0], [0.3], [0.5]], [[0.0], [0.0], [0.5]]])
    moved = Perturbations(np.zeros(1), -distances.mean(axis=0), np.arange(3), distances=distances)
    assert moved.worst_case_delta(0.4).tolist() == [0.75]  # the third row, under three of four seeds
    assert moved.worst_case_delta(0.6).tolist() == [0.25]
    assert moved.worst_case_delta(0.2, "max") == 0.75
    assert moved.delta(0.4).tolist() == [4 / 12]  # on average over rows it is less
    alone = Perturbations(np.zeros(1), np.array([[0.1], [0.5]]), np.arange(2))
    assert [alone.worst_case_delta(epsilon)[0] for epsilon in (0.05, 0.3, 0.5)] == [1.0, 1.0, 0.0]


def test_distances_that_are_no_numbers_are_refused():
    distances = np.zeros((2, 3, 4))
    distances[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match="distances at point 3 is NaN"):
        Perturbations(np.zeros(4), np.zeros((3, 4)), np.arange(3), distances=distances)


def test_what_was_measured_is_saved_with_it(tmp_path):
    scope = Scope(4, Quantity.CLASS, Rerun.REUSED, 7, "abc", 1.0, 2)
    moved = Perturbations(np.zeros(2), np.zeros((4, 2)), np.arange(4), scope=scope)
    for name in ("moved.npz", "moved.json"):
        moved.save(tmp_path / name)
        assert Perturbations.load(tmp_path / name).scope == scope


def test_perturbations_of_a_classifier_are_taken_per_class_or_in_norm():
    prediction = np.array([[0.5, 0.5], [1.0, 0.0]])
    left_out = np.array([[[0.2, 0.8], [1.0, 0.0]], [[0.5, 0.5], [0.9, 0.1]], [[0.6, 0.4], [0.4, 0.6]]])
    variance = np.array([[0.25, 0.25], [0.01, 0.04]])
    bags = BagSpread(np.sqrt(variance), n_bags=100, n_without=np.full(3, 50))
    moved = Perturbations(prediction, left_out, np.arange(3), bags=bags)
    norm = moved.in_norm()
    expected = math.sqrt(2) * np.array([[0.3, 0.0], [0.0, 0.1], [0.1, 0.6]])
    np.testing.assert_allclose(norm.values, expected)
    np.testing.assert_allclose(norm.epsilon(1 / 3), math.sqrt(2) * np.array([0.1, 0.1]))
    np.testing.assert_allclose(norm.noise, np.sqrt([0.5 * 0.01, 0.05 * 0.01]))
    np.testing.assert_array_equal(norm.most_influential(1)[0], moved.most_influential(1)[0])
    np.testing.assert_allclose(norm.most_influential(2)[1], math.sqrt(2) * np.array([[0.3, 0.1], [0.6, 0.1]]))
    with pytest.raises(ValueError, match="one number at each point"):
        norm.in_norm()


def test_norms_under_several_seeds_are_those_of_each_seed():
    distances = np.array([[[[0.3, 0.4]]], [[[0.6, 0.8]]]])  # two seeds, a row, a point, two classes
    moved = Perturbations(np.zeros((1, 2)), np.full((1, 1, 2), 0.45), np.arange(1), distances=distances)
    np.testing.assert_allclose(moved.in_norm().values, [[0.75]])
    np.testing.assert_allclose(moved.in_norm().delta(0.6), [0.5])


# ------------------------------------------------------------------------------------------------------------ decisions


def three_classes(n_rows=5, n_points=7):
    rng = np.random.default_rng(3)
    return Perturbations(
        rng.dirichlet(np.ones(3), n_points), rng.dirichlet(np.ones(3), (n_rows, n_points)), np.arange(n_rows)
    )


def test_a_decision_flips_where_another_class_is_ahead_without_the_row():
    moved = three_classes()
    assert (moved.flips() == (moved.left_out.argmax(axis=2) != moved.prediction.argmax(axis=1))).all()


def test_a_tie_is_no_flip():
    prediction = np.array([[0.5, 0.5], [0.6, 0.4]])
    left_out = np.array([[[0.4, 0.6], [0.5, 0.5]], [[0.5 - 1e-17, 0.5], [0.5 - 1e-16, 0.5 + 1e-16]]])
    moved = Perturbations(prediction, left_out, np.arange(2))
    assert moved.flips().tolist() == [[True, False], [False, False]]


def test_a_rule_of_ones_own_flips_where_no_label_is_in_both(monkeypatch):
    moved = three_classes()

    def above(scores):
        return scores > 0.3

    expected = ~(above(moved.left_out) & above(moved.prediction)).any(axis=2)
    assert (moved.flips(above) == expected).all()
    monkeypatch.setattr("stablebag.measuring.perturbations._BLOCK_BYTES", 8 * 5 * 3 * 2)  # two points at a time
    assert (moved.flips(above) == expected).all()


def test_numbers_are_no_decisions():
    with pytest.raises(ValueError, match="Decisions are between classes"):
        Perturbations(np.array([0.5]), np.array([[0.4]]), np.arange(1)).flips()


@pytest.mark.parametrize("ending", [".npz", ".json"])
def test_a_file_says_its_format_and_one_of_another_is_refused(moved, tmp_path, ending):
    path = tmp_path / f"moved{ending}"
    moved.save(path)
    read = dict(np.load(path)) if ending == ".npz" else json.loads(path.read_text())

    def write(values):
        if ending == ".npz":
            np.savez(path, **values)
        else:
            path.write_text(json.dumps(values))

    assert read.pop("format") == 1
    write(read)
    assert repr(Perturbations.load(path)) == repr(moved)  # those of before formats were named are of the first
    write({**read, "format": 2, "left_out": "in the new way"})
    with pytest.raises(ValueError, match=r"^The file '.*' is written in format 2, and .* reads format 1\."):
        Perturbations.load(path)


def test_complex_losses_are_refused(moved):
    with pytest.raises(TypeError, match="losses are real numbers, and these are complex"):
        moved.loss(lambda prediction, y: prediction - y, np.array([1j, 2j]))
