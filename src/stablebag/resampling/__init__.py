"""Schemes for drawing bags, and the laws of the bags."""

from typing import TYPE_CHECKING

from stablebag import _lazily

if TYPE_CHECKING:
    from stablebag.resampling.bags import Bags as Bags
    from stablebag.resampling.law import ResamplingScheme as ResamplingScheme
    from stablebag.resampling.law import ResolvedScheme as ResolvedScheme
    from stablebag.resampling.schemes import RandomBags as RandomBags
    from stablebag.resampling.unequal import UnequalScheme as UnequalScheme
    from stablebag.resampling.units import RowIds as RowIds
else:
    __getattr__, __dir__, __all__ = _lazily(
        __name__,
        {
            "bags": ["Bags"],
            "law": ["ResamplingScheme", "ResolvedScheme"],
            "schemes": ["RandomBags"],
            "unequal": ["UnequalScheme"],
            "units": ["RowIds"],
        },
    )
