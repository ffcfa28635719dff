import json
import platform
from pathlib import Path

import numpy
import pytest
import sklearn

_RATIOS = []


def pytest_addoption(parser):
    parser.addoption("--ratios", type=Path, help="a JSON file to which the ratios of this run are written")


@pytest.fixture
def ratios():
    """Keep a ratio for the table at the end: (title, what, ratio, target or None)."""
    return lambda *row: _RATIOS.append(row)


def pytest_terminal_summary(terminalreporter, config):
    if not _RATIOS:
        return
    terminalreporter.section("ratios measured in this run")
    title = None
    for of, what, ratio, target in _RATIOS:
        if of != title:
            terminalreporter.write_line(title := of)
        wish = "" if target is None else f"  (target {target:.2f}{'' if ratio >= target else ', missed'})"
        terminalreporter.write_line(f"    {what:<72} {ratio:6.2f}{wish}")
    if config.option.ratios is not None:
        config.option.ratios.write_text(json.dumps({"versions": _versions(), "ratios": _rows()}, indent=1) + "\n")


def _rows():
    return [dict(zip(("title", "what", "ratio", "target"), row, strict=True)) for row in _RATIOS]


def _versions():
    versions = {"scikit-learn": sklearn.__version__, "numpy": numpy.__version__, "Python": platform.python_version()}
    return versions | {"machine": platform.machine()}
