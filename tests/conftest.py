import os

import pytest


@pytest.fixture
def seed():
    """The seed of a test; STABLEBAG_TEST_SEED=7 runs them all under another, so that none depends on a lucky one."""
    return int(os.environ.get("STABLEBAG_TEST_SEED", "42"))
