"""How often the verdict claims too much about accuracy. Each test declares how often it may fail by chance.

`python tests/statistical/test_beats_a_constant.py` makes the tables of docs/verdict.md, with more trials.
"""

import re
import sys
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor
from stablebag.measuring import Perturbations
from stablebag.showing.comparison import Comparison
from stablebag.showing.scores import LEVEL, HeldOut, are_harder, unseen_errors
from stablebag.showing.verdict import decide, summarize

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


# Claims of fitted models, which the training rows decide together with the held-out rows.

TREES = (BaggedRegressor(DecisionTreeRegressor(max_depth=4), n_bags=100),
         BaggedClassifier(DecisionTreeClassifier(max_depth=4), n_bags=100))  # fmt: skip
SIGNAL = 0.65  # of a feature in units of the noise: it explains 30 % of the variance
SIZES = ((16, 4), (40, 10), (160, 40), (160, 400))  # training rows, and held-out rows


def claims(target, n, n_test, seed, signal=0.0):
    """Whether a study says "Yes", whether it did without the training rows, and whether held-out rows seem harder."""
    rng = np.random.default_rng([seed, n, n_test])
    X, y = rng.normal(size=(n + n_test, 3)), TARGETS[target](rng, n + n_test)
    classifies = y.dtype.kind == "i"
    if classifies:
        y[:2] = [0, 1]
        X[:, 0] += 1.3 * signal * y
    else:
        y = y + signal * X[:, 0]
    model = TREES[classifies].set_params(random_state=seed).fit(X[:n], y[:n])
    predicted = (model.predict_proba if classifies else model.predict)(X[n:])
    held = HeldOut(None, None, predicted, y[n:], y=y[:n], classes=model.classes_ if classifies else None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        losses, ranking, unseen = held.losses(), held.ranking(), unseen_errors(model)
    if unseen is not None:
        unseen = replace(unseen, is_harder=are_harder(losses[0], unseen))

    def is_yes(**options):
        verdict = decide(STABLE, losses, ranking, **options)
        return summarize(verdict, STABLE, losses, ranking, **options)[0].text.startswith("Yes")

    return is_yes(unseen=unseen), is_yes(), bool(unseen is not None and unseen.is_harder)


@pytest.mark.parametrize(("n", "n_test"), [(16, 4), (160, 40)])
@pytest.mark.parametrize("target", TARGETS)
def test_noise_is_said_to_predict_in_at_most_5_percent_of_tables(target, n, n_test, seed):
    says_yes, _, is_harder = np.mean([claims(target, n, n_test, seed + trial) for trial in range(30)], axis=0)
    assert says_yes <= most(30)
    assert is_harder <= most(30)


def test_training_rows_tell_more_often_than_held_out_rows_that_a_model_predicts(seed):
    both, held_out, _ = np.mean([claims("normal", 160, 40, seed + trial, SIGNAL) for trial in range(60)], axis=0)
    assert both >= held_out + 0.15  # .57 against .11


def fitted_table(n_trials):
    """Print the table of claims about fitted models."""
    print("| target | " + " | ".join(f"{n} + {n_test} rows" for n, n_test in SIZES) + " |")
    print("|---" * (len(SIZES) + 1) + "|")
    for target in TARGETS:
        cells = []
        for n, n_test in SIZES:
            noise, real = (
                np.mean([claims(target, n, n_test, trial, signal) for trial in range(n_trials)], axis=0)
                for signal in (0.0, SIGNAL)
            )
            cells.append(f"{noise[0]:.3f}, {max(noise[2], real[2]):.3f}; {real[0]:.2f}, {real[1]:.2f}")
        print(f"| {target} | " + " | ".join(cells) + " |", flush=True)


def table(n_trials):
    """Print the table of claims about held-out rows."""
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
    fitted_table(int(sys.argv[2]) if len(sys.argv) > 2 else 200)
