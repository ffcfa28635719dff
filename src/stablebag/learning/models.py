"""The fitted models of all bags: arrays where a solver made them, which become estimators when one asks for them."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy as np

from stablebag.learning.learners import Surroundings
from stablebag.learning.parallel import unlogged
from stablebag.learning.solvers.solver import Structure
from stablebag.learning.subspaces import Subspaces


class Models(Sequence[Any]):
    """The model of each bag, as a sequence of fitted estimators.

    Where a solver has fitted a bag, its model is kept as arrays and the estimator is built on access: a new one each
    time, with all the attributes that scikit-learn's own fit would have given it. Pickling keeps the arrays.

    Parameters
    ----------
    kept : iterable
        The model of each bag as it is kept: as arrays, or as an estimator.
    seeds : ndarray of int
        The learner's seed in each bag.
    structure : Structure or None, default=None
        What models that are kept as arrays have in common.
    subspaces : Subspaces or None, default=None
        The columns that each model saw and is to be asked about; None is all.
    """

    subspaces: Subspaces | None = None  # also of models from before there were any

    def __init__(
        self,
        kept: Iterable[Any],
        seeds: np.ndarray,
        structure: Structure | None = None,
        subspaces: Subspaces | None = None,
    ) -> None:
        self.kept, self.seeds, self.structure, self.subspaces = list(kept), seeds, structure, subspaces

    def __len__(self) -> int:
        return len(self.kept)

    @overload
    def __getitem__(self, place: int) -> Any: ...
    @overload
    def __getitem__(self, place: slice) -> list[Any]: ...
    def __getitem__(self, place: Any) -> Any:
        """Return the estimator of a bag, or a list of those of some bags."""
        if isinstance(place, slice):
            return [self[number] for number in range(*place.indices(len(self)))]
        number = range(len(self))[place]
        model = self.kept[number]
        if not self.is_array(model):
            return model
        assert self.structure is not None
        with unlogged():
            return self.structure.estimator(model, int(self.seeds[number]))

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {len(self):,} bags, {self.n_arrays:,} of them kept as arrays"

    def is_array(self, model: Any) -> bool:
        """Return whether a model is kept as arrays."""
        return self.structure is not None and type(model) is self.structure.model_type

    @property
    def n_arrays(self) -> int:
        """The number of models that are kept as arrays."""
        return len(self._numbers)

    @cached_property
    def _numbers(self) -> list[int]:
        """The numbers of the bags whose models are arrays."""
        return [number for number, model in enumerate(self.kept) if self.is_array(model)]

    @cached_property
    def _stacked(self) -> Any:
        assert self.structure is not None
        return self.structure.stacked([self.kept[number] for number in self._numbers])

    def runs(self, first: int, stop: int) -> Iterator[tuple[range, bool]]:
        """Yield runs of bags that are kept alike: their numbers, and whether they are arrays."""
        while first < stop:
            array, end = self.is_array(self.kept[first]), first + 1
            if len(self._numbers) == len(self):
                end = stop
            while end < stop and self.is_array(self.kept[end]) == array:
                end += 1
            yield range(first, end), array
            first = end

    def together(self, numbers: range) -> Any:
        """Return a run of arrays as what predicts for all of them at once."""
        place = bisect_left(self._numbers, numbers.start)
        return self._stacked[place : place + len(numbers)]

    @cached_property
    def may_run_beside_others(self) -> bool:
        """Whether several of the estimators may run in threads at once."""
        kinds = {type(model): number for number, model in enumerate(self.kept)}
        return all(Surroundings(self[number]).may_run_beside_others for number in kinds.values())

    # ------------------------------------------------------------------------------------------------------- pickling

    def __getstate__(self) -> dict[str, Any]:
        """Put the arrays of all bags end to end: a few large ones instead of thousands."""
        inside = np.array([self.is_array(model) for model in self.kept], dtype=bool)
        arrays = [model for model in self.kept if self.is_array(model)]
        return {
            "estimators": [model for model in self.kept if not self.is_array(model)],
            "inside": inside,
            "seeds": self.seeds,
            "structure": self.structure,
            "packed": [_packed(values) for values in zip(*arrays, strict=True)],
            "subspaces": self.subspaces,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.seeds, self.structure, self.subspaces = state["seeds"], state["structure"], state.get("subspaces")
        estimators, n_arrays = iter(state["estimators"]), int(np.sum(state["inside"]))
        columns = [_unpacked(packed, n_arrays) for packed in state["packed"]]
        kind = None if self.structure is None else self.structure.model_type
        arrays = (kind(*values) for values in zip(*columns, strict=True)) if kind is not None else iter(())
        self.kept = [next(arrays) if inside else next(estimators) for inside in state["inside"]]


def _packed(values: tuple[Any, ...]) -> dict[str, Any]:
    """One field of many models: arrays end to end with their shapes, or numbers in an array."""
    if not isinstance(values[0], np.ndarray):
        return {"numbers": np.array(values)}
    flat = np.concatenate([value.ravel() for value in values])
    return {"flat": flat, "shapes": np.array([value.shape for value in values])}


def _unpacked(packed: dict[str, Any], count: int) -> Iterable[Any]:
    if "numbers" in packed:
        return list(packed["numbers"].tolist())
    shapes = packed["shapes"].reshape(count, -1)
    ends = np.cumsum(shapes.prod(axis=1, dtype=np.int64))
    starts = ends - shapes.prod(axis=1, dtype=np.int64)
    flat = packed["flat"]
    flat.flags.writeable = False
    return [flat[a:b].reshape(shape) for a, b, shape in zip(starts, ends, shapes.tolist(), strict=True)]
