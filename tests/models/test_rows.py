import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from learners import RowRecorder
from marks import since
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    FunctionRegressor,
    forget,
    learn,
    leave_one_out,
    leave_one_out_refit,
)
from stablebag.models.fitted import Fitted
from stablebag.models.rows import (
    Output,
    Points,
    are_several,
    as_column,
    as_float32,
    columns,
    columns_of_numbers,
    fingerprint,
    has_mutable_cells,
    names_of,
    one_column,
    output_of,
    own_copy,
    same_table,
    stacked,
    take_rows,
)

# ----------------------------------------------------------------------------------------------------------------- rows


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "age": rng.integers(20, 70, 120), "city": rng.choice(["Bern", "Rom"], 120), "odd column!": rng.normal(size=120),
    })  # fmt: skip
    return frame, (frame["age"] > 45).to_numpy().astype(int)


def by_name():
    columns = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["city"]), remainder="passthrough")
    return make_pipeline(columns, DecisionTreeClassifier())


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_frames_reach_the_learner_as_frames_with_their_columns(table, n_jobs):
    X, y = table
    model = BaggedClassifier(by_name(), n_bags=10, n_jobs=n_jobs, random_state=0).fit(X, y)
    assert model.feature_names_in_.tolist() == ["age", "city", "odd column!"]
    assert (model.predict(X) == y).mean() > 0.95
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X.rename(columns={"age": "years"}))


@since("scikit-learn", "1.8", "its ColumnTransformer passes no columns of polars on beside a sparse matrix")
def test_polars_frames_keep_their_column_names(table):
    polars = pytest.importorskip("polars")
    X, y = table
    same = polars.DataFrame({name: X[name].tolist() for name in X.columns})
    model = BaggedClassifier(by_name(), n_bags=5, random_state=0).fit(same, y)
    expected = BaggedClassifier(by_name(), n_bags=5, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(same), expected)


def test_missing_values_are_passed_to_learners_that_accept_them(iris):
    X, y = iris[0].copy(), iris[1]
    X[::7, 1] = np.nan
    model = BaggedClassifier(HistGradientBoostingClassifier(max_iter=3), n_bags=3, random_state=0).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.9
    with pytest.raises(ValueError, match=r"SVC failed to fit on bag 0 .*contains NaN"):
        BaggedClassifier(SVC(), n_bags=3).fit(X, y)


def test_object_arrays_and_lists_are_accepted():
    X = np.array([["a", 1], ["b", 2], ["a", 3], ["b", 4]] * 5, dtype=object)
    y = [0, 1, 0, 1] * 5
    model = BaggedClassifier(make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression()), n_bags=5)
    assert (model.fit(X, y).predict(X) == y).all()
    assert BaggedRegressor(n_bags=3).fit([[0], [1], [2]], [0, 1, 2]).predict([[1]]).shape == (1,)


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_sparse_tables_are_accepted(make, iris):
    X, y = iris
    expected = BaggedClassifier(n_bags=5, random_state=0).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(
        BaggedClassifier(n_bags=5, random_state=0).fit(make(X), y).predict_proba(make(X)), expected
    )


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_matrix, sparse.csr_array, sparse.csc_array])
@pytest.mark.parametrize("scheme", ["subbagging", "classical"])
def test_sparse_rows_and_points_stay_sparse(make, scheme, data):
    X, y = data
    X = X * (X % 3 > 0)
    seen = []

    def mean(rows, targets, seed):
        seen.append(rows)
        return lambda points: seen.append(points) or np.full(points.shape[0], targets.mean())

    model = BaggedRegressor(FunctionRegressor(mean), scheme=scheme, n_bags=3, random_state=0).fit(make(X), y)
    for bag, rows in zip(model.bags_, seen, strict=True):
        assert type(rows) is make
        assert rows.has_canonical_format
        np.testing.assert_array_equal(rows.toarray(), X[bag])
    model.predict(make(X))
    assert [type(points) for points in seen[3:]] == [make] * 3
    np.testing.assert_array_equal(seen[3].toarray(), X)
    assert type(Fitted(forget(model, [3])).X) is make
    assert type(Fitted(learn(model, make(X[:2]), y[:2])).X) is make


@pytest.fixture
def data():
    return np.arange(60.0).reshape(30, 2), np.random.default_rng(0).normal(size=30)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_matrix, sparse.coo_array, pd.DataFrame])
