"""Files that are written whole or not at all: a full disk or an interrupt leaves what was there before."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """Provide another path to write to; its file takes the place of `path` when the ``with`` block ends without error.

    It is in the same folder and has the same ending, because some writers look at it. A link is followed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole(Path(folder) / "numbers.txt") as partial:
    ...         _ = partial.write_text("1, 2, 3")
    ...     print([file.name for file in Path(folder).iterdir()])
    ['numbers.txt']
    """
    path = Path(os.path.realpath(path))
    refuse_unwritable(path)
    if path.exists() and not path.is_file():  # a terminal, a pipe or /dev/null: there is nothing to replace
        yield path
        return
    with partial_file(path.parent, f"-{path.name[-100:]}") as partial:
        yield partial
        partial.chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_mask())
        with partial.open("rb") as file:
            os.fsync(file.fileno())  # or else the new name could outlive what was written, if the machine stops
        partial.replace(path)


@contextmanager
def partial_file(folder: Path, ending: str) -> Iterator[Path]:
    """Provide the path of a new file in a folder, for its owner alone; at the end it is gone, unless it was renamed."""
    number, name = tempfile.mkstemp(prefix=".partial-", suffix=ending, dir=folder)
    os.close(number)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def refuse_unwritable(path: str | Path | None, *read: str | Path | None) -> None:
    """Refuse a path to which no file can be written, or to one that is `read`, before anything is worked out in vain.

    None is no path.
    """
    if path is None:
        return
    path = Path(os.path.realpath(path))
    for other in read:
        if other is not None and path.exists() and Path(other).exists() and path.samefile(other):
            raise FileExistsError(
                f"{path.name} is read, and would be lost if results were written to it. Give another name."
            )
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Give the name of a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} to.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(f"{path} cannot be written: this is not allowed. Give another place.")


def refuse_unwritable_folder(path: str | Path) -> None:
    """Refuse a folder to which no files can be written; one that is not there is made when there is something for it.

    >>> refuse_unwritable_folder("/dev/null/results")
    Traceback (most recent call last):
    ...
    NotADirectoryError: /dev/null is a file, so that there can be no folder /dev/null/results. Give another place.
    """
    folder = Path(os.path.realpath(path))
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir():
        raise NotADirectoryError(f"{there} is a file, so that there can be no folder {folder}. Give another place.")
    if not os.access(there, os.W_OK):
        raise PermissionError(f"{there} cannot be written to: this is not allowed. Give another place.")


def refuse_ending(path: str | Path | None, option: str, *endings: str) -> None:
    """Refuse a file whose name says that it is of another kind than what is written; None, or no ending, is fine."""
    ending = "" if path is None else Path(path).suffix
    if ending and ending.lower() not in endings:
        raise ValueError(f"{option} is written as {endings[0]}, not as {ending}. Give it a name that ends so.")


def _mask() -> int:
    """The permissions that new files do not get; it can only be asked for by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
