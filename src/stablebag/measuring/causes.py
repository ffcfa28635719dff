"""Why predictions changed between two versions: which rows did it, and which kinds of points it concerns."""

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import KFold
from sklearn.tree import DecisionTreeRegressor

from stablebag._checks import as_array, is_missing, refuse_type, refuse_value
from stablebag._seeds import Seeds
from stablebag._wording import count_bags, number, printable
from stablebag.measuring.suspects import adjusted_p_values
from stablebag.models.fitted import fitted
from stablebag.models.forgetting import learn, without_units
from stablebag.models.rows import RowSource, is_per_row, n_rows, take_rows
from stablebag.resampling.bags import Bags
from stablebag.resampling.units import plain

# ------------------------------------------------------------------------------------------------- two parts, by refits


class Part(NamedTuple):
    """One part of the change of every prediction.

    Attributes
    ----------
    name : str
        "left", "came", or what else changed: "learner" or "other".
    change : ndarray of shape (n_points,) or (n_points, n_columns)
        The part of each change.
    noise : ndarray like change
        Its standard error over other draws of bags and seeds.
    """

    name: str
    change: np.ndarray
    noise: np.ndarray


def count_fits(old: Any, new: Any, rows: Any, others: bool) -> int:
    """Return how many bags `steps` fits; if the versions differ in more than rows, about how many."""
    gone, came = rows.n_left, rows.n_came
    first = len(old.bags_.with_any(rows.gone)) if gone and (came or others) and not old.derandomized_ else 0
    second = len(new.bags_.with_any(rows.new)) if came and others else 0
    return first + second


def steps(old: Any, new: Any, rows: Any, others: bool) -> list[tuple[str, Any]]:
    """Return the models on the way from the old version to the new one: the common rows, then the new rows.

    `others` says whether the versions differ in more than rows; then the old learner is also fitted to the new rows.
    """
    if hasattr(old, "output_"):
        raise ValueError(
            "These are single outputs of models that learn several together, and such models are fitted again as a "
            "whole. Compare the whole models for the parts."
        )
    for model, which in ((old, "old"), (new, "new")):
        if fitted(model).X is None or isinstance(fitted(model).X, RowSource):
            raise ValueError(
                f"The {which} model has not kept its training rows, so no bag can be fitted again. Fit it in memory "
                "with keep_rows=True."
            )
    if rows.n_left > len(old.units_) - 2:
        raise ValueError(
            f"The versions have fewer than two {rows.noun.plural} in common that are the same, so there is no model of "
            "the common ones. Give both fits the same row_ids, or leave the parts out."
        )
    common = old
    if rows.n_left:
        common = new if not rows.n_came and not others else without_units(old, rows.gone)
    last = new
    if others:
        last = _learned(common, new, rows.new) if rows.n_came else common
    return [("left", common), ("came", last), *([("other", new)] if others else [])]


def _learned(model: Any, new: Any, units: np.ndarray) -> Any:
    """The model with some units of the new version, learned by the learner of the old one."""
    places = np.sort(new.units_.rows_of(units))
    X, n = fitted(new).X, new.units_.n_rows
    params = {name: take_rows(value, places) for name, value in new._fit_params.items() if is_per_row(value, n)}
    known = {name for name, value in model._fit_params.items() if is_per_row(value, model.units_.n_rows)}
    if known != set(params):
        raise ValueError("The versions were fitted with other parameters for each row, such as sample_weight.")
    names = new.units_.names_of_rows[places].tolist()
    called = {"groups": names} if new.units_.are_groups else {"row_ids": names}
    names_of = [getattr(each, "feature_names_in_", None) for each in (model, new)]
    if names_of[0] is not None and names_of[1] is not None and names_of[0].tolist() != names_of[1].tolist():
        raise ValueError(
            "The versions were fitted to other columns, so the old learner cannot be fitted to the new rows. Fit both "
            "to the same columns, in the same order."
        )
    params.pop("groups", None)
    return learn(model, take_rows(X, places), fitted(new).y[places], **called, **params)


