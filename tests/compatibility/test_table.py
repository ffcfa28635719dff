"""Every line of the table in docs/compatibility.md is a test in this folder, and vice versa."""

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_line_of_the_table_has_a_test_and_vice_versa():
    page = (HERE.parent.parent / "docs" / "compatibility.md").read_text()
    lines = re.findall(r"^\| .+ \| (?:inside|around|files|tables) \|.* \| `(test_\w+)` \|$", page, re.MULTILINE)
    texts = [path.read_text() for path in HERE.glob("test_*.py") if path != Path(__file__)]
    tests = re.findall(r"^def (test_\w+)\(", "\n".join(texts), re.MULTILINE)
    assert sorted(lines) == sorted(tests)
    assert len(lines) == page.count("| `test_")
