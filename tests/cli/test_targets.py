import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from stablebag.cli.main import main
from stablebag.cli.training import Reading, TrainingTable
from stablebag.tables.columns import split_target, targets_of
from stablebag.tables.text import TableError


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
    (["a", "a"], None, "one class only, 'a'"),
    ([7.0, 7.0], None, "is 7 in every row: there is nothing to predict. Use another column, or add rows"),
    (["a", "b"], "regression", "is not a number"),
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


def test_a_class_called_none_is_a_class_if_the_target_is_said_to_be_a_category(tmp_path):
    """By itself the word is missing, as pandas has it; the sentence says how it is made a class."""
    table = tmp_path / "table.csv"
    words = ["None", "nan", "", "mild", "NA"] * 4
    table.write_text("x,severity\n" + "".join(f"{place},{word}\n" for place, word in enumerate(words)))
    options = {"table": table, "target": "severity"}
    with pytest.raises(TableError, match=r"one class only, 'mild'.* --kind severity=category makes them classes"):
        TrainingTable.from_options(options)
    data = TrainingTable.from_options({**options, "kinds": ("severity=category",)})
    assert set(data.y) == {"None", "nan", "mild", "NA"}
    assert data.n_without_target == 4
    again = Reading.from_dict(json.loads(json.dumps(data.reading.to_dict())))
    new = tmp_path / "new.csv"
    new.write_text("x,severity\n1,None\n2,mild\n")
    for reading in (data.reading, again):  # other rows are read in the same way, also by a model from a file
        assert reading.read_new(new).y.tolist() == ["None", "mild"]


def test_a_model_of_a_class_called_none_is_measured_and_saved(tmp_path):
    pytest.importorskip("skops.io")
    table, saved = tmp_path / "table.csv", tmp_path / "model.skops"
    words = ["None", "mild", "nan"] * 12
    table.write_text("x,severity\n" + "".join(f"{place % 3 + place / 99},{word}\n" for place, word in enumerate(words)))
    told = ["--target", "severity", "--kind", "severity=category", "--n-bags", "20", "--refits", "2"]
    result = CliRunner().invoke(main, ["measure", str(table), *told, "--seed", "0", "--save", str(saved)])
    assert result.exit_code == 0, result.output
    assert "one class" not in result.output
    output = tmp_path / "predicted.csv"
    result = CliRunner().invoke(main, ["predict", str(saved), str(table), "--output", str(output)])
    assert result.exit_code == 0, result.output
    assert output.read_text().count("None") > 5
