"""The estimators: scikit-learn's own checks, and what bagging must give on top of them."""

import inspect
import itertools
import pickle
import re

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, StackingClassifier, StackingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, SGDRegressor
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from learners import RowRecorder
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    FunctionRegressor,
    PoissonizedBagging,
    Subbagging,
    certify,
    forget,
    leave_one_out,
    leave_one_out_refit,
)
from stablebag.models.ensemble import changed_settings
from stablebag.models.fitted import Fitted
from stablebag.proving.outputs import ClassOutputs, UnboundedOutputs

# ------------------------------------------------------------------------------------------------------------- ensemble

SCHEMES = [Subbagging(0.5), BernoulliSubbagging(0.5), ClassicalBagging(1.0), PoissonizedBagging(1.0)]


# Weights belong to rows and go to the learner; they do not change how often a row is drawn. A row of weight two is
# therefore not a row that is there twice, nor one of weight zero a row that is absent: the number of rows, and with it
# every bag, is another. scikit-learn's own bagging is exempt from the same two checks.
WHY = "a weight is not a number of copies: the bags are drawn from other rows"


EXPECTED_FAILURES = {f"check_sample_weight_equivalence_on_{kind}_data": WHY for kind in ("dense", "sparse")}
# Up to scikit-learn 1.7 an expected failure could not be made strict.
STRICT = {"xfail_strict": True} if "xfail_strict" in inspect.signature(parametrize_with_checks).parameters else {}

# An average of scores is no function of an average of probabilities, so the two need not put points or classes in the
# same order; predict goes by the probabilities, which are what is certified.
UNLIKE = "averaged decision functions need not be in the order of averaged probabilities"
WITH_DECISIONS = {
    LogisticRegression: {"check_decision_proba_consistency": UNLIKE},
    HistGradientBoostingClassifier: {"check_classifiers_train": UNLIKE},
}


# The seed is set, because some checks spoil a single row and expect an error: that row must be in some bag.
@pytest.mark.slow
@parametrize_with_checks(
    [BaggedRegressor(n_bags=8, random_state=0, scheme=scheme) for scheme in SCHEMES[:2]]
    + [BaggedClassifier(n_bags=8, random_state=0, scheme=scheme) for scheme in SCHEMES[-2:]]
    + [
        BaggedRegressor(Ridge(), n_bags=5, random_state=0),
        BaggedRegressor(SVR(), n_bags=5, random_state=0),
        BaggedRegressor(n_bags=5, random_state=0, prediction_range=None),
        BaggedClassifier(LogisticRegression(), n_bags=5, random_state=0),
        BaggedClassifier(HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=2), n_bags=5, random_state=0),
    ],
    expected_failed_checks=lambda estimator: EXPECTED_FAILURES | WITH_DECISIONS.get(type(estimator.estimator), {}),
    **STRICT,
)
@pytest.mark.filterwarnings("ignore:lbfgs failed to converge", "ignore::sklearn.exceptions.ConvergenceWarning")
def test_scikit_learn_estimator_checks_pass(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


# --------------------------------------------------------------------------------------------------------- derandomized


def brute_force(scheme, X, y, points, learn, *, ordered=False):
    """Algorithm 2 by hand: every sequence of rows with its probability."""
    law = scheme.resolve(len(y))
    total = 0.0
    for bag, probability in law.support():
        orders = set(itertools.permutations(bag.tolist())) if ordered else [bag.tolist()]
        for order in orders:
            rows = list(order)
            total = total + float(probability) / len(orders) * learn(X[rows], y[rows], points)
    return total


def one_nearest(X, y, points):
    return y[np.abs(points - X.T).argmin(axis=1)]


@pytest.mark.parametrize("solver", ["auto", "scikit-learn"])
@pytest.mark.parametrize("scheme", [Subbagging(2), ClassicalBagging(3), BernoulliSubbagging(0.4)], ids=str)
def test_n_bags_all_is_algorithm_2_of_the_paper(scheme, solver):
    rng = np.random.default_rng(0)
    X, y, points = rng.normal(size=(5, 1)), rng.random(5), rng.normal(size=(4, 1))
    model = BaggedRegressor(KNeighborsRegressor(1), scheme=scheme, n_bags="all", solver=solver).fit(X, y)
    middle = (y.min() + y.max()) / 2

    def learn(X, y, points):
        return one_nearest(X, y, points) if len(y) else np.full(len(points), middle)

    np.testing.assert_allclose(model.predict(points), brute_force(scheme, X, y, points, learn), atol=1e-12)
    assert len(model.bags_) == model.scheme_.support_size
    assert Fitted(model).average.weights.sum() == pytest.approx(1)
    assert certify(model) == Certificate.for_targets(scheme, y)


def first_target(X, y, seed):
    return lambda points: np.full(len(points), y[0])


@pytest.mark.parametrize("scheme", [Subbagging(2), ClassicalBagging(3)], ids=str)
def test_n_bags_all_lists_every_order_if_order_matters(scheme):
    X, y = np.arange(4.0)[:, None], np.array([0.0, 1.0, 5.0, 10.0])
    learner = FunctionRegressor(first_target, order_matters=True)
    model = BaggedRegressor(learner, scheme=scheme, n_bags="all").fit(X, y)
    assert model.predict(X) == pytest.approx(4.0)  # each row is first as often as any other
    assert len(model.bags_) == (12 if scheme == Subbagging(2) else 64)
    unordered = BaggedRegressor(FunctionRegressor(first_target), scheme=scheme, n_bags="all").fit(X, y)
    assert unordered.predict(X)[0] < 3  # the smallest row is first


@pytest.mark.slow
def test_many_drawn_bags_approach_all_bags(seed):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 1)), rng.random(6)
    settings = {"estimator": DecisionTreeRegressor(random_state=0), "scheme": Subbagging(3)}
    exact = BaggedRegressor(n_bags="all", **settings).fit(X, y)
    drawn = BaggedRegressor(n_bags=2000, random_state=seed, **settings).fit(X, y)
    # Hoeffding: a false alarm once in a million runs, over six points.
    radius = (y.max() - y.min()) * np.sqrt(np.log(2 * 6 / 1e-6) / (2 * 2000))
    assert np.abs(exact.predict(X) - drawn.predict(X)).max() < radius