def test_take_rows_keeps_order_and_repeats_for_any_table(make, data):
    X, y = data
    table = make(X)
    model = BaggedRegressor(RowRecorder(), n_bags=4, random_state=0).fit(table, y)
    for bag, learner in zip(model.bags_, model.estimators_, strict=True):
        seen = learner.X_
        seen = seen.toarray() if sparse.issparse(seen) else np.asarray(seen)
        np.testing.assert_array_equal(seen, X[bag])


def test_polars_frames_stay_polars_frames(data):
    polars = pytest.importorskip("polars")
    X, y = data
    model = BaggedRegressor(RowRecorder(), n_bags=2, random_state=0).fit(polars.DataFrame(X, schema=["a", "b"]), y)
    assert isinstance(model.estimators_[0].X_, polars.DataFrame)
    np.testing.assert_array_equal(model.estimators_[0].X_.to_numpy(), X[model.bags_[0]])


def test_narwhals_frame_is_unwrapped(data):
    narwhals, polars = pytest.importorskip("narwhals"), pytest.importorskip("polars")
    X, y = data
    for frame in (pd.DataFrame(X, columns=["a", "b"]), polars.DataFrame(X, schema=["a", "b"])):
        wrapped, target = narwhals.from_native(frame), narwhals.from_native(polars.Series(y), series_only=True)
        model = BaggedRegressor(RowRecorder(), n_bags=30, random_state=0).fit(wrapped, target)
        assert type(model.estimators_[0].X_) is type(Fitted(model).X) is type(frame)
        expected = BaggedRegressor(RowRecorder(), n_bags=30, random_state=0).fit(frame, y)
        np.testing.assert_array_equal(model.predict(wrapped), expected.predict(frame))
        np.testing.assert_array_equal(leave_one_out(model, wrapped).left_out, leave_one_out(expected, frame).left_out)


@pytest.mark.parametrize("package", ["polars", "narwhals", "dask"])
def test_lazy_tables_raise_and_say_how_to_compute_them(package, data):
    polars = pytest.importorskip("polars")
    X, y = data
    frame, lazy = pd.DataFrame(X, columns=["a", "b"]), polars.DataFrame(X, schema=["a", "b"]).lazy()
    if package == "dask":
        lazy = pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=2)
    if package == "narwhals":
        lazy = pytest.importorskip("narwhals").from_native(lazy)
    verb = "compute" if package == "dask" else "collect"
    way = f"{package} .*Frame as X, whose rows are not computed yet. Pass X.{verb}"
    model = BaggedRegressor(RowRecorder(), n_bags=2, random_state=0).fit(frame, y)
    for call in (
        lambda: BaggedRegressor(n_bags=2).fit(lazy, y),
        lambda: model.predict(lazy),
        lambda: leave_one_out(model, lazy),
        lambda: learn(model, lazy, y),
        lambda: leave_one_out_refit(DecisionTreeRegressor(), lazy, y, X),
    ):
        with pytest.raises(TypeError, match=way):
            call()
    with pytest.raises(TypeError, match="as y, whose rows are not computed yet"):
        BaggedRegressor(n_bags=2).fit(X, lazy)
    same, again = getattr(lazy, verb)(), BaggedRegressor(RowRecorder(), n_bags=2, random_state=0)  # as it says
    np.testing.assert_array_equal(again.fit(same, y).predict(same), model.predict(frame))


def test_dask_arrays_and_columns_are_computed(data):
    array = pytest.importorskip("dask.array")
    frames = pytest.importorskip("dask.dataframe")
    X, y = data
    model = BaggedRegressor(n_bags=2, random_state=0).fit(
        array.from_array(X), frames.from_pandas(pd.Series(y), npartitions=1)
    )
    np.testing.assert_array_equal(model.predict(array.from_array(X)),
                                  BaggedRegressor(n_bags=2, random_state=0).fit(X, y).predict(X))  # fmt: skip
    unknown = frames.from_pandas(pd.DataFrame(X), npartitions=2).to_dask_array()  # whose rows nobody has counted
    with pytest.raises(TypeError, match=r"dask Array as X, whose rows are not computed yet. Pass X.compute\(\)"):
        model.predict(unknown)


