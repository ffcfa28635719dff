import hashlib
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    Certificate,
    Perturbations,
    Subbagging,
    certify,
    certify_reused,
    leave_one_out,
    predict_interval,
)
from stablebag.showing.report import write
from stablebag.showing.report.page import _together
from stablebag.showing.study import Study

EVIL = "<script>alert(1)</script>"


def test_the_report_is_one_file_with_everything(diabetes, tmp_path):
    result, X = diabetes
    path = write(
        tmp_path / "report.html", result, rows=X[:200], command="stablebag measure x.csv", notes=("200 rows.",)
    )
    page = path.read_text()
    assert path.stat().st_size < 6e6
    assert result.verdict().headline in page
    assert "stablebag measure x.csv" in page
    for part in (
        "Before and after bagging",
        "Accuracy",
        "The most influential rows",
        "Prediction intervals",
        "The certificate",
    ):
        assert f"<h2>{part}</h2>" in page
    without_scripts = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)  # bokeh's own text has addresses in it
    assert not re.findall(r"""(?:src|href)=["']https?:""", without_scripts)
    pictures = re.findall(r"<img [^>]*>", without_scripts)
    assert len(pictures) == 3
    assert all(re.search(r'alt="[^"]{20,}"', picture) for picture in pictures)


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
    page = write(tmp_path / "alone.html", Study.of(moved, proved)).read_text()
    assert "<h2>Accuracy</h2>" not in page
    assert "<h2>Prediction intervals</h2>" not in page
    together = Study.of(moved, proved, anew=certify(model), model=model, intervals=intervals, targets=targets)
    page = write(tmp_path / "together.html", together).read_text()
    assert "<h2>Prediction intervals</h2>" in page
    assert f"{100 * intervals.coverage(targets):.1f} % are in their intervals" in page
    assert "mean absolute error is" in " ".join(page.split())
    labels = np.where(y[:100] > 140, "high", "low")
    voter = BaggedClassifier(DecisionTreeClassifier(max_depth=2), n_bags=60, random_state=0).fit(X[:100], labels)
    classes = Study.of(leave_one_out(voter, points), certify_reused(voter, vector=True), model=voter)
    page = write(tmp_path / "classes.html", classes).read_text()
    assert "error rate is" in " ".join(page.split())
    assert "<h2>Prediction intervals</h2>" not in page


def test_many_rows_do_not_make_a_large_report(tmp_path):
    n = 200_000
    values = np.random.default_rng(0).random((n, 2)) / 100
    moved = Perturbations(np.zeros(2), values, np.arange(n))
    # Small bags, because the exact frontier of large ones of so many rows takes its time.
    path = write(tmp_path / "large.html", Study.of(moved, Certificate(Subbagging(100), n, 500)))
    assert path.stat().st_size < 6e6


def test_only_studies_are_reported(tmp_path):
    with pytest.raises(TypeError, match=r"'study' parameter of report.write"):
        write(tmp_path / "x.html", {"not": "a study"})


def test_a_report_of_units_speaks_of_them_and_shows_the_values_of_their_rows(visits, tmp_path):
    result, X, patients = visits
    page = write(tmp_path / "report.html", result, rows=X).read_text()
    assert EVIL not in page
    text = " ".join(re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL).split())
    assert "when all rows of one patient are left out" in text
    assert "refitted without each of 5 patients" in text
    assert "<h2>The most influential patients</h2>" in text
    assert '<button type="button">patient</button>' in text
    assert "each predicted by the bags without its patient" in text
    assert "the target of a row of a new patient is expected" in text
    for words in (
        "training row is",
        "share of rows",
        "over the rows",
        "over rows",
        "without a row",
        "of the rows below",
    ):
        assert words not in text
    first = result.most_influential(1)[0][0]
    line = re.search(r"<tbody> (<tr><th scope=\"row\">[^\n]*?</tr>) ", text[text.index('id="influential"') :])[1]
    cells = [cell.strip() for cell in re.sub(r"<.*?>", "|", line).split("|") if cell.strip()]
    assert cells[0] == str(first).replace("<", "&lt;").replace(">", "&gt;")
    assert cells[2] == str((patients == first).sum())


def test_units_without_their_rows_are_named_alone(visits, tmp_path):
    result, X, _ = visits
    page = write(tmp_path / "report.html", Study.of(result.bagged, result.proved), rows=X).read_text()
    assert "<caption>By name</caption>" in page
    assert '<button type="button">sex</button>' not in page


@pytest.mark.parametrize(("values", "text"), [
    ([3.0], "3"), ([2.5, 7.0, 2.5], "2.5 to 7"), (["f", "f"], "f"), (["f", "m", None], "f / m"), ([np.nan], "nan"),
    (list("abcd"), "4 values"), ([np.nan, 4.0], "4"), ([True, False], "True / False"), (pd.Series([1, pd.NA]), "1"),
])  # fmt: skip
def test_the_values_of_several_rows_fit_into_a_cell(values, text):
    assert _together(values) == text
