import math

import numpy as np
import pytest

from stablebag import BaggedRegressor, BernoulliSubbagging, Subbagging, inflated_argmax, select_model
from stablebag.deciding.selection import with_phantom
from stablebag.proving import VectorCertificate, bounds

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


def test_epsilon_is_that_of_the_theorem_with_infinitely_many_bags():
    constant = Subbagging(25).resolve(300).constant
    assert bounds.vector_epsilon(0.05, constant, radius=1.0) == pytest.approx(0.0779799695184, abs=1e-12)
    # Counting whole rows, 16 of 300 cannot be moved as far as sqrt(15 / 16) of it.
    counted = VectorCertificate(Subbagging(25), 300, radius=1.0, diameter=math.sqrt(2)).epsilon(0.05)
    assert counted == pytest.approx(0.0779799695184 * math.sqrt(15 / 16), abs=1e-12)


def test_without_the_phantom_near_votes_can_have_nothing_in_common():
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


def test_one_phantom_stands_for_any_number_of_choices_without_votes():
    rng = np.random.default_rng(0)
    for _ in range(500):
        shares = rng.dirichlet(np.full(rng.integers(1, 12), 0.7))
        epsilon = rng.uniform(0.01, 1.41)
        many = inflated_argmax(np.concatenate([shares, np.zeros(30)]), epsilon)
        selected, everything = with_phantom(shares, epsilon)
        assert (many[: len(shares)] == selected).all()
        assert (many[len(shares) :] == everything).all()


def test_from_a_distance_of_sqrt_2_on_everything_is_selected():
    assert with_phantom(np.array([1.0, 0.0]), math.sqrt(2) * (1 + 1e-9))[1]
    assert select_model(largest, X, None, delta=0.0, bagging=BaggedRegressor(n_bags=10, random_state=0)).selects_all


def test_thin_votes_select_everything_and_say_so():
    selection = select_model(lambda X, y: tuple(X[:, 0]), X, None, bagging=BaggedRegressor(n_bags=30, random_state=0))
    assert selection.selects_all
    assert len(selection) == len(selection.choices)
    assert "a choice that no bag made" in selection
    assert "nothing is decided" in " ".join(str(selection).split())


def test_leaving_out_from_the_same_bags_is_selecting_under_the_law_without_the_row():
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


def test_drawn_bags_count_the_votes_of_those_without_the_row():
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
def test_what_is_measured_is_what_the_bags_own_choices_say(epsilon):
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
def test_a_run_without_a_row_with_the_same_seed_and_names_keeps_the_choices_of_all_bags_without_it():
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
def test_runs_without_a_row_lose_all_selected_choices_at_most_as_often_as_promised(scheme):
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


def test_votes_give_a_smaller_delta_only_with_all_bags_and_an_epsilon_given_before():
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


def test_units_are_left_out_in_place_of_rows():
    pd = pytest.importorskip("pandas")
    patients = pd.Series(list("aabbccdd"), name="patient")
    selection = select_model(
        largest, X, None, groups=patients, delta=0.25, bagging=BaggedRegressor(scheme=Subbagging(2), n_bags="all")
    )
    assert selection.shares == pytest.approx([1 / 2, 1 / 3, 1 / 6])
    assert "for all but at most 1 of the 4 patients" in " ".join(selection.guarantee.split())
    assert selection.leave_one_out().rows_that_change_the_winner().tolist() == ["d"]


def test_a_bag_without_rows_chooses_none():
    selection = select_model(
        largest, X, None, bagging=BaggedRegressor(scheme=BernoulliSubbagging(0.1), n_bags=50, random_state=0)
    )
    assert None in selection.choices


def test_the_lines_of_the_frame_are_the_choices():
    frame = select_model(
        lambda X, y: frozenset(X[:2, 0]), X, None, bagging=BaggedRegressor(n_bags=5, random_state=0)
    ).to_frame()
    assert list(frame) == ["choice", "share", "selected"]
    assert frame["share"].sum() == pytest.approx(1)


