import copy
import datetime
import pickle
from uuid import UUID

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, forget, leave_one_out_error, predict_interval
from stablebag.fast.native.library import library
from stablebag.models.fitted import Fitted
from stablebag.models.rows import SavedTable, unwrap_tables, wrap_tables

skops = pytest.importorskip("skops.io")

NUMBERS = pd.DataFrame(
    {"a": [1.0, -0.0, np.nan, 4.0, np.inf], "b": np.arange(5), "c": [True, False, True, True, False]}
)
DAYS = pd.date_range("2020", periods=5, freq="D", name="day")
TEXTS = ["a", "zero at the end\0", "", None, "ü\U0001f600"]


class Special(pd.DataFrame):
    """A frame that is more than a frame."""


def numbered(**columns):
    return pd.DataFrame(columns)


FRAMES = {
    "numbers": NUMBERS,
    "small numbers": NUMBERS.astype({"a": np.float32, "b": np.int8}),
    "labels as index": NUMBERS.set_index(pd.Index(list("vwxyz"), name="key")),
    "a range as index": NUMBERS.set_index(pd.RangeIndex(3, 13, 2, name="odd")),
    "numbers as index": NUMBERS.set_index(pd.Index([5, 3, 9, 1, 0])),
    "days as index": NUMBERS.set_index(DAYS),
    "days in Berlin as index": NUMBERS.set_index(DAYS.tz_localize("Europe/Berlin", ambiguous="infer")),
    "two levels": NUMBERS.set_index(pd.MultiIndex.from_product([["a"], range(5)], names=["k", None])),
    "categories as index": NUMBERS.set_index(pd.CategoricalIndex(list("abcab"), categories=list("cbad"))),
    "no columns": pd.DataFrame(index=range(5)),
    "columns by number": pd.DataFrame(np.eye(5)),
    "columns in two levels": pd.DataFrame(np.eye(4), columns=pd.MultiIndex.from_product([["a", "b"], [1, 2]])),
    "categories": numbered(
        c=pd.Categorical(["x", "y", None, "x"], categories=["z", "y", "x"], ordered=True),
        i=pd.Categorical([3, 1, 3, 1]),
    ),
    "texts": numbered(s=TEXTS),
    "texts of pandas": numbered(s=pd.array(TEXTS, dtype="string")),
    "texts as objects": numbered(s=pd.Series(TEXTS, dtype=object)),
    "missing objects of each kind": numbered(
        n=pd.Series(["a", None], dtype=object),
        f=pd.Series(["a", np.nan], dtype=object),
        p=pd.Series(["a", pd.NA], dtype=object),
        b=pd.Series([True, None], dtype=object),
    ),
    "nullable": numbered(
        i=pd.array([1, None, 3], dtype="Int64"), u=pd.array([1, None, 3], dtype="UInt8"),
        f=pd.array([1.5, None, 3], dtype="Float32"), b=pd.array([True, None, False], dtype="boolean"),
    ),
    "times": numbered(
        d=DAYS, s=DAYS.as_unit("s"), z=DAYS.tz_localize("Europe/Berlin"), u=DAYS.tz_localize("UTC"),
        o=DAYS.tz_localize("+02:00"), t=pd.to_timedelta([1, 2, 3, 4, None], unit="s"),
    ),
    "periods and intervals": numbered(
        p=pd.period_range("2020", periods=5, freq="M"), i=pd.IntervalIndex.from_breaks(range(6))
    ),
    "notes": NUMBERS.copy(),
    "Arrow": pl.DataFrame({"a": [1, None, 3], "s": ["x", None, "z"]}).to_pandas(use_pyarrow_extension_array=True),
    "polars": pl.DataFrame({
        "a": [1, None, 3],
        "f": [1.0, float("nan"), None],
        "s": ["x", "y", None],
        "c": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
        "e": pl.Series(["a", "b", "a"], dtype=pl.Enum(["b", "a", "z"])),
        "d": [datetime.date(2020, 1, 1)] * 3,
        "t": pl.Series([datetime.datetime(2020, 1, 1)] * 3).dt.replace_time_zone("Europe/Berlin"),
        "l": [[1], [2, 3], []],
    }),
}  # fmt: skip
FRAMES["notes"].attrs = {"who": "me", "scale": [1, 2.5, None]}

