"""Displays in scikit-learn's style: they take computed objects, and `plot(ax=None)` keeps the artists it draws."""
