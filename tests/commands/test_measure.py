import json

import numpy as np
import pandas as pd

QUICK = ("--n-bags", 20, "--refits", 5, "--points", 4, "--jobs", 1)


def words(result):
    return " ".join(result.output.split())


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
    assert accuracy.split("│")[2].strip() == "1"  # a tree on rows that it has seen