REFUSED = {
    "columns of one name": (pd.DataFrame(np.eye(2), columns=["a", "a"]), "this table: Duplicate column names"),
    "columns of mixed names": (
        pd.DataFrame(np.eye(2), columns=["a", 1]),
        "column .a",
    ),
    "mixed objects": (numbered(o=pd.Series([1, "a", None], dtype=object)), "this table: .*column o"),
    "two kinds of missing values": (numbered(o=pd.Series(["a", None, np.nan], dtype=object)), "column 'o'"),
    "whole numbers as objects": (numbered(o=pd.Series([1, None], dtype=object)), "column 'o'"),
    "sparse": (numbered(a=pd.arrays.SparseArray([0.0, 0.0, 1.0])), r"this table: .*column a"),
    "lists": (numbered(b=[[1], [2]]), "column 'b'"),
    "any objects": (numbered(b=[object()]), "this table: .*column b"),
    "odd labels": (pd.DataFrame([[1]], index=[frozenset({1})]), "this table: .*frozenset"),
    "more than a frame": (Special(NUMBERS), "this table: a Special is not a plain pandas DataFrame"),
    "objects in polars": (pl.DataFrame({"a": pl.Series([object()], dtype=pl.Object)}), "this table: "),
}


def through_skops(value):
    file = skops.dumps({"X": wrap_tables(value)})
    assert skops.get_untrusted_types(data=file) == ["stablebag.models.rows.SavedTable"]
    return unwrap_tables(skops.loads(file, trusted=["stablebag.models.rows.SavedTable"])["X"])


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, pl.DataFrame):
        assert one.schema == other.schema
        assert one.equals(other)
        return
    pd.testing.assert_frame_equal(one, other, check_exact=True, check_freq=False)
    assert one.attrs == other.attrs
    assert [type(label) for label in one.columns] == [type(label) for label in other.columns]
    for place in np.flatnonzero([dtype.kind == "O" for dtype in one.dtypes]):
        assert [type(cell) for cell in one.iloc[:, place]] == [type(cell) for cell in other.iloc[:, place]]


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_frame_survives_skops_exactly_and_needs_one_trusted_type(frame):
    assert_same(through_skops(frame), frame)


def test_series_survives_skops_exactly():
    for series in (pd.Series([1.0, 2.0], index=list("ab"), name="w"), pd.Series(["a", None]), pd.Series([], dtype=int)):
        pd.testing.assert_series_equal(through_skops(series), series, check_exact=True)
    weights = through_skops(pl.Series("w", [1.0, None]))
    assert weights.name == "w"
    assert weights.to_list() == [1.0, None]


@pytest.mark.parametrize(("frame", "sentence"), REFUSED.values(), ids=REFUSED)
def test_tables_that_would_change_raise_with_ways_out(frame, sentence):
    with pytest.raises(TypeError, match=f"skops cannot save ({sentence}).*pickle or joblib.*keep_rows=False"):
        skops.dumps(wrap_tables(frame))


def test_attrs_that_would_change_raise():
    frame = NUMBERS.copy()
    frame.attrs = {"where": (1, 2)}
    with pytest.raises(TypeError, match="skops cannot save the attrs of this table"):
        skops.dumps(wrap_tables(frame))


def test_table_that_would_change_raises(monkeypatch):
    monkeypatch.setattr("stablebag.models.rows._table", lambda state: NUMBERS)
    with pytest.raises(TypeError, match="because it would change"):
        skops.dumps(wrap_tables(NUMBERS + 1))


def test_rows_in_another_format_raise():
    state = SavedTable(NUMBERS).__getstate__() | {"format": 99}
    with pytest.raises(
        ValueError, match=r"have format 99, but this version of stablebag reads format 1\. Refit and save"
    ):
        SavedTable.__new__(SavedTable).__setstate__(state)


def test_pickle_and_copy_store_tables_unchanged():
    for frame, _ in REFUSED.values():
        wrapped = wrap_tables(frame)
        assert isinstance(wrapped, SavedTable)
        assert type(pickle.loads(pickle.dumps(wrap_tables(NUMBERS)))) is pd.DataFrame
        assert unwrap_tables(copy.copy(wrapped)) is frame
        assert unwrap_tables(wrapped) is frame
    assert type(pickle.loads(pickle.dumps(wrap_tables(REFUSED["lists"][0])))) is pd.DataFrame


def test_wrap_tables_leaves_other_values_unchanged():
    for value in (np.eye(2), None, [1, 2], "text"):
        assert wrap_tables(value) is value
        assert unwrap_tables(value) is value
    wrapped = wrap_tables({"w": NUMBERS["a"], "n": 3})
    assert isinstance(wrapped["w"], SavedTable)
    assert unwrap_tables(wrapped)["w"] is wrapped["w"].table
    assert unwrap_tables(wrapped)["n"] == 3


