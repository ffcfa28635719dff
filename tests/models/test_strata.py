import pickle

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from learners import NeedsAllClasses
from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    ClusterSubbagging,
    StratifiedSubbagging,
    Subbagging,
    certify,
    forget,
    learn,
    leave_one_out,
    leave_one_out_error,
    leave_one_out_refit,
    predict_interval,
)
from stablebag.deciding import jackknife_intervals_refit
from stablebag.measuring import replace_one_refit
from stablebag.models.ensemble import law_of_rows
from stablebag.models.fitted import Fitted
from stablebag.resampling.units import RowIds, Units

N = 60
X = np.random.default_rng(0).normal(size=(N, 2))
LABELS = np.where(np.arange(N) % 10 == 0, "rare", "common")
TARGETS = X[:, 0] + 0.1 * np.arange(N)
STRATA = np.arange(N) % 3


def classifier(**changes):
    settings = {"scheme": StratifiedSubbagging(0.5), "n_bags": 20, "random_state": 0}
    return BaggedClassifier(DecisionTreeClassifier(max_depth=2), **{**settings, **changes})


def regressor(**changes):
    settings = {"scheme": StratifiedSubbagging(0.5), "n_bags": 20, "random_state": 0}
    return BaggedRegressor(DecisionTreeRegressor(max_depth=2), **{**settings, **changes})


# ------------------------------------------------------------------------------------------------- what the strata are


def test_strata_of_a_classifier_are_its_classes():
    model = classifier().fit(X, LABELS)
    assert all((LABELS[bag] == "rare").sum() == 3 for bag in model.bags_)
    assert model.scheme_ == StratifiedSubbagging(0.5, LABELS).resolve(N)


def test_stratified_bags_have_all_classes():
    learner = NeedsAllClasses(n_classes=2)
    model = BaggedClassifier(learner, scheme=StratifiedSubbagging(0.1), n_bags=50, random_state=0)
    assert model.fit(X, LABELS).predict(X[:1]) == ["common"]
    plain = BaggedClassifier(learner, scheme=Subbagging(0.1), n_bags=50, random_state=0).fit(X, LABELS)
    assert any((LABELS[bag] == "common").all() for bag in plain.bags_)


def test_other_strata_can_be_given():
    for model in (classifier().fit(X, LABELS, strata=STRATA), regressor().fit(X, TARGETS, strata=STRATA)):
        assert all(np.bincount(STRATA[bag]).tolist() == [10, 10, 10] for bag in model.bags_)
        own = clone(model).set_params(scheme=StratifiedSubbagging(0.5, STRATA)).fit(X, Fitted(model).y)
        np.testing.assert_array_equal(own.predict(X), model.predict(X))


@pytest.mark.parametrize(("scheme", "strata", "words"), [
    (StratifiedSubbagging(0.5), None, r"needs the stratum of each row .* because regression has no classes"),
    (StratifiedSubbagging(0.5), STRATA[:-1], r"BaggedRegressor.fit must be 60 labels, one for each row. Got 59"),
    (StratifiedSubbagging(0.5), np.arange(N), r"every row has its own stratum"),
    (StratifiedSubbagging(0.5), np.where(STRATA, STRATA, np.nan), r"row 0 has none"),
    (StratifiedSubbagging(0.5), [9, *STRATA[1:]], r"row 0 is the only one of its stratum"),
    (StratifiedSubbagging(0.5, STRATA), STRATA, r"None for StratifiedSubbagging.*already has strata"),
    (Subbagging(0.5), STRATA, r"None for Subbagging.*Use StratifiedSubbagging"),
    (ClusterSubbagging(0.5, STRATA), STRATA, r"None for ClusterSubbagging"),
    (Subbagging(0.5).resolve(N), STRATA, r"None for Subbagging"),
])  # fmt: skip
def test_missing_or_wrong_strata_raise(scheme, strata, words):
    with pytest.raises(ValueError, match=words):
        regressor(scheme=scheme).fit(X, TARGETS, strata=strata)


