import pandas as pd
import pytest

from stablebag._wording import percent


def words(result):
    return " ".join(result.output.split())


def test_interval_writes_intervals(run, table, tmp_path):
    output = tmp_path / "intervals.csv"
    arguments = ("--target", "cost", "--test", table.with_name("new-cost.csv"), "--output", output)
    result = run("interval", table, *arguments, "--n-bags", 20, "--jobs", 1, "--confidence", 0.8)
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(output)
    own = pd.read_csv(table.with_name("new-cost.csv"))
    assert frame.columns.tolist() == ["row", *own.columns, "prediction", "lower", "upper"]
    pd.testing.assert_frame_equal(frame[own.columns], own)
    assert frame["row"].tolist() == list(range(7))
    assert (frame["lower"] <= frame["upper"]).all()
    assert "7 jackknife+ intervals at level 0.8" in words(result)


@pytest.mark.slow
def test_coverage_of_known_targets_is_printed(run, table, tmp_path):
    known = pd.read_csv(table)[:9]
    known.to_csv(tmp_path / "known.csv", index=False)
    output = tmp_path / "intervals.csv"
    arguments = ("--target", "cost", "--test", tmp_path / "known.csv", "--output", output, "--method", "jackknife")
    result = run("interval", table, *arguments, "--n-bags", 20, "--jobs", 1)
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(output)
    inside = known["cost"].between(frame["lower"], frame["upper"]).mean()
    assert f"{percent(inside)} of the known targets are inside their intervals." in words(result)
    assert "9 jackknife intervals at level 0.9" in words(result)
    assert "9 of these 9 rows are exact copies of training rows, so the model has seen their targets." in words(result)
    known.assign(cost=known["cost"] + 1).to_csv(tmp_path / "known.csv", index=False)
    result = run("interval", table, *arguments, "--n-bags", 20, "--jobs", 1)
    assert "of the known targets are inside their intervals." in words(result)
    assert "exact copies" not in words(result)


@pytest.mark.slow
def test_intervals_with_a_group_are_for_rows_of_new_groups(run, clinic, tmp_path):
    output, new = tmp_path / "intervals.csv", clinic.with_name("new.csv")
    arguments = ("--target", "pressure", "--group", "patient_id", "--test", new, "--output", output, "--jobs", 1)
    result = run("interval", clinic, *arguments, "--n-bags", 40)
    assert result.exit_code == 0, result.output
    n_rows = len(pd.read_csv(clinic))
    assert f"Trained on {n_rows} rows of 30 groups; the intervals are for rows of other groups." in words(result)
    assert "2 of the 9 rows to predict belong to groups that were trained on (ann-0" in words(result)
    assert "The guarantee is not about these rows." in words(result)
    assert "at a row drawn at random from a new group" in words(result)
    frame = pd.read_csv(output)
    others = [name for name in pd.read_csv(new).columns if name != "patient_id"]
    assert frame.columns.tolist() == ["row", "patient_id", *others, "prediction", "lower", "upper"]
    assert frame["patient_id"].tolist() == pd.read_csv(new)["patient_id"].tolist()


@pytest.mark.slow
def test_new_rows_need_no_group(run, clinic, tmp_path):
    pd.read_csv(clinic)[:4].drop(columns="patient_id").to_csv(tmp_path / "new.csv", index=False)
    output = tmp_path / "intervals.csv"
    arguments = ("--target", "pressure", "--group", "patient_id", "--test", tmp_path / "new.csv", "--output", output)
    result = run("interval", clinic, *arguments, "--n-bags", 40, "--jobs", 1)
    assert result.exit_code == 0, result.output
    assert "trained on (" not in words(result)
    assert pd.read_csv(output).columns.tolist()[-3:] == ["prediction", "lower", "upper"]


@pytest.mark.slow
def test_repeated_identities_are_suggested_as_a_group(run, clinic, tmp_path):
    new = clinic.with_name("new.csv")
    arguments = ("--target", "pressure", "--test", new, "--output", tmp_path / "i.csv", "--n-bags", 20, "--jobs", 1)
    result = run("interval", clinic, *arguments)
    assert result.exit_code == 0, result.output
    assert "add --group patient_id" in words(result)


@pytest.mark.slow
def test_stable_jackknife_with_groups_fails_before_any_fit(run, clinic, tmp_path):
    arguments = ("--target", "pressure", "--test", clinic, "--output", tmp_path / "i.csv", "--n-bags", 10**6)
    result = run("interval", clinic, *arguments, "--group", "patient_id", "--method", "stable-jackknife")
    assert result.exit_code == 2
    assert "stable-jackknife works for rows, but --group leaves out groups. Use jackknife+." in words(result)


# ------------------------------------------------------------------------------------------------- what a user asks for


@pytest.mark.slow
def test_number_of_bags_is_random_if_the_theorem_needs_it(run, table, tmp_path):
    arguments = ("--target", "cost", "--test", table.with_name("new-cost.csv"), "--output", tmp_path / "i.csv")
    for method, drawn in (("jackknife+", True), ("jackknife-minmax", True), ("jackknife", False)):
        result = run("interval", table, *arguments, "--n-bags", 20, "--jobs", 1, "--method", method)
        assert result.exit_code == 0, result.output
        assert ("bags were fitted; the guarantee needs a number of bags drawn at random" in words(result)) == drawn
        assert "approximately" not in words(result)
        assert "random_n_bags" not in words(result)


