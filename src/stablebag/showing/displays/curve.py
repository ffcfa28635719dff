"""Stability curves: the share of rows that change a prediction by more than epsilon, measured and guaranteed."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from stablebag._checks import check_flag, check_real, refuse_type, refuse_value
from stablebag._wording import ROWS, Noun
from stablebag.measuring.perturbations import Perturbations
from stablebag.proving.certificate import StabilityCertificate
from stablebag.proving.scope import Rerun, refuse_mismatch
from stablebag.showing.displays.display import (
    CHANGE,
    GUARANTEE,
    Display,
    Reach,
    as_line,
    as_named,
    as_steps,
    by_name,
    looks,
    noun_of,
    write_numbers,
    write_shares,
)


class StabilityCurveDisplay(Display):
    """The share of rows (delta) that change a prediction by more than epsilon, for each epsilon.

    A lower curve is a more stable model.

    Parameters
    ----------
    curves : dict of str to pair of ndarray
        For each name, the arrays epsilon and delta, as `Perturbations.curve` returns them.
    guarantee : pair of ndarray or None, default=None
        The arrays epsilon and delta of the guarantee, which is drawn dotted.
    noise : dict of str to float or None, default=None
        For each name, the root mean square of the bagging noise, which is drawn as a triangle on the axis of epsilon.
    guarantee_label : str, default="guaranteed"
        The name of the guarantee in the legend.
    noun : Noun, default=ROWS
        The word for the rows, or groups such as patients, that are left out.
    xlabel : str, default="change of the prediction"
        The label of the axis of epsilon.

    Attributes
    ----------
    ax_ : Axes
        The axes of the picture.
    figure_ : Figure
        The figure that contains them.
    lines_ : dict of str to Line2D
        The curves, by name.
    guarantee_ : Line2D
        The guarantee, if there is one.

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
        guarantee_label: str = "guaranteed",
        noun: Noun = ROWS,
        xlabel: str = CHANGE,
    ) -> None:
        owner = type(self).__name__
        named = as_named(curves, "curves", owner)
        self.curves = {name: _as_curve(curve, "curves", owner) for name, curve in named.items()}
        self.guarantee = None if guarantee is None else _as_curve(guarantee, "guarantee", owner, finite=False)
        self.noise = {
            name: check_real(height, "noise", owner, finite=True)
            for name, height in ({} if noise is None else as_named(noise, "noise", owner)).items()
        }
        self.guarantee_label = guarantee_label
        self.noun = noun
        self.xlabel = xlabel

    @classmethod
    def from_perturbations(
        cls,
        perturbations: Perturbations | Mapping[str, Perturbations],
        *,
        certificate: StabilityCertificate | None = None,
        over_points: str = "max",
        show_noise: bool = False,
        scale: str = "auto",
        xlabel: str = CHANGE,
        ax: Any = None,
    ) -> Self:
        """Draw the curves of measured perturbations, with a guarantee about them.

        Parameters
        ----------
        perturbations : Perturbations, or dict of str to Perturbations
            The measured perturbations.
        certificate : certificate or None, default=None
            A guarantee about them, which is drawn dotted: ``certify(model, reused=True)`` for `leave_one_out`. A
            certificate about other rows, bags, ranges or norms raises ValueError.
        over_points : {"max", "mean"}, default="max"
            The worst point at each epsilon, or the average over points.
        show_noise : bool, default=False
            Whether to mark the size of the bagging noise.
        scale : {"auto", "linear", "log"}, default="auto"
            The scale of epsilon. "auto" is logarithmic if most of a curve would be at zero otherwise.
        xlabel : str, default="change of the prediction"
            The label of the axis of epsilon.
        ax : Axes or None, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        StabilityCurveDisplay
        """
        named = by_name(perturbations, cls.__name__)
        curves = {name: _over_classes(moved.curve(over_points)) for name, moved in named.items()}
        drawn = {name: moved for name, moved in named.items() if moved.bags is not None and moved.bags.n_bags}
        summary = np.mean if over_points == "mean" else np.max
        noise = (
            {name: float(summary(moved.noise)) for name, moved in drawn.items()}
            if check_flag(show_noise, "show_noise", cls.__name__)
            else None
        )
        if certificate is not None and not hasattr(certificate, "scope"):
            expected = "a certificate, as certify returns it, or None"
            raise refuse_type("certificate", cls.__name__, expected, certificate)
        if certificate is None:
            return cls(curves, None, noise, noun=noun_of(named), xlabel=xlabel).plot(ax=ax, scale=scale)
        covered = _covered_by(certificate, named, cls.__name__)
        label = "guaranteed" if len(named) == 1 else f"guaranteed for {covered}"
        if certificate.scope.rerun is Rerun.ANEW:  # the curve of a single draw of the bags may be above it
            label += ", on average over draws of the bags"
        display = cls(curves, certificate.curve(over_points), noise, label, noun_of(named), xlabel)
        return display.plot(ax=ax, scale=scale)

    def plot(self, ax: Any = None, *, scale: str = "auto") -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : Axes or None, default=None
            The axes to draw on; None makes a new figure.
        scale : {"auto", "linear", "log"}, default="auto"
            The scale of epsilon. "auto" is logarithmic if most of a curve would be at zero otherwise.

        Returns
        -------
        self
        """
        ax = self.start(ax)
        reach = self.reach(scale)
        self.lines_ = {}
        for name, look in looks(self.curves).items():
            style = {"color": look.colour, "linestyle": look.line}
            (self.lines_[name],) = ax.step(*self.curves[name], where="post", label=name, **style)
            if name in self.noise:
                label = f"bagging noise of {name} (estimated)"
                mark = {"marker": "^", "markersize": 9, "linestyle": "none", "color": look.colour}
                ax.plot(self.noise[name], 0, clip_on=False, label=label, **mark)
        if self.guarantee is not None and len(self.guarantee[0]):
            (self.guarantee_,) = ax.plot(*as_steps(*self.guarantee), ":", color=GUARANTEE, label=self.guarantee_label)
        ax.set(xlabel=self.xlabel, ylabel=f"share of {self.noun.plural} that change it by more")
        ax.set(xscale="log" if reach.log else "linear")
        ax.set(xlim=(reach.low, 1.05 * reach.high), ylim=(0, 1.02))
        write_numbers(ax.xaxis)
        write_shares(ax.yaxis)
        ax.legend()
        return self

    def reach(self, scale: str = "auto") -> Reach:
        """Return the ends of the axis of epsilon, which shows all of the curves and the guarantee.

        Parameters
        ----------
        scale : {"auto", "linear", "log"}, default="auto"
            As in `plot`.

        Returns
        -------
        Reach
        """
        far = np.zeros(1) if self.guarantee is None else self.guarantee[0][np.isfinite(self.guarantee[0])]
        # A curve has a step at each change, so its steps stand for the changes.
        steps = (epsilon for epsilon, _ in self.curves.values())
        return Reach.of(steps, guarantee=float(far.max(initial=0)), scale=scale)


def _as_curve(curve: Any, name: str, owner: str, *, finite: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Check that a curve is a pair of arrays, epsilon and delta, of the same length."""
    if not isinstance(curve, tuple | list | np.ndarray) or getattr(curve, "shape", None) == () or len(curve) != 2:
        raise refuse_type(name, owner, "a pair of arrays, epsilon and delta", curve)
    epsilon, delta = (as_line(part, name, owner, finite=finite) for part in curve)
    if len(epsilon) != len(delta):
        raise refuse_value(name, owner, "a pair of arrays of the same length", (len(epsilon), len(delta)))
    return epsilon, delta


def _covered_by(certificate: StabilityCertificate, named: dict[str, Perturbations], owner: str) -> str:
    """The name of the measurement that the certificate covers; ValueError if it covers none."""
    scope = certificate.scope
    covered = [name for name, moved in named.items() if moved.scope is None or not moved.scope.mismatch(scope)]
    if not covered:
        last = list(named.values())[-1]  # usually the bagged model
        refuse_mismatch(last.scope, scope, owner)
    return covered[-1]


def _over_classes(curve: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """For a classifier, take the class that changes most."""
    epsilon, delta = curve
    return epsilon, delta.reshape(len(epsilon), -1).max(axis=1)
