import os
import sys

import hypothesis
import pytest

# Tests must not depend on the width or the colours of the terminal they run in.
for setting in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(setting, None)
os.environ["TERM"] = "xterm"

# Machines are shared, so deadlines for examples would fail at random.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture
def seed():
    """The seed of a test. STABLEBAG_TEST_SEED=7 runs all tests with another seed, to find those that rely on luck."""
    return int(os.environ.get("STABLEBAG_TEST_SEED", "42"))


@pytest.fixture(autouse=True)
def closed_figures():
    """Close the figures that a test has left open."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
