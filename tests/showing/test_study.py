import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import parquet_files
from rounding import assert_same_sums
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    Certificate,
    ParquetTable,
    Subbagging,
    certify,
    leave_one_out,
    leave_one_out_error,
    leave_one_out_refit,
    on_progress,
    predict_interval,
)
from stablebag._seeds import Seeds
from stablebag._wording import Noun
from stablebag.deciding import selection_stability
from stablebag.measuring import Perturbations
from stablebag.measuring.perturbations import Names
from stablebag.models import RowSource
from stablebag.resampling.units import Units
from stablebag.showing.study import (
    HELD_OUT,
    Decisions,
    Study,
    draw_units,
    n_points_to_compare,
    rows_of_some,
    source_targets,
    study,
    train_and_test,
)
from stablebag.tables.subsets import Remainder


def test_a_study_measures_proves_and_holds_out(diabetes, cancer):
    regression, _ = diabetes
    assert regression.base.values.shape == (15, 6)
    assert regression.bagged.values.shape == (200, 6)
    assert isinstance(regression.anew, Certificate)
    assert regression.bagged.scope.mismatch(regression.proved.scope) is None
    assert [score.name for score in regression.scores] == ["root mean squared error", "mean absolute error", "R2"]
    assert regression.scores[0].constant > regression.scores[0].bagged
    assert regression.coverage * 60 == pytest.approx(round(regression.coverage * 60))  # of all held-out rows
    assert 0.5 < regression.coverage < 1
    assert len(regression.intervals.lower) == 6
    assert cancer.anew.outputs.is_vector
    assert cancer.bagged.scope.mismatch(cancer.proved.scope) is None
    assert [score.name for score in cancer.scores] == ["accuracy", "log loss"]
    assert cancer.intervals is None
    for result in (regression, cancer):
        assert np.isfinite([fact["proved"] for fact in result.facts().section("guarantees").facts[:2]]).all()
        for fact in result.facts().section("guarantees").facts:
            assert not fact["measured"] > fact["proved"], fact.label
        assert result.compared.n_points == 60  # all held-out rows
        assert result.compared.bagged.rows.tolist() == result.compared.base.rows.tolist()
        np.testing.assert_array_equal(result.base.left_out, result.compared.base.left_out[:, :6])
        assert result.suspects.noun == result.noun
    assert regression.decisions is None
    assert regression.distance == "predictions"
    rows, effects = cancer.most_influential(3)
    assert effects.tolist() == sorted(effects, reverse=True)
    assert len(rows) == 3


def test_study_reports_progress():
    X, y = load_diabetes(return_X_y=True)
    told = []
    tree = DecisionTreeRegressor(max_depth=3)
    with on_progress(lambda *numbers: told.append(numbers)):
        study(BaggedRegressor(tree, n_bags=30), X[:60], y[:60], X[60:70], n_refits=3)
    assert told == [(done, 37) for done in range(38)]  # 30 bags, 3 refits of each model, and the base model of all rows


def test_study_of_existing_objects_must_match():
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, random_state=0).fit(X[:100], y[:100])
    points, targets = X[100:105], y[100:105]
    moved, proved, intervals = (
        leave_one_out(model, points),
        certify(model, reused=True),
        predict_interval(model, points),
    )
    with pytest.raises(ValueError, match=r"Study.of cannot show this bound.*use certify\(model, reused=True\)"):
        Study.of(moved, certify(model))
    alone = Study.of(moved, proved)
    assert alone.verdict().case == "not compared"
    assert "base" not in alone.facts().section("changes").columns
    together = Study.of(moved, proved, anew=certify(model), model=model, intervals=intervals, targets=targets)
    assert together.coverage == intervals.coverage(targets)
    assert together.error.value == leave_one_out_error(model, "absolute").value