def test_class_with_a_single_row_raises_with_a_way_out():
    alone = np.where(np.arange(N) == 5, "only", LABELS)
    with pytest.raises(
        ValueError, match=r"Got 'only': row 5 is the only one .* fit\(X, y, strata=...\), or drop the row"
    ):
        classifier().fit(X, alone)
    joined = np.where(alone == "only", "rare", alone)
    assert classifier().fit(X, alone, strata=joined).classes_.tolist() == ["common", "only", "rare"]


def test_resolved_law_is_not_resolved_again():
    rows = Units(RowIds(None, len(LABELS)))
    law = law_of_rows(StratifiedSubbagging(0.5), LABELS, None, rows, "fit", by_class=True)
    assert law_of_rows(law, LABELS, None, rows, "fit", by_class=True) is law


# ------------------------------------------------------------------------------------------- in the world of estimators


def test_pickle_clone_and_n_jobs_do_not_change_bits_of_stratified_models():
    model = classifier().fit(X, LABELS)
    expected = model.predict_proba(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), expected)
    assert certify(again) == certify(model)
    assert clone(model).scheme == StratifiedSubbagging(0.5)
    np.testing.assert_array_equal(classifier(n_jobs=2).fit(X, LABELS).predict_proba(X), expected)


def test_grid_search_uses_the_strata_of_each_fold():
    schemes = {"scheme": [StratifiedSubbagging(0.3), StratifiedSubbagging(20), Subbagging(0.5)]}
    assert GridSearchCV(classifier(n_bags=5), schemes, cv=3, error_score="raise").fit(X, LABELS).best_score_ > 0.5
    own = {"scheme": schemes["scheme"][:2]}
    search = GridSearchCV(regressor(n_bags=5), own, cv=3, error_score="raise").fit(X, TARGETS, strata=STRATA)
    assert str(search.best_estimator_.scheme_).endswith("of 60 rows in 3 strata")
    kept = {"scheme": [StratifiedSubbagging(0.3, STRATA)]}
    with pytest.raises(ValueError, match=r"must be 40 labels.*In a search, pass them to fit"):
        GridSearchCV(regressor(n_bags=5), kept, cv=3, error_score="raise").fit(X, TARGETS)
    with sklearn.config_context(enable_metadata_routing=True):
        routed = GridSearchCV(regressor(n_bags=5).set_fit_request(strata=True), own, cv=3, error_score="raise")
        assert routed.fit(X, TARGETS, strata=STRATA).best_params_ == search.best_params_
    piped = make_pipeline(StandardScaler(), regressor(n_bags=5)).fit(X, TARGETS, baggedregressor__strata=STRATA)
    assert str(piped[-1].scheme_) == "stratified subbagging, 30 of 60 rows in 3 strata"


def test_warm_start_needs_the_same_strata():
    model = regressor(warm_start=True).fit(X, TARGETS, strata=STRATA)
    model.set_params(n_bags=30).fit(X, TARGETS, strata=STRATA)
    cold = regressor(n_bags=30).fit(X, TARGETS, strata=STRATA)
    np.testing.assert_array_equal(model.predict(X), cold.predict(X))
    model.set_params(n_bags=40)
    with pytest.raises(ValueError, match="the data or the scheme changed"):
        model.fit(X, TARGETS, strata=STRATA[::-1])


# ---------------------------------------------------------------------------------------------- forgetting and learning


