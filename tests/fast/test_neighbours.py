import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from marks import solver_chosen, solver_compared
from stablebag import BaggedClassifier, BaggedRegressor, BernoulliSubbagging, ClassicalBagging, Subbagging, forget
from stablebag.fast import neighbours
from stablebag.fast.neighbours import Neighbours, RowsOfBag
from stablebag.models.rows import Points
from stablebag.models.solving import FitJob, NotCovered, same_model
from stablebag.resampling.bags import Bags

TABLES = ["normal", "grid", "rounded", "far away", "duplicates", "narrow", "float32", "whole numbers"]
RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(200, 4)), RNG.normal(size=200)
POINTS = RNG.normal(size=(30, 4))


def draw_table(rng, table, n, d, n_points):
    rows, points = rng.normal(size=(n, d)), rng.normal(size=(n_points, d))
    if table == "grid":
        rows, points = (rng.integers(0, 4, part.shape).astype(float) for part in (rows, points))
    elif table == "rounded":
        rows, points = rows.round(1), points.round(1)
    elif table == "far away":
        rows, points = rows + 1e6, points + 1e6
    elif table == "duplicates":
        rows = rows[rng.integers(0, max(1, n // 2), n)]
    elif table == "narrow":
        rows, points = 1 + rows * 1e-9, 1 + points * 1e-9
    elif table == "float32":
        rows = rows.astype(np.float32)
    elif table == "whole numbers":
        rows, points = rng.integers(0, 9, (n, d)), rng.integers(0, 9, (n_points, d))
    return rows, np.concatenate([points, rows[:5]])  # also at rows themselves


def draw_learner(rng):
    options = {
        "n_neighbors": int(rng.choice([1, 2, 3, 5, 9, 20])),
        "weights": str(rng.choice(["uniform", "distance"], p=[0.7, 0.3])),
        "algorithm": str(rng.choice(["auto", "brute", "kd_tree", "ball_tree"])),
        "leaf_size": int(rng.choice([1, 5, 30])),
        "p": int(rng.choice([1, 2], p=[0.3, 0.7])),
    }
    return (KNeighborsRegressor if rng.random() < 0.5 else KNeighborsClassifier)(**options)


def draw_targets(rng, learner, n):
    if isinstance(learner, KNeighborsRegressor):
        return rng.normal(size=n) if rng.random() < 0.5 else rng.integers(0, 5, n).astype(float), None
    y = np.array(list("abcdefghij"))[rng.integers(0, rng.choice([2, 3, 10]), n)]
    y[:2] = ["a", "b"]
    return y, np.unique(y)


def job_of(learner, rows, y, bags, classes=None):
    bags = Bags(map(np.asarray, bags), len(y)) if isinstance(bags, list) else bags
    return FitJob(learner, rows, y, bags, np.zeros(len(bags), dtype=int), classes)


def theirs(job, rows, points):
    """What scikit-learn predicts in a bag, with a column for every class."""
    model = type(job.learner)(**job.learner.get_params()).fit(job.X[rows], job.y[rows])
    if job.classes is None:
        return model.predict(points)
    expected = np.zeros((len(points), len(job.classes)))
    expected[:, np.searchsorted(job.classes, model.classes_)] = model.predict_proba(points)
    return expected


def solved(solver, job):
    """The bags that the solver takes, with their models."""
    reach = [rows for rows in job.bags if len(rows) and (job.classes is None or len(set(job.y[rows])) > 1)]
    models = [(rows, solver.fit(rows, 0)) for rows in reach]
    return [(rows, model) for rows, model in models if model is not None]


@solver_compared
@pytest.mark.parametrize("table", TABLES)
def test_predictions_have_scikit_learns_bits(table):
    compared = 0
    for case in range(40):
        rng = np.random.default_rng([TABLES.index(table), case])
        n, d = int(rng.integers(5, 90)), int(rng.choice([1, 2, 3, 10, 20]))
        rows, points = draw_table(rng, table, n, d, 20)
        learner = draw_learner(rng)
        y, classes = draw_targets(rng, learner, n)
        scheme = [Subbagging(0.5), Subbagging(0.9), ClassicalBagging(), BernoulliSubbagging(0.4)][case % 4]
        job = job_of(learner, rows, y, scheme.resolve(n).draw(3, case), classes)
        try:
            solver = Neighbours(job)
        except NotCovered:
            continue
        predictor = solver.structure.predictor(Points(points))
        taken = solved(solver, job)
        if predictor is None or not taken:
            continue
        for (bag, _), line in zip(taken, predictor([model for _, model in taken]), strict=True):
            np.testing.assert_array_equal(line, theirs(job, bag, points))
            compared += 1
    assert compared > 40


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree", "brute"])
@pytest.mark.parametrize("targets", ["real", "whole"])
def test_without_ties_scikit_learn_does_not_search(monkeypatch, algorithm, targets):
    monkeypatch.setattr(neighbours._Neighbours, "_by_scikit_learn", lambda *_: pytest.fail("it was asked"))
    y = Y if targets == "real" else np.rint(3 * Y)
    job = job_of(KNeighborsRegressor(3, algorithm=algorithm), X, y, ClassicalBagging().resolve(200).draw(5, 0))
    solver = Neighbours(job)
    solver.structure.predictor(Points(POINTS))([model for _, model in solved(solver, job)])


def test_tie_at_the_last_place_is_left_to_scikit_learn():
    rows, y = np.array([[0.0], [1.0], [-1.0], [5.0], [6.0], [7.0]]), np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    answers = set()
    for bag in ([0, 1, 2, 3, 4, 5], [0, 2, 1, 3, 4, 5]):
        job = job_of(KNeighborsRegressor(2, algorithm="brute"), rows, y, [bag, bag])
        solver = Neighbours(job)
        line = solver.structure.predictor(Points(np.zeros((1, 1))))([solver.fit(np.array(bag), 0)])[0]
        np.testing.assert_array_equal(line, theirs(job, np.array(bag), np.zeros((1, 1))))
        answers.add(float(line[0]))
    assert answers == {0.5, 1.0}  # either row at distance 1, by the order in the bag


def test_copies_of_rows_at_the_same_distance_are_chosen_like_in_scikit_learn():
    rows, y = np.array([[0.0], [1.0], [-1.0], [5.0], [6.0]]), np.arange(5.0)
    for seed in range(30):
        bag = np.random.default_rng(seed).permutation([1, 2, 2, 3, 3, 4, 4, 4])
        job = job_of(KNeighborsRegressor(2, algorithm="kd_tree", leaf_size=1), rows, y, [bag, bag])
        solver = Neighbours(job)
        line = solver.structure.predictor(Points(np.zeros((1, 1))))([solver.fit(bag, 0)])[0]
        np.testing.assert_array_equal(line, theirs(job, bag, np.zeros((1, 1))))


@pytest.mark.parametrize("share", [0.001, 0.2, 1.0])
def test_too_shallow_search_still_gives_scikit_learns_predictions(share, monkeypatch):
    learner = KNeighborsRegressor(5)
    job = job_of(learner, X, Y, Subbagging(0.1).resolve(200).draw(6, 0))
    monkeypatch.setattr(neighbours, "_SHORTFALL", 0.9)
    solver = Neighbours(job)
    object.__setattr__(solver.structure, "share", share)
    found = solver.structure.predictor(Points(POINTS))([model for _, model in solved(solver, job)])
    for (bag, _), line in zip(solved(solver, job), found, strict=True):
        np.testing.assert_array_equal(line, theirs(job, bag, POINTS))


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_rows_outside_the_bag_do_not_change_a_bit(weights):
    bag, points = np.arange(100), np.concatenate([POINTS, X[:5]])
    lines = []
    for junk in (X[100:], POINTS[np.arange(100) % 30], np.full((100, 4), 1e139), np.repeat(X[:1], 100, axis=0)):
        table = np.concatenate([X[:100], junk])
        solver = Neighbours(job_of(KNeighborsRegressor(5, weights=weights), table, Y, [bag, bag]))
        lines.append(solver.structure.predictor(Points(points))([solver.fit(bag, 0)])[0])
    assert all(line.tobytes() == lines[0].tobytes() for line in lines)


def test_predictions_do_not_depend_on_other_models_or_threads():
    job = job_of(KNeighborsRegressor(5), X.round(1), Y, Subbagging(0.5).resolve(200).draw(12, 0))
    solver = Neighbours(job)
    models = [model for _, model in solved(solver, job)]
    together = solver.structure.predictor(Points(POINTS))(models)
    predictor = solver.structure.predictor(Points(POINTS))
    with ThreadPoolExecutor(4) as pool:
        alone = list(pool.map(lambda model: predictor([model])[0], models))
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("framed", [False, True])
@pytest.mark.parametrize("kind", [KNeighborsRegressor, KNeighborsClassifier])
def test_estimators_equal_scikit_learns(kind, framed):
    table = pd.DataFrame(X, columns=list("abcd")) if framed else X
    y, classes = (Y, None) if kind is KNeighborsRegressor else (np.where(Y > 0, "p", "n"), np.array(["n", "p"]))
    bag = np.arange(50, 170)
    solver = Neighbours(job_of(kind(7), table, y, [bag, bag], classes))
    built = solver.structure.estimator(solver.fit(bag, 0), 3)
    fitted = kind(7).fit(table.iloc[bag] if framed else table[bag], y[bag])
    assert same_model(built, fitted)
    assert hasattr(built, "feature_names_in_") == framed
    np.testing.assert_array_equal(built.predict(table[:9]), fitted.predict(table[:9]))


def test_bags_that_scikit_learn_searches_differently_are_handed_back():
    bags = [np.arange(100), np.arange(100)]
    solver = Neighbours(job_of(KNeighborsRegressor(5), X, Y, bags))
    assert solver.fit(np.arange(4), 0) is None  # it has no five neighbours
    assert solver.fit(np.arange(11), 0) is None  # "auto" is brute force for so few
    assert isinstance(solver.fit(np.arange(12), 0), RowsOfBag)
    solver = Neighbours(job_of(KNeighborsRegressor(5, algorithm="kd_tree"), X, Y, bags))
    assert isinstance(solver.fit(np.arange(5), 0), RowsOfBag)


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        (KNeighborsRegressor(weights=np.sqrt), "weights"),
        (KNeighborsRegressor(p=3), "p=3"),
        (KNeighborsRegressor(metric="cosine"), "metric"),
        (KNeighborsRegressor(metric_params={"w": np.ones(4)}), "metric_params"),
        (KNeighborsRegressor(n_neighbors=2.0), "n_neighbors"),
        (KNeighborsRegressor(weights="distance", algorithm="brute"), "brute force"),
    ],
    ids=str,
)
def test_uncovered_parameters_are_named(learner, reason):
    with pytest.raises(NotCovered, match=reason):
        Neighbours(job_of(learner, X, Y, [np.arange(100)]))


@pytest.mark.parametrize("count", [np.int64, np.int32, np.uint8])
def test_n_neighbors_may_be_a_numpy_integer(count):
    model, plain = (
        BaggedRegressor(KNeighborsRegressor(kind(5), leaf_size=kind(30)), n_bags=10, random_state=0).fit(X, Y)
        for kind in (count, int)
    )
    assert str(model.solver_) == str(plain.solver_) != "scikit-learn"
    np.testing.assert_array_equal(model.predict(POINTS), plain.predict(POINTS))


def test_small_bags_of_large_tables_and_huge_values_are_not_covered():
    table = np.random.default_rng(0).normal(size=(5000, 2))
    with pytest.raises(NotCovered, match="few of the rows"):
        Neighbours(job_of(KNeighborsRegressor(), table, table[:, 0], [np.arange(20)]))
    for value in (np.nan, np.inf, -1e154):
        with pytest.raises(NotCovered, match="missing values and numbers beyond 1e140"):
            Neighbours(job_of(KNeighborsRegressor(), np.where(X > 2, value, X), Y, [np.arange(100)]))


@pytest.mark.parametrize("algorithm", ["brute", "kd_tree", "ball_tree"])
@pytest.mark.parametrize("unit", [1e160, 1e154, 1e-154, 1e-158, 1e-162])
def test_distances_that_overflow_when_squared_equal_scikit_learns(algorithm, unit):
    rng = np.random.default_rng(0)
    for n, d in ((12, 8), (60, 2)):
        rows, y = rng.normal(size=(n, d)) * unit, rng.normal(size=n)
        for learner in (KNeighborsRegressor(1, algorithm=algorithm), KNeighborsRegressor(3, algorithm=algorithm)):
            about = {"n_bags": 20, "prediction_range": None, "random_state": 0}
            ours = BaggedRegressor(learner, **about).fit(rows, y).predict_once(rows).raw
            theirs = BaggedRegressor(learner, solver="scikit-learn", **about).fit(rows, y).predict_once(rows).raw
            np.testing.assert_array_equal(ours, theirs)


def test_points_that_are_not_covered_are_left_to_scikit_learn():
    structure = Neighbours(job_of(KNeighborsRegressor(), X, Y, [np.arange(100)])).structure
    assert structure.predictor(Points(np.where(POINTS > 2, np.inf, POINTS))) is None
    assert structure.predictor(Points(np.where(POINTS > 2, 1e154, POINTS))) is None
    assert structure.predictor(Points(POINTS[:, :2])) is None
    assert structure.predictor(Points(POINTS.tolist())) is None
    brute = Neighbours(job_of(KNeighborsRegressor(algorithm="brute"), X, Y, [np.arange(100)])).structure
    assert brute.predictor(Points(POINTS.astype(np.float32))) is None


def test_pickled_structure_has_no_search_tree():
    structure = Neighbours(job_of(KNeighborsRegressor(), X, Y, [np.arange(100)])).structure
    before = len(pickle.dumps(structure))
    structure.predictor(Points(POINTS))([RowsOfBag(np.arange(100))])
    assert len(pickle.dumps(structure)) == before


@solver_chosen
@pytest.mark.parametrize("scheme", [Subbagging(0.5), ClassicalBagging(), BernoulliSubbagging(0.5)], ids=str)
def test_bagged_neighbours_equal_one_fit_per_bag(scheme):
    options = {"scheme": scheme, "n_bags": 20, "random_state": 0}
    ours = BaggedRegressor(KNeighborsRegressor(), **options).fit(X, Y)
    slow = BaggedRegressor(KNeighborsRegressor(), solver="scikit-learn", **options).fit(X, Y)
    assert ours.solver_.name == "neighbours"
    np.testing.assert_array_equal(ours.bag_predictions(POINTS), slow.bag_predictions(POINTS))
    np.testing.assert_array_equal(forget(ours, [3, 7]).predict(POINTS), forget(slow, [3, 7]).predict(POINTS))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(ours)).predict(POINTS), slow.predict(POINTS))
    labels = np.digitize(Y, [-0.5, 0.5])
    ours = BaggedClassifier(KNeighborsClassifier(), **options).fit(X, labels)
    slow = BaggedClassifier(KNeighborsClassifier(), solver="scikit-learn", **options).fit(X, labels)
    assert ours.solver_.name == "neighbours"
    np.testing.assert_array_equal(ours.bag_predictions(POINTS), slow.bag_predictions(POINTS))


def test_bag_with_too_few_rows_fails_like_in_scikit_learn():
    model = BaggedRegressor(KNeighborsRegressor(150), n_bags=4, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="Expected n_neighbors <= n_samples_fit"):
        model.predict(POINTS)
