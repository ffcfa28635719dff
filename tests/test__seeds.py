import numpy as np
import pytest

from stablebag._seeds import Seeds


def first_words(seeds, first, stop):
    return [int(generator.integers(2**62)) for generator in seeds.bag_generators(first, stop)]


def test_a_bag_does_not_depend_on_which_others_are_drawn():
    seeds = Seeds(3)
    assert first_words(seeds, 0, 50)[20:30] == first_words(seeds, 20, 30)
    assert seeds.learner_seeds(0, 50)[20:30].tolist() == seeds.learner_seeds(20, 30).tolist()


def test_a_bag_does_not_depend_on_the_draws_of_the_bag_before():
    lengths = iter([1, 1000, 3, 7])
    words = []
    for generator in Seeds(3).bag_generators(0, 4):
        words.append(int(generator.integers(2**62)))
        generator.random(next(lengths))
        generator.integers(10, dtype=np.int32)  # leaves half a word in the generator's buffer
    assert words == first_words(Seeds(3), 0, 4)


def test_different_roots_and_streams_differ():
    assert first_words(Seeds(0), 0, 5) != first_words(Seeds(1), 0, 5)
    assert len(set(first_words(Seeds(0), 0, 1000))) == 1000
    bag_words = np.array(first_words(Seeds(0), 0, 1000)) % (2**31 - 1)
    assert not np.intersect1d(bag_words, Seeds(0).learner_seeds(0, 1000)).size


def test_learner_seeds_are_valid_for_scikit_learn():
    seeds = Seeds(0).learner_seeds(0, 10_000)
    assert seeds.dtype == np.int64
    assert seeds.min() >= 0
    assert seeds.max() < 2**31 - 1


def test_integers_and_seeds_are_accepted_as_roots():
    assert Seeds.from_random_state(7) == Seeds.from_random_state(np.int32(7)) == Seeds(7)
    assert Seeds.from_random_state(Seeds(7)) == Seeds(7)


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_is_reproducible_and_advances(make):
    state = make(5)
    first, second = Seeds.from_random_state(state), Seeds.from_random_state(state)
    assert first != second
    assert Seeds.from_random_state(make(5)) == first


def test_none_uses_the_global_state_of_numpy():
    np.random.seed(0)  # noqa: NPY002
    first = Seeds.from_random_state(None)
    assert Seeds.from_random_state(None) != first
    np.random.seed(0)  # noqa: NPY002
    assert Seeds.from_random_state(None) == first


@pytest.mark.parametrize("bad", ["0", 1.5, True, [1]])
def test_a_random_state_of_another_type_raises(bad):
    with pytest.raises(TypeError, match=r"'random_state' parameter .* must be None, an integer"):
        Seeds.from_random_state(bad)


@pytest.mark.parametrize("bad", [-1, 2**32])
def test_a_seed_outside_the_range_raises(bad):
    with pytest.raises(ValueError, match=f"Got {bad}"):
        Seeds.from_random_state(bad)
