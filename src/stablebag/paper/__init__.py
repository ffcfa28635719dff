"""The paper's own constructions and experiments: Soloff, Barber and Willett (2024), JMLR 25(131)."""

from typing import TYPE_CHECKING

from stablebag import _lazily

if TYPE_CHECKING:
    from stablebag.paper.counterexamples import Memorizer as Memorizer
    from stablebag.paper.counterexamples import ThresholdCount as ThresholdCount
    from stablebag.paper.experiments import Claim as Claim
    from stablebag.paper.experiments import Result as Result
    from stablebag.paper.experiments import run as run
    from stablebag.paper.experiments import run_all as run_all
    from stablebag.paper.figures import figure_1 as figure_1
    from stablebag.paper.figures import figure_2 as figure_2
    from stablebag.paper.figures import figure_3 as figure_3
    from stablebag.paper.settings import Setting as Setting
else:
    __getattr__, __dir__, __all__ = _lazily(
        __name__,
        {
            "counterexamples": ["Memorizer", "ThresholdCount"],
            "experiments": ["Claim", "Result", "run", "run_all"],
            "figures": ["figure_1", "figure_2", "figure_3"],
            "settings": ["Setting"],
        },
    )
