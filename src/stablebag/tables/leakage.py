"""Warnings about scores that are too good to be true: leaking columns, time series, copies among held-out rows.

Each check looks at a parsed table and returns one sentence per finding.
"""

import re
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.tree import DecisionTreeClassifier

from stablebag._wording import option, percent, printable, short
from stablebag.showing.verdict import COPIES, LEAKS, REPEATED, TIME, Finding
from stablebag.tables.roles import in_groups, likely_groups, suggest_group

_TOO_GOOD = {"classification": 0.97, "regression": 0.99}  # balanced accuracy or R2 of one column on held-out rows
_WORTH_A_LOOK = 0.9  # the same on the first rows, before all rows are used
_FEWEST_ROWS = 20  # of a table, and with a known value; with fewer, it may be chance
_FEWEST_OF_CLASS = 5  # rows of a class
_HELD_OUT = (0.2, 10)  # for this check: a share of the rows, and the fewest
_FIRST_ROWS = 400  # on which a column is tried first
_MOST_ROWS = 20_000  # on which a column is tried
_MOST_COLUMNS = 3_000  # that are tried for more than two classes
_FEW_VALUES = 20  # of a number that may be a code
_LISTED = 3
_IN_TIME = re.compile(
    r"(^|[\W_])(date|datetime|time|timestamp|day|week|month|quarter|year|hour|period|epoch|t)s?$", re.I
)
_OF_PEOPLE = re.compile(r"birth|born|dob", re.IGNORECASE)
_FEWEST_TIMES = 20  # different times in a time series
_ALIKE = 0.2  # smallest correlation between the targets of neighbours in time, if chance does not explain it
_REGULAR = 0.9  # share of equally long steps in a regular series


class Leak(NamedTuple):
    """A column that alone predicts the target almost perfectly.

    Attributes
    ----------
    column : str
        The name of the column.
    rule : str
        The rule, such as "fee > 0".
    score : str
        The score of the rule, and the number of held-out rows that it was computed on.
    value : float
        The score as a number, by which leaks are sorted.
    """

    column: str
    rule: str
    score: str
    value: float


def leaks(X: Any, y: np.ndarray, task: str, groups: Any = None, skip: tuple[str, ...] = ()) -> list[Leak]:
    """Return the columns that alone predict the target almost perfectly, the best first.

    A rule is fitted to four fifths of the rows and tried on the others; it must be good on both. For classes, a rule is
    one split of a number (with more classes, one split fewer than classes), one class for each category, or whether the
    value is missing. Its balanced accuracy must reach 0.97, so that a frequent class does not help. For numbers, a rule
    is a line or a curve through one column, or a mean for each category, and its R2 must reach 0.99. The table must
    have 20 rows, and 5 of each class.
    """
    import pandas as pd

    y = pd.factorize(y, sort=False)[0] if task == "classification" else y
    rows, held = _split(y, task, groups)
    if not len(rows):
        return []
    number = np.random.default_rng(1).permutation(len(rows))[:_FIRST_ROWS]
    if task == "classification":  # some rows of each class
        number = np.sort(_first_of_each(y[rows], _FIRST_ROWS))
    codes = np.unique(y[rows], return_inverse=True)[1].ravel() if task == "classification" else y[rows].astype(float)
    found = []
    for place, name in enumerate(X.columns):
        if name in skip or (place >= _MOST_COLUMNS and task == "classification" and codes.max(initial=0) > 1):
            continue
        column = X[name].iloc[rows] if len(rows) < len(y) else X[name]
        if column.dtype.kind == "M" and task == "regression":
            continue  # time_order checks time series
        few = column.iloc[number]
        if len(number) < len(rows) and not _best_rule(few, codes[number], held[number], task, _WORTH_A_LOOK):
            continue
        if best := _best_rule(column, codes, held, task, _TOO_GOOD[task]):
            found.append(best)
    return sorted(found, key=lambda leak: -leak.value)


