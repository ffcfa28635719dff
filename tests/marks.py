"""Marks of tests that need more than the lowest versions: a newer library, a verified solver, or a POSIX system."""

import os
from importlib.metadata import version

import pytest
from packaging.version import Version

import stablebag.fast  # noqa: F401 (registers its solvers)
from stablebag.models.solving import SOLVERS

_HERE = "{0.major}.{0.minor}".format(Version(version("scikit-learn")))
_UNVERIFIED = not any(_HERE in kind.versions for kind in SOLVERS)
_REASON = f"no solver was verified for scikit-learn {_HERE}"

# For tests in which an estimator must choose a solver: they must fail if none is chosen.
solver_chosen = pytest.mark.xfail(_UNVERIFIED, reason=_REASON, strict=True)
# For tests that call a solver directly: with an unverified version, its results may or may not equal scikit-learn's.
solver_compared = pytest.mark.skipif(_UNVERIFIED, reason=_REASON)

# For tests that send signals, make symbolic links or set permissions, which Windows does not have in this form.
posix_only = pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals, links or permissions")


def older(package, number):
    """Return whether an older version of a package is installed."""
    return Version(version(package)) < Version(number)


def since(package, number, reason):
    """Return the mark of a test that must fail with an older version of a package."""
    reason = f"{package} {version(package)}, before {number}: {reason}"
    return pytest.mark.xfail(older(package, number), reason=reason, strict=True)
