"""Predictions at the training rows by the bags without them, and their score: the out-of-bag score, for any scheme."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score

from stablebag._checks import read_only, refuse_type

NAMES = ("oob_score_", "oob_prediction_", "oob_decision_function_")


def lacking_blocks(model: Any, X: Any, rows: np.ndarray | None = None) -> Iterator[tuple[Any, Any]]:
    """Yield blocks of a fitted model's training rows with the predictions of each bag at those that it lacks.

    A bag's model is asked about no others, unless it lacks nearly all or a solver answers for all in less time; what a
    block has there means nothing. With `rows`, X has these rows alone, and blocks are arrays in place of slices.
    """

    def numbers(block: slice) -> Any:
        return block if rows is None else rows[block]

    def wanted(block: slice) -> np.ndarray:
        lacks: np.ndarray = model.average_.lacks(numbers(block))
        return lacks

    return ((numbers(block), raw) for block, raw in model.raw_blocks(X, wanted=wanted))


def left_out_at(model: Any, X: Any) -> np.ndarray:
    """Return the prediction of a fitted model at each training row, averaged over the bags without that row.

    It is NaN for a row that is in every bag. The result is kept with the model, so that asking again costs nothing.
    """

    def predict() -> np.ndarray:
        return read_only(np.concatenate([model.average_.left_out_at(*block) for block in lacking_blocks(model, X)]))

    predicted: np.ndarray = model.remembered("left out at rows", predict)
    return predicted


def check_score(value: Any, owner: str) -> None:
    """Refuse what is neither yes or no nor a metric."""
    if not isinstance(value, bool | np.bool_) and not callable(value):
        reason = "True is accuracy or R^2; a metric such as sklearn.metrics.f1_score is called with (y, prediction)."
        raise refuse_type("oob_score", owner, "a bool or a function of y and prediction", value, reason)


def keep_score(model: Any, X: Any) -> None:
    """Keep the predictions at the training rows on a fitted model, and their score under the metric it was given."""
    predicted = left_out_at(model, X)
    if model.average_.classes is None:
        model.oob_prediction_, answers, metric = predicted, predicted, r2_score
    else:
        model.oob_decision_function_, metric = predicted, accuracy_score
        answers = model.average_.classes[predicted.argmax(axis=1)]
    model.oob_score_ = (model.oob_score if callable(model.oob_score) else metric)(model.y_, answers)


def keep_score_of(view: Any, column: Callable[[np.ndarray], np.ndarray]) -> None:
    """Keep on a model of one output what its model of all has of this one; a metric is not asked again."""
    if hasattr(view, "oob_prediction_"):
        view.oob_prediction_ = read_only(column(view.oob_prediction_))
        del view.oob_score_
        if not callable(view.oob_score):
            view.oob_score_ = r2_score(view.y_, view.oob_prediction_)