def may_look_for_leaks(y: np.ndarray, task: str, groups: Any = None) -> bool:
    """Return whether `leaks` can tell a leak from chance: whether there are enough rows, and rows of each class."""
    return len(_split(y, task, groups)[0]) > 0


def leak_warnings(found: list[Leak], target: str) -> list[str]:
    """Warn about the best of these columns, and name the others."""
    if not found:
        return []
    best, *others = found
    name = printable(best.column)
    warnings = [
        f"{name} alone predicts {printable(target)} almost perfectly ({best.rule}: {best.score}). Is it known at the "
        f"time of prediction? If not, it leaks the target: add {option('drop', [best.column])}."
    ]
    if others:
        some = ", ".join(printable(leak.column) for leak in others[:_LISTED])
        more = f" and {len(others) - _LISTED:,} more" if len(others) > _LISTED else ""
        drop = option("drop", [leak.column for leak in others[:_LISTED]])
        warnings.append(f"The same is true of {some}{more} ({drop}).")
    return warnings


def _split(y: np.ndarray, task: str, groups: Any) -> tuple[np.ndarray, np.ndarray]:
    """The rows that are used, and which of them are held out: whole groups, or some rows of each class."""
    rng, n = np.random.default_rng(0), len(y)
    if task == "classification":
        _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        kept = counts >= _FEWEST_OF_CLASS
        if n < _FEWEST_ROWS or kept.sum() < 2 or counts[kept].sum() < 0.9 * n:
            return np.empty(0, dtype=int), np.empty(0, dtype=bool)
        rows = np.flatnonzero(kept[codes.ravel()])
        rows = rows[np.sort(_first_of_each(y[rows], _MOST_ROWS))] if len(rows) > _MOST_ROWS else rows
    else:
        rows = np.sort(rng.permutation(n)[:_MOST_ROWS])
        if n < _FEWEST_ROWS:
            return np.empty(0, dtype=int), np.empty(0, dtype=bool)
    share = max(_HELD_OUT[0], _HELD_OUT[1] / len(rows))
    if groups is not None:
        units = np.unique(np.asarray(groups)[rows].astype(str), return_inverse=True)[1].ravel()
        held = (rng.permutation(units.max() + 1) < share * (units.max() + 1))[units]
    elif task == "classification":
        held = np.zeros(len(rows), dtype=bool)
        for label in np.unique(y[rows]):
            its = rng.permutation(np.flatnonzero(y[rows] == label))
            held[its[: max(2, round(share * len(its)))]] = True
    else:
        held = rng.permutation(len(rows)) < share * len(rows)
    if held.all() or not held.any() or (task == "classification" and any(
        len(np.unique(y[rows][part])) < len(np.unique(y[rows])) for part in (held, ~held)
    )):  # fmt: skip
        return np.empty(0, dtype=int), np.empty(0, dtype=bool)
    return rows, held


def _first_of_each(y: np.ndarray, most: int) -> np.ndarray:
    """Draw at most this many rows at random, with equally many of each class where possible."""
    order = np.random.default_rng(2).permutation(len(y))
    labels, codes = np.unique(y[order], return_inverse=True)
    place = np.empty(len(y), dtype=int)
    by_class = np.argsort(codes.ravel(), kind="stable")
    starts = np.searchsorted(codes.ravel()[by_class], np.arange(len(labels)))
    place[by_class] = np.arange(len(y)) - starts[codes.ravel()[by_class]]
    return np.asarray(order[np.argsort(place, kind="stable")[:most]])