def test_n_bags_all_raises_if_there_are_too_many_bags(diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match=r"there are infinitely many .Poissonized bagging.*n_bags=10000"):
        BaggedRegressor(scheme=PoissonizedBagging(), n_bags="all").fit(X, y)
    with pytest.raises(ValueError, match=r"there are about 10\^132 \(subbagging, 221 of 442 rows\)"):
        BaggedRegressor(n_bags="all").fit(X, y)
    with pytest.raises(ValueError, match=r"there are 184,756"):
        BaggedRegressor(n_bags="all").fit(X[:20], y[:20])
    for n, number in ((4000, r"about 10\^1202"), (200_000, "at least 200,000")):  # there are too many to count
        with pytest.raises(ValueError, match=rf"fits at most 100,000 bags, but there are {number}"):
            BaggedRegressor(n_bags="all").fit(np.zeros((n, 1)), np.zeros(n))
    ordered = BaggedRegressor(FunctionRegressor(first_target, order_matters=True), n_bags="all")
    with pytest.raises(ValueError, match="there are at least 100,0"):  # 665,280
        ordered.fit(X[:12], y[:12])


def slope(X, y, seed):
    coefficients = np.linalg.lstsq(np.asarray(X), y, rcond=None)[0]
    return lambda points: np.asarray(points) @ coefficients


def coin(X, y, seed):
    side = np.random.default_rng(seed).integers(2)
    return lambda points: np.full(len(points), float(side))


# ---------------------------------------------------------------------------------------------------------- warm starts


def test_warm_start_fits_only_new_bags_and_equals_a_cold_start(diabetes):
    X, y = diabetes
    warm = BaggedRegressor(RowRecorder(), n_bags=10, warm_start=True, random_state=4).fit(X, y)
    first = list(warm.estimators_)
    warm.set_params(n_bags=25).fit(X, y)
    assert all(new is old for new, old in zip(warm.estimators_, first, strict=False))
    cold = BaggedRegressor(RowRecorder(), n_bags=25, random_state=4).fit(X, y)
    assert warm.bags_ == cold.bags_
    assert [e.seed_ for e in warm.estimators_] == [e.seed_ for e in cold.estimators_]
    np.testing.assert_array_equal(warm.predict(X), cold.predict(X))


def test_warm_start_without_a_seed_continues_the_same_streams(diabetes):
    X, y = diabetes
    model = BaggedRegressor(n_bags=5, warm_start=True).fit(X, y)
    before = model.bags_
    assert model.set_params(n_bags=8).fit(X, y).bags_[:5] == before


def test_warm_start_raises_for_fewer_bags_or_other_data(diabetes):
    X, y = diabetes
    model = BaggedRegressor(n_bags=5, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"must be at least 5. Got 3: .*Use more bags"):
        model.set_params(n_bags=3).fit(X, y)
    with pytest.raises(ValueError, match="the data or the scheme changed"):
        model.set_params(n_bags=8).fit(X, y[::-1])
    with pytest.raises(ValueError, match="the data or the scheme changed"):
        model.set_params(scheme=Subbagging(0.2)).fit(X, y)
    with pytest.warns(UserWarning, match="n_bags is still 5"):
        model.set_params(scheme=Subbagging(0.5), n_bags=5).fit(X, y)


def test_without_warm_start_fit_starts_from_scratch(diabetes):
    X, y = diabetes
    model = BaggedRegressor(n_bags=5, random_state=0).fit(X, y)
    assert len(model.set_params(n_bags=3).fit(X[:50], y[:50]).estimators_) == 3
    assert model.bags_.n_samples == 50


# ------------------------------------------------------------------------------------------------- scikit-learn's world


