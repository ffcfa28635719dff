import os
import sys
from pathlib import Path

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

# What `make quick` leaves out. Every room keeps most of its tests; `make test` runs them all.
SLOW_PLACES = (
    "statistical",  # many repetitions
    "engines",  # starts clusters
    "hostile",  # thousands of calls, faults, a browser
    "theorems",  # lists of all bags
    "properties",  # random examples, many learners, pools of processes
    "test_documents.py",  # runs the code in pages
    "cli/test_demo.py",  # whole commands
    "cli/test_interval.py",
    "cli/test_measure.py",
    "cli/test_predict.py",
    "cli/test_reproduce.py",
    "cli/test_saving.py",
    "models/test_parallel.py",  # starts and stops workers
    "paper/test_experiments.py",  # whole experiments
    "paper/test_figures.py",
    "showing/report/test_browser.py",  # starts a browser
    "showing/report/test_page.py",  # whole reports
)
SLOW_TESTS = {  # the slowest of the others, of a second or more
    "test_a_perfectly_stable_learner_is_declared_stable_as_often_as_the_power_says",
    "test_a_search_inside_gives_the_same_for_any_number_of_jobs",
    "test_an_unstable_learner_is_rarely_declared_stable",
    "test_any_scale_and_no_spread_can_be_drawn",
    "test_bounds_of_the_same_thing_are_accepted",
    "test_corollary_17_holds_for_a_bagged_model",
    "test_finitely_many_bags_have_the_smallest_of_all_bounds",
    "test_many_bags_come_near_to_all",
    "test_past_ten_thousand_rows_the_frontier_is_exact",
    "test_printed_bounds_are_proved",
    "test_refits_show_progress_and_are_the_same_for_any_number_of_jobs",
    "test_scikit_learns_own_checks_pass",
    "test_solvers_give_scikit_learns_bits_for_any_number_of_jobs_and_backend",
    "test_streaming_is_the_same_without_keeping_a_model",
    "test_the_choice_is_made_without_looking_at_residuals_and_is_the_best_for_typical_ones",
    "test_the_claims_of_setting_2_are_all_checked",
    "test_the_eigenvalue_is_that_of_the_dense_matrix_and_no_less",
    "test_the_same_bits_for_any_batching",
    "test_the_same_bits_for_any_number_of_jobs_and_backend",
    "test_the_same_bits_however_predictions_are_handed_out",
    "test_what_an_impossible_request_is_told_is_indeed_possible",
    "test_with_all_bags_reuse_is_exactly_refitting_under_the_law_without_one",
}


def pytest_collection_modifyitems(items):
    """Mark what is slow."""
    for item in items:
        if _is_slow(item.path) or getattr(item, "originalname", None) in SLOW_TESTS:
            item.add_marker("slow")


def pytest_ignore_collect(collection_path, config):
    """Do not even read the files that `-m "not slow"` leaves out."""
    return True if config.option.markexpr == "not slow" and _is_slow(collection_path) else None


def _is_slow(path):
    here = Path(__file__).parent
    return any(path.is_relative_to(here / place) for place in SLOW_PLACES)


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
