"""Which rows flip which decisions."""

import copy
import dataclasses
import enum
import math
import operator
import pickle
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold, RandomizedSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    Subbagging,
    inflated_argmax,
    leave_one_out,
    select_model,
)
from stablebag._wording import Noun
from stablebag.deciding import LeftOutSelections, search_winner, selection_stability
from stablebag.deciding.selection import RULES, _hashable, key_of, plain_choice, with_phantom
from stablebag.measuring.perturbations import Names
from stablebag.proving import VectorOutputs, bounds

# ------------------------------------------------------------------------------------------------------------ selection


X = np.arange(8.0)[:, None]


def largest(X, y):
    return int(X.max())


def test_shares_of_all_bags_are_probabilities():
    """Of three of eight rows, the largest is 7 with probability 3 / 8, and 6 with 5 / 8 * 3 / 7 = 15 / 56."""
    selection = select_model(largest, X, None, epsilon=0.1, bagging=BaggedRegressor(scheme=Subbagging(3), n_bags="all"))
    assert selection.choices == [7, 6, 5, 4, 3, 2]
    assert selection.shares == pytest.approx([21 / 56, 15 / 56, 10 / 56, 6 / 56, 3 / 56, 1 / 56])
    assert selection.selected == [7]
    assert selection.winner == 7
    assert not selection.selects_all
    assert (7 in selection, 6 in selection, len(selection)) == (True, False, 1)


def test_epsilon_with_all_bags_is_that_of_the_theorem():
    constant = Subbagging(25).resolve(300).constant
    assert bounds.vector_epsilon(0.05, constant, radius=1.0) == pytest.approx(0.0779799695184, abs=1e-12)
    # Counting whole rows, 16 of 300 cannot be moved as far as sqrt(15 / 16) of it.
    counted = Certificate(Subbagging(25), 300, outputs=VectorOutputs(math.sqrt(2))).epsilon(0.05)
    assert counted == pytest.approx(0.0779799695184 * math.sqrt(15 / 16), abs=1e-12)


def test_without_the_phantom_choice_close_votes_can_have_nothing_in_common():
    """What a reference implementation does: two sets of 23 choices, hardly apart and with none in common."""
    votes = np.zeros((2, 46))
    votes[0, :23] = votes[1, 23:] = 1 / 23
    assert np.linalg.norm(votes[0] - votes[1]) == pytest.approx(0.2948839, abs=1e-7)
    with_votes = [inflated_argmax(line[line > 0], 0.3) for line in votes]
    assert all(found.all() for found in with_votes)  # all 23, and none of the other 23
    selected, everything = with_phantom(votes, 0.3)
    assert selected.all()
    assert everything.all()
    level = (1 - 0.3 / math.sqrt(2)) / 24  # where the nearest scores with the phantom ahead have all the others
    distance = math.hypot(math.sqrt(23) * (1 / 23 - level), level + 0.3 / math.sqrt(2))
    assert distance == pytest.approx(0.2502284231, abs=1e-10)


def test_one_phantom_choice_stands_for_any_number_of_choices_without_votes():
    rng = np.random.default_rng(0)
    for _ in range(500):
        shares = rng.dirichlet(np.full(rng.integers(1, 12), 0.7))
        epsilon = rng.uniform(0.01, 1.41)
        many = inflated_argmax(np.concatenate([shares, np.zeros(30)]), epsilon)
        selected, everything = with_phantom(shares, epsilon)
        assert (many[: len(shares)] == selected).all()
        assert (many[len(shares) :] == everything).all()


def test_epsilon_of_sqrt_two_selects_everything():
    assert with_phantom(np.array([1.0, 0.0]), math.sqrt(2) * (1 + 1e-9))[1]
    assert select_model(largest, X, None, delta=0.0, bagging=BaggedRegressor(n_bags=10, random_state=0)).selects_all


def test_spread_votes_select_everything():
    selection = select_model(lambda X, y: tuple(X[:, 0]), X, None, bagging=BaggedRegressor(n_bags=30, random_state=0))
    assert selection.selects_all
    assert len(selection) == len(selection.choices)
    assert "a choice that no bag made" in selection
    assert "Nothing is decided" in " ".join(str(selection).split())


