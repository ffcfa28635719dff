import itertools
import json
import math

import numpy as np
import pytest

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ClassicalBagging,
    FixedRange,
    StratifiedSubbagging,
    Subbagging,
    certify,
)
from stablebag.proving import VectorOutputs
from stablebag.proving.bounds import observed_mean_square
from stablebag.proving.coupling import matched
from stablebag.proving.outputs import AdaptiveOutputs


def joined(text):
    return " ".join(text.split())


# ------------------------------------------------------------------------------------------------- several rows at once


def test_ten_of_a_thousand_rows_worked_by_hand():
    # c = k m / ((n - m) (n - k)), and epsilon = sqrt(c / 4 / delta); any ten by 1 - C(990, m) / C(1000, m).
    found = Certificate(Subbagging(100), 1000, range_length=50.0).leave_out(10)
    assert found.epsilon(0.1) == pytest.approx(50 * math.sqrt(10 * 100 / 900 / 990 / 0.4))
    assert found.rms() == found.mean() == pytest.approx(50 * math.sqrt(10 * 100 / 900 / 990 / 4))
    assert found.delta(found.epsilon(0.1)) == pytest.approx(0.1)
    assert found.worst_case() == pytest.approx(50 * (1 - math.comb(990, 100) / math.comb(1000, 100)))
    assert found.epsilon(0.0) == found.worst_case()
    assert (found.epsilon(1.0), found.delta(found.worst_case()), found.delta(1e-9)) == (0.0, 0.0, 1.0)


def test_no_output_of_all_bags_exceeds_it_on_average_over_sets_or_at_any():
    n, m, k = 5, 2, 2
    bags, sets = (list(itertools.combinations(range(n), size)) for size in (m, k))
    apart = np.array([[not set(bag) & set(gone) for gone in sets] for bag in bags], dtype=float)
    moves = apart / apart.sum(axis=0) - 1 / len(bags)
    outputs = np.array(list(itertools.product([0.0, 1.0], repeat=len(bags))))
    moved = np.abs(outputs @ moves)
    found = Certificate(Subbagging(m), n).leave_out(k)
    assert np.sqrt((moved**2).mean(axis=1)).max() <= found.rms() + 1e-12
    assert moved.max() == pytest.approx(found.worst_case())
    for share in (0.1, 0.35, 0.7):
        assert ((moved > found.epsilon(share)).mean(axis=1) <= share).all()


@pytest.mark.parametrize("scheme", [Subbagging(0.3), BernoulliSubbagging(0.3), ClassicalBagging(0.5)], ids=str)
@pytest.mark.parametrize("n_bags", [50, 1000, math.inf])
def test_one_row_has_the_numbers_of_the_certificate_and_more_rows_no_smaller_mean_squares(scheme, n_bags):
    for coupling in ("any", "independent", "matched"):
        certificate = Certificate(scheme, 100, n_bags, coupling=coupling)
        one = certificate.leave_out(1)
        for mine, its in ((one.epsilon, certificate.epsilon), (one.delta, certificate.delta)):
            assert mine(0.1) == its(0.1)
        assert (one.mean(), one.rms(), one.worst_case()) == (
            certificate.mean(), certificate.rms(), certificate.worst_case()
        )  # fmt: skip
        roots = [certificate.leave_out(k).rms() for k in (1, 2, 5, 20)]
        assert roots == sorted(roots)
        assert certificate.leave_out(5).rms() <= Certificate(scheme, 100, n_bags).leave_out(5).rms()


def test_vectors_have_the_square_of_their_radius_in_place_of_a_quarter():
    radius = VectorOutputs().radius
    found = Certificate(Subbagging(20), 100, outputs=VectorOutputs()).leave_out(5)
    assert found.epsilon(0.1) == pytest.approx(radius * math.sqrt(5 * 20 / 80 / 95 / 0.1))


