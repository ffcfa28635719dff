import math

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, FixedRange, Subbagging, compare_errors, leave_one_out_error

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:150], Y[:150]
TREE = DecisionTreeRegressor(max_depth=3)


def bagged(learner=TREE, **changed):
    settings = {"n_bags": 120, "random_state": 0, "prediction_range": FixedRange(0, 400), "scheme": Subbagging(0.2)}
    return BaggedRegressor(learner, **(settings | changed))


@pytest.fixture(scope="module")
def models():
    learners = {"tree": TREE, "ridge": Ridge(0.01), "constant": DummyRegressor()}
    return {name: bagged(learner).fit(X, Y) for name, learner in learners.items()}


def test_the_difference_is_that_of_the_losses_at_the_same_rows(models):
    found = compare_errors(models["tree"], models["constant"], "absolute", confidence_level=0.9)
    losses = [leave_one_out_error(models[name], "absolute").losses for name in ("tree", "constant")]
    each = losses[0] - losses[1]
    assert found.difference == pytest.approx(each.mean())
    variance = each.var(ddof=1) / 150
    half = stats.t.isf(0.05, 149) * math.sqrt(variance * (1 + found.measured_rho))
    assert found.interval.low <= each.mean() - half + 1e-9
    assert found.interval.high >= each.mean() + half - 1e-9
    assert found.interval.width == pytest.approx(2 * half, rel=0.01)  # longer on one side, for the number of bags
    assert found.errors[1].value == pytest.approx(losses[1].mean())
    assert found.rho > found.measured_rho
    assert found.same_bags
    back = compare_errors(models["constant"], models["tree"], "absolute", confidence_level=0.9)
    assert tuple(back.interval) == pytest.approx((-found.interval.high, -found.interval.low))
    assert (found.better, back.better) == ("a", "b")
    assert found.verdict.startswith("a is better: its expected loss at a new row is lower by ")
    assert found.to_frame()["better"].tolist() == ["a"]


def test_bounds_of_two_models_add_up(models):
    a, b = models["tree"], models["ridge"]
    found = compare_errors(a, b, "absolute", kind="proved")
    one, two = (leave_one_out_error(model, "absolute")._evidence.proved[0] for model in (a, b))
    half = (one + two).half_width(0.95, differs=True)
    assert (one + two).remainder == pytest.approx(one.remainder + two.remainder)
    assert (one + two).drift == pytest.approx(one.drift + two.drift)
    assert found.interval.high == pytest.approx(min(400, found.difference + half))
    assert found.interval.low == pytest.approx(max(-400, found.difference - half))
    assert found.better is None
    assert "the difference of the two fitted models' expected losses" in found.interval.guarantee
    assert found.rho == pytest.approx(compare_errors(a, b, "absolute").rho)


def test_it_says_how_many_rows_would_tell(models):
    found = compare_errors(models["tree"], bagged(DecisionTreeRegressor(max_depth=2)).fit(X, Y))
    assert found.better is None
    error = found.interval.width / 2 / stats.t.isf(0.025, 149)
    assert found.n_enough == pytest.approx(
        150 * ((found.interval.width / 2 + 0.8416 * error) / found.difference) ** 2, rel=0.3
    )
    assert found.n_enough >= 150
    assert found.verdict.startswith("These data cannot tell which model is better: about ")
    assert " rows would, with probability 80%, if the difference stays at " in found.verdict
    same = compare_errors(models["tree"], models["tree"])
    assert same.verdict == "These data cannot tell which model is better: both have the same loss at every row."
    assert same.n_enough == math.inf
    assert same.better is None
    assert tuple(same.interval) == (0, 0)
    assert 0 in compare_errors(models["tree"], models["tree"], kind="proved").interval


def test_a_difference_that_few_rows_carry_is_not_called_one():
    rows = np.arange(60)
    y = np.where(rows < 4, 300.0, 0.0)
    off = bagged(DummyRegressor(strategy="constant", constant=0.0)).fit(rows[:, None], y)
    near = bagged(DummyRegressor(strategy="constant", constant=1.0)).fit(rows[:, None], y)
    found = compare_errors(off, near, lambda f, target: np.where(target > 0, 5.0 + 100 * f, 1.0))
    assert found.n_carrying < 12
    assert found.better is None
    wide = compare_errors(off, near, lambda f, target: np.where(target > 0, 300.0 + 3000 * f, f + target * 0))
    assert wide.n_carrying < 12
    assert "are needed" in wide.verdict or "would" in wide.verdict
    assert wide.n_enough > 60


def test_rounding_is_no_difference(models):
    found = compare_errors(models["tree"], models["tree"], lambda f, y: np.abs(f - y))
    scaled = bagged(DummyRegressor()).fit(X, Y), bagged(DummyRegressor()).fit(X * (1 + 1e-15), Y)
    assert found.better is None
    assert compare_errors(*scaled).better is None
    nearly = compare_errors(models["tree"], models["ridge"], lambda f, y: np.abs(y) * (1 + 1e-17 * f))
    assert nearly.verdict == "These data cannot tell which model is better: both have the same loss at every row."


