"""Measurements of what leaving out a row does."""

from typing import TYPE_CHECKING

from stablebag import _lazily

if TYPE_CHECKING:
    from stablebag.measuring.black_box import StabilityTest as StabilityTest
    from stablebag.measuring.black_box import stability_test as stability_test
    from stablebag.measuring.error_intervals import BoundedLoss as BoundedLoss
    from stablebag.measuring.error_intervals import ErrorInterval as ErrorInterval
    from stablebag.measuring.errors import BestModels as BestModels
    from stablebag.measuring.errors import ErrorComparison as ErrorComparison
    from stablebag.measuring.errors import LeaveOneOutError as LeaveOneOutError
    from stablebag.measuring.perturbations import Perturbations as Perturbations
    from stablebag.measuring.refits import replace_one_refit as replace_one_refit
    from stablebag.measuring.suspects import Suspects as Suspects
    from stablebag.measuring.versions import Versions as Versions
else:
    __getattr__, __dir__, __all__ = _lazily(
        __name__,
        {
            "black_box": ["StabilityTest", "stability_test"],
            "error_intervals": ["BoundedLoss", "ErrorInterval"],
            "errors": ["BestModels", "ErrorComparison", "LeaveOneOutError"],
            "perturbations": ["Perturbations"],
            "refits": ["replace_one_refit"],
            "suspects": ["Suspects"],
            "versions": ["Versions"],
        },
    )
