"""A decision is said to hinge on a row only if refitting without that row flips it."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.tree import DecisionTreeClassifier

from stablebag import BaggedClassifier, Subbagging
from stablebag.showing.report.page import Colophon, Contents, Values
from stablebag.showing.study import study

N, BAGS = 80, 60


def noisy(seed=0):
    """Labels that nothing predicts: almost every decision is a close call."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(N + 40, 3)), rng.integers(0, 2, N + 40)
    return X[:N], y[:N], X[N:], y[N:]


def clear():
    X, y = make_blobs(N + 40, centers=[[0, 0], [50, 50]], random_state=0)
    return X[:N], y[:N], X[N:], y[N:]


@pytest.fixture(scope="module")
def close_calls():
    return study(
        BaggedClassifier(DecisionTreeClassifier(random_state=0), n_bags=BAGS), *noisy(), n_refits=20, n_matched=10
    )


def fitted_without(row):
    X, y, Z, _ = noisy()
    kept = np.delete(np.arange(N), row)
    tree = DecisionTreeClassifier(random_state=0)
    model = BaggedClassifier(tree, scheme=Subbagging(N // 2), n_bags=BAGS, random_state=0)
    return model.fit(X[kept], y[kept], row_ids=kept).predict_proba(Z)


def test_counted_flips_equal_those_of_direct_refits(close_calls):
    decisions = close_calls.decisions
    before = close_calls.model.predict_proba(noisy()[2])
    after = np.array([fitted_without(row) for row in decisions.refitted])
    first = np.broadcast_to(before.argmax(axis=1)[:, None], (len(after), 40, 1))
    flips = np.take_along_axis(after, first, axis=2)[..., 0] < 0.5 - 1e-12  # at a tie it is still among the highest
    np.testing.assert_array_equal(decisions.by_point, flips.sum(axis=0))
    np.testing.assert_array_equal(decisions.by_row[decisions.refitted], flips.sum(axis=1))
    assert decisions.n_flipped > 0
    assert 10 < len(decisions.refitted) <= 15  # ten by chance or because they matter, and five that seem to flip most
    pairs = [(row, point) for row, point in decisions.suggested.tolist() if row in decisions.refitted]
    assert decisions.n_checked == len(pairs)
    assert 0 < decisions.n_confirmed < decisions.n_checked  # bags suggest flips that refits do not confirm


def test_sentence_counts_checked_and_confirmed_flips(close_calls):
    decisions, first = close_calls.decisions, close_calls.verdict().reasons[0]
    remarks = " ".join([first, *(" ".join(remark.reasons) for remark in close_calls.verdict().remarks)])
    assert f"Of 40 decisions, at least {decisions.n_flipped} hinge on a single training row" in remarks
    assert f"refitted without {len(decisions.refitted)} of the 80 rows" in remarks
    assert f"{decisions.n_checked} were checked by these refits, and {decisions.n_confirmed} confirmed" in remarks


def test_many_close_calls_change_the_advice(close_calls):
    assert close_calls.decisions.n_flipped >= 2
    said = (
        f"{close_calls.decisions.n_flipped} of 40 decisions are close calls: have someone review them, or answer with"
    )
    assert said in close_calls.decisions.advice()
    assert close_calls.verdict().case != "stabilized" or said in close_calls.verdict().advice


def test_clear_decisions_hinge_on_no_row():
    made = study(
        BaggedClassifier(DecisionTreeClassifier(random_state=0), n_bags=BAGS), *clear(), n_refits=20, n_matched=5
    )
    assert made.decisions.conclusion() == "Refitting without each of 5 of the 80 rows flips none of 40 decisions."
    assert made.decisions.checks().endswith("Its bags suggest no flip.")
    assert made.decisions.advice() == ""
    everyone = study(
        BaggedClassifier(DecisionTreeClassifier(random_state=0), n_bags=BAGS), *clear(), n_refits=80, n_matched=80
    )
    assert everyone.decisions.conclusion() == "Refitting without any of the 80 rows flips none of 40 decisions."


def test_without_refits_flips_are_called_an_estimate_with_noise():
    made = study(
        BaggedClassifier(DecisionTreeClassifier(random_state=0), n_bags=BAGS), *noisy(), n_refits=20, n_matched=0
    )
    assert made.decisions.n_flipped == 0
    assert "This is an estimate with bagging noise: no refit has checked it." in made.decisions.explain()
    assert "hinges on" not in made.decisions.explain()
    assert "may be close calls" in made.decisions.advice()


def test_rows_are_listed_with_the_flips_of_refits(close_calls):
    decisions = close_calls.decisions
    contents = Contents(close_calls, Colophon.of(close_calls), Values.of(close_calls, None), None)
    table = contents.rows("flips")
    listed = {line[0].text: line[1].value for line in table.lines}
    assert listed == {str(row): count for row, count in enumerate(decisions.by_row) if count}
    assert set(np.flatnonzero(decisions.by_row)) <= set(decisions.refitted)
    assert "that flip when the model is refitted without one row" in table.caption
