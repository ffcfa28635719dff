"""Linear models, alone and in pipelines, have scikit-learn's bits; linear_cases.py draws the random cases."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.utils import check_array

from fast.linear_cases import (
    NUMBERS,
    TABLES,
    as_table,
    check_bag,
    check_junk,
    check_many,
    draw_logistic,
    draw_regression,
    solver_and_job,
    theirs,
)
from marks import since, solver_chosen, solver_compared
from stablebag.fast import linear as lbfgs
from stablebag.fast import linear as logistic
from stablebag.fast.linear import (
    BagRows,
    LeastSquaresForm,
    Linear,
    RidgeForm,
    column_sums,
    is_known,
    points_matrix,
    step_of,
)
from stablebag.models.estimators import BaggedRegressor
from stablebag.models.fitting import Models
from stablebag.models.rows import Points, take_rows
from stablebag.models.solving import FitJob, NotCovered, same_model

# ----------------------------------------------------------------------------------------------------------- matrices

RNG_MATRIX = np.random.default_rng(0)
X_MATRIX = RNG_MATRIX.normal(size=(30, 4))


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("n_rows", [1, 2, 11])
def test_rows_have_scikit_learns_memory_order(table, n_rows):
    rows = RNG_MATRIX.integers(0, 30, n_rows)
    expected = check_array(take_rows(as_table(X_MATRIX, table), rows))
    taken = BagRows(as_table(X_MATRIX, table)).take(rows)
    assert np.array_equal(taken, expected)
    assert n_rows == 1 or taken.strides == expected.strides
    assert taken.flags.writeable


@pytest.mark.parametrize("table", TABLES)
def test_by_row_gives_row_major_matrices(table):
    assert BagRows(as_table(X_MATRIX, table), by_row=True).take(np.arange(5)).flags.c_contiguous


def test_taking_rows_copies_them():
    taken = BagRows(X_MATRIX).take(np.arange(30))
    assert not np.shares_memory(taken, X_MATRIX)


def test_memory_map_is_covered(tmp_path):
    shared = np.memmap(tmp_path / "rows", dtype=float, mode="w+", shape=X_MATRIX.shape)
    shared[:] = X_MATRIX
    assert np.array_equal(BagRows(shared).take(np.arange(30)), X_MATRIX)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e141])
def test_missing_and_huge_numbers_are_not_covered(bad):
    with pytest.raises(NotCovered, match="not covered"):
        BagRows(np.where(np.arange(120).reshape(X_MATRIX.shape) == 14, bad, X_MATRIX))


@pytest.mark.parametrize("table", [X_MATRIX.astype(np.float32), X_MATRIX[:, :0], X_MATRIX[:0], X_MATRIX > 0])
def test_other_tables_are_not_covered(table):
    with pytest.raises(NotCovered):
        BagRows(table)


@pytest.mark.parametrize("d", [1, 2, 3, 7, 8, 9, 64, 200])
def test_column_sums_have_numpys_bits(d):
    for m in (1, 2, 7, 8, 9, 127, 128, 129, 1000):
        for order in "CF":
            rows = np.asarray(RNG_MATRIX.normal(size=(m, d)) * 10.0 ** RNG_MATRIX.integers(-9, 9, d), order=order)
            assert column_sums(rows).tobytes() == np.sum(rows, axis=0).tobytes()


def test_column_sums_of_negative_zeros_have_numpys_sign():
    for rows in (np.full((3, 2), -0.0), np.full((3, 1), -0.0), np.full((3, 2), -0.0, order="F")):
        assert column_sums(rows).tobytes() == np.sum(rows, axis=0).tobytes()


@pytest.mark.parametrize(
    "points",
    [
        X_MATRIX.astype(np.float32),
        np.where(X_MATRIX > 1, np.nan, X_MATRIX),
        X_MATRIX[:0],
        X_MATRIX > 0,
        X_MATRIX.tolist(),
    ],
)
def test_points_that_are_not_covered_are_left_to_scikit_learn(points):
    assert points_matrix(points) is None


def test_points_of_a_frame_are_converted_like_in_scikit_learn():
    frame = pd.DataFrame(X_MATRIX, columns=list("abcd"))
    assert points_matrix(frame).strides == check_array(frame).strides


# ------------------------------------------------------------------------------------------------- steps of pipelines

RNG_STEPS = np.random.default_rng(0)
X_STEPS = RNG_STEPS.normal(size=(41, 5)) * [1, 1e6, 1e-9, 0, 1] + [0, 1e6, 0, 3, 1e9]
SCALERS = [StandardScaler(with_mean=mean, with_std=std) for mean in (True, False) for std in (True, False)]
TRANSFORMERS = [*SCALERS, SimpleImputer(), SimpleImputer(strategy="median", keep_empty_features=True)]


@solver_compared
@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=str)
@pytest.mark.parametrize("n_rows", [1, 2, 40, 41])
@pytest.mark.parametrize("order", ["C", "F"])
def test_steps_have_scikit_learns_attributes_and_bits(transformer, n_rows, order):
    rows, step = np.array(X_STEPS[:n_rows], order=order), step_of(transformer)
    expected = type(transformer)(**transformer.get_params()).fit(rows)
    ours = type(transformer)(**transformer.get_params())
    ours.n_features_in_ = 5
    transformed, found = step.fit(rows.copy(order="K"))
    step.fill(ours, found, n_rows)
    assert len(found) == step.size(5)
    assert same_model(ours, expected)
    assert transformed.tobytes() == expected.transform(rows).tobytes()
    assert step.transform(X_STEPS, found).tobytes() == expected.transform(X_STEPS).tobytes()


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=str)
def test_transforming_points_does_not_change_them(transformer):
    step, points = step_of(transformer), X_STEPS.copy()
    step.transform(points, step.fit(X_STEPS.copy())[1])
    assert np.array_equal(points, X_STEPS)


@pytest.mark.parametrize(
    "transformer",
    [MinMaxScaler(), StandardScaler(copy=False), StandardScaler().set_output(transform="pandas"), "passthrough",
     SimpleImputer(add_indicator=True), SimpleImputer(missing_values=0), SimpleImputer(strategy="constant")],
    ids=str,
)  # fmt: skip
def test_other_transformers_are_not_covered(transformer):
    with pytest.raises(NotCovered):
        step_of(transformer)


@solver_compared
@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=str)
@pytest.mark.parametrize("n_rows", [1, 2, 3, 8])
def test_negative_zeros_have_scikit_learns_sign(transformer, n_rows):
    zeros = np.where(np.arange(5) % 2, -0.0, np.where(np.arange(n_rows)[:, np.newaxis] % 2, 0.0, -0.0))
    expected, ours = (type(transformer)(**transformer.get_params()) for _ in range(2))
    ours.n_features_in_ = 5
    step = step_of(transformer)
    transformed, found = step.fit(zeros.copy())
    step.fill(ours, found, n_rows)
    assert same_model(ours, expected.fit(zeros))
    assert transformed.tobytes() == expected.transform(zeros).tobytes()


# --------------------------------------------------------------------------------------------------------- regression

RNG_REGRESSION = np.random.default_rng(0)
X_REGRESSION, Y_REGRESSION = RNG_REGRESSION.normal(size=(60, 5)), RNG_REGRESSION.normal(size=60)
LEARNERS_REGRESSION = [
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
def test_regression_models_and_predictions_have_scikit_learns_bits(numbers, table):
    rng = np.random.default_rng([NUMBERS.index(numbers), TABLES.index(table)])
    assert check_many(rng, draw_regression, numbers, table, 6) > 2


@pytest.mark.kernels
@solver_compared
@pytest.mark.parametrize("learner", LEARNERS_REGRESSION, ids=str)
@pytest.mark.parametrize("n_features", [1, 4, 30, 200])
def test_more_or_fewer_features_than_rows_have_scikit_learns_bits(learner, n_features):
    rng = np.random.default_rng(n_features)
    wide, y = rng.normal(size=(50, n_features)), rng.normal(size=50)
    bags = [rng.integers(0, 50, m) for m in (1, 2, 29, 30, 31, 50)]
    solver, job = solver_and_job(learner, wide, y, bags)
    solved = sum(check_bag(solver, job, place, wide[:9]) for place in range(len(bags)))
    without_penalty = learner.get_params().get("alpha") == 0  # then more features than rows have no single solution
    assert solved >= (n_features < 50 if without_penalty else 5)


@pytest.mark.parametrize("learner", LEARNERS_REGRESSION, ids=str)
def test_rows_outside_the_bag_do_not_change_a_bit_of_regression(learner):
    check_junk(learner, X_REGRESSION, Y_REGRESSION, np.full((60, 5), -0.0))
    check_junk(learner, X_REGRESSION, Y_REGRESSION, np.full((60, 5), 1e139))


def test_singular_gram_matrix_is_handed_back():
    flat = np.column_stack([X_REGRESSION[:, 0], np.zeros(60)])
    solver, job = solver_and_job(Ridge(alpha=0.0), flat, Y_REGRESSION, [np.arange(40)])
    assert solver.fit(job.bags[0], 0) is None
    assert theirs(job, 0)[0].solver_ == "svd"


def test_gram_matrix_of_zero_is_handed_back():
    solver, job = solver_and_job(Ridge(alpha=0.0), np.ones((20, 1)), Y_REGRESSION[:20], [np.arange(20)])
    assert solver.fit(job.bags[0], 0) is None
    assert theirs(job, 0)[0].solver_ == "svd"


def test_ill_conditioned_gram_matrix_is_handed_back_with_its_warning():
    near = X_REGRESSION[:, :2] * [1.0, 1e9]
    solver, job = solver_and_job(Ridge(alpha=0.0, fit_intercept=False), near, Y_REGRESSION, [np.arange(40)])
    assert any("ill-conditioned" in text.lower() for text in theirs(job, 0)[1])
    assert solver.fit(job.bags[0], 0) is None


def test_overflow_in_regression_is_handed_back_without_a_warning():
    tiny = np.full((4, 2), 1e-160)  # one row of it has a Gram matrix of 2e-320
    solver, job = solver_and_job(Ridge(alpha=0.0, fit_intercept=False), tiny, np.ones(4), [np.arange(1)])
    warned = theirs(job, 0)[1]  # of one or the other, as scipy has it
    assert any("overflow" in text or "Ill-conditioned matrix (rcond=0)" in text for text in warned)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert solver.fit(job.bags[0], 0) is None


def test_least_squares_with_dependent_columns_has_scikit_learns_rank():
    flat = np.column_stack([X_REGRESSION, X_REGRESSION[:, 0] + X_REGRESSION[:, 1]])
    solver, job = solver_and_job(LinearRegression(), flat, Y_REGRESSION, [np.arange(40)])
    assert solver.structure.estimator(solver.fit(job.bags[0], 0), 0).rank_ == 5
    assert check_bag(solver, job, 0, flat)


@pytest.mark.parametrize(
    "learner",
    [Ridge(positive=True), Ridge(solver="svd"), Ridge(solver="lsqr"), Ridge(alpha=np.ones(1)),
     Ridge(alpha=np.float32(1)), LinearRegression(positive=True)],
    ids=str,
)  # fmt: skip
def test_other_parameters_of_regression_are_not_covered(learner):
    with pytest.raises(NotCovered, match="is not covered"):
        (RidgeForm if type(learner) is Ridge else LeastSquaresForm).of(learner)


@pytest.mark.parametrize(
    "y",
    [Y_REGRESSION.astype(np.float32), np.where(np.arange(60) == 3, np.nan, Y_REGRESSION), Y_REGRESSION[:, np.newaxis]],
)
def test_other_targets_are_not_covered(y):
    with pytest.raises(NotCovered, match="targets"):
        solver_and_job(Ridge(), X_REGRESSION, y, [np.arange(40)])


def test_estimator_shares_no_memory_with_the_model():
    solver, job = solver_and_job(Ridge(), X_REGRESSION, Y_REGRESSION, [np.arange(40)])
    model = solver.fit(job.bags[0], 0)
    before = model.coef.copy()
    solver.structure.estimator(model, 0).coef_[:] = 7
    assert np.array_equal(model.coef, before)


@pytest.mark.kernels
@pytest.mark.parametrize("offset", range(0, 64, 8))
def test_memory_alignment_does_not_change_a_bit(offset):
    expected = RidgeForm(True, 1.0).fit(X_REGRESSION.copy(), Y_REGRESSION.copy())
    buffer = np.empty(X_REGRESSION.nbytes + 128, np.uint8)
    start = -buffer.ctypes.data % 64 + offset
    moved = buffer[start : start + X_REGRESSION.nbytes].view(float).reshape(X_REGRESSION.shape)
    moved[:] = X_REGRESSION
    assert RidgeForm(True, 1.0).fit(moved, Y_REGRESSION.copy()).coef.tobytes() == expected.coef.tobytes()


# ------------------------------------------------------------------------------------------------------ the minimizer

known_arguments = since("scipy", "1.15", "its minimizer has other arguments")
EPS = np.finfo(float).eps


def rosenbrock(x, gradient):
    rest = x[1:] - x[:-1] ** 2
    gradient[:-1] = -400 * x[:-1] * rest - 2 * (1 - x[:-1])
    gradient[-1] = 0
    gradient[1:] += 200 * rest
    return float(100 * (rest @ rest) + (1 - x[:-1]) @ (1 - x[:-1]))


def with_its_gradient(x):
    gradient = np.empty_like(x)
    return rosenbrock(x, gradient), gradient


@known_arguments
def test_minimizer_takes_the_steps_of_scipys_minimize():
    options = {"gtol": 1e-6, "ftol": 64 * EPS, "maxiter": 500, "maxls": 50}
    found = minimize(with_its_gradient, np.zeros(6), jac=True, method="L-BFGS-B", options=options)
    x, n_steps = lbfgs.minimum(rosenbrock, 6, 1e-6, 500)
    assert found.success
    assert n_steps == found.nit > 10
    assert x.tobytes() == found.x.tobytes()


@known_arguments
def test_minimizer_returns_none_if_it_does_not_converge():
    assert lbfgs.minimum(rosenbrock, 6, 1e-6, 5) is None


@known_arguments
def test_installed_minimizer_is_known():
    assert lbfgs.is_known()


# ------------------------------------------------------------------------------------------------ logistic regression

RNG_LOGISTIC = np.random.default_rng(0)
X_LOGISTIC = RNG_LOGISTIC.normal(size=(90, 4))
Y_LOGISTIC = np.digitize(X_LOGISTIC[:, 0] + RNG_LOGISTIC.normal(size=90), [-0.5, 0.5])
known_minimizer = since("scipy", "1.15", "its minimizer has other arguments")
LEARNERS_LOGISTIC = [
    LogisticRegression(),
    LogisticRegression(fit_intercept=False),
    LogisticRegression(C=np.inf, tol=1e-2),
]


@pytest.mark.slow
@known_minimizer
@solver_compared
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("table", TABLES)
def test_logistic_models_and_predictions_have_scikit_learns_bits(numbers, table):
    rng = np.random.default_rng([NUMBERS.index(numbers), TABLES.index(table)])
    assert check_many(rng, draw_logistic, numbers, table, 4) > 0


@known_minimizer
@pytest.mark.parametrize("learner", LEARNERS_LOGISTIC, ids=str)
@pytest.mark.parametrize("y", [Y_LOGISTIC, Y_LOGISTIC > 0], ids=["three classes", "two classes"])
def test_rows_outside_the_bag_do_not_change_a_bit_of_logistic_regression(learner, y):
    check_junk(learner, X_LOGISTIC, y, np.full((90, 4), -0.0))
    check_junk(learner, X_LOGISTIC, y, np.full((90, 4), 1e139))


@known_minimizer
@pytest.mark.parametrize("kept", [(0, 1), (0, 2), (1, 2), (0, 1, 2)])
def test_bag_may_lack_classes(kept):
    bag = np.flatnonzero(np.isin(Y_LOGISTIC, kept))[:50]
    solver, job = solver_and_job(LogisticRegression(), X_LOGISTIC, np.array(["a", "b", "c"])[Y_LOGISTIC], [bag])
    assert check_bag(solver, job, 0, X_LOGISTIC)
    model = solver.fit(bag, 0)
    assert model.seen.tolist() == list(kept)
    line = solver.structure.predictor(Points(X_LOGISTIC))([model])[0]
    assert line.shape == (90, 3)
    assert np.allclose(line.sum(axis=1), 1)


@known_minimizer
@pytest.mark.parametrize("max_iter", [0, 1, 3])
def test_bag_that_reaches_max_iter_is_handed_back_with_its_warning(max_iter):
    solver, job = solver_and_job(LogisticRegression(max_iter=max_iter), X_LOGISTIC, Y_LOGISTIC, [np.arange(60)])
    assert solver.fit(job.bags[0], 0) is None
    assert any("failed to converge" in text for text in theirs(job, 0)[1])


@known_minimizer
def test_convergence_one_step_before_max_iter_counts():
    steps = theirs(solver_and_job(LogisticRegression(), X_LOGISTIC, Y_LOGISTIC, [np.arange(60)])[1], 0)[0].n_iter_[0]
    enough, just_not = (
        solver_and_job(LogisticRegression(max_iter=int(steps) + more), X_LOGISTIC, Y_LOGISTIC, [np.arange(60)])
        for more in (1, 0)
    )
    assert check_bag(*enough, 0, X_LOGISTIC)
    assert not check_bag(*just_not, 0, X_LOGISTIC)


@known_minimizer
def test_infinite_penalty_is_handed_back_without_a_warning():
    solver, job = solver_and_job(LogisticRegression(C=5e-324), X_LOGISTIC, Y_LOGISTIC, [np.arange(60)])
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
def test_other_parameters_of_logistic_regression_are_not_covered(learner):
    with pytest.raises(NotCovered, match="is not covered"):
        solver_and_job(learner, X_LOGISTIC, Y_LOGISTIC, [np.arange(60)])


@known_minimizer
def test_deprecated_penalty_is_covered():
    solver, job = solver_and_job(LogisticRegression(penalty="l2"), X_LOGISTIC, Y_LOGISTIC, [np.arange(60)])
    model, (expected, warned) = solver.fit(job.bags[0], 0), theirs(job, 0)
    assert all("'penalty' was deprecated" in text for text in warned)
    assert model.coef.tobytes() == expected.coef_.tobytes(order="F")


@known_minimizer
def test_labels_with_fractions_are_not_covered():
    with pytest.raises(NotCovered, match="labels"):
        solver_and_job(LogisticRegression(), X_LOGISTIC, Y_LOGISTIC + 0.5, [np.arange(60)])


def test_another_minimizer_is_not_covered(monkeypatch):
    def with_other_arguments(m, x):
        raise AssertionError

    monkeypatch.setattr(lbfgs, "setulb", with_other_arguments)
    lbfgs.is_known.cache_clear()
    try:
        with pytest.raises(NotCovered, match="a different minimizer"):
            solver_and_job(LogisticRegression(), X_LOGISTIC, Y_LOGISTIC, [np.arange(60)])
    finally:
        lbfgs.is_known.cache_clear()


@known_minimizer
def test_missing_losses_are_not_covered(monkeypatch):
    monkeypatch.setattr(logistic, "CyHalfBinomialLoss", None)
    with pytest.raises(NotCovered, match="different losses"):
        solver_and_job(LogisticRegression(), X_LOGISTIC, Y_LOGISTIC, [np.arange(60)])


# ---------------------------------------------------------------------------------------------------------- pipelines

RNG_PIPELINES = np.random.default_rng(0)
X_PIPELINES, Y_PIPELINES = RNG_PIPELINES.normal(size=(60, 5)), RNG_PIPELINES.normal(size=60)
BAGS = [RNG_PIPELINES.integers(0, 60, 40) for _ in range(5)]
PIPELINES = [
    make_pipeline(StandardScaler(), Ridge()),
    make_pipeline(SimpleImputer(), StandardScaler(with_mean=False), Ridge(fit_intercept=False)),
    pytest.param(
        make_pipeline(StandardScaler(with_std=False), SimpleImputer(strategy="median"), LogisticRegression()),
        marks=since("scipy", "1.15", "its minimizer has other arguments"),
    ),
    Pipeline([("only", Ridge())]),
]


def labelled(learner):
    return (Y_PIPELINES > 0).astype(int) if isinstance(learner[-1], LogisticRegression) else Y_PIPELINES


def draw_pipeline(rng):
    steps = []
    for _ in range(rng.integers(3)):
        scaler = StandardScaler(with_mean=bool(rng.integers(2)), with_std=bool(rng.integers(2)))
        steps.append(scaler if rng.random() < 0.6 else SimpleImputer(strategy=str(rng.choice(["mean", "median"]))))
    return make_pipeline(*steps, (draw_logistic if rng.random() >= 0.6 and is_known() else draw_regression)(rng))


@pytest.mark.slow
@solver_compared
@pytest.mark.parametrize("numbers", NUMBERS)
@pytest.mark.parametrize("table", TABLES)
def test_pipelines_and_predictions_have_scikit_learns_bits(numbers, table):
    rng = np.random.default_rng([NUMBERS.index(numbers), TABLES.index(table)])
    assert check_many(rng, draw_pipeline, numbers, table, 6) > 1


@pytest.mark.parametrize("learner", PIPELINES, ids=str)
def test_rows_outside_the_bag_do_not_change_a_bit_of_pipelines(learner):
    check_junk(learner, X_PIPELINES, labelled(learner), np.full((60, 5), 1e139))


@pytest.mark.parametrize("learner", PIPELINES, ids=str)
def test_predictions_do_not_depend_on_the_other_models(learner):
    solver, _ = solver_and_job(learner, X_PIPELINES, labelled(learner), BAGS)
    models = [solver.fit(bag, 0) for bag in BAGS]
    predict = solver.structure.predictor(Points(X_PIPELINES))
    alone = np.concatenate([predict([model]) for model in models])
    assert predict(models).tobytes() == alone.tobytes()
    assert predict(models[::-1]).tobytes() == alone[::-1].tobytes()


@pytest.mark.parametrize("learner", PIPELINES, ids=str)
def test_pickled_models_are_the_same(learner):
    solver, _ = solver_and_job(learner, X_PIPELINES, labelled(learner), BAGS)
    models = Models([solver.fit(bag, 0) for bag in BAGS], np.arange(5), solver.structure)
    back = pickle.loads(pickle.dumps(models))
    assert all(map(same_model, models, back))
    predicted = (found.structure.predictor(Points(X_PIPELINES))(found.stored) for found in (models, back))
    assert next(predicted).tobytes() == next(predicted).tobytes()


@solver_compared
def test_only_the_first_step_has_feature_names():
    frame = pd.DataFrame(X_PIPELINES, columns=list("abcde"))
    solver, job = solver_and_job(PIPELINES[0], frame, Y_PIPELINES, BAGS)
    scaler, ridge = solver.structure.estimator(solver.fit(BAGS[0], 0), 0)
    assert scaler.feature_names_in_.tolist() == list("abcde")
    assert not hasattr(ridge, "feature_names_in_")
    assert check_bag(solver, job, 0, frame)


def test_infinite_scale_is_handed_back():
    tiny = np.where(np.arange(60)[:, np.newaxis] % 2, 1e-310, 0.0) * np.ones(5)
    solver, job = solver_and_job(make_pipeline(StandardScaler(), Ridge(alpha=0.0)), tiny, Y_PIPELINES, BAGS)
    expected, warned = theirs(job, 0)
    model = solver.fit(BAGS[0], 0)
    assert model is None or (not warned and same_model(solver.structure.estimator(model, 0), expected))


@pytest.mark.parametrize(
    "learner",
    [make_pipeline(PCA(), Ridge()), make_pipeline(StandardScaler(), Lasso()), make_pipeline("passthrough", Ridge()),
     make_pipeline(StandardScaler(), Ridge(), memory="cache"), make_pipeline(StandardScaler(), Ridge(), verbose=True),
     make_pipeline(StandardScaler().set_output(transform="pandas"), Ridge()), Pipeline([])],
    ids=lambda learner: " ".join(type(part).__name__ for _, part in learner.steps),
)  # fmt: skip
def test_other_pipelines_are_not_covered(learner):
    with pytest.raises(NotCovered):
        Linear(FitJob(learner, X_PIPELINES, Y_PIPELINES, BAGS, np.arange(5)))


def test_transform_output_setting_is_not_covered():
    with config_context(transform_output="pandas"), pytest.raises(NotCovered, match="transform_output"):
        Linear(FitJob(PIPELINES[0], X_PIPELINES, Y_PIPELINES, BAGS, np.arange(5)))


def test_regressor_of_labels_and_classifier_of_numbers_are_not_covered():
    with pytest.raises(NotCovered):
        Linear(FitJob(Ridge(), X_PIPELINES, (Y_PIPELINES > 0).astype(int), BAGS, np.arange(5), np.arange(2)))
    with pytest.raises(NotCovered):
        Linear(FitJob(LogisticRegression(), X_PIPELINES, Y_PIPELINES, BAGS, np.arange(5)))


@solver_chosen
@pytest.mark.parametrize("learner", [PIPELINES[0], PIPELINES[1]], ids=str)
def test_bagged_models_use_the_linear_solver(learner):
    model = BaggedRegressor(learner, n_bags=4, random_state=0).fit(X_PIPELINES, Y_PIPELINES)
    plain = BaggedRegressor(learner, n_bags=4, random_state=0, solver="scikit-learn").fit(X_PIPELINES, Y_PIPELINES)
    assert str(model.solver_) == "linear"
    assert model.predict(X_PIPELINES).tobytes() == plain.predict(X_PIPELINES).tobytes()
