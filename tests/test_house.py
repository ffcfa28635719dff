"""The shape of the package: rooms and who imports whom, what is public, and that documents and code agree."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import stablebag
from stablebag._wording import ROWS

PACKAGE = Path(stablebag.__file__).parent
# Left to right is the direction of imports.
ROOMS = ["", "resampling", "models", "proving", "measuring", "deciding", "showing", "fast", "tables", "paper", "cli"]
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__init__.py")
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages([str(PACKAGE)], "stablebag.")
    if not module.name.endswith("._native")  # a library that is not Python's
)
PUBLIC = [
    "BagPredictions", "BaggedClassifier", "BaggedRegressor", "Bags", "BernoulliSubbagging", "Certificate",
    "ClassicalBagging", "ClusterSubbagging", "FixedRange", "FunctionClassifier", "FunctionRange", "FunctionRegressor",
    "IntervalDisplay", "Intervals", "LabelSetDisplay", "LabelSets", "LeaveOneOutError", "LeftOutRankings",
    "LeftOutSelections", "ObservedRange", "ParquetTable", "PerturbationDisplay",
    "Perturbations", "PhaseDiagramDisplay", "Plan", "PointCertificate",
    "PoissonizedBagging", "PredictionRange", "RandomBags", "RankSets", "ResamplingScheme", "ReusedBagsCertificate",
    "RowIds", "RowSource", "Selection", "SelectionStability", "StabilityCurveDisplay", "StabilityTest", "StableRanking",
    "StratifiedSubbagging", "Subbagging", "Suspects", "TrimmedRange", "UnequalScheme", "VectorCertificate", "certify",
    "forget", "inflated_argmax", "jackknife_intervals_refit", "learn", "leave_one_out",
    "leave_one_out_error", "leave_one_out_refit", "on_progress", "plan", "predict_interval",
    "predict_set", "random_n_bags", "replace_one_refit", "search_winner", "select_model", "selection_stability",
    "stability_test", "stable_ranking", "suspects", "top_k_sets", "unstable_epsilon",
]  # fmt: skip


def module_of(path):
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def room_of(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else ""


def is_module(name):
    path = PACKAGE.parent.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or path.is_dir()


def imported_modules(path):
    """The modules of the package that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "stablebag":
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield name if is_module(name) else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "stablebag")
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"relative import in {path}"


# ------------------------------------------------------------------------------------------------------------ the rooms


def test_every_file_is_in_a_room():
    alone = {path.name for path in FILES if path.parent == PACKAGE}
    assert alone == {"_checks.py", "_seeds.py", "_wording.py", "_writing.py", "__main__.py"}
    assert {path.relative_to(PACKAGE).parts[0] for path in FILES if path.parent != PACKAGE} == set(ROOMS[1:])


def test_a_file_imports_only_from_its_own_room_and_those_before_it():
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


# ------------------------------------------------------------------------------------------------------ what is public


def test_the_public_names_are_these():
    assert stablebag.__all__ == PUBLIC == sorted(PUBLIC)
    assert all(hasattr(stablebag, name) for name in PUBLIC)


def test_whatever_explains_itself_does_so_in_notebooks():
    speaking = [name for name in PUBLIC if hasattr(getattr(stablebag, name), "explain")]
    assert {"Certificate", "Intervals", "LabelSets", "Plan", "Selection"} <= set(speaking)
    assert [name for name in speaking if not hasattr(getattr(stablebag, name), "_repr_html_")] == []


def test_public_names_come_from_the_rooms_that_define_them():
    for name in PUBLIC:
        thing = getattr(stablebag, name)
        assert thing.__module__ in stablebag.HOMES.values()
        assert stablebag.HOMES[name] == thing.__module__


def test_type_checkers_see_the_public_names():
    """A stub says where names come from; this is what it has to be."""
    lines = ['"""stablebag, for type checkers: the same names as in __init__.py."""', ""]
    for module in sorted(set(stablebag.HOMES.values())):
        for name in sorted(name for name, home in stablebag.HOMES.items() if home == module):
            lines.append(f"from {module} import {name} as {name}")
    lines += ["", "HOMES: dict[str, str]", "__all__: list[str]", "__version__: str", ""]
    assert (PACKAGE / "__init__.pyi").read_text() == "\n".join(lines)


