"""The handle through which the rest of the package reads a fitted model."""

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
# The predictions of every bag's model: computed once, used by several functions.


@dataclass(frozen=True, eq=False)
class BagPredictions:
    """The predictions of every bag's model at some points, not yet clipped.

    Made by `model.predict_once(X)`. Functions of that model accept it in place of X.

    Attributes
    ----------
    raw : ndarray of shape (n_bags, n_points) or (n_bags, n_points, n_classes or n_outputs)
        The prediction of each bag's model.
    bags : Bags
        The bags of the model.
    points : str
        A fingerprint of the points.
    index : pandas Index or None
        The index of the data frame of points, if it is more than 0, 1, ...
    output : Output or None
        Which of several outputs was predicted; None for all outputs, or if there is only one.
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
        """Return the predictions at a slice of the points."""
        index = None if self.index is None else self.index[points]
        name = f"{self.points}[{points.indices(len(self))}]"
        return BagPredictions(self.raw[:, points], self.bags, name, index, self.output)

    def of(self, model: Any) -> np.ndarray:
        """Return the raw predictions if they are from this model; for a model of one output, only that output."""
        if model.bags_ is not self.bags and model.bags_ != self.bags:
            raise ValueError(
                "These predictions are from another model, or from before it was refitted. Call model.predict_once(X) "
                "again."
            )
        wanted = getattr(model, "output_", None)
        if self.output == wanted:
            return self.raw
        if self.output is None and isinstance(wanted, Output):  # of all outputs
            return wanted.column(self.raw)
        assert self.output is not None
        raise ValueError(
            f"These predictions are of output {self.output.name!r} only. Call predict_once(X) on the model of all "
            "outputs, or on the model that you pass."
        )


# --------------------------------------------------------------------------------------------------------------- handle

_BLOCK_BYTES = 2**28  # the size of the predictions of all bags that are held at once


def fitted(model: Any) -> "Fitted":
    """Return the handle to a fitted model, through which the rest of the package reads it."""
    check_is_fitted(model)
    return Fitted(model)


class Fitted:
    """A fitted model as the rest of the package reads it; see `fitted`."""

    def __init__(self, model: Any) -> None:
        self.model = model

    @property
    def average(self) -> BagAverage:
        """How bags are averaged: the law, the bags, their weights, the groups and the targets."""
        average: BagAverage = self.model._average
        return average

    @property
    def X(self) -> Any:  # noqa: N802 (as in fit)
        """The training rows; None if the model did not store them."""
        return getattr(self.model, "_X", None)

    @property
    def y(self) -> np.ndarray:
        """The targets of the training rows."""
        return self.average.y

    @property
    def units(self) -> Units:
        """The groups that bags are drawn from; by default, every row is a group."""
        return self.average.units

    @property
    def n_classes(self) -> int:
        """The number of classes; one in regression."""
        return 1 if self.average.classes is None else len(self.average.classes)

    @property
    def has_random_n_bags(self) -> bool:
        """Whether the number of bags was drawn at random, by the model's law."""
        return bool(self.model._has_random_n_bags)

    # ------------------------------------------------------------------------------------------------------ the points

    def checked_points(self, X: Any) -> Any:
        """Return test points after all checks that do not need the learner."""
        return validated_rows(self.model, X, reset=False, ensure_min_samples=1)

    def n_points(self, X: Any) -> int:
        """Return the number of test points."""
        return len(X) if isinstance(X, BagPredictions) else n_rows(self.checked_points(X))

    def fingerprint_of(self, X: Any) -> str:
        """Return a hash that identifies test points."""
        return X.points if isinstance(X, BagPredictions) else fingerprint(self.checked_points(X))

    def index_of(self, X: Any) -> Any:
        """Return the index of the test points; None if they have only positions."""
        return X.index if isinstance(X, BagPredictions) else index_of(X)

    # ------------------------------------------------------------------------------------------------- the predictions

    def raw(self, X: Any) -> np.ndarray:
        """Return the predictions of all bags, not yet clipped: one line per bag."""
        blocks = [raw for _, raw in self.raw_blocks(X)]
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks, axis=1)

    def raw_blocks(self, X: Any, request: PredictRequest = PREDICT,
                   wanted: Callable[[slice], np.ndarray] | None = None) -> Iterator[tuple[slice, Any]]:  # fmt: skip
        """Yield blocks of points that fit into memory: a slice, and every bag's predictions, not yet clipped.

        `wanted` returns which points of a block each bag's model has to predict; ignore the other numbers in the block.
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
            for number, some in enumerate(points.blocks(step)):  # split like a table in memory, for the same bits
                yield predicted(number * step, some)
            return
        for first in range(0, n_points, step):
            stop = min(first + step, n_points)
            some = points if stop - first == n_points else take_rows(points, np.arange(first, stop))
            yield predicted(first, some)

    def cached(self, key: str, make: Callable[[], Any]) -> Any:
        """Return what `make` computes from the fit, cached under this key until the model is refitted."""
        average, memory = self.model.__dict__.get("_memory", (None, {}))
        if average is not self.average:
            memory = {}
            self.model._memory = (self.average, memory)
        if key not in memory:
            memory[key] = make()
        return memory[key]

    # ------------------------------------------------------------------------------------------- at the training rows

    def left_out_at_rows(self, rows: np.ndarray | None = None, X: Any = None) -> np.ndarray:
        """Return the prediction at each training row (or some), averaged over the bags without it.

        It is NaN for a row in every bag. The result is cached with the model. `X` has all training rows, for a model
        that did not store them.
        """
        predictions: np.ndarray = self._at_rows("left out", self.average.left_out_at, rows, X)
        return predictions

    def spread_at_rows(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the standard deviation at each training row (or some) over the bags without it or its group."""
        spread: np.ndarray = self._at_rows("spread", self.average.left_out_spread_at, rows)
        return spread

    def _at_rows(self, what: str, work_out: Callable[..., np.ndarray], rows: np.ndarray | None, X: Any = None) -> Any:
        def work_out_all() -> np.ndarray:
            return read_only(np.concatenate([work_out(*block) for block in self._lacking_blocks(X, rows)]))

        return self.cached(what if rows is None else f"{what} {fingerprint(rows)}", work_out_all)

    def _lacking_blocks(self, X: Any, rows: np.ndarray | None) -> Iterator[tuple[Any, np.ndarray]]:
        """Yield blocks of training rows with the predictions of each bag at the rows that it lacks.

        A bag's model predicts at other rows only if it lacks nearly all rows, or if a solver predicts faster at all of
        them. Ignore these numbers.
        """
        X = self.X if X is None else X
        if rows is not None:
            X = X.take(rows) if isinstance(X, RowSource) else take_rows(X, rows)

        def numbers(block: slice) -> Any:
            return block if rows is None else rows[block]

        blocks = self.raw_blocks(X, wanted=lambda block: self.average.lacks(numbers(block)))
        return ((numbers(block), raw) for block, raw in blocks)


