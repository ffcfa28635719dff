import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.neural_network import MLPClassifier

from grids import together
from marks import older, since, solver_chosen, solver_compared
from stablebag import BaggedClassifier
from stablebag.models import solving as choice
from stablebag.models.rows import Points
from stablebag.models.solving import FitJob, NotCovered, same_model
from stablebag.paper.learners import Networks, QuietNetwork, ScaledLogistic, ScaledLogisticRegression
from stablebag.paper.settings import SETTINGS
from stablebag.resampling import Bags

# ------------------------------------------------------------------------------------------------------------- logistic

known_minimizer = since("scipy", "1.15", "its minimizer has other arguments")


@known_minimizer
@solver_compared
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("variant", ["text", "script"])
def test_models_of_settings_1_and_2_equal_scikit_learn_bit_for_bit(number, variant):
    X, y, points = SETTINGS[number].data(variant)
    rng, learner = np.random.default_rng(0), SETTINGS[number].learner(variant)
    bags = [rng.permutation(len(X))[:m] for m in (len(X) // 2, len(X) // 2 + 1, len(X))]
    solver = ScaledLogistic(FitJob(learner, X, y, bags, np.arange(3), np.arange(2)))
    predict = solver.structure.predictor(Points(points))
    for bag in bags:
        model, expected = solver.fit(bag, 0), ScaledLogisticRegression().fit(X[bag], y[bag])
        assert same_model(solver.structure.estimator(model, 0), expected)
        assert predict([model])[0].tobytes() == expected.predict_proba(points).tobytes()


@known_minimizer
@solver_chosen
def test_the_solver_fits_ensembles_of_the_paper():
    X, y, points = SETTINGS[1].data()
    one, other = (
        BaggedClassifier(ScaledLogisticRegression(), n_bags=3, random_state=0, solver=s)
        for s in ("auto", "scikit-learn")
    )
    assert str(one.fit(X, y).solver_) == "linear"
    assert one.predict_proba(points).tobytes() == other.fit(X, y).predict_proba(points).tobytes()


def test_an_invalid_strength_is_not_covered():
    with pytest.raises(NotCovered):
        ScaledLogistic(
            FitJob(ScaledLogisticRegression(np.float32(1)), np.eye(2), np.arange(2), [], np.arange(0), np.arange(2))
        )


# ------------------------------------------------------------------------------------------------------------- networks

ONLY = "this solver was compared with 1.9 alone"
chosen = since("scikit-learn", "1.9", ONLY)
compared = pytest.mark.skipif(older("scikit-learn", "1.9"), reason=ONLY)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 7))
Y = (X[:, 0] + RNG.normal(size=120) > 0).astype(int)
POINTS = RNG.normal(size=(11, 7))
HALF = RNG.permutation(120)[:60]
LABELS = {
    "integers": np.array([0, 1]),
    "signs": np.array([-1, 1]),
    "floats": np.array([2.0, 7.0]),
    "truth": np.array([False, True]),
    "strings": np.array(["no", "yes"]),
    "objects": np.array(["no", "yes"], dtype=object),
}


def network(**options):
    usual = {"hidden_layer_sizes": (5,), "solver": "sgd", "learning_rate_init": 0.2, "max_iter": 8}
    return QuietNetwork(**{**usual, **options})


def job_of(X=X, y=Y, learner=None):
    bags = Bags([np.arange(len(y))] * 2, len(y))
    return FitJob(network() if learner is None else learner, X, y, bags, np.arange(2), np.unique(y))


def theirs(rows, seed, X=X, y=Y, learner=None):
    learner = clone(network() if learner is None else learner)
    if learner.random_state is None:
        learner.set_params(random_state=seed)
    taken = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
    return learner.fit(taken, y[rows])


def assert_same(job, rows, seed, points=POINTS):
    """Assert that the solver's network of these rows equals scikit-learn's, and predicts the same."""
    solver = Networks(job)
    model = solver.fit(rows, seed)
    found, expected = solver.structure.estimator(model, seed), theirs(rows, seed, job.X, job.y, job.learner)
    assert vars(found).keys() == vars(expected).keys()
    for name, value in vars(expected).items():
        if name == "_random_state":
            assert same_model(vars(found)[name].get_state(), value.get_state())
        else:
            assert same_model(vars(found)[name], value), name
    predicted = solver.structure.predictor(Points(points))([model])[0]
    np.testing.assert_array_equal(predicted, expected.predict_proba(points), strict=True)
    np.testing.assert_array_equal(found.predict(points), expected.predict(points))
    return expected


# -------------------------------------------------------------------------------------------------------- the same bits


