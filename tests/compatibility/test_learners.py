"""Learners of other libraries inside of ours: each is given its bag's rows alone, and the certificate is kept."""

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import StackingClassifier, StackingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, certify, leave_one_out, predict_interval, predict_set

FEW = {"n_bags": 16, "random_state": 0}


def check_regressor(learner, X, y):
    """Bag it, and hold what is measured against what is proved; then fit one bag alone, and find the same model."""
    model = BaggedRegressor(learner, **FEW).fit(X, y)
    predicted = model.predict(X)
    assert predicted.shape == (30,)
    assert np.ptp(predicted) > 0, "it has learned nothing"
    measured, proved = leave_one_out(model, X), certify(model, reused=True)
    assert measured.epsilon(0.1).max() <= proved.epsilon(0.1)
    assert (predict_interval(model, X[:2]).width > 0).all()
    rows = model.bags_[0]
    alone = clone(model.estimators_[0]).fit(X[rows], y[rows])
    np.testing.assert_array_equal(alone.predict(X), model.estimators_[0].predict(X))
    return model


def check_classifier(learner, X, y):
    """The same for classes."""
    model = BaggedClassifier(learner, **FEW).fit(X, y)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert set(model.predict(X)) == {"high", "low"}
    measured, proved = leave_one_out(model, X), certify(model, reused=True)
    assert measured.epsilon(0.1).max() <= proved.epsilon(0.1)
    assert 0 < certify(model).epsilon(0.1) < 1
    assert predict_set(model, X[:2], epsilon=0.1).sizes.min() >= 1
    return model


def test_xgboost_learners_can_be_bagged(needs, regression, classification):
    xgboost = needs("xgboost", "xgboost")
    check_regressor(xgboost.XGBRegressor(n_estimators=5, max_depth=2, n_jobs=1), *regression)
    X, y = classification
    learner = xgboost.XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1)
    model = check_classifier(learner, X, y)  # labels are texts, of which it takes the codes alone
    numbers = BaggedClassifier(learner, **FEW).fit(X, (y == "low").astype(int))
    assert type(numbers.estimators_[0]) is xgboost.XGBClassifier
    np.testing.assert_array_equal(model.predict_proba(X), numbers.predict_proba(X))
    assert model.estimators_[0].feature_importances_.shape == (3,)


def test_xgboost_works_if_bags_lack_a_class(needs, regression):
    xgboost = needs("xgboost", "xgboost")
    X, y = np.tile(regression[0], (3, 1)), np.repeat([4, 7], 45)
    y[:3] = 5  # a class in the middle, of three rows
    for n_jobs in (1, 2):
        learner = make_pipeline(StandardScaler(), xgboost.XGBClassifier(n_estimators=3, n_jobs=1))
        model = BaggedClassifier(learner, n_bags=20, n_jobs=n_jobs, random_state=0).fit(X, y)
        seen = [fitted.classes_.tolist() for fitted in model.estimators_]
        assert [4, 7] in seen
        assert seen == [np.unique(y[bag]).tolist() for bag in model.bags_]
        for fitted, shares in zip(model.estimators_, model.bag_predictions(X), strict=True):
            seen = np.isin([4, 5, 7], fitted.classes_)
            np.testing.assert_allclose(shares[:, seen], fitted.predict_proba(X), atol=1e-6)  # which are float32
            assert (shares[:, ~seen] == 0).all()
            assert set(fitted.predict(X)) <= set(fitted.classes_)


def test_lightgbm_learners_can_be_bagged(needs, regression, classification):
    lightgbm = needs("lightgbm", "lightgbm")
    small = {"n_estimators": 5, "min_child_samples": 2, "n_jobs": 1, "verbose": -1}
    check_regressor(lightgbm.LGBMRegressor(**small), *regression)
    check_classifier(lightgbm.LGBMClassifier(**small), *classification)


def test_catboost_learners_can_be_bagged(needs, regression, classification):
    catboost = needs("catboost", "catboost")
    small = {"iterations": 5, "depth": 2, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    check_regressor(catboost.CatBoostRegressor(**small), *regression)
    check_classifier(catboost.CatBoostClassifier(**small), *classification)


def test_torch_learners_can_be_bagged(needs, regression):
    torch, skorch = needs("torch", "torch"), needs("skorch", "skorch")
    X, y = regression[0].astype(np.float32), (regression[1] > 0).astype(np.int64)

    def network():
        layers = torch.nn.Linear(3, 4), torch.nn.Dropout(0.5), torch.nn.Linear(4, 2), torch.nn.Softmax(1)
        return torch.nn.Sequential(*layers)

    about = {"max_epochs": 2, "verbose": 0, "classes": [0, 1], "train_split": None, "iterator_train__shuffle": True}
    learner = skorch.NeuralNetClassifier(network, **about)
    before = torch.get_rng_state()
    first, again = (BaggedClassifier(learner, **FEW).fit(X, y).predict_proba(X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert torch.equal(before, torch.get_rng_state())


def test_skrub_pipelines_can_be_bagged(needs, claims):
    skrub = needs("skrub", "skrub")
    X, y = claims
    make = getattr(skrub, "tabular_pipeline", None) or skrub.tabular_learner  # its name before skrub 0.6
    tree = DecisionTreeRegressor(max_depth=3, random_state=0)
    for learner in (make_pipeline(skrub.TableVectorizer(), tree), make(tree)):
        model = BaggedRegressor(learner, n_bags=2, random_state=0).fit(X, y)
        assert list(model.feature_names_in_) == ["amount", "ward", "day"]
        rows = model.bags_[0]
        alone = clone(model.estimators_[0]).fit(X.iloc[rows], y[rows])
        np.testing.assert_array_equal(alone.predict(X), model.estimators_[0].predict(X))


def test_imbalanced_learn_pipelines_can_be_bagged(needs, classification):
    sampling, pipeline = needs("imblearn.under_sampling", "imbalanced-learn"), needs("imblearn.pipeline", "imblearn")
    X, y = classification
    learner = pipeline.make_pipeline(sampling.RandomUnderSampler(), DecisionTreeClassifier(max_depth=2))
    model = check_classifier(learner, X, y)
    for steps, bag in zip(model.estimators_, model.bags_, strict=True):
        chosen = steps[0].sample_indices_  # of the bag's rows, as many of each class
        counts = np.unique(y[bag][chosen], return_counts=True)[1]
        assert len(set(counts)) == 1
    assert len({steps[0].random_state for steps in model.estimators_}) == len(model.bags_)


def test_stacking_can_be_bagged(regression, classification):
    few = [("tree", DecisionTreeRegressor(max_depth=2)), ("ridge", Ridge())]
    check_regressor(StackingRegressor(few, Ridge(), cv=2), *regression)
    few = [("tree", DecisionTreeClassifier(max_depth=2)), ("linear", LogisticRegression())]
    check_classifier(StackingClassifier(few, LogisticRegression(), cv=2), *classification)