def test_with_all_bags_leaving_out_equals_selecting_under_the_law_without_the_row():
    options = {"bagging": BaggedRegressor(scheme=Subbagging(3), n_bags="all"), "epsilon": 0.3}
    selection = select_model(largest, X, None, **options)
    measured = selection.leave_one_out()
    for row in range(8):
        other = select_model(largest, np.delete(X, row, axis=0), None, **options)
        assert measured.changes_winner[row] == (other.winner != selection.winner)
        assert measured.overlaps[row] == bool(set(other.selected) & set(selection.selected))
        shares = dict(zip(other.choices, other.shares, strict=True))
        moved = [
            shares.get(choice, 0.0) - share for choice, share in zip(selection.choices, selection.shares, strict=True)
        ]
        assert measured.distance[row] == pytest.approx(np.linalg.norm(moved))
    assert measured.rows_that_change_the_winner().tolist() == [7]


def test_leaving_out_counts_the_votes_of_bags_without_the_row():
    selection = select_model(largest, X, None, bagging=BaggedRegressor(scheme=Subbagging(3), n_bags=60, random_state=0))
    bags = Subbagging(3).resolve(8).draw(60, 0)
    without = [int(max(bag)) for bag in bags if 4 not in bag]
    shares = [without.count(choice) / len(without) for choice in selection.choices]
    assert selection.leave_one_out().distance[4] == pytest.approx(np.linalg.norm(shares - selection.shares))


def brute_force(selection, bags, row):
    """The winners and the selected choices from the votes of the bags without a row, counted one by one."""
    made = [int(max(bag)) for bag in bags if row not in bag]
    shares = {choice: made.count(choice) / len(made) for choice in selection.choices}
    most = max(shares.values())
    inside, everything = with_phantom(np.array(list(shares.values())), selection.epsilon)
    chosen = {choice for choice, one in zip(shares, inside, strict=True) if one}
    return {choice for choice, share in shares.items() if share == most}, chosen, bool(everything)


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.6])
def test_measured_changes_follow_from_the_choices_of_the_bags(epsilon):
    bagging = BaggedRegressor(scheme=Subbagging(3), n_bags=60, random_state=1)
    selection = select_model(largest, X, None, epsilon=epsilon, bagging=bagging)
    bags, measured = Subbagging(3).resolve(8).draw(60, 1), selection.leave_one_out()
    for row in range(8):
        winners, chosen, everything = brute_force(selection, bags, row)
        assert measured.changes_winner[row] == (selection.winner not in winners)
        overlaps = bool(chosen & set(selection.selected)) or everything or selection.selects_all
        assert measured.overlaps[row] == overlaps
    assert measured.changes_winner.any()


def choose(X, y, seed):
    """The largest row of a bag, or any number, if its learner's seed says so."""
    return int(X.max()) if seed % 5 else int(seed % 3)


@pytest.mark.slow
def test_a_run_without_a_row_keeps_the_choices_of_bags_without_it():
    """And if no row of the others takes its place, it is what is measured from the same bags."""
    bagging = BaggedRegressor(scheme=BernoulliSubbagging(0.5), n_bags=40, random_state=3)
    options = {"bagging": bagging, "epsilon": 0.3}
    selection = select_model(choose, X, None, row_ids=np.arange(8), **options)
    bags = BernoulliSubbagging(0.5).resolve(8).draw(40, 3)
    for row in range(8):
        rest = np.delete(np.arange(8), row)
        again = select_model(choose, X[rest], None, row_ids=rest, **options)
        for number, bag in enumerate(bags):
            if row not in bag:
                assert again.choices[again.votes[number]] == selection.choices[selection.votes[number]]
    bagging.set_params(n_bags="all")
    total = select_model(choose, X, None, row_ids=np.arange(8), **options)
    measured = total.leave_one_out()
    for row in range(8):
        rest = np.delete(np.arange(8), row)
        again = select_model(choose, X[rest], None, row_ids=rest, **options)
        shares = dict(zip(again.choices, again.shares, strict=True))
        moved = [share - shares.get(choice, 0.0) for choice, share in zip(total.choices, total.shares, strict=True)]
        assert measured.distance[row] == pytest.approx(np.linalg.norm(moved))
        assert measured.overlaps[row] == bool({*again.selected} & {*total.selected})