def test_different_bags_are_noticed(models):
    found = compare_errors(models["tree"], bagged(Ridge(0.01), random_state=1).fit(X, Y))
    assert not found.same_bags
    assert "have different bags, and their bagging noise does not cancel" in str(found)
    assert "have the same bags, so most of their bagging noise cancels" in str(
        compare_errors(models["tree"], models["ridge"])
    )


def test_models_that_none_beats_are_the_set_of_the_best(models):
    found = compare_errors(models, loss="absolute")
    assert set(found) == {"tree", "ridge"} == set(found.best)
    assert "constant" not in found
    assert len(found) == 2
    assert found.beaten_by == {"constant": found.best[0]}
    assert found.verdict.startswith("The best of 3 models is one of ")
    frame = found.to_frame()
    assert frame.loc["constant", "beaten_by"] == found.best[0]
    assert frame["error"].tolist() == [error.value for error in found.errors]
    pair = compare_errors(models["constant"], models[found.best[0]], "absolute", confidence_level=0.95)
    assert pair.interval.low > 0  # one-sided at 2.5% for two others, as its lower end is
    proved = compare_errors(models, loss="absolute", kind="proved")
    assert set(proved) == set(models)
    assert "cannot tell which of" in proved.verdict
    assert proved.guarantee == (
        "Proved for every learner: with probability 95% over the draw of independent rows and of the bags, the fitted "
        "model with the smallest expected loss at a new row is one of those that may be best, if all targets are from "
        "0 to 400."
    )
    assert proved.guarantee in " ".join(str(proved).split())
    two = compare_errors([models["ridge"], models["constant"]], loss="absolute")
    assert two.best == ("model 0",)
    assert two.verdict == "model 0 is the best of 2 models (95% confidence, asymptotic)."
    assert "beaten by model 0" in repr(two)
    assert "model 0" in two._repr_html_()


def test_classifiers_are_compared_by_their_losses():
    table, labels = load_breast_cancer(return_X_y=True)
    table, labels = table[:200, :5], labels[:200]
    settings = {"n_bags": 100, "random_state": 0, "scheme": Subbagging(0.3)}
    stump = BaggedClassifier(DecisionTreeClassifier(max_depth=1), **settings).fit(table, labels)
    regression = BaggedClassifier(LogisticRegression(max_iter=2000), **settings).fit(table[:, :1], labels)
    for loss in ("brier", "probability", "ramp", "zero_one", "log"):
        found = compare_errors(stump, regression, loss)
        assert found.difference == pytest.approx(found.errors[0].value - found.errors[1].value)
        assert (found.rho == math.inf) == (loss in ("zero_one", "log"))
    with pytest.raises(ValueError, match="which jumps"):
        compare_errors(stump, regression, "zero_one", kind="proved")


def test_all_models_are_compared_at_the_same_rows(models, seed):
    some = compare_errors(models["tree"], models["ridge"], "absolute", rows=60, random_state=seed)
    rows = some.errors[0].rows
    assert len(rows) == some.interval.n == 60
    np.testing.assert_array_equal(some.errors[1].rows, rows)
    each = np.subtract(*(leave_one_out_error(models[name], "absolute").losses[rows] for name in ("tree", "ridge")))
    assert some.difference == pytest.approx(each.mean())
    assert some.better is not None or str(some.verdict).endswith("The models were compared at 60 of 150 rows.")
    assert "were compared at" not in compare_errors(models["tree"], models["ridge"], "absolute").verdict
    fresh = compare_errors(models["tree"], models["ridge"], "absolute", rows=60)  # not drawn from a seed
    np.testing.assert_array_equal(fresh.errors[0].rows, fresh.errors[1].rows)
    several = compare_errors(models, loss="absolute", rows=[3, 140, 17, 5])
    assert [error.rows.tolist() for error in several.errors] == [[3, 140, 17, 5]] * 3
    with pytest.raises(ValueError, match="'rows' parameter of compare_errors must be at most 150"):
        compare_errors(models, rows=151)


def test_groups_are_compared_by_group():
    groups = np.repeat(np.arange(30), 5)
    tree, ridge = (bagged(learner).fit(X, Y, groups=groups) for learner in (TREE, Ridge(0.01)))
    found = compare_errors(tree, ridge, "absolute")
    assert found.interval.n == 30
    assert "new group" in found.interval.guarantee