def test_study_of_a_classifier_measures_vectors_of_probabilities():
    X, y = load_diabetes(return_X_y=True)
    labels = np.where(y[:100] > 140, "high", "low")
    voter = BaggedClassifier(DecisionTreeClassifier(max_depth=2), n_bags=60, random_state=0).fit(X[:100], labels)
    moved = leave_one_out(voter, X[100:105])
    classes = Study.of(moved, certify(voter, vector=True, reused=True), model=voter)
    assert classes.task == "classification"
    np.testing.assert_allclose(classes.bagged.values, np.sqrt(2) * moved.values[:, :, 0])
    assert classes.verdict().reasons[0].startswith("The bags without each training row suggest that ")
    with pytest.raises(ValueError, match=r"For in_norm\(\), use vector=True"):
        Study.of(moved, certify(voter, reused=True))


def test_first_reason_of_a_classifier_counts_decisions(cancer):
    decisions = cancer.decisions
    assert len(decisions) == len(decisions.base) == len(decisions.same) == 60
    first = cancer.verdict().reasons[0]
    assert first == f"{decisions.conclusion()} {decisions.checks()} {decisions.of_both()}"
    assert decisions.of_both().startswith("Without each of the same 15 rows, refits flip ")
    assert (decisions.same <= decisions.by_point).all()
    assert "at most the square root of 2" in cancer.facts().section("changes").note


def made_by_hand():
    left_out = np.array([[3.0, 0.0], [0.0, 4.0], [0.5, 0.5], [0.0, 0.0]])
    bagged = Perturbations(np.zeros(2), left_out, np.arange(4))
    base = Perturbations(np.zeros(2), 2 * left_out[[1, 3]], np.array([1, 3]))
    return Study.of(bagged, Certificate(Subbagging(2), 4, range_length=10.0), base=base)


def test_the_most_influential_rows_are_those_of_the_largest_root_mean_square():
    rows, effects = made_by_hand().most_influential(3)
    assert rows.tolist() == [1, 0, 2]
    np.testing.assert_allclose(effects, np.sqrt([8.0, 4.5, 0.25]))


def test_both_models_leave_out_the_same_rows():
    both = made_by_hand()
    assert both.compared.bagged.rows.tolist() == [1, 3]
    facts = both.facts().section("changes").facts
    assert [(fact["base"], fact["bagged"]) for fact in facts] == [(4.0, 2.0), (8.0, 4.0), (8.0, 4.0)]


def test_bagged_model_is_refitted_without_some_of_the_same_rows():
    X, y = load_diabetes(return_X_y=True)
    tree, told = DecisionTreeRegressor(max_depth=3), []
    with on_progress(lambda *numbers: told.append(numbers)):
        result = study(BaggedRegressor(tree, n_bags=30), X[:60], y[:60], X[60:70], n_refits=6, n_matched=4)
    assert told[-1] == (41, 41)  # 30 bags, 6 and 4 refits, and the base model of all rows
    model = BaggedRegressor(tree, n_bags=30, random_state=0)
    same = leave_one_out_refit(model, X[:60], y[:60], X[60:70], rows=result.refitted.rows, random_state=0)
    np.testing.assert_array_equal(result.refitted.left_out, same.left_out)
    assert set(result.refitted.rows) <= set(result.base.rows)
    assert sorted(result.compared.weights) == [1, 1, 2, 2]


def test_study_holds_out_rows_by_itself():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    forest = RandomForestRegressor(n_estimators=3, max_depth=3)
    bagged = BaggedRegressor(forest, scheme=BernoulliSubbagging(0.3), n_bags=30, random_state=4)
    result = study(bagged, X[:90], y[:90], n_refits=2, n_matched=0)
    assert (result.n_samples, len(result.losses[0].bagged)) == (72, 18)
    assert result.model.scheme == BernoulliSubbagging(0.3)
    assert (len(result.model.bags_), result.model.random_state) == (30, 4)
    assert not hasattr(bagged, "bags_")
    (seed,) = Seeds.from_random_state(4, "study").learner_seeds(0, 1)
    train, test = train_and_test(y[:90], None, 0.2, False, 4)
    assert sorted([*train, *test]) == list(range(90))
    alone = clone(forest).set_params(random_state=int(seed)).fit(X.iloc[train], y.iloc[train])
    error = np.sqrt(np.mean((alone.predict(X.iloc[test]) - y.iloc[test]) ** 2))
    assert result.facts()["root mean squared error"]["base"] == pytest.approx(error)


