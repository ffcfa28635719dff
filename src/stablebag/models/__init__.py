"""Fits one model per bag and averages them."""

from typing import TYPE_CHECKING

from stablebag import _lazily

if TYPE_CHECKING:
    from stablebag.models.fitted import BagPredictions as BagPredictions
    from stablebag.models.ranges import PredictionRange as PredictionRange
    from stablebag.models.rows import RowSource as RowSource
else:
    __getattr__, __dir__, __all__ = _lazily(
        __name__,
        {
            "fitted": ["BagPredictions"],
            "ranges": ["PredictionRange"],
            "rows": ["RowSource"],
        },
    )