@pytest.mark.slow
@pytest.mark.parametrize("scheme", [Subbagging(3), BernoulliSubbagging(0.4)], ids=str)
def test_runs_without_a_row_keep_the_guarantee(scheme):
    """In 5 pairs of runs for each row, matched by seed and names; nothing is random, as the seeds are fixed."""
    lost, moved, delta = [], [], 1.0
    for seed in range(5):
        options = {"bagging": BaggedRegressor(scheme=scheme, n_bags=20, random_state=seed), "epsilon": 0.7}
        selection = select_model(choose, X, None, row_ids=np.arange(8), **options)
        delta = selection.delta
        for row in range(8):
            rest = np.delete(np.arange(8), row)
            again = select_model(choose, X[rest], None, row_ids=rest, **options)
            both = set(selection.choices) | set(again.choices)
            mine, theirs = (dict(zip(one.choices, one.shares, strict=True)) for one in (selection, again))
            moved.append(math.dist([mine.get(c, 0.0) for c in both], [theirs.get(c, 0.0) for c in both]))
            everything = selection.selects_all or again.selects_all
            lost.append(not everything and not {*selection.selected} & {*again.selected})
            assert moved[-1] >= 0.7 or not lost[-1]
    assert 0 < delta < 1
    assert np.mean(lost) <= delta
    assert np.mean(np.square(moved)) <= delta * 0.7**2 * (1 + 1e-6)  # which the promise rests on
    assert max(moved) > 0.2  # the largest row matters


def test_vote_delta_needs_all_bags_and_a_given_epsilon():
    selection = select_model(largest, X, None, epsilon=0.5, bagging=BaggedRegressor(scheme=Subbagging(4), n_bags="all"))
    gini = 1 - (selection.shares**2).sum()
    assert selection.vote_delta == pytest.approx(gini / 7 / 0.25)
    assert selection.vote_delta < selection.delta
    assert "Proved for this data set, from its votes" in selection.guarantee
    assert (
        select_model(largest, X, None, bagging=BaggedRegressor(scheme=Subbagging(4), n_bags="all")).vote_delta is None
    )
    assert (
        select_model(largest, X, None, epsilon=0.5, bagging=BaggedRegressor(n_bags=20, random_state=0)).vote_delta
        is None
    )


def test_groups_are_left_out_instead_of_rows():
    pd = pytest.importorskip("pandas")
    patients = pd.Series(list("aabbccdd"), name="patient")
    selection = select_model(
        largest, X, None, groups=patients, delta=0.25, bagging=BaggedRegressor(scheme=Subbagging(2), n_bags="all")
    )
    assert selection.shares == pytest.approx([1 / 2, 1 / 3, 1 / 6])
    assert "for all but at most 1 of the 4 groups" in " ".join(selection.guarantee.split())
    assert selection.leave_one_out().rows_that_change_the_winner().tolist() == ["d"]


def test_an_empty_bag_chooses_none():
    selection = select_model(
        largest, X, None, bagging=BaggedRegressor(scheme=BernoulliSubbagging(0.1), n_bags=50, random_state=0)
    )
    assert None in selection.choices


def test_to_frame_has_a_line_per_choice():
    frame = select_model(
        lambda X, y: frozenset(X[:2, 0]), X, None, bagging=BaggedRegressor(n_bags=5, random_state=0)
    ).to_frame()
    assert list(frame) == ["choice", "share", "selected"]
    assert frame["share"].sum() == pytest.approx(1)


