"""Bridges to other libraries: model cards, skore, MLflow, ONNX. Each file knows one library, and needs it installed."""

from typing import TYPE_CHECKING

from stablebag import _lazily

if TYPE_CHECKING:
    pass
else:
    __getattr__, __dir__, __all__ = _lazily(
        __name__,
        {},
    )
