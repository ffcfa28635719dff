"""The compiled library and its wrappers: C without Python's interface, called through ctypes."""

from stablebag.learning.solvers.native.loading import library, why_not

__all__ = ["library", "why_not"]
