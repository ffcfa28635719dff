"""Prediction intervals of the jackknife family, from the bags already fitted or by refitting.

The bags without row i make a prediction that has not seen it, so every training row tells how far off the model is
where it has not looked. Barber, Candes, Ramdas and Tibshirani (2021), "Predictive inference with the jackknife+", and
Kim, Xu and Barber (2020), "Predictive inference is free with the jackknife+-after-bootstrap", make intervals of that.
"""

import html
import math
import textwrap
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import is_classifier
from sklearn.model_selection import KFold
from sklearn.utils import check_consistent_length, column_or_1d

from stablebag.arguments import (
    as_fraction,
    check_delta,
    check_integer,
    check_real,
    check_samples,
    hold_read_only,
    refuse_type,
    refuse_value,
)
from stablebag.certificates import Certificate, first_step, rounded_up
from stablebag.ensembles import BaggedRegressor
from stablebag.left_out import left_out_at_rows, left_out_blocks, refit_without
from stablebag.ranges import FixedRange, ObservedRange, PredictionRange, TrimmedRange
from stablebag.schemes import ResamplingScheme, ResolvedScheme, as_law
from stablebag.seeds import RandomState, Seeds

METHODS = ("jackknife", "jackknife+", "jackknife-minmax", "stable-jackknife")
_TYPICAL_RESIDUAL = 0.1  # of the range: for which residuals the stable jackknife's interval is to be shortest


@dataclass(frozen=True, eq=False)
class Intervals:
    """Prediction intervals at some points, and the guarantee that they carry.

    Made by `predict_interval` and `jackknife_intervals_refit`.

    Attributes
    ----------
    lower : ndarray of shape (n_points,)
        The lower ends; minus infinity where there are too few rows for the level.
    upper : ndarray of shape (n_points,)
        The upper ends.
    prediction : ndarray of shape (n_points,)
        The prediction with all rows.
    confidence_level : float
        The level 1 - a that was asked for.
    method : str
        How they were made.
    guarantee : str
        What is proved of their coverage, in words. Coverage is over a new row drawn like the training rows, all
        exchangeable, together with the training rows; not for each point by itself.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag import Intervals
    >>> lower, upper = np.array([0.0, 1.0]), np.array([2.0, 4.0])
    >>> intervals = Intervals(lower, upper, np.array([1.0, 2.0]), 0.9, "jackknife+", "none")
    >>> intervals.width, intervals.contains([1.5, 5.0]), intervals.coverage([1.5, 5.0])
    (array([2., 3.]), array([ True, False]), 0.5)
    """

    lower: np.ndarray
    upper: np.ndarray
    prediction: np.ndarray
    confidence_level: float
    method: str
    guarantee: str

    def __post_init__(self) -> None:
        hold_read_only(self)

    @property
    def width(self) -> np.ndarray:
        """The lengths of the intervals; zero for the empty ones that the jackknife+ can have at low levels."""
        lengths: np.ndarray = np.maximum(self.upper - self.lower, 0.0)
        return lengths

    def contains(self, y: Any) -> np.ndarray:
        """Return whether each target is in its interval, ends included.

        Parameters
        ----------
        y : array-like of shape (n_points,)
            The targets of the points.

        Returns
        -------
        ndarray of bool, shape (n_points,)
        """
        y = np.asarray(column_or_1d(y), dtype=float)
        if len(y) != len(self.lower):
            raise refuse_value("y", "Intervals.contains", f"{len(self.lower)} targets, one for each point", len(y))
        if np.isnan(y).any():
            raise ValueError(f"Target {int(np.argmax(np.isnan(y)))} is NaN. Leave out points whose target is unknown.")
        inside: np.ndarray = (self.lower <= y) & (y <= self.upper)
        return inside

    def coverage(self, y: Any) -> float:
        """Return the share of the targets that are in their intervals.

        Parameters
        ----------
        y : array-like of shape (n_points,)
            The targets of the points.

        Returns
        -------
        float
        """
        return float(self.contains(y).mean())

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one line per point: prediction, lower, upper."""
        import pandas as pd

        return pd.DataFrame({"prediction": self.prediction, "lower": self.lower, "upper": self.upper})

    def explain(self) -> str:
        """Say in sentences what the intervals are, and what is proved of them."""
        width = float(np.median(self.width))
        size = "infinitely wide" if math.isinf(width) else f"with a median width of {width:.4g}"
        number = "1 interval" if len(self) == 1 else f"{len(self):,} intervals"
        sentences = [f"{number} by {self.method} at level {self.confidence_level:g}, {size}.", self.guarantee]
        return "\n".join(textwrap.fill(sentence, width=94) for sentence in sentences)

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks: what is proved, and the first intervals."""
        lines = zip(self.prediction[:10], self.lower[:10], self.upper[:10], strict=True)
        cells = "".join(f"<tr><td>{a:.6g}</td><td>{b:.6g}</td><td>{c:.6g}</td></tr>" for a, b, c in lines)
        head = "<tr><th>prediction</th><th>lower</th><th>upper</th></tr>"
        more = f"<p>and {len(self) - 10:,} more</p>" if len(self) > 10 else ""
        return f"<p>{html.escape(self.explain())}</p><table>{head}{cells}</table>{more}"

    def __len__(self) -> int:
        return len(self.lower)


