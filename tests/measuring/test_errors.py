import math
import pickle
import re

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes, load_linnerud
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FixedRange,
    ObservedRange,
    ParquetTable,
    StratifiedSubbagging,
    Subbagging,
    certify,
    leave_one_out,
    leave_one_out_error,
)
from stablebag.measuring import BoundedLoss
from stablebag.measuring.error_intervals import LARGEST, declared, loss_function
from stablebag.proving.error_bounds import expected_spread

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:120], Y[:120]


@pytest.mark.parametrize("scheme", [Subbagging(0.5), ClassicalBagging(1.0), BernoulliSubbagging(0.5)], ids=str)
def test_each_row_is_predicted_by_the_bags_without_it(scheme):
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), scheme=scheme, n_bags=60, random_state=0).fit(X, Y)
    own = leave_one_out(model, X).left_out[np.arange(120), np.arange(120)]
    error = leave_one_out_error(model)
    np.testing.assert_allclose(error.losses, (own - Y) ** 2)
    assert error.value == pytest.approx(np.mean((own - Y) ** 2))
    assert error.standard_error == pytest.approx(np.std((own - Y) ** 2, ddof=1) / np.sqrt(120))
    assert leave_one_out_error(model, "absolute").value == pytest.approx(np.abs(own - Y).mean())
    assert float(leave_one_out_error(model, lambda f, y: (f > y) * 1.0)) == pytest.approx(np.mean(own > Y))


def test_rows_that_change_the_range_are_predicted_within_the_range_without_them():
    y = np.append(np.linspace(0, 1, 19), 100.0)
    model = BaggedRegressor(LinearRegression(), n_bags=100, random_state=0).fit(np.eye(20), y)
    own = leave_one_out(model, np.eye(20)).left_out[np.arange(20), np.arange(20)]
    np.testing.assert_allclose(leave_one_out_error(model, lambda f, y: f).losses, own)
    assert own[-1] <= 1.0


def test_classifiers_have_losses_of_labels_and_of_probabilities():
    table, labels = load_breast_cancer(return_X_y=True)
    table, labels = table[:150], np.where(labels[:150] == 1, "benign", "malignant")
    model = BaggedClassifier(DecisionTreeClassifier(max_depth=2), n_bags=80, random_state=0).fit(table, labels)
    own = leave_one_out(model, table).left_out[np.arange(150), np.arange(150)]
    predicted = model.classes_[own.argmax(axis=1)]
    assert leave_one_out_error(model).value == pytest.approx(1 - accuracy_score(labels, predicted))
    assert leave_one_out_error(model, "log").value == pytest.approx(log_loss(labels, own))
    brier = 2 * brier_score_loss(labels == "malignant", own[:, 1])
    assert leave_one_out_error(model, "brier").value == pytest.approx(brier)
    callable_loss = leave_one_out_error(model, lambda probabilities, y: (y == "benign") * probabilities[:, 1])
    assert callable_loss.value == pytest.approx(np.mean((labels == "benign") * own[:, 1]))


def test_rows_in_every_bag_raise_or_are_skipped_and_counted():
    model = BaggedRegressor(LinearRegression(), scheme=Subbagging(100), n_bags=4, random_state=0).fit(X, Y)
    always = int((model.bags_.n_without == 0).sum())
    assert always > 0
    with pytest.raises(ValueError, match="are never left out"):
        leave_one_out_error(model)
    error = leave_one_out_error(model, undefined="skip")
    assert error.n_undefined == always
    assert len(error.rows) == len(error.losses) == 120 - always
    assert f"; skipped {always} rows in every bag" in repr(error)
    only = BaggedRegressor(LinearRegression(), scheme=Subbagging(119), n_bags=1, random_state=0).fit(X, Y)
    assert len(leave_one_out_error(only, undefined="skip").rows) == 1
    assert np.isnan(leave_one_out_error(only, undefined="skip").standard_error)


