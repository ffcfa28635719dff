import numpy as np
import pandas as pd
import pytest

from stablebag.commands.columns import Columns
from stablebag.commands.kinds import decide
from stablebag.commands.noticing import about_telling, about_two_ways, nearly_numbers, telling

RNG = np.random.default_rng(0)
Y = RNG.normal(size=50)
CLASSES = np.where(Y > 0, "ill", "well")


def test_numbers_in_the_order_of_the_target_tell_it():
    X = pd.DataFrame({"a": Y**3, "b": -Y, "c": Y + RNG.normal(size=50), "d": CLASSES, "e": np.sign(Y)})
    assert telling(X, Y, "regression") == ["a", "b"]
    assert telling(X[:19], Y[:19], "regression") == []  # could be chance
    assert telling(X.assign(a=X["a"].where(X.index < 20)), Y, "regression") == ["b"]  # mostly missing


def test_values_that_go_with_one_class_each_tell_it():
    X = pd.DataFrame({"a": Y > 0, "b": np.where(Y > 0, 7, 3), "c": np.arange(50), "d": Y > 0.1, "e": Y})
    assert telling(X, CLASSES, "classification") == ["a", "b"]


def test_a_column_that_tells_the_target_in_the_first_rows_alone_does_not():
    y = np.arange(5000.0)
    x = y.copy()
    x[1::2] = np.random.default_rng(0).permutation(x[1::2])
    assert telling(pd.DataFrame({"x": x}), y, "regression") == []
    assert telling(pd.DataFrame({"x": y}), y, "regression") == ["x"]


def test_the_option_that_helps_is_said():
    assert about_telling([]) == []
    assert about_telling(["outcome code"]) == [
        "The column 'outcome code' tells the target exactly; leave it out with --drop 'outcome code' if it is not "
        "known in advance."
    ]
    (said,) = about_telling([f"x{k}" for k in range(9)])
    assert said.startswith("The columns 'x0', 'x1', 'x2' and 6 more tell the target exactly")


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
