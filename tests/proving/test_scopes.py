import math

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor

from stablebag import BaggedClassifier, BaggedRegressor, BernoulliSubbagging, FixedRange, ObservedRange, Subbagging
from stablebag.models.fitted import Fitted
from stablebag.proving.outputs import scope_of
from stablebag.proving.scope import Quantity, Rerun, Scope

X, Y = np.arange(6.0)[:, None], np.arange(6.0)


def regressor(n_bags, rule):
    model = BaggedRegressor(DummyRegressor(), scheme=Subbagging(3), n_bags=n_bags, prediction_range=rule)
    return model.set_params(random_state=0).fit(X, Y)


def test_drawn_bags_are_reused_and_known_by_their_fingerprint():
    model = regressor(20, FixedRange(-1, 3))
    assert scope_of(Fitted(model).average) == Scope(6, Quantity.NUMBER, Rerun.REUSED, 20, model.bags_.fingerprint, 4.0)
    other = regressor(20, FixedRange(-1, 3)).set_params(random_state=1).fit(X, Y)
    assert scope_of(Fitted(other).average).bags != model.bags_.fingerprint


def test_all_bags_are_known_by_their_law():
    model = regressor("all", None)
    law = Subbagging(0.5).resolve(6).fingerprint
    assert scope_of(Fitted(model).average) == Scope(6, Quantity.NUMBER, Rerun.ALL, None, law, None)


def test_rows_that_change_the_range_are_counted():
    scope = scope_of(Fitted(regressor("all", ObservedRange())).average)
    assert (scope.range_length, scope.delta_range) == (5.0, 2 / 6)  # the smallest and the largest target


@pytest.mark.parametrize(("vector", "quantity", "length", "ways"), [
    (False, Quantity.CLASS, 1.0, 4), (True, Quantity.VECTOR, None, math.sqrt(4 * 3)),
])  # fmt: skip
def test_a_classifier_is_spoken_of_by_class_or_as_a_vector(vector, quantity, length, ways):
    model = BaggedClassifier(DummyClassifier(), scheme=BernoulliSubbagging(0.5), n_bags="all").fit(X, list("aabbcd"))
    scope = scope_of(Fitted(model).average, vector=vector)
    assert (scope.quantity, scope.range_length) == (quantity, length)
    # Without c's only row a bag has no row with probability 1 / 2^5, and says 1/4 of each class where it said 1/3.
    assert scope.shift == pytest.approx(2**-5 / ways)


def test_nothing_is_shifted_where_every_class_has_a_second_row():
    model = BaggedClassifier(DummyClassifier(), scheme=BernoulliSubbagging(0.5), n_bags="all").fit(X, list("aabbcc"))
    assert scope_of(Fitted(model).average).shift == 0.0