def test_clone_grid_search_and_score_work(diabetes):
    X, y = diabetes
    model = BaggedRegressor(DecisionTreeRegressor(), n_bags=4, random_state=0)
    assert str(clone(model).get_params()) == str(model.get_params())
    grid = {"estimator__max_depth": [1, 3], "scheme": [Subbagging(0.2), ClassicalBagging()], "n_bags": [2, 4]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    best = clone(model).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    folds = list(KFold(3).split(X))
    by_hand = [clone(model).fit(X[train], y[train]).score(X[test], y[test]) for train, test in folds]
    np.testing.assert_array_equal(cross_val_score(model, X, y, cv=3), by_hand)


@pytest.mark.parametrize("scheme", SCHEMES, ids=str)
def test_models_survive_pickle_joblib_and_skops(scheme, diabetes, tmp_path):
    skops = pytest.importorskip("skops.io")
    X, y = diabetes
    model = BaggedRegressor(scheme=scheme, n_bags=3, random_state=0).fit(X, y)
    joblib.dump(model, tmp_path / "model")
    text = skops.dumps(model)
    trusted = skops.get_untrusted_types(data=text)
    assert all(name.startswith(("stablebag.", "sklearn.", "fractions.", "numpy.")) for name in trusted)
    for copy in (
        pickle.loads(pickle.dumps(model)),
        joblib.load(tmp_path / "model"),
        skops.loads(text, trusted=trusted),
    ):
        np.testing.assert_array_equal(copy.predict(X), model.predict(X))
        assert copy.bags_ == model.bags_
        assert certify(copy) == certify(model)


def test_tags_are_the_learners():
    for learner in (DecisionTreeRegressor(), Ridge(), KNeighborsRegressor(), FunctionRegressor(slope)):
        for name in ("sparse", "allow_nan", "string"):
            ours, theirs = get_tags(BaggedRegressor(learner)).input_tags, get_tags(learner).input_tags
            assert getattr(ours, name) == getattr(theirs, name)


def test_model_has_an_html_representation(diabetes):
    html = BaggedRegressor(Ridge(), n_bags=3)._repr_html_()
    assert "Ridge" in html
    if not sklearn.__version__.startswith("1.6."):  # which shows no parameters that have their default
        assert "Subbagging(bag_size=0.5)" in html


def test_fit_routes_metadata_to_the_learner(diabetes):
    X, y = diabetes
    weight = np.linspace(0, 1, len(y))
    with sklearn.config_context(enable_metadata_routing=True):
        learner = RowRecorder().set_fit_request(sample_weight=True, tag=False)
        model = BaggedRegressor(learner, n_bags=2, random_state=0).fit(X, y, sample_weight=weight)
        np.testing.assert_array_equal(model.estimators_[1].sample_weight_, weight[model.bags_[1]])
        with pytest.raises(TypeError, match="tag"):
            model.fit(X, y, tag=weight)
        nested = make_pipeline(StandardScaler(), Ridge().set_fit_request(sample_weight=True))
        nested[0].set_fit_request(sample_weight=False)
        scored = BaggedRegressor(nested, n_bags=2).set_score_request(sample_weight=False)
        GridSearchCV(scored, {"n_bags": [2]}, cv=2).fit(X, y, sample_weight=weight)
        assert make_pipeline(StandardScaler(), BaggedRegressor(n_bags=2)).fit(X, y).score(X, y) > 0


def test_weights_can_be_passed_to_a_named_pipeline_step(diabetes):
    X, y = diabetes
    pipeline = make_pipeline(StandardScaler(), RowRecorder())
    model = BaggedRegressor(pipeline, n_bags=2, random_state=0).fit(X, y, rowrecorder__sample_weight=np.arange(442))
    np.testing.assert_array_equal(model.estimators_[0][-1].sample_weight_, model.bags_[0])
    with pytest.raises(ValueError, match="KNeighborsRegressor does not accept sample_weight"):
        BaggedRegressor(KNeighborsRegressor(), n_bags=2).fit(X, y, sample_weight=np.ones(442))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        BaggedRegressor(n_bags=2).fit(X, y, sample_weight=np.ones(441))


class Counter:
    """A callback in scikit-learn's protocol, which counts."""

    def __init__(self, stop_after=None):
        self.begun, self.ended, self.stop_after = [], [], stop_after

    def setup(self, estimator, context):
        self.max_subtasks = context.max_subtasks

    def teardown(self, estimator, context):
        self.torn_down = True

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context):
        self.ended.append(context.task_name)
        return self.stop_after is not None and self.ended.count("bag") >= self.stop_after


@pytest.mark.skipif(not hasattr(BaggedRegressor, "set_callbacks"), reason="scikit-learn has callbacks since 1.9")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_scikit_learn_callbacks_get_the_progress(diabetes, n_jobs):
    X, y = diabetes
    counter = Counter()
    BaggedRegressor(n_bags=12, n_jobs=n_jobs).set_callbacks(counter).fit(X, y)
    assert counter.max_subtasks == 12
    assert counter.ended == ["bag"] * 12 + ["fit"]
    assert counter.torn_down


@pytest.mark.skipif(not hasattr(BaggedRegressor, "set_callbacks"), reason="scikit-learn has callbacks since 1.9")
def test_callback_that_stops_early_raises(diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match="tried to stop the fit early"):
        BaggedRegressor(n_bags=12).set_callbacks(Counter(stop_after=3)).fit(X, y)


@pytest.mark.skipif(not hasattr(BaggedRegressor, "set_callbacks"), reason="scikit-learn has callbacks since 1.9")
@pytest.mark.parametrize("learner", [None, SVR()])  # one with a solver, and one without
def test_scoring_monitor_scores_the_bags_fitted_so_far(diabetes, learner):
    from sklearn.callback import ScoringMonitor

    X, y = diabetes[0][:60], diabetes[1][:60]
    monitor = ScoringMonitor(scoring="r2")
    model = BaggedRegressor(learner, n_bags=6, random_state=0, warm_start=True).set_callbacks(monitor).fit(X, y)
    scores = {row["task_id_path"]: row["r2"] for row in monitor.get_logs().data}
    small = [BaggedRegressor(learner, n_bags=n, random_state=0).fit(X, y).score(X, y) for n in (1, 2, 3, 4, 5, 6, 7)]
    assert scores == {(0,): small[5], **{(0, bag): small[bag] for bag in range(6)}}
    model.set_params(n_bags=7).fit(X, y)  # a warm start, of one bag more
    assert [row["r2"] for row in monitor.get_logs().data] == [small[6], small[6]]
    assert model.score(X, y) == small[6]