@pytest.mark.parametrize(("other", "words"), [
    (lambda: bagged().fit(X[:100], Y[:100]), "a and b were fitted to other targets"),
    (lambda: bagged().fit(X, Y[::-1]), "in the same order"),
    (lambda: bagged().fit(X, Y, groups=np.arange(150) // 3), "other groups or row IDs"),
    (lambda: BaggedClassifier(random_state=0, n_bags=50).fit(X, Y > 100), "a regressor and a classifier"),
])  # fmt: skip
def test_models_of_other_rows_are_refused(models, other, words):
    with pytest.raises(ValueError, match=words):
        compare_errors(models["tree"], other())


def test_what_is_no_pair_or_list_of_models_is_refused(models):
    with pytest.raises(TypeError, match="'b' parameter"):
        compare_errors(models["tree"])
    with pytest.raises(ValueError, match="two models or more"):
        compare_errors([models["tree"]])
    with pytest.raises(TypeError, match="'model'"):
        compare_errors(models["tree"], TREE)
    with pytest.raises(ValueError, match="'confidence_level'"):
        compare_errors(models["tree"], models["ridge"], confidence_level=1)


@pytest.mark.slow
def test_a_verdict_counts_the_rows_for_a_probability_of_80_percent(seed):
    """Normal differences of losses; at half of the rows, about 50 % are told. False alarms: 1e-4."""
    rng, n_trials, needed = np.random.default_rng(seed), 150, (2.8 / 0.25) ** 2
    told = [sum(_of_targets(rng.normal(0.25, 1, round(needed * share))).better is not None for _ in range(n_trials))
            for share in (0.5, 1.0)]  # fmt: skip
    assert told[0] < 0.67 * n_trials < told[1] < 0.93 * n_trials
    found = _of_targets(rng.normal(0.05, 1, 60))
    assert found.n_enough * found.difference**2 / found.errors[0].losses.var() == pytest.approx(7.85, rel=0.06)


def _of_targets(y):
    """Compare two constants, with the targets as the differences of their losses."""
    rows, settings = np.arange(len(y), dtype=float)[:, None], {"n_bags": 20, "scheme": Subbagging(2)}
    zero, one = (bagged(DummyRegressor(strategy="constant", constant=constant), **settings).fit(rows, y)
                 for constant in (0.0, 1.0))  # fmt: skip
    return compare_errors(one, zero, lambda f, y: f * y)


def test_the_number_of_rows_for_a_proof_does_not_shrink_where_the_interval_is_cut_off():
    tree, ridge = (bagged(learner, scheme=Subbagging(0.5)).fit(X, Y) for learner in (TREE, Ridge(0.01)))
    found = compare_errors(tree, ridge, "absolute", kind="proved")
    assert tuple(found.interval) == (-400, 400)
    one, two = (error._evidence.proved[0] for error in found.errors)
    half = (one + two).half_width(0.95, differs=True)
    assert half > 400
    assert found.n_enough >= 150 * (half / found.difference) ** 2


def test_a_proved_comparison_needs_all_targets_in_both_ranges(models):
    narrow = bagged(Ridge(0.01), prediction_range=FixedRange(20, 350)).fit(X, Y)
    for found in (compare_errors(models["tree"], narrow, "absolute", kind="proved"),
                  compare_errors(narrow, models["tree"], "absolute", kind="proved")):  # fmt: skip
        assert found.interval.guarantee.endswith("if all targets are from 20 to 350.")


def test_of_groups_the_printed_errors_are_those_that_are_compared():
    groups = np.repeat(np.arange(20), [1] * 18 + [66, 66])
    a, b = (bagged(learner).fit(X, Y, groups=groups) for learner in (TREE, Ridge(0.01)))
    found = compare_errors(a, b, "absolute")
    means = [error.interval().value for error in found.errors]
    assert found.difference == pytest.approx(means[0] - means[1])
    assert f"Mean loss by group: a {means[0]:.4g}, b {means[1]:.4g}; difference" in " ".join(str(found).split())
    best = compare_errors({"a": a, "b": b}, loss="absolute")
    assert best.to_frame()["error"].tolist() == pytest.approx(means)
    assert best.names[int(np.argmin(means))] == best.best[0]


def test_few_bags_alone_make_no_model_better():
    """The error of deep trees falls with the number of bags, and bags without a row are half as many."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(400, 2))
    y = np.sin(2 * features[:, 0]) + rng.normal(size=400)
    settings = {"n_bags": 14, "scheme": Subbagging(0.5), "prediction_range": None}
    deep, small = (bagged(DecisionTreeRegressor(min_samples_leaf=leaf, random_state=0), **settings).fit(features, y)
                   for leaf in (1, 10))  # fmt: skip
    found = compare_errors(deep, small, "squared")
    middle = sum(found.interval) / 2
    assert middle < found.difference  # longer towards what more bags would do
    assert "The bags without a row are fewer than all bags, which shifts the lower end by" in " ".join(
        leave_one_out_error(deep).interval().guarantee.split()
    )
