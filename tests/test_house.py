"""The shape of the package: who imports whom, what is public, and that documentation and code agree."""

import ast
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stablebag

PACKAGE = Path(stablebag.__file__).parent
# Lowest first: a module imports only from those before it.
LAYERS = [
    "arguments", "seeds", "scope", "bags", "assumptions", "schemes", "ranges", "averaging", "rows", "outputs",
    "learners", "parallel", "fitting", "ensembles", "perturbations", "left_out", "bounds", "frontier", "certificates",
    "vectors",
    "point_certificates", "reused_bags", "observed", "intervals", "error_estimates", "black_box",
    "displays", "tables", "studies", "paper", "report", "cli",
]  # fmt: skip
MODULES = sorted(module.name for module in pkgutil.walk_packages([str(PACKAGE)], "stablebag."))
PUBLIC = [
    "BaggedClassifier", "BaggedRegressor", "Bags", "BernoulliSubbagging", "Certificate", "ClassicalBagging",
    "FixedRange", "FunctionClassifier", "FunctionRange", "FunctionRegressor", "IntervalDisplay",
    "Intervals", "LeaveOneOutError", "ObservedRange", "PerturbationDisplay", "Perturbations",
    "PhaseDiagramDisplay", "Plan", "PointCertificate", "PoissonizedBagging", "PredictionRange",
    "ResamplingScheme", "ReusedBagsCertificate", "StabilityCurveDisplay", "StabilityTest", "Subbagging",
    "TrimmedRange", "VectorCertificate", "certify", "certify_reused", "jackknife_intervals_refit",
    "leave_one_out", "leave_one_out_error", "leave_one_out_refit", "plan", "predict_interval",
    "random_n_bags", "replace_one_refit", "stability_test", "stream_leave_one_out", "unstable_epsilon",
]  # fmt: skip


def layer(module):
    return LAYERS.index(module.split(".")[1])


def imported_modules(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "stablebag":
            for alias in node.names:
                yield f"{node.module}.{alias.name}" if node.module == "stablebag" else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "stablebag")
        assert not (isinstance(node, ast.ImportFrom) and node.level), f"relative import in {path}"


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_lower_layers(path):
    if path.name == "__init__.py" and path.parent == PACKAGE:
        return
    own = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
    for other in imported_modules(path):
        if other == "stablebag.__version__":
            continue
        same_folder = own.split(".")[1] == other.split(".")[1] and own != other
        assert same_folder or layer(other) < layer(own), f"{own} imports {other}"


def test_the_public_names_are_these():
    assert stablebag.__all__ == PUBLIC == sorted(PUBLIC)
    assert all(hasattr(stablebag, name) for name in PUBLIC)


def test_importing_the_package_pulls_in_nothing_heavy():
    heavy = ("matplotlib", "pandas", "click", "jinja2", "dask", "bokeh")
    code = f"import sys, stablebag; print([name for name in {heavy} if name in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


def test_the_version_is_that_of_the_distribution():
    assert stablebag.__version__ == importlib.metadata.version("stablebag")


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


@pytest.mark.parametrize("name", OBJECTS)
def test_every_public_object_says_what_it_is(name):
    assert inspect.getdoc(OBJECTS[name])


@pytest.mark.parametrize("name", OBJECTS)
def test_documented_parameters_and_defaults_are_those_of_the_signature(name):
    thing = OBJECTS[name]
    documented = documented_parameters(inspect.getdoc(thing) or "")
    if not documented:
        return
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
            assert eval(stated.group(1), {**vars(stablebag), "inf": float("inf")}) == default


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example_or_is_made_by_one_that_has(name):
    docstring = inspect.getdoc(getattr(stablebag, name))
    made = ("Plan", "PredictionRange", "LeaveOneOutError", "StabilityTest")
    assert ">>>" in docstring or name in made


@pytest.mark.parametrize("name", [name for name in OBJECTS if name.startswith("stablebag.proving.bounds.")])
def test_every_bound_says_whose_it_is_and_has_an_example(name):
    docstring = inspect.getdoc(OBJECTS[name])
    assert re.search(
        r"Theorem|Corollar|Section \d|Proposition|Kim and Barber|2024b|Proved here \(docs/proofs.md, \d\)", docstring
    )
    assert ">>>" in docstring
