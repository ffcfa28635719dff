"""Requirements such as 'flips<=1%': how `--require` reads them, and how they are held against facts."""

import difflib
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import click

from stablebag._wording import ROWS, Noun, printable
from stablebag.cli.options import OUTPUT, option
from stablebag.cli.printing import finite, new_table, open_console, say

if TYPE_CHECKING:
    from stablebag.showing.facts import Fact, Known

FAILED = 3  # the exit code if a requirement does not hold
_HOLDS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, "<": operator.lt, ">=": operator.ge, ">": operator.gt,
}  # fmt: skip
_FORM = re.compile(
    r"(.+?)\s*(<=|>=|<|>)\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?)\s*(%?)", re.IGNORECASE | re.ASCII
)
_UNITS = {"prediction": "prediction", "score": "score", "share": "%", "times": "times", "count": "number"}
_WIDEST = 27  # letters of a name in the list of facts
_FEWEST_DIGITS = 3
_LARGEST = 1e300  # of limits; a larger one is a slip
_AS_WRITTEN = (1e-6, 1e15)  # numbers outside of this have an exponent


@dataclass(frozen=True)
class Vocabulary:
    """What a command can require.

    Attributes
    ----------
    example : str
        A requirement.
    facts : dict of str to Known
        The facts that `--require help` lists.
    more : dict of str to Known, default={}
        Further facts.
    others : dict of str to str, default={}
        Other words for facts, which are not accepted but suggested.
    note : str, default=""
        A remark that is printed below the list.
    """

    example: str
    facts: Mapping[str, "Known"]
    more: Mapping[str, "Known"] = field(default_factory=dict)
    others: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True)
class Requirement:
    """A fact and its limit, such as 'flips<=1%'.

    Attributes
    ----------
    text : str
        The requirement as it was written.
    name : str
        The name of the fact.
    column : str
        Which of its numbers is compared.
    comparison : {"<=", "<", ">=", ">"}
        How it is compared.
    limit : float
        The limit in the unit of the fact; 1% is 0.01.
    is_count : bool
        Whether the limit is a number of decisions or points, and the fact their share.
    in_percent : bool
        Whether numbers are written in percent.
    known : Known
        What the fact is.
    """

    text: str
    name: str
    column: str
    comparison: str
    limit: float
    is_count: bool
    in_percent: bool
    known: "Known"

    def holds(self, value: float) -> bool:
        """Return whether a number is within the limit."""
        return _HOLDS[self.comparison](value, self.limit)

    def check(self, facts: Iterable["Fact"], task: str, noun: Noun = ROWS, n: int = 0) -> "Outcome":
        """Hold the requirement against the facts of a table with n rows or groups."""
        fact = next((each for each in facts if each.name == self.name), None)
        share = math.nan if fact is None else float(fact.numbers.get(self.column, math.nan))
        if fact is None or math.isnan(share):
            return Outcome(self, math.nan, "", "", False, f"Required {self.text}, but {self._why_missing(fact, task)}.")
        kind, value, unit, shown = fact.kind_of(self.column), share, fact.unit, ""
        if self.known.counted is not None:
            detail, word = self.known.counted
            total = int(fact.details[detail])
            count = round(share * total)  # the share is this count, divided by the total
            shown = f"{count:,} of {total:,} {word}"
            shown += "" if self.is_count or count in (0, total) else f", {self._shown(share, kind)}"
            value, unit = (float(count), "count") if self.is_count else (share, unit)
        shown = shown or self._shown(value, kind)
        counts = (fact.details.get(detail) for detail in (f"{self.column}_rows", "n_rows", "n_refits"))
        seen = next((int(count) for count in counts if count is not None), n)
        is_least = self.known.can_only_grow and seen < n
        scope = [kind, *([fact.texts[self.column]] if _is_remark(fact.texts.get(self.column, "")) else [])]
        if seen < n:
            scope.append(f"{seen:,} of {noun.count(n)} {'was' if seen == 1 else 'were'} left out in turn")
        found, passed = f"{'at least ' * is_least}{shown} ({'; '.join(scope)})", self.holds(value)
        sentence = f"Required {self.text}, but it is {found}."
        if passed:
            is_sure = not is_least or self.comparison.startswith(">")
            sentence = f"{'Holds' if is_sure else 'Holds as far as checked'}: {self.text}, with {found}."
        return Outcome(self, value, kind, unit, passed, sentence, is_least)

    def _why_missing(self, fact: "Fact | None", task: str) -> str:
        """Say why a study does not have the number."""
        if self.known.task and self.known.task != task:
            is_for, has = ("classes", "numbers") if task == "regression" else ("numbers", "classes")
            return f"this was not measured: it is for {is_for}, and the target has {has}"
        if self.column == "proved" and fact is not None:
            return "nothing is proved: no bound is below the range of the predictions"
        if self.column == "base" and fact is not None:
            return "this was not measured for the base model"
        if self.column in ("low", "high") and fact is not None:
            return "no interval was computed for it"
        return f"this was not measured{': ' * bool(self.known.needs)}{self.known.needs}"

    def _shown(self, value: float, kind: str) -> str:
        """Return a number with enough digits to see whether it is within the limit; a bound is rounded up."""
        if math.isinf(value):
            return "infinite"
        for digits in range(_FEWEST_DIGITS, 18):
            context = Context(prec=digits, rounding=ROUND_CEILING if kind == "proved" else ROUND_HALF_EVEN)
            rounded = Decimal(value) if "count" in self.known.units else context.create_decimal(repr(value + 0.0))
            if self.holds(float(rounded)) == self.holds(value):
                break
        written = rounded * 100 if self.in_percent else rounded
        size, text = abs(float(written)), f"{written.normalize():,f}"
        text = text if size == 0 or _AS_WRITTEN[0] <= size < _AS_WRITTEN[1] else str(written.normalize()).lower()
        return f"{text}%" if self.in_percent else text


