"""Phase diagrams: what is guaranteed for every learner, what is impossible, and the exact line between."""

from typing import Any, Self

import numpy as np

from stablebag._checks import check_choice, refuse_type, refuse_value
from stablebag._wording import ROWS, Noun
from stablebag.proving.bounds import unstable_epsilon
from stablebag.proving.certificate import Certificate
from stablebag.proving.frontier import MOST_ROWS, frontier
from stablebag.showing.displays.display import BAGGED, MOVES, OTHER, PROVED, Display, as_line, write_numbers

_MOST_EXACT = 10_000  # rows up to which the exact frontier is drawn if there are more
_FEW_EMPTY = 1e-6  # a chance of bags without rows up to which learners attain the exact frontier, as far as is visible
_ABOVE = 1.15  # by how much the diagram is higher than what is in it


class PhaseDiagramDisplay(Display):
    """Which pairs (epsilon, delta) are guaranteed for every learner, which are impossible, and the gap between.

    Parameters
    ----------
    delta : ndarray of shape (n_steps,)
        Shares of rows, or units.
    guaranteed : ndarray of shape (n_steps,)
        The smallest epsilon for which stability is proved, at each delta.
    impossible : ndarray of shape (n_steps,) or None, default=None
        The epsilon below which some learner is unstable with infinitely many bags (Theorem 10, for subbagging).
    title : str, default=""
        The title of the diagram.
    exact : ndarray of shape (n_steps,) or None, default=None
        The exact frontier between the two, with infinitely many bags.
    noun : Noun, default=ROWS
        What is left out: rows, or units such as patients.
    ylabel : str, default="how far the prediction moves"
        What epsilon is.

    Attributes
    ----------
    ax_ : Axes
        Where it is drawn.
    figure_ : Figure
        The figure that contains it.
    guaranteed_ : Line2D
        The border of what is proved.
    impossible_ : Line2D
        The border of what the paper shows to be impossible, if it is known.
    exact_ : Line2D
        The exact frontier, if it is known.

    Examples
    --------
    >>> from stablebag import Certificate, Subbagging
    >>> from stablebag.showing import PhaseDiagramDisplay
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
        noun: Noun = ROWS,
        ylabel: str = MOVES,
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
                raise refuse_value(name, owner, f"one number for each of {len(self.delta)} shares", len(line))
        self.noun = noun
        self.ylabel = ylabel

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
            reason = "certify(model), without points or vector=True, returns that of a fitted model."
            raise refuse_type("certificate", cls.__name__, "a Certificate", certificate, reason)
        bound = check_choice(bound, "bound", cls.__name__, ("best", "exact", "paper"))
        n, law = certificate.n_samples, certificate.scheme
        rows = np.unique(np.geomspace(1, n // 2 + 1, _steps(n)).astype(int)) if n > 2 else np.array([1])
        rows = rows[rows < n]
        delta = rows / n
        # The exact frontier takes long for many rows: beyond some, bounds without it, or its last value, are shown.
        few = (rows < _MOST_EXACT) | (rows[-1] < MOST_ROWS) | (bound != "best")
        levels = [certificate.epsilon(share, bound) for share in delta[few]]
        guaranteed = np.minimum.accumulate([*levels, *map(certificate.quick_epsilon, delta[~few].tolist())])
        impossible = exact = None
        if certificate.delta_range == 0:
            points = [frontier(law, row + 1) for row in rows.tolist()] if rows[-1] < MOST_ROWS else []
            # What a bag without rows predicts is fixed, so if there are many of them, no learner attains the frontier.
            if points and all(point is not None for point in points) and law.empty_probability < _FEW_EMPTY:
                exact = np.array([point.value for point in points if point is not None]) * certificate.range_length
            if (bag_size := law.subset_size) is not None:
                levels = [unstable_epsilon(n, bag_size, share) for share in delta]
                impossible = np.array(levels) * certificate.range_length
        noun = certificate.noun
        title, unit = law.describe(noun.plural), certificate.outputs.unit
        ylabel = MOVES + (f",{unit}" if unit else "")
        return cls(delta, guaranteed, impossible, title=title, exact=exact, noun=noun, ylabel=ylabel)

    @classmethod
    def from_certificate(cls, certificate: Certificate, *, bound: str = "best", ax: Any = None) -> Self:
        """Draw what a certificate guarantees and, on a fixed range, what is impossible with infinitely many bags.

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
        """Draw the diagram.

        Parameters
        ----------
        ax : Axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        self
        """
        ax = self.start(ax)
        with np.errstate(over="ignore"):
            shown = np.isfinite(_ABOVE * self.guaranteed)
        if not shown.any():
            share = f"any share of {self.noun.plural}"
            raise ValueError(f"Nothing is guaranteed for {share}, so there is no diagram to draw.")
        delta, guaranteed = self.delta[shown], self.guaranteed[shown]
        top = _ABOVE * float(guaranteed.max())
        # Rows are whole: what holds for a share of them holds until the next row, and no straight line between does.
        steps = {"drawstyle": "steps-post"}
        (self.guaranteed_,) = ax.plot(delta, guaranteed, "-", color=BAGGED, **steps)
        area = {"color": BAGGED, "alpha": 0.25, "step": "post", "label": "guaranteed for every learner"}
        ax.fill_between(delta, guaranteed, top, **area)
        if self.impossible is not None:
            (self.impossible_,) = ax.plot(delta, self.impossible[shown], "--", color=OTHER, label="Theorem 10", **steps)
        border = self.impossible if self.exact is None else self.exact
        if border is not None:
            style = {"facecolor": "none", "edgecolor": OTHER, "alpha": 0.6, "hatch": "///", "linewidth": 0}
            label = "impossible for some learner, with all bags"
            ax.fill_between(delta, 0, _until_next(delta, border[shown]), step="post", label=label, **style)
        if self.exact is not None:
            about = {"label": "exact frontier", "zorder": 3, **steps}
            (self.exact_,) = ax.plot(delta, self.exact[shown], ":", color=PROVED, **about)
        ax.set(xlabel=f"share of {self.noun.plural} that may move it further ($\\delta$)", title=self.title)
        ax.set(ylabel=f"{self.ylabel} ($\\varepsilon$)")
        write_numbers(ax.yaxis)
        if len(delta) > 1:
            ax.set(xlim=(float(delta[0]), float(delta[-1])))
        ax.set(ylim=(0, top))
        ax.legend()
        return self


def _until_next(delta: np.ndarray, border: np.ndarray) -> np.ndarray:
    """What is impossible from each share until the next one shown: where shares between are skipped, what is at both.

    >>> _until_next(np.array([0.1, 0.2, 0.5]), np.array([3.0, 2.0, 1.0]))
    array([3., 1., 1.])
    """
    skipped = np.diff(delta, append=delta[-1]) > 1.5 * delta[0]
    return np.where(skipped, np.minimum(border, np.roll(border, -1)), border)


def _steps(n_samples: int) -> int:
    """How finely to draw what is proved, because the exact frontier takes long for many rows."""
    return 200 if n_samples <= 2000 else 50
