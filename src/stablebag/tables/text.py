"""Text files: encodings, numbers and dates as they are written, and the parts of a table."""

import bz2
import codecs
import csv
import glob
import gzip
import io
import lzma
import math
import re
import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np

from stablebag._wording import option, printable
from stablebag.models.rows import row_by_row
from stablebag.tables.files import Partitions, is_named_parquet, local_files

# ------------------------------------------------------------------------------------------------------------- refusals
# What is wrong with a table, in one sentence; names of columns that are not there get the one that is meant.


class TableError(ValueError):
    """What is wrong with a table, a column or a model's name, in one sentence."""


def check_column_name(names: Iterable[str], name: str) -> None:
    """Refuse the name of a column that is not among these, with the one that is meant or with those that there are."""
    columns = list(names)
    if name in columns:
        return
    said = f"There is no column {name!r} in the table"
    lower = {column.lower().strip(): column for column in reversed(columns)}
    near = get_close_matches(name.lower().strip(), lower, n=1)
    if near:
        raise TableError(f"{said}. Did you mean {lower[near[0]]!r}?")
    raise TableError(f"{said}; it has {listed(map(repr, columns), most=8)}.")


def listed(names: Iterable[str], most: int = 5) -> str:
    """Return a few names for a sentence, and "..." for more of them."""
    names = list(names)
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")


def quoted(value: object, most: int = 40) -> str:
    r"""Return a name or value of the table in quotes, on one line, and cut off where it is long.

    >>> quoted("dose"), quoted("a\tb" * 20, 12)
    ("'dose'", "'a\\tba\\tba...'")
    """
    return f"'{printable(value, most)}'"


# ------------------------------------------------------------------------------------------------------------ encodings
# The bytes of a file as text: packed or not, and in which encoding.

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


def decompress(path: Path) -> bytes:
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


def decode(content: bytes, path: Path, encoding: str | None = None) -> tuple[str, str]:
    """Return the text of a file, and what must be said of its encoding.

    A mark at the beginning decides (UTF-8, UTF-16, UTF-32). Without one it is UTF-8; if it cannot be that, it is
    Windows-1252, of which Latin-1 is nearly a part, and this is said.
    """
    if encoding is not None:
        return _decode_as(content, path, encoding), ""
    for mark, name, called in _MARKS:
        if content.startswith(mark):
            try:
                return content.decode(name), "" if called == "UTF-8" else f"as {called}"
            except UnicodeDecodeError:
                raise TableError(
                    f"The file {path} begins as {called} and cannot be read so. Try {option('encoding')}."
                ) from None
    if b"\0" in content:
        halves = [content[start::2].count(b"\0") for start in (0, 1)]
        if max(halves) > 0.3 * len(content) / 2 > min(halves):
            guess = "utf-16-le" if halves[1] > halves[0] else "utf-16-be"
            raise TableError(f"The file {path} looks like UTF-16 without its mark. Give {option('encoding', guess)}.")
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
            f"The file {path} is neither UTF-8 nor Windows-1252. Give its encoding, such as "
            f"{option('encoding', 'latin-1')}."
        ) from None


def _decode_as(content: bytes, path: Path, encoding: str) -> str:
    try:
        return content.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise TableError(f"There is no encoding {encoding!r}. Give one such as utf-8, cp1252 or utf-16.") from None
    except UnicodeError:
        raise TableError(
            f"The file {path} is not in {encoding}. Leave {option('encoding')} out, or give another."
        ) from None


# ------------------------------------------------------------------------------------------------------ written numbers
# Numbers as people write them: 1,234.50 or 1.234,50, with a currency or a percent sign.

_SIGNS = r"€|\$|£|¥|₹|%|EUR|USD|GBP|CHF|JPY"
_MINUS = "\u2212-"
_BLANKS = "'\u2019 \u00a0\u202f"  # between thousands, beside the mark that is not the decimal one
_PARTS = re.compile(
    rf"([+{_MINUS}]?)\s*({_SIGNS})?\s*([+{_MINUS}]?)\s*([.,]?\d[\d.,{_BLANKS}]*(?:[eE][+-]?\d+)?)\s*({_SIGNS})?"
)
_PLAIN = re.compile(r"^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?$", re.MULTILINE)


