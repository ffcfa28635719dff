"""With a version of scikit-learn for which no solver was verified, none is used, and what they do is not tested."""

from pathlib import Path

import pytest
import sklearn

from stablebag.learning.solvers.choice import SOLVERS

HERE = Path(__file__).parent
OF_SOLVERS = [f"test_{name}.py" for name in (
    "lbfgs", "linear", "logistic", "neighbours", "pipelines", "steps", "trees"
)]  # fmt: skip
IN_CHOICE = {  # the others of test_choice.py say what is done instead, and hold for every version
    "test_a_class_that_is_gone_does_not_shift_the_others",
    "test_a_fitted_model_does_not_change_with_the_callers_table_and_learner",
    "test_a_worker_without_the_library_does_not_take_another_order_of_ties",
    "test_one_row_cannot_bring_back_scikit_learns_order_of_ties",
    "test_parameters_that_scikit_learn_refuses_are_refused_by_it",
    "test_points_that_are_too_far_for_floats_have_scikit_learns_neighbours",
    "test_settings_of_transformers_count_also_when_predicting",
    "test_ties_in_row_order_are_the_same_for_a_warm_start_and_after_forgetting",
    "test_ties_in_row_order_need_the_compiled_library_and_a_known_version",
    "test_trees_that_cannot_have_ties_in_row_order_are_refused",
    "test_trees_that_do_not_come_out_the_same_are_not_grown_with_ties_in_row_order",
    "test_trees_with_ties_in_two_orders_are_not_mixed",
    "test_warnings_that_scikit_learn_gives_for_each_bag_are_given_for_each",
    "test_what_is_passed_to_fit_is_for_the_learner",
    "test_without_memory_for_a_tree_scikit_learn_grows_it_unless_ties_are_in_row_order",
}


def pytest_collection_modifyitems(items):
    """Skip what is about the results of solvers where they are not used."""
    version = ".".join(sklearn.__version__.split(".")[:2])
    if any(version in kind.versions for kind in SOLVERS):
        return
    skipped = pytest.mark.skip(reason=f"no solver was verified for scikit-learn {version}")
    for item in items:
        if item.path.parent == HERE and (
            item.path.name in OF_SOLVERS or getattr(item, "originalname", None) in IN_CHOICE
        ):
            item.add_marker(skipped)
