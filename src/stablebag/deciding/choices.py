"""When two choices are the same: by type and value, in whichever process they were made.

Python holds 1, 1.0 and True to be equal, though a search over ``max_features=[1, 1.0]`` has two different models; and
it holds a missing number to be unlike itself, though it is one choice. Objects that are compared by identity are
others in every process. So votes are counted by a key.
"""

import dataclasses
import pickle
from collections.abc import Hashable
from typing import Any

import numpy as np

from stablebag._checks import refuse_type

_PLAIN = "biufcSU"  # kinds of numpy's scalars that are a Python number, text or bytes


def plain_choice(choice: Any) -> Any:
    """Return a choice with Python's own numbers and texts in place of numpy's, also inside tuples and frozensets.

    >>> plain_choice((np.int64(3), np.str_("l1")))
    (3, 'l1')
    """
    if isinstance(choice, np.generic) and choice.dtype.kind in _PLAIN:
        return choice.item()
    if type(choice) in (tuple, frozenset):
        return type(choice)(map(plain_choice, choice))
    return choice


def key_of(choice: Any, name: str, owner: str) -> Hashable:
    """Return what is equal for two choices exactly if they are the same choice.

    Parameters
    ----------
    choice : object
        A choice, checked to be one that can be voted on.
    name : str
        The parameter that made it, for error messages.
    owner : str
        Whose parameter that is.

    Returns
    -------
    Hashable

    Examples
    --------
    >>> keys = {key_of(choice, "selector", "select_model") for choice in (1, 1.0, True, float("nan"), float("nan"))}
    >>> len(keys)
    4
    """
    choice = plain_choice(choice)
    kind = type(choice)
    if isinstance(choice, tuple | frozenset):
        parts = (key_of(part, name, owner) for part in choice)
        return kind, (frozenset(parts) if isinstance(choice, frozenset) else tuple(parts))
    expected = "a function that returns something hashable"
    try:
        hash(choice)
    except TypeError:
        reason = "votes for it are counted. Return a tuple, a frozenset or a text in place of a list, set or array."
        raise refuse_type(name, owner, expected, choice, reason) from None
    if dataclasses.is_dataclass(choice) and not isinstance(choice, type) and "__eq__" in vars(kind):
        return kind, tuple(key_of(getattr(choice, part.name), name, owner) for part in dataclasses.fields(choice))
    if not _is_equal_to_itself(choice):  # missing values, of which there is one of a kind
        return kind, repr(choice)
    if _is_known_by_place(choice):
        reason = (
            "in every bag it is another one, though it may look the same. Return its name or its parameters; classes "
            "and functions are known by their names in a module."
        )
        raise refuse_type(name, owner, "a function that returns something compared by value", choice, reason)
    return kind, choice


def _is_equal_to_itself(choice: Any) -> bool:
    try:
        return bool(choice == choice)
    except (TypeError, ValueError):  # pandas.NA says neither
        return False


def _is_known_by_place(choice: Any) -> bool:
    """Whether it is compared by identity, and comes back from another process as another object."""
    own: Any = type(choice).__eq__
    if own is not object.__eq__:
        return False
    try:
        return pickle.loads(pickle.dumps(choice)) is not choice  # classes and functions of a module come back
    except (pickle.PicklingError, TypeError, AttributeError):
        return True
