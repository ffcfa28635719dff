import json
import re

import numpy as np
import pandas as pd
import pytest

import parquet_files

QUICK = ("--n-bags", 20, "--refits", 5, "--points", 4, "--jobs", 1)


def words(result):
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def measured(run, table, tmp_path_factory):
    """What is told, the report and the numbers of a study with seed 3, for each of two targets."""

    def one(target):
        folder = tmp_path_factory.mktemp(target)
        report, numbers = folder / "report.html", folder / "numbers.json"
        result = run("measure", table, "--target", target, *QUICK, "--seed", 3, "--output", report, "--json", numbers)
        assert result.exit_code == 0, result.output
        return result, report.read_text(), json.loads(numbers.read_text())

    return {target: one(target) for target in ("cost", "ill")}


def test_measure_prints_a_table_and_writes_a_report_and_numbers(measured):
    result, page, numbers = measured["cost"]
    assert "and scores on 24 rows held out:" in words(result)
    assert "mean absolute error" in words(result)
    assert " ± " in result.output
    assert "± is a standard error." in words(result)
    assert "± is a standard error." in page
    assert "the target is 'cost' (regression)" in words(result)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<script>alert(1)</script>" not in page
    assert numbers["n_samples"] == 96


@pytest.mark.slow
def test_the_same_seed_gives_the_same_report_to_the_last_bit(run, table, measured, tmp_path):
    path = tmp_path / "report.html"
    arguments = ("measure", table, "--target", "ill", *QUICK[:-1], 2, "--output", path, "--seed", 3)
    assert run(*arguments).exit_code == 0
    assert path.read_text() == measured["ill"][1]


@pytest.mark.slow
def test_measure_takes_a_test_table_and_a_model_with_parameters(run, table):
    model = ("--model", "sklearn.tree:DecisionTreeClassifier", "--param", "max_depth=2")
    result = run("measure", table, "--target", "ill", "--test", table.with_name("new-ill.csv"), *model, *QUICK)
    assert result.exit_code == 0, result.output
    assert "(classification)" in words(result)
    assert "accuracy (higher is better)" not in words(result)  # the new rows have no target


@pytest.mark.slow
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


@pytest.mark.slow
def test_with_a_group_everything_is_about_its_units(run, clinic, tmp_path):
    report, numbers = tmp_path / "report.html", tmp_path / "numbers.json"
    arguments = ("--target", "pressure", "--group", "patient_id", *QUICK, "--output", report, "--json", numbers)
    result = run("measure", clinic, *arguments)
    assert result.exit_code == 0, result.output
    n_rows = len(pd.read_csv(clinic))
    for sentence in (
        f"{n_rows} rows of visits.csv; the target is 'pressure' (regression).",
        "There are 30 groups with 1 to 7 rows each.",
        "rows of 24 groups, held out",
        "rows of 6 other groups.",
        "How far the prediction changed without 5 of the 24 groups, at",
    ):
        assert sentence in words(result), sentence
    assert "--group" not in words(result)  # it is given, so it is not suggested
    found = json.loads(numbers.read_text())
    assert (found["unit"], found["n_samples"]) == ("group", 24)
    assert found["changes"]["n_refits_of_the_base_model"] == found["changes"]["n_refits_of_the_bagged_model"] == 5
    assert found["n_rows"] == n_rows - int(words(result).split("held out ")[1].split()[0])
    assert set(found["most_influential"][0]) == {"group", "root_mean_square_effect"}
    assert found["most_influential"][0]["group"] in set(pd.read_csv(clinic)["patient_id"])
    assert found["proved"][0]["what"] == "by these bags: 95% of the groups move it by at most"
    page = report.read_text()
    assert "<h2>Suspicious groups</h2>" in page
    assert '<button type="button">patient_id</button>' not in page  # it is no feature


@pytest.mark.slow
def test_classes_of_units_are_measured(run, clinic):
    result = run("measure", clinic, "--target", "ill", "--group", "patient_id", *QUICK)
    assert result.exit_code == 0, result.output
    assert re.search("single group: refitting without that group flips|of the 24 groups flips none", words(result))


@pytest.mark.slow
def test_a_table_with_dates_is_refitted_by_several_jobs(run, table):
    few = ("--n-bags", 20, "--refits", 4, "--matched", 2, "--points", 3, "--jobs", 2)
    result = run("measure", table, "--target", "cost", *few)
    assert result.exit_code == 0, result.output
    assert "20 bags of 48 rows, 4 refits of the base model and 2 of the bagged model" in words(result)