def _best_rule(column: Any, y: np.ndarray, held: np.ndarray, task: str, least: float) -> Leak | None:
    """The best rule of one column, if its score reaches `least` on training rows and on held-out rows."""
    name, missing = str(column.name), column.isna().to_numpy()
    if missing.all():
        return None
    values, is_number = None, column.dtype.kind in "iufM"
    if is_number:
        values = column.to_numpy().astype("datetime64[s]").astype(float) if column.dtype.kind == "M" else (
            column.to_numpy(dtype=float))  # fmt: skip
        values = np.where(missing, np.nan, values)
    rules = _number_rules if task == "regression" else _class_rules
    found = max(rules(name, column, values, missing, y, held), key=lambda rule: min(rule[1:3]), default=None)
    if found is None or min(found[1:3]) < least:
        return None
    rule, _, value, what = found
    score = f"{what} {np.floor(1000 * value + 1e-9) / 1000:.3f} on {int(held.sum()):,} held-out rows"
    return Leak(name, rule, score, value)


def _class_rules(name: str, column: Any, values: Any, missing: np.ndarray, y: np.ndarray, held: np.ndarray) -> Any:
    """Yield rules for classes, with their balanced accuracy on training rows and on held-out rows."""
    k, train = int(y.max()) + 1, ~held
    counts = np.bincount(y[train], minlength=k)
    what = "accuracy" if counts.max() <= 2 * counts.min() else "balanced accuracy"

    def scored(rule: str, decided: np.ndarray) -> tuple[str, float, float, str]:
        right = decided == y
        each = [np.bincount(y[part], right[part], k) / np.bincount(y[part], minlength=k) for part in (train, held)]
        shown = float(right[held].mean()) if what == "accuracy" else float(each[1].mean())
        return rule, float(each[0].mean()), min(shown, float(each[1].mean())), what

    def majority(codes: np.ndarray, size: int) -> np.ndarray:
        """The class of each value, by the share of each class that has it; -1 if no training row has the value."""
        table = np.zeros((size, k))
        np.add.at(table, (codes[train], y[train]), 1 / counts[y[train]])
        return np.where(table.any(axis=1), table.argmax(axis=1), -1)

    shown = printable(name)
    if missing.any() and k == 2:
        yield scored(f"{shown} is missing", majority(missing.astype(int), 2)[missing.astype(int)])
    if values is not None and k == 2 and (split := _one_split(values, missing, y, train, counts)) is not None:
        at, above, if_missing = split
        decided = np.where(missing, if_missing, np.where(values > at, above, 1 - above))
        limit = str(np.datetime64(int(at), "s"))[:10] if column.dtype.kind == "M" else f"{at:.12g}"
        rest = " or missing" if missing.any() and if_missing == above else ""
        yield scored(f"{shown} > {limit}{rest}", decided)
    codes, levels = _codes(column)
    if values is None or len(levels) <= _FEW_VALUES:
        of_values = majority(codes, len(levels) + 1)
        rule = _value_rule(shown, levels, of_values, bool(missing.any())) if k == 2 else ""
        yield scored(rule or f"one class for each value of {shown}", of_values[codes])
    if values is None or k == 2:
        return
    table = np.column_stack([np.where(missing, 0.0, values), missing])
    tree = DecisionTreeClassifier(max_leaf_nodes=k + bool(missing.any()), class_weight="balanced", random_state=0)
    spread = np.abs(table[:, 0]).max() or 1.0
    decided = tree.fit(table[train] / [spread, 1], y[train]).predict(table / [spread, 1])
    yield scored(f"{k - 1:,} splits of {shown}", decided)


def _one_split(values: np.ndarray, missing: np.ndarray, y: np.ndarray, train: np.ndarray, counts: np.ndarray) -> Any:
    """The best threshold between two classes, the class above it, and the class of missing values."""
    rows = np.flatnonzero(train & ~missing)
    rows = rows[np.argsort(values[rows], kind="stable")]
    sorted_, weight = values[rows], np.where(y[rows] == 1, 1 / counts[1], -1 / counts[0])
    left = np.cumsum(weight)[:-1]
    if not (between := sorted_[1:] > sorted_[:-1]).any():
        return None
    gain = np.where(between, np.abs(weight.sum() - 2 * left), -1.0)  # difference between both sides
    at = int(gain.argmax())
    above = int(weight.sum() - 2 * left[at] > 0)
    gone = y[train & missing]
    if_missing = int((gone == 1).sum() / counts[1] > (gone == 0).sum() / counts[0])
    return _shortest_number_between(float(sorted_[at]), float(sorted_[at + 1])), above, if_missing