def test_a_bagged_model_without_an_estimator_is_compared_with_a_tree():
    X, y = load_diabetes(return_X_y=True)
    default, tree = (
        study(BaggedRegressor(learner, n_bags=20), X[:40], y[:40], X[40:50], y[40:50], n_refits=3, n_matched=2)
        for learner in (None, DecisionTreeRegressor())
    )
    np.testing.assert_array_equal(default.base.left_out, tree.base.left_out)
    np.testing.assert_array_equal(default.refitted.left_out, tree.refitted.left_out)


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        ({"model": "tree"}, TypeError, "'model' parameter of study must be an unfitted scikit-learn regressor"),
        ({"model": BaggedRegressor(n_bags="all")}, TypeError, "'n_bags' parameter of study must be an integer"),
        ({"y": None}, ValueError, "'y' parameter of study must be the targets"),
        ({"X_test": np.zeros((3, 2))}, ValueError, "X_test has 2 columns, but X has 1"),
        ({"y_test": [1.0]}, ValueError, "'y_test' parameter of study must be 10 targets, one for each row of X_test"),
        ({"y_test": [np.inf] * 10}, ValueError, "'y_test' parameter of study must be finite numbers"),
        ({"metrics": "r2"}, TypeError, "'metrics' parameter of study must be a list of names"),
        ({"metrics": [3]}, TypeError, "'metrics' parameter of study must be names"),
    ],
)
def test_wrong_arguments_are_refused_before_any_fit(wrong, error, said, monkeypatch):
    monkeypatch.setattr(BaggedRegressor, "fit", None)
    X = np.arange(30.0)[:, None]
    right = {"model": DecisionTreeRegressor(), "X": X[:20], "y": X[:20, 0], "X_test": X[20:], "y_test": X[20:, 0]}
    with pytest.raises(error, match=said):
        study(**{**right, **wrong})


def test_held_out_labels_must_match_training_labels():
    X, y = np.arange(30.0)[:, None], np.repeat(["no", "yes"], 15)
    with pytest.raises(ValueError, match="Write the classes in the same way"):
        study(DecisionTreeClassifier(), X[::2], y[::2], X[1::2], (y[1::2] == "yes").astype(int))


def test_rows_are_held_out_by_class_and_as_whole_groups():
    X, y = load_diabetes(return_X_y=True)
    labels, groups = np.repeat(["often", "seldom"], [90, 10]), np.repeat(np.arange(50), 2)
    train, test = train_and_test(labels, None, 0.2, True, 0)
    assert (labels[test] == "seldom").sum() == 2
    train, test = train_and_test(y[:100], groups, 0.2, False, 0)
    assert not set(groups[train]) & set(groups[test])
    assert (len(train), len(test)) == (80, 20)
    bagged = BaggedRegressor(DecisionTreeRegressor(max_depth=2), n_bags=30)
    result = study(bagged, X[:100], y[:100], groups=groups, n_refits=2)
    assert (result.n_samples, result.noun.plural) == (40, "groups")
    with pytest.raises(ValueError, match="'test_size' parameter of study must be a share"):
        study(DecisionTreeRegressor(), X, y, test_size=1.0)


def test_study_prints_four_lines_and_tables(diabetes, cancer):
    result, _ = diabetes
    assert repr(result) == str(result.facts())
    assert repr(result).startswith("Does it predict?      Yes. On unseen rows, its mean absolute error is about ")
    assert "typical change (root mean square)" in repr(result)
    assert max(map(len, repr(result).splitlines())) <= 100
    assert "<pre" in result._repr_html_()
    frame = result.to_frame()
    assert frame.loc["typical change", "value"] == result.compared.bagged_rms
    assert frame.loc["guaranteed change", "kind"] == "proved"
    assert frame.index.is_unique
    assert set(cancer.to_frame().index) >= {"flips", "suggested flips", "typical change", "times smaller"}
    with pytest.raises(KeyError, match="This study has no fact 'flips'"):
        result.facts()["flips"]


