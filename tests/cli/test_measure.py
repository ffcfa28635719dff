import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

import parquet_files
from stablebag.cli import budget, measure
from stablebag.cli.measure import held_out
from stablebag.tables.text import TableError

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


def test_measure_prints_scores_and_writes_report_and_json(measured):
    result, page, numbers = measured["cost"]
    assert "Scores on 24 held-out rows:" in words(result)
    assert "mean absolute error" in words(result)
    assert re.search(
        r"refit: mean over rows and points +\S+$", result.output, re.MULTILINE
    )  # no bound next to a sample of refits
    assert "120 rows, target 'cost' (regression)" in words(result)
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
def test_names_with_brackets_and_classes_read_as_floats_work(run, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a [m]": rng.normal(size=60), "y [/b]": rng.integers(0, 2, 60).astype(float)})
    frame.loc[0, "y [/b]"] = np.nan  # makes the classes floats
    frame.to_csv(tmp_path / "train.csv", index=False)
    frame[1:20].astype({"y [/b]": int}).to_csv(tmp_path / "test.csv", index=False)
    result = run("measure", tmp_path / "train.csv", "--target", "y [/b]", "--test", tmp_path / "test.csv", *QUICK)
    assert result.exit_code == 0, result.output
    assert "target 'y [/b]' (classification)" in words(result)
    accuracy = next(line for line in result.output.splitlines() if "accuracy" in line)
    assert accuracy.split()[4] == "1"  # a tree on rows that it has seen


@pytest.mark.slow
def test_measure_with_a_group_leaves_out_groups(run, clinic, tmp_path):
    report, numbers = tmp_path / "report.html", tmp_path / "numbers.json"
    arguments = ("--target", "pressure", "--group", "patient_id", *QUICK, "--output", report, "--json", numbers)
    result = run("measure", clinic, *arguments)
    assert result.exit_code == 0, result.output
    n_rows = len(pd.read_csv(clinic))
    for sentence in (
        f"visits.csv: {n_rows} rows, target 'pressure' (regression).",
        "There are 30 groups with 1 to 7 rows each.",
        "rows of 24 groups, held out",
        "rows of 6 other groups.",
        "How much predictions change without one group (5 of the 24 groups, at",
    ):
        assert sentence in words(result), sentence
    assert "--group" not in words(result)  # it is given, so it is not suggested
    found = json.loads(numbers.read_text())
    assert (found["unit"], found["n_samples"]) == ("group", 24)
    assert [found["facts"][f"refits of the {model} model"]["value"] for model in ("base", "bagged")] == [5, 5]
    assert found["n_rows"] == n_rows - int(words(result).split("held out ")[1].split()[0])
    assert set(found["lists"]["most influential"]["rows"][0]) == {"group", "change"}
    assert found["lists"]["most influential"]["rows"][0]["group"] in set(pd.read_csv(clinic)["patient_id"])
    assert found["facts"]["guaranteed change"]["label"] == "bags reused: 95% of groups, at most"
    page = report.read_text()
    assert "<h3>Groups with unusual targets</h3>" in page
    assert '<button type="button">patient_id</button>' not in page  # it is no feature


@pytest.mark.slow
def test_measure_counts_decisions_that_hinge_on_a_group(run, clinic):
    result = run("measure", clinic, "--target", "ill", "--group", "patient_id", *QUICK)
    assert result.exit_code == 0, result.output
    assert re.search(r"decisions hinges? on one group|decisions flipped in \d+ refits", words(result))


@pytest.mark.slow
def test_table_with_dates_is_refitted_in_parallel(run, table):
    few = ("--n-bags", 20, "--refits", 4, "--matched", 2, "--points", 3, "--jobs", 2)
    result = run("measure", table, "--target", "cost", *few)
    assert result.exit_code == 0, result.output
    assert "20 bags of 48 rows, 4 refits of the base model and 2 of the bagged model" in words(result)


@pytest.mark.slow
def test_decisions_are_in_terminal_and_json_of_a_classifier(measured):
    result, page, found = measured["ill"]
    assert list(found)[:3] == ["warnings", "summary", "verdict"]
    conclusion, facts = found["sentences"]["decisions"], found["facts"]
    assert found["warnings"]  # the table has a column that predicts the target alone
    text = " ".join(result.stdout.split())
    assert text.startswith("Does it predict? Unclear until the next line is settled.")
    assert found["warnings"][0] in text
    assert found["verdict"]["reasons"][0].startswith(conclusion)
    assert f"of {facts['flips']['n_held_out']} decisions" in found["summary"][2]["text"]
    assert "24 decisions" in conclusion
    assert facts["flips"]["decisions"] <= facts["flips"]["n_held_out"] == 24
    assert facts["flips"]["bagged"] == facts["flips"]["decisions"] / 24
    assert facts["suggested flips"]["confirmed"] <= facts["suggested flips"]["checked"]
    assert facts["flips by the same rows"]["n_refits"] >= facts["refits of the bagged model"]["value"]
    assert 0 < page.index(found["verdict"]["headline"], page.index('id="verdict"')) < page.index("<h2>")
    assert "How much class probabilities change without one row" in words(result)
    assert "at most the square root of 2" in words(result)
    assert "flips" not in measured["cost"][2]["facts"]


@pytest.mark.slow
def test_metric_delta_and_matched_are_used(run, table, tmp_path):
    numbers = tmp_path / "numbers.json"
    chosen = ("--metric", "r2", "--metric", "neg_max_error", "--delta", 0.2, "--matched", 2, "--json", numbers)
    result = run("measure", table, "--target", "cost", *QUICK, *chosen)
    assert result.exit_code == 0, result.output
    found = json.loads(numbers.read_text())
    scored = [name for name, fact in found["facts"].items() if "constant" in fact and not name.endswith("unseen rows")]
    assert scored == ["R2", "max error"]
    assert found["facts"]["guaranteed change"]["label"] == "bags reused: 80% of rows, at most"
    assert found["facts"]["refits of the bagged model"]["value"] == 2
    refused = run("measure", table, "--target", "cost", *QUICK, "--metric", "roc_acu")
    assert refused.exit_code == 2
    assert "Error: There is no metric 'roc_acu'. Did you mean 'roc_auc'?" in words(refused)


@pytest.mark.slow
def test_measure_warns_about_held_out_rows_of_training_groups(run, clinic):
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
    told = "add --group patient_id, which holds out whole groups."
    assert words(result).index(told) < words(result).index("How much predictions change")
    assert words(result).endswith("What to do If you predict for a new patient_id, add --group patient_id.")
    page = report.read_text()
    assert page.index(told) < page.index('id="verdict"')


@pytest.mark.slow
def test_groups_of_one_row_are_like_rows(run, table, tmp_path):
    frame = pd.read_csv(table)
    frame.assign(person=range(len(frame))).to_csv(tmp_path / "t.csv", index=False)
    result = run("measure", tmp_path / "t.csv", "--target", "cost", "--group", "person", *QUICK)
    assert result.exit_code == 0, result.output
    assert "There are 120 groups with one row each, so leaving out a group leaves out a row." in words(result)
    assert "Trained on 96 rows of 96 groups, held out 24 rows of 24 other groups." in words(result)


@pytest.mark.slow
def test_wrong_group_raises_one_sentence(run, clinic, tmp_path):
    frame = pd.read_csv(clinic)
    frame.loc[3, "patient_id"] = None
    frame.to_csv(tmp_path / "holes.csv", index=False)
    for path, options, sentence in (
        (clinic, ("--group", "patientid"), "There is no column 'patientid' in the table. Did you mean 'patient_id'?"),
        (clinic, ("--group", "pressure"), "The column 'pressure' is the target, so it cannot be the group."),
        (tmp_path / "holes.csv", ("--group", "patient_id"), "The group 'patient_id' is missing in row 3;"),
        (clinic, ("--group", "patient_id", "--test-size", 0.98), "30 of the 30 groups are held out and none is left"),
    ):
        result = run("measure", path, "--target", "pressure", *options, *QUICK)
        assert result.exit_code == 2
        assert f"Error: {sentence}" in words(result) if "Did" in sentence else "Error: " in words(result)
        assert sentence in words(result)


@pytest.mark.slow
def test_verbose_prints_how_the_columns_were_read(run, table, tmp_path):
    frame = pd.read_csv(table).assign(code=[f"{k:04d}" for k in range(120)], same=1)
    frame.to_csv(tmp_path / "t.csv", sep=";", decimal=",", index=False)
    numbers = tmp_path / "numbers.json"
    arguments = ("--id", "code", "--drop", "ill", "--kind", "city=text", *QUICK, "--json", numbers, "--verbose")
    result = run("measure", tmp_path / "t.csv", "--target", "cost", *arguments)
    assert result.exit_code == 0, result.output
    for sentence in (
        "7 columns besides the target: 2 numbers, 1 text, 1 date; 3 not used (1 constant, 1 id, 1 dropped).",
        "The file was read with ';' between columns and with ',' for decimals.",
        "No single row changes how the columns are parsed, so the guarantee covers parsing.",
        "How the columns of t.csv were read",
    ):
        assert sentence in words(result), sentence
    found = json.loads(numbers.read_text())
    assert [column["name"] for column in found["data"]["columns"]][-2:] == ["code", "same"]
    assert found["lists"]["most influential"]["rows"][0]["row"] in set(
        frame["code"]
    )  # as it is written, with its zeros


@pytest.mark.slow
def test_measure_needs_more_than_two_rows(run, tmp_path):
    (tmp_path / "t.csv").write_text("y,a\n1.5,2\n3.5,4\n")
    result = run("measure", tmp_path / "t.csv", "--target", "y", *QUICK)
    assert result.exit_code == 2
    assert words(result).endswith(
        "Error: Only one row is left to train on, but two are needed. Use more rows, or --test."
    )


@pytest.mark.slow
def test_warnings_on_few_rows_are_sentences(run, tmp_path):
    rng = np.random.default_rng(0)
    pd.DataFrame({"x": rng.normal(size=8), "y": rng.normal(size=8)}).to_csv(tmp_path / "t.csv", index=False)
    result = run("measure", tmp_path / "t.csv", "--target", "y", *QUICK, "--refits", 20, "--matched", 20)
    assert result.exit_code == 0, result.output
    assert "The intervals are infinite, because level 0.9 needs at least 9 training rows and there are 6." in words(
        result
    )
    assert "UserWarning" not in result.output
    assert "drawn at random" not in result.output.replace("bags at random", "")


@pytest.mark.slow
def test_table_larger_than_max_memory_stays_on_disk(run, tmp_path):
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
    result = run("measure", folder, "--target", "y", *few, "--output", report, "--json", numbers, "--verbose")
    assert result.exit_code == 0, result.output
    said = words(result)
    assert "leaving out a row changes the bagged model's predictions by less than" in said
    assert "Apart from bagging noise (" in said
    assert "The table would take about 38.4 kB in memory, more than --max-memory (35 kB), so its rows stay" in said
    assert "It is not compared with the base model alone, which would have to be fitted to all 309 rows" in said
    assert "the files are read about" in said
    assert "parts: 400 rows, target 'y' (regression). 13 rows without a target were left out." in said
    assert "Trained on 309 rows, held out 78." in said
    assert "How the columns of parts were read, from 78 rows drawn at random" in said
    written = json.loads(numbers.read_text())
    assert (written["n_samples"], written["facts"]["refits of the base model"]["value"]) == (309, 0)
    assert (written["verdict"]["case"], written["data"]["n_sampled"]) == ("not compared", 78)
    assert written["facts"]["R2"]["base"] is None
    page = report.read_text()
    assert "base learner</th>" not in page
    assert "kinds decided from 78 of them" in page
    in_memory = run("measure", folder, "--target", "y", *few[:-1], "1GB", "--refits", 3)
    assert in_memory.exit_code == 0, in_memory.output
    assert "parts: 400 rows, target 'y' (regression)." in words(in_memory)
    assert "The table would" not in words(in_memory)


@pytest.mark.slow
def test_classes_and_groups_of_a_large_table_are_measured(run, tmp_path):
    parquet_files.one_file(tmp_path, parquet_files.rows(400))
    few = ("--n-bags", 8, "--bag-size", 3, "--points", 4, "--jobs", 1, "--max-memory", "30KB")
    about = (tmp_path / "*.parquet", "--target", "kind", "--group", "patient")
    result = run("measure", *about, "--drop", "y,day,name", *few)
    assert result.exit_code == 0, result.output
    assert "on one group (not checked by refits)." in words(result)
    assert "other groups." in words(result)
    refused = run("measure", *about, "--drop", "y,day", "--id", "name", *few)
    assert refused.exit_code == 2
    assert "Error: --id cannot be used here" in words(refused)


@pytest.mark.slow
def test_options_that_need_memory_fail_early_for_a_large_table(run, tmp_path):
    parquet_files.one_file(tmp_path, parquet_files.rows())
    table = tmp_path / "all.parquet"
    for more, said in [
        (("--max-memory", "lots"), "Give an amount of memory such as 500MB or 1GB"),
        (("--max-memory", "1KB", "--refits", 5), "Error: --refits fits the base model to all rows at once"),
        (("--max-memory", "1KB", "--bag-size", 90), "Error: A bag of 90 rows takes about 1MB, but --max-memory leaves"),
        (("--max-memory", "1KB", "--drop", "nme"), "Did you mean 'name'?"),
    ]:
        result = run("measure", table, "--target", "y", "--n-bags", 5, *more)
        assert result.exit_code == 2, more
        assert said in words(result), result.output
    missing = run("measure", tmp_path / "*.pq", "--target", "y")
    assert "Error: No file matches the pattern" in missing.output


@pytest.mark.slow
def test_influential_rows_are_numbered_as_in_the_file(run, tmp_path):
    odd = np.where(np.arange(100) == 70, 1000.0, np.arange(100.0) / 7)
    frame = pd.DataFrame({"place": np.random.default_rng(0).normal(size=100), "y": odd})
    frame.loc[:9, "y"] = np.nan
    frame.to_csv(tmp_path / "table.csv", index=False)
    numbers = tmp_path / "numbers.json"
    model = ("--param", "min_samples_leaf=20", *QUICK, "--n-bags", 300)  # enough to tell from noise
    table = tmp_path / "table.csv"
    assert run("measure", table, "--target", "y", "--test", table, *model, "--json", numbers).exit_code == 0
    found = json.loads(numbers.read_text())
    assert found["lists"]["most influential"]["rows"][0]["row"] == 70
    assert [found["lists"][name]["rows"][0]["row"] for name in ("moving the predictions", "worth a look")] == [70, 70]


@pytest.mark.slow
def test_rows_are_held_out_by_class_if_possible():
    X, y = np.arange(100), np.repeat(["often", "seldom"], [90, 10])
    X_train, X_test, y_train, y_test = held_out(X, y, 0.2, "classification", 0)
    assert (y_test == "seldom").sum() == 2
    assert sorted([*X_train, *X_test]) == X.tolist()
    np.testing.assert_array_equal(y[X_train], y_train)
    alone = np.where(X == 7, "once", y)  # a class of one row cannot be on both sides
    assert len(held_out(X, alone, 0.2, "classification", 0)[1]) == 20


@pytest.mark.slow
def test_the_same_seed_holds_out_the_same_rows():
    X, y = np.arange(100), np.arange(100.0)
    tests = [held_out(X, y, 0.3, "regression", seed)[1].tolist() for seed in (0, 0, 1)]
    assert tests[0] == tests[1] != tests[2]
    assert len(tests[0]) == 30


@pytest.mark.slow
def test_training_rows_of_one_class_raise_an_error_with_a_way_out():
    X, y = np.arange(100), np.where(np.arange(100) == 26, "8", "7")
    assert 26 in train_test_split(X, test_size=0.2, random_state=0)[1]
    said = (
        r"All rows to train on have class '7': class '8' has only 1 row, which is held out. Gather more rows of class "
        r"'8', or pass held-out rows with --test. If the target is a number, use --task regression.$"
    )
    with pytest.raises(TableError, match=said):
        held_out(X, y, 0.2, "classification", 0)
    with pytest.raises(TableError, match=r"class 'yes' has only 1 row.* --test.$"):
        held_out(X, np.where(y == "8", "yes", "no"), 0.2, "classification", 0)
    assert len(held_out(X, y, 0.2, "classification", 1)[1]) == 20  # it is not held out
    few = np.array(["a"] * 2 + ["b", "c"])
    with pytest.raises(TableError, match="the other 2 classes have so few rows that all of them are held out"):
        held_out(np.arange(4), few, 0.5, "classification", next(s for s in range(99) if _held(s) == {2, 3}))


def _held(seed):
    return set(train_test_split(np.arange(4), test_size=0.5, random_state=seed)[1].tolist())


@pytest.mark.slow
@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_test_size_outside_0_to_1_raises_an_error(share):
    with pytest.raises(ValueError, match="--test-size must be between 0 and 1"):
        held_out(np.arange(9), np.arange(9.0), share, "regression", 0)


@pytest.mark.slow
def test_measure_fails_early_without_the_output_folder(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "study", lambda *arguments, **options: pytest.fail("begun"))
    result = run("measure", table, "--target", "cost", "--json", tmp_path / "none" / "numbers.json")
    assert result.exit_code == 2
    assert "none to write numbers.json to" in words(result)


@pytest.mark.slow
def test_command_in_the_report_repeats_the_choice(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "LADDER", ((20, 4),))
    page, numbers = tmp_path / "a.html", [tmp_path / "a.json", tmp_path / "b.json"]
    given = ["measure", table, "--target", "cost", "--model", "ridge", "--points", 4, "--jobs", 1]
    chosen = ("--n-bags", 20, "--refits", 4, "--matched", 4)
    for asked, more, number in zip(((), chosen), (("--output", page), ()), numbers, strict=True):
        monkeypatch.setattr("sys.argv", ["stablebag", *map(str, [*given, *asked])])
        done = run(*given, *asked, *more, "--json", number)
        assert done.exit_code == 0, done.output
        assert "20 bags of 48 rows, 4 refits of the base model and 4 of the bagged model take " in done.output
    assert "--points 4 --jobs 1 --n-bags 20 --refits 4 --matched 4</" in page.read_text()
    command = json.loads(numbers[0].read_text())["command"]
    assert command.endswith("--points 4 --jobs 1 --n-bags 20 --refits 4 --matched 4")
    assert numbers[0].read_text() == numbers[1].read_text()


@pytest.mark.slow
def test_cache_avoids_fits_and_keeps_the_numbers(run, table, tmp_path):
    given = ["measure", table, "--target", "ill", *QUICK, "--cache", tmp_path / "kept"]
    outputs = [run(*given, "--json", tmp_path / f"{k}.json").output for k in range(2)]
    assert "fits were loaded from" not in outputs[0]
    assert "20 of 20 fits were loaded from" in outputs[1]
    assert "5 of 5 fits were loaded from" in outputs[1]
    assert (tmp_path / "0.json").read_text() == (tmp_path / "1.json").read_text()


@pytest.mark.slow
def test_interrupt_names_the_cache(run, table, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(measure, "study", interrupted)
    given = ["measure", table, "--target", "ill", *QUICK]
    assert run(*given).output.splitlines()[-1] == "Interrupted."
    done = run(*given, "--cache", tmp_path / "kept")
    kept = f"Finished fits are kept in {tmp_path / 'kept'}; the same command continues from there."
    assert (done.exit_code, done.output.splitlines()[-1]) == (130, f"Interrupted. {kept}")
