"""Bagged models as ONNX graphs: onnxruntime predicts from them what `predict` and `predict_proba` return."""

import sys

import numpy as np
import pytest
from sklearn.linear_model import Lasso, LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    FixedRange,
    ObservedRange,
    Subbagging,
)
from stablebag.connect import to_onnx

FEW = {"n_bags": 20, "random_state": 0}
RANGES = (ObservedRange(), FixedRange(-0.5, 0.5), None)
SINGLE = np.finfo(np.float32)
ROUNDING = 1e-13  # of numbers near one
RNG = np.random.default_rng(3)
POINTS = np.concatenate([RNG.normal(size=(100, 3)), RNG.normal(size=(60, 3)) * 10.0 ** RNG.integers(-40, 30, (60, 3))])


@pytest.fixture
def run(needs):
    """A function from a model and points to the outputs of its graph, by name."""
    onnx, onnxruntime = needs("onnx", "onnx"), needs("onnxruntime", "onnxruntime")

    def outputs(model, points, dtype="float64"):
        graph = to_onnx(model, dtype=dtype)
        onnx.checker.check_model(graph, full_check=True)
        session = onnxruntime.InferenceSession(graph.SerializeToString(), providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, {"X": points}), strict=True))

    return outputs


def check(run, model, points=POINTS, near=ROUNDING):
    """Hold the graph's outputs against the model's, also for points in single precision."""
    for dtype, digits in (("float64", 0.0), ("float32", 2 * SINGLE.eps)):
        at = points.astype(dtype)
        found, is_classifier = run(model, at, dtype), hasattr(model, "classes_")
        name = "probabilities" if is_classifier else "prediction"
        expected = model.predict_proba(at) if is_classifier else model.predict(at)
        assert found[name].dtype == dtype
        assert found[name].shape == expected.shape
        np.testing.assert_allclose(found[name], expected, rtol=near + digits, atol=near + digits)
        if is_classifier:
            two = np.sort(expected, axis=1)[:, -2:]
            clear = two[:, 1] - two[:, 0] > near  # not a tie up to rounding
            assert clear.mean() > 0.5
            np.testing.assert_array_equal(found["label"][clear], model.predict(at)[clear])


def on_thresholds(model, X):
    """Points exactly on thresholds of the trees, and the nearest numbers in double and in single precision."""
    found = []
    for tree in (fitted.tree_ for fitted in model.estimators_ if hasattr(fitted, "tree_")):
        splits = np.flatnonzero(tree.feature >= 0)
        at = X[np.resize(np.arange(len(X)), len(splits))].copy()
        at[np.arange(len(splits)), tree.feature[splits]] = tree.threshold[splits]
        found.append(at)
    at = np.concatenate(found)
    single = at.astype(np.float32)
    moved = [np.nextafter(single, np.float32(end)).astype(float) for end in (-np.inf, np.inf)]
    return np.concatenate([at, np.nextafter(at, -np.inf), np.nextafter(at, np.inf), single.astype(float), *moved])


@pytest.mark.parametrize("rule", RANGES)
def test_onnx_trees_take_the_same_branch_at_every_threshold(run, regression, classification, rule):
    X, y = regression
    for learner in (DecisionTreeRegressor(), ExtraTreeRegressor(max_depth=3), DecisionTreeRegressor(max_depth=1)):
        model = BaggedRegressor(learner, prediction_range=rule, **FEW).fit(X, y)
        check(run, model, np.concatenate([POINTS, on_thresholds(model, X)]))
    holes = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    check(run, BaggedRegressor(prediction_range=rule, **FEW).fit(holes, y), holes)
    X, y = classification
    for learner in (DecisionTreeClassifier(), DecisionTreeClassifier(max_depth=2)):
        model = BaggedClassifier(learner, **FEW).fit(X, y)
        check(run, model, np.concatenate([POINTS, on_thresholds(model, X)]))


def test_onnx_linear_models_clip_every_bag(run, regression, classification):
    X, y = regression
    for learner in (Ridge(), Lasso(0.1), make_pipeline(StandardScaler(), Ridge())):
        for rule in RANGES:
            model = BaggedRegressor(learner, prediction_range=rule, **FEW).fit(X, y)
            check(run, model, POINTS[:100], near=1e-6 if hasattr(learner, "steps") else ROUNDING)  # scales singles
    far = X + np.array([1e9, 0.0, 0.0])  # digits are lost unless means are subtracted first
    model = BaggedRegressor(make_pipeline(StandardScaler(), Ridge()), **FEW).fit(far, y)
    np.testing.assert_allclose(run(model, far)["prediction"], model.predict(far), rtol=1e-12)
    X, y = classification
    three = np.where(X[:, 2] > 0.8, "third", y)
    for targets in (y, three):
        check(run, BaggedClassifier(LogisticRegression(), **FEW).fit(X, targets))


@pytest.mark.parametrize("options", [{}, {"weights": "distance"}, {"p": 1, "weights": "distance"}])
def test_onnx_neighbours_agree_unless_distances_are_equal(run, regression, classification, options):
    for rule in RANGES:
        model = BaggedRegressor(KNeighborsRegressor(3, **options), prediction_range=rule, **FEW).fit(*regression)
        check(run, model, POINTS[:100], near=1e-6)  # in single precision, more distances are nearly equal
        found = run(model, np.concatenate([POINTS[:100], regression[0]]))["prediction"]
        expected = model.predict(np.concatenate([POINTS[:100], regression[0]]))  # also at distance zero
        np.testing.assert_allclose(found, expected, rtol=ROUNDING, atol=ROUNDING)
    check(run, BaggedClassifier(KNeighborsClassifier(3, **options), **FEW).fit(*classification), POINTS[:100])
    drawn = BaggedRegressor(KNeighborsRegressor(2, **options), scheme=ClassicalBagging(), **FEW).fit(*regression)
    check(run, drawn, POINTS[:100])


