"""Fits kept in a folder as they are made, so that work that was interrupted goes on where it stopped."""

import hashlib
import os
import pickle
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import sklearn

from stablebag import __version__
from stablebag.learning.job import FitJob
from stablebag.learning.kept_files import KeptFiles
from stablebag.learning.progress import notice
from stablebag.learning.rows import Points, fingerprint

_OTHERS_MAY_WRITE = 0o022
_files: ContextVar[KeptFiles | None] = ContextVar("stablebag kept fits", default=None)


@contextmanager
def keep_fits(folder: str | Path) -> Iterator[None]:
    """Keep every fit in a ``with`` block in a folder, and take it from there if it was made before.

    What is kept is told by the learner and its parameters, the rows of its bag, its seed, the points at which it
    predicts, and the versions of the packages; it is pickled, so a folder to which others may write is refused.
    """
    folder = Path(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "posix" and folder.stat().st_mode & _OTHERS_MAY_WRITE:
        raise PermissionError(
            f"Others may write to the folder {folder}, and models that are read from it can run code. Use a folder of "
            f"your own, or take the right from others: chmod go-w {folder}."
        )
    token = _files.set(KeptFiles(folder, ".pickle"))
    try:
        yield
    finally:
        _files.reset(token)


class KeptFits:
    """The fits of one job that are kept, by their place in it.

    Parameters
    ----------
    files : KeptFiles
        The files.
    names : list of str
        The name of each fit.
    """

    def __init__(self, files: KeptFiles, names: list[str]) -> None:
        self.files, self.names = files, names

    @classmethod
    def of(cls, job: FitJob, doing: str, more: tuple[Any, ...]) -> "KeptFits | None":
        """Return what is kept of a job; None if nothing is to be kept, or if the job has no name."""
        files = _files.get()
        if files is None:
            return None
        solver = None if job.choice is None else job.choice.kind
        about = [doing, job.learner, job.classes, job.fit_params, job.empty_value, getattr(solver, "__name__", None)]
        about += [job.subspaces]
        about += [fingerprint(one.X) if isinstance(one, Points) else one for one in more]
        versions = (__version__, sklearn.__version__, np.__version__, platform.python_version())
        try:
            whole = joblib.hash((versions, about, fingerprint(job.X), job.y))
        except (pickle.PicklingError, AttributeError, TypeError):  # a function without a name, for instance
            return None
        names = []
        for rows, seed in zip(job.bags, job.seeds, strict=True):
            of_bag = f"{whole} {int(seed)} ".encode() + np.ascontiguousarray(rows, dtype=np.int64).tobytes()
            names.append(hashlib.blake2b(of_bag, digest_size=16).hexdigest())
        kept = cls(files, names)
        if len(job) > 1 and (number := len(kept.places)):
            notice(f"{number:,} of {len(job):,} fits are taken from {files.folder}.")
        return kept

    @property
    def places(self) -> set[int]:
        """The places of the fits that are kept."""
        return {place for place, name in enumerate(self.names) if name in self.files}

    def read(self, place: int) -> Any:
        """Return what was kept; None if it is damaged."""
        return self.files.read(self.names[place], _load)

    def write(self, place: int, made: Any) -> None:
        """Keep what was made, if it can be pickled."""
        try:
            text = pickle.dumps(made, protocol=5)
        except (pickle.PicklingError, AttributeError, TypeError):
            return
        self.files.write(self.names[place], lambda path: path.write_bytes(text))


def _load(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)
