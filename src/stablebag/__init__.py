"""stablebag: wrap any learner, and its predictions provably stop hinging on any single training row."""

from stablebag.bags import Bags
from stablebag.bounds import unstable_epsilon
from stablebag.certificates import Certificate, Plan, plan
from stablebag.ranges import FixedRange, FunctionRange, ObservedRange, PredictionRange, TrimmedRange
from stablebag.schemes import (
    BernoulliSubbagging,
    ClassicalBagging,
    PoissonizedBagging,
    ResamplingScheme,
    Subbagging,
)

__all__ = [
    "Bags",
    "BernoulliSubbagging",
    "Certificate",
    "ClassicalBagging",
    "FixedRange",
    "FunctionRange",
    "ObservedRange",
    "Plan",
    "PoissonizedBagging",
    "PredictionRange",
    "ResamplingScheme",
    "Subbagging",
    "TrimmedRange",
    "plan",
    "unstable_epsilon",
]
__version__ = "0.1.0.dev0"
