"""The facts of a study: everything that it measured, estimated and proved, in one table.

The terminal, the report, the JSON and notebooks show this table. To add a fact, yield one more `Fact` in the function
of its section below.
"""

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from stablebag._wording import (
    ROWS,
    Noun,
    escaped,
    markdown_table,
    percent,
    preformatted,
    printable,
    rounded_down,
    rounded_up,
)
from stablebag.measuring.error_intervals import ENOUGH_CARRYING
from stablebag.measuring.perturbations import Perturbations
from stablebag.measuring.suspects import RANKING, Suspects, UnusualRow
from stablebag.proving.certificate import StabilityCertificate
from stablebag.resampling.units import plain
from stablebag.showing.comparison import ESTIMATED, LIMIT, REFITTED, Comparison, are_of_classes, scale_of
from stablebag.showing.scores import difference
from stablebag.showing.verdict import LABELS, SummaryLine, Verdict, capitalized, three_digits

MEASURED, ESTIMATED_KIND, PROVED = "measured", "estimated", "proved"
MOST_NAMED = 15  # rows, or groups, of a list
_MOST_IN_SENTENCE = 5
_WIDTH = 88  # letters of a line of text
_FORMATS: dict[str, Callable[[float], str]] = {"share": percent, "count": lambda value: f"{value:,.0f}"}


@dataclass(frozen=True)
class Fact:
    """A line of the table of facts: a number, or one number for each model.

    Attributes
    ----------
    name : str
        Its name, the same for all data.
    label : str
        A description for people.
    kind : {"measured", "estimated", "proved"}
        How its main number was found.
    numbers : dict of str to float
        The numbers by column; NaN if there is none.
    unit : {"prediction", "probability", "score", "share", "count", "times"}
        The unit of the numbers.
    texts : dict of str to str, default={}
        Texts by column, where a number does not have its usual form.
    details : dict, default={}
        More values, for programs.
    """

    name: str
    label: str
    kind: str
    numbers: Mapping[str, float]
    unit: str
    texts: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def value(self) -> float:
        """The main number: the bound, the bagged model's, or the only one."""
        for column in ("proved", "bagged", "value"):
            if column in self.numbers:
                return self.numbers[column]
        return math.nan

    def __getitem__(self, column: str) -> float:
        return self.numbers[column]

    def kind_of(self, column: str) -> str:
        """Return how the number in a column was found; `kind` is that of the main number."""
        if column in ("measured", "base") or (column == "constant" and "low" not in self.numbers):
            return MEASURED
        if column.startswith("proved_"):
            return PROVED
        return ESTIMATED_KIND if column in ("low", "high") and self.kind == MEASURED else self.kind

    def text(self, column: str) -> str:
        """Return a number as text; "" if there is none."""
        value = self.numbers.get(column, math.nan)
        if column in self.texts:
            return self.texts[column]
        return "" if math.isnan(value) else _FORMATS.get(self.unit, three_digits)(value)

    def to_dict(self) -> dict[str, Any]:
        """Return the fact for JSON."""
        numbers = {column: _finite(value) for column, value in self.numbers.items()}
        return {"label": self.label, "kind": self.kind, "unit": self.unit, **numbers, **self.details}


class ListedRow(NamedTuple):
    """A row, or group, of a list: its number, its name, and numbers by column."""

    number: int
    name: Any
    numbers: dict[str, float]


