import re


def words(result):
    return " ".join(result.output.split())


def test_plan_lists_every_scheme(run):
    result = run("plan", "--n-samples", 1000, "--epsilon", 0.2, "--delta", 0.05)
    assert result.exit_code == 0
    for part in ("subbagging, 887", "classical bagging, 1,000", "Poissonized", "Bernoulli", "9,742 bags", "638 bags"):
        assert part in words(result)
    only = run("plan", "--n-samples", 1000, "--epsilon", 0.2, "--delta", 0.05, "--scheme", "classical")
    assert "classical bagging, 1,000" in words(only)
    assert "Poissonized" not in only.output


def test_a_scheme_that_cannot_keep_the_promise_says_why_beside_those_that_can(run):
    arguments = ("--n-samples", 1000, "--epsilon", 0.2, "--delta", 0.05)
    few = run("plan", *arguments, "--max-bags", 700)
    assert few.exit_code == 0
    assert "638 bags" in words(few)
    assert "9,742 bags" not in words(few)
    for number in re.findall(r"([\d,]+) bags", words(few)):
        assert int(number.replace(",", "")) <= 700
    none = run("plan", *arguments, "--max-bags", 5)
    assert none.exit_code == 2
    assert "No plan with at most" in words(none)