@dataclass(frozen=True)
class Outcome:
    """A requirement held against a study: whether it holds, with a sentence.

    Attributes
    ----------
    requirement : Requirement
        The requirement.
    value : float
        The number that was compared with the limit; NaN if there is none.
    kind : {"proved", "measured", "estimated", ""}
        How it was found.
    unit : str
        The unit of the fact, or "count"; "" if nothing was measured.
    passed : bool
        Whether it is within the limit.
    sentence : str
        The same in words.
    at_least : bool, default=False
        Whether the number is only a lower bound, because not all rows were left out.
    """

    requirement: Requirement
    value: float
    kind: str
    unit: str
    passed: bool
    sentence: str
    at_least: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the outcome for JSON."""
        asked = self.requirement
        return {
            "requirement": asked.text,
            "name": asked.name,
            "column": asked.column,
            "comparison": asked.comparison,
            "limit": asked.limit,
            "value": finite(self.value),
            "unit": self.unit or None,
            "kind": self.kind or None,
            "at_least": self.at_least,
            "passed": self.passed,
            "sentence": self.sentence,
        }


def _is_remark(text: str) -> bool:
    """Whether the text of a number is not a number: "infinite" intervals, a change "below the noise"."""
    return bool(text) and not any(letter.isdigit() for letter in text)


# -------------------------------------------------------------------------------------------------------------- reading


def read_requirement(text: str, words: Vocabulary) -> Requirement:
    """Read a requirement such as 'flips<=1%' or 'Typical change.base < 2'.

    Raises ValueError if no table can have the fact, or the limit does not fit it.
    """
    text = " ".join(text.split())
    form = _FORM.fullmatch(text)
    if form is None:
        how = f"Give a fact, <=, <, >= or >, and a number, in quotes: --require '{words.example}'."
        raise ValueError(f"{how} Got {printable(text)!r}.")
    known = {**words.more, **words.facts}
    written, comparison, number, percent = form.groups()
    by_plain = {_plain(name): name for name in known}
    plain, _, column = (part.strip() for part in _plain(written).partition("."))
    if plain not in by_plain:
        raise ValueError(_unknown(written, plain, by_plain, words.others))
    name = by_plain[plain]
    fact = known[name]
    column = column.replace(" ", "_") or fact.columns[0]
    if column not in fact.columns:
        forms = [name, *(f"{name}.{each}" for each in fact.columns[1:])]
        raise ValueError(f"{name!r} has no number {column!r}. Use {' or '.join(map(repr, forms))}.")
    if column == "proved" and comparison.startswith(">"):
        raise ValueError(f"{name!r} is an upper bound, so require it with < or <=. Got {text!r}.")
    limit = Fraction(number) / (100 if percent else 1)
    if abs(limit) > _LARGEST:
        raise ValueError(f"A limit must be at most {_LARGEST:.0e}. Got {text!r}.")
    is_count = fact.counted is not None and not percent
    if fact.counted is not None and is_count and not number.isdigit():
        raise ValueError(f"Give a whole number of {fact.counted[1]}, or a share with %, such as 5%. Got {text!r}.")
    if "share" in fact.units and not is_count and not 0 <= limit <= 1:
        meant = f" Did you mean {number}%?" if not percent and 1 < limit <= 100 else ""
        raise ValueError(f"{name!r} is a share, from 0% to 100%. Got {text!r}.{meant}")
    if percent and not ("share" in fact.units or _is_share_like(name, fact)):
        raise ValueError(f"{name!r} is not a share, so give a number without %. Got {text!r}.")
    in_percent = bool(percent) or "share" in fact.units
    return Requirement(text, name, column, comparison, float(limit), is_count, in_percent, fact)


def _plain(text: str) -> str:
    """A name without case, hyphens and underscores, which are easily mistaken."""
    return " ".join(re.sub("[-_]", " ", text.lower()).split())


def _is_share_like(name: str, fact: "Known") -> bool:
    """Whether a score is a number without a unit, such as an accuracy, which people write in percent."""
    return fact.units == ("score",) and not any(word in name for word in ("error", "deviance", "loss", "lead"))


def _unknown(written: str, plain: str, by_plain: Mapping[str, str], others: Mapping[str, str]) -> str:
    """Say that there is no such fact, with what may have been meant."""
    words = {**{_plain(other): name for other, name in others.items()}, **by_plain}
    near = [plain] if plain in words else difflib.get_close_matches(plain, words, n=3)
    near = near or [word for word in by_plain if plain in word][:3]
    meant = list(dict.fromkeys(words[word] for word in near))
    guess = f" Did you mean {' or '.join(map(repr, meant))}?" if meant else ""
    return f"There is no fact {printable(written)!r}.{guess} --require help lists all of them."


# --------------------------------------------------------------------------------------------------------------- option


def require_option(words: Callable[[], Vocabulary], example: str) -> Any:
    """Return a decorator that adds the option --require; a wrong one is an error before any table is read."""

    def read(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> tuple[Requirement, ...]:
        if ctx.resilient_parsing or not texts:
            return ()
        if any(text.strip().lower() == "help" for text in texts):
            _print_help(words())
            ctx.exit()
        try:
            return tuple(read_requirement(text, words()) for text in texts)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None

    line = f"'{example}', else exit with 3; help lists facts."
    return option("--require", "requirements", metavar="TEXT", multiple=True, is_eager=True, callback=read,
                  group=OUTPUT, help=line)  # fmt: skip


def _print_help(words: Vocabulary) -> None:
    """Print every fact that can be required: its name, its unit, and what it is."""
    console = open_console()
    say(console, f"Give a fact, <=, <, >= or >, and a number, in quotes: --require '{words.example}'.\n")
    table = new_table("")
    for name in ("fact", "unit", "what it is"):
        table.add_column(name, max_width=_WIDEST if name == "fact" else None)
    for name, fact in words.facts.items():
        unit = " or ".join(filter(None, ["%" if fact.counted else "", fact.counted[1] if fact.counted else ""]))
        only = {"classification": " (classes)", "regression": " (numbers)"}.get(fact.task, "")
        columns = ", ".join(f".{column}" for column in fact.columns[1:])
        cells = (unit or _UNITS[fact.units[0]], f"{fact.meaning}{only}{'; also ' * bool(columns)}{columns}")
        table.add_row(name, *cells)
    console.print(table)
    say(console, f"\n{words.note}")


def say_outcomes(console: Any, outcomes: Iterable[Outcome]) -> bool:
    """Print what holds and then what does not, last; return whether all holds."""
    in_order = sorted(outcomes, key=lambda outcome: not outcome.passed)
    for outcome in in_order:
        say(console, outcome.sentence)
    return all(outcome.passed for outcome in in_order)
