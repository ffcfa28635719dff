"""Every theorem as a pure function of numbers: the paper's, and the sharper ones proved in docs/proofs.md.

Predictions are taken to lie in an interval of length 1; for length R multiply every epsilon by R. `delta` is a share of
the training rows, never a confidence level. The letters p and q are the paper's: the chance that a row is in a bag, and
minus the covariance of "row i is in the bag" and "row j is in the bag". Theorems are numbered as in Soloff, Barber and
Willett (2024),
"Bagging Provides Assumption-free Stability", JMLR 25(131).
"""

from stablebag.proving.bounds.average_case import (
    average_case_delta,
    average_case_epsilon,
    kth_perturbation,
    memorizer_in_sample_delta,
    worst_case_epsilon,
)
from stablebag.proving.bounds.constant import bagging_constant, empty_bags_shift, shifted_constant
from stablebag.proving.bounds.drawn_bags import observed_mean_square, standard_deviation_bound
from stablebag.proving.bounds.finite_bags import (
    bags_to_double,
    finite_bags_delta,
    finite_bags_epsilon,
    finite_bags_mean,
    finite_bags_rows_epsilon,
    mean_square_perturbation,
    monte_carlo_radius,
    second_moment_delta,
    second_moment_epsilon,
)
from stablebag.proving.bounds.impossible import threshold_perturbation, unstable_epsilon
from stablebag.proving.bounds.norms import (
    loss_perturbation,
    mean_perturbation,
    norm_perturbation,
    replace_one_in_expectation,
)
from stablebag.proving.bounds.others import black_box_power_ceiling, inherited_stability
from stablebag.proving.bounds.unbounded import (
    clipped_delta,
    clipped_epsilon,
    data_dependent_scale,
    finite_bags_unbounded_delta,
    finite_bags_unbounded_epsilon,
    unbounded_delta,
    unbounded_epsilon,
)
from stablebag.proving.bounds.unequal_rows import kth_of_unequal_rows, unequal_rows_epsilon, unequal_rows_mean
from stablebag.proving.bounds.vectors import (
    simplex_radius,
    vector_epsilon,
    vector_monte_carlo_radius,
    vote_delta,
    vote_epsilon,
    vote_variance,
)

__all__ = [
    "average_case_delta",
    "average_case_epsilon",
    "bagging_constant",
    "bags_to_double",
    "black_box_power_ceiling",
    "clipped_delta",
    "clipped_epsilon",
    "data_dependent_scale",
    "empty_bags_shift",
    "finite_bags_delta",
    "finite_bags_epsilon",
    "finite_bags_mean",
    "finite_bags_rows_epsilon",
    "finite_bags_unbounded_delta",
    "finite_bags_unbounded_epsilon",
    "inherited_stability",
    "kth_of_unequal_rows",
    "kth_perturbation",
    "loss_perturbation",
    "mean_perturbation",
    "mean_square_perturbation",
    "memorizer_in_sample_delta",
    "monte_carlo_radius",
    "norm_perturbation",
    "observed_mean_square",
    "replace_one_in_expectation",
    "second_moment_delta",
    "second_moment_epsilon",
    "shifted_constant",
    "simplex_radius",
    "standard_deviation_bound",
    "threshold_perturbation",
    "unbounded_delta",
    "unbounded_epsilon",
    "unequal_rows_epsilon",
    "unequal_rows_mean",
    "unstable_epsilon",
    "vector_epsilon",
    "vector_monte_carlo_radius",
    "vote_delta",
    "vote_epsilon",
    "vote_variance",
    "worst_case_epsilon",
]