@pytest.mark.parametrize("groups", [None, np.arange(80) // 2])
def test_refits_of_the_bagged_model_change_nothing_else(groups):
    X, y = load_diabetes(return_X_y=True)
    bagged, options = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=40), {"n_refits": 5, "groups": groups}
    few, none = (study(bagged, X[:80], y[:80], X[80:99], y[80:99], n_matched=n, **options) for n in (2, 0))
    assert few.coverage == none.coverage
    assert few.error.value == none.error.value
    assert (few.error.rows is None) == (none.error.rows is None)
    assert few.suspects == none.suspects or str(few.suspects) == str(none.suspects)
    np.testing.assert_array_equal(few.intervals.lower, none.intervals.lower)


def test_wrong_metrics_fail_before_any_fit():
    X, y = load_diabetes(return_X_y=True)
    tree = DecisionTreeRegressor(max_depth=2)
    data = (X[:40], y[:40], X[40:60], y[40:60])
    result = study(BaggedRegressor(tree, n_bags=20), *data, n_refits=2, metrics=("neg_max_error",))
    assert [score.name for score in result.scores] == ["max error"]
    with pytest.raises(ValueError, match=r"There is no metric 'nonsense'"):
        study("no learner", *data, metrics=("nonsense",))


@pytest.mark.parametrize("name", ["n_points", "n_refits"])
def test_wrong_numbers_of_points_and_refits_raise_an_error(name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of study"):
        study(DecisionTreeRegressor(), np.eye(4), np.arange(4.0), np.eye(4), **{name: 0})


def test_study_of_groups_leaves_out_groups_by_name(visits):
    result, X, patients = visits
    assert result.noun == Noun("group", "groups")
    assert result.n_samples == patients.nunique() == len(result.bagged.rows) == 15 < len(X)
    assert result.base.values.shape == (5, 4)
    assert result.bagged.scope.mismatch(result.proved.scope) is None
    assert result.compared.where() == "5 of the 15 groups, at 9 test points"
    assert "95% of groups" in result.facts()["guaranteed change"].label
    names, effects = result.most_influential(3)
    assert set(names) <= set(patients)
    numbers, same = result.ranked(3)
    assert patients.unique()[numbers].tolist() == names.tolist()
    np.testing.assert_array_equal(effects, same)
    assert "of 15 groups" in str(result.error)
    assert "a new group" in result.intervals.guarantee
    assert result.intervals.to_frame().index.tolist() == [f"new {k}" for k in range(4)]


def test_study_of_groups_of_one_row_equals_that_of_rows():
    X, y = load_diabetes(return_X_y=True)
    bagged = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=30)
    options = {"n_refits": 3, "n_points": 2}
    plain, units = (
        study(bagged, X[:60], y[:60], X[60:70], groups=groups, **options) for groups in (None, np.arange(60))
    )
    np.testing.assert_array_equal(plain.bagged.prediction, units.bagged.prediction)
    assert_same_sums(plain.bagged.left_out, units.bagged.left_out, 30, y)
    np.testing.assert_array_equal(plain.base.left_out, units.base.left_out)
    assert "of the 60 groups" in units.compared.where()


def test_most_influential_rows_have_the_names_of_the_frame(diabetes):
    result, X = diabetes
    moved = result.bagged
    assert moved.names.rows is None  # the frame counts its rows
    shuffled = X[:60].sample(frac=1.0, random_state=0)
    bagged = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=40)
    other = study(bagged, shuffled, np.arange(60.0), X[60:70], n_refits=3)
    numbers, _ = other.ranked(4)
    assert other.most_influential(4)[0].tolist() == shuffled.index[numbers].tolist()


