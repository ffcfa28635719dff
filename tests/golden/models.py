"""What a user would see change after an upgrade: bags, predictions and certificates for fixed seeds.

`python tests/golden/models.py` writes them anew, to `numbers.json` beside this file.

Targets are small whole numbers, learners take medians or one of them, and there are 64 bags, so that sums have no
rounding in whatever order they are taken: predictions are the same bits on every machine. No learner is scikit-learn's.
"""

import json
import math
from pathlib import Path

import numpy as np

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    ClusterSubbagging,
    FunctionClassifier,
    FunctionRegressor,
    PoissonizedBagging,
    StratifiedSubbagging,
    Subbagging,
    certify,
    forget,
    leave_one_out,
    predict_interval,
    predict_set,
)

FILE = Path(__file__).parent / "numbers.json"
N_BAGS, SEED = 64, 20
X = np.array([[i % 5, (7 * i) % 12] for i in range(12)], dtype=float)
Y = np.array([3, 8, 1, 9, 4, 7, 2, 6, 16, 5, 0, 11], dtype=float)
LABELS = np.array(["no", "yes"])[(Y > 4).astype(int)]
POINTS = np.array([[0, 3], [4, 1], [2, 11]], dtype=float)
PATIENTS = np.array(list("aabbbcddefgh"))
WARDS = np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])


def median(X, y, seed):
    """Predict the median target of the rows, and at the left of their first feature's median one more."""
    middle = np.median(X[:, 0])
    return lambda points: np.median(y) + (points[:, 0] < middle)


def seeded(X, y, seed):
    """Predict the target of a row that the seed chooses."""
    return lambda points: np.full(len(points), y[seed % len(y)])


def nearest(X, y, seed):
    """Predict the label of the row that is nearest in the second feature; the first of them, if there are some."""
    return lambda points: [y[np.argmin(np.abs(X[:, 1] - point[1]))] for point in points]


SCHEMES = {
    "subbagging": Subbagging(4),
    "bernoulli": BernoulliSubbagging(0.5),
    "classical": ClassicalBagging(6),
    "poissonized": PoissonizedBagging(6),
}


def regressor(scheme, algorithm=median, **parameters):
    return BaggedRegressor(FunctionRegressor(algorithm), scheme=scheme, n_bags=N_BAGS, random_state=SEED, **parameters)


def classifier(scheme):
    return BaggedClassifier(FunctionClassifier(nearest), scheme=scheme, n_bags=N_BAGS, random_state=SEED)


def models():
    """Return every fitted model by its name."""
    fitted = {f"regressor, {name}": regressor(scheme).fit(X, Y) for name, scheme in SCHEMES.items()}
    fitted |= {f"classifier, {name}": classifier(scheme).fit(X, LABELS) for name, scheme in SCHEMES.items()}
    fitted["regressor, seeded learner"] = regressor(Subbagging(4), seeded).fit(X, Y)
    fitted["regressor, no range"] = regressor(Subbagging(4), prediction_range=None).fit(X, Y)
    fitted["regressor, named rows"] = regressor(Subbagging(4)).fit(X, Y, row_ids=[f"row {i}" for i in range(12)])
    fitted["regressor, groups"] = regressor(Subbagging(4)).fit(X, Y, groups=PATIENTS)
    fitted["classifier, groups"] = classifier(Subbagging(4)).fit(X, LABELS, groups=PATIENTS)
    fitted["regressor, strata"] = regressor(StratifiedSubbagging(6)).fit(X, Y, strata=WARDS)
    fitted["classifier, strata"] = classifier(StratifiedSubbagging(4)).fit(X, LABELS)
    fitted["regressor, clusters"] = regressor(ClusterSubbagging(2, WARDS)).fit(X, Y)
    fitted["regressor, forgotten row"] = forget(fitted["regressor, subbagging"], [3])
    everything = {"scheme": Subbagging(2), "n_bags": "all", "random_state": SEED}
    fitted["regressor, all bags"] = BaggedRegressor(FunctionRegressor(median), **everything).fit(X[:8], Y[:8])
    return fitted


def exact(model):
    """Return what is the same to the last bit everywhere: bags as whole numbers, predictions as hexadecimal ones."""
    predicted = model.predict_proba(POINTS)[:, 1] if hasattr(model, "classes_") else model.predict(POINTS)
    return {"bags": [bag.tolist() for bag in model.bags_], "predictions": [float(value).hex() for value in predicted]}


def close(model):
    """Return what is worked out with divisions, roots and logarithms, whose last digit is up to the machine."""
    proved = [certify(model).epsilon(0.25), certify(model).delta(1.0)]
    if not model.derandomized_:
        where = POINTS if getattr(model, "range_", ()) is None else None
        proved.append(np.max(certify(model, where, reused=True).epsilon(0.25)))
        proved.append(certify(model, POINTS).epsilon(0.25).max())
        proved.append(leave_one_out(model, POINTS).epsilon(0.25).max())
    if hasattr(model, "classes_"):
        proved.append(certify(model, vector=True).epsilon(0.25))
        proved.append(predict_set(model, POINTS, epsilon=0.3).sizes.sum())
    elif not model.derandomized_:
        proved += predict_interval(model, POINTS, confidence_level=0.8).width.tolist()
    return [float(value).hex() for value in proved]


def tables():
    """Return the bounds that need no model, for some laws and numbers of rows."""
    numbers = {}
    for name, scheme in {**SCHEMES, "half": Subbagging(0.5)}.items():
        for n in (12, 1000):
            for n_bags in (500, math.inf):
                proved = Certificate(scheme, n, n_bags=n_bags)
                numbers[f"{name}, {n} rows, {n_bags} bags"] = [float(proved.epsilon(d)).hex() for d in (0.05, 0.5)]
    return numbers


def made_now():
    """Return everything, as it comes from the package that is installed."""
    fitted = models()
    return {
        "exact": {name: exact(model) for name, model in fitted.items()},
        "close": {**{name: close(model) for name, model in fitted.items()}, **tables()},
    }


def lines(what):
    """Return one line of JSON for each entry, so that differences can be read."""
    return ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in what.items())


if __name__ == "__main__":
    parts = [f"{json.dumps(kind)}: {{\n{lines(what)}\n}}" for kind, what in made_now().items()]
    FILE.write_text("{\n" + ",\n".join(parts) + "\n}\n")
