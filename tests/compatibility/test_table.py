"""Every line of the table in docs/compatibility.md is a test in this folder, and most tests are lines."""

import re
from pathlib import Path

HERE = Path(__file__).parent


BRIDGES = {"test_reporting.py"}  # details of bridges have tests that are not lines


def test_every_line_of_the_table_has_a_test_and_vice_versa():
    page = (HERE.parent.parent / "docs" / "compatibility.md").read_text()
    lines = re.findall(r"^\| .+ \| (?:inside|around|files|tables|results) \|.* \| `(test_\w+)` \|$", page, re.MULTILINE)
    texts = {path.name: path.read_text() for path in HERE.glob("test_*.py") if path != Path(__file__)}
    tests = {name: re.findall(r"^def (test_\w+)\(", text, re.MULTILINE) for name, text in texts.items()}
    needed = [test for name, found in tests.items() if name not in BRIDGES for test in found]
    assert len(set(lines)) == len(lines)
    assert set(needed) <= set(lines) <= {test for found in tests.values() for test in found}
    assert len(lines) == page.count("| `test_")
