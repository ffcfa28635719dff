import pandas as pd


def words(result):
    return " ".join(result.output.split())


def test_intervals_are_written(run, table, tmp_path):
    output = tmp_path / "intervals.csv"
    arguments = ("--target", "cost", "--test", table.with_name("new-cost.csv"), "--output", output)
    result = run("interval", table, *arguments, "--n-bags", 20, "--jobs", 1, "--confidence", 0.8)
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(output)
    assert frame.columns.tolist() == ["prediction", "lower", "upper"]
    assert len(frame) == 7
    assert (frame["lower"] <= frame["upper"]).all()
    assert "7 intervals by jackknife+ at level 0.8" in words(result)


def test_known_targets_are_held_against_the_intervals(run, table, tmp_path):
    known = pd.read_csv(table)[:9]
    known.to_csv(tmp_path / "known.csv", index=False)
    output = tmp_path / "intervals.csv"
    arguments = ("--target", "cost", "--test", tmp_path / "known.csv", "--output", output, "--method", "jackknife")
    result = run("interval", table, *arguments, "--n-bags", 20, "--jobs", 1)
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(output)
    inside = known["cost"].between(frame["lower"], frame["upper"]).mean()
    assert f"{inside:.1%} of the known targets are inside." in words(result)
    assert "9 intervals by jackknife at level 0.9" in words(result)


def test_with_a_group_intervals_are_for_rows_of_new_units(run, clinic, tmp_path):
    output, new = tmp_path / "intervals.csv", clinic.with_name("new.csv")
    arguments = ("--target", "pressure", "--group", "patient_id", "--test", new, "--output", output, "--jobs", 1)
    result = run("interval", clinic, *arguments, "--n-bags", 40)
    assert result.exit_code == 0, result.output
    n_rows = len(pd.read_csv(clinic))
    assert f"Trained on {n_rows} rows of 30 patients; the intervals are for rows of other patients." in words(result)
    assert "2 of the 9 rows to predict belong to patients that were trained on (ann-0" in words(result)
    assert "The guarantee is not about these rows." in words(result)
    assert "at a row drawn at random from a new patient" in words(result)
    frame = pd.read_csv(output)
    assert frame.columns.tolist() == ["patient_id", "prediction", "lower", "upper"]
    assert frame["patient_id"].tolist() == pd.read_csv(new)["patient_id"].tolist()


def test_new_rows_need_no_group(run, clinic, tmp_path):
    pd.read_csv(clinic)[:4].drop(columns="patient_id").to_csv(tmp_path / "new.csv", index=False)
    output = tmp_path / "intervals.csv"
    arguments = ("--target", "pressure", "--group", "patient_id", "--test", tmp_path / "new.csv", "--output", output)
    result = run("interval", clinic, *arguments, "--n-bags", 40, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "trained on (" not in words(result)
    assert pd.read_csv(output).columns.tolist() == ["prediction", "lower", "upper"]


def test_repeated_identities_are_suggested_as_a_group(run, clinic, tmp_path):
    new = clinic.with_name("new.csv")
    arguments = ("--target", "pressure", "--test", new, "--output", tmp_path / "i.csv", "--n-bags", 20, "--jobs", 1)
    result = run("interval", clinic, *arguments)
    assert result.exit_code == 0, result.output
    assert "--group patient_id takes whole patients" in words(result)


def test_the_stable_jackknife_is_refused_for_units_before_anything_is_fitted(run, clinic, tmp_path):
    arguments = ("--target", "pressure", "--test", clinic, "--output", tmp_path / "i.csv", "--n-bags", 10**6)
    result = run("interval", clinic, *arguments, "--group", "patient_id", "--method", "stable-jackknife")
    assert result.exit_code == 2
    assert "stable-jackknife is proved for rows, and --group leaves out patients. Use jackknife+." in words(result)
