import hashlib
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    Certificate,
    Intervals,
    Perturbations,
    Subbagging,
    VectorCertificate,
    certify,
    certify_reused,
    leave_one_out,
    on_progress,
    predict_interval,
)
from stablebag.showing.report import write
from stablebag.showing.study import Study, study

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X = X.rename(columns={"bmi": EVIL})
    options = {"n_bags": 60, "n_refits": 15, "n_points": 6}
    return study(DecisionTreeRegressor(max_depth=4), X[:200], y[:200].to_numpy(), X[200:260], y[200:260], **options), X


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    labels = np.where(y == 1, "benign", "malignant")
    options = {"n_bags": 60, "n_refits": 15, "n_points": 6}
    return study(DecisionTreeClassifier(max_depth=3), X[:200], labels[:200], X[200:260], labels[200:260], **options)


def test_a_study_measures_proves_and_holds_out(diabetes, cancer):
    regression, _ = diabetes
    assert regression.base.values.shape == (15, 6)
    assert regression.bagged.values.shape == (200, 6)
    assert isinstance(regression.anew, Certificate)
    assert regression.bagged.scope.mismatch(regression.proved.scope) is None
    assert set(regression.scores) == {"mean absolute error", "root mean squared error"}
    assert 0 <= regression.coverage <= 1
    assert len(regression.intervals) == 6
    assert isinstance(cancer.anew, VectorCertificate)
    assert cancer.bagged.scope.mismatch(cancer.proved.scope) is None
    assert set(cancer.scores) == {"accuracy", "log loss"}
    assert cancer.intervals is None
    for result in (regression, cancer):
        for name, _, after, proved in result.comparison():
            assert np.isnan(proved) or after <= proved, name
    assert "the largest move of all is" in cancer.verdict()
    rows, effects = cancer.most_influential(3)
    assert effects.tolist() == sorted(effects, reverse=True)
    assert len(rows) == 3


def test_a_study_tells_how_far_it_has_come():
    X, y = load_diabetes(return_X_y=True)
    told = []
    tree = DecisionTreeRegressor(max_depth=3)
    with on_progress(lambda *numbers: told.append(numbers)):
        study(tree, X[:60], y[:60], X[60:70], n_bags=30, n_refits=3)
    assert told == [(done, 34) for done in range(35)]


def test_the_report_is_one_file_with_everything(diabetes, tmp_path):
    result, X = diabetes
    path = write(
        tmp_path / "report.html", result, rows=X[:200], command="stablebag measure x.csv", notes=("200 rows.",)
    )
    page = path.read_text()
    assert path.stat().st_size < 6e6
    assert result.verdict() in page
    assert "stablebag measure x.csv" in page
    for part in (
        "Before and after bagging",
        "Accuracy",
        "most influential rows",
        "Prediction intervals",
        "certificate",
    ):
        assert part in page
    without_scripts = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)  # bokeh's own text has addresses in it
    assert not re.findall(r"""(?:src|href)=["']https?:""", without_scripts)
    assert all(alt for alt in re.findall(r'<img [^>]*alt="([^"]*)"', page))


def test_values_of_the_data_are_escaped(diabetes, tmp_path):
    result, X = diabetes
    page = write(tmp_path / "report.html", result, rows=X[:200], title=EVIL, command=EVIL, notes=(EVIL,)).read_text()
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_the_same_study_gives_the_same_bits(cancer, tmp_path):
    digests = {hashlib.sha256(write(tmp_path / f"{k}.html", cancer).read_bytes()).hexdigest() for k in range(2)}
    assert len(digests) == 1


def test_a_wide_table_shows_some_columns_and_says_so(diabetes, tmp_path):
    result, X = diabetes
    wide = pd.concat([X.add_suffix(str(k)) for k in range(4)], axis=1)
    page = write(tmp_path / "report.html", result, rows=wide[:200]).read_text()
    assert "28 more columns are not shown" in page


def test_objects_at_hand_are_reported(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, random_state=0).fit(X[:100], y[:100])
    points, targets = X[100:105], y[100:105]
    moved, proved, intervals = leave_one_out(model, points), certify_reused(model), predict_interval(model, points)
    with pytest.raises(ValueError, match=r"Study.of cannot show this bound.*put certify_reused\(model\)"):
        Study.of(moved, certify(model))
    alone = Study.of(moved, proved)
    assert "base learner" not in alone.verdict()
    page = write(tmp_path / "alone.html", alone).read_text()
    assert "<h2>Accuracy</h2>" not in page
    together = Study.of(moved, proved, anew=certify(model), model=model, intervals=intervals, targets=targets)
    assert together.coverage == intervals.coverage(targets)
    page = write(tmp_path / "together.html", together).read_text()
    assert "Prediction intervals" in page
    assert "mean absolute error is" in " ".join(page.split())
    labels = np.where(y[:100] > 140, "high", "low")
    voter = BaggedClassifier(DecisionTreeClassifier(max_depth=2), n_bags=60, random_state=0).fit(X[:100], labels)
    classes = Study.of(leave_one_out(voter, points), certify_reused(voter, vector=True), model=voter)
    assert classes.task == "classification"
    assert write(tmp_path / "classes.html", classes).exists()


def test_many_rows_do_not_make_a_large_report(tmp_path):
    n = 200_000
    values = np.random.default_rng(0).random((n, 2)) / 100
    moved = Perturbations(np.zeros(2), values, np.arange(n))
    path = write(tmp_path / "large.html", Study.of(moved, Certificate(Subbagging(0.5), n, 500)))
    assert path.stat().st_size < 6e6


def test_only_studies_are_reported(tmp_path):
    with pytest.raises(TypeError, match=r"'study' parameter of report.write"):
        write(tmp_path / "x.html", {"not": "a study"})


def test_notebooks_show_certificates_perturbations_and_intervals():
    certificate = Certificate(Subbagging(0.5), 100)
    assert certificate._repr_html_().startswith("<pre>For every learner")
    moved = Perturbations(np.zeros(1), np.ones((2, 1)), np.arange(2))
    assert "Perturbations by 2 rows" in moved._repr_html_()
    intervals = Intervals(np.zeros(12), np.ones(12), np.full(12, 0.5), 0.9, "jackknife+", "<none>")
    assert "and 2 more" in intervals._repr_html_()
    assert "&lt;none&gt;" in intervals._repr_html_()