# --------------------------------------------------------------------------------------- blocks of rows, by regression

_MOST_POINTS = 2000  # at which the effects of blocks are estimated
_FLIPS = 199
_ROWS_ALPHA = 0.05
_FEWEST = 4  # bags with a changed row for each block
_TIES = 1e-9


class BlockEffect(NamedTuple):
    """What the changed rows of one block did to the predictions: an estimate from the bags, without refitting.

    Attributes
    ----------
    name : object
        The label of the block.
    n_left, n_came, n_corrected : int
        How many of its rows, or groups, left, came or have other values.
    effect : float
        Its part of the change, as a mean over points.
    standard_error : float
        The standard error of `effect` over other draws of bags.
    size : float
        The root mean square over points of its part of the change, noise included.
    noise : float
        The bagging noise in `size`.
    beyond_noise : bool
        Whether its part is beyond noise, over all points together.
    """

    name: Any
    n_left: int
    n_came: int
    n_corrected: int
    effect: float
    standard_error: float
    size: float
    noise: float
    beyond_noise: bool


class Blocks:
    """The changed rows of both versions in labelled blocks, and how many of each block the bags have.

    Parameters
    ----------
    old, new : BaggedRegressor or BaggedClassifier
        The two versions, with the same seed.
    rows : ChangedRows
        Which rows differ.
    labels : str or mapping
        A column of both training tables, or the label of each changed row by its ID.
    owner : str
        Whose parameter it is.
    """

    def __init__(self, old: Any, new: Any, rows: Any, labels: Any, owner: str) -> None:
        if old.derandomized_ or old._seeds.root != new._seeds.root:
            raise ValueError(
                "The effects of blocks of rows are estimated from bags that differ in few rows, and these versions "
                "have no such bags. Fit both with the same random_state and a number of bags."
            )
        self.n_pairs, self.noun = min(len(old.bags_), len(new.bags_)), rows.noun
        kinds = {"left": (old, rows.left), "came": (new, rows.came), "corrected": (new, rows.corrected[:, 1])}
        found = {kind: _labels(labels, model, units, owner) for kind, (model, units) in kinds.items()}
        every = {name for each in found.values() for name in each}
        self.names = sorted(every, key=lambda name: (str(type(name)), name))
        self.counts = {kind: [each.count(name) for name in self.names] for kind, each in found.items()}
        self._held: dict[str, np.ndarray] = {}  # how many rows of each block the bags have
        for kind, (model, units) in kinds.items():
            block = np.array([self.names.index(label) for label in found[kind]], dtype=np.intp)
            self._held[kind] = _in_bags(model.bags_, units, block, len(self.names), self.n_pairs)

    def together(self, differences: np.ndarray) -> tuple[BlockEffect, ...]:
        """Return the effects from the differences of the pairs of bags of both versions, at some points."""
        return self._effects([(("left", "came", "corrected"), differences)])

    def apart(self, left: np.ndarray, came: np.ndarray) -> tuple[BlockEffect, ...]:
        """Return the effects from the differences to the model of the common rows: sharper, but it has to be fitted."""
        return self._effects([(("left", "corrected"), left), (("came", "corrected"), came)])

    def _effects(self, steps: list[tuple[tuple[str, ...], np.ndarray]]) -> tuple[BlockEffect, ...]:
        """Return the effects, by least squares on the differences of the pairs of bags.

        A pair whose bags have no changed row does not differ, so the regression fits no intercept. Standard errors
        allow for pairs that vary unequally. Size over noise of a block is compared with the largest such ratio over all
        blocks in 199 draws, in which the residuals of each pair keep or change their sign.
        """
        if not self.names:
            return ()
        n_blocks, width = len(self.names), steps[0][1].shape[1]
        effect, solved = np.zeros((n_blocks, width)), []
        unit = max(float(np.abs(differences).max(initial=0.0)) for _, differences in steps) or 1.0
        for kinds, differences in steps:
            solve, fit = self._least_squares(kinds)
            effect += solve @ (differences / unit)
            leverage = np.einsum("bc,cb->b", *fit)
            residual = differences / unit - fit[0] @ (fit[1] @ (differences / unit))
            solved.append((solve, residual / np.sqrt(np.maximum(1 - leverage, 0.01))[:, None]))
        signs = 2.0 * Seeds(0).generator().integers(0, 2, (_FLIPS, self.n_pairs)) - 1
        error, error_of_mean = np.zeros_like(effect), np.zeros(n_blocks)
        largest = np.zeros(_FLIPS)
        for place in range(n_blocks):
            share = sum(solve[place][:, None] * residual for solve, residual in solved)  # of each pair in the error
            assert isinstance(share, np.ndarray)
            error[place] = np.sqrt((share**2).sum(axis=0))
            error_of_mean[place] = math.sqrt(float((share.mean(axis=1) ** 2).sum()))
            noise = math.sqrt(float((error[place] ** 2).mean()))
            np.maximum(largest, _ratio(np.sqrt(((signs @ share) ** 2).mean(axis=1)), noise), out=largest)
        threshold = float(np.sort(largest)[::-1][math.floor(0.05 * (_FLIPS + 1)) - 1]) * (1 + _TIES)
        size, noises = (np.sqrt((each**2).mean(axis=1)) for each in (effect, error))
        beyond = _ratio(size, noises) > threshold
        return tuple(
            BlockEffect(
                name=name,
                n_left=self.counts["left"][place],
                n_came=self.counts["came"][place],
                n_corrected=self.counts["corrected"][place],
                effect=unit * float(effect[place].mean()),
                standard_error=unit * float(error_of_mean[place]),
                size=unit * float(size[place]),
                noise=unit * float(noises[place]),
                beyond_noise=bool(beyond[place]),
            )
            for place, name in enumerate(self.names)
        )

    def _least_squares(self, kinds: tuple[str, ...]) -> tuple[np.ndarray, tuple[np.ndarray, np.ndarray]]:
        """The matrix from differences to the effects of blocks, and the regressors with their pseudo-inverse."""
        held = np.concatenate([self._held[kind] for kind in kinds], axis=1)
        of_block = np.concatenate([np.arange(len(self.names))] * len(kinds))
        there = held.any(axis=0)
        held, of_block = held[:, there], of_block[there]
        n_carrying, n_columns = int(held.any(axis=1).sum()), held.shape[1]
        if n_columns and (n_carrying < _FEWEST * n_columns or np.linalg.matrix_rank(held) < n_columns):
            raise ValueError(
                f"{count_bags(n_carrying)} with a changed {self.noun.singular} cannot tell {len(self.names):,} blocks "
                "apart. Use more bags, or fewer blocks."
            )
        inverse = np.linalg.pinv(held) if n_columns else np.zeros((0, self.n_pairs))
        mean = np.zeros((len(self.names), n_columns))
        mean[of_block, np.arange(n_columns)] = held.mean(axis=0)
        return mean @ inverse, (held, inverse)


