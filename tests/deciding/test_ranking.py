import itertools
import math
import pickle

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from stablebag import BaggedRegressor, BernoulliSubbagging, Certificate, Subbagging, inflated_argmax, stable_ranking
from stablebag._wording import Noun
from stablebag.deciding import LeftOutRankings, RankSets, top_k_sets
from stablebag.deciding.ranking import Importances, common_rounds
from stablebag.measuring.perturbations import Names
from stablebag.proving import VectorOutputs

# -------------------------------------------------------------------------------------------------------------- ranking


X = np.arange(6.0)[:, None]


def shares(X, y):
    """How many rows of a bag are small, middling and large."""
    return np.bincount((X[:, 0] // 2).astype(int), minlength=3) / len(X)


def test_scores_are_the_average_over_bags_and_sets_are_those_of_the_average():
    ranking = stable_ranking(
        lambda X, y: [X[0, 0] / 10, 0.2],
        X,
        None,
        within="box",
        bagging=BaggedRegressor(n_bags="all", scheme=Subbagging(1)),
    )
    assert ranking.scores == pytest.approx([0.25, 0.2])
    assert ranking.ranking == [0, 1]
    assert ranking.top_k == [0, 1]
    assert set(ranking.rankings) == {(0, 1), (1, 0)}


@pytest.mark.parametrize(
    ("within", "radius", "diameter"),
    [("simplex", math.sqrt(2 / 3), math.sqrt(2)), ("box", math.sqrt(3) / 2, math.sqrt(3)), (1.5, 1.5, 3.0)],
)
def test_epsilon_is_that_of_the_certificate_for_the_score_set(within, radius, diameter):
    ranking = stable_ranking(
        shares, X, None, within=within, bagging=BaggedRegressor(scheme=Subbagging(3), n_bags=40, random_state=0)
    )
    outputs = VectorOutputs(diameter, radius=radius)
    certificate = Certificate(Subbagging(3), 6, 40, outputs=outputs, coupling="matched")
    assert ranking.epsilon == pytest.approx(certificate.epsilon(0.05), rel=1e-8)
    assert str(ranking.within) in " ".join(ranking.explain().split())


def test_with_all_bags_leaving_out_equals_ranking_under_the_law_without_the_row():
    about = {"bagging": BaggedRegressor(scheme=Subbagging(2), n_bags="all"), "epsilon": 0.12, "k": 2}
    ranking = stable_ranking(shares, X, None, **about)
    measured = ranking.leave_one_out()
    for row in range(6):
        other = stable_ranking(shares, np.delete(X, row, axis=0), None, **about)
        assert measured.distance[row] == pytest.approx(np.linalg.norm(other.scores - ranking.scores))
        both = top_k_sets(other.scores, 2, 0.12) & ranking.is_in_top_k
        assert measured.keeps_top_k[row] == (both.sum() >= 2)
        assert measured.keeps_ranking[row] == RankSets(other.scores, 0.12).intersects(ranking.rankings)


def test_keeps_ranking_is_exact_even_if_many_items_are_close():
    """Of 12 rows, each has a vote for one of 30 items, and all are nearly even: no order has to be tried."""
    rng = np.random.default_rng(0)
    votes = rng.dirichlet(np.full(30, 200.0), size=12)
    about = {"bagging": BaggedRegressor(scheme=Subbagging(1), n_bags="all"), "epsilon": 0.02}
    ranking = stable_ranking(lambda X, y: votes[int(X[0, 0])], np.arange(12.0)[:, None], None, **about)
    measured = ranking.leave_one_out()
    for row in range(12):
        others = np.delete(votes, row, axis=0).mean(axis=0)
        assert measured.keeps_ranking[row] == RankSets(others, 0.02).intersects(ranking.rankings)


def test_a_learner_ranks_the_columns_of_a_frame(data):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data[0], columns=list("abcde"))
    bagging = [BaggedRegressor(n_bags=30, n_jobs=jobs, random_state=0) for jobs in (1, 2)]
    one, two = (stable_ranking(DecisionTreeRegressor(), frame, data[1], bagging=one) for one in bagging)
    assert one.top_k[0] == one.ranking[0] == "a"
    assert (one.bag_scores == two.bag_scores).all()
    assert one.to_frame().index.tolist() == one.ranking
    assert stable_ranking(DecisionTreeRegressor(), *data, bagging=bagging[0]).ranking[0] == 0


def test_items_are_named_by_dicts_series_and_feature_names():
    """As many components as columns are no columns; scaled columns are."""
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(30, 2)), columns=["age", "bmi"])
    y = frame["bmi"].to_numpy()
    about = {"bagging": BaggedRegressor(n_bags=4, random_state=0), "within": 10.0}
    named = {}
    for name, before in (("pca", PCA()), ("scaled", StandardScaler())):
        named[name] = set(stable_ranking(make_pipeline(before, LinearRegression()), frame, y, **about).items)
    assert named == {"pca": {"pca0", "pca1"}, "scaled": {"age", "bmi"}}
    nameless = stable_ranking(lambda X, y: np.abs(X.to_numpy()).mean(axis=0), frame, y, **about)
    assert nameless.items == [0, 1]
    for scored in (lambda X, y: X.abs().mean(), lambda X, y: {"age": 0.5, "bmi": 0.7}):
        assert stable_ranking(scored, frame, y, **about).items == ["age", "bmi"]
    with pytest.raises(ValueError, match="scores of other items for bag"):
        stable_ranking(lambda X, y: {X.index[0]: 0.5, -1: 0.5}, frame, y, **about)
    assert stable_ranking(make_pipeline(PCA(), LinearRegression()), frame.to_numpy(), y, **about).items == [0, 1]


