"""What leaving out each row does to a ranking of items, measured from the scores of the same bags."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag._checks import hold_read_only
from stablebag._wording import ROWS, Noun, paragraphs, preformatted
from stablebag.measuring.names import Names


@dataclass(frozen=True, eq=False)
class LeftOutRankings:
    """What leaving out each row, or unit, does to a ranking; made by `StableRanking.leave_one_out`.

    Attributes
    ----------
    changes_order : ndarray of bool, shape (n_samples,)
        Whether the order of the items by their scores is another without the row.
    changes_top_k : ndarray of bool, shape (n_samples,)
        Whether the k largest scores are those of other items without the row.
    keeps_ranking : ndarray of bool, shape (n_samples,)
        Whether the sets of rankings with and without the row have one in common.
    keeps_top_k : ndarray of bool, shape (n_samples,)
        Whether the inflated sets of the first k have at least k items in common.
    distance : ndarray of shape (n_samples,)
        How far the scores move.
    k : int
        How many items were wanted.
    names : Names
        What the rows are called.
    noun : Noun
        What is left out.
    """

    changes_order: np.ndarray
    changes_top_k: np.ndarray
    keeps_ranking: np.ndarray
    keeps_top_k: np.ndarray
    distance: np.ndarray
    k: int
    names: Names
    noun: Noun = ROWS

    def __post_init__(self) -> None:
        hold_read_only(self)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with a line per row, under its name."""
        import pandas as pd

        columns = ("changes_order", "changes_top_k", "keeps_ranking", "keeps_top_k", "distance")
        return pd.DataFrame({name: getattr(self, name) for name in columns}, index=self.names.rows)

    def explain(self) -> str:
        """Say in sentences how many rows change the order, and how many the sets."""
        changed, top = int(self.changes_order.sum()), int(self.changes_top_k.sum())
        lost, fewer = int((~self.keeps_ranking).sum()), int((~self.keeps_top_k).sum())
        said = (
            f"Measured with the same bags: leaving out one of the {len(self):,} rows changes the order by the scores "
            f"for {changed:,} of them and the first {self.k} for {top:,}; the sets of rankings have none in common "
            f"for {lost:,}, and those of the first {self.k} fewer than {self.k} items for {fewer:,}."
        )
        return paragraphs([self.noun.in_place_of_rows(said)])

    def __str__(self) -> str:
        return self.explain()

    def _repr_html_(self) -> str:
        """For notebooks."""
        return preformatted(self.explain())

    def __len__(self) -> int:
        return len(self.distance)