@pytest.mark.skipif(not hasattr(BaggedRegressor, "set_callbacks"), reason="scikit-learn has callbacks since 1.9")
def test_scoring_monitor_with_n_bags_all_scores_the_final_model(iris):
    from sklearn.callback import ScoringMonitor

    X, y, monitor = iris[0][::30], iris[1][::30], ScoringMonitor(scoring="accuracy")
    model = BaggedClassifier(scheme=Subbagging(2), n_bags="all").set_callbacks(monitor).fit(X, y)
    assert [row["accuracy"] for row in monitor.get_logs().data] == [model.score(X, y)]


@pytest.mark.skipif(not hasattr(BaggedRegressor, "set_callbacks"), reason="scikit-learn has callbacks since 1.9")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_learner_callback_is_called_in_every_bag_of_one_run(iris, n_jobs):
    from sklearn.callback import ScoringMonitor

    X, y = StandardScaler().fit_transform(iris[0]), iris[1]
    inner, outer = ScoringMonitor(scoring="accuracy"), ScoringMonitor(scoring="accuracy")
    learner = make_pipeline(StandardScaler(), LogisticRegression().set_callbacks(inner))
    model = BaggedClassifier(learner, n_bags=3, n_jobs=n_jobs, random_state=0).set_callbacks(outer).fit(X, y)
    (run,) = inner.get_logs(select="all")
    assert run.estimator_name == "BaggedClassifier"
    last = {row["task_id_path"]: row["accuracy"] for row in run.data if row["task_name"] == "fit"}
    expected = [fitted.score(X[bag], y[bag]) for fitted, bag in zip(model.estimators_, model.bags_, strict=True)]
    assert [last[0, bag, 1] for bag in range(3)] == expected
    assert len(run.data) > 10  # iterations
    assert len(outer.get_logs().data) == 4
    plain = BaggedClassifier(make_pipeline(StandardScaler(), LogisticRegression()), n_bags=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    assert not any(hasattr(fitted[-1], "_skl_callbacks") for fitted in model.estimators_)
    assert hasattr(learner[-1], "_skl_callbacks")


class Propagated(Counter):
    """A callback that goes on to learners."""

    max_propagation_depth = None


@pytest.mark.skipif(not hasattr(BaggedRegressor, "set_callbacks"), reason="scikit-learn has callbacks since 1.9")
def test_propagated_callback_is_called_once_per_bag(iris):
    counter = Propagated()
    learner = LogisticRegression(max_iter=500).set_callbacks(Counter())
    BaggedClassifier(learner, n_bags=3, random_state=0).set_callbacks(counter).fit(*iris)
    assert counter.ended.count("fit") == 3 + 1
    assert "bag" not in counter.ended  # it is the learner's fit that is told
    BaggedClassifier(LogisticRegression(max_iter=500), n_bags=3, random_state=0).set_callbacks(counter).fit(*iris)
    assert counter.ended[-4:] == ["bag"] * 3 + ["fit"]  # a learner without callbacks may be fitted by a solver


# --------------------------------------------------------------------------------------------------------- certificates


def test_certify_uses_the_scheme_range_and_classes_of_the_model(diabetes, iris):
    X, y = diabetes
    model = BaggedRegressor(n_bags=20, scheme=ClassicalBagging()).fit(X, y)
    assert certify(model) == Certificate.for_targets(ClassicalBagging(), y, n_bags=20, coupling="matched")
    assert not certify(model).outputs.is_fixed
    fixed = BaggedRegressor(n_bags=20, prediction_range=FixedRange(0, 400)).fit(X, y)
    assert certify(fixed) == Certificate(Subbagging(0.5), 442, 20, range_length=400.0, coupling="matched")
    free = BaggedRegressor(n_bags=20, prediction_range=None).fit(X, y)
    assert certify(free) == Certificate(Subbagging(0.5), 442, 20, outputs=UnboundedOutputs(), coupling="matched")
    assert certify(BaggedClassifier(n_bags=20).fit(*iris)) == Certificate(
        Subbagging(0.5), 150, 20, outputs=ClassOutputs(), coupling="matched"
    )


def test_certify_raises_for_anything_but_fitted_bagged_models(diabetes):
    with pytest.raises(NotFittedError):
        certify(BaggedRegressor())
    with pytest.raises(TypeError, match="a fitted BaggedRegressor or BaggedClassifier"):
        certify(Ridge())


# ------------------------------------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(("settings", "error", "words"), [
    ({"n_bags": 0}, ValueError, r"'n_bags' parameter of BaggedRegressor must be an integer >= 1"),
    ({"n_bags": -3}, ValueError, "Got -3"),
    ({"n_bags": 2.5}, TypeError, "'n_bags'"),
    ({"n_bags": "many"}, ValueError, r"""an integer >= 1 or "all". Got 'many'"""),
    ({"scheme": "subagging"}, ValueError, r"'scheme' parameter of BaggedRegressor must be a resampling scheme"),
    ({"scheme": Subbagging}, TypeError, "'scheme'"),
    ({"scheme": Subbagging(443)}, ValueError, "smaller than n_samples=442"),
    ({"prediction_range": (0, 1)}, TypeError, "'prediction_range' parameter of BaggedRegressor"),
    ({"prediction_range": lambda y: (1, 0)}, ValueError, "low <= high"),
    ({"estimator": "tree"}, TypeError, r"'estimator' parameter of BaggedRegressor .* Got 'tree'"),
    ({"estimator": Ridge}, TypeError, "'estimator'"),
    ({"random_state": "seed"}, TypeError, "'random_state' parameter of BaggedRegressor"),
])  # fmt: skip
def test_bad_parameters_raise_in_fit(settings, error, words, diabetes):
    with pytest.raises(error, match=words):
        BaggedRegressor(**{"n_bags": 2, **settings}).fit(*diabetes)