def test_groups_are_left_out_instead_of_rows():
    pd = pytest.importorskip("pandas")
    patients = pd.Series(list("aabbcc"), name="patient")
    ranking = stable_ranking(
        shares, X, None, groups=patients, epsilon=1.2, bagging=BaggedRegressor(scheme=Subbagging(1), n_bags="all")
    )
    assert ranking.scores == pytest.approx([1 / 3] * 3)
    assert "3 groups" in ranking.guarantee
    assert ranking.leave_one_out().to_frame().index.tolist() == ["a", "b", "c"]


def test_an_empty_bag_has_equal_scores():
    ranking = stable_ranking(
        shares, X, None, bagging=BaggedRegressor(scheme=BernoulliSubbagging(0.1), n_bags=40, random_state=0)
    )
    empty = ranking.average.bags.sizes == 0
    assert empty.any()
    assert ranking.bag_scores[empty] == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="All bags are empty"):
        stable_ranking(
            shares, X, None, bagging=BaggedRegressor(scheme=BernoulliSubbagging(0.001), n_bags=2, random_state=0)
        )


def test_invalid_scores_raise_an_error_that_names_the_bag():
    with pytest.raises(ValueError, match=r"Scorer failed to fit on bag 0 .*whose sum is 2"):
        stable_ranking(lambda X, y: [1.0, 1.0], X, None, bagging=BaggedRegressor(n_bags=2, random_state=0))
    with pytest.raises(ValueError, match="finite scores for two or more items"):
        stable_ranking(lambda X, y: [1.0], X, None, bagging=BaggedRegressor(n_bags=2, random_state=0))
    for wrong in (["a", "b"], [[0.5], [0.2, 0.3]], None):
        with pytest.raises(ValueError, match="must return finite scores"):
            stable_ranking(lambda X, y, wrong=wrong: wrong, X, None, bagging=BaggedRegressor(n_bags=2, random_state=0))
    with pytest.raises(ValueError, match="scores for bag 1, and"):
        stable_ranking(
            lambda X, y: np.eye(int(X.sum()) + 2)[0], X, None, bagging=BaggedRegressor(n_bags=2, random_state=0)
        )


def test_k_must_not_exceed_the_number_of_items():
    with pytest.raises(ValueError, match="at most 3, the number of items"):
        stable_ranking(shares, X, None, k=4, bagging=BaggedRegressor(n_bags=2, random_state=0))


# ------------------------------------------------------------------------------------------------------------ rank sets


def listed(scores, epsilon):
    """All rankings of the set, by going through all permutations."""
    items = range(len(scores))

    def fits(ranking):
        steps = (inflated_argmax(np.asarray(scores)[list(ranking[place:])], epsilon)[0] for place in items)
        return all(steps)

    return {ranking for ranking in itertools.permutations(items) if fits(ranking)}


def random_pair(rng):
    scores = rng.random(rng.integers(1, 6)).round(rng.choice([1, 15]))
    step = rng.normal(size=len(scores))
    return scores, step / np.linalg.norm(step)


def test_rankings_equal_golden_values():
    rankings = RankSets([0.5, 0.45, 0.2], 0.1)
    assert set(rankings) == {(0, 1, 2), (1, 0, 2)} == listed([0.5, 0.45, 0.2], 0.1)


@pytest.mark.slow
def test_iteration_size_and_membership_follow_the_definition():
    rng = np.random.default_rng(0)
    for _ in range(150):
        scores, _ = random_pair(rng)
        rankings, expected = RankSets(scores, 0.3), listed(scores, 0.3)
        assert len(list(rankings)) == rankings.size() == len(expected)
        assert set(rankings) == expected
        every = itertools.permutations(range(len(scores)))
        assert {ranking for ranking in every if ranking in rankings} == expected
        assert rankings.first(1)[0] == tuple(np.argsort(-scores, kind="stable"))


