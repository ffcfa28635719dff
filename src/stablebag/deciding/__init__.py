"""Prediction intervals, label sets, model selection and rankings, with guarantees."""

from typing import TYPE_CHECKING

from stablebag import _lazily

if TYPE_CHECKING:
    from stablebag.deciding.intervals import Intervals as Intervals
    from stablebag.deciding.intervals import jackknife_intervals_refit as jackknife_intervals_refit
    from stablebag.deciding.label_sets import LabelSets as LabelSets
    from stablebag.deciding.ranking import LeftOutRankings as LeftOutRankings
    from stablebag.deciding.ranking import RankSets as RankSets
    from stablebag.deciding.ranking import StableRanking as StableRanking
    from stablebag.deciding.ranking import top_k_sets as top_k_sets
    from stablebag.deciding.selection import LeftOutSelections as LeftOutSelections
    from stablebag.deciding.selection import Selection as Selection
    from stablebag.deciding.selection import SelectionStability as SelectionStability
    from stablebag.deciding.selection import search_winner as search_winner
    from stablebag.deciding.selection import selection_stability as selection_stability
else:
    __getattr__, __dir__, __all__ = _lazily(
        __name__,
        {
            "intervals": ["Intervals", "jackknife_intervals_refit"],
            "label_sets": ["LabelSets"],
            "ranking": ["LeftOutRankings", "RankSets", "StableRanking", "top_k_sets"],
            "selection": [
                "LeftOutSelections",
                "Selection",
                "SelectionStability",
                "search_winner",
                "selection_stability",
            ],
        },
    )
