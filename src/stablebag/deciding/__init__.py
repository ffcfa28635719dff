"""Decisions from what was measured and proved: prediction intervals."""
