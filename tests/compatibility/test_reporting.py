"""Where results go: model cards, reports of skore, and runs of MLflow."""

import json
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, certify, compare_versions, leave_one_out_refit, study
from stablebag.connect import SingleRowCheck, add_to_card, log_study
from stablebag.showing.study import draw_units

FEW = {"n_bags": 20, "random_state": 0}


@pytest.fixture
def result(regression):
    X, y = regression
    return study(BaggedRegressor(DecisionTreeRegressor(), **FEW), X, y, n_refits=5)


# ---------------------------------------------------------------------------------------------------------------- cards


def test_skops_cards_have_a_section_with_a_result(needs, regression, result, tmp_path):
    card = needs("skops.card", "skops").Card(result.model)
    again = BaggedRegressor(DecisionTreeRegressor(), n_bags=20, random_state=1).fit(*regression)
    versions = compare_versions(again, again, regression[0][:5])
    sections = {"Stability": result, "Evaluation/Guarantee": certify(result.model), "Evaluation/Retraining": versions}
    for section, shown in sections.items():
        assert add_to_card(card, shown, section) is card
        assert card.select(section).content == shown.to_markdown()
    add_to_card(card, certify(result.model))  # replaces the section
    card.save(tmp_path / "README.md")
    written = (tmp_path / "README.md").read_text()
    assert f"# Stability\n\n{certify(result.model).to_markdown()}\n" in written
    assert f"## Retraining\n\n{versions.to_markdown()}\n" in written
    assert result.to_markdown() not in written


def test_cards_reject_what_has_no_markdown(needs, result):
    card = needs("skops.card", "skops").Card(result.model)
    with pytest.raises(TypeError, match="'result' parameter of add_to_card must be a study, a certificate or a comp"):
        add_to_card(card, result.model)
    with pytest.raises(TypeError, match="a model card of skops"):
        add_to_card(result, card)


# ---------------------------------------------------------------------------------------------------------------- skore