def test_with_all_bags_each_is_weighted_by_its_probability():
    model = BaggedRegressor(DecisionTreeRegressor(random_state=0), scheme=BernoulliSubbagging(2), n_bags="all")
    model.fit(X[:6], Y[:6])
    own = leave_one_out(model, X[:6]).left_out[np.arange(6), np.arange(6)]
    np.testing.assert_allclose(leave_one_out_error(model, lambda f, y: f).losses, own)


@pytest.mark.parametrize(("loss", "error", "words"), [
    ("log", ValueError, "this loss is for a classifier"),
    ("huber", ValueError, "Got 'huber'"), (3, TypeError, "'loss'"),
    (lambda f, y: np.mean(f), ValueError, "must return one value for each of the 120 rows"),
])  # fmt: skip
def test_invalid_losses_raise(loss, error, words):
    model = BaggedRegressor(LinearRegression(), n_bags=50, random_state=0).fit(X, Y)
    with pytest.raises(error, match=words):
        leave_one_out_error(model, loss)
    with pytest.raises(ValueError, match="'undefined'"):
        leave_one_out_error(model, undefined="ignore")


def test_several_outputs_need_one_output_or_a_loss_of_all():
    X, y = load_linnerud(return_X_y=True)
    model = BaggedRegressor(LinearRegression(), n_bags=60, random_state=0).fit(X, y)
    own = leave_one_out(model, X).left_out[np.arange(20), np.arange(20)]
    for place in range(3):
        np.testing.assert_allclose(leave_one_out_error(model.output(place)).losses, (own - y)[:, place] ** 2)
    together = leave_one_out_error(model, lambda prediction, y: ((prediction - y) ** 2).sum(axis=1))
    np.testing.assert_allclose(together.losses, ((own - y) ** 2).sum(axis=1))
    for loss in (None, "absolute"):
        with pytest.raises(ValueError, match=r"Pass model.output\(0\), or a function of all outputs as loss"):
            leave_one_out_error(model, loss)


def test_the_error_at_some_rows_uses_their_losses(seed):
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(n_bags=60, random_state=seed).fit(X, y)
    whole, rows = leave_one_out_error(model), np.array([3, 400, 17])
    some = leave_one_out_error(model, rows=rows)
    assert some.rows.tolist() == rows.tolist()
    np.testing.assert_allclose(some.losses, whole.losses[rows], rtol=1e-12)
    drawn = leave_one_out_error(model, rows=50, random_state=seed)
    np.testing.assert_allclose(drawn.losses, whole.losses[drawn.rows], rtol=1e-12)
    assert len(drawn.rows) == 50


# ------------------------------------------------------------------------------------------------------------ intervals

RANGE = FixedRange(0, 400)


def regressor(**changed):
    settings = {"estimator": DecisionTreeRegressor(max_depth=3), "n_bags": 200, "prediction_range": RANGE}
    return BaggedRegressor(**(settings | {"random_state": 0} | changed))


def classifier(**changed):
    rows = np.arange(40)
    settings = {"estimator": DecisionTreeClassifier(max_depth=1), "n_bags": 100, "random_state": 0}
    return BaggedClassifier(**(settings | changed)).fit(np.cos(rows)[:, None], (rows % 3 == 0).astype(int))


def squared_changes(model, loss, y):
    """The loss at each row without another one, less that with it: all pairs, one half of the bags each."""
    inside, outputs = model.bags_.inclusion, model.bag_predictions(model._X)
    halves = [slice(None)] * 2 if model.derandomized_ else [slice(0, None, 2), slice(1, None, 2)]
    found = np.full((2, len(y), len(y)), np.nan)
    for half, bags in enumerate(halves):
        for i in range(len(y)):
            for j in range(len(y)):
                with_j, without_j = ~inside[bags, i], ~inside[bags, i] & ~inside[bags, j]
                if i != j and without_j.any():
                    one, two = (np.average(outputs[bags][some, i], weights=model._average.weights[bags][some])
                                for some in (with_j, without_j))  # fmt: skip
                    found[half, i, j] = loss(two, y[i]) - loss(one, y[i])
    return found


