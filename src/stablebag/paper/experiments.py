"""The experiments of section 6: each base learner beside its subbagged version, measured, and the guarantee.

Everything that takes time is cached as it is made: the refits of the base learner, and the predictions of the bags in
portions. A run that is interrupted goes on where it stopped; bags and seeds follow from the seed alone.
"""

import json
import math
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stablebag.arguments import check_integer
from stablebag.bags import Bags
from stablebag.bounds import bagging_constant
from stablebag.certificates import Certificate
from stablebag.fitting import Assignment, fit_and_predict_bags
from stablebag.left_out import leave_one_out_refit, perturbations_of_bags
from stablebag.paper.settings import SETTINGS, ScriptTree, Setting, check_variant
from stablebag.perturbations import Perturbations
from stablebag.ranges import ObservedRange
from stablebag.reused_bags import ReusedBagsCertificate, largest_eigenvalue
from stablebag.schemes import Subbagging
from stablebag.scope import Quantity, Rerun, Scope

N_POINTS = 10
_BAGS_AT_ONCE = 500
_ROWS_AT_ONCE = 250
_SLIGHTLY = 5.0  # a guarantee that is violated by less than this factor is slightly violated
_COMPARABLE = 3.0  # two learners whose shares of rows are within this factor are comparably stable
_SINGLE_BAGS = 5
# What a file raises that is damaged or not there.
_UNREADABLE = (OSError, ValueError, EOFError, KeyError, TypeError, zipfile.BadZipFile)
_CACHE_VERSION = 3  # raised when what is cached changes its meaning

OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Claim:
    """What the paper says of a setting, and what was found.

    Attributes
    ----------
    setting : int
        The number of the setting.
    says : str
        What the paper says.
    found : str
        What was measured at the paper's test point.
    holds : bool
        Whether the two agree.
    over_points : str
        The same over all test points.
    """

    setting: int
    says: str
    found: str
    holds: bool
    over_points: str


