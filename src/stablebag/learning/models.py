"""The fitted models of all bags: arrays where a solver made them, which become estimators when one asks for them."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from stablebag.learning.solvers.solver import Structure


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
    """

    def __init__(self, kept: Iterable[Any], seeds: np.ndarray, structure: Structure | None = None) -> None:
        self.kept, self.seeds, self.structure = list(kept), seeds, structure

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
        return sum(map(self.is_array, self.kept))

    def of_each_kind(self) -> list[Any]:
        """Return one estimator of each type, because a bag without rows has a model of another type."""
        found: dict[type, Any] = {}
        for number, model in enumerate(self.kept):
            if type(model) not in found:
                found[type(model)] = self[number]
        return list(found.values())

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
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.seeds, self.structure = state["seeds"], state["structure"]
        estimators, n_arrays = iter(state["estimators"]), int(np.sum(state["inside"]))
        columns = [_unpacked(packed, n_arrays) for packed in state["packed"]]
        arrays = iter(()) if self.structure is None else map(self.structure.model_type, *columns)
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
