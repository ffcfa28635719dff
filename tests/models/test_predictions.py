import numpy as np
import pytest

from stablebag import BaggedRegressor, FunctionRegressor, Subbagging, certify
from stablebag.models.fitted import Fitted


@pytest.fixture
def model():
    def mean(X, y, seed):
        return lambda points: np.full(len(points), y.mean())

    X, y = np.arange(4.0)[:, None], np.array([0.0, 2.0, 4.0, 10.0])
    return BaggedRegressor(FunctionRegressor(mean), scheme=Subbagging(3), n_bags="all").fit(X, y)


def test_every_bags_model_is_asked_at_every_point(model):
    once = model.predict_once(np.zeros((2, 1)))
    assert len(once) == 2
    assert once.bags == model.bags_
    # Without the last row, without the third, ...
    np.testing.assert_allclose(once.raw, np.repeat([[2.0], [4.0], [14 / 3], [16 / 3]], 2, axis=1))


def test_predictions_cannot_be_altered(model):
    once = model.predict_once(np.zeros((2, 1)))
    with pytest.raises(ValueError, match="read-only"):
        once.raw[0, 0] = 7.0


def test_some_points_have_their_own_predictions_and_fingerprint(model):
    once = model.predict_once(np.arange(6.0)[:, None])
    some = once[1:3]
    np.testing.assert_array_equal(some.raw, once.raw[:, 1:3])
    assert len({once.points, some.points, once[2:4].points}) == 3
    assert model.predict_once(np.arange(6.0)[:, None]).points == once.points


def test_they_come_as_one_block_in_place_of_the_points(model):
    points = np.arange(6.0)[:, None]
    once = model.predict_once(points)
    raw = once.of(model)
    np.testing.assert_array_equal(raw, np.concatenate([block for _, block in Fitted(model).raw_blocks(points)], axis=1))


def test_predictions_of_another_model_are_refused(model):
    once = model.predict_once(np.zeros((2, 1)))
    other = BaggedRegressor(scheme=Subbagging(2), n_bags="all").fit(Fitted(model).X, Fitted(model).y)
    with pytest.raises(ValueError, match="another model"):
        list(once.of(other))
    with pytest.raises(ValueError, match="another model"):
        certify(other, once)
