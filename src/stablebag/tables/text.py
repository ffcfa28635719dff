"""Read a file as a table: text files, Excel sheets and Parquet, as they are written.

Numbers and dates stay texts where the file has them as texts; `columns` parses them.
"""

import bz2
import codecs
import csv
import datetime
import glob
import gzip
import io
import lzma
import math
import os
import re
import warnings
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from stablebag._checks import refuse_type
from stablebag._wording import option, printable
from stablebag.models.rows import row_by_row
from stablebag.tables.files import Partitions, is_named_parquet, local_files

# --------------------------------------------------------------------------------------------------------------- errors
# The error for tables, and how sentences name columns and values.


class TableError(ValueError):
    """What is wrong with a table, a column or a model's name, in one sentence."""


def check_column_name(names: Iterable[str], name: str) -> None:
    """Raise an error if there is no column of this name; it suggests a similar name, or lists the columns."""
    columns = list(names)
    if name in columns:
        return
    error = f"There is no column {name!r} in the table"
    by_lower = {column.lower().strip(): column for column in reversed(columns)}
    if similar := get_close_matches(name.lower().strip(), by_lower, n=1):
        raise TableError(f"{error}. Did you mean {by_lower[similar[0]]!r}?")
    if len(columns) == 1 and any(separator in columns[0] for separator in f"{_SEPARATORS} "):
        raise TableError(f"{error}. Its only column is {quoted(columns[0])}: check {option('separator')}.")
    found = f"{error}; it has {listed([quoted(column) for column in columns], most=8)}."
    if 2 * sum(column.replace(".", "").isdigit() for column in columns) >= len(columns):
        raise TableError(f"{found} The first row of the file must have the names of the columns.")
    raise TableError(found)


def listed(names: Iterable[str], most: int = 5) -> str:
    """Join a few names for a sentence, with "..." for the rest."""
    names = list(names)
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def quoted(value: object, most: int = 40) -> str:
    r"""Return a name or value of the table in quotes, on one line, and cut off where it is long.

    >>> quoted("dose"), quoted("a\tb" * 20, 12)
    ("'dose'", "'a\\tba\\tba...'")
    """
    return f"'{printable(value, most)}'"


# ------------------------------------------------------------------------------------------------------------ encodings
# From the bytes of a text file, compressed or not, to its text.

