"""stablebag: wrap any learner, and its predictions provably stop hinging on any single training row."""

import importlib
from typing import TYPE_CHECKING, Any

from stablebag.bags import Bags
from stablebag.bounds import unstable_epsilon
from stablebag.certificates import Certificate, Plan, plan
from stablebag.observed import certify, certify_reused
from stablebag.perturbations import Perturbations
from stablebag.point_certificates import PointCertificate
from stablebag.ranges import FixedRange, FunctionRange, ObservedRange, PredictionRange, TrimmedRange
from stablebag.reused_bags import ReusedBagsCertificate
from stablebag.schemes import (
    BernoulliSubbagging,
    ClassicalBagging,
    PoissonizedBagging,
    ResamplingScheme,
    Subbagging,
)
from stablebag.vectors import VectorCertificate

if TYPE_CHECKING:
    from stablebag.black_box import StabilityTest, stability_test
    from stablebag.displays import IntervalDisplay, PerturbationDisplay, PhaseDiagramDisplay, StabilityCurveDisplay
    from stablebag.ensembles import BaggedClassifier, BaggedRegressor, FunctionClassifier, FunctionRegressor
    from stablebag.error_estimates import LeaveOneOutError, leave_one_out_error
    from stablebag.intervals import Intervals, jackknife_intervals_refit, predict_interval, random_n_bags
    from stablebag.left_out import leave_one_out, leave_one_out_refit, replace_one_refit, stream_leave_one_out

__all__ = [
    "BaggedClassifier",
    "BaggedRegressor",
    "Bags",
    "BernoulliSubbagging",
    "Certificate",
    "ClassicalBagging",
    "FixedRange",
    "FunctionClassifier",
    "FunctionRange",
    "FunctionRegressor",
    "IntervalDisplay",
    "Intervals",
    "LeaveOneOutError",
    "ObservedRange",
    "PerturbationDisplay",
    "Perturbations",
    "PhaseDiagramDisplay",
    "Plan",
    "PointCertificate",
    "PoissonizedBagging",
    "PredictionRange",
    "ResamplingScheme",
    "ReusedBagsCertificate",
    "StabilityCurveDisplay",
    "StabilityTest",
    "Subbagging",
    "TrimmedRange",
    "VectorCertificate",
    "certify",
    "certify_reused",
    "jackknife_intervals_refit",
    "leave_one_out",
    "leave_one_out_error",
    "leave_one_out_refit",
    "plan",
    "predict_interval",
    "random_n_bags",
    "replace_one_refit",
    "stability_test",
    "stream_leave_one_out",
    "unstable_epsilon",
]
__version__ = "0.1.0.dev0"

# What needs scikit-learn is imported when it is first asked for: certificates and plans come without it.
_LATER = {
    "BaggedClassifier": "stablebag.ensembles",
    "BaggedRegressor": "stablebag.ensembles",
    "FunctionClassifier": "stablebag.ensembles",
    "FunctionRegressor": "stablebag.ensembles",
    "IntervalDisplay": "stablebag.displays",
    "Intervals": "stablebag.intervals",
    "LeaveOneOutError": "stablebag.error_estimates",
    "PerturbationDisplay": "stablebag.displays",
    "PhaseDiagramDisplay": "stablebag.displays",
    "StabilityCurveDisplay": "stablebag.displays",
    "StabilityTest": "stablebag.black_box",
    "jackknife_intervals_refit": "stablebag.intervals",
    "leave_one_out": "stablebag.left_out",
    "leave_one_out_error": "stablebag.error_estimates",
    "leave_one_out_refit": "stablebag.left_out",
    "predict_interval": "stablebag.intervals",
    "random_n_bags": "stablebag.intervals",
    "replace_one_refit": "stablebag.left_out",
    "stability_test": "stablebag.black_box",
    "stream_leave_one_out": "stablebag.left_out",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'stablebag' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