def test_measurement_and_certificate_must_leave_out_the_same():
    X, y = load_diabetes(return_X_y=True)
    X, y, tree = X[:40], y[:40], DecisionTreeRegressor(max_depth=2)
    model = BaggedRegressor(tree, n_bags=40, random_state=0).fit(X, y, groups=np.arange(40) // 2)
    base = leave_one_out_refit(tree, X, y, X[:3], rows=[0, 1])
    with pytest.raises(ValueError, match=r"'base' parameter of Study.of must be about the same 20 groups"):
        Study.of(leave_one_out(model, X[:3]), certify(model, reused=True), base=base)


def test_most_influential_of_some_rows_keep_their_numbers():
    bagged = Perturbations(np.zeros(1), np.array([[1.0], [3.0]]), np.array([5, 8]))
    chosen = Study.of(bagged, Certificate(Subbagging(2), 10, range_length=10.0))
    assert chosen.most_influential()[0].tolist() == [8, 5]


def test_study_of_several_targets_raises_an_error():
    with pytest.raises(ValueError, match="study one column at a time"):
        study(DecisionTreeRegressor(), np.zeros((9, 1)), np.zeros((9, 2)), np.zeros((2, 1)))


@pytest.fixture
def held_out_of_files(tmp_path):
    """Rows of files but some, these, and the same in memory: X, y, X_test, y_test."""
    parquet_files.uneven_files(tmp_path, parquet_files.rows())

    def make(target):
        table = ParquetTable(tmp_path, target=target, columns=["x", "z", "whole"], max_memory=4000)
        held = np.arange(3, table.n_samples, 7)
        X, y = table.to_memory()
        stay = np.delete(np.arange(len(y)), held)
        return Remainder(table, held), (X.iloc[stay], y[stay], table.take(held), y[held])

    return make


@pytest.mark.parametrize("target", ["y", "kind"])
def test_study_of_files_equals_that_in_memory_without_the_base_model(held_out_of_files, target):
    rest, (X, y, X_test, y_test) = held_out_of_files(target)
    tree = (DecisionTreeRegressor if target == "y" else DecisionTreeClassifier)(max_depth=3)
    tree = (BaggedRegressor if target == "y" else BaggedClassifier)(tree, scheme=Subbagging(30), n_bags=40)
    about = {"n_points": 5, "n_refits": 3}
    of_files = study(tree, rest, X_test=X_test, y_test=y_test, **about)
    in_memory = study(tree, X, y, X_test, y_test, n_matched=0, **about)
    assert of_files.base is None
    assert (of_files.bagged.values == in_memory.bagged.values).all()
    assert (of_files.bagged.names.rows == in_memory.bagged.names.rows).all()
    assert str(of_files.facts().section("guarantees").facts) == str(in_memory.facts().section("guarantees").facts)
    assert repr(of_files.suspects) == repr(in_memory.suspects)
    assert (of_files.error.losses == in_memory.error.losses).all()
    assert of_files.coverage == in_memory.coverage
    assert [score.bagged for score in of_files.scores] == [score.bagged for score in in_memory.scores]
    assert np.isnan([score.base for score in of_files.scores]).all()
    assert len(of_files.losses) == len(in_memory.losses)
    assert of_files.compared.n_rows == rest.n_samples
    verdict = of_files.verdict()
    stability = verdict if verdict.case == "not compared" else verdict.remarks[-1]
    assert stability.case == "not compared"
    assert stability.headline.startswith(
        "Apart from bagging noise, leaving out a row typically changes the bagged model's"
    )
    assert f"fitted to all {rest.n_samples} rows at once, and they are not in memory." in of_files.compared.reason
    if target == "kind":
        assert (of_files.decisions.suggested == in_memory.decisions.suggested).all()
        assert of_files.decisions.of_both() == ""


def test_study_of_many_rows_in_files_predicts_a_sample(held_out_of_files, monkeypatch):
    monkeypatch.setattr("stablebag.showing.study._MOST_ROWS", 50)
    rest, (_, _, X_test, y_test) = held_out_of_files("y")
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), scheme=Subbagging(30), n_bags=40)
    result = study(model, rest, X_test=X_test, y_test=y_test)
    assert result.suspects.n_looked_at == len(result.error.rows) == result.compared.n_rows == 50
    assert (result.intervals, result.coverage) == (None, None)
    assert len(result.bagged.rows) == rest.n_samples  # what is proved, and measured beside it, is of all
    assert result.bagged.scope.mismatch(result.proved.scope) is None


