import numpy as np
import pytest

from stablebag import BaggedRegressor, on_progress
from stablebag.models.parallel import counted, notice, on_notice, on_step, step


@pytest.fixture
def told():
    return []


def test_progress_starts_at_zero_and_never_decreases_or_exceeds_the_total(told):
    with on_progress(lambda *numbers: told.append(numbers)), counted(5) as count:
        count.one()
        count.reach(3)
        count.reach(2)
        count.reach(3)
        count.reach(9)
    assert told == [(0, 5), (1, 5), (3, 5), (5, 5)]


def test_nested_work_reports_only_as_a_part(told):
    with on_progress(lambda *numbers: told.append(numbers)), counted(4) as count:
        with counted(100) as inner:
            inner.reach(50)
        count.one()
        with count.part(), counted(2) as part:
            part.one()
            part.one()
        count.one()
    assert told == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_warm_start_reports_only_new_bags(told):
    X = np.arange(10.0)[:, None]
    model = BaggedRegressor(n_bags=4, warm_start=True, random_state=0).fit(X, X.ravel())
    with on_progress(lambda *numbers: told.append(numbers)):
        model.set_params(n_bags=6).fit(X, X.ravel())
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_nothing_is_reported_after_the_block(told):
    with pytest.raises(RuntimeError, match="stop"), on_progress(lambda *numbers: told.append(numbers)):
        raise RuntimeError("stop")
    with counted(3) as count:
        count.one()
    assert told == []


def test_inner_block_gets_the_progress(told):
    outer = []
    with on_progress(lambda *numbers: outer.append(numbers)):
        with on_progress(lambda *numbers: told.append(numbers)), counted(1) as count:
            count.one()
        with counted(2):
            pass
    assert (told, outer) == ([(0, 1), (1, 1)], [(0, 2)])


def test_listener_that_is_not_a_function_raises():
    with pytest.raises(TypeError, match="'listener' parameter of on_progress"), on_progress("bar"):
        pass


def test_steps_go_to_listeners_and_notices_warn_without_one(told):
    with on_step(told.append), on_notice(told.append):
        step("Predicting")
        notice("A file was set aside.")
    assert told == ["Predicting", "A file was set aside."]
    step("Nobody listens")
    with pytest.warns(UserWarning, match="set aside"):
        notice("A file was set aside.")
    assert len(told) == 2
