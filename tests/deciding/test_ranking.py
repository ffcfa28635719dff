import math

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, BernoulliSubbagging, Subbagging, stable_ranking
from stablebag.deciding import RankSets, top_k_sets
from stablebag.proving import VectorCertificate

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
def test_epsilon_is_that_of_the_certificate_for_the_stated_set(within, radius, diameter):
    ranking = stable_ranking(
        shares, X, None, within=within, bagging=BaggedRegressor(scheme=Subbagging(3), n_bags=40, random_state=0)
    )
    about = {"radius": radius, "diameter": diameter, "coupling": "matched"}
    certificate = VectorCertificate(Subbagging(3), 6, 40, **about)
    assert ranking.epsilon == pytest.approx(certificate.epsilon(0.05), rel=1e-8)
    assert str(ranking.within) in " ".join(ranking.explain().split())


def test_leaving_out_from_the_same_bags_is_ranking_under_the_law_without_the_row():
    about = {"bagging": BaggedRegressor(scheme=Subbagging(2), n_bags="all"), "epsilon": 0.12, "k": 2}
    ranking = stable_ranking(shares, X, None, **about)
    measured = ranking.leave_one_out()
    for row in range(6):
        other = stable_ranking(shares, np.delete(X, row, axis=0), None, **about)
        assert measured.distance[row] == pytest.approx(np.linalg.norm(other.scores - ranking.scores))
        both = top_k_sets(other.scores, 2, 0.12) & ranking.is_in_top_k
        assert measured.keeps_top_k[row] == (both.sum() >= 2)
        assert measured.keeps_ranking[row] == RankSets(other.scores, 0.12).intersects(ranking.rankings)


def test_what_is_kept_is_decided_for_every_row_however_many_items_are_close():
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
    assert stable_ranking(DecisionTreeRegressor(), *data, items=list("vwxyz"), bagging=bagging[0]).ranking[0] == "v"


def test_items_have_the_names_of_what_was_scored_and_no_others():
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
    with pytest.raises(ValueError, match="scores of other items on bag"):
        stable_ranking(lambda X, y: {X.index[0]: 0.5, -1: 0.5}, frame, y, **about)
    assert stable_ranking(make_pipeline(PCA(), LinearRegression()), frame.to_numpy(), y, **about).items == [0, 1]


def test_units_are_left_out_in_place_of_rows():
    pd = pytest.importorskip("pandas")
    patients = pd.Series(list("aabbcc"), name="patient")
    ranking = stable_ranking(
        shares, X, None, groups=patients, epsilon=1.2, bagging=BaggedRegressor(scheme=Subbagging(1), n_bags="all")
    )
    assert ranking.scores == pytest.approx([1 / 3] * 3)
    assert "3 patients" in ranking.guarantee
    assert ranking.leave_one_out().to_frame().index.tolist() == ["a", "b", "c"]


def test_a_bag_without_rows_has_equal_scores():
    ranking = stable_ranking(
        shares, X, None, bagging=BaggedRegressor(scheme=BernoulliSubbagging(0.1), n_bags=40, random_state=0)
    )
    empty = ranking.average.bags.sizes == 0
    assert empty.any()
    assert ranking.bag_scores[empty] == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="No bag has any rows"):
        stable_ranking(
            shares, X, None, bagging=BaggedRegressor(scheme=BernoulliSubbagging(0.001), n_bags=2, random_state=0)
        )


def test_scores_that_are_no_scores_are_refused_with_their_bag():
    with pytest.raises(ValueError, match=r"Scorer failed to fit on bag 0 .*add up to 2"):
        stable_ranking(lambda X, y: [1.0, 1.0], X, None, bagging=BaggedRegressor(n_bags=2, random_state=0))
    with pytest.raises(ValueError, match="one for each of two items or more"):
        stable_ranking(lambda X, y: [1.0], X, None, bagging=BaggedRegressor(n_bags=2, random_state=0))
    for wrong in (["a", "b"], [[0.5], [0.2, 0.3]], None):
        with pytest.raises(ValueError, match="Scores must be finite numbers"):
            stable_ranking(lambda X, y, wrong=wrong: wrong, X, None, bagging=BaggedRegressor(n_bags=2, random_state=0))
    with pytest.raises(ValueError, match="scores on bag 1, and"):
        stable_ranking(
            lambda X, y: np.eye(int(X.sum()) + 2)[0], X, None, bagging=BaggedRegressor(n_bags=2, random_state=0)
        )


def test_names_and_numbers_of_items_must_fit():
    with pytest.raises(ValueError, match="there are 3 items"):
        stable_ranking(shares, X, None, k=4, bagging=BaggedRegressor(n_bags=2, random_state=0))
    with pytest.raises(ValueError, match="3 different names"):
        stable_ranking(shares, X, None, items=["a", "a", "b"], bagging=BaggedRegressor(n_bags=2, random_state=0))
    for items in ([[1], [2], [3]], 7):
        with pytest.raises(ValueError, match="'items' parameter of stable_ranking must be 3 different names"):
            stable_ranking(shares, X, None, items=items, bagging=BaggedRegressor(n_bags=2, random_state=0))
