import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    FixedRange,
    leave_one_out,
    leave_one_out_error,
    suspects,
)
from stablebag._wording import Noun
from stablebag.measuring.suspects import Suspect, Suspects


def test_planted_wrong_targets_are_found_by_leave_one_out_loss_and_seldom_by_influence():
    X, y = load_diabetes(return_X_y=True)
    X, Z, y = X[:300], X[300:320], y[:300]
    rng, losses, moves, listed = np.random.default_rng(0), [], [], 0
    for plant in rng.choice(300, 10, replace=False):
        wrong = y.copy()
        wrong[plant] = 25.0 if y[plant] > 150 else 346.0  # the other end of the range
        model = BaggedRegressor(DecisionTreeRegressor(max_depth=5), n_bags=200, random_state=0).fit(X, wrong)
        loss, moved = leave_one_out_error(model, "absolute").losses, leave_one_out(model, Z).row_norms()
        losses.append(int((loss > loss[plant]).sum()) + 1)
        moves.append(int((moved > moved[plant]).sum()) + 1)
        found = suspects(model, Z)
        listed += plant in [suspect.number for suspect in found.wrong]
        assert len(found.wrong) <= 3
    assert np.mean(np.array(losses) <= 5) >= 0.7
    assert np.median(moves) > np.median(losses)
    assert listed >= 3


def test_a_gross_mistake_is_likely_wrong_and_moves_predictions_with_numbers_worked_out():
    X, y = load_diabetes(return_X_y=True)
    X, Z, y = X[:200], X[200:220], y[:200].copy()
    y[7] = 1000.0
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=200, random_state=0).fit(X, y)
    found = suspects(model, Z)
    assert found.wrong[0].name == 7  # before rows like it, which it pulls away from their targets
    assert found.wrong[0].value == pytest.approx(leave_one_out_error(model, "absolute").losses[7])
    assert found.wrong[0].noise == found.usual
    assert found.wrong[0].chance < 1e-6
    moved = leave_one_out(model, Z)
    first = found.moving[0]
    assert (first.number, first.value) == (7, pytest.approx(moved.row_norms()[7]))
    extra = 1 / model.bags_.n_without[7] - 1 / 200
    assert first.noise == pytest.approx(np.sqrt(extra * np.mean(moved.bags.deviation**2)))
    assert found.noise == pytest.approx(np.sqrt(np.mean(moved.noise**2)))


