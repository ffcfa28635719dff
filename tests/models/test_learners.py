import itertools
import os
import pickle
import random
import sys
import threading
import types
import warnings
from contextlib import contextmanager

import numpy as np
import pytest
import sklearn
from joblib import parallel_config
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.ensemble import StackingRegressor
from sklearn.linear_model import LinearRegression, Ridge, SGDRegressor
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from learners import Bare, OwnClone, RowRecorder
from marks import solver_chosen
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    FunctionRegressor,
    ParquetTable,
    Subbagging,
    forget,
    learn,
    leave_one_out,
    leave_one_out_refit,
)
from stablebag._seeds import Seeds
from stablebag.models.caching import keep_fits
from stablebag.models.learners import (
    Copies,
    Subspaces,
    Surroundings,
    isolated,
    may_predict,
    random_state_names,
    uses_only_its_seeds,
)

# ------------------------------------------------------------------------------------------------------------- learners


@pytest.fixture
def data():
    return np.arange(60.0).reshape(30, 2), np.random.default_rng(0).normal(size=30)


def test_seed_of_the_user_is_kept(data):
    model = BaggedRegressor(RowRecorder(random_state=7), n_bags=5, random_state=3).fit(*data)
    assert [learner.seed_ for learner in model.estimators_] == [7] * 5


def test_nested_random_states_that_are_none_get_different_seeds(data):
    X, y = data
    learner = make_pipeline(GaussianRandomProjection(2), GaussianRandomProjection(1, random_state=5), SGDRegressor())
    assert random_state_names(learner) == ["gaussianrandomprojection-1__random_state", "sgdregressor__random_state"]
    learner = make_pipeline(GaussianRandomProjection(2), SGDRegressor())
    model = BaggedRegressor(learner, n_bags=3, random_state=0).fit(X, y)
    seeds = [[step.random_state for _, step in fitted.steps] for fitted in model.estimators_]
    assert len({seed for pair in seeds for seed in pair}) == 6
    again = BaggedRegressor(learner, n_bags=3, random_state=0).fit(X, y)
    assert seeds == [[step.random_state for _, step in fitted.steps] for fitted in again.estimators_]


def invalid_for_even_seeds(X, y, seed):
    DecisionTreeRegressor(max_depth=seed % 2).fit(X, y)  # max_depth=0 is refused, whoever else was validated before
    return lambda points: np.zeros(len(points))


def test_learners_that_validate_in_fit_do_so_in_every_bag(data):
    X, y = data
    messages = []
    for n_jobs in (1, 2):
        model = BaggedRegressor(FunctionRegressor(invalid_for_even_seeds), n_bags=32, n_jobs=n_jobs, random_state=0)
        with pytest.raises(ValueError, match="max_depth") as caught:
            model.fit(X, y)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.slow
