"""What can be promised before any data is seen, and what a bagged model on real data carries with it.

    python examples/certificates.py            # about twenty seconds
    python examples/certificates.py --quick    # under ten: fewer rows and bags
    python examples/certificates.py --output DIR    # where to write the picture

The picture needs matplotlib: pip install 'stablebag[plot]'.
"""

import argparse
import math
import textwrap
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_predict
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedRegressor,
    Certificate,
    PhaseDiagramDisplay,
    StabilityCurveDisplay,
    Subbagging,
    certify,
    certify_reused,
    leave_one_out,
    leave_one_out_refit,
    plan,
    unstable_epsilon,
)

N_SAMPLES, N_BAGS = 500, 10_000


def up(value: float, digits: int) -> str:
    """Write a number with so many decimals, rounded up: what is printed is proved."""
    return f"{math.ceil(value * 10**digits) / 10**digits:.{digits}f}"


def down(value: float, digits: int) -> str:
    """Write a number with so many decimals, rounded down: what is printed is impossible."""
    return f"{math.floor(value * 10**digits) / 10**digits:.{digits}f}"


def say(text: str, indent: str = "") -> None:
    """Print a paragraph."""
    print(textwrap.fill(" ".join(text.split()), width=100, initial_indent=indent, subsequent_indent=indent))


def certificate_table() -> None:
    """Print epsilon for several delta: with all bags and with some of them, and what is impossible."""
    scheme = Subbagging(bag_size=0.5)
    all_bags, some_bags = Certificate(scheme, N_SAMPLES), Certificate(scheme, N_SAMPLES, N_BAGS)
    size = int(scheme.resolve(N_SAMPLES).bag_size)
    print("1. Before any data is seen\n")
    say(
        f"There are {N_SAMPLES} training rows. Any learner is fitted to bags of {size} of them, drawn without "
        "replacement, and the predictions of all bags are averaged. They lie between 0 and 1. How far can one row move "
        "the average?"
    )
    print()
    print("                 but for so many rows, none moves it by more than   |  no promise holds")
    print("                 all bags,        all bags,        10,000 bags      |  below, all bags,")
    print("  delta  rows    the paper        exact            drawn at random  |  the paper")
    print("  -------------------------------------------------------------------------------------")
    for delta in (0.01, 0.05, 0.1, 0.25):
        values = [all_bags.epsilon(delta, "paper"), all_bags.epsilon(delta), some_bags.epsilon(delta)]
        proved = "".join(f"{up(value, 4):<17}" for value in values)
        impossible = down(unstable_epsilon(N_SAMPLES, size, delta), 4)
        print(f"  {100 * delta:>3.0f} % {round(delta * N_SAMPLES):>5}    {proved}|  {impossible}")
    print()
    say(
        f"Read the line of 5 % like this. Whatever the learner, the data and the test point: with all bags, at most 25 "
        f"of the {N_SAMPLES} rows move the prediction by more than {up(all_bags.epsilon(0.05), 4)} when they are left "
        f"out. The paper proves {up(all_bags.epsilon(0.05, 'paper'), 4)}, and that nobody can promise less than "
        f"{down(unstable_epsilon(N_SAMPLES, size, 0.05), 4)}. The exact number closes that gap: a learner attains it."
    )
    print()
    say(
        f"Drawing {N_BAGS:,} bags at random costs something. And delta becomes the average over the rows of the chance "
        "that leaving out a row moves the prediction by more; it is never a confidence level. In the certificate's own "
        "words:"
    )
    print("\n" + textwrap.indent(some_bags.explain(0.05), "  "))


def plans(n_samples: int) -> None:
    """Print what to run for a wish, scheme by scheme."""
    epsilon, delta = 0.05, 0.05
    print("\n\n2. The other way round\n")
    say(
        f"You have {n_samples:,} rows. At most {delta * 100:.0f} % of them may move a prediction by more than "
        f"{epsilon} of its range, and you can afford {N_BAGS:,} bags. How large may the bags be?"
    )
    print()
    for name in ("subbagging", "bernoulli", "classical", "poissonized"):
        found = plan(n_samples, epsilon, delta, name, max_bags=N_BAGS)
        print(f"  {found.certificate.scheme}; {found.n_bags:,} bags")
    ideal = plan(n_samples, epsilon, delta, max_bags=math.inf)
    print()
    say(
        f"Averaged over all bags there are, subbagging could put {int(ideal.certificate.scheme.bag_size):,} of the "
        "rows into each. A wish that cannot be met is answered by those that can:"
    )
    print()
    try:
        plan(1000, epsilon=0.02, delta=0.05)
    except ValueError as error:
        say(str(error), indent="  ")


