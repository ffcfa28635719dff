"""Sentences about intervals: each on data where it must appear, and on data where it must not."""

import numpy as np
import pytest

from stablebag import BaggedRegressor, Subbagging, predict_interval, random_n_bags

REFUSED = "A draw with a row in every bag raises an error and counts as covered; its probability is about"


@pytest.mark.parametrize(("bag_size", "n_bags", "appears"), [(0.9, 70, True), (0.5, 70, False), (0.9, 400, False)])
def test_guarantee_over_draws_says_what_rejected_draws_mean(bag_size, n_bags, appears):
    rng = np.random.default_rng(0)
    X, y, scheme = rng.normal(size=(40, 2)), rng.normal(size=40), Subbagging(bag_size)
    number = random_n_bags(scheme, 40, n_bags, random_state=0)
    model = BaggedRegressor(scheme=scheme, n_bags=number, random_state=1).fit(X, y)
    assert (REFUSED in predict_interval(model, X[:3]).guarantee) == appears
    fixed = BaggedRegressor(scheme=scheme, n_bags=n_bags, random_state=1).fit(X, y)
    assert REFUSED not in predict_interval(fixed, X[:3]).guarantee  # it is approximate anyway