def test_unsupported_options_of_a_study_of_files_raise_an_error(held_out_of_files):
    rest, (_, y, X_test, _) = held_out_of_files("y")
    tree = DecisionTreeRegressor()
    with pytest.raises(TypeError, match=r"X_test.*held-out rows in memory"):
        study(tree, rest)
    with pytest.raises(TypeError, match=r"X_test.*held-out rows in memory"):
        study(tree, rest, X_test=rest)
    with pytest.raises(ValueError, match="Leave y out"):
        study(tree, rest, y, X_test)
    with pytest.raises(ValueError, match=r"n_matched.*0 with a Remainder"):
        study(tree, rest, X_test=X_test, n_matched=2)
    with pytest.raises(ValueError, match="where the table is made"):
        study(tree, rest, X_test=X_test, groups=np.arange(len(y)))


@pytest.mark.parametrize(
    ("groups", "error", "said"),
    [
        (np.arange(9), ValueError, "'groups_test' parameter of study must be 10 group labels"),
        (3, TypeError, "'groups_test' parameter of study must be a list with the group of each row. Got 3"),
        ("ab", TypeError, "groups_test=frame"),
        ([None, *range(9)], ValueError, "'groups_test' parameter.*row 0 has none"),
        ([*range(9), np.nan], ValueError, "'groups_test' parameter.*row 9 has none"),
        (np.zeros((10, 1)), ValueError, "'groups_test' parameter of study must be one-dimensional"),
        ([[1]] * 10, TypeError, "'groups_test' parameter.*hashable labels"),
    ],
)
def test_groups_of_held_out_rows_are_checked_before_any_fit(groups, error, said, monkeypatch):
    monkeypatch.setattr(BaggedRegressor, "fit", None)
    X = np.arange(30.0)[:, None]
    with pytest.raises(error, match=said):
        study(DecisionTreeRegressor(), X[:20], X[:20, 0], X[20:], X[20:, 0], groups_test=groups)


def test_groups_of_held_out_rows_need_no_groups_of_training_rows():
    X = np.arange(30.0)[:, None]
    groups = [("a", 1)] * 5 + [("b", 1)] * 5
    result = study(
        BaggedRegressor(DecisionTreeRegressor(), n_bags=20),
        X[:20],
        X[:20, 0],
        X[20:],
        X[20:, 0],
        groups_test=groups,
        n_refits=5,
    )
    assert result.losses[0].groups.tolist() == [0] * 5 + [1] * 5
    assert result.noun == Noun("row", "rows")


def test_units_to_refit_are_drawn_by_the_seed(seed):
    assert draw_units(5, 9, seed).tolist() == [0, 1, 2, 3, 4]
    some = draw_units(1000, 30, seed)
    assert len(np.unique(some)) == 30
    assert (np.diff(some) > 0).all()
    assert (some == draw_units(1000, 30, seed)).all()
    assert (some != draw_units(1000, 30, seed + 1)).any()


def test_all_held_out_rows_are_compared_if_memory_allows():
    assert n_points_to_compare(20, 500, 10_000, 200, 1) == 500
    assert n_points_to_compare(20, 10**6, 10_000, 200, 1) == 2**27 // 10_000
    assert n_points_to_compare(20, 10**6, 10_000, 10_000, 2) == 2**23 // 20_000
    assert n_points_to_compare(20, 10**6, 10**9, 200, 1) == 20  # those of what is proved, at the least


class Ten(RowSource):
    n_samples, n_features, part_sizes, bytes_per_row = 10, 1, (10,), 8.0

    def take(self, rows):
        return rows[:, None]

    def read(self, part, n_rows):
        return iter([self.take(np.arange(10))])

    def targets(self):
        return np.arange(10.0)

    def groups(self):
        return np.repeat([0, 1], 5)