def _shortest_number_between(low: float, high: float) -> float:
    """The number with the fewest digits that is at least `low` and less than `high`."""
    if low <= 0 < high:
        return 0.0
    for digits in range(1, 17):
        if low <= (number := float(f"{(low + high) / 2:.{digits}g}")) < high:
            return number
    return low


def _codes(column: Any) -> tuple[np.ndarray, Any]:
    """A code for each row, and the different values; missing has one more code."""
    import pandas as pd

    codes, levels = pd.factorize(column.to_numpy())
    return np.where(codes < 0, len(levels), codes), levels


def _value_rule(name: str, levels: Any, of_values: np.ndarray, has_missing: bool) -> str:
    """The rule in words if a single value has one of the two classes, otherwise ""."""
    known = [*range(len(levels)), *([len(levels)] if has_missing else [])]
    for label in (1, 0):
        its = [place for place in known if of_values[place] == label]
        if len(its) == 1 and len(known) > 1:
            return f"{name} is missing" if its[0] == len(levels) else f"{name} = {printable(levels[its[0]], 30)}"
    return ""


def _number_rules(name: str, column: Any, values: Any, missing: np.ndarray, y: np.ndarray, held: np.ndarray) -> Any:
    """Yield rules for numbers, with their R2 on training rows and on held-out rows."""
    ranks, shown = stats.rankdata(y), printable(name)
    known = ~missing
    if values is None:
        codes, levels = _codes(column)
        train = ~held
        if 3 * len(levels) > train.sum():
            return
        size = len(levels) + 1
        sizes = np.bincount(codes[train], minlength=size)
        for target in (y, ranks):
            means = np.where(sizes > 0, np.bincount(codes[train], target[train], size) / np.maximum(sizes, 1), 0.0)
            yield f"one value for each value of {shown}", *_fit(target, means[codes], train, held), "R2"
        return
    parts = [np.ones(len(y), dtype=bool)] if not missing.all() else []
    if missing.any() and known.sum() >= max(_FEWEST_ROWS, len(y) / 2):
        parts.append(known)
    for part in parts:
        train, tried = part & ~held, part & held
        inside = train & known
        if tried.sum() < _HELD_OUT[1] / 2 or inside.sum() < _HELD_OUT[1] or np.ptp(values[inside]) == 0:
            continue
        where = "" if part.all() else " where it is known"
        for target, what in ((y, "R2"), (ranks, "R2 of ranks")):
            filled = np.full(len(y), float(target[train & missing].mean()) if (train & missing).any() else 0.0)
            if what == "R2":
                centre, scale = values[inside].mean(), values[inside].std()
                slope, start = np.polyfit((values[inside] - centre) / scale, target[inside], 1)
                line = np.where(known, start + slope * (np.where(known, values, centre) - centre) / scale, filled)
                yield f"a straight line through {shown}{where}", *_fit(target, line, train, tried), what
                continue
            points, place = np.unique(values[inside], return_inverse=True)
            heights = np.bincount(place.ravel(), target[inside]) / np.bincount(place.ravel())
            curve = np.where(known, np.interp(np.where(known, values, points[0]), points, heights), filled)
            value = _r2(target[tried], curve[tried])
            yield f"a curve through {shown}{where}", value, value, what


def _fit(target: np.ndarray, predicted: np.ndarray, train: np.ndarray, tried: np.ndarray) -> tuple[float, float]:
    return _r2(target[train], predicted[train]), _r2(target[tried], predicted[tried])


