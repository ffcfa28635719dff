import base64
import hashlib
import html
import json
import math
import re
from dataclasses import dataclass, replace
from datetime import date

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import HuberRegressor, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import stablebag
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    Certificate,
    Subbagging,
    certify,
    leave_one_out,
    predict_interval,
)
from stablebag._wording import rounded_down, rounded_up
from stablebag.measuring import Perturbations
from stablebag.measuring.suspects import InfluentialRow, Suspects, UnusualRow
from stablebag.models.fitted import Fitted
from stablebag.showing.report import write
from stablebag.showing.report.page import (
    Cell,
    Colophon,
    ColumnAsRead,
    Contents,
    DataAsRead,
    Table,
    Values,
    cell,
    learner_name,
    shared_value,
)
from stablebag.showing.study import Study

EVIL = "<script>alert(1)</script>"


def without_scripts(page):
    """The page without scripts: bokeh's own text has addresses in it."""
    return " ".join(re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL).split())


@pytest.mark.slow
def test_report_is_one_file_with_everything(diabetes, tmp_path):
    result, X = diabetes
    colophon = Colophon.of(result, data="diabetes.csv", target="progression", command="stablebag measure x.csv")
    path = write(tmp_path / "report.html", result, rows=X[:200], colophon=colophon, notes=("200 rows.",))
    page = path.read_text()
    assert path.stat().st_size < 6e6
    text = without_scripts(page)
    assert "<h1>Predicting progression from diabetes.csv with a decision tree</h1>" in text
    assert "<title>Predicting progression from diabetes.csv with a decision tree</title>" in text
    parts = (
        *(line.text for line in result.summary()), "<h2>Does it predict?", "<h3>Prediction intervals",
        "<h2>Anything suspicious?", "<h2>Is it stable?", "<h2>What is guaranteed?", "<h2>The data", "200 rows.",
        "<h2>About this report", "stablebag measure x.csv",
    )  # fmt: skip
    places = [html.unescape(text).index(part) for part in parts]
    assert places == sorted(places)  # the conclusion comes first
    assert '<th scope="col" aria-sort="none"><button type="button">progression</button></th>' in text
    assert "change of the predicted progression" in text
    for name, value in colophon.facts():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in text
    assert not re.findall(r"""(?:src|href|srcset)=["']https?:""", text)
    pictures = re.findall(r'<figure><svg [^>]* role="img" [^>]*>', text)
    assert len(pictures) == 3
    assert all(re.search(r'aria-label="[^"]{20,}"', picture) for picture in pictures)


@pytest.mark.slow
def test_report_starts_with_four_lines_whose_status_is_also_written(diabetes, tmp_path):
    result, _ = diabetes
    page = write(tmp_path / "report.html", result).read_text()
    block = page[page.index('<dl class="summary"') : page.index("</dl>")]
    marks = {"good": "Good: ", "warning": "Warning: ", "unknown": "Not known: "}
    lines = re.findall(r'<div class="(\w+)"><dt>.*?</svg>(.*?)</dt><dd>(.*?)</dd>', block, flags=re.DOTALL)
    assert len(lines) == 4
    for line, (kind, label, text) in zip(result.summary(), lines, strict=True):
        mark = f'<span class="hidden">{marks[line.status]}</span>'
        assert (kind, label) == (line.name if line.name == "next" else line.status, line.label)
        assert html.unescape(text) == ("" if line.name == "next" else mark) + line.text


@pytest.mark.slow
def test_bars_show_the_numbers_of_the_summary(diabetes, tmp_path):
    result, _ = diabetes
    text = without_scripts(write(tmp_path / "report.html", result).read_text())
    bars = re.findall(r"<dt>((?:base|bagged) model.*?)</dt><dd>.*?<b>(.*?)</b></dd>", text)
    assert [name.split(" (")[0] for name, _ in bars] == ["base model", "bagged model"]
    stable = next(line.text for line in result.summary() if line.name == "stable")
    assert all(number in stable for _, number in bars)