def test_source_brings_its_own_targets_and_groups():
    y, groups = source_targets(Ten(), None, None, 0)
    assert y.tolist() == list(range(10))
    assert groups.tolist() == [0] * 5 + [1] * 5
    with pytest.raises(ValueError, match="None with a Ten"):
        source_targets(Ten(), None, np.arange(10), 0)
    with pytest.raises(ValueError, match="0 with a Ten"):
        source_targets(Ten(), None, None, 3)


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return BaggedClassifier(DecisionTreeClassifier(), n_bags=60, random_state=0), X[::2], y[::2], X[1::2]


def by_hand(by_point, by_row=(1, 0, 3), suggested=(), refitted=(0, 1, 2), **about):
    about = {"names": Names(), "noun": Noun(), "points": HELD_OUT, **about}
    pairs = np.array(suggested, dtype=int).reshape(-1, 2)
    return Decisions(np.array(by_point), np.array(by_row), suggested=pairs, refitted=np.array(refitted), **about)


def test_suggestions_are_those_of_selection_stability(wine):
    model, X, y, points = wine
    model = model.fit(X, y)
    flips = selection_stability(model, points).flips["argmax"]
    assert flips.any()
    found = Decisions.suggested_by(model, points)
    np.testing.assert_array_equal(found.suggested[np.lexsort(found.suggested.T[::-1])], np.argwhere(flips))
    assert found.n_suggested == flips.any(axis=0).sum()
    assert found.n_flipped == 0
    of_bags = Decisions.of_perturbations(leave_one_out(model, points))
    assert sorted(map(tuple, of_bags.suggested)) == sorted(map(tuple, found.suggested))
    assert not len(of_bags.refitted)  # bags that are used again only suggest


def test_refits_confirm_what_they_flip_and_nothing_else(wine):
    model, X, y, points = wine
    suggested = Decisions.suggested_by(model.fit(X, y), points)
    rows = suggested.to_check(8, known=np.array([], dtype=int))
    counts = np.bincount(suggested.suggested[:, 0], minlength=len(y))
    assert len(rows) == 8
    assert counts[rows].min() >= np.delete(counts, rows).max()  # those that seem to flip most
    assert not set(suggested.to_check(8, known=rows)) & set(rows)
    refits = leave_one_out_refit(model, X, y, points, rows=rows, random_state=0)
    base = leave_one_out_refit(DecisionTreeClassifier(), X, y, points, rows=rows[:3], random_state=0)
    found, flips = suggested.checked(refits, base), refits.flips()
    np.testing.assert_array_equal(found.by_point, flips.sum(axis=0))
    np.testing.assert_array_equal(found.by_row[rows], flips.sum(axis=1))
    assert found.by_row.sum() == flips.sum()
    asked = [(row, point) for row, point in suggested.suggested.tolist() if row in rows]
    assert found.n_checked == len(asked)
    assert found.n_confirmed == sum(flips[rows.tolist().index(row), point] for row, point in asked) < len(asked)
    np.testing.assert_array_equal(found.same, flips[:3].sum(axis=0))
    np.testing.assert_array_equal(found.base, base.flips().sum(axis=0))


def test_the_conclusion_counts_decisions():
    told = "on a single training row: refitting without that row flips"
    assert by_hand([0, 2, 0]).conclusion() == f"Of 3 decisions, 1 hinges {told} it."
    assert by_hand([1, 2, 0]).conclusion() == f"Of 3 decisions, 2 hinge {told} them."
    assert by_hand([1, 2, 0], refitted=[0, 2]).conclusion() == f"Of 3 decisions, at least 2 hinge {told} them."
    assert by_hand([0, 0]).conclusion() == "Refitting without any of the 3 rows flips none of 2 decisions."
    some = by_hand([0, 0], refitted=[0, 2]).conclusion()
    assert some == "Refitting without each of 2 of the 3 rows flips none of 2 decisions."