def rise_by_fewer_bags(model, loss, y):
    """How much the loss rises because bags without a row are fewer: it is linear in one over their number."""
    outside, outputs, n_bags = ~model.bags_.inclusion, model.bag_predictions(model._X), len(model.bags_)
    rise, inverse, missing = 0.0, 0.0, 0.0
    for i in range(len(y)):
        own = outputs[outside[:, i], i]
        missing += (1 / len(own) - 1 / n_bags) / len(y)
        for half in (slice(0, None, 2), slice(1, None, 2)):
            some = outputs[half][outside[half, i], i]
            rise += loss(some.mean(), y[i]) - loss(own.mean(), y[i])
            inverse += 1 / len(some) - 1 / len(own)
    return rise / inverse * missing


@pytest.mark.parametrize("settings", [{}, {"n_bags": "all", "scheme": BernoulliSubbagging(3)}], ids=["drawn", "all"])
def test_the_interval_is_widened_by_what_leaving_out_a_second_row_changes(settings):
    n = 8
    model = regressor(**settings).fit(X[:n], Y[:n])
    error = leave_one_out_error(model, "absolute")
    changes = squared_changes(model, lambda f, y: abs(f - y), Y[:n])
    first, second = changes - np.nanmean(changes, axis=2, keepdims=True)
    known = ~np.isnan(first * second)
    added = max(0.0, 2 * (n - 1) / n * np.mean((first * second)[known]))
    shift = 0.0 if model.derandomized_ else rise_by_fewer_bags(model, lambda f, y: abs(f - y), Y[:n])
    assert (shift == 0) == model.derandomized_
    variance = error.losses.var(ddof=1) / n
    assert error.measured_rho == pytest.approx(added / variance)
    found = error.interval(0.9)
    half = stats.t.ppf(0.95, n - 1) * math.sqrt(variance + added)
    low, high = error.value - half - max(shift, 0), error.value + half - min(shift, 0)
    assert tuple(found) == pytest.approx((max(0, low), high))
    assert error.value in found
    assert found.width == pytest.approx(found.high - found.low)
    assert found.to_frame()["low"][0] == found.low
    assert repr(found).endswith("(asymptotic)")


def test_the_proved_interval_holds_what_the_certificates_say():
    model = regressor(scheme=Subbagging(10), n_bags=400).fit(X, Y)
    error = leave_one_out_error(model, "absolute")
    low, high = error.interval(kind="proved")
    bound = error._evidence.proved[0]
    assert bound.drift == pytest.approx(certify(model, reused=True).mean())
    assert bound.upper == 400
    assert high == pytest.approx(min(400, error.value + bound.half_width(0.95)))
    assert low == pytest.approx(max(0, error.value - bound.half_width(0.95)))
    assert error.rho == pytest.approx(120 * bound.remainder**2 / error.losses.var(ddof=1))
    assert error.measured_rho < error.rho
    said = error.interval(kind="proved").guarantee
    assert said.startswith(
        "Proved for every learner: with probability 95% over the draw of independent rows and of the bags, this fitted"
    )
    assert bound.remainder == pytest.approx(200 * math.sqrt(2 * expected_spread(120, 10, 400) / 120))
    assert "if all targets are from 0 to 400" in said
    wide = leave_one_out_error(regressor().fit(X, Y), "absolute")
    assert wide.rho > error.rho
    some = leave_one_out_error(model, "absolute", rows=np.arange(60))
    assert some._evidence.proved[0].remainder > bound.remainder
    assert some._evidence.proved[0].drift > bound.drift