def test_forget_and_learn_keep_the_rows_per_stratum_in_a_bag():
    model = classifier().fit(X, LABELS)
    without = forget(model, [10, 11])
    rest = np.delete(np.arange(N), [10, 11])
    fresh = classifier(scheme=without.scheme).fit(X[rest], LABELS[rest], row_ids=rest)
    np.testing.assert_array_equal(without.predict_proba(X), fresh.predict_proba(X))
    assert without.scheme.bag_size == {"common": 27, "rare": 3}
    back = learn(without, X[[10, 11]], LABELS[[10, 11]], row_ids=[10, 11])
    order = np.argsort([*rest, 10, 11])
    assert (back.scheme_.inclusion_probabilities[order] == model.scheme_.inclusion_probabilities).all()
    np.testing.assert_allclose(back.predict_proba(X), model.predict_proba(X))


def test_forget_raises_if_too_few_rows_of_a_stratum_are_left():
    model, rare = classifier().fit(X, LABELS), np.flatnonzero(LABELS == "rare")
    with pytest.raises(ValueError, match=r"row \d+ of those left would be in every bag .* with smaller bags"):
        forget(model, rare[:3])
    with pytest.raises(ValueError, match="stratum 'rare' has 0 rows, but every bag needs 3"):
        forget(model, rare)


def test_learn_needs_the_strata_of_new_rows():
    model = regressor().fit(X, TARGETS, strata=STRATA)
    more = learn(model, X[:2], TARGETS[:2], strata=[2, 0])
    assert more.scheme_.scheme.strata.values[-2:].tolist() == [2, 0]
    for strata, words in (
        (None, "a label for each of the new rows"),
        ([1], "2 new rows, got 1"),
        ([1, 7], "existing strata"),
    ):
        with pytest.raises(ValueError, match=words):
            learn(model, X[:2], TARGETS[:2], strata=strata)
    with pytest.raises(ValueError, match="None for Subbagging"):
        learn(regressor(scheme=Subbagging(9)).fit(X, TARGETS), X[:2], TARGETS[:2], strata=[1, 1])
    with pytest.raises(ValueError, match=r"existing strata. Got 'new'"):
        learn(classifier().fit(X, LABELS), X[:2], ["rare", "new"])


def test_cluster_that_lost_a_row_is_in_no_bag():
    clusters = np.arange(N) // 4
    model = regressor(scheme=ClusterSubbagging(0.5, clusters)).fit(X, TARGETS)
    without = forget(model, [0])
    assert (without.bags_.n_without[:3] == 20).all()  # the other three rows of its cluster
    assert certify(without).worst_case() > 0
    with pytest.raises(TypeError, match=r"learn cannot extend .* to more rows, .* Fit a new model"):
        learn(model, X[:1], TARGETS[:1])


# ------------------------------------------------------------------------------------ what is measured, and what is not


def test_leave_one_out_and_certify_work_with_strata():
    model = classifier(n_bags=100).fit(X, LABELS)
    moved = leave_one_out(model, X[:3])
    assert moved.scope.mismatch(certify(model, reused=True).scope) is None
    assert (moved.epsilon(0.1) <= certify(model, reused=True).epsilon(0.1)).all()
    streamed = leave_one_out(classifier(n_bags=100), X[:3], X_train=X, y_train=LABELS)
    np.testing.assert_allclose(streamed.left_out, moved.left_out)
    assert "over 60 rows" in str(leave_one_out_error(model))
    with pytest.raises(ValueError, match=r"With 1 bag, .* never left out"):
        leave_one_out(classifier(n_bags=1).fit(X, LABELS), X[:3])


