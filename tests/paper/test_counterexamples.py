import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from stablebag.paper.counterexamples import Memorizer, ThresholdCount


def test_threshold_count_compares_exactly():
    learner = ThresholdCount(n_samples=30, n_influential=7)
    X, y = learner.data_set()
    assert (X.sum(), y.tolist()) == (7, [0.0] * 30)
    for ones, rows in ((1, 4), (1, 5), (7, 30), (2, 8), (2, 9)):
        bag = np.r_[np.arange(ones), np.arange(7, 7 + rows - ones)]
        assert learner.fit(X[bag], y[bag]).predict(X[:2]).tolist() == [float(30 * ones > 7 * rows)] * 2


def test_threshold_count_predicts_zero_at_exactly_the_share():
    learner = ThresholdCount(n_samples=10, n_influential=3)  # 3 / 10 of 10 rows is 3 in whole numbers, not in floats
    X, y = learner.data_set()
    assert learner.fit(X, y).predict(X[:1]).tolist() == [0.0]
    assert learner.fit(X[:9], y[:9]).predict(X[:1]).tolist() == [1.0]


@pytest.mark.parametrize(("n", "influential", "words"), [
    (4, 5, "at most n_samples=4"), (4, 0, "'n_influential'"), (1, 1, "'n_samples'"),
])  # fmt: skip
def test_invalid_numbers_of_ones_raise(n, influential, words):
    with pytest.raises(ValueError, match=words):
        ThresholdCount(n, influential).data_set()


def test_memorizer_distinguishes_seen_from_unseen_points():
    X, y = Memorizer.data_set(5)
    assert len({tuple(row) for row in X.tolist()}) == 5
    seen = Memorizer().fit(X[[4, 1, 1]], y[:3])
    assert seen.predict(X).tolist() == [0.0, 1.0, 0.0, 0.0, 1.0]
    assert seen.predict([[1.5]]).tolist() == [0.0]


@pytest.mark.parametrize("learner", [Memorizer(), ThresholdCount(4, 2)])
def test_predict_before_fit_raises(learner):
    with pytest.raises(NotFittedError):
        learner.predict([[1.0]])
