import os
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
from sklearn.ensemble import StackingRegressor
from sklearn.linear_model import Ridge, SGDRegressor
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.random_projection import GaussianRandomProjection
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from learners import Bare, OwnClone, RowRecorder
from stablebag import BaggedClassifier, BaggedRegressor, FunctionRegressor, leave_one_out_refit
from stablebag._seeds import Seeds
from stablebag.models.learners import (
    Copies,
    Surroundings,
    isolated,
    keeps_to_its_seeds,
    may_predict,
    random_state_names,
)


@pytest.fixture
def data():
    return np.arange(60.0).reshape(30, 2), np.random.default_rng(0).normal(size=30)


def test_a_seed_that_the_user_wrote_is_kept(data):
    model = BaggedRegressor(RowRecorder(random_state=7), n_bags=5, random_state=3).fit(*data)
    assert [learner.seed_ for learner in model.estimators_] == [7] * 5


def test_nested_random_states_that_are_none_are_filled_differently(data):
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


def test_learners_that_validate_inside_do_so_in_every_bag(data):
    X, y = data
    messages = []
    for n_jobs in (1, 2):
        model = BaggedRegressor(FunctionRegressor(invalid_for_even_seeds), n_bags=32, n_jobs=n_jobs, random_state=0)
        with pytest.raises(ValueError, match="max_depth") as caught:
            model.fit(X, y)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


@pytest.mark.slow
def test_a_search_inside_gives_the_same_for_any_number_of_jobs(data):
    X, y = data
    search = GridSearchCV(DecisionTreeRegressor(random_state=0), {"max_depth": [0, 3]}, cv=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        models = [BaggedRegressor(search, n_bags=4, n_jobs=n_jobs, random_state=0).fit(X, y) for n_jobs in (1, 2)]
    assert all(fitted.best_params_ == {"max_depth": 3} for model in models for fitted in model.estimators_)
    np.testing.assert_array_equal(*[model.predict(X) for model in models])


def test_ensembles_inside_ensembles_seed_their_own_learners(data):
    X, y = data
    inner = BaggedRegressor(SGDRegressor(), n_bags=4)
    assert random_state_names(inner) == ["random_state"]
    model = BaggedRegressor(inner, n_bags=2, random_state=0).fit(X, y)
    seeds = [fitted.random_state for outer in model.estimators_ for fitted in outer.estimators_]
    assert len(set(seeds)) == 8


def test_a_learner_that_inherits_nothing_is_taken(data):
    X, y = data
    model = BaggedRegressor(Bare(), n_bags=30, random_state=0).fit(X, y)
    assert [fitted.random_state for fitted in model.estimators_] == Seeds(0).learner_seeds(0, 30).tolist()
    assert abs(model.predict(X)[0] - y.mean()) < 0.2
    assert "Bare" in model._repr_html_()


def test_a_learner_that_is_its_own_clone_is_not_seeded(data):
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
def test_parameters_that_contain_themselves_are_refused(learner, data):
    with pytest.raises(
        ValueError, match=r"A parameter of BaggedRegressor's estimator (contains itself|has more than 100 levels)"
    ):
        BaggedRegressor(learner, n_bags=2).fit(*data)
    with pytest.raises(ValueError, match=r"A parameter of leave_one_out_refit's estimator (contains|has more)"):
        leave_one_out_refit(learner, *data, data[0])


def test_a_part_may_be_in_two_places(data):
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
def test_a_learner_that_takes_codes_alone_gets_those_of_its_bags_labels(names, wrap, rare):
    X = np.random.default_rng(0).normal(size=(40 + rare, 2))
    y = np.array(names)[np.r_[np.arange(40) % 2 * 2, np.ones(rare, int)]]
    model = BaggedClassifier(wrap(CodesAlone()), n_bags=6, random_state=0).fit(X, y)
    plain = BaggedClassifier(wrap(DecisionTreeClassifier()), n_bags=6, random_state=0, solver="scikit-learn").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    for ours, theirs in zip(model.estimators_, plain.estimators_, strict=True):
        np.testing.assert_array_equal(ours.classes_, theirs.classes_)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))


def test_labels_that_are_their_own_codes_stay(data):
    X, y = data
    for labels in ((y > 0), (y > 0).astype(int), (y > 0).astype(float)):
        model = BaggedClassifier(CodesAlone(), n_bags=2, random_state=0).fit(X, labels)
        assert type(model.estimators_[0]) is CodesAlone


@pytest.mark.parametrize("scoring", ["f1", make_scorer(f1_score, pos_label=1)])
def test_labels_stay_labels_where_a_parameter_may_name_them(scoring, data):
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


def test_an_eval_set_is_encoded_with_the_bag(data):
    X, y = data
    labels = np.where(y > 0, "up", "down")
    model = BaggedClassifier(CodesAlone(), n_bags=2, random_state=0)
    assert set(model.fit(X, labels, eval_set=[(X[:5], labels[:5])]).predict(X)) == {"up", "down"}
    with pytest.raises(ValueError, match="eval_set has the class 'flat', which these rows lack"):
        model.fit(X, labels, eval_set=[(X[:1], ["flat"])])


# ----------------------------------------------------------------------------------------------- copies and their seeds


def test_a_learner_with_plain_parameters_is_copied_by_its_class_and_seeded():
    learner = SGDRegressor(alpha=0.5)
    copies = Copies(learner)
    model = copies.copy(17)
    assert copies.by_class or sklearn.__version__.startswith("1.6.")  # where this learner has more than its parameters
    assert model is not learner
    assert (model.alpha, model.random_state, learner.random_state) == (0.5, 17, None)


def test_splitters_that_shuffle_are_seeded_and_others_left_alone():
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


def test_only_learners_known_to_keep_to_their_seeds_are_harmless():
    assert keeps_to_its_seeds(make_pipeline(StandardScaler(), SGDRegressor()))
    assert not keeps_to_its_seeds(SGDRegressor(random_state=np.random.RandomState(0)))
    assert not keeps_to_its_seeds(make_pipeline(StandardScaler(), RowRecorder()))
    assert Surroundings(Ridge()).may_run_beside_others
    assert not Surroundings(SVC()).may_run_beside_others  # libsvm has one generator for the whole process


def test_other_learners_find_generators_that_hang_on_their_seed_and_settings_are_given_back(monkeypatch):
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


def test_a_fit_that_imports_torch_is_made_again_with_its_generators_seeded(monkeypatch, data):
    X, y = data
    model = BaggedRegressor(FunctionRegressor(imports_torch), n_bags=3, prediction_range=None, random_state=0)
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    first = model.fit(X, y).bag_predictions(X)
    monkeypatch.setitem(sys.modules, "torch", other := Torch())
    other.generator.seed(1)
    np.testing.assert_array_equal(first, model.fit(X, y).bag_predictions(X))


def test_fit_parameters_that_cannot_be_copied_are_refused():
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
def test_a_learner_may_predict_if_it_does_or_if_its_class_does_and_it_says_what_it_is(learner, expected):
    assert may_predict(learner) is expected
