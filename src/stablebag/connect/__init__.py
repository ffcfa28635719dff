"""Bridges to other libraries: model cards, skore, MLflow, ONNX. Each file knows one library, and needs it installed."""

from typing import TYPE_CHECKING

from stablebag import _lazily

if TYPE_CHECKING:
    from stablebag.connect.onnx import to_onnx as to_onnx
else:
    __getattr__, __dir__, __all__ = _lazily(
        __name__,
        {"onnx": ["to_onnx"]},
    )