def test_the_selector_gets_rows_with_their_targets():
    labels = np.array(list("ababcbab"))
    seen = select_model(
        lambda X, y: (y == labels[X[:, 0].astype(int)]).all(),
        X,
        labels,
        bagging=BaggedRegressor(n_bags=9, random_state=0),
    )
    assert seen.choices == [True]
    assert type(seen.winner) is bool
    agreed = select_model(
        lambda X, y: "same", X, labels, epsilon=0.5, bagging=BaggedRegressor(n_bags=9, random_state=0)
    )
    assert agreed.explain().startswith("All bags make the same choice (9 bags), which is selected: same (100%).")


def test_an_invalid_choice_raises_an_error_that_names_the_bag():
    with pytest.raises(TypeError, match=r"Selector failed to fit on bag 0 .*hashable.*Return a tuple"):
        select_model(lambda X, y: [1], X, None, bagging=BaggedRegressor(n_bags=3, random_state=0))
    with pytest.raises(TypeError, match=r"compared by value.*Return its name or parameters"):
        select_model(lambda X, y: object(), X, None, bagging=BaggedRegressor(n_bags=3, random_state=0))
    with pytest.raises(TypeError, match="The 'selector' parameter of select_model must be a function"):
        select_model("lasso", X, None)


def of_size(X, y):
    """The same choice in every bag, with a missing number and numpy's own numbers in it."""
    return ("none", (np.float64("nan"), frozenset([float("nan"), np.int64(len(X))])))


@pytest.mark.parametrize("jobs", [1, 2])
def test_choices_with_nan_are_equal_across_processes(jobs):
    selection = select_model(of_size, X, None, bagging=BaggedRegressor(n_bags=12, n_jobs=jobs, random_state=0))
    assert len(selection.choices) == 1
    assert of_size(X[:4], None) in selection
    assert of_size(X[:3], None) not in select_model(
        of_size, X, None, epsilon=0.1, bagging=BaggedRegressor(n_bags=12, random_state=0)
    )


def test_choices_of_different_types_are_different():
    """Of the eight rows, bag b has the first row or not; whether 1, 1.0 or True is chosen hangs on the first row."""
    kinds = [1, 1.0, True, np.int64(1)]
    selection = select_model(
        lambda X, y: kinds[int(X.min()) % 4], X, None, bagging=BaggedRegressor(scheme=Subbagging(1), n_bags="all")
    )
    assert sorted(map(str, selection.choices)) == ["1", "1.0", "True"]
    assert sorted(selection.shares) == pytest.approx([1 / 4, 1 / 4, 1 / 2])
    few = select_model(lambda X, y: 1, X, None, epsilon=0.1, bagging=BaggedRegressor(n_bags=9, random_state=0))
    assert [choice in few for choice in (1, 1.0, True, np.int64(1))] == [True, False, False, True]


def test_pandas_na_is_a_choice():
    pd = pytest.importorskip("pandas")
    selection = select_model(
        lambda X, y: pd.NA, X, None, epsilon=0.5, bagging=BaggedRegressor(n_bags=9, random_state=0)
    )
    assert selection.choices == [pd.NA]
    assert "<NA> (100%)" in str(selection)


@pytest.mark.parametrize(("rows", "targets"), [(None, None), (None, [1, 2]), ((row for row in X), None), (3.0, [1, 2])])
def test_x_must_be_a_table(rows, targets):
    with pytest.raises((TypeError, ValueError), match=r"The 'X' parameter of select_model must be .* rows"):
        select_model(largest, rows, targets, bagging=BaggedRegressor(n_bags=3))


def test_explain_with_all_bags_and_without_a_guarantee():
    thin = select_model(
        lambda X, y: tuple(X[:, 0]), X, None, epsilon=0.9, bagging=BaggedRegressor(scheme=Subbagging(4), n_bags="all")
    )
    assert "the votes of all bags are spread over 70 choices (most votes: " in " ".join(str(thin).split())
    assert "at epsilon = 0.9:" in " ".join(str(thin).split())
    vain = select_model(largest, X, None, epsilon=0.05, bagging=BaggedRegressor(scheme=Subbagging(4), n_bags="all"))
    assert vain.guarantee == "Nothing is proved at epsilon = 0.05: it is too small for 8 rows."


