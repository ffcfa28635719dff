"""Parameters of an estimator's frozen parts, such as ``scheme__bag_size``: set by putting another part in its place."""

from dataclasses import fields, is_dataclass, replace
from typing import Any, Self

from sklearn.base import BaseEstimator

from stablebag._checks import refuse_value
from stablebag.learning.ranges import PredictionRange
from stablebag.resampling.scheme import ResamplingScheme
from stablebag.resampling.schemes import SCHEMES


class FrozenParts(BaseEstimator):
    """An estimator whose scheme and prediction range have parameters, too, though they cannot change.

    scikit-learn sets the parameters of a part in the part itself. A scheme is frozen, because laws and models are made
    of it, so here it is replaced by one that differs in these parameters.
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of this estimator.

        Parameters
        ----------
        deep : bool, default=True
            Whether to return those of its parts as well: of the learner, the scheme and the prediction range.

        Returns
        -------
        dict
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        for name, part in self._frozen_parts().items() if deep else ():
            params |= {f"{name}__{field}": getattr(part, field) for field in _fields(part)}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator and of its parts, such as ``scheme__bag_size=0.3``.

        Parameters
        ----------
        **params : dict
            The parameters by name.

        Returns
        -------
        self
        """
        nested: dict[str, dict[str, Any]] = {}
        for name in list(params):
            part, separator, field = name.partition("__")
            if separator and part in ("scheme", "prediction_range"):
                nested.setdefault(part, {})[field] = params.pop(name)
        super().set_params(**params)
        for name, changes in nested.items():
            before = self._frozen_parts().get(name)
            known = [] if before is None else _fields(before)
            for field in changes:
                if field not in known:
                    held = getattr(self, name, None)
                    expected = f"one of those of {held!r}, {known}" if known else f"left out: {held!r} has none"
                    raise refuse_value(f"{name}__{field}", type(self).__name__, expected, changes[field])
            super().set_params(**{name: replace(before, **changes)})  # type: ignore[type-var]
        return self

    def _frozen_parts(self) -> dict[str, Any]:
        """The parts that can be replaced by others of their kind; the name of a scheme stands for that scheme."""
        parts = {name: getattr(self, name, None) for name in ("scheme", "prediction_range")}
        if isinstance(parts["scheme"], str) and parts["scheme"] in SCHEMES:
            parts["scheme"] = SCHEMES[parts["scheme"]]()  # type: ignore[call-arg]
        kinds = ResamplingScheme | PredictionRange
        return {name: part for name, part in parts.items() if isinstance(part, kinds) and is_dataclass(part)}


def _fields(part: Any) -> list[str]:
    return [field.name for field in fields(part) if field.init]
