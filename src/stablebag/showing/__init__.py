"""What people look at: displays, studies and reports."""

from typing import TYPE_CHECKING

from stablebag import _lazily

if TYPE_CHECKING:
    from stablebag.showing.displays.label_sets import LabelSetDisplay as LabelSetDisplay
    from stablebag.showing.displays.phase_diagram import PhaseDiagramDisplay as PhaseDiagramDisplay
    from stablebag.showing.study import Study as Study
else:
    __getattr__, __dir__, __all__ = _lazily(
        __name__,
        {
            "displays.label_sets": ["LabelSetDisplay"],
            "displays.phase_diagram": ["PhaseDiagramDisplay"],
            "study": ["Study"],
        },
    )
