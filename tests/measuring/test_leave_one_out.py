"""Leave-one-out for free equals brute force, equals refitting, and says what is noise."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, load_linnerud
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from rounding import assert_same_sums
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    FunctionRegressor,
    ObservedRange,
    PoissonizedBagging,
    Subbagging,
    TrimmedRange,
    certify,
    leave_one_out,
    leave_one_out_error,
    leave_one_out_refit,
    predict_interval,
)
from stablebag.measuring import Perturbations
from stablebag.measuring.leave_one_out import left_out_at_rows, perturbations_of, undecided_blocks
from stablebag.measuring.perturbations import flipped
from stablebag.models.average import BagAverage
from stablebag.models.fitted import Fitted
from stablebag.paper.counterexamples import Memorizer
from stablebag.proving import VectorOutputs
from stablebag.proving.bounds import memorizer_in_sample_delta
from stablebag.proving.scope import Quantity, refuse_mismatch

pytestmark = pytest.mark.kernels

SCHEMES = [Subbagging(0.5), BernoulliSubbagging(0.4), ClassicalBagging(1.0), PoissonizedBagging(0.5)]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(25, 3)), rng.normal(size=25), rng.normal(size=(7, 3))


# --------------------------------------------------------------------------------------------- from the bags themselves


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_left_out_is_the_average_over_the_bags_without_the_row(scheme, data):
    X, y, points = data
    model = BaggedRegressor(scheme=scheme, n_bags=150, prediction_range=FixedRange(-1, 1), random_state=0).fit(X, y)
    moved = leave_one_out(model, points)
    each = model.bag_predictions(points)
    np.testing.assert_allclose(moved.prediction, model.predict(points), atol=1e-12)
    for row in range(25):
        np.testing.assert_allclose(moved.left_out[row], each[model.bags_.without(row)].mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(moved.bags.deviation, each.std(axis=0, ddof=1))
    np.testing.assert_allclose(moved.bags.extent, np.ptp(each, axis=0))
    assert (moved.estimated_scale <= moved.estimated_range * 1.01).all()


@pytest.mark.parametrize("prediction_range", [TrimmedRange(3), lambda y: (y.mean() - 0.3, y.mean() + 0.3)])
def test_predictions_without_a_row_are_clipped_to_the_range_without_it(prediction_range, data):
    X, y, points = data
    model = BaggedRegressor(
        LinearRegression(),
        scheme=BernoulliSubbagging(0.1),
        n_bags=300,
        prediction_range=prediction_range,
        random_state=0,
    ).fit(X, y)
    moved = leave_one_out(model, points)
    empty = model.bags_.sizes == 0
    assert empty.any()
    each = np.array([estimator.predict(points) for estimator in model.estimators_])
    for row in range(25):
        low, high = model.prediction_range_(np.delete(y, row))
        raw = each.copy()
        raw[empty] = (low + high) / 2
        expected = np.clip(raw, low, high)[model.bags_.without(row)].mean(axis=0)
        np.testing.assert_allclose(moved.left_out[row], expected, atol=1e-12)


def test_classifiers_return_the_probability_of_each_class():
    X, y = load_iris(return_X_y=True)
    model = BaggedClassifier(DecisionTreeClassifier(), n_bags=80, random_state=0).fit(X, y)
    moved = leave_one_out(model, X[::10])
    assert moved.left_out.shape == (150, 15, 3)
    np.testing.assert_allclose(moved.left_out.sum(axis=2), 1)
    each = model.bag_predictions(X[::10])
    np.testing.assert_allclose(moved.left_out[7], each[model.bags_.without(7)].mean(axis=0))


@pytest.mark.slow
def test_results_do_not_depend_on_the_block_size(data, monkeypatch):
    X, y, points = data
    model = BaggedRegressor(n_bags=100, random_state=0).fit(X, y)
    whole = leave_one_out(model, points)
    monkeypatch.setattr("stablebag.models.average._BLOCK_BYTES", 1)
    assert_same_sums(leave_one_out(model, points).left_out, whole.left_out, model, y)


@pytest.mark.slow
def test_streaming_gives_the_same_numbers_without_fitting_the_model(data):
    X, y, points = data
    for model in (
        BaggedRegressor(n_bags=60, random_state=0),
        BaggedRegressor(n_bags=60, n_jobs=2, prediction_range=None, scheme=ClassicalBagging(), random_state=0),
        BaggedRegressor(KNeighborsRegressor(1), scheme=Subbagging(2), n_bags="all"),
    ):
        kept = leave_one_out(clone(model).fit(X, y), points)
        streamed = leave_one_out(model, points, X_train=X, y_train=y)
        assert_same_sums(streamed.left_out, kept.left_out, 60, y)
        np.testing.assert_array_equal(streamed.prediction, kept.prediction)
        assert not hasattr(model, "bags_")
        some = leave_one_out(model, points, rows=[3, 1], X_train=X, y_train=y)
        np.testing.assert_allclose(some.left_out, kept.left_out[[3, 1]], rtol=1e-12)


def test_streaming_passes_fit_params_on(data):
    X, y, points = data
    weight = np.arange(1.0, 26.0)
    model = BaggedRegressor(Ridge(), n_bags=40, random_state=0)
    streamed = leave_one_out(model, points, X_train=X, y_train=y, fit_params={"sample_weight": weight})
    kept = leave_one_out(model.fit(X, y, sample_weight=weight), points)
    np.testing.assert_array_equal(streamed.prediction, kept.prediction)
    assert_same_sums(streamed.left_out, kept.left_out, model, y)


def test_a_row_in_every_bag_raises_an_error_that_names_it(data):
    X, y, points = data
    model = BaggedRegressor(scheme=Subbagging(24), n_bags=5, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"With 5 bags, \d+ rows are never left out\. Use \d+ bags or more"):
        leave_one_out(model, points)


def test_leave_one_out_rejects_unfitted_and_other_models(data):
    X, y, points = data
    with pytest.raises(TypeError, match="for other estimators, use leave_one_out_refit"):
        leave_one_out(Ridge().fit(X, y), points)
    with pytest.raises(ValueError, match="is not fitted"):
        leave_one_out(BaggedRegressor(), points)
    with pytest.raises(TypeError, match="'model' parameter of leave_one_out"):
        leave_one_out(Ridge(), points, X_train=X, y_train=y)


def test_y_train_and_fit_params_need_x_train(data):
    X, y, points = data
    model = BaggedRegressor(n_bags=20, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"'y_train' parameter of leave_one_out must be None .* Pass X_train as well"):
        leave_one_out(model, points, y_train=y)
    with pytest.raises(ValueError, match="'fit_params' parameter of leave_one_out must be None if X_train is None"):
        leave_one_out(model, points, fit_params={})
    with pytest.raises(TypeError, match="'fit_params' parameter of leave_one_out must be None or a dict"):
        leave_one_out(model, points, X_train=X, y_train=y, fit_params=3)


@pytest.mark.slow
@pytest.mark.parametrize(
    "scheme", [Subbagging(2), Subbagging(5), BernoulliSubbagging(0.4), ClassicalBagging(3)], ids=str
)
@pytest.mark.parametrize("prediction_range", [None, FixedRange(-0.5, 0.5), TrimmedRange(2)], ids=str)
def test_with_all_bags_leaving_out_equals_refitting_under_the_law_without_one(scheme, prediction_range):
    rng = np.random.default_rng(1)
    X, y, points = rng.normal(size=(6, 1)), rng.normal(size=6), rng.normal(size=(4, 1))
    model = BaggedRegressor(KNeighborsRegressor(1), scheme=scheme, n_bags="all", prediction_range=prediction_range)
    reused, refitted = leave_one_out(model.fit(X, y), points), leave_one_out_refit(model, X, y, points)
    np.testing.assert_allclose(reused.prediction, refitted.prediction, atol=1e-12)
    np.testing.assert_allclose(reused.left_out, refitted.left_out, atol=1e-12)


# -------------------------------------------------------------------------------------------- theorems, on measurements


@pytest.mark.parametrize("scheme", [Subbagging(3), BernoulliSubbagging(0.5), ClassicalBagging(4)], ids=str)
def test_with_all_bags_changes_obey_the_certificate_and_the_mixture_identity(scheme):
    rng = np.random.default_rng(0)
    X, y, points = rng.normal(size=(7, 2)), rng.normal(size=7), rng.normal(size=(30, 2))
    model = BaggedRegressor(DecisionTreeRegressor(random_state=0), scheme=scheme, n_bags="all").fit(X, y)
    moved, certificate = leave_one_out(model, points), certify(model)
    for rows in range(8):
        assert moved.epsilon(rows / 7, over_points="max") <= certificate.epsilon(rows / 7) + 1e-12
    assert moved.mean("max") <= certificate.mean() + 1e-12
    fixed = BaggedRegressor(DecisionTreeRegressor(random_state=0), scheme=scheme, n_bags="all", prediction_range=None)
    moved = leave_one_out(fixed.fit(X, y), points)
    inside, weights, each = fixed.bags_.inclusion, Fitted(fixed).average.weights, fixed.bag_predictions(points)
    p = fixed.scheme_.inclusion_probability
    for row in range(7):
        weight = weights * inside[:, row]
        with_row = weight @ each / weight.sum()
        np.testing.assert_allclose(moved.prediction, p * with_row + (1 - p) * moved.left_out[row], atol=1e-12)


def test_the_memorizer_changes_by_p_at_its_own_rows():
    X, y = Memorizer.data_set(6)
    model = BaggedRegressor(Memorizer(), scheme=Subbagging(2), n_bags="all", prediction_range=FixedRange(0, 1))
    in_sample = leave_one_out(model.fit(X, y), X).in_sample()
    np.testing.assert_allclose(in_sample, 1 / 3)


@pytest.mark.parametrize(("n", "m"), [(6, 2), (7, 3), (9, 4)])
def test_the_memorizer_is_unstable_at_its_own_rows_below_p_and_stable_from_p_on(n, m):
    X, y = Memorizer.data_set(n)
    model = BaggedRegressor(Memorizer(), scheme=Subbagging(m), n_bags="all", prediction_range=FixedRange(0, 1))
    moved = leave_one_out(model.fit(X, y), X)
    for epsilon in (0.2 * m / n, m / n - 1e-9, m / n, m / n + 1e-9):
        assert moved.in_sample_delta(epsilon) == memorizer_in_sample_delta(epsilon, p=m / n)


def test_a_class_that_vanishes_with_its_row_is_forgotten_by_empty_bags():
    X, y = np.arange(6.0)[:, None], np.array(list("aabbbc"))
    model = BaggedClassifier(KNeighborsClassifier(1), scheme=BernoulliSubbagging(0.4), n_bags="all").fit(X, y)
    refitted = leave_one_out_refit(model, X, y, X)
    np.testing.assert_allclose(leave_one_out(model, X).left_out, refitted.left_out, atol=1e-12)


def test_infinite_predictions_raise(data):
    X, y, points = data
    learner = FunctionRegressor(lambda X, y, seed: lambda points: np.full(len(points), np.inf if seed % 2 else 0.0))
    model = BaggedRegressor(learner, n_bags=40, prediction_range=None, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="NaN or infinite"), np.errstate(invalid="ignore"):
        leave_one_out(model, points)


def test_left_out_at_rows_is_cached_until_the_next_fit(data, monkeypatch):
    table, target, _ = data
    model = BaggedRegressor(LinearRegression(), n_bags=40, random_state=0).fit(table, target)
    first = left_out_at_rows(model)
    with monkeypatch.context() as patch:
        patch.setattr(Fitted, "raw_blocks", None)  # would fail if it were called
        np.testing.assert_array_equal(left_out_at_rows(model), first)
    with pytest.raises(ValueError, match="read-only"):
        first[:] = 0
    assert "_memory" not in pickle.loads(pickle.dumps(model)).__dict__
    model.fit(table, -target)
    np.testing.assert_allclose(left_out_at_rows(model)[:3] * -1, left_out_at_rows(clone(model).fit(table, target))[:3])


def test_left_out_at_rows_needs_keep_rows():
    X, y = np.arange(8.0)[:, None], np.arange(8.0)
    model = BaggedRegressor(n_bags=30, keep_rows=False, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"the model did not store them\. Fit it with keep_rows=True"):
        leave_one_out_error(model)
    with pytest.raises(ValueError, match="the model did not store them"):
        predict_interval(model, X)
    assert leave_one_out(model, X).left_out.shape == (8, 8)  # which needs none


def test_undecided_blocks_skips_only_points_where_no_row_can_flip_the_class(monkeypatch):
    monkeypatch.setattr("stablebag.measuring.leave_one_out._LEFT_OUT", 1000)  # blocks of few points
    rng = np.random.default_rng(0)
    X, points = rng.normal(size=(60, 2)), rng.normal(size=(300, 2))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=60), [-0.5, 0.5])
    model = BaggedClassifier(DecisionTreeClassifier(), n_bags=30, random_state=0).fit(X, y)
    moved = leave_one_out(model, points)
    expected = moved.flips()
    places = []
    for some, prediction, left_out in undecided_blocks(model, points):
        places += some.tolist()
        np.testing.assert_allclose(left_out, moved.left_out[:, some], rtol=0, atol=1e-15)
        np.testing.assert_array_equal(flipped(prediction, left_out), expected[:, some])
    certain = np.setdiff1d(np.arange(300), places)
    assert len(places) == len(set(places))
    assert 0 < len(certain) < 300
    assert not expected[:, certain].any()
    assert expected.any()


@pytest.mark.parametrize("special", ["all bags", "a class of one row"])
def test_undecided_blocks_skips_nothing_with_all_bags_or_special_rows(special):
    X = np.arange(6.0)[:, None]
    if special == "all bags":
        model = BaggedClassifier(DecisionTreeClassifier(), n_bags="all").fit(X, [0, 0, 0, 1, 1, 1])
    else:
        scheme = BernoulliSubbagging(0.3)  # some bags are empty
        model = BaggedClassifier(DecisionTreeClassifier(), scheme=scheme, n_bags=80, random_state=0)
        model.fit(X, [0, 0, 0, 1, 1, 2])
    assert np.concatenate([some for some, *_ in undecided_blocks(model, X)]).tolist() == list(range(6))


# ------------------------------------------------------------------------------------------------------ several outputs


def test_several_outputs_are_measured_as_each_alone():
    X, y = load_linnerud(return_X_y=True, as_frame=True)
    model = BaggedRegressor(Ridge(), n_bags=60, random_state=0).fit(X, y)
    moved = leave_one_out(model, X[:4])
    assert moved.left_out.shape == (20, 4, 3)
    assert moved.scope.quantity is Quantity.OUTPUT
    assert list(moved.to_frame().columns[:3]) == ["row", "point", "output"]
    assert moved.to_frame()["output"].unique().tolist() == list(y)
    assert "4 points, 3 outputs" in repr(moved)
    at = model.predict_once(X[:4])
    for place, name in enumerate(y):
        alone = leave_one_out(model.output(name), at)
        np.testing.assert_allclose(alone.left_out, moved.left_out[..., place], rtol=1e-12)
        np.testing.assert_allclose(alone.noise, moved.noise[:, place])
        assert alone.scope.mismatch(certify(model.output(name), reused=True).scope) is None
    streamed = leave_one_out(model, X[:4], X_train=X, y_train=y)
    np.testing.assert_array_equal(streamed.prediction, moved.prediction)
    assert_same_sums(streamed.left_out, moved.left_out, model, at.raw)
    some = leave_one_out(model, X[:4], rows=[3, 7])
    np.testing.assert_allclose(some.left_out, moved.left_out[[3, 7]], rtol=1e-12)


def test_each_output_is_clipped_to_its_own_range_without_the_row():
    X, y = load_linnerud(return_X_y=True, as_frame=True)
    far = FunctionRegressor(lambda X, y, seed: lambda points: np.full((len(points), 3), 1e9))
    model = BaggedRegressor(far, n_bags=60, random_state=0).fit(X, y)
    expected = [y.drop(index=row).max().tolist() for row in range(20)]
    np.testing.assert_allclose(leave_one_out(model, X[:1]).left_out[:, 0], expected, rtol=1e-14)


def test_distances_of_several_outputs_are_compared_with_vector_certificates_only():
    X, y = load_linnerud(return_X_y=True)
    model = BaggedRegressor(Ridge(), n_bags=60, random_state=0).fit(X, y)
    moved = leave_one_out(model, X)
    proved = certify(model, X, vector=True, reused=True)
    assert moved.in_norm().scope.mismatch(proved.scope) is None
    np.testing.assert_allclose(moved.in_norm().values, np.linalg.norm(moved.differences, axis=-1))
    assert (moved.in_norm().epsilon(0.3) <= proved.epsilon(0.3)).all()
    with pytest.raises(ValueError, match=r"For in_norm\(\), use vector=True"):
        refuse_mismatch(moved.scope, proved.scope, "A display")
    for other in (
        certify(model.output(0), reused=True),
        certify(model, vector=True),
        Certificate(Subbagging(10), 20, outputs=VectorOutputs()),
    ):
        assert moved.in_norm().scope.mismatch(other.scope)
    free = BaggedRegressor(Ridge(), n_bags=60, prediction_range=None, random_state=0).fit(X, y)
    moved = leave_one_out(free, X).in_norm()
    assert moved.scope.mismatch(certify(model, vector=True, reused=True).scope)
    proved = certify(free, X, vector=True, reused=True)
    assert moved.scope.mismatch(proved.scope) is None
    assert (moved.epsilon(0.3) <= proved.epsilon(0.3)).all()


def test_flips_rejects_several_outputs():
    X, y = load_linnerud(return_X_y=True)
    with pytest.raises(ValueError, match="flips needs the class probabilities"):
        leave_one_out(BaggedRegressor(Ridge(), n_bags=60, random_state=0).fit(X, y), X).flips()


def test_perturbations_of_several_outputs_can_be_saved_and_loaded(tmp_path):
    X, y = load_linnerud(return_X_y=True, as_frame=True)
    moved = leave_one_out(BaggedRegressor(Ridge(), n_bags=60, random_state=0).fit(X, y), X)
    for name in ("moved.npz", "moved.json"):
        moved.save(tmp_path / name)
        again = Perturbations.load(tmp_path / name)
        assert again.scope == moved.scope
        assert again.names.classes.tolist() == list(y)
        assert repr(again) == repr(moved)


@pytest.mark.parametrize("prediction_range", [ObservedRange(), None], ids=["range", "no range"])
@pytest.mark.parametrize("rows", [None, [0, 3, 24]], ids=["all rows", "some rows"])
@pytest.mark.parametrize("shared", [False, True], ids=["row by row", "by patterns"])
def test_rounding_errors_do_not_count_as_changes(data, prediction_range, rows, shared, monkeypatch):
    X, y, points = data
    monkeypatch.setattr("stablebag.models.average.BagAverage._is_sparse", lambda *_, **__: shared)
    y[:2] = -9, 9  # the range without these is another, but has the constant in it
    learner = DummyRegressor(strategy="constant", constant=0.1)
    model = BaggedRegressor(learner, n_bags=300, prediction_range=prediction_range, random_state=0).fit(X, y)
    moved = leave_one_out(model, points, rows=rows)
    assert (np.asarray(moved.left_out) == moved.prediction).all()
    assert moved.delta(0, "max") == moved.max("max") == moved.noise.max() == 0


def test_rows_in_no_bag_change_nothing(data):
    X, y, points = data
    model = BaggedRegressor(scheme=Subbagging(1), n_bags=20, random_state=0).fit(X, y)
    idle = np.flatnonzero(model.bags_.n_without == 20)
    idle = np.setdiff1d(idle, [np.argmin(y), np.argmax(y)])  # without these, the range is another
    assert len(idle) > 3
    assert (leave_one_out(model, points).left_out[idle] == model.predict(points)).all()
    assert (leave_one_out(model, points, rows=idle).left_out == model.predict(points)).all()


def test_rounding_errors_of_many_bags_do_not_count_as_changes(data):
    _, y, _ = data
    law, n_bags = Subbagging(0.5).resolve(25), 10_000
    average = BagAverage(law, law.draw(n_bags, random_state=0), np.full(n_bags, 1 / n_bags), drawn=True, y=y)
    for value in (0.1, 1e6 / 3, -1e-9):
        outputs = np.full((n_bags, 1), value)
        outputs[::2] = np.nextafter(value, 1)  # added up one after the other, they are off by a hundred times as much
        moved = perturbations_of(average, outputs)
        assert moved.max("max") > 0
        assert moved.delta(0, "max") == 0