@pytest.mark.slow
def test_guarantee_next_to_a_measurement_covers_it(diabetes, tmp_path):
    result, _ = diabetes
    text = without_scripts(write(tmp_path / "report.html", result).read_text())
    fact = result.facts()["guaranteed change"]
    sentence = re.search(r'<p id="guarantee">(.*?)</p>', text)[1]
    assert sentence.startswith(
        "Guaranteed: at each of the 6 test points, at least 95% of the rows change the prediction"
    )
    guaranteed, measured = (float(one) for one in re.findall(r"by at most ([\d.]+)\.", sentence))
    assert guaranteed >= fact["proved"] >= result.bagged.epsilon(0.05, "max")
    assert measured == pytest.approx(result.bagged.epsilon(0.05, "max"), rel=0.01)
    (line,) = (
        line for line in contents_of(result).section("guarantees").lines
        if line[0].text == result.facts()["guaranteed mean change of a refit"].label
    )  # fmt: skip
    assert line[1].text == ""  # what 15 refits measure is not what the bound on the mean over 200 rows is about


@pytest.mark.slow
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


@pytest.mark.slow
def test_values_of_the_data_are_escaped(diabetes, tmp_path):
    result, X = diabetes
    colophon = Colophon.of(result, data=EVIL, target=EVIL, command=EVIL)
    page = write(tmp_path / "report.html", result, rows=X[:200], colophon=colophon, notes=(EVIL, "a\x00b\ud800"))
    page = page.read_text()
    assert EVIL not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "a\\x00b\\ud800" in page
    assert "\x00" not in page


@pytest.mark.slow
def test_same_study_gives_the_same_bits(cancer, tmp_path):
    colophon = Colophon.of(cancer)  # with a date
    pages = [write(tmp_path / f"{k}.html", cancer, colophon=colophon).read_bytes() for k in range(2)]
    digests = {hashlib.sha256(page).hexdigest() for page in pages}
    assert len(digests) == 1


@pytest.mark.slow
def test_report_of_a_classifier_shows_decisions(cancer, tmp_path):
    text = without_scripts(write(tmp_path / "report.html", cancer).read_text())
    assert "<h3>Decisions</h3>" in text
    assert "The probabilities of the two likeliest classes at 6 test points." in text
    assert "<h3>Prediction intervals</h3>" not in text
    assert cancer.decisions.conclusion() in text


@pytest.mark.slow
def test_report_can_be_made_from_existing_objects(tmp_path):
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
    assert "<h2>Does it predict?</h2>" not in page
    assert "<h3>Prediction intervals</h3>" not in page
    together = Study.of(moved, proved, anew=certify(model), model=model, intervals=intervals, targets=targets)
    page = write(tmp_path / "together.html", together).read_text()
    assert "<h3>Prediction intervals</h3>" in page
    assert f"{100 * intervals.coverage(targets):.3g}% are inside their intervals" in page
    assert "Errors on unseen rows, estimated at 100 training rows" in " ".join(page.split())
    labels = np.where(y[:100] > 140, "high", "low")
    voter = BaggedClassifier(DecisionTreeClassifier(max_depth=2), n_bags=60, random_state=0).fit(X[:100], labels)
    classes = Study.of(leave_one_out(voter, points), certify(voter, vector=True, reused=True), model=voter)
    page = write(tmp_path / "classes.html", classes).read_text()
    assert "share of wrong decisions" in " ".join(page.split())
    assert "<h3>Prediction intervals</h3>" not in page


@pytest.mark.slow
def test_many_rows_do_not_make_a_large_report(tmp_path):
    n = 200_000
    values = np.random.default_rng(0).random((n, 2)) / 100
    moved = Perturbations(np.zeros(2), values, np.arange(n))
    # Small bags, because the exact frontier of large ones of so many rows takes its time.
    path = write(tmp_path / "large.html", Study.of(moved, Certificate(Subbagging(100), n, 500)))
    assert path.stat().st_size < 6e6


@pytest.mark.slow
def test_only_studies_are_reported(tmp_path):
    with pytest.raises(TypeError, match=r"'study' parameter of report.write"):
        write(tmp_path / "x.html", {"not": "a study"})


@pytest.mark.slow
def test_report_of_groups_names_groups(visits, tmp_path):
    result, X, patients = visits
    page = write(tmp_path / "report.html", result, rows=X).read_text()
    assert EVIL not in page
    text = without_scripts(page)
    assert "if all rows of one group are left out" in text
    assert "<h3>Groups that change the predictions</h3>" in text
    assert "predicted by the bags that do not contain any row of its group" in text
    assert "the bags that do not contain any row of that group" in text
    assert f"<dt>training rows</dt><dd>{len(X)} in {patients.nunique()} groups</dd>" in text
    for words in ("training row is", "share of rows", "over rows", "without a row", "without one row"):
        assert words not in text


