"""Bridges to other libraries: model cards, skore, MLflow, ONNX. Each file knows one library, and needs it installed."""

from typing import TYPE_CHECKING

from stablebag import _lazily

if TYPE_CHECKING:
    from stablebag.connect.cards import add_to_card as add_to_card
    from stablebag.connect.mlflow import log_study as log_study
    from stablebag.connect.onnx import to_onnx as to_onnx
    from stablebag.connect.skore import SingleRowCheck as SingleRowCheck
else:
    __getattr__, __dir__, __all__ = _lazily(
        __name__,
        {
            "cards": ["add_to_card"],
            "mlflow": ["log_study"],
            "onnx": ["to_onnx"],
            "skore": ["SingleRowCheck"],
        },
    )
