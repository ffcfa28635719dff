"""Public names are imported when they are first used, so that certificates and plans come without scikit-learn."""

import importlib
import sys
from collections.abc import Callable


def lazily(
    package: str, files: dict[str, list[str]]
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package whose public names are defined in these files."""
    homes = {name: f"{package}.{file}" for file, names in files.items() for name in names}

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return find, names, sorted(homes)
