"""What can be promised before any data is seen, and what a bagged model on real data carries with it."""

import math

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedRegressor,
    Certificate,
    Subbagging,
    certify,
    leave_one_out,
    leave_one_out_refit,
    plan,
    unstable_epsilon,
)

N_SAMPLES, N_BAGS = 500, 10_000


def certificate_table() -> None:
    """Print epsilon for several delta: derandomized and with finitely many bags, and what is impossible."""
    scheme = Subbagging(bag_size=0.5)
    derandomized, finite = Certificate(scheme, N_SAMPLES), Certificate(scheme, N_SAMPLES, N_BAGS)
    bag_size = scheme.resolve(N_SAMPLES).bag_size
    print(f"A model is trained on {N_SAMPLES} rows, by averaging any learner over bags of {bag_size} of them drawn")
    print("without replacement. Predictions lie between 0 and 1. How much can one row matter?\n")
    print("  share of rows   | may move the prediction by more than epsilon:      | some learner does move")
    print(f"  delta   (rows)  | all bags, Theorem 8  all bags, exact   {N_BAGS:,} bags | by (Theorem 10)")
    print("  ----------------+----------------------------------------------------+-----------------------")
    for delta in (0.01, 0.05, 0.1, 0.25):
        values = [derandomized.epsilon(delta, "paper"), derandomized.epsilon(delta), finite.epsilon(delta)]
        values = [math.ceil(value * 1e4) / 1e4 for value in values]  # rounded up: what is printed is proved
        line = f"{values[0]:>12.4f}{values[1]:>20.4f}{values[2]:>17.4f}"
        below = math.floor(unstable_epsilon(N_SAMPLES, int(bag_size), delta) * 1e4) / 1e4
        print(f"  {delta:<7.0%} {delta * N_SAMPLES:>6.0f}  |{line:<52}|{below:>12.4f}")
    print(
        "\nHow to read it. Take the row 5 %. Whatever the learner, the data and the test point, at most 25 of the 500"
    )
    epsilon = math.ceil(derandomized.epsilon(0.05) * 1e3) / 1e3
    print(f"rows can move the prediction by more than {epsilon:.3f} when left out. Drawing only")
    print(f"{N_BAGS:,} bags instead of all costs some more. Nobody can promise less: some learner attains the exact")
    print("number, which lies between what the paper proves and what it shows to be impossible.")
    print("delta is a share of the training rows, not a confidence level. In the certificate's own words:\n")
    print(finite.explain(0.05))


def plans() -> None:
    """Print what to run, scheme by scheme, for a wish."""
    n_samples, epsilon, delta = 10_000, 0.05, 0.05
    print(f"\n\nThe other way round. With {n_samples:,} rows you wish that at most {delta:.0%} of them can move a")
    print(f"prediction by more than {epsilon} of its range. The largest bags that {N_BAGS:,} of them can certify:\n")
    for name in ("subbagging", "bernoulli", "classical", "poissonized"):
        found = plan(n_samples, epsilon, delta, name, max_bags=N_BAGS)
        print(f"  {found.certificate.scheme}, {found.n_bags:,} bags")
    ideal = plan(n_samples, epsilon, delta, max_bags=math.inf)
    print(
        f"\nWith no limit on the bags, subbagging could use {ideal.certificate.scheme.bag_size:,} of the rows in each."
    )
    print("A wish that cannot be met is answered by what can:\n")
    try:
        plan(1000, epsilon=0.02, delta=0.05)
    except ValueError as error:
        print(f"  {error}")


def bagged_model() -> None:
    """Fit a tree and its bagged version to real data, and print what each carries."""
    X, y = load_diabetes(return_X_y=True)
    print(f"\n\nOn real data: {len(y)} patients, progression of their diabetes from {y.min():.0f} to {y.max():.0f}.")
    print("A regression tree, and the same tree averaged over 500 bags of half the patients:\n")
    tree = DecisionTreeRegressor(random_state=0)
    bagged = BaggedRegressor(DecisionTreeRegressor(), n_bags=500, n_jobs=2, random_state=0)
    for name, model in (("the tree", tree), ("the bagged tree", bagged)):
        error = np.abs(cross_val_predict(model, X, y, cv=5) - y).mean()
        print(f"  {name:<16} mean absolute error {error:5.1f} in five-fold cross-validation")
    print("\nHow far does leaving out one patient move a prediction? Measured at 20 patients that neither has seen:\n")
    train, points = slice(0, 342), X[342::5]
    by_refits = leave_one_out_refit(tree, X[train], y[train], points, n_jobs=2)
    by_bags = leave_one_out(bagged.fit(X[train], y[train]), points)
    for name, moved in (("the tree", by_refits), ("the bagged tree", by_bags)):
        mean, most, largest = moved.mean("mean"), moved.epsilon(0.05, "mean"), moved.max("max")
        print(f"  {name:<16} mean {mean:5.1f}, 95 % of rows below {most:5.1f}, largest {largest:6.1f}")
    total, noise = by_bags.norm(2, "mean"), by_bags.noise.mean()
    print(f"  of the latter's root mean square of {total:.1f}, {noise:.1f} is noise of drawing bags at random")
    print("\nOf the tree nothing can be promised: one patient may turn a prediction around. Of the bagged one:\n")
    print(certify(bagged.fit(X, y)).explain(delta=0.25))
    ideal = Certificate.for_targets(Subbagging(0.5), y).epsilon(0.25)
    print(f"\nMost of that is the price of drawing 500 bags at random; with all of them it would be {ideal:.1f}.")


if __name__ == "__main__":
    certificate_table()
    plans()
    bagged_model()
