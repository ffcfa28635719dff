"""Solvers: faster fits of the same models as scikit-learn's, to the last bit. Importing this package registers them."""

from stablebag.fast.linear import Linear
from stablebag.fast.neighbours import Neighbours
from stablebag.fast.reader import TreePipelines
from stablebag.fast.trees import Trees
from stablebag.models.solving import register

for solver in (Trees, TreePipelines, Linear, Neighbours):
    register(solver)
