"""Trees behind a reader of columns have scikit-learn's bits; reader_cases.py draws the random cases."""

import os
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from fast.reader_cases import case
from marks import solver_compared
from stablebag import BaggedClassifier, BaggedRegressor, BernoulliSubbagging, forget, learn
from stablebag.fast.native import library as loading
from stablebag.fast.reader import ColumnReader, ReadTree, TreePipelines, branch_of
from stablebag.models.rows import Points, row_by_row
from stablebag.models.solving import NotCovered, same_model
from stablebag.tables.columns import Columns, as_categories, as_text
from stablebag.tables.text import date_parts

# ----------------------------------------------------------------------------------------------------------- branches

RNG_BRANCH = np.random.default_rng(0)
N_BRANCH = 40
FRAME_BRANCH = pd.DataFrame(
    {
        "age": np.where(RNG_BRANCH.random(N_BRANCH) < 0.2, np.nan, RNG_BRANCH.normal(size=N_BRANCH)),
        "rooms": RNG_BRANCH.integers(0, 9, N_BRANCH),
        "town": RNG_BRANCH.choice(["Rome", "Oslo", "Lima", "Bonn", "Bern"], N_BRANCH, p=[0.4, 0.3, 0.1, 0.1, 0.1]),
        "seen": pd.Series(pd.date_range("2024-01-01", periods=N_BRANCH)).where(RNG_BRANCH.random(N_BRANCH) < 0.8),
        "said": [" ".join(RNG_BRANCH.choice(["sun", "moon", "sky"], 3)) for _ in range(N_BRANCH)],
    }
).astype({"town": object})
HOT = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=3, sparse_output=False)
FILLED = SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)
BRANCHES = {
    "numbers": (make_pipeline(FILLED, StandardScaler()), ["age", "rooms"]),
    "dates": (
        make_pipeline(FunctionTransformer(date_parts), SimpleImputer(keep_empty_features=True), StandardScaler()),
        ["seen"],
    ),
    "categories": (make_pipeline(FunctionTransformer(as_categories), HOT), ["town"]),
    "texts": (
        make_pipeline(FunctionTransformer(as_text), HashingVectorizer(n_features=8), FunctionTransformer()),
        "said",
    ),
}


def dense(found):
    return found.toarray() if hasattr(found, "toarray") else found


