"""
A first model
=============

A decision tree on the diabetes data, by itself and bagged, and how far leaving out one row moves its predictions.
"""

# %%
# Both are fitted again without each of the first hundred rows.
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from stablebag import BaggedRegressor, leave_one_out, leave_one_out_refit

X, y = load_diabetes(return_X_y=True)
X, y, points = X[:150], y[:150], X[150:160]
tree = DecisionTreeRegressor(random_state=0)
moved = {
    "tree": leave_one_out_refit(tree, X, y, points),
    "bagged": leave_one_out(BaggedRegressor(tree, n_bags=300, random_state=0).fit(X, y), points),
}
for name, by in moved.items():
    print(f"{name}: {by.mean().mean():.2f} on average over rows and points")

# %%
figure, axes = plt.subplots(figsize=(6, 3), layout="constrained")
axes.hist([by.max() for by in moved.values()], label=list(moved))
axes.set(xlabel="largest move by one row, at a point", ylabel="points")
axes.legend()
