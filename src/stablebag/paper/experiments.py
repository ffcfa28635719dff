"""The experiments of section 6: each base learner beside its subbagged version, measured, and the guarantee.

Everything that takes time is cached as it is made: the refits of the base learner, and the predictions of the bags, in
portions. An interrupted run continues where it stopped; bags and learners' seeds depend only on the seed.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stablebag._checks import check_integer, check_jobs
from stablebag.learning.fitting import fit_and_predict_bags
from stablebag.learning.job import FitJob
from stablebag.learning.progress import Count, counted
from stablebag.learning.ranges import ObservedRange
from stablebag.measuring.leave_one_out import perturbations_of
from stablebag.measuring.perturbations import Perturbations
from stablebag.measuring.refits import leave_one_out_refit
from stablebag.paper.cache import Cache
from stablebag.paper.results import Result, excess_of, first_class
from stablebag.paper.settings import SETTINGS, ScriptTree, Setting, check_variant
from stablebag.proving.eigenvalue import largest_eigenvalue
from stablebag.proving.reused_bags import ReusedBagsCertificate
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.resampling.bags import Bags
from stablebag.resampling.subbagging import Subbagging

N_POINTS = 10
_BAGS_AT_ONCE = 500
_ROWS_AT_ONCE = 250
_SINGLE_BAGS = 5
_MANY_BAGS = 100  # with so many, no row is in every one: the chance is below 1e-27


def n_fits(setting: Setting, n_bags: int, literal_rows: int = 0) -> int:
    """Return how many fits a run of this setting takes.

    >>> n_fits(SETTINGS[1], n_bags=10_000)  # 500 rows left out in two portions, each with a fit of all rows
    10502
    """
    single = _SINGLE_BAGS * (setting.n_samples // 2 + 1) if setting.number == 2 else 0
    refits = setting.n_samples + len(_portions(setting.n_samples))
    return refits + n_bags + single + 2 * literal_rows * n_bags


def refuse_too_few_bags(setting: Setting, n_bags: int, variant: str = "script", seed: int = 0) -> None:
    """Refuse, before anything is fitted, so few bags that some row is in every one of them."""
    if n_bags < _MANY_BAGS:
        X, y, _ = setting.data(variant, seed, n_points=1)
        setting.bagged(n_bags, variant, seed=seed).prepare(X, y).average.refuse_units_in_every_bag()


def run(
    setting: int | Setting,
    *,
    variant: str = "script",
    n_bags: int = 10_000,
    seed: int = 0,
    n_jobs: int | None = None,
    literal_rows: int = 0,
    cache: str | Path | None = None,
) -> Result:
    """Run one setting: the base learner by refitting without each row, the subbagged one by reusing its bags.

    Parameters
    ----------
    setting : int or Setting
        The setting, or its number from 1 to 4.
    variant : {"text", "script"}, default="script"
        Data as the paper's text says, or as its authors' script made them, which are those in the paper's figures.
    n_bags : int, default=10000
        The number of bags.
    seed : int, default=0
        The seed of the bags, the learners and the text's data.
    n_jobs : int or None, default=None
        The number of fits in parallel.
    literal_rows : int, default=0
        The number of rows for which the subbagged learner is also refitted on fresh bags, with and without the row.
        This takes twice that many times `n_bags` fits.
    cache : path or None, default=None
        A folder to keep what is done, by setting, variant, seed and number of bags.

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
    check_jobs(n_jobs, owner)
    chosen = setting if isinstance(setting, Setting) else SETTINGS[_check_setting(setting)]
    check_variant(variant, owner)
    n_bags = check_integer(n_bags, "n_bags", owner, minimum=2)
    literal_rows = min(check_integer(literal_rows, "literal_rows", owner, minimum=0), chosen.n_samples)
    refuse_too_few_bags(chosen, n_bags, variant, seed)
    shape = f"n{chosen.n_samples}-d{chosen.n_features}-points{N_POINTS}"
    kept = Cache(cache, f"setting{chosen.number}-{shape}-{variant}-seed{seed}")
    with counted(n_fits(chosen, n_bags, literal_rows)) as count:
        data = chosen.data(variant, seed, N_POINTS)
        return _Run(chosen, variant, n_bags, seed, n_jobs, data, kept, count).result(literal_rows)


def run_all(settings: Iterable[int] = (1, 2, 3, 4), **options: Any) -> Iterator[Result]:
    """Run several settings, one after another, with the options of `run`."""
    for number in settings:
        yield run(number, **options)


