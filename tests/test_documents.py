"""Everything with code in it under docs/ and examples/ runs, and what the documents say of the house is true."""

import importlib.util
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
PROMPT = ">>> "  # blocks with it are run as doctests, with the others of their page
PAGES = {
    page: blocks
    for page in sorted((ROOT / "docs").glob("*.md"))
    if (blocks := [block for block in BLOCK.findall(page.read_text()) if PROMPT not in block])
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_in_a_page_runs(page):
    """The blocks of a page, one after the other, as a reader would type them."""
    if page.name == "solvers.md" and library() is None:
        pytest.skip("There is no compiled library, which this page is about.")
    namespace = {}
    for block in PAGES[page]:
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


def test_the_page_on_speed_says_what_was_measured():
    assert how_fast.section() in (ROOT / "docs" / "speed.md").read_text()


def test_the_reference_has_every_public_name_on_the_page_of_its_room():
    written = importlib.util.spec_from_file_location("api_pages", ROOT / "docs" / "api_pages.py")
    api_pages = importlib.util.module_from_spec(written)
    written.loader.exec_module(api_pages)
    for name, home in stablebag.HOMES.items():
        lines = api_pages.page(home.split(".")[1]).split("\n")
        assert f"   {name}" in lines, name
    for room, modules in api_pages.BEYOND.items():
        for module, names in modules.items():
            for name in names or importlib.import_module(module).__all__:
                assert hasattr(importlib.import_module(module), name), (room, module, name)
    toctree = (ROOT / "docs" / "api.md").read_text()
    assert all(f"\napi/{room}\n" in toctree for room in api_pages.ROOMS)


def test_a_page_has_no_block_that_is_neither_run_nor_a_doctest():
    """An opening fence that says python with anything else behind it would be neither."""
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        fences = re.findall(r"^\s*(`{3,}|:{3,})\s*(\{code|py)(.*)$", page.read_text(), re.MULTILINE)
        assert all(fence == ("```", "py", "thon") for fence in fences), page.name
        for block in BLOCK.findall(page.read_text()):
            assert PROMPT not in block or block.startswith(PROMPT), f"{page.name}: prompts and plain code in one block"


def test_the_terms_of_the_glossary_are_in_alphabetical_order_and_once():
    body = re.search(r"```\{glossary\}\n(.*?)```", (ROOT / "docs" / "glossary.md").read_text(), re.DOTALL)
    terms = re.findall(r"^(\w.*)$", body[1], re.MULTILINE)
    assert len(terms) > 20
    assert terms == sorted(set(terms))


def test_links_in_the_documents_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
