"""Columns: their kinds, how they are parsed, the target, and remarks."""

import datetime
import decimal
import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from stablebag.tables.columns import (
    Columns,
    Kind,
    ambiguous_numbers,
    as_targets,
    column_remarks,
    describe_columns,
    infer_kinds,
    looks_like_group_name,
    looks_like_id_name,
    plain_column,
    split_target,
    target_remarks,
    to_text,
)
from stablebag.tables.text import TableError

# ---------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize("name", ["patient_id", "PatientID", "Patient No", "id_patient", "user", "group", "stop_id"])
def test_group_names_are_recognised(name):
    assert looks_like_group_name(name)
    assert looks_like_id_name(name)


@pytest.mark.parametrize("name", ["index", "Unnamed: 0", "row", "RowNumber", "row_id"])
def test_row_id_names_are_recognised(name):
    assert looks_like_id_name(name)


@pytest.mark.parametrize("name", ["age", "n_patient", "age_group", "zip_code", "paid", "hospital_beds", "", "room no"])
def test_other_names_are_neither_groups_nor_row_ids(name):
    assert not looks_like_group_name(name)
    assert not looks_like_id_name(name)


# ---------------------------------------------------------------------------------------------------------------- kinds


def column(values, name="x"):
    return pd.DataFrame({name: pd.Series(values, dtype=object)})


def kind(values, name="x", **options):
    return infer_kinds(column(values, name), **options).kinds[name]


N = 60


COUNTED = [str(k) for k in range(N)]


@pytest.mark.parametrize(("values", "found"), [
    (["1", "2.5", None], Kind("number", ".")), (["1", "2,5"], Kind("number", ",")),
    (["€ 1.234,50", "€ 3"], Kind("number", ",€")), (["12 %", "3 %"], Kind("number", ".%")),
    (["12 %", "3"], Kind("category")), (["5 €", "5 $"], Kind("category")), (["1.5", "1,5"], Kind("category")),
    (["00012", "00013"], Kind("category")), (["1", "inf"], Kind("category")), (["True", "False"], Kind("category")),
    (["1"] * 9, Kind("constant")), ([None] * 9, Kind("constant")), (["1", None], Kind("number", ".")),
    (["yes", None], Kind("category")), (["2020-01-01", "2020-01-05"], Kind("date", "ISO8601")),
    (["13.02.2020", "01.02.2020"], Kind("date", "%d.%m.%Y")),
    ([f"0{k % 9 + 1}/0{k % 8 + 1}/2020" for k in range(99)] + ["23/06/2020"], Kind("date", "%d/%m/%Y")),
    ([f"0{k % 9 + 1}/0{k % 8 + 1}/2020" for k in range(99)] + ["soon"], Kind("date", "%m/%d/%Y")),
    ([f"a note of {k} words" for k in range(N)], Kind("text")), ([f"k{k}" for k in range(N)], Kind("id")),
    ([f"k{k}" for k in range(N)] * 2, Kind("category")), ([f"k{k}" for k in range(9)], Kind("category")),
    (COUNTED, Kind("number", ".")),
])  # fmt: skip
def test_kind_follows_from_values(values, found):
    assert kind(values) == found


def test_distinct_whole_numbers_are_ids_only_with_the_name_of_an_id():
    for name in ("patient_id", "Unnamed: 0"):
        assert kind(COUNTED, name) == Kind("id")
        assert infer_kinds(pd.DataFrame({name: np.arange(N)})).kinds[name] == Kind("id")
        assert kind([*COUNTED, "0"], name) == Kind("number", ".")
        assert kind([f"{k}.5" for k in range(N)], name) == Kind("number", ".")


def test_ambiguous_numbers_follow_the_other_columns_then_the_separator():
    twice = ["1.234", "5.678"]
    assert kind(twice) == Kind("number", ".")
    assert kind(twice, separator=";") == Kind("number", ",")
    assert kind(twice, decimal=",") == Kind("number", ",")
    assert kind(["1,234"], decimal=".") == Kind("constant")
    for others, separator, form in ((["1,5", "2"], ",", ","), (["1.5", "2"], ";", ".")):
        table = pd.DataFrame({"x": twice, "other": others}, dtype=object)
        assert infer_kinds(table, separator=separator).kinds["x"].form == form


