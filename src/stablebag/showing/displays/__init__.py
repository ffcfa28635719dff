"""Displays in scikit-learn's pattern: computed objects in, `plot(ax=None)` out, artists kept."""
