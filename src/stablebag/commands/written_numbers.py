"""Numbers as people write them: 1,234.50 or 1.234,50, with a currency or a percent sign."""

import math
import re
from dataclasses import dataclass

import numpy as np

_SIGNS = r"€|\$|£|¥|₹|%|EUR|USD|GBP|CHF|JPY"
_MINUS = "\u2212-"
_BLANKS = "'\u2019 \u00a0\u202f"  # between thousands, beside the mark that is not the decimal one
_PARTS = re.compile(
    rf"([+{_MINUS}]?)\s*({_SIGNS})?\s*([+{_MINUS}]?)\s*([.,]?\d[\d.,{_BLANKS}]*(?:[eE][+-]?\d+)?)\s*({_SIGNS})?"
)
_PLAIN = re.compile(r"^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,2})?$", re.MULTILINE)


def _exactly(mark: str, other: str) -> re.Pattern[str]:
    """A number with this decimal mark, with or without separators of thousands; 00012 is none, because it is a code."""
    usual = rf"(?:(?:0|[1-9]\d*)(?:{mark}\d*)?|{mark}\d+)(?:[eE][+-]?\d{{1,2}})?"
    return re.compile(rf"{usual}|[1-9]\d{{0,2}}(?:[{other}{_BLANKS}]\d{{3}})+(?:{mark}\d*)?")


_EXACT = {".": _exactly(r"\.", ","), ",": _exactly(",", ".")}
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


def parsed(texts: list[str], decimal: str) -> np.ndarray:
    """Return texts as numbers, with this decimal mark; NaN for those that are none.

    >>> parsed(["€ 1.234,50", "12 %", "-3", "n.d."], ",").tolist()
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