def test_models_of_groups_have_guarantees_for_groups():
    X, y = np.arange(90.0)[:, None], np.arange(90.0) % 2
    model = BaggedRegressor(n_bags=200, scheme=Subbagging(10), prediction_range=FixedRange(0, 1), random_state=0)
    found = certify(model.fit(X, y, groups=np.repeat(range(30), 3))).leave_out(2)
    text = joined(found.explain(0.2))
    assert "leaving out 2 random groups changes the prediction by more than" in text
    assert (
        "Chosen groups, such as the oldest, can change it by more. With infinitely many bags, no 2 groups change it"
        in text
    )
    assert found.epsilon(0.2) == Certificate(Subbagging(10), 30, 200, coupling="matched").leave_out(2).epsilon(0.2)
    labels = BaggedClassifier(n_bags=200, scheme=Subbagging(10), random_state=0).fit(X, y.astype(int))
    assert 0 < certify(labels).leave_out(3).epsilon(0.2) < 1


def test_explanations_are_about_random_rows_and_name_the_worst_case_of_chosen_ones():
    found = Certificate(Subbagging(44), 442, 1000, coupling="matched").leave_out(22)
    text = joined(str(found))
    assert "leaving out 22 random rows changes the prediction" in text
    assert "The chance is over which rows leave, and over the draw of bags and seeds." in text
    assert "Chosen rows, such as the oldest, can change it by more" in joined(found._repr_html_())
    assert "Nothing is guaranteed for delta = 0.01" in joined(
        Certificate(Subbagging(40), 42, 5).leave_out(2).explain(0.01)
    )
    assert "one row" not in joined(Certificate(Subbagging(44), 442).leave_out(1).explain())


def test_it_is_a_dictionary_that_json_takes():
    values = Certificate(Subbagging(44), 442, 1000, coupling="matched").leave_out(22).to_dict()
    values = json.loads(json.dumps(values, allow_nan=False))
    assert (values["n_left_out"], values["about"], values["n_samples"]) == (22, "random rows left out together", 442)


@pytest.mark.parametrize(("certificate", "words"), [
    (Certificate(Subbagging(4), 10, outputs=AdaptiveOutputs(1.0, 0.1, 1.0)), r"leave_out\(4\) needs to know how many"),
    (Certificate(Subbagging(7), 10), "no bag of subbagging, 7 of 10 rows, avoids 4 given rows"),
    (Certificate(StratifiedSubbagging(0.5, [0] * 5 + [1] * 5), 10), "one that treats all rows alike"),
])  # fmt: skip
def test_unknown_cases_raise_an_error(certificate, words):
    with pytest.raises(ValueError, match=words):
        certificate.leave_out(4)


# ----------------------------------------------------------------------------------------------- where it must not hold


class Backwards(Subbagging):
    """The last rows to arrive: the law is the same, but this is not known of a scheme that picks otherwise."""

    def pick(self, n_samples, arrivals):
        return super().pick(n_samples, arrivals)


def test_a_derived_scheme_that_picks_otherwise_inherits_no_components():
    found = Backwards(5).resolve(10).matched_components()
    assert math.isinf(found.top)
    assert found.limit == 0.5
    assert Backwards(5).resolve(10).components_without(2, 1.0) is None
    assert Subbagging(5).resolve(10).matched_components().top == pytest.approx(1.2)


@pytest.mark.parametrize("coupling", ["any", "independent"])
def test_other_couplings_keep_the_sum_of_both_parts(coupling):
    noise = {"any": 1.0, "independent": 0.5}[coupling]
    found = Certificate(Subbagging(50), 100, 80, coupling=coupling)
    assert found.rms() == pytest.approx(math.sqrt(50 / 50 / 99 / 4 + noise / 80))


@pytest.mark.parametrize("shift", [0.0, 0.01, 0.3])
def test_at_points_rows_and_bags_are_bounded_jointly_with_a_shift_too(shift):
    law = BernoulliSubbagging(0.4).resolve(30)
    coupling, s, n_bags = matched(law), np.array([0.0, 0.1, 0.5]), 40
    shifted = {"shift": shift, "shift_noise": shift, "shift_square": 2 * shift**2}
    found = observed_mean_square(s, law.constant, n_bags, law.raggedness, coupling, width=1.0, **shifted)
    jointly = coupling.parts.mean_square(n_bags, s**2)
    added = (1 - 1 / n_bags) * shift**2 + 2 * shift**2 / n_bags
    assert (found <= (np.sqrt(jointly) + math.sqrt(added)) ** 2 + 1e-15).all()
    # A shift that all rows have in the direction of the output is added to its root in full.
    assert (found >= shift**2 * (1 - 1e-9)).all()