def _number_pattern(mark: str, other: str) -> re.Pattern[str]:
    """A number with this decimal mark, with or without separators of thousands; 00012 is none, because it is a code."""
    usual = rf"(?:(?:0|[1-9]\d*)(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d{{1,2}})?"
    return re.compile(rf"{usual}|[1-9]\d{{0,2}}(?:[{other}{_BLANKS}]\d{{3}})+(?:{mark}\d*)?")


_EXACT = {".": _number_pattern(r"\.", ","), ",": _number_pattern(",", ".")}
_THOUSANDS = {".": str.maketrans("", "", f",{_BLANKS}"), ",": str.maketrans(",", ".", f".{_BLANKS}")}


@dataclass(frozen=True)
class Spelling:
    """How texts could be numbers, one by one.

    Attributes
    ----------
    sign : ndarray of str
        The currency or percent sign of each; "" if it has none.
    point, comma : ndarray of bool
        Whether each is a number with a decimal point, or with a decimal comma.
    parted : ndarray of bool
        Whether each has a point or a comma in it, and so may be read in two ways.
    """

    sign: np.ndarray
    point: np.ndarray
    comma: np.ndarray
    parted: np.ndarray


def spelling(texts: list[str]) -> Spelling:
    """Say of each text whether it is a number, and how it is written."""
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
        np.array([bool(_EXACT["."].fullmatch(text)) for text in body], dtype=bool),
        np.array([bool(_EXACT[","].fullmatch(text)) for text in body], dtype=bool),
        np.array(["." in text or "," in text for text in body], dtype=bool),
    )


def _is_number(text: str, decimal: str) -> bool:
    found = _PARTS.fullmatch(text)
    return bool(found and _EXACT[decimal].fullmatch(found[4].strip()))


def parse_numbers(texts: list[str], decimal: str) -> np.ndarray:
    """Return texts as numbers, with this decimal mark; NaN for those that are none.

    >>> parse_numbers(["€ 1.234,50", "12 %", "-3", "n.d."], ",").tolist()
    [1234.5, 12.0, -3.0, nan]
    """
    import pandas as pd

    if decimal == "," and any("." in text for text in texts):
        return np.array([_value(text, decimal) for text in texts], dtype=float)
    simple = [text.replace(",", ".") for text in texts] if decimal == "," else texts
    numbers: np.ndarray = pd.to_numeric(np.array(simple, dtype=object), errors="coerce").astype(float)
    for place in np.flatnonzero(~np.isfinite(numbers)):
        numbers[place] = _value(texts[place], decimal)
    return numbers


def _value(text: str, decimal: str) -> float:
    found = _PARTS.fullmatch(text)
    body = found[4].strip().lstrip("0") if found else ""
    body = body if body[:1].isdigit() else f"0{body}"  # 00012 is a number if it must be
    if not found or not _EXACT[decimal].fullmatch(body):
        return math.nan
    number = float(body.translate(_THOUSANDS[decimal]))
    return -number if set(_MINUS) & set(found[1] + found[3]) else number


# ---------------------------------------------------------------------------------------------------------------- dates
# Dates as people write them, and what learners are told of them.

_DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y", "%d.%m.%y", "%m/%d/%y")
# Formats of dates, in the order in which they are tried; "ISO8601" takes dates with and without times.
_DATES = ["ISO8601", *(day + time for day in _DAYS for time in ("", " %H:%M", " %H:%M:%S"))]
_LOOKS_LIKE_ONE = r"^\D*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}"
NEARLY_ALL = 0.95  # of the different values of a column of dates


