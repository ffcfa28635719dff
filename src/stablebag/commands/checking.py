"""What commands check before they fit: levels, folders, and warnings of the library made sentences."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console

from stablebag.commands.printing import say
from stablebag.commands.refusals import TableError


def check_level(value: float, option: str) -> None:
    """Refuse what is no level between 0 and 1; 95 is meant as 0.95."""
    if not 0 < value < 1:
        raise TableError(f"{option} is a level between 0 and 1, such as 0.9. Got {value:g}.{_meant(value)}")


def check_share(value: float, option: str) -> None:
    """Refuse what is no share of the rows; 5 is meant as 0.05."""
    if not 0 <= value <= 1:
        raise TableError(f"{option} is a share from 0 to 1, such as 0.05. Got {value:g}.{_meant(value)}")


def _meant(value: float) -> str:
    return f" Did you mean {value / 100:g}?" if 1 < value < 100 else ""


@contextmanager
def spoken_warnings(console: Console, options: Mapping[str, str] | None = None) -> Iterator[None]:
    """Say warnings of the work in a ``with`` block as sentences, each once and without the place in the code.

    Names of parameters are replaced by the options of the command line. Warnings for developers, which Python hides
    from users, stay hidden.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        yield
    for sentence in dict.fromkeys(str(warning.message) for warning in caught):
        for parameter, option in (options or {}).items():
            sentence = sentence.replace(parameter, option)
        say(console, sentence)
