"""How numbers and sentences are written for people: bounds rounded up, bags counted, paragraphs of one width."""

import html
import math
import textwrap
from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal

_WIDTH = 94


def paragraphs(sentences: Iterable[str]) -> str:
    """Return sentences, or groups of them, each wrapped as its own paragraph."""
    return "\n".join(textwrap.fill(sentence, width=_WIDTH) for sentence in sentences)


def preformatted(text: str) -> str:
    """Return text as notebooks show it."""
    return f"<pre>{html.escape(text)}</pre>"


def rounded_up(value: float) -> str:
    """Return four digits, rounded so that what is printed is proved.

    >>> rounded_up(0.123411), rounded_up(2.0), rounded_up(float("inf"))
    ('0.1235', '2', 'inf')
    """
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    unit = Decimal(1).scaleb(Decimal(value).adjusted() - 3)
    return f"{float(Decimal(value).quantize(unit, rounding=ROUND_CEILING)):.4g}"


def probability(value: float) -> str:
    """Return four digits, but 1 only for 1.

    >>> probability(0.25), probability(1 - 1e-9)
    ('0.25', '1 - 1e-09')
    """
    return f"{value:.4g}" if value < 0.99995 else f"1 - {1 - value:.2g}"


def count_bags(n_bags: int | float) -> str:
    """Say how many bags there are.

    >>> count_bags(1), count_bags(10_000), count_bags(math.inf)
    ('1 bag', '10,000 bags', 'infinitely many bags')
    """
    if math.isinf(n_bags):
        return "infinitely many bags"
    return "1 bag" if n_bags == 1 else f"{n_bags:,} bags"


def count_points(n_points: int) -> str:
    """Name the points that a sentence is about.

    >>> count_points(1), count_points(42)
    ('this point', 'these 42 points')
    """
    return "this point" if n_points == 1 else f"these {n_points:,} points"
