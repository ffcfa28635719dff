"""stablebag: wrap any learner, and no training row, except a small provable share, can move its predictions far."""

from typing import TYPE_CHECKING

from stablebag._lazy import lazily

__version__ = "0.1.0"

if TYPE_CHECKING:
    from stablebag.deciding.inflated_argmax import inflated_argmax as inflated_argmax
    from stablebag.deciding.intervals import predict_interval as predict_interval
    from stablebag.deciding.label_sets import predict_set as predict_set
    from stablebag.deciding.ranking import stable_ranking as stable_ranking
    from stablebag.deciding.selection import select_model as select_model
    from stablebag.measuring.errors import leave_one_out_error as leave_one_out_error
    from stablebag.measuring.leave_one_out import leave_one_out as leave_one_out
    from stablebag.measuring.refits import leave_one_out_refit as leave_one_out_refit
    from stablebag.measuring.suspects import suspects as suspects
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
    __getattr__, __dir__, __all__ = lazily(
        __name__,
        {
            "deciding.inflated_argmax": ["inflated_argmax"],
            "deciding.intervals": ["predict_interval"],
            "deciding.label_sets": ["predict_set"],
            "deciding.ranking": ["stable_ranking"],
            "deciding.selection": ["select_model"],
            "measuring.errors": ["leave_one_out_error"],
            "measuring.leave_one_out": ["leave_one_out"],
            "measuring.refits": ["leave_one_out_refit"],
            "measuring.suspects": ["suspects"],
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
