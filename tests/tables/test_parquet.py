"""`ParquetTable`: rows of Parquet files."""

import os
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import parquet_files
from parquet_files import LAYOUTS, one_file, rows
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    ClassicalBagging,
    FunctionRegressor,
    ParquetTable,
    PoissonizedBagging,
    Subbagging,
    leave_one_out,
    leave_one_out_error,
    predict_interval,
)
from stablebag.models.fitted import Fitted
from stablebag.models.fitting import cuts
from stablebag.tables.files import ColumnType
from stablebag.tables.parquet import Frame, Matrix, Survey, numbers

# -------------------------------------------------------------------------------------------------------------- filling


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1, 2, 3]), [3, 1]),
        (pa.array([1, None, 3]), [3, 1]),
        (pa.array([None, 2, 3]), [3, np.nan]),
        (pa.array([True, False, None]), [np.nan, 1]),
        (pa.array([False, True, True]), [1, 0]),
        (pa.array([1.5, None, None], pa.float32()), [np.nan, 1.5]),
        (pa.nulls(3), [np.nan, np.nan]),
        (pa.array([1, 2, 3]).cast(pa.decimal128(20, 1)), [3, 1]),
    ],
)
def test_numbers_have_nan_for_missing_values(array, expected):
    np.testing.assert_array_equal(numbers(array, np.array([2, 0])).astype(float), expected)


def test_matrix_is_filled_from_batches():
    filling = Matrix([ColumnType("a", "number"), ColumnType("b", "number")], np.dtype(np.float32), 3)
    filling.put(pa.record_batch({"a": [1, 2], "b": [3.0, None]}), np.array([1]), 0)
    filling.put(pa.record_batch({"a": [4, 5], "b": [6.0, 7.0]}), np.array([0, 1]), 1)
    np.testing.assert_array_equal(filling.table(), np.array([[2, np.nan], [4, 6], [5, 7]], dtype=np.float32))
    assert filling.table().flags.c_contiguous


def test_frame_is_filled_from_batches_with_different_dictionaries():
    towns = ColumnType(
        "c", "category", arrow=pa.large_string(), categories=pa.array(["a", "b", "z"], pa.large_string())
    )
    filling = Frame([towns, ColumnType("t", "other", arrow=pa.large_string())], np.array([5, 8, 9, 11]))
    filling.put(_batch(["z", None, "a"], ["p", "q", None]), np.array([0, 1]), 0)
    filling.put(_batch(["b", "a"], ["r", "s"]), np.array([0]), 2)
    filling.put(_batch([None], ["u"]), np.array([0]), 3)
    frame = filling.table()
    assert frame.index.tolist() == [5, 8, 9, 11]
    expected = pd.Categorical(["z", None, "b", None], categories=frame["c"].cat.categories)
    assert frame["c"].cat.categories.tolist() == ["a", "b", "z"]
    assert (frame["c"].cat.codes == expected.codes).all()
    assert frame["t"].tolist() == ["p", "q", "r", "u"]


def test_frame_of_a_range_has_a_range_index():
    filling = Frame([ColumnType("a", "number", "int16")], range(3, 5))
    filling.put(pa.record_batch({"a": [1, 2]}), np.array([0, 1]), 0)
    pd.testing.assert_frame_equal(
        filling.table(), pd.DataFrame({"a": np.array([1, 2], "i2")}, index=pd.RangeIndex(3, 5))
    )


def _batch(categories, texts):
    return pa.record_batch({"c": pa.array(categories, pa.string()).dictionary_encode(), "t": texts})


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64(), pa.int64(), pa.bool_(), pa.null()], ids=str)
def test_missing_numbers_are_the_same_nan_for_every_type(kind):
    values = np.zeros(3, "f2") if kind == pa.float16() else [None] * 3
    array = pa.array(values, kind, mask=np.ones(3, bool) if kind == pa.float16() else None)
    assert numbers(array, np.array([0, 2])).astype("f8").tobytes() == np.full(2, np.nan).tobytes()


