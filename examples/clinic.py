"""A clinic in which patients come several times: leave out a patient, not a row. A simulation with a picture.

Every patient has one to ten visits, and what is measured at a visit depends strongly on who comes. With a visit left
out, the patient's other visits are still there: a learner looks stable, and its errors look small. New patients bring
no other visits. What matters is what happens without a patient.

    python examples/clinic.py            # some minutes
    python examples/clinic.py --quick    # some seconds: fewer patients and data sets
    python examples/clinic.py --output DIR    # where to write the picture

The picture needs matplotlib: pip install 'stablebag[plot]'.
"""

import argparse
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedRegressor,
    Certificate,
    Perturbations,
    Subbagging,
    certify,
    forget,
    leave_one_out_error,
    leave_one_out_refit,
    predict_interval,
    random_n_bags,
)
from stablebag.showing.displays.display import as_steps

LEVEL, DELTA = 0.9, 0.1
LEARNERS = {"least squares": LinearRegression(), "deep tree": DecisionTreeRegressor()}
MEASURED = (
    "not bagged, a row",
    "not bagged, a patient",
    "bagged by rows, a row",
    "bagged by rows, a patient",
    "bagged by patients, a patient",
)
WAYS = ("rows", "patients")


@dataclass(frozen=True)
class Size:
    """How large the simulation is; the full one unless told otherwise."""

    n_patients: int = 60
    n_new: int = 60
    n_bags: int = 100
    n_trials: int = 100

    @property
    def n_baseline(self) -> int:
        """The number of things measured once per patient: four for every five patients."""
        return self.n_patients * 4 // 5


QUICK = Size(n_patients=30, n_new=30, n_bags=30, n_trials=10)


@dataclass(frozen=True)
class Clinic:
    """The visits of some patients: what is known, the outcome, and whose visit it is."""

    X: np.ndarray
    y: np.ndarray
    patient: np.ndarray

    def one_visit_each(self) -> "Clinic":
        """Return the first visit of each patient; visits are in random order."""
        first = np.unique(self.patient, return_index=True)[1]
        return Clinic(self.X[first], self.y[first], self.patient[first])


def draw(n_patients: int, n_baseline: int, generator: np.random.Generator) -> Clinic:
    """Draw patients with one to ten visits each.

    The outcome is one of the patient's baseline values, plus one of two values of the visit, plus what is the patient's
    own, with a standard deviation of 3, plus noise of the visit, with a standard deviation of 1.
    """
    baseline, own = generator.normal(size=(n_patients, n_baseline)), 3 * generator.normal(size=n_patients)
    patient = np.repeat(np.arange(n_patients), generator.integers(1, 11, size=n_patients))
    visit = generator.normal(size=(len(patient), 2))
    y = baseline[patient, 0] + visit[:, 0] + own[patient] + generator.normal(size=len(patient))
    return Clinic(np.hstack([baseline[patient], visit]), y, patient)


def measure(learner: Any, size: Size, seed: int = 0) -> tuple[dict[str, Perturbations], dict[str, Any]]:
    """Return how far rows and patients move predictions at new patients, and what is proved of the bagged models."""
    generator = np.random.default_rng(seed)
    seen, new = (draw(n, size.n_baseline, generator) for n in (size.n_patients, size.n_new))
    X, y, points = seen.X, seen.y, new.one_visit_each().X
    bagged = BaggedRegressor(learner, scheme=Subbagging(0.5), n_bags=size.n_bags, random_state=0)
    by_rows = clone(bagged).fit(X, y)
    # leave_one_out_refit(groups=) would draw bags over patients; here bags of rows lose all visits of a patient.
    lost = [forget(by_rows, np.flatnonzero(seen.patient == one)).predict(points) for one in range(size.n_patients)]
    some = np.linspace(0, len(y) - 1, size.n_patients).round().astype(int)  # of many rows, as many as patients
    found = (
        leave_one_out_refit(learner, X, y, points, random_state=0),
        leave_one_out_refit(learner, X, y, points, groups=seen.patient, random_state=0),
        leave_one_out_refit(by_rows, X, y, points, rows=some),
        Perturbations(by_rows.predict(points), np.stack(lost), np.arange(size.n_patients)),
        leave_one_out_refit(bagged, X, y, points, groups=seen.patient),
    )
    models = {"rows": by_rows, "patients": clone(bagged).fit(X, y, groups=seen.patient)}
    return dict(zip(MEASURED, found, strict=True)), {way: certify(model) for way, model in models.items()}