# -------------------------------------------------------------------------------------------------------- whole models

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(RNG.normal(size=(40, 3)), columns=list("abc"))
MIXED = TABLE.assign(kind=RNG.choice(["u", "v", "w"], 40), c=pd.Categorical(RNG.choice(["x", "y"], 40)))
MIXED.index = pd.Index([f"row {number}" for number in range(40)], name="who")
TARGET = RNG.normal(size=40)
ENCODED = make_column_transformer((OneHotEncoder(), ["kind", "c"]), (StandardScaler(), ["a", "b"]))
MODELS = {
    "trees": (DecisionTreeRegressor(), TABLE, {}),
    "linear": (Ridge(), TABLE, {}),
    "neighbours": (KNeighborsRegressor(3), TABLE, {}),
    "mixed columns": (make_pipeline(ENCODED, Ridge()), MIXED, {"row_ids": "index"}),
    "polars": (DecisionTreeRegressor(), pl.from_pandas(TABLE), {}),
    "weights in a series": (Ridge(), TABLE, {"sample_weight": pd.Series(np.linspace(1, 2, 40))}),
    "labels": (Ridge(), TABLE.to_numpy(), {"row_ids": [f"row {number}" for number in range(40)]}),
    "numbers as labels": (Ridge(), TABLE.to_numpy(), {"row_ids": 7 * np.arange(40)}),
    "mixed labels": (Ridge(), TABLE, {"row_ids": [*range(38), "last but one", 0.5]}),
    "days": (Ridge(), TABLE.set_index(pd.date_range("2020", periods=40)), {"row_ids": "index"}),
    "identifiers": (Ridge(), TABLE, {"row_ids": [UUID(int=number) for number in range(40)]}),
}


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "X", "settings"), MODELS.values(), ids=MODELS)
def test_models_fitted_on_frames_survive_skops_and_pickle(learner, X, settings):
    model = BaggedRegressor(learner, n_bags=14, random_state=0).fit(X, TARGET, **settings)
    file = skops.dumps(model)
    trusted = skops.get_untrusted_types(data=file)
    known = {"uuid.UUID", "datetime.datetime"}
    if library() is None:  # trees are kept as scikit-learn's, which skops does not trust
        known |= {"sklearn.tree._tree.Tree"}
    own = ("stablebag.",) if model.solver_.solver is not None else ("stablebag.", "sklearn.")  # its own fitted models
    assert all(name.startswith(own) or name in known for name in trusted)
    row = model.units_.ids.names[3]
    for again in (skops.loads(file, trusted=trusted), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert type(Fitted(again).X) is type(Fitted(model).X)
        if not isinstance(X, np.ndarray):
            assert_same(Fitted(again).X, Fitted(model).X)
        assert again.units_.ids == model.units_.ids
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        np.testing.assert_array_equal(predict_interval(again, X).lower, predict_interval(model, X).lower)
    again = skops.loads(file, trusted=trusted)
    np.testing.assert_array_equal(forget(again, [row]).predict(X), forget(model, [row]).predict(X))


def test_classifier_of_strings_survives_skops():
    labels = np.where(TARGET > 0, "up", "down").astype(object)
    model = BaggedClassifier(LogisticRegression(), n_bags=14, random_state=0).fit(TABLE, labels)
    file = skops.dumps(model)
    again = skops.loads(file, trusted=skops.get_untrusted_types(data=file))
    assert again.predict(TABLE).tolist() == model.predict(TABLE).tolist()
    assert leave_one_out_error(again).value == leave_one_out_error(model).value


def test_keep_rows_false_avoids_tables_that_skops_cannot_save():
    frame = TABLE.assign(a=pd.Series(list(TABLE["a"].to_numpy()), dtype=object))
    model = BaggedRegressor(Ridge(), n_bags=14, random_state=0).fit(frame, TARGET)
    with pytest.raises(TypeError, match="skops cannot save column 'a'"):
        skops.dumps(model)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(frame), model.predict(frame))
    without = model.set_params(keep_rows=False).fit(frame, TARGET)
    file = skops.dumps(without)
    again = skops.loads(file, trusted=skops.get_untrusted_types(data=file))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    for impossible in (lambda: predict_interval(again, frame), lambda: leave_one_out_error(again)):
        with pytest.raises(ValueError, match=r"the model did not store them\. Fit it with keep_rows=True"):
            impossible()
    with pytest.raises(ValueError, match="did not store its training rows"):
        forget(again, [0])
    assert len(Fitted(forget(again, [0], X=frame)).y) == 39