@dataclass(frozen=True, eq=False)
class Result:
    """What was measured in one setting.

    Attributes
    ----------
    setting : Setting
        Which one.
    variant : str
        Whose data.
    seed : int
        Of the bags, the learners and the text's data.
    n_bags : int
        How many bags.
    base : Perturbations
        Of the base learner, by refitting.
    bagged : Perturbations
        Of its subbagged version, by reusing the bags.
    literal : Perturbations or None
        Of the subbagged version by refitting on fresh bags, for some rows, where that was asked for.
    target_range : float
        The length of the observed range of the targets; 1 for probabilities.
    proved : ReusedBagsCertificate or None
        What is proved of the subbagged learner's perturbations, for the bags that were drawn and at these points.
    single_bags : ndarray of shape (n_single_bags, n_points) or None
        In Setting 2, the `excess` of the base learner fitted to the rows of a single bag, for the first bags.
    """

    setting: Setting
    variant: str
    seed: int
    n_bags: int
    base: Perturbations
    bagged: Perturbations
    literal: Perturbations | None
    target_range: float
    proved: ReusedBagsCertificate | None = None
    single_bags: np.ndarray | None = None

    @property
    def scale(self) -> np.ndarray:
        """The unit of the perturbations at each point: 1, or Range(D, x) estimated from the drawn bags."""
        if self.setting.classifies:
            return np.ones(len(self.bagged.prediction))
        return self.bagged.estimated_range

    def certificate(self, n_bags: int | float | None = None) -> Certificate:
        """Return what is proved of subbagging in this setting, in units of the range.

        Parameters
        ----------
        n_bags : int, math.inf or None, default=None
            The number of bags; None is that of the run.

        Returns
        -------
        Certificate
        """
        return Certificate(Subbagging(0.5), self.setting.n_samples, self.n_bags if n_bags is None else n_bags)

    def excess(self, perturbations: Perturbations) -> np.ndarray:
        """Return, at each point, the largest ratio of the measured share of rows to the share that Theorem 8 allows.

        The share of rows beyond epsilon jumps at each perturbation; just below the k-th largest it is k / n, where
        Theorem 8 allows c / (4 epsilon^2). Above 1 the guarantee is violated, and by this factor.

        Parameters
        ----------
        perturbations : Perturbations
            The base learner's or the bagged one's.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        return _excess(perturbations.values / self.scale, self.setting.n_samples)

    def claims(self) -> list[Claim]:
        """Hold what the paper says of this setting against what was measured."""
        base, bagged = self.excess(self.base), self.excess(self.bagged)
        number = self.setting.number
        unstable, satisfied = "the base learner violates the guarantee", "the subbagged learner satisfies it"
        slightly = bagged[0] < base[0] and 1 < base[0] < _SLIGHTLY
        says, holds = {
            1: (unstable, base[0] > 1),
            2: ("the base learner is already stable", base[0] <= 1),
            3: ("the network slightly violates the guarantee, and subbagging improves on it", slightly),
            4: (unstable, base[0] > 1),
        }[number]
        claims = [
            Claim(number, says, _factor(base[0]), bool(holds), _spread(base)),
            Claim(number, satisfied, _factor(bagged[0]), bool(bagged[0] <= 1), _spread(bagged)),
        ]
        if number == 2:
            ratio = bagged / base
            comparable = 1 / _COMPARABLE <= ratio[0] <= _COMPARABLE
            over = f"{ratio.min():.2g} to {ratio.max():.2g} times"
            says = "the stability of subbagging is comparable to that of the base learner"
            claims.append(Claim(number, says, f"{ratio[0]:.2g} times the base learner's share", bool(comparable), over))
        if self.single_bags is not None:
            worst = self.single_bags.max(axis=1)
            found = f"{(self.single_bags[:, 0] > 1).sum()} of {len(worst)} bags violate it there"
            over = f"at the worst point {worst.min():.2g} to {worst.max():.2g} times what is allowed, by bag"
            claims.append(Claim(number, "each single bag is highly unstable", found, bool((worst > 1).all()), over))
        return claims

    def to_dict(self) -> dict[str, Any]:
        """Return every number of the result, as JSON takes it."""
        n, point = self.setting.n_samples, 0
        shares = [rows / n for rows in sorted({1, 2, 5, 10, 25, 50, 100, 250, n // 2}) if rows < n]
        limit, finite = self.certificate(math.inf), self.certificate()
        numbers: dict[str, Any] = {
            "setting": self.setting.number,
            "title": self.setting.title,
            "variant": self.variant,
            "seed": self.seed,
            "n_samples": n,
            "bag_size": n // 2,
            "n_bags": self.n_bags,
            "n_points": len(self.scale),
            "scale": self.scale.tolist(),
            "scale_is": "1" if self.setting.classifies else "Range(D, x), estimated from the drawn bags",
            "target_range": self.target_range,
            "guarantee": {
                "delta": shares,
                "theorem_8": [limit.epsilon(share, "paper") for share in shares],
                "exact": [limit.epsilon(share, "exact") for share in shares],
                "theorem_9": [finite.epsilon(share, "paper") for share in shares],
                "finitely_many_bags_drawn_anew": [finite.epsilon(share) for share in shares],
            },
        }
        for name, moved in (("base", self.base), ("subbagged", self.bagged)):
            epsilon, delta = moved.curve(over_points=None)
            numbers[name] = {
                "excess": self.excess(moved).tolist(),
                "prediction": moved.prediction.tolist(),
                "perturbations_by_point": (moved.values / self.scale).T.round(9).tolist(),
                "curve": {"epsilon": (epsilon / self.scale[point]).tolist(), "delta": delta[:, point].tolist()},
                "mean": (moved.mean() / self.scale).tolist(),
                "largest": (moved.max() / self.scale).tolist(),
            }
            if not self.setting.classifies:
                numbers[name]["excess_in_observed_range"] = self.excess_in_observed_range(moved).tolist()
        if self.literal is not None:
            rows = self.literal.rows
            numbers["literal_refits"] = {
                "rows": rows.tolist(),
                "perturbations": (self.literal.values[:, point] / self.scale[point]).tolist(),
                "reused_bags": (self.bagged.values[rows, point] / self.scale[point]).tolist(),
            }
        if self.proved is not None:
            of_these = [(self.proved.epsilon(share) / self.scale)[point] for share in shares]
            numbers["guarantee"]["of_these_bags_at_the_papers_point"] = of_these
        if self.single_bags is not None:
            numbers["single_bags_excess"] = self.single_bags.tolist()
        numbers["claims"] = [vars(claim) for claim in self.claims()]
        return numbers

    def excess_in_observed_range(self, perturbations: Perturbations) -> np.ndarray:
        """Return `excess` in units of the observed range of the targets, to which clipping would change nothing here.

        A tree predicts averages of targets, so it never leaves their range.

        Parameters
        ----------
        perturbations : Perturbations
            The base learner's or the bagged one's.

        Returns
        -------
        ndarray of shape (n_points,)
        """
        ratio: np.ndarray = self.excess(perturbations) * (self.scale / self.target_range) ** 2
        return ratio


def n_fits(setting: Setting, n_bags: int, literal_rows: int = 0) -> int:
    """Return how many fits a run of this setting takes: what `on_progress` counts.

    >>> n_fits(SETTINGS[1], n_bags=10_000)  # 500 rows left out in two portions, each with a fit of all rows
    10502
    """
    return _fits_before_literal(setting, n_bags) + 2 * literal_rows * n_bags


def run(
    setting: int | Setting,
    *,
    variant: str = "script",
    n_bags: int = 10_000,
    seed: int = 0,
    n_jobs: int | None = None,
    literal_rows: int = 0,
    cache: str | Path | None = None,
    on_progress: OnProgress | None = None,
) -> Result:
    """Run one setting: the base learner by refitting without each row, the subbagged one by reusing its bags.

    Parameters
    ----------
    setting : int or Setting
        Which one, from 1 to 4.
    variant : {"text", "script"}, default="script"
        Data as the text says, or as the authors' script made them: the ones in the paper's figures.
    n_bags : int, default=10000
        The number of bags.
    seed : int, default=0
        Of the bags and the learners, and of the text's data.
    n_jobs : int or None, default=None
        How many fits at once.
    literal_rows : int, default=0
        For how many rows to refit the subbagged learner on fresh bags, too, with and without the row: twice that many
        times `n_bags` fits.
    cache : path or None, default=None
        A folder for what is done, by setting, variant, seed and number of bags.
    on_progress : callable or None, default=None
        ``on_progress(done, total)`` is called with the numbers of fits.

    Returns
    -------
    Result

    Examples
    --------
    >>> from stablebag.paper.experiments import run
    >>> result = run(4, n_bags=60)
    >>> [claim.holds for claim in result.claims()]
    [True, True]
    """
    owner = "run"
    chosen = setting if isinstance(setting, Setting) else SETTINGS[_check_setting(setting)]
    check_variant(variant, owner)
    n_bags = check_integer(n_bags, "n_bags", owner, minimum=2)
    literal_rows = min(check_integer(literal_rows, "literal_rows", owner, minimum=0), chosen.n_samples)
    X, y, points = chosen.data(variant, seed, N_POINTS)
    shape = f"n{chosen.n_samples}-d{chosen.n_features}-points{N_POINTS}"
    store = _Store(cache, f"setting{chosen.number}-{shape}-{variant}-seed{seed}")
    tally = _Tally(n_fits(chosen, n_bags, literal_rows), on_progress)

    portions = []
    for rows in _portions(chosen.n_samples):

        def refit(rows: range = rows) -> Perturbations:
            options: dict[str, Any] = {"n_jobs": n_jobs, "random_state": seed, "on_fit": tally.one}
            if (seeds := chosen.refit_seeds(variant)) is not None:
                return _refit_with_seeds(seeds, X, y, points, rows, n_jobs, tally)
            return leave_one_out_refit(chosen.learner(variant), X, y, points, rows=rows, **options)

        portions.append(store.perturbations(f"base{rows.start}-{rows.stop}", refit))
        tally.reach(rows.stop + len(portions))
    base = _first_class(_joined(portions))
    moved, proved = _bagged(chosen, variant, n_bags, seed, n_jobs, (X, y, points), store, tally)
    bagged = _first_class(moved)
    single = None
    if chosen.number == 2:
        single = _single_bags(chosen, variant, seed, n_jobs, (X, y, points), store, tally)
        tally.reach(_fits_before_literal(chosen, n_bags))
    literal = None
    tally.before_literal = tally.done
    if literal_rows:
        # The ensemble's own seed is left to the refits, which then fill it, and it seeds its bags and learners itself.
        model = chosen.bagged(n_bags, variant, n_jobs=n_jobs).set_params(random_state=None)
        refitted = []
        for row in range(literal_rows):

            def refit_bags(row: int = row) -> Perturbations:
                after = tally.several(n_bags)
                return leave_one_out_refit(model, X, y, points, rows=[row], random_state=seed, on_fit=after)

            refitted.append(store.perturbations(f"literal{row}-{n_bags}", refit_bags))
            tally.reach(tally.before_literal + 2 * (row + 1) * n_bags)
        literal = _first_class(_joined(refitted))
    tally.reach(tally.total)
    low, high = ObservedRange()(y)
    length = 1.0 if chosen.classifies else high - low
    return Result(chosen, variant, seed, n_bags, base, bagged, literal, length, proved, single)


def write_numbers(results: Iterable[Result], path: str | Path) -> None:
    """Write every number of some results to a JSON file.

    Parameters
    ----------
    results : iterable of Result
        What was measured.
    path : str or Path
        Where to.
    """
    Path(path).write_text(json.dumps([result.to_dict() for result in results], indent=1) + "\n")


# ------------------------------------------------------------------------------------------------------------ details


def _bagged(
    setting: Setting,
    variant: str,
    n_bags: int,
    seed: int,
    n_jobs: int | None,
    data: tuple[np.ndarray, np.ndarray, np.ndarray],
    store: "_Store",
    tally: "_Tally",
) -> tuple[Perturbations, ReusedBagsCertificate]:
    """Fit the bags in portions, keep only their predictions, and leave rows out; and what is proved of that."""
    X, y, points = data
    model = setting.bagged(n_bags, variant, n_jobs=n_jobs, seed=seed)
    work, bags, weights = model._prepared(X, y, {})
    seeds = model._learner_seeds(0, n_bags)
    portions = []
    for first in range(0, n_bags, _BAGS_AT_ONCE):
        stop = min(first + _BAGS_AT_ONCE, n_bags)

        def predictions(first: int = first, stop: int = stop) -> np.ndarray:
            some, theirs = bags[first:stop], seeds[first:stop]
            fits = fit_and_predict_bags(work, some, theirs, points, n_jobs=n_jobs, on_bag=tally.one)
            return np.stack(list(fits))

        portions.append(store.array(f"bags{first}-{stop}", predictions))
        tally.reach(setting.n_samples + len(_portions(setting.n_samples)) + stop)
    moved = perturbations_of_bags(model, np.concatenate(portions), bags, weights, y)
    eigenvalue, inclusion = store.array(f"eigenvalue{n_bags}", lambda: np.array(largest_eigenvalue(bags)))
    of_class = _first_class(moved)
    assert of_class.scope is not None
    assert of_class.bag_deviation is not None
    # The variance over the drawn bags themselves, not the estimate for all bags.
    spread = of_class.bag_deviation * math.sqrt(1 - 1 / n_bags)
    length, scale = (1.0, 0.5) if setting.classifies else (math.inf, math.inf)
    proved = ReusedBagsCertificate(
        float(eigenvalue), float(inclusion), scale, length, scope=of_class.scope, standard_deviation=spread
    )
    return moved, proved


def _refit_with_seeds(
    seeds: np.ndarray,
    X: np.ndarray,
    y: np.ndarray,
    points: np.ndarray,
    rows: range,
    n_jobs: int | None,
    tally: "_Tally",
) -> Perturbations:
    """Refit the script's tree, each time with the seed that it had there."""
    n = len(y)
    sequences = [np.arange(n), *(np.delete(np.arange(n), row) for row in rows)]
    own = np.array([seeds[0], *(seeds[1 + row] for row in rows)])
    work = Assignment(ScriptTree(max_depth=50), X, y)
    fits = list(fit_and_predict_bags(work, Bags(sequences, n), own, points, n_jobs=n_jobs, on_bag=tally.one))
    scope = Scope(n, Quantity.NUMBER, Rerun.ALONE, n_points=len(points))
    return Perturbations(fits[0], np.stack(fits[1:]), np.array(rows), scope=scope)


