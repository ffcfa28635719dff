import pickle

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor

from stablebag.models.fitting import Models

from means import Mean, MeanArrays, MeanStructure  # isort: skip


def models():
    kept = [MeanArrays(np.array([2.0]), 3), DummyRegressor(), MeanArrays(np.array([5.0]), 4)]
    return Models(kept, np.array([7, 8, 9]), MeanStructure(0.5))


def test_estimators_are_built_on_access():
    some = models()
    assert len(some) == 3
    assert isinstance(some[0], Mean)
    assert (some[0].mean_, some[0].seed_, some[0].shift) == (2.0, 7, 0.5)
    assert some[-1].mean_ == 5.0
    assert some[1] is some.stored[1]
    assert some[0] is not some[0]


def test_it_is_a_sequence():
    some = models()
    assert [type(one) for one in some] == [Mean, DummyRegressor, Mean]
    assert [one.mean_[0] for one in some[::2]] == [2.0, 5.0]
    assert [type(one) for one in reversed(some)] == [Mean, DummyRegressor, Mean]
    with pytest.raises(IndexError):
        some[3]
    with pytest.raises(TypeError):
        some["0"]


def test_it_says_how_many_are_arrays():
    assert repr(models()) == "Models of 3 bags, 2 of them kept as arrays"
    assert not models().may_run_beside_others  # nothing is known of Mean
    assert Models([DummyRegressor()], np.array([1])).may_run_beside_others


def test_without_a_structure_all_are_estimators():
    some = Models([DummyRegressor()] * 2, np.array([1, 2]))
    assert some.n_arrays == 0
    assert isinstance(pickle.loads(pickle.dumps(some))[1], DummyRegressor)


def test_pickling_puts_arrays_end_to_end():
    state = models().__getstate__()
    assert state["packed"][0]["flat"].tolist() == [2.0, 5.0]
    again = pickle.loads(pickle.dumps(models()))
    assert [type(one) for one in again.stored] == [MeanArrays, DummyRegressor, MeanArrays]
    assert again.stored[2].size == 4
    assert again[2].mean_ == 5.0
    assert again.seeds.tolist() == [7, 8, 9]


def test_fields_of_any_shape_come_back_as_they_were():
    shapes = [(2, 3), (0, 3), (4, 1)]
    kept = [MeanArrays(np.arange(np.prod(shape)).reshape(shape), 1) for shape in shapes]
    again = pickle.loads(pickle.dumps(Models(kept, np.zeros(3, int), MeanStructure(0.0))))
    for one, other in zip(again.stored, kept, strict=True):
        np.testing.assert_array_equal(one.mean, other.mean)
        assert one.mean.shape == other.mean.shape


def test_bags_that_are_kept_alike_predict_together():
    some = models()
    assert list(some.runs(0, 3)) == [(range(1), True), (range(1, 2), False), (range(2, 3), True)]
    assert some.together(range(2, 3)) == [some.stored[2]]
    arrays = Models([some.stored[0], some.stored[2]] * 3, np.arange(6), MeanStructure(0.0))
    assert list(arrays.runs(1, 4)) == [(range(1, 4), True)]
    assert [one.size for one in arrays.together(range(1, 4))] == [4, 3, 4]
    mixed = Models([DummyRegressor()] * 2 + [some.stored[0]] * 2, np.arange(4), MeanStructure(0.0))
    assert list(mixed.runs(1, 4)) == [(range(1, 2), False), (range(2, 4), True)]


def test_a_structure_without_any_arrays_survives_pickling():
    again = pickle.loads(pickle.dumps(Models([DummyRegressor()], np.array([1]), MeanStructure(0.0))))
    assert isinstance(again[0], DummyRegressor)
    assert again.n_arrays == 0
