import math

import numpy as np
import pytest

from rendering import HOSTILE, rendered
from stablebag import Certificate, Subbagging
from stablebag._wording import (
    count_bags,
    count_points,
    escaped,
    markdown_table,
    number,
    paragraphs,
    printable,
    probability,
    rounded_up,
    visible,
)
from stablebag.deciding import Intervals
from stablebag.measuring import Perturbations


def test_html_of_certificates_perturbations_and_intervals():
    certificate = Certificate(Subbagging(0.5), 100)
    style, text = certificate._repr_html_().split(">", 1)
    assert style.startswith('<pre style="font-family: monospace; ')
    assert "white-space: pre;" in style
    assert text.startswith("At any test point")
    moved = Perturbations(np.zeros(1), np.ones((2, 1)), np.arange(2))
    assert "Perturbations: 2 rows left out one at a time, 1 point" in moved._repr_html_()
    intervals = Intervals(np.zeros(12), np.ones(12), np.full(12, 0.5), 0.9, "jackknife+", "<none>")
    assert "and 2 more" in intervals._repr_html_()
    assert "&lt;none&gt;" in intervals._repr_html_()


@pytest.mark.parametrize("value", [0.123411, 0.99999, 1e-12, 3.00001, 999.91, 123456.7, 1 / 3, 1.23456e17])
def test_printed_bounds_are_never_below_the_proved_ones(value):
    printed = float(rounded_up(value).replace(",", ""))
    assert value <= printed <= value * 1.001


def test_bounds_with_four_digits_are_printed_exactly():
    assert [rounded_up(value) for value in (0.0, 0.5, 0.1235, 2.0, 1000.0)] == ["0", "0.5", "0.1235", "2", "1,000"]


@pytest.mark.parametrize(("value", "text"), [
    (1234567.0, "1,234,567"), (999.96, "1,000"), (999.94, "999.9"), (0.01951, "0.01951"), (1e-6, "0.000001"),
    (1.5e-9, "1.5e-09"), (2.5e18, "2.5e+18"), (-12345.6, "-12,346"), (-0.0, "0"), (math.inf, "inf"), (math.nan, ""),
    (np.float32(0.5), "0.5"), (7, "7"),
])  # fmt: skip
def test_numbers_are_formatted_for_people(value, text):
    assert number(value) == text


def test_names_are_escaped_and_shortened():
    assert printable("Ann Lee <b>") == "Ann Lee <b>"
    assert printable("a\nb\x00\u202e\ud800") == "a\\nb\\x00\\u202e\\ud800"
    assert printable("x" * 1_000_000) == "x" * 57 + "..."
    assert len(printable("\x00" * 50)) == 60


def test_only_a_probability_of_one_is_printed_as_one():
    assert [probability(value) for value in (0.0, 0.05, 0.9999)] == ["0", "0.05", "0.9999"]
    assert probability(1 - 1e-6) == "1 - 1e-06"


def test_paragraphs_are_wrapped_separately():
    lines = paragraphs(["word " * 40, "Short."]).splitlines()
    assert lines[-1] == "Short."
    assert len(lines) == 4
    assert max(len(line) for line in lines) <= 94


def test_one_bag_and_one_point_are_singular():
    assert [count_bags(number) for number in (1, 2, 1500)] == ["1 bag", "2 bags", "1,500 bags"]
    assert [count_points(number) for number in (1, 2, 1500)] == ["this point", "these 2 points", "these 1,500 points"]


@pytest.mark.parametrize("name", HOSTILE)
def test_markdown_shows_any_text_as_it_is(name):
    seen = visible(" ".join(name.split()))
    assert rendered(escaped(name)) == ([seen], {"p"})
    assert rendered(f"- {escaped(name)}") == ([seen], {"ul", "li"})
    texts, tags = rendered(markdown_table(["name", name], [[name, "1"], ["two", "2"]]))
    assert texts == ["name", seen, seen, "1", "two", "2"]
    assert tags == {"table", "thead", "tbody", "tr", "th", "td"}


def test_markdown_leaves_numbers_and_most_names_readable():
    text = "The change of blood_pressure is -0.5 (base model: 24.6). #5"
    assert escaped(text) == text