def date_formats(texts: list[str], n_spare: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Give out the formats that could be those of these texts, each with who of them is a date in it.

    There are none if fewer than nearly all look like dates, also without some `n_spare` of them. A format in which all
    are dates is the last.
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
    """Return a column as dates without time zones, in this format; what is none is missing."""
    import pandas as pd

    options: dict[str, Any] = {"format": form} if form and column.dtype.kind != "M" else {}
    return pd.to_datetime(column, errors="coerce", utc=True, **options).dt.tz_localize(None)


def date_order(form: str) -> str:
    """Say how a date is written, where that could be taken otherwise."""
    words = {"Y": "year", "y": "year", "m": "month", "d": "day"}
    day = form.split(" ")[0]
    return "" if not day.startswith("%") else day[2].join(words[part] for part in day[1::3])


@row_by_row
def date_parts(frame: Any) -> np.ndarray:
    """Return the days of dates, and their places in the year and the week."""
    import pandas as pd

    parts = []
    for name in frame.columns:
        dates = frame[name]
        days = (dates - pd.Timestamp("2000-01-01")) / pd.Timedelta(days=1)
        year = 2 * math.pi * dates.dt.day_of_year / 365.25
        parts += [days, np.sin(year), np.cos(year), dates.dt.day_of_week]
    return np.column_stack([np.asarray(part, dtype=float) for part in parts])


# ---------------------------------------------------------------------------------------------------------------- parts
# The files of a table on the command line: one file, a folder, a pattern or several parts, and how large it is.

_VALUE = 8  # bytes of a value in memory, about


@dataclass(frozen=True)
class Parts:
    """The Parquet files of one table, in the order of their paths.

    Attributes
    ----------
    paths : tuple of Path
        The files.
    name : str
        What the table is called: as it was given.
    """

    paths: tuple[Path, ...]
    name: str

    def __str__(self) -> str:
        return self.name

    @classmethod
    def of(cls, given: tuple[str, ...]) -> "Parts":
        """Find the files that folders, patterns and paths name; what is not there is refused."""
        paths: list[Path] = []
        for text in given:
            found = [Path(path) for path in local_files(text)]
            if not found:
                raise TableError(_not_found(text))
            others = [path for path in found if not is_named_parquet(path)]
            if others:
                raise TableError(
                    f"A table in several files is of Parquet files, and {others[0].name} is none. Give one file, or "
                    "write the parts as Parquet."
                )
            paths += found
        in_order = sorted({path.resolve() for path in paths}, key=str)
        if len(in_order) < len(paths):
            raise TableError("Some file is given twice, and its rows would be counted twice. Give each once.")
        called = "/".join(Path(given[0]).parts[-2 if glob.has_magic(given[0]) else -1 :])
        return cls(tuple(in_order), called if len(given) == 1 else f"{len(in_order):,} files")


def _not_found(text: str) -> str:
    if Path(text).is_dir():
        return f"There is no Parquet file in the folder {text}."
    if glob.has_magic(text):
        return f"No file matches the pattern {text}. Look at the folder, and at the *."
    return f"There is no file {text}."


def table_of(given: Any) -> Path | Parts:
    """Return the path of one file, or the parts of a table that is in several."""
    given = (given,) if isinstance(given, str | Path) else tuple(given)
    given = tuple(str(Path(one)) if isinstance(one, Path) else one for one in given)
    one = given[0] if len(given) == 1 else None
    if one is not None and (Path(one).is_file() or not (Path(one).is_dir() or glob.has_magic(one))):
        return Path(one)  # which may not be there; that is said where it is read
    return Parts.of(given)


def paths_of(table: Any) -> tuple[Path, ...]:
    """Return the files of a table as it was given."""
    return table.paths if isinstance(table, Parts) else (Path(table),)


def name_of(table: Any) -> str:
    """Return what a table is called."""
    return table.name if isinstance(table, Parts) else Path(table).name


def is_parquet(table: Any) -> bool:
    """Return whether a table that is there is of Parquet files."""
    return all(is_named_parquet(path) and path.is_file() for path in paths_of(table))


def folders_of(table: Any) -> Partitions:
    """Return the columns that the names of folders on the way to several files are; of one file, none."""
    return Partitions(tuple(map(str, paths_of(table))) if isinstance(table, Parts) else ())


def footers(table: Any) -> list[Any]:
    """Return what the Parquet files of a table say of themselves; one that cannot be read is refused."""
    try:
        import pyarrow.parquet as pq
    except ImportError as error:
        raise TableError("Reading Parquet files needs pyarrow: pip install pyarrow.") from error
    found = []
    for path in paths_of(table):
        try:
            found.append(pq.read_metadata(path))
        except Exception as error:
            why = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            raise TableError(f"The file {path} cannot be read as Parquet: {why}.") from error
    return found


def check_same_columns(table: Any, dropped: Collection[str]) -> None:
    """Refuse a column that some files of a table lack, or that is both in a file and in the name of a folder."""
    folders, schemas = folders_of(table), [footer.schema.to_arrow_schema() for footer in footers(table)]
    columns = {name for schema in schemas for name in schema.names}.difference(dropped)
    check_folder_columns(table, columns | folders.partial, schemas)
    for name in sorted(columns):
        for path, schema in zip(paths_of(table), schemas, strict=True):
            if name not in schema.names:
                where = f"is not in all files of {name_of(table)}: {path} has none"
                raise TableError(
                    f"The column {name!r} {where}. Leave it out with {option('drop')}, or write the files anew."
                )


def check_folder_columns(table: Any, columns: set[str], schemas: list[Any]) -> None:
    """Refuse a column that is called as a folder is, unless all files are in such a folder and none has the column."""
    folders = folders_of(table)
    for name in sorted(columns) if folders.paths else ():
        if problem := folders.problem(name, schemas):
            raise TableError(f"It is not clear what {name!r} is in {name_of(table)}: {problem} Rename one of them.")


def size_in_memory(table: Any) -> int:
    """Return about how many bytes the values of Parquet files take in memory, by their footers."""
    return sum(_VALUE * footer.num_rows * footer.num_columns for footer in footers(table))


# ---------------------------------------------------------------------------------------------------------------- files
# A table from a file, as it is written there: what is between columns, which rows there are, and what is missing.

_DEFAULT_SEPARATORS = {".csv": ",", ".tsv": "\t", ".txt": "\t"}  # what is between columns, by the ending
_SEPARATORS = ",;\t|"
_SEPARATOR_NAMES = {"\t": "tabs", " ": "spaces"}
_NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
# What is missing: the values that pandas takes for missing, and no others.
MISSING = frozenset(
    ["", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
     "NULL", "NaN", "None", "n/a", "nan", "null"]
)  # fmt: skip
_LONGEST_FIELD = 2**24
_NESTED = (list, dict, tuple, set, np.ndarray)


@dataclass(frozen=True)
class FileAsRead:
    """A table as it is written in its file.

    Attributes
    ----------
    frame : DataFrame
        Of a text file, the texts, with None where a value is missing; of another, what the file says they are.
    separator : str or None
        What is between columns; None if the file is no text.
    said : tuple of str
        How it was read, where that is not as usual: "with ';' between columns".
    """

    frame: Any
    separator: str | None = None
    said: tuple[str, ...] = ()


def read_file(
    path: Any, *, separator: str | None = None, encoding: str | None = None, as_written: Collection[str] = ()
) -> FileAsRead:
    """Read a file by its ending: .csv, .tsv, .txt, .parquet or .feather; also .csv.gz and so on.

    What is between the columns of a text file is told by its header alone, so that no row can change it: of comma,
    semicolon, tab and bar, the one that is most often in it outside of quotes; if there are as many, the one that is
    usual for the ending. In the columns that are `as_written`, only an empty field is missing. The Parquet files of a
    table in several parts are read one after the other.
    """
    if isinstance(path, Parts):
        return FileAsRead(_read_parts(path))
    path = Path(path)
    if not path.is_file():
        raise TableError(f"There is no file {path}.")
    endings = [ending.lower() for ending in path.suffixes if ending.lower() not in PACKED]
    ending = endings[-1] if endings else ""
    if ending not in (*_DEFAULT_SEPARATORS, ".parquet", ".feather"):
        raise TableError(f"The file {path} must end in .csv, .tsv, .txt, .parquet or .feather.")
    try:
        text = ending in _DEFAULT_SEPARATORS
        read = (
            _read_text(path, ending, separator, encoding, as_written) if text else FileAsRead(_read_typed(path, ending))
        )
    except TableError:
        raise
    except ImportError as error:
        needed = "zstandard" if path.suffix.lower() == ".zst" else "pyarrow"
        raise TableError(f"Reading {path} needs {needed}: pip install {needed}.") from error
    except Exception as error:
        why = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise TableError(f"The file {path} cannot be read: {why}") from error
    if not len(read.frame):
        raise TableError(f"The table {path} has a header and no rows.")
    return read


def _read_parts(parts: Parts) -> Any:
    """The rows of several Parquet files, in the order of their paths; columns must have one type."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    footers(parts)  # which refuses what is no Parquet file
    folders = folders_of(parts)
    tables = [pq.read_table(path, partitioning=None) for path in parts.paths]
    schemas = [table.schema for table in tables]
    check_folder_columns(parts, folders.partial | folders.values.keys(), schemas)
    names = schemas[0].names
    for path, schema in zip(parts.paths, schemas, strict=True):
        if sorted(schema.names) != sorted(names):
            odd = sorted(set(names) ^ set(schema.names))[0]
            raise TableError(f"The column {odd!r} is not in all files of {parts}: {path} differs from the first.")
    tables = [folders.add_to(table.select(names), number) for number, table in enumerate(tables)]
    try:
        together = pa.concat_tables(tables, promote_options="default")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        why = (str(error).strip().splitlines() or [""])[0].rstrip(".")
        raise TableError(f"The files of {parts} have columns of different types: {why}.") from error
    if not len(together):
        raise TableError(f"The table {parts} has no rows.")
    return _check_frame(together.to_pandas(), parts)


def _read_typed(path: Path, ending: str) -> Any:
    import pandas as pd

    return _check_frame(pd.read_parquet(path) if ending == ".parquet" else pd.read_feather(path), path)


def _check_frame(frame: Any, path: Any) -> Any:
    """A frame from a file with types, with texts for names; cells with lists are refused."""
    if frame.index.name is not None:  # a column that pandas had put aside
        frame = frame.reset_index()
    frame.columns = [str(name) for name in frame.columns]
    _check_unique_names(list(frame.columns), path)
    for name in frame.columns:
        if frame[name].dtype.kind == "O" and any(isinstance(value, _NESTED) for value in frame[name]):
            raise TableError(f"The column {name!r} of {path} has lists or the like in it. Leave it out, or split it.")
    return frame.reset_index(drop=True)


def _read_text(
    path: Path, ending: str, separator: str | None, encoding: str | None, as_written: Collection[str]
) -> FileAsRead:
    text, said = decode(decompress(path), path, encoding)
    first, _, rest = text.partition("\n")
    if told := re.fullmatch(r"sep=(.)\r?", first):  # as spreadsheets write it
        separator, text = separator or told[1], rest
    if not text.strip():
        raise TableError(f"The file {path} is empty.")
    given = None if separator is None else _NAMED_SEPARATORS.get(separator, separator)
    if given is not None and len(given) != 1:
        raise TableError(f"{option('separator')} is one character, or tab. Got {separator!r}.")
    between = given or _find_separator(text, _DEFAULT_SEPARATORS[ending])
    frame = _frame(text, between, path, as_written)
    notes = [said] * bool(said)
    if between != _DEFAULT_SEPARATORS[ending] and given is None and len(frame.columns) > 1:
        notes.append(f"with {_SEPARATOR_NAMES.get(between, repr(between))} between columns")
    return FileAsRead(frame, between, tuple(notes))


def _find_separator(text: str, usual: str) -> str:
    """What is between columns, told by the header."""
    start = len(text) - len(text.lstrip("\r\n"))
    header, quoted, counts = [], False, dict.fromkeys(_SEPARATORS, 0)
    for letter in text[start:]:
        if letter in "\r\n" and not quoted:
            break
        quoted = quoted ^ (letter == '"')
        if not quoted and letter in counts:
            counts[letter] += 1
        header.append(letter)
    return max(_SEPARATORS, key=lambda letter: (counts[letter], letter == usual))


def _frame(text: str, separator: str, path: Path, as_written: Collection[str]) -> Any:
    """The fields of a text as a frame of texts; rows that do not fit the header are refused."""
    import pandas as pd

    csv.field_size_limit(_LONGEST_FIELD)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=separator != " ")
    names: list[str] = []
    rows: list[list[str]] = []
    for fields in reader:
        if not fields:  # an empty line
            continue
        if not names:
            names = [name.strip() for name in fields]
            continue
        if len(fields) > len(names) and not any(fields[len(names) :]):  # a separator at the end of the line
            fields = fields[: len(names)]
        if len(fields) != len(names):
            _raise_ragged(reader.line_num, len(fields), len(names), path)
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


def _as_series(values: Any, known: dict[str, str | None]) -> Any:
    import pandas as pd

    return pd.Series([known.setdefault(text, text) for text in map(str.strip, values)], dtype=object)


def _raise_ragged(line: int, n_fields: int, n_names: int, path: Path) -> None:
    if n_fields == n_names + 1:
        help_ = (
            "If the first one is the name of the row, give it a name in the header; else check "
            f"{option('separator')} and quotes"
        )
    else:
        help_ = f"Check {option('separator')}, quotes, and the ends of the lines"
    fields = "1 field" if n_fields == 1 else f"{n_fields:,} fields"
    more = "rows with more fields than its header" if n_fields > n_names else "rows with fewer fields than its header"
    raise TableError(f"The table {path} has {more}, which has {n_names:,}: line {line:,} has {fields}. {help_}.")


def _check_unique_names(names: list[str], path: Any) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TableError(f"The table {path} has two columns called {name!r}. Rename one.")
        seen.add(name)
