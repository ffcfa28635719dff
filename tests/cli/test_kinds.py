import numpy as np
import pandas as pd
import pytest

from stablebag.tables.columns import Columns, Kind, decide
from stablebag.tables.text import TableError


def column(values, name="x"):
    return pd.DataFrame({name: pd.Series(values, dtype=object)})


def kind(values, name="x", **options):
    return decide(column(values, name), **options).kinds[name]


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
def test_columns_are_told_apart_by_their_values(values, found):
    assert kind(values) == found


def test_whole_numbers_that_all_differ_are_ids_if_they_are_called_so():
    for name in ("patient_id", "Unnamed: 0"):
        assert kind(COUNTED, name) == Kind("id")
        assert decide(pd.DataFrame({name: np.arange(N)})).kinds[name] == Kind("id")
        assert kind([*COUNTED, "0"], name) == Kind("number", ".")
        assert kind([f"{k}.5" for k in range(N)], name) == Kind("number", ".")


def test_numbers_that_can_be_read_in_two_ways_go_with_the_others():
    twice = ["1.234", "5.678"]
    assert kind(twice) == Kind("number", ".")
    assert kind(twice, separator=";") == Kind("number", ",")
    assert kind(twice, decimal=",") == Kind("number", ",")
    assert kind(["1,234"], decimal=".") == Kind("constant")
    for others, separator, form in ((["1,5", "2"], ",", ","), (["1.5", "2"], ";", ".")):
        table = pd.DataFrame({"x": twice, "other": others}, dtype=object)
        assert decide(table, separator=separator).kinds["x"].form == form


def test_kinds_can_be_chosen():
    assert kind(["1", "2"], chosen={"x": "category"}) == Kind("category")
    assert kind(["1,5", "n.d."], chosen={"x": "number"}) == Kind("number", ",")
    assert kind(["00012"] * 3, chosen={"x": "number"}) == Kind("number", ".")
    with pytest.raises(TableError, match="No value of the column 'x' is a number, so --kind cannot make it one"):
        kind(["a", "b"], chosen={"x": "number"})
    assert kind(["13.02.2020", "soon", "?"], chosen={"x": "date"}) == Kind("date", "%d.%m.%Y")
    with pytest.raises(TableError, match="No value of the column 'x' is a date"):
        kind(["a", "b"], chosen={"x": "date"})
    with pytest.raises(TableError, match="has numbers, and --kind cannot make dates of them"):
        decide(pd.DataFrame({"x": [1.0, 2.0]}), chosen={"x": "date"})


@pytest.mark.parametrize(("values", "classes"), [
    (["0", "1"], True), (["a", "b"], True), (["True", "False"], True), (["0,0", "1,0"], True),
    ([str(k / 9) for k in range(9)], False), (COUNTED, False), (["0.5", "1.5"], False),
])  # fmt: skip
def test_classes_are_texts_or_few_whole_numbers(values, classes):
    assert decide(column(values), target="x").has_classes == classes


# ------------------------------------------------------------------------------------------- who decides by being there


def decisive(values, units=None, **options):
    return {name: rows.tolist() for name, rows in decide(column(values), units, **options).decisive.items()}


def test_a_row_that_alone_decides_is_known():
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


def test_units_decide_with_all_of_their_rows():
    assert decisive([*COUNTED, "n.d.", "n.d."], np.append(np.arange(N), [N, N])) == {"x": [60]}
    assert decisive([*COUNTED, "n.d.", "n.d."], np.append(np.arange(N), [3, 4])) == {}


VALUES = ["1", "2", "1.234", "1,5", "0.5", "007", "€ 3", "n.d.", None, "2020-01-02", "01/02/2020", "13/02/2020",
          "a note of five words", "another note of six words", "k1", "k2"]  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_without_any_other_row_every_column_is_read_as_it_is(seed):
    """By hand: the table without a row is read on its own, and must be the table as it was read, without the row."""
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
    decision = decide(table, units, separator=";")
    whole = Columns(decision.kinds)
    for unit in range(units.max() + 1):
        left = table[units != unit].reset_index(drop=True)
        alone = Columns(decide(left, separator=";").kinds)
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
