import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import parquet_files
from rendering import HOSTILE, rendered
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    Certificate,
    ParquetTable,
    Subbagging,
    certify,
    leave_one_out,
    leave_one_out_error,
)
from stablebag import leave_one_out_refit as refit
from stablebag._wording import visible
from stablebag.models.fitted import fitted as fitted_model
from stablebag.showing.facts import KNOWN, guarantees, json_name, known_score
from stablebag.showing.report.page import Colophon
from stablebag.showing.study import study


def test_json_has_all_facts_and_the_study_they_are_of():
    X, y = load_breast_cancer(return_X_y=True)
    options = {"n_refits": 5, "n_points": 5}
    result = study(
        BaggedClassifier(DecisionTreeClassifier(max_depth=2), n_bags=40, random_state=3),
        X[:150],
        y[:150],
        X[150:200],
        y[150:200],
        **options,
    )
    found = json.loads(
        json.dumps(
            result.facts().to_dict() | Colophon.of(result, data="cancer.csv", target="type").to_dict(), allow_nan=False
        )
    )
    assert list(found)[:2] == ["summary", "verdict"]
    assert found["verdict"]["case"] == result.verdict().case
    assert found["verdict"]["reasons"] == list(result.verdict().reasons)
    assert (found["data"], found["target"], found["seed"], found["n_bags"], found["n_rows"]) == (
        "cancer.csv", "type", 3, 40, 150,
    )  # fmt: skip
    assert found["scheme"] == "subbagging, 75 of 150 rows"
    assert {"stablebag", "scikit-learn", "numpy", "Python"} == set(found["versions"])
    facts, lists = found["facts"], found["lists"]
    assert facts["accuracy"] == {
        "label": "accuracy (higher is better)",
        "kind": "measured",
        "unit": "score",
        "base": result.scores[0].base,
        "bagged": result.scores[0].bagged,
        "constant": result.scores[0].constant,
        "lower_is_better": False,
    }
    assert lists["moving the predictions"]["noise"] == result.suspects.noise
    assert facts["flips by the same rows"]["n_refits"] == 5
    assert facts["guaranteed change"]["measured"] == result.facts()["guaranteed change"]["measured"]
    assert facts["guaranteed change"].get("bags") is None  # of bags that are reused no number is known to be enough


def test_row_names_are_valid_json():
    day = pd.Timestamp("2020-02-03")
    for name in (np.int64(17), 17.0, "ann", day):
        assert json.loads(json.dumps(json_name(name))) in (17, "ann", "2020-02-03T00:00:00.000000000")


@pytest.fixture(scope="module")
def fitted():
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_depth=4)
    model = BaggedRegressor(tree, n_bags=300, random_state=0).fit(X[:200], y[:200])
    return model, X[:200], y[:200], X[200:206]


def test_each_guarantee_is_next_to_the_measurement_that_it_bounds(fitted):
    model, X, y, Z = fitted
    moved, proved, anew = leave_one_out(model, Z), certify(model, Z, reused=True), certify(model)
    refitted = refit(model, X, y, Z, rows=[3, 50, 120], random_state=0)
    first, mean, largest, again, matched = guarantees(moved, proved, anew, refitted, delta=0.1)
    assert first.label == "bags reused: 90% of rows, at most"
    assert (first["measured"], first["proved"]) == (moved.epsilon(0.1).max(), proved.epsilon(0.1).max())
    assert (mean["measured"], mean["proved"]) == (moved.mean().max(), proved.mean().max())
    assert largest["measured"] == moved.max().max()
    for line in (first, mean):
        assert line["measured"] <= line["proved"]
    assert np.isnan(again["measured"])
    assert again["proved"] == anew.epsilon(0.1)
    assert (again["price"], again["bags"]) == anew.price(0.1)
    assert np.isnan(matched["measured"])  # some of the rows are not what the mean over all rows bounds
    assert matched["proved"] == anew.mean()


