import numpy as np
import pytest

from learners import Bare, RowRecorder
from stablebag import Bags
from stablebag.learning.job import FitJob
from stablebag.learning.rows import Points
from stablebag.learning.solvers.solver import Solver


class Plain(Solver):
    """Leaves everything as the interface has it."""

    @classmethod
    def covers(cls, learner):
        return True


def test_a_solver_has_to_say_who_it_is_for():
    class Silent(Solver):
        pass

    with pytest.raises(TypeError, match="covers"):
        Silent()


def test_a_job_needs_no_preparation():
    job = FitJob(Bare(), np.zeros((2, 1)), np.zeros(2), Bags([[0]], n_samples=2), np.array([0]))
    assert Plain().prepared(job) is job


def test_the_model_comes_back_fitted_also_where_its_fit_returns_nothing():
    model = Bare()
    assert Plain().fit(model, np.zeros((2, 1)), np.array([1.0, 5.0]), {}) is model
    assert model.mean == 3.0


def test_fit_parameters_are_passed_on():
    model = Plain().fit(RowRecorder(), np.zeros((2, 1)), np.zeros(2), {"tag": "here", "sample_weight": [1, 2]})
    assert (model.tag_, model.sample_weight_) == ("here", [1, 2])


def test_a_model_is_asked_by_the_methods_name():
    class Greedy:
        def decide(self, X):
            X[0, 0] += 1  # of a copy
            return X.sum(axis=1)

    points = Points(np.array([[1.0, 2.0], [3.0, 4.0]]))
    for harmless in (True, False):
        assert Plain().ask(Greedy(), "decide", points, harmless).tolist() == [4.0, 7.0]
    assert points.X.tolist() == [[1.0, 2.0], [3.0, 4.0]]
