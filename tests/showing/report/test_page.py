import base64
import hashlib
import re

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    Certificate,
    Subbagging,
    certify,
    leave_one_out,
    predict_interval,
)
from stablebag.measuring import Perturbations
from stablebag.showing.report import write
from stablebag.showing.report.page import Colophon
from stablebag.showing.study import Study

pytestmark = pytest.mark.slow

EVIL = "<script>alert(1)</script>"


def without_scripts(page):
    """The page as it is read: bokeh's own text has addresses in it."""
    return " ".join(re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL).split())


def test_the_report_is_one_file_with_everything(diabetes, tmp_path):
    result, X = diabetes
    colophon = Colophon.of(result, data="diabetes.csv", target="progression", command="stablebag measure x.csv")
    path = write(tmp_path / "report.html", result, rows=X[:200], colophon=colophon, notes=("200 rows.",))
    page = path.read_text()
    assert path.stat().st_size < 6e6
    text = without_scripts(page)
    assert "<h1>progression from diabetes.csv, by a decision tree</h1>" in text
    assert "<title>progression from diabetes.csv, by a decision tree</title>" in text
    parts = (
        result.verdict().headline, "200 rows.", "Before and after bagging", "Accuracy", "Suspicious rows",
        "What is proved", "Prediction intervals", "Colophon", "stablebag measure x.csv",
    )  # fmt: skip
    places = [text.index(part) for part in parts]
    assert places == sorted(places)  # the conclusion first
    assert '<th scope="col" aria-sort="none"><button type="button">progression</button></th>' in text
    assert "how far the prediction of progression moves" in text
    for name, value in colophon.facts():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in text
    assert not re.findall(r"""(?:src|href|srcset)=["']https?:""", text)
    pictures = re.findall(r"<img [^>]*>", text)
    assert len(pictures) == 3
    assert all(re.search(r'alt="[^"]{20,}"', picture) for picture in pictures)
    assert text.count('media="screen and (prefers-color-scheme: dark)"') == 3


def test_only_the_scripts_of_the_page_may_run(diabetes, tmp_path):
    page = write(tmp_path / "report.html", diabetes[0]).read_bytes().decode()
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', page)[1]
    scripts = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert len(scripts) == 3
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{one}'" for one in hashes)
    assert f"script-src {allowed};" in policy.replace("&#39;", "'")
    assert policy.startswith("default-src ")
    assert "unsafe-eval" not in policy


def test_values_of_the_data_are_escaped(diabetes, tmp_path):
    result, X = diabetes
    colophon = Colophon.of(result, data=EVIL, target=EVIL, command=EVIL)
    page = write(tmp_path / "report.html", result, rows=X[:200], colophon=colophon, notes=(EVIL, "a\x00b\ud800"))
    page = page.read_text()
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "a\\x00b\\ud800" in page
    assert "\x00" not in page


def test_the_same_study_gives_the_same_bits(cancer, tmp_path):
    digests = {hashlib.sha256(write(tmp_path / f"{k}.html", cancer).read_bytes()).hexdigest() for k in range(2)}
    assert len(digests) == 1


def test_a_classifiers_page_shows_decisions(cancer, tmp_path):
    text = without_scripts(write(tmp_path / "report.html", cancer).read_text())
    assert "<h2>Decisions</h2>" in text
    assert "The probabilities of the two likeliest classes at 6 test points." in text
    assert "<h2>Prediction intervals</h2>" not in text
    assert cancer.decisions.conclusion() in text


def test_objects_at_hand_are_reported(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, random_state=0).fit(X[:100], y[:100])
    points, targets = X[100:105], y[100:105]
    moved, proved, intervals = (
        leave_one_out(model, points),
        certify(model, reused=True),
        predict_interval(model, points),
    )
    page = write(tmp_path / "alone.html", Study.of(moved, proved)).read_text()
    assert "<h1>Stability report</h1>" in page
    assert "<h2>Accuracy</h2>" not in page
    assert "<h2>Prediction intervals</h2>" not in page
    together = Study.of(moved, proved, anew=certify(model), model=model, intervals=intervals, targets=targets)
    page = write(tmp_path / "together.html", together).read_text()
    assert "<h2>Prediction intervals</h2>" in page
    assert f"{100 * intervals.coverage(targets):.3g}% are in their intervals" in page
    assert "mean absolute error is" in " ".join(page.split())
    labels = np.where(y[:100] > 140, "high", "low")
    voter = BaggedClassifier(DecisionTreeClassifier(max_depth=2), n_bags=60, random_state=0).fit(X[:100], labels)
    classes = Study.of(leave_one_out(voter, points), certify(voter, vector=True, reused=True), model=voter)
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


def test_a_report_of_units_speaks_of_them(visits, tmp_path):
    result, X, patients = visits
    page = write(tmp_path / "report.html", result, rows=X).read_text()
    assert EVIL not in page
    text = without_scripts(page)
    assert "when all rows of one group are left out" in text
    assert "<h2>Suspicious groups</h2>" in text
    assert "each predicted by the bags without its group" in text
    assert "the target of a row of a new group is expected" in text.replace("where target", "where the target")
    assert f"<dt>groups</dt><dd>{patients.nunique()}</dd>" in text
    for words in ("training row is", "share of rows", "over rows", "without a row", "of the rows below"):
        assert words not in text
