import numpy as np
import pandas as pd
import pytest

from stablebag.commands.refusals import TableError
from stablebag.commands.targets import split_target, targets_of


@pytest.mark.parametrize(("values", "task"), [
    ([0, 1] * 5, "classification"), (["a", "b"] * 5, "classification"), ([True, False] * 5, "classification"),
    (np.linspace(0, 1, 10), "regression"), (np.arange(30), "regression"), ([0.5, 1.5] * 5, "regression"),
])  # fmt: skip
def test_the_task_is_told_by_the_target(values, task):
    table = pd.DataFrame({"a": np.arange(len(values)), "y": values})
    assert split_target(table, "y")[2] == task


def test_rows_without_a_target_are_dropped_and_counted():
    table = pd.DataFrame({"a": range(4), "y": [0.5, np.nan, 1.5, 7.25]})
    X, y, _, dropped = split_target(table, "y")
    assert dropped == 1
    assert X["a"].tolist() == [0, 2, 3]
    assert y.tolist() == [0.5, 1.5, 7.25]


@pytest.mark.parametrize(("values", "task", "words"), [
    (["a", "a"], None, "one class only, 'a'"), (["a", "b"], "regression", "is not a number"),
    ([1.0, np.inf], "regression", "infinite"), ([np.nan, np.nan], None, "missing in every row"),
])  # fmt: skip
def test_targets_that_are_none_are_refused(values, task, words):
    with pytest.raises(TableError, match=words):
        split_target(pd.DataFrame({"a": [1, 2], "y": values}), "y", task)
    with pytest.raises(TableError, match=r"no column 'z' in the table; it has 'a'"):
        split_target(pd.DataFrame({"a": [1]}), "z")
    with pytest.raises(TableError, match=r"no column 'outcom' in the table. Did you mean 'Outcome'\?"):
        split_target(pd.DataFrame({"Outcome": [1]}), "outcom")


def test_large_whole_classes_are_told_apart():
    assert targets_of(pd.Series([1e19, 2e19]), "classification", "y").tolist() == [
        "10000000000000000000", "20000000000000000000",
    ]  # fmt: skip
