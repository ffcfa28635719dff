"""Measurements of what leaving out a row does."""
