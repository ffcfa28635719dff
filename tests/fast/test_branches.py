import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, StandardScaler

from marks import solver_compared
from stablebag.fast.reader import branch_of
from stablebag.models.rows import row_by_row
from stablebag.models.solving import NotCovered
from stablebag.tables.columns import as_categories, as_text
from stablebag.tables.text import date_parts

pytestmark = solver_compared
RNG = np.random.default_rng(0)
N = 40
FRAME = pd.DataFrame(
    {
        "age": np.where(RNG.random(N) < 0.2, np.nan, RNG.normal(size=N)),
        "rooms": RNG.integers(0, 9, N),
        "town": RNG.choice(["Rome", "Oslo", "Lima", "Bonn", "Bern"], N, p=[0.4, 0.3, 0.1, 0.1, 0.1]),
        "seen": pd.Series(pd.date_range("2024-01-01", periods=N)).where(RNG.random(N) < 0.8),
        "said": [" ".join(RNG.choice(["sun", "moon", "sky"], 3)) for _ in range(N)],
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
def test_matrices_are_those_of_the_pipeline_in_the_bag_and_outside_of_it(name):
    pipeline, columns = clone(BRANCHES[name][0]), BRANCHES[name][1]
    branch, rows = branch_of(clone(pipeline), columns), RNG.integers(0, N // 2, N)
    seen = branch.look(FRAME)
    block, found = branch.fit(seen, rows)
    expected = dense(pipeline.fit_transform(FRAME.iloc[rows][columns])).astype(np.float32)
    assert block.astype(np.float32).tobytes() == expected.tobytes()
    assert branch.width(found) == expected.shape[1]
    outside = dense(pipeline.transform(FRAME[columns])).astype(np.float32)
    assert branch.transform(seen, found).astype(np.float32).tobytes() == outside.tobytes()


@pytest.mark.parametrize("name", BRANCHES)
def test_rows_outside_of_the_bag_have_no_part_in_what_is_found(name):
    branch, rows = branch_of(*BRANCHES[name]), np.arange(20)
    other = FRAME.copy()
    other.loc[20:, "age"], other.loc[20:, "rooms"], other.loc[20:, "town"] = 1e9, 77, "Aachen"
    other.loc[20:, "seen"], other.loc[20:, "said"] = pd.Timestamp("1970-01-01"), "nothing"
    one, two = (branch.fit(branch.look(frame), rows) for frame in (FRAME, other))
    assert one[0].tobytes() == two[0].tobytes()
    assert [part.tolist() for part in one[1]] == [part.tolist() for part in two[1]]


def test_of_equally_rare_categories_the_first_in_order_are_put_together_and_the_unknown_joins_them():
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


def test_only_functions_that_are_known_to_look_at_each_row_by_itself_are_covered():
    def ranks(frame):
        return frame.rank().to_numpy(dtype=float)

    def doubled(frame):
        return 2.0 * frame.to_numpy(dtype=float)

    def branch(function):
        steps = FunctionTransformer(function), SimpleImputer(keep_empty_features=True), StandardScaler()
        return branch_of(make_pipeline(*steps), ["rooms"])

    with pytest.raises(NotCovered, match="not known whether ranks looks at each row by itself"):
        branch(ranks)
    assert branch(row_by_row(doubled)).look(FRAME).values.ravel().tolist() == (2 * FRAME["rooms"]).tolist()


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
def test_other_steps_and_parameters_are_refused_with_the_reason(steps, columns, why):
    with pytest.raises(NotCovered, match=why):
        branch_of(make_pipeline(*steps), columns)


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (pd.Series(["1", "2"], dtype=object), "numpy's own"),
        (pd.Series([1.0, 2.0], dtype="Float64"), "numpy's own"),
        (pd.Series([1.0, 2.0], dtype=np.float32), "float64"),
        (pd.Series([1.0, 1e141]), "1e140"),
        (pd.Series([1.0, np.inf]), "1e140"),
    ],
)
def test_numbers_of_which_the_arithmetic_is_another_are_not_looked_at(column, why):
    with pytest.raises(NotCovered, match=why):
        branch_of(make_pipeline(FILLED, StandardScaler()), ["age"]).look(column.to_frame("age"))


def test_a_function_that_fails_on_some_row_is_left_to_the_bags_that_have_it():
    branch = branch_of(*BRANCHES["dates"])
    with pytest.raises(NotCovered, match="date_parts fails on some rows"):
        branch.look(pd.DataFrame({"seen": ["never", "2024-01-01"]}))