def contents_of(result, rows=None, data=None, target="price_eur"):
    return Contents(result, Colophon.of(result, target=target), Values.of(result, rows), data)


def texts(table):
    return [[cell.text for cell in line] for line in table.lines]


def test_tables_show_the_facts_of_the_study(diabetes):
    result, _ = diabetes
    contents = contents_of(result)
    assert contents.section("changes").lines[0][2].value == result.facts()["typical change"]["bagged"]
    assert result.compared.where() in contents.section("changes").caption
    assert [line[3].value for line in contents.section("scores").lines][:3] == [
        score.constant for score in result.scores
    ]
    assert "lower is better" in contents.section("scores").lines[0][0].text
    lines, section = contents.section("guarantees").lines, result.facts().section("guarantees")
    facts = {fact.label: fact for fact in section.facts}
    heads = {title: column for column, title in section.columns.items()}
    shown = contents.section("guarantees").head[1:]
    assert set(shown) <= set(heads)
    for line in lines:
        texts = dict(zip((heads[title] for title in shown), (cell.text for cell in line[1:]), strict=True))
        fact = facts[line[0].text]
        proved = texts["proved"].replace(",", "")
        assert proved == "" if np.isnan(fact["proved"]) else float(proved) >= fact["proved"]
        assert texts.get("bags", "") == ("" if np.isnan(fact["bags"]) else f"{fact['bags']:,}")


def test_change_below_the_noise_is_not_written_as_zero(diabetes):
    result, _ = diabetes
    still = replace(result.compared.bagged, left_out=np.tile(result.compared.bagged.prediction, (15, 1)))
    about = {"bagged": still, "refitted": None, "weights": None}
    quiet = replace(result, compared=replace(result.compared, spread=None, **about))
    assert contents_of(quiet).section("changes").lines[0][2].text.startswith("below the noise")


def test_suspicious_rows_are_shown_with_noise_and_target(diabetes):
    result, X = diabetes
    far = (UnusualRow(4, 4, -1234567.0, 1000.0, 1234.6), UnusualRow(7, 7, 9999.0, 1000.0, 10.0))
    moving = (InfluentialRow(9, 9, 2.5, 0.5, 0.001),)
    found = replace(result, suspects=Suspects(moving, far, 0.5, 1000.0))
    contents = contents_of(found, X[:200])
    table = contents.rows("worth a look", 3)
    assert table.head[:5] == ("row", "off by", "usual", "times usual", "price_eur")
    assert texts(table)[0][:4] == ["4", "-1,234,567", "1,000", "1,235"]
    assert table.lines[0][1].value == 1234567.0  # sorted by size, whatever its sign
    assert (table.sorted_by, table.ascending) == (3, False)
    assert table.caption.startswith("2 training rows worth a look")
    assert texts(contents.rows("moving the predictions"))[0][:3] == ["9", "2.5", "0.5"]
    none = replace(result, suspects=Suspects((), (), 0.5, 1000.0))
    assert contents_of(none).rows("worth a look") is None
    assert contents_of(none).rows("moving the predictions") is None
    assert contents_of(none).noise == 0.5


def test_rows_of_an_unlikely_class_come_first(cancer):
    far = (UnusualRow(4, 4, 0.001, 0.99, 19.0), UnusualRow(7, 7, 0.02, 0.9, 8.0))
    table = contents_of(replace(cancer, suspects=Suspects((), far, 0.5, np.nan))).rows("worth a look", 3)
    assert table.head[1:4] == ("probability of its class", "usual in its class", "distance")
    assert [cell.text for cell in table.lines[0][1:3]] == ["0.1%", "99%"]
    assert (table.sorted_by, table.ascending) == (3, False)


def test_most_influential_rows_are_named_only_if_they_exceed_the_noise(diabetes):
    result, _ = diabetes
    alone = contents_of(Study.of(result.bagged, result.proved))
    most, effects = alone.rows("most influential"), result.ranked(15)[1]
    kept = effects[effects > 2 * alone.noise].tolist()
    assert 0 < len(kept) < 15
    assert [line[1].value for line in most.lines] == kept
    assert most.caption.startswith(f"{len(kept)} rows that change the predictions most, each by more than twice the")
    assert alone.rows("worth a look") is None
    quiet = replace(result.bagged, left_out=np.tile(result.bagged.prediction, (200, 1)))
    assert contents_of(Study.of(quiet, result.proved)).rows("most influential") is None
    exact = replace(result.bagged, bags=None)  # without noise, all are named
    assert len(contents_of(Study.of(exact, result.proved)).rows("most influential").lines) == 15