@compared
@pytest.mark.parametrize("variant", ["text", "script"])
def test_networks_of_the_paper_equal_scikit_learn_bit_for_bit(variant):
    setting = SETTINGS[3]
    X, y, points = setting.data(variant)
    job = job_of(X, y, setting.learner(variant))
    for seed in range(6):
        rows = np.random.default_rng(seed).permutation(500)[:250]
        assert len(assert_same(job, rows, seed, points).loss_curve_) == 8


@pytest.mark.slow
@compared
@together(case=range(60))
def test_any_covered_network_equals_scikit_learn_bit_for_bit(case):
    rng = np.random.default_rng(case)
    n, d = int(rng.integers(20, 450)), int(rng.choice([1, 2, 9, 40]))
    X, y = rng.normal(size=(n, d)) * rng.choice([0.1, 1, 10]), rng.permutation(np.arange(n) % 2)
    options = {
        "hidden_layer_sizes": [(1,), (2,), 16, [41]][case % 4],
        "alpha": float(rng.choice([0, 1e-4, 0.1])),
        "learning_rate_init": float(rng.choice([0.001, 0.05, 1])),
        "momentum": float(rng.choice([0, 0.5, 0.9])),
        "nesterovs_momentum": bool(rng.random() < 0.7),
        "max_iter": int(rng.integers(1, 20)),
        "n_iter_no_change": int(rng.integers(1, 4)),
        "tol": float(rng.choice([0, 1e-4, 0.1])),
        "batch_size": "auto" if rng.random() < 0.6 else int(rng.integers(1, 21)),
    }
    rows = rng.integers(0, n, n) if rng.random() < 0.5 else rng.permutation(n)[: n - 1]
    points = rng.normal(size=(int(rng.choice([1, 2, 30])), d))
    assert_same(job_of(X, y, network(**options)), rows, case, points)


@compared
@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_networks_accept_labels_of_every_type(labels):
    expected = assert_same(job_of(y=labels[Y]), HALF, 3)
    assert set(expected.predict(POINTS)) == set(labels)


@compared
@pytest.mark.parametrize("n_rows", [2, 3, 199, 200, 201, 400, 401])
def test_networks_accept_bags_with_repeats_of_any_size(n_rows):
    rows = np.random.default_rng(n_rows).integers(0, 120, n_rows)
    rows[:2] = np.flatnonzero(Y == 0)[0], np.flatnonzero(Y == 1)[0]  # it has both classes
    assert_same(job_of(), rows, n_rows)


TABLES = {
    "column by column": np.asfortranarray(X),
    "spread out": np.repeat(X, 2, axis=1)[:, ::2],
    "integers": np.round(3 * X).astype(int),
    "frame": pd.DataFrame(X, columns=list("abcdefg")),
}


@compared
@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_networks_accept_tables_of_every_type(table):
    points = table.iloc[:9] if hasattr(table, "iloc") else table[:9]
    expected = assert_same(job_of(table), HALF, 5, points)
    assert hasattr(expected, "feature_names_in_") == hasattr(table, "iloc")


@compared
@pytest.mark.parametrize("points", [np.asfortranarray(POINTS), POINTS[:1], POINTS[::2], np.round(POINTS).astype(int)])
def test_networks_accept_points_of_every_type(points):
    assert_same(job_of(), HALF, 6, points)


@compared
def test_a_network_that_stops_early_stops_in_the_same_epoch():
    learner = network(max_iter=100, tol=0.02, n_iter_no_change=2)
    numbers = {assert_same(job_of(learner=learner), HALF, seed).n_iter_ for seed in range(8)}
    assert len(numbers) > 1
    assert max(numbers) < 100


@compared
def test_a_learner_with_a_seed_keeps_it():
    expected = assert_same(job_of(learner=network(random_state=9)), HALF, 4)
    assert expected.random_state == 9


def test_training_a_network_further_gives_the_same_bits():
    solver = Networks(job_of())
    model = solver.fit(HALF, 2)
    found, expected = solver.structure.estimator(model, 2), theirs(HALF, 2)
    before = [array.copy() for array in model[:3]]
    found.partial_fit(X, Y)
    expected.partial_fit(X, Y)
    np.testing.assert_array_equal(found.predict_proba(POINTS), expected.predict_proba(POINTS), strict=True)
    assert all(map(np.array_equal, model[:3], before))  # the estimator has arrays of its own


def test_rows_outside_a_bag_do_not_change_a_bit():
    outside = np.setdiff1d(np.arange(120), HALF)
    other_X, other_y = X.copy(), Y.copy()
    other_X[outside], other_y[outside] = -1e100, 1 - Y[outside]
    one, other = (Networks(job).fit(HALF, 1) for job in (job_of(), job_of(other_X, other_y)))
    assert all(map(same_model, one, other))


