"""A folder of what was worked out, so that an interrupted run continues where it stopped."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from stablebag.learning.kept_files import KeptFiles
from stablebag.measuring.perturbations import Perturbations

_VERSION = 5  # increased when what is cached changes its meaning


class Cache:
    """A folder of arrays by name; without a folder, nothing is kept. A damaged file is set aside and made again."""

    def __init__(self, folder: str | Path | None, prefix: str) -> None:
        self.files = None if folder is None else KeptFiles(folder, ".npz")
        self.prefix = f"v{_VERSION}-{prefix}"

    def array(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Return an array by name; make and keep it if it is not there."""
        values: np.ndarray = self._kept(
            name, make, _load, lambda made: lambda path: np.savez_compressed(path, values=made)
        )
        return values

    def perturbations(self, name: str, make: Callable[[], Perturbations]) -> Perturbations:
        """Return perturbations by name; make and keep them if they are not there."""
        moved: Perturbations = self._kept(name, make, Perturbations.load, lambda made: made.save)
        return moved

    def _kept(
        self,
        name: str,
        make: Callable[[], Any],
        load: Callable[[Path], Any],
        saver: Callable[[Any], Callable[[Path], Any]],
    ) -> Any:
        if self.files is None:
            return make()
        kept = self.files.read(f"{self.prefix}-{name}", load)
        if kept is None:
            kept = make()
            self.files.write(f"{self.prefix}-{name}", saver(kept))
        return kept


def _load(path: Path) -> np.ndarray:
    with path.open("rb") as file, np.load(file) as archive:
        values: np.ndarray = archive["values"]
    return values