@pytest.mark.parametrize(("X", "y", "words"), [
    ([[1], [2], [3]], [1, 2], "inconsistent numbers of samples"),
    (np.empty((0, 2)), [], "0 sample"),
    ([[1.0]], [1.0], "1 sample.* minimum of 2 is required"),
    (pd.DataFrame({"a": [1.0]}), [1.0], "1 sample.* minimum of 2 is required"),
    ([1.0, 2.0], [1, 2], "Reshape your data"),
    ([[1], [2], [3]], [1, np.nan, 2], "y contains NaN"),
    ([[1], [2], [3]], [1, np.inf, 2], "infinity"),
    ([[1], [2], [3]], ["a", "b", "c"], "needs numbers as targets"),
    ([[1], [2], [3]], None, "requires y to be passed"),
])  # fmt: skip
def test_bad_data_raises_like_in_scikit_learn(X, y, words):
    with pytest.raises(ValueError, match=words):
        BaggedRegressor(n_bags=2).fit(X, y)


def test_predict_raises_if_not_fitted_or_for_other_features(diabetes):
    X, y = diabetes
    for call in ("predict", "bag_predictions"):
        with pytest.raises(NotFittedError):
            getattr(BaggedRegressor(), call)(X)
    model = BaggedRegressor(n_bags=2).fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but BaggedRegressor is expecting 10"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="0 sample"):
        model.predict(X[:0])


def test_failed_fit_removes_the_earlier_model(diabetes):
    X, y = diabetes
    model = BaggedRegressor(n_bags=2).fit(X, y)
    with pytest.raises(ValueError, match="failed to fit"):
        model.set_params(estimator=Ridge()).fit(np.full_like(X, np.nan), y)
    with pytest.raises(NotFittedError):
        model.predict(X)


# --------------------------------------------------------------------------------------------- what a second look found


@pytest.mark.parametrize(("change", "name"), [
    ({"prediction_range": FixedRange(0, 9)}, "prediction_range"), ({"random_state": 1}, "random_state"),
    ({"estimator__alpha": 7.0}, "estimator__alpha"), ({"estimator": Ridge(tol=0.1)}, "estimator__tol"),
])  # fmt: skip
def test_warm_start_raises_if_parameters_changed(change, name, diabetes):
    X, y = diabetes
    model = BaggedRegressor(Ridge(), n_bags=5, warm_start=True, random_state=0).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match=f"{name} changed since the first fit"):
        model.set_params(n_bags=8, **change).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_warm_start_raises_for_other_features(diabetes):
    X, y = diabetes
    model = BaggedRegressor(n_bags=5, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="X has 2 features, but BaggedRegressor is expecting 10"):
        model.set_params(n_bags=8).fit(X[:, :2], y)
    assert model.predict(X).shape == (442,)


def test_failed_warm_start_keeps_the_fitted_bags(diabetes):
    X, y = diabetes
    broken = []

    def mean(rows, targets, seed):
        if broken:
            raise ValueError("no more")
        return lambda points: np.full(len(points), targets.mean())

    model = BaggedRegressor(FunctionRegressor(mean), n_bags=5, warm_start=True, random_state=0).fit(X, y)
    before = model.predict(X)
    broken.append(True)
    with pytest.raises(ValueError, match="failed to fit on bag 5"):
        model.set_params(n_bags=8).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), before)


def test_fit_with_bad_targets_leaves_no_model(diabetes):
    X, y = diabetes
    model = BaggedRegressor(n_bags=2).fit(X, y)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(X[:, :2], np.full(442, np.nan))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_with_n_bags_all_all_bags_share_one_seed():
    X, y = np.arange(8.0)[:, None], np.zeros(8)
    model = BaggedRegressor(
        FunctionRegressor(coin), scheme=Subbagging(1), n_bags="all", prediction_range=FixedRange(0, 1), random_state=3
    )
    assert set(model.fit(X, y).predict(X).round(12)) <= {0.0, 1.0}
    without = clone(model).set_params(scheme=Subbagging(1).resolve(8).without_one()).fit(X[1:], y[1:])
    np.testing.assert_allclose(model.predict(X), without.predict(X), atol=1e-12)


def test_order_matters_is_found_inside_a_pipeline():
    X, y = np.arange(4.0)[:, None], np.array([0.0, 1.0, 5.0, 10.0])
    learner = make_pipeline(StandardScaler(), FunctionRegressor(first_target, order_matters=True))
    model = BaggedRegressor(learner, scheme=Subbagging(2), n_bags="all").fit(X, y)
    assert model.predict(X) == pytest.approx(4.0)


def test_bad_weights_raise_before_any_bag_is_fitted(diabetes):
    X, y = diabetes
    for weight in (np.full(442, np.nan), np.ones((442, 2))):
        with pytest.raises(ValueError, match=r"^(Input sample_weight contains NaN|Sample weights must be 1D)"):
            BaggedRegressor(Ridge(), n_bags=2).fit(X, y, sample_weight=weight)
    search = GridSearchCV(Ridge(), {"alpha": [1.0, 2.0]}, cv=2)
    BaggedRegressor(search, n_bags=2).fit(X, y, sample_weight=np.ones(442))


def test_classifier_in_a_regressor_raises_and_vice_versa(diabetes, iris):
    with pytest.raises(TypeError, match=r"must be a regressor.*it is a classifier. Use BaggedClassifier"):
        BaggedRegressor(LogisticRegression(), n_bags=2).fit(*iris)
    with pytest.raises(TypeError, match=r"must be a classifier.*it is a regressor"):
        BaggedClassifier(make_pipeline(StandardScaler(), Ridge()), n_bags=2).fit(*iris)


