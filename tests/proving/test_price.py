import math

import pytest

from stablebag import BaggedRegressor, Certificate, FixedRange, Subbagging, certify
from stablebag.proving import VectorOutputs
from stablebag.proving.certificate import describe_price, price_of_bags


def joined(text):
    return " ".join(text.split())


def like_a_root(n_bags):
    return 1 + n_bags**-0.5


def test_a_price_worked_by_hand():
    # With 100 bags 1.1, with infinitely many 1: half of the difference is left with four times as many.
    ideal, price, enough = price_of_bags(like_a_root, 100)
    assert (ideal, price, enough) == (1.0, pytest.approx(0.1), 400)


def test_the_first_multiple_that_is_enough_is_named():
    assert price_of_bags(lambda n_bags: 2 + 1 / n_bags, 10)[2] == 20
    assert price_of_bags(lambda n_bags: 2 + n_bags ** (-1 / 3), 10)[2] == 80
    assert price_of_bags(lambda n_bags: 2 + n_bags**-0.01, 10)[2] is None  # 2**100 times as many
    assert price_of_bags(lambda n_bags: 2.0, 10) == (2.0, 0.0, 20)


def test_the_sentence_says_the_price_and_how_many_bags_would_halve_it():
    assert describe_price(like_a_root, 100, 5.0) == (
        "Of it, 0.1001 is the price of drawing 100 bags at random: with infinitely many it would be 1; 400 bags "
        "would halve that price."
    )
    rarely = describe_price(lambda n_bags: 0.0 if math.isinf(n_bags) else n_bags**-0.01, 100, 5.0)
    assert "would be 0" in rarely
    assert "halve" not in rarely


@pytest.mark.parametrize(("epsilon", "n_bags", "reach"), [
    (like_a_root, math.inf, 5.0),  # all bags
    (like_a_root, 100, 1.05),  # no more than what holds anyway
    (lambda n_bags: 0.0, 100, 5.0),  # nothing moves
    (lambda n_bags: 1 + 1 / n_bags, 100, 5.0),  # one percent is not worth a word
])  # fmt: skip
def test_nothing_is_said_where_there_is_nothing_to_say(epsilon, n_bags, reach):
    assert describe_price(epsilon, n_bags, reach) == ""


@pytest.mark.parametrize("coupling", ["any", "independent", "matched"])
@pytest.mark.parametrize("outputs", [None, VectorOutputs()])
def test_the_price_in_a_certificate_is_its_own(outputs, coupling):
    def epsilon(n_bags):
        return Certificate(Subbagging(221), 442, n_bags, coupling=coupling, outputs=outputs).epsilon(0.1)

    text = joined(Certificate(Subbagging(221), 442, 500, coupling=coupling, outputs=outputs).explain(0.1))
    sentence = describe_price(epsilon, 500, 1.0 if outputs is None else 2.0)
    assert "is the price of drawing 500 bags at random" in sentence
    assert sentence in text
    assert "price of drawing" not in joined(
        Certificate(Subbagging(221), 442, coupling=coupling, outputs=outputs).explain(0.1)
    )


def test_so_many_bags_halve_the_price_indeed():
    certificate = Certificate(Subbagging(221), 442, 500, coupling="matched")
    ideal, price, enough = price_of_bags(
        lambda k: Certificate(Subbagging(221), 442, k, coupling="matched").epsilon(0.1), 500
    )
    assert ideal + price == pytest.approx(certificate.epsilon(0.1))
    # sqrt(c / 4 / delta) is more than what is proved with all bags, by counting whole rows.
    assert ideal <= math.sqrt(221 / 221 / 441 / 4 / 0.1)
    assert Certificate(Subbagging(221), 442, enough, coupling="matched").epsilon(0.1) - ideal <= price / 2


def test_a_fitted_model_says_what_its_bags_cost():
    X = [[float(k)] for k in range(40)]
    model = BaggedRegressor(n_bags=200, prediction_range=FixedRange(0, 1), random_state=0).fit(X, [0.0, 1.0] * 20)
    assert "the price of drawing 200 bags at random" in joined(certify(model).explain(0.2))