def _single_bags(
    setting: Setting,
    variant: str,
    seed: int,
    n_jobs: int | None,
    data: tuple[np.ndarray, np.ndarray, np.ndarray],
    store: "_Store",
    tally: "_Tally",
) -> np.ndarray:
    """How far the base learner, fitted to one bag alone, exceeds the guarantee for as many rows."""
    X, y, points = data
    bags = Subbagging(0.5).resolve(setting.n_samples).draw(_SINGLE_BAGS, random_state=seed)

    def excess() -> np.ndarray:
        found = []
        for bag in bags:
            options: dict[str, Any] = {"n_jobs": n_jobs, "random_state": seed, "on_fit": tally.one}
            moved = leave_one_out_refit(setting.learner(variant), X[bag], y[bag], points, **options)
            found.append(_excess(_first_class(moved).values, len(bag)))
        return np.stack(found)

    return store.array(f"single{_SINGLE_BAGS}", excess)


def _excess(values: np.ndarray, n_samples: int) -> np.ndarray:
    """The largest ratio, over epsilon, of the share of rows beyond it to that which Theorem 8 allows."""
    constant = bagging_constant(n_samples, *Subbagging(0.5).resolve(n_samples).moments)
    ordered = -np.sort(-values, axis=0)
    share = np.arange(1, len(ordered) + 1)[:, None] / len(ordered)
    ratio: np.ndarray = (share * ordered**2).max(axis=0) / (constant / 4)
    return ratio