@dataclass(frozen=True)
class RowList:
    """Rows, or groups, that a study names.

    Attributes
    ----------
    name : str
        Its name, the same for all data.
    caption : str
        What the rows are, and how many.
    columns : dict of str to str
        The headings of the columns.
    rows : tuple of ListedRow
        The rows.
    noun : Noun
        The word for them: row or group.
    sentence : str, default=""
        The first rows in words.
    note : str, default=""
        What the list claims, or does not claim.
    details : dict, default={}
        More values, for programs.
    """

    name: str
    caption: str
    columns: Mapping[str, str]
    rows: tuple[ListedRow, ...]
    noun: Noun
    sentence: str = ""
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the list for JSON."""
        rows = [
            {self.noun.singular: json_name(row.name), **{name: _finite(value) for name, value in row.numbers.items()}}
            for row in self.rows
        ]
        return {"caption": self.caption, **self.details, "rows": rows}


@dataclass(frozen=True)
class Section:
    """A table of facts.

    Attributes
    ----------
    name : {"errors", "changes", "scores", "guarantees", "decisions", "numbers"}
        Its name.
    caption : str
        What it shows.
    columns : dict of str to str
        The headings of its columns.
    facts : tuple of Fact
        Its lines.
    note : str, default=""
        How to read it.
    """

    name: str
    caption: str
    columns: Mapping[str, str]
    facts: tuple[Fact, ...]
    note: str = ""


@dataclass(frozen=True)
class Facts:
    """Everything that is shown of a study.

    Attributes
    ----------
    summary : tuple of four SummaryLine
        Four lines that sum it up, named "predicts", "suspicious", "stable" and "next".
    verdict : Verdict
        The conclusion with its reasons.
    sections : tuple of Section
        Tables of facts.
    lists : tuple of RowList
        Lists of rows, or groups.
    sentences : dict of str to str
        Paragraphs: the guarantees, and how many decisions hinge on one row.
    """

    summary: tuple[SummaryLine, SummaryLine, SummaryLine, SummaryLine]
    verdict: Verdict
    sections: tuple[Section, ...]
    lists: tuple[RowList, ...]
    sentences: Mapping[str, str]

    def __iter__(self) -> Iterator[Fact]:
        return (fact for section in self.sections for fact in section.facts)

    def __getitem__(self, name: str) -> Fact:
        for fact in self:
            if fact.name == name:
                return fact
        raise KeyError(f"This study has no fact {name!r}. It has: {', '.join(fact.name for fact in self)}.")

    def section(self, name: str) -> Section:
        """Return a table of facts."""
        return next(section for section in self.sections if section.name == name)

    def list(self, name: str) -> RowList | None:
        """Return a list of rows; None if there is no such list."""
        return next((one for one in self.lists if one.name == name), None)

    @property
    def reasons(self) -> tuple[str, ...]:
        """The numbers behind the verdict and its remarks, as short lines."""
        return (*self.verdict.reasons, *(reason for remark in self.verdict.remarks for reason in remark.reasons))

    def to_dict(self) -> dict[str, Any]:
        """Return the facts for JSON."""
        return {
            "summary": [line._asdict() for line in self.summary],
            "verdict": _verdict_dict(self.verdict),
            "facts": {fact.name: fact.to_dict() for fact in self},
            "lists": {one.name: one.to_dict() for one in self.lists},
            "sentences": dict(self.sentences),
        }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line for each fact, by its name."""
        import pandas as pd

        lines = [
            {"fact": fact.name, "value": fact.value, "kind": fact.kind, "unit": fact.unit,
             **{column: fact.numbers.get(column, math.nan) for column in ("base", "constant", "measured")}}
            for fact in self
        ]  # fmt: skip
        return pd.DataFrame(lines).set_index("fact")

    def to_markdown(self) -> str:
        """Return what is printed as Markdown without a heading: four lines, and the numbers behind them as tables."""
        lines = "\n".join(f"- **{escaped(line.label)}** {escaped(line.text)}" for line in self.summary)
        errors, changes, scores, guarantees = map(self.section, ("errors", "changes", "scores", "guarantees"))
        guarantees = replace(guarantees, columns={name: guarantees.columns[name] for name in ("measured", "proved")})
        tables = (_as_markdown(section) for section in (errors, changes, scores, guarantees) if section.facts)
        return "\n\n".join([lines, *tables])

    def __str__(self) -> str:
        return "\n\n".join([summary_text(self.summary, _WIDTH), *self.tables(_WIDTH)])

    def tables(self, width: int, *, verbose: bool = False) -> tuple[str, ...]:
        """Return the numbers as at most three narrow tables: errors, changes and scores, and guarantees.

        Parameters
        ----------
        width : int
            The letters of a line.
        verbose : bool, default=False
            Whether to show all columns, such as what is due to finitely many bags.
        """
        errors, changes, scores, guarantees = map(self.section, ("errors", "changes", "scores", "guarantees"))
        shown = {name: guarantees.columns[name] for name in ("measured", "proved")}
        if verbose:
            shown = dict(guarantees.columns)
            more = (
                "Due to bags: how much lower the guarantee would be with infinitely many bags. Enough bags: more lower "
                "it little."
            )
            guarantees = replace(guarantees, note=f"{guarantees.note} {more}")
        return tuple(filter(None, (
            as_text(errors.columns, (errors,), width),
            as_text(scores.columns, (changes, scores), width),
            as_text(shown, (guarantees,), width),
        )))  # fmt: skip

    def _repr_html_(self) -> str:
        return preformatted(str(self))


def facts_of(study: Any) -> Facts:
    """Return everything that is shown of a study."""
    compared, noun, delta = study.compared, study.noun, study.delta
    models = {"base": "base model", "bagged": "bagged"}
    if compared.base is None:
        del models["base"]
    n_scored = len(study.losses[0].bagged) + study.losses[0].n_unknown if study.losses else 0
    n_points = len(study.bagged.prediction)
    at = "the test point" if n_points == 1 else f"the worst of {n_points:,} test points"
    proved = tuple(guarantees(study.bagged, study.proved, study.anew, study.refitted, delta))
    of_guarantees = {"measured": "measured", "proved": "guarantee", "price": "due to bags",
                     "bags": "enough bags"}  # fmt: skip
    sections = (
        Section("errors", _caption_of_errors(study),
                {"bagged": "bagged", "interval": "95% interval", "constant": "constant"},
                tuple(_errors(study)), _how_errors_are_read(study)),
        Section("changes", f"how much {study.distance} change without one {noun.singular} ({compared.where()})", models,
                tuple(changes(compared, delta)), _how_changes_are_read(compared)),
        Section("scores", f"scores on {n_scored:,} held-out row{'s' * (n_scored != 1)}" if study.scores else "",
                {**models, "constant": "constant"}, tuple(_scores(study))),
        Section("guarantees", f"how much the bagged model changes without one {noun.singular}, at {at}",
                of_guarantees, proved,
                _how_guarantees_are_read(study)),
        Section("decisions", "", models, tuple(_decisions(study))),
        Section("numbers", "", {"value": ""}, tuple(_numbers(study))),
    )  # fmt: skip
    sentences = {"proved of these bags": study.proved.explain(delta)}
    if study.anew is not None:
        sentences["proved of bags drawn anew"] = study.anew.explain(delta)
    if study.unseen is not None and (last := study.unseen.errors[-1]).interval is not None:
        for_all = ""
        if last.proved is not None:
            ends = f"{rounded_down(last.proved.low)} to {rounded_up(last.proved.high)}"
            for_all = f" The interval that is proved for every learner is from {ends}."
        sentences["errors"] = (
            f"{capitalized(last.loss)} on unseen {noun.plural}: {last.interval!r}. {last.interval.guarantee}{for_all}"
        )
    if study.decisions is not None:
        sentences["decisions"] = study.decisions.conclusion()
    return Facts(study.summary(), study.verdict(), sections, tuple(row_lists(study)), sentences)


