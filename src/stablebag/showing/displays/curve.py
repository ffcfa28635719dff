"""Stability curves: the share of rows that move predictions far, measured and proved."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from stablebag._wording import ROWS, Noun
from stablebag.measuring.perturbations import Perturbations
from stablebag.proving.protocol import StabilityCertificate
from stablebag.proving.scope import refuse_mismatch
from stablebag.showing.displays.display import COLOURS, LINES, Display, as_steps, by_name, noun_of


class StabilityCurveDisplay(Display):
    """The share delta of rows that move a prediction by more than epsilon, against epsilon; higher is less stable.

    Parameters
    ----------
    curves : dict of str to pair of ndarray
        For each name, the arrays epsilon and delta, as `Perturbations.curve` returns them.
    guarantee : pair of ndarray or None, default=None
        The arrays epsilon and delta of what is proved; drawn dotted.
    noise : dict of str to float or None, default=None
        For each name, the root mean square of the noise of the bags; drawn as a tick on the epsilon axis.
    guarantee_label : str, default="proved"
        The name of what is proved, for the legend.
    noun : Noun, default=ROWS
        What is left out: rows, or units such as patients.

    Attributes
    ----------
    ax_ : Axes
        Where it is drawn.
    figure_ : Figure
        The figure that contains it.
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
        guarantee_label: str = "proved",
        noun: Noun = ROWS,
    ) -> None:
        self.curves = dict(curves)
        self.guarantee = guarantee
        self.noise = dict(noise or {})
        self.guarantee_label = guarantee_label
        self.noun = noun

    @classmethod
    def from_perturbations(
        cls,
        perturbations: Perturbations | Mapping[str, Perturbations],
        *,
        certificate: StabilityCertificate | None = None,
        over_points: str = "max",
        show_noise: bool = False,
        ax: Any = None,
    ) -> Self:
        """Draw the curves of measured perturbations, with what is proved about them.

        Parameters
        ----------
        perturbations : Perturbations, or dict of str to Perturbations
            What was measured.
        certificate : certificate or None, default=None
            What is proved about what was measured, as by `certify_reused` about `leave_one_out`; drawn dotted. A
            certificate that is about something else (other rows, bags, range, or a norm) is refused.
        over_points : {"max", "mean"}, default="max"
            The worst of the points, or the average over points.
        show_noise : bool, default=False
            Whether to mark how much of a curve may be the noise of drawing bags.
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        StabilityCurveDisplay
        """
        named = by_name(perturbations, cls.__name__)
        curves = {name: _over_classes(moved.curve(over_points)) for name, moved in named.items()}
        drawn = {name: moved for name, moved in named.items() if moved.bags is not None and moved.bags.n_bags}
        summary = np.mean if over_points == "mean" else np.max
        noise = {name: float(summary(moved.noise)) for name, moved in drawn.items()} if show_noise else None
        if certificate is None:
            return cls(curves, None, noise, noun=noun_of(named)).plot(ax=ax)
        of = _spoken_of(certificate, named, cls.__name__)
        label = "proved" if len(named) == 1 else f"proved for {of}"
        return cls(curves, certificate.curve(over_points), noise, label, noun_of(named)).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self
        """
        ax = self.start(ax)
        self.lines_ = {}
        for number, (name, (epsilon, delta)) in enumerate(self.curves.items()):
            style = {"color": COLOURS[number % len(COLOURS)], "linestyle": LINES[number % len(LINES)]}
            (self.lines_[name],) = ax.step(epsilon, delta, where="post", label=name, **style)
            if name in self.noise:
                label = f"noise of the bags, {name}"
                mark = {"marker": "^", "markersize": 9, "linestyle": "none", "color": style["color"]}
                ax.plot(self.noise[name], 0, clip_on=False, label=label, **mark)
        widest = max((float(epsilon[-1]) for epsilon, _ in self.curves.values()), default=1.0) or 1.0
        if self.guarantee is not None and len(self.guarantee[0]):
            (self.guarantee_,) = ax.plot(*as_steps(*self.guarantee), ":", color="black", label=self.guarantee_label)
            widest = max(widest, float(np.interp(0.1, self.guarantee[1], self.guarantee[0])))
        share = f"share of {self.noun.plural} that move the prediction by more"
        ax.set(xlabel="$\\varepsilon$", ylabel=f"$\\delta$: {share}")
        ax.set(xlim=(0, 1.05 * widest), ylim=(0, 1.02))
        ax.legend()
        return self


def _spoken_of(certificate: StabilityCertificate, named: dict[str, Perturbations], owner: str) -> str:
    """The name of what the certificate is about; refused if that is not shown."""
    of = [name for name, moved in named.items() if moved.scope is None or not moved.scope.mismatch(certificate.scope)]
    if not of:
        last = list(named.values())[-1]  # usually the bagged one
        refuse_mismatch(last.scope, certificate.scope, owner)
    return of[-1]


def _over_classes(curve: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """For a classifier, take the class that moves most."""
    epsilon, delta = curve
    return epsilon, delta.reshape(len(epsilon), -1).max(axis=1)