@pytest.mark.slow
def test_of_classes_decisions_follow_the_verdict_in_terminal_and_numbers(measured):
    result, page, found = measured["ill"]
    assert list(found)[:2] == ["warnings", "verdict"]
    decisions = found["decisions"]
    assert found["warnings"]  # the table has a column that predicts the target alone
    text = " ".join(result.stdout.split())
    assert text.index(found["warnings"][0][:40]) < text.index(found["verdict"]["headline"])
    assert found["verdict"]["reasons"][0].startswith(decisions["conclusion"])
    assert decisions["conclusion"] in words(result)
    assert "24 decisions" in decisions["conclusion"]
    assert decisions["n_flipped_by_refits"] <= decisions["n_held_out"] == 24
    assert decisions["suggested_flips"]["confirmed"] <= decisions["suggested_flips"]["checked"]
    assert decisions["by_the_same_rows"]["n_rows"] >= found["changes"]["n_refits_of_the_bagged_model"]
    assert 0 < page.index(found["verdict"]["headline"], page.index('id="verdict"')) < page.index("<h2>")
    assert "How far the class probabilities (distance between vectors, at most 1.41) changed" in words(result)
    assert "decisions" not in measured["cost"][2]


@pytest.mark.slow
def test_scores_shares_and_refits_are_chosen(run, table, tmp_path):
    numbers = tmp_path / "numbers.json"
    chosen = ("--metric", "r2", "--metric", "neg_max_error", "--delta", 0.2, "--matched", 2, "--json", numbers)
    result = run("measure", table, "--target", "cost", *QUICK, *chosen)
    assert result.exit_code == 0, result.output
    found = json.loads(numbers.read_text())
    assert list(found["held_out"]) == ["R2", "max error"]
    assert found["proved"][0]["what"] == "by these bags: 80% of the rows move it by at most"
    assert found["proved"][-1]["measured"] > 0
    refused = run("measure", table, "--target", "cost", *QUICK, "--metric", "roc_acu")
    assert refused.exit_code == 2
    assert "Error: There is no metric 'roc_acu'. Did you mean 'roc_auc'?" in words(refused)


@pytest.mark.slow
def test_held_out_rows_of_units_that_were_trained_on_are_told(run, clinic):
    new = clinic.with_name("new.csv")
    result = run("measure", clinic, "--target", "pressure", "--group", "patient_id", "--test", new, *QUICK)
    assert result.exit_code == 0, result.output
    assert "2 of the 9 rows to predict belong to groups that were trained on (ann-0" in words(result)
    assert "So the scores flatter predictions for new groups." in words(result)


@pytest.mark.slow
def test_repeated_identities_are_suggested_as_a_group(run, clinic, tmp_path):
    report = tmp_path / "report.html"
    result = run("measure", clinic, "--target", "pressure", *QUICK, "--output", report)
    assert result.exit_code == 0, result.output
    told = "add --group patient_id: it holds out whole groups."
    assert words(result).index(told) < words(result).index("Once the points above are settled")
    page = report.read_text()
    assert page.index(told) < page.index('id="verdict"')


@pytest.mark.slow
def test_every_row_its_own_unit_is_the_same_as_rows(run, table, tmp_path):
    frame = pd.read_csv(table)
    frame.assign(person=range(len(frame))).to_csv(tmp_path / "t.csv", index=False)
    result = run("measure", tmp_path / "t.csv", "--target", "cost", "--group", "person", *QUICK)
    assert result.exit_code == 0, result.output
    assert "There are 120 groups with one row each: leaving out one is leaving out a row." in words(result)
    assert "Trained on 96 rows of 96 groups, held out 24 rows of 24 other groups." in words(result)


@pytest.mark.slow
def test_what_is_no_group_is_said_in_a_sentence(run, clinic, tmp_path):
    frame = pd.read_csv(clinic)
    frame.loc[3, "patient_id"] = None
    frame.to_csv(tmp_path / "holes.csv", index=False)
    for path, options, sentence in (
        (clinic, ("--group", "patientid"), "There is no column 'patientid' in the table. Did you mean 'patient_id'?"),
        (clinic, ("--group", "pressure"), "The target 'pressure' cannot be the group as well."),
        (tmp_path / "holes.csv", ("--group", "patient_id"), "The group 'patient_id' is missing in row 3,"),
        (clinic, ("--group", "patient_id", "--test-size", 0.98), "30 of the 30 groups are held out and none is left"),
    ):
        result = run("measure", path, "--target", "pressure", *options, *QUICK)
        assert result.exit_code == 2
        assert f"Error: {sentence}" in words(result) if "Did" in sentence else "Error: " in words(result)
        assert sentence in words(result)


@pytest.mark.slow
def test_the_data_are_shown_as_they_were_read(run, table, tmp_path):
    frame = pd.read_csv(table).assign(code=[f"{k:04d}" for k in range(120)], same=1)
    frame.to_csv(tmp_path / "t.csv", sep=";", decimal=",", index=False)
    numbers = tmp_path / "numbers.json"
    arguments = ("--id", "code", "--drop", "ill", "--kind", "city=text", *QUICK, "--json", numbers)
    result = run("measure", tmp_path / "t.csv", "--target", "cost", *arguments)
    assert result.exit_code == 0, result.output
    for sentence in (
        "7 columns beside the target: 2 numbers, 1 text, 1 date; 3 left out (1 constant, 1 id, 1 dropped).",
        "The file was read with ';' between columns and with ',' for decimals.",
        "Without any single row, every column would be read as it is, so the guarantee covers the reading as well.",
        "The columns of t.csv, as they were read",
    ):
        assert sentence in words(result), sentence
    found = json.loads(numbers.read_text())
    assert [column["name"] for column in found["data"]["columns"]][-2:] == ["code", "same"]
    assert found["most_influential"][0]["row"] in set(frame["code"])  # as it is written, with its zeros


