import math

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    FixedRange,
    Subbagging,
    leave_one_out,
    leave_one_out_error,
    suspects,
)
from stablebag._wording import Noun
from stablebag.measuring.suspects import (
    InfluentialRow,
    Suspects,
    UnusualRow,
    adjusted_p_values,
    against_class_levels,
    usual_residuals,
)
from stablebag.resampling import Bags


def test_wrong_targets_are_ranked_first_but_rarely_influential():
    X, y = load_diabetes(return_X_y=True)
    X, Z, y = X[:300], X[300:320], y[:300]
    rng, places, moves = np.random.default_rng(0), [], []
    for plant in rng.choice(300, 10, replace=False):
        wrong = y.copy()
        wrong[plant] = 25.0 if y[plant] > 150 else 346.0  # the other end of the range
        model = BaggedRegressor(DecisionTreeRegressor(max_depth=5), n_bags=200, random_state=0).fit(X, wrong)
        moved = leave_one_out(model, Z).row_norms()
        moves.append(int((moved > moved[plant]).sum()) + 1)
        ranked = [far.number for far in suspects(model, Z, k=300).unusual]
        places.append(ranked.index(plant) + 1)
    assert np.mean(np.array(places) <= 10) >= 0.7
    assert np.median(moves) > np.median(places)


def test_a_gross_mistake_is_ranked_first_and_influential_with_numbers_computed_independently():
    X, y = load_diabetes(return_X_y=True)
    X, Z, y = X[:200], X[200:220], y[:200].copy()
    y[7] = 1000.0
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=200, random_state=0).fit(X, y)
    found = suspects(model, Z)
    far = found.unusual[0]
    assert far.name == 7  # before rows like it, which it pulls away from their targets
    assert far.value == pytest.approx(leave_one_out_error(model, "absolute").losses[7])
    assert far.distance == pytest.approx(far.value / far.usual)
    assert far.distance > 3 * found.unusual[1].distance
    assert len(found.unusual) == 10
    moved = leave_one_out(model, Z)
    first = found.influential[0]
    assert (first.number, first.change) == (7, pytest.approx(moved.row_norms()[7]))
    extra = 1 / model.bags_.n_without[7] - 1 / 200
    assert first.noise == pytest.approx(np.sqrt(extra * np.mean(moved.bags.deviation**2)))
    assert first.p_value == 0.001  # larger than under all 999 permutations
    assert found.noise == pytest.approx(np.sqrt(np.mean(moved.noise**2)))


# ----------------------------------------------------------------------------------------------------- the permutations


def p_values_by_definition(inside, outputs, permutations):
    """Step-down p-values of the largest statistic, one row and one permutation at a time."""

    def statistics(z):
        sums, counts = inside.T.astype(float) @ (z - z.mean(axis=0)), inside.sum(axis=0)
        return (sums**2).sum(axis=1) * len(z) / np.maximum(counts * (len(z) - counts), 1)

    observed = statistics(outputs)
    permuted = np.array([statistics(outputs[order]) for order in permutations])
    order, p_values = np.argsort(-observed), np.empty(len(observed))
    for place, row in enumerate(order):
        left = order[place:]
        exceeded = (permuted[:, left].max(axis=1) >= observed[row] * (1 - 1e-5)).sum()
        p_values[row] = max((1 + exceeded) / (1 + len(permutations)), p_values[order[place - 1]] if place else 0.0)
    return p_values


@pytest.mark.parametrize("first", [1000, 3, 1])
def test_p_values_follow_the_definition(monkeypatch, first):
    monkeypatch.setattr("stablebag.measuring.suspects._FIRST", first)
    rng = np.random.default_rng(0)
    bags = Subbagging(0.5).resolve(8).draw(30, 0)
    outputs = rng.normal(size=(30, 3)) + 2 * bags.inclusion[:, [2]] - bags.inclusion[:, [5]]
    found = adjusted_p_values(bags, outputs, alpha=0.5, random_state=4)
    from stablebag._seeds import Seeds

    generator = Seeds.from_random_state(4).generator()
    permutations = [generator.permutation(30) for _ in range(99)]
    expected = p_values_by_definition(bags.inclusion, outputs, permutations)
    assert expected[2] == 0.01
    if first == 1000:
        np.testing.assert_array_equal(found, expected)
    else:  # not stepped down further, so none is smaller
        assert (found >= expected - 1e-12).all()
        assert found[2] == expected[2]