def test_rows_that_flip_decisions_are_counted(cancer):
    table, (names, counts) = contents_of(cancer).rows("flips"), cancer.decisions.most_flips(15)
    if table is None:
        pytest.skip("no decision of this study hinges on one row")
    assert [line[1].value for line in table.lines] == counts.tolist()
    assert [line[0].text for line in table.lines] == [str(name) for name in names]


@dataclass
class Column:
    name: str = "\x00evil"
    kind: str = "number"
    missing: float = 0.25
    n_values: int = 1200
    example: str = "1 to 7"
    remark: str = ""


class Read:
    n_sampled = None
    name, n_rows = "a.csv", 12345

    def shown(self, most):
        return (Column(), Column("b", "dropped", 0.0, 1, "", "the same as a"))

    def rest(self, most):
        return f"more than {most}"


def test_table_of_columns_has_no_empty_columns(diabetes):
    contents = contents_of(diabetes[0], data=Read())
    assert contents.columns.caption == "a.csv: 12,345 rows with a target"
    assert texts(contents.columns) == [
        ["\\x00evil", "number", "25%", "1,200", "1 to 7", ""],
        ["b", "dropped", "", "1", "", "the same as a"],
    ]
    assert contents.columns.head == ("column", "read as", "missing", "values", "examples", "remark")
    assert contents.columns.texts == (1, 4, 5)
    plain = contents_of(diabetes[0], data=table("number", "target")).columns
    assert plain.head == ("column", "read as", "values", "examples")
    assert plain.texts == (1, 3)
    assert contents.rest == "more than 40"
    assert contents_of(diabetes[0]).columns is None


@pytest.mark.parametrize(("values", "text"), [
    ([3.0], "3"), ([2.5, 7.0, 2.5], "2.5 to 7"), (["f", "f"], "f"), (["f", "m", None], "f / m"), ([np.nan], "missing"),
    (list("abcd"), "4 values"), ([np.nan, 4.0], "4"), ([True, False], "True / False"), (pd.Series([1, pd.NA]), "1"),
    ([1999], "1999"), ([1234567.0], "1,234,567"), ([12345.678], "12,346"), ([-0.0123456789], "-0.01235"),
    ([pd.Timestamp("2024-05-01")], "2024-05-01"), ([pd.Timestamp("2024-05-01 12:30")], "2024-05-01 12:30:00"),
    ([pd.Timestamp("2024-05-02"), pd.Timestamp("2024-05-01")], "2024-05-01 to 2024-05-02"),
    (["a\x00b"], "a\\x00b"), (["x" * 99], "x" * 57 + "..."),
])  # fmt: skip
def test_values_of_several_rows_fit_into_a_cell(values, text):
    assert shared_value(values).text == text


def test_cells_of_numbers_are_sorted_as_numbers():
    assert shared_value([1234567.0]) == Cell("1,234,567", 1234567.0)
    assert shared_value([5.0, 3.0]).value == 3.0
    assert shared_value(["5"]).value is None
    assert shared_value([np.nan]).value is None


def test_rows_have_their_names_and_values(diabetes):
    result, X = diabetes
    named = X[:200].set_axis([f"case {k}" for k in range(200)])
    values = Values.of(result, named)
    assert values.name_of(7, "another") == "case 7"
    target, *cells = values.cells(7, counted=False, targets=True)
    assert target.value == Fitted(result.model).y[7]
    assert cells[0].value == named.iloc[7, 0]
    assert len(cells) == len(values.columns) == 10


def test_groups_have_the_values_of_all_their_rows(visits):
    result, X, patients = visits
    values = Values.of(result, X)
    name = result.bagged.names.of_rows(np.array([3]))[0]
    own = X[(patients == name).to_numpy()]
    count, _, *cells = values.cells(3, counted=True, targets=True)
    assert count.value == len(own)
    assert cells[list(X.columns).index("level")].value == own["level"].iloc[0]
    alone = Values.of(Study.of(result.bagged, result.proved), X)
    assert not alone.known
    assert alone.columns == []
    assert alone.name_of(3, name) == name


