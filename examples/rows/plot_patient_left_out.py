"""
What if a patient has several rows?
===================================

**Then leaving out single rows makes a model look stable and accurate when it is not, because the patient's other
visits stay in the table. Pass** ``groups`` **to** ``fit``: **then everything is about patients, and prediction
intervals cover new patients.** This page shows the difference in a simulated clinic, for stability, for intervals and
for the reported error.

In the simulation, each patient has one to ten visits. Of the features, 48 are measured once per patient and two at
each visit. The outcome is the sum of one feature of each kind, an effect of the patient (standard deviation 3) and
noise (standard deviation 1).
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

from stablebag import (
    BaggedRegressor,
    StabilityCurveDisplay,
    Subbagging,
    certify,
    leave_one_out_error,
    leave_one_out_refit,
    predict_interval,
    random_n_bags,
)

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer patients and data sets, to run in seconds
N_PATIENTS, N_BAGS, N_TRIALS = (30, 30, 3) if QUICK else (60, 100, 40)


def clinic(seed: int) -> tuple[np.ndarray, np.ndarray, pd.Series]:
    """Draw the visits of some patients: the features, the outcome, and the patient of each visit."""
    rng = np.random.default_rng(seed)
    baseline, own = rng.normal(size=(N_PATIENTS, N_PATIENTS * 4 // 5)), 3 * rng.normal(size=N_PATIENTS)
    patient = np.repeat(np.arange(N_PATIENTS), rng.integers(1, 11, size=N_PATIENTS))
    visit = rng.normal(size=(len(patient), 2))
    y = baseline[patient, 0] + visit[:, 0] + own[patient] + rng.normal(size=len(patient))
    return np.hstack([baseline[patient], visit]), y, pd.Series(patient, name="patient")


X, y, patient = clinic(seed=0)
X_new, y_new, patient_new = clinic(seed=1)
one_each = np.unique(patient_new, return_index=True)[1]  # one visit of each new patient
print(f"{N_PATIENTS} patients with {len(y)} visits, and {X.shape[1]} columns")

# %%
# Leave out a visit, or a patient
# -------------------------------
# Least squares has nearly as many columns as there are patients. Leaving out a visit hardly changes its predictions for
# new patients. Leaving out a patient does.

points = X_new[one_each]
by_row = leave_one_out_refit(LinearRegression(), X, y, points)
by_patient = leave_one_out_refit(LinearRegression(), X, y, points, groups=patient)
print(f"leaving out a visit   changes a prediction by {by_row.mean('mean'):.2f} on average")
print(f"leaving out a patient changes a prediction by {by_patient.mean('mean'):.2f} on average")
assert by_patient.mean("mean") > 4 * by_row.mean("mean")

# %%
# Bags of patients
# ----------------
# With ``groups``, bags are drawn from the patients, and a learner gets all visits of the patients in its bag. The
# guarantee is then about leaving out a patient, which the sentences call a group.

model = BaggedRegressor(LinearRegression(), n_bags=N_BAGS, random_state=0)
bagged = leave_one_out_refit(model, X, y, points, groups=patient)
certificate = certify(model.fit(X, y, groups=patient))
print(f"bagged: leaving out a patient changes a prediction by {bagged.mean('mean'):.2f} on average")
print(certificate.explain(delta=0.1))
assert bagged.mean("mean") < by_patient.mean("mean") / 2

figure, ax = plt.subplots(figsize=(5.6, 4), layout="constrained")
StabilityCurveDisplay.from_perturbations(
    {"least squares": by_patient, "bagged": bagged},
    certificate=certificate,
    over_points="mean",
    xlabel="change of the outcome predicted for a new patient",
    ax=ax,
)
ax.set_title("Leave out a patient: bags of patients\nmake least squares more stable")
plt.show()

# %%
# Do intervals cover new patients?
# --------------------------------
# We compute intervals at level 0.9 and the error that the bags report, from bags of visits and from bags of patients,
# in several simulated clinics. The coverage of these intervals is proved for a number of bags that is drawn at random.

results = {}
for name, learner in {"least squares": LinearRegression(), "deep tree": DecisionTreeRegressor()}.items():
    found: dict[str, list[tuple[float, float, float]]] = {"visits": [], "patients": []}
    for trial in range(N_TRIALS):
        X, y, patient = clinic(seed=100 + trial)
        X_new, y_new, patient_new = clinic(seed=10_000 + trial)
        new = np.unique(patient_new, return_index=True)[1]
        for way, groups in {"visits": None, "patients": patient}.items():
            n_units = len(y) if groups is None else N_PATIENTS
            n_bags = random_n_bags(Subbagging(0.5), n_units, N_BAGS, random_state=1000 + trial)
            model = BaggedRegressor(learner, scheme=Subbagging(0.5), n_bags=n_bags, random_state=trial)
            model.fit(X, y, groups=groups)
            intervals = predict_interval(model, X_new[new], confidence_level=0.9)
            reported = leave_one_out_error(model, "absolute").value
            true = np.abs(intervals.prediction - y_new[new]).mean()
            found[way].append((intervals.coverage(y_new[new]), reported, true))
    for way, outcomes in found.items():
        mean, error = np.mean(outcomes, axis=0), np.std(outcomes, axis=0, ddof=1) / np.sqrt(N_TRIALS)
        results[name, way] = mean, error
        print(f"{name:14} bags of {way:9} cover {mean[0]:.1%} +- {error[0]:.1%} of new patients; ", end="")
        print(f"reported error {mean[1]:.2f}, true {mean[2]:.2f}")
    # At least 80% is proved for bags of patients. Bags of visits cover far less.
    assert results[name, "visits"][0][0] < 0.7
    assert results[name, "patients"][0][0] > 0.8

# %%
# Bags of visits report less than half of the true error, because each row is predicted by bags that contain other
# visits of the same patient.

assert all(results[name, "visits"][0][1] < results[name, "visits"][0][2] / 2 for name in ("least squares", "deep tree"))

figure, ax = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
places = np.arange(2)
for way, shift, colour, hatch in (("visits", -0.19, "#d55e00", "///"), ("patients", 0.19, "#0072b2", "")):
    mean, error = (
        np.array([results[name, way][part][0] for name in ("least squares", "deep tree")]) for part in (0, 1)
    )
    look = {"color": colour, "alpha": 0.6, "hatch": hatch, "edgecolor": "white", "capsize": 4}
    bars = ax.bar(places + shift, 100 * mean, 0.36, yerr=200 * error, label=f"bags of {way}", **look)
    ax.bar_label(bars, [f"{share:.0%}" for share in mean], label_type="center", fontweight="bold")
ax.axhline(90, color="black", linestyle="--", linewidth=1, label="requested level")
ax.axhline(80, color="#0072b2", linestyle=":", label="proved for bags of patients")
ax.set_xticks(places, ["least squares, bagged", "deep tree, bagged"])
ax.set(ylim=(0, 145), yticks=range(0, 101, 20), ylabel="new patients in their interval (%)")
ax.set_title("Only bags of patients cover new patients")
ax.legend(ncols=2, fontsize="small", loc="upper center")
plt.show()

# %%
# **Next:** pass ``groups`` wherever rows belong together. On the command line this is ``stablebag measure visits.csv
# --target outcome --group patient_id``.
