"""What the report's tables say: moves, scores, suspicious rows, decisions, proofs, and the data as they were read."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._wording import ROWS, number, percent, printable, rounded_up
from stablebag.showing.colophon import Colophon
from stablebag.showing.data_as_read import DataAsRead
from stablebag.showing.report.rows import MOST_NAMED, Values
from stablebag.showing.report.tables import Cell, Table
from stablebag.showing.scores import Score
from stablebag.showing.study import Study

_MOST_COLUMNS = 40  # of the data as they were read


@dataclass(frozen=True, eq=False)
class Contents:
    """The tables of a report; each is None if there is nothing to show.

    Attributes
    ----------
    study : Study
        What was measured and proved.
    colophon : Colophon
        What the data and the target are called.
    values : Values
        The values of the rows that are named.
    data : DataAsRead or None
        What each column of the table was taken for.
    delta : float
        A share of the training rows, or units: those that may move the predictions further than the tables say.
    """

    study: Study
    colophon: Colophon
    values: Values
    data: DataAsRead | None
    delta: float

    @property
    def comparison(self) -> Table:
        """How far predictions move, before and after bagging."""
        lines = [
            (line.what, line.base, line.bagged if math.isnan(line.noise) else f"below the noise ({number(line.noise)})")
            for line in self.study.comparison(self.delta)
        ]
        caption = f"Changes without {self.study.compared.where()}"
        head, shown = self._without_base(("over all of these", "base model", "bagged"), lines)
        return Table.of("comparison", caption, head, shown)

    @property
    def scores(self) -> Table | None:
        """Scores on the held-out rows, beside those of a constant."""
        lines = [
            (f"{score.name} ({'lower' if score.lower_is_better else 'higher'} is better)", *_cells(score))
            for score in self.study.scores
        ]
        head, shown = self._without_base(("score", "base model", "bagged", "a constant"), lines)
        return Table.of("scores", "On held-out rows", head, shown) if lines else None

    @property
    def proofs(self) -> Table:
        """What is proved, beside what is measured of the same thing."""
        lines, scale = [], self.study.compared.scale
        for line in self.study.proofs(self.delta):
            off = "" if math.isnan(line.error) else f" ± {number(float(f'{line.error:.2g}'))}"
            measured = Cell("not measured") if math.isnan(line.measured) else Cell(number(line.measured, scale) + off)
            proved = "no more than the range" if math.isnan(line.proved) else rounded_up(line.proved, scale)
            price = number(line.price, scale)
            if price and line.enough is not None:
                price += f" ({line.enough:,} bags halve it)"
            lines.append((line.what, measured, proved, Cell(price)))
        head = ("what", "measured", "proved: at most", "of it, for finitely many bags")
        caption = f"At the worst of {len(self.study.bagged.prediction):,} test points, unless a line says otherwise"
        return Table.of("proofs", caption, head, lines)

    @property
    def flips(self) -> Table | None:
        """The rows, or units, without which refits flip most decisions, with how many."""
        decisions, noun = self.study.decisions, self.study.noun
        if decisions is None or not decisions.n_flipped:
            return None
        names, counts = decisions.most_flips(MOST_NAMED)
        lines = [(printable(name), Cell(f"{count:,}", int(count))) for name, count in zip(names, counts, strict=True)]
        refitted = f"Decisions, of {len(decisions):,}, that flip when the model is refitted without one {noun.singular}"
        caption = f"{refitted}{self._counted}"
        return Table.of("flips", caption, (noun.singular, "decisions"), lines)

    @property
    def farthest(self) -> Table | None:
        """The rows, or units, that are farthest from what the others predict."""
        suspects = self.study.suspects
        if suspects is None or not suspects.farthest:
            return None
        head = ("off by", "usual size", "times the usual size")
        if self.study.task == "classification":
            head = ("probability of its class", "usual in its class", "distance")
        lines = [
            (each.number, each.name, Cell(number(each.value), abs(each.value)), each.usual, each.distance)
            for each in suspects.farthest[:MOST_NAMED]
        ]
        caption = f"{self._many(len(suspects.farthest))} to look at{suspects.among}"
        return self._named("farthest", caption, head, lines, sorted_by=3)

    @property
    def moving(self) -> Table | None:
        """The rows, or units, that move the predictions beyond bagging noise; where no test was made, most."""
        if self.study.suspects is None:
            numbers, effects = self.study.ranked(MOST_NAMED)
            kept = effects > 0
            names = self.study.bagged.names.of_rows(numbers)
            lines = [
                (number, name, effect, self.noise)
                for number, name, effect in zip(numbers[kept].tolist(), names[kept], effects[kept], strict=True)
            ]
            caption = f"{self._many(len(lines))} that move the predictions most"
        else:
            total, found = len(self.study.suspects.moving), self.study.suspects.moving[:MOST_NAMED]
            lines = [(each.number, each.name, each.change, each.noise) for each in found]
            beyond = " beyond bagging noise" if self.noise > 0 else ""
            caption = f"{self._many(total)} moving the predictions{beyond}"
        return self._named("moving", caption, ("moves them by", "bagging noise"), lines) if lines else None

    @property
    def noise(self) -> float:
        """The bagging noise in how far a row moves the predictions; NaN if it is not known."""
        if self.study.suspects is not None:
            return self.study.suspects.noise
        moved = self.study.bagged
        return float(np.sqrt(np.mean(moved.noise**2))) if moved.noise_known else math.nan

    @property
    def columns(self) -> Table | None:
        """What each column of the table was taken for."""
        if self.data is None:
            return None
        lines = [
            (printable(column.name), column.kind,
             Cell("" if not column.missing else percent(column.missing), column.missing),
             Cell("" if column.n_values is None else f"{column.n_values:,}", column.n_values),
             printable(column.example), printable(column.remark, 300))
            for column in self.data.shown(_MOST_COLUMNS)
        ]  # fmt: skip
        head = ("column", "taken for", "missing", "values", "range, or some of them", "remark")
        sampled = "" if self.data.n_sampled is None else f"; what columns are, from {self.data.n_sampled:,} of them"
        caption = f"{printable(self.data.name)}: {self.data.n_rows:,} rows with a target{sampled}"
        return Table.of("columns", caption, head, lines, texts=(1, 4, 5))

    @property
    def rest(self) -> str:
        """What the columns that are not shown are."""
        return "" if self.data is None else self.data.rest(_MOST_COLUMNS)

    @property
    def _counted(self) -> str:
        """Where the numbers of rows start, for a caption; "" if rows have names."""
        if self.study.noun != ROWS:
            return ""
        said = "Rows are numbered from 0." if self.data is None else self.data.row_numbers
        return f"; {said[0].lower()}{said[1:].rstrip('.')}" if said else ""

    def _without_base(self, head: Sequence[str], lines: Sequence[Any]) -> tuple[Sequence[str], Sequence[Any]]:
        """A table without its second column, which is the base learner's, if that was not measured."""
        if self.study.compared.base is not None:
            return head, lines
        return (head[0], *head[2:]), [(line[0], *line[2:]) for line in lines]

    def _many(self, total: int) -> str:
        noun = self.study.noun
        words = f"{total:,} training {'row' if total == 1 else 'rows'}" if noun == ROWS else noun.count(total)
        return words if total <= MOST_NAMED else f"The first {MOST_NAMED} of {words}"

    def _named(self, name: str, caption: str, head: Sequence[str], lines: Sequence[Any], sorted_by: int = 1) -> Table:
        """A table of rows, or units, with their values."""
        values, of_units = self.values, self.study.noun != ROWS and self.values.known
        if of_units:
            caption += f"; where the rows of {self.study.noun.any_one} differ, a cell has the range of their values"
        caption += self._counted
        if values.hidden:
            caption += f"; {values.hidden} more columns are not shown"
        of_target = [] if self.study.model is None else [self.colophon.called]
        titles = (self.study.noun.singular, *head, *(["rows"] if of_units else []), *of_target, *values.columns)
        shown = [
            (values.called(position, name), *numbers, *values.cells(position, of_units, bool(of_target)))
            for position, name, *numbers in lines
        ]
        return Table.of(name, caption, titles, shown, sorted_by=sorted_by)


def _cells(score: Score) -> list[Cell]:
    """The three numbers of a score as they are read, each sorted by its value."""
    values = (score.base, score.bagged, score.constant)
    return [Cell(text, None if math.isnan(value) else value) for text, value in zip(score.shown(), values, strict=True)]
