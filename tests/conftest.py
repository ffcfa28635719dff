import os
import sys

import hypothesis
import pytest

# What a terminal is like is for each test to say: neither the width of the one at hand, nor whether it has colours, nor
# that a gate forces them, may decide.
for setting in ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
    os.environ.pop(setting, None)
os.environ["TERM"] = "xterm"

# Machines are shared: how long an example takes says nothing about it.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture
def seed():
    """The seed of a test; STABLEBAG_TEST_SEED=7 runs them all under another, so that none depends on a lucky one."""
    return int(os.environ.get("STABLEBAG_TEST_SEED", "42"))


@pytest.fixture(autouse=True)
def closed_figures():
    """Close the figures that a test has left open, if it has drawn any."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
