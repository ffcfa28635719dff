"""A table from a file, as it is written there: what is between columns, which rows there are, and what is missing."""

import csv
import io
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stablebag.commands.encodings import PACKED, decoded, unpacked
from stablebag.commands.parts import Parts, folders_of, footers, refuse_unclear
from stablebag.commands.refusals import TableError

_USUAL = {".csv": ",", ".tsv": "\t", ".txt": "\t"}  # what is between columns, by the ending
_SEPARATORS = ",;\t|"
_CALLED = {"\t": "tabs", " ": "spaces"}
_NAMED = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
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
        return FileAsRead(_stacked(path))
    path = Path(path)
    if not path.is_file():
        raise TableError(f"There is no file {path}.")
    endings = [ending.lower() for ending in path.suffixes if ending.lower() not in PACKED]
    ending = endings[-1] if endings else ""
    if ending not in (*_USUAL, ".parquet", ".feather"):
        raise TableError(f"The file {path} must end in .csv, .tsv, .txt, .parquet or .feather.")
    try:
        text = ending in _USUAL
        read = _read_text(path, ending, separator, encoding, as_written) if text else FileAsRead(_typed(path, ending))
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


def _stacked(parts: Parts) -> Any:
    """The rows of several Parquet files, in the order of their paths; columns must have one type."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    footers(parts)  # which refuses what is no Parquet file
    folders = folders_of(parts)
    tables = [pq.read_table(path, partitioning=None) for path in parts.paths]
    schemas = [table.schema for table in tables]
    refuse_unclear(parts, folders.partial | folders.values.keys(), schemas)
    names = schemas[0].names
    for path, schema in zip(parts.paths, schemas, strict=True):
        if sorted(schema.names) != sorted(names):
            odd = sorted(set(names) ^ set(schema.names))[0]
            raise TableError(f"The column {odd!r} is not in all files of {parts}: {path} differs from the first.")
    tables = [folders.beside(table.select(names), number) for number, table in enumerate(tables)]
    try:
        together = pa.concat_tables(tables, promote_options="default")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        why = (str(error).strip().splitlines() or [""])[0].rstrip(".")
        raise TableError(f"The files of {parts} have columns of different types: {why}.") from error
    if not len(together):
        raise TableError(f"The table {parts} has no rows.")
    return _checked(together.to_pandas(), parts)


def _typed(path: Path, ending: str) -> Any:
    import pandas as pd

    return _checked(pd.read_parquet(path) if ending == ".parquet" else pd.read_feather(path), path)


def _checked(frame: Any, path: Any) -> Any:
    """A frame from a file with types, with texts for names; cells with lists are refused."""
    if frame.index.name is not None:  # a column that pandas had put aside
        frame = frame.reset_index()
    frame.columns = [str(name) for name in frame.columns]
    _refuse_twice(list(frame.columns), path)
    for name in frame.columns:
        if frame[name].dtype.kind == "O" and any(isinstance(value, _NESTED) for value in frame[name]):
            raise TableError(f"The column {name!r} of {path} has lists or the like in it. Leave it out, or split it.")
    return frame.reset_index(drop=True)


def _read_text(
    path: Path, ending: str, separator: str | None, encoding: str | None, as_written: Collection[str]
) -> FileAsRead:
    text, said = decoded(unpacked(path), path, encoding)
    first, _, rest = text.partition("\n")
    if told := re.fullmatch(r"sep=(.)\r?", first):  # as spreadsheets write it
        separator, text = separator or told[1], rest
    if not text.strip():
        raise TableError(f"The file {path} is empty.")
    given = None if separator is None else _NAMED.get(separator, separator)
    if given is not None and len(given) != 1:
        raise TableError(f"--sep is one character, or tab. Got {separator!r}.")
    between = given or _between(text, _USUAL[ending])
    frame = _frame(text, between, path, as_written)
    notes = [said] * bool(said)
    if between != _USUAL[ending] and given is None and len(frame.columns) > 1:
        notes.append(f"with {_CALLED.get(between, repr(between))} between columns")
    return FileAsRead(frame, between, tuple(notes))


def _between(text: str, usual: str) -> str:
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
            _refuse_ragged(reader.line_num, len(fields), len(names), path)
        rows.append(fields)
    _refuse_twice([name for name in names if name], path)
    names = [name or f"Unnamed: {place}" for place, name in enumerate(names)]
    columns = zip(*rows, strict=True) if rows else ([] for _ in names)
    # One object for each different text: most of a table is repeated.
    usual: dict[str, str | None] = dict.fromkeys(MISSING)
    literal: dict[str, str | None] = {"": None}
    read = {name: _texts(values, literal if name in as_written else usual)
            for name, values in zip(names, columns, strict=True)}  # fmt: skip
    return pd.DataFrame(read)


def _texts(values: Any, known: dict[str, str | None]) -> Any:
    import pandas as pd

    return pd.Series([known.setdefault(text, text) for text in map(str.strip, values)], dtype=object)


def _refuse_ragged(line: int, n_fields: int, n_names: int, path: Path) -> None:
    if n_fields == n_names + 1:
        help_ = "If the first one is the name of the row, give it a name in the header; else check --sep and quotes"
    else:
        help_ = "Check --sep, quotes, and the ends of the lines"
    fields = "1 field" if n_fields == 1 else f"{n_fields:,} fields"
    more = "rows with more fields than its header" if n_fields > n_names else "rows with fewer fields than its header"
    raise TableError(f"The table {path} has {more}, which has {n_names:,}: line {line:,} has {fields}. {help_}.")


def _refuse_twice(names: list[str], path: Any) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TableError(f"The table {path} has two columns called {name!r}. Rename one.")
        seen.add(name)
