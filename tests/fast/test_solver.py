import numpy as np
import pytest

from means import Mean, Means
from stablebag.models.rows import Points
from stablebag.models.solving import FitJob, NotCovered, Solver, Structure
from stablebag.resampling import Bags

X, Y = np.zeros((4, 1)), np.array([1.0, 2.0, 3.0, 6.0])


def job_of(learner):
    return FitJob(learner, X, Y, Bags([[0, 3], [1, 1]], n_samples=4), np.array([7, 8]))


def test_a_solver_has_to_say_how_it_fits_and_a_structure_how_it_predicts():
    class Silent(Solver):
        pass

    class Still(Structure):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Silent(job_of(Mean()))
    with pytest.raises(TypeError, match="abstract"):
        Still()


def test_arrays_become_the_estimator_that_the_learner_would_be():
    solver = Means(job_of(Mean(shift=1.0)))
    model = solver.fit(np.array([0, 3]), 7)
    made, fitted = solver.structure.estimator(model, 7), Mean(1.0, 7).fit(X[:2], Y[[0, 3]])
    assert vars(made) == vars(fitted)
    assert solver.structure.predictor(Points(X))([model, model]).tolist() == [[4.5] * 4] * 2


def test_a_job_that_is_not_covered_is_refused_with_the_reason():
    with pytest.raises(NotCovered, match="the shift is negative"):
        Means(job_of(Mean(shift=-1.0)))


def test_a_solver_takes_learners_of_its_exact_types():
    class Other(Mean):
        pass

    assert Means.takes(Mean())
    assert not Means.takes(Other())
