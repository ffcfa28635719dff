"""The table in docs/compatibility.md and the tests beside this file speak of the same things."""

import re
from pathlib import Path

HERE = Path(__file__).parent


def test_every_line_of_the_table_is_a_test_and_every_test_has_a_line():
    page = (HERE.parent.parent / "docs" / "compatibility.md").read_text()
    lines = re.findall(r"^\| .+ \| (?:inside|around|files|tables) \|.* \| `(test_\w+)` \|$", page, re.MULTILINE)
    texts = [path.read_text() for path in HERE.glob("test_*.py") if path != Path(__file__)]
    tests = re.findall(r"^def (test_\w+)\(", "\n".join(texts), re.MULTILINE)
    assert sorted(lines) == sorted(tests)
    assert len(lines) == page.count("| `test_")
