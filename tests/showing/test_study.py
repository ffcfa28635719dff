import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    Certificate,
    Perturbations,
    Subbagging,
    VectorCertificate,
    certify,
    certify_reused,
    leave_one_out,
    leave_one_out_error,
    leave_one_out_refit,
    on_progress,
    predict_interval,
)
from stablebag._wording import Noun
from stablebag.showing.study import Study, study


def test_a_study_measures_proves_and_holds_out(diabetes, cancer):
    regression, _ = diabetes
    assert regression.base.values.shape == (15, 6)
    assert regression.bagged.values.shape == (200, 6)
    assert isinstance(regression.anew, Certificate)
    assert regression.bagged.scope.mismatch(regression.proved.scope) is None
    assert set(regression.scores) == {"mean absolute error", "root mean squared error"}
    assert regression.coverage * 60 == pytest.approx(round(regression.coverage * 60))  # of all held-out rows
    assert 0.5 < regression.coverage < 1
    assert len(regression.intervals) == 6
    assert isinstance(cancer.anew, VectorCertificate)
    assert cancer.bagged.scope.mismatch(cancer.proved.scope) is None
    assert set(cancer.scores) == {"accuracy", "log loss"}
    assert cancer.intervals is None
    for result in (regression, cancer):
        assert np.isfinite([proved for *_, proved in result.comparison()[:2]]).all()
        for name, _, after, proved in result.comparison():
            assert np.isnan(proved) or after <= proved, name
    assert "the largest move of all is" in cancer.verdict()
    assert regression.decisions is None
    assert regression.distance == "the prediction"
    rows, effects = cancer.most_influential(3)
    assert effects.tolist() == sorted(effects, reverse=True)
    assert len(rows) == 3


def test_a_study_tells_how_far_it_has_come():
    X, y = load_diabetes(return_X_y=True)
    told = []
    tree = DecisionTreeRegressor(max_depth=3)
    with on_progress(lambda *numbers: told.append(numbers)):
        study(tree, X[:60], y[:60], X[60:70], n_bags=30, n_refits=3)
    assert told == [(done, 34) for done in range(35)]


def test_what_is_at_hand_is_put_together_and_what_does_not_belong_together_refused():
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=60, random_state=0).fit(X[:100], y[:100])
    points, targets = X[100:105], y[100:105]
    moved, proved, intervals = leave_one_out(model, points), certify_reused(model), predict_interval(model, points)
    with pytest.raises(ValueError, match=r"Study.of cannot show this bound.*put certify_reused\(model\)"):
        Study.of(moved, certify(model))
    alone = Study.of(moved, proved)
    assert "base learner" not in alone.verdict()
    assert np.isnan([before for _, before, _, _ in alone.comparison()]).all()
    together = Study.of(moved, proved, anew=certify(model), model=model, intervals=intervals, targets=targets)
    assert together.coverage == intervals.coverage(targets)
    assert together.error.value == leave_one_out_error(model, "absolute").value


def test_a_classifiers_study_is_of_vectors_of_probabilities():
    X, y = load_diabetes(return_X_y=True)
    labels = np.where(y[:100] > 140, "high", "low")
    voter = BaggedClassifier(DecisionTreeClassifier(max_depth=2), n_bags=60, random_state=0).fit(X[:100], labels)
    moved = leave_one_out(voter, X[100:105])
    classes = Study.of(moved, certify_reused(voter, vector=True), model=voter)
    assert classes.task == "classification"
    np.testing.assert_allclose(classes.bagged.values, np.sqrt(2) * moved.values[:, :, 0])
    assert "moves the bagged probability of any class by at most" in classes.verdict()
    assert classes.verdict().startswith("Of 5 points, ")
    with pytest.raises(ValueError, match=r"in_norm\(\) goes with vector=True"):
        Study.of(moved, certify_reused(voter))


def test_a_classifiers_verdict_speaks_of_all_held_out_decisions_first_and_of_no_distance(cancer):
    assert len(cancer.decisions) == 60
    assert len(cancer.decisions.base) == 6
    assert cancer.verdict().startswith(f"{cancer.decisions.conclusion()} At the first 6 of them the base learner")
    assert "at most 1.41" in cancer.distance
    assert "1.41" not in cancer.verdict()
    after, before = cancer.largest_class
    for largest, distances in ((after, cancer.bagged), (before, cancer.base)):  # two classes move alike
        np.testing.assert_allclose(np.sqrt(2) * largest.values, distances.values, atol=1e-12)
    assert f"the largest move of all is {np.max(after.max()):.3g}." in cancer.verdict()