def _ratio(effect: Any, error: Any) -> Any:
    """Effects in units of their standard errors; 0 where there is neither."""
    tiny = np.finfo(float).tiny ** 0.5
    return np.abs(effect) / np.where(error > 0, error, np.where(effect == 0, 1.0, tiny))


def _in_bags(bags: Bags, units: np.ndarray, block: np.ndarray, n_blocks: int, n_pairs: int) -> np.ndarray:
    """How many of these units of each block each bag has, with repeats; shape (n_pairs, n_blocks)."""
    of_unit = np.full(bags.n_samples, n_blocks)
    of_unit[units] = block
    counted = [np.bincount(of_unit[bag], minlength=n_blocks + 1)[:n_blocks] for bag in bags[:n_pairs]]
    return np.array(counted, dtype=float).reshape(n_pairs, n_blocks)


def _labels(labels: Any, model: Any, units: np.ndarray, owner: str) -> list[Any]:
    """The label of each of these units: from a column of the training table, or by its ID."""
    if isinstance(labels, str):
        X = fitted(model).X
        if X is None or labels not in [str(name) for name in getattr(X, "columns", ())]:
            reason = "or a mapping from row IDs to labels, such as a pandas Series."
            raise refuse_value(
                "rows", owner, "a column of both training tables", labels, f"there is none; give one, {reason}"
            )
        column = np.asarray(X[labels])
        values = model.units_.shared(column, "rows", owner)
        return [plain(values[unit]) for unit in units]
    if not isinstance(labels, Mapping) and not (hasattr(labels, "items") and hasattr(labels, "index")):
        expected = "None, a column of both training tables, or a mapping from row IDs to labels"
        raise refuse_type("rows", owner, expected, labels, "a pandas Series will do.")
    known = {plain(name): plain(label) for name, label in labels.items()}
    names = [plain(name) for name in model.units_.ids.names[units].tolist()]
    missing = [name for name in names if name not in known]
    if missing:
        reason = f"{model.units_.noun.singular} {missing[0]!r} changed and has none."
        raise refuse_value("rows", owner, f"a label for each changed {model.units_.noun.singular}", len(known), reason)
    return [known[name] for name in names]