def test_kind_can_be_given():
    assert kind(["1", "2"], chosen={"x": "category"}) == Kind("category")
    assert kind(["1,5", "n.d."], chosen={"x": "number"}) == Kind("number", ",")
    assert kind(["00012"] * 3, chosen={"x": "number"}) == Kind("number", ".")
    with pytest.raises(TableError, match=r"No value of the column 'x' is a number\. Give it another kind"):
        kind(["a", "b"], chosen={"x": "number"})
    assert kind(["13.02.2020", "soon", "?"], chosen={"x": "date"}) == Kind("date", "%d.%m.%Y")
    with pytest.raises(TableError, match="No value of the column 'x' is a date"):
        kind(["a", "b"], chosen={"x": "date"})
    with pytest.raises(TableError, match="has numbers, which cannot be read as dates: change its kind"):
        infer_kinds(pd.DataFrame({"x": [1.0, 2.0]}), chosen={"x": "date"})


@pytest.mark.parametrize(("values", "classes"), [
    (["0", "1"], True), (["a", "b"], True), (["True", "False"], True), (["0,0", "1,0"], True),
    ([str(k / 9) for k in range(9)], False), (COUNTED, False), (["0.5", "1.5"], False),
])  # fmt: skip
def test_target_has_classes_if_it_has_texts_or_few_whole_numbers(values, classes):
    assert infer_kinds(column(values), target="x").has_classes == classes


def decisive(values, units=None, **options):
    return {name: rows.tolist() for name, rows in infer_kinds(column(values), units, **options).decisive.items()}


def test_rows_that_alone_decide_a_kind_are_found():
    assert decisive([*COUNTED, "n.d."]) == {"x": [60]}  # without it they are numbers
    assert decisive([*COUNTED, "n.d.", "n.d."]) == {}
    assert decisive(["a", "a", "b"]) == {"x": [2]}  # without it they are constant
    assert decisive(["a", "a", None]) == {"x": [2]}
    assert decisive(["a", "b", "a", "b"]) == {}
    assert decisive(["1", "2", "3", "4,5"]) == {}  # whole numbers are the same with a comma and a point
    assert decisive(["1.234", "5.678", "0.5"], separator=";") == {"x": [2]}  # without it they are thousands
    twice = [f"k{k}" for k in range(N)]
    assert decisive([*twice, "k7"]) == {"x": [7, 60]}  # without one of the two, all differ
    assert decisive([str(k) for k in range(11)], target="x") == {"x": list(range(11))}  # ten are classes
    assert decisive([str(k) for k in range(11)], target="x", task="regression") == {}


def test_groups_decide_a_kind_with_all_of_their_rows():
    assert decisive([*COUNTED, "n.d.", "n.d."], np.append(np.arange(N), [N, N])) == {"x": [60]}
    assert decisive([*COUNTED, "n.d.", "n.d."], np.append(np.arange(N), [3, 4])) == {}


