"""Files that are written completely or not at all: after a full disk or an interrupt, the old file is still there."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def whole(path: str | Path) -> Iterator[Path]:
    """Provide another path to write to; its file replaces `path` when the ``with`` block ends without error.

    It has the same ending, because some writers look at it, and is in the same folder. Links are followed.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole(Path(folder) / "numbers.txt") as partial:
    ...         _ = partial.write_text("1, 2, 3")
    ...     print([file.name for file in Path(folder).iterdir()])
    ['numbers.txt']
    """
    path = Path(os.path.realpath(path))
    refuse_unwritable(path)
    if path.exists() and not path.is_file():  # a terminal, a pipe or /dev/null cannot be replaced
        yield path
        return
    with partial_file(path.parent, f"-{path.name[-100:]}") as partial:
        yield partial
        partial.chmod(path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_mask())
        with partial.open("rb") as file:
            os.fsync(file.fileno())  # otherwise a crash could leave the new name with an empty file
        partial.replace(path)


@contextmanager
def partial_file(folder: Path, ending: str) -> Iterator[Path]:
    """Provide the path of a new private file in a folder; it is deleted at the end, unless it was renamed."""
    number, name = tempfile.mkstemp(prefix=".partial-", suffix=ending, dir=folder)
    os.close(number)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def write_text(path: str | Path, text: str) -> None:
    """Write a text file completely, or not at all."""
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")


def refuse_unwritable(path: str | Path | None, *read: str | Path | None) -> None:
    """Raise an error if `path` cannot be written, or is one of the files to `read`, before any work is done.

    None is ignored.
    """
    if path is None:
        return
    path = Path(os.path.realpath(path))
    for other in read:
        if other is not None and path.exists() and Path(other).exists() and path.samefile(other):
            raise FileExistsError(
                f"{path.name} is an input file, and writing the results would overwrite it. Give another name."
            )
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Give the name of a file in it.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent} to write {path.name} to.")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise PermissionError(f"No permission to write {path}. Choose another path.")


def refuse_unwritable_folder(path: str | Path) -> None:
    """Raise an error if no files can be written to a folder. It need not exist yet: it is created when needed.

    >>> refuse_unwritable_folder(f"{__file__}/results")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    NotADirectoryError: Cannot create the folder ...results: ...py is a file. Choose another path.
    """
    folder = Path(os.path.realpath(path))
    there = next(place for place in (folder, *folder.parents) if place.exists())
    if not there.is_dir():
        raise NotADirectoryError(f"Cannot create the folder {folder}: {there} is a file. Choose another path.")
    if not os.access(there, os.W_OK):
        raise PermissionError(f"No permission to write to {there}. Choose another path.")


def refuse_ending(path: str | Path | None, option: str, *endings: str) -> None:
    """Raise an error if a file's name ends like another format than the one written. None, or no ending, is fine."""
    ending = "" if path is None else Path(path).suffix
    if ending and ending.lower() not in endings:
        raise ValueError(f"{option} writes {endings[0]} files, not {ending}. Use a name that ends in {endings[0]}.")


def _mask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