def some_points(n_numbers: int) -> np.ndarray:
    """Return the places of the numbers at which effects of blocks are estimated: all, or evenly spaced ones."""
    if n_numbers <= _MOST_POINTS:
        return np.arange(n_numbers)
    return np.unique(np.linspace(0, n_numbers - 1, _MOST_POINTS).astype(np.intp))


# ---------------------------------------------------------------------------------------------------------- single rows

_MOST_ENTRIES = 2 * 10**7  # of rows and bags, which are looked through


class ChangedRow(NamedTuple):
    """A row, or group, that left or came and whose own part of the change is beyond bagging noise.

    Attributes
    ----------
    name : object
        What it is called.
    came : bool
        Whether it came; otherwise it left.
    change : float
        The root mean square over points of its part of the change, noise included.
    noise : float
        The bagging noise in `change`: its root mean square if the row had no effect.
    p_value : float
        The p-value, adjusted for having looked at all rows that left, or at all that came.
    """

    name: Any
    came: bool
    change: float
    noise: float
    p_value: float


def single_rows(model: Any, changed: np.ndarray, differences: np.ndarray, *, came: bool) -> list[ChangedRow]:
    """Return the changed units of a model whose own effect on the differences of its bags is beyond noise.

    The differences of the bags that have a unit are compared with those of the other bags, by the permutation test of
    `suspects`. In a step without any effect of a unit, the chance of listing one is at most 5%.
    """
    n_pairs = len(differences)
    if not len(changed) or n_pairs * len(changed) > _MOST_ENTRIES or not differences.any():
        return []
    held = np.zeros((n_pairs, model.bags_.n_samples), dtype=bool)
    for line, bag in zip(held, model.bags_[:n_pairs], strict=True):
        line[bag] = True
    held = held[:, changed]
    inside = held.sum(axis=0)
    usable = np.flatnonzero((inside > 0) & (inside < n_pairs))
    if not len(usable):
        return []
    unit = float(np.abs(differences).max())
    bags = Bags([np.flatnonzero(line) for line in held[:, usable]], len(usable))
    p_values = adjusted_p_values(bags, differences / unit, _ROWS_ALPHA)
    found = []
    for place in np.flatnonzero(p_values <= _ROWS_ALPHA):
        row = usable[place]
        with_it = held[:, row]
        share = float(with_it.mean())
        apart = differences[with_it].mean(axis=0) - differences[~with_it].mean(axis=0)
        spread = differences.std(axis=0, ddof=1) * math.sqrt(1 / inside[row] + 1 / (n_pairs - inside[row]))
        change, noise = (share * float(np.sqrt((each**2).mean())) for each in (apart, spread))
        name = plain(model.units_.labels[changed[row]])
        found.append(ChangedRow(name, came, change, noise, float(p_values[place])))
    return sorted(found, key=lambda each: -each.change)


