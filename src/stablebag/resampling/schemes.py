"""The four schemes of the paper, by name."""

from stablebag.resampling.bernoulli import BernoulliSubbagging
from stablebag.resampling.classical import ClassicalBagging
from stablebag.resampling.poissonized import PoissonizedBagging
from stablebag.resampling.sized import SizedScheme
from stablebag.resampling.subbagging import Subbagging

SCHEMES: dict[str, type[SizedScheme]] = {
    "subbagging": Subbagging,
    "bernoulli": BernoulliSubbagging,
    "classical": ClassicalBagging,
    "poissonized": PoissonizedBagging,
}