@dataclass(frozen=True)
class _Run:
    """The parts of one run, each taken from the cache if it is there."""

    setting: Setting
    variant: str
    n_bags: int
    seed: int
    n_jobs: int | None
    data: tuple[np.ndarray, np.ndarray, np.ndarray]
    cache: Cache
    count: Count

    def result(self, literal_rows: int) -> Result:
        base = first_class(self.base())
        moved, proved = self.bagged()
        single = self.single_bags() if self.setting.number == 2 else None
        literal = first_class(self.literal(literal_rows)) if literal_rows else None
        self.count.reach(self.count.total)
        low, high = ObservedRange()(self.data[1])
        length = 1.0 if self.setting.classifies else high - low
        return Result(
            self.setting,
            self.variant,
            self.seed,
            self.n_bags,
            base,
            first_class(moved),
            literal,
            length,
            proved,
            single,
        )

    def base(self) -> Perturbations:
        """The base learner, refitted without each row; in portions of rows."""
        portions = []
        for rows in _portions(self.setting.n_samples):
            made = self.cache.perturbations(f"base{rows.start}-{rows.stop}", partial(self._refit, rows))
            portions.append(made)
            self.count.reach(rows.stop + len(portions))
        return _joined(portions)

    def bagged(self) -> tuple[Perturbations, ReusedBagsCertificate]:
        """The subbagged learner, and what is proved; bags are fitted in portions, and only predictions are kept."""
        X, y, points = self.data
        model = self.setting.bagged(self.n_bags, self.variant, n_jobs=self.n_jobs, seed=self.seed)
        job, before = model.prepare(X, y), self.count.done
        portions = []
        for first in range(0, self.n_bags, _BAGS_AT_ONCE):
            stop = min(first + _BAGS_AT_ONCE, self.n_bags)

            def predictions(first: int = first, stop: int = stop) -> np.ndarray:
                return np.stack(list(self._counted(fit_and_predict_bags(job.part(first, stop), points, self.n_jobs))))

            portions.append(self.cache.array(f"bags{first}-{stop}", predictions))
            self.count.reach(before + stop)
        moved = perturbations_of(job.average, np.concatenate(portions))
        name = f"eigenvalue{self.n_bags}"
        eigenvalue, inclusion = self.cache.array(name, lambda: np.array(largest_eigenvalue(job.bags)))
        return moved, self._proved(first_class(moved), float(eigenvalue), float(inclusion))

    def _proved(self, moved: Perturbations, eigenvalue: float, inclusion: float) -> ReusedBagsCertificate:
        assert moved.scope is not None
        assert moved.bags is not None
        # The deviation over the drawn bags themselves, not the estimate for all bags.
        spread = moved.bags.deviation * math.sqrt(1 - 1 / self.n_bags)
        length, scale = (1.0, 0.5) if self.setting.classifies else (math.inf, math.inf)
        return ReusedBagsCertificate(eigenvalue, inclusion, scale, length, moved.scope, standard_deviation=spread)

    def single_bags(self) -> np.ndarray:
        """How far the base learner, fitted to one bag alone, exceeds the guarantee for that number of rows."""
        X, y, points = self.data
        bags = Subbagging(0.5).resolve(self.setting.n_samples).draw(_SINGLE_BAGS, random_state=self.seed)

        def excess() -> np.ndarray:
            found = []
            for bag in bags:
                with self.count.part():
                    moved = leave_one_out_refit(
                        self.setting.learner(self.variant),
                        X[bag],
                        y[bag],
                        points,
                        n_jobs=self.n_jobs,
                        random_state=self.seed,
                    )
                found.append(excess_of(first_class(moved).values, len(bag)))
            return np.stack(found)

        made = self.cache.array(f"single{_SINGLE_BAGS}", excess)
        self.count.reach(n_fits(self.setting, self.n_bags))
        return made

    def literal(self, n_rows: int) -> Perturbations:
        """The subbagged learner refitted on fresh bags, with and without each of some rows."""
        X, y, points = self.data
        # The ensemble's own seed is left for the refits to fill; the ensemble then seeds its bags and learners itself.
        model = self.setting.bagged(self.n_bags, self.variant, n_jobs=self.n_jobs).set_params(random_state=None)
        before, refitted = self.count.done, []
        for row in range(n_rows):

            def refit(row: int = row) -> Perturbations:
                return leave_one_out_refit(model, X, y, points, rows=[row], random_state=self.seed)

            refitted.append(self.cache.perturbations(f"literal{row}-{self.n_bags}", refit))
            self.count.reach(before + 2 * (row + 1) * self.n_bags)
        return _joined(refitted)

    def _refit(self, rows: range) -> Perturbations:
        X, y, points = self.data
        seeds = self.setting.refit_seeds(self.variant)
        if seeds is not None:
            return self._refit_with_seeds(seeds, rows)
        options: dict[str, Any] = {"n_jobs": self.n_jobs, "random_state": self.seed}
        with self.count.part():
            return leave_one_out_refit(self.setting.learner(self.variant), X, y, points, rows=rows, **options)

    def _refit_with_seeds(self, seeds: np.ndarray, rows: range) -> Perturbations:
        """Refit the script's tree, each time with the seed that it had in the script."""
        X, y, points = self.data
        n = len(y)
        sequences = [np.arange(n), *(np.delete(np.arange(n), row) for row in rows)]
        own = np.array([seeds[0], *(seeds[1 + row] for row in rows)])
        job = FitJob(ScriptTree(max_depth=50), X, y, Bags(sequences, n), own)
        fits = list(self._counted(fit_and_predict_bags(job, points, self.n_jobs)))
        scope = Scope(n, Quantity.NUMBER, Rerun.ALONE, n_points=len(points))
        return Perturbations(fits[0], np.stack(fits[1:]), np.array(rows), scope=scope)

    def _counted(self, fits: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
        for prediction in fits:
            self.count.one()
            yield prediction


def _portions(n_samples: int) -> list[range]:
    """The rows to leave out, in portions that are cached one by one."""
    return [range(first, min(first + _ROWS_AT_ONCE, n_samples)) for first in range(0, n_samples, _ROWS_AT_ONCE)]


def _joined(portions: list[Perturbations]) -> Perturbations:
    """Join portions of rows."""
    rows = np.concatenate([portion.rows for portion in portions])
    left_out = np.concatenate([portion.left_out for portion in portions])
    return replace(portions[0], rows=rows, left_out=left_out)


def _check_setting(number: Any) -> int:
    chosen: int = check_integer(number, "setting", "run", minimum=1)
    if chosen not in SETTINGS:
        raise ValueError(f"There are settings {sorted(SETTINGS)}. Got {chosen}.")
    return chosen