def test_common_finds_a_ranking_exactly_if_there_is_one():
    rng, found = np.random.default_rng(1), set()
    for _ in range(300):
        scores, step = random_pair(rng)
        one, other = RankSets(scores, 0.15), RankSets(scores + step * rng.choice([0.2, 0.4, 0.8]), 0.15)
        both = set(one) & set(other)
        common = one.common(other)
        assert one.intersects(other) == other.intersects(one) == bool(both)
        assert common in both if both else common is None
        found.add(bool(both))
    assert found == {True, False}


def test_scores_less_than_epsilon_apart_have_a_ranking_in_common():
    rng = np.random.default_rng(2)
    for _ in range(1000):
        scores, step = random_pair(rng)
        epsilon = rng.choice([0.05, 0.3, 0.9])
        other = RankSets(scores + step * epsilon * (1 - 1e-6), epsilon)
        assert RankSets(scores, epsilon).intersects(other)


def test_intersects_works_for_many_items():
    scores = np.linspace(0, 0.01, 120)
    one, other = RankSets(scores, 0.1), RankSets(scores[::-1], 0.1)
    assert one.intersects(other)
    assert len(one.first(5)) == 5
    with pytest.raises(ValueError, match="more than 10,000 rankings"):
        one.size()
    assert repr(one).endswith(", ...")


def test_intersects_works_for_near_ties_among_many_items():
    """Items 38 and 39 are swapped far apart, behind 38 others that may be ranked in any order: 2^38 sets of them."""
    scores = np.concatenate([np.linspace(1.0, 1.001, 38), [0.5, 0.0]])
    other = scores.copy()
    other[38:] = other[38:][::-1]
    one = RankSets(scores, 0.1)
    assert not one.intersects(RankSets(other, 0.1))
    assert one.common(RankSets(scores, 0.1)) in one
    rounds = common_rounds(scores, np.stack([scores, other]), 0.1)
    assert (rounds[0] >= 0).all()
    assert np.flatnonzero(rounds[1] < 0).tolist() == [38, 39]


def test_sets_of_different_epsilon_can_be_compared():
    wide, narrow = RankSets([0.5, 0.45], 0.1), RankSets([0.4, 0.5], 0.01)
    assert wide.common(narrow) == narrow.common(wide) == (1, 0)
    assert not RankSets([0.5, 0.45], 0.01).intersects(narrow)


def test_caches_are_not_pickled():
    rankings = RankSets(np.linspace(0, 0.01, 60), 0.1)
    before = len(pickle.dumps(rankings))
    rankings.first(50)
    rankings.intersects(RankSets(np.linspace(0.01, 0, 60), 0.1))
    assert len(pickle.dumps(rankings)) == before


def test_invalid_rankings_raise():
    rankings = RankSets([0.5, 0.45, 0.2], 0.1)
    with pytest.raises(ValueError, match="the positions 0 to 2 of all items"):
        _ = (0, 1, 1) in rankings
    with pytest.raises(TypeError, match="a sequence of the positions"):
        _ = 3 in rankings
    with pytest.raises(ValueError, match="rankings of the same 3 items"):
        rankings.common(RankSets([0.5], 0.1))
    with pytest.raises(TypeError, match="RankSets of the same items"):
        rankings.intersects([(0, 1, 2)])
    with pytest.raises(ValueError, match="finite numbers, one for each item"):
        RankSets([[0.5]], 0.1)
    for scores in (["a", "b"], [[0.1], [0.2, 0.3]]):
        with pytest.raises(ValueError, match="'scores' parameter of RankSets must be an array of numbers"):
            RankSets(scores, 0.1)


# ---------------------------------------------------------------------------------------------------------------- top k


SCORES = [0.9, 0.6, 0.55, 0.52, 0.1]


@pytest.mark.parametrize(("k", "items"), [(1, {0}), (2, {0, 1, 2}), (3, {0, 1, 2, 3}), (5, {0, 1, 2, 3, 4})])
def test_top_k_sets_equal_golden_values(k, items):
    assert set(np.flatnonzero(top_k_sets(SCORES, k, 0.1))) == items


def by_the_other_definition(scores, k, epsilon):
    """Item j is in the set if it is in the inflated argmax without the k - 1 largest of the other items."""
    found = []
    for item, score in enumerate(scores):
        others = np.sort(np.delete(scores, item))[: len(scores) - k]
        found.append(inflated_argmax([score, *others], epsilon)[0])
    return np.array(found)


def random_scores(rng):
    """Often close, and often equal."""
    scores = rng.random(rng.integers(1, 8)) * rng.choice([0.1, 1.0])
    return scores.round(rng.choice([1, 2, 15]))