@pytest.fixture
def skore(needs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own
        return needs("skore", "skore")


@pytest.fixture
def summary(skore):
    def summarize(report, check):
        report.checks.add([check])
        ignored = [name.split(" - ")[0] for name in report.checks.available() if not name.startswith(check.code)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = report.checks.summarize(ignore=ignored).frame().set_index("code").loc[check.code]
        text = found["explanation"]
        return found["section"], text if isinstance(text, str | dict) else None

    return summarize


def spread(X, y, n_test=20):
    return {"X_train": X[:-n_test], "y_train": y[:-n_test], "X_test": X[-n_test:], "y_test": y[-n_test:]}


@pytest.fixture
def noisy():
    X = np.random.default_rng(0).normal(size=(80, 3))
    return X, X[:, 0] + np.random.default_rng(1).normal(size=80)


def test_skore_accepts_the_check(skore):
    check = SingleRowCheck()
    assert isinstance(check, skore.Check)
    assert (check.code, check.severity, check.slow, check.docs_url) == ("STB001", "issue", True, None)


def test_skore_reports_regressors_whose_predictions_hinge_on_one_row(skore, summary, noisy):
    parts, check = spread(*noisy), SingleRowCheck(n_refits=30, n_points=10)
    section, sentence = summary(skore.EstimatorReport(KNeighborsRegressor(1), **parts), check)
    assert section == "issue"
    changes = leave_one_out_refit(KNeighborsRegressor(1), parts["X_train"], parts["y_train"], parts["X_test"])
    limit = 0.1 * parts["y_train"].std()
    # With all rows and points, the numbers of the sentence are those of the refits.
    section, sentence = summary(skore.EstimatorReport(KNeighborsRegressor(1), **parts), SingleRowCheck(n_refits=60))
    hinging = (changes.values.max(axis=0) > limit).sum()
    assert sentence.startswith(
        f"{hinging} of 20 predictions at test rows hinge on one training row: refitting without it changes them by "
        f"more than {limit:.3g} (10% of the standard deviation of the training targets), and by up to "
        f"{changes.values.max():.3g}. Left out in turn: each of the 60 training rows."
    )
    assert summary(skore.EstimatorReport(DummyRegressor(), **parts), check) == ("passed", None)


def test_skore_says_how_many_rows_and_points_were_looked_at(skore, noisy):
    # The tree draws features, so the seed of the refits matters.
    parts, tree = spread(*noisy), DecisionTreeRegressor(max_features=1)
    check = SingleRowCheck(n_refits=25, n_points=15, share=0.01, random_state=3)
    sentence = check.check_function(skore.EstimatorReport(tree, **parts))
    rows, points = draw_units(60, 25, 3), draw_units(20, 15, 3)
    about = {"rows": rows, "random_state": 3}
    changes = leave_one_out_refit(tree, parts["X_train"], parts["y_train"], parts["X_test"][points], **about)
    hinging = (changes.values.max(axis=0) > 0.1 * parts["y_train"].std()).sum()
    assert sentence.startswith(f"At least {hinging} of 15 predictions at test rows hinge on one training row: ")
    assert f", and by up to {changes.values.max():.3g}. " in sentence
    assert " Left out in turn: 25 of the 60 training rows, drawn at random." in sentence
    assert check.title == "Predictions that hinge on one training row (up to 25 left out, 15 test rows)"


def test_skore_reports_the_sentence_of_the_guide(skore):
    X, y = load_diabetes(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own
        report = skore.evaluate(DecisionTreeRegressor(random_state=0), X, y, splitter=0.2)
    page = (Path(__file__).parents[2] / "docs" / "reporting.md").read_text()
    assert SingleRowCheck(n_refits=50).check_function(report).split(" stablebag.study")[0] in " ".join(page.split())


def test_skore_refits_no_more_often_than_stated(skore, noisy, monkeypatch):
    fits = []

    class Counted(DecisionTreeRegressor):
        def fit(self, X, y):
            fits.append(len(y))
            return super().fit(X, y)

    report = skore.EstimatorReport(Counted(random_state=0), **spread(*noisy))
    fits.clear()
    SingleRowCheck(n_refits=7).check_function(report)
    assert sorted(fits) == [59] * 7 + [60]


def test_skore_reports_classifiers_whose_decisions_hinge_on_one_row(skore, summary, noisy):
    X, y = noisy
    parts = spread(X, np.where(y > 0, "yes", "no"))
    section, sentence = summary(skore.EstimatorReport(KNeighborsClassifier(1), **parts), SingleRowCheck(n_refits=60))
    changes = leave_one_out_refit(KNeighborsClassifier(1), parts["X_train"], parts["y_train"], parts["X_test"])
    flipped = changes.flips().any(axis=0).sum()
    assert section == "issue"
    assert sentence.startswith(
        f"{flipped} of 20 decisions at test rows hinge on one training row: refitting without it changes them. Left "
    )
    stump = skore.EstimatorReport(DecisionTreeClassifier(max_depth=1, random_state=0), **spread(X, X[:, 0] > 0))
    assert summary(stump, SingleRowCheck(n_refits=20)) == ("passed", None)


def test_skore_measures_bagged_models_from_their_bags(skore, summary, noisy):
    X, y = noisy
    parts, check = spread(X, y), SingleRowCheck(n_refits=30, tolerance=0.01)
    bagged = BaggedRegressor(DecisionTreeRegressor(), **FEW).fit(parts["X_train"], parts["y_train"])
    report = skore.EstimatorReport(bagged, X_test=parts["X_test"], y_test=parts["y_test"])  # no training rows
    section, sentence = summary(report, check)
    assert section == "issue"
    assert ": averaging over the bags without it changes them by more than " in sentence
    assert " Left out in turn: 30 of the 60 training rows, drawn at random." in sentence
    assert sentence.endswith("Bagging noise is part of this: more bags make it smaller.")
    classes = BaggedClassifier(KNeighborsClassifier(1), n_bags=300, random_state=0)
    assert summary(skore.EstimatorReport(classes, **spread(X, X[:, 0] > 0)), check)[0] == "passed"
    every = BaggedRegressor(KNeighborsRegressor(1), n_bags="all", random_state=0)
    sentence = check.check_function(skore.EstimatorReport(every, **spread(X[:26], y[:26])))
    assert "noise" not in sentence


def test_skore_does_not_apply_the_check_where_it_cannot_measure(skore, summary, noisy):
    X, y = noisy
    fitted = skore.EstimatorReport(DecisionTreeRegressor().fit(X, y), X_test=X, y_test=y)
    section, sentence = summary(fitted, SingleRowCheck())
    assert section == "not_applicable"
    assert sentence.endswith("the report has no training rows.")
    several = skore.EstimatorReport(Ridge(), **spread(X, np.column_stack([y, y])))
    assert summary(several, SingleRowCheck(n_refits=5))[1].endswith("it predicts several numbers per row.")


def test_skore_comparisons_pass_the_check_on(skore, summary, noisy):
    parts = spread(*noisy)
    tree = skore.EstimatorReport(DecisionTreeRegressor(random_state=0), **parts)
    section, sentences = summary(
        skore.compare({"tree": tree, "mean": skore.EstimatorReport(DummyRegressor(), **parts)}),
        SingleRowCheck(n_refits=30),
    )
    assert (section, list(sentences)) == ("issue", ["tree"])


# --------------------------------------------------------------------------------------------------------------- MLflow


@pytest.fixture
def mlflow(needs, monkeypatch, tmp_path):
    module = needs("mlflow", "mlflow-skinny")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own
        needs("mlflow.sklearn", "mlflow-skinny")
        module.set_tracking_uri(f"file:{tmp_path / 'runs'}")
        module.set_experiment("ours")
        yield module


@pytest.mark.slow
def test_mlflow_logs_a_study(mlflow, result):
    with mlflow.start_run() as run:
        log_study(result)
    run, facts = mlflow.get_run(run.info.run_id), result.facts()
    logged = run.data.metrics
    assert logged["stablebag/typical_change"] == facts["typical change"]["bagged"]
    assert logged["stablebag/typical_change.base"] == facts["typical change"]["base"]
    assert logged["stablebag/R2.constant"] == facts["R2"]["constant"]
    assert logged["stablebag/lead_over_a_constant.low"] == facts["lead over a constant"]["low"]
    assert logged["stablebag/guaranteed_mean_change"] == facts["guaranteed mean change"]["proved"]
    assert logged["stablebag/guaranteed_mean_change.measured"] == facts["guaranteed mean change"]["measured"]
    shown = {f"stablebag/{fact.name.replace(' ', '_')}" for fact in facts if np.isfinite(fact.value)}
    assert shown == {name for name in logged if not name.endswith((".base", ".constant", ".measured", ".low", ".high"))}
    assert run.data.tags["stablebag.verdict"] == result.verdict().case
    artifacts = [file.path for file in mlflow.MlflowClient().list_artifacts(run.info.run_id, "stablebag")]
    assert artifacts == [f"stablebag/{name}" for name in ("facts.json", "report.html", "report.md")]
    read = lambda name: mlflow.artifacts.load_text(f"{run.info.artifact_uri}/stablebag/{name}")  # noqa: E731
    assert read("report.md") == result.to_markdown() + "\n"
    assert read("report.html").startswith("<!doctype html>")
    numbers = json.loads(read("facts.json"))
    assert numbers["facts"]["guaranteed mean change"]["kind"] == "proved"
    assert numbers["n_bags"] == 20


def test_mlflow_metrics_of_a_classifier_have_valid_names(mlflow, classification):
    X, y = classification
    model = BaggedClassifier(DecisionTreeClassifier(), **FEW)
    result = study(model, X, y, n_refits=5, metrics=("roc_auc_ovr", "f1_macro"))
    log_study(result, name="first")
    log_study(result, name="second")  # the same run, which is still active
    run = mlflow.active_run().info.run_id
    mlflow.end_run()
    names = list(mlflow.get_run(run).data.metrics)
    assert "first/suggested_flips" in names
    assert {name.removeprefix("first/") for name in names if name.startswith("first")} == {
        name.removeprefix("second/") for name in names if name.startswith("second")
    }


@pytest.mark.slow
def test_mlflow_saves_loads_and_evaluates_bagged_models(mlflow, needs, regression):
    pd, io = needs("pandas", "pandas"), needs("skops.io", "skops")
    X, y = regression
    model = BaggedRegressor(DecisionTreeRegressor(), **FEW).fit(X, y)
    types = io.get_untrusted_types(data=io.dumps(model))
    with mlflow.start_run():
        info = mlflow.sklearn.log_model(model, name="model", skops_trusted_types=types)
        again = mlflow.sklearn.load_model(info.model_uri)
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert certify(again).epsilon(0.1) == certify(model).epsilon(0.1)
        table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(target=y)
        found = mlflow.models.evaluate(info.model_uri, table, targets="target", model_type="regressor")
    assert found.metrics["mean_absolute_error"] == pytest.approx(np.abs(model.predict(X) - y).mean())


def test_log_study_rejects_what_is_not_a_study(result):
    with pytest.raises(TypeError, match="'study' parameter of log_study must be a Study"):
        log_study(result.model)
    with pytest.raises(ValueError, match="letters, digits, underscores and hyphens"):
        log_study(result, name="a/b")


def test_log_study_names_the_command_that_installs_mlflow(result, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(ImportError, match="pip install mlflow"):
        log_study(result)
