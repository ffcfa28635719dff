"""Bounds are shown only with measurements of the same thing."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    FixedRange,
    FunctionClassifier,
    FunctionRegressor,
    ObservedRange,
    Subbagging,
    certify,
    leave_one_out,
    leave_one_out_refit,
)
from stablebag.measuring import replace_one_refit
from stablebag.proving.scope import Quantity, Rerun, Scope, refuse_mismatch

X = np.arange(8.0)[:, None]
Y = np.linspace(0, 1, 8)


def memorizer(X, y, seed):
    return lambda points: np.isin(points[:, 0], X[:, 0]).astype(float)


def own_label(X, y, seed):
    return lambda points: np.full(len(points), y[X[:, 0].argmin()])


def model(scheme=Subbagging(4), n_bags="all", rule=FixedRange(0, 1)):  # noqa: B008 (frozen)
    learner = FunctionRegressor(memorizer)
    return BaggedRegressor(learner, scheme=scheme, n_bags=n_bags, prediction_range=rule, random_state=0)


def classifier(labels, scheme=BernoulliSubbagging(0.05), n_bags="all"):  # noqa: B008 (frozen)
    learner = FunctionClassifier(own_label)
    return BaggedClassifier(learner, scheme=scheme, n_bags=n_bags, random_state=0).fit(
        np.arange(float(len(labels)))[:, None], np.array(list(labels))
    )


def accepted(measured, certificate):
    return measured.scope.mismatch(certificate.scope) is None


@pytest.mark.slow
def test_bounds_of_the_same_thing_are_accepted():
    every, drawn = model().fit(X, Y), model(n_bags=20).fit(X, Y)
    assert accepted(leave_one_out(every, X), certify(every))
    assert accepted(leave_one_out(every, X), certify(every, X))
    assert accepted(leave_one_out(every, X), certify(every, reused=True))
    assert accepted(leave_one_out(drawn, X), certify(drawn, reused=True))
    assert accepted(leave_one_out(drawn, X), certify(drawn, X, reused=True))
    assert accepted(leave_one_out_refit(model(), X, Y, X), certify(every))
    assert accepted(leave_one_out_refit(model(n_bags=20), X, Y, X), certify(drawn))
    once = drawn.predict_once(X)
    assert accepted(leave_one_out(drawn, once), certify(drawn, once, reused=True))
    labels = classifier("aabbcd")
    for vector in (False, True):
        moved = leave_one_out(labels, X[:2])
        for certificate in (certify(labels, vector=vector), certify(labels, X[:2], vector=vector, reused=True)):
            assert accepted(moved.in_norm() if vector else moved, certificate)


def cases():
    """What was measured, what does not bound it, and why."""
    every, drawn = model().fit(X, Y), model(n_bags=20).fit(X, Y)
    smaller = model(Subbagging(1)).fit(X, Y)
    free, observed = model(rule=None).fit(X, Y), model(rule=ObservedRange()).fit(X, Y)
    lonely, plain = classifier("abcdef"), classifier("aabbcc")
    moved = leave_one_out(every, X)
    yield moved, certify(smaller), "different bags"
    yield leave_one_out_refit(model(Subbagging(7), 20), X, Y, X), certify(drawn), "different bags"
    yield moved, certify(every, X + 1), "different points"
    yield leave_one_out(drawn, X), certify(drawn, X + 1, reused=True), "different points"
    yield leave_one_out(drawn, X), certify(drawn, X[:2], reused=True), "8 points, and the bound at 2"
    yield leave_one_out(free, X), certify(every), "a range of length None, and the bound on one of length 1"
    yield leave_one_out(observed, X), certify(every), "changes the range"
    yield leave_one_out_refit(model(n_bags=20), X, Y, X, rows=[0]), certify(drawn), "only 1 of the 8 rows"
    yield leave_one_out(lonely, X[:1]), certify(plain), "a class has a single row"
    yield leave_one_out(lonely, X[:1]).in_norm(), certify(plain, vector=True), "a class has a single row"
    yield leave_one_out(lonely, X[:1]), Certificate(BernoulliSubbagging(0.05), 6), "a class has a single row"
    yield (
        leave_one_out_refit(model(n_bags=20), X, Y, X),
        certify(drawn, coupling="independent"),
        'the bound assumes "independent"',
    )
    free_and_drawn = model(n_bags=20, rule=None).fit(X, Y)
    yield leave_one_out(free_and_drawn, X), certify(free_and_drawn, X), "only an estimate and proves nothing"
    yield leave_one_out(drawn, X), certify(drawn), "a bagged model refitted"
    yield leave_one_out_refit(Ridge(), X, Y, X), certify(drawn), "not bagged"
    yield replace_one_refit(model(), X, Y, X, Y, X), certify(every), "replaced"
    yield moved.loss(lambda a, b: np.abs(a - b), Y), certify(every), "a loss"


@pytest.mark.parametrize(
    ("measured", "certificate", "why"), list(cases()), ids=lambda case: case if isinstance(case, str) else ""
)
def test_a_bound_on_something_else_raises_an_error_with_the_reason(measured, certificate, why):
    assert why in measured.scope.mismatch(certificate.scope)
    with pytest.raises(ValueError, match=r"here cannot show this bound with this measurement: .*\."):
        refuse_mismatch(measured.scope, certificate.scope, "here")


def test_unknown_scopes_raise_no_error():
    refuse_mismatch(None, Certificate(Subbagging(0.5), 10).scope, "here")


def test_a_scope_is_read_back():
    scope = Scope(4, Quantity.CLASS, Rerun.REUSED, 7, "abc", 1.0, 2, "points", 0.5, 0.1, 3, "any", proved=False)
    assert Scope.from_dict(scope.to_dict()) == scope