def test_refits_of_stratified_bags_are_matched_or_raise():
    moved = leave_one_out_refit(classifier(), X, LABELS, X[:2], rows=[0, 1])
    model = classifier().fit(X, LABELS)
    np.testing.assert_array_equal(moved.left_out[1], forget(model, [1]).predict_proba(X[:2]))
    assert moved.scope.bags == model.scheme_.fingerprint
    assert replace_one_refit(classifier(), X, LABELS, X[::-1], LABELS, X[:2], rows=[3]).prediction.shape == (2, 2)
    with pytest.raises(ValueError, match=r"Pass them to the scheme: StratifiedSubbagging\(bag_size, strata=...\)"):
        leave_one_out_refit(regressor(), X, TARGETS, X[:2])
    for estimator in (classifier(n_bags="all"), make_pipeline(StandardScaler(), classifier())):
        with pytest.raises(
            ValueError, match=r"depends on which row it was. Draw matched bags, .* or use leave_one_out"
        ):
            leave_one_out_refit(estimator, X[:8], list("aabbaabb"), X[:2])
    with pytest.raises(ValueError, match=r"treats all rows alike.*Use predict_interval\(model, X\)"):
        jackknife_intervals_refit(regressor(scheme=StratifiedSubbagging(0.5, STRATA)), X, TARGETS, X[:2])


def test_refits_use_the_strata_of_a_fitted_model():
    model = regressor().fit(X, TARGETS, strata=STRATA)
    moved = leave_one_out_refit(model, X, TARGETS, X[:2], rows=[4])
    np.testing.assert_array_equal(moved.left_out[0], forget(model, [4]).predict(X[:2]))


def test_intervals_with_strata_have_no_guarantee():
    model = regressor(n_bags=60).fit(X, TARGETS, strata=STRATA)
    assert predict_interval(model, X[:2]).guarantee.startswith("Nothing is proved about their coverage")
    with pytest.raises(ValueError, match="its proof needs bags that treat all rows alike"):
        predict_interval(model, X[:2], method="stable-jackknife")


# ------------------------------------------------------------------------------------------------- strata of units


def clinic():
    """Twelve patients with one to five visits, four of them ill."""
    rng = np.random.default_rng(0)
    groups = rng.permutation(np.repeat(np.arange(12), rng.integers(1, 6, size=12)))
    return rng.normal(size=(len(groups), 2)), np.where(groups < 4, "ill", "well"), groups


def test_groups_are_stratified_by_the_class_of_their_rows():
    X, y, groups = clinic()
    model = BaggedClassifier(scheme=StratifiedSubbagging(0.5), n_bags=30, random_state=0).fit(X, y, groups=groups)
    ill = np.flatnonzero(np.asarray(model.units_.labels, dtype=int) < 4)
    assert [int(np.isin(bag, ill).sum()) for bag in model.bags_] == [2] * 30
    assert certify(model).n_samples == 12
    assert "stratified subbagging, 6 of 12 groups in 2 strata" in " ".join(certify(model).explain(0.5).split())
    gone = model.units_.labels[ill[0]]
    without = forget(model, [gone])
    fresh = clone(model).set_params(scheme=without.scheme_).fit(X[groups != gone], y[groups != gone],
                                                                 groups=groups[groups != gone])  # fmt: skip
    np.testing.assert_array_equal(without.predict_proba(X), fresh.predict_proba(X))
    refits = leave_one_out_refit(clone(model), X, y, X[:2], groups=groups)
    np.testing.assert_array_equal(refits.left_out[ill[0]], without.predict_proba(X[:2]))


def test_strata_of_groups_are_given_for_rows_or_raise():
    X, y, groups = clinic()
    mixed = np.where(np.arange(len(y)) % 2 == 0, "ill", "well")
    with pytest.raises(
        ValueError, match=r"'strata' parameter of fit must be the same for all rows of a group.*Pass strata"
    ):
        BaggedClassifier(scheme=StratifiedSubbagging(0.5), n_bags=5).fit(X, mixed, groups=groups)
    model = BaggedClassifier(scheme=StratifiedSubbagging(0.5), n_bags=5, random_state=0)
    model.fit(X, mixed, groups=groups, strata=groups % 2)
    assert (model.bags_.sizes == 6).all()
    with pytest.raises(TypeError, match="to more groups"):
        learn(model, X[:1], mixed[:1], groups=["new"])
    with pytest.raises(ValueError, match="strata"):
        model.fit(X, mixed, groups=groups, strata=[0, 1])
