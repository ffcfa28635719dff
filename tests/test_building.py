"""How the package is built: with a compiler, with one from the package index, and with neither."""

import importlib.util
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import stablebag
from stablebag.fast.native import library as loading

ROOT = Path(__file__).parent.parent
NATIVE = "stablebag/fast/native"


@pytest.fixture
def hook(monkeypatch):
    """The module with the hook, read anew, in an environment that asks for nothing."""
    monkeypatch.delenv("STABLEBAG_BUILD", raising=False)
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def built(folder):
    """The wheel that is built from the sources, and what of the compiled part is in it."""
    wheel = Path(next(WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])))
    names = [Path(name) for name in zipfile.ZipFile(wheel).namelist() if name.startswith(NATIVE)]
    return wheel.name, {name.name for name in names if name.suffix != ".py"}


def platform_of(name):
    return name.removesuffix(".whl").split("-", 2)[2]


def test_wheel_with_the_library_is_for_one_platform_and_every_python(hook, tmp_path):
    if not hook.system_compiler():
        pytest.skip("There is no C compiler.")
    name, native = built(tmp_path)
    assert platform_of(name) == f"py3-none-{hook.here().platform}"
    assert native == {loading.PATH.name}


@pytest.mark.parametrize("setting", [{"STABLEBAG_BUILD": "pure"}, {"CC": "false"}], ids=str)
def test_wheel_without_the_library_is_for_every_platform(monkeypatch, tmp_path, setting):
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(sys.modules, "ziglang", None)  # as if it were not installed
    name, native = built(tmp_path)
    assert platform_of(name) == "py3-none-any"
    assert native == set()


def test_source_distribution_has_the_files_that_tests_read(tmp_path):
    file = next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    with tarfile.open(file) as opened:
        names = {name.split("/", 1)[1] for name in opened.getnames()}
    read = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "docs/solvers.md", "benchmarks/how_fast.py"]
    read += ["CITATION.cff", "CHANGELOG.md", "LICENSE", "Makefile", "pyproject.toml", "tests/golden/numbers.json"]
    assert names.issuperset([*read, "tests/test_documents.py", f"src/{NATIVE}/trees.c"])
    assert f"src/{NATIVE}/{loading.PATH.name}" not in names


@pytest.mark.parametrize(("wish", "compiler", "index", "asked"), [
    ("auto", ["cc"], True, []),
    ("auto", [], True, ["ziglang>=0.13"]),
    ("auto", [], False, []),
    ("pure", [], True, []),
    ("macos-aarch64", ["cc"], True, ["ziglang>=0.13"]),
])  # fmt: skip
def test_compiler_is_required_only_if_missing_and_available(hook, monkeypatch, wish, compiler, index, asked):
    monkeypatch.setenv("STABLEBAG_BUILD", wish)
    monkeypatch.setattr(hook, "system_compiler", lambda: compiler)
    monkeypatch.setattr(hook, "can_be_had", lambda requirement: index)
    monkeypatch.setattr(hook, "here", lambda: hook.TARGETS["linux-x86_64"])
    builder = WheelBuilder(str(ROOT))
    assert hook.CustomBuildHook(str(ROOT), {}, builder.config, builder.metadata, "", "wheel").dependencies() == asked