def test_the_price_of_the_bags_is_what_infinitely_many_save_and_enough_bags_are_near_the_limit(fitted):
    anew = certify(fitted[0])
    price, enough = anew.price()
    more = Certificate.for_targets(Subbagging(0.5), fitted[2], n_bags=enough, coupling="matched")
    ideal = Certificate.for_targets(Subbagging(0.5), fitted[2], coupling="any").epsilon(0.05)
    assert anew.epsilon(0.05) - price == pytest.approx(ideal)
    many = Certificate.for_targets(Subbagging(0.5), fitted[2], n_bags=100 * enough, coupling="matched")
    assert many.quick_epsilon(0.05) >= more.epsilon(0.05) / 1.01


def test_bound_of_the_range_is_not_called_a_guarantee(fitted):
    Z = fitted[3]
    small = BaggedRegressor(DecisionTreeRegressor(), n_bags=30, random_state=0).fit(fitted[1][:20], fitted[2][:20])
    lines = [*guarantees(leave_one_out(small, Z), certify(small, Z, reused=True))]
    assert len(lines) == 3
    assert np.isnan(lines[0]["proved"]) or lines[0]["proved"] < np.ptp(fitted[2][:20])
    assert np.isnan(lines[0]["price"]) == np.isnan(lines[0]["proved"])
    assert np.isnan(lines[2]["proved"])  # some row changes the range


def test_the_mean_of_refits_is_next_to_its_bound_only_if_all_rows_were_left_out():
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(DecisionTreeRegressor(), n_bags=30, random_state=0).fit(X[:12], y[:12])
    moved, proved, anew = leave_one_out(model, X[12:14]), certify(model, X[12:14], reused=True), certify(model)
    for n in (5, 12):
        refitted = refit(model, X[:12], y[:12], X[12:14], rows=list(range(n)), random_state=0)
        line = [*guarantees(moved, proved, anew, refitted)][-1]
        assert line["measured"] == pytest.approx(refitted.values.mean() if n == 12 else np.nan, nan_ok=True)


def test_errors_on_unseen_rows_are_those_of_the_bags_without_each_row(diabetes, cancer, visits):
    found, model = diabetes[0].facts(), diabetes[0].model
    absolute, squared = leave_one_out_error(model, "absolute"), leave_one_out_error(model, "squared")
    fact = found["mean absolute error on unseen rows"]
    assert (fact["bagged"], fact["low"], fact["high"]) == (absolute.value, *absolute.interval())
    fact = found["root mean squared error on unseen rows"]
    assert fact["bagged"] == squared.value**0.5
    assert (fact["low"], fact["high"]) == tuple(np.sqrt([*squared.interval()]))
    assert fact["constant"] == pytest.approx(fitted_model(model).y.std(), rel=0.02)
    classes = cancer.facts()
    brier = leave_one_out_error(cancer.model, "brier")
    assert classes["Brier score on unseen rows"]["low"] == brier.interval().low
    lead = classes["lead over a constant"]
    assert lead.kind == "estimated"
    assert lead["low"] > 0
    assert lead.value == pytest.approx(classes["Brier score on unseen rows"]["constant"] - brier.value)
    of_groups = visits[0].facts()["mean absolute error on unseen rows"]
    interval = leave_one_out_error(visits[0].model, "absolute").interval()
    assert (of_groups["bagged"], of_groups["low"]) == (interval.value, interval.low)


