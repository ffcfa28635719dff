import json
import re

import pytest

from stablebag import plan
from stablebag._wording import rounded_up


def words(result):
    return " ".join(result.output.split())


def test_plan_lists_every_scheme(run):
    result = run("plan", "--n-samples", 1000, "--epsilon", 0.2, "--delta", 0.05)
    assert result.exit_code == 0
    for part in ("Use subbagging, 870", "classical bagging, 1,000", "Poissonized", "Bernoulli", "120 bags", "170 bags"):
        assert part in words(result)
    only = run("plan", "--n-samples", 1000, "--epsilon", 0.2, "--delta", 0.05, "--scheme", "classical")
    assert "classical bagging, 1,000" in words(only)
    assert "Poissonized" not in only.output


def test_plan_begins_with_what_to_use_and_shows_other_ways(run):
    result = run("plan", "--n-samples", 1000, "--epsilon", 0.2, "--delta", 0.05, "--scheme", "subbagging")
    assert words(result).startswith("Use subbagging, 870 of 1,000 rows, with 120 bags.")
    for option in plan(1000, 0.2, 0.05).options:
        assert re.search(rf"{option.n_bags:,}\s+{option.bag_size:,}\s+{rounded_up(option.epsilon)}", result.output)
    assert "at most 5% of the 1,000 rows (delta = 0.05) are expected to change the prediction" in words(result)


def test_a_scheme_that_cannot_keep_the_promise_says_why_beside_those_that_can(run):
    # One bag of one of 20 rows: v = p / 2 (1 + 1 / 19) for subbagging, and p for the others.
    arguments = ("--n-samples", 20, "--epsilon", 0.25, "--delta", 0.5, "--max-bags", 1)
    few = run("plan", *arguments)
    assert few.exit_code == 0
    assert "Use subbagging, 1 of 20 rows, with 1 bag." in words(few)
    assert "No plan with at most 1 bag" in words(few)
    none = run("plan", "--n-samples", 20, "--epsilon", 0.01, "--delta", 0.05, "--max-bags", 5)
    assert none.exit_code == 2
    assert "No plan with at most" in words(none)


def test_no_plan_has_more_bags_than_are_allowed(run):
    few = run("plan", "--n-samples", 1000, "--epsilon", 0.2, "--delta", 0.05, "--max-bags", 70)
    assert few.exit_code == 0
    numbers = [int(number.replace(",", "")) for number in re.findall(r"([\d,]+) bags", words(few))]
    assert max(numbers) <= 70


def test_numbers_for_machines_are_those_of_plan(run):
    result = run("plan", "--n-samples", 1000, "--epsilon", 0.2, "--delta", 0.05, "--json")
    found = json.loads(result.output)
    assert sorted(found) == ["bernoulli", "classical", "poissonized", "subbagging"]
    best = plan(1000, 0.2, 0.05)
    assert found["subbagging"]["bag_size"] == best.scheme.bag_size
    assert found["subbagging"]["n_bags"] == best.n_bags
    assert found["subbagging"]["epsilon"] == best.certificate.epsilon(0.05)
    assert [option["n_bags"] for option in found["subbagging"]["options"]] == [one.n_bags for one in best.options]
    assert set(found["subbagging"]["options"][0]) == {"bag_size", "n_bags", "epsilon", "price"}


def test_lengths_and_sizes_reach_the_plan(run):
    arguments = ("--n-samples", 1000, "--epsilon", 2, "--delta", 0.05, "--range-length", 10, "--scheme", "subbagging")
    found = json.loads(run("plan", *arguments, "--json").output)["subbagging"]
    best = plan(1000, 2.0, 0.05, range_length=10.0)
    assert (found["bag_size"], found["n_bags"]) == (best.scheme.bag_size, best.n_bags)
    assert found["epsilon"] == pytest.approx(best.certificate.epsilon(0.05))
    held = json.loads(run("plan", *arguments, "--max-bag-size", 100, "--json").output)["subbagging"]
    assert held["bag_size"] == 100
    assert held["n_bags"] < found["n_bags"]
    too_far = run("plan", "--n-samples", 1000, "--epsilon", 2, "--delta", 0.05)
    assert too_far.exit_code == 2
    assert "below range_length=1" in words(too_far)


