import json

import pytest

from stablebag import Certificate, Subbagging
from stablebag._wording import rounded_up


def words(result):
    return " ".join(result.output.split())


def test_certify_speaks_and_tabulates(run):
    result = run("certify", "--n-samples", 500, "--n-bags", 10_000, "--delta", 0.05, "--coupling", "any")
    assert result.exit_code == 0
    assert (
        "at most 5% of the 500 rows (delta = 0.05) are expected to change the prediction by more than 0.1097"
        in words(result)
    )
    assert "0.07753" in result.output


def test_certify_gives_json(run):
    result = run("certify", "--n-samples", 500, "--scheme", "bernoulli", "--bag-size", "0.5", "--json")
    numbers = json.loads(result.output)
    assert numbers["n_bags"] is None
    assert numbers["epsilon"]["0.1"] < numbers["epsilon_of_the_paper"]["0.1"] == pytest.approx(0.0707106781187)


def test_the_share_that_was_asked_for_is_a_line_of_the_table(run):
    certificate = Certificate(Subbagging(0.5), 400, 300, coupling="matched")  # as the bags of this library are
    result = run("certify", "--n-samples", 400, "--n-bags", 300, "--delta", 0.03)
    table = [line.split() for line in result.output.split("by the paper")[1].splitlines() if line.strip()]
    lines = {share: values[:2] for share, *values in table}
    assert list(lines) == ["0.01", "0.03", "0.05", "0.1", "0.25"]
    assert lines["0.03"] == ["12", rounded_up(certificate.epsilon(0.03))]


@pytest.mark.parametrize("all_bags", ["inf", "all"])
def test_all_bags_can_be_asked_for(run, all_bags):
    numbers = json.loads(run("certify", "--n-samples", 50, "--n-bags", all_bags, "--json").output)
    assert numbers["n_bags"] is None
    assert numbers["epsilon"]["0.1"] == Certificate(Subbagging(0.5), 50).epsilon(0.1)