def test_rows_in_the_same_bags_share_a_p_value_and_rows_in_no_bag_have_one():
    rng = np.random.default_rng(0)
    thin = Bags([rng.choice(4000, 4, replace=False) for _ in range(60)], n_samples=5000)
    assert thin.is_thin
    outputs = rng.normal(size=(60, 2))
    p_values = adjusted_p_values(thin, outputs)
    assert (p_values[4000:] == 1).all()
    bag = thin[7]
    alone = [row for row in bag if thin.inclusion[:, row].sum() == 1]
    assert len(set(p_values[alone])) == 1
    few = Bags(list(thin), n_samples=4001)  # the same, in a dense matrix
    monkeypatched = adjusted_p_values(few, outputs)
    np.testing.assert_array_equal(p_values[:4001], monkeypatched)


def test_no_row_is_influential_if_bags_agree():
    bags = Subbagging(0.5).resolve(8).draw(30, 0)
    assert (adjusted_p_values(bags, np.ones((30, 3))) == 1).all()


def test_many_points_and_classes_are_reduced_to_few_components():
    rng = np.random.default_rng(0)
    bags = Subbagging(0.5).resolve(20).draw(60, 0)
    outputs = rng.normal(size=(60, 700)) + 1.5 * bags.inclusion[:, [3]]
    p_values = adjusted_p_values(bags, outputs)
    assert np.flatnonzero(p_values <= 0.05).tolist() == [3]


