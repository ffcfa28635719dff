import math

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, BernoulliSubbagging, ObservedRange, Subbagging
from stablebag.models.average import BagAverage, middle
from stablebag.resampling import Bags

pytestmark = pytest.mark.kernels


@pytest.fixture
def data():
    return np.arange(60.0).reshape(30, 2), np.random.default_rng(0).normal(size=30)


def test_an_empty_bag_predicts_the_middle_of_the_range(data):
    X, y = data
    scheme = BernoulliSubbagging(0.02)
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=scheme, n_bags=60, random_state=0).fit(X, y)
    empty = model.bags_.sizes == 0
    assert empty.any()
    middle = (y.min() + y.max()) / 2
    np.testing.assert_allclose(model.bag_predictions(X)[empty], middle)
    free = BaggedRegressor(scheme=scheme, n_bags=60, prediction_range=None, random_state=0).fit(X, y)
    assert (free.bag_predictions(X)[empty] == 0).all()


# ----------------------------------------------------------------------------------------------------- averages by hand


def average_of(bags, y, **more):
    bags = Bags(bags, len(y))
    settings = {"weights": np.full(len(bags), 1 / len(bags)), "drawn": True, **more}
    return BagAverage(Subbagging(1).resolve(len(y)), bags, y=np.array(y), **settings)


THREE = np.array([[-2.0], [1.0], [9.0]])  # what the models of three bags predict at one point


def test_predictions_are_clipped_and_averaged():
    average = average_of([[0], [1], [2]], [0.0, 1.0, 5.0], rule=ObservedRange())
    assert average.outputs(THREE).tolist() == [[0.0], [1.0], [5.0]]
    assert average.prediction([THREE]) == [2.0]
    assert average_of([[0], [1], [2]], [0.0, 1.0, 5.0]).prediction([THREE]) == pytest.approx([8 / 3])


def test_leaving_out_a_row_drops_its_bags_and_its_effect_on_the_range():
    average = average_of([[0], [1], [2]], [0.0, 1.0, 5.0], rule=ObservedRange())
    # Without row 0, the range is [1, 5], without row 1 as before, and without row 2 it is [0, 1].
    assert average.left_out(THREE).tolist() == [[3.0], [2.5], [0.5]]
    assert average.left_out_at(slice(0, 3), np.tile(THREE, 3)).tolist() == [3.0, 2.5, 0.5]
    assert average.left_out_at(slice(1, 3), np.tile(THREE, 2)).tolist() == [2.5, 0.5]


def test_bags_are_weighted_by_their_probabilities():
    average = average_of([[0], [1], [2]], [0.0, 1.0, 5.0], weights=np.array([0.5, 0.25, 0.25]), drawn=False)
    assert average.prediction([THREE]) == [1.5]
    assert average.left_out(THREE)[:, 0] == pytest.approx([5.0, 5 / 3, -1.0])
    assert average.left_out_at(slice(0, 3), np.tile(THREE, 3)) == pytest.approx([5.0, 5 / 3, -1.0])


def test_deviation_and_extent_measure_how_much_bags_differ():
    average = average_of([[0], [1], [2]], [0.0, 1.0, 5.0], rule=ObservedRange())
    outputs = average.outputs(THREE)  # 0, 1 and 5, with mean 2
    assert average.deviation(outputs) == pytest.approx([math.sqrt(14 / 3)])
    assert average.estimated_deviation(outputs) == pytest.approx([math.sqrt(7)])
    assert average.deviation(outputs * 1e300) == pytest.approx([math.sqrt(14 / 3) * 1e300])


def test_error_names_the_row_in_every_bag():
    average = average_of([[0, 1], [0, 2]], [0.0, 1.0, 5.0])
    with pytest.raises(ValueError, match="With 2 bags, row 0 is never left out"):
        average.left_out(np.zeros((2, 1)))
    at = average.left_out_at(slice(0, 3), np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    assert math.isnan(at[0])
    assert at[1:].tolist() == [5.0, 3.0]


def test_empty_bags_give_a_class_without_rows_no_probability():
    average = average_of([[], [0]], ["a", "a", "b"], classes=np.array(["a", "b"]))
    raw = np.array([[[0.5, 0.5]], [[1.0, 0.0]]])
    assert {row: shares.tolist() for row, shares in average.lonely_units.items()} == {2: [1.0, 0.0]}
    assert average.left_out(raw)[:, 0].tolist() == [[0.5, 0.5], [0.75, 0.25], [1.0, 0.0]]
    assert average.empty_without_a_lonely_unit == 0.5


def test_middle_of_the_longest_interval_does_not_overflow():
    assert middle((1.0, 4.0)) == 2.5
    assert middle((1.2e308, 1.6e308)) == pytest.approx(1.4e308)
    assert middle((-1.7e308, 1.7e308)) == 0.0
