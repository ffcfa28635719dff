"""
How do I fit a table that does not fit into memory?
===================================================

**Pass a** :class:`~stablebag.ParquetTable` **to** ``fit``. **Each bag is a small part of the table, and stablebag
collects the rows of many bags in one pass over the files, within a memory budget.** The model is identical, to the
last bit, to a fit in memory. This page checks that, and shows how the size of the bags affects the error and the
guarantee.

The table is simulated by :func:`sklearn.datasets.make_friedman1`, and written to a few Parquet files.
"""

import math
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from sklearn.datasets import make_friedman1
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, Certificate, ParquetTable, Subbagging, certify

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer rows, to run in seconds

folder = tempfile.TemporaryDirectory()
n_files, n_each = (2, 50_000) if QUICK else (4, 100_000)
for number in range(n_files):
    X, y = make_friedman1(n_each, n_features=20, noise=1.0, random_state=number)
    columns = {f"x{k}": X[:, k] for k in range(20)}
    pq.write_table(pa.table({**columns, "y": y}), f"{folder.name}/part{number}.parquet")

# %%
# The table
# ---------
# A ``ParquetTable`` holds no rows, only where to find them.

budget = 7_000_000 if QUICK else 25_000_000
table = ParquetTable(f"{folder.name}/*.parquet", target="y", as_frame=False, max_memory=budget)
size = table.n_samples * table.bytes_per_row
on_disk = sum(path.stat().st_size for path in Path(folder.name).iterdir())
print(f"{table.n_samples:,} rows would take {size / 1e6:,.0f} MB of memory; on disk they take {on_disk / 1e6:,.0f} MB")
print(f"the budget is {budget / 1e6:,.0f} MB")
assert size > 1.5 * budget

# %%
# Fit from the files
# ------------------
# ``fit`` takes the table in place of X and y.

model = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(1000), n_bags=100, random_state=0).fit(table)
print(certify(model).explain(delta=0.05))

# %%
# The model is the same as in memory, to the last bit:

X, y = table.to_memory()
again = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(1000), n_bags=100, random_state=0).fit(X, y)
X_new, y_new = make_friedman1(2000, n_features=20, noise=1.0, random_state=1000)
assert (again.predict(X_new) == model.predict(X_new)).all()

# %%
# How large should bags be?
# -------------------------
# Larger bags make better trees, but their guarantee is weaker. Here, most of each bound is due to using only 100 bags.

sizes = (100, 1000) if QUICK else (100, 300, 1000, 3000)
error, proved = [], []
for rows in sizes:
    model = BaggedRegressor(DecisionTreeRegressor(), scheme=Subbagging(rows), n_bags=100, random_state=0).fit(table)
    error.append(np.sqrt(np.mean((model.predict(X_new) - y_new) ** 2)))
    proved.append(certify(model).epsilon(0.05))
    print(f"bags of {rows:6,} rows: root mean squared error {error[-1]:.2f}; ", end="")
    print(f"guarantee: epsilon = {math.ceil(1000 * proved[-1]) / 1000} for delta = 0.05")
folder.cleanup()
assert error[-1] < error[0]
assert proved[-1] > proved[0]
assert Certificate.for_targets(Subbagging(sizes[-1]), y).epsilon(0.05, "paper") < proved[-1] / 2  # with all bags
assert proved[-1] < 0.1 * np.ptp(y)

figure, (above, below) = plt.subplots(2, 1, figsize=(5.6, 5.2), sharex=True, layout="constrained")
above.semilogx(sizes, error, "o-", color="#0072b2")
above.axhline(1.0, color="0.5", linestyle=":", label="the noise in the targets")
above.set(ylim=(0, 1.1 * max(error)), ylabel="root mean squared error\n(units of y)")
above.set_title("Larger bags predict better", loc="left", fontsize="medium")
above.legend()
below.semilogx(sizes, proved, "s--", color="#777777")
below.set(ylim=(0, 1.1 * max(proved)), ylabel="guarantee: epsilon for\ndelta = 0.05 (units of y)")
below.set_xlabel(f"rows in a bag (of {table.n_samples:,})")
below.set_xticks(sizes, [f"{rows:,}" for rows in sizes])
below.minorticks_off()
below.set_title(f"but guarantee less (targets are {y.min():.0f} to {y.max():.0f})", loc="left", fontsize="medium")
plt.show()

# %%
# **Next:** the command line also reads such tables: ``stablebag measure 'data/*.parquet' --target y --max-memory
# 1GB``.