@pytest.mark.slow
def test_two_rows_are_too_few_to_hold_one_out(run, tmp_path):
    (tmp_path / "t.csv").write_text("y,a\n1.5,2\n3.5,4\n")
    result = run("measure", tmp_path / "t.csv", "--target", "y", *QUICK)
    assert result.exit_code == 2
    assert words(result).endswith("Error: One row is left to train on, and two are needed. Give more rows, or --test.")


@pytest.mark.slow
def test_of_very_few_rows_warnings_are_sentences_and_all_rows_are_named(run, tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame({"x": rng.normal(size=8), "y": rng.normal(size=8)}).to_csv(tmp_path / "t.csv", index=False)
    result = run("measure", tmp_path / "t.csv", "--target", "y", *QUICK, "--refits", 20, "--matched", 20)
    assert result.exit_code == 0, result.output
    assert "The intervals are infinite: level 0.9 asks for residual number 7 of 6 training rows." in words(result)
    assert "UserWarning" not in result.output
    assert "drawn at random" not in result.output.replace("bags at random", "")
    assert "±" not in result.output


@pytest.mark.slow
def test_a_table_larger_than_the_memory_for_it_stays_in_its_files(run, tmp_path):
    folder, report, numbers = tmp_path / "parts", tmp_path / "report.html", tmp_path / "numbers.json"
    folder.mkdir()
    parquet_files.uneven_files(folder, parquet_files.rows(400))
    few = (
        "--n-bags",
        8,
        "--bag-size",
        20,
        "--points",
        4,
        "--jobs",
        1,
        "--drop",
        "name,patient",
        "--max-memory",
        "35KB",
    )
    result = run("measure", folder, "--target", "y", *few, "--output", report, "--json", numbers)
    assert result.exit_code == 0, result.output
    said = words(result)
    assert said.index("leaving out a row changes the bagged model's predictions by less than") < said.index("The table")
    assert "The table would take about 38.4 kB in memory, more than --max-memory (35 kB), so its rows stay" in said
    assert "It is not compared with the base model alone, which would have to be fitted to all 309 rows" in said
    assert "the files are read about" in said
    assert "400 rows of parts; the target is 'y' (regression). 13 rows without a target were left out." in said
    assert "Trained on 309 rows, held out 78." in said
    assert "The columns of parts, as they were read in 78 rows drawn at random" in said
    written = json.loads(numbers.read_text())
    assert (written["n_samples"], written["changes"]["n_refits_of_the_base_model"]) == (309, 0)
    assert (written["verdict"]["case"], written["data"]["n_sampled"]) == ("not compared", 78)
    assert written["held_out"]["R2"]["base"] is None
    page = report.read_text()
    assert "base learner</th>" not in page
    assert "what columns are, from 78 of them" in page
    in_memory = run("measure", folder, "--target", "y", *few[:-1], "1GB", "--refits", 3)
    assert in_memory.exit_code == 0, in_memory.output
    assert "400 rows of parts; the target is 'y' (regression)." in words(in_memory)
    assert "The table would" not in words(in_memory)


@pytest.mark.slow
def test_classes_and_units_of_a_large_table_are_measured(run, tmp_path):
    parquet_files.one_file(tmp_path, parquet_files.rows(400))
    few = ("--n-bags", 8, "--bag-size", 3, "--points", 4, "--jobs", 1, "--max-memory", "30KB")
    about = (tmp_path / "*.parquet", "--target", "kind", "--group", "patient")
    result = run("measure", *about, "--drop", "y,day,name", *few)
    assert result.exit_code == 0, result.output
    assert "The bags without each group suggest that" in words(result)
    assert "other groups." in words(result)
    refused = run("measure", *about, "--drop", "y,day", "--id", "name", *few)
    assert refused.exit_code == 2
    assert "Error: --id holds the names of all rows in memory" in words(refused)


@pytest.mark.slow
def test_what_a_large_table_cannot_have_is_said_before_any_work(run, tmp_path):
    parquet_files.one_file(tmp_path, parquet_files.rows())
    table = tmp_path / "all.parquet"
    for more, said in [
        (("--max-memory", "lots"), "It is an amount of memory such as 500MB or 1GB."),
        (("--max-memory", "1KB", "--refits", 5), "Error: --refits fits the base model to all rows at once"),
        (("--max-memory", "1KB", "--bag-size", 90), "Error: A bag of 90 rows takes about 1MB, and --max-memory leaves"),
        (("--max-memory", "1KB", "--drop", "nme"), "Did you mean 'name'?"),
    ]:
        result = run("measure", table, "--target", "y", "--n-bags", 5, *more)
        assert result.exit_code == 2, more
        assert said in words(result), result.output
    missing = run("measure", tmp_path / "*.pq", "--target", "y")
    assert "Error: No file matches the pattern" in missing.output
