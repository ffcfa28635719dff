"""Formatting of numbers and sentences for people."""

import html
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from typing import Any

_WIDTH = 94
ROUNDING = 1e-12  # relative to a scale; smaller numbers are rounding errors
_SMALL, _THOUSAND, _LARGE = 1e-6, 1e3, 1e15  # below _SMALL and above _LARGE, numbers are written with an exponent
_AS_GIVEN = 6  # digits of a number that a user has typed


@dataclass(frozen=True)
class Noun:
    """The word for things that are left out or counted: row and rows, or group and groups.

    >>> ROWS.count(1), GROUPS.count(3000), GROUPS.any_one
    ('1 row', '3,000 groups', 'a group')
    """

    singular: str = "row"
    plural: str = "rows"

    @classmethod
    def from_dict(cls, words: Any, owner: str) -> "Noun":
        """Return the noun whose two words are in a dictionary, as `dataclasses.asdict` writes it."""
        if (
            not isinstance(words, dict)
            or set(words) != {"singular", "plural"}
            or not all(isinstance(word, str) and word for word in words.values())
        ):
            from stablebag._checks import refuse_type

            raise refuse_type("noun", owner, "a dictionary of singular and plural", words)
        return cls(**words)

    def count(self, number: int) -> str:
        """Return the number with the right form of the noun."""
        return f"{number:,} {self.singular if number == 1 else self.plural}"

    @property
    def any_one(self) -> str:
        """The noun with its article: "a row", "a group"."""
        return f"a {self.singular}"


ROWS, GROUPS = Noun(), Noun("group", "groups")
ROW_NUMBERS = "Row 0 is the first row below the header."  # said wherever rows of a file are numbered
NUMBER_OF_ROW = "row (from 0)"  # heading of a column of row numbers


_LINES: ContextVar[int | None] = ContextVar("lines", default=_WIDTH)  # the letters of a line; None does not wrap


def paragraphs(sentences: Iterable[str]) -> str:
    """Wrap each text as its own paragraph."""
    if (width := _LINES.get()) is None:
        return "\n".join(" ".join(sentence.split()) for sentence in sentences)
    return "\n".join(textwrap.fill(sentence, width=width) for sentence in sentences)


def preformatted(text: str) -> str:
    """Return text as HTML for notebooks. JupyterLab's default font does not align, and it breaks lines inside words."""
    style = "font-family: monospace; margin: 0; white-space: pre; overflow-x: auto"
    return f'<pre style="{style}">{html.escape(text)}</pre>'


class Explained:
    """What explains itself in sentences for a share of the rows, also in notebooks and as Markdown."""

    def explain(self, delta: float = 0.05) -> str:
        """Explain it in sentences for a share `delta` of the rows."""
        raise NotImplementedError

    def to_markdown(self, delta: float = 0.05) -> str:
        """Return the sentences of `explain` as Markdown without a heading, for a model card or a pull request.

        Parameters
        ----------
        delta : float, default=0.05
            As in `explain`.

        Returns
        -------
        str
        """
        return markdown_paragraphs(lambda: self.explain(delta))

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return preformatted(self.explain())


# What prints as sentences and tables, as Markdown for model cards, issues and pull requests. All text is escaped: names
# from the data show as they are, whatever they contain.

_ACTIVE = re.compile(r"[\\`*\[\]<>|~$&]|(?<![^\W_])_|_(?![^\W_])|(?<=:)//|(?<=www)\.", re.IGNORECASE)
_AT_START = re.compile(r"^([#+=-](?!\d)|\d+(?=[.)](?:\s|$)))")  # of a line: headings and lists, but not numbers


def escaped(text: str) -> str:
    r"""Return a text that shows in Markdown as it is, in one line.

    >>> escaped("a|b *c* snake_case _d_ <e>"), escaped("1. first"), escaped("-1.5"), escaped("# no title")
    ('a\\|b \\*c\\* snake_case \\_d\\_ \\<e\\>', '1\\. first', '-1.5', '\\# no title')
    """
    line = _ACTIVE.sub(lambda found: f"\\{found[0]}", visible(" ".join(text.split())))
    return _AT_START.sub(lambda found: f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}", line)


