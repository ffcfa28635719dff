"""How often the verdict claims too much about accuracy. Each test declares how often it may fail by chance.

`python tests/statistical/test_beats_a_constant.py` makes the table of docs/verdict.md, with more trials.
"""

import re
import sys

import numpy as np
import pytest
from scipy.stats import binom

from stablebag.measuring import Perturbations
from stablebag.showing.comparison import Comparison
from stablebag.showing.scores import LEVEL, HeldOut
from stablebag.showing.verdict import decide

pytestmark = pytest.mark.slow

FALSE_ALARM = 1e-5
STABLE = Comparison.of(None, Perturbations(np.zeros(2), np.ones((3, 2)), np.arange(3)))
N_TRAIN = 200


def normal(rng, n):
    return rng.normal(size=n)


def heavy_tailed(rng, n):
    return rng.standard_t(2, size=n)


def skewed(rng, n):
    return np.exp(1.5 * rng.normal(size=n)) - np.exp(1.125)


def rare(share):
    return lambda rng, n: (rng.random(n) < share).astype(int)


TARGETS = {
    "normal": normal, "heavy-tailed (t with 2 degrees)": heavy_tailed, "skewed (lognormal)": skewed,
    "50 % positives": rare(0.5), "11 % positives": rare(0.11), "5 % positives": rare(0.05), "1 % positives": rare(0.01),
}  # fmt: skip


def said(y, predicted, y_test, groups=None):
    """Return the sentences about accuracy for a model with these predictions at the held-out rows."""
    classes = np.array([0, 1]) if y.dtype.kind == "i" else None
    if classes is not None:
        predicted = np.clip(predicted, 0, 1)
        predicted = np.column_stack([1 - predicted, predicted])
    held = HeldOut(None, None, predicted, y_test, y=y, classes=classes, groups=groups)
    verdict = decide(STABLE, held.losses(), held.ranking())
    return " ".join([verdict.headline, *verdict.reasons])


def noise(target, n_test, rng, groups=False):
    """Features unrelated to the target: each prediction is the mean of 20 training targets."""
    draw = TARGETS[target]
    y, y_test = draw(rng, N_TRAIN), draw(rng, n_test)
    y[:2] = [0, 1]
    leaf, of_test = rng.integers(0, N_TRAIN, size=(n_test, 20)), None
    if groups:  # rows of a group have one feature, and nearly one target
        of_test = np.repeat(np.arange(n_test), rng.integers(1, 11, size=n_test))
        y_test, leaf = y_test[of_test], leaf[of_test]
        other = rng.random(len(of_test)) < 0.1
        y_test[other] = draw(rng, int(other.sum()))
    return y, y[leaf].mean(axis=1), y_test, of_test


def overconfident(target, n_test, rng):
    """A model that ranks but equals a constant in loss: it predicts twice the true deviation from the mean."""
    if "positives" in target:
        share = float(target.split()[0]) / 100
        by = np.where(rng.random(n_test) < 0.2, 0.96, -0.24)
        by = by / 2 if share > 0.3 else by  # probabilities are at most 1
        y = np.resize((np.arange(10_000) < 10_000 * share).astype(int), 10_000)
        return y, share * (1 + 2 * by), (rng.random(n_test) < share * (1 + by)).astype(int), None
    signal, error = TARGETS[target](rng, n_test), TARGETS[target](rng, n_test)
    return np.array([0.0, 0.0]), 2 * signal, signal + error, None


BEATS, WORSE = "The bagged model beats a constant on", "are worse than a constant's"
RANKS = f"{BEATS}|The bagged model ranks"


def rates(make, target, n_test, n_trials, seed, *claims, **options):
    """Return how often the verdict makes each claim."""
    found = [said(*make(target, n_test, np.random.default_rng([seed, t]), **options)) for t in range(n_trials)]
    return [np.mean([re.search(claim, text) is not None for text in found]) for claim in claims]


def most(n_trials):
    """Return the number of false claims whose excess has a probability below the false-alarm rate, at a rate of 5%."""
    return binom.isf(FALSE_ALARM, n_trials, LEVEL) / n_trials


@pytest.mark.parametrize("n_test", [8, 50])
@pytest.mark.parametrize("target", TARGETS)
def test_noise_beats_a_constant_in_at_most_5_percent_of_tables(target, n_test, seed):
    ranks, beats = rates(noise, target, n_test, 60, seed, RANKS, BEATS)
    assert beats <= ranks <= most(60)


@pytest.mark.parametrize("target", ["normal", "skewed (lognormal)", "50 % positives", "11 % positives"])
def test_noise_with_groups_ranks_in_at_most_5_percent_of_tables(target, seed):
    assert rates(noise, target, 20, 100, seed, RANKS, groups=True)[0] <= most(100)


@pytest.mark.parametrize("target", TARGETS)
def test_a_model_equal_to_a_constant_is_called_different_in_at_most_5_percent_of_tables(target, seed):
    assert max(rates(overconfident, target, 100, 60, seed, BEATS, WORSE)) <= most(60)


def table(n_trials):
    """Print the table of docs/verdict.md."""
    sizes = (8, 20, 50, 200)
    print("| target | " + " | ".join(f"{n} rows" for n in sizes) + " | 20 groups | as bad as a constant, 200 rows |")
    print("|---" * (len(sizes) + 3) + "|")
    for target in TARGETS:
        cells = [rates(noise, target, n, n_trials, 0, RANKS, BEATS) for n in sizes]
        cells.append(rates(noise, target, 20, n_trials, 0, RANKS, BEATS, groups=True))
        cells.append(rates(overconfident, target, 200, n_trials, 0, BEATS, WORSE))
        print(f"| {target} | " + " | ".join(" / ".join(f"{rate:.3f}" for rate in cell) for cell in cells) + " |",
              flush=True)  # fmt: skip


if __name__ == "__main__":
    table(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