def test_stored_rows_do_not_change_with_the_callers(seed):
    X, y = np.random.default_rng(seed).normal(size=(30, 3)), np.arange(30.0)
    model = BaggedRegressor(LinearRegression(), n_bags=20, random_state=0).fit(X, y)
    kept = X.copy()
    X *= 3
    np.testing.assert_array_equal(Fitted(model).X, kept)


@pytest.mark.parametrize("kind", ["array", "pandas", "polars", "sparse"])
def test_warm_start_on_other_rows_raises(kind):
    table = np.random.default_rng(0).normal(size=(30, 3))
    table[0, 0] = 7.0
    make = {
        "array": np.array,
        "pandas": lambda values: pytest.importorskip("pandas").DataFrame(values, columns=list("abc")),
        "polars": lambda values: pytest.importorskip("polars").DataFrame(values, schema=list("abc")),
        "sparse": lambda values: pytest.importorskip("scipy.sparse").csr_array(values),
    }[kind]
    model = BaggedRegressor(LinearRegression(), n_bags=5, warm_start=True, random_state=0)
    model.fit(make(table), np.arange(30.0)).set_params(n_bags=8).fit(make(table), np.arange(30.0))
    assert len(model.bags_) == 8
    with pytest.raises(ValueError, match="the data or the scheme changed"):
        model.set_params(n_bags=9).fit(make(table * 2), np.arange(30.0))


class Weighted(LinearRegression):
    """Has an array among its parameters."""

    def __init__(self, table=None):
        super().__init__()
        self.table = table


def test_warm_start_notices_changes_that_repr_shortens():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30.0)
    table = np.zeros(5000)
    model = BaggedRegressor(Weighted(table), n_bags=5, warm_start=True, random_state=0).fit(X, y)
    other = table.copy()
    other[2500] = 1.0
    assert repr(other) == repr(table)
    with pytest.raises(ValueError, match="estimator__table changed since the first fit"):
        model.set_params(n_bags=8, estimator__table=other).fit(X, y)
    table[2500] = 1.0  # the caller's own array, changed where it is
    with pytest.raises(ValueError, match="estimator__table changed since the first fit"):
        model.set_params(estimator__table=table).fit(X, y)
    assert len(model.set_params(estimator__table=np.zeros(5000)).fit(X, y).bags_) == 8


def test_warm_start_with_other_weights_raises():
    X, y, weight = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30.0), np.ones(30)
    model = BaggedRegressor(LinearRegression(), n_bags=5, warm_start=True, random_state=0)
    model.fit(X, y, sample_weight=weight).set_params(n_bags=8)
    for other in (None, np.arange(30.0)):
        with pytest.raises(ValueError, match="the fit parameter sample_weight changed since the first fit"):
            model.fit(X, y, sample_weight=other)
    weight[0] = 5.0
    with pytest.raises(ValueError, match="sample_weight changed"):
        model.fit(X, y, sample_weight=weight)
    assert len(model.fit(X, y, sample_weight=np.ones(30)).bags_) == 8


def test_warm_start_notices_a_sparse_table_changed_in_place():
    dense = np.random.default_rng(0).normal(size=(30, 5))
    table, y = sparse.csr_array(np.where(dense > 0, dense, 0.0)), np.arange(30.0)
    model = BaggedRegressor(Ridge(), n_bags=5, warm_start=True, random_state=0).fit(table, y)
    table.data[0] += 1.0
    with pytest.raises(ValueError, match="the data or the scheme changed"):
        model.set_params(n_bags=8).fit(table, y)


def test_warm_start_notices_a_changed_memory_map(tmp_path):
    table, y = np.memmap(tmp_path / "rows", dtype=float, mode="w+", shape=(30, 2)), np.arange(30.0)
    table[:] = np.random.default_rng(0).normal(size=(30, 2))
    model = BaggedRegressor(Ridge(), n_bags=5, warm_start=True, random_state=0).fit(table, y)
    assert len(model.set_params(n_bags=6).fit(table, y).bags_) == 6
    table[0] += 1.0
    with pytest.raises(ValueError, match="the data or the scheme changed"):
        model.set_params(n_bags=8).fit(table, y)


def test_warm_start_continues_with_a_generator_that_was_used_since():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30.0)
    for state in (np.random.RandomState(0), np.random.default_rng(0)):
        model = BaggedRegressor(Ridge(), n_bags=5, warm_start=True, random_state=state).fit(X, y)
        before = model.bags_
        state.normal()
        assert model.set_params(n_bags=8).fit(X, y).bags_[:5] == before


def test_warm_start_notices_other_frozen_learners_functions_and_generators():
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30.0)

    def one(X, y, seed):
        return lambda points: np.zeros(len(points))

    first = one

    def one(X, y, seed):
        return lambda points: np.ones(len(points))

    state = np.random.RandomState(0)
    changes = [
        (FrozenEstimator(Ridge().fit(X, y)), {"estimator": FrozenEstimator(Ridge().fit(X, -y))}),
        (FunctionRegressor(first), {"estimator__algorithm": one}),
        (SGDRegressor(random_state=state), {}),
    ]
    for learner, change in changes:
        model = BaggedRegressor(learner, n_bags=3, warm_start=True, random_state=0).fit(X, y)
        state.normal()
        with pytest.raises(ValueError, match="changed since the first fit"):
            model.set_params(n_bags=5, **change).fit(X, y)