def test_bagged_search_gives_the_same_for_any_n_jobs(data):
    X, y = data
    search = GridSearchCV(DecisionTreeRegressor(random_state=0), {"max_depth": [0, 3]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [BaggedRegressor(search, n_bags=4, n_jobs=n_jobs, random_state=0).fit(X, y) for n_jobs in (1, 2)]
    assert all(fitted.best_params_ == {"max_depth": 3} for model in models for fitted in model.estimators_)
    np.testing.assert_array_equal(*[model.predict(X) for model in models])


def test_nested_ensembles_seed_their_own_learners(data):
    X, y = data
    inner = BaggedRegressor(SGDRegressor(), n_bags=4)
    assert random_state_names(inner) == ["random_state"]
    model = BaggedRegressor(inner, n_bags=2, random_state=0).fit(X, y)
    seeds = [fitted.random_state for outer in model.estimators_ for fitted in outer.estimators_]
    assert len(set(seeds)) == 8


def test_learner_without_a_scikit_learn_base_class_works(data):
    X, y = data
    model = BaggedRegressor(Bare(), n_bags=30, random_state=0).fit(X, y)
    assert [fitted.random_state for fitted in model.estimators_] == Seeds(0).learner_seeds(0, 30).tolist()
    assert abs(model.predict(X)[0] - y.mean()) < 0.2
    assert "Bare" in model._repr_html_()


def test_learner_that_is_its_own_clone_is_not_seeded(data):
    learner = OwnClone()
    BaggedRegressor(learner, n_bags=3, random_state=0).fit(*data)
    assert learner.random_state is None


@pytest.mark.parametrize("value", [np.array(3), {1, 2}, "text", 7, {"a": 1}, None])
def test_fit_parameters_that_are_not_per_row_are_passed_whole_to_each_bag(value, data):
    model = BaggedRegressor(RowRecorder(), n_bags=2).fit(*data, tag=value)
    assert model.estimators_[0].tag_ == value
    assert type(model.estimators_[0].tag_) is type(value)
    if isinstance(value, dict | set | np.ndarray):
        assert len({id(value), *(id(fitted.tag_) for fitted in model.estimators_)}) == 3


def endless():
    among, box, both, deep = Stated(), {}, [Stated(), Stated()], []
    listed, pipeline = [among], make_pipeline(Ridge())
    among.part, box["box"] = listed, box
    both[0].part, both[1].part = both[1], both[0]
    pipeline.steps.append(("pipeline", pipeline))
    for _ in range(200):
        deep = [deep]
    inner = BaggedRegressor()
    inner.estimator = inner
    return [among, Stated(box), both[0], pipeline, inner, Stated(deep)]


class Stated(RowRecorder):
    """Has a parameter of any kind."""

    def __init__(self, part=None, random_state=None):
        super().__init__(random_state)
        self.part = part


@pytest.mark.parametrize("learner", endless(), ids=["in a list", "dictionary", "two", "pipeline", "ours", "deep"])
def test_parameters_that_contain_themselves_raise(learner, data):
    with pytest.raises(
        ValueError, match=r"A parameter of BaggedRegressor's estimator (contains itself|has more than 100 levels)"
    ):
        BaggedRegressor(learner, n_bags=2).fit(*data)
    with pytest.raises(ValueError, match=r"A parameter of leave_one_out_refit's estimator (contains|has more)"):
        leave_one_out_refit(learner, *data, data[0])


def test_same_object_may_be_two_parameters(data):
    part = [Ridge(), {"a": (1, 2)}]
    model = BaggedRegressor(Stated([part, part, {"b": part}]), n_bags=2, random_state=0).fit(*data)
    assert model.estimators_[0].part[2]["b"][1] == {"a": (1, 2)}


# ------------------------------------------------------------------------- learners that take the codes of labels alone


class CodesAlone(DecisionTreeClassifier):
    """Refuses labels other than 0, 1, ..., as XGBoost does."""

    __module__ = "xgboost.stand_in"

    def fit(self, X, y, sample_weight=None, check_input=True, eval_set=None):
        for labels in (y, *(labels for _, labels in eval_set or ())):
            if set(labels) - set(range(len(set(y)))):
                raise ValueError(f"labels {set(labels)}")
        return super().fit(X, y, sample_weight, check_input)


@pytest.mark.parametrize("names", [["no", "yes", "maybe"], [3, 1, -2], [3.0, 0.0, 1.0], [True, False, False]])
@pytest.mark.parametrize(
    ("wrap", "rare"),
    [
        (lambda it: it, 3),  # rows of a class that some bags lack
        (lambda it: make_pipeline(StandardScaler(), it), 3),
        (lambda it: GridSearchCV(it, {"max_depth": [2, 3]}, cv=2), 20),
        (lambda it: GridSearchCV(it, {"max_depth": [2]}, cv=2, scoring="accuracy"), 20),
    ],
)
def test_learner_that_only_takes_codes_gets_the_codes_of_its_bag(names, wrap, rare):
    X = np.random.default_rng(0).normal(size=(40 + rare, 2))
    y = np.array(names)[np.r_[np.arange(40) % 2 * 2, np.ones(rare, int)]]
    model = BaggedClassifier(wrap(CodesAlone()), n_bags=6, random_state=0).fit(X, y)
    plain = BaggedClassifier(wrap(DecisionTreeClassifier()), n_bags=6, random_state=0, solver="scikit-learn").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    for ours, theirs in zip(model.estimators_, plain.estimators_, strict=True):
        np.testing.assert_array_equal(ours.classes_, theirs.classes_)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_labels_that_are_codes_already_stay(data):
    X, y = data
    for labels in ((y > 0), (y > 0).astype(int), (y > 0).astype(float)):
        model = BaggedClassifier(CodesAlone(), n_bags=2, random_state=0).fit(X, labels)
        assert type(model.estimators_[0]) is CodesAlone


@pytest.mark.parametrize("scoring", ["f1", make_scorer(f1_score, pos_label=1)])
def test_labels_are_not_encoded_if_a_parameter_may_name_them(scoring, data):
    X, y = data
    labels = np.where(y > 0, 2, 1)
    with pytest.raises(ValueError, match=r"labels \{"):
        BaggedClassifier(CodesAlone(class_weight={1: 5, 2: 1}), n_bags=2).fit(X, labels)
    search = GridSearchCV(CodesAlone(), {"max_depth": [2]}, scoring=scoring, cv=2)
    with pytest.raises(ValueError, match="All the 2 fits failed"):
        BaggedClassifier(search, n_bags=2).fit(X, labels)
    weighted = BaggedClassifier(CodesAlone(class_weight="balanced"), n_bags=2, random_state=0).fit(X, labels)
    assert weighted.predict(X).max() == 2
    by_label = BaggedClassifier(DecisionTreeClassifier(class_weight={1: 5, 2: 1}), n_bags=2).fit(X, labels)
    assert by_label.estimators_[0].classes_.tolist() == [1, 2]  # other learners see labels


def test_eval_set_is_encoded_like_the_bag(data):
    X, y = data
    labels = np.where(y > 0, "up", "down")
    model = BaggedClassifier(CodesAlone(), n_bags=2, random_state=0)
    assert set(model.fit(X, labels, eval_set=[(X[:5], labels[:5])]).predict(X)) == {"up", "down"}
    with pytest.raises(ValueError, match="eval_set contains the class 'flat', but this bag has no row of it"):
        model.fit(X, labels, eval_set=[(X[:1], ["flat"])])


# ----------------------------------------------------------------------------------------------- copies and their seeds


def test_learner_with_plain_parameters_is_copied_by_calling_its_class():
    learner = SGDRegressor(alpha=0.5)
    copies = Copies(learner)
    model = copies.copy(17)
    assert copies.by_class or sklearn.__version__.startswith("1.6.")  # where this learner has more than its parameters
    assert model is not learner
    assert (model.alpha, model.random_state, learner.random_state) == (0.5, 17, None)


def test_only_splitters_that_shuffle_are_seeded():
    for splitter, seeded in [
        (KFold(3, shuffle=True), True),
        (KFold(3), False),
        (KFold(3, shuffle=True, random_state=4), False),
    ]:
        before = splitter.random_state
        copies = Copies(GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=splitter))
        states = {copies.copy(seed).cv.random_state for seed in (1, 2)}
        assert (len(states) == 2) == seeded
        assert splitter.random_state == before
        assert copies.copy(1).cv.random_state == copies.copy(1).cv.random_state


def test_only_learners_known_to_use_their_own_seeds_are_harmless():
    assert uses_only_its_seeds(make_pipeline(StandardScaler(), SGDRegressor()))
    assert not uses_only_its_seeds(SGDRegressor(random_state=np.random.RandomState(0)))
    assert not uses_only_its_seeds(make_pipeline(StandardScaler(), RowRecorder()))
    assert Surroundings(Ridge()).may_run_beside_others
    assert not Surroundings(SVC()).may_run_beside_others  # libsvm has one generator for the whole process


def test_global_generators_are_seeded_for_other_learners_and_restored(monkeypatch):
    monkeypatch.setenv("STABLEBAG_OF_A_TEST", "before")
    around, before = Surroundings(RowRecorder()), random.getstate()
    drawn = []
    for seed in (5, 6, 5):
        with around(seed):
            drawn.append(random.random())
            os.environ["STABLEBAG_OF_A_TEST"] = "meanwhile"
    assert drawn[0] == drawn[2] != drawn[1]
    assert random.getstate() == before
    assert os.environ["STABLEBAG_OF_A_TEST"] == "before"


class Torch(types.ModuleType):
    """Stands in for torch: a generator of its own, which is seeded, kept and restored as torch's is."""

    def __init__(self):
        super().__init__("torch")
        self.generator, self.manual_seed = random.Random(7), lambda seed: self.generator.seed(seed)
        self.random, self.cuda = types.SimpleNamespace(fork_rng=self.fork), types.SimpleNamespace(is_available=bool)

    @contextmanager
    def fork(self, devices):
        assert devices == []
        before = self.generator.getstate()
        yield
        self.generator.setstate(before)


def draws_from_torch(X, y, seed):
    drawn = sys.modules["torch"].generator.random()
    return lambda points: np.full(len(points), drawn) + sys.modules["torch"].generator.random()


def imports_torch(X, y, seed):
    sys.modules.setdefault("torch", Torch())
    return draws_from_torch(X, y, seed)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_torch_is_seeded_for_each_bag_and_restored(monkeypatch, backend, data):
    X, y = data
    monkeypatch.setitem(sys.modules, "torch", torch := Torch())
    before, n_jobs = torch.generator.getstate(), 1 if backend == "loky" else 2

    def predicted():
        with parallel_config(backend=backend):
            model = BaggedRegressor(
                FunctionRegressor(draws_from_torch), n_bags=5, n_jobs=n_jobs, prediction_range=None, random_state=0
            )
            return model.fit(X, y).bag_predictions(X)[:, 0]

    first = predicted()
    np.testing.assert_array_equal(first, predicted())
    assert len(set(first)) == 5
    assert torch.generator.getstate() == before


def test_fit_that_imports_torch_is_repeated_with_seeded_generators(monkeypatch, data):
    X, y = data
    model = BaggedRegressor(FunctionRegressor(imports_torch), n_bags=3, prediction_range=None, random_state=0)
    monkeypatch.setitem(sys.modules, "torch", None)  # so that it is removed in the end, too
    del sys.modules["torch"]
    first = model.fit(X, y).bag_predictions(X)
    monkeypatch.setitem(sys.modules, "torch", other := Torch())
    other.generator.seed(1)
    np.testing.assert_array_equal(first, model.fit(X, y).bag_predictions(X))


def test_fit_parameters_that_cannot_be_copied_raise():
    with pytest.raises(TypeError, match="The fit parameter 'lock' cannot be copied"):
        isolated("lock", threading.Lock())


STACK = StackingRegressor([("ridge", Ridge())])


@pytest.mark.parametrize(
    ("learner", "expected"),
    [
        (Ridge(), True), (STACK, True), (make_pipeline(StandardScaler(), STACK), True), (GridSearchCV(STACK, {}), True),
        (make_pipeline(StandardScaler()), False), (StandardScaler(), False), (5, False), ("ridge", False),
    ],
    ids=str,
)  # fmt: skip
def test_may_predict_accepts_learners_that_get_predict_in_fit(learner, expected):
    assert may_predict(learner) is expected


# ------------------------------------------------------------------------------------------------------------ subspaces

X = np.random.default_rng(0).normal(size=(40, 6))
Y = X @ [3.0, -2.0, 1.0, 0.5, 0.0, 0.0] + np.random.default_rng(1).normal(size=40)


def bagged(learner=None, **about):
    return BaggedRegressor(learner, **{"max_features": 3, "n_bags": 12, "random_state": 0, **about})


def test_every_set_of_columns_is_equally_likely(seed):
    found = [tuple(Subspaces(5, 2).of(seed * 10**6 + number)) for number in range(4000)]
    counts = np.array([found.count(pair) for pair in itertools.combinations(range(5), 2)])
    assert counts.sum() == 4000
    # A chi-square of nine degrees of freedom is above 40 once in 130,000 times.
    assert ((counts - 400) ** 2 / 400).sum() < 40


def test_drawn_columns_are_distinct_and_in_the_order_of_the_table():
    for seed in range(50):
        columns = Subspaces(7, 4).of(seed)
        assert len(columns) == 4
        assert (np.diff(columns) > 0).all()


@pytest.mark.parametrize(
    ("given", "size"), [(1, 1), (6, None), (1.0, None), (0.5, 3), (0.01, 1), (np.int64(2), 2), (0.29, 1), (5 / 6, 5)]
)
def test_max_features_is_a_number_or_a_fraction(given, size):
    drawn = Subspaces.read(given, 6, "BaggedRegressor")
    assert (None if drawn is None else drawn.size) == size


def test_max_features_fraction_is_evaluated_as_written():
    assert Subspaces.read(0.29, 100, "BaggedRegressor").size == 29


@pytest.mark.parametrize("given", [0, -1, 7, 0.0, 1.5, -0.5, np.nan, True, "sqrt", None, [1]])
def test_wrong_max_features_raises_before_any_fit(given):
    with pytest.raises((TypeError, ValueError), match="The 'max_features' parameter of BaggedRegressor must be"):
        bagged(max_features=given).fit(X, Y)


def test_learner_gets_only_its_rows_and_columns():
    model = bagged(RowRecorder()).fit(X, Y)
    for fitted, rows, columns in zip(model, model.estimators_samples_, model.estimators_features_, strict=True):
        np.testing.assert_array_equal(fitted.X_, X[rows][:, columns])
    assert len({tuple(columns) for columns in model.estimators_features_}) > 5


def test_prediction_is_the_average_of_models_at_their_columns():
    model = bagged(LinearRegression()).fit(X, Y)
    single = [fitted.predict(X[:, columns]) for fitted, columns in zip(model, model.estimators_features_, strict=True)]
    np.testing.assert_allclose(model.predict(X), np.clip(single, *model.range_).mean(axis=0))
    np.testing.assert_allclose(model.bag_predictions(X), np.clip(single, *model.range_))


def test_columns_depend_only_on_the_seed_and_the_bag():
    """Not on rows, targets, learners, the number of bags, names or schemes."""
    columns = bagged().fit(X, Y).estimators_features_
    others = [
        bagged().fit(np.roll(X, 1, axis=0) * 2, Y[::-1]),
        bagged(Ridge()).fit(X, Y),
        bagged(n_bags=30).fit(X, Y),
        bagged(scheme="bernoulli").fit(X[:20], Y[:20], row_ids=range(100, 120)),
        bagged(ExtraTreeRegressor()).fit(X, Y, groups=np.arange(40) // 2),
        BaggedClassifier(max_features=3, n_bags=12, random_state=0).fit(X, Y > 0),
    ]
    for other in others:
        np.testing.assert_array_equal(other.estimators_features_[:12], columns)
    assert not np.array_equal(bagged(random_state=1).fit(X, Y).estimators_features_, columns)


def test_learners_get_all_columns_by_default():
    model = bagged(max_features=1.0).fit(X, Y)
    np.testing.assert_array_equal(model.estimators_features_, [np.arange(6)] * 12)
    assert model.estimators_.subspaces is None


@solver_chosen
def test_solvers_do_not_cover_max_features():
    for learner in (DecisionTreeRegressor(), Ridge(), KNeighborsRegressor()):
        assert str(bagged(learner).fit(X, Y).solver_) == "scikit-learn, because max_features draws columns for each bag"


@pytest.mark.slow
def test_n_jobs_and_batches_do_not_change_bits_of_subspaces():
    learner = make_pipeline(StandardScaler(), DecisionTreeRegressor())
    expected = bagged(learner).fit(X, Y)
    parallel = bagged(learner, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(parallel.predict(X), expected.predict(X))
    longer = bagged(learner, n_bags=5, warm_start=True).fit(X, Y).set_params(n_bags=12).fit(X, Y)
    np.testing.assert_array_equal(longer.predict(X), expected.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(expected)).predict(X), expected.predict(X))


def test_warm_start_with_other_max_features_raises():
    model = bagged(warm_start=True).fit(X, Y)
    with pytest.raises(ValueError, match="max_features changed"):
        model.set_params(max_features=2, n_bags=20).fit(X, Y)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_frames_keep_their_names(library):
    frames = pytest.importorskip(library)
    names = list("abcdef")
    table = frames.DataFrame({name: X[:, place] for place, name in enumerate(names)})
    model = bagged(Ridge()).fit(table, Y)
    for fitted, columns in zip(model, model.estimators_features_, strict=True):
        assert list(fitted.feature_names_in_) == [names[column] for column in columns]
    np.testing.assert_allclose(model.predict(table), bagged(Ridge()).fit(X, Y).predict(X), rtol=1e-12)


def test_columns_of_sparse_tables_stay_sparse():
    model = bagged(RowRecorder()).fit(sparse.csc_array(X), Y)
    assert all(sparse.issparse(fitted.X_) and fitted.X_.shape[1] == 3 for fitted in model)
    ours, dense = bagged(Ridge(solver="lsqr")).fit(sparse.csr_array(X), Y), bagged(Ridge(solver="lsqr")).fit(X, Y)
    np.testing.assert_allclose(ours.predict(sparse.csr_array(X)), dense.predict(X), atol=1e-3)


def test_rows_from_files_give_the_same_models_with_max_features(tmp_path):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcdef")).assign(y=Y)
    frame.to_parquet(tmp_path / "table.parquet")
    table, rows = ParquetTable(tmp_path / "table.parquet", target="y"), frame.drop(columns="y")
    expected = bagged(Ridge()).fit(rows, Y)
    np.testing.assert_array_equal(bagged(Ridge()).fit(table).predict(rows), expected.predict(rows))


def test_forget_and_learn_are_exact_with_max_features():
    model = bagged(Ridge(), scheme=Subbagging(20)).fit(X, Y)
    rest = np.delete(np.arange(40), 7)
    fresh = bagged(Ridge(), scheme=Subbagging(20)).fit(X[rest], Y[rest], row_ids=rest)
    without = forget(model, [7])
    np.testing.assert_array_equal(without.predict(X), fresh.predict(X))
    np.testing.assert_array_equal(without.estimators_features_, model.estimators_features_)
    again = learn(without, X[7:8], Y[7:8], row_ids=[7])
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_leave_one_out_works_with_max_features():
    model = bagged(Ridge()).fit(X, Y)
    moved = leave_one_out(model, X[:3])
    single = [f.predict(X[:3][:, columns]) for f, columns in zip(model, model.estimators_features_, strict=True)]
    single = np.clip(single, *model.range_)
    without = model.bags_.without(5)
    np.testing.assert_allclose(moved.left_out[5], single[without].mean(axis=0))
    streamed = leave_one_out(bagged(Ridge()), X[:3], X_train=X, y_train=Y)
    np.testing.assert_allclose(streamed.left_out, moved.left_out)
    refit = leave_one_out_refit(bagged(Ridge(), scheme=Subbagging(20)), X, Y, X[:3], rows=[5])
    rest = np.delete(np.arange(40), 5)
    fresh = bagged(Ridge(), scheme=Subbagging(20)).fit(X[rest], Y[rest], row_ids=rest)
    np.testing.assert_allclose(refit.left_out[0], fresh.predict(X[:3]))


def test_n_bags_all_warns_that_all_bags_use_the_same_columns():
    with pytest.warns(UserWarning, match="all bags use the same 3 of 6 columns"):
        model = bagged(Ridge(), n_bags="all", scheme=Subbagging(2)).fit(X[:8], Y[:8])
    assert len({tuple(columns) for columns in model.estimators_features_}) == 1


def test_model_with_max_features_survives_skops():
    skops = pytest.importorskip("skops.io")
    model = BaggedClassifier(DecisionTreeClassifier(), max_features=2, n_bags=5, random_state=0).fit(X, Y > 0)
    text = skops.dumps(model)
    again = skops.loads(text, trusted=skops.get_untrusted_types(data=text))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_bags_without_rows_or_with_one_class_work_with_max_features():
    model = BaggedClassifier(max_features=1, scheme="poissonized", n_bags=40, random_state=0)
    model.set_params(scheme__bag_size=0.05).fit(X, Y > 0)
    assert (model.bags_.sizes == 0).any()
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)


def test_stored_fits_with_other_columns_are_not_reused(tmp_path):
    with keep_fits(tmp_path / "kept"):
        one = bagged(Ridge(), max_features=2).fit(X, Y).predict(X)
        other = bagged(Ridge(), max_features=3).fit(X, Y).predict(X)
        with pytest.warns(UserWarning, match="12 of 12 fits were loaded"):
            again = bagged(Ridge(), max_features=2).fit(X, Y).predict(X)
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_learner_that_names_a_column_fails_in_bags_without_it():
    pandas = pytest.importorskip("pandas")
    named = make_pipeline(make_column_transformer((StandardScaler(), ["a", "b"])), Ridge())
    with pytest.raises(ValueError, match="Pipeline failed to fit on bag"):
        bagged(named).fit(pandas.DataFrame(X, columns=list("abcdef")), Y)