def test_a_row_in_every_bag_raises():
    with pytest.raises(ValueError, match="With 1 bag, 4 rows are never left out"):
        select_model(largest, X, None, bagging=BaggedRegressor(n_bags=1, random_state=0)).leave_one_out()


# -------------------------------------------------------------------------------------------------------------- choices


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass(frozen=True)
class Pair:
    one: float
    two: float


def key(choice):
    return key_of(choice, "selector", "select_model")


@pytest.mark.parametrize(
    "choice",
    [None, "a", 2, (math.nan, 1), frozenset([math.nan]), Pair(math.nan, 1.0), Colour.RED, Ridge, operator.add, np.add,
     np.float64("nan"), ((math.nan,),), np.datetime64("NaT"), complex(math.nan, 1)],
    ids=repr,
)  # fmt: skip
def test_choices_are_equal_after_pickling(choice):
    assert key(pickle.loads(pickle.dumps(choice))) == key(choice)


def test_types_are_distinguished_even_inside_tuples():
    ones = [1, 1.0, True, "1", (1,), (1.0,), (True,), frozenset([1]), frozenset([1.0]), Pair(1, 1), Pair(1.0, 1), None]
    assert len({key(choice) for choice in ones}) == len(ones)
    assert key((np.int64(1), np.str_("a"), np.bool_(True))) == key((1, "a", True))
    assert type(plain_choice((np.float64(2.0),))[0]) is float


@pytest.mark.parametrize(
    "choice", [Ridge(), object(), lambda: 0, operator.itemgetter(0)], ids=lambda c: type(c).__name__
)
def test_objects_compared_by_identity_raise(choice):
    with pytest.raises(TypeError, match="'selector' parameter of select_model must be"):
        key(choice)
    with pytest.raises(TypeError, match="compared by value"):
        key(("a", choice))


def test_unhashable_choices_raise():
    for choice in ([1], {1}, np.arange(2), (1, [2])):
        with pytest.raises(TypeError, match="hashable"):
            key(choice)


# -------------------------------------------------------------------------------------------------- left out selections


MEASURED = LeftOutSelections(
    np.array([True, False, True]),
    np.array([True, True, False]),
    np.array([0.1, 0.2, 0.3]),
    Names(np.array(["ann", "bob", "eve"])),
    Noun("patient", "patients"),
)


def test_rows_that_change_the_winner_are_named():
    assert MEASURED.rows_that_change_the_winner().tolist() == ["ann", "eve"]
    assert MEASURED.to_frame().loc["eve"].tolist() == [True, False, 0.3]
    assert len(MEASURED) == 3


def test_explain_names_groups():
    assert "changes for 2 of them (ann, eve)." in " ".join(str(MEASURED).split())
    assert "none in common with those of all patients for 1" in " ".join(str(MEASURED).split())


def test_instability_is_a_share_of_all_rows():
    assert (round(MEASURED.instability, 9), round(MEASURED.winner_instability, 9)) == (0.333333333, 0.666666667)


# -------------------------------------------------------------------------------------------------------- search winner


def test_search_winner_returns_the_best_parameters(data):
    search = GridSearchCV(Ridge(), {"alpha": [0.1, 1000.0], "fit_intercept": [True, False]})
    choice = search_winner(search)(*data, seed=0)
    assert dict(choice) == search.fit(*data).best_params_
    assert hash(choice) == hash(search_winner(search)(*data, seed=1))


def test_unhashable_parameters_become_hashable(data):
    pipeline = make_pipeline(StandardScaler(), Ridge())
    grid = {"standardscaler": [StandardScaler(), MinMaxScaler(feature_range=(0, 2))], "ridge__alpha": np.array([0.1])}
    choice = search_winner(GridSearchCV(pipeline, grid))(*data, seed=0)
    assert choice[0] == ("ridge__alpha", 0.1)
    assert choice[1][1] in ("StandardScaler()", "MinMaxScaler(feature_range=(0, 2))")


