from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from stablebag.cli.sets import _classes, _table, columns_of, conclusion
from stablebag.deciding import LabelSets
from stablebag.tables.training import NewRows

QUICK = ("--n-bags", 40, "--jobs", 1)


def words(result):
    return " ".join(result.output.split())


def by_hand(members):
    members = np.array(members, dtype=bool)
    prediction = np.tile([0.5, 0.3, 0.2], (len(members), 1))
    return LabelSets(members, np.array(["cat", "dog", "[hen]"]), prediction, "inflated-argmax", "none")


def test_sets_prints_sets_and_writes_them_with_the_columns(run, table, tmp_path):
    output, new = tmp_path / "sets.csv", table.with_name("new-ill.csv")
    result = run("sets", table, "--target", "ill", "--test", new, "--output", output, "--delta", 0.2, *QUICK)
    assert result.exit_code == 0, result.output
    assert " of 7 rows get" in result.stdout  # after what is to be checked first
    assert "for all but at most 24 of the 120 rows (delta = 0.2), the set from the bags without the row" in words(
        result
    )
    frame, own = pd.read_csv(output), pd.read_csv(new)
    added = ["labels", "n_labels", "probability of no", "probability of yes"]
    assert frame.columns.tolist() == ["row", *own.columns, *added]
    pd.testing.assert_frame_equal(frame[own.columns], own)
    assert frame["labels"].str.split(" | ", regex=False).str.len().tolist() == frame["n_labels"].tolist()
    np.testing.assert_allclose(frame[added[2:]].sum(axis=1), 1)
    assert "Sets: " in words(result)


def test_coverage_of_known_labels_is_printed(run, table, tmp_path):
    pd.read_csv(table)[:9].to_csv(tmp_path / "known.csv", index=False)
    result = run("sets", table, "--target", "ill", "--test", tmp_path / "known.csv", "--delta", 0.2, *QUICK)
    assert result.exit_code == 0, result.output
    assert "of the known labels are in their sets;" in words(result)


def test_covering_sets_with_a_group_are_for_rows_of_new_groups(run, clinic):
    new = clinic.with_name("new.csv")
    arguments = ("--target", "ill", "--group", "patient_id", "--test", new, "--method", "jackknife+", *QUICK)
    result = run("sets", clinic, *arguments, "--confidence", 0.8)
    assert result.exit_code == 0, result.output
    assert "2 of the 9 rows to predict belong to groups that were trained on (ann-0" in words(result)
    assert "The guarantee is not about these rows." in words(result)


def test_stable_sets_with_a_group_count_groups(run, clinic):
    new = clinic.with_name("new.csv")
    result = run("sets", clinic, "--target", "ill", "--group", "patient_id", "--test", new, "--delta", 0.2, *QUICK)
    assert result.exit_code == 0, result.output
    assert "for all but at most 6 of the 30 groups (delta = 0.2), the set from the bags" in words(result)
    assert "The guarantee is not about" not in words(result)


@pytest.mark.parametrize(("options", "sentence"), [
    (("--target", "cost"), "the target 'cost' has numbers. Use stablebag interval, or --task classification"),
    (("--target", "ill", "--confidence", 0.9), "--confidence is for sets that cover the true label. Leave it out, or"),
    (("--target", "ill", "--method", "jackknife+", "--delta", 0.1), "--delta is for stable sets. Leave it out, or"),
    (("--target", "ill", "--delta", 5), "--delta must be a share from 0 to 1, such as 0.05, got 5. Did you mean 0.05?"),
    (("--target", "ill", "--method", "jackknife+", "--confidence", 90), "got 90. Did you mean 0.9?"),
    (("--target", "ill", "--keep", "agee"), "There is no column 'agee' in the table. Did you mean 'age'?"),
    (("--target", "ill", "--output", "/no/such/folder/x.csv"), "There is no folder /no/such/folder to write x.csv to."),
])  # fmt: skip
def test_sets_checks_its_options_before_any_fit(run, table, options, sentence):
    result = run("sets", table, "--test", table, "--n-bags", 10**6, *options)
    assert result.exit_code == 2
    assert sentence in words(result)


