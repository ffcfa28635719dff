import warnings

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, Ridge

from fast.linear_cases import (
    NUMBERS,
    TABLES,
    check_bag,
    check_junk,
    check_many,
    draw_regression,
    solver_and_job,
    theirs,
)
from marks import solver_compared
from stablebag.fast.linear import LeastSquaresForm, RidgeForm
from stablebag.models.solving import NotCovered

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(60, 5)), RNG.normal(size=60)
LEARNERS = [
    Ridge(),
    Ridge(alpha=0.0),
    Ridge(fit_intercept=False),
    LinearRegression(),
    LinearRegression(fit_intercept=False),
]


@pytest.mark.slow
@pytest.mark.kernels
@solver_compared
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("table", TABLES)
def test_models_and_predictions_are_scikit_learns_to_the_last_bit(numbers, table):
    rng = np.random.default_rng([NUMBERS.index(numbers), TABLES.index(table)])
    assert check_many(rng, draw_regression, numbers, table, 6) > 2


@pytest.mark.kernels
@solver_compared
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.parametrize("n_features", [1, 4, 30, 200])
def test_more_features_than_rows_and_fewer(learner, n_features):
    rng = np.random.default_rng(n_features)
    wide, y = rng.normal(size=(50, n_features)), rng.normal(size=50)
    bags = [rng.integers(0, 50, m) for m in (1, 2, 29, 30, 31, 50)]
    solver, job = solver_and_job(learner, wide, y, bags)
    solved = sum(check_bag(solver, job, place, wide[:9]) for place in range(len(bags)))
    without_penalty = learner.get_params().get("alpha") == 0  # then more features than rows have no single solution
    assert solved >= (n_features < 50 if without_penalty else 5)


@pytest.mark.parametrize("learner", LEARNERS, ids=str)
def test_rows_outside_of_the_bag_cannot_move_a_bit(learner):
    check_junk(learner, X, Y, np.full((60, 5), -0.0))
    check_junk(learner, X, Y, np.full((60, 5), 1e139))


def test_a_singular_gram_matrix_is_handed_back():
    flat = np.column_stack([X[:, 0], np.zeros(60)])
    solver, job = solver_and_job(Ridge(alpha=0.0), flat, Y, [np.arange(40)])
    assert solver.fit(job.bags[0], 0) is None
    assert theirs(job, 0)[0].solver_ == "svd"


def test_a_gram_matrix_of_nothing_is_handed_back():
    solver, job = solver_and_job(Ridge(alpha=0.0), np.ones((20, 1)), Y[:20], [np.arange(20)])
    assert solver.fit(job.bags[0], 0) is None
    assert theirs(job, 0)[0].solver_ == "svd"


def test_an_ill_conditioned_gram_matrix_is_handed_back_with_its_warning():
    near = X[:, :2] * [1.0, 1e9]
    solver, job = solver_and_job(Ridge(alpha=0.0, fit_intercept=False), near, Y, [np.arange(40)])
    assert any("ill-conditioned" in text.lower() for text in theirs(job, 0)[1])
    assert solver.fit(job.bags[0], 0) is None


def test_numbers_that_overflow_are_handed_back_without_a_warning_of_ours():
    tiny = np.full((4, 2), 1e-160)  # one row of it has a Gram matrix of 2e-320
    solver, job = solver_and_job(Ridge(alpha=0.0, fit_intercept=False), tiny, np.ones(4), [np.arange(1)])
    warned = theirs(job, 0)[1]  # of one or the other, as scipy has it
    assert any("overflow" in text or "Ill-conditioned matrix (rcond=0)" in text for text in warned)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solver.fit(job.bags[0], 0) is None


def test_least_squares_of_dependent_columns_has_their_rank():
    flat = np.column_stack([X, X[:, 0] + X[:, 1]])
    solver, job = solver_and_job(LinearRegression(), flat, Y, [np.arange(40)])
    assert solver.structure.estimator(solver.fit(job.bags[0], 0), 0).rank_ == 5
    assert check_bag(solver, job, 0, flat)


@pytest.mark.parametrize(
    "learner",
    [Ridge(positive=True), Ridge(solver="svd"), Ridge(solver="lsqr"), Ridge(alpha=np.ones(1)),
     Ridge(alpha=np.float32(1)), LinearRegression(positive=True)],
    ids=str,
)  # fmt: skip
def test_other_parameters_are_not_covered(learner):
    with pytest.raises(NotCovered, match="is not covered"):
        (RidgeForm if type(learner) is Ridge else LeastSquaresForm).of(learner)


@pytest.mark.parametrize("y", [Y.astype(np.float32), np.where(np.arange(60) == 3, np.nan, Y), Y[:, np.newaxis]])
def test_other_targets_are_not_covered(y):
    with pytest.raises(NotCovered, match="targets"):
        solver_and_job(Ridge(), X, y, [np.arange(40)])


def test_the_estimator_shares_nothing_with_the_model():
    solver, job = solver_and_job(Ridge(), X, Y, [np.arange(40)])
    model = solver.fit(job.bags[0], 0)
    before = model.coef.copy()
    solver.structure.estimator(model, 0).coef_[:] = 7
    assert np.array_equal(model.coef, before)


@pytest.mark.kernels
@pytest.mark.parametrize("offset", range(0, 64, 8))
def test_where_rows_lie_in_memory_changes_no_bit(offset):
    expected = RidgeForm(True, 1.0).fit(X.copy(), Y.copy())
    buffer = np.empty(X.nbytes + 128, np.uint8)
    start = -buffer.ctypes.data % 64 + offset
    moved = buffer[start : start + X.nbytes].view(float).reshape(X.shape)
    moved[:] = X
    assert RidgeForm(True, 1.0).fit(moved, Y.copy()).coef.tobytes() == expected.coef.tobytes()