def test_warm_start_notices_another_dtype_and_accepts_objects_with_nan():
    X, y = np.arange(60).reshape(30, 2), np.arange(30.0)
    model = BaggedRegressor(Ridge(), n_bags=3, warm_start=True, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="data or the scheme changed"):
        model.set_params(n_bags=5).fit(X.astype(float), y)
    table = X.astype(object)
    table[0, 0] = np.nan
    model = BaggedRegressor(RowRecorder(), n_bags=3, warm_start=True, random_state=0).fit(table, y)
    assert len(model.set_params(n_bags=5).fit(table.copy(), y).bags_) == 5


# ------------------------------------------------------------------------------------------- refused, and not refused


@pytest.mark.parametrize("given", [5, "ridge", None.__class__, Ridge, [Ridge()], StandardScaler(), object(), 0.5, True])
@pytest.mark.parametrize("kind", [BaggedRegressor, BaggedClassifier])
def test_objects_that_are_not_learners_raise(kind, given, diabetes):
    with pytest.raises(
        TypeError, match=f"The 'estimator' parameter of {kind.__name__} must be a .*: it (has no fit|is a class|cannot)"
    ):
        kind(given).fit(*diabetes)


@pytest.mark.parametrize(("given", "words"), [
    (KMeans(), "it is a clusterer. Pass a regressor."),
    (LogisticRegression(), "it is a classifier. Use BaggedClassifier, or pass a regressor."),
    (Ridge, "it is a class. Pass an instance, Ridge()."),
    ("ridge", "it has no fit method. Pass an object like DecisionTreeRegressor()."),
    (lambda X, y, seed: None, "it has no fit method. Wrap a function in FunctionRegressor."),
    (StandardScaler(), "it cannot predict. Pass a regressor, or a pipeline that ends in one."),
])  # fmt: skip
def test_error_for_a_wrong_learner_says_what_to_pass(given, words, diabetes):
    with pytest.raises(TypeError, match=rf"'estimator' parameter of BaggedRegressor .*{re.escape(words)}$"):
        BaggedRegressor(given).fit(*diabetes)


@pytest.mark.parametrize(("given", "words"), [
    ({"n_estimators": 10}, "has no parameter 'n_estimators'. Use n_bags=10."),
    ({"base_estimator": Ridge()}, "has no parameter 'base_estimator'. Use estimator=Ridge()."),
    ({"max_samples": 0.4}, "Use scheme=Subbagging(0.4), or scheme=ClassicalBagging(0.4) to draw"),
    ({"bootstrap": True}, "Use scheme=ClassicalBagging(1.0) to draw rows with replacement"),
    ({"verbose": 1}, "Use on_progress to follow a fit."),
    ({"n_trees": 10}, "unexpected keyword argument 'n_trees'"),
])  # fmt: skip
@pytest.mark.parametrize("kind", [BaggedRegressor, BaggedClassifier])
def test_parameters_of_scikit_learns_bagging_raise_and_name_ours(kind, given, words):
    with pytest.raises(TypeError, match=re.escape(words)):
        kind(**given)


def test_second_positional_argument_raises():
    with pytest.raises(TypeError, match=r"got 2 arguments. Pass the others by name, .*n_bags=500"):
        BaggedRegressor(Ridge(), 500)


@pytest.mark.parametrize("kind", [BaggedRegressor, BaggedClassifier])
def test_signature_lists_the_parameters_and_no_others(kind):
    for what in (kind, kind.__init__):
        parameters = inspect.signature(what).parameters
        assert not any(each.kind is each.VAR_KEYWORD for each in parameters.values())
        assert parameters.keys() - {"self"} == kind().get_params(deep=False).keys()


@pytest.mark.parametrize("table", [lambda X: X, pd.DataFrame, lambda X: X.tolist()])
@pytest.mark.parametrize("column", [lambda y: y, pd.Series, lambda y: y.tolist()])
def test_swapped_x_and_y_raise(table, column, diabetes):
    X, y = diabetes
    with pytest.raises(ValueError, match=r"one column as X and 10 columns as y.*use fit\(X, y\)"):
        BaggedRegressor(n_bags=2).fit(column(y), table(X))


def test_changed_settings_are_named_by_part_or_parameter():
    before = BaggedRegressor(make_pipeline(StandardScaler(), Ridge()))._fit_settings({})
    for changes, names in (
        ({"estimator__ridge__alpha": 2.0}, ["estimator__ridge__alpha"]),
        ({"estimator__ridge": KNeighborsRegressor()}, ["estimator__ridge"]),
        ({"estimator": Ridge()}, ["estimator"]),
        ({"random_state": 1, "max_features": 0.5}, ["max_features", "random_state"]),
        ({}, []),
    ):
        model = BaggedRegressor(make_pipeline(StandardScaler(), Ridge())).set_params(**changes)
        assert changed_settings(model._fit_settings({}), before) == names
        assert changed_settings(before, model._fit_settings({})) == names


@pytest.mark.parametrize("given", [0, "a", 1.5, True, [2]])
def test_bad_n_jobs_raises_before_any_fit(given, diabetes):
    with pytest.raises((TypeError, ValueError), match="The 'n_jobs' parameter of BaggedRegressor must be"):
        BaggedRegressor(n_jobs=given).fit(*diabetes)


