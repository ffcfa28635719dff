import datetime
import decimal
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from stablebag.tables.columns import Columns, Kind, plain_column, split_target, written
from stablebag.tables.text import TableError


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    n = 80
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(50, 10, n)),
            "city": rng.choice(["Rome", "Oslo", None], n),
            "note": [f"patient number {k} came in with a cough" for k in range(n)],
            "seen": pd.date_range("2024-01-01", periods=n).astype(str),
            "when": pd.date_range("2023-01-01", periods=n),
            "smokes": rng.random(n) < 0.3,
            "code": [f"id{k}" for k in range(n)],
            "same": 1.0,
            "empty": np.nan,
            "y": rng.normal(size=n),
        }
    )


def test_columns_are_told_apart(frame):
    columns = Columns.of(frame.drop(columns="y"))
    assert columns.named("number") == ["age"]
    assert columns.named("category") == ["city", "smokes"]
    assert columns.named("text") == ["note"]
    assert columns.named("date") == ["seen", "when"]
    assert columns.named("constant") == ["same", "empty"]
    assert columns.named("id") == ["code"]
    assert columns.used == ["age", "city", "note", "seen", "when", "smokes"]
    assert Columns.from_dict(json.loads(json.dumps(columns.to_dict()))) == columns


def test_the_pipeline_reads_every_kind_also_what_it_has_not_seen(frame):
    X, y, task, dropped = split_target(frame, "y")
    assert (task, dropped) == ("regression", 0)
    columns = Columns.of(X)
    X, pipeline = columns.read(X), columns.pipeline(DecisionTreeRegressor(random_state=0))
    fitted = clone(pipeline).fit(X[:5], y[:5])  # a small bag: cities, ages and notes that it lacks
    assert np.isfinite(fitted.predict(X)).all()
    strange = X[:1].assign(city="Paris", note=None, seen=pd.NaT, age=np.nan)
    assert np.isfinite(fitted.predict(strange)).all()


def test_a_table_of_constants_has_nothing_to_learn_from():
    with pytest.raises(TableError, match="no column to learn from"):
        Columns.of(pd.DataFrame({"a": [1.0] * 9})).pipeline(DecisionTreeRegressor())


@pytest.mark.parametrize(("values", "plain"), [
    (pd.array([1, 2], dtype="Int64"), [1, 2]), (pd.array([1, None], dtype="Int64"), [1.0, None]),
    (pd.Categorical(["a", None]), ["a", None]), (pd.Categorical([1, 2]), [1, 2]), ([True, False], ["True", "False"]),
    (pd.array([True, None], dtype="boolean"), ["True", None]), ([1.5, np.inf], [1.5, None]),
    ([decimal.Decimal("1.5"), None], [1.5, None]), (pd.to_timedelta(["36h"]), [1.5]), (["x", 7], ["x", "7"]),
    ([datetime.date(2020, 1, 2)], [pd.Timestamp("2020-01-02")]),
    (pd.to_datetime(["2020-01-02T01:00+01:00"]), [pd.Timestamp("2020-01-02")]),
])  # fmt: skip
def test_columns_of_any_type_are_numbers_dates_or_texts(values, plain):
    found = plain_column(pd.Series(values))
    assert [None if pd.isna(value) else value for value in found] == plain


def test_bytes_and_complex_numbers_are_refused():
    for values in ([b"a"], [1j]):
        with pytest.raises(TableError, match="--drop"):
            plain_column(pd.Series(values, name="x"))


def test_another_table_is_read_as_the_training_table_was():
    columns = Columns({"a": Kind("number", ",€"), "b": Kind("category"), "c": Kind("date", "%d/%m/%Y")})
    there = pd.DataFrame({"c": ["02/03/2020", "?"], "b": [2.0, np.nan], "a": ["€ 1.234,50", "7"], "d": 1})
    found = columns.read(there)
    assert found.columns.tolist() == ["a", "b", "c"]
    assert found["a"].tolist() == [1234.5, 7.0]
    assert found["b"].iloc[0] == "2"
    assert found["b"].isna().tolist() == [False, True]
    assert found["c"].tolist()[0] == pd.Timestamp("2020-03-02")
    assert found["c"].isna().tolist() == [False, True]
    for strange, words in (
        (there.drop(columns="b").rename(columns={"d": "B"}), r"^New.csv has no column 'b', .* Did you mean 'B'\?"),
        (there.assign(a="?"), "The column 'a' has numbers in the training table and none in new.csv"),
        (there.assign(c="?"), "The column 'c' has dates in the training table and none in new.csv"),
        (there.assign(c=7), "The column 'c' has dates in the training table and none in new.csv"),
    ):
        with pytest.raises(TableError, match=words):
            columns.read(strange, "new.csv")


def test_whole_numbers_are_written_without_a_point():
    assert written(pd.Series([2.0, np.nan])).iloc[0] == "2"
    assert written(pd.Series([2.5, 1.0])).tolist() == ["2.5", "1.0"]
