import numpy as np
import pandas as pd
import pytest

from stablebag.tables.columns import Columns, Leak, about_leaks, about_two_ways, decide, leaks, nearly_numbers

RNG = np.random.default_rng(0)
Y = RNG.normal(size=50)
CLASSES = np.where(Y > 0, "ill", "well")


def test_numbers_in_the_order_of_the_target_leak_it():
    X = pd.DataFrame({"a": Y**3, "b": -Y, "c": Y + RNG.normal(size=50), "d": CLASSES, "e": np.sign(Y)})
    assert {leak.column for leak in leaks(X, Y, "regression")} == {"a", "b"}
    assert leaks(X[:19], Y[:19], "regression") == []  # could be chance
    mostly_missing = X.assign(a=X["a"].where(X.index < 20))
    assert [leak.column for leak in leaks(mostly_missing, Y, "regression")] == ["b"]


def test_values_that_go_with_one_class_each_leak_it():
    X = pd.DataFrame({"a": Y > 0, "b": np.where(Y > 0, 7, 3), "c": np.arange(50), "e": RNG.normal(size=50)})
    assert [leak.column for leak in leaks(X, CLASSES, "classification")] == ["a", "b"]


def test_a_column_that_leaks_in_the_first_rows_alone_is_not_named():
    y = np.arange(5000.0)
    x = y.copy()
    x[1::2] = np.random.default_rng(0).permutation(x[1::2])
    assert leaks(pd.DataFrame({"x": x}), y, "regression") == []
    assert [leak.column for leak in leaks(pd.DataFrame({"x": y}), y, "regression")] == ["x"]


def test_the_option_that_helps_is_said():
    assert about_leaks([], "y") == []
    rule = Leak("outcome code", "outcome code > 0", "accuracy 1.000 on 10 held-out rows", 1.0)
    assert about_leaks([rule], "y") == [
        "outcome code alone predicts y almost perfectly (outcome code > 0: accuracy 1.000 on 10 held-out rows). That "
        "is often too good to be true: is it known at the time of prediction? If not, add --drop 'outcome code'."
    ]
    first, others = about_leaks([rule._replace(column=f"x{k}") for k in range(9)], "y")
    assert first.startswith("x0 alone")
    assert others == "The same question goes for x1, x2, x3 and 5 more (--drop x1 --drop x2 --drop x3)."


def columns(**values):
    frame = pd.DataFrame({name: pd.Series(column, dtype=object) for name, column in values.items()})
    return frame, Columns.of(frame)


def test_columns_that_hardly_miss_being_numbers_are_told():
    numbers = [str(k) for k in range(20)]
    assert nearly_numbers(*columns(a=[*numbers, "n.d.", "n.d."], b=[*numbers, "x", None])) == [
        "The column 'a' is a category because of 'n.d.' in 2 rows; --kind a=number takes it as numbers, and such "
        "values as missing.",
        "The column 'b' is a category because of 'x' in 1 row; --kind b=number takes it as numbers, and such values "
        "as missing.",
    ]
    assert nearly_numbers(*columns(a=["1", "2", "x", "y"], b=["01", "02", "03", "1"])) == []
    many = nearly_numbers(*columns(**{f"x{k}": [*numbers, "?"] for k in range(9)}))
    assert len(many) == 4
    assert many[0].startswith("The column 'x0' is a category because of '?' in 1 row")  # and no id, though all differ
    assert many[-1] == "So it is with 6 more columns."


@pytest.mark.parametrize(("texts", "said"), [
    (["1,234", "5"], "has '1,234', where ',' was taken for a separator of thousands; --decimal , takes it otherwise."),
    (["1.234", "5"], "has '1.234', where '.' was taken for a decimal mark; --decimal , takes it otherwise."),
])  # fmt: skip
def test_numbers_that_can_be_read_in_two_ways_are_told(texts, said):
    frame, _ = columns(x=texts)
    assert about_two_ways(decide(frame)) == [f"The column 'x' {said}"]
    assert "(and so in 2 more columns)" in about_two_ways(decide(frame.assign(y=frame["x"], z=frame["x"])))[0]
    assert about_two_ways(decide(frame, decimal=".")) == []
    assert about_two_ways(decide(columns(x=["1.5", "2"], y=["1", "2"])[0])) == []
