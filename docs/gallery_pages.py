"""Choose which pages of the gallery are run, and the order of its sections."""

import ast
import os
import re
from importlib.util import find_spec
from pathlib import Path

SECTIONS = ("start", "promises", "rows", "answers", "tables", "paper")
FIRST = ("plot_first_model.py",)  # these pages come first in their sections; the others follow by name


def imports(tree: ast.Module) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports that a script needs: all except those in a `try` block."""
    tried = {id(node) for block in ast.walk(tree) if isinstance(block, ast.Try) for node in ast.walk(block)}
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    return [node for node in found if id(node) not in tried]


def modules(node: ast.Import | ast.ImportFrom) -> list[str]:
    """Return the names of the modules that a statement imports, or imports from."""
    return [str(node.module)] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]


def can_run(script: Path) -> bool:
    """Whether all packages that a script needs are installed."""
    needed = [name for node in imports(ast.parse(script.read_text())) for name in modules(node)]
    return all(find_spec(name.split(".")[0]) for name in needed)


def executed(folder: Path) -> str:
    """Return a pattern of the pages that can be run here. The first lines of the others name what they need."""
    pages = [page for page in folder.rglob("plot_*.py") if can_run(page)]
    return r"[\\/](" + "|".join(sorted(re.escape(page.name) for page in pages)) + ")$"


def order(folder: Path, start: Path) -> list[str]:
    """Return the sections in their order, as paths from `start`."""
    return [os.path.relpath(folder / name, start) for name in SECTIONS]


def place(name: str) -> tuple[bool, str]:
    """Return the sort key of a page within its section."""
    return name not in FIRST, name
