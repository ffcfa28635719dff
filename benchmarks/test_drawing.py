"""Drawing bags: ours, with one generator per bag, against plain loops with numpy and scikit-learn."""

import numpy as np
import pytest
from sklearn.utils.random import sample_without_replacement

from stablebag import Subbagging
from stablebag.resampling import Bags


def ours(n_samples, bag_size, n_bags):
    return Subbagging(bag_size).resolve(n_samples).draw(n_bags, random_state=0)


def numpy_loop(n_samples, bag_size, n_bags):
    generator = np.random.default_rng(0)
    return [generator.choice(n_samples, bag_size, replace=False) for _ in range(n_bags)]


def scikit_learn_loop(n_samples, bag_size, n_bags):
    return [sample_without_replacement(n_samples, bag_size, random_state=seed) for seed in range(n_bags)]


@pytest.mark.parametrize("draw", [ours, numpy_loop, scikit_learn_loop])
@pytest.mark.parametrize(("n_samples", "bag_size", "n_bags"), [(500, 250, 10_000), (1_000_000, 1000, 1000)])
def test_draw(benchmark, draw, n_samples, bag_size, n_bags):
    benchmark.group = f"draw {n_bags:,} bags of {bag_size:,} of {n_samples:,} rows"
    bags = benchmark.pedantic(draw, (n_samples, bag_size, n_bags), rounds=3, warmup_rounds=1)
    assert len(bags) == n_bags


def packed_blocks(bags: Bags):
    for _, block in bags.inclusion_blocks():
        block.sum()


def masks(bags: Bags):
    np.array([np.isin(np.arange(bags.n_samples), bag) for bag in bags]).sum()


@pytest.mark.parametrize("walk", [packed_blocks, masks])
def test_inclusion(benchmark, walk):
    benchmark.group = "inclusion matrix of 2,000 bags of half of 2,000 rows"
    bags = Subbagging(0.5).resolve(2000).draw(2000, random_state=0)
    benchmark.pedantic(walk, (bags,), rounds=3, warmup_rounds=1)
