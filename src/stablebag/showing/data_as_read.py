"""The data as they were read: what each column was taken for, what is missing, and what was left out and why."""

from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from stablebag._wording import ROW_NUMBERS, Noun

# In the order in which they are told, and in which they matter.
_ROLES = ("target", "group", "id", "dropped", "constant")
_NOUNS = {
    "number": Noun("number", "numbers"),
    "category": Noun("category", "categories"),
    "text": Noun("text", "texts"),
    "date": Noun("date", "dates"),
    "constant": Noun("constant", "constant"),
    "id": Noun("id", "ids"),
    "dropped": Noun("dropped", "dropped"),
}


@dataclass(frozen=True)
class ColumnAsRead:
    """A column, as it was read.

    Attributes
    ----------
    name : str
        Its name.
    kind : str
        What it was taken for: number, category, text, date; target, group; id, constant or dropped, which are left
        out.
    missing : float
        The share of the rows in which it is missing.
    n_values : int or None
        The number of different values; None if they were not read.
    example : str
        The range of numbers and dates; some values of others.
    remark : str
        How it is written, or why it was left out; empty if there is nothing to say.
    """

    name: str
    kind: str
    missing: float
    n_values: int | None
    example: str
    remark: str = ""


@dataclass(frozen=True)
class DataAsRead:
    """A table, as it was read.

    Attributes
    ----------
    name : str
        The name of the file.
    n_rows : int
        The number of rows with a target.
    columns : tuple of ColumnAsRead
        The columns, in the order of the file.
    said : tuple of str
        How the file was read, where that is not as usual: "with ';' between columns".
    noticed : tuple of str
        Sentences about columns: what looks wrong, and the option that helps.
    warned : tuple of str
        Sentences to read before any result: columns that leak the target, and ratings that were taken for classes.
    row_numbers : str
        A sentence about where the numbers of rows start; "" if rows are called by their ids, or groups.
    n_sampled : int or None
        The number of rows, drawn at random, that the columns were decided from; None if from all.
    """

    name: str
    n_rows: int
    columns: tuple[ColumnAsRead, ...]
    said: tuple[str, ...] = ()
    noticed: tuple[str, ...] = ()
    warned: tuple[str, ...] = ()
    row_numbers: str = ROW_NUMBERS
    n_sampled: int | None = None

    def counted(self) -> str:
        """Say how many columns of which kind there are: "8 numbers, 3 categories; 1 left out (constant)"."""
        counts = Counter(column.kind for column in self.columns)
        used = [_NOUNS[kind].count(counts[kind]) for kind in ("number", "category", "text", "date") if counts[kind]]
        out = [kind for kind in ("constant", "id", "dropped") if counts[kind]]
        n_out = sum(counts[kind] for kind in out)
        why = _NOUNS[out[0]].singular if n_out == 1 else ", ".join(_NOUNS[kind].count(counts[kind]) for kind in out)
        parts = [", ".join(used) or "none to learn from", *[f"{n_out:,} left out ({why})"] * bool(n_out)]
        return "; ".join(parts)

    def conclusion(self) -> str:
        """Say in a sentence how many columns there are, and what they were taken for."""
        others = sum(column.kind not in ("target", "group") for column in self.columns)
        beside = " and the group" if any(column.kind == "group" for column in self.columns) else ""
        number = "1 column" if others == 1 else f"{others:,} columns"
        return f"{number} beside the target{beside}: {self.counted()}."

    @property
    def title(self) -> str:
        """What a table of the columns is called."""
        sampled = "" if self.n_sampled is None else f" in {self.n_sampled:,} rows drawn at random"
        return f"The columns of {self.name}, as they were read{sampled}"

    def lines(self) -> list[str]:
        """Return what there is to say in sentences: the conclusion, how the file was read, and what was noticed."""
        read = [f"The file was read {_joined(self.said)}."] if self.said else []
        return [self.conclusion(), *read, *self.noticed]

    def shown(self, most: int = 20) -> tuple[ColumnAsRead, ...]:
        """Return the columns that matter most, in the order of the file.

        They are those that are not simply learned from, then those with a remark or with missing values, then the
        others; all of them if there are at most that many.
        """

        def rank(place: int) -> tuple[int, int]:
            column = self.columns[place]
            role = _ROLES.index(column.kind) if column.kind in _ROLES else len(_ROLES)
            return role if role < len(_ROLES) else role + (not column.remark) + (column.missing == 0), place

        first = sorted(range(len(self.columns)), key=rank)[:most]
        return tuple(self.columns[place] for place in sorted(first))

    def rest(self, most: int = 20) -> str:
        """Say in a sentence what the columns that are not shown are; "" if all are."""
        shown = set(self.shown(most))
        others = Counter(column.kind for column in self.columns if column not in shown)
        if not others:
            return ""
        return f"Not shown: {', '.join(_NOUNS[kind].count(number) for kind, number in others.most_common())}."

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON takes it."""
        return {**asdict(self), "conclusion": self.conclusion()}


def _joined(parts: tuple[str, ...]) -> str:
    return parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
