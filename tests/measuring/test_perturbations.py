import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FixedRange,
    ObservedRange,
    PerturbationDisplay,
    PoissonizedBagging,
    StabilityCurveDisplay,
    Subbagging,
    TrimmedRange,
    leave_one_out,
    leave_one_out_refit,
)
from stablebag.measuring import Perturbations
from stablebag.measuring.leave_one_out import perturbations_of
from stablebag.measuring.perturbations import BagSpread, Names, exceeded_by, norm, share_above, shares_above
from stablebag.models import average as average_module
from stablebag.models.average import BagAverage, LazyLeftOut, SparseLeftOut
from stablebag.models.ranges import PredictionRange
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.resampling import Bags
from stablebag.resampling.units import RowIds, Units

# -------------------------------------------------------------------------------------------------------- perturbations


@pytest.fixture
def moved():
    left_out = np.array([[0.4, 2.0], [0.8, 2.0], [0.5, 2.5], [0.6, 1.0]])
    return Perturbations(np.array([0.5, 2.0]), left_out, rows=np.array([10, 11, 12, 13]))


def test_values_are_absolute_and_differences_have_a_sign(moved):
    np.testing.assert_allclose(moved.values, [[0.1, 0], [0.3, 0], [0, 0.5], [0.1, 1.0]], atol=1e-15)
    np.testing.assert_allclose(moved.differences[:, 1], [0, 0, -0.5, 1.0])


def test_delta_counts_strictly_larger_changes():
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


def test_curve_equals_delta_at_every_step(moved):
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


def test_delta_over_repeats_is_a_share_of_seeds():
    distances = np.array([[[0.0], [1.0]], [[1.0], [1.0]]])  # two seeds, two rows, one point
    moved = Perturbations(np.zeros(1), np.zeros((2, 1)), rows=np.arange(2), distances=distances)
    assert moved.delta(0.5) == [0.75]
    np.testing.assert_allclose(moved.values, [[0.5], [1.0]])
    assert moved.epsilon(0.75) == [0.0]


def test_most_influential_returns_signed_effects(moved):
    rows, effects = moved.most_influential(2)
    assert rows.tolist() == [[11, 10], [13, 12]]
    np.testing.assert_allclose(effects, [[-0.3, 0.1], [1.0, -0.5]])
    assert moved.most_influential(100)[0].shape == (2, 4)


def test_most_influential_rows_of_a_classifier_are_ordered_by_the_norm_over_classes():
    left_out = np.array([[[0.5, 0.5]], [[0.1, 0.9]], [[0.6, 0.4]]])
    moved = Perturbations(np.array([[0.5, 0.5]]), left_out, rows=np.arange(3))
    rows, effects = moved.most_influential(1)
    assert rows.tolist() == [[1]]
    np.testing.assert_allclose(effects, [[[0.4, -0.4]]])
    assert moved.max().shape == (1, 2)


def test_loss_returns_changes_of_the_loss(moved):
    squared = moved.loss(lambda f, y: (f - y) ** 2, [0.0, 1.0])
    np.testing.assert_allclose(squared.prediction, [0.25, 1.0])
    np.testing.assert_allclose(squared.left_out[3], [0.36, 0.0])
    with pytest.raises(ValueError, match=r"must be of shape \(2,\), one target for each point"):
        moved.loss(lambda f, y: f, [1.0])
    with pytest.raises(ValueError, match="one value for each of the 2 points"):
        moved.loss(lambda f, y: np.mean((f - y) ** 2), [0.0, 1.0])


def test_nonfinite_predictions_raise_an_error_that_names_the_point():
    with pytest.raises(ValueError, match="prediction at point 1 is NaN or infinite"):
        Perturbations(np.array([0.0, np.nan]), np.zeros((2, 2)), rows=np.arange(2))
    with pytest.raises(ValueError, match="without some row at point 0 is NaN or infinite"):
        Perturbations(np.zeros(2), np.array([[np.inf, 0.0]]), rows=np.arange(1))


def test_norms_of_a_large_order_do_not_underflow():
    assert Perturbations(np.zeros(1), np.full((3, 1), 0.1), rows=np.arange(3)).norm(400) == pytest.approx(0.1)


