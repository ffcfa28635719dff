import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    FixedRange,
    Subbagging,
    compare_versions,
    forget,
    on_progress,
)
from stablebag.measuring.causes import kinds_of_points, single_rows


class MeanOfTargets(RegressorMixin, BaseEstimator):
    """Predicts the mean of its targets at every point."""

    def fit(self, X, y):
        self.mean_ = np.mean(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def joined(text):
    return " ".join(text.split())


def rows_of(n, seed=0, width=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width))
    return X, X[:, 0] + 0.3 * rng.normal(size=n)


def tree(depth=4, **options):
    given = {"scheme": Subbagging(40), "n_bags": 150, "random_state": 0, "prediction_range": FixedRange(-9, 9)}
    return BaggedRegressor(DecisionTreeRegressor(max_depth=depth, random_state=0), **(given | options))


# -------------------------------------------------------------------------------------------------- parts of the change


def test_parts_of_four_rows_and_all_bags_worked_by_hand():
    # Without d, the targets 1, 2, 3 average to 2, which is 0.5 less than 2.5; e with target 10 makes it 4, 2 more.
    X = np.arange(4.0)[:, None]
    model = BaggedRegressor(MeanOfTargets(), scheme=Subbagging(2), n_bags="all", random_state=0)
    old = model.fit(X, [1.0, 2.0, 3.0, 4.0], row_ids=["a", "b", "c", "d"])
    new = BaggedRegressor(**model.get_params(deep=False)).fit(X, [1.0, 2.0, 3.0, 10.0], row_ids=["a", "b", "c", "e"])
    found = compare_versions(old, new, np.zeros((2, 1))).with_parts()
    assert [part.name for part in found.parts] == ["left", "came"]
    np.testing.assert_allclose(found.parts[0].change, -0.5)
    np.testing.assert_allclose(found.parts[1].change, 2.0)


@pytest.mark.parametrize("groups", [False, True])
def test_parts_are_those_of_fresh_fits_and_add_up(groups):
    X, y = rows_of(240)
    ids = np.arange(240) // 2 if groups else np.arange(240)
    called = "groups" if groups else "row_ids"
    changed = y.copy()
    changed[50] += 3  # a correction of a row that both versions have
    before, now = np.arange(200), np.arange(20, 240)
    old = tree().fit(X[before], y[before], **{called: ids[before]})
    new = tree().fit(X[now], changed[now], **{called: ids[now]})
    found = compare_versions(old, new, X)
    parts = found.with_parts().parts
    common = np.setdiff1d(np.arange(20, 200), [50, 51] if groups else [50])
    fresh = tree().fit(X[common], y[common], **{called: ids[common]})
    np.testing.assert_allclose(parts[0].change, fresh.predict(X) - old.predict(X), atol=1e-12)
    np.testing.assert_allclose(parts[1].change, new.predict(X) - fresh.predict(X), atol=1e-12)
    np.testing.assert_allclose(parts[0].change + parts[1].change, found.change, atol=1e-12)
    outputs = fresh.bag_predictions(X) - old.bag_predictions(X)
    np.testing.assert_allclose(parts[0].noise, outputs.std(axis=0, ddof=1) / np.sqrt(150))
    frame = found.with_parts().to_frame()
    assert frame.columns[-2:].tolist() == ["left", "came"]
    np.testing.assert_allclose(frame["left"] + frame["came"], frame["change"], atol=1e-12)


def test_only_bags_with_a_changed_row_are_fitted_and_their_number_is_known_before():
    X, y = rows_of(200)
    old = tree(scheme=Subbagging(20)).fit(X[:195], y[:195], row_ids=range(195))
    new = tree(scheme=Subbagging(20)).fit(X[5:], y[5:], row_ids=range(5, 200))
    found = compare_versions(old, new, X)
    calls = []
    with on_progress(lambda done, total: calls.append((done, total))):
        found.with_parts()
    assert found.n_fits == calls[-1][1] == len(old.bags_.with_any(range(5))) < 150
    only_left = compare_versions(old, forget(old, [3]), X)
    assert only_left.n_fits == 0
    np.testing.assert_array_equal(only_left.with_parts().parts[0].change, only_left.change)
    assert not only_left.with_parts().parts[1].change.any()