@pytest.mark.slow
def test_kept_columns_are_written_with_the_intervals(run, table, tmp_path):
    new = tmp_path / "new.csv"
    pd.read_csv(table.with_name("new-cost.csv")).assign(key=list("abcdefg"), row=9, lower=-1).to_csv(new, index=False)
    output = tmp_path / "i.csv"
    arguments = ("--target", "cost", "--test", new, "--output", output, "--n-bags", 20, "--jobs", 1)
    result = run("interval", table, *arguments, "--keep", "key, row", "--keep", "lower")
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(output)
    own = ["row of this table", "key", "row", "lower"]
    assert frame.columns.tolist() == [*own, "prediction", "lower (interval)", "upper"]
    assert frame["key"].tolist() == list("abcdefg")
    assert frame["row of this table"].tolist() == list(range(7))


@pytest.mark.slow
def test_locally_weighted_intervals_are_wider_where_bags_differ_more(run, table, tmp_path):
    arguments = ("--target", "cost", "--test", table.with_name("new-cost.csv"), "--n-bags", 25, "--jobs", 1)
    widths = []
    for options in ((), ("--locally-weighted",)):
        result = run("interval", table, *arguments, *options, "--output", tmp_path / "i.csv")
        assert result.exit_code == 0, result.output
        frame = pd.read_csv(tmp_path / "i.csv")
        widths.append((frame["upper"] - frame["lower"]).std() / (frame["upper"] - frame["lower"]).mean())
    assert "7 locally weighted jackknife+ intervals at level 0.9" in words(result)
    assert widths[1] > 2 * widths[0]


@pytest.mark.slow
def test_negative_intervals_of_positive_targets_come_with_advice(run, tmp_path):
    prices = pd.DataFrame({"rooms": [1, 2, 3, 4, 5, 6] * 5, "price": [1.0, 2, 4, 8, 160, 320] * 5})
    prices.to_csv(tmp_path / "homes.csv", index=False)
    arguments = ("--target", "price", "--test", tmp_path / "homes.csv", "--output", tmp_path / "i.csv", "--jobs", 1)
    tree = ("--n-bags", 30, "--param", "max_depth=1", "--task", "regression")
    result = run("interval", tmp_path / "homes.csv", *arguments, *tree)
    assert result.exit_code == 0, result.output
    below = int((pd.read_csv(tmp_path / "i.csv")["lower"] < 0).sum())
    assert below
    assert f"{below} of 30 intervals begin below zero, but no training target is negative." in words(result)
    assert "--locally-weighted may help: it makes intervals narrower where bags agree." in words(result)


@pytest.mark.slow
@pytest.mark.parametrize(("options", "sentence"), [
    (("--confidence", 95), "--confidence must be between 0 and 1, such as 0.9, got 95. Did you mean 0.95?"),
    (("--confidence", 0), "--confidence must be between 0 and 1, such as 0.9, got 0."),
    (("--output", "/no/such/folder/i.csv"), "There is no folder /no/such/folder to write i.csv to."),
    (("--save", "/no/such/folder/m.skops"), "There is no folder /no/such/folder to write m.skops to."),
    (("--keep", "agee"), "There is no column 'agee' in the table. Did you mean 'age'?"),
    (("--bag-size", "120"), "bag_size"),
    (("--model", "oak"), "There is no model 'oak'"),
    (("--confidence", 0.995), "At level 0.995, every interval from 120 rows would be infinite. Use at least "
     "199 rows, or --confidence 0.99 or less."),
    (("--method", "stable-jackknife"), "can change the range, which may raise the miss probability"),
    (("--method", "stable-jackknife", "--locally-weighted"), "--locally-weighted does not work with the stable"),
    (("--test", "WORDS"), "The target 'cost' in WORDS is not a number in row 3 (the first row below the header is"),
    (("--test", "NARROW"), "has no column 'age', which the training table has"),
])  # fmt: skip
def test_interval_checks_its_options_before_any_fit(run, table, tmp_path, options, sentence):
    words_, narrow = tmp_path / "words.csv", tmp_path / "narrow.csv"
    frame = pd.read_csv(table)[:6]
    frame.assign(cost=["1", "2", "3", "n/k", "5", "6"]).to_csv(words_, index=False)
    frame.drop(columns="age").to_csv(narrow, index=False)
    given = [{"WORDS": words_, "NARROW": narrow}.get(option, option) for option in options]
    defaults = ("--target", "cost", "--test", table, "--output", tmp_path / "i.csv", "--n-bags", 10**6)
    result = run("interval", table, *defaults, *given)
    assert result.exit_code == 2
    assert sentence.replace("WORDS", str(words_)) in words(result)


@pytest.mark.slow
def test_too_few_groups_raise_one_sentence(run, clinic, tmp_path):
    few = tmp_path / "few.csv"
    frame = pd.read_csv(clinic)
    frame[frame["patient_id"].isin(frame["patient_id"].unique()[:5])].to_csv(few, index=False)
    arguments = ("--target", "pressure", "--group", "patient_id", "--test", clinic, "--output", tmp_path / "i.csv")
    result = run("interval", few, *arguments, "--jobs", 1)
    assert result.exit_code == 2
    assert "At level 0.9, every interval from 5 groups would be infinite. Use at least 9 groups," in words(result)
    assert "--confidence 0.83 or less." in words(result)
    result = run("interval", few, *arguments, "--jobs", 1, "--confidence", 0.83, "--n-bags", 40)
    assert result.exit_code == 0, result.output
    assert "Warning" not in result.output
