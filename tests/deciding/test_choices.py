import dataclasses
import enum
import math
import operator
import pickle

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from stablebag.deciding.selection import key_of, plain_choice


class Colour(enum.Enum):
    RED = 1


@dataclasses.dataclass(frozen=True)
class Pair:
    one: float
    two: float


def key(choice):
    return key_of(choice, "selector", "select_model")


@pytest.mark.parametrize(
    "choice",
    [None, "a", 2, (math.nan, 1), frozenset([math.nan]), Pair(math.nan, 1.0), Colour.RED, Ridge, operator.add, np.add,
     np.float64("nan"), ((math.nan,),), np.datetime64("NaT"), complex(math.nan, 1)],
    ids=repr,
)  # fmt: skip
def test_a_choice_is_the_same_after_a_journey_to_another_process(choice):
    assert key(pickle.loads(pickle.dumps(choice))) == key(choice)


def test_types_are_told_apart_also_inside():
    ones = [1, 1.0, True, "1", (1,), (1.0,), (True,), frozenset([1]), frozenset([1.0]), Pair(1, 1), Pair(1.0, 1), None]
    assert len({key(choice) for choice in ones}) == len(ones)
    assert key((np.int64(1), np.str_("a"), np.bool_(True))) == key((1, "a", True))
    assert type(plain_choice((np.float64(2.0),))[0]) is float


@pytest.mark.parametrize(
    "choice", [Ridge(), object(), lambda: 0, operator.itemgetter(0)], ids=lambda c: type(c).__name__
)
def test_what_is_another_in_every_process_is_refused(choice):
    with pytest.raises(TypeError, match="'selector' parameter of select_model must be"):
        key(choice)
    with pytest.raises(TypeError, match="compared by value"):
        key(("a", choice))


def test_what_cannot_be_counted_is_refused():
    for choice in ([1], {1}, np.arange(2), (1, [2])):
        with pytest.raises(TypeError, match="hashable"):
            key(choice)