# -------------------------------------------------------------------------------------------------------------- changes


def changes(compared: Comparison, delta: float = 0.05) -> Iterator[Fact]:
    """Yield how much predictions of both models change, over rows and points together."""
    label, noise = "typical change (root mean square)", compared.noise
    kinds = {REFITTED: MEASURED, ESTIMATED: ESTIMATED_KIND, LIMIT: ESTIMATED_KIND}
    # What is below the noise is not written as 0.
    below = {"bagged": "below the noise"} if compared.limit_rms == 0 and noise > 0 else {}
    limit = {"base": compared.base_rms, "bagged": compared.limit_rms}
    unit = "probability" if are_of_classes(compared.bagged) else "prediction"
    seen = _rows_seen(compared)
    rows = {**seen, "bagged_rows": compared.n_rows}
    if compared.how == LIMIT:
        apart = "typical change, apart from bagging noise"
        yield Fact("typical change with infinitely many bags", apart, ESTIMATED_KIND, limit, unit, below, rows)
        if noise > 0:
            numbers = {"base": math.nan, "bagged": noise}
            yield Fact("bagging noise", "bagging noise, not included", ESTIMATED_KIND, numbers, unit)
    else:
        about = {"bagged": f"about {three_digits(compared.bagged_rms)}"} if compared.how == ESTIMATED else {}
        both = {"base": compared.base_rms, "bagged": compared.bagged_rms}
        yield Fact("typical change", label, kinds[compared.how], both, unit, about, rows)
        if noise > 0:
            nothing = {"base": math.nan}
            yield Fact(
                "bagging noise",
                "bagging noise in the typical change",
                ESTIMATED_KIND,
                {**nothing, "bagged": noise},
                unit,
            )
            texts = below or {"bagged": f"about {three_digits(compared.limit_rms)}"}
            yield Fact("typical change with infinitely many bags", "typical change with infinitely many bags",
                       ESTIMATED_KIND, {**nothing, "bagged": compared.limit_rms}, unit, texts, rows)  # fmt: skip
    included = ", noise included" if compared.how == LIMIT else ""
    for name, label, share in (
        ("quantile of changes", f"{percentile(1 - delta)} of changes", delta),
        ("largest change", "largest change", None),
    ):
        numbers = dict(zip(("base", "bagged"), compared.quantiles(share), strict=True))
        yield Fact(name, f"{label}{included}", MEASURED, numbers, unit, details=seen)


