import os

import hypothesis
import pytest

# Machines are shared: how long an example takes says nothing about it.
hypothesis.settings.register_profile("unhurried", deadline=None)
hypothesis.settings.load_profile("unhurried")


@pytest.fixture
def seed():
    """The seed of a test; STABLEBAG_TEST_SEED=7 runs them all under another, so that none depends on a lucky one."""
    return int(os.environ.get("STABLEBAG_TEST_SEED", "42"))
