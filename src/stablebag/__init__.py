"""stablebag: wrap any learner, and no training row, except a small provable share, can move its predictions far."""

import importlib
from typing import Any

__version__ = "0.1.0"

# Every public name, by the file that defines it. A file is imported when one of its names is first used: certificates
# and plans do not import scikit-learn, and only displays import matplotlib.
_ROOMS = {
    "stablebag.resampling.bags": ["Bags"],
    "stablebag.resampling.law": ["ResamplingScheme"],
    "stablebag.resampling.schemes": [
        "BernoulliSubbagging",
        "ClassicalBagging",
        "PoissonizedBagging",
        "RandomBags",
        "Subbagging",
        "random_n_bags",
    ],
    "stablebag.resampling.unequal": ["ClusterSubbagging", "StratifiedSubbagging", "UnequalScheme"],
    "stablebag.resampling.units": ["RowIds"],
    "stablebag.models.fitted": ["BagPredictions"],
    "stablebag.models.estimators": ["BaggedClassifier", "BaggedRegressor"],
    "stablebag.models.forgetting": ["forget", "learn"],
    "stablebag.models.functions": ["FunctionClassifier", "FunctionRegressor"],
    "stablebag.models.parallel": ["on_progress"],
    "stablebag.models.ranges": ["FixedRange", "FunctionRange", "ObservedRange", "PredictionRange", "TrimmedRange"],
    "stablebag.models.rows": ["RowSource"],
    "stablebag.tables.parquet": ["ParquetTable"],
    "stablebag.proving.bounds": ["unstable_epsilon"],
    "stablebag.proving.certificate": ["Certificate", "VectorCertificate"],
    "stablebag.proving.certify": ["certify", "certify_reused"],
    "stablebag.proving.plan": ["Plan", "plan"],
    "stablebag.proving.points": ["PointCertificate", "ReusedBagsCertificate"],
    "stablebag.measuring.black_box": ["StabilityTest", "stability_test"],
    "stablebag.measuring.errors": ["LeaveOneOutError", "leave_one_out_error"],
    "stablebag.measuring.leave_one_out": ["leave_one_out"],
    "stablebag.measuring.perturbations": ["Perturbations"],
    "stablebag.measuring.refits": ["leave_one_out_refit", "replace_one_refit"],
    "stablebag.measuring.suspects": ["Suspects", "suspects"],
    "stablebag.deciding.inflated_argmax": ["inflated_argmax"],
    "stablebag.deciding.intervals": ["Intervals", "jackknife_intervals_refit", "predict_interval"],
    "stablebag.deciding.label_sets": ["LabelSets", "predict_set"],
    "stablebag.deciding.ranking": ["LeftOutRankings", "RankSets", "StableRanking", "stable_ranking", "top_k_sets"],
    "stablebag.deciding.selection": [
        "LeftOutSelections",
        "Selection",
        "SelectionStability",
        "search_winner",
        "select_model",
        "selection_stability",
    ],
    "stablebag.showing.displays.curve": ["StabilityCurveDisplay"],
    "stablebag.showing.displays.histogram": ["PerturbationDisplay"],
    "stablebag.showing.displays.intervals": ["IntervalDisplay"],
    "stablebag.showing.displays.label_sets": ["LabelSetDisplay"],
    "stablebag.showing.displays.phase_diagram": ["PhaseDiagramDisplay"],
}
HOMES = {name: module for module, names in _ROOMS.items() for name in names}
__all__ = sorted(HOMES)


def __getattr__(name: str) -> Any:
    if name in HOMES:
        return getattr(importlib.import_module(HOMES[name]), name)
    raise AttributeError(f"module 'stablebag' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
