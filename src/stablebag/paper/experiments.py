"""The paper's experiments, compared with its claims."""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from stablebag._checks import check_integer, check_jobs
from stablebag._wording import number, percent, rounded_up
from stablebag._writing import write_text
from stablebag.measuring.leave_one_out import perturbations_of
from stablebag.measuring.perturbations import Perturbations
from stablebag.measuring.refits import leave_one_out_refit
from stablebag.models.caching import FileCache
from stablebag.models.ensemble import prepare_fit
from stablebag.models.fitting import fit_and_predict_bags
from stablebag.models.parallel import Count, counted
from stablebag.models.ranges import ObservedRange
from stablebag.models.solving import FitJob
from stablebag.paper.settings import SETTINGS, ScriptTree, Setting, check_variant
from stablebag.proving.bounds import bagging_constant
from stablebag.proving.certificate import Certificate
from stablebag.proving.points import ReusedBagsCertificate
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.resampling.bags import Bags
from stablebag.resampling.covariance import largest_eigenvalue
from stablebag.resampling.schemes import Subbagging

# ---------------------------------------------------------------------------------------------------------------- cache
# Results are cached in a folder, so that an interrupted run continues where it stopped.

_VERSION = 5  # increased when cached numbers change their meaning


class Cache:
    """A folder of named arrays; without a folder, nothing is cached. Damaged files are set aside and computed again."""

    def __init__(self, folder: str | Path | None, prefix: str) -> None:
        self.files = None if folder is None else FileCache(folder, ".npz")
        self.prefix = f"v{_VERSION}-{prefix}"

    def array(self, name: str, make: Callable[[], np.ndarray]) -> np.ndarray:
        """Return an array by name; compute and store it if it is missing."""
        values: np.ndarray = self._kept(
            name, make, _load, lambda made: lambda path: np.savez_compressed(path, values=made)
        )
        return values

    def perturbations(self, name: str, make: Callable[[], Perturbations]) -> Perturbations:
        """Return perturbations by name; compute and store them if they are missing."""
        moved: Perturbations = self._kept(name, make, Perturbations.load, lambda made: made.save)
        return moved

    def _kept(
        self,
        name: str,
        make: Callable[[], Any],
        load: Callable[[Path], Any],
        saver: Callable[[Any], Callable[[Path], Any]],
    ) -> Any:
        if self.files is None:
            return make()
        kept = self.files.read(f"{self.prefix}-{name}", load)
        if kept is None:
            kept = make()
            self.files.write(f"{self.prefix}-{name}", saver(kept))
        return kept


def _load(path: Path) -> np.ndarray:
    with path.open("rb") as file, np.load(file) as archive:
        values: np.ndarray = archive["values"]
    return values


# -------------------------------------------------------------------------------------------------------------- results

_SLIGHTLY = 5.0  # a guarantee violated by less than this factor is "slightly" violated
_COMPARABLE = 3.0  # learners whose shares of rows are within this factor are "comparably" stable


@dataclass(frozen=True)
class Claim:
    """A claim of the paper about a setting, and what was measured.

    Attributes
    ----------
    setting : int
        The number of the setting.
    says : str
        The claim.
    found : str
        What was measured at the paper's test point.
    holds : bool
        Whether the two agree.
    over_points : str
        What was measured at all test points.
    """

    setting: int
    says: str
    found: str
    holds: bool
    over_points: str


