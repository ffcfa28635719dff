"""The steps of the page "In your CI" are run as written, on two versions of a table, and pages show what is printed."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes

PAGES = Path(__file__).parents[2] / "docs"
PAGE = (PAGES / "ci.md").read_text()
NEEDED = os.name == "nt" or shutil.which("git") is None or shutil.which("bash") is None
pytestmark = [pytest.mark.slow, pytest.mark.skipif(NEEDED, reason="The steps need git and bash.")]


def steps():
    yaml = pytest.importorskip("yaml")
    (workflow,) = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    read = yaml.safe_load(workflow)
    assert read["jobs"]["stability"]["steps"][0]["with"]["fetch-depth"] == 2
    return {step["name"]: step["run"] for step in read["jobs"]["stability"]["steps"] if "run" in step}


@pytest.fixture
def repository(tmp_path):
    """A repository whose table has ten more patients than a commit before, and the command `stablebag`."""
    commands = tmp_path / "bin"
    commands.mkdir()
    (commands / "stablebag").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m stablebag "$@"\n')
    (commands / "stablebag").chmod(0o755)
    named = {
        f"GIT_{who}_{what}": "someone@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    found = (
        os.environ | named | {"PATH": f"{commands}{os.pathsep}{os.environ['PATH']}", "GIT_CONFIG_GLOBAL": os.devnull}
    )
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)

    def run(script):
        return subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=found, capture_output=True, text=True)

    def commit(frame):
        frame.to_csv(folder / "data" / "patients.csv", index=False)
        done = run("git add data && git commit --quiet --message table")
        assert done.returncode == 0, done.stderr

    frame = load_diabetes(as_frame=True).frame.rename(columns={"target": "outcome"})
    frame.insert(0, "patient_id", [f"p{number}" for number in range(len(frame))])
    assert run("git init --quiet --initial-branch=main").returncode == 0
    commit(frame[:-10])
    commit(frame)
    return folder, frame, run, commit


def last(done):
    return done.stdout.strip().splitlines()[-1]


def test_steps_of_the_workflow_pass_and_fail_as_the_page_says(repository):
    folder, frame, run, commit = repository
    written = steps()
    assert list(written) == ["Install", "Gate this version", "Compare with the last version"]
    gate, compare = written["Gate this version"], written["Compare with the last version"]
    done = run(gate)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line.split(":")[0] for line in done.stdout.strip().splitlines()[-2:]] == ["Holds", "Holds"]
    done = run(compare)
    assert done.returncode == 0, done.stdout + done.stderr
    assert last(done).startswith("Holds: changed<=5%, with ")
    assert {path.name for path in (folder / "reports").iterdir()} == {
        "stability.html", "stability.json", "changes.html", "changes.json",
    }  # fmt: skip
    assert all(
        each["passed"] for each in json.loads((folder / "reports" / "stability.json").read_text())["requirements"]
    )
    assert run("git checkout --quiet HEAD^").returncode == 0
    assert run(compare).returncode == 128  # without a version before, nothing is claimed to hold
    assert run("git checkout --quiet main").returncode == 0
    # In the next version, half of the outcomes are those of other patients.
    mixed, half = frame.copy(), np.arange(len(frame)) % 2 == 0
    mixed.loc[half, "outcome"] = np.random.default_rng(0).permutation(frame["outcome"][half].to_numpy()) + 200
    commit(mixed)
    done = run(compare)
    assert done.returncode == 3, done.stdout + done.stderr
    assert last(done).startswith("Required changed<=5%, but it is ")
    (required,) = json.loads((folder / "reports" / "changes.json").read_text())["requirements"]
    assert (required["name"], required["passed"], required["kind"]) == ("changed", False, "estimated")
    done = run(gate)
    assert done.returncode == 3, done.stdout + done.stderr
    assert last(done).startswith("Required ")


def test_hook_stops_a_push_only_if_predictions_changed(repository):
    folder, frame, run, commit = repository
    (hook,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    (folder / "hook.sh").write_text(hook)
    assert run("git checkout --quiet -b change && sh hook.sh").returncode == 0
    assert not (folder / "changes.html").exists()  # the table is the same
    commit(frame.assign(outcome=frame["outcome"] + 100))
    done = run("sh hook.sh")
    assert done.returncode == 3, done.stdout + done.stderr
    assert last(done).startswith("Required changed<=5%, but it is ")
    assert (folder / "changes.html").exists()


def test_output_that_the_pages_show_has_the_form_that_the_command_prints(repository):
    run = repository[2]
    done = run("COLUMNS=80 stablebag measure data/patients.csv --target outcome --n-bags 2000 --refits 200 "
               "--matched 10 --jobs 1 --require 'typical change<=1' --require 'ranking>=0.4'")  # fmt: skip
    assert done.returncode == 3, done.stdout

    def form(text):
        return re.sub(r"\d+(\.\d+)?", "N", " ".join(text.split()))

    printed = form(done.stdout)
    for name in ("ci.md", "start.md", "command_line.md"):
        (shown,) = re.findall(r"^```text\n(.*?)^```", (PAGES / name).read_text(), re.MULTILINE | re.DOTALL)
        assert form(shown) in printed, name