def made_by_hand():
    left_out = np.array([[3.0, 0.0], [0.0, 4.0], [0.5, 0.5], [0.0, 0.0]])
    bagged = Perturbations(np.zeros(2), left_out, np.arange(4))
    base = Perturbations(np.zeros(2), 2 * left_out[[1, 3]], np.array([1, 3]))
    return Study.of(bagged, Certificate(Subbagging(2), 4, range_length=10.0), base=base)


def test_the_most_influential_rows_are_those_of_the_largest_root_mean_square():
    rows, effects = made_by_hand().most_influential(3)
    assert rows.tolist() == [1, 0, 2]
    np.testing.assert_allclose(effects, np.sqrt([8.0, 4.5, 0.25]))


def test_the_verdict_says_how_many_rows_the_base_learner_was_refitted_without():
    verdict = made_by_hand().verdict(delta=0.25)
    assert "at most 0.5 for 75% of the 4 rows" in verdict  # the average of 0.5 and 0.5, each without its largest
    assert "the largest move of all is 4." in verdict
    assert "For the base learner these are 4 and 8, by 2 of the rows." in verdict


@pytest.mark.parametrize("name", ["n_points", "n_refits"])
def test_numbers_of_points_and_refits_that_are_none_are_refused(name):
    with pytest.raises(ValueError, match=f"'{name}' parameter of study"):
        study(DecisionTreeRegressor(), np.eye(4), np.arange(4.0), np.eye(4), **{name: 0})


def test_a_study_of_units_leaves_out_units_and_calls_them_by_their_names(visits):
    result, X, patients = visits
    assert result.noun == Noun("patient", "patients")
    assert result.n_samples == patients.nunique() == len(result.bagged.rows) == 15 < len(X)
    assert result.base.values.shape == (5, 4)
    assert result.bagged.scope.mismatch(result.proved.scope) is None
    assert result.verdict().startswith("Leaving out all rows of a patient moves the bagged prediction by at most ")
    assert "of the 15 patients, on average over the test points" in result.verdict()
    assert "by 5 of the patients." in result.verdict()
    assert [name for name, *_ in result.comparison()][:2] == ["mean over patients", "95% of the patients below"]
    names, effects = result.most_influential(3)
    assert set(names) <= set(patients)
    numbers, same = result.ranked(3)
    assert patients.unique()[numbers].tolist() == names.tolist()
    np.testing.assert_array_equal(effects, same)
    assert "of 15 patients" in str(result.error)
    assert "a new patient" in result.intervals.guarantee
    assert result.intervals.to_frame().index.tolist() == [f"new {k}" for k in range(4)]


def test_units_of_one_row_each_are_studied_as_the_rows_are():
    X, y = load_diabetes(return_X_y=True)
    options = {"n_bags": 30, "n_refits": 3, "n_points": 2}
    plain, units = (
        study(DecisionTreeRegressor(max_depth=3), X[:60], y[:60], X[60:70], groups=groups, **options)
        for groups in (None, np.arange(60))
    )
    np.testing.assert_array_equal(plain.bagged.left_out, units.bagged.left_out)
    np.testing.assert_array_equal(plain.base.left_out, units.base.left_out)
    assert "of the 60 groups" in units.verdict()


def test_the_most_influential_rows_are_called_as_in_the_frame(diabetes):
    result, X = diabetes
    moved = result.bagged
    assert moved.names.rows is None  # the frame counts its rows
    shuffled = X[:60].sample(frac=1.0, random_state=0)
    other = study(DecisionTreeRegressor(max_depth=3), shuffled, np.arange(60.0), X[60:70], n_bags=40, n_refits=3)
    numbers, _ = other.ranked(4)
    assert other.most_influential(4)[0].tolist() == shuffled.index[numbers].tolist()


def test_what_is_left_out_must_be_the_same_on_both_sides():
    X, y = load_diabetes(return_X_y=True)
    X, y, tree = X[:40], y[:40], DecisionTreeRegressor(max_depth=2)
    model = BaggedRegressor(tree, n_bags=40, random_state=0).fit(X, y, groups=np.arange(40) // 2)
    base = leave_one_out_refit(tree, X, y, X[:3], rows=[0, 1])
    with pytest.raises(ValueError, match=r"'base' parameter of Study.of must be about the same 20 groups"):
        Study.of(leave_one_out(model, X[:3]), certify_reused(model), base=base)


def test_of_some_rows_the_most_influential_are_called_by_their_own_numbers():
    bagged = Perturbations(np.zeros(1), np.array([[1.0], [3.0]]), np.array([5, 8]))
    chosen = Study.of(bagged, Certificate(Subbagging(2), 10, range_length=10.0))
    assert chosen.most_influential()[0].tolist() == [8, 5]