@pytest.mark.parametrize(("make", "loss", "words"), [
    (lambda: regressor(prediction_range=ObservedRange()).fit(X, Y), "absolute", "depends on the data, ObservedRange"),
    (lambda: regressor(prediction_range=None).fit(X, Y), "absolute", "not clipped to a range"),
    (lambda: regressor(prediction_range=FixedRange(100, 400)).fit(X, Y), "squared", "row 1 has the target 75, outside"),
    (lambda: regressor().fit(X, Y), lambda f, y: abs(f - y), "Nothing is known of a loss of your own"),
    (classifier, "zero_one", "which jumps. Use \"ramp\""),
    (classifier, "log", "which has no bound"),
    (lambda: classifier(scheme=StratifiedSubbagging(0.5)), "brier", "bags that do not depend on the data"),
    (lambda: classifier(scheme=BernoulliSubbagging(2)), "brier", "is empty, and what it predicts depends on the class"),
])  # fmt: skip
def test_where_nothing_is_proved_it_says_why_and_the_asymptotic_interval_is_an_assumption(make, loss, words):
    error = leave_one_out_error(make(), loss)
    with pytest.raises(ValueError, match=words):
        error.interval(kind="proved")
    assert error.rho == math.inf
    said = error.interval().guarantee
    assert "That is assumed, not proved." in said
    assert "proved to be" not in said


def test_of_other_schemes_the_bags_as_they_are_bound_the_remainder():
    model = regressor(scheme=BernoulliSubbagging(10)).fit(X, Y)
    error = leave_one_out_error(model, "absolute")
    said = error.interval(kind="proved").guarantee
    assert "over the draw of independent rows, this fitted" in said
    assert error.rho > leave_one_out_error(regressor(scheme=Subbagging(10)).fit(X, Y), "absolute").rho
    every = regressor(scheme=Subbagging(2), n_bags="all").fit(X[:9], Y[:9])
    assert "independent rows, this" in leave_one_out_error(every, "absolute").interval(kind="proved").guarantee


def test_small_bags_of_many_rows_prove_the_asymptotic_interval():
    rows = np.arange(1500)
    model = BaggedClassifier(DecisionTreeClassifier(), scheme=Subbagging(1), n_bags=1500, random_state=0)
    error = leave_one_out_error(model.fit(np.cos(rows)[:, None], rows % 3 == 0), "probability")
    assert error.measured_rho < error.rho < 0.1
    assert "So the interval is proved to be asymptotically exact" in error.interval().guarantee
    larger = BaggedClassifier(DecisionTreeClassifier(), scheme=Subbagging(100), n_bags=200, random_state=0)
    larger.fit(np.cos(rows)[:, None], rows % 3 == 0)
    sizes = [
        int(re.search(r"Very many bags of at most (\d+) rows", " ".join(found.interval().guarantee.split()))[1])
        for found in (leave_one_out_error(larger, "probability", rows=some, random_state=0) for some in (None, 150))
    ]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.5)  # the same bags prove it for a sample


@pytest.mark.parametrize("name", ["absolute", "squared"])
def test_declared_constants_of_losses_of_numbers_hold(name, seed):
    model = regressor().fit(X, Y)
    stated = declared(name, name, model._average, Y, np.arange(len(Y)))
    f, g, y = np.random.default_rng(seed).uniform(0, 400, (3, 5000))
    loss = loss_function(name, False, "")[1]
    assert (np.abs(loss(f, y) - loss(g, y)) <= stated.lipschitz * np.abs(f - g) + 1e-6).all()
    assert loss(f, y).max() <= stated.upper
    assert stated.scale == 200