class Guess(RegressorMixin, BaseEstimator):
    """Learns nothing from the rows."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.weights_ = np.random.default_rng(self.random_state).normal(size=2)
        return self

    def predict(self, X):
        return np.tanh(X @ self.weights_)


def test_nothing_stands_out_where_rows_do_not_matter():
    """Of 8 runs, each lists anything with a chance of about 0.1: more than 4 do once in 2,000 times."""
    lists = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y, Z = rng.normal(size=(100, 2)), rng.normal(size=100), rng.normal(size=(10, 2))
        model = BaggedRegressor(Guess(), n_bags=80, random_state=seed, prediction_range=FixedRange(-1, 1)).fit(X, y)
        lists += bool(suspects(model, Z).moving)
    assert lists <= 4


def test_flipped_labels_are_likely_wrong():
    X, y = load_breast_cancer(return_X_y=True)
    flipped = np.random.default_rng(0).choice(len(y), 10, replace=False)
    wrong = y.copy()
    wrong[flipped] = 1 - y[flipped]
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    model = BaggedClassifier(learner, n_bags=100, random_state=0).fit(X, wrong)
    found = suspects(model, X[:5])
    numbers = [suspect.number for suspect in found.wrong]
    assert len(set(numbers) & set(flipped)) >= 4
    assert len(set(numbers) - set(flipped)) <= 2
    assert found.wrong[0].value < 0.05
    assert found.wrong[0].noise > 0.95
    assert np.isnan(found.usual)


def test_learners_that_vote_and_are_often_wrong_accuse_no_rows():
    X, y = load_breast_cancer(return_X_y=True)
    model = BaggedClassifier(SVC(), n_bags=60, random_state=0).fit(X[:300], y[:300])
    assert suspects(model, X[300:310]).wrong == ()


def test_a_class_that_the_model_does_not_know_is_not_called_wrong():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.zeros(300, dtype=int)
    y[:5] = 1  # without any relation to the columns, so that no bag predicts them
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    model = BaggedClassifier(learner, n_bags=60, random_state=0).fit(X, y)
    assert suspects(model, X[:5]).wrong == ()


def test_of_units_the_worst_row_counts_and_units_are_named():
    X, y = load_diabetes(return_X_y=True)
    X, Z, y = X[:120], X[120:130], y[:120].copy()
    y[[9, 10]] = 1000.0, 900.0  # both of the same unit
    names = np.array([f"patient {k // 3}" for k in range(120)])
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=100, random_state=0).fit(X, y, groups=names)
    found = suspects(model, Z)
    assert found.noun == model.units_.noun
    assert found.wrong[0].name == "patient 3"
    assert found.wrong[0].value > 600
    assert len({suspect.name for suspect in found.wrong}) == len(found.wrong) < 10


def test_all_bags_have_no_noise():
    X, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 4.0, 50.0])
    model = BaggedRegressor(DecisionTreeRegressor(), n_bags="all", random_state=0).fit(X, y)
    found = suspects(model, X)
    assert found.noise == 0
    assert len(found.moving) == 6


@pytest.mark.parametrize("share", [0.0, -1.0, 1.5])
def test_an_error_rate_that_is_none_is_refused(share):
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=1), n_bags=20, random_state=0).fit(X[:30], y[:30])
    with pytest.raises(ValueError, match="'false_share' parameter of suspects"):
        suspects(model, X[:2], false_share=share)


@pytest.mark.parametrize("load", [load_diabetes, load_breast_cancer])
def test_likely_wrong_rows_are_looked_for_among_some(load):
    X, y = load(return_X_y=True)
    y = y.copy()
    y[7] = 1 - y[7] if load is load_breast_cancer else 3 * y.max()
    kind = BaggedClassifier if load is load_breast_cancer else BaggedRegressor
    model = kind(n_bags=100, random_state=0).fit(X[:300], y[:300])
    found = suspects(model, X[300:310], rows=np.array([200, 7, 8, 9]))
    assert found.n_looked_at == 4
    assert {one.number for one in found.wrong} <= {200, 7, 8, 9}
    assert [one.number for one in found.wrong] == ([7] if kind is BaggedRegressor else [])  # one of four are too many
    assert repr(found.moving) == repr(suspects(model, X[300:310]).moving)
    everything = suspects(model, X[300:310], rows=np.arange(300))
    assert repr(everything.wrong) == repr(suspects(model, X[300:310]).wrong)
    assert everything.wrong


def test_notebooks_show_how_many_stand_out_and_the_first_of_them_escaped():
    moving = tuple(Suspect(k, f"<b>{k}</b>\x1b", 2.0 - k / 100, 0.5, 1e-4) for k in range(12))
    wrong = (Suspect(3, "Ann", -1234567.0, 1000.0, 1e-9),)
    found = Suspects(moving, wrong, 0.5, 1000.0, 0.1, Noun("patient", "patients"), 500)
    page = found._repr_html_()
    assert str(found).splitlines() == [
        "12 patients move predictions beyond the noise of the bags (0.5).",
        "1 patient is likely wrong, among 500 rows drawn at random: what the bags without it predict is",
        "far from the target.",
        "About 10% of such a list would be there by chance.",
    ]
    assert str(found).splitlines()[0] in page
    assert "<th>patient</th><th>moves predictions by</th><th>noise of the bags</th>" in page
    assert "<tr><th>&lt;b&gt;0&lt;/b&gt;\\x1b</th><td>2</td><td>0.5</td></tr>" in page
    assert "<b>" not in page
    assert "and 2 more" in page
    assert "<tr><th>Ann</th><td>-1,234,567</td><td>1,000</td></tr>" in page


def test_where_nobody_stands_out_notebooks_say_so_without_a_table():
    page = Suspects((), (), 0.5, 1000.0, 0.1)._repr_html_()
    assert "No row moves predictions beyond the noise of the bags (0.5).\nNo row stands out as likely wrong." in page
    assert "<table>" not in page
    assert "by chance" not in page


def test_of_classes_it_is_probabilities_that_are_shown():
    wrong = tuple(Suspect(k, k, 0.01, 0.97, 0.02) for k in range(2))
    found = Suspects(wrong[:1], wrong, 0.02, np.nan, 0.05)
    assert str(found).splitlines()[:2] == [
        "1 row moves predictions beyond the noise of the bags (0.02).",
        "2 rows are likely wrong: the bags without them hardly ever predict that class.",
    ]
    assert "<th>probability of its class</th><th>of the likeliest class</th>" in found._repr_html_()