def test_another_learner_has_a_part_of_its_own():
    X, y = rows_of(240)
    old = tree().fit(X[:200], y[:200], row_ids=range(200))
    new = tree(depth=1).fit(X[20:], y[20:], row_ids=range(20, 240))
    found = compare_versions(old, new, X).with_parts()
    assert [part.name for part in found.parts] == ["left", "came", "learner"]
    between = tree().fit(X[20:], y[20:], row_ids=range(20, 240))
    np.testing.assert_allclose(found.parts[2].change, new.predict(X) - between.predict(X), atol=1e-12)
    np.testing.assert_allclose(sum(part.change for part in found.parts), found.change, atol=1e-12)
    text = joined(found.summary())
    assert "The learners differ: max_depth." in text
    assert "the new learner" in text
    other = compare_versions(old, tree(random_state=7).fit(X[20:], y[20:], row_ids=range(20, 240)), X).with_parts()
    assert [part.name for part in other.parts] == ["left", "came", "other"]


def test_classes_have_parts_of_the_probability():
    X, y = rows_of(200)
    labels = np.where(y > 0, "yes", "no")
    model = {"scheme": Subbagging(40), "n_bags": 60, "random_state": 0}
    old = BaggedClassifier(DecisionTreeClassifier(), **model).fit(X[:180], labels[:180], row_ids=range(180))
    new = BaggedClassifier(DecisionTreeClassifier(), **model).fit(X[9:], labels[9:], row_ids=range(9, 200))
    found = compare_versions(old, new, X[:20]).with_parts()
    np.testing.assert_allclose(found.parts[0].change + found.parts[1].change, found.change, atol=1e-12)


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ({"keep_rows": False}, {}, "The old model has not kept its training rows"),
        ({}, {"keep_rows": False}, "The new model has not kept its training rows"),
    ],
)
def test_parts_need_the_training_rows(first, second, words):
    X, y = rows_of(100)
    with pytest.raises(ValueError, match=words):
        compare_versions(tree(**first).fit(X, y), tree(**second).fit(X, y), X).with_parts()


def test_parts_of_a_single_output_of_several_are_refused():
    X, y = rows_of(100)
    old, new = (tree().fit(X, np.column_stack([values, -y])) for values in (y, y + 1))
    with pytest.raises(ValueError, match="Compare the whole models"):
        compare_versions(old.output(0), new.output(0), X).with_parts()
    parts = compare_versions(old, new, X[:5], rows=dict.fromkeys(range(100), "all"))
    assert parts.change.shape == (5, 2)
    with pytest.raises(ValueError, match="fewer than two rows in common"):
        parts.with_parts()


def test_parts_need_common_rows_and_columns():
    X, y = rows_of(120)
    old = tree().fit(X[:60], y[:60], row_ids=range(60))
    with pytest.raises(ValueError, match="fewer than two rows in common"):
        compare_versions(old, tree().fit(X[60:], y[60:], row_ids=range(60, 120)), X).with_parts()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    old = tree().fit(frame[:100], y[:100], row_ids="index")
    new = tree().fit(frame[20:][["a", "b"]], y[20:], row_ids="index")
    with pytest.raises(ValueError, match="other columns"):
        compare_versions(old, new, frame).with_parts()


# ------------------------------------------------------------------------------------------------------- blocks of rows


def blocks_with_shift(seed, shift=3.0):
    """Rows of twelve months leave and come; those that come in month 7 have other targets."""
    rng = np.random.default_rng(seed)
    X, month = rng.normal(size=(880, 3)), rng.integers(0, 12, 880)
    y = X[:, 0] + 0.5 * rng.normal(size=880)
    changed = y + shift * ((month == 7) & (np.arange(880) >= 800))
    before, now = np.arange(800), np.arange(80, 880)
    options = {"scheme": Subbagging(80), "n_bags": 300, "random_state": seed}
    old = tree(**options).fit(X[before], y[before], row_ids=before)
    new = tree(**options).fit(X[now], changed[now], row_ids=now)
    return old, new, X[:100], month


def test_a_planted_shift_is_found_in_its_block_and_has_the_size_of_a_refit_without_it(seed):
    hits, off = 0, []
    for each in range(10):
        old, new, points, month = blocks_with_shift(100 * seed + each)
        found = compare_versions(old, new, points, rows=dict(enumerate(month)))
        first = max(found.blocks, key=lambda block: block.size / block.noise)
        hits += first.name == 7 and first.beyond_noise
        without = forget(new, [row for row in range(800, 880) if month[row] == 7])
        refit = (new.predict(points) - without.predict(points)).mean()
        planted = found.blocks_to_frame().loc[7]
        off.append((planted["effect"] - refit) / planted["standard_error"])
    assert hits >= 9
    assert np.abs(off).mean() < 2.5  # rows of month 7 that left have an effect, too


