"""Compile the package's C files into one library: with the system's compiler, else with `ziglang`, else not at all.

The variable STABLEBAG_BUILD changes this: "pure" compiles nothing, and the name of a target (see TARGETS) compiles for
that target with `ziglang`. `python hatch_build.py dist` makes the wheels of all targets, the pure wheel and the source
distribution.
"""

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCES = Path("src/stablebag/fast/native")
FLAGS = ["-O3", "-std=c11", "-shared", "-ffp-contract=off", "-fvisibility=hidden"]
ZIGLANG = "ziglang>=0.13"
LOADS = "import ctypes, sys; ctypes.CDLL(sys.argv[1]).stablebag_abi()"
TRIAL = """
#include <math.h>
#include <stdlib.h>
__attribute__((visibility("default"))) int stablebag_abi(void) { return log(labs(-3)) > 1; }
"""


class Target(NamedTuple):
    """A target of compilation: its name for zig, the platform in the name of its wheel, and the library's suffix."""

    zig: str
    platform: str
    suffix: str = ".so"


TARGETS = {
    "linux-x86_64": Target("x86_64-linux-gnu.2.17", "manylinux_2_17_x86_64.manylinux2014_x86_64"),
    "linux-aarch64": Target("aarch64-linux-gnu.2.17", "manylinux_2_17_aarch64.manylinux2014_aarch64"),
    "musl-x86_64": Target("x86_64-linux-musl", "musllinux_1_2_x86_64"),
    "musl-aarch64": Target("aarch64-linux-musl", "musllinux_1_2_aarch64"),
    "macos-x86_64": Target("x86_64-macos.10.13", "macosx_10_13_x86_64", ".dylib"),
    "macos-aarch64": Target("aarch64-macos.11.0", "macosx_11_0_arm64", ".dylib"),
    "windows-x86_64": Target("x86_64-windows-gnu", "win_amd64", ".dll"),
    "windows-aarch64": Target("aarch64-windows-gnu", "win_arm64", ".dll"),
}


class BuildError(Exception):
    """A compiler has not made a library."""


class CustomBuildHook(BuildHookInterface):
    """Adds the library to a wheel, and names the wheel after its platform."""

    def dependencies(self) -> list[str]:
        """Require a compiler from the package index if the system has none and the index has one."""
        if wish() in TARGETS:
            return [ZIGLANG]
        return [ZIGLANG] if wish() == "auto" and not system_compiler() and here().zig and can_be_had(ZIGLANG) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile into a temporary folder for a wheel, or next to the sources for an editable install."""
        target = TARGETS.get(wish(), here())
        sources, name = Path(self.root) / SOURCES, f"_native{target.suffix}"
        self.folder = tempfile.TemporaryDirectory()
        made = Path(self.folder.name) / name
        compiled = wish() != "pure" and self.compile(sources, target, made)
        if version == "editable":
            place(made if compiled else None, sources / name)
        elif compiled:
            build_data["force_include"][str(made)] = str(SOURCES.relative_to("src") / name)
            build_data["pure_python"] = False
            build_data["tag"] = f"py3-none-{target.platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the temporary folder."""
        self.folder.cleanup()

    def compile(self, sources: Path, target: Target, made: Path) -> bool:
        """Return whether a compiler made the library; raise BuildError if that fails for a requested target."""
        asked = wish() in TARGETS
        commands = [] if asked else [system_compiler()]
        for command in filter(None, [*commands, zig(target)]):
            try:
                compile_library(command, sorted(sources.glob("*.c")), made, try_it=not asked)
            except BuildError as reason:
                self.app.display_warning(f"stablebag: {reason}")
            else:
                self.app.display_info(f"stablebag: compiled by {shlex.join(command)}")
                return True
        if asked:
            raise BuildError(f"Cannot compile for {wish()}: {ZIGLANG} is not installed, or has failed.")
        self.app.display_warning(
            "stablebag: found no working C compiler, so trees will be fitted by scikit-learn. Results are the same."
        )
        return False


def wish() -> str:
    """Return what to build: "auto", "pure" or the name of a target."""
    value = os.environ.get("STABLEBAG_BUILD", "auto")
    if value not in ("auto", "pure", *TARGETS):
        raise BuildError(f"STABLEBAG_BUILD must be auto, pure or one of {', '.join(TARGETS)}. Got {value!r}.")
    return value


