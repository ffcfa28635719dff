"""Numbers as people read them: no rounding errors, no digits without meaning, counts, and rows that start somewhere."""

import html
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from stablebag._wording import number, percent, rounded_up, short
from stablebag.cli.main import main
from stablebag.measuring import Perturbations
from stablebag.showing.comparison import Comparison
from stablebag.showing.facts import changes
from stablebag.showing.scores import Score
from stablebag.showing.verdict import decide

QUICK = ("--n-bags", 20, "--refits", 60, "--points", 5, "--jobs", 1)
UNREADABLE = {
    "a power of ten": r"\d[eE][-+]?\d",
    "a seventh decimal": r"\d\.\d{7,}",
    "a negative zero": r"-0(\.0+)?(?![\d.])",
    "nearly all as all": r"100\.0 ?%",
    "not a number": r"\bnan\b",
}


def run(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result


def tables():
    rng = np.random.default_rng(0)
    y = np.where(rng.random(150) < 0.3, "yes", "no")
    perfect = pd.DataFrame({"fee": np.where(y == "yes", 5.0, 0.0), "x": rng.normal(size=150).round(2), "y": y})
    level = 1e6 + rng.normal(size=150)  # one number, but for a little
    return {
        "perfect": perfect,
        "level": pd.DataFrame({"x": rng.normal(size=150).round(2), "z": rng.normal(size=150).round(2), "y": level}),
        "noise": pd.DataFrame({"x": rng.normal(size=150).round(2), "y": rng.normal(size=150).round(2)}),
    }


@pytest.fixture(scope="module", params=["perfect", "level", "noise"])
def measured(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("table")
    tables()[request.param].to_csv(folder / "t.csv", index=False)
    result = run("measure", folder / "t.csv", "--target", "y", *QUICK, "--output", folder / "r.html",
                 "--json", folder / "n.json")  # fmt: skip
    page = (folder / "r.html").read_text()
    page = re.sub(r"<dt>data fingerprint.*?</dd>", "", page)
    body = re.sub(r"(?s)<script.*?</script>|<style.*?</style>|<pre.*?</pre>|<svg.*?</svg>|<[^>]*>", " ", page)
    return result.stdout, html.unescape(body), json.loads((folder / "n.json").read_text())


@pytest.mark.slow
@pytest.mark.parametrize("what", UNREADABLE)
def test_no_unreadable_number_is_printed(measured, what):
    text, page, numbers = measured
    sentences = " ".join([numbers["verdict"]["headline"], *numbers["verdict"]["reasons"], *numbers["warnings"]])
    for whole in (text, page, sentences):
        found = re.search(UNREADABLE[what], whole)
        assert found is None, whole[max(0, found.start() - 60) : found.end() + 20]


def test_numbering_of_rows_is_in_terminal_report_and_json(measured):
    text, page, numbers = measured
    said = "Row 0 is the first row below the header."
    assert said in " ".join(text.split())
    assert numbers["row_numbers"] == numbers["data"]["row_numbers"] == said
    if re.search(r"\d+ training rows? ", page):  # a table names rows
        assert "row 0 is the first row below the header" in page


def test_named_rows_are_not_numbered(tmp_path):
    frame = tables()["noise"].assign(code=[f"c{k:03d}" for k in range(150)])
    frame.to_csv(tmp_path / "t.csv", index=False)
    result = run("measure", tmp_path / "t.csv", "--target", "y", "--id", "code", *QUICK)
    assert "Row 0" not in result.stdout


def test_the_number_of_a_row_is_its_place_below_the_header(tmp_path):
    frame = tables()["noise"]
    frame["y"] = frame["x"]
    frame.loc[[0, 101], "y"] = 60.0
    frame.to_csv(tmp_path / "t.csv", index=False)
    run("measure", tmp_path / "t.csv", "--target", "y", *QUICK, "--json", tmp_path / "n.json", "--test-size", 0.1)
    numbers = json.loads((tmp_path / "n.json").read_text())
    assert {0, 101} & {found["row"] for found in numbers["lists"]["most influential"]["rows"][:2]}


def test_rows_in_a_csv_are_numbered_from_0(tmp_path):
    frame = tables()["noise"]
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame[:5].to_csv(tmp_path / "new.csv", index=False)
    run("interval", tmp_path / "t.csv", "--target", "y", "--test", tmp_path / "new.csv", "--output", tmp_path / "i.csv",
        "--n-bags", 20, "--jobs", 1)  # fmt: skip
    written = pd.read_csv(tmp_path / "i.csv")
    assert written.columns[0] == "row"
    assert written["row"].tolist() == [0, 1, 2, 3, 4]


def test_rare_changes_are_counted():
    base = np.zeros((60, 100))
    base[:3, 0] = math.sqrt(2)
    base[5, 5] = 1e-17  # a rounding error
    bagged = np.full((60, 100), 0.01)
    moved = (Perturbations(np.zeros(100), values, np.arange(60)) for values in (base, bagged))
    said = " ".join(decide(Comparison.of(*moved)).reasons)
    assert "Leaving out a row changed 3 of 6,000 predictions of the base model, by up to 1.41;" in said
    assert "those of the bagged model changed by at most 0.01." in said


def test_rounding_errors_are_not_called_noise():
    still = Perturbations(np.full(4, 3.0), np.full((60, 4), 3.0 + 4e-16), np.arange(60))
    compared = Comparison.of(still, still)
    assert (compared.base_rms, compared.bagged_rms) == (0.0, 0.0)
    assert [(fact.text("base"), fact.text("bagged")) for fact in changes(compared)] == [("0", "0")] * 3


@pytest.mark.parametrize(("value", "scale", "shown"), [
    (-0.000005377, 1, "0"), (1.922e-16, 1, "0"), (0.61834, 1, "0.618"), (-0.35, 1, "-0.35"), (29.583, 84.8, "29.6"),
    (0.99996, 1, "over 0.999"), (1.0, 1, "1"), (3e-9, 5e-9, "3e-09"), (1234567.0, 2e6, "1,234,567"),
])  # fmt: skip
def test_a_number_in_a_sentence_has_three_digits_that_mean_something(value, scale, shown):
    assert short(value, scale) == shown


def test_a_score_is_shown_on_its_scale():
    assert Score("R2", 0.91234, 1.0, -0.000005377, False).shown() == ("0.912", "1", "0")
    assert Score("log loss", math.nan, 2.22e-16, 0.6931, True).shown() == ("", "0", "0.693")
    small = Score("root mean squared error", 2.5e-9, 1.25e-9, 5e-9, True).shown()
    assert [float(text) for text in small] == pytest.approx([2.5e-9, 1.25e-9, 5e-9])


@pytest.mark.parametrize(("share", "shown"), [
    (1.0, "100%"), (0.99999, "over 99.9%"), (0.0, "0%"), (1e-5, "under 0.1%"), (0.947, "94.7%"), (0.95, "95%"),
])  # fmt: skip
def test_share_is_0_or_100_percent_only_if_exact(share, shown):
    assert percent(share) == shown


def test_rounding_error_is_0_if_measured_and_positive_in_a_bound():
    assert number(1.922e-16, scale=1) == "0"
    assert rounded_up(8.766e-17, scale=1) == "0.001"
