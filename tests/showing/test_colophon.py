import json

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import HuberRegressor, Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import stablebag
from stablebag import BaggedRegressor, certify, leave_one_out
from stablebag.showing.report.page import Colophon, in_words
from stablebag.showing.study import Study


@pytest.fixture(scope="module")
def of_ridge():
    X, y = load_diabetes(return_X_y=True)
    learner = make_pipeline(StandardScaler(), Ridge(alpha=2.5))
    model = BaggedRegressor(learner, n_bags=40, random_state=7).fit(X[:60], y[:60])
    return Study.of(leave_one_out(model, X[60:63]), certify(model, reused=True), model=model)


def test_a_title_names_data_target_and_learner(of_ridge):
    named = Colophon.of(of_ridge, data="diabetes.csv", target="disease progression")
    assert named.title == "disease progression from diabetes.csv, by ridge regression"
    assert named.called == "disease progression"


@pytest.mark.parametrize(("known", "title"), [
    ({"target": "price"}, "price"), ({"data": "x.csv"}, "a target from x.csv"), ({}, "Stability report"),
    ({"learner": "a decision tree"}, "The stability of a decision tree"),
])  # fmt: skip
def test_a_title_says_no_more_than_is_known(known, title):
    assert Colophon(**known).title == title


def test_facts_are_what_is_needed_to_make_it_again(of_ridge):
    facts = dict(Colophon.of(of_ridge, data="x.csv", target="y", command="stablebag measure x.csv").facts())
    assert facts["model"] == "Ridge(alpha=2.5)"
    assert facts["bags"] == "40"
    assert facts["seed"] == "7"
    assert facts["training rows"] == "60"
    assert "30 of 60 rows" in facts["scheme"]
    for version in (stablebag.__version__, sklearn.__version__, np.__version__):
        assert version in facts["versions"]


def test_json_has_all_parameters_of_the_learner(of_ridge):
    written = json.loads(json.dumps(Colophon.of(of_ridge).to_dict(), allow_nan=False))
    assert written["parameters"]["alpha"] == 2.5
    assert written["parameters"]["fit_intercept"] is True
    assert written["versions"]["scikit-learn"] == sklearn.__version__
    assert (written["n_bags"], written["seed"], written["n_rows"]) == (40, 7, 60)
    assert written["unit"] == "row"


def test_a_study_of_patients_counts_them_and_their_rows(visits):
    result, X, patients = visits
    facts = dict(Colophon.of(result).facts())
    assert facts["training rows"] == str(len(X))
    assert facts["groups"] == str(patients.nunique())
    assert "groups" in facts["scheme"]


def test_without_a_model_the_rest_is_left_out(of_ridge):
    facts = dict(Colophon.of(Study.of(of_ridge.bagged, of_ridge.proved)).facts())
    assert set(facts) == {"versions"}


def test_places_in_memory_are_not_part_of_it():
    X, y = load_diabetes(return_X_y=True)
    learner = KNeighborsRegressor(metric=lambda a, b: float(np.abs(a - b).sum()), algorithm="brute")
    model = BaggedRegressor(learner, n_bags=10, random_state=np.random.RandomState(0)).fit(X[:12], y[:12])
    written = Colophon.of(Study.of(leave_one_out(model, X[:1]), certify(model, reused=True), model=model)).to_dict()
    assert "0x" not in json.dumps(written)
    assert "lambda" in written["parameters"]["metric"]


def test_names_that_cannot_be_seen_are_escaped(of_ridge):
    evil = Colophon.of(of_ridge, data="a\x00b\u202e.csv", target="t" * 500, command="stablebag\n\ud800")
    assert evil.data == "a\\x00b\\u202e.csv"
    assert len(evil.called) == 60
    assert evil.command == "stablebag\\n\\ud800"


def test_learners_have_names_that_people_use():
    assert in_words(RandomForestClassifier()) == "a random forest"
    assert in_words(SVC()) == "a support vector machine"
    assert in_words(HuberRegressor()) == "HuberRegressor"
