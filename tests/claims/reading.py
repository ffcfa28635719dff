"""Reading sentences back: the numbers that a person sees, held against what they speak of."""

import re

ROUNDING = 1e-12


def joined(text):
    """A text on one line."""
    return " ".join(str(text).split())


def number_after(text, words):
    """The number that a sentence has after these words."""
    found = re.search(re.escape(words) + r" ([0-9][0-9,.]*(?:e[+-]?\d+)?)", joined(text))
    assert found, f"nothing after {words!r} in {joined(text)!r}"
    return float(found[1].rstrip(".,").replace(",", ""))


def promised_rows(text):
    """How many rows may move a prediction further, as "at most 3 of the 8 rows" and "none of the 8 rows" say it."""
    return 0 if re.search(r"none of the [\d,]+ \w+ \(delta", joined(text)) else int(number_after(text, "at most"))