class _Store:
    """A folder of arrays by name; without a folder nothing is kept."""

    def __init__(self, folder: str | Path | None, prefix: str) -> None:
        self.folder = None if folder is None else Path(folder)
        self.prefix = f"v{_CACHE_VERSION}-{prefix}"
        if self.folder is not None:
            self.folder.mkdir(parents=True, exist_ok=True)

    def array(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        path = self._path(name)
        if path is None:
            return make()
        try:
            with path.open("rb") as file, np.load(file) as archive:
                kept: np.ndarray = archive["values"]
            return kept
        except _UNREADABLE:
            made = make()
        with _replacing(path) as partial:
            np.savez_compressed(partial, values=made)
        return made

    def perturbations(self, name: str, make: Callable[[], Perturbations]) -> Perturbations:
        path = self._path(name)
        if path is None:
            return make()
        try:
            return Perturbations.load(path)
        except _UNREADABLE:
            made = make()
        with _replacing(path) as partial:
            made.save(partial)
        return made

    def _path(self, name: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{self.prefix}-{name}.npz"


class _replacing:  # noqa: N801 (used like a function)
    """A file to write to that takes its place only when it is whole, so that an interrupt leaves no half of one."""

    def __init__(self, path: Path) -> None:
        self.path, self.partial = path, path.with_name(f"partial-{os.getpid()}-{path.name}")

    def __enter__(self) -> Path:
        return self.partial

    def __exit__(self, error: object, *rest: object) -> None:
        if error is None:
            self.partial.replace(self.path)
        else:
            self.partial.unlink(missing_ok=True)


class _Tally:
    """Counts fits, those found in the cache included."""

    def __init__(self, total: int, on_progress: OnProgress | None) -> None:
        self.total, self.done, self.on_progress = total, 0, on_progress
        self.before_literal = 0

    def several(self, fits: int) -> Callable[[], None]:
        return lambda: self.reach(self.done + fits)

    def one(self) -> None:
        self.reach(self.done + 1)

    def reach(self, done: int) -> None:
        if done > self.done:
            self.done = min(done, self.total)
            if self.on_progress is not None:
                self.on_progress(self.done, self.total)


def _fits_before_literal(setting: Setting, n_bags: int) -> int:
    single = _SINGLE_BAGS * (setting.n_samples // 2 + 1) if setting.number == 2 else 0
    return setting.n_samples + len(_portions(setting.n_samples)) + n_bags + single


def _portions(n_samples: int) -> list[range]:
    """The rows to leave out, in portions that are cached one by one."""
    return [range(first, min(first + _ROWS_AT_ONCE, n_samples)) for first in range(0, n_samples, _ROWS_AT_ONCE)]


def _joined(portions: list[Perturbations]) -> Perturbations:
    """Portions of rows, one after the other."""
    rows = np.concatenate([portion.rows for portion in portions])
    left_out = np.concatenate([portion.left_out for portion in portions])
    return replace(portions[0], rows=rows, left_out=left_out)


def _first_class(moved: Perturbations) -> Perturbations:
    """Of two classes the probability of the first, as the authors' script records; the other moves as far."""
    if moved.prediction.ndim == 1:
        return moved
    names = ("bag_deviation", "bag_range")
    parts: dict[str, Any] = {name: getattr(moved, name) for name in names if getattr(moved, name) is not None}
    return Perturbations(
        moved.prediction[:, 0],
        moved.left_out[:, :, 0],
        moved.rows,
        how=moved.how,
        n_bags=moved.n_bags,
        n_without=moved.n_without,
        noise_known=moved.noise_known,
        scope=moved.scope,
        **{name: value[:, 0] for name, value in parts.items()},
    )


def _factor(excess: float) -> str:
    return f"{excess:.2g} of what is allowed" if excess <= 1 else f"{excess:.3g} times what is allowed"


def _spread(excess: np.ndarray) -> str:
    return f"{excess.min():.2g} to {excess.max():.3g} (violated at {(excess > 1).sum()} of {len(excess)})"


def _check_setting(number: Any) -> int:
    chosen: int = check_integer(number, "setting", "run", minimum=1)
    if chosen not in SETTINGS:
        raise ValueError(f"There are settings {sorted(SETTINGS)}. Got {chosen}.")
    return chosen


def run_all(settings: Iterable[int] = (1, 2, 3, 4), **options: Any) -> Iterator[Result]:
    """Run several settings, one after the other.

    Parameters
    ----------
    settings : iterable of int, default=(1, 2, 3, 4)
        Their numbers.
    **options : dict
        As for `run`.

    Yields
    ------
    Result
    """
    for number in settings:
        yield run(number, **options)