def test_names_of_columns_are_printable_and_wide_tables_are_cut(diabetes):
    result, X = diabetes
    wide = pd.concat([X.add_suffix(f"\x00{k}" + "y" * 99) for k in range(4)], axis=1)
    values = Values.of(result, wide[:200])
    assert values.hidden == 28
    assert all(name.isprintable() and len(name) <= 60 for name in values.columns)


def test_cells_have_three_digits_and_are_sorted_as_numbers():
    assert cell(1234567.0) == Cell("1,234,567", 1234567.0)
    assert cell(0.0123456) == Cell("0.0123", 0.0123456)
    assert cell("a text") == Cell("a text", None)
    assert cell(math.nan) == Cell("", None)
    assert cell(Cell("7 %", 0.07)) == Cell("7 %", 0.07)


def test_table_is_made_of_cells():
    table = Table.of("t", "caption", ["a", "b"], [["x", 1.5], ["y", "z"]], sorted_by=1, texts=[1])
    assert table.lines == ((Cell("x"), Cell("1.5", 1.5)), (Cell("y"), Cell("z")))
    assert (table.head, table.sorted_by, table.ascending, table.texts) == (("a", "b"), 1, False, (1,))


@pytest.fixture(scope="module")
def of_ridge():
    X, y = load_diabetes(return_X_y=True)
    learner = make_pipeline(StandardScaler(), Ridge(alpha=2.5))
    model = BaggedRegressor(learner, n_bags=40, random_state=7).fit(X[:60], y[:60])
    return Study.of(leave_one_out(model, X[60:63]), certify(model, reused=True), model=model)


def test_title_names_target_data_and_model(of_ridge):
    named = Colophon.of(of_ridge, data="diabetes.csv", target="disease progression")
    assert named.title == "Predicting disease progression from diabetes.csv with ridge regression"
    assert named.target_name == "disease progression"


@pytest.mark.parametrize(("known", "title"), [
    ({"target": "price"}, "Predicting price"), ({"data": "x.csv"}, "Predicting the target from x.csv"),
    ({}, "Stability report"),
    ({"learner": "a decision tree"}, "The stability of a decision tree"),
])  # fmt: skip
def test_title_has_only_what_is_known(known, title):
    assert Colophon(**known).title == title


def test_colophon_has_all_that_is_needed_to_repeat_the_study(of_ridge):
    facts = dict(Colophon.of(of_ridge, data="x.csv", target="y", command="stablebag measure x.csv").facts())
    assert facts["base model"] == "Ridge(alpha=2.5)"
    assert facts["bags"] == "40 (subbagging, 30 of 60 rows)"
    assert facts["random seed"] == "7"
    assert facts["training rows"] == "60"
    assert facts["made on"] == date.today().isoformat()
    assert re.fullmatch("[0-9a-f]{12}", facts["data fingerprint"])
    for version in (stablebag.__version__, sklearn.__version__, np.__version__):
        assert version in facts["versions"]


def test_fingerprint_changes_with_any_training_value():
    X, y = load_diabetes(return_X_y=True)

    def found(X, y):
        model = BaggedRegressor(Ridge(), n_bags=40, random_state=0).fit(X, y)
        return Colophon.of(Study.of(leave_one_out(model, X[:1]), certify(model, reused=True), model=model)).fingerprint

    first = found(X[:30], y[:30])
    assert first == found(X[:30].copy(), y[:30].copy())
    for changed in (X[:30].copy(), y[:30].copy()):
        changed[-1] += 1.0
        assert first != (found(changed, y[:30]) if changed.ndim == 2 else found(X[:30], changed))
    assert first != found(X[:29], y[:29])


def test_json_has_all_parameters_of_the_learner(of_ridge):
    written = json.loads(json.dumps(Colophon.of(of_ridge).to_dict(), allow_nan=False))
    assert written["parameters"]["alpha"] == 2.5
    assert written["parameters"]["fit_intercept"] is True
    assert written["versions"]["scikit-learn"] == sklearn.__version__
    assert (written["n_bags"], written["seed"], written["n_rows"]) == (40, 7, 60)
    assert written["unit"] == "row"