@pytest.mark.parametrize("learner", [DecisionTreeClassifier(), LogisticRegression()])
def test_onnx_accepts_bags_without_rows_or_without_a_class(run, regression, learner):
    X, y = regression
    names = np.where(X[:, 2] > 1, "rare", np.where(y > 0, "high", "low"))
    for labels in (names, y > 0, np.where(y > 0, 7, 3), names.astype(object)):
        for scheme in (Subbagging(3), BernoulliSubbagging(0.05)):
            model = BaggedClassifier(learner, scheme=scheme, n_bags=60, random_state=0).fit(X, labels)
            assert any(len(fitted.classes_) < len(model.classes_) for fitted in model.estimators_)
            check(run, model)
    for rule in RANGES:
        regressor = DecisionTreeRegressor() if hasattr(learner, "criterion") else Ridge()
        options = {"scheme": BernoulliSubbagging(0.05), "prediction_range": rule}
        model = BaggedRegressor(regressor, n_bags=60, random_state=0, **options).fit(X, y + 5)
        assert (model.bags_.sizes == 0).any()
        check(run, model, POINTS[:100])
    nothing = BaggedRegressor(Ridge(), scheme=BernoulliSubbagging(0.001), n_bags=2, random_state=0).fit(X, y)
    tree = BaggedRegressor(scheme=BernoulliSubbagging(0.001), n_bags=2, random_state=0).fit(X, y)
    assert (tree.bags_.sizes == 0).all()
    check(run, nothing)
    check(run, tree)


@pytest.mark.parametrize("learner", [DecisionTreeRegressor(max_depth=2), Ridge(), KNeighborsRegressor(2)])
def test_onnx_accepts_several_outputs_all_bags_groups_and_random_subspaces(run, regression, learner):
    X, y = regression
    model = BaggedRegressor(learner, **FEW).fit(X, np.column_stack([y, 10 - y**2]))
    check(run, model, POINTS[:100])
    check(run, model.output(1), POINTS[:100])
    check(run, BaggedRegressor(learner, n_bags="all", scheme=Subbagging(3)).fit(X[:8], y[:8]), POINTS[:100])
    check(run, BaggedRegressor(learner, **FEW).fit(X, y, groups=np.arange(30) // 3), POINTS[:100])
    if not isinstance(learner, KNeighborsRegressor):
        check(run, BaggedRegressor(learner, max_features=2, **FEW).fit(X, y), POINTS[:100])


def test_onnx_keeps_the_names_of_columns(needs, claims):
    needs("onnx", "onnx")
    X, y = claims
    graph = to_onnx(BaggedRegressor(Ridge(), **FEW).fit(X[["amount"]].assign(twice=2 * X["amount"]), y))
    assert {prop.key: prop.value for prop in graph.metadata_props} == {"feature_names": "amount\ntwice"}


def test_onnx_trees_have_no_root_that_some_versions_of_onnxruntime_take_for_a_leaf(needs):
    onnx = needs("onnx", "onnx")
    y = np.array([1e3, 1, 2, 4, 8, 16, 32, 64])  # the root splits off the first row, a leaf on the left
    for targets in (y, y[::-1]):
        model = BaggedRegressor(scheme=Subbagging(7), **FEW).fit(np.arange(8)[:, None], targets)
        (node,) = (node for node in to_onnx(model).graph.node if node.op_type == "TreeEnsemble")
        value = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
        left, right = (np.array(value[f"nodes_{side}nodeids"])[value["tree_roots"]] for side in ("true", "false"))
        is_leaf = (np.array(value[f"nodes_{side}leafs"])[value["tree_roots"]] for side in ("true", "false"))
        assert np.not_equal(*is_leaf).mean() > 0.5
        assert (left != right).all()


def test_onnx_raises_for_other_learners(needs, regression, monkeypatch):
    needs("onnx", "onnx")
    X, y = regression
    for learner in (make_pipeline(PolynomialFeatures(2), Ridge()), KNeighborsRegressor(2, metric="chebyshev"),
                    make_pipeline(StandardScaler(), KNeighborsRegressor(2))):  # fmt: skip
        with pytest.raises(ValueError, match=r"It converts scikit-learn's trees, linear regressions"):
            to_onnx(BaggedRegressor(learner, **FEW).fit(X, y))

    class OwnTree(DecisionTreeRegressor):
        def predict(self, X, check_input=True):
            return 2 * super().predict(X, check_input)

    with pytest.raises(ValueError, match="cannot convert bags of OwnTree"):
        to_onnx(BaggedRegressor(OwnTree(), **FEW).fit(X, y))
    subspaces = BaggedRegressor(KNeighborsRegressor(2), max_features=2, **FEW).fit(X, y)
    with pytest.raises(ValueError, match="max_features=2"):
        to_onnx(subspaces)
    with pytest.raises(ValueError, match="n_neighbors=5 rows, and bag 0 has 4"):
        to_onnx(BaggedRegressor(KNeighborsRegressor(), scheme=Subbagging(4), **FEW).fit(X, y))
    with pytest.raises(ValueError, match="'float64' or 'float32'"):
        to_onnx(subspaces, dtype="float16")
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"pip install 'stablebag\[onnx\]'"):
        to_onnx(subspaces)
