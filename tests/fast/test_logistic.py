import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fast.linear_cases import (
    NUMBERS,
    TABLES,
    check_bag,
    check_junk,
    check_many,
    draw_logistic,
    solver_and_job,
    theirs,
)
from marks import since, solver_compared
from stablebag.fast import linear as lbfgs
from stablebag.fast import linear as logistic
from stablebag.models.rows import Points
from stablebag.models.solving import NotCovered

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
Y = np.digitize(X[:, 0] + RNG.normal(size=90), [-0.5, 0.5])
known_minimizer = since("scipy", "1.15", "its minimizer has other arguments")
LEARNERS = [LogisticRegression(), LogisticRegression(fit_intercept=False), LogisticRegression(C=np.inf, tol=1e-2)]


@pytest.mark.slow
@known_minimizer
@solver_compared
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("table", TABLES)
def test_models_and_predictions_are_scikit_learns_to_the_last_bit(numbers, table):
    rng = np.random.default_rng([NUMBERS.index(numbers), TABLES.index(table)])
    assert check_many(rng, draw_logistic, numbers, table, 4) > 0


@known_minimizer
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize("y", [Y, Y > 0], ids=["three classes", "two classes"])
def test_rows_outside_of_the_bag_cannot_move_a_bit(learner, y):
    check_junk(learner, X, y, np.full((90, 4), -0.0))
    check_junk(learner, X, y, np.full((90, 4), 1e139))


@known_minimizer
@pytest.mark.parametrize("kept", [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_a_bag_may_have_only_some_of_the_classes(kept):
    bag = np.flatnonzero(np.isin(Y, kept))[:50]
    solver, job = solver_and_job(LogisticRegression(), X, np.array(["a", "b", "c"])[Y], [bag])
    assert check_bag(solver, job, 0, X)
    model = solver.fit(bag, 0)
    assert model.seen.tolist() == list(kept)
    line = solver.structure.predictor(Points(X))([model])[0]
    assert line.shape == (90, 3)
    assert np.allclose(line.sum(axis=1), 1)


@known_minimizer
@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_a_bag_that_reaches_the_last_step_is_handed_back_with_its_warning(max_iter):
    solver, job = solver_and_job(LogisticRegression(max_iter=max_iter), X, Y, [np.arange(60)])
    assert solver.fit(job.bags[0], 0) is None
    assert any("failed to converge" in text for text in theirs(job, 0)[1])


@known_minimizer
def test_converging_in_the_step_before_the_last_is_converging():
    steps = theirs(solver_and_job(LogisticRegression(), X, Y, [np.arange(60)])[1], 0)[0].n_iter_[0]
    enough, just_not = (
        solver_and_job(LogisticRegression(max_iter=int(steps) + more), X, Y, [np.arange(60)]) for more in (1, 0)
    )
    assert check_bag(*enough, 0, X)
    assert not check_bag(*just_not, 0, X)


@known_minimizer
def test_a_penalty_beyond_all_numbers_is_handed_back_without_a_warning_of_ours():
    solver, job = solver_and_job(LogisticRegression(C=5e-324), X, Y, [np.arange(60)])
    assert any("invalid value" in text for text in theirs(job, 0)[1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solver.fit(job.bags[0], 0) is None


@pytest.mark.parametrize(
    "learner",
    [LogisticRegression(solver="newton-cg"), LogisticRegression(class_weight="balanced"),
     LogisticRegression(warm_start=True), LogisticRegression(verbose=1),
     LogisticRegression(C=np.float32(1)), LogisticRegression(penalty=None), LogisticRegression(n_jobs=1),
     LogisticRegression(l1_ratio=0.5)],
    ids=str,
)  # fmt: skip
def test_other_parameters_are_not_covered(learner):
    with pytest.raises(NotCovered, match="is not covered"):
        solver_and_job(learner, X, Y, [np.arange(60)])


@known_minimizer
def test_the_old_name_of_the_penalty_is_covered():
    solver, job = solver_and_job(LogisticRegression(penalty="l2"), X, Y, [np.arange(60)])
    model, (expected, warned) = solver.fit(job.bags[0], 0), theirs(job, 0)
    assert all("'penalty' was deprecated" in text for text in warned)
    assert model.coef.tobytes() == expected.coef_.tobytes(order="F")


@known_minimizer
def test_labels_that_are_numbers_with_fractions_are_not_covered():
    with pytest.raises(NotCovered, match="labels"):
        solver_and_job(LogisticRegression(), X, Y + 0.5, [np.arange(60)])


def test_another_minimizer_is_noticed(monkeypatch):
    def with_other_arguments(m, x):
        raise AssertionError

    monkeypatch.setattr(lbfgs, "setulb", with_other_arguments)
    lbfgs.is_known.cache_clear()
    try:
        with pytest.raises(NotCovered, match="another minimizer"):
            solver_and_job(LogisticRegression(), X, Y, [np.arange(60)])
    finally:
        lbfgs.is_known.cache_clear()


@known_minimizer
def test_missing_losses_are_noticed(monkeypatch):
    monkeypatch.setattr(logistic, "CyHalfBinomialLoss", None)
    with pytest.raises(NotCovered, match="other losses"):
        solver_and_job(LogisticRegression(), X, Y, [np.arange(60)])