# ------------------------------------------------------------------------------------------- kinds of points, in a tree

_MOST_KINDS = 4
_MOST_LEVELS = 20  # of a column of texts; of more, the most frequent
_FEWEST_POINTS = 20
_SMALLEST_SHARE = 0.02  # of the points in a group
_LEAST_EXPLAINED = 0.05
_MOST_DESCRIBED = 20_000  # points that the tree is grown from


class Kind(NamedTuple):
    """A group of points that changed alike.

    Attributes
    ----------
    words : str
        Which points they are: "plan = family".
    change : float
        Their mean change.
    n_points : int
        How many there are.
    """

    words: str
    change: float
    n_points: int


class Kinds(NamedTuple):
    """The groups of points that changed alike, the largest change first, and what they explain.

    Attributes
    ----------
    groups : tuple of Kind
        At most four; every point is in one.
    share : float
        The share of the variance of the change over points that the groups explain, at points that did not choose them.
    """

    groups: tuple[Kind, ...]
    share: float

    def explain(self) -> str:
        """Say in words which points changed by how much."""
        words = "; ".join(
            f"{kind.words}: {kind.change:+.3g} on average, {kind.n_points:,} points" for kind in self.groups
        )
        return f"{words}. These groups explain {100 * self.share:.0f}% of how changes differ between points."


