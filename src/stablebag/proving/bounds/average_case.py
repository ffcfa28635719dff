"""Infinitely many bags: how many rows can move a prediction far, and how far any one row can."""

import math

from stablebag._checks import check_delta, check_epsilon, check_integer, check_samples
from stablebag.proving.bounds.constant import check_constant, check_inclusion


def average_case_epsilon(delta: float, constant: float) -> float:
    """Return the smallest perturbation that Theorem 8 allows at most a share `delta` of the rows to exceed.

    Theorem 8: derandomized bagging of any learner is (epsilon, delta)-stable as soon as delta epsilon^2 >= c / 4.
    It says nothing about delta = 0, for which epsilon is infinite.

    >>> average_case_epsilon(delta=0.25, constant=0.01)
    0.1
    """
    delta = check_delta(delta, "average_case_epsilon")
    constant = check_constant(constant, "average_case_epsilon")
    return math.inf if delta == 0 else math.sqrt(constant / (4 * delta))


def average_case_delta(epsilon: float, constant: float, n_samples: int) -> float:
    """Return the share of rows that may move the prediction by more than `epsilon`, by Theorem 8.

    Theorem 8 solved for delta: the number of such rows is at most n c / (4 epsilon^2), and whole. At most 1.

    >>> average_case_delta(epsilon=0.1, constant=0.01, n_samples=10)  # 2.5 rows of 10, so 2
    0.2
    """
    epsilon = check_epsilon(epsilon, "average_case_delta")
    n_samples = check_samples(n_samples, "average_case_delta")
    constant = check_constant(constant, "average_case_delta")
    rows = math.inf if epsilon == 0 else n_samples * constant / 4 / epsilon / epsilon
    return math.floor(rows) / n_samples if rows < n_samples else 1.0


def kth_perturbation(rank: int, n_samples: int, constant: float, p: float) -> float:
    """Bound the `rank`-th largest of the n leave-one-out perturbations, by Theorems 8 and 14.

    Whole rows are counted: if the k-th largest perturbation is epsilon, then k epsilon^2 <= n c / 4 (mean square, proof
    of Theorem 8), and no perturbation exceeds p (Theorem 14). So at most k - 1 rows move the prediction by more
    than the value returned. This is a little sharper than Theorem 8 at delta = (k - 1) / n.

    >>> kth_perturbation(rank=4, n_samples=16, constant=0.01, p=0.5)  # sqrt(16 * 0.01 / 4 / 4)
    0.1
    >>> kth_perturbation(rank=17, n_samples=16, constant=0.01, p=0.5)  # there is no 17th row
    0.0
    """
    rank = check_integer(rank, "rank", "kth_perturbation", minimum=1)
    p = check_inclusion(p, "kth_perturbation")
    if rank > n_samples:
        return 0.0
    return min(math.sqrt(n_samples * check_constant(constant, "kth_perturbation") / (4 * rank)), p)


def worst_case_epsilon(p: float) -> float:
    """Return the largest perturbation that any one row can cause in derandomized bagging.

    Theorem 14: it is p, for every learner, and the memorizing learner attains it.

    >>> worst_case_epsilon(p=0.5)
    0.5
    """
    return check_inclusion(p, "worst_case_epsilon")


def memorizer_in_sample_delta(epsilon: float, p: float) -> float:
    """Return the share of rows that move the memorizing learner's prediction *at that row* by more than epsilon.

    Section 5.2: each row moves the prediction at itself by exactly p. So the share is 1 for epsilon < p and 0 for
    epsilon >= p (the printed display has the boundary on the other side).

    >>> memorizer_in_sample_delta(0.49, p=0.5), memorizer_in_sample_delta(0.5, p=0.5)
    (1.0, 0.0)
    """
    epsilon = check_epsilon(epsilon, "memorizer_in_sample_delta")
    return 1.0 if epsilon < check_inclusion(p, "memorizer_in_sample_delta") else 0.0