def test_importing_the_package_pulls_in_nothing_heavy():
    heavy = ("matplotlib", "pandas", "click", "jinja2", "dask", "bokeh", "sklearn", "scipy", "joblib")
    code = f"import sys, stablebag; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_certificates_and_plans_come_without_scikit_learn():
    code = (
        "import sys; sys.modules['sklearn'] = None; from stablebag import Certificate, Subbagging, plan;"
        "from stablebag import VectorCertificate; VectorCertificate(Subbagging(0.5), 50);"
        "Certificate(Subbagging(0.5), 50, 100).explain(); plan(1000, 0.2, 0.1);"
        "print([name for name in ('sklearn', 'matplotlib', 'pandas') if sys.modules.get(name)])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "stablebag", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.startswith(f"stablebag {stablebag.__version__} (")


def test_the_version_is_that_of_the_distribution():
    assert stablebag.__version__ == importlib.metadata.version("stablebag")


def test_what_is_not_public_is_told_so():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = stablebag.nothing
    assert set(PUBLIC) <= set(dir(stablebag))


# -------------------------------------------------------------------------------------------------------- documentation


def documented_objects():
    """Every public class, method and function, wherever it is defined in the package."""
    for module_name in MODULES:
        module = importlib.import_module(module_name)
        for name, thing in vars(module).items():
            if name.startswith("_") or getattr(thing, "__module__", None) != module_name:
                continue
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield f"{module_name}.{name}", thing
            if inspect.isclass(thing):
                for method_name, method in vars(thing).items():
                    method = getattr(method, "__func__", method)  # of a class or static method
                    if not method_name.startswith("_") and inspect.isfunction(method):
                        yield f"{module_name}.{name}.{method_name}", getattr(thing, method_name)


OBJECTS = dict(documented_objects())
PARAMETER = re.compile(r"^(\w+) : (.+)$", re.MULTILINE)


def documented_parameters(docstring):
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", docstring, re.MULTILINE | re.DOTALL)
    return dict(PARAMETER.findall(section.group(1))) if section else {}


WITH_PARAMETERS = [name for name in OBJECTS if documented_parameters(inspect.getdoc(OBJECTS[name]) or "")]


@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_documented_parameters_and_defaults_are_those_of_the_signature(name):
    thing = OBJECTS[name]
    documented = documented_parameters(inspect.getdoc(thing))
    signature = {k: v for k, v in inspect.signature(thing).parameters.items() if k != "self"}
    signature = {k: v for k, v in signature.items() if v.kind is not v.VAR_KEYWORD}
    assert list(documented) == list(signature)
    for parameter, line in documented.items():
        stated = re.search(r"default=(.+)$", line)
        default = signature[parameter].default
        if default is inspect.Parameter.empty:
            assert stated is None, f"{parameter} has no default"
        else:
            assert stated, f"the default of {parameter} is not documented"
            public = {name: getattr(stablebag, name) for name in PUBLIC}
            assert eval(stated.group(1), {**public, "inf": float("inf"), "ROWS": ROWS}) == default


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_of_a_public_name_is_documented(name):
    thing = getattr(stablebag, name)
    made = (
        "Bags", "Perturbations", "Plan", "PointCertificate", "ReusedBagsCertificate", "Intervals", "StabilityTest",
        "LeaveOneOutError", "BagPredictions", "RandomBags", "ResamplingScheme", "PredictionRange", "ObservedRange",
        "LabelSets", "SelectionStability", "Suspects",
        "LeftOutSelections", "Selection", "LeftOutRankings", "StableRanking",
    )  # fmt: skip
    parameters = [p for p in inspect.signature(thing).parameters.values() if p.kind is not p.VAR_KEYWORD]
    if name not in made and parameters:
        assert list(documented_parameters(inspect.getdoc(thing))) == [p.name for p in parameters]


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example_or_is_made_by_one_that_has(name):
    docstring = inspect.getdoc(getattr(stablebag, name))
    made = ("Plan", "PredictionRange", "LeaveOneOutError", "StabilityTest", "RandomBags", "BagPredictions")
    made += ("SelectionStability", "Suspects")
    made += ("LeftOutSelections", "LeftOutRankings")
    assert ">>>" in docstring or name in made


BOUNDS = [name for name in OBJECTS if name.startswith("stablebag.proving.bounds.") and "check_" not in name]


@pytest.mark.parametrize("name", BOUNDS)
def test_every_bound_says_whose_it_is_and_has_an_example(name):
    docstring = inspect.getdoc(OBJECTS[name])
    assert re.search(
        r"Theorem|Corollar|Section \d|Proposition|Kim and Barber|2024b|Proved here \(docs/proofs.md, \d\)", docstring
    )
    assert ">>>" in docstring