@pytest.mark.slow
def test_package_that_no_index_has_is_not_available(hook, monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    monkeypatch.delenv("UV", raising=False)
    assert not hook.can_be_had("ziglang>=0.13")


def test_unknown_build_target_raises(hook, monkeypatch):
    monkeypatch.setenv("STABLEBAG_BUILD", "fast")
    with pytest.raises(hook.BuildError, match="STABLEBAG_BUILD must be auto, pure or one of linux-x86_64, "):
        hook.wish()


def test_library_suffixes_are_those_that_python_loads(hook):
    suffixes = {"linux": ".so", "musl": ".so", "macos": ".dylib", "windows": ".dll"}
    assert {name: target.suffix for name, target in hook.TARGETS.items()} == {
        name: suffixes[name.split("-")[0]] for name in hook.TARGETS
    }
    assert hook.here().suffix == loading.PATH.suffix


def test_editable_install_puts_the_library_next_to_the_sources(hook, tmp_path):
    made, beside = tmp_path / "made.so", tmp_path / "_native.so"
    made.write_text("new")
    beside.write_text("old")
    hook.place(made, beside)
    assert beside.read_text() == "new"
    hook.place(None, beside)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made.so"]


def test_c_files_compile_without_warnings(hook, tmp_path):
    command = hook.system_compiler()
    if not command:
        pytest.skip("There is no C compiler.")
    strict = [*command, "-Wall", "-Wextra", "-Werror"]
    hook.compile_library(strict, sorted((ROOT / hook.SOURCES).glob("*.c")), tmp_path / "strict.so", try_it=True)


def test_version_is_the_same_in_all_files():
    assert WheelBuilder(str(ROOT)).metadata.version == stablebag.__version__
    cited = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert cited["version"] == stablebag.__version__
    latest = re.findall(r"^## (.+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[0]
    assert latest in ("Unreleased", f"{cited['version']} - {cited['date-released']}")


def test_metadata_list_every_tested_python():
    core = WheelBuilder(str(ROOT)).metadata.core
    assert core.requires_python == ">=3.11"
    minor = [each.rsplit(".", 1)[1] for each in core.classifiers if re.search(r":: 3\.\d+$", each)]
    assert minor == ["11", "12", "13"]  # 3.14 follows when the workflow has run
    assert core.readme_path == "README.md"
    assert core.license_expression == "BSD-3-Clause"


def in_conda(requirement):
    """The same requirement under the names of conda-forge."""
    name, extra, bound = re.fullmatch(r"([\w-]+)(\[\w+\])?(>=.*)", requirement).groups()
    names = {"matplotlib": ["matplotlib-base"], "dask": ["dask-core", extra[1:-1] if extra else None]}.get(name, [name])
    return {f"{each} {bound}" for each in names}


def test_conda_recipe_has_the_version_and_requirements_of_the_package():
    recipe = yaml.safe_load((ROOT / "recipe" / "recipe.yaml").read_text(encoding="utf-8"))
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project, extras = declared["project"], declared["project"]["optional-dependencies"]
    assert recipe["context"]["version"] == stablebag.__version__
    assert f">={recipe['context']['python_min']}" == project["requires-python"]
    core, *others = recipe["requirements"]["run"]
    assert core == "python >=${{ python_min }}"
    assert set(others) == set().union(*map(in_conda, project["dependencies"]))
    in_all = re.fullmatch(r"stablebag\[(.*)\]", extras["all"][0])[1].split(",")
    wanted = set().union(*(in_conda(requirement) for extra in in_all for requirement in extras[extra]))
    assert set(recipe["requirements"]["run_constraints"]) == wanted
    assert in_conda(declared["build-system"]["requires"][0]) <= set(recipe["requirements"]["host"])
    (command,) = project["scripts"].items()
    assert recipe["build"]["python"]["entry_points"] == [" = ".join(command)]
    assert recipe["about"]["license"] == project["license"]
    assert recipe["about"]["summary"] == project["description"]
    for test in recipe["tests"]:
        assert all((ROOT / file).exists() for file in test.get("files", {}).get("source", ()))


def test_every_lower_bound_can_be_pinned():
    """`make lowest` pins each; a bound without a version, or two bounds for one package, would test another."""
    spec = importlib.util.spec_from_file_location("lowest", ROOT / "tests" / "lowest.py")
    lowest = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lowest)
    names = [pin.split("==")[0] for pin in lowest.pins()]
    assert {"numpy", "scipy", "scikit-learn", "pandas", "dask", "skops"} <= set(names)
    assert len(names) == len(set(names))