# ----------------------------------------------------------------------------------------------------------- out of bag
# The out-of-bag score, for any scheme.

OUT_OF_BAG = ("oob_score_", "oob_prediction_", "oob_decision_function_")


def check_oob_score(value: Any, owner: str) -> None:
    """Reject anything but a bool or a function."""
    if not isinstance(value, bool | np.bool_) and not callable(value):
        reason = "use True for accuracy or R^2, or a function such as sklearn.metrics.f1_score."
        raise refuse_type("oob_score", owner, "True, False or a function of (y, prediction)", value, reason)


def set_oob_score(model: Any, X: Any) -> None:
    """Set the out-of-bag predictions of a fitted model, and their score."""
    average = model._average
    predicted = Fitted(model).left_out_at_rows(X=X)
    if average.classes is None:
        model.oob_prediction_, answers, metric = predicted, predicted, r2_score
    else:
        model.oob_decision_function_, metric = predicted, accuracy_score
        answers = average.classes[predicted.argmax(axis=1)]
    model.oob_score_ = (model.oob_score if callable(model.oob_score) else metric)(average.y, answers)


def take_oob_score(view: Any, column: Callable[[np.ndarray], np.ndarray]) -> None:
    """Reduce the out-of-bag results to one output; a user's metric is not called again."""
    if hasattr(view, "oob_prediction_"):
        view.oob_prediction_ = read_only(column(view.oob_prediction_))
        del view.oob_score_
        if not callable(view.oob_score):
            view.oob_score_ = r2_score(view._average.y, view.oob_prediction_)
