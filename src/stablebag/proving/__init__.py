"""Theorems as numbers, certificates as sentences."""
