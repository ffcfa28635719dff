"""A folder of what was worked out, so that an interrupted run continues where it stopped."""

import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from stablebag.measuring.perturbations import Perturbations

# What reading a damaged or missing file raises.
_UNREADABLE = (OSError, ValueError, EOFError, KeyError, TypeError, zipfile.BadZipFile)
_VERSION = 4  # increased when what is cached changes its meaning


class Cache:
    """A folder of arrays by name; without a folder, nothing is kept."""

    def __init__(self, folder: str | Path | None, prefix: str) -> None:
        self.folder = None if folder is None else Path(folder)
        self.prefix = f"v{_VERSION}-{prefix}"
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def array(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Return an array by name; make and keep it if it is not there."""
        path = self._path(name)
        if path is None:
            return make()
        try:
            with path.open("rb") as file, np.load(file) as archive:
                kept: np.ndarray = archive["values"]
            return kept
        except _UNREADABLE:
            made = make()
        with _replacing(path) as partial:
            np.savez_compressed(partial, values=made)
        return made

    def perturbations(self, name: str, make: Callable[[], Perturbations]) -> Perturbations:
        """Return perturbations by name; make and keep them if they are not there."""
        path = self._path(name)
        if path is None:
            return make()
        try:
            return Perturbations.load(path)
        except _UNREADABLE:
            made = make()
        with _replacing(path) as partial:
            made.save(partial)
        return made

    def _path(self, name: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{self.prefix}-{name}.npz"


class _replacing:  # noqa: N801 (used like a function)
    """A file that replaces another only when it is complete, so that an interrupt does not leave half a file."""

    def __init__(self, path: Path) -> None:
        self.path, self.partial = path, path.with_name(f"partial-{os.getpid()}-{path.name}")

    def __enter__(self) -> Path:
        return self.partial

    def __exit__(self, error: object, *rest: object) -> None:
        if error is None:
            self.partial.replace(self.path)
        else:
            self.partial.unlink(missing_ok=True)
