"""What travels to the learner beside rows and points: to its `fit`, and to the method that is asked for predictions."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import has_fit_parameter

from stablebag._checks import as_reals
from stablebag.learning.asking import CONSTANT
from stablebag.learning.models import Models

_ASKED = ("predict", "predict_proba", "predict_log_proba", "decision_function")


class Routing:
    """How an ensemble passes metadata on to its learner, by scikit-learn's metadata routing if it is on."""

    estimator: Any
    _estimator_type_wanted: str
    _default_learner: Callable[[], Any]
    _learner: Callable[[], Any]

    def _routed(
        self, learner: Any, n_samples: int, sample_weight: Any, fit_params: dict[str, Any], groups: Any = None
    ) -> dict[str, Any]:
        """The parameters for the learner's fit, by metadata routing if it is on; it may ask for groups, too."""
        if sample_weight is not None:
            sample_weight = as_reals(sample_weight, "sample_weight", f"{type(self).__name__}.fit")
            if sample_weight.ndim == 0:
                sample_weight = np.full(n_samples, sample_weight)
            if sample_weight.ndim != 1:
                raise ValueError(
                    f"Sample weights must be 1D array or scalar. Got an array of {sample_weight.ndim} axes."
                )
            check_consistent_length(sample_weight, np.empty(n_samples))
            assert_all_finite(sample_weight, input_name="sample_weight")
            fit_params = {"sample_weight": sample_weight, **fit_params}
        routing = get_config()["enable_metadata_routing"]
        if routing and groups is not None:
            fit_params = {"groups": groups, **fit_params}
        if not fit_params:
            return {}
        if routing:
            routed: dict[str, Any] = dict(process_routing(self, "fit", **fit_params)["estimator"]["fit"])
            return routed
        if sample_weight is not None and not _takes_weights(learner):
            raise ValueError(
                f"The learner {type(learner).__name__} does not take sample_weight. Leave it out, pass it under the "
                "name of a pipeline's step (step__sample_weight), or switch on scikit-learn's metadata routing."
            )
        return fit_params

    def _routed_to_predict(self, caller: str, params: dict[str, Any]) -> dict[str, Any]:
        """What a learner's method is passed beside the points, by metadata routing."""
        if not params:
            return {}
        if not get_config()["enable_metadata_routing"]:
            raise TypeError(
                f"{type(self).__name__}.{caller} got {', '.join(params)}, which would be for the learner. Switch on "
                "scikit-learn's metadata routing, and let the learner request it; or leave it out."
            )
        routed = process_routing(self, caller, **params)["estimator"]
        return dict(routed[self._asked_for(caller)])

    def _asked_for(self, caller: str) -> str:
        """The method of the learner that a method of the ensemble calls."""
        if caller == "decision_function" or self._estimator_type_wanted != "classifier":
            return caller
        return "predict_proba" if self.learner_has("predict_proba") else "predict"

    def learner_has(self, method: str) -> bool:
        """Whether the learner has a method: as it was fitted to the first bag that reached it, or as it is."""
        models = getattr(self, "estimators_", Models([], np.empty(0)))
        first = (models[place] for place, model in enumerate(models.kept) if not isinstance(model, CONSTANT))
        return hasattr(next(first, self._default_learner() if self.estimator is None else self.estimator), method)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing: all metadata go to the learner, to its `fit` or to what is asked of it."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for caller in _ASKED:
            if hasattr(type(self), caller):
                mapping.add(caller=caller, callee=self._asked_for(caller))
        return MetadataRouter(owner=self).add_self_request(self).add(estimator=self._learner(), method_mapping=mapping)


def _takes_weights(learner: Any) -> bool:
    """Whether the learner's fit takes sample_weight or passes on keywords; a pipeline needs the name of a step."""
    passes_on = any(p.kind is p.VAR_KEYWORD for p in inspect.signature(learner.fit).parameters.values())
    return has_fit_parameter(learner, "sample_weight") or (passes_on and not hasattr(learner, "steps"))