# --------------------------------------------------------------------------------------------------------------- survey


def survey(*files, **how):
    """Files of lists of batches; each batch is a dict of columns."""
    batches, place = [], 0
    for number, file in enumerate(files):
        for columns in file:
            batch = pa.record_batch(columns)
            batches.append((number, place, batch))
            place += batch.num_rows
    return Survey(batches, tuple("abc"[: len(files)]), "y", **how)


def test_places_skip_rows_without_a_target():
    found = survey([{"y": [None, 1.0]}, {"y": [2.0, None, None]}], [], [{"y": [float("nan"), 6.0, 7.0]}])
    assert found.known == (2, 0, 2)
    assert found.present.left_out.tolist() == [0, 3, 4, 5]
    assert found.targets.tolist() == [1, 2, 6, 7]
    assert found.present.places(np.arange(4)).tolist() == [1, 2, 6, 7]
    assert found.present.inside(0, 2).tolist() == [1]
    assert found.present.inside(5, 3).tolist() == [1, 2]


def test_places_equal_row_numbers_if_all_rows_have_a_target(seed):
    found = survey([{"y": [1, 2, 3]}])
    assert found.targets.dtype == np.int64
    assert found.present.places(np.array([0, 2])).tolist() == [0, 2]


def test_places_agree_with_a_full_list(seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(300) < 0.3, np.nan, 1.0)
    found = survey([{"y": y[:100]}, {"y": y[100:]}])
    np.testing.assert_array_equal(found.present.places(np.arange(found.n_samples)), np.flatnonzero(~np.isnan(y)))


@pytest.mark.parametrize("encode", [lambda array: array, lambda array: array.dictionary_encode()])
def test_equal_labels_share_one_object(encode):
    found = survey([{"y": encode(pa.array(["b", None, "a"]))}, {"y": encode(pa.array(["c", "b"]))}])
    assert found.targets.tolist() == ["b", "a", "c", "b"]
    assert found.targets[0] is found.targets[3]


def test_stored_columns_skip_rows_without_a_target():
    found = survey([{"y": [1, None, 3], "g": ["u", "v", "w"]}], [{"y": [4], "g": ["u"]}], named=("g",))
    assert found.named["g"].name == "g"
    assert found.named["g"].tolist() == ["u", "w", "u"]


def test_groups_of_a_file_without_any_group_are_missing():
    found = survey([{"y": [1, 2], "g": ["u", "v"]}], [{"y": [3], "g": pa.nulls(1)}], named=("g",))
    assert found.named["g"].isna().tolist() == [False, False, True]


def test_survey_collects_dictionaries_and_missing_values():
    town = [pa.array(values).dictionary_encode() for values in (["u", "v"], ["u", "v"], ["w", None])]
    files = [[{"y": [1, 2], "t": values, "k": [1, None if values is town[2] else 2]}] for values in town]
    found = survey(*files, categories=("t",), counted=("k",))
    assert [(path, values.to_pylist()) for path, values in found.dictionaries["t"]] == [("a", ["u", "v"]), ("c", ["w"])]
    assert found.has_nulls == {"k": True}


def test_targets_are_read_only():
    with pytest.raises(ValueError, match="read-only"):
        survey([{"y": [1.0]}]).targets[0] = 2


# --------------------------------------------------------------------------------------------------------------- tables


NUMBERS = ["x", "z", "whole"]


