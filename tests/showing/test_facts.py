import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from rendering import HOSTILE, rendered
from stablebag import BaggedClassifier, BaggedRegressor, Certificate, Subbagging, certify, leave_one_out
from stablebag import leave_one_out_refit as refit
from stablebag._wording import visible
from stablebag.showing.facts import guarantees, json_name
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
    assert matched["measured"] == pytest.approx(refitted.values.mean())
    assert matched["error"] > 0
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


def test_rows_that_are_all_left_out_are_not_called_drawn_at_random():
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(DecisionTreeRegressor(), n_bags=30, random_state=0).fit(X[:12], y[:12])
    moved, proved, anew = leave_one_out(model, X[12:14]), certify(model, X[12:14], reused=True), certify(model)
    for rows, said in ((range(12), "mean over rows and points"), (range(5), "mean over rows and points (5 refits)")):
        refitted = refit(model, X[:12], y[:12], X[12:14], rows=list(rows), random_state=0)
        line = [*guarantees(moved, proved, anew, refitted)][-1]
        assert line.label.endswith(said)
        assert np.isnan(line["error"]) == (len(rows) == 12)  # all rows are not a sample


def test_the_error_of_numbers_comes_with_its_interval(diabetes, cancer, visits):
    studies = {"numbers": diabetes[0], "classes": cancer, "groups": visits[0]}
    shown = {
        name: next(fact.numbers for fact in result.facts() if fact.name == "leave-one-out error")
        for name, result in studies.items()
    }
    assert (shown["numbers"]["low"], shown["numbers"]["high"]) == tuple(diabetes[0].error.interval())
    assert set(shown["classes"]) == set(shown["groups"]) == {"value", "standard_error"}


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