@pytest.mark.slow
def test_both_definitions_of_top_k_sets_agree_even_with_ties():
    rng = np.random.default_rng(0)
    for _ in range(2000):
        scores, epsilon = random_scores(rng), rng.choice([0.01, 0.1, 0.5])
        k = rng.integers(1, len(scores) + 1)
        assert (top_k_sets(scores, k, epsilon) == by_the_other_definition(scores, k, epsilon)).all()


def neighbours(scores, epsilon, rng):
    """Scores a little less than epsilon away: in a random direction, or with two items at the border swapped."""
    step = rng.normal(size=len(scores))
    if len(scores) > 1 and rng.random() < 0.7:
        order = np.argsort(-scores)
        place = rng.integers(1, len(scores))
        step = np.zeros(len(scores))
        step[order[place:]] = rng.random(len(scores) - place) ** 4
        step[order[:place]] = -(rng.random(place) ** 4)
    return scores + step / np.linalg.norm(step) * epsilon * (1 - 1e-6)


@pytest.mark.slow
def test_scores_less_than_epsilon_apart_have_k_items_in_common():
    rng = np.random.default_rng(1)
    for _ in range(5000):
        scores, epsilon = random_scores(rng), rng.choice([0.05, 0.2, 0.6])
        k, other = rng.integers(1, len(scores) + 1), neighbours(scores, epsilon, rng)
        assert (top_k_sets(scores, k, epsilon) & top_k_sets(other, k, epsilon)).sum() >= k


def test_top_k_sets_of_several_points_and_of_equal_scores():
    scores = np.random.default_rng(2).random((50, 6)).round(1)
    found = top_k_sets(scores, 3, 0.2)
    for line, mask in zip(scores, found, strict=True):
        assert (top_k_sets(line, 3, 0.2) == mask).all()
        assert all(mask[line == score].min() == mask[line == score].max() for score in line)
    assert (found.sum(axis=1) >= 3).all()


def test_top_k_sets_rejects_invalid_k_and_scores():
    with pytest.raises(ValueError, match=r"at most 5, the number of items\. Got 6"):
        top_k_sets(SCORES, 6, 0.1)
    with pytest.raises(ValueError, match="an integer >= 1"):
        top_k_sets(SCORES, 0, 0.1)
    with pytest.raises(ValueError, match="finite"):
        top_k_sets([0.1, np.nan], 1, 0.1)
    with pytest.raises(ValueError, match="of shape"):
        top_k_sets(0.5, 1, 0.1)


# ---------------------------------------------------------------------------------------------------------- importances


def test_importances_take_precedence_over_absolute_coefficients(data):
    X, y = data
    tree = DecisionTreeRegressor(random_state=0)
    assert (Importances(tree)(X, y, 1) == tree.fit(X, y).feature_importances_).all()
    assert Importances(LinearRegression())(X, -y, 0) == pytest.approx(np.abs(LinearRegression().fit(X, y).coef_))
    assert Importances(LogisticRegression())(X, y > 0, 0).shape == (5,)  # of shape (1, 5) there


def test_the_last_step_of_a_pipeline_is_used(data):
    assert Importances(make_pipeline(StandardScaler(), LinearRegression()))(*data, 0).shape == (5,)


def test_the_learner_gets_the_seed_of_the_bag(data):
    scores = [Importances(ExtraTreeRegressor(max_depth=2))(*data, seed).tolist() for seed in (1, 1, 2)]
    assert scores[0] == scores[1] != scores[2]


def test_learners_without_importances_raise(data):
    X, y = data
    with pytest.raises(TypeError, match="neither feature_importances_ nor coef_"):
        Importances(KNeighborsRegressor())(X, y, 0)
    with pytest.raises(TypeError, match="coefficients for 3 outputs"):
        Importances(LogisticRegression())(X, np.digitize(y, [-0.5, 0.5]), 0)


# ---------------------------------------------------------------------------------------------------- left out rankings


MEASURED = LeftOutRankings(
    np.array([True, True, False]),
    np.array([True, False, False]),
    np.array([True, True, False]),
    np.array([True, True, True]),
    np.array([0.1, 0.2, 0.3]),
    2,
    Names(np.array(["ann", "bob", "eve"])),
    Noun("patient", "patients"),
)


def test_to_frame_is_indexed_by_row_ids_or_groups():
    assert MEASURED.to_frame().loc["bob"].tolist() == [True, False, True, True, 0.2]


def test_explain_counts_the_changes():
    said = " ".join(str(MEASURED).split())
    assert "one of the 3 patients at a time: the order of the items changes for 2 of them, and the top 2 for 1" in said
    assert "none in common for 1, and the top-2 sets have fewer than 2 items in common for 0." in said
    assert len(MEASURED) == 3