@dataclass(frozen=True, eq=False)
class Result:
    """The measurements in one setting.

    Attributes
    ----------
    setting : Setting
        The setting.
    variant : str
        The variant of the data: "text" or "script".
    seed : int
        The seed of the bags, the learners and the text's data.
    n_bags : int
        The number of bags.
    base : Perturbations
        The leave-one-out changes of the base learner, by refitting.
    bagged : Perturbations
        The leave-one-out changes of its subbagged version, by reusing the bags.
    literal : Perturbations or None
        The changes of the subbagged version by refitting on fresh bags, for some rows, if requested.
    target_range : float
        The length of the observed range of the targets; 1 for probabilities.
    proved : ReusedBagsCertificate or None
        The certificate for the changes of the subbagged version, with the drawn bags and at these points.
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
        """The unit of the changes at each point: 1, or Range(D, x) estimated from the drawn bags."""
        if self.setting.classifies:
            return np.ones(len(self.bagged.prediction))
        return self.bagged.estimated_range

    def certificate(self, n_bags: int | float | None = None) -> Certificate:
        """Return the certificate for subbagging, in units of the range; `n_bags` defaults to that of the run."""
        return Certificate(Subbagging(0.5), self.setting.n_samples, self.n_bags if n_bags is None else n_bags)

    def excess(self, perturbations: Perturbations) -> np.ndarray:
        """Return, at each point, the largest ratio of the measured share of rows to the share that Theorem 8 allows.

        The share of rows beyond epsilon jumps at each change. Just below the k-th largest it is k / n, while Theorem 8
        allows c / (4 epsilon^2). If the ratio is above 1, the guarantee is violated by this factor.
        """
        return excess_of(perturbations.values / self.scale, self.setting.n_samples)

    def claims(self) -> list[Claim]:
        """Compare what the paper says about this setting with what was measured."""
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
            found = f"{(self.single_bags[:, 0] > 1).sum()} of {len(worst)} bags violate the guarantee at this point"
            over = f"{worst.min():.2g} to {worst.max():.2g} times the allowed share, at the worst point of each bag"
            claims.append(Claim(number, "each single bag is highly unstable", found, bool((worst > 1).all()), over))
        return claims

    def to_dict(self) -> dict[str, Any]:
        """Return every number of the result as a dictionary for JSON."""
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
            rows = np.asarray(self.literal.rows)
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
        """Return `excess` in units of the observed range of the targets.

        Clipping to this range would change nothing: a tree predicts averages of targets, which are always inside.
        """
        ratio: np.ndarray = self.excess(perturbations) * (self.scale / self.target_range) ** 2
        return ratio


def write_numbers(results: Iterable[Result], path: str | Path) -> None:
    """Write every number of some results to a JSON file."""
    write_text(path, json.dumps([result.to_dict() for result in results], indent=1) + "\n")


def excess_of(values: np.ndarray, n_samples: int) -> np.ndarray:
    """Return the largest ratio over epsilon of the share of rows beyond it to the share that Theorem 8 allows."""
    constant = bagging_constant(n_samples, *Subbagging(0.5).resolve(n_samples).p_and_q)
    ordered = -np.sort(-values, axis=0)
    share = np.arange(1, len(ordered) + 1)[:, None] / len(ordered)
    ratio: np.ndarray = (share * ordered**2).max(axis=0) / (constant / 4)
    return ratio


def first_class(moved: Perturbations) -> Perturbations:
    """Keep the probability of the first of two classes, as the authors' script does; the other changes equally."""
    if moved.prediction.ndim == 1:
        return moved
    spread = moved.bags
    if spread is not None:
        extent = None if spread.extent is None else spread.extent[:, 0]
        spread = replace(spread, deviation=spread.deviation[:, 0], extent=extent)
    return replace(moved, prediction=moved.prediction[:, 0], left_out=moved.left_out[:, :, 0], bags=spread)


def _factor(excess: float) -> str:
    return f"{percent(excess)} of the allowed share" if excess <= 1 else f"{rounded_up(excess)} times the allowed share"


def _spread(excess: np.ndarray) -> str:
    return f"{number(excess.min())} to {rounded_up(excess.max())} (violated at {(excess > 1).sum()} of {len(excess)})"


# ---------------------------------------------------------------------------------------------------------- experiments
# The experiments of section 6: leave-one-out changes of each base learner and of its subbagged version.
#
# The refits of the base learner and the predictions of the bags are cached in portions, so an interrupted run continues
# where it stopped. Bags and learners' seeds depend only on the seed.

