"""Marks of tests that ask for more than the lowest versions give: a newer library, or a solver that was verified."""

from importlib.metadata import version

import pytest
from packaging.version import Version

import stablebag.fast  # noqa: F401 (registers its solvers)
from stablebag.models.solving import SOLVERS

_HERE = "{0.major}.{0.minor}".format(Version(version("scikit-learn")))
_UNVERIFIED = not any(_HERE in kind.versions for kind in SOLVERS)
_REASON = f"no solver was verified for scikit-learn {_HERE}"

# An estimator has to choose a solver: the test has to fail where none is chosen.
solver_chosen = pytest.mark.xfail(_UNVERIFIED, reason=_REASON, strict=True)
# A solver is called past that choice: where it was not verified, some of its results are scikit-learn's bits and some
# are not, and neither is claimed.
solver_compared = pytest.mark.skipif(_UNVERIFIED, reason=_REASON)


def older(package, number):
    """Return whether an older version of a package is installed."""
    return Version(version(package)) < Version(number)


def since(package, number, reason):
    """Return the mark of a test that has to fail with an older version of a package."""
    said = f"{package} {version(package)}, before {number}: {reason}"
    return pytest.mark.xfail(older(package, number), reason=said, strict=True)