@pytest.mark.parametrize("name", BRANCHES)
@solver_compared
def test_matrices_equal_the_pipelines_inside_and_outside_the_bag(name):
    pipeline, columns = clone(BRANCHES[name][0]), BRANCHES[name][1]
    branch, rows = branch_of(clone(pipeline), columns), RNG_BRANCH.integers(0, N_BRANCH // 2, N_BRANCH)
    seen = branch.look(FRAME_BRANCH)
    block, found = branch.fit(seen, rows)
    expected = dense(pipeline.fit_transform(FRAME_BRANCH.iloc[rows][columns])).astype(np.float32)
    assert block.astype(np.float32).tobytes() == expected.tobytes()
    assert branch.width(found) == expected.shape[1]
    outside = dense(pipeline.transform(FRAME_BRANCH[columns])).astype(np.float32)
    assert branch.transform(seen, found).astype(np.float32).tobytes() == outside.tobytes()


@pytest.mark.parametrize("name", BRANCHES)
@solver_compared
def test_rows_outside_the_bag_do_not_affect_what_is_found(name):
    branch, rows = branch_of(*BRANCHES[name]), np.arange(20)
    other = FRAME_BRANCH.copy()
    other.loc[20:, "age"], other.loc[20:, "rooms"], other.loc[20:, "town"] = 1e9, 77, "Aachen"
    other.loc[20:, "seen"], other.loc[20:, "said"] = pd.Timestamp("1970-01-01"), "nothing"
    one, two = (branch.fit(branch.look(frame), rows) for frame in (FRAME_BRANCH, other))
    assert one[0].tobytes() == two[0].tobytes()
    assert [part.tolist() for part in one[1]] == [part.tolist() for part in two[1]]


@solver_compared
def test_ties_among_rare_categories_go_to_the_first_and_unknown_ones_count_as_rare():
    branch = branch_of(*BRANCHES["categories"])
    frame = pd.DataFrame({"town": list("ccbbaad")})
    seen = branch.look(frame)
    block, found = branch.fit(seen, np.arange(6))
    assert found.names.tolist() == ["a", "b", "c"]
    assert found.places.tolist() == [3, 1, 0]  # three, of which one is rare: a
    assert block.tolist() == [[0, 1, 0]] * 2 + [[1, 0, 0]] * 2 + [[0, 0, 1]] * 2
    assert branch.transform(seen, found)[6].tolist() == [0, 0, 1]  # d
    few = branch.fit(seen, np.array([0, 2]))[1]
    assert branch.transform(seen, few)[6].tolist() == [0, 0]


@solver_compared
def test_only_functions_declared_row_by_row_are_covered():
    def ranks(frame):
        return frame.rank().to_numpy(dtype=float)

    def doubled(frame):
        return 2.0 * frame.to_numpy(dtype=float)

    def branch(function):
        steps = FunctionTransformer(function), SimpleImputer(keep_empty_features=True), StandardScaler()
        return branch_of(make_pipeline(*steps), ["rooms"])

    with pytest.raises(NotCovered, match="ranks is not known to transform each row independently"):
        branch(ranks)
    assert (
        branch(row_by_row(doubled)).look(FRAME_BRANCH).values.ravel().tolist() == (2 * FRAME_BRANCH["rooms"]).tolist()
    )


@pytest.mark.parametrize(
    ("steps", "columns", "why"),
    [
        ([FILLED, MinMaxScaler()], ["age"], "columns read by SimpleImputer, MinMaxScaler"),
        ([FILLED, StandardScaler()], "age", "columns read by"),
        ([FILLED, StandardScaler()], [0], "columns read by"),
        ([FILLED, StandardScaler(with_mean=False)], ["age"], "with_mean=False"),
        ([SimpleImputer(), StandardScaler()], ["age"], "keep_empty_features=False"),
        ([SimpleImputer(strategy="constant", keep_empty_features=True), StandardScaler()], ["age"], "strategy="),
        ([FunctionTransformer(as_categories), OneHotEncoder(handle_unknown="ignore")], ["town"], "not covered"),
        ([FunctionTransformer(as_categories, validate=True), HOT], ["town"], "validate=True"),
        (
            [FunctionTransformer(as_text), HashingVectorizer(stop_words="english"), FunctionTransformer()],
            "said",
            "stop_words=",
        ),
    ],
)
@solver_compared
def test_other_steps_and_parameters_are_not_covered(steps, columns, why):
    with pytest.raises(NotCovered, match=why):
        branch_of(make_pipeline(*steps), columns)


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (pd.Series(["1", "2"], dtype=object), "not a numpy number"),
        (pd.Series([1.0, 2.0], dtype="Float64"), "not a numpy number"),
        (pd.Series([1.0, 2.0], dtype=np.float32), "float64"),
        (pd.Series([1.0, 1e141]), "1e140"),
        (pd.Series([1.0, np.inf]), "1e140"),
    ],
)
@solver_compared
def test_columns_of_other_number_types_are_not_covered(column, why):
    with pytest.raises(NotCovered, match=why):
        branch_of(make_pipeline(FILLED, StandardScaler()), ["age"]).look(column.to_frame("age"))


@solver_compared
def test_function_that_fails_on_a_row_is_not_covered():
    branch = branch_of(*BRANCHES["dates"])
    with pytest.raises(NotCovered, match="date_parts fails on some rows"):
        branch.look(pd.DataFrame({"seen": ["never", "2024-01-01"]}))


# ---------------------------------------------------------------------------------------------- the reader of columns

FRAME_READER = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [3, 1, 2], "c": ["x", "y", None]}).astype({"c": object})
NAMES = ["a", "b", "c"]


def transformer(**changed):
    return Columns.of(FRAME_READER).pipeline(DecisionTreeRegressor())[0].set_params(**changed)


@pytest.mark.parametrize("number", range(5))
@solver_compared
def test_filled_transformer_equals_the_fitted_one(number):
    _, X, _, rows, _, _ = drawn = case(number)
    unfitted = drawn.learner[0]
    reader = ColumnReader.of(unfitted, list(X.columns))
    matrix, found = reader.fit(reader.look(X), rows)
    filled, fitted = clone(unfitted), clone(unfitted)
    expected = fitted.fit_transform(X.iloc[rows])
    assert reader.fill(filled, found, len(rows)) == expected.shape[1]
    assert same_model(filled, fitted)
    np.testing.assert_array_equal(matrix, expected.astype(np.float32))
    assert filled.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"remainder": "passthrough"}, "remainder='passthrough'"),
        ({"sparse_threshold": 0.3}, "sparse_threshold=0.3"),
        ({"n_jobs": 2}, "n_jobs=2"),
        ({"transformer_weights": {"numbers": 2.0}}, "transformer_weights="),
        ({"numbers__memory": "folder"}, "with memory"),
    ],
)
@solver_compared
def test_other_column_transformer_parameters_are_not_covered(changed, why):
    ColumnReader.of(transformer(), NAMES)
    with pytest.raises(NotCovered, match=why):
        ColumnReader.of(transformer(**changed), NAMES)


@solver_compared
def test_transformer_with_set_output_or_already_fitted_is_not_covered():
    with pytest.raises(NotCovered, match="has the attribute _sklearn_output_config"):
        ColumnReader.of(transformer().set_output(transform="pandas"), NAMES)
    with pytest.raises(NotCovered, match="has the attribute"):
        ColumnReader.of(transformer().fit(FRAME_READER), NAMES)


