"""Imports follow the order of the rooms, without circles."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import stablebag

PACKAGE = Path(stablebag.__file__).parent
# A room may import from those to its left; the first are the files outside of rooms.
ROOMS = ["", "resampling", "models", "proving", "measuring", "deciding", "showing"]
ROOMS += ["fast", "tables", "paper", "connect", "cli"]
# `__init__` files import the public names of their room when these are first used.
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")


def module_of(path):
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def room_of(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else ""


def is_module(name):
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or path.is_dir()


def imported_modules(path):
    """Yield the modules of the package that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "stablebag":
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if is_module(name) else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "stablebag")
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"relative import in {path}"


def test_files_import_only_from_their_own_room_and_earlier_ones():
    backwards = [
        f"{path.relative_to(PACKAGE)} imports {other}"
        for path in FILES
        for other in imported_modules(path)
        if other != "stablebag" and path.name != "__main__.py"
        if ROOMS.index(room_of(other)) > ROOMS.index(room_of(module_of(path)))
    ]
    assert backwards == []


def test_no_files_import_each_other_in_a_circle():
    graph = {module_of(path): set(imported_modules(path)) - {module_of(path)} for path in FILES}
    TopologicalSorter(graph).prepare()  # raises an error that names the circle
