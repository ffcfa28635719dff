"""What is selected without each row, measured from the votes of the same bags."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._checks import hold_read_only
from stablebag._wording import ROWS, Noun, paragraphs, preformatted
from stablebag.measuring.names import Names

_SHOWN = 5


@dataclass(frozen=True, eq=False)
class LeftOutSelections:
    """What leaving out each row, or unit, does to a selection; made by `Selection.leave_one_out`.

    Attributes
    ----------
    changes_winner : ndarray of bool, shape (n_samples,)
        Whether another choice has most votes without the row; a tie is no change.
    overlaps : ndarray of bool, shape (n_samples,)
        Whether the choices selected without the row have one in common with those selected with it.
    distance : ndarray of shape (n_samples,)
        How far the shares of the votes move.
    names : Names
        What the rows are called.
    noun : Noun
        What is left out.
    """

    changes_winner: np.ndarray
    overlaps: np.ndarray
    distance: np.ndarray
    names: Names
    noun: Noun = ROWS

    def __post_init__(self) -> None:
        hold_read_only(self)

    @property
    def instability(self) -> float:
        """The share of rows without which the selected choices have none in common with those selected with it."""
        return float(1 - self.overlaps.mean())

    @property
    def winner_instability(self) -> float:
        """The share of rows without which another choice has most votes."""
        return float(self.changes_winner.mean())

    def rows_that_change_the_winner(self) -> np.ndarray:
        """Return the names of the rows without which another choice has most votes."""
        return self.names.of_rows(np.flatnonzero(self.changes_winner))

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line per row, under its name: changes_winner, overlaps, distance."""
        import pandas as pd

        columns = {"changes_winner": self.changes_winner, "overlaps": self.overlaps, "distance": self.distance}
        return pd.DataFrame(columns, index=self.names.rows)

    def explain(self) -> str:
        """Say in sentences how many rows change the winner, and how many the whole selection."""
        n, changing = len(self.overlaps), self.rows_that_change_the_winner()
        some = ", ".join(map(str, changing[:_SHOWN])) + (", ..." if len(changing) > _SHOWN else "")
        named = f" ({some})" if len(changing) else ""
        rows = self.noun.plural  # a name may have the word row in it, and stays as it is
        said = (
            f"Measured with the same bags: without {len(changing):,} of the {n:,} {rows}{named} another choice has "
            f"most votes; without {int((~self.overlaps).sum()):,} the selected choices have none in common with those "
            f"selected with all {rows}."
        )
        return paragraphs([said])

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return preformatted(self.explain())

    def __len__(self) -> int:
        return len(self.overlaps)