def test_blocks_come_from_a_column_and_are_sharper_with_parts():
    X, y = rows_of(880)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(month=np.tile([f"m{i}" for i in range(8)], 110))
    frame["a"] += 0.0
    old_frame, new_frame = frame[:800], frame[80:]

    def fit(table):
        from sklearn.compose import make_column_transformer
        from sklearn.pipeline import make_pipeline

        columns = make_column_transformer(("passthrough", ["a", "b", "c"]))
        learner = make_pipeline(columns, DecisionTreeRegressor(max_depth=4, random_state=0))
        model = BaggedRegressor(learner, scheme=Subbagging(80), n_bags=200, random_state=0)
        return model.fit(table, y[table.index], row_ids="index")

    found = compare_versions(fit(old_frame), fit(new_frame), frame[:50], rows="month")
    assert [block.name for block in found.blocks] == [f"m{i}" for i in range(8)]
    assert {(block.n_left, block.n_came) for block in found.blocks} == {(10, 10)}
    sharper = found.with_parts()
    assert np.mean([b.noise for b in sharper.blocks]) < np.mean([b.noise for b in found.blocks])
    assert "blocks of changed rows" in joined(found.summary())
    assert found.blocks_to_frame().index.name == "block"
    with pytest.raises(ValueError, match="a column of both training tables"):
        compare_versions(fit(old_frame), fit(new_frame), frame[:50], rows="week")


@pytest.mark.slow
def test_blocks_of_rows_under_other_names_are_marked_in_about_5_percent_of_runs(seed):
    """The rate is approximate. At 8%, more than 18% of 150 runs would come by chance once in 100,000."""
    rng, marked = np.random.default_rng(seed), 0
    for run in range(150):
        X = rng.normal(size=(200, 2))
        y = X[:, 0] + rng.standard_t(3, size=200)
        names = np.arange(200)
        model = {"scheme": Subbagging(40), "n_bags": 200, "random_state": run}
        old = BaggedRegressor(Ridge(), **model).fit(X, y, row_ids=names)
        new = BaggedRegressor(Ridge(), **model).fit(X, y, row_ids=np.where(names < 20, names + 1000, names))
        found = compare_versions(
            old, new, rng.normal(size=(20, 2)), rows={k: k % 4 for k in (*range(20), *range(1000, 1020))}
        )
        marked += any(block.beyond_noise for block in found.blocks)
    assert marked <= 27


def test_blocks_that_cannot_be_told_apart_or_have_no_labels_are_refused():
    old, new, points, month = blocks_with_shift(0)
    with pytest.raises(ValueError, match="cannot tell 160 blocks apart"):
        compare_versions(old, new, points, rows={row: row for row in range(880)})
    with pytest.raises(ValueError, match="row 800 changed and has none"):
        compare_versions(old, new, points, rows=dict.fromkeys(range(800), 0))
    with pytest.raises(TypeError, match="a mapping from row IDs to labels"):
        compare_versions(old, new, points, rows=month)
    with pytest.raises(ValueError, match="the same random_state"):
        compare_versions(old, tree(random_state=9, scheme=Subbagging(80)).fit(points, points[:, 0]), points, rows={})
    table = points[:60], points[:60, 0]
    for options, words in (({"depth": 2}, "their learner differs"), ({"scheme": Subbagging(41)}, "their bags differ")):
        with pytest.raises(ValueError, match=words):
            compare_versions(tree().fit(*table), tree(**options).fit(*table), points, rows={})
    more = compare_versions(tree().fit(*table), tree(n_bags=170).fit(*table), points, rows={})
    assert more.blocks == ()  # another number of bags does no harm
    same = compare_versions(old, old, points, rows={})
    assert same.blocks == ()
    with pytest.raises(ValueError, match="No blocks were asked for"):
        compare_versions(old, old, points).blocks_to_frame()


# ---------------------------------------------------------------------------------------------------------- single rows


def test_a_single_row_with_a_part_beyond_noise_is_named():
    X, y = rows_of(220)
    changed = y.copy()
    changed[213] += 60  # a gross mistake in one of the twenty rows that came
    options = {"scheme": Subbagging(40), "n_bags": 200, "random_state": 0}
    old = BaggedRegressor(Ridge(), **options).fit(X[:200], y[:200], row_ids=range(200))
    new = BaggedRegressor(Ridge(), **options).fit(X[20:], changed[20:], row_ids=range(20, 220))
    found = compare_versions(old, new, X[:30])
    assert found.single_rows is None
    found = found.with_parts()
    first = found.single_rows[0]
    assert (first.name, first.came) == (213, True)
    assert first.change > 3 * first.noise
    without = forget(new, [213])
    refit = np.sqrt(((new.predict(X[:30]) - without.predict(X[:30])) ** 2).mean())
    assert first.change == pytest.approx(refit, rel=0.3)
    assert "a part beyond noise: 213 (came," in joined(found.summary())


