"""Outputs without a range known in advance: unbounded ones, and ones clipped to a range taken from the data."""

import math

from stablebag._checks import as_share, check_bags, check_delta, check_epsilon, check_real
from stablebag.proving.bounds.average_case import average_case_delta, average_case_epsilon
from stablebag.proving.bounds.finite_bags import finite_bags_delta, finite_bags_epsilon


def data_dependent_scale(bag_variance: float) -> float:
    """Return R*(D, x), twice the standard deviation of the prediction over bags, which takes the place of the range.

    Theorem 12: without any bound on the outputs, derandomized bagging moves by more than epsilon R*(D, x) for at most a
    share delta of the rows, as soon as delta epsilon^2 >= c / 4. R* never exceeds the range of the outputs. With
    a variance estimated from drawn bags, the result is an estimate, not a certificate.

    >>> data_dependent_scale(bag_variance=0.25)  # half of the bags say 0, half say 1: the range itself
    1.0
    """
    return 2 * math.sqrt(check_real(bag_variance, "bag_variance", "data_dependent_scale"))


def unbounded_epsilon(delta: float, constant: float, bag_variance: float) -> float:
    """Return Theorem 12's epsilon in the units of the prediction: sqrt(c / (4 delta)) R*(D, x).

    >>> unbounded_epsilon(delta=0.25, constant=0.01, bag_variance=4.0)  # 0.1 of R* = 4
    0.4
    """
    return average_case_epsilon(delta, constant) * data_dependent_scale(bag_variance)


def unbounded_delta(epsilon: float, constant: float, bag_variance: float, n_samples: int) -> float:
    """Return Theorem 12's share of rows that may move the prediction by more than `epsilon`, in its own units.

    >>> unbounded_delta(epsilon=0.4, constant=0.01, bag_variance=4.0, n_samples=10)  # 2.5 rows of 10, so 2
    0.2
    """
    scale = data_dependent_scale(bag_variance)
    epsilon = check_epsilon(epsilon, "unbounded_delta")
    return 0.0 if scale == 0 else average_case_delta(epsilon / scale, constant, n_samples)


def finite_bags_unbounded_epsilon(delta: float, constant: float, n_bags: float, output_range: float) -> float:
    """Return Theorem 19's epsilon in the units of the prediction, best split: Theorem 9 times `output_range`.

    Theorem 19: with finitely many bags the scale is the range of the learner's outputs at x over all bags and seeds;
    the standard deviation of Theorem 12 is not enough, because Hoeffding's inequality needs bounded outputs.

    >>> round(finite_bags_unbounded_epsilon(delta=0.05, constant=1 / 999, n_bags=1000, output_range=10.0), 3)
    1.885
    """
    output_range = check_real(output_range, "output_range", "finite_bags_unbounded_epsilon", finite=True)
    return finite_bags_epsilon(delta, constant, n_bags)[0] * output_range


def finite_bags_unbounded_delta(epsilon: float, constant: float, n_bags: float, output_range: float) -> float:
    """Return Theorem 19's share for a perturbation in the units of the prediction, best split.

    >>> round(finite_bags_unbounded_delta(epsilon=1.8852, constant=1 / 999, n_bags=1000, output_range=10.0), 4)
    0.05
    """
    output_range = check_real(output_range, "output_range", "finite_bags_unbounded_delta", finite=True)
    epsilon = check_epsilon(epsilon, "finite_bags_unbounded_delta")
    return 0.0 if output_range == 0 else finite_bags_delta(epsilon / output_range, constant, n_bags)


def clipped_epsilon(delta: float, constant: float, delta_range: float, n_bags: float = math.inf) -> float:
    """Return the epsilon, relative to the length of I(D), for predictions clipped to a data-dependent interval I(D).

    Theorem 13, and Theorem 20 for finitely many bags: if leaving out a row changes I(D) for at most a share delta_I of
    the rows, clipped bagging is (epsilon, delta + delta_I)-stable on the scale of I(D)'s length wherever Theorem 8 (or
    9) promises (epsilon, delta). For a share of at most delta_I, epsilon is infinite.

    >>> clipped_epsilon(delta=0.75, constant=0.01, delta_range=0.5)
    0.1
    """
    delta = check_delta(delta, "clipped_epsilon")
    rest = delta - check_delta(delta_range, "clipped_epsilon", name="delta_range")
    return math.inf if rest <= 0 else finite_bags_epsilon(rest, constant, n_bags)[0]


def clipped_delta(
    epsilon: float, constant: float, n_samples: int, delta_range: float, n_bags: float = math.inf
) -> float:
    """Return the share of rows, including those that change I(D), that may exceed `epsilon` relative to its length.

    Theorems 13 and 20 solved for delta: Theorem 8's share (or 9's) and delta_I add up. At most 1.

    >>> clipped_delta(epsilon=0.1, constant=0.01, n_samples=10, delta_range=0.5)  # 2 of 10 rows, and 5 that change I(D)
    0.7
    """
    delta_range = check_delta(delta_range, "clipped_delta", name="delta_range")
    if math.isinf(check_bags(n_bags, "clipped_delta")):
        share = average_case_delta(epsilon, constant, n_samples)
        return min(1.0, float(as_share(share, n_samples) + as_share(delta_range, n_samples)))
    return min(1.0, finite_bags_delta(epsilon, constant, n_bags) + delta_range)
