"""Tables whose names are out to do harm: in a terminal nothing is hidden or coloured, and in a page no script runs.

Signals, killed workers, full disks and damaged caches are tested where they are handled: tests/cli/test_main.py,
tests/models/test_parallel.py, tests/test__writing.py, tests/models/test_caching.py, tests/paper/test_experiments.py.
"""

import shutil

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from stablebag.cli.main import main

pytestmark = pytest.mark.slow

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SCRIPT = "</script><script>document.title='pwned'</script>"
NASTY = [
    SCRIPT, "<img src=x onerror=\"document.title='pwned'\">", "[bold red]b[/bold red]", "\x1b[31mred\x1b[0m",
    "\u202eleft to right", "{{ 7 * 7 }}{% raw %}", "\U0001f4a9" * 50, "javascript:alert(1)", "$\\frac{",
    "=1+1", "x" * 3000, "new\nline",
]  # fmt: skip
HIDDEN = ("\x1b", "\u202e", "\x00", "\x07", "\r")


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], color=True)


@pytest.fixture(scope="module")
def hostile_table(tmp_path_factory):
    """Write a table with hostile names for its columns, classes, rows and file."""
    rng = np.random.default_rng(0)
    n = 60
    frame = pd.DataFrame({name: rng.normal(size=n) for name in NASTY})
    frame["who"] = [f"{NASTY[k % len(NASTY)]}{k}" for k in range(n)]
    frame["kind"] = [NASTY[k % 3] for k in range(n)]
    frame[f"target {SCRIPT}"] = np.where(frame[SCRIPT] > 0, NASTY[0], NASTY[3])
    path = tmp_path_factory.mktemp("nasty") / "[bold]a\x1b[31m.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def measured(hostile_table):
    report = hostile_table.with_name("report.html")
    options = ["--n-bags", "20", "--refits", "3", "--jobs", "1", "--id", "who", "--output", report]
    return run("measure", hostile_table, "--target", f"target {SCRIPT}", *options), report


def test_the_terminal_escapes_hidden_characters(measured):
    result, _ = measured
    assert result.exit_code == 0, result.output[-2000:]
    assert not [sign for sign in HIDDEN if sign in result.output]


@pytest.mark.parametrize("arguments", [
    ("measure", "no\x1b[31m\u202efile.csv", "--target", "y"),
    ("measure", "[bold]no file[/bold].csv", "--target", "y\x07"),
    ("predict", "\x1b]0;title\x07.skops", "also\x1b[2J.csv"),
    ("certify", "--n-samples", "\x1b[31m5"),
    ("pl\x1b[31man",),
])  # fmt: skip
def test_errors_escape_hidden_characters(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert not [sign for sign in HIDDEN if sign in result.output], result.output


@pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium on this machine, so no page is opened")
def test_scripts_in_a_table_do_not_run_in_the_report(measured):
    from playwright.sync_api import sync_playwright

    _, report = measured
    assert 'http-equiv="Content-Security-Policy"' in report.read_text()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = browser.new_page()
        said, asked = [], []
        page.on("dialog", lambda dialog: (said.append("a dialog"), dialog.dismiss()))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(report.as_uri())
        page.wait_for_selector("#chart[data-ready]", state="attached")
        assert page.title() != "pwned"
        assert said == []
        assert [url for url in asked if not url.startswith(("file:", "data:", "blob:"))] == []
        injected = "document.title='pwned'"
        elements = page.evaluate(
            "text => [...document.querySelectorAll('script, [onerror]')]"
            ".filter(each => each.textContent == text || each.onerror)"
            ".length",
            injected,
        )
        assert elements == 0
        browser.close()