def test_colophon_of_groups_counts_groups_and_rows(visits):
    result, X, patients = visits
    facts = dict(Colophon.of(result).facts())
    assert facts["training rows"] == f"{len(X)} in {patients.nunique()} groups"
    assert "groups" in facts["bags"]


def test_colophon_without_a_model_has_only_date_and_versions(of_ridge):
    facts = dict(Colophon.of(Study.of(of_ridge.bagged, of_ridge.proved)).facts())
    assert set(facts) == {"made on", "versions"}


def test_colophon_has_no_memory_addresses():
    X, y = load_diabetes(return_X_y=True)
    learner = KNeighborsRegressor(metric=lambda a, b: float(np.abs(a - b).sum()), algorithm="brute")
    model = BaggedRegressor(learner, n_bags=10, random_state=np.random.RandomState(0)).fit(X[:12], y[:12])
    written = Colophon.of(Study.of(leave_one_out(model, X[:1]), certify(model, reused=True), model=model)).to_dict()
    assert "0x" not in json.dumps(written)
    assert "lambda" in written["parameters"]["metric"]


def test_invisible_letters_of_names_are_escaped(of_ridge):
    evil = Colophon.of(of_ridge, data="a\x00b\u202e.csv", target="t" * 500, command="stablebag\n\ud800")
    assert evil.data == "a\\x00b\\u202e.csv"
    assert len(evil.target_name) == 60
    assert evil.command == "stablebag\\n\\ud800"


def test_learners_have_names_that_people_use():
    assert learner_name(RandomForestClassifier()) == "a random forest"
    assert learner_name(SVC()) == "a support vector machine"
    assert learner_name(HuberRegressor()) == "HuberRegressor"


def table(*kinds, **about):
    columns = [ColumnAsRead(f"x{place}", kind, 0.0, 2, "a, b") for place, kind in enumerate(kinds)]
    return DataAsRead("t.csv", 9, tuple(columns), **about)


def test_conclusion_counts_columns_by_kind():
    assert table("target", *["number"] * 8, *["category"] * 3, "constant").conclusion() == (
        "12 columns besides the target: 8 numbers, 3 categories; 1 not used (constant)."
    )
    assert table("target", "group", "number", "date", "text", "id", "id", "dropped").conclusion() == (
        "6 columns besides the target and the group: 1 number, 1 text, 1 date; 3 not used (2 ids, 1 dropped)."
    )
    assert table("target", "constant").conclusion() == (
        "1 column besides the target: no column to learn from; 1 not used (constant)."
    )


def test_sentences_say_how_the_file_was_read():
    assert table("number", said=("with ';' between columns",)).lines()[1:] == [
        "The file was read with ';' between columns."
    ]
    lines = table("number", said=("as UTF-16", "a", "b"), noticed=("Look here.",)).lines()
    assert lines[1:] == ["The file was read as UTF-16, a and b.", "Look here."]


def test_most_important_columns_are_shown_and_the_others_are_counted():
    columns = list(table("target", *["number"] * 30, "constant", "date").columns)
    columns[17] = ColumnAsRead("holes", "number", 0.5, 2, "")
    data = DataAsRead("t.csv", 9, tuple(columns))
    assert [column.name for column in data.shown(4)] == ["x0", "x1", "holes", "x31"]
    assert data.rest(4) == "Not shown: 28 numbers, 1 date."
    assert data.shown(99) == data.columns
    assert data.rest(99) == ""


def test_data_as_read_can_be_written_as_json():
    data = table("target", "number", said=("a",))
    assert json.loads(json.dumps(data.to_dict()))["columns"][1] == {
        "name": "x1", "kind": "number", "missing": 0.0, "n_values": 2, "example": "a, b", "remark": "",
    }  # fmt: skip
    assert data.to_dict()["conclusion"] == data.conclusion()


def test_the_report_has_errors_on_unseen_rows_with_their_intervals(diabetes, cancer, tmp_path):
    for result, name in ((diabetes[0], "root mean squared error"), (cancer, "Brier score")):
        write(tmp_path / "page.html", result)
        text = (tmp_path / "page.html").read_text()
        low, high = result.unseen.errors[-1].ends()
        assert name in text
        assert f"{rounded_down(low, digits=3)} to {rounded_up(high, digits=3)}" in text
        assert "Errors on unseen rows, estimated at" in text
        assert "That is assumed" in text
