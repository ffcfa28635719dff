"""What cannot be guaranteed: levels below which some learner is unstable."""

from scipy.stats import hypergeom

from stablebag._checks import check_delta, check_integer, check_samples, refuse_value, whole_rows


def threshold_perturbation(n_samples: int, bag_size: int, n_influential: int) -> float:
    """Return exactly how far each of K rows moves the subbagged threshold learner.

    Theorem 10's learner predicts 1 if its m rows have more than m K / n ones. On K ones and n - K zeros, leaving
    out any one of the ones moves its subbagged prediction by ((m - h) / n) P{H = h}, where h = floor(m K / n) and
    H is hypergeometric: m draws from n - 1 rows of which K - 1 are marked.

    >>> threshold_perturbation(n_samples=6, bag_size=3, n_influential=2)  # h = 1: (2 / 6) * (1 * C(4, 2) / C(5, 3))
    0.2
    """
    owner = "threshold_perturbation"
    n, m = _check_subbagging(n_samples, bag_size, owner)
    n_influential = check_integer(n_influential, "n_influential", owner, minimum=1)
    if n_influential > n:
        reason = "they are some of the rows."
        raise refuse_value("n_influential", owner, f"at most n_samples={n}", n_influential, reason)
    h = (m * n_influential) // n
    return (m - h) / n * float(hypergeom.pmf(h, n - 1, n_influential - 1, m))


def unstable_epsilon(n_samples: int, bag_size: int, delta: float, bound: str = "best") -> float:
    """Return the level below which nothing can be guaranteed: subbagging some learner is not (epsilon, delta)-stable.

    Theorem 10: for every epsilon below this level, subbagging m of n rows fails to be (epsilon, delta)-stable for a
    certain learner with outputs in [0, 1] (`stablebag.paper.counterexamples.ThresholdCount`).

    Parameters
    ----------
    n_samples : int
        The number of training rows n.
    bag_size : int
        The number of rows in a bag, m < n.
    delta : float
        The share of rows that may move the prediction further; below 1, and below 1/2 for the paper's form.
    bound : {"best", "paper"}, default="best"
        "best" is the exact perturbation of that learner, "paper" the slightly smaller value printed in the paper.

    Returns
    -------
    float

    Examples
    --------
    >>> round(unstable_epsilon(n_samples=500, bag_size=250, delta=0.1), 10)
    0.0532538319
    >>> round(unstable_epsilon(n_samples=500, bag_size=250, delta=0.1, bound="paper"), 10)
    0.0531354901
    """
    owner = "unstable_epsilon"
    n, m = _check_subbagging(n_samples, bag_size, owner)
    if bound not in ("best", "paper"):
        raise refuse_value("bound", owner, 'one of "best" and "paper"', bound)
    delta = check_delta(delta, owner)
    if delta >= (limit := 0.5 if bound == "paper" else 1.0):
        raise refuse_value("delta", owner, f"in [0, {limit:g})", delta, "there is no such lower bound.")
    influential = 1 + whole_rows(delta, n)
    if bound == "best":
        return threshold_perturbation(n, m, influential)
    chance = float(hypergeom.pmf((m * influential) // n, n - 1, influential - 1, m))
    return (1 - delta - 1 / n) * (m / n) * chance


def _check_subbagging(n_samples: int, bag_size: int, owner: str) -> tuple[int, int]:
    n = check_samples(n_samples, owner)
    m = check_integer(bag_size, "bag_size", owner, minimum=1)
    if m >= n:
        reason = "bags of all rows are as unstable as the learner itself. Theorem 10 is about subbagging."
        raise refuse_value("bag_size", owner, f"smaller than n_samples={n}", m, reason)
    return n, m