def test_names_of_facts_are_declared_with_their_numbers(diabetes, cancer, visits, tmp_path):
    """A fact that is not declared cannot be required; a declared one that no study has can only fail."""
    parquet_files.one_file(tmp_path, parquet_files.rows())
    on_disk = ParquetTable(tmp_path / "all.parquet", target="kind", columns=["x", "z"], max_memory=4000)
    tree = BaggedClassifier(DecisionTreeClassifier(max_depth=2), scheme=Subbagging(20), n_bags=30, random_state=0)
    rows = np.arange(0, on_disk.n_samples, 7)
    whole = study(tree, on_disk, None, on_disk.take(rows), n_points=3)
    X, y = load_diabetes(return_X_y=True)
    many = BaggedRegressor(DecisionTreeRegressor(max_depth=3), scheme=Subbagging(0.1), n_bags=400, random_state=0)
    calm = study(many, X[:100], y[:100], X[100:300], y[100:300], n_refits=9, n_matched=0, n_points=3)
    studies = [diabetes[0], cancer, visits[0], whole, calm]
    seen = {}
    for made in studies:
        facts = made.facts()
        scores = {fact.name for fact in facts.section("scores").facts} - set(KNOWN)
        for fact in facts:
            known = known_score("r2") if fact.name in scores else KNOWN[fact.name]
            assert fact.unit in known.units, fact.name
            assert known.task in ("", made.task), fact.name
            assert fact.value is fact.numbers[known.columns[0]], fact.name
            if known.counted is not None:
                count = fact.value * fact.details[known.counted[0]]
                assert count == pytest.approx(round(count), abs=1e-9)
            seen.setdefault(fact.name, set()).update(
                column for column in known.columns if not np.isnan(fact.numbers.get(column, np.nan))
            )
    for name, known in KNOWN.items():
        assert seen.get(name, set()) == set(known.columns), name


def test_a_number_that_is_not_the_main_one_has_its_own_kind(diabetes, cancer):
    for made in (diabetes[0], cancer):
        for fact in made.facts():
            kinds = {column: fact.kind_of(column) for column in fact.numbers}
            assert {kinds.get(column, "measured") for column in ("base", "measured")} == {"measured"}
            of_unseen = fact in made.facts().section("errors").facts  # both columns come from the training rows
            assert kinds.get("constant", "measured") == "measured" or (of_unseen and kinds["constant"] == "estimated")
            assert not of_unseen or kinds["constant"] == "estimated"
            main = next(column for column in ("proved", "bagged", "value") if column in fact.numbers)
            assert kinds[main] == fact.kind
    error = cancer.facts()["Brier score on unseen rows"]
    assert [error.kind_of(name) for name in ("bagged", "low", "proved_low")] == ["estimated", "estimated", "proved"]
    assert "The interval that is proved for every learner is from 0 to 2." in cancer.facts().sentences["errors"]
    assert diabetes[0].facts()["guaranteed change"].kind_of("proved") == "proved"


def test_largest_change_says_over_how_many_rows(diabetes):
    made = diabetes[0]
    largest = made.facts()["largest change"]
    refitted = made.compared.refitted
    assert largest.details["bagged_rows"] == len(refitted.rows)
    assert largest["bagged"] == refitted.values.max()
    assert largest.details["base_rows"] <= 15


def test_markdown_has_the_four_lines_and_the_printed_numbers(diabetes, cancer):
    for result in (diabetes[0], cancer):
        facts, (texts, tags) = result.facts(), rendered(result.to_markdown())
        assert tags == {"ul", "li", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
        assert texts[:4] == [f"{line.label} {line.text}" for line in facts.summary]
        printed = " ".join(str(facts).split())
        assert all(text in printed or text[1:] in printed for text in texts[:4])
        for name, columns in (("changes", ["base", "bagged"]), ("scores", ["base", "bagged", "constant"]),
                              ("guarantees", ["measured", "proved"])):  # fmt: skip
            for fact in facts.section(name).facts:
                place = texts.index(fact.label)
                shown = [fact.text(column) for column in columns if fact.text(column)]
                assert texts[place + 1 : place + 1 + len(shown)] == shown
        assert not set(texts) & set(facts.section("guarantees").columns["price"])


def test_markdown_escapes_names_from_the_data(cancer):
    facts = cancer.facts()
    for name in HOSTILE:
        line = facts.summary[1]._replace(text=f"{name} predicts the target. {name}")
        texts, tags = rendered(replace(facts, summary=(facts.summary[0], line, *facts.summary[2:])).to_markdown())
        assert texts[1] == f"{line.label} {visible(' '.join(line.text.split()))}"
        assert tags == {"ul", "li", "p", "strong", "table", "thead", "tbody", "tr", "th", "td"}
