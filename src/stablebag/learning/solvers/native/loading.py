"""Loads the compiled library that lies beside this file, if it is there and of the right version."""

import ctypes
import sys
from functools import cache
from pathlib import Path

ABI = 1  # of native.h
SUFFIXES = {"win32": ".dll", "darwin": ".dylib"}
PATH = Path(__file__).with_name("_native" + SUFFIXES.get(sys.platform, ".so"))


def library() -> ctypes.CDLL | None:
    """Return the compiled library, or None where there is none that can be used."""
    return _loaded(PATH)[0]


def why_not() -> str:
    """Return why there is no compiled library, in words that complete 'because ...'; empty where there is one."""
    return _loaded(PATH)[1]


@cache
def _loaded(path: Path) -> tuple[ctypes.CDLL | None, str]:
    """Return the library and an empty reason, or None and the reason."""
    if not path.exists():
        return None, "stablebag was installed without its compiled part"
    try:
        loaded = ctypes.CDLL(str(path))
        abi = int(loaded.stablebag_abi())
    except (OSError, AttributeError) as error:
        return None, f"the compiled part of stablebag cannot be loaded ({error})"
    if abi != ABI:
        return None, f"the compiled part of stablebag is of another version ({abi} instead of {ABI}): install it again"
    return loaded, ""