def predict_interval(
    model: Any,
    X: Any,
    *,
    confidence_level: float = 0.9,
    method: str = "jackknife+",
    delta: float | None = None,
    bound: str = "best",
) -> Intervals:
    """Make prediction intervals of a fitted `BaggedRegressor`, from the bags already fitted.

    The residual of row i is that of the prediction by the bags without it. No learner is fitted again.

    Parameters
    ----------
    model : BaggedRegressor
        A fitted model.
    X : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.
    confidence_level : float, default=0.9
        The level 1 - a, between 0 and 1.
    method : {"jackknife", "jackknife+", "jackknife-minmax", "stable-jackknife"}, default="jackknife+"
        "jackknife": the prediction plus and minus a quantile of the residuals; nothing is proved of it.
        "jackknife+": quantiles of the predictions without row i plus and minus the residual of row i; over bags this is
        the jackknife+-after-bootstrap. "jackknife-minmax": the extremes of these predictions plus and minus a
        quantile of the residuals. "stable-jackknife": the jackknife with the certificate's epsilon added to its radius.
    delta : float or None, default=None
        For the stable jackknife: the share of rows, those that change the range included, for which the certificate
        gives epsilon; a larger one makes epsilon smaller, and the quantile larger. None chooses before it looks at any
        residual: the shortest interval for normal residuals whose deviation is a tenth of the range. To choose by
        the residuals themselves would void the guarantee.
    bound : {"best", "paper"}, default="best"
        For the stable jackknife: whether a share delta costs sqrt(2 delta) of the level (docs/proofs.md, 8) or
        2 sqrt(delta), as in the paper.

    Returns
    -------
    Intervals

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from stablebag import BaggedRegressor, predict_interval
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = BaggedRegressor(n_bags=500, random_state=0).fit(X[:400], y[:400])
    >>> print(predict_interval(model, X[400:], confidence_level=0.9))
    42 intervals by jackknife+ at level 0.9, with a median width of 187.
    Proved for exchangeable rows and any learner that is blind to their order: coverage is 0.8 at
    least; typically it is near 0.9. That is for a number of bags drawn at random (random_n_bags)
    or for all bags; with a number fixed beforehand it holds approximately.
    """
    owner = "predict_interval"
    if not isinstance(model, BaggedRegressor):
        reason = "for other regressors use jackknife_intervals_refit; classifiers have no intervals."
        raise refuse_type("model", owner, "a fitted BaggedRegressor", model, reason)
    level = _check_level(confidence_level, owner)
    _check_method(method, METHODS, owner, delta)
    at_rows = left_out_at_rows(model)
    residuals, stable = np.abs(model.y_ - at_rows), None
    if method == "stable-jackknife":
        n_bags = math.inf if model.derandomized_ else len(model.bags_)
        certificate = _certificate_of_range(model.prediction_range_, model.range_, model.scheme_, n_bags)
        stable = _Inflation.best(certificate, model.prediction_range_, level, delta, bound, owner)
    _warn(level, len(residuals), stable)
    parts = [
        _ends(method, level, residuals, prediction, left_out, stable)
        for _, prediction, left_out in left_out_blocks(model, X)
    ]
    prediction, lower, upper = (np.concatenate(values) for values in zip(*parts, strict=True))
    guarantee = _guarantee(method, level, stable) + _about_bags(model, method)
    return Intervals(lower, upper, prediction, float(level), method, guarantee)