def test_a_plan_for_very_many_rows_ends(run):
    result = run("plan", "--n-samples", 10**12, "--epsilon", 0.05, "--delta", 0.05)
    assert result.exit_code == 0
    assert "of 1,000,000,000,000 rows, with 2,900 bags" in words(result)


def test_a_plan_for_machines_and_in_other_units(run):
    arguments = ("plan", "--n-samples", 1000, "--delta", 0.05, "--scheme", "subbagging", "--json")
    found = json.loads(run(*arguments, "--epsilon", 0.2).output)["subbagging"]
    assert (found["bag_size"], found["n_bags"]) == (870, 120)
    assert found["options"][-1]["bag_size"] == 915
    other = json.loads(run(*arguments, "--epsilon", 20, "--range-length", 100).output)["subbagging"]
    assert other["bag_size"] == 870
    small = json.loads(run(*arguments, "--epsilon", 0.2, "--max-bag-size", 100).output)["subbagging"]
    assert small["bag_size"] == 100


def test_plan_for_a_retraining_says_what_decides(run):
    asked = ("plan", "--n-samples", 10_000, "--epsilon", 0.1, "--delta", 0.1, "--churn", 0.01)
    found = plan(10_000, 0.1, 0.1, churn=0.01)
    result = run(*asked)
    assert result.exit_code == 0, result.output
    assert words(result) == " ".join(str(found).split())
    numbers = json.loads(run(*asked, "--json").output)
    assert (numbers["n_bags"], numbers["n_left"]) == (found.n_bags, 100)
    assert run(*asked[:-1], 0).exit_code == 2


def test_plan_for_the_width_of_an_error_interval_is_the_one_of_the_library(run):
    result = run("plan", "--n-samples", 1000, "--error-width", 0.3)
    assert result.exit_code == 0, result.output
    found = plan(1000, error_width=0.3)
    assert words(result) == " ".join(str(found).split())
    more = ("--confidence", 0.9, "--lipschitz", 0.5, "--upper", 2, "--range-length", 3, "--max-bags", 2000,
            "--max-bag-size", 40, "--scheme", "subbagging")  # fmt: skip
    numbers = json.loads(run("plan", "--n-samples", 5000, "--error-width", 0.7, *more, "--json").output)
    found = plan(5000, error_width=0.7, confidence_level=0.9, lipschitz=0.5, upper=2.0, range_length=3.0, max_bags=2000,
                 max_bag_size=40)  # fmt: skip
    assert (numbers["bag_size"], numbers["n_bags"], numbers["width"]) == (
        found.scheme.bag_size,
        found.n_bags,
        found.width,
    )
    assert numbers["bag_size"] <= 40
    assert numbers["width"] <= numbers["error_width"] == 0.7
    assert (numbers["confidence_level"], numbers["lipschitz"], numbers["upper"]) == (0.9, 0.5, 2.0)
    assert {each["share_in_bag"]: each["n_samples"] for each in numbers["enough_rows"]} == found.rows


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "Give --epsilon and --delta"),
        (("--epsilon", 0.1), "Give --delta"),
        (("--error-width", 0.2, "--epsilon", 0.1), "--epsilon is about stability, and --error-width about the error"),
        (("--error-width", 0.2, "--churn", 0.1), "--churn is about stability"),
        (("--error-width", 0.2, "--scheme", "classical"), "for subbagging only, got --scheme classical"),
        (("--epsilon", 0.1, "--delta", 0.1, "--upper", 2), "--upper needs --error-width"),
        (("--epsilon", 0.1, "--delta", 0.1, "--confidence", 0.9), "--confidence needs --error-width"),
        (("--error-width", 0.01), "No bags of 1,000 rows"),
        (("--error-width", -1), "error_width"),
    ],
)
def test_options_of_two_kinds_of_plans_do_not_mix(run, options, said):
    result = run("plan", "--n-samples", 1000, *options)
    assert result.exit_code == 2
    assert said in words(result)
