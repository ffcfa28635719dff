"""What a call may do with values that nobody should pass: return a result, or raise an error in a clear sentence."""

import os
import re
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import stablebag

resource = pytest.importorskip("resource", reason="needs POSIX limits and signals")

PACKAGE = Path(stablebag.__file__).parent
# A call that should take milliseconds counts as hanging after this time, even on a busy machine.
SECONDS = float(os.environ.get("STABLEBAG_HOSTILE_SECONDS", "60"))
SHORTEST = 20  # characters of a sentence
GIGABYTES = 3  # more than a call of a dozen rows could need
REFUSALS = (TypeError, ValueError, NotFittedError, FileNotFoundError, IndexError)
# scikit-learn's own errors about tables, which its conventions require.
ITS_OWN = ("sklearn/utils/validation.py", "sklearn/utils/_param_validation.py", "sklearn/utils/multiclass.py")


class HangError(BaseException):
    """A call that does not return."""


@contextmanager
def bounded() -> Iterator[None]:
    """Stop calls that hang, and make calls fail that take too much memory."""

    def stop(number: int, frame: Any) -> None:
        raise HangError(f"no result after {SECONDS} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else None
    if pages is not None:
        most = pages * resource.getpagesize() + GIGABYTES * 2**30
        resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(call: Callable[[], Any]) -> tuple[Any, BaseException | None]:
    """Return the result or the error of a call; RuntimeWarnings from the library are errors, other warnings are not."""
    try:
        with bounded(), warnings.catch_warnings(), joblib.parallel_config("threading"):
            warnings.simplefilter("ignore")  # warnings of learners are allowed
            warnings.filterwarnings("error", category=RuntimeWarning, module=r"stablebag\.(?!fast)")
            return call(), None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        return None, error


def fault_of(error: BaseException, *values: Any) -> str | None:
    """Return why an error is not a clear one, or None if it is; `values` are the arguments."""
    if isinstance(error, HangError | MemoryError):
        return f"a {type(error).__name__}"
    if re.match(r"\w+ failed to (fit|predict) ", str(error)):  # followed by the learner's own error
        return None
    if any(callable(value) for value in values) and type(error).__module__ == "builtins":
        return None  # probably raised by the function that was passed
    if not isinstance(error, REFUSALS):
        return f"a {type(error).__name__}"
    last = traceback.extract_tb(error.__traceback__)[-1].filename
    if last.endswith(ITS_OWN):
        return None
    if not Path(last).is_relative_to(PACKAGE):
        return f"a {type(error).__name__} from {Path(last).name}"
    first = str(error).split("\n")[0].strip()
    begins = first[:1].isupper() or first[:1] in ("'", "`") or hasattr(stablebag, first.split(" ")[0])
    is_sentence = begins and first.endswith((".", "?", ":")) and len(first) >= SHORTEST
    return None if is_sentence else "an error that is not a sentence"


def same(one: Any, other: Any) -> bool:
    """Return whether two results are equal, if they can be compared."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        numbers = one.dtype.kind in "iufb" and other.dtype.kind in "iufb"
        if numbers and one.shape == other.shape:
            return bool(np.allclose(one, other, rtol=1e-9, atol=1e-12, equal_nan=True))
        return one.shape == other.shape and one.tolist() == other.tolist()
    if isinstance(one, float | np.floating) and isinstance(other, float | np.floating):
        return bool(np.isclose(one, other, rtol=1e-9))
    if isinstance(one, tuple | list) and isinstance(other, tuple | list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if " at 0x" in repr(one):
        return type(one) is type(other)
    return repr(one) == repr(other)
