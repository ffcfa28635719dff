"""The headline is about the model that the user has: every number in it is what refits by hand give."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, Subbagging
from stablebag.showing.report.charts import Changes
from stablebag.showing.study import study

N, BAGS = 60, 40


def data(classes):
    X, y = (load_breast_cancer if classes else load_diabetes)(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[: N + 20]
    return X[order[:N]], y[order[:N]], X[order[N:]], y[order[N:]]


def changes_by_hand(classes, rows):
    """How far both models change without each of some rows, at the held-out rows: fitted anew, with the same seed."""
    X, y, Z, _ = data(classes)
    tree = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(random_state=0)
    maker, ask = (BaggedClassifier, "predict_proba") if classes else (BaggedRegressor, "predict")

    def both(kept):
        bagged = maker(tree, scheme=Subbagging(N // 2), n_bags=BAGS, random_state=0)
        fitted = type(tree)(random_state=0).fit(X[kept], y[kept]), bagged.fit(X[kept], y[kept], row_ids=kept)
        return np.array([getattr(model, ask)(Z) for model in fitted])

    everyone = np.arange(N)
    moved = np.array([both(np.delete(everyone, row)) - both(everyone) for row in rows]).swapaxes(0, 1)
    return np.sqrt((moved**2).sum(axis=-1)) if classes else np.abs(moved)


def studied(classes, n_bags=BAGS, **options):
    tree = (DecisionTreeClassifier if classes else DecisionTreeRegressor)(random_state=0)
    bagged = (BaggedClassifier if classes else BaggedRegressor)(tree, n_bags=n_bags)
    return study(bagged, *data(classes), **options)


def typical(changes, weights=None):
    return np.sqrt(np.average((changes**2).mean(axis=1), weights=weights))


@pytest.mark.parametrize("classes", [False, True])
def test_ratio_in_the_headline_equals_that_of_direct_refits(classes):
    made = studied(classes, n_refits=12, n_matched=12)
    base, bagged = changes_by_hand(classes, made.compared.base.rows)
    ratio = typical(base) / typical(bagged)
    assert made.compared.ratio().value == pytest.approx(ratio)
    verdict = made.verdict()
    stability = verdict if verdict.case == "stabilized" else verdict.remarks[-1]
    assert stability.headline.endswith(f" {ratio:.2g} times less.")
    facts = made.facts()
    change = facts["typical change"]
    assert (change["base"], change["bagged"]) == pytest.approx((typical(base), typical(bagged)))
    assert change.kind == "measured"
    assert facts.to_dict()["facts"]["times smaller"]["value"] == pytest.approx(ratio)
    assert [bar.text for bar in Changes(made.compared).bars()[:2]] == [
        f"{float(f'{typical(each):.3g}'):g}" for each in (base, bagged)
    ]
    drawn = Changes(made.compared).curves
    assert drawn["base model"][1][0] == pytest.approx(base.max())
    assert drawn["bagged model"][1][0] == pytest.approx(bagged.max())


@pytest.mark.slow
def test_change_from_some_refits_is_called_estimated():
    few, whole = (studied(False, n_bags=400, n_refits=N, n_matched=some) for some in (8, N))
    assert (few.compared.how, whole.compared.how) == ("estimated", "refitted")
    assert few.compared.base_rms == pytest.approx(whole.compared.base_rms)
    assert few.compared.bagged_rms == pytest.approx(whole.compared.bagged_rms, rel=0.3)
    assert few.compared.noise == pytest.approx(whole.compared.noise, rel=0.2)
    verdict = few.verdict()
    said = " ".join([str(verdict), *verdict.reasons, *(str(remark) for remark in verdict.remarks)])
    said += " ".join(reason for remark in verdict.remarks for reason in remark.reasons)
    assert "times less (estimated)" in said
    assert "estimated from its bags and from refits without 8 of these rows" in said


def test_noise_and_limit_follow_from_the_spread_over_bags():
    made = studied(False, n_refits=12, n_matched=12)
    X, y, Z, _ = data(False)
    rows = made.compared.base.rows
    before = made.model.bag_predictions(Z)
    noise, change = [], []
    for row in rows:
        kept = np.delete(np.arange(N), row)
        fresh = BaggedRegressor(
            DecisionTreeRegressor(random_state=0), scheme=Subbagging(N // 2), n_bags=BAGS, random_state=0
        )
        moved = fresh.fit(X[kept], y[kept], row_ids=kept).bag_predictions(Z) - before
        noise.append(moved.var(axis=0, ddof=1) / BAGS)  # of a mean of independent numbers
        change.append(moved.mean(axis=0) ** 2)
    assert made.compared.noise**2 == pytest.approx(np.mean(noise))
    assert made.compared.limit_rms**2 == pytest.approx(max(0.0, np.mean(change) - np.mean(noise)))
    assert made.compared.limit_ratio() > made.compared.ratio().value


def test_more_bags_are_advised_only_if_noise_exceeds_signal():
    noisy = studied(False, n_refits=12, n_matched=12)
    assert noisy.compared.noise > noisy.compared.limit_rms
    verdict = noisy.verdict()
    texts = [verdict.advice, *(remark.advice for remark in verdict.remarks)]
    assert any("bagging noise: 160 bags would halve that." in text for text in texts)
    quiet = study(BaggedRegressor(Ridge(), n_bags=BAGS), *data(False), n_refits=12, n_matched=12)
    assert quiet.compared.noise < quiet.compared.limit_rms
    assert "bags" not in quiet.verdict().advice.replace("larger bags", "")


@pytest.mark.slow
def test_only_unrefitted_changes_are_called_estimates():
    estimated, refitted = (studied(True, n_bags=400, n_refits=N, n_matched=some) for some in (0, N))
    assert estimated.compared.how == "estimated"
    for made, is_estimate in ((estimated, True), (refitted, False)):
        verdict = made.verdict()
        said = " ".join([verdict.headline, *verdict.reasons, *(str(remark) for remark in verdict.remarks)])
        assert ("times less (estimated)" in said) == is_estimate
        assert ("estimated from one refitted bag" in said) == is_estimate
    assert 0.5 < estimated.compared.bagged_rms / refitted.compared.bagged_rms < 2


@pytest.mark.slow
def test_similar_models_are_compared_by_the_same_few_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3100, 3))
    y = X.sum(axis=1) + 2 * rng.normal(size=3100)
    for seed in range(3):  # with few bags for the rows, their noise is many times what one row changes
        bagged = BaggedRegressor(LinearRegression(), n_bags=100, random_state=seed)
        made = study(bagged, X[:3000], y[:3000], X[3000:], y[3000:], n_refits=60,
                     n_matched=10)  # fmt: skip
        compared, verdict = made.compared, made.verdict()
        assert (compared.how, compared.n_rows) == ("refitted", 10)
        assert 0.8 < compared.ratio().value < 1.25
        assert verdict.case == "already stable"
        assert "refitted without 10 of the 3,000 rows" in " ".join(verdict.reasons)
        nothing = study(bagged, X[:3000], y[:3000], X[3000:], y[3000:], n_refits=60,
                        n_matched=0)  # fmt: skip
        assert nothing.verdict().case in ("not enough bags", "already stable")


class Middle(RegressorMixin, BaseEstimator):
    """Predicts the mean of its targets, which no row changes much."""

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


class Largest(Middle):
    """Predicts its largest target, which one row alone changes."""

    def fit(self, X, y):
        self.mean_ = float(np.max(y))
        return self


def test_stable_model_is_not_called_stabilized():
    made = study(BaggedRegressor(Middle(), n_bags=BAGS), *data(False), n_refits=60, n_matched=20)
    verdict = made.verdict()
    stability = (verdict, *verdict.remarks)[-1]
    assert stability.case == "already stable"
    assert "stabilizes" not in str(stability)


@pytest.mark.slow
def test_no_answer_rests_on_one_row():
    X, y, Z, z = data(False)
    y = np.where(np.arange(N) == 7, 1000.0, y)
    model = BaggedRegressor(Largest(), scheme=Subbagging(6), n_bags=200, random_state=1)
    made = study(model, X, y, Z, z, n_refits=59, n_matched=59)
    assert 7 in made.compared.base.rows
    verdict = made.verdict()
    stability = (verdict, *verdict.remarks)[-1]
    assert made.compared.ratio().value > 1.5  # 1000 against a tenth of that
    assert made.compared.ratio().low < 1  # without row 7, the base model does not change
    assert stability.case == "not enough refits"


def test_ratio_has_no_confidence_interval():
    made = studied(False, n_refits=12, n_matched=12)
    verdict = made.verdict()
    said = " ".join([str(verdict), *verdict.reasons, *(" ".join(remark.reasons) for remark in verdict.remarks)])
    assert "(between" not in said
    assert "if any one row or test point is taken out of the comparison" in said
