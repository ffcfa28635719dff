"""The public names, and the package that each is imported from."""

import importlib

ROOMS = ("resampling", "models", "tables", "proving", "measuring", "deciding", "showing", "paper", "connect")
PACKAGES = ("stablebag", *(f"stablebag.{room}" for room in ROOMS))
HOMES = {name: package for package in PACKAGES for name in importlib.import_module(package).__all__}


def public(name):
    """Return the class or function with this name."""
    return getattr(importlib.import_module(HOMES[name]), name)
