"""stablebag: wrap any learner, and its predictions provably stop hinging on any single training row."""

import importlib
from typing import TYPE_CHECKING, Any

from stablebag.bags import Bags
from stablebag.bounds import unstable_epsilon
from stablebag.certificates import Certificate, Plan, plan
from stablebag.observed import PointCertificate, ReusedBagsCertificate, certify, certify_reused
from stablebag.perturbations import Perturbations
from stablebag.ranges import FixedRange, FunctionRange, ObservedRange, PredictionRange, TrimmedRange
from stablebag.schemes import (
    BernoulliSubbagging,
    ClassicalBagging,
    PoissonizedBagging,
    ResamplingScheme,
    Subbagging,
)
from stablebag.vectors import VectorCertificate

if TYPE_CHECKING:
    from stablebag.displays import PerturbationDisplay, PhaseDiagramDisplay, StabilityCurveDisplay
    from stablebag.ensembles import BaggedClassifier, BaggedRegressor, FunctionClassifier, FunctionRegressor
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
    "Subbagging",
    "TrimmedRange",
    "VectorCertificate",
    "certify",
    "certify_reused",
    "leave_one_out",
    "leave_one_out_refit",
    "plan",
    "replace_one_refit",
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
    "PerturbationDisplay": "stablebag.displays",
    "PhaseDiagramDisplay": "stablebag.displays",
    "StabilityCurveDisplay": "stablebag.displays",
    "leave_one_out": "stablebag.left_out",
    "leave_one_out_refit": "stablebag.left_out",
    "replace_one_refit": "stablebag.left_out",
    "stream_leave_one_out": "stablebag.left_out",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'stablebag' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