def bagged_model(n_bags: int, n_jobs: int, folder: Path) -> None:
    """Fit a tree and its bagged version to real data: print and draw what is measured, and what is proved of it."""
    import matplotlib.pyplot as plt

    X, y = load_diabetes(return_X_y=True)
    print("\n\n3. On real data\n")
    say(
        f"Of {len(y)} patients we know how far their diabetes went on in a year, from {y.min():.0f} to {y.max():.0f}. "
        f"We fit a regression tree, and the same tree to {n_bags:,} bags of half the patients."
    )
    print()
    tree = DecisionTreeRegressor(random_state=0)
    bagged = BaggedRegressor(DecisionTreeRegressor(), n_bags=n_bags, n_jobs=n_jobs, random_state=0)
    for name, model in (("the tree", tree), ("the bagged tree", bagged)):
        error = np.abs(cross_val_predict(model, X, y, cv=5) - y).mean()
        print(f"  mean absolute error of {name:<16} {error:5.1f}   (five-fold cross-validation)")
    train, points = slice(0, 342), X[342::5]
    bagged.fit(X[train], y[train])
    alone = leave_one_out_refit(tree, X[train], y[train], points, n_jobs=n_jobs)
    reused = leave_one_out(bagged, points)
    proved = certify_reused(bagged)
    print()
    say(
        f"How far does leaving out one of {len(reused.rows)} patients move a prediction? We measure it at "
        f"{len(points)} other patients and take the worst of these. Without a patient, the bagged tree averages over "
        "the bags that do not have them. What is proved is proved of that, for these bags, every learner and every "
        "point."
    )
    print()
    print("                           the tree    the bagged tree    proved for the bagged model tree")
    lines = {
        "mean over patients": [alone.mean("max"), reused.mean("max"), proved.mean()],
        "95 % move it by at most": [alone.epsilon(0.05, "max"), reused.epsilon(0.05, "max"), proved.epsilon(0.05)],
        "the one that moves it most": [alone.max("max"), reused.max("max"), proved.worst_case()],
    }
    for name, (first, second, bound) in lines.items():
        print(f"  {name:<27}{first:>6.1f}{second:>15.1f}{up(bound, 1):>22}")
    noise, total = float(np.max(reused.noise)), reused.norm(2, "max")
    print()
    say(
        f"Much of what is measured is the noise of drawing bags at random: {noise:.1f} of a root mean square of "
        f"{total:.1f}. More bags make it smaller. Of the single tree nothing is proved: one patient may turn a "
        "prediction around. Of the bagged one, in the certificate's own words:"
    )
    print("\n" + textwrap.indent(proved.explain(0.05), "  "))
    anew = float(certify(bagged).epsilon(0.05))
    with_all_bags = Certificate.for_targets(Subbagging(0.5), y[train]).epsilon(0.05)
    print()
    say(
        "Fitting again without a patient would draw new bags, and so new noise. That is another question, with another "
        f"answer: but for 5 % of the patients, in the sense of section 1, a prediction then moves by at most "
        f"{up(anew, 1)}. Averaged over all bags there are it is {up(with_all_bags, 1)}."
    )
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
    PhaseDiagramDisplay.from_certificate(Certificate(Subbagging(0.5), N_SAMPLES), bound="paper", ax=left)
    StabilityCurveDisplay.from_perturbations(
        {"the tree": alone, "the bagged tree": reused}, certificate=proved, ax=right
    )
    path = folder / "certificates.png"
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    print(f"\nThe picture is in {path}: section 1 on the left, section 3 on the right.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What is promised before any data is seen, and of a bagged model.")
    parser.add_argument("--quick", action="store_true", help="with fewer rows and bags")
    parser.add_argument("--output", type=Path, default=Path("."), metavar="DIR", help="where to write the picture")
    options = parser.parse_args()
    certificate_table()
    plans(2000 if options.quick else 10_000)
    bagged_model(200 if options.quick else 1000, 1 if options.quick else 2, options.output)