def test_unchecked_flips_are_called_an_estimate():
    told = by_hand([0, 0, 0], suggested=[(0, 1), (2, 1)], refitted=[]).explain()
    assert told == (
        "The bags without each training row suggest that 1 of 3 decisions may hinge on a single one. This is an "
        "estimate with bagging noise: no refit has checked it."
    )
    none = by_hand([0, 0, 0], refitted=[]).explain()
    assert none == "The bags without each training row suggest that none of 3 decisions hinges on a single one."


def test_decisions_name_groups():
    told = by_hand([0, 1], noun=Noun("patient", "patients")).conclusion()
    assert told == "Of 2 decisions, 1 hinges on a single patient: refitting without that patient flips it."


def test_checks_say_how_many_candidates_were_checked_and_confirmed():
    found = by_hand([0, 2, 1], suggested=[(0, 1), (0, 2), (1, 1)], refitted=[0, 2], n_confirmed=1)
    assert found.checks() == (
        "The bagged model was refitted without 2 of the 3 rows. Its bags suggest 3 flips of a decision by a single "
        "row: 2 were checked by these refits, and 1 confirmed."
    )
    assert by_hand([0, 2]).checks() == ""  # all rows were left out
    assert by_hand([0, 2], refitted=[0]).checks().endswith("Its bags suggest no flip.")


def test_the_base_model_is_compared_without_the_same_rows():
    both = by_hand([0, 2, 1], base=np.array([1, 1, 0]), same=np.array([0, 1, 0]), n_same=2)
    assert both.of_both() == (
        "Without each of the same 2 rows, refits flip 2 decisions of the base model and 1 of the bagged model."
    )
    assert by_hand([0, 2]).of_both() == ""
    assert both.explain() == f"{both.conclusion()} {both.of_both()}"


def test_advice_names_close_calls_only_if_they_are_many():
    assert by_hand([1] * 6 + [0] * 94).advice() == (
        "6 of 100 decisions are close calls: have someone review them, or answer with sets of labels (stablebag sets)."
    )
    assert by_hand([1] * 4 + [0] * 96).advice() == ""
    assert by_hand([0] * 10).advice() == ""
    unsure = by_hand([0] * 10, suggested=[(0, 1), (1, 4)], refitted=[]).advice()
    assert unsure.startswith("2 of 10 decisions may be close calls")


def test_rows_that_flip_most_decisions_come_first():
    names, counts = by_hand([1, 3], names=Names(np.array(["ann", "bob", "eve"]))).most_flips(5)
    assert (names.tolist(), counts.tolist()) == (["eve", "ann"], [3, 1])


def test_rows_that_were_not_left_out_flip_no_decision():
    left_out = np.array([[[0.4, 0.6]], [[0.9, 0.1]]])
    found = Decisions.of_perturbations(Perturbations(np.array([[0.6, 0.4]]), left_out, rows=np.array([3, 1])))
    assert found.by_row.tolist() == [0, 0, 0, 1]
    assert found.most_flips()[0].tolist() == [3]


def test_large_groups_are_drawn_no_more_often_than_others():
    units = Units.of_groups(np.r_[np.zeros(3000, dtype=int), np.arange(1, 3001)], n_rows=6000)
    drawn = [rows_of_some(units, 600, seed) for seed in range(30)]
    assert all(len(np.unique(rows)) == len(rows) for rows in drawn)
    assert all(len(np.unique(units.of_rows[rows])) == 300 for rows in drawn)
    with_largest = sum(np.count_nonzero(rows < 3000) for rows in drawn)
    assert with_largest <= 12 * 1000  # a tenth of the draws, with at most 1,000 of its rows
    assert any((rows < 3000).any() for rows in drawn)


def test_study_keeps_the_rows_that_it_needs():
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, keep_rows=False)
    made = study(model, X[:100], y[:100], X[100:140], y[100:140], n_refits=3, n_matched=1, n_points=2)
    assert made.unseen.errors
    assert not model.keep_rows
