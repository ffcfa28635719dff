"""
Can I bag a whole pipeline, with text, dates and gaps?
======================================================

**Yes: pass the pipeline as the learner. It is then fitted inside every bag, so the guarantee also covers the
preparation of the table.** If you fitted the preparation once, before drawing bags, every bag would depend on every
row, and there would be no guarantee. This page uses skrub to turn texts, dates and missing values into numbers.

The data are 398 cars of 1970 to 1982 with their fuel economy, the table ``cars`` of the package ``vega_datasets``.
This page needs ``pip install skrub vega_datasets``.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeRegressor
from skrub import MinHashEncoder, TableVectorizer
from vega_datasets import data

from stablebag import BaggedRegressor, StabilityCurveDisplay, Subbagging, certify, leave_one_out, leave_one_out_refit

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer bags, to run in seconds

# %%
# The table
# ---------
# The names of cars are texts, years are dates, origins are categories, and some values of horsepower are missing.

cars = data.cars().dropna(subset=["Miles_per_Gallon"]).sample(frac=1, random_state=0).reset_index(drop=True)
X, y = cars.drop(columns="Miles_per_Gallon"), cars["Miles_per_Gallon"]
print(f"{len(cars)} cars, {X['Name'].nunique()} different names, {X['Horsepower'].isna().sum()} without horsepower")
assert len(cars) == 398
X.head(3)

# %%
# The learner is a pipeline
# -------------------------
# :class:`skrub.TableVectorizer` decides for each column how to turn it into numbers.

learner = make_pipeline(
    TableVectorizer(high_cardinality=MinHashEncoder(n_components=5)), DecisionTreeRegressor(random_state=0)
)
n_new = 40
X_train, y_train, X_new, y_new = X[n_new:], y[n_new:], X[:n_new], y[:n_new]
model = BaggedRegressor(learner, scheme=Subbagging(0.25), n_bags=8 if QUICK else 50, random_state=0)
model.fit(X_train, y_train)
learner.fit(X_train, y_train)
for name, fitted in {"one pipeline": learner, "bagged": model}.items():
    print(f"{name:13} mean absolute error: {np.abs(fitted.predict(X_new) - y_new).mean():.2f} miles per gallon")

# %%
# Leave cars out
# --------------
# The single pipeline is refitted without some of the cars, including all of its preparation.

left_out = range(0, len(y_train), 90 if QUICK else 20)
alone = leave_one_out_refit(learner, X_train, y_train, X_new, rows=left_out)
bagged = leave_one_out(model, X_new)
certificate = certify(model, X_new, reused=True)
print(certificate.explain(delta=0.1))
assert bagged.epsilon(0.1, "max") <= certificate.epsilon(0.1).max()

# %%
# The picture
# -----------

figure, ax = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
StabilityCurveDisplay.from_perturbations(
    {"one pipeline": alone, "bagged": bagged},
    certificate=certificate,
    over_points="mean",
    scale="log",
    xlabel="change of the prediction (miles per gallon)",
    ax=ax,
)
ax.set_title("The guarantee covers the whole pipeline")
plt.show()

# %%
# **Next:** if the table is too large for memory, see :ref:`sphx_glr_auto_examples_tables_plot_larger_than_memory.py`.
