"""Label sets: the inflated argmax of many points, and sets with coverage against MAPIE's on the same data."""

import numpy as np
import pytest
from helpers import rounds_of
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from stablebag import BaggedClassifier, inflated_argmax, predict_set

# With probabilities between zero and one: with full trees, MAPIE's sets contain all labels.
LEAVES, NEIGHBOURS = DecisionTreeClassifier(min_samples_leaf=10, random_state=0), KNeighborsClassifier(15)


def test_many_points_of_many_labels(ratios):
    scores = np.random.default_rng(0).dirichlet(np.full(100, 0.1), size=100_000)

    def inflated():
        inflated_argmax(scores, 0.05)

    def by_sorting():
        np.sort(scores, axis=1)

    def margin():
        return scores.max(axis=1, keepdims=True) - scores < 0.05 / np.sqrt(2)

    times = rounds_of(inflated, by_sorting, margin)
    ratios(
        "label sets, 100,000 points of 100 labels",
        "sorting all scores / inflated argmax",
        times.ratio(by_sorting, inflated),
        1.0,
    )
    ratios(
        "label sets, 100,000 points of 100 labels",
        "comparing with the largest / inflated argmax",
        times.ratio(margin, inflated),
        0.3,
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("learner", "target"),
    # MAPIE predicts with each model at 2% of the rows, we at all rows. For neighbours, predicting is all the work.
    [pytest.param(LEAVES, 2.5, id="leaves of ten rows"), pytest.param(NEIGHBOURS, 0.4, id="fifteen neighbours")],
)
def test_against_mapie(ratios, learner, target, request):
    classification = pytest.importorskip("mapie.classification")
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y, n = X[order], y[order], 1000
    n_fits = 50
    peer = classification.CrossConformalClassifier(learner, confidence_level=0.9, cv=n_fits, random_state=0)
    model = BaggedClassifier(learner, n_bags=n_fits, random_state=0)
    found = {}

    def ours():
        model.fit(X[:n], y[:n])
        found["ours"] = predict_set(model, X[n:], method="jackknife+", confidence_level=0.9, by_class=False).members

    def theirs():
        peer.fit_conformalize(X[:n], y[:n])
        found["MAPIE's"] = peer.predict_set(X[n:])[1][:, :, 0]

    times = rounds_of(ours, theirs)
    title = f"label sets of digits, {request.node.callspec.id}, {n:,} rows, {len(y) - n} points, {n_fits} fits each"
    for whose, members in found.items():
        coverage, size = members[np.arange(len(y) - n), y[n:]].mean(), members.sum(axis=1).mean()
        ratios(
            title, f"{whose}: coverage / 0.8 (mean size {size:.2f})", coverage / 0.8, 1.0 if whose == "ours" else 0.0
        )
    ratios(title, "MAPIE / ours, time", times.ratio(theirs, ours), target)