def test_single_rows_without_effect_are_seldom_named(seed):
    """Bags that differ by noise alone. At 5%, more than 14 of 100 would come by chance once in 10,000."""
    rng, named = np.random.default_rng(seed), 0
    X, y = rows_of(100)
    model = tree(scheme=Subbagging(20)).fit(X, y)
    for _ in range(100):
        differences = rng.standard_t(2, size=(150, 10))
        named += bool(single_rows(model, np.arange(10), differences, came=True))
    assert named <= 14
    assert single_rows(model, np.arange(10), np.zeros((150, 10)), came=True) == []
    assert single_rows(model, np.arange(0), np.ones((150, 10)), came=True) == []


# ------------------------------------------------------------------------------------------------------ kinds of points


def test_kinds_of_points_are_named_in_words(seed):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "plan": rng.choice(["family", "single", "none"], 400),
            "age": rng.integers(18, 80, 400),
            "name": [f"customer {i}" for i in range(400)],
            "income": np.where(rng.random(400) < 0.3, np.nan, rng.lognormal(size=400)),
        }
    )
    change = 0.5 * (table["plan"] == "family") + 0.02 * rng.normal(size=400)
    found = kinds_of_points(change, table, "test")
    assert found.groups[0].words == "plan = family"
    assert found.groups[0].n_points == (table["plan"] == "family").sum()
    assert found.groups[0].change == pytest.approx(0.5, abs=0.02)
    assert found.share > 0.9
    assert "plan = family: +0." in found.explain()
    old = kinds_of_points(1.0 * (table["age"] > 60), table, "test")
    assert {kind.words for kind in old.groups} == {"age > 60", "age <= 60"}
    missing = kinds_of_points(1.0 * table["income"].isna(), table, "test")
    assert {kind.words for kind in missing.groups} == {"income is missing", "income is there"}
    assert sum(kind.n_points for kind in missing.groups) == 400
    two = table.assign(plan=table["plan"].replace("none", "single"), flag=table["age"] > 50)
    by_plan = kinds_of_points(1.0 * (two["plan"] == "family"), two[["plan"]], "test")
    assert {kind.words for kind in by_plan.groups} == {"plan = family", "plan = single"}
    by_flag = kinds_of_points(1.0 * two["flag"], two[["flag", "name"]], "test")
    assert {kind.words for kind in by_flag.groups} == {"flag = yes", "flag = no"}
    days = pd.DataFrame({"day": pd.to_datetime(np.where(two["flag"], "2024-05-01", "2024-06-01"))})
    assert "day = 2024-05-01" in {kind.words for kind in kinds_of_points(1.0 * two["flag"], days, "test").groups}
    nullable = pd.DataFrame(
        {"n": pd.array([1, None] * 200, dtype="Int64"), "s": pd.array(["a", None] * 200, dtype="string")}
    )
    assert "is missing" in kinds_of_points(np.tile([0.0, 1.0], 200), nullable, "test").groups[0].words


def test_columns_that_explain_nothing_are_not_named(seed):
    rng, named = np.random.default_rng(seed), 0
    for _ in range(40):
        table = pd.DataFrame(rng.normal(size=(200, 5)), columns=list("abcde"))
        named += kinds_of_points(rng.standard_t(2, size=200), table, "test") is not None
    assert named <= 6
    assert kinds_of_points(np.full(200, 0.3), table, "test") is None
    assert kinds_of_points(rng.normal(size=10), table[:10], "test") is None


def test_kinds_are_described_by_given_columns_and_only_if_something_changed():
    X, y = rows_of(400)
    plan = np.where(X[:, 1] > 0.7, "family", "single")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    old, new = tree().fit(frame, y), tree().fit(frame, y + 2 * (plan == "family"))
    found = compare_versions(old, new, frame, by=pd.DataFrame({"plan": plan}))
    assert found.kinds.groups[0].words == "plan = family"
    assert "plan = family: +" in joined(found.summary())
    assert "b > " in compare_versions(old, new, frame, by=["a", "b"]).kinds.groups[0].words
    assert compare_versions(old, tree(random_state=1).fit(frame, y), frame).kinds is None
    for by, words in ((["plan"], "no such column"), (pd.DataFrame({"plan": plan[:3]}), "one row for each point")):
        with pytest.raises(ValueError, match=words):
            compare_versions(old, new, frame, by=by)
    with pytest.raises(TypeError, match="columns of X, or a table of the points"):
        compare_versions(old, new, frame, by=7)