def jackknife_intervals_refit(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any,
    *,
    confidence_level: float = 0.9,
    method: str = "jackknife+",
    n_folds: int = 10,
    delta: float | None = None,
    bound: str = "best",
    n_jobs: int | None = None,
    random_state: RandomState = None,
    on_fit: Callable[[], None] | None = None,
) -> Intervals:
    """Make prediction intervals of any regressor by fitting it again without each row, or without each fold.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn regressor, bagged or not.
    X : array-like, sparse array or data frame of shape (n_samples, n_features)
        The training rows.
    y : array-like of shape (n_samples,)
        Their targets.
    X_test : array-like, sparse array or data frame of shape (n_points, n_features)
        The points at which to predict.
    confidence_level : float, default=0.9
        The level 1 - a, between 0 and 1.
    method : {"jackknife", "jackknife+", "jackknife-minmax", "stable-jackknife", "cv+"}, default="jackknife+"
        As in `predict_interval`; "cv+" is the jackknife+ with folds in place of rows. The stable jackknife needs a
        `BaggedRegressor`, because of nothing else stability is proved.
    n_folds : int, default=10
        For "cv+": the number of folds, in random order.
    delta : float or None, default=None
        As in `predict_interval`.
    bound : {"best", "paper"}, default="best"
        As in `predict_interval`.
    n_jobs : int or None, default=None
        How many fits at once.
    random_state : None, int, RandomState or Generator, default=None
        Where the seed of a randomized learner, and the folds, come from.
    on_fit : callable or None, default=None
        Called after each fit, to show progress.

    Returns
    -------
    Intervals

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from stablebag import jackknife_intervals_refit
    >>> X, y = [[i] for i in range(9)], [0.1, 0.9, 2.3, 2.7, 4.4, 4.8, 6.3, 6.6, 8.5]
    >>> intervals = jackknife_intervals_refit(LinearRegression(), X, y, [[4.5]], confidence_level=0.8)
    >>> round(float(intervals.lower[0]), 4), round(float(intervals.upper[0]), 4)
    (3.981, 5.0958)
    """
    owner = "jackknife_intervals_refit"
    level = _check_level(confidence_level, owner)
    _check_method(method, (*METHODS, "cv+"), owner, delta)
    if is_classifier(estimator):
        raise refuse_type("estimator", owner, "a regressor", estimator, "intervals are about numbers.")
    y = np.asarray(column_or_1d(y), dtype=float)
    check_consistent_length(X, y)
    n = len(y)
    seeds = Seeds.from_random_state(random_state, owner)
    groups = _folds(n, n_folds, seeds, owner) if method == "cv+" else [np.array([row]) for row in range(n)]
    stable = None
    if method == "stable-jackknife":
        stable = _inflation_of(estimator, y, level, delta, bound, owner)
    residuals, left_out, prediction = np.empty(n), np.empty((0, 0)), np.empty(0)
    every = [np.empty(0, dtype=np.intp), *groups]
    _warn(level, n, stable)
    single = method != "cv+"
    fits = refit_without(
        estimator, X, y, every, X_test, one_row_less=single, n_jobs=n_jobs, random_state=seeds, on_fit=on_fit
    )
    for number, (group, (at_points, at_rows)) in enumerate(zip(every, fits, strict=True)):
        if number == 0:
            prediction, left_out = at_points, np.empty((n, len(at_points)))
        left_out[group], residuals[group] = at_points, np.abs(y[group] - at_rows)
    kind = "jackknife+" if method == "cv+" else method
    prediction, lower, upper = _ends(kind, level, residuals, prediction, left_out, stable)
    guarantee = _guarantee(method, level, stable, n_samples=n, n_folds=len(groups))
    return Intervals(lower, upper, prediction, float(level), method, guarantee)