def _r2(target: np.ndarray, predicted: np.ndarray) -> float:
    unit = float(np.abs(target).max(initial=0.0)) or 1.0
    target, predicted = target / unit, predicted / unit
    total = float(((target - target.mean()) ** 2).sum())
    return 1 - float(((target - predicted) ** 2).sum()) / total if total > 0 else -np.inf


def time_order(X: Any, y: np.ndarray, task: str) -> tuple[str, float] | None:
    """Return the column that orders the rows as a time series, and the correlation between neighbouring targets.

    The column is a date, or a number with a name such as year. It increases along the file or has regular steps, and
    the targets of neighbouring rows have a correlation of at least 0.2, more than chance explains.
    """
    found = {}
    for name in X.columns:
        column = X[name]
        is_date = column.dtype.kind == "M"
        if _OF_PEOPLE.search(str(name)) or not (is_date or (column.dtype.kind in "iuf" and _IN_TIME.search(str(name)))):
            continue
        known = column.notna().to_numpy()
        times = column.to_numpy()[known].astype("datetime64[s]" if is_date else float).astype(float)
        if len(times) < 0.9 * len(y) or len(steps := np.diff(np.unique(times))) + 1 < _FEWEST_TIMES:
            continue
        moved = np.diff(times)
        usual = np.median(steps)
        is_regular = np.mean((steps > 0.9 * usual) & (steps < 1.12 * usual)) >= _REGULAR  # months are not all as long
        if not ((moved >= 0).all() or (moved <= 0).all() or is_regular):
            continue
        mixed = np.random.default_rng(0).permutation(len(times))  # rows of one time in any order
        order = mixed[np.argsort(times[mixed], kind="stable")]
        alike = _autocorrelation(y[known][order], task)
        if alike >= max(_ALIKE, 4 / np.sqrt(len(times))):
            found[str(name)] = alike
    return max(found.items(), key=lambda pair: pair[1]) if found else None


def _autocorrelation(y: np.ndarray, task: str) -> float:
    """The correlation between each target and the next."""
    of = stats.rankdata(y)[:, None] if task == "regression" else (y[:, None] == np.unique(y)).astype(float)
    of = of - of.mean(axis=0)
    total = float((of**2).sum())
    return float((of[1:] * of[:-1]).sum()) / total if total > 0 else 0.0


def time_order_warnings(
    found: tuple[str, float] | None, target: str, way: str = "hold out the latest rows"
) -> list[str]:
    """Warn that scores on rows held out at random are too good for a forecast."""
    if found is None:
        return []
    name, alike = found
    return [
        f"The rows are a time series (by {printable(name)}), and {printable(target)} is similar in neighbouring rows "
        f"(correlation {short(alike, 1)}). Rows held out at random lie between training rows, so the scores are too "
        f"good for a forecast. If you predict the future, {way}."
    ]


