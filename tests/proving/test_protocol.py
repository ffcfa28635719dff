"""Every certificate answers the same questions, and its answers agree."""

import json

import numpy as np
import pytest

from stablebag import Certificate, Subbagging
from stablebag.proving import PointCertificate, ReusedBagsCertificate
from stablebag.proving.certificate import StabilityCertificate
from stablebag.proving.scope import Quantity, Rerun, Scope

DEVIATION = np.array([0.1, 0.5])
CERTIFICATES = [
    Certificate(Subbagging(3), 6),
    Certificate(Subbagging(3), 6, 1000, range_length=4.0),
    Certificate.for_classes(Subbagging(3), 6, 3),
    PointCertificate(Certificate(Subbagging(3), 6), DEVIATION, DEVIATION, 1.0, proved=True),
    ReusedBagsCertificate(0.04, 0.5, scale=0.5, range_length=1.0, scope=Scope(6, Quantity.NUMBER, Rerun.REUSED, 5)),
]
each_certificate = pytest.mark.parametrize("certificate", CERTIFICATES, ids=lambda each: type(each).__name__)


@each_certificate
def test_certificates_answer_every_question(certificate):
    assert isinstance(certificate, StabilityCertificate)
    assert certificate.scope.n_samples == certificate.n_samples == 6


def test_what_cannot_answer_them_is_no_certificate():
    class Silent:
        scope = n_samples = range_length = None
        epsilon = delta = mean = rms = worst_case = curve = to_dict = Certificate.epsilon

    assert not isinstance(Silent(), StabilityCertificate)
    Silent.explain = Certificate.explain
    assert isinstance(Silent(), StabilityCertificate)
    assert not isinstance(Subbagging(3), StabilityCertificate)


@each_certificate
def test_answers_agree_with_each_other(certificate):
    epsilons = np.array([certificate.epsilon(rows / 6) for rows in range(7)])
    assert (np.diff(epsilons, axis=0) <= 0).all()
    assert (epsilons[0] <= certificate.worst_case()).all()
    assert (epsilons[-1] == 0).all()
    assert certificate.worst_case() <= certificate.range_length
    assert np.all(certificate.delta(certificate.worst_case()) == 0)
    assert np.all(certificate.mean() <= certificate.rms())
    assert np.all(certificate.rms() <= certificate.worst_case())


@each_certificate
@pytest.mark.parametrize("over_points", ["max", "mean"])
def test_a_curve_is_made_of_what_is_proved(certificate, over_points):
    epsilon, delta = certificate.curve(over_points)
    assert len(epsilon) == len(delta) > 1
    summary = np.max if over_points == "max" else np.mean
    for level, share in zip(epsilon, delta, strict=True):
        assert summary(certificate.delta(level * (1 + 1e-12))) <= share + 1e-12  # next to it, for rounding
    with pytest.raises(ValueError, match="'over_points' parameter of curve"):
        certificate.curve("median")


@each_certificate
def test_words_and_numbers_can_be_kept(certificate):
    assert str(certificate) == certificate.explain(0.05)
    assert certificate.explain(0.5) != certificate.explain(0.05)
    values = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    assert values["n_samples"] == 6
