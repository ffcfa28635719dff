"""Grids of arguments: all in one test, or the first ones fast and the others slow."""

import functools
import inspect
import itertools

import pytest


def together(**grids):
    """Run every combination of these arguments in one test; a failure names its combination."""

    def decorate(test):
        def run(**given):
            for values in itertools.product(*grids.values()):
                chosen = dict(zip(grids, values, strict=True))
                try:
                    test(**given, **chosen)
                except Exception as error:
                    error.add_note(f"with {chosen}")
                    raise

        functools.update_wrapper(run, test)
        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name not in grids]
        run.__signature__ = signature.replace(parameters=others)
        return run

    return decorate


def first(values, n_quick=1):
    """Return the values of a parametrization, with all but the first marked slow."""
    values = list(values)
    return [*values[:n_quick], *(pytest.param(value, marks=pytest.mark.slow) for value in values[n_quick:])]
