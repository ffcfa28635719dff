"""Phase diagrams: which guarantees hold for every learner, which are impossible, and the exact limit between."""

from typing import Any, Self

import numpy as np

from stablebag._checks import check_choice, refuse_type, refuse_value
from stablebag._wording import ROWS, Noun
from stablebag.proving.bounds import unstable_epsilon
from stablebag.proving.certificate import Certificate
from stablebag.proving.frontier import MOST_ROWS, frontier
from stablebag.showing.displays.display import BAGGED, CHANGE, GUARANTEE, OTHER, Display, as_line, write_numbers

_MOST_EXACT = 10_000  # for larger tables, the exact frontier is drawn only up to this number of rows
_FEW_EMPTY = 1e-6  # if empty bags are rarer than this, learners attain the exact frontier up to what is visible
_ABOVE = 1.15  # the height of the diagram, as a multiple of its largest value


class PhaseDiagramDisplay(Display):
    """Which pairs (epsilon, delta) are guaranteed for every learner, and which are impossible.

    Parameters
    ----------
    delta : ndarray of shape (n_steps,)
        Shares of rows, or of groups.
    guaranteed : ndarray of shape (n_steps,)
        The smallest epsilon that is guaranteed at each delta.
    impossible : ndarray of shape (n_steps,) or None, default=None
        The epsilon below which some learner is unstable with infinitely many bags (Theorem 10, for subbagging).
    title : str, default=""
        The title of the diagram.
    exact : ndarray of shape (n_steps,) or None, default=None
        The exact frontier between them, with infinitely many bags.
    noun : Noun, default=ROWS
        The word for the rows, or groups such as patients, that are left out.
    ylabel : str, default="change of the prediction"
        The label of the axis of epsilon.

    Attributes
    ----------
    ax_ : Axes
        The axes of the picture.
    figure_ : Figure
        The figure that contains them.
    guaranteed_ : Line2D
        The smallest guaranteed epsilon.
    impossible_ : Line2D
        The border of what the paper shows to be impossible, where it is known.
    exact_ : Line2D
        The exact frontier, where it is known.

    Examples
    --------
    >>> from stablebag import Certificate, Subbagging
    >>> from stablebag.showing import PhaseDiagramDisplay
    >>> display = PhaseDiagramDisplay.compute(Certificate(Subbagging(0.5), n_samples=500), bound="paper")
    >>> bool((display.impossible < display.guaranteed).all())
    True

    By default, the guarantee is the exact frontier, and no gap is left:

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
        noun: Noun = ROWS,
        ylabel: str = CHANGE,
    ) -> None:
        owner = type(self).__name__
        self.delta = as_line(delta, "delta", owner)
        self.guaranteed = as_line(guaranteed, "guaranteed", owner, finite=False)
        self.impossible = None if impossible is None else as_line(impossible, "impossible", owner, finite=False)
        self.title = title
        self.exact = None if exact is None else as_line(exact, "exact", owner, finite=False)
        for name in ("guaranteed", "impossible", "exact"):
            line = getattr(self, name)
            if line is not None and len(line) != len(self.delta):
                raise refuse_value(name, owner, f"one number for each of the {len(self.delta)} shares", len(line))
        self.noun = noun
        self.ylabel = ylabel

    @classmethod
    def compute(cls, certificate: Certificate, *, bound: str = "best") -> Self:
        """Compute the borders without drawing them.

        Parameters
        ----------
        certificate : Certificate
            The guarantee to draw.
        bound : {"best", "exact", "paper"}, default="best"
            As in `Certificate.epsilon`.

        Returns
        -------
        PhaseDiagramDisplay
        """
        if not isinstance(certificate, Certificate):
            reason = "certify(model) returns one for a fitted model, without points and vector=True."
            raise refuse_type("certificate", cls.__name__, "a Certificate", certificate, reason)
        bound = check_choice(bound, "bound", cls.__name__, ("best", "exact", "paper"))
        n, law = certificate.n_samples, certificate.scheme
        rows = np.unique(np.geomspace(1, n // 2 + 1, _steps(n)).astype(int)) if n > 2 else np.array([1])
        rows = rows[rows < n]
        delta = rows / n
        # The exact frontier takes long for many rows. Beyond some, other bounds or its last value are drawn.
        few = (rows < _MOST_EXACT) | (rows[-1] < MOST_ROWS) | (bound != "best")
        levels = [certificate.epsilon(share, bound) for share in delta[few]]
        guaranteed = np.minimum.accumulate([*levels, *map(certificate.quick_epsilon, delta[~few].tolist())])
        impossible = exact = None
        if certificate.delta_range == 0:
            points = [frontier(law, row + 1) for row in rows.tolist()] if rows[-1] < MOST_ROWS else []
            # Empty bags have a fixed prediction. If there are many of them, no learner attains the frontier.
            if points and all(point is not None for point in points) and law.empty_probability < _FEW_EMPTY:
                exact = np.array([point.value for point in points if point is not None]) * certificate.range_length
            if (bag_size := law.subset_size) is not None:
                levels = [unstable_epsilon(n, bag_size, share) for share in delta]
                impossible = np.array(levels) * certificate.range_length
        noun = certificate.noun
        title, unit = law.describe(noun.plural), certificate.outputs.unit
        ylabel = CHANGE + (f",{unit}" if unit else "")
        return cls(delta, guaranteed, impossible, title=title, exact=exact, noun=noun, ylabel=ylabel)

    @classmethod
    def from_certificate(cls, certificate: Certificate, *, bound: str = "best", ax: Any = None) -> Self:
        """Draw the guarantee of a certificate and, on a fixed range, what is impossible with infinitely many bags.

        Parameters
        ----------
        certificate : Certificate
            The guarantee to draw.
        bound : {"best", "exact", "paper"}, default="best"
            As in `Certificate.epsilon`.
        ax : Axes or None, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        PhaseDiagramDisplay
        """
        return cls.compute(certificate, bound=bound).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : Axes or None, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        self
        """
        ax = self.start(ax)
        with np.errstate(over="ignore"):
            shown = np.isfinite(_ABOVE * self.guaranteed)
        if not shown.any():
            raise ValueError(f"Nothing is guaranteed for any share of {self.noun.plural}: there is nothing to draw.")
        delta, guaranteed = self.delta[shown], self.guaranteed[shown]
        top = _ABOVE * float(guaranteed.max())
        # Rows are whole: a guarantee for a share of them holds up to the next row, so the border has steps.
        steps = {"drawstyle": "steps-post"}
        (self.guaranteed_,) = ax.plot(delta, guaranteed, "-", color=BAGGED, **steps)
        area = {"color": BAGGED, "alpha": 0.25, "step": "post", "label": "guaranteed for every learner"}
        ax.fill_between(delta, guaranteed, top, **area)
        if self.impossible is not None:
            dashed = {"color": OTHER, "label": "impossible below (Theorem 10)", **steps}
            (self.impossible_,) = ax.plot(delta, self.impossible[shown], "--", **dashed)
        border = self.impossible if self.exact is None else self.exact
        if border is not None:
            style = {"facecolor": "none", "edgecolor": OTHER, "alpha": 0.6, "hatch": "///", "linewidth": 0}
            label = "impossible for some learner, even with all bags"
            ax.fill_between(delta, 0, _until_next(delta, border[shown]), step="post", label=label, **style)
        if self.exact is not None:
            style = {"label": "exact frontier", "zorder": 3, **steps}
            (self.exact_,) = ax.plot(delta, self.exact[shown], ":", color=GUARANTEE, **style)
        ax.set(xlabel=f"share of {self.noun.plural} that may change it by more ($\\delta$)", title=self.title)
        ax.set(ylabel=f"{self.ylabel} ($\\varepsilon$)")
        write_numbers(ax.yaxis)
        if len(delta) > 1:
            ax.set(xlim=(float(delta[0]), float(delta[-1])))
        ax.set(ylim=(0, top))
        ax.legend()
        return self


def _until_next(delta: np.ndarray, border: np.ndarray) -> np.ndarray:
    """What is impossible from each share up to the next one drawn. Between skipped shares, the smaller of both ends.

    >>> _until_next(np.array([0.1, 0.2, 0.5]), np.array([3.0, 2.0, 1.0]))
    array([3., 1., 1.])
    """
    skipped = np.diff(delta, append=delta[-1]) > 1.5 * delta[0]
    return np.where(skipped, np.minimum(border, np.roll(border, -1)), border)


def _steps(n_samples: int) -> int:
    """The number of shares to draw: fewer for many rows, where the exact frontier takes long."""
    return 200 if n_samples <= 2000 else 50
