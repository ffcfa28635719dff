import numpy as np
import pytest

from stablebag import BaggedRegressor, on_progress
from stablebag.models.parallel import counted, notice, on_notice, on_step, step


@pytest.fixture
def told():
    return []


def test_counting_begins_at_zero_and_never_goes_back_or_beyond(told):
    with on_progress(lambda *numbers: told.append(numbers)), counted(5) as count:
        count.one()
        count.reach(3)
        count.reach(2)
        count.reach(3)
        count.reach(9)
    assert told == [(0, 5), (1, 5), (3, 5), (5, 5)]


def test_work_inside_other_work_tells_nothing_unless_it_is_a_part(told):
    with on_progress(lambda *numbers: told.append(numbers)), counted(4) as count:
        with counted(100) as inner:
            inner.reach(50)
        count.one()
        with count.part(), counted(2) as part:
            part.one()
            part.one()
        count.one()
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_a_warm_start_tells_of_its_new_bags(told):
    X = np.arange(10.0)[:, None]
    model = BaggedRegressor(n_bags=4, warm_start=True, random_state=0).fit(X, X.ravel())
    with on_progress(lambda *numbers: told.append(numbers)):
        model.set_params(n_bags=6).fit(X, X.ravel())
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_after_the_block_nothing_is_told_any_more(told):
    with pytest.raises(RuntimeError, match="stop"), on_progress(lambda *numbers: told.append(numbers)):
        raise RuntimeError("stop")
    with counted(3) as count:
        count.one()
    assert told == []


def test_of_two_blocks_the_inner_one_is_told(told):
    outer = []
    with on_progress(lambda *numbers: outer.append(numbers)):
        with on_progress(lambda *numbers: told.append(numbers)), counted(1) as count:
            count.one()
        with counted(2):
            pass
    assert (told, outer) == ([(0, 1), (1, 1)], [(0, 2)])


def test_a_listener_that_is_none_is_refused():
    with pytest.raises(TypeError, match="'listener' parameter of on_progress"), on_progress("bar"):
        pass


def test_steps_are_told_to_whoever_listens_and_notices_are_warnings_otherwise(told):
    with on_step(told.append), on_notice(told.append):
        step("Predicting")
        notice("A file was set aside.")
    assert told == ["Predicting", "A file was set aside."]
    step("Nobody listens")
    with pytest.warns(UserWarning, match="set aside"):
        notice("A file was set aside.")
    assert len(told) == 2
