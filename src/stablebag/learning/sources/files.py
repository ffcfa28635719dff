"""Which files a table is made of, and that they are still the files that they were."""

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from stablebag._checks import refuse_type, refuse_value

_OWNER = "ParquetTable"
_PLAIN_OPTIONS = {"region", "scheme", "endpoint_override", "allow_bucket_creation", "retry_limit_seconds"}
_EXPECTED = (
    "a path, a pattern such as 'data/*.parquet', a folder, a URL, a list of these, or a pyarrow Dataset of files"
)


@dataclass(frozen=True)
class Files:
    """Files in the order of their paths, with the size and the time that each had when it was first looked at.

    Nothing that opens them is pickled, nor any credentials: a URL is opened again with those of the surroundings.

    Parameters
    ----------
    paths : tuple of str
        The paths, in order.
    stamps : tuple of (int, int)
        The size of each file in bytes, and when it was last changed, in nanoseconds.
    url : str or None
        How the files are reached, without a path: None for those of this machine, "" if only the one who made the
        dataset knows.
    filesystem : pyarrow.fs.FileSystem or None, default=None
        What opens them.
    """

    paths: tuple[str, ...]
    stamps: tuple[tuple[int, int], ...]
    url: str | None
    filesystem: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def of(cls, source: Any) -> "Files":
        """Return the files that the first parameter of a table names."""
        filesystem, paths, url = _found(source)
        if not paths:
            reason = "no file is there. Look at the path, and at the pattern's *."
            raise refuse_value("source", _OWNER, "files that exist", _shown(source), reason)
        twice = sorted(path for path in set(paths) if paths.count(path) > 1)
        if twice:
            raise refuse_value("source", _OWNER, "each file once", twice[0], "its rows would be counted twice.")
        in_order = tuple(sorted(paths))
        return cls(in_order, _stamps(filesystem, in_order), url, filesystem)

    def __getstate__(self) -> dict[str, Any]:
        return {"paths": self.paths, "stamps": self.stamps, "url": self.url, "filesystem": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def opened(self, number: int) -> Any:
        """Return one of the files, open."""
        return self.reached().open_input_file(self.paths[number])

    def check(self) -> None:
        """Refuse a file that is gone, or that has another size or time than it had."""
        now = _stamps(self.reached(), self.paths)
        for path, before, after in zip(self.paths, self.stamps, now, strict=True):
            if before != after:
                what = f"it had {before[0]:,} bytes and has {after[0]:,}" if before[0] != after[0] else "its time did"
                raise changed(path, what)

    def fingerprint(self) -> str:
        """Return a hash that identifies the files."""
        return hashlib.blake2b(repr((self.paths, self.stamps)).encode(), digest_size=16).hexdigest()

    def reached(self) -> Any:
        """Return the filesystem, made anew after a journey."""
        if self.filesystem is None:
            from pyarrow import fs

            if self.url == "":
                raise ValueError(
                    "This ParquetTable was made of a dataset with a filesystem of its own, which is not pickled, "
                    "because it may hold credentials. Make the table again, from a URL or from the dataset."
                )
            made = fs.LocalFileSystem() if self.url is None else fs.FileSystem.from_uri(self.url)[0]
            object.__setattr__(self, "filesystem", made)
        return self.filesystem


def changed(path: str, what: str) -> ValueError:
    """Build the error for a file that is no longer what it was."""
    return ValueError(
        f"The file {path} has changed since the table was made: {what}. Its rows may have other numbers now. "
        "Make the ParquetTable again, and fit to that."
    )


def _found(source: Any) -> tuple[Any, list[str], str | None]:
    """The filesystem, the paths, and the URL by which it is reached again."""
    from pyarrow import dataset, fs

    if isinstance(source, dataset.Dataset):
        return _of_dataset(source)
    if isinstance(source, str | os.PathLike):
        text = os.fspath(source)
        if isinstance(text, str) and "://" in text:
            return _of_url(text)
        if not isinstance(text, str):
            raise refuse_type("source", _OWNER, _EXPECTED, source)
        return fs.LocalFileSystem(), _local(text), None
    if not isinstance(source, list | tuple | Set | Iterator):
        raise refuse_type("source", _OWNER, _EXPECTED, source)
    parts = [_found(part) for part in source]
    if len({part[2] for part in parts}) > 1:
        raise refuse_value("source", _OWNER, "files of one place", "several", "copy them to one machine or bucket.")
    filesystem, _, url = parts[0] if parts else (fs.LocalFileSystem(), [], None)
    return filesystem, [path for part in parts for path in part[1]], url


def _local(text: str) -> list[str]:
    text = os.path.expanduser(text)
    if os.path.isdir(text):
        return [
            os.path.abspath(path) for path in _parquet(glob.glob(f"{glob.escape(text)}/**/*", recursive=True), text)
        ]
    if os.path.exists(text) or not glob.has_magic(text):
        if not os.path.exists(text):
            raise refuse_value("source", _OWNER, "files that exist", text, "no file is there. Look at the path.")
        return [os.path.abspath(text)]
    return [os.path.abspath(path) for path in glob.glob(text, recursive=True) if os.path.isfile(path)]


def _parquet(paths: Iterable[str], folder: str) -> list[str]:
    """The Parquet files in a folder; names that begin with a dot or an underscore are what engines leave behind."""
    inside = [(path, path[len(folder) :].strip("/").split("/")) for path in paths if path.endswith((".parquet", ".pq"))]
    return [path for path, names in inside if not any(name.startswith((".", "_")) for name in names)]


def _of_url(url: str) -> tuple[Any, list[str], str | None]:
    from pyarrow import fs

    parts = urlsplit(url)
    options = parse_qsl(parts.query, keep_blank_values=True)
    secret = [name for name, value in options if name not in _PLAIN_OPTIONS or "@" in value]
    # A password with a slash ends the place too early: what is behind the colon is then no port.
    user = "@" in parts.netloc or (not parts.netloc.rpartition(":")[2].isdigit() and ":" in parts.netloc)
    if user or secret:
        what = "a user or a password" if user else f"the option {secret[0]!r}"
        reason = f"it has {what}. Credentials come from the environment, or with a pyarrow Dataset; none are kept."
        raise refuse_value("source", _OWNER, "a URL without credentials", _shown(url), reason)
    query = f"?{parts.query}" if parts.query else ""
    place = f"{parts.scheme}://{parts.netloc}"
    magic = glob.has_magic(parts.path)
    folder = parts.path.split("*")[0].rsplit("/", 1)[0] if magic else parts.path
    try:
        filesystem, path = fs.FileSystem.from_uri(f"{place}{folder}{query}")
        here = filesystem.get_file_info(path)
        if here.type == fs.FileType.File:
            return filesystem, [path], f"{place}/{query}"
        inside = filesystem.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        reason = f"it could not be looked at ({type(error).__name__}). Is it a URL that pyarrow.fs understands?"
        raise refuse_value("source", _OWNER, _EXPECTED, _shown(url), reason) from error
    found = [info.path for info in inside if info.type == fs.FileType.File and not info.base_name.startswith(".")]
    if not magic:
        return filesystem, _parquet(found, path), f"{place}/{query}"
    pattern = path + parts.path[len(folder) :]
    return filesystem, [one for one in found if _matches(one, pattern)], f"{place}/{query}"


def _matches(path: str, pattern: str) -> bool:
    """Whether a path is that of a pattern, in which * stands for part of a name and ** for any folders."""
    from pathlib import PurePosixPath

    names, wanted = PurePosixPath(path).parts, PurePosixPath(pattern).parts
    if "**" not in wanted:
        return len(names) == len(wanted) and PurePosixPath(path).match(pattern)
    place = wanted.index("**")
    return any(
        _matches(path, str(PurePosixPath(*wanted[:place], *["*"] * count, *wanted[place + 1 :])))
        for count in range(len(names) - len(wanted) + 2)
    )


def _of_dataset(source: Any) -> tuple[Any, list[str], str | None]:
    from pyarrow import dataset, fs

    if not isinstance(source, dataset.FileSystemDataset) or not isinstance(source.format, dataset.ParquetFileFormat):
        raise refuse_type("source", _OWNER, "a pyarrow Dataset of Parquet files", source, "write it as Parquet first.")
    if getattr(source, "_scan_options", None):
        reason = "rows are numbered in the files. Write the rows that pass as files of their own."
        raise refuse_value("source", _OWNER, "a dataset without a filter", source, reason)
    folders = source.partitioning
    if folders is not None and not isinstance(folders, dataset.HivePartitioning) and folders.schema.names:
        reason = f"the column {folders.schema.names[0]!r} is neither in the files nor in the names of folders."
        raise refuse_value("source", _OWNER, "a dataset whose folders are called column=value", source, reason)
    local = isinstance(source.filesystem, fs.LocalFileSystem)
    paths = [os.path.abspath(path) for path in source.files] if local else list(source.files)
    return source.filesystem, paths, None if local else ""


def _stamps(filesystem: Any, paths: tuple[str, ...]) -> tuple[tuple[int, int], ...]:
    from pyarrow import fs

    infos = filesystem.get_file_info(list(paths))
    gone = [info.path for info in infos if info.type != fs.FileType.File]
    if gone:
        more = f" (and {len(gone) - 1:,} more)" if len(gone) > 1 else ""
        raise FileNotFoundError(
            f"The file {gone[0]}{more} is gone. Make the ParquetTable again, without it or with it."
        )
    return tuple((int(info.size or 0), int(info.mtime_ns or 0)) for info in infos)


def _shown(source: Any) -> Any:
    """What was given, without what might be a secret."""
    if not isinstance(source, str) or "://" not in source:
        return source
    parts = urlsplit(source)
    return f"{parts.scheme}://{parts.netloc.rsplit('@', 1)[-1]}{parts.path}"