VALUES = ["1", "2", "1.234", "1,5", "0.5", "007", "€ 3", "n.d.", None, "2020-01-02", "01/02/2020", "13/02/2020",
          "a note of five words", "another note of six words", "k1", "k2"]  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_leaving_out_any_other_row_changes_no_kind_and_no_value(seed):
    """Parse the table without each row, and compare with the parsed table without the row."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 14))
    few = [rng.choice(len(VALUES), 3) for _ in range(3)]
    table = pd.DataFrame(
        {name: [VALUES[k] for k in rng.choice(some, n)] for name, some in zip(("a", "b", "id"), few, strict=True)},
        dtype=object,
    )
    groups = rng.integers(0, max(2, n // 2), n) if seed % 2 else np.arange(n)
    units = pd.factorize(groups)[0]
    if units.max() == 0:
        return
    decision = infer_kinds(table, units, separator=";")
    whole = Columns(decision.kinds)
    for unit in range(units.max() + 1):
        left = table[units != unit].reset_index(drop=True)
        alone = Columns(infer_kinds(left, separator=";").kinds)
        decides = {name for name, which in decision.decisive.items() if unit in which}
        if not decides:
            pd.testing.assert_frame_equal(
                alone.read(left), whole.read(table)[units != unit].reset_index(drop=True), check_dtype=False
            )
        changed = {name for name in table if not _alike(alone.kinds[name], whole.kinds[name], left[name])}
        assert changed == decides


def _alike(one, other, values):
    if one == other:
        return True
    plain = not values.dropna().str.contains("[.,]").any()
    return plain and one.name == other.name == "number" and one.form[1:] == other.form[1:]


# -------------------------------------------------------------------------------------------------------------- columns


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


def test_columns_of_all_kinds_are_inferred_and_stored(frame):
    columns = Columns.of(frame.drop(columns="y"))
    assert columns.named("number") == ["age"]
    assert columns.named("category") == ["city", "smokes"]
    assert columns.named("text") == ["note"]
    assert columns.named("date") == ["seen", "when"]
    assert columns.named("constant") == ["same", "empty"]
    assert columns.named("id") == ["code"]
    assert columns.used == ["age", "city", "note", "seen", "when", "smokes"]
    assert Columns.from_dict(json.loads(json.dumps(columns.to_dict()))) == columns


def test_pipeline_predicts_for_unknown_and_missing_values_of_every_kind(frame):
    X, y, task, dropped = split_target(frame, "y")
    assert (task, dropped) == ("regression", 0)
    columns = Columns.of(X)
    X, pipeline = columns.read(X), columns.pipeline(DecisionTreeRegressor(random_state=0))
    fitted = clone(pipeline).fit(X[:5], y[:5])  # a small bag: cities, ages and notes that it lacks
    assert np.isfinite(fitted.predict(X)).all()
    strange = X[:1].assign(city="Paris", note=None, seen=pd.NaT, age=np.nan)
    assert np.isfinite(fitted.predict(strange)).all()


def test_table_of_constants_raises_an_error():
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
def test_columns_of_any_type_become_numbers_dates_or_texts(values, plain):
    found = plain_column(pd.Series(values))
    assert [None if pd.isna(value) else value for value in found] == plain


def test_bytes_complex_numbers_and_lists_raise_an_error_with_the_option_drop():
    for values in ([b"a"], [1j], [[1]], [{"a": 1}]):
        with pytest.raises(TableError, match="Leave it out with drop"):
            plain_column(pd.Series(values, name="x"))


def test_new_table_is_parsed_like_the_training_table():
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
        (there.assign(a="?"), "The column 'a' has numbers in the training table, but no value in new.csv is one"),
        (there.assign(c="?"), "The column 'c' has dates in the training table, but no value in new.csv is one"),
        (there.assign(c=7), "The column 'c' has dates in the training table, but no value in new.csv is one"),
    ):
        with pytest.raises(TableError, match=words):
            columns.read(strange, "new.csv")


def test_whole_numbers_become_texts_without_a_point():
    assert to_text(pd.Series([2.0, np.nan])).iloc[0] == "2"
    assert to_text(pd.Series([2.5, 1.0])).tolist() == ["2.5", "1.0"]


# -------------------------------------------------------------------------------------------------------------- targets


@pytest.mark.parametrize(("values", "task"), [
    ([0, 1] * 5, "classification"), (["a", "b"] * 5, "classification"), ([True, False] * 5, "classification"),
    (np.linspace(0, 1, 10), "regression"), (np.arange(30), "regression"), ([0.5, 1.5] * 5, "regression"),
])  # fmt: skip
def test_task_follows_from_the_target(values, task):
    table = pd.DataFrame({"a": np.arange(len(values)), "y": values})
    assert split_target(table, "y")[2] == task


def test_rows_without_a_target_are_dropped_and_counted():
    table = pd.DataFrame({"a": range(4), "y": [0.5, np.nan, 1.5, 7.25]})
    X, y, _, dropped = split_target(table, "y")
    assert dropped == 1
    assert X["a"].tolist() == [0, 2, 3]
    assert y.tolist() == [0.5, 1.5, 7.25]


@pytest.mark.parametrize(("values", "task", "words"), [
    (["a", "a"], None, "one class only, 'a'"),
    ([7.0, 7.0], None, "is 7 in every row, so there is nothing to predict. Use another column, or add rows"),
    (["a", "b"], "regression", "is not a number"),
    ([1.0, np.inf], "regression", "infinite"), ([np.nan, np.nan], None, "missing in every row"),
])  # fmt: skip
def test_unusable_targets_raise_an_error(values, task, words):
    with pytest.raises(TableError, match=words):
        split_target(pd.DataFrame({"a": [1, 2], "y": values}), "y", task)
    with pytest.raises(TableError, match=r"no column 'z' in the table; it has 'a'"):
        split_target(pd.DataFrame({"a": [1]}), "z")
    with pytest.raises(TableError, match=r"no column 'outcom' in the table. Did you mean 'Outcome'\?"):
        split_target(pd.DataFrame({"Outcome": [1]}), "outcom")


def test_large_whole_numbers_are_different_classes():
    assert as_targets(pd.Series([1e19, 2e19]), "classification", "y").tolist() == [
        "10000000000000000000", "20000000000000000000",
    ]  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- describing


def test_every_column_gets_a_description():
    n = 60
    frame = pd.DataFrame(
        {
            "y": [str(k / 7) for k in range(n)],
            "who": ["a", "b", "c"] * 20,
            "code": [f"{k % 30:03d}" for k in range(n)],
            "price": [f"€ {k},50" for k in range(n)],
            "when": [f"{k % 28 + 1:02d}.01.2020" for k in range(n)],
            "same": ["x"] * n,
            "empty": [None] * n,
            "name": [f"n{k}" for k in range(n)],
            "city": ["Rome", "Oslo", None] * 20,
            "out": ["1"] * n,
            "many": [f"m{k % 55}" for k in range(n)],
        },
        dtype=object,
    )
    kinds = infer_kinds(frame.drop(columns=["who", "out"]), target="y").kinds
    X = Columns(kinds).read(frame)
    found = describe_columns(frame, X, kinds, target="y", group="who", ids=(), drop=("out",), leaking=["many"])
    told = {column.name: (column.kind, column.n_values, column.example, column.remark) for column in found}
    assert told == {
        "y": ("target", 60, "0 to 8.429", ""),
        "who": ("group", 3, "a, b, c", "identifies groups"),
        "code": ("category", 30, "000, 001, 002, ...", "codes with leading zeros"),
        "price": ("number", 60, "0.5 to 59.5", "written with €"),
        "when": ("date", 28, "2020-01-01 to 2020-01-28", "day.month.year"),
        "same": ("constant", 1, "x", "not used: constant"),
        "empty": ("constant", 0, "", "not used: empty"),
        "name": ("id", 60, "n0, ...", "not used: all values differ"),
        "city": ("category", 2, "Oslo, Rome", ""),
        "out": ("dropped", 1, "1", "left out by drop"),
        "many": ("category", 55, "m0, m1, m2, ...", "predicts the target alone"),
    }
    assert next(column.missing for column in describe_columns(
        frame[["city"]], X, kinds, target="y", group=None, ids=(), drop=(), leaking=[]
    )) == 1 / 3  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- remarks


def columns(**values):
    return pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in values.items()})


def remarks(table, **options):
    inferred = infer_kinds(table, chosen=options.pop("kinds", None))
    return column_remarks(table, Columns(inferred.kinds).read(table), inferred, **options)


def test_plain_numbers_get_no_remark():
    numbers = [str(k / 7) for k in range(N)]
    assert remarks(columns(a=numbers, b=[*numbers[:-1], None])) == []
    assert remarks(pd.DataFrame({"a": np.arange(9.0), "b": np.arange(9)})) == []
    assert remarks(columns(town=["Rome", "Oslo", None] * 20)) == []


def test_almost_numeric_column_names_a_value_that_is_not_a_number_and_the_option():
    numbers = [str(k) for k in range(20)]
    assert remarks(columns(a=[*numbers, "n.d.", "n.d."], b=[*numbers, "x", None])) == [
        "'a' is a category because of 'n.d.' in 2 rows. kinds={'a': 'number'} reads numbers and treats such values as "
        "missing.",
        "'b' is a category because of 'x' in 1 row. kinds={'b': 'number'} reads numbers and treats such values as "
        "missing.",
    ]
    assert remarks(columns(a=["1", "2", "x", "y"])) == []
    *first, last = remarks(columns(**{f"x{k}": [*numbers, "?"] for k in range(9)}))
    assert len(first) == 3
    assert first[0].startswith("'x0' is a category because of '?' in 1 row")  # and not an ID, though all values differ
    assert last == "The same is true of 6 more columns."
    (sampled,) = remarks(columns(a=[*numbers, "n.d."]), n_sampled=21)
    assert "in 1 row among the 21 rows that were looked at." in sampled


def test_remarks_say_which_columns_are_not_used_and_how_texts_and_dates_are():
    table = columns(
        code=[f"k{k}" for k in range(N)],
        note=[f"a note about case {k}" for k in range(N)],
        seen=["2024-01-01", "2024-01-02"] * 30,
        when=[f"{k % 28 + 1:02d}/03/2024" for k in range(N)],
        zip=[f"{k % 30:05d}" for k in range(N)],
        town=[f"t{k % 55}" for k in range(N)],
        same=["1"] * N,
        empty=[None] * N,
        y=[str(k / 7) for k in range(N)],
    )
    assert remarks(table) == [
        "Not used, because it is empty: 'empty'.",
        "Not used, because it is constant: 'same'.",
        "Not used, because every value is different, as in an ID: 'code'. kinds={'code': 'text'} would use it.",
        "Free text, turned into 64 columns of hashed words: 'note'. kinds={'note': 'category'} keeps each value whole.",
        "Dates, turned into the day, the time of year and the weekday: 'seen', 'when' (day/month/year).",
        "Read as categories because of leading zeros: 'zip'. kinds={'zip': 'number'} reads numbers.",
        "Many categories: 'town'. Each bag keeps the 49 most frequent and treats the rest as one.",
    ]
    assert remarks(table[["note", "y"]], kinds={"note": "text"}, chosen=["note"]) == []  # the user knows
    (many,) = remarks(pd.concat([table["same"].rename(f"x{k}") for k in range(5)], axis=1))
    assert many == "Not used, because they are constant: 'x0', 'x1', 'x2' and 2 more."


def test_values_that_count_as_missing_are_counted():
    table = columns(when=[*(f"{k % 28 + 1}.3.2024" for k in range(40)), "soon"], x=["1", "n.d."] * 20 + ["?"])
    found = remarks(table, kinds={"x": "number"}, chosen=["x"])
    assert (
        found[0] == "1 value of 'when' cannot be read as a date written day.month.year ('soon') and counts as missing."
    )
    assert found[1] == "21 values of 'x' cannot be read as numbers ('n.d.') and count as missing."


@pytest.mark.parametrize(("texts", "remark"), [
    (["1,234", "5"], "the ',' of '1,234' was read as a thousands separator. decimal=',' reads it the other way."),
    (["1.234", "5"], "the '.' of '1.234' was read as a decimal mark. decimal=',' reads it the other way."),
])  # fmt: skip
def test_numbers_with_two_readings_get_a_remark(texts, remark):
    table = columns(x=texts)
    assert ambiguous_numbers(infer_kinds(table)) == [f"In 'x', {remark}"]
    (several,) = ambiguous_numbers(infer_kinds(table.assign(y=table["x"], z=table["x"])))
    assert several.endswith("The same is true of 2 more columns.")
    assert ambiguous_numbers(infer_kinds(table, decimal=".")) == []
    assert ambiguous_numbers(infer_kinds(columns(x=["1.5", "2"], y=["1", "2"]))) == []


def test_target_of_few_whole_numbers_gets_a_remark_unless_it_was_asked_for_or_warned_about():
    def found(values, given=None, task="classification"):
        return target_remarks(pd.Series(values, name="y"), Kind("number", "."), task, given)

    assert found([0, 10, 50]) == [
        "The target 'y' has 3 different whole numbers, read as classes. task='regression' predicts numbers instead."
    ]
    assert found([0, 1]) == []  # yes and no
    assert found([1, 2, 3]) == []  # rating_warnings asks about these
    assert found([0, 10, 50], given="classification") == []
    assert found([0, 10, 50], task="regression") == []


def test_target_of_numbers_with_a_word_gets_a_remark():
    values = pd.Series([*(str(k / 7) for k in range(30)), "n.d."], dtype=object, name="y")
    assert target_remarks(values, Kind("category"), "classification", None, values) == [
        "The target 'y' has classes because of 'n.d.' in 1 row. kinds={'y': 'number'} predicts numbers and drops such "
        "rows."
    ]


def test_target_of_dates_or_ids_gets_a_remark():
    def found(texts):
        column = pd.Series(texts, dtype=object, name="y")
        return target_remarks(column, Kind("category"), "classification", None, column)

    assert found([f"2024-01-{k % 28 + 1:02d}" for k in range(99)]) == [
        "The target 'y' has dates, read as 28 classes. To predict a time, replace it by a number, such as days."
    ]
    assert found([f"name {k}" for k in range(99)]) == [
        "The target 'y' has 99 classes in 99 rows. Is it an ID or a text?"
    ]
    assert found(["yes", "no"] * 9) == []