def test_stack_that_gets_predict_in_fit_can_be_bagged(diabetes):
    X, y = diabetes[0][:60], diabetes[1][:60]
    stack = StackingRegressor([("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=2))], cv=2)
    model = BaggedRegressor(stack, n_bags=12, scheme=Subbagging(30), random_state=0).fit(X, y)
    assert model.range_[0] <= model.predict(X).min()
    assert leave_one_out(model, X[:2]).left_out.shape == (60, 2)
    assert certify(model).epsilon(0.1) > 0
    assert forget(model, [3]).predict(X).shape == (60,)
    assert leave_one_out_refit(stack, X, y, X[:2], rows=[0]).left_out.shape == (1, 2)
    with pytest.raises(TypeError, match=r"it is a regressor\. Use BaggedRegressor, or pass a classifier"):
        BaggedClassifier(stack).fit(X, y > 100)


class NeverPredicts(RegressorMixin, BaseEstimator):
    """Has the method predict in its class, but on no object."""

    def fit(self, X, y):
        return self

    @property
    def predict(self):
        raise AttributeError("predict")


def test_learner_that_cannot_predict_raises_in_its_first_bag(diabetes):
    words = "NeverPredicts failed to fit on bag 0 .*it cannot predict, even after fit"
    with pytest.raises(TypeError, match=words):
        BaggedRegressor(NeverPredicts(), n_bags=3).fit(*diabetes)


@pytest.mark.parametrize("kind", [str, object])
def test_classes_may_be_named_none_and_nan(kind, iris):
    X, y = iris
    labels = np.array(["None", "nan", "NaT"], dtype=kind)[y]
    stack = StackingClassifier([("tree", DecisionTreeClassifier(max_depth=2))], cv=2)
    for learner in (None, LogisticRegression(max_iter=500), stack):
        model = BaggedClassifier(learner, n_bags=20, random_state=0).fit(X, labels)
        assert model.classes_.tolist() == ["NaT", "None", "nan"]
        assert set(model.predict(X)) == {"NaT", "None", "nan"}
        assert model.score(X, labels) > 0.9
        assert leave_one_out(model, X[:2]).left_out.shape == (150, 2, 3)
        assert certify(model).delta(0.5) <= 1
    for missing in (None, float("nan")):
        spoiled = labels.astype(object)
        spoiled[3] = missing
        with pytest.raises(ValueError, match="contains NaN or missing values"):
            BaggedClassifier().fit(X, spoiled)


# -------------------------------------------------------------------------------------------------------------- members

X = np.random.default_rng(0).normal(size=(30, 3))
Y = X[:, 0]


def test_fitted_model_is_a_sequence_of_its_bags_models():
    model = BaggedRegressor(Ridge(), n_bags=7, random_state=0).fit(X, Y)
    assert len(model) == 7
    assert [fitted.intercept_ for fitted in model] == [model[number].intercept_ for number in range(7)]
    assert model[-1].intercept_ == model[6].intercept_ == model.estimators_[6].intercept_
    assert [fitted.intercept_ for fitted in model[2:4]] == [model[2].intercept_, model[3].intercept_]
    with pytest.raises(IndexError):
        model[7]


@pytest.mark.parametrize("model", [BaggedRegressor(), BaggedClassifier()])
def test_len_of_an_unfitted_model_raises_and_its_truth_value_is_true(model):
    asked = [len, iter, lambda m: m[0], lambda m: m.estimators_samples_, lambda m: m.estimators_features_]
    for ask in asked:
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            ask(model)
    assert model
    assert not hasattr(model, "estimators_samples_")


def test_estimators_samples_has_the_rows_of_each_bag_in_order_with_repeats():
    for scheme in ("subbagging", "classical"):
        model = BaggedRegressor(RowRecorder(), scheme=scheme, n_bags=5, random_state=0).fit(X, Y)
        for fitted, rows in zip(model, model.estimators_samples_, strict=True):
            assert rows.dtype.kind == "i"
            np.testing.assert_array_equal(fitted.X_, X[rows])


def test_estimators_samples_has_rows_even_with_groups():
    groups = np.arange(30) // 3
    model = BaggedRegressor(RowRecorder(), n_bags=5, random_state=0).fit(X, Y, groups=groups)
    for fitted, rows in zip(model, model.estimators_samples_, strict=True):
        assert len(rows) == 15
        np.testing.assert_array_equal(fitted.y_, Y[rows])


def test_bag_can_be_refitted_from_its_samples_and_features():
    model = BaggedRegressor(DecisionTreeRegressor(), max_features=2, n_bags=4, random_state=0).fit(X, Y)
    rows, columns = model.estimators_samples_[1], model.estimators_features_[1]
    again = clone(model[1]).fit(X[rows][:, columns], Y[rows])
    np.testing.assert_array_equal(again.predict(X[:, columns]), model[1].predict(X[:, columns]))


@pytest.mark.parametrize("fitted", [False, True])
def test_having_a_length_does_not_confuse_scikit_learn(fitted):
    model = BaggedRegressor(Ridge(), scheme=Subbagging(10), n_bags=3, random_state=0)
    model = model.fit(X, Y) if fitted else model
    words = ["BaggedRegressor(estimator=Ridge(),", "n_bags=3,", "random_state=0,", "scheme=Subbagging(bag_size=10))"]
    assert repr(model).split() == words
    assert "BaggedRegressor" in model._repr_html_()
    assert clone(model).get_params().keys() == model.get_params().keys()
    assert make_pipeline(model).fit(X, Y).predict(X).shape == (30,)
    search = GridSearchCV(make_pipeline(Ridge()), {"ridge": [model, Ridge()]}, cv=2).fit(X, Y)
    assert [type(one).__name__ for one in search.cv_results_["param_ridge"]] == ["BaggedRegressor", "Ridge"]
    assert StackingRegressor([("bagged", model), ("ridge", Ridge())]).fit(X, Y).predict(X).shape == (30,)
    assert BaggedRegressor(model, n_bags=2, random_state=0).fit(X, Y).predict(X).shape == (30,)
