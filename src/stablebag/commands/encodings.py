"""The bytes of a file as text: packed or not, and in which encoding."""

import bz2
import codecs
import gzip
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

from stablebag.commands.refusals import TableError

# What a file begins with, if it says how it is encoded; the longer marks first.
_MARKS = [
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
]
_OPENERS: dict[str, Callable[..., object]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
PACKED = {*_OPENERS, ".zip", ".zst"}


def unpacked(path: Path) -> bytes:
    """Return the bytes of a file, unpacked if its name ends so."""
    ending = path.suffix.lower()
    if ending in _OPENERS:
        with _OPENERS[ending](path, "rb") as file:  # type: ignore[attr-defined]
            return bytes(file.read())
    if ending == ".zip":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                raise TableError(f"The archive {path} has {len(names)} files in it and must have one. Unpack it.")
            return archive.read(names[0])
    if ending == ".zst":
        import zstandard

        with zstandard.open(path, "rb") as file:
            return bytes(file.read())
    return path.read_bytes()


def decoded(content: bytes, path: Path, encoding: str | None = None) -> tuple[str, str]:
    """Return the text of a file, and what must be said of its encoding.

    A mark at the beginning decides (UTF-8, UTF-16, UTF-32). Without one it is UTF-8; if it cannot be that, it is
    Windows-1252, of which Latin-1 is nearly a part, and this is said.
    """
    if encoding is not None:
        return _given(content, path, encoding), ""
    for mark, name, called in _MARKS:
        if content.startswith(mark):
            try:
                return content.decode(name), "" if called == "UTF-8" else f"as {called}"
            except UnicodeDecodeError:
                raise TableError(f"The file {path} begins as {called} and cannot be read so. Try --encoding.") from None
    if b"\0" in content:
        halves = [content[start::2].count(b"\0") for start in (0, 1)]
        if max(halves) > 0.3 * len(content) / 2 > min(halves):
            guess = "utf-16-le" if halves[1] > halves[0] else "utf-16-be"
            raise TableError(f"The file {path} looks like UTF-16 without its mark. Give --encoding {guess}.")
        raise TableError(f"The file {path} has zero bytes in it, so it is no table of text.")
    try:
        return content.decode("utf-8"), ""
    except UnicodeDecodeError:
        pass
    said = "as Windows-1252 (Latin-1), because it is not UTF-8"
    try:
        return content.decode("cp1252"), said
    except UnicodeDecodeError:
        raise TableError(
            f"The file {path} is neither UTF-8 nor Windows-1252. Give its encoding, such as --encoding latin-1."
        ) from None


def _given(content: bytes, path: Path, encoding: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise TableError(f"There is no encoding {encoding!r}. Give one such as utf-8, cp1252 or utf-16.") from None
    except UnicodeError:
        raise TableError(f"The file {path} is not in {encoding}. Leave --encoding out, or give another.") from None