def test_targets_reach_the_selector_with_their_rows():
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


def test_a_choice_that_cannot_be_voted_on_is_refused_with_its_bag():
    with pytest.raises(TypeError, match=r"Selector failed to fit on bag 0 .*hashable.*Return a tuple"):
        select_model(lambda X, y: [1], X, None, bagging=BaggedRegressor(n_bags=3, random_state=0))
    with pytest.raises(TypeError, match=r"compared by value.*Return its name or its parameters"):
        select_model(lambda X, y: object(), X, None, bagging=BaggedRegressor(n_bags=3, random_state=0))
    with pytest.raises(TypeError, match="The 'selector' parameter of select_model must be a function"):
        select_model("lasso", X, None)


def of_size(X, y):
    """The same choice in every bag, with a missing number and numpy's own numbers in it."""
    return ("none", (np.float64("nan"), frozenset([float("nan"), np.int64(len(X))])))


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_choice_with_a_missing_number_is_one_in_whichever_process_it_is_made(jobs):
    selection = select_model(of_size, X, None, bagging=BaggedRegressor(n_bags=12, n_jobs=jobs, random_state=0))
    assert len(selection.choices) == 1
    assert of_size(X[:4], None) in selection
    assert of_size(X[:3], None) not in select_model(
        of_size, X, None, epsilon=0.1, bagging=BaggedRegressor(n_bags=12, random_state=0)
    )


def test_choices_of_other_types_are_other_choices():
    """Of the eight rows, bag b has the first row or not; whether 1, 1.0 or True is chosen hangs on the first row."""
    kinds = [1, 1.0, True, np.int64(1)]
    selection = select_model(
        lambda X, y: kinds[int(X.min()) % 4], X, None, bagging=BaggedRegressor(scheme=Subbagging(1), n_bags="all")
    )
    assert sorted(map(str, selection.choices)) == ["1", "1.0", "True"]
    assert sorted(selection.shares) == pytest.approx([1 / 4, 1 / 4, 1 / 2])
    few = select_model(lambda X, y: 1, X, None, epsilon=0.1, bagging=BaggedRegressor(n_bags=9, random_state=0))
    assert [choice in few for choice in (1, 1.0, True, np.int64(1))] == [True, False, False, True]


def test_pandas_missing_value_is_a_choice():
    pd = pytest.importorskip("pandas")
    selection = select_model(
        lambda X, y: pd.NA, X, None, epsilon=0.5, bagging=BaggedRegressor(n_bags=9, random_state=0)
    )
    assert selection.choices == [pd.NA]
    assert "<NA> (100%)" in str(selection)


@pytest.mark.parametrize(("rows", "targets"), [(None, None), (None, [1, 2]), ((row for row in X), None), (3.0, [1, 2])])
def test_rows_that_are_no_table_are_refused(rows, targets):
    with pytest.raises((TypeError, ValueError), match=r"The 'X' parameter of select_model must be .* rows"):
        select_model(largest, rows, targets, bagging=BaggedRegressor(n_bags=3))


def test_what_is_said_of_all_bags_and_of_nothing():
    thin = select_model(
        lambda X, y: tuple(X[:, 0]), X, None, epsilon=0.9, bagging=BaggedRegressor(scheme=Subbagging(4), n_bags="all")
    )
    assert "also those that no bag made: the votes of all bags are spread over 70 choices" in " ".join(
        str(thin).split()
    )
    assert "at epsilon = 0.9." in " ".join(str(thin).split())
    vain = select_model(largest, X, None, epsilon=0.05, bagging=BaggedRegressor(scheme=Subbagging(4), n_bags="all"))
    assert vain.guarantee == "Nothing is proved at epsilon = 0.05: it is too small for 8 rows."


def test_a_row_in_every_bag_is_told():
    with pytest.raises(ValueError, match="With 1 bag, 4 rows, such as row 0, are never left out"):
        select_model(largest, X, None, bagging=BaggedRegressor(n_bags=1, random_state=0)).leave_one_out()