def test_in_sample_is_the_diagonal():
    moved = Perturbations(np.zeros(2), np.array([[1.0, 2.0], [3.0, 4.0]]), rows=np.arange(2))
    assert moved.in_sample().tolist() == [1.0, 4.0]
    assert Perturbations(np.zeros(2), np.array([[3.0, 4.0]]), rows=np.array([1])).in_sample().tolist() == [4.0]
    with pytest.raises(ValueError, match="needs the training rows as points, but row 1 is not among the 1 points"):
        Perturbations(np.zeros(1), np.zeros((2, 1)), rows=np.arange(2)).in_sample()


def test_debiased_rms_removes_the_noise():
    left_out = np.array([[0.3], [-0.3]])
    bags = BagSpread(np.array([1.0]), n_bags=100, n_without=np.array([50, 50]))
    moved = Perturbations(np.zeros(1), left_out, np.arange(2), bags=bags)
    assert moved.noise == pytest.approx(0.1)  # 1 / 50 - 1 / 100
    assert moved.debiased_rms() == pytest.approx(math.sqrt(0.08))
    assert moved.estimated_scale == pytest.approx(2.0)
    assert Perturbations(np.zeros(1), left_out / 10, np.arange(2), bags=bags).debiased_rms() == 0


def test_without_bags_there_is_no_noise_and_no_scale(moved):
    assert (moved.noise == 0).all()
    with pytest.raises(ValueError, match="estimated_scale needs reused bags"):
        _ = moved.estimated_scale
    with pytest.raises(ValueError, match="estimated_range needs reused bags"):
        _ = moved.estimated_range


@pytest.mark.parametrize("ending", [".npz", ".json"])
def test_saved_files_can_be_loaded(moved, tmp_path, ending):
    bags = BagSpread(np.sqrt([1.0, 2.0]), n_bags=100, n_without=np.array([50, 49, 48, 47]))
    full = Perturbations(moved.prediction, moved.left_out, moved.rows, bags=bags)
    full.save(tmp_path / f"moved{ending}")
    again = Perturbations.load(tmp_path / f"moved{ending}")
    np.testing.assert_array_equal(again.left_out, full.left_out)
    np.testing.assert_array_equal(again.bags.n_without, bags.n_without)
    assert (again.bags.n_bags, again.bags.extent, again.distances) == (100, None, None)
    assert repr(again) == repr(full)
    with pytest.raises(ValueError, match=r"ends in \.npz or \.json"):
        full.save(tmp_path / "moved.csv")


def test_to_frame_has_a_line_for_each_row_and_point(moved):
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
    assert text.startswith("Perturbations: 4 rows left out one at a time, 2 points\n")
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
def test_bad_input_raises(moved, call, words):
    with pytest.raises(ValueError, match=words):
        call(moved)


def test_worst_case_delta_is_the_largest_share_of_seeds_over_rows():
    distances = np.array([[[0.0], [0.3], [0.5]], [[0.9], [0.3], [0.0]], [[0.0], [0.3], [0.5]], [[0.0], [0.0], [0.5]]])
    moved = Perturbations(np.zeros(1), -distances.mean(axis=0), np.arange(3), distances=distances)
    assert moved.worst_case_delta(0.4).tolist() == [0.75]  # the third row, under three of four seeds
    assert moved.worst_case_delta(0.6).tolist() == [0.25]
    assert moved.worst_case_delta(0.2, "max") == 0.75
    assert moved.delta(0.4).tolist() == [4 / 12]  # on average over rows it is less
    alone = Perturbations(np.zeros(1), np.array([[0.1], [0.5]]), np.arange(2))
    assert [alone.worst_case_delta(epsilon)[0] for epsilon in (0.05, 0.3, 0.5)] == [1.0, 1.0, 0.0]


def test_nan_distances_raise():
    distances = np.zeros((2, 3, 4))
    distances[1, 2, 3] = np.nan
    with pytest.raises(ValueError, match="distance at point 3 is NaN"):
        Perturbations(np.zeros(4), np.zeros((3, 4)), np.arange(3), distances=distances)


def test_scope_is_saved(tmp_path):
    scope = Scope(4, Quantity.CLASS, Rerun.REUSED, 7, "abc", 1.0, 2)
    moved = Perturbations(np.zeros(2), np.zeros((4, 2)), np.arange(4), scope=scope)
    for name in ("moved.npz", "moved.json"):
        moved.save(tmp_path / name)
        assert Perturbations.load(tmp_path / name).scope == scope


def test_changes_of_a_classifier_are_per_class_or_in_norm():
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
    with pytest.raises(ValueError, match="each point has one number"):
        norm.in_norm()


def test_in_norm_with_several_seeds_takes_the_norm_of_each_seed():
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