@solver_compared
def test_columns_used_twice_or_not_at_all_are_not_covered():
    for names in (["a", "b"], ["a", "b", "c", "d"], ["a", "b", "b"]):
        with pytest.raises(NotCovered, match="used twice, or not at all"):
            ColumnReader.of(transformer(), names)
    twice = transformer()
    twice.transformers = [*twice.transformers, ("again", twice.transformers[0][1], ["a"])]
    with pytest.raises(NotCovered, match="used twice, or not at all"):
        ColumnReader.of(twice, NAMES)


@pytest.mark.parametrize(
    "table", [FRAME_READER.to_numpy(), FRAME_READER[["b", "a", "c"]], FRAME_READER[:0], FRAME_READER["a"]]
)
@solver_compared
def test_other_tables_are_not_covered(table):
    with pytest.raises(NotCovered, match="a table"):
        ColumnReader.of(transformer(), NAMES).look(table)


# ---------------------------------------------------------------------------------------------------- trees behind it

N_CASES = int(os.environ.get("STABLEBAG_READER_CASES", "40"))
FIRST = int(os.environ.get("STABLEBAG_TEST_SEED", "0")) * 1000
RNG_TREES = np.random.default_rng(0)
N_TREES = 60
X = pd.DataFrame(
    {
        "age": np.where(RNG_TREES.random(N_TREES) < 0.1, np.nan, RNG_TREES.normal(50, 10, N_TREES)),
        "rooms": RNG_TREES.integers(1, 9, N_TREES),
        "town": RNG_TREES.choice(["Rome", "Oslo", "Lima"], N_TREES),
        "seen": pd.date_range("2024-01-01", periods=N_TREES),
        "said": [" ".join(RNG_TREES.choice(["sun", "moon", "sky", "sea"], 4)) for _ in range(N_TREES)],
    }
).astype({"town": object, "said": object})
X.loc[7, "town"] = "Aachen"  # the only one, and the first in order
X.loc[11, "age"] = 1e6
Y = X["rooms"].to_numpy() + RNG_TREES.normal(size=N_TREES)
LABELS = np.where(Y > 5, "yes", "no")
NEW = X.sample(20, random_state=0).assign(town="Quito")
COLUMNS = Columns.of(X)


def model_of(*, classes=False, learner=None, **parameters):
    kind, tree = (BaggedClassifier, DecisionTreeClassifier()) if classes else (BaggedRegressor, DecisionTreeRegressor())
    settings = {"n_bags": 6, "random_state": 0, **parameters}
    return kind(COLUMNS.pipeline(tree if learner is None else learner), **settings)


def fitted(*, classes=False, **parameters):
    return model_of(classes=classes, **parameters).fit(X, LABELS if classes else Y)


def asked(model, points):
    return (model.predict_proba if hasattr(model, "classes_") else model.predict)(points).tobytes()


def check_same(model, expected):
    """Check that two ensembles predict the same bits and have the same models."""
    for points in (X, NEW):
        assert asked(model, points) == asked(expected, points)
    assert all(map(same_model, model.estimators_, expected.estimators_))


@pytest.fixture(scope="module", params=[False, True], ids=["numbers", "classes"])
def pair(request):
    """A model of the solver, and the same by scikit-learn."""
    classes = {"classes": request.param}
    return fitted(**classes), fitted(solver="scikit-learn", **classes)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # of bags with nearly as many classes as rows
@pytest.mark.parametrize("number", range(FIRST, FIRST + N_CASES))
@solver_compared
def test_models_and_predictions_have_scikit_learns_bits(number):
    assert case(number).is_same()


@solver_compared
def test_bagged_models_have_scikit_learns_bits(pair):
    model, expected = pair
    assert str(model.solver_) == "reader and trees"
    assert model.estimators_.n_arrays == 6
    check_same(model, expected)


@pytest.mark.parametrize("n_jobs", [1, 2])
@solver_compared
def test_n_jobs_does_not_change_bits(pair, n_jobs):
    model, expected = pair
    check_same(clone(model).set_params(n_jobs=n_jobs).fit(X, LABELS if hasattr(model, "classes_") else Y), expected)


@solver_compared
def test_without_the_library_scikit_learn_fits_and_predicts_the_same_bits(pair, monkeypatch):
    model, expected = pair
    kept = pickle.dumps(model)
    monkeypatch.setattr(loading, "PATH", loading.PATH.with_name("nothing.so"))
    check_same(pickle.loads(kept), expected)
    without = clone(model).fit(X, LABELS if hasattr(model, "classes_") else Y)
    assert without.solver_.name == "scikit-learn"
    check_same(without, expected)


