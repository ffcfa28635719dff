"""stablebag: wrap any learner, and no training row, except a small provable share, can move its predictions far."""

import importlib
from typing import Any

__version__ = "0.1.0"

# Every public name, by the file that defines it. A file is imported when one of its names is first used: certificates
# and plans do not import scikit-learn, and only displays import matplotlib.
_ROOMS = {
    "stablebag.resampling.bags": ["Bags"],
    "stablebag.resampling.bernoulli": ["BernoulliSubbagging"],
    "stablebag.resampling.classical": ["ClassicalBagging"],
    "stablebag.resampling.clusters": ["ClusterSubbagging"],
    "stablebag.resampling.poissonized": ["PoissonizedBagging"],
    "stablebag.resampling.random_bags": ["RandomBags", "random_n_bags"],
    "stablebag.resampling.row_ids": ["RowIds"],
    "stablebag.resampling.scheme": ["ResamplingScheme"],
    "stablebag.resampling.stratified": ["StratifiedSubbagging"],
    "stablebag.resampling.subbagging": ["Subbagging"],
    "stablebag.resampling.unequal": ["UnequalScheme"],
    "stablebag.learning.classifier": ["BaggedClassifier"],
    "stablebag.learning.forgetting": ["forget", "learn"],
    "stablebag.learning.functions": ["FunctionClassifier", "FunctionRegressor"],
    "stablebag.learning.predictions": ["BagPredictions"],
    "stablebag.learning.progress": ["on_progress"],
    "stablebag.learning.ranges": ["FixedRange", "FunctionRange", "ObservedRange", "PredictionRange", "TrimmedRange"],
    "stablebag.learning.regressor": ["BaggedRegressor"],
    "stablebag.learning.sources.parquet": ["ParquetTable"],
    "stablebag.learning.sources.source": ["RowSource"],
    "stablebag.proving.bounds.impossible": ["unstable_epsilon"],
    "stablebag.proving.certificate": ["Certificate"],
    "stablebag.proving.certify": ["certify", "certify_reused"],
    "stablebag.proving.plan": ["Plan", "plan"],
    "stablebag.proving.points": ["PointCertificate"],
    "stablebag.proving.reused_bags": ["ReusedBagsCertificate"],
    "stablebag.proving.vector": ["VectorCertificate"],
    "stablebag.measuring.black_box": ["StabilityTest", "stability_test"],
    "stablebag.measuring.errors": ["LeaveOneOutError", "leave_one_out_error"],
    "stablebag.measuring.leave_one_out": ["leave_one_out", "stream_leave_one_out"],
    "stablebag.measuring.perturbations": ["Perturbations"],
    "stablebag.measuring.refits": ["leave_one_out_refit", "replace_one_refit"],
    "stablebag.measuring.suspects": ["Suspects", "suspects"],
    "stablebag.deciding.inflated_argmax": ["inflated_argmax", "margin_argmax"],
    "stablebag.deciding.intervals": ["Intervals", "jackknife_intervals_refit", "predict_interval"],
    "stablebag.deciding.label_sets": ["LabelSets", "predict_set"],
    "stablebag.deciding.selection_stability": ["SelectionStability", "selection_stability"],
    "stablebag.deciding.left_out_rankings": ["LeftOutRankings"],
    "stablebag.deciding.left_out_selections": ["LeftOutSelections"],
    "stablebag.deciding.rank_sets": ["RankSets"],
    "stablebag.deciding.ranking": ["StableRanking", "stable_ranking"],
    "stablebag.deciding.search_winner": ["search_winner"],
    "stablebag.deciding.selection": ["Selection", "select_model"],
    "stablebag.deciding.top_k": ["top_k_sets"],
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