def test_a_decision_flips_if_another_class_leads_without_the_row():
    moved = three_classes()
    assert (moved.flips() == (moved.left_out.argmax(axis=2) != moved.prediction.argmax(axis=1))).all()


def test_a_tie_is_not_a_flip():
    prediction = np.array([[0.5, 0.5], [0.6, 0.4]])
    left_out = np.array([[[0.4, 0.6], [0.5, 0.5]], [[0.5 - 1e-17, 0.5], [0.5 - 1e-16, 0.5 + 1e-16]]])
    moved = Perturbations(prediction, left_out, np.arange(2))
    assert moved.flips().tolist() == [[True, False], [False, False]]


def test_a_custom_rule_flips_if_no_label_is_in_both_sets(monkeypatch):
    moved = three_classes()

    def above(scores):
        return scores > 0.3

    expected = ~(above(moved.left_out) & above(moved.prediction)).any(axis=2)
    assert (moved.flips(above) == expected).all()
    monkeypatch.setattr("stablebag.measuring.perturbations._BLOCK_BYTES", 8 * 5 * 3 * 2)  # two points at a time
    assert (moved.flips(above) == expected).all()


def test_flips_rejects_regressors():
    with pytest.raises(ValueError, match="flips needs the class probabilities"):
        Perturbations(np.array([0.5]), np.array([[0.4]]), np.arange(1)).flips()


@pytest.mark.parametrize("ending", [".npz", ".json"])
def test_files_have_a_format_and_unknown_formats_raise(moved, tmp_path, ending):
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


def test_complex_losses_raise(moved):
    with pytest.raises(TypeError, match="complex numbers instead of real ones"):
        moved.loss(lambda prediction, y: prediction - y, np.array([1j, 2j]))


# ---------------------------------------------------------------------------------------------------------------- names


