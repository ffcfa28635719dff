"""Columns that leak the target."""

import numpy as np
import pandas as pd

from stablebag.tables.leakage import Leak, leak_warnings, leaks

RNG = np.random.default_rng(0)


Y = RNG.normal(size=50)


CLASSES = np.where(Y > 0, "ill", "well")


def test_columns_in_the_order_of_a_numeric_target_leak_it():
    X = pd.DataFrame({"a": Y**3, "b": -Y, "c": Y + RNG.normal(size=50), "d": CLASSES, "e": np.sign(Y)})
    assert {leak.column for leak in leaks(X, Y, "regression")} == {"a", "b"}
    assert leaks(X[:19], Y[:19], "regression") == []  # could be chance
    mostly_missing = X.assign(a=X["a"].where(X.index < 20))
    assert [leak.column for leak in leaks(mostly_missing, Y, "regression")] == ["b"]


def test_columns_with_one_class_per_value_leak_it():
    X = pd.DataFrame({"a": Y > 0, "b": np.where(Y > 0, 7, 3), "c": np.arange(50), "e": RNG.normal(size=50)})
    assert [leak.column for leak in leaks(X, CLASSES, "classification")] == ["a", "b"]


def test_column_that_leaks_only_in_some_rows_is_not_a_leak():
    y = np.arange(5000.0)
    x = y.copy()
    x[1::2] = np.random.default_rng(0).permutation(x[1::2])
    assert leaks(pd.DataFrame({"x": x}), y, "regression") == []
    assert [leak.column for leak in leaks(pd.DataFrame({"x": y}), y, "regression")] == ["x"]


def test_leak_warning_names_the_rule_and_the_option_drop():
    assert leak_warnings([], "y") == []
    rule = Leak("outcome code", "outcome code > 0", "accuracy 1.000 on 10 held-out rows", 1.0)
    assert leak_warnings([rule], "y") == [
        "outcome code alone predicts y almost perfectly (outcome code > 0: accuracy 1.000 on 10 held-out rows). Is "
        "it known at the time of prediction? If not, it leaks the target: add drop=['outcome code']."
    ]
    first, others = leak_warnings([rule._replace(column=f"x{k}") for k in range(9)], "y")
    assert first.startswith("x0 alone")
    assert others == "The same is true of x1, x2, x3 and 5 more (drop=['x1', 'x2', 'x3'])."
