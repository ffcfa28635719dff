import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from rendering import HOSTILE, rendered
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    FixedRange,
    FunctionRegressor,
    ParquetTable,
    Subbagging,
    compare_versions,
    forget,
)
from stablebag._wording import printable
from stablebag.measuring import Versions
from stablebag.proving import VersionsCertificate


class MeanOfTargets(RegressorMixin, BaseEstimator):
    """Predicts the mean of its targets at every point."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.mean_)


POINTS = np.zeros((3, 1))


def joined(text):
    return " ".join(text.split())


def rows_of(n, seed=0, width=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    return X, X[:, 0] + 0.3 * rng.normal(size=n)


def tree(**options):
    given = {"scheme": Subbagging(30), "n_bags": 200, "random_state": 0, "prediction_range": FixedRange(-5, 5)}
    return BaggedRegressor(DecisionTreeRegressor(max_depth=3, random_state=0), **(given | options))


# -------------------------------------------------------------------------------------------------------------- by hand


def test_four_rows_and_all_bags_of_two_worked_by_hand():
    # Targets 1, 2, 3, 4 average to 2.5; in the new version the last row is another, with target 10: they average to 4.
    X = np.arange(4.0)[:, None]
    model = BaggedRegressor(
        MeanOfTargets(), scheme=Subbagging(2), n_bags="all", prediction_range=FixedRange(0, 10), random_state=0
    )
    old = model.fit(X, [1.0, 2.0, 3.0, 4.0], row_ids=["a", "b", "c", "d"])
    new = BaggedRegressor(**model.get_params(deep=False)).fit(X, [1.0, 2.0, 3.0, 10.0], row_ids=["a", "b", "c", "e"])
    found = compare_versions(old, new, POINTS)
    np.testing.assert_allclose(found.old, 2.5)
    np.testing.assert_allclose(found.new, 4.0)
    np.testing.assert_allclose(found.change, 1.5)
    assert (found.noise == 0).all()  # all bags are averaged
    assert found.beyond_noise.all()
    assert (found.rows.left.tolist(), found.rows.came.tolist(), found.rows.n_common) == ([3], [3], 3)
    # Half of all pairs have a given row, so no learner moves further than half of the range of 10.
    assert found.guarantee.worst_case() == pytest.approx(5.0)


def test_noise_of_four_pairs_of_bags_worked_by_hand():
    X, scheme = np.arange(6.0)[:, None], Subbagging(2)
    old = BaggedRegressor(MeanOfTargets(), scheme=scheme, n_bags=4, random_state=1).fit(X, np.arange(6.0))
    new = BaggedRegressor(MeanOfTargets(), scheme=scheme, n_bags=4, random_state=1).fit(X, np.arange(6.0) ** 2)
    found = compare_versions(old, new, POINTS)
    differences = np.array([np.mean(bag**2.0) - np.mean(bag) for bag in old.bags_])
    np.testing.assert_allclose(found.change, differences.mean())
    np.testing.assert_allclose(found.noise, differences.std(ddof=1) / 2)
    spreads = [np.var([np.mean(bag**power) for bag in old.bags_], ddof=1) / 4 for power in (1.0, 2.0)]
    np.testing.assert_allclose(found.seed_noise, math.sqrt(sum(spreads)))
    assert not found.beyond_noise.any()  # 4 pairs cannot tell


def test_noise_of_other_numbers_of_bags_with_one_seed_counts_shared_bags_once():
    X, y = rows_of(80)
    old, new = tree(n_bags=100).fit(X, y), tree(n_bags=250).fit(X, y)
    found = compare_versions(old, new, X[:5])
    # The first 100 bags are the same, with weights 1/100 and 1/250; 150 more have 1/250.
    outputs = new.bag_predictions(X[:5])
    shared = outputs[:100].var(axis=0, ddof=1) * 100 * (1 / 100 - 1 / 250) ** 2
    more = outputs.var(axis=0, ddof=1) * 150 / 250**2
    np.testing.assert_allclose(found.noise, np.sqrt(shared + more))
    assert not found.beyond_noise.any()
    assert "The bags differ: 100 bags, and 250 bags." in joined(found.summary())


# ----------------------------------------------------------------------------------------------------- what is compared


def test_matched_bags_have_less_noise_than_independent_ones_and_the_noise_is_that_of_other_seeds():
    X, y = rows_of(200)
    before, now = np.arange(0, 195), np.arange(5, 200)

    def versions(first, second):
        old = BaggedRegressor(Ridge(), scheme=Subbagging(20), n_bags=100, random_state=first)
        new = BaggedRegressor(Ridge(), scheme=Subbagging(20), n_bags=100, random_state=second)
        old, new = old.fit(X[before], y[before], row_ids=before), new.fit(X[now], y[now], row_ids=now)
        return compare_versions(old, new, X[:4])

    matched = [versions(seed, seed) for seed in range(60)]
    apart = [versions(seed, seed + 100) for seed in range(60)]
    for found in (matched, apart):
        measured = np.std([each.change for each in found], axis=0, ddof=1)
        told = np.sqrt(np.mean([each.noise**2 for each in found], axis=0))
        np.testing.assert_allclose(measured / told, 1, atol=0.35)  # 60 draws: a standard deviation is off by a tenth
    assert np.mean([each.noise for each in matched]) < 0.7 * np.mean([each.noise for each in apart])
    np.testing.assert_array_equal(apart[0].noise, apart[0].seed_noise)


def test_planted_shift_is_found_where_it_is_and_another_seed_alone_is_nothing():
    X, y = rows_of(400)
    shifted = y + 3 * (X[:, 1] > 0.5)
    old = tree().fit(X, y)
    found = compare_versions(old, tree().fit(X, shifted), X[:100])
    inside = X[:100, 1] > 0.5
    assert found.beyond_noise[inside].mean() > 0.9
    assert (found.change[inside & found.beyond_noise] > 0).all()
    assert found.bags_for() is not None
    nothing = compare_versions(old, tree(random_state=5).fit(X, y), X[:100])
    assert nothing.n_beyond_noise == 0
    text = joined(nothing.summary())
    assert "No prediction at 100 points clearly changed beyond bagging noise." in text
    assert "The seeds differ" in text
    assert "only the seed" not in text
    assert nothing.bags_for() is None


def test_identical_models_have_not_changed():
    X, y = rows_of(60)
    found = compare_versions(tree().fit(X, y), tree().fit(X, y), X[:5])
    assert (found.change == 0).all()
    assert (found.noise == 0).all()
    assert found.n_changed_bags == 0
    assert found.guarantee.worst_case() == found.guarantee.epsilon(0.05) == 0
    assert joined(found.summary()).startswith("No prediction changed at 5 points.")
    assert "Both versions have the same 60 rows." in joined(found.summary())


def test_only_bags_with_changed_rows_differ():
    X, y = rows_of(100)
    old = tree(scheme=Subbagging(10)).fit(X, y)
    new = forget(old, [3, 7])
    found = compare_versions(old, new, X)
    assert found.n_changed_bags == len(old.bags_.with_any([3, 7]))
    np.testing.assert_array_equal(found.new, new.predict(X))
    assert "Rows: 2 left, 0 came, 98 are the same." in joined(found.summary())


def test_a_change_that_five_bags_carry_is_never_marked_and_one_of_eight_is():
    X, y = rows_of(300)
    marked = {5: 0, 8: 0}
    for seed in range(6):
        old = BaggedRegressor(MeanOfTargets(), scheme=Subbagging(8), n_bags=200, random_state=seed).fit(X, y)
        inside = old.bags_.inclusion.sum(axis=0)
        for carried in marked:
            changed = y.copy()
            changed[np.argmax(inside == carried)] += 1000
            new = BaggedRegressor(MeanOfTargets(), scheme=Subbagging(8), n_bags=200, random_state=seed)
            found = compare_versions(old, new.fit(X, changed), X[:3])
            assert found.n_changed_bags == carried
            assert found.change[0] > 1
            marked[carried] += bool(found.beyond_noise.any())
    assert marked == {5: 0, 8: 6}


def test_the_number_of_bags_for_a_tenth_makes_the_noise_a_tenth_of_the_change():
    X, y = rows_of(300)
    shifted = y + (X[:, 1] > 0)

    def noise_over_change(n_bags):
        old, new = (
            BaggedRegressor(DecisionTreeRegressor(max_depth=3), scheme=Subbagging(50), n_bags=n_bags, random_state=0)
            for _ in range(2)
        )
        found = compare_versions(old.fit(X, y), new.fit(X, shifted), X[:60])
        size = np.sqrt((found.change**2).mean() - (found.noise**2).mean())
        return found, np.sqrt((found.noise**2).mean()) / size

    few, _ = noise_over_change(20)
    wanted = few.bags_for(0.1)
    assert wanted > 20
    assert noise_over_change(wanted)[1] == pytest.approx(0.1, rel=0.35)  # both are estimates, one from 20 bags
    assert f"{wanted:,} bags in each version would make the noise a tenth of the change." in joined(few.summary())


def test_points_in_files_are_compared_as_in_memory(tmp_path):
    X, y = rows_of(90)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.assign(y=y).to_parquet(tmp_path / "points.parquet")
    old, new = tree().fit(frame[:80], y[:80], row_ids=range(80)), tree().fit(frame[10:], y[10:], row_ids=range(10, 90))
    in_files = compare_versions(old, new, ParquetTable(tmp_path / "points.parquet", target="y"))
    np.testing.assert_array_equal(in_files.new, compare_versions(old, new, frame).new)


def test_rows_are_the_same_in_another_order_type_and_with_missing_values():
    X, y = rows_of(50)
    frame = pd.DataFrame({"a": np.arange(50), "b": X[:, 0], "c": ["x", None] * 25}, index=[f"id{i}" for i in range(50)])
    frame.loc["id3", "b"] = np.nan

    def fit(table, targets):
        mean = BaggedRegressor(MeanOfTargets(), scheme=Subbagging(10), n_bags=20, random_state=0)
        return mean.fit(table, targets, row_ids="index")

    order = np.random.default_rng(0).permutation(50)
    mixed = frame.iloc[order].astype({"a": float})[["c", "b", "a"]]
    found = compare_versions(fit(frame, y), fit(mixed, y[order]), frame)
    assert (found.rows.n_left, found.rows.n_came, found.rows.n_common) == (0, 0, 50)
    assert "The columns differ: the new version is in another order." in joined(found.summary())
    other = frame.copy()
    other.loc["id7", "c"] = "z"
    found = compare_versions(fit(frame, y), fit(other, y), frame)
    assert found.rows.corrected.tolist() == [[7, 7]]
    assert "1 have other values" in joined(found.summary())


def test_one_changed_value_is_found_in_every_kind_of_table():
    X, y = rows_of(40)
    X[5, 1] = 0.0
    names = ["a", "b", "c"]
    texts = pd.DataFrame(X, columns=names).assign(t=[f"text {i % 3}" for i in range(40)], d=pd.Timestamp("2024-05-01"))
    mean = BaggedRegressor(MeanOfTargets(), scheme=Subbagging(10), n_bags=20, random_state=0)

    def corrected(first, second):
        old, new = clone(mean).fit(first, y), clone(mean).fit(second, y)
        return (
            compare_versions(old, new, first[:3] if not sparse.issparse(first) else first).rows.corrected[:, 1].tolist()
        )

    other = X.copy()
    other[7, 2] += 1e-9
    assert corrected(X, X.copy()) == []
    assert corrected(X, other) == [7]
    assert corrected(sparse.csr_array(X), sparse.csc_array(X)) == []
    assert corrected(sparse.csr_array(X), sparse.csr_array(other)) == [7]
    assert corrected(texts, texts.astype({"a": object, "t": "category"})) == []
    for column, value in (("t", "text 7"), ("d", pd.Timestamp("2024-05-02")), ("a", np.nan)):
        changed = texts.copy()
        changed.loc[9, column] = value
        assert corrected(texts, changed) == [9], column
    swapped = X.copy()
    swapped[3, [0, 1]] = X[3, [1, 0]]
    assert corrected(X, swapped) == [3]
    groups = np.repeat(range(20), 2)
    reordered = np.arange(40)
    reordered[[6, 7]] = 7, 6
    old = clone(mean).fit(X, y, groups=groups)
    new = clone(mean).fit(X[reordered], y[reordered], groups=groups)
    assert compare_versions(old, new, X).rows.corrected.tolist() == [[3, 3]]  # the order within a group counts
    shuffled = np.random.default_rng(0).permutation(20).repeat(2) * 2 + np.tile([0, 1], 20)
    new = clone(mean).fit(X[shuffled], y[shuffled], groups=groups[shuffled])
    assert len(compare_versions(old, new, X).rows.corrected) == 0  # that of groups does not


def test_rows_matched_by_position_are_pointed_out():
    X, y = rows_of(100)
    found = compare_versions(tree().fit(X[:90], y[:90]), tree().fit(X[10:], y[10:]), X)
    text = joined(found.summary())
    assert "Rows were matched by their position in the table" in text
    assert 'row_ids="index"' in text
    named = compare_versions(
        tree().fit(X[:90], y[:90], row_ids=range(90)), tree().fit(X[10:], y[10:], row_ids=range(10, 100)), X
    )
    assert "by their position" not in joined(named.summary())
    assert (len(named.rows.left), len(named.rows.came)) == (10, 10)


def test_a_frame_of_points_may_have_more_columns_and_names_the_points():
    X, y = rows_of(60)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    old, new = tree().fit(frame[["a", "b"]], y), tree().fit(frame, y)
    points = frame[["c", "b", "a"]].assign(who="x").set_axis([f"p{i}" for i in range(60)])
    found = compare_versions(old, new, points)
    np.testing.assert_array_equal(found.new, new.predict(frame))
    table = found.to_frame()
    assert table.columns.tolist() == ["old", "new", "change", "noise", "beyond_noise"]
    assert table.index.tolist() == points.index.tolist()
    assert "the new version is with c" in joined(found.summary())
    with pytest.raises(ValueError, match="The points lack columns that the new model was fitted to: 'c'"):
        compare_versions(old, new, frame[["a", "b"]])


def test_the_point_that_changed_most_is_called_by_its_name():
    X, y = rows_of(60)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    old, new = tree().fit(frame, y), tree().fit(frame, y + 2)
    names = {
        "most at point": frame,
        "most at row r": frame.set_axis([f"row r{i}" for i in range(60)]),
        "most at customer 7": frame.set_axis(pd.Index(np.arange(7000, 7060), name="customer")),
        "most at point 7": frame.set_axis(np.arange(7000, 7060)),
    }
    for words, points in names.items():
        assert words in joined(compare_versions(old, new, points).summary())


def test_points_are_compared_in_blocks_with_the_same_result(monkeypatch):
    X, y = rows_of(120)
    old, new = tree().fit(X[:100], y[:100], row_ids=range(100)), tree().fit(X[20:], y[20:], row_ids=range(20, 120))
    whole = compare_versions(old, new, X)
    monkeypatch.setattr("stablebag.measuring.versions._BLOCK", 200 * 7)
    parts = compare_versions(old, new, X)
    np.testing.assert_array_equal(whole.new, parts.new)
    np.testing.assert_allclose(whole.noise, parts.noise, rtol=1e-12)
    np.testing.assert_array_equal(whole.beyond_noise, parts.beyond_noise)


# --------------------------------------------------------------------------------------------- classes, outputs, groups


def test_two_classes_have_one_number_and_decisions():
    X, y = rows_of(300)
    labels = np.where(y > 0, "yes", "no")
    flipped = np.where(X[:, 1] > 0.8, "no", labels)
    model = {"scheme": Subbagging(40), "n_bags": 200, "random_state": 0}
    old = BaggedClassifier(DecisionTreeClassifier(random_state=0), **model).fit(X, labels)
    new = BaggedClassifier(DecisionTreeClassifier(random_state=0), **model).fit(X, flipped)
    found = compare_versions(old, new, X)
    assert found.positive == "yes"
    np.testing.assert_array_equal(found.new, new.predict_proba(X)[:, 1])
    np.testing.assert_array_equal(found.decisions[0], old.predict(X))
    np.testing.assert_array_equal(found.changed_decisions, old.predict(X) != new.predict(X))
    assert found.to_frame().columns[-2:].tolist() == ["old_decision", "new_decision"]
    text = joined(found.summary())
    assert f"{found.changed_decisions.sum()} of 300 decisions changed" in text
    assert "Another seed alone would change about" in text


def test_decisions_that_another_seed_changes_are_estimated_from_the_bags():
    X, y = rows_of(300, seed=1)
    labels = (y > 0).astype(int)
    learner = DecisionTreeClassifier(random_state=0)
    fits = [
        BaggedClassifier(learner, scheme=Subbagging(20), n_bags=60, random_state=seed).fit(X, labels)
        for seed in range(8)
    ]
    decided = [model.predict(X) for model in fits]
    actual = np.mean([(decided[a] != decided[b]).sum() for a in range(8) for b in range(a)])
    estimates = [compare_versions(fits[0], model, X).seed_decisions for model in fits[1:]]
    assert 0.6 * actual < np.mean(estimates) < 1.6 * actual


def test_three_classes_and_several_outputs_have_a_line_for_each():
    X, y = rows_of(150)
    labels = np.digitize(y, [-0.5, 0.5])
    model = {"scheme": Subbagging(40), "n_bags": 50}
    old, new = (BaggedClassifier(LogisticRegression(), random_state=seed, **model).fit(X, labels) for seed in (0, 1))
    found = compare_versions(old, new, X[:10])
    assert found.change.shape == (10, 3)
    assert found.to_frame().index.names == ["point", "class"]
    assert len(found.to_frame()) == 30
    assert "<table>" in found._repr_html_()
    both = pd.DataFrame({"up": y, "down": -y})
    old, new = (BaggedRegressor(Ridge(), random_state=seed, **model).fit(X, both) for seed in (0, 1))
    found = compare_versions(old, new, X[:10])
    assert found.to_frame().loc[(0, "down"), "new"] == pytest.approx(new.predict(X[:1])[0, 1], rel=1e-12)
    same = compare_versions(old, old, X[:10])
    assert "compare one output at a time" in joined(same.summary())
    one = compare_versions(old.output("up"), new.output("up"), X[:10])
    np.testing.assert_array_equal(one.new, new.predict(X[:10])[:, 0])


def test_groups_are_matched_by_name_and_a_further_row_is_a_correction():
    X, y = rows_of(90)
    groups = np.repeat([f"patient {i}" for i in range(30)], 3)
    old = tree(scheme=Subbagging(10)).fit(X[:60], y[:60], groups=groups[:60])
    new = tree(scheme=Subbagging(10)).fit(X[2:], y[2:], groups=groups[2:])
    found = compare_versions(old, new, X)
    assert (len(found.rows.left), len(found.rows.came), len(found.rows.corrected)) == (0, 10, 1)
    assert "Groups: 0 left, 10 came, 1 have other values, 19 are the same." in joined(found.summary())
    assert "which groups left and came was random" in joined(found.guarantee.explain())


# ------------------------------------------------------------------------------------------------------- what is proved


def test_the_guarantee_is_the_theorem_in_the_units_of_the_prediction():
    # c = (1/4) 2 k m N / ((N - m) (N - k)^2) for k rows gone and k new, and N rows of both versions (theory of churn).
    X, y = rows_of(110)
    old = tree(n_bags="all", scheme=Subbagging(1)).fit(X[:100], y[:100], row_ids=range(100))
    new = tree(n_bags="all", scheme=Subbagging(1)).fit(X[10:], y[10:], row_ids=range(10, 110))
    proved = compare_versions(old, new, X).guarantee
    square = 2 * 10 * 1 * 110 / (109 * 100**2) / 4
    assert proved.epsilon(0.1) == pytest.approx(min(10 * math.sqrt(square / 0.1), 1.0))
    assert proved.worst_case() == pytest.approx(10 * 0.1)  # a bag of one row of 100 has one of ten with 1/10
    assert proved.epsilon_of_any_rows(0.1) == proved.worst_case()


def test_the_guarantee_cannot_be_read_as_one_for_chosen_rows():
    text = joined(VersionsCertificate(Subbagging(40).resolve(400), 4, 4, n_bags=500, range_length=2.0).explain(0.1))
    assert text.startswith("If which rows left and came was random (each row of both versions as likely as any other)")
    assert "Whichever rows left and came, chosen or not: with infinitely many bags, no prediction changes by" in text
    assert "the chance over their draw and seeds" in text
    half = VersionsCertificate(Subbagging(200).resolve(400), 50, 50)
    assert "nothing is promised about chosen rows" in joined(half.explain())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scheme": Subbagging(31)}, "the same learner, columns, bag size"),
        ({"n_bags": 150}, "the same learner, columns, bag size"),
        ({"random_state": 3}, "the same learner, columns, bag size"),
        ({"prediction_range": FixedRange(-5, 6)}, "the same range"),
        ({"keep_rows": False}, "must keep their rows"),
    ],
)
def test_nothing_is_guaranteed_where_it_is_not_proved(options, words):
    X, y = rows_of(100)
    found = compare_versions(tree().fit(X[:90], y[:90]), tree(**options).fit(X[:90], y[:90]), X)
    assert found.guarantee is None
    assert words in joined(found.summary())


# ---------------------------------------------------------------------------------------------------------- wrong input


def test_models_of_other_targets_are_refused_with_a_way_out():
    X, y = rows_of(60)
    labels = (y > 0).astype(int)
    old, options = tree().fit(X, y), {"n_bags": 10, "random_state": 0}
    classifier = BaggedClassifier(**options).fit(X, labels)
    cases = [
        (old, classifier, "regressor and the new one a classifier"),
        (classifier, BaggedClassifier(**options).fit(X, np.digitize(y, [-1, 1])), "only the new one has 2"),
        (classifier, BaggedClassifier(**options).fit(X, labels.astype(str)), "other classes"),
        (old, BaggedRegressor(**options).fit(X, np.column_stack([y, y])), "other targets"),
        (old, tree(scheme=Subbagging(5)).fit(X, y, groups=np.arange(60) // 2), "Fit both with groups"),
        (tree(scheme=Subbagging(1), n_bags="all").fit(X, y), old, "averages all possible bags"),
        (old, tree(n_bags=1).fit(X, y), "from 1 bag"),
    ]
    for first, second, words in cases:
        with pytest.raises(ValueError, match=words):
            compare_versions(first, second, X)
    with pytest.raises(TypeError, match="a table of points"):
        compare_versions(old, old, old.predict_once(X))
    with pytest.raises(TypeError, match="BaggedRegressor or BaggedClassifier"):
        compare_versions(old, Ridge().fit(X, y), X)
    with pytest.raises(ValueError, match="share"):
        compare_versions(old, old, X).bags_for(0)


def test_versions_without_common_rows_still_compare():
    X, y = rows_of(100)
    old = tree().fit(X[:50], y[:50], row_ids=[f"a{i}" for i in range(50)])
    new = tree().fit(X[50:], y[50:], row_ids=[f"b{i}" for i in range(50)])
    found = compare_versions(old, new, X)
    assert found.guarantee is None
    assert "Rows: 50 left, 50 came, 0 are the same." in joined(found.summary())
    assert "no rows in common" in joined(found.summary())


def test_a_learner_with_randomness_of_its_own_and_empty_bags_compare():
    def noisy(X, y, seed):
        level = float(np.mean(y)) + np.random.default_rng(seed).normal() if len(y) else 0.0
        return lambda points: np.full(len(points), level)

    X, y = rows_of(40)
    models = [BaggedRegressor(FunctionRegressor(noisy), n_bags=100, random_state=seed).fit(X, y) for seed in (0, 1)]
    found = compare_versions(*models, X[:3])
    assert not found.beyond_noise.any()
    assert isinstance(found, Versions)
    assert found.noise[0] == pytest.approx(math.hypot(*(m.bag_predictions(X[:1]).std(ddof=1) / 10 for m in models)))


def test_markdown_has_the_summary_and_the_points_whatever_their_names():
    X = np.random.default_rng(0).normal(size=(60, 2))
    old, new = (
        BaggedRegressor(DecisionTreeRegressor(), n_bags=20, random_state=seed).fit(X, X[:, 0]) for seed in (0, 1)
    )
    for names in (HOSTILE[first : first + 9] for first in range(0, len(HOSTILE), 9)):
        points = pd.DataFrame(X[: len(names)], index=names)
        versions = compare_versions(old, new, points.to_numpy())
        versions = replace(versions, index=points.index)
        texts, tags = rendered(versions.to_markdown())
        assert tags == {"p", "table", "thead", "tbody", "tr", "th", "td"}
        cells = texts[texts.index("point") :]
        assert cells[:6] == ["point", "old", "new", "change", "noise", "beyond noise"]
        assert {" ".join(printable(name).split()) for name in names} == set(cells[6::6])
        assert joined(versions.summary()).startswith(texts[0])
    many = compare_versions(old, new, X).to_markdown()
    assert many.endswith("and 50 more")