def test_seeds_within_a_search_depend_on_the_bag(data):
    folds = KFold(3, shuffle=True)
    search = RandomizedSearchCV(DecisionTreeRegressor(), {"max_depth": range(1, 9)}, n_iter=3, cv=folds)
    winner = search_winner(search)
    assert winner(*data, seed=5) == winner(*data, seed=5)
    assert len({winner(*data, seed=seed) for seed in range(8)}) > 1
    assert search.random_state is None
    assert folds.random_state is None


def test_votes_on_the_winner_do_not_depend_on_n_jobs(data):
    winner = search_winner(GridSearchCV(Ridge(), {"alpha": [1.0, 10.0, 100.0]}, cv=3))
    bagging = BaggedRegressor(scheme=Subbagging(0.3), n_bags=20, random_state=0)
    one, two = (select_model(winner, *data, bagging=bagging.set_params(n_jobs=jobs)) for jobs in (1, 2))
    assert one.choices == two.choices
    assert (one.shares == two.shares).all()
    assert "alpha=" in one.explain()


@pytest.mark.parametrize("values", [[np.nan], [KFold(2)], [partial(max, 1)]], ids=str)
def test_equal_parameters_in_different_objects_are_one_choice(values):
    keys = {key_of(_hashable(pickle.loads(pickle.dumps(value))), "search", "search_winner") for value in values * 3}
    assert len(keys) == 1
    assert _hashable(KFold(2)) != _hashable(KFold(3))