@pytest.mark.parametrize("backend", ["numpy_nullable", "pyarrow"])
def test_nullable_columns_and_pyarrow_tables_are_accepted(backend, data):
    arrow = pytest.importorskip("pyarrow")
    frame, y = pd.DataFrame(data[0], columns=["a", "b"]), pd.Series(data[1])
    expected = BaggedRegressor(n_bags=2, random_state=0).fit(frame, y).predict(frame)
    for table in (frame.convert_dtypes(dtype_backend=backend), arrow.Table.from_pandas(frame)):
        model = BaggedRegressor(n_bags=2, random_state=0).fit(table, y.convert_dtypes(dtype_backend=backend))
        np.testing.assert_array_equal(model.predict(table), expected)


def test_take_rows_of_a_list():
    assert take_rows(["a", "b", "c"], np.array([2, 0, 2])) == ["c", "a", "c"]


# ------------------------------------------------------------------------------------------------- tables by themselves


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_array, pd.DataFrame])
def test_stacked_tables_keep_their_type(make):
    both = stacked(make(np.array([[1.0, 2.0]])), make(np.array([[3.0, 4.0], [5.0, 6.0]])))
    assert sparse.issparse(both) == sparse.issparse(make(np.eye(2)))
    assert isinstance(both, pd.DataFrame) == (make is pd.DataFrame)
    values = both.toarray() if sparse.issparse(both) else np.asarray(both)
    assert values.tolist() == [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]


def test_same_table_compares_entries_and_types():
    table = np.array([[1.0, np.nan], [2.0, 3.0]])
    assert same_table(table, table.copy())
    assert not same_table(table, np.where(table == 2, 2.5, table))
    assert not same_table(table, table.astype(np.float32))
    assert not same_table(table, table[:1])
    assert not same_table(table, pd.DataFrame(table))
    assert fingerprint(np.zeros((2, 3))) != fingerprint(np.zeros((3, 2)))


def test_fingerprint_ignores_byte_order_and_floats_stored_as_objects():
    table = np.array([[0.5, -0.0], [np.nan, 2.0]])
    assert fingerprint(table) == fingerprint(table.astype(">f8")) == fingerprint(table.astype(object))
    assert fingerprint([[1, 2]]) == fingerprint(np.array([[1, 2]], dtype=">i8"))
    assert fingerprint(np.array([["a", "b"]])) == fingerprint(np.array([["a", "b"]], dtype=">U1"))


def test_fingerprint_distinguishes_other_objects():
    entries = [2**53, 2**53 + 1, 10**400, 0.0, -0.0, np.nan, "1", None, 1]
    tables = [np.array([[entry]], dtype=object) for entry in entries]
    assert len({fingerprint(table) for table in tables}) == len(entries)
    assert fingerprint(np.float32([[0.5]])) != fingerprint(np.float64([[0.5]]))


def test_stored_table_does_not_change_with_the_callers():
    table = np.array([[1.0], [2.0]])
    held = own_copy(table)
    table[0] = 7.0
    assert held.tolist() == [[1.0], [2.0]]
    with pytest.raises(ValueError, match="read-only"):
        held[0] = 7.0
    lists = np.empty((1, 1), dtype=object)
    lists[0, 0] = [1]
    held = own_copy(lists)
    lists[0, 0].append(2)
    assert held[0, 0] == [1]


def test_mutable_cells_are_detected():
    assert not has_mutable_cells(np.array([["a", 1, None, 2.5]], dtype=object))
    assert has_mutable_cells(pd.DataFrame({"a": [1, 2], "b": [[1], [2]]}))
    assert not has_mutable_cells(pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}))


def test_numbers_too_large_for_float32_are_not_converted():
    assert as_float32(np.array([[1, 2]])).dtype == np.float32
    for table in (np.array([[1e300]]), np.array([[np.nan]]), np.array([["a"]], dtype=object), sparse.eye_array(2)):
        assert as_float32(table) is None


class Scribbler:
    """Writes to the points that it is shown."""

    def predict(self, X):
        X[:] = 0.0
        return np.zeros(len(X))


@pytest.mark.parametrize("harmless", [True, False])
def test_learners_cannot_change_the_points_of_others(harmless):
    points = Points(np.array([[1.0], [2.0]]))
    assert points.call(Scribbler(), "predict", harmless=harmless).tolist() == [0.0, 0.0]
    assert points.X.tolist() == [[1.0], [2.0]]
    assert points.copies == harmless  # those after it get a copy at once


