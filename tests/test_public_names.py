"""Public names: where they are, what importing them loads, and whether their documentation agrees with them."""

import ast
import importlib
import inspect
import re
import subprocess
import sys

import pytest
import sklearn

import stablebag
from public import HOMES, PACKAGES, public
from stablebag.proving import bounds

TOP = [
    "BaggedClassifier", "BaggedRegressor", "BernoulliSubbagging", "Certificate", "ClassicalBagging",
    "ClusterSubbagging", "FixedRange", "FunctionClassifier", "FunctionRegressor", "IntervalDisplay", "ObservedRange",
    "ParquetTable", "PerturbationDisplay", "PoissonizedBagging", "StabilityCurveDisplay", "StratifiedSubbagging",
    "Subbagging", "TrimmedRange", "certify", "compare_errors", "compare_versions", "forget", "inflated_argmax",
    "learn", "leave_one_out", "leave_one_out_error", "leave_one_out_refit", "on_progress", "plan", "predict_interval",
    "predict_set", "random_n_bags", "select_model", "stable_ranking", "study", "suspects",
]  # fmt: skip


def printed(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_the_top_level_has_these_names():
    assert stablebag.__all__ == TOP


def test_every_public_name_has_one_home():
    assert len(HOMES) == sum(len(importlib.import_module(package).__all__) for package in PACKAGES)
    assert all(public(name).__name__ == name for name in HOMES)


def test_modules_list_their_public_names_and_no_others():
    for package in PACKAGES:
        module = importlib.import_module(package)
        assert set(module.__all__) <= set(dir(module))
        with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'nothing'"):
            _ = module.nothing


def test_type_checkers_see_the_same_names():
    """Each `__init__` imports, for type checkers, the same names that it loads when they are first used."""
    for package in PACKAGES:
        module = importlib.import_module(package)
        with open(module.__file__) as file:
            imports = [node for node in ast.walk(ast.parse(file.read())) if isinstance(node, ast.ImportFrom)]
        seen = {alias.name: node.module for node in imports for alias in node.names if alias.asname == alias.name}
        assert seen == {name: getattr(module, name).__module__ for name in module.__all__}


def test_importing_the_package_imports_nothing_heavy():
    heavy = ("matplotlib", "pandas", "click", "jinja2", "dask", "bokeh", "sklearn", "scipy", "joblib", "numpy")
    rooms = ", ".join(PACKAGES)
    assert printed(f"import sys, {rooms}; print([name for name in {heavy} if name in sys.modules])") == "[]"


def test_certificates_and_plans_do_not_import_scikit_learn():
    code = (
        "import sys; sys.modules['sklearn'] = None; from stablebag import Certificate, Subbagging, plan;"
        "Certificate(Subbagging(0.5), 50, 100).explain(); plan(1000, 0.2, 0.1);"
        "print([name for name in ('sklearn', 'matplotlib', 'pandas') if sys.modules.get(name)])"
    )
    assert printed(code) == "[]"


def test_the_package_runs_as_a_module():
    command = [sys.executable, "-m", "stablebag", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.startswith(f"stablebag {stablebag.__version__} (")


def test_the_version_is_that_of_the_distribution():
    assert stablebag.__version__ == importlib.metadata.version("stablebag")


def test_results_with_explain_have_html():
    speaking = [name for name in HOMES if hasattr(public(name), "explain")]
    assert {"Certificate", "Intervals", "LabelSets", "Plan", "Selection"} <= set(speaking)
    assert [name for name in speaking if not hasattr(public(name), "_repr_html_")] == []


# -------------------------------------------------------------------------------------------------------- documentation


def documented_parameters(thing):
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-+\n|\Z)", inspect.getdoc(thing), re.M | re.S)
    return dict(re.findall(r"^(\w+) : (.+)$", section[1], re.MULTILINE)) if section else {}


def disagreements(thing):
    """Yield differences between the section on parameters and the signature: names, order and defaults."""
    parameters = {
        name: parameter.default
        for name, parameter in inspect.signature(thing).parameters.items()
        if name != "self" and parameter.kind is not parameter.VAR_KEYWORD
    }
    documented = documented_parameters(thing)
    if list(documented) != list(parameters):
        yield f"documents {list(documented)} and takes {list(parameters)}"
    for name in documented.keys() & parameters.keys():
        stated = re.search(r"default=(.+)$", documented[name])
        known = {**vars(sys.modules[thing.__module__]), "inf": float("inf"), "sklearn": sklearn}
        if (stated is None) != (parameters[name] is inspect.Parameter.empty):
            yield f"documents {name} : {documented[name]}"
        elif stated and eval(stated[1], known) != parameters[name]:
            yield f"documents {stated[0]}, and {name} is {parameters[name]!r}"


def with_methods(name):
    """Yield a public name, if it documents parameters or is at the top level, and its methods that document theirs."""
    thing = public(name)
    if documented_parameters(thing) or name in stablebag.__all__:
        yield name, thing
    for method in vars(thing) if inspect.isclass(thing) else ():
        found = getattr(thing, method)
        if not method.startswith("_") and callable(found) and inspect.getdoc(found) and documented_parameters(found):
            yield f"{name}.{method}", found


def test_documented_parameters_and_defaults_match_the_signature():
    wrong = [
        f"{said} {fault}" for name in HOMES for said, thing in with_methods(name) for fault in disagreements(thing)
    ]
    assert not wrong, "\n".join(wrong)


def test_public_functions_and_classes_have_an_example():
    called = [*stablebag.__all__, *(name for name in HOMES if not inspect.isclass(public(name)))]
    silent = {name for name in called if ">>>" not in inspect.getdoc(public(name))}
    assert silent == {"run_all", "figure_1", "figure_2", "figure_3"}  # which take minutes


def test_every_bound_cites_its_theorem_and_has_an_example():
    source = r"Theorem|Corollar|Section \d|Proposition|Kim and Barber|2024b|Proved here \(docs/proofs.md, \d\)"
    for name, bound in inspect.getmembers(bounds, inspect.isfunction):
        if bound.__module__ == bounds.__name__ and not name.startswith(("_", "check_", "mcdiarmid")):
            assert re.search(source, inspect.getdoc(bound)), name
            assert ">>>" in inspect.getdoc(bound), name
