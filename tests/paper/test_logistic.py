import numpy as np
import pytest

from marks import since, solver_chosen, solver_compared
from stablebag import BaggedClassifier
from stablebag.models.rows import Points
from stablebag.models.solving import FitJob, NotCovered, same_model
from stablebag.paper.learners import ScaledLogistic, ScaledLogisticRegression
from stablebag.paper.settings import SETTINGS

known_minimizer = since("scipy", "1.15", "its minimizer has other arguments")


@known_minimizer
@solver_compared
@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("variant", ["text", "script"])
def test_the_models_of_settings_1_and_2_are_scikit_learns_to_the_last_bit(number, variant):
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
def test_ensembles_of_the_paper_are_fitted_by_it():
    X, y, points = SETTINGS[1].data()
    one, other = (
        BaggedClassifier(ScaledLogisticRegression(), n_bags=3, random_state=0, solver=s)
        for s in ("auto", "scikit-learn")
    )
    assert str(one.fit(X, y).solver_) == "linear"
    assert one.predict_proba(points).tobytes() == other.fit(X, y).predict_proba(points).tobytes()


def test_a_strength_that_is_no_number_is_not_covered():
    with pytest.raises(NotCovered):
        ScaledLogistic(
            FitJob(ScaledLogisticRegression(np.float32(1)), np.eye(2), np.arange(2), [], np.arange(0), np.arange(2))
        )