def test_fingerprint_ignores_how_pandas_stores_columns():
    columns = {"a": [1.0, np.nan], "b": ["x", None], "c": [2, 3], "d": pd.Categorical(["u", "v"])}
    frame = pd.DataFrame(columns)
    apart = pd.DataFrame({"a": columns["a"]})
    for name in "bcd":
        apart[name] = columns[name]
    assert fingerprint(frame) == fingerprint(apart) == fingerprint(frame.copy())
    others = [frame.assign(a=[1.0, 2.0]), frame.rename(columns={"a": "A"}), frame.set_axis([5, 6]), frame[list("bacd")]]
    others += [frame.astype({"c": float}), frame.assign(d=pd.Categorical(["u", "v"], ["v", "u"])), frame[:1]]
    assert len({fingerprint(one) for one in [frame, *others]}) == 8


@pytest.mark.parametrize("y", [pl.Series([[1], [2, 3]]), pl.DataFrame({"y": [[1], [2, 3]]})])
def test_targets_that_are_lists_raise(y):
    with pytest.raises(TypeError, match="The 'y' parameter of fit must be one value for each row, not a list"):
        as_column(y, "y", "fit", warn=False)


# -------------------------------------------------------------------------------------------------------------- targets


def test_several_targets_are_a_table_of_two_columns_or_more():
    assert are_several(pd.DataFrame({"a": [1], "b": [2]}))
    assert are_several(np.zeros((3, 2)))
    for y in ([1, 2], [[1], [2]], np.zeros((2, 2, 2)), [[1, 2], [3]], pd.Series([1, 2]), None, np.zeros((3, 0))):
        assert not are_several(y)


def test_one_column_reads_targets_like_scikit_learn_and_several_raise():
    np.testing.assert_array_equal(one_column([[1.0], [2.0]], "x", "", warn=False), [1.0, 2.0])
    with pytest.warns(UserWarning, match="column-vector"):
        one_column([[1.0], [2.0]], "x", "")
    with pytest.raises(ValueError, match=r"needs one target per row, got y with 2 columns: split"):
        one_column([[1, 2], [3, 4]], "Model", "split.")


@pytest.mark.parametrize("kind", [np.array, np.asfortranarray, pd.DataFrame, pl.DataFrame, list])
def test_several_targets_become_a_row_major_array(kind):
    values = np.arange(6.0).reshape(3, 2)
    table = columns(kind(values) if kind is not list else values.tolist())
    np.testing.assert_array_equal(table, values)
    assert table.flags.c_contiguous


def test_masked_sparse_and_missing_targets_raise():
    with pytest.raises(ValueError, match="masked"):
        columns(np.ma.masked_array(np.zeros((2, 2)), mask=[[0, 1], [0, 0]]))
    with pytest.raises(ValueError, match="toarray"):
        columns(sparse.csr_array(np.eye(3)))
    with pytest.raises(ValueError, match="without missing values"):
        columns_of_numbers(pd.DataFrame({"a": [1, pd.NA], "b": [1, 2]}, dtype="Int64"))


def test_columns_of_a_frame_name_the_outputs():
    assert names_of(pd.DataFrame({"a": [1], 3: [2]}), "fit").tolist() == ["a", 3]
    assert names_of(
        pd.DataFrame(np.zeros((1, 2)), columns=pd.MultiIndex.from_tuples([(1, 2), (1, 3)])), "fit"
    ).tolist() == [(1, 2), (1, 3)]
    assert names_of(np.zeros((1, 2)), "fit") is None
    with pytest.raises(ValueError, match=r"two columns named 'a'"):
        names_of(pd.DataFrame([[1, 2]], columns=["a", "a"]), "fit")


def test_output_is_chosen_by_name_or_by_position_if_names_are_strings():
    texts, numbers = np.array(["a", "b"], dtype=object), np.array([1, 2])
    assert output_of("b", texts, "output") == output_of(1, texts, "output") == Output("b", 1, 2)
    assert output_of(1, numbers, "output") == output_of(np.int64(1), numbers, "output") == Output(1, 0, 2)
    for name, names in (
        (0, numbers),
        ("c", texts),
        (2, texts),
        (-1, texts),
        (True, numbers),
        (None, texts),
        ([], texts),
    ):
        with pytest.raises(ValueError, match="of output must be one of"):
            output_of(name, names, "output")


def test_output_column_is_a_contiguous_copy():
    block = np.arange(12.0).reshape(2, 3, 2)
    column = Output("b", 1, 2).column(block)
    np.testing.assert_array_equal(column, block[..., 1])
    assert column.flags.c_contiguous
