import numpy as np
from scipy.optimize import minimize

from marks import since
from stablebag.fast import linear as lbfgs

pytestmark = since("scipy", "1.15", "its minimizer has other arguments")
EPS = np.finfo(float).eps


def rosenbrock(x, gradient):
    rest = x[1:] - x[:-1] ** 2
    gradient[:-1] = -400 * x[:-1] * rest - 2 * (1 - x[:-1])
    gradient[-1] = 0
    gradient[1:] += 200 * rest
    return float(100 * (rest @ rest) + (1 - x[:-1]) @ (1 - x[:-1]))


def with_its_gradient(x):
    gradient = np.empty_like(x)
    return rosenbrock(x, gradient), gradient


def test_it_takes_the_steps_of_scipys_public_function():
    options = {"gtol": 1e-6, "ftol": 64 * EPS, "maxiter": 500, "maxls": 50}
    found = minimize(with_its_gradient, np.zeros(6), jac=True, method="L-BFGS-B", options=options)
    x, n_steps = lbfgs.minimum(rosenbrock, 6, 1e-6, 500)
    assert found.success
    assert n_steps == found.nit > 10
    assert x.tobytes() == found.x.tobytes()


def test_too_few_steps_are_not_enough():
    assert lbfgs.minimum(rosenbrock, 6, 1e-6, 5) is None


def test_the_minimizer_here_is_known():
    assert lbfgs.is_known()
