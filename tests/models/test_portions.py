import numpy as np
import pytest

from stablebag import Subbagging
from stablebag.models.fitting import cuts, gathered, portions
from stablebag.models.solving import FitJob
from stablebag.resampling import Bags


class Counted:
    """A source as far as portions see it: every row is its number, and takes 24 bytes with its number and target."""

    bytes_per_row = 8
    bytes_to_read = 0

    def __init__(self, max_memory):
        self.max_memory = max_memory

    def take(self, rows):
        return rows[:, None].astype(float)


def test_portions_have_as_many_bags_as_fit_into_memory():
    bags = Bags([[0, 1], [1, 0], [2, 0], [3, 4], [4], []], n_samples=90)
    assert list(cuts(bags, Counted(90 * 24))) == [(0, 6)]  # all entries have room
    assert list(cuts(bags, Counted(2 * 24))) == [(0, 1), (1, 2), (2, 3), (3, 4), (4, 6)]  # two entries of 24 bytes
    wide = Counted(720)
    wide.bytes_per_row = 224
    assert list(cuts(bags, wide)) == [(0, 3), (3, 6)]  # of three rows: 0, 1, 2; and then 3, 4


def test_rows_of_several_bags_count_once(seed):
    law = Subbagging(50).resolve(1000)
    bags = law.draw(100, random_state=seed)
    source = Counted(24 * 400)
    found = list(cuts(bags, source))
    assert [first for first, _ in found[1:]] == [stop for _, stop in found[:-1]]
    assert (found[0][0], found[-1][1]) == (0, 100)
    for first, stop in found:
        assert len(np.unique(np.concatenate(list(bags[first:stop])))) <= 400


def test_up_to_half_of_the_memory_is_reserved_for_reading():
    bags = Bags([[k] for k in range(100)], n_samples=10**6)
    source = Counted(24 * 50)
    assert [stop - first for first, stop in cuts(bags, source)] == [50, 50]
    source.bytes_to_read = 24 * 10
    assert [stop - first for first, stop in cuts(bags, source)] == [40, 40, 20]
    source.bytes_to_read = 24 * 10_000
    assert [stop - first for first, stop in cuts(bags, source)] == [25] * 4


def test_bag_that_does_not_fit_raises_with_the_memory_it_needs():
    bags = Bags([[0], range(90_000)], n_samples=100_000)
    with pytest.raises(
        ValueError, match=r"enough for one bag, got 1,000,000 bytes, but bag 1 has 90,000 .* max_memory=.3MB"
    ):
        list(cuts(bags, Counted(10**6)))
    assert list(cuts(bags, Counted(3 * 10**6))) == [(0, 2)]


def job_of(bags, **more):
    n = bags.n_samples
    return FitJob("learner", Counted(72), np.arange(n) * 10.0, bags, np.arange(len(bags)), **more)


def test_portion_has_a_small_table_and_renumbered_bags():
    bags = Bags([[7, 2, 7], [2, 5], [9]], n_samples=10)
    weights, names = np.arange(10), ["a", "b", "c"]
    one, other = portions(job_of(bags, fit_params={"sample_weight": weights, "names": names}))
    assert one.X[:, 0].tolist() == [2, 7]
    assert one.y.tolist() == [20, 70]
    assert [bag.tolist() for bag in one.bags] == [[1, 0, 1]]
    assert (one.bag_numbers[0], one.gathered_of, one.seeds.tolist()) == (0, 3, [0])
    assert other.X[:, 0].tolist() == [2, 5, 9]
    assert [bag.tolist() for bag in other.bags] == [[0, 1], [2]]
    assert (other.bag_numbers[0], other.seeds.tolist()) == (1, [1, 2])
    assert other.fit_params["sample_weight"].tolist() == [2, 5, 9]
    # A list that happens to have as many entries as the portion has rows is still none of its rows.
    assert other.fit_params["names"] == names
    assert other.by_row == {"sample_weight"}


def test_batch_of_bags_can_be_gathered_separately():
    bags = Bags([[7, 2], [], [5, 7]], n_samples=10)
    alone = gathered(job_of(bags).part(2, 3), n_bags=3)
    assert alone.X[:, 0].tolist() == [5, 7]
    assert gathered(job_of(bags).part(1, 2), n_bags=3).X.shape == (1, 1)  # a row that no one sees
