"""How often the interval of the error on unseen rows contains the error at 100,000 new rows."""

import warnings

import numpy as np
import pytest
from scipy import stats
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor
from stablebag.showing.scores import unseen_errors

N_ROWS, N_TABLES, N_NEW = 100, 80, 100_000


def numbers(draw):
    def table(rng, n):
        X = rng.normal(size=(n, 3))
        return X, draw(rng, X[:, 0])

    return table


def rare(share):
    def table(rng, n):
        X = rng.normal(size=(n, 3))
        return X, (rng.random(n) < 1 / (1 + (1 / share - 1) * np.exp(-X[:, 0]))).astype(int)

    return table


LAWS = {
    "normal": numbers(lambda rng, x: x + rng.normal(size=len(x))),
    "heavy-tailed (t with 5 degrees)": numbers(lambda rng, x: x + rng.standard_t(5, size=len(x))),
    "heavy-tailed (t with 2 degrees)": numbers(lambda rng, x: x + rng.standard_t(2, size=len(x))),
    "lognormal, spread 1": numbers(lambda rng, x: np.exp(0.5 * x + rng.normal(size=len(x)))),
    "lognormal, spread 2": numbers(lambda rng, x: np.exp(x + 2 * rng.normal(size=len(x)))),
    "2% of the targets are far off": numbers(
        lambda rng, x: x + 0.5 * rng.normal(size=len(x)) + 20 * (rng.random(len(x)) < 0.02)
    ),
    "10% positives": rare(0.1),
    "3% positives": rare(0.03),
}


def outcomes(table, n_tables=N_TABLES):
    """For each error, whether its interval contains the error, and whether it is not marked, in each table."""
    X_new, y_new = table(np.random.default_rng(999), N_NEW)
    found = {}
    for seed in range(n_tables):
        X, y = table(np.random.default_rng(seed), N_ROWS)
        classes = y.dtype == int
        if classes and y.sum() < 2:
            continue
        if classes:
            model = BaggedClassifier(DecisionTreeClassifier(max_depth=3), n_bags=60, random_state=seed).fit(X, y)
            share = model.predict_proba(X_new)[:, 1]
            true = [((share > 0.5) != y_new).mean(), 2 * ((share - y_new) ** 2).mean()]
        else:
            model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, random_state=seed).fit(X, y)
            off = np.abs(model.predict(X_new) - y_new)
            true = [off.mean(), np.sqrt((off**2).mean())]
        for error, value in zip(unseen_errors(model).errors, true, strict=True):
            low, high = error.ends()
            found.setdefault(error.name, []).append((low <= value <= high, not error.may_be_wider))
    return {name: np.array(each) for name, each in found.items()}


@pytest.mark.slow
@pytest.mark.parametrize("law", ["heavy-tailed (t with 2 degrees)", "lognormal, spread 2"])
def test_intervals_that_are_too_short_say_that_they_may_be_wider(law):
    n = 30
    of_squares = outcomes(LAWS[law], n)["root mean squared error"]
    covers, plain = of_squares.T
    assert (~covers).sum() > 0.4 * n  # the case that matters: most intervals are too short
    assert (~covers & plain).sum() <= stats.binom.isf(0.001, n, 0.05)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for law, table in LAWS.items():
        for name, each in outcomes(table).items():
            covers, plain = each.T
            print(f"| {law} | {name} | {covers.mean():.2f} | {plain.mean():.2f} | {(~covers & plain).mean():.2f} |")