@pytest.fixture
def frames():
    """A table whose index is in disorder, as after a split; the target is one of its columns."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)}, index=rng.permutation(60) + 100)
    frame["y"] = frame.a + rng.normal(size=60)
    return frame[:45], frame[45:]


def bagged(**more):
    return BaggedRegressor(DecisionTreeRegressor(random_state=0), n_bags=60, random_state=0, **more)


def test_to_frame_can_be_joined_on_the_index(frames):
    train, test = frames
    moved = leave_one_out(bagged().fit(train[["a", "b"]], train.y), test[["a", "b"]])
    frame = moved.to_frame()
    assert len(frame) == 45 * 15
    joined = frame.join(train.y.rename("target"), on="row").join(test.a.rename("at"), on="point")
    np.testing.assert_array_equal(
        joined.target.to_numpy().reshape(45, 15), np.repeat(train.y.to_numpy()[:, None], 15, 1)
    )
    np.testing.assert_array_equal(joined["at"].to_numpy().reshape(45, 15)[0], test.a)
    np.testing.assert_array_equal(frame.left_out.to_numpy().reshape(45, 15), moved.left_out)


def test_most_influential_rows_have_the_index_of_the_training_frame(frames):
    train, test = frames
    moved = leave_one_out(bagged().fit(train[["a", "b"]], train.y), test[["a", "b"]])
    named = moved.most_influential(3)[0]
    positions = np.argsort(-moved.values, axis=0, kind="stable")[:3].T
    np.testing.assert_array_equal(named, train.index.to_numpy()[positions])


def test_row_ids_take_precedence_over_the_index(frames):
    train, test = frames
    names = [f"row {k}" for k in range(45)]
    moved = leave_one_out(bagged().fit(train[["a", "b"]], train.y, row_ids=names), test[["a", "b"]])
    assert set(moved.most_influential(2)[0].ravel()) <= set(names)


def test_without_an_index_rows_and_points_are_numbered(frames):
    train, test = (frame[["a", "b"]].to_numpy() for frame in frames)
    moved = leave_one_out(bagged().fit(train, frames[0].y), test)
    assert moved.names.rows is None
    assert moved.to_frame().row.unique().tolist() == list(range(45))
    counted = frames[0].reset_index(drop=True)
    again = leave_one_out(bagged().fit(counted[["a", "b"]], counted.y), frames[1][["a", "b"]])
    assert again.names.rows is None


def test_to_frame_has_class_labels():
    X, y = load_iris(return_X_y=True, as_frame=True)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    moved = leave_one_out(BaggedClassifier(DecisionTreeClassifier(), n_bags=50, random_state=0).fit(X, labels), X[:2])
    assert moved.to_frame()["class"].unique().tolist() == ["setosa", "versicolor", "virginica"]
    assert moved.in_norm().to_frame().columns.tolist()[:3] == ["row", "point", "prediction"]
    refits = leave_one_out_refit(DecisionTreeClassifier(random_state=0), X, labels, X[:2], rows=[0, 1])
    assert refits.to_frame()["class"].unique().tolist() == ["setosa", "versicolor", "virginica"]


def test_predict_once_keeps_the_index_of_the_points(frames):
    train, test = frames
    model = bagged().fit(train[["a", "b"]], train.y)
    once = model.predict_once(test[["a", "b"]])
    assert leave_one_out(model, once).to_frame().point.unique().tolist() == test.index.tolist()
    assert leave_one_out(model, once[3:5]).to_frame().point.unique().tolist() == test.index[3:5].tolist()


@pytest.mark.parametrize("ending", [".npz", ".json"])
def test_names_are_saved_and_loaded(frames, ending, tmp_path):
    train, test = frames
    days = pd.Series(pd.date_range("2020-01-01", periods=9).repeat(5), name="day")
    moved = leave_one_out(bagged().fit(train[["a", "b"]], train.y, groups=days), test[["a", "b"]])
    moved.save(tmp_path / f"moved{ending}")
    again = Perturbations.load(tmp_path / f"moved{ending}")
    assert again.noun == moved.noun
    assert again.names.points.tolist() == test.index.tolist()
    assert again.names.rows[0] == "2020-01-01T00:00:00.000000000"
    assert again.to_frame().shape == moved.to_frame().shape


def test_names_are_written_as_numbers_and_strings():
    names = Names(np.array([1, "a", (2, "b")], dtype=object), pd.Index([3, 4]), np.array([True, False]))
    written = json.loads(json.dumps(names.to_dict()))
    assert written == {"rows": [1, "a", "(2, 'b')"], "points": [3, 4], "classes": [True, False]}
    again = Names.from_dict(written)
    assert again.points.tolist() == [3, 4]
    assert again.classes.tolist() == [True, False]
    assert Names.from_dict({}).of_rows(np.array([5])).tolist() == [5]


def test_numbered_units_have_no_names():
    assert Names.of(Units(RowIds(None, 3))).rows is None
    assert Names.of(Units.of_groups([5, 5, 7], 3)).rows.tolist() == [5, 7]


# ------------------------------------------------------------------------------------------------------------ summaries


COUNTS = np.array([3, 0, 1, 5, 2])
LINES = np.random.default_rng(0).integers(0, 4, size=(5, 3, 2)) / 4
ROWS = np.repeat(LINES, COUNTS, axis=0)


@pytest.mark.parametrize("order", [0.5, 1, 2, 3, 40, math.inf])
def test_norms_of_lines_with_counts_equal_those_of_all_rows(order):
    lines = LINES * (COUNTS > 0)[:, None, None]  # a line without rows has no distance
    np.testing.assert_allclose(norm(lines, order, COUNTS), norm(ROWS, order), rtol=1e-14)


@pytest.mark.parametrize("level", [0.0, 0.25, 0.3, 1.0])
def test_shares_of_lines_with_counts_equal_those_of_all_rows(level):
    np.testing.assert_array_equal(share_above(LINES, level, COUNTS), share_above(ROWS, level))
    np.testing.assert_array_equal(shares_above(LINES, np.array([level]), COUNTS)[..., 0], share_above(ROWS, level))
    np.testing.assert_array_equal(shares_above(ROWS, np.array([level]))[..., 0], share_above(ROWS, level))


@pytest.mark.parametrize("allowed", range(13))
def test_order_statistics_of_lines_with_counts_equal_those_of_all_rows(allowed):
    np.testing.assert_array_equal(exceeded_by(allowed, LINES, COUNTS), exceeded_by(allowed, ROWS))


# ----------------------------------------------------------------------------------------------------------- bag spread


POINTS = np.array([2.0, 4.0])


def test_noise_comes_from_the_bags_that_the_averages_do_not_share():
    spread = BagSpread(POINTS, n_bags=10, n_without=np.array([5, 2]))
    assert spread.noise == pytest.approx(POINTS * np.sqrt(((1 / 5 - 1 / 10) + (1 / 2 - 1 / 10)) / 2))


def test_with_all_bags_there_is_no_noise():
    assert BagSpread(POINTS).noise.tolist() == [0.0, 0.0]


def test_valid_bag_spreads_are_accepted():
    values = {"deviation": POINTS, "extent": POINTS, "n_bags": 10, "n_without": np.array([5, 2])}
    assert BagSpread.checked(values, (2,)).n_bags == 10


@pytest.mark.parametrize("wrong", [
    {"deviation": np.array([np.nan, 1.0])}, {"deviation": -POINTS}, {"deviation": POINTS[:1]},
    {"extent": np.array([np.inf, 1.0])}, {"n_bags": -3}, {"n_bags": 2.5}, {"n_without": np.array([0, 1])},
])  # fmt: skip
def test_invalid_bag_spreads_raise(wrong):
    with pytest.raises(ValueError, match=r"must be finite and nonnegative|must be at least 1"):
        BagSpread.checked({"deviation": POINTS, **wrong}, (2,))


# --------------------------------------------------------------------------------------------------------- shared lines


RNG = np.random.default_rng(0)
X, Y, SHARED_POINTS = RNG.normal(size=(60, 2)), RNG.normal(size=60), RNG.normal(size=(4, 2))
GROUPS = np.arange(60) // 2
SCHEMES = [Subbagging(5), BernoulliSubbagging(0.04), ClassicalBagging(6), PoissonizedBagging(0.06)]
RANGES = [None, FixedRange(-1, 1), ObservedRange(), TrimmedRange(2)]


def both(model, points, monkeypatch, **fit):
    """The same perturbations, as an array with a line for each row and by patterns."""
    model = model.fit(*fit.pop("data", (X, Y)), **fit)
    dense = leave_one_out(model, points)
    with monkeypatch.context() as patch:
        patch.setattr(BagAverage, "_is_sparse", lambda *_, **__: True)
        shared = leave_one_out(model, points)
    assert isinstance(dense.left_out, np.ndarray)
    assert isinstance(shared.left_out, SparseLeftOut)
    return dense, shared


def assert_the_same(dense, shared):
    scale = max(1.0, float(np.abs(dense.left_out).max()))
    near = {"rtol": 1e-12, "atol": 1e-13 * scale}
    assert len(shared.rows) == len(dense.rows)
    assert shared.left_out.shape == dense.left_out.shape
    np.testing.assert_allclose(np.asarray(shared.left_out), dense.left_out, **near)
    np.testing.assert_allclose(shared.values, dense.values, **near)
    some = [3, -1, 0]
    np.testing.assert_allclose(shared.left_out[some], dense.left_out[some], **near)
    np.testing.assert_allclose(shared.left_out[2:5], dense.left_out[2:5], **near)
    np.testing.assert_allclose(shared.left_out[7], dense.left_out[7], **near)
    mask = np.arange(len(dense.left_out)) % 3 == 1
    np.testing.assert_allclose(shared.left_out[mask], dense.left_out[mask], **near)
    for wrong in ([1.9], mask[1:], ["a"]):
        with pytest.raises(IndexError, match="takes row numbers"):
            shared.left_out[wrong]
    for over in (None, "max", "mean"):
        for order in (1, 1.5, 2, 3, math.inf):
            np.testing.assert_allclose(shared.norm(order, over), dense.norm(order, over), **near)
        for share in (0.0, 0.01, 0.1, 0.5, 1.0):
            np.testing.assert_allclose(shared.epsilon(share, over), dense.epsilon(share, over), **near)
        for level in (*np.quantile(dense.values, [0.3, 0.7, 0.95]).tolist(), 0.0, float(dense.values.max())):
            # Halfway between two distances, because the two may be on other sides of a tie.
            distances = np.unique(np.append(dense.values.round(12), [0.0, 1e3]))
            place = min(np.searchsorted(distances, level), len(distances) - 2)
            between = float(distances[place] + distances[place + 1]) / 2
            np.testing.assert_array_equal(shared.delta(between, over), dense.delta(between, over))
    np.testing.assert_allclose(shared.noise, dense.noise, **near)
    np.testing.assert_allclose(shared.row_norms(), dense.row_norms(), **near)
    np.testing.assert_allclose(shared.debiased_rms("mean"), dense.debiased_rms("mean"), **near)
    assert repr(shared) == repr(dense)
    epsilon, delta = shared.curve()
    np.testing.assert_array_equal(delta, [shared.delta(level, "max") for level in epsilon])
    for k in (1, 5, 100):
        np.testing.assert_allclose(shared.most_influential(k)[1], dense.most_influential(k)[1], **near)
    rows, effects = shared.most_influential(7)
    points = np.arange(len(dense.prediction))[:, None]
    np.testing.assert_allclose(effects, dense.differences[rows, points], **near)
    assert all(len(set(line.tolist())) == 7 for line in rows)


@pytest.mark.kernels
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
@pytest.mark.parametrize("prediction_range", RANGES, ids=str)
@pytest.mark.parametrize("n_bags", [3, 30])
def test_summaries_of_shared_lines_equal_those_of_all_rows(scheme, prediction_range, n_bags, monkeypatch):
    about = {"n_bags": n_bags, "prediction_range": prediction_range, "random_state": 1}
    assert_the_same(*both(BaggedRegressor(DecisionTreeRegressor(), scheme=scheme, **about), SHARED_POINTS, monkeypatch))


@pytest.mark.kernels
@pytest.mark.parametrize("scheme", SCHEMES[:3], ids=str)
def test_groups_in_the_same_bags_share_a_line(scheme, monkeypatch):
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=scheme, n_bags=12, random_state=1)
    assert_the_same(*both(model, SHARED_POINTS, monkeypatch, groups=GROUPS))


@pytest.mark.kernels
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_rows_that_take_a_class_with_them_have_their_own_line(scheme, monkeypatch):
    labels = np.where(np.arange(60) < 30, "a", "b").astype(object)
    labels[11] = "alone"
    model = BaggedClassifier(GaussianNB(), scheme=scheme, n_bags=25, random_state=3)
    dense, shared = both(model, SHARED_POINTS, monkeypatch, data=(X, labels))
    assert_the_same(dense, shared)
    np.testing.assert_array_equal(shared.flips(), dense.flips())
    assert_the_same_norms(dense.in_norm(), shared.in_norm())


def assert_the_same_norms(dense, shared):
    for order in (1, 2, math.inf):
        np.testing.assert_allclose(shared.norm(order), dense.norm(order), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(shared.values, dense.values, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(shared.epsilon(0.1), dense.epsilon(0.1), rtol=1e-12, atol=1e-15)


@pytest.mark.kernels
@pytest.mark.parametrize("drawn", [True, False])
def test_rows_in_nearly_all_of_many_bags_lose_no_precision(drawn):
    """Against sums without any rounding; the sum over the bags with a row has 3,000 terms that cancel."""
    n, n_bags, rng = 6, 3_000, np.random.default_rng(0)
    bags = Bags([np.delete(np.arange(n), b % 5) if b < 15 else np.arange(1, n - 1) for b in range(n_bags)], n)
    raw = rng.normal(size=(n_bags, 2)) + 1000
    weights = np.full(n_bags, 1 / n_bags) if drawn else rng.dirichlet(np.ones(n_bags))
    law = Subbagging(4).resolve(n)
    lines = LazyLeftOut(BagAverage(law, bags, weights, drawn, np.empty(0)), raw)
    units = np.ones(n_bags) if drawn else weights
    for row in range(n - 1):
        there = bags.without(row)
        exact = [math.fsum(units[there] * raw[there, k]) / math.fsum(units[there]) for k in range(2)]
        for found in (lines[row], lines.lines(slice(None))[lines.line_of(np.array([row]))[0]]):
            np.testing.assert_allclose(found, exact, rtol=1e-14)


@pytest.mark.kernels
@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_norms_of_order_below_one_differ_by_at_most_rounding_to_that_power(scheme, monkeypatch):
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=scheme, n_bags=30, random_state=1)
    dense, shared = both(model, SHARED_POINTS, monkeypatch)
    off = np.abs(np.asarray(shared.values) - dense.values).max()
    assert off < 1e-14
    for order in (0.1, 0.5, 0.9):
        means = shared.norm(order) ** order, dense.norm(order) ** order
        assert (np.abs(means[0] - means[1]) <= off**order + 1e-14).all()


@pytest.mark.kernels
def test_shared_lines_work_with_weighted_bags(monkeypatch):
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=BernoulliSubbagging(0.3), n_bags="all")
    assert_the_same(*both(model, SHARED_POINTS, monkeypatch, data=(X[:8], Y[:8])))


def model_of_few_bags(**about):
    return BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(5), n_bags=6, random_state=0, **about)


@pytest.mark.kernels
def test_losses_and_files_keep_shared_lines(monkeypatch, tmp_path):
    dense, shared = both(model_of_few_bags(), SHARED_POINTS, monkeypatch)
    losses = [moved.loss(lambda f, y: (f - y) ** 2, np.arange(4.0)) for moved in (dense, shared)]
    assert_the_same_norms(*losses)
    for ending in (".npz", ".json"):
        shared.save(tmp_path / f"moved{ending}")
        again = Perturbations.load(tmp_path / f"moved{ending}")
        assert_the_same(dense, again)
        assert len(again.left_out.lines(slice(None))) == len(shared.left_out.counts) < 60


@pytest.mark.kernels
def test_displays_count_each_line_once_per_row(monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    dense, shared = both(model_of_few_bags(), SHARED_POINTS, monkeypatch)
    for point in (None, 2):
        bars = [PerturbationDisplay.from_perturbations({"one": moved}, point=point).bars_ for moved in (dense, shared)]
        corners = [bar["one"][0].get_xy() for bar in bars]
        np.testing.assert_allclose(corners[1], corners[0], rtol=1e-9, atol=1e-12)
    for moved in (dense, shared):
        StabilityCurveDisplay.from_perturbations(moved)


@pytest.mark.kernels
def test_to_frame_and_in_sample_cover_each_row(monkeypatch):
    pytest.importorskip("pandas")
    dense, shared = both(model_of_few_bags(), X, monkeypatch)
    np.testing.assert_allclose(shared.to_frame()["left_out"], dense.to_frame()["left_out"], rtol=1e-12)
    np.testing.assert_allclose(shared.in_sample(), dense.in_sample(), rtol=1e-12, atol=1e-15)


@pytest.mark.kernels
def test_streaming_shares_lines(monkeypatch):
    monkeypatch.setattr(average_module, "_DENSE_BYTES", 0)
    shared = leave_one_out(model_of_few_bags(), SHARED_POINTS, X_train=X, y_train=Y)
    assert isinstance(shared.left_out, SparseLeftOut)
    fitted = leave_one_out(model_of_few_bags().fit(X, Y), SHARED_POINTS)
    np.testing.assert_array_equal(shared.left_out.lines(slice(None)), fitted.left_out.lines(slice(None)))


@pytest.mark.kernels
def test_lines_are_not_shared_if_rows_are_in_many_bags(monkeypatch):
    monkeypatch.setattr(average_module, "_DENSE_BYTES", 0)
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(0.5), n_bags=30, random_state=0).fit(X, Y)
    assert isinstance(leave_one_out(model, SHARED_POINTS).left_out, np.ndarray)


@pytest.mark.kernels
def test_large_arrays_of_all_rows_raise(monkeypatch):
    _, shared = both(model_of_few_bags(), SHARED_POINTS, monkeypatch)
    monkeypatch.setattr(average_module, "MOST_BYTES", 8 * 60 * 4 - 1)
    sentence = r"An array of 60 rows by 4 points would need .* GiB, .* leave_one_out\(model, X, rows=...\)"
    for ask in (lambda: shared.values, lambda: shared.differences, shared.to_frame, lambda: shared.left_out[:]):
        with pytest.raises(ValueError, match=sentence):
            ask()
    assert shared.left_out[[1, 2]].shape == (2, 4)
    assert shared.max().shape == (4,)
    with pytest.raises(IndexError, match="There are only 60 rows"):
        shared.left_out[60]
    with pytest.raises(TypeError, match="Select rows first and then points"):
        shared.left_out[1, 2]


@pytest.mark.kernels
def test_arrays_larger_than_memory_raise(monkeypatch):
    model = model_of_few_bags().fit(X, Y)
    monkeypatch.setattr(average_module.os, "sysconf", lambda name: 1)
    with pytest.raises(ValueError, match=r"60 rows at 4 points would need .*rows=10_000"):
        leave_one_out(model, SHARED_POINTS)


# -------------------------------------------------------------------------------------------------------- some rows


@pytest.mark.kernels
@pytest.mark.parametrize("scheme", [Subbagging(5), Subbagging(0.5)], ids=str)
@pytest.mark.parametrize("prediction_range", RANGES, ids=str)
def test_a_result_for_some_rows_equals_those_rows_of_the_full_result(scheme, prediction_range):
    about = {"n_bags": 40, "prediction_range": prediction_range, "random_state": 0}
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=scheme, **about).fit(X, Y)
    everything, some = leave_one_out(model, SHARED_POINTS), np.array([int(Y.argmax()), 3, 59, int(Y.argmin())])
    moved = leave_one_out(model, SHARED_POINTS, rows=some)
    np.testing.assert_allclose(moved.left_out, everything.left_out[some], rtol=1e-12)
    assert moved.rows.tolist() == some.tolist()
    assert moved.scope.n_rows == 4
    np.testing.assert_array_equal(moved.bags.n_without, everything.bags.n_without[some])


@pytest.mark.kernels
def test_rows_can_be_drawn_at_random_and_the_repr_says_so():
    model = model_of_few_bags().fit(X, Y)
    moved = leave_one_out(model, SHARED_POINTS, rows=20, random_state=5)
    assert len(set(moved.rows.tolist())) == 20
    assert moved.rows.tolist() == leave_one_out(model, SHARED_POINTS, rows=20, random_state=5).rows.tolist()
    assert moved.rows.tolist() != leave_one_out(model, SHARED_POINTS, rows=20, random_state=6).rows.tolist()
    assert "Perturbations: 20 of 60 rows left out one at a time" in repr(moved)
    assert leave_one_out(model, SHARED_POINTS, rows=60).scope.n_rows is None


@pytest.mark.kernels
@pytest.mark.parametrize("rows", [0, 61, [60], [-1], [1, 1], [], [0.5], "a", [[1]], True])
def test_invalid_rows_raise(rows):
    with pytest.raises((ValueError, TypeError), match="'rows' parameter of leave_one_out must be"):
        leave_one_out(model_of_few_bags().fit(X, Y), SHARED_POINTS, rows=rows)


# ----------------------------------------------------------------------------------------------------- very many rows


class Known(PredictionRange):
    """A range that is known without the targets."""

    def interval(self, y):
        return (-2.0, 2.0)

    def changes(self, y, groups=None):
        return {7: (-2.0, 1.0)}


@pytest.mark.kernels
def test_a_billion_rows_are_summarized_without_an_array_of_all():
    n, law = 10**9, Subbagging(50).resolve(10**9)
    bags = law.draw(40, 0)
    raw = np.random.default_rng(0).normal(size=(40, 3))
    average = BagAverage(law, bags, np.full(40, 1 / 40), True, np.empty(0), Known())
    moved = perturbations_of(average, raw)
    clipped = np.clip(raw, -2, 2)
    mean = clipped.mean(axis=0)
    alone = np.abs(mean - (clipped.sum(axis=0) - clipped) / 39)  # rows that are in one bag alone
    special = np.abs(mean - np.clip(raw, -2, 1).mean(axis=0))  # in no bag, but without it the range is another
    assert 7 not in np.concatenate(list(bags))
    assert len(np.unique(np.concatenate(list(bags)))) == 2000
    np.testing.assert_allclose(moved.max(), np.maximum(alone.max(axis=0), special), rtol=1e-12)
    np.testing.assert_allclose(moved.mean(), (50 * alone.sum(axis=0) + special) / n, rtol=1e-12)
    np.testing.assert_allclose(moved.norm(2), np.sqrt((50 * (alone**2).sum(axis=0) + special**2) / n), rtol=1e-12)
    np.testing.assert_array_equal(moved.delta(1e-9), 2001 / n)
    np.testing.assert_array_equal(moved.epsilon(2001 / n), 0.0)
    rows, effects = moved.most_influential(3)
    np.testing.assert_allclose(np.abs(effects[:, 0]), moved.max(), rtol=1e-12)
    assert (rows[:, 0] < n).all()
    assert "1,000,000,000 rows" in repr(moved)
    with pytest.raises(ValueError, match=r"An array of 1,000,000,000 rows by 3 points would need 22.4 GiB"):
        _ = moved.values


@pytest.mark.kernels
def test_rows_in_no_bag_change_nothing_at_all():
    law = Subbagging(2).resolve(9)
    bags = Bags([[0, 1], [1, 2], [4, 5]], 9)
    average = BagAverage(law, bags, np.full(3, 1 / 3), True, np.empty(0))
    raw = np.array([[0.1], [0.2], [0.7]])
    lines = LazyLeftOut(average, raw)
    assert (lines[[3, 6, 7, 8]] == lines.prediction).all()
    np.testing.assert_allclose(lines[[0, 1, 2, 4, 5]].ravel(), [0.45, 0.7, 0.4, 0.15, 0.15], rtol=1e-15)
    assert lines.counts.tolist() == [4, 1, 1, 2, 1]
    assert lines.n_without.tolist() == [3, 2, 2, 2, 1]
