"""Code in docs/ runs, pages of the gallery have the right form, and links and names in the documents exist."""

import ast
import importlib.util
import itertools
import os
import re
from pathlib import Path

import gallery_pages
import how_fast
import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

import stablebag
from public import HOMES, public
from stablebag import BaggedRegressor, Subbagging, leave_one_out, leave_one_out_refit
from stablebag.fast.native.library import library

ROOT = Path(__file__).parent.parent
PACKAGE = Path(stablebag.__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
GALLERY = sorted((ROOT / "examples").glob("*/*.py"))
PROMPT = ">>> "  # pytest runs blocks with this prompt as doctests
PAGES = {
    page: blocks
    for page in sorted((ROOT / "docs").glob("*.md"))
    if (blocks := [block for block in BLOCK.findall(page.read_text()) if PROMPT not in block])
}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_in_a_page_runs(page):
    """Run the code blocks of a page one after the other, as a reader would type them."""
    if page.name == "solvers.md" and library() is None:
        pytest.skip("This page is about the compiled library, which is not installed.")
    if page.name == "from_pydvl.md":
        pytest.importorskip("pydvl", reason="pyDVL requires another numpy, so no dependency group installs it.")
    namespace = {}
    for block in PAGES[page]:
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.slow
def test_refits_of_the_readme_model_change_a_prediction_by_at_most_5():
    """Refit without the five rows that change predictions most; without each of the 400 rows, it takes a minute."""
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(random_state=0)
    model = BaggedRegressor(tree, scheme=Subbagging(0.1), n_bags=5000, random_state=0).fit(X[:400], y[:400])
    rows = np.argsort(leave_one_out(model, X[400:]).values.max(axis=1))[-5:]
    refitted = leave_one_out_refit(model, X[:400], y[:400], X[400:], rows=rows)
    assert round(float(refitted.values.max()), 1) == 5.0


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_gallery_page_has_title_conclusion_cells_pictures_and_quick_mode(script):
    """Read the page without running it; `make docs` runs it."""
    text = script.read_text()
    tree = ast.parse(text)
    compile(tree, str(script), "exec")
    title, underline, *rest = ast.get_docstring(tree).split("\n")
    assert set(underline) == {"="}, "a title is underlined by ="
    assert len(underline) == len(title)
    assert not title.endswith("."), "a title has no full stop"
    assert rest[0] == "", "a title is followed by an empty line"
    assert rest[1].startswith("**"), "a page begins with its conclusion, in bold"
    assert "\n# %%\n" in text, "a page has cells"
    assert "plt.show()" in text, "a page has pictures"
    assert "# **Next:** " in text, "a page ends with what to do next"
    assert '"STABLEBAG_QUICK" in os.environ' in text, "a page has a quick mode"
    for line, below in itertools.pairwise(text.split("\n")):
        assert not re.fullmatch("# -+", below) or len(below) == len(line), f"the line below {line!r}"


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_gallery_page_imports_installed_names_or_names_the_package_to_install(script):
    tree = ast.parse(script.read_text())
    installed = " ".join(re.findall(r"``pip\s+install\s+([^`]+)``", ast.get_docstring(tree))).replace("-", "_").split()
    for node in gallery_pages.imports(tree):
        for module in gallery_pages.modules(node):
            package = module.split(".")[0]
            if package not in installed:
                imported = importlib.import_module(module)
                names = [alias.name for alias in node.names] if isinstance(node, ast.ImportFrom) else []
                missing = [name for name in names if not hasattr(imported, name)]
                assert not missing, f"{module} has no {missing}"


@pytest.mark.parametrize("script", GALLERY, ids=lambda path: path.stem)
def test_gallery_page_links_to_existing_pages(script):
    for section, page in re.findall(r":ref:`sphx_glr_auto_examples_([a-z]+)_(plot_\w+\.py)`", script.read_text()):
        assert (ROOT / "examples" / section / page).exists(), f"{section}/{page}"


def test_gallery_sections_have_a_header_and_an_order():
    folders = sorted(path.name for path in (ROOT / "examples").iterdir() if path.is_dir())
    assert {script.parent.name for script in GALLERY} <= set(folders)
    assert sorted(gallery_pages.SECTIONS) == [name for name in folders if not name.startswith("_")]
    for folder in (ROOT / "examples", *(ROOT / "examples" / name for name in gallery_pages.SECTIONS)):
        title, underline, empty, sentence = (folder / "GALLERY_HEADER.rst").read_text().split("\n")[:4]
        assert len(title) == len(underline)
        assert empty == ""
        assert sentence[-1] in ".?"


def test_gallery_page_is_not_run_if_a_package_is_missing(tmp_path):
    (tmp_path / "plot_here.py").write_text("import numpy.linalg\nfrom sklearn import tree\n")
    (tmp_path / "plot_there.py").write_text("import numpy\nfrom no_such_package.part import thing\n")
    (tmp_path / "plot_tried.py").write_text("try:\n    import no_such_package\nexcept ImportError:\n    pass\n")
    pattern = gallery_pages.executed(tmp_path)
    executed = [page.name for page in sorted(tmp_path.iterdir()) if re.search(pattern, str(page))]
    assert executed == ["plot_here.py", "plot_tried.py"]
    assert gallery_pages.order(tmp_path, tmp_path / "docs")[0] == os.path.join("..", "start")


def test_speed_page_shows_the_recorded_measurements():
    assert how_fast.section() in (ROOT / "docs" / "speed.md").read_text()


def test_reference_lists_every_public_name_under_its_subpackage():
    written = importlib.util.spec_from_file_location("api_pages", ROOT / "docs" / "api_pages.py")
    api_pages = importlib.util.module_from_spec(written)
    written.loader.exec_module(api_pages)
    for name, home in HOMES.items():
        room = (public(name).__module__ if home == "stablebag" else home).split(".")[1]
        assert f"   {name}" in api_pages.page(room).split("\n"), name
        assert api_pages.full_name(name) == f"{home}.{name}"
    for room, modules in api_pages.BEYOND.items():
        for module, names in modules.items():
            assert all(hasattr(importlib.import_module(module), name) for name in names), (room, module)
    toctree = (ROOT / "docs" / "api.md").read_text()
    assert all(f"\napi/{room}\n" in toctree for room in api_pages.ROOMS)


def test_every_python_block_is_run_or_is_a_doctest():
    """A fence such as ```python3, or ```python with anything behind it, would be neither."""
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        fences = re.findall(r"^\s*(`{3,}|:{3,})\s*(\{code|py)(.*)$", page.read_text(), re.MULTILINE)
        assert all(fence == ("```", "py", "thon") for fence in fences), page.name
        for block in BLOCK.findall(page.read_text()):
            assert PROMPT not in block or block.startswith(PROMPT), f"{page.name}: prompts and plain code in one block"


def test_glossary_terms_are_unique_and_in_alphabetical_order():
    body = re.search(r"```\{glossary\}\n(.*?)```", (ROOT / "docs" / "glossary.md").read_text(), re.DOTALL)
    terms = re.findall(r"^(\w.*)$", body[1], re.MULTILINE)
    assert len(terms) > 20
    assert terms == sorted(set(terms))


def test_links_in_documents_lead_to_existing_files():
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\((?!http)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
