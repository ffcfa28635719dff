"""stablebag: wrap any learner, and no training row, except a small provable share, can move its predictions far."""

import importlib
import sys
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"


def _lazily(package: str, files: dict[str, list[str]]) -> tuple[Any, Any, list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` for a package whose public names are imported when first used.

    So certificates and plans do not import scikit-learn, and only displays import matplotlib.
    """
    homes = {name: f"{package}.{file}" for file, names in files.items() for name in names}

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes})

    return find, names, sorted(homes)


if TYPE_CHECKING:
    from stablebag.deciding.inflated_argmax import inflated_argmax as inflated_argmax
    from stablebag.deciding.intervals import predict_interval as predict_interval
    from stablebag.deciding.label_sets import predict_set as predict_set
    from stablebag.deciding.ranking import stable_ranking as stable_ranking
    from stablebag.deciding.selection import select_model as select_model
    from stablebag.measuring.errors import compare_errors as compare_errors
    from stablebag.measuring.errors import leave_one_out_error as leave_one_out_error
    from stablebag.measuring.leave_one_out import leave_one_out as leave_one_out
    from stablebag.measuring.refits import leave_one_out_refit as leave_one_out_refit
    from stablebag.measuring.suspects import suspects as suspects
    from stablebag.measuring.versions import compare_versions as compare_versions
    from stablebag.models.estimators import BaggedClassifier as BaggedClassifier
    from stablebag.models.estimators import BaggedRegressor as BaggedRegressor
    from stablebag.models.forgetting import forget as forget
    from stablebag.models.forgetting import learn as learn
    from stablebag.models.functions import FunctionClassifier as FunctionClassifier
    from stablebag.models.functions import FunctionRegressor as FunctionRegressor
    from stablebag.models.parallel import on_progress as on_progress
    from stablebag.models.ranges import FixedRange as FixedRange
    from stablebag.models.ranges import ObservedRange as ObservedRange
    from stablebag.models.ranges import TrimmedRange as TrimmedRange
    from stablebag.proving.certificate import Certificate as Certificate
    from stablebag.proving.certify import certify as certify
    from stablebag.proving.plan import plan as plan
    from stablebag.resampling.schemes import BernoulliSubbagging as BernoulliSubbagging
    from stablebag.resampling.schemes import ClassicalBagging as ClassicalBagging
    from stablebag.resampling.schemes import PoissonizedBagging as PoissonizedBagging
    from stablebag.resampling.schemes import Subbagging as Subbagging
    from stablebag.resampling.schemes import random_n_bags as random_n_bags
    from stablebag.resampling.unequal import ClusterSubbagging as ClusterSubbagging
    from stablebag.resampling.unequal import StratifiedSubbagging as StratifiedSubbagging
    from stablebag.showing.displays.curve import StabilityCurveDisplay as StabilityCurveDisplay
    from stablebag.showing.displays.histogram import PerturbationDisplay as PerturbationDisplay
    from stablebag.showing.displays.intervals import IntervalDisplay as IntervalDisplay
    from stablebag.showing.study import study as study
    from stablebag.tables.parquet import ParquetTable as ParquetTable
else:
    __getattr__, __dir__, __all__ = _lazily(
        __name__,
        {
            "deciding.inflated_argmax": ["inflated_argmax"],
            "deciding.intervals": ["predict_interval"],
            "deciding.label_sets": ["predict_set"],
            "deciding.ranking": ["stable_ranking"],
            "deciding.selection": ["select_model"],
            "measuring.errors": ["compare_errors", "leave_one_out_error"],
            "measuring.leave_one_out": ["leave_one_out"],
            "measuring.refits": ["leave_one_out_refit"],
            "measuring.suspects": ["suspects"],
            "measuring.versions": ["compare_versions"],
            "models.estimators": ["BaggedClassifier", "BaggedRegressor"],
            "models.forgetting": ["forget", "learn"],
            "models.functions": ["FunctionClassifier", "FunctionRegressor"],
            "models.parallel": ["on_progress"],
            "models.ranges": ["FixedRange", "ObservedRange", "TrimmedRange"],
            "proving.certificate": ["Certificate"],
            "proving.certify": ["certify"],
            "proving.plan": ["plan"],
            "resampling.schemes": [
                "BernoulliSubbagging",
                "ClassicalBagging",
                "PoissonizedBagging",
                "Subbagging",
                "random_n_bags",
            ],
            "resampling.unequal": ["ClusterSubbagging", "StratifiedSubbagging"],
            "showing.displays.curve": ["StabilityCurveDisplay"],
            "showing.displays.histogram": ["PerturbationDisplay"],
            "showing.displays.intervals": ["IntervalDisplay"],
            "showing.study": ["study"],
            "tables.parquet": ["ParquetTable"],
        },
    )
