"""What options say about columns: which name rows, which are left out, and which kind they are."""

from typing import Any

from stablebag.commands.kinds import CHOICES
from stablebag.commands.refusals import TableError, refuse_unknown


def named_columns(columns: Any, given: tuple[str, ...]) -> tuple[str, ...]:
    """Return names of columns that are there; a text with commas is several, unless a column is called so."""
    found: dict[str, None] = {}
    for text in given:
        names = [text] if text in columns else [name.strip() for name in text.split(",") if name.strip()]
        for name in names:
            refuse_unknown(columns, name)
            found[name] = None
    return tuple(found)


def as_written(given: tuple[str, ...]) -> list[str]:
    """Return the columns that --kind makes categories or texts: in these, a word such as None is a value."""
    pairs = [text.rpartition("=") for text in given]
    return [name for name, _, kind in pairs if kind.strip().lower() in ("category", "text")]


def chosen_kinds(columns: Any, given: tuple[str, ...]) -> dict[str, str]:
    """Return the kinds that --kind gives, by the columns, which must be there."""
    chosen = {}
    for text in given:
        name, equals, kind = text.rpartition("=")
        if not equals or not name or kind.strip().lower() not in CHOICES:
            raise TableError(
                f"Give --kind as column=kind, where the kind is one of {', '.join(CHOICES)}. Got {text!r}."
            )
        refuse_unknown(columns, name)
        chosen[name] = kind.strip().lower()
    return chosen


def refuse_roles(target: str, group: str | None, ids: tuple[str, ...], drop: tuple[str, ...]) -> None:
    """Refuse a target that is an id as well, and a target or group that is left out."""
    for name, said in ((target, "target"), (group, "group")):
        if name is not None and name in drop:
            raise TableError(f"The {said} {name!r} cannot be left out as well. Take it out of --drop.")
    for name in ids:
        if name in drop:
            raise TableError(f"The id {name!r} is no feature, and need not be left out as well. Take it out of --drop.")
    if target in ids:
        raise TableError(f"The target {target!r} cannot be an id as well. Take it out of --id.")
