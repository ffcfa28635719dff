"""One handle to a fitted model for the rest of the package: its average, its rows, and what its bags predict."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.validation import check_is_fitted

from stablebag._checks import hold_read_only, read_only, refuse_type
from stablebag.models.average import BagAverage
from stablebag.models.rows import Output, RowSource, fingerprint, index_of, n_rows, take_rows, validated_rows
from stablebag.models.solving import PREDICT, PredictRequest
from stablebag.resampling.bags import Bags
from stablebag.resampling.units import Units

# ---------------------------------------------------------------------------------------------------------- predictions
# The predictions of every bag's model at some points: made once, used by several functions.


@dataclass(frozen=True, eq=False)
class BagPredictions:
    """The predictions of every bag's model at some points, not yet clipped.

    Made by the method `predict_once` of a fitted model. Functions of that model accept it in place of the points.

    Attributes
    ----------
    raw : ndarray of shape (n_bags, n_points) or (n_bags, n_points, n_classes or n_outputs)
        What each bag's model predicts.
    bags : Bags
        The bags of the model.
    points : str
        The fingerprint of the points.
    index : pandas Index or None
        The index of the frame of points, if it names them.
    output : Output or None
        The output the predictions are of, if they are of one of several.
    """

    raw: np.ndarray
    bags: Bags
    points: str = ""
    index: Any = None
    output: Output | None = None

    def __post_init__(self) -> None:
        hold_read_only(self)

    def __len__(self) -> int:
        return int(self.raw.shape[1])

    def __getitem__(self, points: slice) -> "BagPredictions":
        """Return the predictions at some of the points."""
        index = None if self.index is None else self.index[points]
        name = f"{self.points}[{points.indices(len(self))}]"
        return BagPredictions(self.raw[:, points], self.bags, name, index, self.output)

    def of(self, model: Any) -> np.ndarray:
        """Return the raw predictions if they are from this model, or the part of them that is of its output."""
        if model.bags_ is not self.bags and model.bags_ != self.bags:
            raise ValueError("These predictions are from another model, or from an earlier fit of it. Predict anew.")
        wanted = getattr(model, "output_", None)
        if self.output == wanted:
            return self.raw
        if self.output is None and isinstance(wanted, Output):  # of all outputs
            return wanted.column(self.raw)
        assert self.output is not None
        raise ValueError(
            f"These predictions are of the output {self.output.name!r} alone. Use those of all outputs, "
            "model.predict_once(X), or predict with the one that is asked."
        )


# --------------------------------------------------------------------------------------------------------------- handle

_BLOCK_BYTES = 2**28  # the size of the predictions of all bags that are held at once


def fitted(model: Any) -> "Fitted":
    """Return the handle to a fitted model, through which the rest of the package reads it."""
    check_is_fitted(model)
    return Fitted(model)


class Fitted:
    """What the rest of the package needs of a fitted model; see `fitted`."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def average(self) -> BagAverage:
        """How the predictions of the bags become one: the law, the bags, their weights, the units and the targets."""
        average: BagAverage = self.model._average
        return average

    @property
    def X(self) -> Any:  # noqa: N802 (as in fit)
        """The training rows; None if the model keeps none."""
        return getattr(self.model, "_X", None)

    @property
    def y(self) -> np.ndarray:
        """The targets of the training rows."""
        return self.average.y

    @property
    def units(self) -> Units:
        """What bags are drawn of: rows, or groups of rows."""
        return self.average.units

    @property
    def n_classes(self) -> int:
        """How many probabilities are averaged at a point; one in regression."""
        return 1 if self.average.classes is None else len(self.average.classes)

    @property
    def has_random_n_bags(self) -> bool:
        """Whether the number of bags was drawn at random, by the law of the model."""
        return bool(self.model._has_random_n_bags)

    # ------------------------------------------------------------------------------------------------------ the points

    def checked_points(self, X: Any) -> Any:
        """Return test points, checked as far as possible without the learner."""
        return validated_rows(self.model, X, reset=False, ensure_min_samples=1)

    def n_points(self, X: Any) -> int:
        """Return the number of test points."""
        return len(X) if isinstance(X, BagPredictions) else n_rows(self.checked_points(X))

    def fingerprint_of(self, X: Any) -> str:
        """Return a hash that identifies test points."""
        return X.points if isinstance(X, BagPredictions) else fingerprint(self.checked_points(X))

    def index_of(self, X: Any) -> Any:
        """Return the index that names test points; None if they are only counted."""
        return X.index if isinstance(X, BagPredictions) else index_of(X)

    # ------------------------------------------------------------------------------------------------- the predictions

    def raw(self, X: Any) -> np.ndarray:
        """Return the predictions of all bags, not yet clipped: one line per bag."""
        blocks = [raw for _, raw in self.raw_blocks(X)]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)

    def raw_blocks(self, X: Any, request: PredictRequest = PREDICT,
                   wanted: Callable[[slice], np.ndarray] | None = None) -> Iterator[tuple[slice, Any]]:  # fmt: skip
        """Yield blocks of points that fit into memory, as a slice, with every bag's predictions, not yet clipped.

        `wanted` says which points of a block each bag's model has to predict; what a block has elsewhere means nothing.
        """
        if isinstance(X, BagPredictions):
            yield slice(0, len(X)), X.of(self.model)
            return
        points, average = self.checked_points(X), self.average
        n_points, step = n_rows(points), max(1, _BLOCK_BYTES // (8 * len(average.bags) * average.n_numbers))

        def predicted(first: int, some: Any) -> tuple[slice, np.ndarray]:
            block = slice(first, first + n_rows(some))
            of_block = request if wanted is None else replace(request, wanted=wanted(block))
            return block, self.model._raw(some, of_block)

        if isinstance(points, RowSource):
            for number, some in enumerate(points.blocks(step)):  # cut as a table in memory is: the same bits
                yield predicted(number * step, some)
            return
        for first in range(0, n_points, step):
            stop = min(first + step, n_points)
            some = points if stop - first == n_points else take_rows(points, np.arange(first, stop))
            yield predicted(first, some)

    def cached(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what `make` works out from the fit, kept under this key until the model is fitted again."""
        average, memory = self.model.__dict__.get("_memory", (None, {}))
        if average is not self.average:
            memory = {}
            self.model._memory = (self.average, memory)
        if key not in memory:
            memory[key] = make()
        return memory[key]

    # ------------------------------------------------------------------------------------------- at the training rows

    def left_out_at_rows(self, rows: np.ndarray | None = None, X: Any = None) -> np.ndarray:
        """Return the prediction at each training row, or at some, averaged over the bags without it.

        It is NaN for a row that is in every bag. The result is kept with the model. `X` has all training rows where
        the model does not keep them.
        """
        predictions: np.ndarray = self._at_rows("left out", self.average.left_out_at, rows, X)
        return predictions

    def spread_at_rows(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the standard deviation at each training row, or at some, over the bags without it or its unit."""
        spread: np.ndarray = self._at_rows("spread", self.average.left_out_spread_at, rows)
        return spread

    def _at_rows(self, what: str, work_out: Callable[..., np.ndarray], rows: np.ndarray | None, X: Any = None) -> Any:
        def work_out_all() -> np.ndarray:
            return read_only(np.concatenate([work_out(*block) for block in self._lacking_blocks(X, rows)]))

        return self.cached(what if rows is None else f"{what} {fingerprint(rows)}", work_out_all)

    def _lacking_blocks(self, X: Any, rows: np.ndarray | None) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield blocks of training rows with the predictions of each bag at those that it lacks.

        A bag's model predicts no others, unless it lacks nearly all or a solver answers for all in less time; what a
        block has there means nothing.
        """
        X = self.X if X is None else X
        if rows is not None:
            X = X.take(rows) if isinstance(X, RowSource) else take_rows(X, rows)

        def numbers(block: slice) -> Any:
            return block if rows is None else rows[block]

        blocks = self.raw_blocks(X, wanted=lambda block: self.average.lacks(numbers(block)))
        return ((numbers(block), raw) for block, raw in blocks)


# ----------------------------------------------------------------------------------------------------------- out of bag
# The out-of-bag score of an estimator, for any scheme.

OUT_OF_BAG = ("oob_score_", "oob_prediction_", "oob_decision_function_")


def check_oob_score(value: Any, owner: str) -> None:
    """Refuse what is neither yes or no nor a metric."""
    if not isinstance(value, bool | np.bool_) and not callable(value):
        reason = "True is accuracy or R^2; a metric such as sklearn.metrics.f1_score is called with (y, prediction)."
        raise refuse_type("oob_score", owner, "a bool or a function of y and prediction", value, reason)


def set_oob_score(model: Any, X: Any) -> None:
    """Set the predictions at the training rows on a fitted model, and their score under the metric it was given."""
    average = model._average
    predicted = Fitted(model).left_out_at_rows(X=X)
    if average.classes is None:
        model.oob_prediction_, answers, metric = predicted, predicted, r2_score
    else:
        model.oob_decision_function_, metric = predicted, accuracy_score
        answers = average.classes[predicted.argmax(axis=1)]
    model.oob_score_ = (model.oob_score if callable(model.oob_score) else metric)(average.y, answers)


def take_oob_score(view: Any, column: Callable[[np.ndarray], np.ndarray]) -> None:
    """Set on a model of one output what its model of all has of this one; a metric is not called again."""
    if hasattr(view, "oob_prediction_"):
        view.oob_prediction_ = read_only(column(view.oob_prediction_))
        del view.oob_score_
        if not callable(view.oob_score):
            view.oob_score_ = r2_score(view._average.y, view.oob_prediction_)
