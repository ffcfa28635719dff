"""Store finished fits in a folder, so that interrupted work continues where it stopped."""

import hashlib
import os
import pickle
import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import sklearn

from stablebag import __version__
from stablebag._writing import partial_file
from stablebag.models.parallel import notice
from stablebag.models.rows import Points, fingerprint
from stablebag.models.solving import FitJob

# -------------------------------------------------------------------------------------------------- files
# A folder of files with checksums in their names. A damaged file is detected, set aside and made again.

_DIGITS = 16  # of the checksum, in the name
_DAMAGED = "damaged-"


class FileCache:
    """Files by name in a folder, which is created if needed.

    Parameters
    ----------
    folder : str or Path
        The folder.
    ending : str
        The ending of the files; their names have no other dots.
    """

    def __init__(self, folder: str | Path, ending: str) -> None:
        self.folder, self.ending = Path(folder), ending
        self.folder.mkdir(parents=True, exist_ok=True)
        self.paths: dict[str, list[Path]] = {}
        for path in sorted(self.folder.iterdir()):
            name, *rest = path.name.split(".", 1)
            if rest and path.name.endswith(ending) and not name.startswith(_DAMAGED):
                self.paths.setdefault(name, []).append(path)

    def __contains__(self, name: object) -> bool:
        return name in self.paths

    def read(self, name: str, load: Callable[[Path], Any], default: Any = None) -> Any:
        """Return what `load` reads from the file of this name; `default` if the file is missing or damaged.

        A file that `load` cannot read also counts as damaged.
        """
        for path in self.paths.get(name, ()):
            try:
                if path.name == self._named(name, path):
                    return load(path)
            except FileNotFoundError:  # deleted in the meantime
                continue
            except Exception:  # unpickling a damaged file may raise anything
                pass
            aside = path.with_name(_DAMAGED + path.name)
            path.replace(aside)
            self.paths[name] = [other for other in self.paths[name] if other != path]
            notice(f"The file {path} is damaged. It was renamed to {aside.name}, and its contents are computed again.")
        return default

    def write(self, name: str, save: Callable[[Path], Any]) -> None:
        """Store a file under a name; `save` writes it to a path."""
        with partial_file(self.folder, self.ending) as partial:
            save(partial)
            path = self.folder / self._named(name, partial)
            partial.replace(path)
        self.paths[name] = [path]

    def _named(self, name: str, path: Path) -> str:
        with path.open("rb") as file:
            return f"{name}.{hashlib.file_digest(file, 'sha256').hexdigest()[:_DIGITS]}{self.ending}"


# --------------------------------------------------------------------------------------------------- fits
# Fits stored in a folder as they finish, so that interrupted work continues where it stopped.

_OTHERS_MAY_WRITE = 0o022
_files: ContextVar[FileCache | None] = ContextVar("stablebag kept fits", default=None)


@contextmanager
def keep_fits(folder: str | Path) -> Iterator[None]:
    """Store every fit inside a ``with`` block in a folder, and reuse fits that are already there.

    A fit is identified by the learner and its parameters, the rows of its bag, its seed, the points at which it
    predicts, and the versions of the packages. Files are pickles, so a folder that others can write to raises
    PermissionError.
    """
    folder = Path(folder)
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if os.name == "posix" and folder.stat().st_mode & _OTHERS_MAY_WRITE:
        raise PermissionError(
            f"Other users can write to the folder {folder}, and loading a model from it can run their code. Use "
            f"another folder, or protect this one: chmod go-w {folder}."
        )
    token = _files.set(FileCache(folder, ".pickle"))
    try:
        yield
    finally:
        _files.reset(token)


class FitCache:
    """The stored fits of one job, by their place in it.

    Parameters
    ----------
    files : FileCache
        The files.
    names : list of str
        The name of each fit.
    """

    def __init__(self, files: FileCache, names: list[str]) -> None:
        self.files, self.names = files, names

    @classmethod
    def of(cls, job: FitJob, doing: str, more: tuple[Any, ...]) -> "FitCache | None":
        """Return the stored fits of a job; None if fits are not stored, or if the job cannot be identified."""
        files = _files.get()
        if files is None:
            return None
        solver = None if job.choice is None else job.choice.kind
        inputs = [doing, job.learner, job.classes, job.fit_params, job.empty_value, getattr(solver, "__name__", None)]
        inputs += [job.subspaces]
        inputs += [fingerprint(one.X) if isinstance(one, Points) else one for one in more]
        versions = (__version__, sklearn.__version__, np.__version__, platform.python_version())
        try:
            whole = joblib.hash((versions, inputs, fingerprint(job.X), job.y))
        except (pickle.PicklingError, AttributeError, TypeError):  # for example, a lambda
            return None
        names = []
        for rows, seed in zip(job.bags, job.seeds, strict=True):
            of_bag = f"{whole} {int(seed)} ".encode() + np.ascontiguousarray(rows, dtype=np.int64).tobytes()
            names.append(hashlib.blake2b(of_bag, digest_size=16).hexdigest())
        kept = cls(files, names)
        if len(job) > 1 and (number := len(kept.places)):
            notice(f"{number:,} of {len(job):,} fits were loaded from {files.folder}.")
        return kept

    @property
    def places(self) -> set[int]:
        """The places of the stored fits."""
        return {place for place, name in enumerate(self.names) if name in self.files}

    def read(self, place: int) -> Any:
        """Return a stored fit; None if it is damaged."""
        return self.files.read(self.names[place], _load)

    def write(self, place: int, made: Any) -> None:
        """Store a fit, if it can be pickled."""
        try:
            text = pickle.dumps(made, protocol=5)
        except (pickle.PicklingError, AttributeError, TypeError):
            return
        self.files.write(self.names[place], lambda path: path.write_bytes(text))


def _load(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)