def here() -> Target:
    """Return the target of this machine, with the platform name for wheels that stay on it."""
    system = {"win32": "windows", "darwin": "macos"}.get(sys.platform, sys.platform)
    if system == "linux" and platform.libc_ver()[0] != "glibc":
        system = "musl"
    machine = platform.machine().lower()
    machine = {"amd64": "x86_64", "arm64": "aarch64"}.get(machine, machine)
    plain = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    known = TARGETS.get(f"{system}-{machine}", Target("", plain))
    return known if system == "macos" else known._replace(platform=plain)


@cache
def system_compiler() -> list[str]:
    """Return the command and options of a C compiler that works; empty if there is none."""
    if sys.platform == "darwin" and subprocess.run(["xcode-select", "-p"], capture_output=True).returncode:
        return []  # cc would only offer to install a compiler
    named = os.environ.get("CC")
    for command in [shlex.split(named)] if named else [["cc"], ["gcc"], ["clang"]]:
        if sys.platform == "darwin":
            release = here().zig.split("macos.")[-1]
            command = [*command, "-arch", platform.machine(), f"-mmacosx-version-min={release}"]
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "trial.c"
            source.write_text(TRIAL)
            try:
                compile_library(command, [source], source.with_suffix(here().suffix), try_it=True)
            except BuildError:
                continue
            return command
    return []


def zig(target: Target) -> list[str]:
    """Return the command of zig's C compiler for a target and its baseline processor; empty if there is none."""
    if not target.zig or importlib.util.find_spec("ziglang") is None:
        return []
    return [sys.executable, "-m", "ziglang", "cc", "-target", target.zig, "-fno-sanitize=undefined", "-s"]


def compile_library(command: list[str], sources: list[Path], made: Path, try_it: bool) -> None:
    """Compile sources into one library, and load it if it is for this machine."""
    position = [] if made.suffix == ".dll" else ["-fPIC"]
    caches = {name: str(made.parent / "zig") for name in ("ZIG_LOCAL_CACHE_DIR", "ZIG_GLOBAL_CACHE_DIR")}
    call = [*command, *FLAGS, *position, *map(str, sources), "-o", str(made), "-lm"]
    run(call, {**caches, **os.environ})
    if try_it:
        run([sys.executable, "-c", LOADS, str(made)], dict(os.environ))


def run(command: list[str], environment: dict[str, str], patience: float = 1800) -> None:
    """Run a command; raise BuildError with its output if it fails."""
    try:
        subprocess.run(command, env=environment, check=True, capture_output=True, timeout=patience)
    except (OSError, subprocess.SubprocessError) as error:
        output = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        raise BuildError(f"{shlex.join(command)} failed: {output or error}") from error


def can_be_had(requirement: str) -> bool:
    """Return whether the package index, with the settings of the environment, has a package for this machine."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}  # it is the build's own
    wanted = ["install", "--dry-run", "--no-deps", requirement]
    binary = ["--ignore-installed", "--only-binary", ":all:", "--retries", "1", "--timeout", "15"]
    base = getattr(sys, "_base_executable", sys.executable)  # the build environment may have no pip
    commands = [[python, "-m", "pip", *wanted, *binary] for python in dict.fromkeys((sys.executable, base))]
    if "UV" in os.environ:
        commands.insert(0, [os.environ["UV"], "pip", *wanted, "--python", sys.executable])
    for command in commands:
        try:
            run(command, environment)
        except BuildError:
            continue
        return True
    return False


def place(made: Path | None, beside: Path) -> None:
    """Replace the library next to the sources in one step, because others may be using it; or remove it."""
    if made is None:
        beside.unlink(missing_ok=True)
        return
    new = beside.with_suffix(f"{beside.suffix}.new")
    shutil.copy(made, new)
    new.replace(beside)


def build_all(folder: str) -> None:
    """Build the wheels of all targets, the pure one and the source distribution."""
    kept = str(Path("build/zig").absolute())  # a cache, because zig first compiles parts of each system's C library
    for kind in (*TARGETS, "pure"):
        call = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
        settings = {"ZIG_LOCAL_CACHE_DIR": kept, "ZIG_GLOBAL_CACHE_DIR": kept, "STABLEBAG_BUILD": kind}
        subprocess.run(call, env={**os.environ, **settings}, check=True)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", folder], check=True)


if __name__ == "__main__":
    build_all(*sys.argv[1:])
