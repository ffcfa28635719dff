"""Models in files carry the version that made them, and one from another version says so when it is loaded."""

import warnings
from typing import Any

from sklearn.exceptions import InconsistentVersionWarning

from stablebag import __version__

_NAME = "_stablebag_version"


class OtherVersionWarning(InconsistentVersionWarning):
    """A model was made by another version of stablebag; whoever listens to scikit-learn's warning hears this one, too.

    Parameters
    ----------
    name : str
        The class of the model.
    made_by : str or None
        The version that made it; None if that was before models carried one.
    """

    def __init__(self, *, name: str, made_by: str | None) -> None:
        self.name, self.made_by = name, made_by

    def __str__(self) -> str:
        before = f"stablebag {self.made_by}" if self.made_by else "an early stablebag that did not say its version"
        return (
            f"This {self.name} was made by {before}, and this is {__version__}. Its predictions may differ, and what "
            "is new may fail. Fit it again, or load it with the version that made it."
        )


def stamped(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state of a model with this version in it.

    >>> list(stamped({}))
    ['_stablebag_version']
    """
    return {**state, _NAME: __version__}


def unstamped(state: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the state without the version, with a warning if it is another one."""
    made_by = state.get(_NAME)
    if made_by != __version__:
        warnings.warn(OtherVersionWarning(name=name, made_by=made_by), stacklevel=4)
    return {key: value for key, value in state.items() if key != _NAME}