def test_parameters_of_different_types_are_different_choices():
    """A tree that looks at 1 feature in a split, and one that looks at all of them (1.0)."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    y = X.sum(axis=1)
    search = GridSearchCV(DecisionTreeRegressor(random_state=0), {"max_features": [1, 1.0]}, cv=2)
    found = select_model(
        search_winner(search), X, y, bagging=BaggedRegressor(scheme=Subbagging(0.5), n_bags=12, random_state=0)
    )
    values = [dict(choice)["max_features"] for choice in found.choices]
    assert sorted(map(repr, values)) == ["1", "1.0"]


def test_nan_is_not_the_string_nan():
    assert key_of(_hashable(np.nan), "a", "b") != key_of(_hashable("nan"), "a", "b")


def test_estimators_with_the_same_shortened_repr_are_different_choices():
    long = [make_pipeline(*[MinMaxScaler((0, k + n)) for k in range(1, 40)]) for n in (0, 1)]
    assert "..." in repr(long[0])
    assert _hashable(long[0]) != _hashable(long[1])
    assert _hashable(long[0]) == _hashable(copy.deepcopy(long[0]))


def test_search_winner_needs_best_params():
    with pytest.raises(TypeError, match="an unfitted search"):
        search_winner(GridSearchCV)
    several = GridSearchCV(Ridge(), {"alpha": [1.0]}, scoring=["r2", "max_error"], refit=False)
    with pytest.raises(ValueError, match="set refit to the one that decides"):
        search_winner(several)
    with pytest.raises(TypeError, match=r"an unfitted search.*it has no best_params_ after fit"):
        search_winner(Ridge())
    with pytest.raises(TypeError, match=r"an unfitted search.*it has no best_params_ after fit"):
        select_model(
            search_winner(BaggingRegressor(n_estimators=2)),
            np.ones((9, 1)),
            np.arange(9.0),
            bagging=BaggedRegressor(n_bags=2),
        )


# -------------------------------------------------------------------------------------------------- selection stability


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.index = [f"bottle {i}" for i in X.index]
    return X[["alcohol", "ash"]], y.to_numpy()  # two columns are not enough to be sure


@pytest.fixture(scope="module")
def model(wine):
    X, y = wine
    return BaggedClassifier(n_bags=80, random_state=0).fit(X[::2], y[::2])


@pytest.fixture(scope="module")
def measured(model, wine):
    return selection_stability(model, wine[0][1::2], delta=0.3)


def test_flips_equal_those_of_leave_one_out(model, wine, measured):
    moved = leave_one_out(model, wine[0][1::2])
    epsilon = measured.sets.epsilon
    assert (measured.flips["argmax"] == moved.flips()).all()
    with_all = inflated_argmax(moved.prediction, epsilon)
    disjoint = np.array([~(inflated_argmax(line, epsilon) & with_all).any(axis=1) for line in moved.left_out])
    assert (measured.flips["inflated-argmax"] == disjoint).all()
    assert measured.delta("inflated-argmax") == pytest.approx(disjoint.mean(axis=0))


def test_rows_flip_the_argmax_where_they_do_not_flip_sets(measured):
    assert measured.delta("argmax").max() > 0
    assert measured.delta("inflated-argmax").max() <= measured.sets.delta


def test_rows_that_flip_are_named(model, wine, measured):
    point = int(measured.delta().argmax())
    names = measured.rows_that_flip(point)
    assert len(names) == measured.flips["argmax"][:, point].sum()
    assert set(names) <= set(wine[0].index[::2])
    calm = int(measured.delta().argmin())
    assert len(measured.rows_that_flip(calm)) == 0
    row = list(wine[0].index[::2]).index(names[0])
    left_out = leave_one_out(model, wine[0][1::2]).left_out[row, point]
    assert left_out.argmax() != measured.sets.prediction[point].argmax()


def test_to_frame_has_a_line_per_point(wine, measured):
    frame = measured.to_frame()
    assert list(frame.columns) == list(RULES)
    assert list(frame.index) == list(wine[0].index[1::2])
    assert frame["argmax"].to_numpy() == pytest.approx(measured.delta())


def test_explain_states_the_measurement_and_the_guarantee(measured):
    said = str(measured)
    assert repr(measured).splitlines()[0].split() == ["point", "argmax", "inflated-argmax"]
    assert "Measured at these 89 points with the fitted bags, leaving out each of 89 rows" in said
    assert "Proved for these 80 bags and" in said
    assert "Measured" in measured._repr_html_()


def test_selection_stability_leaves_out_groups(wine):
    X, y = wine
    groups = pd.Series([f"estate {i}" for i in np.arange(89) // 3], name="estate_id")
    model = BaggedClassifier(n_bags=80, random_state=0).fit(X[::2], y[::2], groups=groups)
    measured = selection_stability(model, X[1::2], epsilon=0.2)
    assert measured.flips["argmax"].shape == (30, 89)
    assert "leaving out each of 30 groups" in str(measured)
    assert " row" not in str(measured)
    assert measured.rows_that_flip(int(measured.delta().argmax()))[0].startswith("estate ")


@pytest.mark.slow
def test_results_do_not_depend_on_the_block_size(model, wine, measured, monkeypatch):
    X, y = wine
    labels = y[:40] + np.arange(40) % 2
    listed = BaggedClassifier(KNeighborsClassifier(1), scheme=Subbagging(2), n_bags="all").fit(X[:40], labels)
    whole = selection_stability(listed, X[1::2], delta=0.3)
    monkeypatch.setattr("stablebag.measuring.leave_one_out._LEFT_OUT", 1000)
    monkeypatch.setattr("stablebag.deciding.label_sets._ONCE", 0)
    for one, model_, points in ((measured, model, X[1::2]), (whole, listed, X[1::2])):
        again = selection_stability(model_, points, delta=0.3)
        assert all((again.flips[rule] == one.flips[rule]).all() for rule in RULES)


def test_invalid_arguments_raise(wine, measured):
    with pytest.raises(ValueError, match="one of"):
        measured.delta("majority")
    with pytest.raises(ValueError, match="less than 89, the number of points"):
        measured.rows_that_flip(89)
    with pytest.raises(ValueError, match=">= 0"):
        measured.rows_that_flip(-1)
    with pytest.raises(ValueError, match="read-only"):
        measured.flips["argmax"][0, 0] = True
    with pytest.raises(TypeError, match="The 'model' parameter of selection_stability"):
        selection_stability(BaggedRegressor(), wine[0])