N_POINTS = 10
_BAGS_AT_ONCE = 500
_ROWS_AT_ONCE = 250
_SINGLE_BAGS = 5
_MANY_BAGS = 100  # with this many, the probability that some row is in every bag is below 1e-27


def n_fits(setting: Setting, n_bags: int, literal_rows: int = 0) -> int:
    """Return the number of fits in a run of this setting.

    >>> n_fits(SETTINGS[1], n_bags=10_000)  # 500 rows left out in two portions, each with a fit to all rows
    10502
    """
    single = _SINGLE_BAGS * (setting.n_samples // 2 + 1) if setting.number == 2 else 0
    refits = setting.n_samples + len(_portions(setting.n_samples))
    return refits + n_bags + single + 2 * literal_rows * n_bags


def refuse_too_few_bags(setting: Setting, n_bags: int, variant: str = "script", seed: int = 0) -> None:
    """Raise an error, before any fit, if there are so few bags that some row is in all of them."""
    if n_bags < _MANY_BAGS:
        X, y, _ = setting.data(variant, seed, n_points=1)
        prepare_fit(setting.bagged(n_bags, variant, seed=seed), X, y).average.refuse_units_in_every_bag()


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
    """Run one setting: refit the base learner without each row, and reuse the bags of the subbagged one.

    Parameters
    ----------
    setting : int or Setting
        The setting, or its number from 1 to 4.
    variant : {"text", "script"}, default="script"
        The data as described in the paper's text, or as made by its authors' script, as in the paper's figures.
    n_bags : int, default=10000
        The number of bags.
    seed : int, default=0
        The seed of the bags, the learners and the text's data.
    n_jobs : int or None, default=None
        The number of fits in parallel.
    literal_rows : int, default=0
        The number of rows for which the subbagged learner is also refitted on fresh bags, with and without the row.
        This takes ``2 * literal_rows * n_bags`` fits.
    cache : path or None, default=None
        A folder for finished work, by setting, variant, seed and number of bags.

    Returns
    -------
    Result

    Examples
    --------
    >>> from stablebag.paper import run
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
    for setting in settings:
        yield run(setting, **options)


@dataclass(frozen=True)
class _Run:
    """One run, whose parts are taken from the cache if they are there."""

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
        """Return the changes of the base learner, refitted without each row in portions of rows."""
        portions = []
        for rows in _portions(self.setting.n_samples):
            made = self.cache.perturbations(f"base{rows.start}-{rows.stop}", partial(self._refit, rows))
            portions.append(made)
            self.count.reach(rows.stop + len(portions))
        return _joined(portions)

    def bagged(self) -> tuple[Perturbations, ReusedBagsCertificate]:
        """Return the changes of the subbagged learner and their certificate; only the bags' predictions are kept."""
        X, y, points = self.data
        model = self.setting.bagged(self.n_bags, self.variant, n_jobs=self.n_jobs, seed=self.seed)
        job, before = prepare_fit(model, X, y), self.count.done
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
        """Return the `excess` of the base learner fitted to one bag alone, with its number of rows."""
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
        """Return the changes of the subbagged learner refitted on fresh bags, with and without each of some rows."""
        X, y, points = self.data
        # The refits set the seed of the ensemble, which then seeds its bags and learners.
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
        """Refit the script's tree, each time with its seed in the script."""
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
    """Return the rows to leave out, in portions that are cached separately."""
    return [range(first, min(first + _ROWS_AT_ONCE, n_samples)) for first in range(0, n_samples, _ROWS_AT_ONCE)]


def _joined(portions: list[Perturbations]) -> Perturbations:
    """Join portions of rows."""
    rows = np.concatenate([portion.rows for portion in portions])
    left_out = np.concatenate([portion.left_out for portion in portions])
    return replace(portions[0], rows=rows, left_out=left_out)


def _check_setting(number: Any) -> int:
    chosen: int = check_integer(number, "setting", "run", minimum=1)
    if chosen not in SETTINGS:
        raise ValueError(f"The setting must be one of {sorted(SETTINGS)}, got {chosen}.")
    return chosen