def copy_warnings(X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> list[str]:
    """Warn that held-out rows are copies of training rows, unless chance explains it, as in tables of few values."""
    n, copies = len(y_test), _n_copies(X, y, X_test, y_test)
    if not copies:
        return []
    return [
        f"{copies:,} of {n:,} held-out rows ({percent(copies / n)}) are exact copies of training rows, so the model "
        "has seen their targets. Remove repeated rows from the table, or hold out other rows."
    ]


def copies_to_predict(X: Any, y: Any, new: Any) -> list[str]:
    """Warn that rows to predict, whose targets are known, are copies of training rows, unless chance explains it."""
    if new.y is None or y is None:
        return []
    n, copies = len(new.y), _n_copies(X, np.asarray(y), new.X, new.y)
    if not copies:
        return []
    return [f"{copies:,} of these {n:,} rows are exact copies of training rows, so the model has seen their targets."]


def _n_copies(X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> int:
    """The number of rows that are copies of training rows, including the target; 0 if chance may explain it."""
    import pandas as pd

    if not hasattr(X, "columns") or not len(X.columns):
        return 0

    def hashed(table: Any, target: np.ndarray) -> Any:
        return pd.util.hash_pandas_object(table.assign(**{"the target": target}), index=False).to_numpy()

    trained, n = hashed(X, y), len(y_test)
    copies = int(np.isin(hashed(X_test, y_test), trained).sum())
    if copies < max(2, 0.01 * n):
        return 0
    rng = np.random.default_rng(0)
    mixed = pd.DataFrame({name: X_test[name].to_numpy()[rng.permutation(n)] for name in X_test.columns})
    return 0 if 10 * int(np.isin(hashed(mixed, y_test), trained).sum()) > copies else copies


# ------------------------------------------------------------------------------------------------------------- findings
# The same warnings for the four lines that sum up a study: what was found and what to do, in one short sentence each.


def leak_findings(found: list[Leak], target: str) -> list[Finding]:
    """Return the finding that a column predicts the target almost perfectly."""
    if not found:
        return []
    name = printable(found[0].column, 30)
    text = f"{name} alone predicts {printable(target, 30)} almost perfectly."
    action = f"Check whether you know {name} when you predict. If not: {option('drop', [found[0].column])}"
    return [Finding(LEAKS, text, f"{action}.", tuple(leak_warnings(found, target)))]


def time_findings(found: tuple[str, float] | None, target: str) -> list[Finding]:
    """Return the finding that the rows of a time series were held out at random."""
    if found is None:
        return []
    text = f"The rows are a time series (by {printable(found[0], 30)}), but were held out at random."
    way = f"add {option('time', found[0])}, which holds out the latest rows"
    action = f"If you predict the future, {way}."
    return [Finding(TIME, text, action, tuple(time_order_warnings(found, target, way)))]


def group_findings(X: Any, X_test: Any = None) -> list[Finding]:
    """Return the finding that groups of held-out rows occur in the training rows."""
    if not (said := suggest_group(X, X_test)):
        return []
    column = likely_groups(X)[0]
    name = printable(column, 30)
    text = f"{name} repeats: rows may belong together, but were held out one by one."
    if X_test is not None:
        known = int(in_groups(X[column], X_test[column]).sum())
        text = f"{known:,} of {len(X_test):,} held-out rows have a {name} that is also in the training rows."
    return [Finding(REPEATED, text, f"If you predict for a new {name}, add {option('group', column)}.", (said,))]


def copy_findings(X: Any, y: np.ndarray, X_test: Any, y_test: np.ndarray) -> list[Finding]:
    """Return the finding that held-out rows are copies of training rows."""
    if not (said := copy_warnings(X, y, X_test, y_test)):
        return []
    text = "Some held-out rows are exact copies of training rows."
    return [Finding(COPIES, text, "Remove repeated rows from the table, or hold out other rows.", tuple(said))]


def reading_findings(
    ratings: list[str], repeated: list[str], dropped: list[str], target: str, ids: tuple[str, ...], gone: Any
) -> list[Finding]:
    """Return the findings of reading a table: ratings read as classes, and repeated IDs or groups."""
    found = []
    if dropped:
        name = likely_groups(gone)[0]
        text = f"{printable(name, 30)} repeats: rows may belong together, and it was dropped."
        action = f"If rows with the same {printable(name, 30)} belong together, use {option('group', name)} instead."
        found.append(Finding(REPEATED, text, action, tuple(dropped)))
    if repeated:
        names = printable(" and ".join(ids), 30)
        action = f"If rows with the same ID belong together, use {option('group', ids[0])} instead of {option('ids')}."
        if len(ids) > 1:
            action = f"Give IDs that are different for each row ({option('ids')})."
        found.append(Finding(REPEATED, f"Several rows have the same {names}.", action, tuple(repeated)))
    if ratings:
        text = f"The whole numbers of {printable(target, 30)} were read as classes without an order."
        action = f"If they are ratings or counts, add {option('task', 'regression')}."
        found.append(Finding("numbers as classes", text, action, tuple(ratings)))
    return found
