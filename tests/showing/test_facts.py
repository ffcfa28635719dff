import json

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

from stablebag.showing.facts import json_name
from stablebag.showing.report.page import Colophon
from stablebag.showing.study import study


def test_everything_that_is_printed_is_written_with_what_made_it():
    X, y = load_breast_cancer(return_X_y=True)
    options = {"n_bags": 40, "n_refits": 5, "n_points": 5, "random_state": 3}
    result = study(DecisionTreeClassifier(max_depth=2), X[:150], y[:150], X[150:200], y[150:200], **options)
    found = json.loads(
        json.dumps(
            result.facts().to_dict() | Colophon.of(result, data="cancer.csv", target="type").to_dict(), allow_nan=False
        )
    )
    assert next(iter(found)) == "verdict"
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
    assert facts["guaranteed change"]["bags"] == 160


def test_names_are_written_for_machines():
    day = pd.Timestamp("2020-02-03")
    for name in (np.int64(17), 17.0, "ann", day):
        assert json.loads(json.dumps(json_name(name))) in (17, "ann", "2020-02-03T00:00:00.000000000")
