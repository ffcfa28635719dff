import numpy as np
import pandas as pd
import pytest

from stablebag import predict_interval, predict_set
from stablebag._wording import percent
from stablebag.cli.saving import SavedModel
from stablebag.models.fitted import Fitted

pytest.importorskip("skops.io")
QUICK = ("--n-bags", 20, "--jobs", 1)


SEEN = "120 of these 120 rows are exact copies of training rows, so the model has seen their targets."


def words(result):
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def numbers(table, tmp_path_factory):
    return saved(tmp_path_factory, "interval", table, "cost")


@pytest.fixture(scope="module")
def classes(table, tmp_path_factory):
    return saved(tmp_path_factory, "sets", table, "ill")


def saved(tmp_path_factory, command, table, target):
    from click.testing import CliRunner

    from stablebag.cli.main import main

    folder = tmp_path_factory.mktemp("saved")
    new = table.with_name(f"new-{target}.csv")
    arguments = [command, table, "--target", target, "--test", new, "--output", folder / "o.csv", *QUICK]
    result = CliRunner().invoke(main, [*map(str, arguments), "--save", str(folder / "model.skops")])
    assert result.exit_code == 0, result.output
    assert "Model: " in words(result)
    return folder / "model.skops"


def test_predicted_numbers_are_those_of_the_model(run, numbers, table, tmp_path):
    new, output = table.with_name("new-cost.csv"), tmp_path / "p.csv"
    result = run("predict", numbers, new, "--output", output, "--keep", "city")
    assert result.exit_code == 0, result.output
    frame, model = pd.read_csv(output), SavedModel.load(numbers).model
    assert frame.columns.tolist() == ["row", "city", "prediction"]
    np.testing.assert_allclose(frame["prediction"], model.predict(Fitted(model).X[:7]))
    assert result.output.startswith("Predictions of 'cost': ")
    assert "Predictions: " in words(result)
    assert "exact copies" not in words(result)  # their targets are not known


@pytest.mark.slow
def test_intervals_are_those_of_the_model_and_keep_the_theorem(run, numbers, table, tmp_path):
    output = tmp_path / "p.csv"
    result = run("predict", numbers, table, "--output", output, "--interval", 0.8, "--locally-weighted")
    assert result.exit_code == 0, result.output
    frame, model = pd.read_csv(output), SavedModel.load(numbers).model
    found = predict_interval(model, Fitted(model).X, confidence_level=0.8, locally_weighted=True)
    np.testing.assert_allclose(frame[["lower", "upper"]].to_numpy().T, [found.lower, found.upper])
    assert "coverage is at least 0.6" in words(result)
    assert "approximately" not in words(result)  # stablebag interval draws the number of bags
    assert SEEN in words(result)
    assert (
        f"{percent(found.coverage(pd.read_csv(table)['cost']))} of the known targets are inside their intervals."
        in words(result)
    )


@pytest.mark.slow
def test_classes_are_predicted_with_probabilities_and_sets(run, classes, table, tmp_path):
    output = tmp_path / "p.csv"
    result = run("predict", classes, table, "--output", output, "--sets", "--delta", 0.2)
    assert result.exit_code == 0, result.output
    frame, model = pd.read_csv(output), SavedModel.load(classes).model
    added = ["labels", "n_labels", "probability of no", "probability of yes"]
    assert frame.columns.tolist() == ["row", *pd.read_csv(table).columns, "prediction", *added]
    assert frame["prediction"].tolist() == model.predict(Fitted(model).X).tolist()
    np.testing.assert_allclose(frame[added[2:]], model.predict_proba(Fitted(model).X))
    assert frame["n_labels"].tolist() == predict_set(model, Fitted(model).X, delta=0.2).sizes.tolist()
    assert "the set from the bags without" in words(result)
    assert "% of the known labels are predicted correctly." in words(result)
    assert SEEN in words(result)
    result = run("predict", classes, table, "--output", output)
    assert "Predictions of 'ill': " in words(result)
    assert pd.read_csv(output).columns.tolist()[-3:] == ["prediction", *added[2:]]


@pytest.mark.slow
@pytest.mark.parametrize(("model", "options", "sentence"), [
    ("numbers", ("--interval", 90), "--interval must be between 0 and 1, such as 0.9, got 90. Did you mean 0.9?"),
    ("numbers", ("--sets",), "are for classes, but the model predicts the number 'cost'. Use --interval 0.9."),
    ("classes", ("--interval", 0.9), "but the model predicts the classes of 'ill'. Use --sets."),
    ("numbers", ("--locally-weighted",), "--locally-weighted is for intervals. Add --interval 0.9, or leave it out."),
    ("numbers", ("--interval", 0.999), "every interval from 120 rows would be infinite. Use at least 999 rows"),
    ("numbers", ("--keep", "agee"), "There is no column 'agee' in the table. Did you mean 'age'?"),
    ("classes", ("--sets", "--delta", 5), "--delta must be a share from 0 to 1, such as 0.05, got 5."),
    ("numbers", ("--output", "/no/such/folder/x.csv"), "There is no folder /no/such/folder to write x.csv to."),
])  # fmt: skip
def test_predict_fails_on_options_that_do_not_fit_the_model(run, request, table, tmp_path, model, options, sentence):
    result = run("predict", request.getfixturevalue(model), table, "--output", tmp_path / "p.csv", *options)
    assert result.exit_code == 2
    assert sentence in words(result)


@pytest.mark.slow
def test_a_column_that_is_missing_is_named(run, numbers, table, tmp_path):
    pd.read_csv(table).drop(columns="age").to_csv(tmp_path / "narrow.csv", index=False)
    result = run("predict", numbers, tmp_path / "narrow.csv", "--output", tmp_path / "p.csv")
    assert result.exit_code == 2
    assert "has no column 'age', which the training table has" in words(result)


@pytest.mark.slow
def test_predict_fails_on_a_file_that_is_not_a_model(run, table, tmp_path):
    result = run("predict", table, table, "--output", tmp_path / "p.csv")
    assert result.exit_code == 2
    assert "is not a saved model of stablebag" in words(result)


@pytest.mark.slow
def test_saved_model_knows_its_training_groups(run, clinic, tmp_path):
    path = tmp_path / "m.skops"
    arguments = ("--target", "pressure", "--group", "patient_id", "--refits", 2, "--points", 2, "--jobs", 1)
    result = run("measure", clinic, *arguments, "--n-bags", 30, "--save", path)
    assert result.exit_code == 0, result.output
    assert f"Model: {path} (for stablebag predict)" in words(result)
    result = run("predict", path, clinic, "--output", tmp_path / "p.csv", "--interval", 0.8)
    assert result.exit_code == 0, result.output
    assert "belong to groups that were trained on" in words(result)
    assert "with a fixed number, as here, it holds only approximately" in words(result)
    assert pd.read_csv(tmp_path / "p.csv").columns.tolist()[:2] == ["row", "patient_id"]