class Guess(RegressorMixin, BaseEstimator):
    """Learns nothing from the rows."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit(self, X, y):
        self.weights_ = np.random.default_rng(self.random_state).normal(size=2)
        return self

    def predict(self, X):
        return np.tanh(X @ self.weights_)


@pytest.mark.slow
def test_no_row_is_listed_if_the_learner_ignores_rows():
    """Of 8 runs, each lists anything with a chance of at most 0.05: more than 3 do once in 2,600 times."""
    lists = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y, Z = rng.normal(size=(100, 2)), rng.normal(size=100), rng.normal(size=(10, 2))
        model = BaggedRegressor(Guess(), n_bags=80, random_state=seed, prediction_range=FixedRange(-1, 1)).fit(X, y)
        lists += bool(suspects(model, Z).influential)
    assert lists <= 3


class Beyond(Guess):
    """Predicts more than any target, so that the largest of them is what a model with a range says."""

    def predict(self, X):
        return np.full(len(X), 1e6) + self.weights_[0]


def test_a_row_that_changes_predictions_only_through_the_range_is_listed():
    X, y = np.arange(20.0)[:, None], np.r_[np.arange(19.0), 100.0]
    model = BaggedRegressor(Beyond(), n_bags=50, random_state=0).fit(X, y)
    found = suspects(model, X)
    assert [(one.number, one.p_value) for one in found.influential] == [(19, 0.0)]
    assert found.noise == 0
    assert "1 row changes predictions at 20 test points.\n" in str(found)


def test_with_all_bags_every_row_with_an_effect_is_listed():
    X, y = np.arange(6.0)[:, None], np.array([0.0, 1.0, 2.0, 3.0, 4.0, 50.0])
    model = BaggedRegressor(DecisionTreeRegressor(), n_bags="all", random_state=0).fit(X, y)
    found = suspects(model, X)
    assert found.noise == 0
    assert len(found.influential) == 6
    assert found.claim == ""


# ---------------------------------------------------------------------------------------------------------- the ranking


def test_usual_residuals_combine_spread_over_bags_and_residuals_of_similar_rows():
    spread = np.r_[np.full(60, 1.0), np.full(60, 2.0)]
    residuals = np.r_[np.full(60, -3.0), np.full(60, 6.0)]
    residuals[4] = 1e6
    usual, general = usual_residuals(residuals, np.zeros(120), spread)
    assert general == pytest.approx(1.4826 * 6.0)  # 61 of 120 are 6 or more
    assert usual[4] == pytest.approx(np.hypot(1.4826 * np.sqrt((3**2 + 6**2) / 2), 1.0))  # its own is not counted
    assert usual[-1] == pytest.approx(np.hypot(1.4826 * 6, 2.0))
    nearby, _ = usual_residuals(residuals, -spread, None)
    assert nearby[4] == pytest.approx(1.4826 * np.sqrt((3**2 + 6**2) / 2))


@pytest.mark.parametrize("n", [1, 2, 3, 51, 52])
def test_few_rows_have_usual_residuals(n):
    usual, general = usual_residuals(np.arange(1.0, n + 1), np.arange(n), np.ones(n))
    assert usual.shape == (n,)
    assert np.isfinite(usual).all()
    assert general > 0


def test_if_most_rows_are_predicted_exactly_the_others_are_ranked_first():
    X, y = np.repeat(np.arange(10.0), 6)[:, None], np.repeat(np.arange(10.0), 6)
    y[[3, 50]] = [4.0, 20.0]
    model = BaggedRegressor(KNeighborsRegressor(1), n_bags=100, random_state=0).fit(X, y)
    found = suspects(model, X, k=60)
    assert {far.number for far in found.unusual[:2]} == {3, 50}
    assert all(far.distance >= 0 for far in found.unusual)
    assert not any(math.isnan(far.distance) for far in found.unusual)


def test_probabilities_are_compared_with_the_usual_ones_of_each_class():
    probabilities = np.array([[0.9, 0.1], [0.7, 0.3], [0.8, 0.2], [0.6, 0.4]])
    member = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    own, levels, distances, ties = against_class_levels(probabilities, member)
    np.testing.assert_allclose(own, [0.9, 0.7, 0.2, 0.4])
    np.testing.assert_allclose(levels, [0.8, 0.8, 0.3, 0.3])
    others = np.array([(0.1 + 0.1) / (0.3 + 0.1), 1.0, 1.0, (0.6 + 0.1) / (0.8 + 0.1)])
    np.testing.assert_allclose(ties, others)
    np.testing.assert_allclose(distances, others / ((own + 0.1) / (levels + 0.1)))
    assert distances[2] > distances[1] > distances[3] > distances[0]  # though row 3's class has less than row 1's
    surer = against_class_levels(np.array([[0.0, 1.0], [1.0, 0.0], [0.6, 0.4]]), np.array([[1, 0], [1, 0], [0, 1]]))
    assert surer[3][0] == pytest.approx((1 + 0.1) / (0.4 + 0.1))
    assert surer[2][0] == pytest.approx((0.5 + 0.1) / (0.0 + 0.1))  # what is more than usual counts as usual


def test_a_class_without_rows_is_allowed():
    probabilities = np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2]])
    assert np.isfinite(against_class_levels(probabilities, np.array([[1, 0, 0], [0, 1, 0]]))[2]).all()


def test_flipped_labels_are_ranked_first():
    X, y = load_breast_cancer(return_X_y=True)
    flipped = np.random.default_rng(0).choice(len(y), 10, replace=False)
    wrong = y.copy()
    wrong[flipped] = 1 - y[flipped]
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    model = BaggedClassifier(learner, n_bags=100, random_state=0).fit(X, wrong)
    found = suspects(model, X[:5])
    numbers = [far.number for far in found.unusual]
    assert len(set(numbers) & set(flipped)) >= 7
    assert found.unusual[0].value < 0.05
    assert found.unusual[0].usual > 0.9
    assert np.isnan(found.usual)


def test_clean_rows_of_a_rare_class_do_not_fill_the_ranking():
    rare = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 3))
        y = (rng.random(400) < 1 / (1 + np.exp(3.2 - 2 * X[:, 0]))).astype(int)
        model = BaggedClassifier(DecisionTreeClassifier(max_depth=4), n_bags=80, random_state=0).fit(X, y)
        rare += [y[far.number] for far in suspects(model, X[:3]).unusual]
    assert np.mean(rare) < 0.8


def test_groups_are_ranked_by_their_farthest_row_and_named():
    X, y = load_diabetes(return_X_y=True)
    X, Z, y = X[:120], X[120:130], y[:120].copy()
    y[[9, 10]] = 1000.0, 900.0  # both of the same group
    names = np.array([f"patient {k // 3}" for k in range(120)])
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=100, random_state=0).fit(X, y, groups=names)
    found = suspects(model, Z)
    assert found.noun == model.units_.noun
    assert found.unusual[0].name == "patient 3"
    assert found.unusual[0].value > 600
    assert len({far.name for far in found.unusual}) == len(found.unusual) == 10
    assert [one.name for one in found.influential][:1] == ["patient 3"]
    assert len(suspects(model, Z, k=1000).unusual) == 40


@pytest.mark.parametrize(("option", "value"), [("alpha", 0.0), ("alpha", -1.0), ("alpha", 0.9), ("k", 0)])
def test_options_outside_their_range_raise(option, value):
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=1), n_bags=20, random_state=0).fit(X[:30], y[:30])
    with pytest.raises(ValueError, match=f"'{option}' parameter of suspects"):
        suspects(model, X[:2], **{option: value})


@pytest.mark.parametrize("load", [load_diabetes, load_breast_cancer])
def test_rows_limits_the_ranking(load):
    X, y = load(return_X_y=True)
    y = y.copy()
    y[7] = 1 - y[7] if load is load_breast_cancer else 3 * y.max()
    kind = BaggedClassifier if load is load_breast_cancer else BaggedRegressor
    model = kind(n_bags=100, random_state=0).fit(X[:300], y[:300])
    found = suspects(model, X[300:310], rows=np.array([200, 7, 8, 9]))
    assert found.n_looked_at == 4
    of_classes = load is load_breast_cancer  # rows whose class gets its usual probability are not far
    assert {far.number for far in found.unusual} == ({7, 9} if of_classes else {200, 7, 8, 9})
    assert found.unusual[0].number == 7
    assert repr(found.influential) == repr(suspects(model, X[300:310]).influential)
    everything = suspects(model, X[300:310], rows=np.arange(300))
    assert repr(everything.unusual) == repr(suspects(model, X[300:310]).unusual)


# ------------------------------------------------------------------------------------------------------------- in words


def test_html_shows_the_sentences_and_the_first_rows_escaped():
    moving = tuple(InfluentialRow(k, f"<b>{k}</b>\x1b", 2.0 - k / 100, 0.5, 0.001) for k in range(12))
    farthest = (UnusualRow(3, "Ann", -1234567.0, 1000.0, 1234.567),)
    found = Suspects(moving, farthest, 0.5, 1000.0, 0.05, Noun("patient", "patients"), 500)
    page = found._repr_html_()
    assert " ".join(str(found).split()) == (
        "12 patients change predictions beyond bagging noise (0.5). If no patient had an effect, the chance of listing "
        "any would be at most 5%. Worth a look: the patient farthest from what the other patients predict among 500 "
        "rows drawn at random, patient Ann (1,235 times as far as usual). This is a ranking: clean data have one too."
    )
    assert str(found).splitlines()[0] in page
    assert "<th>patient</th><th>changes predictions by</th><th>bagging noise</th>" in page
    assert "<tr><th>&lt;b&gt;0&lt;/b&gt;\\x1b</th><td>2</td><td>0.5</td></tr>" in page
    assert "<b>" not in page
    assert "and 2 more" in page
    assert "<tr><th>Ann</th><td>-1,234,567</td><td>1,000</td><td>1,235</td></tr>" in page


def test_html_without_suspects_has_no_table():
    page = Suspects((), (), 0.5, 1000.0)._repr_html_()
    assert "No row changes predictions clearly beyond bagging noise (0.5)." in page
    assert "<table>" not in page
    assert "chance" not in page


def test_classifiers_show_probabilities():
    far = tuple(UnusualRow(k, k, 0.012, 0.97, 30.0) for k in range(2))
    found = Suspects((InfluentialRow(1, 1, 0.2, 0.1, 0.01),), far, 0.02, np.nan)
    assert "starting with row 0 (its class gets 1.2%; rows of that class usually get 97.0%)" in " ".join(
        str(found).split()
    )
    assert "<th>probability of its class</th><th>usual in its class</th>" in found._repr_html_()


def test_to_frame_has_a_line_for_each_row_of_either_list():
    far = (UnusualRow(3, "Ann", -5.0, 2.0, 2.5), UnusualRow(1, "Bob", 4.0, 2.0, 2.0))
    moving = (InfluentialRow(3, "Ann", 9.0, 1.0, 0.001), InfluentialRow(8, "Eve", 8.0, 1.0, 0.002))
    frame = Suspects(moving, far, 0.5, 2.0, noun=Noun("patient", "patients")).to_frame()
    assert frame.index.tolist() == ["Ann", "Bob", "Eve"]
    assert frame.index.name == "patient"
    columns = ["rank", "residual", "usual_residual", "distance", "change", "noise", "p_value"]
    assert frame.columns.tolist() == columns
    assert frame.loc["Ann"].tolist() == [1, -5, 2, 2.5, 9, 1, 0.001]
    assert frame.loc["Bob", ["change", "p_value"]].isna().all()
    assert frame.loc["Eve", ["rank", "distance"]].isna().all()
    empty = Suspects((), (), 0.5, np.nan).to_frame()
    assert empty.shape == (0, 7)
    assert empty.columns[1:3].tolist() == ["probability", "usual_probability"]