# --------------------------------------------------------------------------------------------------- the ends and ranks


def quantile_rank(level: float | Fraction, n_samples: int) -> int:
    """Return ceil((1 - a) (n + 1)), the rank of the order statistic for the level 1 - a; n + 1 stands for infinity.

    In whole numbers: 0.9 means 9/10.

    >>> quantile_rank(0.9, n_samples=9), quantile_rank(0.9, n_samples=19), quantile_rank(0.95, n_samples=9)
    (9, 18, 10)
    """
    return math.ceil(as_fraction(level) * (n_samples + 1))


def _ends(
    method: str,
    level: Fraction,
    residuals: np.ndarray,
    prediction: np.ndarray,
    left_out: np.ndarray,
    stable: "_Inflation | None",
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The prediction and the two ends at some points; `left_out` has a line for each training row."""
    n = len(residuals)
    if not (np.isfinite(residuals).all() and np.isfinite(left_out).all()):
        raise ValueError(
            "A prediction without some row is infinite or NaN, so there is no interval. Clip predictions to a range."
        )
    rank = quantile_rank(level, n) if stable is None else stable.rank
    if rank > n:
        return prediction, np.full(len(prediction), -np.inf), np.full(len(prediction), np.inf)
    if method == "jackknife+":
        columns = np.empty(left_out.T.shape)
        np.add(left_out.T, residuals, out=columns)
        columns.partition(rank - 1, axis=1)
        upper = columns[:, rank - 1].copy()  # a view would keep all of it alive
        np.subtract(left_out.T, residuals, out=columns)
        columns.partition(n - rank, axis=1)
        return prediction, columns[:, n - rank].copy(), upper
    radius = np.partition(residuals, rank - 1)[rank - 1]
    if method == "jackknife-minmax":
        return prediction, left_out.min(axis=0) - radius, left_out.max(axis=0) + radius
    radius += 0.0 if stable is None else stable.epsilon
    return prediction, prediction - radius, prediction + radius


@dataclass(frozen=True)
class _Inflation:
    """The stable jackknife's choice: epsilon is added to the residual of this rank."""

    epsilon: float
    delta: float
    rank: int
    range_length: float

    @classmethod
    def best(
        cls,
        certificate: Certificate,
        rule: PredictionRange | None,
        level: Fraction,
        delta: float | None,
        bound: str,
        owner: str,
    ) -> "_Inflation":
        """Choose, without looking at residuals, a share of rows and with it an epsilon and a rank."""
        if bound not in ("best", "paper"):
            raise refuse_value("bound", owner, 'one of "best" and "paper"', bound)
        n, trimmed = certificate.n_samples, _trimmed_rows(rule)
        least = 2 * trimmed / n
        if delta is not None:
            shares = [check_delta(delta, owner)]
            if shares[0] < least:
                reason = "so many rows can each change the range to which predictions are clipped."
                raise refuse_value("delta", owner, f"at least {least:.4g}", delta, reason)
        else:
            shares = [least, *(least + (1 - least) * share for share in np.geomspace(1e-6, 0.5, 80))]
        usable = [(share, rank) for share in shares if (rank := _stable_rank(share, n, trimmed, level, bound)) <= n]
        if not usable:
            raise ValueError(_too_few_rows(n, trimmed, level, delta, bound))
        length = certificate.range_length
        choices = [cls(min(certificate.epsilon(share, bound), length), share, rank, length) for share, rank in usable]
        return min(choices, key=lambda choice: choice._typical_radius(n))

    def _typical_radius(self, n_samples: int) -> float:
        """The radius if residuals were normal, with a deviation that is a tenth of the range."""
        level = self.rank / (n_samples + 1)
        return self.epsilon + _TYPICAL_RESIDUAL * self.range_length * float(norm.ppf((1 + level) / 2))


def _stable_rank(delta: float, n_samples: int, trimmed: int, level: Fraction, bound: str) -> int:
    """The rank whose residual, plus epsilon, covers with probability `level` where a share delta of rows is unstable.

    With N = n + 1 points, rank k and shares delta, the chance of a miss is at most (N - k) / N + t / N, where t is the
    largest number with t (t + 1) / 2 <= N n delta (docs/proofs.md, 8); or (N - k) / N + 2 sqrt(delta), as in the paper.
    A range taken from the targets misses with probability 2 k / N more.
    """
    total = n_samples + 1
    missed = (1 - level) * total - 2 * trimmed
    strange = (math.sqrt(8 * total * n_samples * delta + 1) - 1) / 2
    extra = 2 * math.sqrt(delta) * total if bound == "paper" else strange
    return total - math.floor(missed - Fraction(extra and math.nextafter(extra, math.inf)))


def _too_few_rows(n_samples: int, trimmed: int, level: Fraction, delta: float | None, bound: str) -> str:
    def enough(n: int) -> bool:
        share = 2 * trimmed / n if delta is None else delta
        return _stable_rank(share, n, trimmed, level, bound) <= n

    most = 10**9
    missed = float(1 - level)
    if delta is not None:
        message = f"A share delta={delta:g} of unstable rows costs more than the {missed:g} that may be missed."
    elif trimmed:
        message = (
            "The stable jackknife has no choice of epsilon and delta that leaves a positive level: of "
            f"{n_samples} rows, {2 * trimmed} can change the range of predictions, which costs more than the "
            f"{missed:g} allowed."
        )
    else:
        message = f"Level {float(level):g} asks for more residuals than the {n_samples} rows have."
    if not enough(most):
        return message + " Use a smaller delta, or a lower level."
    needed = first_step(n_samples, most, enough)
    ways = [f"{needed:,} rows to be defined, and many more to be of use", "a lower level"]
    return f"{message} It would take {', or '.join([*ways, 'a FixedRange'] if trimmed else ways)}."


def _trimmed_rows(rule: PredictionRange | None) -> int:
    """How many of the smallest, and of the largest, targets make the range."""
    if isinstance(rule, FixedRange):
        return 0
    if isinstance(rule, ObservedRange):
        return 1
    if isinstance(rule, TrimmedRange):
        return rule.rank
    raise ValueError(
        f"The stable jackknife is proved for predictions clipped to a FixedRange, ObservedRange or TrimmedRange. Got "
        f"prediction_range={rule!r}."
    )


def _certificate_of_range(
    rule: PredictionRange | None, interval: Any, law: ResolvedScheme, n_bags: int | float
) -> Certificate:
    """The certificate for *every* data set, where all rows that make the range change it; in the units of y."""
    changing, (low, high) = 2 * _trimmed_rows(rule) / law.n_samples, interval
    kind = "adaptive" if changing else "fixed"
    lengths = {"range_length": high - low, "delta_range": min(1.0, changing), "reach": high - low}
    return Certificate(law, law.n_samples, n_bags, **lengths, range_kind=kind)


def _inflation_of(
    estimator: Any, y: np.ndarray, level: Fraction, delta: float | None, bound: str, owner: str
) -> _Inflation:
    if not isinstance(estimator, BaggedRegressor):
        reason = "of nothing else stability is proved. Wrap the estimator in one."
        raise refuse_type("estimator", owner, "a BaggedRegressor for the stable jackknife", estimator, reason)
    rule = estimator.prediction_range
    _trimmed_rows(rule)
    law = as_law(estimator.scheme, len(y), owner)
    n_bags = math.inf if estimator.n_bags == "all" else estimator.n_bags
    certificate = _certificate_of_range(rule, rule(y), law, n_bags)
    return _Inflation.best(certificate, rule, level, delta, bound, owner)


# ----------------------------------------------------------------------------------------------- what is proved of them


def _guarantee(method: str, level: Fraction, stable: _Inflation | None, n_samples: int = 0, n_folds: int = 0) -> str:
    """What is proved of the coverage, in words."""
    missed, whatever = 1 - level, "Proved for exchangeable rows and any learner that is blind to their order:"
    if method == "jackknife":
        return "Nothing is proved of their coverage: the jackknife can fail for an unstable learner."
    if method == "jackknife-minmax":
        return f"{whatever} coverage is {float(level):g} at least."
    if stable is not None:
        return (
            f"Proved for exchangeable rows and any learner: coverage is {float(level):g} at least, by the certificate. "
            f"At most a share {stable.delta:.3g} of the rows moves a prediction by more than "
            f"{rounded_up(stable.epsilon)}, which is added to the radius."
        )
    slack = Fraction(0)
    if method == "cv+":
        size = Fraction(n_samples, n_folds)
        slack = min(2 * (1 - Fraction(1, n_folds)) / (size + 1), (1 - Fraction(n_folds, n_samples)) / (n_folds + 1))
    covered = 1 - 2 * missed - slack
    if covered <= 0:
        return f"Nothing is proved of their coverage at so low a level; typically it is near {float(level):g}."
    uneven = " Folds are not of one size here, for which it holds approximately." if n_samples % max(1, n_folds) else ""
    return f"{whatever} coverage is {float(covered):.3g} at least; typically it is near {float(level):g}.{uneven}"


def _about_bags(model: BaggedRegressor, method: str) -> str:
    """What the proof assumes of the bags."""
    if method == "jackknife" or model.derandomized_:
        return ""
    if method != "stable-jackknife" and model._law_of_n_bags == model.scheme_:
        return ""
    if method == "stable-jackknife":
        return (
            " The certificate is about bags drawn anew without each row; here they are reused, so this holds "
            "approximately, and exactly for n_bags='all' or jackknife_intervals_refit."
        )
    return (
        " That is for a number of bags drawn at random (random_n_bags) or for all bags; with a number fixed beforehand "
        "it holds approximately."
    )


class RandomNumberOfBags(int):
    """A number of bags that was drawn at random by `random_n_bags`, and for which law; otherwise an int like any other.

    Attributes
    ----------
    law : ResolvedScheme
        The law of the bags for which it was drawn.
    """

    law: ResolvedScheme

    def __new__(cls, value: int, law: ResolvedScheme) -> "RandomNumberOfBags":
        """Make the number remember its law."""
        number = super().__new__(cls, value)
        number.law = law
        return number

    def __getnewargs__(self) -> tuple[int, ResolvedScheme]:  # type: ignore[override]
        """For pickle."""
        return int(self), self.law


def random_n_bags(
    scheme: ResamplingScheme | ResolvedScheme, n_samples: int, n_bags: int, random_state: RandomState = None
) -> RandomNumberOfBags:
    """Draw the number of bags for which the jackknife+ over bags is proved to cover.

    Kim, Xu and Barber (2020): if bags were drawn from the training rows and the test row together, those without the
    test row would be a random number of the bags drawn, Binomial(B', 1 - p) with p the chance that a row of n + 1 is in
    a bag. With such a number the theorem is exact, with a fixed one it is not. Here it is for every scheme whose law on
    n + 1 rows is known.

    Parameters
    ----------
    scheme : ResamplingScheme
        How bags are drawn.
    n_samples : int
        The number of training rows.
    n_bags : int
        The number of bags to expect.
    random_state : None, int, RandomState or Generator, default=None
        The source of randomness; not the one of the model, from which it should be independent.

    Returns
    -------
    int
        For `BaggedRegressor(n_bags=...)`. Zero with a chance that vanishes with `n_bags`.

    Examples
    --------
    >>> from stablebag import Subbagging, random_n_bags
    >>> random_n_bags(Subbagging(0.5), n_samples=100, n_bags=500, random_state=0)
    526
    """
    owner = "random_n_bags"
    n_samples = check_samples(n_samples, owner)
    n_bags = check_integer(n_bags, "n_bags", owner, minimum=1)
    law = as_law(scheme, n_samples, owner)
    kept = 1 - _probability_with_one_more(law)
    (generator,) = Seeds.from_random_state(random_state, owner).bag_generators(0, 1)
    return RandomNumberOfBags(int(generator.binomial(round(n_bags / kept), kept)), law)


def _probability_with_one_more(law: ResolvedScheme) -> float:
    """The chance p that a row is in a bag of the law on n + 1 rows of which this one is Q_n."""
    larger = law.scheme.resolve(law.n_samples + 1)
    if larger.without_one() != law:
        raise TypeError(
            f"The law on {law.n_samples + 1} rows of which {law} is that without one row is not known. Fix the number "
            "of bags instead; the guarantee is then approximate."
        )
    return larger.inclusion_probability


def _folds(n_samples: int, n_folds: int, seeds: Seeds, owner: str) -> list[np.ndarray]:
    n_folds = check_integer(n_folds, "n_folds", owner, minimum=2)
    if n_folds > n_samples:
        raise refuse_value("n_folds", owner, f"at most the number of rows, {n_samples}", n_folds)
    splitter = KFold(n_folds, shuffle=True, random_state=int(seeds.learner_seeds(1, 2)[0]))
    return [fold for _, fold in splitter.split(np.empty(n_samples))]


def _check_level(confidence_level: float, owner: str) -> Fraction:
    reason = "the level 1 - a. For 90 % write 0.9."
    level = check_real(confidence_level, "confidence_level", owner, low=-math.inf, reason=reason)
    if not 0 < level < 1:
        raise refuse_value("confidence_level", owner, "a number between 0 and 1", confidence_level, reason)
    return as_fraction(confidence_level)


def _check_method(method: str, methods: tuple[str, ...], owner: str, delta: float | None) -> None:
    if method not in methods:
        reason = "folds need refits: use jackknife_intervals_refit." if method == "cv+" else ""
        raise refuse_value("method", owner, f"one of {methods}", method, reason)
    if delta is not None and method != "stable-jackknife":
        reason = "other methods have no epsilon to choose."
        raise refuse_value("delta", owner, "None but for the stable jackknife", delta, reason)


def _warn(level: Fraction, n_samples: int, stable: _Inflation | None) -> None:
    """Warn of intervals that say nothing, on behalf of the function that the user called."""
    if stable is not None and stable.epsilon >= stable.range_length > 0:
        warnings.warn(
            f"The stable jackknife adds the whole range of predictions, {stable.range_length:g}, because with so few "
            "rows or bags nothing less is proved. Use the jackknife+, or more rows and bags.",
            stacklevel=3,
        )
    if stable is None and (rank := quantile_rank(level, n_samples)) > n_samples:
        warnings.warn(
            f"The intervals are infinite: level {float(level):g} asks for residual number {rank} of {n_samples} "
            f"training rows. Use {math.ceil(1 / (1 - level)) - 1} rows at least, or a lower level.",
            stacklevel=3,
        )