def one_data_set(learner: Any, size: Size, trial: int) -> dict[str, tuple[float, float, float, float]]:
    """Return, for either way to bag: coverage of new patients, median width, the error that bags say, the true one."""
    generator = np.random.default_rng([1, trial])
    seen, several = (draw(n, size.n_baseline, generator) for n in (size.n_patients, size.n_new))
    new, found = several.one_visit_each(), {}
    for way, groups in zip(WAYS, (None, seen.patient), strict=True):
        # What is proved of the jackknife+ over bags is proved for a number of bags that is drawn at random.
        scheme, n_units = Subbagging(0.5), len(seen.y) if groups is None else size.n_patients
        n_bags = random_n_bags(scheme, n_units, size.n_bags, random_state=1000 + trial)
        model = BaggedRegressor(learner, scheme=scheme, n_bags=n_bags, random_state=trial)
        model.fit(seen.X, seen.y, groups=groups)
        intervals, said = predict_interval(model, new.X, confidence_level=LEVEL), leave_one_out_error(model, "absolute")
        true = float(np.abs(intervals.prediction - new.y).mean())
        found[way] = intervals.coverage(new.y), float(np.median(intervals.width)), said.value, true
    return found


Outcome = dict[str, tuple[np.ndarray, np.ndarray]]  # means and standard errors of what one data set gives, by way


def simulate(learner: Any, size: Size) -> Outcome:
    """Return the means over data sets, with their standard errors."""
    found = [one_data_set(learner, size, trial) for trial in range(size.n_trials)]
    values = {way: np.array([outcome[way] for outcome in found]) for way in WAYS}
    root = np.sqrt(size.n_trials)
    return {way: (value.mean(axis=0), value.std(axis=0, ddof=1) / root) for way, value in values.items()}


def show(name: str, moved: dict[str, Perturbations], proved: dict[str, Certificate], outcome: Outcome) -> None:
    """Print the tables of a learner."""
    print(f"\n{name.capitalize()}: how far leaving out a row or a patient moves predictions at new patients\n")
    print(f"  {'':32}{'mean':>10}{'all but a tenth below':>24}{'proved':>10}")
    for way, one in moved.items():
        bound = {MEASURED[2]: "rows", MEASURED[4]: "patients"}.get(way)
        epsilon = "" if bound is None else f"{proved[bound].epsilon(DELTA):.2f}"
        print(f"  {way:32}{one.mean('mean'):>10.2f}{one.epsilon(DELTA, 'mean'):>24.2f}{epsilon:>10}")
    print(f"\n  {'bags of':10}{'coverage':>16}{'width':>16}{'error, as bags say':>22}{'true error':>16}")
    for way, (mean, error) in outcome.items():
        cells = [f"{100 * mean[0]:.1f} +- {100 * error[0]:.1f} %"]
        cells += [f"{a:.2f} +- {b:.2f}" for a, b in zip(mean[1:], error[1:], strict=True)]
        print(f"  {way:10}{cells[0]:>16}{cells[1]:>16}{cells[2]:>22}{cells[3]:>16}")


def say(moved: dict[str, Perturbations], outcome: Outcome, size: Size) -> None:
    """Print what is to be seen in the tables of least squares."""
    alone, patient, _, by_rows, by_patients = (one.mean("mean") for one in moved.values())
    rows, patients = (outcome[way][0] for way in WAYS)
    text = (
        f"Least squares looks stable if rows are left out: they move a prediction by {alone:.2f} on average. Patients "
        f"move it by {patient:.2f}, by {by_rows:.2f} if rows are bagged, and by {by_patients:.2f} if patients are. "
        f"Intervals at level {LEVEL:g} from bags of rows cover {100 * rows[0]:.0f} % of new patients, and from bags of "
        f"patients {100 * patients[0]:.0f} %; proved are {100 * (2 * LEVEL - 1):.0f} %. Bags of rows say that the "
        f"error is {rows[2]:.1f}, and at new patients it is {rows[3]:.1f}. Coverage and errors are means over "
        f"{size.n_trials} data sets, with their standard errors."
    )
    print("\n" + textwrap.fill(text, width=100))


