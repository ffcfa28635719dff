"""Two versions of a model: which predictions changed beyond bagging noise, and what is guaranteed about the change."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from stablebag._checks import check_real, hold_read_only, refuse_type, refuse_value
from stablebag._seeds import Seeds
from stablebag._wording import (
    ROUNDING,
    Result,
    count_bags,
    markdown_paragraphs,
    markdown_preview,
    number,
    paragraphs,
    percent,
    printable,
)
from stablebag.measuring.causes import (
    BlockEffect,
    Blocks,
    ChangedRow,
    Kinds,
    Part,
    count_fits,
    kinds_of_points,
    single_rows,
    some_points,
    steps,
)
from stablebag.measuring.differences import (
    ChangedRows,
    Differences,
    changed_rows,
    fixed_scheme,
    points_for,
    refuse_other_targets,
)
from stablebag.models.ensemble import check_bagged
from stablebag.models.fitted import BagPredictions, fitted
from stablebag.models.ranges import FixedRange
from stablebag.models.rows import RowSource, n_rows, take_rows
from stablebag.proving.leave_out import VersionsCertificate

ALPHA = 0.05  # the chance that any point is marked if nothing but chance changed
_BLOCK = 2**22  # predictions of all bags that are held at once
_WORK = 2 * 10**10  # multiplications for the sign flips, a few seconds
_FLIPS = 199, 999  # the fewest and the most sign flips
_FEWEST_PAIRS = 6  # that differ: of 32 choices of 5 signs, 2 give the same statistic, more than 5%
_TIES = 1e-4  # relative: sums of 32-bit floats that differ by less are equal
_RESAMPLED = 20  # pairs of redrawn bags, used to estimate decisions by another seed
_TENTH = 0.1
_MOST_COLUMNS = 100  # of the points, by which they are described without being asked


# ----------------------------------------------------------------------------------------------------------- guarantees


def _guarantee(
    old: Any, new: Any, rows: ChangedRows, differences: Differences
) -> tuple[VersionsCertificate | None, str]:
    """The guarantee for these two versions, or why there is none."""
    way = ""
    law, ranges = old.scheme_, getattr(old, "prediction_range_", None)
    regression = fitted(old).average.classes is None
    if differences.ranges:
        way = "fit both versions with the same range, such as prediction_range=FixedRange(low, high)"
    elif differences.is_more_than_rows:
        way = "both versions must have the same learner, columns, bag size, number of bags and random_state"
    elif not law.is_symmetric or not law.is_matched or not new.scheme_.is_matched:
        way = "guarantees are known only for bags that treat all rows alike, such as Subbagging(1000)"
    elif regression and fitted(old).y.ndim > 1:
        way = "compare one output at a time: model.output(name)"
    elif regression and not isinstance(ranges, FixedRange):
        way = "fit both versions with the same range, such as prediction_range=FixedRange(low, high)"
    elif not rows.values_known:
        way = "both models must keep their rows: keep_rows=True"
    elif rows.n_common == 0 or rows.n_left >= law.n_samples or rows.n_came >= new.scheme_.n_samples:
        way = f"the versions have no {rows.noun.plural} in common that are the same"
    if way:
        return None, f"No guarantee: {way}."
    n_bags = math.inf if old.derandomized_ else len(old.bags_)
    low, high = fitted(old).average.interval or (0.0, 1.0)  # probabilities are in [0, 1]
    try:
        return VersionsCertificate(law, rows.n_left, rows.n_came, n_bags, high - low, rows.noun), ""
    except ValueError:
        return None, "No guarantee: so many rows changed that every bag may have one of them."


# -------------------------------------------------------------------------------------------- the bags, pair by pair


class _SignFlips:
    """The largest change over all points, in units of its noise, under random signs of the pairs' differences.

    If both versions have the same rows and only the seed differs, or only the names of some rows, then a pair of bags
    is as likely as the same pair the other way round. So is any choice of signs, and the largest statistic over all
    points is as likely to have any rank among those with other signs.
    """

    def __init__(self, n_pairs: int, n_numbers: int, root: int = 0) -> None:
        fewest, most = _FLIPS
        n_flips = most if n_pairs * n_numbers * most <= _WORK else fewest
        generator = Seeds(root).generator()
        self._signs = (2 * generator.integers(0, 2, (n_flips, n_pairs), dtype=np.int8) - 1).astype(np.float32)
        self._largest = np.zeros(n_flips)

    def add(self, differences: np.ndarray) -> np.ndarray:
        """Take in the differences at some points, shape (n_pairs, n); return the statistic at each."""
        unit = np.abs(differences).max(axis=0)
        scaled = differences / np.where(unit > 0, unit, 1.0)
        length = np.sqrt((scaled**2).sum(axis=0))
        scaled /= np.where(length > 0, length, 1.0)
        if (unit > 0).any():
            some = scaled[:, unit > 0].astype(np.float32)
            np.maximum(self._largest, np.abs(self._signs @ some).max(axis=1), out=self._largest)
        few = (scaled != 0).sum(axis=0) < _FEWEST_PAIRS
        return np.where(few, 0.0, np.abs(scaled.sum(axis=0)))

    @property
    def threshold(self) -> float:
        """What the statistic has to exceed."""
        allowed = math.floor(ALPHA * (len(self._largest) + 1) + 1e-9) - 1
        return float(np.sort(self._largest)[::-1][allowed]) * (1 + _TIES)


def _blocks(old: Any, new: Any, X: Any) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Yield blocks of points, as a slice, with what the bags of both models predict there, not yet clipped."""
    models = (old, new)
    numbers = max(fitted(model).average.n_numbers * len(model.bags_) for model in models)
    tables = [points_for(model, X, which) for model, which in zip(models, ("old", "new"), strict=True)]
    tables = [fitted(model).checked_points(table) for model, table in zip(models, tables, strict=True)]
    step = max(1, _BLOCK // numbers)
    if isinstance(tables[0], RowSource):
        parts: Iterator[Any] = zip(*(table.blocks(step) for table in tables), strict=True)
    else:
        places = (np.arange(first, min(first + step, n_rows(tables[0]))) for first in range(0, n_rows(tables[0]), step))
        parts = ([take_rows(table, some) for table in tables] for some in places)
    first = 0
    for some in parts:
        stop = first + n_rows(some[0])
        yield slice(first, stop), *(model._raw(part) for model, part in zip(models, some, strict=True))
        first = stop


class _Pairs:
    """Two models, pair by pair: changes, their noise, and which decisions changed, collected in blocks of points."""

    def __init__(self, old: Any, new: Any) -> None:
        self.averages = fitted(old).average, fitted(new).average
        self.drawn = not old.derandomized_
        self.paired = self.drawn and old._seeds.root == new._seeds.root
        self.n_bags = len(old.bags_), len(new.bags_)
        self.n_pairs = min(self.n_bags)
        classes = self.averages[0].classes
        self.binary = classes is not None and len(classes) == 2

    def outputs(self, raws: tuple[np.ndarray, ...]) -> list[np.ndarray]:
        """The averages of both models; of two classes, the probability of the second."""
        outputs = [average.outputs(raw) for average, raw in zip(self.averages, raws, strict=True)]
        return [each[..., 1] for each in outputs] if self.binary else outputs

    def predictions(self, raws: tuple[np.ndarray, ...]) -> list[np.ndarray]:
        """The predictions of both models."""
        return [average.prediction([raw]) for average, raw in zip(self.averages, raws, strict=True)]

    def differences(self, outputs: list[np.ndarray]) -> np.ndarray:
        """The differences of as many pairs of bags as there are; a rounding error is none."""
        before, after = (each[: self.n_pairs] for each in outputs)
        differences = after - before
        size = np.maximum(np.abs(before).max(axis=0), np.abs(after).max(axis=0))
        differences[np.abs(differences) <= ROUNDING * size] = 0.0
        return np.asarray(differences)

    def noise(self, outputs: list[np.ndarray], differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The standard error of the change, and what it would be for two independent draws of bags."""
        if not self.drawn:
            return np.zeros(outputs[0].shape[1:]), np.zeros(outputs[0].shape[1:])
        errors = [
            average.estimated_deviation(each) / math.sqrt(n)
            for average, each, n in zip(self.averages, outputs, self.n_bags, strict=True)
        ]
        apart = np.hypot(*errors)
        if not self.paired:
            return apart, apart
        if self.n_bags[0] == self.n_bags[1]:
            return _deviation(differences) / math.sqrt(self.n_pairs), apart
        before, after = (each[: self.n_pairs] / n for each, n in zip(outputs, self.n_bags, strict=True))
        longer = int(np.argmax(self.n_bags))
        rest = self.n_bags[longer] - self.n_pairs
        alone = _deviation(outputs[longer]) / self.n_bags[longer] * math.sqrt(rest)
        return np.hypot(_deviation(after - before) * math.sqrt(self.n_pairs), alone), apart


def _deviation(values: np.ndarray) -> np.ndarray:
    """The standard deviation over bags, in units of the largest so that no square overflows."""
    centred = values - values.mean(axis=0)
    unit = np.abs(centred).max(axis=0)
    centred /= np.where(unit > 0, unit, 1.0)
    deviation: np.ndarray = np.sqrt((centred**2).sum(axis=0) / max(1, len(values) - 1)) * unit
    return np.where((values == values[0]).all(axis=0), 0.0, deviation)


def _looked_at(differences: np.ndarray, points: slice, looked_at: np.ndarray) -> np.ndarray:
    """The differences at those numbers of these points at which blocks of rows are looked at."""
    flat = differences.reshape(len(differences), -1)
    width = flat.shape[1] // (points.stop - points.start)
    here = looked_at[(looked_at >= points.start * width) & (looked_at < points.stop * width)]
    return np.asarray(flat[:, here - points.start * width])


class _Redrawn:
    """How many decisions another seed alone would change, estimated by drawing the bags of one model again."""

    def __init__(self, n_bags: tuple[int, int]) -> None:
        generator = Seeds(1).generator()
        draws = [generator.multinomial(n, np.full(n_bags[1], 1 / n_bags[1]), _RESAMPLED) / n for n in n_bags]
        self._weights = np.concatenate(draws).astype(np.float32)
        self.changed = 0.0

    def add(self, raw: np.ndarray) -> None:
        """Take in the probabilities of all bags at some points."""
        flat = raw.reshape(len(raw), -1).astype(np.float32)
        means = (self._weights @ flat).reshape(2, _RESAMPLED, *raw.shape[1:])
        labels = means.argmax(axis=-1)
        self.changed += float((labels[0] != labels[1]).mean(axis=0).sum())


# ---------------------------------------------------------------------------------------------------------- the result


@dataclass(frozen=True, eq=False, repr=False)
class Versions(Result):
    """How predictions changed between two versions of a model, and which changes are beyond bagging noise.

    Made by `compare_versions`. Arrays have one value for each point; for more than two classes, or several outputs,
    they have a column for each. For two classes the prediction is the probability of the second.

    Attributes
    ----------
    old, new : ndarray of shape (n_points,) or (n_points, n_columns)
        The predictions of both versions.
    noise : ndarray like old
        The standard error of the change: how much it would vary with other bags and seeds. Matched bags share most of
        their rows, and so do their errors, which cancel.
    beyond_noise : ndarray of bool, like old
        Whether the change is beyond bagging noise.
    seed_noise : ndarray like old
        How much two independent draws of the bags would differ: what another seed alone does at these numbers of bags.
    rows : ChangedRows
        Which training rows, or groups, left, came or were corrected.
    differences : Differences
        What else differs between the models.
    n_bags : tuple of int
        The number of bags of both versions.
    n_changed_bags : int or None
        How many pairs of bags predict something else at some point; None if all possible bags are averaged.
    decisions : tuple of two arrays, or None
        The predicted classes of both versions; None in regression.
    seed_decisions : float or None
        How many decisions another seed alone would change: an estimate from the bags of the new version.
    guarantee : VersionsCertificate or None
        The guarantee for the change, proved before seeing the points.
    why_no_guarantee : str
        Why nothing is, and what to do; "" if there is a guarantee.
    columns : ndarray or None
        The names of the columns; None if there is one.
    positive : object
        For two classes, the one whose probability is compared.
    index : pandas Index or None
        The index of the frame of points, if it names them.
    kinds : Kinds or None
        Which kinds of points changed by how much; None if nothing changed beyond noise, or the columns explain nothing.
    blocks : tuple of BlockEffect, or None
        What the changed rows of each block did to the predictions; None if no blocks were asked for.
    parts : tuple of Part, or None
        The parts of the change that are due to rows that left, to rows that came, and to what else differs; None before
        `with_parts`.
    single_rows : tuple of ChangedRow, or None
        The rows, or groups, that left or came and whose own part of the change is beyond bagging noise; None before
        `with_parts`.
    """

    old: np.ndarray
    new: np.ndarray
    noise: np.ndarray
    beyond_noise: np.ndarray
    seed_noise: np.ndarray
    rows: ChangedRows
    differences: Differences
    n_bags: tuple[int, int]
    n_changed_bags: int | None = None
    decisions: tuple[np.ndarray, np.ndarray] | None = None
    seed_decisions: float | None = None
    guarantee: VersionsCertificate | None = None
    why_no_guarantee: str = ""
    columns: np.ndarray | None = None
    positive: Any = None
    index: Any = None
    kinds: Kinds | None = None
    blocks: tuple[BlockEffect, ...] | None = None
    parts: tuple[Part, ...] | None = None
    single_rows: tuple[ChangedRow, ...] | None = None
    _compared: tuple[Any, Any, Any, Any] | None = None  # both models, the points and the blocks of rows

    alpha = ALPHA

    def __post_init__(self) -> None:
        hold_read_only(self)

    # ------------------------------------------------------------------------------------------------- what was found

    @cached_property
    def change(self) -> np.ndarray:
        """The new prediction minus the old one."""
        change: np.ndarray = self.new - self.old
        change.flags.writeable = False
        return change

    @property
    def n_points(self) -> int:
        """The number of points."""
        return len(self.old)

    @cached_property
    def changed_points(self) -> np.ndarray:
        """Whether any number at a point changed beyond noise."""
        return self.beyond_noise if self.beyond_noise.ndim == 1 else np.asarray(self.beyond_noise.any(axis=1))

    @property
    def n_beyond_noise(self) -> int:
        """How many points changed beyond noise."""
        return int(self.changed_points.sum())

    @cached_property
    def changed_decisions(self) -> np.ndarray:
        """Whether the predicted class changed, at each point; all False in regression."""
        if self.decisions is None:
            return np.zeros(self.n_points, dtype=bool)
        return np.asarray(self.decisions[0] != self.decisions[1])

    @property
    def noise_floor(self) -> float:
        """The root mean square of what another seed alone would do, at these numbers of bags."""
        return _root_mean_square(self.seed_noise)

    def bags_for(self, share: float = _TENTH) -> int | None:
        """Return how many bags in each version would make the noise so small a share of the change.

        Parameters
        ----------
        share : float, default=0.1
            Noise over change, both as a root mean square over points.

        Returns
        -------
        int or None
            None if the change is not distinguishable from noise, so that no number is known, or if the noise is zero.
        """
        share = check_real(share, "share", "Versions.bags_for", low=1e-6, finite=True, reason="a tenth is 0.1.")
        noise, total = _root_mean_square(self.noise), _root_mean_square(self.change)
        if noise == 0 or not self.n_beyond_noise or total <= noise:
            return None
        actual = math.sqrt(1 - (noise / total) ** 2) * total
        return max(2, math.ceil(min(self.n_bags) * (noise / actual / share) ** 2 - 1e-9))

    # ----------------------------------------------------------------------------------------- which rows are behind it

    @property
    def n_fits(self) -> int:
        """How many bags `with_parts` fits: those that have a changed row. If the learners differ, about how many."""
        old, new, *_ = self._models()
        return count_fits(old, new, self.rows, self.differences.is_more_than_rows)

    def with_parts(self) -> "Versions":
        """Split the change of every prediction into what is due to rows that left and to rows that came.

        The model of the rows that both versions have lies between them: forgetting the rows that left gives the first
        part, learning the rows that came the second. Values that were corrected left and came. If the learners differ,
        the old one is fitted to the new rows, and the third part, "learner", is what the new learner changes. It is
        called "other" if bags, seeds, ranges or columns differ. The parts add up to the change, to rounding.

        Only bags with a changed row are fitted, `n_fits` of them; with many changed rows that is every bag. Use
        `on_progress` to follow the fits. Effects of blocks of rows, if asked for, are estimated again from the fitted
        bags, which makes them sharper.

        Returns
        -------
        Versions
            The same comparison with `parts`, which `to_frame` and `summary` show.
        """
        old, new, X, blocks = self._models()
        n_numbers = self.old.size
        looked_at = some_points(n_numbers)
        n_pairs = min(self.n_bags)
        kept: dict[str, list[np.ndarray]] = {"left": [], "came": []}
        way = steps(old, new, self.rows, self.differences.is_more_than_rows)
        parts, before, start = [], old, self.old
        for place, (name, after) in enumerate(way):
            if after is before:
                end, noise = start, np.zeros_like(start)
                if name in kept:
                    kept[name].append(np.zeros((n_pairs, len(looked_at))))
            else:
                pairs, ends, noises = _Pairs(before, after), [], []
                for some, *raws in _blocks(before, after, X):
                    both = (raws[0], raws[1])
                    outputs = pairs.outputs(both)
                    differences = pairs.differences(outputs)
                    noises.append(pairs.noise(outputs, differences)[0])
                    if pairs.drawn and name in kept:
                        kept[name].append(_looked_at(differences[:n_pairs], some, looked_at))
                    prediction = pairs.predictions(both)[1]
                    ends.append(prediction[:, 1] if pairs.binary else prediction)
                end, noise = np.concatenate(ends), np.concatenate(noises)
            if place == len(way) - 1:
                end = self.new
            name = "learner" if name == "other" and self.differences.is_learner_alone else name
            parts.append(Part(name, end - start, noise))
            before, start = after, end
        found, single = self.blocks, None
        if not old.derandomized_:
            left, came = (np.concatenate(each, axis=1) for each in kept.values())
            single = single_rows(old, self.rows.gone, left, came=False)
            if not self.differences.bags:  # then the bags with the new rows are those of the new version
                single += single_rows(new, self.rows.new, came, came=True)
                found = None if blocks is None else blocks.apart(left, came)
        ranked = None if single is None else tuple(sorted(single, key=lambda row: -row.change))
        return replace(self, parts=tuple(parts), blocks=found, single_rows=ranked)

    def _models(self) -> tuple[Any, Any, Any, Any]:
        if self._compared is None:
            raise ValueError("This comparison was made by hand and has no models. Use compare_versions.")
        return self._compared

    def blocks_to_frame(self) -> Any:
        """Return a pandas DataFrame with the effect of each block of rows, the largest first.

        Its columns are the attributes of `BlockEffect`.
        """
        import pandas as pd

        if self.blocks is None:
            raise ValueError("No blocks were asked for. Compare with rows=..., such as rows='month'.")
        order = sorted(self.blocks, key=lambda block: -block.size)
        return pd.DataFrame(order, columns=list(BlockEffect._fields)).set_index("name").rename_axis("block")

    # ----------------------------------------------------------------------------------------------------- in sentences

    def summary(self) -> str:
        """Explain in plain sentences what changed, how much of it is noise, and what is guaranteed."""
        return paragraphs([" ".join(sentences) for sentences in self.topics.values() if sentences])

    @property
    def topics(self) -> dict[str, list[str]]:
        """The sentences of `summary` by what they are about: who, noise, why, and the guarantee."""
        topics = {
            "who": [self._headline(), self._decided(), "" if self.kinds is None else self.kinds.explain()],
            "noise": [self._claim(), self._floor()],
            "why": [
                self.rows.explain(),
                self._position_hint(),
                *self.differences.sentences(),
                self._in_parts(),
                self._in_blocks(),
            ],
            "guarantee": [self.why_no_guarantee if self.guarantee is None else self.guarantee.in_short()],
        }
        return {name: [sentence for sentence in sentences if sentence] for name, sentences in topics.items()}

    def explain(self) -> str:
        """Explain in plain sentences: the same as `summary`."""
        return self.summary()

    def _headline(self) -> str:
        of = f"{self.n_points:,} {'point' if self.n_points == 1 else 'points'}"
        predictions = "Predictions"
        if self.positive is not None:
            predictions += f" (the probability of {printable(self.positive)})"
        if not (self.change != 0).any():
            return f"No prediction changed at {of}."
        if not self.n_beyond_noise:
            beyond = "clearly changed beyond bagging noise" if self.noise.any() else "changed by more than rounding"
            return f"No prediction at {of} {beyond}. {self._sizes()}"
        name, size = self._largest()
        of_all = f"{self.n_beyond_noise:,} of {of} ({percent(self.n_beyond_noise / self.n_points)})"
        beyond = " beyond bagging noise" if self.noise.any() else ""
        return f"{predictions} changed{beyond} at {of_all}, most at {name}: {size}. {self._sizes()}"

    def _sizes(self) -> str:
        size, noise = _root_mean_square(self.change), _root_mean_square(self.noise)
        tail = f", bagging noise included ({number(noise)})" if noise else ""
        return f"The typical change is {number(size)}{tail}."

    def _largest(self) -> tuple[str, str]:
        """The name of the point that changed most beyond noise, and by how much."""
        change = np.where(self.beyond_noise, np.abs(self.change), -1.0)
        place = np.unravel_index(int(change.argmax()), change.shape)
        name = f"point {place[0]}"
        if self.index is not None:
            label, heading = printable(self.index[place[0]]), self.index.name
            is_number = self.index.to_numpy().dtype.kind in "iuf"
            name = f"{printable(heading)} {label}" if heading is not None else f"point {label}" if is_number else label
        of = f" for {printable(self.columns[place[1]])}" if self.columns is not None else ""
        return name, f"{self.change[place]:+.4g}{of}"

    def _claim(self) -> str:
        if not self.noise.any() or not self.n_beyond_noise:
            return ""
        return f"If only the seed had changed, the chance of marking any of these points would be at most {ALPHA:.0%}."

    def _decided(self) -> str:
        if self.decisions is None:
            return ""
        changed = self.changed_decisions
        n, clear = int(changed.sum()), int((changed & self.changed_points).sum())
        if not n:
            found = "No decision changed."
        else:
            found = f"{n:,} of {self.n_points:,} decisions changed ({percent(n / self.n_points)})"
            found += f", {clear:,} of them where the change is beyond noise." if self.noise.any() else "."
        if self.seed_decisions is None:
            return found
        return f"{found} Another seed alone would change about {number(round(self.seed_decisions, 1))} decisions."

    def _floor(self) -> str:
        if not self.seed_noise.any():
            return ""
        floor = f"Another seed alone would change predictions by about {number(self.noise_floor)}"
        counts = count_bags(self.n_bags[0]) if self.n_bags[0] == self.n_bags[1] else "these numbers of bags"
        wanted, now = self.bags_for(), min(self.n_bags)
        more = ""
        if wanted is not None and wanted > now:
            more = f" {wanted:,} bags in each version would make the noise a tenth of the change."
        return f"{floor} (root mean square, with {counts}).{more}"

    def _in_parts(self) -> str:
        if self.parts is None:
            return ""
        names = {
            "left": f"{self.rows.noun.plural} that left",
            "came": f"{self.rows.noun.plural} that came",
            "learner": "the new learner",
            "other": "what else differs",
        }
        sizes = [
            f"{names[part.name]} {number(_root_mean_square(part.change))}"
            + (f" (noise {number(noise)})" if (noise := _root_mean_square(part.noise)) else "")
            for part in self.parts
        ]
        listed = f"{', '.join(sizes[:-1])} and {sizes[-1]}"
        return f"Typical parts of the change: {listed}. At every point they add up to the change.{self._singly()}"

    def _singly(self) -> str:
        """Name the single rows whose own part is beyond noise; "" if there are none."""
        rows = self.single_rows or ()
        if not rows:
            return ""
        named = [f"{printable(row.name)} ({'came' if row.came else 'left'}, {number(row.change)})" for row in rows[:3]]
        more = f", and {len(rows) - 3:,} more" if len(rows) > 3 else ""
        noun = self.rows.noun
        which = f"{noun.count(len(rows))} alone {'has' if len(rows) == 1 else 'have'} a part beyond noise"
        return f" {which}: {', '.join(named)}{more}."

    def _in_blocks(self) -> str:
        if self.blocks is None:
            return ""
        clear = sorted(
            (each for each in self.blocks if each.beyond_noise), key=lambda each: -each.size / (each.noise or 1)
        )
        total = (
            f"{len(self.blocks):,} {'block' if len(self.blocks) == 1 else 'blocks'} of changed {self.rows.noun.plural}"
        )
        if not clear:
            return f"No effect of {total} is beyond noise." if self.blocks else "No block has changed rows."
        first = "; ".join(
            f"{printable(block.name)} ({block.effect:+.3g} on average, {number(block.size)} typically, noise "
            f"{number(block.noise)})"
            for block in clear[:3]
        )
        more = f", and {len(clear) - 3:,} more" if len(clear) > 3 else ""
        return (
            f"Of {total}, {len(clear):,} {'has' if len(clear) == 1 else 'have'} an effect beyond noise: {first}{more}."
        )

    def _position_hint(self) -> str:
        if not self.rows.by_position or not len(self.rows.corrected) or not self.rows.n_common:
            return ""
        if len(self.rows.corrected) < 0.5 * self.rows.n_common:
            return ""
        return (
            "Rows were matched by their position in the table, and most positions hold other rows now. Fit both "
            'versions with row_ids, such as row_ids="index".'
        )

    # ------------------------------------------------------------------------------------------------------- as a table

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one line per point, and per class or output if there are several.

        Its columns are `old`, `new`, `change`, `noise` and `beyond_noise`; for a classifier also `old_decision` and
        `new_decision`; and after `with_parts` the parts of the change, such as `left` and `came`.
        """
        import pandas as pd

        index = pd.RangeIndex(self.n_points, name="point") if self.index is None else self.index
        values: dict[str, Any] = {name: getattr(self, name) for name in _FRAME}
        values |= {part.name: part.change for part in self.parts or ()}
        decided = (
            {} if self.decisions is None else dict(zip(("old_decision", "new_decision"), self.decisions, strict=True))
        )
        if self.columns is None:
            return pd.DataFrame({**values, **decided}, index=index)
        heading = "class" if self.decisions is not None else "output"
        product = pd.MultiIndex.from_product([list(index), list(self.columns)], names=[index.name or "point", heading])
        repeated = {name: np.repeat(each, len(self.columns)) for name, each in decided.items()}
        return pd.DataFrame({**{name: each.ravel() for name, each in values.items()}, **repeated}, index=product)

    def to_markdown(self) -> str:
        """Return the sentences of `summary`, and the points that changed most, as Markdown without a heading."""
        return f"{markdown_paragraphs(self.summary)}\n\n{markdown_preview(*self._preview())}"

    def to_dict(self) -> dict[str, Any]:
        """Return what was found as a dictionary that JSON takes; single points are in `to_frame`."""
        parts = {
            part.name: {"size": _root_mean_square(part.change), "noise": _root_mean_square(part.noise)}
            for part in self.parts or ()
        }
        blocks = [{**block._asdict(), "name": str(block.name)} for block in self.blocks or ()]
        kinds = None
        if self.kinds is not None:
            kinds = {"groups": [kind._asdict() for kind in self.kinds.groups], "share": self.kinds.share}
        return {
            "n_points": self.n_points,
            "n_beyond_noise": self.n_beyond_noise,
            "alpha": ALPHA,
            "typical_change": _root_mean_square(self.change),
            "typical_noise": _root_mean_square(self.noise),
            "noise_of_another_seed": self.noise_floor,
            "bags_for_a_tenth": self.bags_for(),
            "n_changed_decisions": None if self.decisions is None else int(self.changed_decisions.sum()),
            "n_decisions_of_another_seed": self.seed_decisions,
            "n_bags": list(self.n_bags),
            "rows": {
                "noun": self.rows.noun.singular,
                "n_left": len(self.rows.left),
                "n_came": len(self.rows.came),
                "n_corrected": len(self.rows.corrected),
                "n_common": self.rows.n_common,
            },
            "differences": asdict(self.differences),
            "parts": parts or None,
            "blocks": blocks if self.blocks is not None else None,
            "single_rows": [{**row._asdict(), "name": str(row.name)} for row in self.single_rows or ()],
            "kinds": kinds,
            "guarantee": None if self.guarantee is None else self.guarantee.to_dict(),
            "summary": self.topics,
        }

    def _preview(self) -> tuple[str, Any, dict[str, Any]]:
        """The points that changed most, those beyond noise first."""
        size = np.abs(self.change) if self.columns is None else np.abs(self.change).max(axis=1)
        order = np.lexsort((-size, ~self.changed_points))
        called = np.arange(self.n_points) if self.index is None else np.asarray(self.index, dtype=object)
        names = called[order].tolist()
        values = {name: getattr(self, name)[order] for name in _FRAME}
        if self.columns is not None:
            names = [f"{name}, {column}" for name in names for column in self.columns]
            values = {name: each.ravel() for name, each in values.items()}
        columns = {name.replace("_", " "): each.tolist() for name, each in values.items()}
        if self.decisions is not None and self.columns is None:
            for name, each in zip(("old decision", "new decision"), self.decisions, strict=True):
                columns[name] = [printable(label) for label in each[order]]
        return "point", names, columns


def _described(X: Any, by: Any, owner: str) -> Any:
    """The table whose columns describe the points; None if there is none."""
    if by is None:
        few = not isinstance(X, RowSource) and getattr(X, "ndim", 2) == 2
        few = few and hasattr(X, "shape") and X.shape[1] <= _MOST_COLUMNS
        return X if few and (hasattr(X, "columns") or isinstance(X, np.ndarray)) else None
    if isinstance(by, str) or (isinstance(by, list | tuple) and all(isinstance(name, str) for name in by)):
        names = [by] if isinstance(by, str) else list(by)
        there = [str(name) for name in getattr(X, "columns", ())]
        missing = [name for name in names if name not in there]
        if missing or not names:
            raise refuse_value("by", owner, "columns of X, or a table of the points", by, "X has no such column.")
        return X[names]
    if isinstance(by, RowSource | BagPredictions) or not (hasattr(by, "columns") or isinstance(by, np.ndarray | list)):
        raise refuse_type("by", owner, "columns of X, or a table of the points", by)
    return by


_FRAME = ("old", "new", "change", "noise", "beyond_noise")


def _root_mean_square(values: np.ndarray) -> float:
    unit = float(np.abs(values).max(initial=0.0))
    return unit * math.sqrt(float(((values / unit) ** 2).mean())) if unit else 0.0


def compare_versions(old: Any, new: Any, X: Any, *, by: Any = None, rows: Any = None) -> Versions:
    """Compare the predictions of two versions of a bagged model: which changed, by how much, and how much is noise.

    The versions are two fitted models of the same target, for example before and after a retraining. Nothing is
    fitted. If both have the same `random_state` and `row_ids`, bag b of one is bag b of the other but for the rows that
    left and came. The difference of the two is measured bag by bag, and most of its noise cancels. Models with other
    seeds, learners or bags can also be compared; the result says what differs.

    **What noise means.** The change is a fixed number once the bags are drawn. Its noise is the standard error over
    other draws of the bags and of the learners' seeds, for these two data sets. This says nothing about other data.

    **What beyond noise means.** Random signs are given to the differences of all pairs of bags, 999 times. A point is
    marked if its change, divided by the root of the sum of squares of its differences, is larger than the largest such
    ratio over all points in 95% of these draws. If only the seed differs between the versions, or only the IDs of some
    rows, the chance of marking any point is at most 5%, for any learner and any outputs: this is proved
    (docs/versions.md). If the rows differ, the rate for points that changed nothing on average is not proved: in
    simulations it is 5% to 9% for moderately skewed differences of the bags, and far higher for extremely skewed ones.
    A change that fewer than 6 bags carry is never marked. If the versions have different numbers of bags, the test uses
    as many bags of each as the smaller number.

    Parameters
    ----------
    old : BaggedRegressor or BaggedClassifier
        The fitted model of the old version.
    new : BaggedRegressor or BaggedClassifier
        The fitted model of the new version.
    X : array-like, sparse array, data frame or RowSource of shape (n_points, n_features)
        The points at which to compare. A frame may have more columns than the models use.
    by : list of str, array-like, data frame or None, default=None
        What describes the kinds of points that changed: columns of X by name, or another table of the same points. None
        takes all columns of X, unless there are more than 100.
    rows : str, mapping or None, default=None
        Blocks of training rows whose effects are estimated, without refitting: a column of both training tables, such
        as "month", or the label of each changed row by its ID, as a dict or a pandas Series. It needs versions with the
        same `random_state`.

    Returns
    -------
    Versions

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from stablebag import BaggedRegressor, Subbagging, compare_versions
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(100), n_bags=500, random_state=0)
    >>> before, now = np.arange(0, 380), np.arange(20, 400)  # 20 patients left, 20 came
    >>> old = model.fit(X[before], y[before], row_ids=before)
    >>> new = BaggedRegressor(**model.get_params(deep=False)).fit(X[now], y[now] + 20 * (now >= 380), row_ids=now)
    >>> print(compare_versions(old, new, X[400:]).summary())
    Predictions changed beyond bagging noise at 2 of 42 points (4.8%), most at point 10: -15.9.
    The typical change is 5.101, bagging noise included (2.921).
    If only the seed had changed, the chance of marking any of these points would be at most 5%.
    Another seed alone would change predictions by about 3.728 (root mean square, with 500 bags).
    24,384 bags in each version would make the noise a tenth of the change.
    Rows: 20 left, 20 came, 360 are the same.
    No guarantee: fit both versions with the same range, such as
    prediction_range=FixedRange(low, high).
    """
    owner = "compare_versions"
    for model in (old, new):
        check_bagged(model, owner, outputs="any")
    if isinstance(X, BagPredictions):
        raise refuse_type("X", owner, "a table of points", X, "both models predict there, each with its own bags.")
    refuse_other_targets(old, new, owner)
    labels_of_rows = rows
    differences, rows = Differences.between(old, new), changed_rows(old, new)
    guarantee, why_not = _guarantee(old, new, rows, differences)
    if labels_of_rows is not None:
        differences.refuse_for_blocks(fixed_scheme(old.scheme_) == fixed_scheme(new.scheme_))
    blocks = None if labels_of_rows is None else Blocks(old, new, rows, labels_of_rows, owner)
    described = _described(X, by, owner)
    pairs = _Pairs(old, new)
    found: dict[str, list[np.ndarray]] = {name: [] for name in ("old", "new", "noise", "seed_noise", "statistic")}
    labels: list[list[np.ndarray]] = [[], []]
    total = fitted(new).n_points(points_for(new, X, "new"))
    n_numbers = total * (1 if pairs.binary else pairs.averages[0].n_numbers)
    root = (old._seeds.root + 31 * new._seeds.root) % 2**32  # so that signs are drawn with the bags
    flips = _SignFlips(pairs.n_pairs, n_numbers, root) if pairs.drawn else None
    classes = pairs.averages[0].classes
    redrawn = _Redrawn(pairs.n_bags) if pairs.drawn and classes is not None else None
    carried = np.zeros(pairs.n_pairs, dtype=bool)
    looked_at, kept_pairs = some_points(n_numbers), []
    for place, *raws in _blocks(old, new, X):
        both = (raws[0], raws[1])
        predictions, outputs = pairs.predictions(both), pairs.outputs(both)
        if classes is not None:
            for kept, prediction in zip(labels, predictions, strict=True):
                kept.append(classes[prediction.argmax(axis=1)])
        for name, prediction in zip(("old", "new"), predictions, strict=True):
            found[name].append(prediction[:, 1] if pairs.binary else prediction)
        differences_of_bags = pairs.differences(outputs)
        noise, apart = pairs.noise(outputs, differences_of_bags)
        found["noise"].append(noise)
        found["seed_noise"].append(apart)
        flat = differences_of_bags.reshape(pairs.n_pairs, -1)
        if blocks is not None:
            kept_pairs.append(_looked_at(differences_of_bags, place, looked_at))
        if flips is not None:
            found["statistic"].append(flips.add(flat).reshape(noise.shape))
            carried |= (flat != 0).any(axis=1)
        else:
            moved = np.abs(found["new"][-1] - found["old"][-1])
            size = np.maximum(np.abs(outputs[0]).max(axis=0), np.abs(outputs[1]).max(axis=0))
            found["statistic"].append(np.where(moved > 1e-9 * size, np.inf, 0.0))
        if redrawn is not None:
            redrawn.add(both[1])
    parts: dict[str, Any] = {name: np.concatenate(each) for name, each in found.items()}
    beyond = parts.pop("statistic") > (flips.threshold if flips is not None else 0.0)
    average = pairs.averages[0]
    several = None if pairs.binary or average.n_numbers == 1 else average.output_names if classes is None else classes
    kinds = None
    if described is not None and several is None and beyond.any():
        kinds = kinds_of_points(parts["new"] - parts["old"], described, owner)
    return Versions(
        **parts,
        beyond_noise=beyond,
        kinds=kinds,
        blocks=None if blocks is None else blocks.together(np.concatenate(kept_pairs, axis=1)),
        _compared=(old, new, X, blocks),
        rows=rows,
        differences=differences,
        n_bags=pairs.n_bags,
        n_changed_bags=int(carried.sum()) if pairs.drawn else None,
        decisions=None if classes is None else (np.concatenate(labels[0]), np.concatenate(labels[1])),
        seed_decisions=None if redrawn is None else redrawn.changed,
        guarantee=guarantee,
        why_no_guarantee=why_not,
        columns=several,
        positive=classes[1] if pairs.binary and classes is not None else None,
        index=fitted(new).index_of(X),
    )
