"""Everything with code in it under docs/ and examples/ runs, and what the documents say of the house is true."""

import re
import subprocess
import sys
from pathlib import Path

import how_fast
import pytest

import stablebag
from stablebag.learning.solvers.native import library

ROOT = Path(__file__).parent.parent
PACKAGE = Path(stablebag.__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PAGES = sorted(page for page in (ROOT / "docs").glob("*.md") if BLOCK.search(page.read_text()))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_in_a_page_runs(page):
    """The blocks of a page, one after the other, as a reader would type them."""
    if page.name == "solvers.md" and library() is None:
        pytest.skip("There is no compiled library, which this page is about.")
    namespace = {}
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run(script, tmp_path):
    command = [sys.executable, str(script), "--quick", "--output", str(tmp_path)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout


def test_the_plan_of_the_house_names_every_file_once():
    plan = (ROOT / "ARCHITECTURE.md").read_text()
    named = re.findall(r"^\| `([\w/]+\.py)` \|", plan, re.MULTILINE)
    files = [str(path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]
    assert sorted(named) == sorted(files)


def test_the_walks_through_the_house_lead_through_functions_that_are_there():
    plan = (ROOT / "ARCHITECTURE.md").read_text()
    steps = re.findall(r"`([\w/]+\.py):([\w.]+)`", plan)
    assert len(steps) > 15
    for file, name in steps:
        text = (PACKAGE / file).read_text()
        assert re.search(rf"(def|class) {name.split('.')[-1]}\b", text), f"{file}:{name}"


def test_the_readme_says_what_was_measured():
    assert how_fast.section() in (ROOT / "README.md").read_text()


def test_links_in_the_documents_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