ALL = ["x", "z", "whole", "number", "flag", "town", "level", "day"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The same rows in every layout, by its name."""
    made = {layout.__name__: tmp_path_factory.mktemp(layout.__name__) for layout in LAYOUTS}
    for layout in LAYOUTS:
        layout(made[layout.__name__], rows())
    return made


@pytest.fixture
def folder(tmp_path):
    one_file(tmp_path, rows())
    return tmp_path


def test_rows_are_numbered_by_sorted_paths_then_by_order_in_the_file(tmp_path):
    for name, values in {"b": [3, 4], "a": [1, 2], "c/a": [5]}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        pq.write_table(pa.table({"x": values, "y": [10.0 * v for v in values]}), tmp_path / f"{name}.parquet")
    table = ParquetTable(tmp_path, target="y")
    X, y = table.to_memory()
    assert X["x"].tolist() == [1, 2, 3, 4, 5]
    assert y.tolist() == [10, 20, 30, 40, 50]
    assert table.part_sizes == (2, 2, 1)
    assert [block["x"].tolist() for block in table.read(1, 1)] == [[3], [4]]
    assert [block["x"].tolist() for block in table.blocks(2)] == [[1, 2], [3, 4], [5]]
    given = [tmp_path / "c" / "a.parquet", str(tmp_path / "b.parquet"), tmp_path / "a.parquet"]
    assert ParquetTable(given, target="y").take([4, 0, 0])["x"].tolist() == [5, 1, 1]


def test_rows_without_a_target_are_left_out_before_rows_are_numbered(tmp_path):
    pq.write_table(pa.table({"x": [0, 1, 2], "y": [None, 1.0, float("nan")]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"x": [3, 4], "y": pa.array([None, None], pa.float64())}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"x": [5, 6, 7], "y": [5.0, None, 7.0]}), tmp_path / "2.parquet")
    table = ParquetTable(tmp_path, target="y")
    assert (table.n_samples, table.n_missing_targets_, table.part_sizes) == (3, 5, (1, 0, 2))
    assert table.to_memory()[0]["x"].tolist() == [1, 5, 7]
    assert table.take([1, 2])["x"].tolist() == [5, 7]
    assert table.take([0, 2]).index.tolist() == [0, 2]
    assert list(table.read(1, 5)) == []


def encoded(learner):
    texts = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    whole = make_column_transformer((texts, ["level", "town"]), (SimpleImputer(), ["x", "number", "flag", "whole"]))
    return make_pipeline(whole, learner)


def by_index(X, y, seed):
    """A learner that looks at everything that a frame has: index, types and categories."""
    told = float(hash((tuple(X.index), tuple(map(str, X.dtypes)), tuple(X["town"].cat.categories), seed)) % 1000)
    return lambda points: np.full(len(points), told + X["number"].isna().sum())


CASES = {
    "trees": (BaggedRegressor(DecisionTreeRegressor()), {"columns": NUMBERS}),
    "a matrix": (BaggedRegressor(DecisionTreeRegressor()), {"columns": NUMBERS, "as_frame": False}),
    "missing numbers": (BaggedRegressor(), {"columns": [*NUMBERS, "number", "flag"], "as_frame": False}),
    "ridge": (BaggedRegressor(Ridge(), prediction_range=None), {"columns": ["x", "whole"]}),
    "neighbours": (BaggedRegressor(KNeighborsRegressor()), {"columns": NUMBERS}),
    "a pipeline": (BaggedRegressor(encoded(Ridge())), {"columns": ALL}),
    "a function": (BaggedRegressor(FunctionRegressor(by_index), prediction_range=None), {"columns": ALL}),
    "classes": (BaggedClassifier(DecisionTreeClassifier()), {"columns": NUMBERS, "target": "kind"}),
    "classes in a pipeline": (
        BaggedClassifier(encoded(DecisionTreeClassifier(max_depth=3))),
        {"columns": ALL, "target": "kind"},
    ),
    "patients": (BaggedRegressor(scheme=Subbagging(0.3)), {"columns": NUMBERS, "groups": "patient"}),
    "named rows": (BaggedRegressor(scheme=Subbagging(0.2)), {"columns": NUMBERS, "row_ids": "name"}),
    "repeats": (BaggedRegressor(scheme=ClassicalBagging(60)), {"columns": NUMBERS}),
    "empty bags": (BaggedRegressor(scheme=PoissonizedBagging(2)), {"columns": NUMBERS}),
}


def memory_of_one(bags, table):
    """The smallest memory that has room for the largest bag, if half of it is for reading."""
    rows = max(len(np.unique(bag)) for bag in bags) * (table.bytes_per_row + 16)
    return int(2 * rows) + 2


def outcome(model, points):
    """All that a fit decides, as one text of bytes."""
    said = model.bag_predictions(points)
    y = Fitted(model).y
    about = [
        model.bags_.fingerprint,
        y.tobytes() if y.dtype != object else y.tolist(),
    ]
    about += [getattr(model, name, None) for name in ("range_", "classes_", "n_features_in_", "feature_names_in_")]
    return repr([*about, model.units_, model.units_.ids.names.tolist()]), said.tobytes()


@pytest.mark.parametrize("case", CASES)
def test_fit_has_the_bits_of_a_fit_in_memory_for_any_layout_and_portions(case, folders):
    model, how = CASES[case]
    model.set_params(n_bags=4, random_state=3)
    how = {"target": "y", **how}
    whole = ParquetTable(folders["one_file"], **how)
    X, y = whole.to_memory()
    given = {"groups": whole.groups(), "row_ids": whole.row_ids()}
    model.fit(X, y, **given)
    points = X[:50]
    expected = outcome(model, points)
    rows = model.units_.rows_of_bags(model.bags_)
    for layout, folder in folders.items():
        table = ParquetTable(folder, **how)
        if layout == "uneven_files":
            assert outcome(model.fit(table), points) == expected, layout
        table.max_memory = memory_of_one(rows, table)
        assert len(list(cuts(rows, table))) >= 2
        assert outcome(model.fit(table), points) == expected, f"{layout} in portions"


@pytest.mark.parametrize("case", ["trees", "a pipeline"])
def test_number_of_jobs_changes_no_bit(case, folders):
    model, how = CASES[case]
    table = ParquetTable(folders["uneven_files"], **{"target": "y", **how}, max_memory=45_000)
    points = table.take(np.arange(40))
    alone = outcome(model.set_params(n_bags=5, random_state=1, n_jobs=1).fit(table), points)
    assert outcome(model.set_params(n_jobs=2).fit(table), points) == alone
    model.set_params(n_jobs=None)


def test_types_do_not_depend_on_rows_or_layout(folders):
    expected = {
        "x": "float64", "z": "float32", "whole": "int64", "number": "float64", "flag": "float64", "town": "category",
        "level": str(pd.Series(["a"]).dtype), "day": "datetime64[ms]",
    }  # fmt: skip
    whole = None
    for folder in folders.values():
        table = ParquetTable(folder, target="y", columns=ALL)
        for taken in (table.take([0]), table.take(np.arange(10)), table.to_memory()[0]):
            assert taken.dtypes.map(str).to_dict() == expected
            assert taken["town"].cat.categories.tolist() == ["Bonn", "Jena", "Kiel", "Ulm"]
        whole = taken if whole is None else whole
        pd.testing.assert_frame_equal(taken, whole)
        pd.testing.assert_frame_equal(table.take([3, 5, 100]), whole.iloc[[3, 5, 100]])
        matrix = ParquetTable(folder, target="y", columns=["z", "flag"], as_frame=False).take([1, 2])
        assert matrix.dtype == np.float64


def test_matrix_is_float32_if_that_is_exact(tmp_path):
    small = {"a": pa.array([1, 2], pa.int16()), "b": pa.array([0.5, None], pa.float32()), "c": [True, False]}
    pq.write_table(pa.table({**small, "y": [1.0, 2.0]}), tmp_path / "0.parquet")
    X, _ = ParquetTable(tmp_path, target="y", as_frame=False).to_memory()
    assert X.dtype == np.float32
    np.testing.assert_array_equal(X, [[1, 0.5, 1], [2, np.nan, 0]])


def test_errors_and_intervals_from_files_equal_those_in_memory(folders):
    table = ParquetTable(folders["uneven_files"], target="y", columns=["x", "whole"])
    X, y = table.to_memory()
    model = BaggedRegressor(Ridge(), scheme=Subbagging(0.4), n_bags=60, random_state=0)
    memory = model.fit(X, y)
    error, ends = leave_one_out_error(memory), predict_interval(memory, X[:9])
    model.fit(table)
    assert Fitted(model).X is table
    assert leave_one_out_error(model).value == error.value
    np.testing.assert_array_equal(predict_interval(model, X[:9]).lower, ends.lower)
    np.testing.assert_array_equal(model.predict(table), model.predict(X))
    again = pickle.loads(pickle.dumps(model))
    assert leave_one_out_error(again).value == error.value


def test_streamed_leave_one_out_takes_a_table(folders):
    table = ParquetTable(folders["one_row_groups"], target="y", columns=["x", "whole"], max_memory=10_000)
    X, y = table.to_memory()
    model = BaggedRegressor(scheme=Subbagging(0.3), n_bags=40, random_state=0)
    streamed = leave_one_out(model, X[:5], X_train=table)
    in_memory = leave_one_out(model, X[:5], X_train=X, y_train=y)
    np.testing.assert_array_equal(streamed.left_out, in_memory.left_out)


def test_warm_start_continues_with_the_same_files_only(folders):
    table = ParquetTable(folders["uneven_files"], target="y", columns=NUMBERS, max_memory=20_000)
    points = table.take(np.arange(20))
    model = BaggedRegressor(n_bags=4, warm_start=True, random_state=0).fit(table)
    model.set_params(n_bags=9).fit(ParquetTable(folders["uneven_files"], target="y", columns=NUMBERS))
    fresh = BaggedRegressor(n_bags=9, random_state=0).fit(table)
    np.testing.assert_array_equal(model.predict(points), fresh.predict(points))
    with pytest.raises(ValueError, match="the data or the scheme changed"):
        model.set_params(n_bags=10).fit(ParquetTable(folders["one_file"], target="y", columns=NUMBERS))


def test_sample_weights_give_the_same_models_as_in_memory(folders):
    table = ParquetTable(folders["uneven_files"], target="y", columns=["x", "whole"], max_memory=12_000)
    X, y = table.to_memory()
    weights = np.random.default_rng(0).random(len(y))
    model = BaggedRegressor(Ridge(), n_bags=5, random_state=0)
    expected = model.fit(X, y, sample_weight=weights).predict(X)
    np.testing.assert_array_equal(model.fit(table, sample_weight=weights).predict(X), expected)


def test_forgetting_rows_of_files_raises_an_error(folders):
    from stablebag import forget

    model = BaggedRegressor(n_bags=5, random_state=0).fit(
        ParquetTable(folders["one_file"], target="y", columns=NUMBERS)
    )
    with pytest.raises(ValueError, match="Cannot change the rows of a model that was fitted to files"):
        forget(model, [3])


def test_unusable_data_raise_the_same_errors_as_in_memory(tmp_path):
    pq.write_table(pa.table({"x": [1, 2, 3], "y": ["a", "a", "a"], "t": [1.0, None, None]}), tmp_path / "0.parquet")
    for maker, target in ((BaggedClassifier, "y"), (BaggedRegressor, "y"), (BaggedRegressor, "t")):
        table = ParquetTable(tmp_path, target=target, columns=["x"])
        sentences = []
        for data in (table.to_memory(), (table,)):
            with pytest.raises(ValueError, match=r".+") as error:
                maker(n_bags=3).fit(*data)
            sentences.append(str(error.value))
        assert sentences[0] == sentences[1]
    model = BaggedRegressor(n_bags=2)
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        model.fit(np.eye(3))
    table = ParquetTable(tmp_path, target="y", columns=["x"], row_ids="t")
    with pytest.raises(ValueError, match=r"BaggedRegressor got y, but a ParquetTable has its own targets"):
        model.fit(table, [1, 2, 3])
    with pytest.raises(ValueError, match="got row_ids, but the ParquetTable has its own"):
        model.fit(table, row_ids=[1, 2, 3])


def test_predicting_a_table_with_other_columns_raises_an_error(folders):
    model = BaggedRegressor(n_bags=3, random_state=0).fit(
        ParquetTable(folders["one_file"], target="y", columns=["x", "z"])
    )
    with pytest.raises(ValueError, match="feature names"):
        model.predict(ParquetTable(folders["one_file"], target="y", columns=["x", "whole"]))


def test_replaced_file_is_named_in_the_error(folder):
    table = ParquetTable(folder, target="y", columns=NUMBERS)
    model = BaggedRegressor(scheme=Subbagging(0.1), n_bags=9, random_state=0).fit(table)
    pq.write_table(rows(seed=1), folder / "all.parquet")
    for ask in (lambda: leave_one_out_error(model), table.to_memory, lambda: model.fit(table)):
        with pytest.raises(ValueError, match=r"The file .*all\.parquet has changed since the table was made"):
            ask()


def test_file_that_changes_during_a_fit_leaves_the_model_unfitted(folder):
    table = ParquetTable(folder, target="y", columns=NUMBERS, max_memory=15_000)
    model = BaggedRegressor(n_bags=6, random_state=0)
    fitted = []

    def once(X, y, seed):
        if not fitted:
            pq.write_table(rows(seed=2), folder / "all.parquet")
        fitted.append(seed)
        return lambda points: np.zeros(len(points))

    with pytest.raises(ValueError, match=r"all\.parquet has changed"):
        model.set_params(estimator=FunctionRegressor(once)).fit(table)
    assert 0 < len(fitted) < 6
    assert not hasattr(model, "estimators_")


def test_file_with_another_number_of_rows_raises_an_error(folder):
    table = ParquetTable(folder, target="y", columns=NUMBERS)
    object.__setattr__(table, "row_counts", (len(rows()) + 1,))
    with pytest.raises(ValueError, match="it had 241 rows and has 240"):
        table.to_memory()


def test_deleted_file_is_named_in_the_error(tmp_path):
    parquet_files.other_order_of_columns(tmp_path, rows())
    table = ParquetTable(tmp_path, target="y", columns=NUMBERS)
    (tmp_path / "1.parquet").unlink()
    with pytest.raises(FileNotFoundError, match=r"The file .*1\.parquet is gone"):
        BaggedRegressor(n_bags=3).fit(table)


def write(folder, **files):
    for name, columns in files.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")


def test_file_that_lacks_a_column_is_named_in_the_error(tmp_path):
    write(tmp_path, a={"x": [1], "w": [1], "y": [1.0]}, b={"x": [1], "y": [1.0]})
    with pytest.raises(ValueError, match=r"'columns' .* Got 'w': .*b\.parquet has no such column"):
        ParquetTable(tmp_path, target="y")
    assert ParquetTable(tmp_path, target="y", columns=["x"]).n_samples == 2


def test_file_with_another_type_of_a_column_is_named_in_the_error(tmp_path):
    write(tmp_path, a={"x": [1], "y": [1.0]}, b={"x": [1.5], "y": [1.0]})
    with pytest.raises(ValueError, match=r"Column 'x' has type double in .*b\.parquet, and type int64 in .*a\.parquet"):
        ParquetTable(tmp_path, target="y")
    write(tmp_path, b={"x": [1], "y": ["1"]})
    with pytest.raises(ValueError, match=r"Column 'y' has type .*string in .*b\.parquet"):
        ParquetTable(tmp_path, target="y")


def test_column_without_values_in_a_file_has_the_type_of_other_files(tmp_path):
    write(
        tmp_path,
        a={"x": pa.nulls(2), "c": pa.nulls(2), "s": pa.nulls(2), "y": [1.0, 2.0]},
        b={"x": [7], "c": pa.array(["u"]).dictionary_encode(), "s": ["t"], "y": [1.0]},
    )
    X, _ = ParquetTable(tmp_path, target="y").to_memory()
    assert X["x"].dtype == np.float64
    assert X["x"].isna().tolist() == X["c"].isna().tolist() == X["s"].isna().tolist() == [True, True, False]
    assert X["c"].cat.categories.tolist() == ["u"]


def test_ordered_categories_keep_their_order_and_must_agree(tmp_path):
    ordered = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    for name, levels in {"a": ["mid", "low"], "b": ["high", None]}.items():
        pd.DataFrame({"c": pd.Categorical(levels, dtype=ordered), "y": 1.0}).to_parquet(tmp_path / f"{name}.parquet")
    assert ParquetTable(tmp_path, target="y").take([0, 2])["c"].dtype == ordered
    other = pd.CategoricalDtype(["mid", "low"], ordered=True)
    pd.DataFrame({"c": pd.Categorical(["low"], dtype=other), "y": 1.0}).to_parquet(tmp_path / "c.parquet")
    with pytest.raises(ValueError, match=r"Column 'c' has other ordered categories in .*c\.parquet"):
        ParquetTable(tmp_path, target="y").to_memory()


@pytest.mark.parametrize("max_memory", ["1GB", 2000])
def test_ordered_categories_without_dictionaries_raise_an_error_for_any_memory(tmp_path, max_memory):
    """Their order would depend on which rows come first."""
    levels = pd.Categorical(["mid", "low", "high"] * 1000, ["low", "mid", "high"], ordered=True)
    frame = pa.Table.from_pandas(pd.DataFrame({"c": levels, "x": 1.0, "y": 1.0}))
    pq.write_table(frame, tmp_path / "a.parquet")
    pq.write_table(frame, tmp_path / "b.parquet", use_dictionary=False)
    with pytest.raises(
        ValueError, match=r"Column 'c' has ordered categories, but .*b\.parquet does not store their order"
    ):
        ParquetTable(tmp_path, target="y", max_memory=max_memory)
    assert ParquetTable(tmp_path, target="y", columns=["x"], max_memory=max_memory).n_samples == 6000
    (tmp_path / "b.parquet").unlink()
    assert ParquetTable(tmp_path, target="y", max_memory=max_memory).take([0])["c"].dtype == levels.dtype


def test_nested_column_raises_an_error_unless_it_is_left_out(tmp_path):
    write(tmp_path, a={"x": [1, 2], "l": [[1], [2, 3]], "y": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"columns with one value per row. Got 'l'"):
        ParquetTable(tmp_path, target="y")
    assert ParquetTable(tmp_path, target="y", columns=["x"]).take([1])["x"].tolist() == [2]


def test_file_that_is_not_parquet_is_named_in_the_error(tmp_path):
    (tmp_path / "a.parquet").write_text("x,y\n1,2\n")
    with pytest.raises(ValueError, match=r"a\.parquet cannot be read as a Parquet file"):
        ParquetTable(tmp_path, target="y")


@pytest.mark.parametrize("checksum", [False, True])
def test_damaged_file_of_the_same_size_and_time_is_named_in_the_error(tmp_path, checksum):
    for name in "ab":
        whole = pa.table({"x": np.arange(5000.0), "y": np.arange(5000.0)})
        pq.write_table(whole, tmp_path / f"{name}.parquet", write_page_checksum=checksum, use_dictionary=False)
    table, path = ParquetTable(tmp_path, target="y"), tmp_path / "b.parquet"
    table.targets()
    before, data = path.stat(), bytearray(path.read_bytes())
    start = 1000 if checksum else 4  # a number, or the head of the first page
    data[start : start + 20] = bytes(255 - byte for byte in data[start : start + 20])
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ValueError, match=r"^\S*b\.parquet cannot be read in row groups 0 to 0: [^\n]*again\.$"):
        BaggedRegressor(scheme=Subbagging(0.1), n_bags=3).fit(table)


def test_table_without_any_target_raises_an_error(tmp_path):
    write(tmp_path, a={"x": [1, 2], "y": pa.nulls(2)})
    table = ParquetTable(tmp_path, target="y")
    assert table.n_samples == 0
    with pytest.raises(ValueError, match=r"Found array with 0 sample\(s\)"):
        BaggedRegressor().fit(table)


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"target": "w"}, r"The 'target' parameter .* has no such column\. It has 'x', 'z'"),
        ({"target": None}, "The 'target' parameter of ParquetTable must be the name of a column. Got None"),
        ({"target": "y", "groups": "w"}, "The 'groups' parameter"),
        ({"target": "y", "row_ids": "w"}, "The 'row_ids' parameter"),
        ({"target": "y", "columns": "x"}, "The 'columns' parameter .* a list of names"),
        ({"target": "y", "columns": ["x", "y"]}, "the learner would see the answer"),
        ({"target": "y", "columns": ["x", "x"]}, "it is given twice"),
        ({"target": "y", "columns": []}, "there would be nothing to learn from"),
        ({"target": "y", "max_memory": "much"}, 'a number of bytes, or a string such as "500MB"'),
        ({"target": "y", "max_memory": 0}, "The 'max_memory' parameter"),
        ({"target": "y", "as_frame": "no"}, "The 'as_frame' parameter"),
        ({"target": "y", "as_frame": False}, "True with the column 'town'"),
    ],
)
def test_wrong_parameters_raise_an_error_that_names_them(how, match, folder):
    with pytest.raises((TypeError, ValueError), match=match):
        ParquetTable(folder, **how)


def test_row_numbers_out_of_range_raise_an_error(folder):
    with pytest.raises(ValueError, match=r"numbers from 0 to 231. Got 232"):
        ParquetTable(folder, target="y", columns=NUMBERS).take([232])


def test_pickle_is_small_and_reads_the_same_rows(folders):
    table = ParquetTable(folders["uneven_files"], target="y", columns=ALL, groups="patient")
    X, y = table.to_memory()
    sent = pickle.dumps(table)
    assert len(sent) < 4000
    again = pickle.loads(sent)
    assert again.equals(table)
    pd.testing.assert_frame_equal(again.to_memory()[0], X)
    np.testing.assert_array_equal(again.targets(), y)
    assert not again.equals(ParquetTable(folders["uneven_files"], target="y", columns=ALL))


def test_repr_shows_size_target_and_files(folders):
    said = repr(ParquetTable(folders["uneven_files"], target="y", columns=NUMBERS))
    assert said.startswith("ParquetTable of 240 rows, 3 features and the target 'y', in 6 files: ")
    assert said.endswith("part.parquet, ...")


def test_dataset_means_its_files(folder):
    files = pyarrow.dataset.dataset(folder)
    table = ParquetTable(files, target="y", columns=NUMBERS)
    assert table.equals(ParquetTable(folder, target="y", columns=NUMBERS))
    with pytest.raises(ValueError, match="a dataset without a filter"):
        ParquetTable(files.filter(pc.field("x") > 0), target="y")


def test_row_group_without_a_wanted_row_is_not_read(tmp_path):
    pq.write_table(rows(), tmp_path / "a.parquet", row_group_size=20)
    table = ParquetTable(tmp_path, target="x", columns=NUMBERS[1:])
    read = [batch.num_rows for _, _, batch in table._batches(["z"], wanted=np.array([3, 45, 50]))]
    assert sum(read) == 40


@pytest.mark.parametrize("size", [1, 10, 500])
@pytest.mark.parametrize("texts", ["all different", "one of two"])
def test_bytes_per_row_follow_the_length_of_texts_in_any_layout(tmp_path, size, texts):
    values = [f"{k if texts == 'all different' else k % 2:0100d}" for k in range(500)]
    pq.write_table(pa.table({"t": values, "y": np.arange(500.0)}), tmp_path / "a.parquet", row_group_size=size)
    table = ParquetTable(tmp_path, target="y")
    assert 100 <= table.bytes_per_row <= 160
    assert len(pickle.dumps(table)) < 5_000


def test_long_text_outside_of_the_sample_counts(tmp_path):
    values = ["short"] * 5000
    values[4000] = "x" * 10**6
    pq.write_table(pa.table({"t": values, "y": np.arange(5000.0)}), tmp_path / "a.parquet")
    assert 200 <= ParquetTable(tmp_path, target="y").bytes_per_row <= 500
