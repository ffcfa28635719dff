"""What is public, and where: at the top level, or in a room."""

import importlib

ROOMS = ("resampling", "models", "tables", "proving", "measuring", "deciding", "showing", "paper")
PACKAGES = ("stablebag", *(f"stablebag.{room}" for room in ROOMS))
HOMES = {name: package for package in PACKAGES for name in importlib.import_module(package).__all__}


def public(name):
    """The class or function of that name."""
    return getattr(importlib.import_module(HOMES[name]), name)