def test_the_conclusion_counts_one_label_several_and_none():
    assert conclusion(by_hand([[1, 0, 0], [1, 1, 0], [0, 1, 0]])) == "2 of 3 rows get one label; 1 gets several."
    assert conclusion(by_hand([[1, 0, 0]])) == "1 of 1 row gets one label."
    none = "; 1 gets none: the model is too unsure to back any label, so treat it as undecided."
    assert conclusion(by_hand([[1, 1, 1], [0, 0, 0]])) == f"0 of 2 rows get one label; 1 gets several{none}"


def test_table_of_sets_has_five_rows_and_the_total():
    table = _table(by_hand([[1, 0, 1]] * 8))
    assert table.title == "Sets of labels (5 of 8, several labels first)"
    assert list(table.columns[1].cells) == [r"cat | \[hen]"] * 5
    assert next(iter(table.columns[2].cells)) == "cat 0.5, dog 0.3"


def test_class_without_an_estimate_has_none():
    about = {"training_rows": np.array([50, 9, 40]), "training_coverage": np.array([0.9, np.nan, 0.95])}
    cells = list(_classes(replace(by_hand([[1, 0, 0]]), **about), None).columns[2].cells)
    assert cells == ["no estimate (9)", "95% of 40", "90% of 50"]


def test_columns_with_the_names_of_results_are_kept():
    new = NewRows(pd.DataFrame({"labels": [7]}), None)
    frame = new.with_results(columns_of(by_hand([[1, 0, 0]])), ["labels"], "set")
    assert frame.columns.tolist()[:4] == ["row", "labels", "labels (set)", "n_labels"]
    assert frame["labels"].tolist() == [7]


def test_covering_sets_use_a_random_number_of_bags(run, table):
    arguments = ("--target", "ill", "--test", table.with_name("new-ill.csv"), *QUICK)
    covering, stable = (run("sets", table, *arguments, *more) for more in (("--method", "jackknife+"), ()))
    assert "bags were fitted; the guarantee needs a number of bags drawn at random." in words(covering)
    assert "approximately" not in words(covering)
    assert "these 40 bags" in words(stable)


def test_sets_keeps_the_named_columns(run, table, tmp_path):
    arguments = ("--target", "ill", "--test", table.with_name("new-ill.csv"), "--output", tmp_path / "s.csv", *QUICK)
    result = run("sets", table, *arguments, "--keep", "city")
    assert result.exit_code == 0, result.output
    assert pd.read_csv(tmp_path / "s.csv").columns.tolist()[:3] == ["row", "city", "labels"]


def test_too_few_rows_for_the_level_are_one_sentence(run, table, tmp_path):
    pd.read_csv(table)[:8].to_csv(tmp_path / "few.csv", index=False)
    arguments = ("--target", "ill", "--test", table.with_name("new-ill.csv"), "--method", "jackknife+", *QUICK)
    result = run("sets", tmp_path / "few.csv", *arguments)
    assert result.exit_code == 0, result.output
    assert "Every set has all labels, no (" in words(result)
    assert "ruling out a class at level 0.9 takes 9 training rows of that class." in words(result)
    assert "or --overall to cover all classes together." in words(result)
    overall = run("sets", tmp_path / "few.csv", *arguments, "--overall")
    assert "Every set has all labels, because level 0.9 needs at least 9 training rows and there are 8." in words(
        overall
    )
    assert "Warning" not in result.output


def test_sets_reports_copies_of_training_rows(run, table):
    result = run("sets", table, "--target", "ill", "--test", table, "--n-bags", 20, "--jobs", 1)
    assert result.exit_code == 0, result.output
    copies = "120 of these 120 rows are exact copies of training rows, so the model has seen their targets."
    assert copies in words(result)
