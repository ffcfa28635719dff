"""Sets of labels: the two likeliest labels at each point, and the decisions that depend on one row."""

from typing import Any, Self

import numpy as np

from stablebag._checks import as_array, check_integer, refuse_type, refuse_value
from stablebag._wording import rounded_down
from stablebag.deciding.label_sets import LabelSets
from stablebag.deciding.selection import SelectionStability
from stablebag.showing.displays.display import Display

_MOST = 80  # more points would overlap


class LabelSetDisplay(Display):
    """The probabilities of the two likeliest labels at each point, and whether they are in the set.

    The closest decision is at the left. If there are many points, only the closest decisions are drawn. Marks of labels
    in the set are filled, others are hollow. A cross marks a decision that flips if some single row is left out.

    Parameters
    ----------
    sets : LabelSets
        The sets to draw.
    hinges : ndarray of bool, shape (n_points,), or None, default=None
        Whether the decision at each point flips if some single row is left out; None if that was not measured.
    noun : str, default="row"
        The word for the row or group that is left out, such as "patient".
    most : int, default=80
        The largest number of points to draw.

    Attributes
    ----------
    ax_ : Axes
        The axes of the picture.
    figure_ : Figure
        The figure that contains them.
    order_ : ndarray of int, shape (n_drawn,)
        The points from left to right.
    first_ : PathCollection
        The probabilities of the likeliest labels.
    second_ : PathCollection
        The probabilities of the labels in second place.
    hinges_ : PathCollection
        The decisions that flip without some row, if that was measured.

    Examples
    --------
    >>> import numpy as np
    >>> from stablebag.deciding import LabelSets
    >>> from stablebag.showing import LabelSetDisplay
    >>> members = np.array([[True, False], [True, True]])
    >>> prediction = np.array([[0.9, 0.1], [0.55, 0.45]])
    >>> sets = LabelSets(members, np.array(["cat", "dog"]), prediction, "inflated-argmax", "none")
    >>> LabelSetDisplay.from_sets(sets).ax_.get_title()
    '1 of 2 points have a set of one label (inflated-argmax)'
    """

    def __init__(self, sets: LabelSets, hinges: np.ndarray | None = None, noun: str = "row", most: int = _MOST) -> None:
        owner = type(self).__name__
        if not isinstance(sets, LabelSets):
            raise refuse_type("sets", owner, "LabelSets, as predict_set returns them", sets)
        if len(sets.labels) < 2:
            raise refuse_value("sets", owner, "sets of two labels or more", len(sets.labels))
        self.sets = sets
        self.hinges = None if hinges is None else as_array(hinges, "hinges", owner, "True or False for each point")
        if self.hinges is not None and (self.hinges.dtype.kind != "b" or self.hinges.shape != (len(sets),)):
            raise refuse_type("hinges", owner, f"True or False for each of {len(sets)} points", hinges)
        self.noun = noun
        self.most = check_integer(most, "most", owner, minimum=1)

    @classmethod
    def from_sets(
        cls, sets: LabelSets, stability: SelectionStability | None = None, *, most: int = _MOST, ax: Any = None
    ) -> Self:
        """Draw sets of labels.

        Parameters
        ----------
        sets : LabelSets
            The sets to draw.
        stability : SelectionStability or None, default=None
            Which rows flip the decision at the same points, as `selection_stability` finds them; None draws no crosses.
        most : int, default=80
            The largest number of points to draw: those with the closest decisions.
        ax : Axes or None, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        LabelSetDisplay
        """
        display = cls(sets, most=most)
        if stability is None:
            return display.plot(ax=ax)
        if not isinstance(stability, SelectionStability):
            expected = "SelectionStability, as selection_stability returns it"
            raise refuse_type("stability", cls.__name__, expected, stability)
        theirs = stability.sets.prediction
        if theirs.shape != sets.prediction.shape or not np.allclose(theirs, sets.prediction):
            reason = "measure it with the same model at the same points."
            raise refuse_value("stability", cls.__name__, f"of these {len(sets):,} points", theirs.shape, reason)
        return cls(sets, stability.delta("argmax") > 0, stability.noun.singular, most).plot(ax=ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the sets.

        Parameters
        ----------
        ax : Axes or None, default=None
            The axes to draw on; None makes a new figure.

        Returns
        -------
        self
        """
        ax, n = self.start(ax), len(self.sets)
        leading = np.argsort(-self.sets.prediction, axis=1, kind="stable")[:, :2]
        likely, inside = (
            np.take_along_axis(part, leading, axis=1) for part in (self.sets.prediction, self.sets.members)
        )
        lead = likely[:, 0] - likely[:, 1]
        order = np.argsort(lead, kind="stable")
        self.order_ = order[: self.most]
        likely, inside, lines = likely[self.order_], inside[self.order_], np.arange(len(self.order_))
        ax.vlines(lines, likely[:, 1], likely[:, 0], color="tab:gray", alpha=0.3, linewidth=1.0, zorder=1)
        size = float(np.clip(2000 / max(1, len(lines)), 12, 36))
        drawn = []
        marks = ((0, "tab:blue", "o", "likeliest label"), (1, "tab:red", "s", "second label"))
        for place, colour, marker, name in marks:
            face = np.where(inside[:, place], colour, "white")
            style = {"s": size, "marker": marker, "facecolors": face, "edgecolors": colour, "linewidths": 0.8}
            drawn.append(ax.scatter(lines, likely[:, place], zorder=2, **style))
            for among, fill in ((True, colour), (False, "white")):
                if (inside[:, place] == among).any():
                    label = f"{name}, {'in the set' if among else 'not in the set'}"
                    ax.scatter([], [], marker=marker, facecolors=fill, edgecolors=colour, label=label)
        self.first_, self.second_ = drawn
        one = int((self.sets.sizes == 1).sum())
        title = f"{one:,} of {n:,} point{'' if n == 1 else 's'} have a set of one label ({self.sets.method})"
        if self.hinges is not None:
            marked, total = np.flatnonzero(self.hinges[self.order_]), int(self.hinges.sum())
            title += f"\n{total:,} decision{' flips' if total == 1 else 's flip'} without one {self.noun}"
            cross = {"marker": "x", "color": "black", "s": 30, "zorder": 3}
            beyond = "" if total == len(marked) else f" ({total - len(marked):,} more not drawn)"
            named = f"decision flips without one {self.noun}{beyond}" if total else None
            self.hinges_ = ax.scatter(marked, np.full(len(marked), -0.05), label=named, **cross)
        points = "test points, closest decision first"
        if n > len(lines):
            points = f"the {len(lines):,} closest decisions (in the others, the likeliest label leads by "
            points += f"{rounded_down(float(lead[order[len(lines)]]), 2)} or more)"
        ax.set(xlabel=points, ylabel="probability", title=title, ylim=(-0.1, 1.05))
        ax.legend(loc="best", fontsize="small")
        return self