def _rows_seen(compared: Comparison) -> dict[str, int]:
    """The number of rows, or groups, that were left out in turn to see the changes of each model."""
    both = zip(("base", "bagged"), compared.distributions(), strict=True)
    return {f"{model}_rows": len(each[0]) // compared.n_points for model, each in both if each is not None}


def percentile(share: float) -> str:
    """Return what a quantile is called: "95th percentile".

    >>> percentile(0.95), percentile(0.81), percentile(0.975), percentile(0.12), percentile(1 - 1e-4)
    ('95th percentile', '81st percentile', '97.5th percentile', '12th percentile', '99.99th percentile')
    """
    number = f"{100 * share:.10g}"
    last = "" if "." in number or number.endswith(("11", "12", "13")) else number[-1]
    return f"{number}{ {'1': 'st', '2': 'nd', '3': 'rd'}.get(last, 'th') } percentile"


def _how_changes_are_read(compared: Comparison) -> str:
    """A note on changes of class probabilities, on estimates, and on a missing base model."""
    parts = [compared.reason] if compared.base is None and compared.reason else []
    if are_of_classes(compared.bagged):
        parts.append(
            "A change of class probabilities is a distance between two vectors, which is at most the square root of 2."
        )
    if compared.how == ESTIMATED:
        few = f"{compared.n_refitted:,} refit{'s' * (compared.n_refitted != 1)}"
        source = f"its bags and {few}. The percentile and the largest change are from these refits"
        parts.append(
            "The typical change of the bagged model is estimated from "
            f"{source if compared.n_refitted else 'one refitted bag for each row'}."
        )
    return " ".join(parts)


# --------------------------------------------------------------------------------------------------------------- errors


def _errors(study: Any) -> Iterator[Fact]:
    """Yield the errors of the bagged model on unseen rows, estimated from the training rows."""
    for error in () if study.unseen is None else study.unseen.errors:
        numbers = {"bagged": error.bagged, "constant": error.constant}
        texts = {}
        for kind, before in (("asymptotic", ""), ("proved", "proved_")):
            numbers |= dict(zip((f"{before}low", f"{before}high"), error.ends(kind), strict=True))
        details: dict[str, Any] = {}
        if error.interval is not None:
            texts["interval"] = error.interval_text()
            details = {"rho": _finite(error.interval.rho), "measured_rho": _finite(error.interval.measured_rho)}
            details["carried_by"] = error.n_carrying
        yield Fact(f"{error.name} on unseen rows", error.name, ESTIMATED_KIND, numbers, "score", texts, details)


def _caption_of_errors(study: Any) -> str:
    if study.unseen is None or not study.unseen.errors:
        return ""
    noun, n = study.noun, study.unseen.n
    training = f"{n:,} training rows" if noun == ROWS else f"the training rows of {noun.count(n)}"
    without = "it" if noun == ROWS else f"its {noun.singular}"
    return f"errors on unseen {noun.plural}, estimated at {training}, each predicted by the bags without {without}"


def _how_errors_are_read(study: Any) -> str:
    """A note where the held-out rows are harder, and on groups."""
    if study.unseen is None or not study.unseen.errors:
        return ""
    parts = []
    if study.unseen.is_harder:
        parts.append("The held-out rows are harder than that: they seem to differ from the training rows.")
    if study.noun != ROWS:
        parts.append(f"Every {study.noun.singular} counts the same.")
    if any(error.interval is not None and error.may_be_wider for error in study.unseen.errors):
        few = f"Or wider: fewer than {ENOUGH_CARRYING} {study.noun.plural} carry the error"
        parts.append(f"{few}, and larger ones may be missing among them.")
    if any(error.interval is None for error in study.unseen.errors):
        parts.append("Empty cells: there are too few bags for an interval, or all losses are equal.")
    return " ".join(parts)


# --------------------------------------------------------------------------------------------------------------- scores


def _scores(study: Any) -> Iterator[Fact]:
    """Yield the scores on held-out rows, and the coverage of intervals."""
    for score in study.scores:
        way = "lower is better" if score.lower_is_better else "higher is better"
        numbers = {"base": score.base, "bagged": score.bagged, "constant": score.constant}
        texts = dict(zip(numbers, score.shown(), strict=True))
        details = {"lower_is_better": score.lower_is_better}
        yield Fact(score.name, f"{score.name} ({way})", MEASURED, numbers, "score", texts, details)
    if study.coverage is not None and study.intervals is not None:
        # There are too few training rows for the level.
        texts = {"bagged": "infinite"} if np.isinf(study.intervals.lower).all() else {}
        label = f"targets inside {percent(study.intervals.confidence_level)} intervals"
        yield Fact("coverage", label, MEASURED, {"bagged": study.coverage}, "share", texts)


# ----------------------------------------------------------------------------------------------------------- guarantees


def guarantees(
    bagged: Perturbations,
    proved: StabilityCertificate,
    anew: StabilityCertificate | None = None,
    refitted: Perturbations | None = None,
    delta: float = 0.05,
) -> Iterator[Fact]:
    """Yield guarantees next to measurements of the same changes, at the worst of the points.

    Parameters
    ----------
    bagged : Perturbations
        Changes of the bagged model by all rows, from the bags without each row.
    proved : certificate
        The certificate of these changes.
    anew : certificate or None, default=None
        The certificate of the bagged model refitted with the same seed.
    refitted : Perturbations or None, default=None
        Changes of the bagged model, refitted with the same seed without rows. The bound on the mean over all rows is
        next to them only if they are about all rows.
    delta : float, default=0.05
        A share of the training rows, or groups, in [0, 1], that may cause larger changes.
    """
    noun, scale = bagged.noun, scale_of(bagged)
    unit = "probability" if are_of_classes(bagged) else "prediction"

    def line(name: str, label: str, measured: Any, bound: float, price: Any = (math.nan, None)) -> Fact:
        numbers = {
            "measured": float(measured),
            "proved": bound,
            "price": price[0],
            "bags": math.nan if price[1] is None else price[1],
        }
        texts = {name: three_digits(numbers[name], scale) for name in ("measured", "price")}
        texts["proved"] = "" if math.isnan(bound) else rounded_up(bound, scale, digits=3)
        if price[1] is not None:
            texts["bags"] = f"{price[1]:,}"
        return Fact(name, label, PROVED, numbers, unit, texts)

    most, reused = f"{percent(1 - delta)} of {noun.plural}, at most", "bags reused"
    # A guarantee of refits is about the average over draws of the bags; one draw may be worse.
    again = "refit"
    yield line("guaranteed change", f"{reused}: {most}", bagged.epsilon(delta, "max"), *_bound_and_price(proved, delta))
    mean, largest = _bound(proved, proved.mean()), _bound(proved, proved.worst_case())
    yield line("guaranteed mean change", f"{reused}: mean over {noun.plural}", bagged.mean("max"), mean)
    yield line("guaranteed largest change", f"{reused}: largest", bagged.max("max"), largest)
    if anew is None:
        return
    yield line("guaranteed change of a refit", f"{again}: {most}", math.nan, *_bound_and_price(anew, delta))
    measured = math.nan
    if refitted is not None and len(refitted.rows) == len(bagged.rows):
        measured = refitted.values.mean()
    label = f"{again}: mean over {noun.plural} and points"
    yield line("guaranteed mean change of a refit", label, measured, _bound(anew, anew.mean()))


def _bound_and_price(proved: StabilityCertificate, delta: float) -> tuple[float, tuple[float, int | None]]:
    """The bound, the part of it that is due to finitely many bags, and how many bags are enough."""
    bound = _bound(proved, proved.epsilon(delta))
    if math.isnan(bound) or not hasattr(proved, "price"):
        return bound, (math.nan, None)
    price, n_bags = proved.price(delta)
    return bound, (price, n_bags)


def _bound(proved: StabilityCertificate, values: Any) -> float:
    """The bound at the worst point; NaN if it is not below the range of predictions, which always holds."""
    worst = float(np.max(values))
    return worst if worst < proved.range_length * (1 - 1e-9) else math.nan


def _how_guarantees_are_read(study: Any) -> str:
    """A note on the two kinds of lines and on empty cells."""
    noun = study.noun.singular
    parts = [f"Bags reused: the average over the bags without the {noun}."]
    if study.anew is not None:
        parts.append(f"Refit: the model refitted without the {noun}, same seed; guaranteed on average over seeds.")
    parts.append("Empty cells: not measured, or no bound available.")
    return " ".join(parts)


# ------------------------------------------------------------------------------------------------ decisions and numbers


def _decisions(study: Any) -> Iterator[Fact]:
    """Yield the shares of a classifier's decisions that one row flips."""
    found = study.decisions
    if found is None:
        return
    n, refits = len(found), len(found.refitted)
    if refits:
        one = f"flipped by refitting without {found.noun.any_one}"
        details = {
            "decisions": found.n_flipped,
            "n_held_out": n,
            "n_refits": refits,
            "at_least": refits < len(found.by_row),
        }
        yield Fact("flips", f"decisions {one}", MEASURED, {"bagged": found.n_flipped / n}, "share", details=details)
    if found.base is not None and found.same is not None:
        flips = [int((counts > 0).sum()) for counts in (found.base, found.same)]
        numbers = {"base": flips[0] / n, "bagged": flips[1] / n}
        details = {"base_decisions": flips[0], "bagged_decisions": flips[1], "n_held_out": n, "n_refits": found.n_same}
        label = f"decisions flipped by refitting without one of the same {found.noun.count(found.n_same)}"
        yield Fact("flips by the same rows", label, MEASURED, numbers, "share", details=details)
    details = {
        "decisions": found.n_suggested,
        "n_held_out": n,
        "total": len(found.suggested),
        "checked": found.n_checked,
        "confirmed": found.n_confirmed,
    }
    label = f"decisions flipped by the bags without {found.noun.any_one}"
    yield Fact("suggested flips", label, ESTIMATED_KIND, {"bagged": found.n_suggested / n}, "share", details=details)


def _numbers(study: Any) -> Iterator[Fact]:
    """Yield numbers that sentences contain: ratios, the ranking, errors, and numbers of refits."""
    compared = study.compared
    if compared.base is not None:
        ratio, estimated = compared.ratio(), MEASURED if compared.how == REFITTED else ESTIMATED_KIND
        about = {"lowest_without_any_one_row_or_point": ratio.low, "highest_without_any_one_row_or_point": ratio.high}
        numbers = {"value": ratio.value, **about}
        rows = {"n_rows": compared.n_rows}
        yield Fact("times smaller", "times smaller than the base model's typical change", estimated, numbers, "times",
                   details=rows)  # fmt: skip
        yield Fact(
            "times smaller with infinitely many bags",
            "times smaller with infinitely many bags",
            ESTIMATED_KIND,
            {"value": compared.limit_ratio()},
            "times",
            details=rows,
        )
    if study.ranking is not None:
        found = study.ranking
        numbers = {"value": found.value, "by_chance": found.by_chance, "p_value": found.p_value}
        details = {
            "better_than_chance": found.is_real,
            "n_held_out": found.n,
            "n_groups": found.n_groups,
            "too_few": found.are_few,
        }
        yield Fact("ranking", found.name, MEASURED, numbers, "score", details=details)
    if study.unseen is not None and (against := study.unseen.against) is not None:
        low, high = against.interval
        numbers = {"value": 0 - against.difference, "low": 0 - high, "high": 0 - low}
        details = {
            "clear": study.unseen.beats is not None,
            "carried_by": against.n_carrying,
            "enough": _finite(float(against.n_enough)),
            "rho": _finite(against.rho),
            "measured_rho": _finite(against.measured_rho),
        }
        loss, unseen = study.unseen.errors[-1].loss, f"unseen {study.noun.plural}"
        label = f"{loss} of a constant minus that of the bagged model, on {unseen}"
        yield Fact("lead over a constant", label, ESTIMATED_KIND, numbers, "score", details=details)
    if study.losses and study.losses[0].base is not None:
        first = study.losses[0]
        found = difference(first, first.base)
        low, high = (-first.unit * end for end in reversed(found.ends))
        numbers = {"value": -first.unit * found.mean, "low": low, "high": high}
        details = {"clear": found.is_smaller or found.is_larger}
        label = f"{first.name} of the base model minus that of the bagged model, on held-out rows"
        yield Fact("lead over the base model", label, ESTIMATED_KIND, numbers, "score", details=details)
    counts = {
        "refits of the base model": 0 if compared.base is None else len(compared.base.rows),
        "refits of the bagged model": compared.n_refitted,
        "test points compared": compared.n_points,
    }
    for name, value in counts.items():
        yield Fact(name, name, MEASURED, {"value": value}, "count")


# ---------------------------------------------------------------------------------------------------------------- lists


def row_lists(study: Any) -> Iterator[RowList]:
    """Yield the rows, or groups, that change predictions, are worth a look, flip decisions, and change most."""
    found, noun = study.suspects, study.noun
    numbers, effects = study.ranked(MOST_NAMED)
    names = study.bagged.names.of_rows(numbers)
    most = tuple(
        ListedRow(int(number), name, {"change": float(effect)})
        for number, name, effect in zip(numbers, names, effects, strict=True)
    )
    caption = f"{_count(sum(row.numbers['change'] > 0 for row in most), noun)} that change the predictions most"
    yield RowList("most influential", caption, {"change": "change"}, most, noun)
    if found is not None:
        yield _influential(found, noun)
        yield _worth_a_look(found, noun, study.task)
    if study.decisions is not None:
        decisions = study.decisions
        order = decisions.rows_by_flips()
        rows = tuple(
            ListedRow(int(row), name, {"decisions": int(decisions.by_row[row])})
            for row, name in zip(order, decisions.names.of_rows(order), strict=True)
        )
        caption = f"Decisions, of {len(decisions):,}, that flip when the model is refitted without one {noun.singular}"
        yield RowList("flips", caption, {"decisions": "decisions"}, rows[:MOST_NAMED], noun)


def _influential(found: Suspects, noun: Noun) -> RowList:
    rows = tuple(
        ListedRow(one.number, one.name, {"change": one.change, "noise": one.noise, "p_value": one.p_value})
        for one in found.influential
    )
    beyond = "" if found.noise == 0 else " beyond bagging noise"  # which there is only if bags were drawn
    sentence, which = found.influence_summary, f"{_count(len(rows), noun)} that change predictions{beyond}"
    if rows:
        which = f"{_count(len(rows), noun)} change{'s' * (len(rows) == 1)} predictions{found.at}{beyond}"
        named = _named(
            found.influential,
            noun,
            lambda one: (
                f"by {three_digits(one.change)}"
                + ("" if found.noise == 0 else f", bagging noise {three_digits(one.noise)}")
            ),
        )
        sentence = f"{which}{_first(rows)}: {named}. {found.claim}".rstrip()
    return RowList(
        "moving the predictions",
        which,
        {"change": "change", **({} if found.noise == 0 else {"noise": "bagging noise"})},
        rows,
        noun,
        sentence,
        found.claim,
        {"alpha": found.alpha, "noise": found.noise},
    )


def _worth_a_look(found: Suspects, noun: Noun, task: str) -> RowList:
    keys, heads = ("residual", "usual_residual"), ("off by", "usual", "times usual")
    if task == "classification":
        keys = ("probability", "usual_probability")
        heads = ("probability of its class", "usual in its class", "distance")
    rows = tuple(
        ListedRow(one.number, one.name, {keys[0]: one.value, keys[1]: one.usual, "distance": one.distance})
        for one in found.unusual
    )
    sentence = found.nothing_unusual
    if rows:
        describe = _how_far if task == "regression" else _how_unlikely
        named = _named(found.unusual, noun, lambda one: describe(one, noun))
        others = f"{_count(len(rows), noun)} farthest from what the other {noun.plural} predict{found.among}"
        sentence = f"Worth a look, {others}{_first(rows)}: {named}. {RANKING}"
    columns = dict(zip((*keys, "distance"), heads, strict=True))
    return RowList(
        "worth a look",
        f"{_count(len(rows), noun)} worth a look: farthest from what the other {noun.plural} predict{found.among}",
        columns,
        rows,
        noun,
        sentence,
        RANKING if rows else "",
        {"n_looked_at": found.n_looked_at},
    )


def _how_far(one: UnusualRow, noun: Noun) -> str:
    times = "most are not off at all" if math.isinf(one.distance) else f"{one.distance:.1f} times the usual size"
    return f"{'' if noun == ROWS else 'one row '}off by {'+' * (one.value > 0)}{three_digits(one.value)}, {times}"


def _how_unlikely(one: UnusualRow, noun: Noun) -> str:
    own = "its class" if noun == ROWS else "the class of one row"
    return f"{own} has {percent(one.value)}, usually {percent(one.usual)}"


def row_in_words(name: Any, noun: Noun) -> str:
    """Return the name of a row or group in a sentence: "group 17", and not "group group 17"."""
    text = printable(plain(name))
    return text if text.lower().startswith(noun.singular) else f"{noun.singular} {text}"


def _count(n: int, noun: Noun) -> str:
    many = noun.count(n)
    return many.replace(" ", " training ", 1) if noun == ROWS else many


def _first(found: tuple[Any, ...]) -> str:
    return "" if len(found) <= _MOST_IN_SENTENCE else f", the first {_MOST_IN_SENTENCE}"


def _named(found: tuple[Any, ...], noun: Noun, describe: Any) -> str:
    return ", ".join(f"{row_in_words(one.name, noun)} ({describe(one)})" for one in found[:_MOST_IN_SENTENCE])


# ----------------------------------------------------------------------------------------------------------------- text


def json_name(name: Any) -> Any:
    """Return a name that is valid in JSON."""
    name = plain(name)
    return name if isinstance(name, int | float | str) else str(name)


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _verdict_dict(verdict: Verdict) -> dict[str, Any]:
    return {
        "case": verdict.case,
        "headline": verdict.headline,
        "advice": verdict.advice,
        "reasons": list(verdict.reasons),
        "remarks": [_verdict_dict(remark) for remark in verdict.remarks],
    }


def _wrap(text: str, width: int, **indents: str) -> list[str]:
    return textwrap.wrap(text, width, break_on_hyphens=False, **indents)  # type: ignore[arg-type]


def _fill(text: str, width: int, **indents: str) -> str:
    return "\n".join(_wrap(text, width, **indents))


def summary_text(lines: Iterable[SummaryLine], width: int) -> str:
    """Return the four lines as text, with their labels in a column of their own."""
    labels = 2 + max(len(label) for label in LABELS.values())
    return "\n".join(
        _fill(f"{line.label:<{labels}}{line.text}", width, subsequent_indent=" " * labels) for line in lines
    )


def as_text(columns: Mapping[str, str], sections: Iterable[Section], width: int) -> str:
    """Return sections with the same columns as one table of plain text, with their notes below."""
    shown = [section for section in sections if section.facts]
    filled = [name for name in columns if any(fact.text(name) for section in shown for fact in section.facts)]
    cells = {name: [columns[name], *(fact.text(name) for one in shown for fact in one.facts)] for name in filled}
    widths = [max(map(len, column)) + 2 for column in cells.values()]
    labels = width - sum(widths)
    longest = max((len(fact.label) for one in shown for fact in one.facts), default=0)
    labels = max(24, min(labels, 2 + longest))
    heads = "".join(f"{columns[name]:>{size}}" for name, size in zip(filled, widths, strict=True))
    lines: list[str] = []
    for section in shown:
        title = f"{section.caption[:1].upper()}{section.caption[1:]}:"
        if not lines:
            lines += [*_wrap(title, width), f"{'':{labels}}{heads}".rstrip()]
        else:
            lines += ["", *_wrap(title, width)]
        for fact in section.facts:
            *before, last = _wrap(fact.label, labels, initial_indent="  ", subsequent_indent="    ") or [""]
            numbers = "".join(f"{fact.text(name):>{size}}" for name, size in zip(filled, widths, strict=True))
            lines += [*before, f"{last:<{labels}}{numbers}".rstrip()]
        lines += _wrap(section.note, width)
    return "\n".join(lines)


def _as_markdown(section: Section) -> str:
    """Return a section as a table in Markdown, between its caption and its note."""
    filled = [name for name in section.columns if any(fact.text(name) for fact in section.facts)]
    lines = [(fact.label, *map(fact.text, filled)) for fact in section.facts]
    table = markdown_table(("", *(section.columns[name] for name in filled)), lines)
    caption = f"**{escaped(section.caption[:1].upper() + section.caption[1:])}**"
    return "\n\n".join(filter(None, [caption, table, escaped(section.note)]))


def rows_text(listed: RowList, width: int, most: int = _MOST_IN_SENTENCE) -> str:
    """Return the first rows of a list as a small table of plain text; a sentence if there are none."""
    if not listed.rows:
        return _fill(listed.sentence, width)
    first = "" if len(listed.rows) <= most else f" (first {most} shown)"
    lines = [_fill(f"{listed.caption[:1].upper()}{listed.caption[1:]}{first}:", width)]
    # For classes, the distance only orders the list.
    columns = {name: head for name, head in listed.columns.items() if head != "distance"}
    table = [("", *columns.values())]
    for row in listed.rows[:most]:
        cells = [_listed_number(name, row.numbers[name]) for name in columns]
        table.append((row_in_words(row.name, listed.noun), *cells))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for name, *numbers in table:
        line = "".join(f"  {cell:>{size}}" for cell, size in zip(numbers, widths[1:], strict=True))
        lines.append(f"  {name:<{widths[0]}}{line}".rstrip())
    return "\n".join([*lines, *([_fill(listed.note, width)] if listed.note else [])])


def _listed_number(name: str, value: float) -> str:
    """A number of a listed row: a share in percent, a residual with its sign, others with three digits."""
    if name in ("probability", "usual_probability"):
        return percent(value)
    if math.isinf(value):
        return "all others 0"
    return f"{'+' if name == 'residual' and value > 0 else ''}{three_digits(value)}"


# ---------------------------------------------------------------------------------------------------------------- names
# The names that the facts of any study may have, so that a requirement can be checked before a table is read.


class Known(NamedTuple):
    """What a fact is, whether a study has it or not.

    Attributes
    ----------
    meaning : str
        What it is, for a list.
    units : tuple of str
        The units that it may have.
    columns : tuple of str, default=("bagged",)
        The numbers that can be required, the main one first.
    needs : str, default=""
        What a study without it lacks, as the end of a sentence.
    task : {"", "regression", "classification"}, default=""
        The task that it is about, if it is about one only.
    can_only_grow : bool, default=False
        Whether leaving out more rows can only make it larger.
    counted : tuple of (str, str) or None, default=None
        If it is a share of something that is counted: the detail that has the total, and the word for what is counted.
    """

    meaning: str
    units: tuple[str, ...]
    columns: tuple[str, ...] = ("bagged",)
    needs: str = ""
    task: str = ""
    can_only_grow: bool = False
    counted: tuple[str, str] | None = None


_CHANGE, _BOTH, _BOUND = ("prediction", "probability"), ("bagged", "base"), ("proved", "measured")
_MATCHED = "it takes refits of the bagged model (--matched), which need the table in memory"
_TARGETS = "it takes held-out rows with targets"
_NO_NOISE = "no bagging noise is known"
_DECISIONS = ("n_held_out", "decisions")
_ENDS, _LEAD = ("bagged", "low", "high"), ("value", "low", "high")
_UNSEEN = "rows depend on each other (--time), or there are too few bags or rows"
KNOWN: dict[str, Known] = {
    "typical change": Known(
        "root mean square of how much predictions change without one row", _CHANGE, _BOTH,
        f"{_MATCHED}; 'typical change with infinitely many bags' does not",
    ),
    "bagging noise": Known(
        "part of the typical change that comes from drawing bags at random", _CHANGE, needs=_NO_NOISE
    ),
    "typical change with infinitely many bags": Known(
        "typical change without bagging noise", _CHANGE, needs=f"{_NO_NOISE}, so require 'typical change'"
    ),
    "quantile of changes": Known(
        "what all but a share --delta of the changes do not exceed", _CHANGE, _BOTH, _MATCHED
    ),
    "largest change": Known("largest change that was seen", _CHANGE, _BOTH, _MATCHED, can_only_grow=True),
    "coverage": Known("share of held-out targets in their intervals", ("share",), needs=_TARGETS, task="regression"),
    "guaranteed change": Known(
        "proved, bags reused: what all but a share --delta of the rows do not exceed, at the worst test point",
        _CHANGE, _BOUND,
    ),
    "guaranteed mean change": Known("proved, bags reused: mean over rows, at the worst test point", _CHANGE, _BOUND),
    "guaranteed largest change": Known("proved, bags reused: largest change, at the worst test point", _CHANGE, _BOUND),
    "guaranteed change of a refit": Known(
        "proved, refits: what all but a share --delta of the rows do not exceed, on average over seeds",
        _CHANGE, _BOUND[:1],
    ),
    "guaranteed mean change of a refit": Known("proved, refits: mean over rows", _CHANGE, _BOUND[:1]),
    "flips": Known(
        "decisions that flip if the model is refitted without one row", ("share",), ("bagged",), _MATCHED,
        "classification", True, _DECISIONS,
    ),
    "flips by the same rows": Known(
        "the same, by rows without which both models were refitted", ("share",), _BOTH, _MATCHED, "classification",
        True, _DECISIONS,
    ),
    "suggested flips": Known(
        "decisions that the bags without one row would flip", ("share",), task="classification", counted=_DECISIONS
    ),
    "times smaller": Known(
        "typical change of the base model, divided by that of the bagged model", ("times",), ("value",),
        "the base model was not refitted, or nothing changes",
    ),
    "times smaller with infinitely many bags": Known(
        "the same without bagging noise", ("times",), ("value",), "the base model was not refitted, or nothing changes"
    ),
    "ranking": Known(
        "AUC for classes, rank correlation for numbers, on held-out rows", ("score",), ("value",),
        f"{_TARGETS}, which are not all equal",
    ),
    "mean absolute error on unseen rows": Known(
        "estimated at the training rows, each left out; low and high are its 95% interval", ("score",),
        (*_ENDS, "constant"), _UNSEEN, "regression",
    ),
    "root mean squared error on unseen rows": Known(
        "the same", ("score",), (*_ENDS, "constant"), _UNSEEN, "regression"
    ),
    "share of wrong decisions on unseen rows": Known(
        "the same", ("score",), (*_ENDS, "constant"), _UNSEEN, "classification"
    ),
    "Brier score on unseen rows": Known(
        "the same; proved_low and proved_high hold for every learner", ("score",),
        (*_ENDS, "constant", "proved_low", "proved_high"), _UNSEEN, "classification",
    ),
    "lead over a constant": Known(
        "how much larger the squared error or Brier score of a constant is, on unseen rows", ("score",), _LEAD, _UNSEEN
    ),
    "lead over the base model": Known(
        "how much larger that of the base model is, on held-out rows", ("score",), _LEAD,
        "it takes held-out rows with targets, and a base model that was fitted",
    ),
    "refits of the base model": Known("how many refits the numbers rest on", ("count",), ("value",)),
    "refits of the bagged model": Known("the same for the bagged model", ("count",), ("value",)),
    "test points compared": Known("how many test points the changes are at", ("count",), ("value",)),
}  # fmt: skip


def known_score(metric: str) -> Known:
    """Return what the score of a scorer of scikit-learn is, as a fact."""
    needs = f"it is not a usual score of this table (--metric {metric}), or not defined for the held-out rows"
    return Known("score on held-out rows", ("score",), (*_BOTH, "constant"), needs)
