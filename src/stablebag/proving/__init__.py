"""Theorems as numbers, certificates as sentences."""

from typing import TYPE_CHECKING

from stablebag import _lazily

if TYPE_CHECKING:
    from stablebag.proving.bounds import unstable_epsilon as unstable_epsilon
    from stablebag.proving.error_bounds import ErrorPlan as ErrorPlan
    from stablebag.proving.leave_out import VersionsCertificate as VersionsCertificate
    from stablebag.proving.outputs import BoxOutputs as BoxOutputs
    from stablebag.proving.outputs import VectorOutputs as VectorOutputs
    from stablebag.proving.plan import Plan as Plan
    from stablebag.proving.points import PointCertificate as PointCertificate
    from stablebag.proving.points import ReusedBagsCertificate as ReusedBagsCertificate
else:
    __getattr__, __dir__, __all__ = _lazily(
        __name__,
        {
            "bounds": ["unstable_epsilon"],
            "error_bounds": ["ErrorPlan"],
            "leave_out": ["VersionsCertificate"],
            "outputs": ["BoxOutputs", "VectorOutputs"],
            "plan": ["Plan"],
            "points": ["PointCertificate", "ReusedBagsCertificate"],
        },
    )