def kinds_of_points(change: np.ndarray, table: Any, owner: str) -> Kinds | None:
    """Describe which points changed by how much, in a tree of at most four groups; None if columns explain nothing."""
    change = np.asarray(change, dtype=float)
    if n_rows(table) != len(change):
        raise refuse_value(
            "by", owner, f"a table of the {len(change):,} points", n_rows(table), "one row for each point."
        )
    splits = _Columns(table)
    unit = np.abs(change - change.mean()).max(initial=0.0)
    if len(change) < _FEWEST_POINTS or not splits.words or unit <= 1e-12 * np.abs(change).max(initial=0.0):
        return None
    target, matrix = change / unit, splits.matrix
    generator = Seeds(0).generator()
    some = np.arange(len(change))
    if len(change) > _MOST_DESCRIBED:
        some = np.sort(generator.choice(len(change), _MOST_DESCRIBED, replace=False))
    fewest = max(5, math.ceil(_SMALLEST_SHARE * len(some)))
    folds = list(KFold(5, shuffle=True, random_state=0).split(some))
    best = (_LEAST_EXPLAINED + 1 / math.sqrt(len(some)), 0)  # of few points, some is explained by chance
    for leaves in range(2, _MOST_KINDS + 1):
        left, total = 0.0, 0.0
        for train, test in folds:
            grown = _grown(matrix[some[train]], target[some[train]], leaves, max(2, fewest * 4 // 5))
            left += float(((target[some[test]] - grown.predict(matrix[some[test]])) ** 2).sum())
            total += float(((target[some[test]] - target[some[train]].mean()) ** 2).sum())
        explained = 1 - left / total if total > 0 else 0.0
        if explained > best[0] + (0.01 if best[1] else 0.0):  # another group has to explain more
            best = (explained, leaves)
    if not best[1]:
        return None
    tree = _grown(matrix[some], target[some], best[1], fewest)
    leaf = tree.apply(matrix)
    groups = [
        Kind(splits.path(tree.tree_, place), float(change[leaf == place].mean()), int((leaf == place).sum()))
        for place in np.unique(leaf)
    ]
    return Kinds(tuple(sorted(groups, key=lambda kind: -abs(kind.change))), best[0])


def _grown(matrix: np.ndarray, target: np.ndarray, leaves: int, fewest: int) -> Any:
    tree = DecisionTreeRegressor(max_leaf_nodes=leaves, min_samples_leaf=fewest, random_state=0)
    return tree.fit(matrix, target)


class _Columns:
    """The columns of a table as numbers that a tree can split, with words for each split."""

    def __init__(self, table: Any) -> None:
        # Of each number: the column, the level it is compared with (None of a number), and the other level of two.
        self.words: list[tuple[str, Any, Any]] = []
        parts = []
        for name, column in _columns_of(table):
            found = _split(column)
            levels = [level for level, _ in found]
            if len(found) == 2 and not {None, _MISSING} & set(levels):  # one of them says it all
                found, levels = found[:1], levels[::-1]
            for level, values in found:
                self.words.append((name, level, levels[0] if levels[0] != level and len(found) == 1 else None))
                parts.append(values)
        self.matrix = np.array(parts, dtype=np.float32).T if parts else np.empty((n_rows(table), 0), dtype=np.float32)

    def _end(self, column: int, threshold: float) -> str:
        """A threshold in words: a whole number for a column of whole numbers."""
        values = self.matrix[:, column]
        return number(math.floor(threshold) if (values == np.floor(values)).all() else float(threshold))

    def path(self, tree: Any, leaf: int) -> str:
        """The conditions on the way to a leaf, in words."""
        parents = {}
        for node in range(tree.node_count):
            if tree.children_left[node] >= 0:
                parents[int(tree.children_left[node])] = (node, False)
                parents[int(tree.children_right[node])] = (node, True)
        said: dict[tuple[str, str], str] = {}
        node = int(leaf)
        while node in parents:
            node, above = parents[node]
            name, level, other = self.words[tree.feature[node]]
            if level is None:
                side = ">" if above else "<="
                # Of several conditions on a column, the one nearest to the leaf is the narrowest.
                said.setdefault(
                    (name, side), f"{name} {side} {self._end(int(tree.feature[node]), tree.threshold[node])}"
                )
            elif above or other is not None:
                level = level if above else other
                said[name, "="] = f"{name} {'is missing' if level is _MISSING else f'= {printable(level, 30)}'}"
            else:
                said.setdefault(
                    (name, f"not {level}"),
                    f"{name} {'is there' if level is _MISSING else f'is not {printable(level, 30)}'}",
                )
        for name, side in list(said):
            if side.startswith("not ") and (name, "=") in said:
                del said[name, side]
        return " and ".join(reversed(said.values())) or "all points"


_MISSING = object()


def _columns_of(table: Any) -> list[tuple[str, np.ndarray]]:
    if hasattr(table, "columns"):
        return [(printable(name, 30), np.asarray(table[name])) for name in table.columns]
    if hasattr(table, "tocsc"):
        return []
    array = as_array(table, "by", "compare_versions", "a table of the points")
    array = array.reshape(len(array), -1)
    return [(f"column {place}", array[:, place]) for place in range(array.shape[1])]


def _split(column: np.ndarray) -> list[tuple[Any, np.ndarray]]:
    """A column as numbers: itself, or whether it has each of its levels; and whether it is missing."""
    if column.dtype.kind in "iuf":
        limit = float(np.finfo(np.float32).max)  # of the numbers that a tree takes
        values = np.clip(column.astype(float), -limit, limit)
        known = np.isfinite(values)
        if not known.any():
            return []
        found: list[tuple[Any, np.ndarray]] = [(None, np.where(known, values, np.median(values[known])))]
        return found if known.all() else [*found, (_MISSING, (~known).astype(float))]
    if column.dtype.kind == "M":
        column = column.astype("datetime64[D]").astype(str)
    words = {True: "yes", False: "no"}
    numbers: dict[Any, int] = {}
    codes = np.empty(len(column), dtype=np.intp)
    for place, value in enumerate(column.tolist()):
        level = _MISSING if is_missing(value) else words[value] if isinstance(value, bool) else str(value)
        codes[place] = numbers.setdefault(level, len(numbers))
    if len(numbers) > max(_MOST_LEVELS, len(codes) // 2):
        return []  # names: most of them are there once
    counts = np.bincount(codes, minlength=len(numbers))
    most = sorted(numbers, key=lambda level: -counts[numbers[level]])[:_MOST_LEVELS]
    return [(level, (codes == numbers[level]).astype(float)) for level in most]