def markdown_paragraphs(explain: Callable[[], str]) -> str:
    """Return the paragraphs of an explanation as Markdown, each on one line."""
    token = _LINES.set(None)
    try:
        return "\n\n".join(map(escaped, explain().splitlines()))
    finally:
        _LINES.reset(token)


def markdown_table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown; the first column is aligned left, the others right.

    >>> print(markdown_table(["", "bagged"], [["largest change", "23.5"]]))
    |  | bagged |
    | :-- | --: |
    | largest change | 23.5 |
    """
    rows = [[escaped(cell) for cell in line] for line in (head, *lines)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], [":--", *["--:"] * (len(head) - 1)], *rows[1:]))


_SHOWN = 10  # lines of a table


class Result:
    """A result that prints as sentences, and whose repr shows the first lines of its table."""

    def explain(self) -> str:
        """Explain the result in sentences."""
        raise NotImplementedError

    def _preview(self) -> tuple[str, Sequence[Any], dict[str, Sequence[Any]]]:
        """Return the heading of the names, the name of each line, and the columns."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.explain()

    def __repr__(self) -> str:
        heading, names, columns = self._preview()
        head = [heading, *columns]
        lines = [head, *([printable(name), *map(_cell, some)] for name, *some in _lines(names, columns))]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        cells = [[name.ljust(widths[0]), *map(str.rjust, some, widths[1:])] for name, *some in lines]
        more = [f"and {len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else []
        return "\n".join([*("  ".join(line).rstrip() for line in cells), *more])

    def _repr_html_(self) -> str:
        """Return the sentences and the first lines, for notebooks."""
        heading, names, columns = self._preview()
        return f"{preformatted(self.explain())}{html_table(heading, names, columns)}"


def html_table(heading: str, names: Sequence[Any], columns: dict[str, Sequence[Any]]) -> str:
    """Return the first lines of a table, for notebooks."""
    head = "".join(f"<th>{html.escape(column)}</th>" for column in (heading, *columns))
    lines = "".join(
        f"<tr><th>{html.escape(printable(name))}</th>"
        f"{''.join(f'<td>{html.escape(_cell(value))}</td>' for value in some)}</tr>"
        for name, *some in _lines(names, columns)
    )
    more = f"<p>and {len(names) - _SHOWN:,} more</p>" if len(names) > _SHOWN else ""
    return f"<table><tr>{head}</tr>{lines}</table>{more}"


def markdown_preview(heading: str, names: Sequence[Any], columns: dict[str, Sequence[Any]]) -> str:
    """Return the first lines of a table as Markdown."""
    lines = [(printable(name), *map(_cell, some)) for name, *some in _lines(names, columns)]
    table = markdown_table((heading, *columns), lines)
    return f"{table}\n\nand {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else table


def _lines(names: Sequence[Any], columns: dict[str, Sequence[Any]]) -> Iterable[tuple[Any, ...]]:
    return zip(names[:_SHOWN], *(column[:_SHOWN] for column in columns.values()), strict=True)


def _cell(value: Any) -> str:
    """Return a value for a table: a number, yes or no, or a text."""
    if str(value) in ("True", "False"):
        return "yes" if value else "no"
    return value if isinstance(value, str) else number(value)


def number(value: float, scale: float = 0.0) -> str:
    """Return a number with four digits, or with all digits before the point; NaN is the empty string.

    With a scale, a number that is only a rounding error on that scale is 0.

    >>> number(0.123411), number(1234567.8), number(-1234.5), number(0.000012345), number(2.0), number(math.nan)
    ('0.1234', '1,234,568', '-1,234', '0.00001234', '2', '')
    >>> number(1.922e-16, scale=1)
    '0'
    """
    value = float(value) + 0.0  # no minus before zero
    value = 0.0 if abs(value) <= ROUNDING * scale else value
    if math.isnan(value):
        return ""
    size = abs(float(f"{value:.4g}"))  # 999.97 is a thousand
    if size < _THOUSAND:
        return f"{Decimal(f'{value:.4g}'):f}" if size >= _SMALL else f"{value:.4g}"
    return f"{value:,.0f}" if size < _LARGE else f"{value:.4g}"


def short(value: float, scale: float = 0.0) -> str:
    """Return a number for a sentence: three digits, and nothing finer than a thousandth of its scale.

    Anything smaller is "0". Next to 0.62, for example, -0.000005377 is just a distraction.

    >>> short(0.61834), short(29.583), short(123456.7), short(-0.000005377, 1), short(1.922e-16, 1), short(math.nan)
    ('0.618', '29.6', '123,457', '0', '0', '')
    >>> short(0.000012345), short(0.9996, 1), short(1.0, 1), short(-0.0)
    ('0.0000123', 'over 0.999', '1', '0')
    """
    value = float(value)
    if scale == 1 and 0.9995 <= value < 1 - ROUNDING:
        return "over 0.999"  # 1 would say that nothing is missing
    if not math.isfinite(value):
        return "" if math.isnan(value) else f"{value:g}"
    value = float(f"{value:.3g}") if abs(value) < _THOUSAND else value
    finest = 10.0 ** math.floor(math.log10(scale) - 3 + 1e-9) if scale > 0 else 0.0
    if abs(value) < finest / 2:
        return "0"
    value = round(value / finest) * finest if finest and abs(value) < _THOUSAND else value
    return number(float(f"{value:.12g}"))


def percent(share: float) -> str:
    """Return a share in percent; 0% and 100% only if it is exactly that.

    >>> percent(0.1234), percent(1.0), percent(0.99999), percent(0.00001), percent(0.0), percent(3.5), percent(0.05)
    ('12.3%', '100%', 'over 99.9%', 'under 0.1%', '0%', '350%', '5%')
    """
    if 0 < share < 0.001:
        return "under 0.1%"
    if 0.999 < share < 1:
        return "over 99.9%"
    return f"{number(float(f'{100 * share:.1f}'))}%" if abs(share) < 1 else f"{100 * share:,.0f}%"


def printable(value: Any, most: int = 60) -> str:
    r"""Return text from the data on one line, no longer than `most`, with nonprintable characters escaped.

    >>> printable("a\tb"), printable("x" * 99, most=5), printable(7)
    ('a\\tb', 'xx...', '7')
    """
    text = "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in str(value)[: most + 1])
    return text if len(text) <= most else text[: most - 3] + "..."


def visible(text: str) -> str:
    r"""Return a text with nonprintable characters escaped, except line breaks.

    >>> print(visible("a\x1b[31mb\u202ec\nd"))
    a\x1b[31mb\u202ec
    d
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else repr(letter)[1:-1] for letter in text)


def rounded_up(value: float, scale: float = 0.0, digits: int = 4) -> str:
    """Return a bound with some digits, or as a whole number, rounded up so that it still holds as printed.

    A rounding error on the scale becomes a thousandth of the scale.

    >>> rounded_up(0.123411), rounded_up(2.0), rounded_up(1234567.2), rounded_up(float("inf"))
    ('0.1235', '2', '1,234,568', 'inf')
    >>> rounded_up(8.77e-17, scale=1), rounded_up(41.123, digits=3)
    ('0.001', '41.2')
    """
    if 0 < value <= ROUNDING * scale:
        return number(scale / 1000)
    if value == 0 or math.isinf(value):
        return f"{value:g}"
    exponent = Decimal(value).adjusted() - digits + 1
    unit = Decimal(1).scaleb(exponent if value >= _LARGE else min(0, exponent))
    return number(float(Decimal(value).quantize(unit, rounding=ROUND_CEILING)))


def rounded_down(value: float | Fraction, digits: int = 4) -> str:
    """Return a nonnegative number rounded down, so that "at least" and "or more" stay true.

    >>> rounded_down(0.35991), rounded_down(0.35991, 2), rounded_down(2.0), rounded_down(99.99999, 6)
    ('0.3599', '0.35', '2', '99.9999')
    >>> rounded_down(Fraction(7, 10)), rounded_down(Fraction(9758, 10_000), 3)
    ('0.7', '0.975')
    >>> rounded_down(4.1276e299), rounded_down(2e-9)
    ('4.127e+299', '2e-9')
    """
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    exact = Decimal(value.numerator) / Decimal(value.denominator) if isinstance(value, Fraction) else Decimal(value)
    down = exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), rounding=ROUND_FLOOR)
    return f"{down.normalize():f}" if _SMALL <= value < _LARGE else f"{down.normalize():e}"


def as_given(value: float) -> str:
    """Return a short number as the user typed it, and others rounded up to four digits, so that "at most" stays true.

    >>> as_given(0.9), as_given(0.123456), as_given(1 / 3)
    ('0.9', '0.123456', '0.3334')
    """
    written = f"{value:.{_AS_GIVEN}g}"
    return written if float(written) == value else at_most(value)


def written_size(bag_size: int | float) -> str:
    """Return the size of a bag, or the expected size if it is random.

    >>> written_size(12_345_678), written_size(12_345_678.5), written_size(3.25)
    ('12,345,678', '12,345,678.5', '3.25')
    """
    return f"{bag_size:,}" if isinstance(bag_size, int) else f"{round(bag_size, 6):,}".removesuffix(".0")


def at_most(value: float) -> str:
    """Return four digits, rounded up if needed; 0.1 stays 0.1, although its binary value is slightly larger.

    >>> at_most(0.1), at_most(1 / 3), at_most(2 / 3)
    ('0.1', '0.3334', '0.6667')
    """
    written = number(value)
    return written if float(written.replace(",", "")) >= value else rounded_up(value)


def probability(value: float) -> str:
    """Return four digits; 1 only for exactly 1.

    >>> probability(0.25), probability(1 - 1e-9)
    ('0.25', '1 - 1e-09')
    """
    return f"{value:.4g}" if value < 0.99995 else f"1 - {1 - value:.2g}"


def about_time(seconds: float) -> str:
    """Return a rough duration.

    >>> about_time(3), about_time(42), about_time(61), about_time(200), about_time(5000), about_time(20_000)
    ('a few seconds', 'about 50 seconds', 'about 70 seconds', 'about 4 minutes', 'about 84 minutes', 'about 6 hours')
    """
    if seconds < 8:
        return "a few seconds"
    for unit, name, step, most in ((1, "seconds", 10, 90), (60, "minutes", 1, 90), (3600, "hours", 1, 48)):
        if (number := step * math.ceil(seconds / unit / step - 1e-6)) <= most:
            return f"about {number} {name}"
    return f"about {math.ceil(seconds / 86_400):,} days"


def about_count(value: float) -> int:
    """Return a count with two digits, rounded up.

    >>> about_count(1234.5), about_count(12.1), about_count(0.2)
    (1300, 13, 1)
    """
    step = int(10.0 ** max(0, math.floor(math.log10(max(value, 1.0))) - 1))
    return math.ceil(value / step) * step


def count_bags(n_bags: int | float) -> str:
    """Return a number of bags in words.

    >>> count_bags(1), count_bags(10_000), count_bags(math.inf)
    ('1 bag', '10,000 bags', 'infinitely many bags')
    """
    if math.isinf(n_bags):
        return "infinitely many bags"
    return "1 bag" if n_bags == 1 else f"{n_bags:,} bags"


def count_points(n_points: int) -> str:
    """Return the words for the points that a sentence is about.

    >>> count_points(1), count_points(42)
    ('this point', 'these 42 points')
    """
    return "this point" if n_points == 1 else f"these {n_points:,} points"


# How sentences write a parameter: drop=['fee'] in Python, --drop fee on the command line, which sets its own style.


def _in_python(name: str, value: Any) -> str:
    return name if value is None else f"{name}={value!r}"


_OPTION_STYLE: ContextVar[Callable[[str, Any], str]] = ContextVar("option_style", default=_in_python)


def option(name: str, value: Any = None) -> str:
    """Return a parameter as the reader would type it, alone or with a value.

    >>> option("drop"), option("drop", ["fee"])
    ('drop', "drop=['fee']")
    """
    return _OPTION_STYLE.get()(name, value)


@contextmanager
def option_style(style: Callable[[str, Any], str]) -> Iterator[None]:
    """Write parameters in another style inside a ``with`` block, such as --drop on the command line."""
    token = _OPTION_STYLE.set(style)
    try:
        yield
    finally:
        _OPTION_STYLE.reset(token)