@solver_compared
def test_pickled_models_are_the_same(pair):
    model, expected = pair
    again = pickle.loads(pickle.dumps(model))
    assert all(type(one) is ReadTree for one in again.estimators_.stored)
    check_same(again, expected)


@pytest.mark.parametrize("rows", [[7], [0, 3, 11]])
@solver_compared
def test_forget_equals_a_fit_without_the_rows(pair, rows):
    model, expected = pair
    without = forget(model, rows)
    assert without.estimators_.n_arrays == 6
    check_same(without, forget(expected, rows))
    assert "Aachen" in str([one.names for one in model.estimators_.stored])
    if 7 in rows:
        assert "Aachen" not in str([one.names for one in without.estimators_.stored])


@solver_compared
def test_learn_accepts_new_categories():
    more = X[:2].assign(town="Aalen").set_axis([N_TREES, N_TREES + 1])
    some, plain = fitted(), fitted(solver="scikit-learn")
    check_same(learn(some, more, Y[:2]), learn(plain, more, Y[:2]))


@solver_compared
def test_warm_start_has_the_same_bits():
    model = fitted(n_bags=3, warm_start=True)
    model.set_params(n_bags=6).fit(X, Y)
    check_same(model, fitted(solver="scikit-learn"))


@pytest.mark.slow
@solver_compared
def test_solver_skips_bags_without_rows_or_with_one_class():
    small = {"scheme": BernoulliSubbagging(0.03), "n_bags": 40}
    model, expected = fitted(classes=True, **small), fitted(classes=True, solver="scikit-learn", **small)
    assert 0 < model.estimators_.n_arrays < 40
    assert asked(model, X) == asked(expected, X)


@solver_compared
def test_points_of_other_types_are_left_to_scikit_learn(pair):
    model, expected = pair
    points = [
        X.assign(age=X["age"].astype(np.float32), rooms=X["rooms"].astype(np.float32)),
        X.assign(age=X["age"].astype("Float64")),
    ]
    for some in points:
        assert model.estimators_.structure.predictor(Points(some)) is None
        assert asked(model, some) == asked(expected, some)
    for wrong, why in [(X.assign(age=np.inf), "infinity"), (X.drop(columns="age"), "age"), (X.assign(age="x"), "x")]:
        for one in pair:
            with pytest.raises(ValueError, match=why):
                asked(one, wrong)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
@solver_compared
def test_point_that_overflows_raises_in_the_estimator(pair):
    for model in pair:
        with pytest.raises(ValueError, match="too large for dtype"):
            asked(model, X.assign(age=1e80))


@solver_compared
def test_predictions_do_not_depend_on_the_other_models(pair):
    models = pair[0].estimators_
    predict = models.structure.predictor(Points(NEW))
    alone = np.concatenate([predict([model]) for model in models.stored])
    assert predict(models.stored).tobytes() == alone.tobytes()


@solver_compared
def test_transform_output_setting_is_left_to_scikit_learn(pair):
    structure, job = pair[0].estimators_.structure, case(0).job()
    assert structure.predictor(Points(X)) is not None
    with config_context(transform_output="pandas"):
        assert structure.predictor(Points(X)) is None
        with pytest.raises(NotCovered, match="transform_output"):
            TreePipelines(job)


@pytest.mark.parametrize(
    ("learner", "why"),
    [
        (DecisionTreeRegressor(max_leaf_nodes=4), "max_leaf_nodes=4"),
        (DecisionTreeRegressor(criterion="absolute_error"), "criterion="),
        (ExtraTreeRegressor(), "ends in ExtraTreeRegressor"),
    ],
)
@solver_compared
def test_other_trees_are_left_to_scikit_learn(learner, why):
    assert why in fitted(learner=learner, n_bags=2).solver_.why


@solver_compared
def test_solver_needs_exactly_these_two_steps():
    def takes(*steps):
        return TreePipelines.takes(Pipeline([(str(place), step) for place, step in enumerate(steps)]))

    reader, tree = ColumnTransformer([("a", StandardScaler(), ["a"])]), DecisionTreeRegressor()
    assert takes(reader, tree)
    assert not takes(reader, StandardScaler(), tree)
    assert not takes(StandardScaler(), tree)
    assert not takes(tree)
    assert not TreePipelines.takes(tree)


@solver_compared
def test_arrays_are_not_covered():
    job = case(0).job()
    with pytest.raises(NotCovered, match="a table of type ndarray"):
        TreePipelines(type(job)(job.learner, np.zeros((3, 2)), np.zeros(3), job.bags, job.seeds))


@solver_compared
def test_functions_of_the_user_are_left_to_scikit_learn():
    model = model_of()
    model.estimator.steps[0][1].transformers[1][1].steps[0][1].func = lambda frame: frame.astype(str)
    assert "each row independently" in model.set_params(n_bags=2).fit(X, Y).solver_.why