# Byte order marks; the longer ones first.
_MARKS = [
    (codecs.BOM_UTF8, "utf-8-sig", "UTF-8"),
    (codecs.BOM_UTF32_LE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF32_BE, "utf-32", "UTF-32"),
    (codecs.BOM_UTF16_LE, "utf-16", "UTF-16"),
    (codecs.BOM_UTF16_BE, "utf-16", "UTF-16"),
]
_OPENERS: dict[str, Callable[..., object]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
COMPRESSED = {*_OPENERS, ".zip", ".zst"}
# What files of other kinds begin with, and what to do with them.
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OTHER_KINDS = {
    b"PK\x03\x04": "a zip archive or an Excel file. Rename an Excel file to .xlsx, and unpack an archive",
    _OLE: "an old Excel file (.xls). Open it in Excel and save it as .xlsx or CSV",
    b"PAR1": "a Parquet file. Rename it to .parquet",
    b"ARROW1": "a Feather file. Rename it to .feather",
    b"\x1f\x8b": "compressed by gzip. Add .gz to its name",
}


def decompress(path: Path) -> bytes:
    """Return the bytes of a file, decompressed if it has the ending of a compressed one."""
    ending = path.suffix.lower()
    if ending in _OPENERS:
        with _OPENERS[ending](path, "rb") as file:  # type: ignore[attr-defined]
            return bytes(file.read())
    if ending == ".zip":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/")]
            if len(names) != 1:
                raise TableError(f"The archive {path} must contain one file, but has {len(names)}. Unpack it.")
            return archive.read(names[0])
    if ending == ".zst":
        import zstandard

        with zstandard.open(path, "rb") as file:
            return bytes(file.read())
    return path.read_bytes()


def decode(content: bytes, path: Path, encoding: str | None = None) -> tuple[str, str]:
    """Return the text of a file, and a remark on its encoding, such as "as UTF-16", if it is unusual.

    A byte order mark decides (UTF-8, UTF-16, UTF-32). A file without one is UTF-8. If it is not valid UTF-8, it is read
    as Windows-1252, which contains nearly all of Latin-1.
    """
    for start, kind in _OTHER_KINDS.items():
        if content.startswith(start) and b"\0" in content:
            raise TableError(f"The file {path} is not a text file, but {kind}.")
    if encoding is not None:
        return _decode_as(content, path, encoding), ""
    for mark, name, known_as in _MARKS:
        if content.startswith(mark):
            try:
                return content.decode(name), "" if known_as == "UTF-8" else f"as {known_as}"
            except UnicodeDecodeError:
                raise TableError(
                    f"The file {path} starts like {known_as}, but is not valid {known_as}. Try {option('encoding')}."
                ) from None
    if b"\0" in content:
        zeros = [content[start::2].count(b"\0") for start in (0, 1)]
        if max(zeros) > 0.3 * len(content) / 2 > min(zeros):
            guess = "utf-16-le" if zeros[1] > zeros[0] else "utf-16-be"
            raise TableError(
                f"The file {path} looks like UTF-16 without a byte order mark. Use {option('encoding', guess)}."
            )
        raise TableError(f"The file {path} contains zero bytes, so it is not a text file. Export the table again.")
    try:
        return content.decode("utf-8"), ""
    except UnicodeDecodeError:
        pass
    try:
        return content.decode("cp1252"), "as Windows-1252 (Latin-1), because it is not UTF-8"
    except UnicodeDecodeError:
        raise TableError(
            f"The file {path} is neither UTF-8 nor Windows-1252. Give its encoding, for example "
            f"{option('encoding', 'latin-1')}."
        ) from None


def _decode_as(content: bytes, path: Path, encoding: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except UnicodeError:
        raise TableError(
            f"The file {path} is not valid {encoding}. Leave out {option('encoding')}, or use another one."
        ) from None
    except (LookupError, ValueError):
        raise TableError(f"Unknown encoding {encoding!r}. Use for example utf-8, cp1252 or utf-16.") from None


# ------------------------------------------------------------------------------------------------------ written numbers
# Numbers as people write them: 1,234.50 or 1.234,50, with a currency or a percent sign.

_SIGNS = r"€|\$|£|¥|₹|%|EUR|USD|GBP|CHF|JPY"
_MINUS = "\u2212-"
_BLANKS = "'\u2019 \u00a0\u202f"  # other thousands separators than . and ,
_PARTS = re.compile(
    rf"([+{_MINUS}]?)\s*({_SIGNS})?\s*([+{_MINUS}]?)\s*([.,]?\d[\d.,{_BLANKS}]*(?:[eE][+-]?\d+)?)\s*({_SIGNS})?"
)
_PLAIN = re.compile(r"^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?$", re.MULTILINE)


def _number_pattern(mark: str, other: str) -> re.Pattern[str]:
    """Match numbers with this decimal mark, with or without thousands separators; not 00012, which is a code."""
    simple = rf"(?:(?:0|[1-9]\d*)(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d{{1,2}})?"
    return re.compile(rf"{simple}|[1-9]\d{{0,2}}(?:[{other}{_BLANKS}]\d{{3}})+(?:{mark}\d*)?")


_NUMBERS = {".": _number_pattern(r"\.", ","), ",": _number_pattern(",", ".")}
_THOUSANDS = {".": str.maketrans("", "", f",{_BLANKS}"), ",": str.maketrans(",", ".", f".{_BLANKS}")}


@dataclass(frozen=True)
class Spelling:
    """Which texts are numbers, and in which way they can be read.

    Attributes
    ----------
    sign : ndarray of str
        The currency or percent sign of each text, or "".
    point, comma : ndarray of bool
        Whether each is a number with a decimal point, or with a decimal comma.
    parted : ndarray of bool
        Whether each contains a point or a comma, and so may have two readings.
    """

    sign: np.ndarray
    point: np.ndarray
    comma: np.ndarray
    parted: np.ndarray


def spelling(texts: list[str]) -> Spelling:
    """Return which texts are numbers, and how they are written."""
    joined = "\n".join(texts)
    if joined.count("\n") == len(texts) - 1 and len(_PLAIN.findall(joined)) == len(texts):
        parted = np.array(["." in text for text in texts], dtype=bool)
        grouped = np.array([text[-4:-3] == "." and _is_number(text, ",") for text in texts], dtype=bool)
        return Spelling(np.full(len(texts), ""), np.ones(len(texts), dtype=bool), ~parted | grouped, parted)
    found = [_PARTS.fullmatch(text) for text in texts]
    body = [match[4].strip() if match and not (match[1] and match[3]) else "" for match in found]
    sign = [(match[2] or match[5] or "") if match and not (match[2] and match[5]) else "" for match in found]
    return Spelling(
        np.array(sign, dtype=object),
        np.array([bool(_NUMBERS["."].fullmatch(text)) for text in body], dtype=bool),
        np.array([bool(_NUMBERS[","].fullmatch(text)) for text in body], dtype=bool),
        np.array(["." in text or "," in text for text in body], dtype=bool),
    )


def _is_number(text: str, decimal: str) -> bool:
    found = _PARTS.fullmatch(text)
    return bool(found and _NUMBERS[decimal].fullmatch(found[4].strip()))


def parse_numbers(texts: list[str], decimal: str) -> np.ndarray:
    """Return texts as numbers with this decimal mark; NaN for those that are not numbers, or too large for a float.

    >>> parse_numbers(["€ 1.234,50", "12 %", "-3", "n.d."], ",").tolist()
    [1234.5, 12.0, -3.0, nan]
    """
    import pandas as pd

    if decimal == "," and any("." in text for text in texts):
        return np.array([_parse_number(text, decimal) for text in texts], dtype=float)
    simple = [text.replace(",", ".") for text in texts] if decimal == "," else texts
    numbers: np.ndarray = pd.to_numeric(np.array(simple, dtype=object), errors="coerce").astype(float)
    for place in np.flatnonzero(~np.isfinite(numbers)):
        numbers[place] = _parse_number(texts[place], decimal)
    return numbers


def _parse_number(text: str, decimal: str) -> float:
    found = _PARTS.fullmatch(text)
    body = found[4].strip().lstrip("0") if found else ""
    body = body if body[:1].isdigit() else f"0{body}"  # 00012 is a number in a column that the user calls a number
    if not found or not _NUMBERS[decimal].fullmatch(body):
        return math.nan
    number = float(body.translate(_THOUSANDS[decimal]))
    if math.isinf(number):
        return math.nan
    return -number if set(_MINUS) & set(found[1] + found[3]) else number


# ---------------------------------------------------------------------------------------------------------------- dates
# Dates as people write them, and the numbers that learners get for them.

_DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y")
# Formats of dates, in the order in which they are tried; "ISO8601" takes dates with and without times.
_DATES = ["ISO8601", *(day + time for day in _DAYS for time in ("", " %H:%M", " %H:%M:%S"))]
_LOOKS_LIKE_ONE = r"^\D*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
NEARLY_ALL = 0.95  # of the different values of a column of dates


def date_formats(texts: list[str], n_spare: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the formats in which some of these texts are dates, each with a mask of these texts.

    Yields nothing if fewer than nearly all texts look like dates, even after removing `n_spare` others. Stops after a
    format that fits all texts.
    """
    import pandas as pd

    values = pd.Series(texts, dtype=object)
    n_alike = int(values.str.contains(_LOOKS_LIKE_ONE).sum()) if len(texts) else 0
    if not n_alike or n_alike < NEARLY_ALL * (len(texts) - n_spare):
        return
    for form in _DATES:
        found = pd.to_datetime(values, format=form, errors="coerce", utc=True).notna().to_numpy()
        if found.any():
            yield form, found
        if found.all():
            return


def parse_dates(column: Any, form: str) -> Any:
    """Return a column as dates of this format, without time zones; values that are not dates become missing."""
    import pandas as pd

    options: dict[str, Any] = {"format": form} if form and column.dtype.kind != "M" else {}
    return pd.to_datetime(column, errors="coerce", utc=True, **options).dt.tz_localize(None)


def date_order(form: str) -> str:
    """Return the order of day, month and year in a format, such as "day/month/year"; "" for ISO dates."""
    words = {"Y": "year", "y": "year", "m": "month", "d": "day"}
    day = form.split(" ")[0]
    return "" if not day.startswith("%") else day[2].join(words[part] for part in day[1::3])


@row_by_row
def date_parts(frame: Any) -> np.ndarray:
    """Return four numbers for each date: the day, its place in the year (sine and cosine), and the weekday."""
    import pandas as pd

    parts = []
    for name in frame.columns:
        dates = frame[name]
        days = (dates - pd.Timestamp("2000-01-01")) / pd.Timedelta(days=1)
        year = 2 * math.pi * dates.dt.day_of_year / 365.25
        parts += [days, np.sin(year), np.cos(year), dates.dt.day_of_week]
    return np.column_stack([np.asarray(part, dtype=float) for part in parts])


# ---------------------------------------------------------------------------------------------------------------- parts
# A table is one file, or several Parquet files: a folder, a pattern, or a list.

_VALUE = 8  # bytes of a value in memory, about


@dataclass(frozen=True)
class Parts:
    """The Parquet files of one table, in the order of their paths.

    Attributes
    ----------
    paths : tuple of Path
        The files.
    name : str
        The name of the table in sentences: the folder, the pattern, or the number of files.
    """

    paths: tuple[Path, ...]
    name: str

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, given: tuple[str, ...]) -> "Parts":
        """Find the files that these folders, patterns and paths name."""
        paths: list[Path] = []
        for text in given:
            found = [Path(path) for path in local_files(text)]
            if not found:
                raise TableError(_not_found(text))
            others = [path for path in found if not is_named_parquet(path)]
            if others:
                raise TableError(
                    f"A table in several files must be Parquet, but {others[0].name} is not. Pass one file, or convert "
                    "all files to Parquet."
                )
            paths += found
        in_order = sorted({path.resolve() for path in paths}, key=str)
        if len(in_order) < len(paths):
            raise TableError("The same file is given twice, so its rows would count twice. Pass each file once.")
        name = "/".join(Path(given[0]).parts[-2 if glob.has_magic(given[0]) else -1 :])
        return cls(tuple(in_order), name if len(given) == 1 else f"{len(in_order):,} files")


def _not_found(text: str) -> str:
    """A sentence for a path, a folder or a pattern that names no file."""
    if os.path.isdir(text):
        return f"The folder {text} has no Parquet files. To read a file of another kind, pass its path."
    if os.path.exists(text):
        return f"The path {text} is not a regular file. Save the table as a file."
    if glob.has_magic(text):
        return f"No file matches the pattern {text}. Check the folder and the pattern."
    folder, name = os.path.split(text)
    if folder and not os.path.isdir(folder):
        return f"There is no file {text}, because there is no folder {folder}."
    try:
        similar = get_close_matches(name, os.listdir(folder or "."), n=1, cutoff=0.75)
    except (OSError, ValueError):
        similar = []
    return f"There is no file {text}." + (f" Did you mean {os.path.join(folder, similar[0])}?" if similar else "")


def table_of(given: Any) -> Path | Parts:
    """Return the path of one file, or the parts of a table that is in several."""
    texts = (given,) if isinstance(given, str | os.PathLike) else given
    if not isinstance(texts, list | tuple) or not texts or not all(isinstance(one, str | os.PathLike) for one in texts):
        raise refuse_type("path", "read_table", "a path, or a list of paths of Parquet files", given)
    paths = tuple(os.path.expanduser(os.fsdecode(one)) for one in texts)
    one = paths[0] if len(paths) == 1 else None
    if one is not None and (os.path.isfile(one) or not (os.path.isdir(one) or glob.has_magic(one))):
        return Path(one)  # a missing file raises an error when it is read
    return Parts.of(paths)


def paths_of(table: Any) -> tuple[Path, ...]:
    """Return the files of a table."""
    return table.paths if isinstance(table, Parts) else (Path(table),)


def name_of(table: Any) -> str:
    """Return the name of a table in sentences."""
    return table.name if isinstance(table, Parts) else Path(table).name


def is_parquet(table: Any) -> bool:
    """Return whether all files of a table exist and have the ending of Parquet files."""
    return all(is_named_parquet(path) and path.is_file() for path in paths_of(table))


def folders_of(table: Any) -> Partitions:
    """Return the columns that come from the names of folders; a single file has none."""
    return Partitions(tuple(map(str, paths_of(table))) if isinstance(table, Parts) else ())


def footers(table: Any) -> list[Any]:
    """Return the metadata of the Parquet files of a table."""
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise TableError("Reading Parquet files needs pyarrow: pip install pyarrow.") from error
    found = []
    for path in paths_of(table):
        try:
            found.append(pq.read_metadata(path))
        except Exception as error:
            raise TableError(f"The file {path} cannot be read as Parquet: {_first_line(error)}.") from error
    return found


def check_same_columns(table: Any, dropped: Collection[str]) -> None:
    """Raise an error if a column is missing in some files, or is in a file and in the name of a folder."""
    folders, schemas = folders_of(table), [footer.schema.to_arrow_schema() for footer in footers(table)]
    columns = {name for schema in schemas for name in schema.names}.difference(dropped)
    check_folder_columns(table, columns | folders.partial, schemas)
    for name in sorted(columns):
        for path, schema in zip(paths_of(table), schemas, strict=True):
            if name not in schema.names:
                raise TableError(
                    f"The column {name!r} is not in all files of {name_of(table)}: {path} does not have it. Leave it "
                    f"out with {option('drop')}, or write the files again with the same columns."
                )


def check_folder_columns(table: Any, columns: set[str], schemas: list[Any]) -> None:
    """Raise an error if a column from folder names is also in a file, or if some files are not in such folders."""
    folders = folders_of(table)
    for name in sorted(columns) if folders.paths else ():
        if problem := folders.problem(name, schemas):
            raise TableError(f"The column {name!r} of {name_of(table)} is ambiguous: {problem} Rename one of them.")


def size_in_memory(table: Any) -> int:
    """Return about how many bytes the values of Parquet files take in memory, by their metadata."""
    return sum(_VALUE * footer.num_rows * footer.num_columns for footer in footers(table))


# ---------------------------------------------------------------------------------------------------------------- files
# One file, or the Parquet files of one table, as a frame.

_DEFAULT_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}
_EXCEL = (".xlsx", ".xlsm")
_PARQUET = (".parquet", ".pq")
_SEPARATORS = ",;\t|"
_SEPARATOR_NAMES = {"\t": "tabs", " ": "spaces"}
_NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
# Texts that count as missing: those that pandas takes for missing, and no others.
MISSING = frozenset(
    ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
     "NULL", "NaN", "None", "n/a", "nan", "null"]
)  # fmt: skip
_LONGEST_FIELD = 2**24


@dataclass(frozen=True)
class FileAsRead:
    """A table as it is written in its file.

    Attributes
    ----------
    frame : DataFrame
        The columns. Those of a text file are texts, with None for missing values; others have the types of the file.
    separator : str or None
        The separator of a text file; None for other files.
    said : tuple of str
        How the file was read, where that is unusual, as part of a sentence: "with ';' between columns".
    remarks : tuple of str
        Sentences about cells that could not be read.
    """

    frame: Any
    separator: str | None = None
    said: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def read_file(
    path: Any, *, separator: str | None = None, encoding: str | None = None, as_written: Collection[str] = ()
) -> FileAsRead:
    """Read a table from a file by its ending: .csv, .tsv, .txt (also compressed), .xlsx, .parquet or .feather.

    The separator of a text file is found from its header alone, so that no row can change it: it is the one of comma,
    semicolon, tab and bar that is most frequent outside of quotes. In a tie, the usual one for the ending wins. In the
    columns `as_written`, only empty fields are missing. The Parquet files of a table in several parts are stacked.
    """
    if isinstance(path, Parts):
        return FileAsRead(_read_parts(path))
    path = Path(path)
    if not os.path.isfile(path):
        raise TableError(_not_found(str(path)))
    endings = [ending.lower() for ending in path.suffixes if ending.lower() not in COMPRESSED]
    ending = endings[-1] if endings else ""
    known = (*_DEFAULT_SEPARATORS, *_EXCEL, *_PARQUET, ".feather")
    if ending not in known:
        reason = f"files with the ending {ending} are not supported" if ending else "its name has no ending"
        raise TableError(f"Cannot read {path}: {reason}. Save it as .csv, .tsv, .txt, .xlsx, .parquet or .feather.")
    if ending not in _DEFAULT_SEPARATORS and path.suffix.lower() in COMPRESSED:
        raise TableError(f"Cannot read {path}: only text files may be compressed. Unpack it first.")
    try:
        if ending in _DEFAULT_SEPARATORS:
            read = _read_text(path, ending, separator, encoding, as_written)
        elif ending in _EXCEL:
            read = _read_excel(path, as_written)
        else:
            read = FileAsRead(_read_typed(path, ending))
    except TableError:
        raise
    except ImportError as error:
        needed = "zstandard" if path.suffix.lower() == ".zst" else "openpyxl" if ending in _EXCEL else "pyarrow"
        instead = ", or save the sheet as CSV" if ending in _EXCEL else ""
        raise TableError(f"Reading {path} needs {needed}: pip install {needed}{instead}.") from error
    except Exception as error:
        damaged = " as an Excel file" if ending in _EXCEL else ""
        raise TableError(f"The file {path} cannot be read{damaged}: {_first_line(error)}.") from error
    if not len(read.frame):
        raise TableError(f"The table {path} has a header but no rows.")
    return read


def _first_line(error: Exception) -> str:
    """The first line of an error's message, without a full stop."""
    text = getattr(error, "strerror", None) or str(error).strip()
    return (text.splitlines() or [type(error).__name__])[0].rstrip(". ")


def _read_parts(parts: Parts) -> Any:
    """Stack the rows of several Parquet files, in the order of their paths; columns must have one type."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    footers(parts)  # raises an error for files that are not Parquet
    folders = folders_of(parts)
    tables = [pq.read_table(path, partitioning=None) for path in parts.paths]
    schemas = [table.schema for table in tables]
    check_folder_columns(parts, folders.partial | folders.values.keys(), schemas)
    names = schemas[0].names
    for path, schema in zip(parts.paths, schemas, strict=True):
        if sorted(schema.names) != sorted(names):
            odd = sorted(set(names) ^ set(schema.names))[0]
            raise TableError(
                f"The column {odd!r} is not in all files of {parts}: {path} differs from the first. Write the files "
                "again with the same columns."
            )
    tables = [folders.add_to(table.select(names), number) for number, table in enumerate(tables)]
    try:
        together = pa.concat_tables(tables, promote_options="default")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise TableError(f"The files of {parts} have columns of different types: {_first_line(error)}.") from error
    if not len(together):
        raise TableError(f"The table {parts} has no rows.")
    return _with_text_names(together.to_pandas(), parts)


def _read_typed(path: Path, ending: str) -> Any:
    import pandas as pd

    return _with_text_names(pd.read_feather(path) if ending == ".feather" else pd.read_parquet(path), path)


def _with_text_names(frame: Any, path: Any) -> Any:
    """Return a frame from a typed file with texts as column names."""
    if frame.index.name is not None:  # pandas had made an index of a column
        frame = frame.reset_index()
    frame.columns = [str(name) for name in frame.columns]
    _check_unique_names(list(frame.columns), path)
    return frame.reset_index(drop=True)


def _check_unique_names(names: list[str], path: Any) -> None:
    earlier: set[str] = set()
    for name in names:
        if name in earlier:
            raise TableError(f"The table {path} has two columns called {name!r}. Rename one.")
        earlier.add(name)


# ----------------------------------------------------------------------------------------------------------- text files


def _read_text(
    path: Path, ending: str, separator: str | None, encoding: str | None, as_written: Collection[str]
) -> FileAsRead:
    text, remark = decode(decompress(path), path, encoding)
    first, _, rest = text.partition("\n")
    if declared := re.fullmatch(r"sep=(.)\r?", first):  # as Excel writes it
        separator, text = separator or declared[1], rest
    if not text.strip():
        raise TableError(f"The file {path} is empty.")
    given = None if separator is None else _NAMED_SEPARATORS.get(separator, separator)
    if given is not None and (len(given) != 1 or given in '\r\n"'):
        raise TableError(f"{option('separator')} must be one character, or tab. Got {separator!r}.")
    between = given or _find_separator(text, _DEFAULT_SEPARATORS[ending])
    frame = _parse_fields(text, between, path, as_written)
    said = [remark] * bool(remark)
    if between != _DEFAULT_SEPARATORS[ending] and given is None and len(frame.columns) > 1:
        said.append(f"with {_SEPARATOR_NAMES.get(between, repr(between))} between columns")
    return FileAsRead(frame, between, tuple(said))


def _find_separator(text: str, usual: str) -> str:
    """The most frequent separator in the header, outside of quotes."""
    start = len(text) - len(text.lstrip("\r\n"))
    quoted, counts = False, dict.fromkeys(_SEPARATORS, 0)
    for letter in text[start:]:
        if letter in "\r\n" and not quoted:
            break
        quoted = quoted ^ (letter == '"')
        if not quoted and letter in counts:
            counts[letter] += 1
    return max(_SEPARATORS, key=lambda letter: (counts[letter], letter == usual))


def _parse_fields(text: str, separator: str, path: Path, as_written: Collection[str]) -> Any:
    """Return the fields of a text as a frame of texts."""
    import pandas as pd

    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=separator != " ")
    names: list[str] = []
    rows: list[list[str]] = []
    while (fields := _next_fields(reader, path)) is not None:
        if not fields:  # an empty line
            continue
        if not names:
            names = [name.strip() for name in fields]
            continue
        if len(fields) > len(names) and not any(fields[len(names) :]):  # a separator at the end of the line
            fields = fields[: len(names)]
        if len(fields) != len(names):
            raise _ragged(reader.line_num, len(fields), len(names), path)
        rows.append(fields)
    _check_unique_names([name for name in names if name], path)
    names = [name or f"Unnamed: {place}" for place, name in enumerate(names)]
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    # One object for each different text: most of a table is repeated.
    usual: dict[str, str | None] = dict.fromkeys(MISSING)
    literal: dict[str, str | None] = {"": None}
    read = {name: _as_series(values, literal if name in as_written else usual)
            for name, values in zip(names, columns, strict=True)}  # fmt: skip
    return pd.DataFrame(read)


def _next_fields(reader: Any, path: Path) -> list[str] | None:
    """The fields of the next line; None at the end."""
    try:
        return next(reader, None)
    except csv.Error as error:
        raise TableError(f"Line {reader.line_num:,} of {path} cannot be read: {error}. Check quotes.") from None


def _as_series(values: Any, known: dict[str, str | None]) -> Any:
    import pandas as pd

    return pd.Series([known.setdefault(text, text) for text in map(str.strip, values)], dtype=object)


def _ragged(line: int, n_fields: int, n_names: int, path: Path) -> TableError:
    fields = "1 field" if n_fields == 1 else f"{n_fields:,} fields"
    way = f"Check {option('separator')}, quotes and line ends."
    if n_fields == n_names + 1:
        way = f"Check {option('separator')}, quotes and decimal commas. If the first field is an ID, name its column."
    return TableError(f"Line {line:,} of {path} has {fields}, but the header has {n_names:,}. {way}")


# ---------------------------------------------------------------------------------------------------------------- Excel
# The first visible sheet of a workbook, read by openpyxl. Nothing in the file is executed; formulas keep the results
# that Excel stored. Limits keep a small hostile file from filling the memory.

_MOST_UNPACKED = 10**9  # bytes of all parts of the file
_MOST_ROWS = 2**20  # as in Excel
_MOST_CELLS = 20_000_000
_EXCEL_ERRORS = frozenset(
    ["#N/A", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "#GETTING_DATA"]
)
# A cell with a formula and no result; a text result may be empty (t="str").
_NO_RESULT = re.compile(
    rb"<(?:\w+:)?c\b([^<>]*)>\s*<(?:\w+:)?f\b[^<>]*(?:/>|>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>\s*|<(?:\w+:)?v>\s*</(?:\w+:)?v>\s*)?</(?:\w+:)?c>"
)
_CHUNK, _OVERLAP = 2**20, 2**16  # bytes of a sheet that are searched at once; a cell with a formula is shorter


def _read_excel(path: Path, as_written: Collection[str]) -> FileAsRead:
    import openpyxl

    with path.open("rb") as file, warnings.catch_warnings():
        _check_archive(file, path)
        file.seek(0)
        warnings.simplefilter("ignore")  # about parts of the workbook that are not read, such as styles
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        try:
            sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"] or book.worksheets
            if not sheets:
                raise TableError(f"The file {path} has no sheet with cells. Save the table as CSV.")
            sheet, others = sheets[0], len(sheets) - 1
            rows, top = _sheet_rows(sheet, path)
            _check_formulas(sheet, path)
        finally:
            book.close()
    where = f"sheet {quoted(sheet.title)} of {path}"
    if not rows:
        move = " Move the sheet with the table to the front." if others else ""
        raise TableError(f"The {where} is empty.{move}")
    names, *values = rows
    header = _header(names, values, top, where)
    _check_unique_names([name for name in header if name is not None], path)
    frame, n_errors, error = _sheet_frame(header, values, as_written)
    said = [f"from sheet {quoted(sheet.title)}, the first of {others + 1}"] if others else []
    missing = f"{n_errors:,} cells have errors such as {error} and count as missing."
    if n_errors == 1:
        missing = f"1 cell has the error {error} and counts as missing."
    return FileAsRead(frame, None, tuple(said), (missing,) if n_errors else ())


def _check_archive(file: Any, path: Path) -> None:
    """Raise an error for a file that is not a workbook, or that is too large or declares XML entities."""
    if file.read(8) == _OLE:
        if "EncryptedPackage".encode("utf-16-le") in file.read():
            raise TableError(f"The file {path} is protected by a password. Save it without one, or as CSV.")
        raise TableError(f"The file {path} is an old Excel file (.xls). Open it in Excel and save it as .xlsx or CSV.")
    if not zipfile.is_zipfile(file):
        raise TableError(
            f"The file {path} is not an Excel file, or it is damaged. If it is a text file, rename it to .csv."
        )
    with zipfile.ZipFile(file) as archive:
        if (size := sum(part.file_size for part in archive.infolist())) > _MOST_UNPACKED:
            raise TableError(
                f"The file {path} unpacks to {size / 10**9:,.1f} GB, more than the limit of {_MOST_UNPACKED // 10**9} "
                "GB for Excel files. Save the sheet as CSV or Parquet."
            )
        for part in archive.infolist():
            with archive.open(part) as content:
                if _declares_entities(content):
                    raise TableError(
                        f"The file {path} declares XML entities. Excel never does this, so stablebag does not open it."
                    )


class _Finished(Exception):  # noqa: N818 (it is not an error)
    """Parsing can stop."""


def _declares_entities(content: Any) -> bool:
    """Whether an XML document begins with a document type, where entities are declared; parsed up to the first tag."""
    found = []

    def finish(*_: Any) -> None:
        raise _Finished

    def doctype(*_: Any) -> None:
        found.append(True)
        raise _Finished

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler, parser.StartElementHandler = doctype, finish
    try:
        while chunk := content.read(2**16):
            parser.Parse(chunk)
    except (_Finished, expat.ExpatError):  # a picture, for example, is not XML
        pass
    return bool(found)


def _sheet_rows(sheet: Any, path: Path) -> tuple[list[list[Any]], int]:
    """Return the rows of a sheet from the first that is not empty to the last, and the number of the first in Excel."""
    sheet.reset_dimensions()  # the declared size of a sheet may be wrong, or huge
    rows: list[list[Any]] = []
    top = n_cells = end = 0
    for place, cells in enumerate(sheet.iter_rows(values_only=True)):
        n_cells += len(cells)
        if place >= _MOST_ROWS or n_cells > _MOST_CELLS:
            limit = f"{_MOST_ROWS:,} rows" if place >= _MOST_ROWS else f"{_MOST_CELLS:,} cells"
            raise TableError(
                f"The sheet {quoted(sheet.title)} of {path} has more than {limit}. Save it as CSV or Parquet."
            )
        values = [(cell.strip() or None) if isinstance(cell, str) else cell for cell in cells]
        while values and values[-1] is None:
            values.pop()
        if not rows and not values:
            continue
        top = top or place + 1
        rows.append(values)
        end = len(rows) if values else end
    return rows[:end], top


def _header(names: list[Any], rows: list[list[Any]], top: int, where: str) -> list[str | None]:
    """Return the names of columns; None for a column without a name and values."""
    from openpyxl.utils import get_column_letter

    width = max([len(names), *map(len, rows)])
    found = [None if name is None else _cell_text(name) for name in [*names, *[None] * (width - len(names))]]
    for place, name in enumerate(found):
        if name is not None:
            continue
        row = next((row for row, cells in enumerate(rows) if cells[place : place + 1] not in ([], [None])), None)
        if row is None:
            continue
        if place:
            letter = get_column_letter(place + 1)
            raise TableError(
                f"The {where} has a value in cell {letter}{top + row + 1}, but the header (row {top}) has no name for "
                f"column {letter}. Name each column in one row, without merged cells, and remove titles above it."
            )
        found[place] = "Unnamed: 0"  # an index that pandas wrote has no name
    return found


def _sheet_frame(
    names: list[str | None], rows: list[list[Any]], as_written: Collection[str]
) -> tuple[Any, int, str | None]:
    """Return the columns as a frame, the number of cells with errors, and one of these errors."""
    import pandas as pd

    found, n_errors, error = {}, 0, None
    for place, name in enumerate(names):
        if name is None:
            continue
        values = [row[place] if place < len(row) else None for row in rows]
        errors = [value for value in values if isinstance(value, str) and value in _EXCEL_ERRORS]
        n_errors, error = n_errors + len(errors), error or next(iter(errors), None)
        missing = _EXCEL_ERRORS if name in as_written else _EXCEL_ERRORS | MISSING
        found[name] = _typed_cells([None if isinstance(value, str) and value in missing else value for value in values])
    return pd.DataFrame(found, index=range(len(rows))), n_errors, error


def _typed_cells(values: list[Any]) -> Any:
    """Return cells as numbers or dates if all of them are, and otherwise as texts."""
    import pandas as pd

    types = {type(value) for value in values if value is not None}
    if types and types <= {int, float}:
        numbers = np.array([math.nan if value is None else _as_float(value) for value in values])
        whole = types == {int} and None not in values and bool((abs(numbers) < 2**53).all())
        return pd.Series(numbers.astype(np.int64) if whole else numbers)
    if types == {datetime.datetime} or types == {datetime.timedelta}:
        return pd.Series(values)
    return pd.Series([None if value is None else _cell_text(value) for value in values], dtype=object)


def _as_float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _cell_text(value: Any) -> str:
    """Return a cell as a text, as Excel would write it into a CSV file."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        text = str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        # A zero more, because 1.234 could also be read with a thousands separator.
        return f"{text}0" if re.fullmatch(r"-?[1-9]\d{0,2}\.\d{3}", text) else text
    if isinstance(value, datetime.datetime):
        return value.date().isoformat() if value.time() == datetime.time() else value.isoformat(" ")
    return str(value).strip()


def _check_formulas(sheet: Any, path: Path) -> None:
    """Raise an error if a formula has no stored result, because its cell would look empty."""
    # Private, because openpyxl does not tell an empty cell from a missing result.
    if (get_source := getattr(sheet, "_get_source", None)) is None:
        return
    tail = b""
    with get_source() as content:
        while chunk := content.read(_CHUNK):
            for match in _NO_RESULT.finditer(tail + chunk):
                if not re.search(rb"""\bt=["']str["']""", match[1]):
                    cell = re.search(rb"""\br=["']([A-Z]+\d+)["']""", match[1])
                    where = f" in cell {cell[1].decode()}" if cell else ""
                    raise TableError(
                        f"The sheet {quoted(sheet.title)} of {path} has a formula without a stored result{where}. Open "
                        "the file in Excel or LibreOffice and save it, or save the sheet as CSV."
                    )
            tail = (tail + chunk)[-_OVERLAP:]