def test_predictions_of_a_model_do_not_depend_on_other_models():
    solver = Networks(job_of())
    models = [solver.fit(HALF, seed) for seed in range(4)]
    predict = solver.structure.predictor(Points(POINTS))
    lines = predict(models)
    assert len(np.unique(lines, axis=0)) == 4
    for line, model in zip(lines, models, strict=True):
        np.testing.assert_array_equal(line, predict([model])[0])


def test_threads_may_fit_at_the_same_time():
    solver = Networks(job_of())
    alone = [solver.fit(HALF, seed) for seed in range(40)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda seed: solver.fit(HALF, seed), range(40)))
    assert all(map(same_model, alone, together))


# -------------------------------------------------------------------------------------------------- what is not covered


@pytest.mark.parametrize(
    "options",
    [{"solver": "adam"}, {"solver": "lbfgs"}, {"activation": "tanh"}, {"hidden_layer_sizes": (5, 5)},
     {"hidden_layer_sizes": ()}, {"hidden_layer_sizes": (0,)}, {"hidden_layer_sizes": np.array([5])}, {"alpha": -1.0},
     {"batch_size": 0}, {"batch_size": True}, {"learning_rate": "adaptive"}, {"learning_rate": "invscaling"},
     {"learning_rate_init": 0.0}, {"max_iter": 0}, {"max_iter": 8.0}, {"shuffle": False}, {"tol": -1.0},
     {"random_state": np.random.RandomState(0)}, {"random_state": -1}, {"random_state": 2**32}, {"verbose": True},
     {"warm_start": True}, {"momentum": 1.5}, {"nesterovs_momentum": 1}, {"early_stopping": True},
     {"n_iter_no_change": np.inf}, {"n_iter_no_change": 0}],
    ids=lambda options: " ".join(f"{k} {v if isinstance(v, int) else type(v).__name__}" for k, v in options.items()),
)  # fmt: skip
def test_other_parameters_are_not_covered(options):
    with pytest.raises(NotCovered, match=f"{next(iter(options))}=.* is not covered"):
        Networks(job_of(learner=network(**options)))


def test_other_data_are_not_covered():
    missing = X.copy()
    missing[0, 0] = np.nan
    for job in (job_of(missing), job_of(X.astype(np.float32)), job_of(X > 0), job_of(y=np.arange(120) % 3)):
        with pytest.raises(NotCovered):
            Networks(job)
    assert Networks.learners == (QuietNetwork,)
    assert type(network()) is not MLPClassifier


@pytest.mark.parametrize("points", [np.full((1, 7), np.nan), POINTS.astype(np.float32), POINTS.tolist()])
def test_other_points_are_not_covered(points):
    assert Networks(job_of()).structure.predictor(Points(points)) is None


def test_bags_that_overflow_or_have_too_few_rows_are_left_to_scikit_learn():
    assert Networks(job_of(X * 1e130, learner=network(max_iter=50))).fit(HALF, 0) is None
    assert Networks(job_of(learner=network(batch_size=60))).fit(HALF, 0) is not None
    assert Networks(job_of(learner=network(batch_size=61))).fit(HALF, 0) is None


# ------------------------------------------------------------------------------------------------------ from end to end


@pytest.fixture
def use(monkeypatch):
    monkeypatch.setattr(choice, "SOLVERS", (Networks,))


@chosen
@pytest.mark.usefixtures("use")
@pytest.mark.parametrize("variant", ["text", "script"])
def test_setting_3_gives_the_same_numbers_with_and_without_the_solver(variant):
    setting = SETTINGS[3]
    X, y, points = setting.data(variant)
    fast, plain = setting.bagged(12, variant), setting.bagged(12, variant).set_params(solver="scikit-learn")
    fast.fit(X, y)
    plain.fit(X, y)
    assert str(fast.solver_) == "networks"
    assert fast.estimators_.n_arrays == 12
    np.testing.assert_array_equal(fast.predict_proba(points), plain.predict_proba(points), strict=True)
    np.testing.assert_array_equal(fast.bag_predictions(points), plain.bag_predictions(points), strict=True)


@chosen
@pytest.mark.usefixtures("use")
def test_networks_can_be_pickled():
    plain = BaggedClassifier(network(), n_bags=9, random_state=0, solver="scikit-learn").fit(X, Y)
    fast = BaggedClassifier(network(), n_bags=9, random_state=0).fit(X, Y)
    again = pickle.loads(pickle.dumps(fast))
    assert fast.estimators_.n_arrays == again.estimators_.n_arrays == 9
    for model in (fast, again):
        np.testing.assert_array_equal(model.predict_proba(POINTS), plain.predict_proba(POINTS), strict=True)
        for one, other in zip(model.estimators_, plain.estimators_, strict=True):
            assert same_model(one, other)
