import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from stablebag.models.solving import NotCovered, anything, check_parameters


def test_defaults_are_covered():
    check_parameters(Ridge())
    check_parameters(DecisionTreeRegressor())


def test_named_parameters_may_have_the_named_values():
    check_parameters(Ridge(alpha=3.0, solver="cholesky"), alpha=anything, solver=("auto", "cholesky"))
    check_parameters(Ridge(alpha=3.0), alpha=lambda value: value > 0)


@pytest.mark.parametrize(
    ("learner", "about"),
    [(Ridge(positive=True), r"Ridge\(positive=True\)"), (Ridge(solver="svd"), "solver='svd'"),
     (Ridge(alpha=-1.0), "alpha=-1.0"), (Ridge(fit_intercept=1), "fit_intercept=1")],
)  # fmt: skip
def test_the_first_other_value_is_named(learner, about):
    with pytest.raises(NotCovered, match=about):
        check_parameters(learner, alpha=lambda value: value > 0, solver=("auto", "cholesky"))


def test_a_learner_with_something_added_may_do_anything():
    learner = Ridge()
    learner.fit = lambda X, y: learner
    with pytest.raises(NotCovered, match="has the attribute fit"):
        check_parameters(learner)