@pytest.mark.parametrize("name", ["brier", "probability", "ramp"])
def test_declared_constants_of_losses_of_probabilities_hold(name, seed):
    rng = np.random.default_rng(seed)
    truth = np.eye(3)[rng.integers(0, 3, 5000)]
    f = rng.dirichlet(np.full(3, 0.3), 5000)
    g = np.where(rng.random((5000, 1)) < 0.5, rng.dirichlet(np.full(3, 0.3), 5000), 0.98 * f + 0.02 / 3)
    lipschitz = declared(name, name, classifier()._average, truth, np.arange(5000)).lipschitz
    loss = loss_function(name, True, "")[1]
    change = np.abs(((f - g) * truth).sum(axis=1)) if name == "probability" else np.linalg.norm(f - g, axis=1)
    assert (np.abs(loss(f, truth) - loss(g, truth)) <= lipschitz * change + 1e-12).all()
    assert 0 <= loss(f, truth).min() <= loss(f, truth).max() <= LARGEST[name]
    if name == "ramp":
        assert (loss(f, truth) >= loss_function("zero_one", True, "")[1](f, truth)).all()


def test_a_loss_of_your_own_with_declared_constants_is_proved():
    model = regressor(scheme=Subbagging(5)).fit(X, Y)
    own = leave_one_out_error(model, BoundedLoss(lambda f, y: np.abs(f - y), 1.0, 400))
    named = leave_one_out_error(model, "absolute")
    assert tuple(own.interval(kind="proved")) == tuple(named.interval(kind="proved"))
    for wrong in ({"lipschitz": -1}, {"upper": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            BoundedLoss(**({"function": abs, "lipschitz": 1, "upper": 1} | wrong))
    with pytest.raises(TypeError, match="'function'"):
        BoundedLoss("absolute", 1, 1)
    with pytest.raises(ValueError, match="larger than declared"):
        leave_one_out_error(model, BoundedLoss(lambda f, y: np.abs(f - y), 1.0, 10))


def test_of_groups_each_counts_the_same():
    groups = np.repeat(np.arange(30), np.arange(30) % 7 + 1)[:120]
    model = regressor().fit(X[: len(groups)], Y[: len(groups)], groups=groups)
    error = leave_one_out_error(model, "absolute")
    found = error.interval(kind="proved")
    means = [error.losses[groups == each].mean() for each in np.unique(groups)]
    assert found.n == len(means)
    assert found.value == pytest.approx(np.mean(means))
    assert "at a new group" in found.guarantee
    single = regressor().fit(X, Y, groups=np.arange(120))
    alone = leave_one_out_error(single, "absolute").interval()
    assert tuple(alone) == pytest.approx(
        tuple(leave_one_out_error(regressor().fit(X, Y), "absolute").interval()), rel=0.1
    )


def test_intervals_that_would_say_nothing_are_refused():
    constant = regressor(estimator=DecisionTreeRegressor(max_depth=1)).fit(X[:20], np.full(20, 5.0))
    error = leave_one_out_error(constant, "absolute")
    with pytest.raises(ValueError, match="All 20 losses are equal"):
        error.interval()
    assert error.interval(kind="proved").width > 0
    with pytest.raises(ValueError, match="too few are without any two rows"):
        leave_one_out_error(regressor(n_bags=12, scheme=Subbagging(80)).fit(X, Y), undefined="skip").interval()
    with pytest.raises(ValueError, match="at least two rows, got 1"):
        leave_one_out_error(regressor().fit(X, Y), rows=[3]).interval()
    fine = leave_one_out_error(regressor().fit(X, Y))
    for level in (0, 1, 1.5, math.nan):
        with pytest.raises(ValueError, match="'confidence_level'"):
            fine.interval(level)
    with pytest.raises(ValueError, match="'kind'"):
        fine.interval(kind="exact")


def test_an_error_keeps_its_interval_when_saved_and_not_when_its_model_is_fitted_again():
    model = regressor().fit(X, Y)
    error = leave_one_out_error(model, "absolute")
    again = pickle.loads(pickle.dumps(error))
    assert tuple(again.interval()) == tuple(error.interval())
    fresh = leave_one_out_error(model, "absolute")
    model.fit(X[:60], Y[:60])
    with pytest.raises(ValueError, match="The model was fitted again since"):
        fresh.interval()


def test_intervals_of_extreme_targets_are_those_of_usual_ones_in_another_unit():
    models = [
        regressor(estimator=KNeighborsRegressor(3), prediction_range=FixedRange(0, 400 * unit)).fit(X, Y * unit)
        for unit in (1.0, 2.0**600)
    ]
    usual, error = (leave_one_out_error(model, "absolute") for model in models)
    for kind in ("asymptotic", "proved"):
        ends = np.array(tuple(usual.interval(kind=kind)))
        np.testing.assert_allclose(tuple(error.interval(kind=kind)), ends * 2.0**600, rtol=1e-6)
    assert error.rho == pytest.approx(usual.rho)
    assert error.measured_rho == pytest.approx(usual.measured_rho, rel=1e-4)
    assert len(repr(error.interval())) < 90
    assert "E" not in repr(error.interval())


def test_tables_larger_than_memory_have_intervals(tmp_path):
    table = pytest.importorskip("pandas").DataFrame(X, columns=[f"x{k}" for k in range(10)])
    pytest.importorskip("pyarrow")
    table.assign(y=Y).to_parquet(tmp_path / "rows.parquet", row_group_size=50)
    there = regressor().fit(ParquetTable(tmp_path / "rows.parquet", target="y"))
    here = regressor().fit(table, Y)
    found = [leave_one_out_error(model, "absolute").interval() for model in (there, here)]
    np.testing.assert_allclose(tuple(found[0]), tuple(found[1]))


def test_of_several_outputs_a_loss_of_all_has_a_proved_interval():
    rows, targets = load_linnerud(return_X_y=True)
    model = regressor(estimator=LinearRegression(), scheme=Subbagging(3)).fit(rows, targets)
    loss = BoundedLoss(lambda f, y: np.minimum(np.linalg.norm(f - y, axis=1), 100), 1.0, 100)
    error = leave_one_out_error(model, loss)
    assert error._source.declared.scale == pytest.approx(200 * math.sqrt(3))
    assert 0 < error.measured_rho < error.rho
    assert error.value in error.interval(kind="proved")


@pytest.mark.parametrize("target", [0.1, 0.3, 7.7, 1e-300])
def test_rounding_of_equal_losses_is_no_evidence(target):
    model = BaggedRegressor(n_bags=100, random_state=0).fit(X, np.full(120, target))
    error = leave_one_out_error(model, "absolute")
    assert error.value == 0
    with pytest.raises(ValueError, match="All 120 losses are equal"):
        error.interval()


def test_a_loss_may_change_its_arguments():
    def changing(prediction, y):
        prediction -= y
        y *= 0
        return np.abs(prediction, out=prediction)

    model = regressor().fit(X, Y)
    usual, found = (leave_one_out_error(model, loss) for loss in (lambda f, y: np.abs(f - y), changing))
    np.testing.assert_array_equal(found.losses, usual.losses)
    assert tuple(found.interval()) == tuple(usual.interval())
    np.testing.assert_array_equal(model._average.y, Y)


def test_a_loss_that_depends_on_other_rows_is_rejected():
    model = regressor().fit(X, Y)
    with pytest.raises(ValueError, match="must be elementwise"):
        leave_one_out_error(model, lambda f, y: (f - y) ** 2 / np.var(y))
    assert leave_one_out_error(model, lambda f, y: (f - y) ** 2 / 7, rows=[3]).value >= 0


def test_a_loss_is_called_only_with_predictions():
    """Not with a number in place of a prediction that no bag makes."""
    model = regressor(prediction_range=FixedRange(20, 400), n_bags=30).fit(X, Y)

    def relative(prediction, y):
        assert (prediction >= 20).all()
        return np.abs(prediction - y) / prediction

    assert leave_one_out_error(model, relative, undefined="skip").interval().width > 0


def test_of_groups_a_number_of_rows_draws_whole_groups(seed):
    groups = np.repeat(np.arange(24), [1] * 20 + [25] * 4)
    model = regressor().fit(X, Y, groups=groups)
    shares = []
    for attempt in range(40):
        rows = leave_one_out_error(model, "absolute", rows=30, random_state=[seed, attempt][1]).rows
        found = np.unique(groups[rows])
        assert len(found) == 6  # a quarter of the rows is a quarter of the groups
        np.testing.assert_array_equal(rows, np.flatnonzero(np.isin(groups, found)))
        shares.append((found >= 20).mean())
    assert 0.08 < np.mean(shares) < 0.27  # a sixth of the groups is large; most of the rows are theirs
    whole = leave_one_out_error(model, "absolute", rows=np.flatnonzero(groups > 4))
    assert whole.interval().n == 19
    parts = leave_one_out_error(model, "absolute", rows=np.arange(0, 120, 3))
    assert parts.rho == math.inf
    for kind in ("asymptotic", "proved"):
        with pytest.raises(ValueError, match="only some of the rows of 4 groups"):
            parts.interval(kind=kind)
    with pytest.raises(ValueError, match=r"'rows' parameter .* must be at most 120"):
        leave_one_out_error(model, rows=121)


@pytest.mark.parametrize("n_bags", [1, 2, 5])
def test_few_bags_have_no_interval_and_say_so(n_bags):
    error = leave_one_out_error(regressor(n_bags=n_bags, scheme=Subbagging(60)).fit(X, Y), undefined="skip")
    with pytest.raises(ValueError, match=f"With {n_bags} bag"):
        error.interval()


def test_two_rows_have_no_asymptotic_interval():
    error = leave_one_out_error(regressor(scheme=Subbagging(1)).fit(X[:2], Y[:2]))
    with pytest.raises(ValueError, match="at least three rows, got 2"):
        error.interval()


def test_with_few_bags_noise_is_neither_dependence_nor_left_out(seed):
    """Half bags without a row are half as many: this shifts the error, and adds nothing to its variance."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(600, 2))
    y = rows[:, 0] + rng.normal(size=600)
    tree = DecisionTreeRegressor(random_state=0)
    few, many = (
        leave_one_out_error(BaggedRegressor(tree, scheme=Subbagging(0.5), n_bags=n_bags, random_state=0,
                                            prediction_range=None).fit(rows, y))
        for n_bags in (12, 300)
    )  # fmt: skip
    low, high = few.interval()
    assert few.value - low > 1.1 * (high - few.value)
    assert low < many.value
    assert few.measured_rho < 4
    assert "more bags would narrow this" in " ".join(few.interval().guarantee.split())
    assert "more bags" not in " ".join(many.interval().guarantee.split())


def test_rare_large_losses_are_named_where_few_carry_the_variance(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(150, 2))
    noise = {"rare": np.where(np.arange(150) % 50 == 0, 100.0, 0.0), "normal": rng.normal(size=150)}
    model = BaggedRegressor(LinearRegression(), n_bags=60, random_state=0, prediction_range=None)
    said = {
        name: " ".join(leave_one_out_error(model.fit(rows, each), "absolute").interval().guarantee.split())
        for name, each in noise.items()
    }
    assert "Only about 3 of the losses carry most of their variance, so the share can be far below 95%" in said["rare"]
    assert "carry most" not in said["normal"]


def test_what_is_declared_is_part_of_the_guarantee():
    loss = BoundedLoss(lambda p, y: 1 - p[np.arange(len(y)), y], 1.0, 1.0)
    assert "these 2 classes and the loss is as declared" in leave_one_out_error(classifier(), loss).interval(
        kind="proved"
    ).guarantee.replace("\n", " ")
    free = leave_one_out_error(regressor(prediction_range=ObservedRange()).fit(X, Y), BoundedLoss(
        lambda f, y: np.minimum(abs(f - y) / 50, 1), 0.02, 1.0))  # fmt: skip
    assert free.interval(0.999999).high <= 1  # known, although nothing is proved
