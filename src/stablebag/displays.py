"""Displays in scikit-learn's pattern: computed objects in, `plot(ax=None)` out, artists kept.

Two colours have a meaning throughout: the first thing shown (the base learner, as a rule) is red, the second (its
bagged version) blue; line styles and hatching tell them apart without colour. Guarantees are dotted.
"""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from stablebag.arguments import check_integer, refuse_type, refuse_value
from stablebag.bounds import unstable_epsilon
from stablebag.certificates import Certificate
from stablebag.frontier import frontier
from stablebag.intervals import Intervals
from stablebag.perturbations import Perturbations
from stablebag.schemes import Subbagging
from stablebag.scope import refuse_mismatch

_COLOURS = ("tab:red", "tab:blue", "tab:green", "tab:purple", "tab:brown", "tab:gray")
_LINES = ("--", "-", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), "-")
_HATCHES = ("///", "", "...", "xxx", "\\\\\\", "+++")


class _Display:
    """What the displays share: an axes to draw on, which is made where none is given."""

    ax_: Any
    figure_: Any

    def _start(self, ax: Any) -> Any:
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise ImportError("Plots need matplotlib: pip install 'stablebag[plot]'.") from error
        if ax is None:
            _, ax = plt.subplots(layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        return ax


class PerturbationDisplay(_Display):
    """Overlaid histograms of how far the rows move a prediction.

    Parameters
    ----------
    distances : dict of str to ndarray
        The distances L_i to be counted, by the name to be shown.

    Attributes
    ----------
    ax_ : Axes
        Where it is drawn.
    figure_ : Figure
        The figure of it.
    bars_ : dict of str to artists
        The bars, by name.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag import PerturbationDisplay
    >>> display = PerturbationDisplay({"tree": np.array([0.0, 0.1, 0.9]), "bagged": np.array([0.1, 0.1, 0.2])})
    >>> sorted(display.distances)
    ['bagged', 'tree']
    """

    def __init__(self, distances: Mapping[str, np.ndarray]) -> None:
        self.distances = dict(distances)

    @classmethod
    def from_perturbations(
        cls,
        perturbations: Perturbations | Mapping[str, Perturbations],
        *,
        point: int | None = None,
        bins: int = 40,
        ax: Any = None,
    ) -> Self:
        """Draw the histograms of measured perturbations.

        Parameters
        ----------
        perturbations : Perturbations, or dict of str to Perturbations
            What was measured; several are overlaid.
        point : int or None, default=None
            The test point; None counts all of them together.
        bins : int, default=40
            How many bars.
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        PerturbationDisplay
        """
        named = _named(perturbations, cls.__name__)
        if point is not None:
            point = check_integer(point, "point", cls.__name__, minimum=0)
            for moved in named.values():
                if point >= len(moved.prediction):
                    raise IndexError(f"Point {point} was asked for, and there are {len(moved.prediction)} points.")
        values = {name: moved.values if point is None else moved.values[:, point] for name, moved in named.items()}
        return cls({name: value.ravel() for name, value in values.items()}).plot(bins=bins, ax=ax)

    def plot(self, ax: Any = None, *, bins: int = 40) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.
        bins : int, default=40
            How many bars.

        Returns
        -------
        self
        """
        ax = self._start(ax)
        largest = max((float(values.max()) for values in self.distances.values()), default=1.0)
        edges = np.linspace(0, largest or 1.0, check_integer(bins, "bins", type(self).__name__, minimum=1) + 1)
        self.bars_ = {}
        for number, (name, values) in enumerate(self.distances.items()):
            colour, hatch = _COLOURS[number % len(_COLOURS)], _HATCHES[number % len(_HATCHES)]
            weights = np.full(len(values), 1 / len(values))
            style = {"alpha": 0.45, "color": colour, "edgecolor": colour, "hatch": hatch, "label": name}
            self.bars_[name] = ax.hist(values, edges, weights=weights, histtype="stepfilled", **style)[2]
        ax.set(
            xlabel="leave-one-out perturbation $|f(x) - f^{\\setminus i}(x)|$", ylabel="share of rows", xlim=(0, None)
        )
        ax.legend()
        return self


class StabilityCurveDisplay(_Display):
    """The share delta of rows that move a prediction by more than epsilon, against epsilon; higher is less stable.

    Parameters
    ----------
    curves : dict of str to pair of ndarray
        For each name the arrays epsilon and delta, as `Perturbations.curve` gives them.
    guarantee : pair of ndarray or None, default=None
        The arrays epsilon and delta of what is proved; drawn dotted.
    noise : dict of str to float or None, default=None
        For each name, the root mean square of the noise of the bags; drawn as a tick on the epsilon axis.
    guarantee_label : str, default="proved"
        What to call what is proved.

    Attributes
    ----------
    ax_ : Axes
        Where it is drawn.
    figure_ : Figure
        The figure of it.
    lines_ : dict of str to Line2D
        The curves, by name.
    guarantee_ : Line2D
        The guarantee, where there is one.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag import StabilityCurveDisplay
    >>> display = StabilityCurveDisplay({"tree": (np.array([0.0, 0.5]), np.array([0.6, 0.0]))})
    >>> display.guarantee is None
    True
    """

    def __init__(
        self,
        curves: Mapping[str, tuple[np.ndarray, np.ndarray]],
        guarantee: tuple[np.ndarray, np.ndarray] | None = None,
        noise: Mapping[str, float] | None = None,
        guarantee_label: str = "proved",
    ) -> None:
        self.curves = dict(curves)
        self.guarantee = guarantee
        self.noise = dict(noise or {})
        self.guarantee_label = guarantee_label

    @classmethod
    def from_perturbations(
        cls,
        perturbations: Perturbations | Mapping[str, Perturbations],
        *,
        certificate: Any = None,
        over_points: str = "max",
        show_noise: bool = False,
        ax: Any = None,
    ) -> Self:
        """Draw the curves of measured perturbations, and what is proved beside them.

        Parameters
        ----------
        perturbations : Perturbations, or dict of str to Perturbations
            What was measured.
        certificate : certificate or None, default=None
            What is proved of what was measured, such as `certify_reused` of `leave_one_out`; drawn dotted. One that
            speaks of something else (other rows, bags, range, or a norm) is refused.
        over_points : {"max", "mean"}, default="max"
            How to summarize over points: the worst of them, or their average.
        show_noise : bool, default=False
            Whether to mark how much of a curve may be the noise of drawing bags.
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        StabilityCurveDisplay
        """
        named = _named(perturbations, cls.__name__)
        curves = {name: _over_classes(moved.curve(over_points)) for name, moved in named.items()}
        drawn = {name: moved for name, moved in named.items() if moved.n_bags is not None}
        summary = np.mean if over_points == "mean" else np.max
        noise = {name: float(summary(moved.noise)) for name, moved in drawn.items()} if show_noise else None
        if certificate is None:
            return cls(curves, None, noise).plot(ax=ax)
        of = _spoken_of(certificate, named, cls.__name__)
        label = "proved" if len(named) == 1 else f"proved of {of}"
        return cls(curves, certificate.curve(over_points), noise, label).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self
        """
        ax = self._start(ax)
        self.lines_ = {}
        for number, (name, (epsilon, delta)) in enumerate(self.curves.items()):
            style = {"color": _COLOURS[number % len(_COLOURS)], "linestyle": _LINES[number % len(_LINES)]}
            (self.lines_[name],) = ax.step(epsilon, delta, where="post", label=name, **style)
            if name in self.noise:
                label = f"noise of the bags, {name}"
                mark = {"marker": "^", "markersize": 9, "linestyle": "none", "color": style["color"]}
                ax.plot(self.noise[name], 0, clip_on=False, label=label, **mark)
        widest = max((float(epsilon[-1]) for epsilon, _ in self.curves.values()), default=1.0) or 1.0
        if self.guarantee is not None and len(self.guarantee[0]):
            (self.guarantee_,) = ax.plot(*self.guarantee, ":", color="black", label=self.guarantee_label)
            widest = max(widest, float(np.interp(0.1, self.guarantee[1], self.guarantee[0])))
        ax.set(xlabel="$\\varepsilon$", ylabel="$\\delta$: share of rows that move the prediction by more")
        ax.set(xlim=(0, 1.05 * widest), ylim=(0, 1.02))
        ax.legend()
        return self


class PhaseDiagramDisplay(_Display):
    """Which pairs (epsilon, delta) are guaranteed for every learner, which are impossible, and the gap between.

    Parameters
    ----------
    delta : ndarray of shape (n_steps,)
        Shares of rows.
    guaranteed : ndarray of shape (n_steps,)
        The epsilon from which on stability is proved.
    impossible : ndarray of shape (n_steps,) or None, default=None
        The epsilon below which some learner is unstable with infinitely many bags (Theorem 10, for subbagging).
    title : str, default=""
        What is shown.
    exact : ndarray of shape (n_steps,) or None, default=None
        The exact frontier between the two, with infinitely many bags.

    Attributes
    ----------
    ax_ : Axes
        Where it is drawn.
    figure_ : Figure
        The figure of it.
    guaranteed_ : Line2D
        The border of what is proved.
    impossible_ : Line2D
        The border of what the paper shows to be impossible, where it is known.
    exact_ : Line2D
        The exact frontier, where it is known.

    Examples
    --------
    >>> from stablebag import Certificate, PhaseDiagramDisplay, Subbagging
    >>> display = PhaseDiagramDisplay.compute(Certificate(Subbagging(0.5), n_samples=500), bound="paper")
    >>> bool((display.impossible < display.guaranteed).all())
    True

    The exact frontier closes the gap between them:

    >>> display = PhaseDiagramDisplay.compute(Certificate(Subbagging(0.5), n_samples=500))
    >>> bool((display.exact == display.guaranteed).all())
    True
    """

    def __init__(
        self,
        delta: np.ndarray,
        guaranteed: np.ndarray,
        impossible: np.ndarray | None = None,
        title: str = "",
        exact: np.ndarray | None = None,
    ) -> None:
        self.delta = delta
        self.guaranteed = guaranteed
        self.impossible = impossible
        self.title = title
        self.exact = exact

    @classmethod
    def compute(cls, certificate: Certificate, *, bound: str = "best") -> Self:
        """Work out the borders without drawing them.

        Parameters
        ----------
        certificate : Certificate
            What is proved.
        bound : {"best", "exact", "paper"}, default="best"
            As in `Certificate.epsilon`.

        Returns
        -------
        PhaseDiagramDisplay
        """
        if not isinstance(certificate, Certificate):
            reason = "certify(model), without points or norm, makes that of a fitted model."
            raise refuse_type("certificate", cls.__name__, "a Certificate", certificate, reason)
        n, law = certificate.n_samples, certificate.scheme
        rows = np.unique(np.geomspace(1, n // 2 + 1, _steps(n)).astype(int)) if n > 2 else np.array([1])
        rows = rows[rows < n]
        delta = rows / n
        guaranteed = np.array([certificate.epsilon(share, bound) for share in delta])
        impossible = exact = None
        if certificate.delta_range == 0:
            points = [frontier(law, row + 1) for row in rows.tolist()]
            if all(point is not None for point in points):
                exact = np.array([point.value for point in points if point is not None]) * certificate.range_length
            if isinstance(law.scheme, Subbagging):
                levels = [unstable_epsilon(n, int(law.bag_size), share) for share in delta]
                impossible = np.array(levels) * certificate.range_length
        return cls(delta, guaranteed, impossible, title=str(law), exact=exact)

    @classmethod
    def from_certificate(cls, certificate: Certificate, *, bound: str = "best", ax: Any = None) -> Self:
        """Draw what a certificate guarantees, and on a fixed range what is impossible with infinitely many bags.

        Parameters
        ----------
        certificate : Certificate
            What is proved.
        bound : {"best", "exact", "paper"}, default="best"
            As in `Certificate.epsilon`.
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        PhaseDiagramDisplay
        """
        return cls.compute(certificate, bound=bound).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self
        """
        ax = self._start(ax)
        shown = np.isfinite(self.guaranteed)
        if not shown.any():
            raise ValueError("Nothing is guaranteed for any share of rows, so there is no diagram to draw.")
        delta, guaranteed = self.delta[shown], self.guaranteed[shown]
        top = 1.15 * float(guaranteed.max())
        (self.guaranteed_,) = ax.plot(delta, guaranteed, "-", color="tab:blue")
        ax.fill_between(delta, guaranteed, top, color="tab:blue", alpha=0.25, label="guaranteed for every learner")
        if self.impossible is not None:
            (self.impossible_,) = ax.plot(delta, self.impossible[shown], "--", color="tab:red", label="Theorem 10")
        border = self.impossible if self.exact is None else self.exact
        if border is not None:
            style = {"facecolor": "none", "edgecolor": "tab:red", "alpha": 0.6, "hatch": "///", "linewidth": 0}
            ax.fill_between(delta, 0, border[shown], label="impossible for some learner, with all bags", **style)
        if self.exact is not None:
            (self.exact_,) = ax.plot(delta, self.exact[shown], ":", color="black", label="exact frontier", zorder=3)
        ax.set(xlabel="$\\delta$: share of rows", ylabel="$\\varepsilon$", title=self.title)
        if len(delta) > 1:
            ax.set(xlim=(float(delta[0]), float(delta[-1])))
        ax.set(ylim=(0, top))
        ax.legend()
        return self


class IntervalDisplay(_Display):
    """Prediction intervals against a feature or the prediction, with the targets that they cover and miss.

    Parameters
    ----------
    intervals : Intervals
        What to show.
    x : ndarray of shape (n_points,)
        Where to show each interval.
    y : ndarray of shape (n_points,) or None, default=None
        The targets of the points.
    xlabel : str, default="prediction"
        What `x` is.

    Attributes
    ----------
    ax_ : Axes
        Where it is drawn.
    figure_ : Figure
        The figure of it.
    bars_ : LineCollection
        The intervals.
    covered_ : PathCollection
        The targets in their intervals, where there are targets.
    missed_ : PathCollection
        The targets outside them.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag import IntervalDisplay, Intervals
    >>> intervals = Intervals(np.array([0.0]), np.array([2.0]), np.array([1.0]), 0.9, "jackknife+", "none")
    >>> display = IntervalDisplay.from_intervals(intervals, y=[3.0])
    >>> display.ax_.get_title()
    'jackknife+ at level 0.9: 0 of 1 covered'
    """

    def __init__(
        self, intervals: Intervals, x: np.ndarray, y: np.ndarray | None = None, xlabel: str = "prediction"
    ) -> None:
        self.intervals = intervals
        self.x = x
        self.y = y
        self.xlabel = xlabel

    @classmethod
    def from_intervals(
        cls, intervals: Intervals, y: Any = None, *, x: Any = None, xlabel: str | None = None, ax: Any = None
    ) -> Self:
        """Draw intervals.

        Parameters
        ----------
        intervals : Intervals
            What to show.
        y : array-like of shape (n_points,) or None, default=None
            The targets of the points.
        x : array-like of shape (n_points,) or None, default=None
            A feature of the points to show them against; None shows them against the prediction.
        xlabel : str or None, default=None
            What `x` is; None is the name that a column brings, or "feature".
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        IntervalDisplay
        """
        if not isinstance(intervals, Intervals):
            raise refuse_type("intervals", cls.__name__, "Intervals, as predict_interval makes them", intervals)
        name = xlabel or ("prediction" if x is None else str(getattr(x, "name", None) or "feature"))
        places = intervals.prediction if x is None else np.asarray(x, dtype=float)
        if places.shape != intervals.lower.shape:
            raise refuse_value("x", cls.__name__, f"of shape {intervals.lower.shape}", places.shape)
        targets = None if y is None else np.asarray(y, dtype=float)
        return cls(intervals, places, targets, name).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self
        """
        ax = self._start(ax)
        lower, upper, title = self.intervals.lower, self.intervals.upper, f"{self.intervals.method} at level "
        title += f"{self.intervals.confidence_level:g}"
        bounded = np.isfinite(lower) & np.isfinite(upper)
        style = {"color": "tab:blue", "alpha": 0.35, "linewidth": 2, "label": "interval"}
        self.bars_ = ax.vlines(self.x[bounded], lower[bounded], upper[bounded], **style)
        if not bounded.all():
            title += f" ({(~bounded).sum():,} infinite, not shown)"
        if self.y is None:
            ax.plot(self.x, self.intervals.prediction, ".", color="tab:blue", label="prediction")
        else:
            inside = self.intervals.contains(self.y)
            title += f": {inside.sum():,} of {len(inside):,} covered"
            self.covered_ = ax.scatter(self.x[inside], self.y[inside], s=12, color="black", label="covered", zorder=3)
            cross = {"s": 30, "color": "tab:red", "marker": "x", "zorder": 4}
            self.missed_ = ax.scatter(self.x[~inside], self.y[~inside], label="missed", **cross)
        ax.set(xlabel=self.xlabel, ylabel="target", title=title)
        ax.legend()
        return self


def _named(perturbations: Any, owner: str) -> dict[str, Perturbations]:
    named = {perturbations.how: perturbations} if isinstance(perturbations, Perturbations) else perturbations
    if not isinstance(named, Mapping) or not all(isinstance(moved, Perturbations) for moved in named.values()):
        raise refuse_type("perturbations", owner, "Perturbations, or a dict of them by name", perturbations)
    return dict(named)


def _spoken_of(certificate: Any, named: dict[str, Perturbations], owner: str) -> str:
    """The name of what the certificate speaks of; refused where it is nothing of what is shown."""
    of = [name for name, moved in named.items() if moved.scope is None or not moved.scope.mismatch(certificate.scope)]
    if not of:
        last = list(named.values())[-1]  # the bagged one, as a rule
        refuse_mismatch(last.scope, certificate.scope, owner)
    return of[-1]


def _over_classes(curve: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Of a classifier, the class that moves most."""
    epsilon, delta = curve
    return epsilon, delta.reshape(len(epsilon), -1).max(axis=1)


def _steps(n_samples: int) -> int:
    """How finely to draw what is proved: the exact frontier of many rows takes its time."""
    return 200 if n_samples <= 2000 else 50
