import pytest
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor

from learners import Bare
from stablebag.learning.solvers.choice import SOLVERS, solver_for
from stablebag.learning.solvers.general import General
from stablebag.learning.solvers.trees import Trees


class TreeOfOnesOwn(DecisionTreeRegressor):
    """May do anything in its methods."""


@pytest.mark.parametrize(
    "tree", [DecisionTreeClassifier(), DecisionTreeRegressor(), ExtraTreeClassifier(), ExtraTreeRegressor()], ids=str
)
def test_scikit_learns_trees_have_their_own_solver(tree):
    assert type(solver_for(tree)) is Trees


@pytest.mark.parametrize(
    "learner",
    [Ridge(), Bare(), DummyRegressor(), RandomForestRegressor(), TreeOfOnesOwn(),
     make_pipeline(StandardScaler(), DecisionTreeRegressor())],
    ids=lambda learner: type(learner).__name__,
)  # fmt: skip
def test_all_others_have_the_general_one(learner):
    assert type(solver_for(learner)) is General


def test_the_general_solver_is_asked_last():
    assert SOLVERS[-1] is General
    assert not any(solver.covers(Bare()) for solver in SOLVERS[:-1])