def picture(
    moved: dict[str, Perturbations], proved: Certificate, outcomes: dict[str, Outcome], size: Size, path: Path
) -> None:
    """Draw stability, coverage and errors: what is about bags of rows is green, and of patients blue."""
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(
        1, 3, figsize=(14, 4.6), layout="constrained", width_ratios=(1.5, 1, 1.2)
    )
    styles = {
        "not bagged, a row": ("tab:red", (0, (5, 1, 1, 1, 1, 1)), "not bagged: a row left out"),
        "not bagged, a patient": ("tab:red", "--", "not bagged: a patient left out"),
        "bagged by rows, a patient": ("tab:green", "-.", "bags of rows: a patient left out"),
        "bagged by patients, a patient": ("tab:blue", "-", "bags of patients: a patient left out"),
    }
    for name, (colour, line, label) in styles.items():
        epsilon, delta = moved[name].curve("mean")
        left.step(epsilon, delta, where="post", color=colour, linestyle=line, linewidth=2, label=label)
    left.plot(*as_steps(*proved.curve()), ":", color="black", label="bags of patients: proved for a patient left out")
    left.set(xlim=(0, 1.3 * proved.epsilon(DELTA)), ylim=(0, 1))
    left.set(
        xlabel="a prediction at a new patient moves by more than this", ylabel="share of rows, or patients, that do so"
    )
    left.set_title("Least squares looks stable if a row is left out")
    left.legend(fontsize="small")

    places, width = np.arange(len(outcomes)), 0.38
    bars = {"rows": ("tab:green", "...", -width / 2), "patients": ("tab:blue", "", width / 2)}
    for way, (colour, hatch, shift) in bars.items():
        mean, error = (np.array([outcome[way][part] for outcome in outcomes.values()]) for part in (0, 1))
        look = {"color": colour, "alpha": 0.6, "hatch": hatch, "edgecolor": "white", "capsize": 4}
        drawn = middle.bar(places + shift, mean[:, 0], width, yerr=2 * error[:, 0], label=f"bags of {way}", **look)
        middle.bar_label(
            drawn, [f"{100 * share:.0f} %" for share in mean[:, 0]], label_type="center", fontweight="bold"
        )
        drawn = right.bar(places + shift, mean[:, 2], width, yerr=2 * error[:, 2], label=f"bags of {way} say", **look)
        right.bar_label(drawn, [f"{said:.1f}" for said in mean[:, 2]], label_type="center", fontweight="bold")
        mark = {"color": "black", "marker": "D", "markersize": 7, "linestyle": "none"}
        true = right.errorbar(places + shift, mean[:, 3], 2 * error[:, 3], capsize=4, **mark)
    true.set_label("true, at new patients")
    middle.axhline(LEVEL, color="black", linestyle="--", linewidth=1, label="level asked for")
    middle.axhline(2 * LEVEL - 1, color="black", linestyle=":", label="proved, bags of patients")
    middle.set(ylim=(0, 1.45), yticks=np.linspace(0, 1, 6), title=f"New patients in their {100 * LEVEL:.0f} % interval")
    middle.set(ylabel="share of new patients")
    highest = max(outcome[way][0][2:].max() for outcome in outcomes.values() for way in WAYS)
    right.set(ylim=(0, 1.5 * highest), title="What the bags say of the error", ylabel="mean absolute error")
    for ax in (middle, right):
        ax.set_xticks(places, [f"{name}, bagged" for name in outcomes])
        ax.legend(fontsize="small", loc="upper left", ncols=1)
    what = f"{size.n_patients} patients with 1 to 10 visits each"
    figure.suptitle(f"{what}; error bars: two standard errors over {size.n_trials} data sets")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    print(f"\nThe picture is in {path}.")


def main() -> None:
    """Read the options, simulate, print and draw."""
    parser = argparse.ArgumentParser(description="Leave out a patient, not a row.")
    parser.add_argument("--quick", action="store_true", help="fewer patients and data sets: some seconds")
    parser.add_argument("--output", type=Path, default=Path("."), metavar="DIR", help="where to write the picture")
    options = parser.parse_args()
    size = QUICK if options.quick else Size()
    measured = {name: measure(learner, size) for name, learner in LEARNERS.items()}
    outcomes = {name: simulate(learner, size) for name, learner in LEARNERS.items()}
    print(f"A clinic: {size.n_patients} patients with 1 to 10 visits, {size.n_baseline} values once per patient.")
    for name in LEARNERS:
        show(name, *measured[name], outcomes[name])
    moved, proved = measured["least squares"]
    say(moved, outcomes["least squares"], size)
    picture(moved, proved["patients"], outcomes, size, options.output / "clinic.png")


if __name__ == "__main__":
    main()
