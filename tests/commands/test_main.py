"""The command line: what it prints, what it writes, and what bad input gets."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from stablebag.commands.main import main


@pytest.fixture
def run():
    def run(*arguments):
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return run


def words(result):
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(50, 10, n)),
            "city": rng.choice(["Rome", "Oslo", "Lima"], n),
            "seen": pd.date_range("2024-01-01", periods=n).astype(str),
            "<script>alert(1)</script>": rng.normal(size=n),
        }
    )
    frame["cost"] = frame["age"].fillna(40) + 5 * (frame["city"] == "Rome") + rng.normal(size=n)
    frame["ill"] = np.where(frame["cost"] > frame["cost"].median(), "yes", "no")
    path = tmp_path_factory.mktemp("tables") / "patients.csv"
    frame.to_csv(path, index=False)
    for target in ("cost", "ill"):
        frame.drop(columns=target)[:7].to_csv(path.with_name(f"new-{target}.csv"), index=False)
    return path


QUICK = ("--n-bags", 30, "--refits", 10, "--points", 4, "--jobs", 1)


# -------------------------------------------------------------------------------------------------------- beforehand


def test_certify_speaks_and_tabulates(run):
    result = run("certify", "--n-samples", 500, "--n-bags", 10_000, "--delta", 0.05)
    assert result.exit_code == 0
    assert "moves the prediction by more than 0.1097 is at most 0.05 on average over the rows" in words(result)
    assert "0.07753" in result.output


def test_certify_gives_json(run):
    result = run("certify", "--n-samples", 500, "--scheme", "bernoulli", "--bag-size", "0.5", "--json")
    numbers = json.loads(result.output)
    assert numbers["n_bags"] is None
    assert numbers["epsilon"]["0.1"] < numbers["epsilon_of_the_paper"]["0.1"] == pytest.approx(0.0707106781187)


def test_plan_lists_every_scheme(run):
    result = run("plan", "--n-samples", 10_000, "--epsilon", 0.05, "--delta", 0.05)
    assert result.exit_code == 0
    for part in ("subbagging, 4,999", "classical bagging", "Poissonized", "Bernoulli", "10,000 bags"):
        assert part in words(result)
    only = run("plan", "--n-samples", 1000, "--epsilon", 0.2, "--delta", 0.05, "--scheme", "classical")
    assert "Poissonized" not in only.output


# ------------------------------------------------------------------------------------------------------------ a table


def test_measure_prints_a_table_and_writes_a_report_and_numbers(run, table, tmp_path):
    report, numbers = tmp_path / "report.html", tmp_path / "numbers.json"
    result = run("measure", table, "--target", "cost", *QUICK, "--output", report, "--json", numbers)
    assert result.exit_code == 0, result.output
    assert "held out: mean absolute error" in words(result)
    assert "the target is 'cost' (regression)" in words(result)
    page = report.read_text()
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)</script>" not in page
    assert json.loads(numbers.read_text())["n_samples"] == 96


def test_the_same_seed_gives_the_same_report_to_the_last_bit(run, table, tmp_path):
    pages = []
    for jobs in (1, 2):
        path = tmp_path / "report.html"
        arguments = ("measure", table, "--target", "ill", *QUICK[:-1], jobs, "--output", path, "--seed", 3)
        assert run(*arguments).exit_code == 0
        pages.append(path.read_bytes())
    assert pages[0] == pages[1]


def test_measure_takes_a_test_table_and_a_model_with_parameters(run, table):
    model = ("--model", "sklearn.tree:DecisionTreeClassifier", "--param", "max_depth=2")
    result = run("measure", table, "--target", "ill", "--test", table.with_name("new-ill.csv"), *model, *QUICK)
    assert result.exit_code == 0, result.output
    assert "(classification)" in words(result)
    assert "held out: accuracy" not in words(result)  # the new rows have no target


def test_names_in_brackets_and_classes_as_floats_are_taken_as_they_are(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a [m]": rng.normal(size=60), "y [/b]": rng.integers(0, 2, 60).astype(float)})
    frame.loc[0, "y [/b]"] = np.nan  # makes the classes floats
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame[1:20].astype({"y [/b]": int}).to_csv(tmp_path / "test.csv", index=False)
    result = run("measure", tmp_path / "train.csv", "--target", "y [/b]", "--test", tmp_path / "test.csv", *QUICK)
    assert result.exit_code == 0, result.output
    assert "the target is 'y [/b]' (classification)" in words(result)
    accuracy = next(line for line in result.output.splitlines() if "accuracy" in line)
    assert "1" in accuracy.split("│")[2]  # a tree on rows that it has seen


def test_influential_rows_are_numbered_as_in_the_file(run, tmp_path):
    odd = np.where(np.arange(100) == 70, 1000.0, np.arange(100.0) / 7)
    frame = pd.DataFrame({"place": np.random.default_rng(0).normal(size=100), "y": odd})
    frame.loc[:9, "y"] = np.nan
    frame.to_csv(tmp_path / "table.csv", index=False)
    numbers = tmp_path / "numbers.json"
    model = ("--model", "ridge", "--test", tmp_path / "table.csv")
    assert run("measure", tmp_path / "table.csv", "--target", "y", *model, *QUICK, "--json", numbers).exit_code == 0
    assert json.loads(numbers.read_text())["most_influential"][0]["row"] == 70


def test_intervals_are_written(run, table, tmp_path):
    output = tmp_path / "intervals.csv"
    arguments = ("--target", "cost", "--test", table.with_name("new-cost.csv"), "--output", output)
    result = run("interval", table, *arguments, "--n-bags", 40, "--jobs", 1, "--confidence", 0.8)
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(output)
    assert frame.columns.tolist() == ["prediction", "lower", "upper"]
    assert len(frame) == 7
    assert (frame["lower"] <= frame["upper"]).all()
    assert "7 intervals by jackknife+ at level 0.8" in words(result)


# ---------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(("arguments", "sentence"), [
    (("certify", "--n-samples", 500, "--bag-size", "1.5"), "write 1"),
    (("certify", "--n-samples", 500, "--bag-size", "half"), "--bag-size is a number of rows"),
    (("certify", "--n-samples", 1), "n_samples"),
    (("certify", "--n-samples", 500, "--n-bags", "many"), "--n-bags is a whole number"),
    (("plan", "--n-samples", 100, "--epsilon", 0.001, "--delta", 0.05), "No plan with at most"),
    (("measure", "none.csv", "--target", "y"), "There is no file none.csv"),
    (("measure", "TABLE", "--target", "price"), "There is no column 'price'"),
    (("measure", "TABLE", "--target", "cost", "--model", "oak"), "There is no model 'oak'"),
    (("measure", "TABLE", "--target", "cost", "--param", "branches=3"), "does not take a parameter"),
    (("measure", "TABLE", "--target", "cost", "--test-size", 1.5), "--test-size is a share"),
    (("measure", "TABLE", "--target", "ill", "--task", "regression"), "is not a number"),
    (("measure", "TABLE", "--target", "cost", "--output", "/no/such/folder/x.html"), "There is no folder"),
    (("measure", "TABLE", "--target", "city", "--test", "WRONG"), "'age' has numbers in the training table"),
    (("measure", "TABLE", "--target", "cost", "--bag-size", "1.5"), "write 1"),
    (("interval", "TABLE", "--target", "ill", "--test", "TABLE", "--output", "x.csv"), "Intervals are for numbers"),
    (("interval", "TABLE", "--target", "cost", "--test", "none.csv", "--output", "x.csv"), "There is no file"),
])  # fmt: skip
def test_bad_input_ends_with_two_and_one_sentence(run, table, arguments, sentence):
    wrong = table.with_name("wrong.csv")
    pd.read_csv(table).assign(age="old")[:5].to_csv(wrong, index=False)
    result = run(*({"TABLE": table, "WRONG": wrong}.get(argument, argument) for argument in arguments))
    assert result.exit_code == 2
    assert sentence in words(result)
    assert "Traceback" not in result.output
    assert len(result.output.strip().splitlines()) <= 2


def test_debug_shows_the_traceback(run):
    assert "Traceback" in run("--debug", "measure", "none.csv", "--target", "y").output


@pytest.mark.parametrize("command", ["certify", "plan", "measure", "interval", "demo", "reproduce"])
def test_every_command_has_an_example(run, command):
    result = run(command, "--help")
    assert result.exit_code == 0
    assert f"stablebag {command}" in result.output
