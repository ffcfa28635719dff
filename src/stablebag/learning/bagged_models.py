"""Which models the functions of a bagged model take, and what to pass in place of a pipeline or search around one."""

from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from stablebag._checks import refuse_type, refuse_value
from stablebag.learning.ensemble import BaggedEnsemble

_KINDS = "BaggedRegressor or BaggedClassifier"


def check_bagged(
    model: Any,
    owner: str,
    *,
    kind: type | None = None,
    fitted: bool = True,
    reason: str = "",
    outputs: str = "one",
) -> None:
    """Refuse what is not a bagged model, or not one of a kind, or not a fitted one.

    A pipeline or a search with one inside is refused as well. Its earlier steps were fitted to all rows, and its
    parameters chosen by all rows, so that what is measured and proved without a row is true of the bagged model alone;
    the sentence says how to pass that.

    Parameters
    ----------
    model : object
        What was passed as a model.
    owner : str
        The function it was passed to.
    kind : type or None, default=None
        `BaggedRegressor` or `BaggedClassifier`, if only one of them will do.
    fitted : bool, default=True
        Whether it has to be fitted.
    reason : str, default=""
        What to say of a model that has nothing bagged inside.
    outputs : {"one", "any", "all"}, default="one"
        What a fitted regressor of several outputs is asked about: one of them, as `model.output(name)` gives it, either
        that or all together, or nothing but all together.
    """
    if not isinstance(model, kind or BaggedEnsemble):
        expected = f"a {'fitted ' if fitted else ''}{kind.__name__ if kind else _KINDS}"
        raise refuse_type("model", owner, expected, model, _around(model, kind or BaggedEnsemble) or reason)
    if not fitted:
        return
    check_is_fitted(model)
    if outputs == "one":
        refuse_several_outputs(model, owner)
    if outputs == "all" and hasattr(model, "output_"):
        name, way = model.output_.name, f"{owner}(model, ...).output({model.output_.name!r})"
        reason = f"this is its output {name!r} alone, and rows belong to all outputs. Use {way}."
        raise refuse_value("model", owner, "the whole model", model, reason)


def refuse_several_outputs(model: Any, owner: str, way: str = "") -> None:
    """Refuse a regressor of several outputs, of which one has to be named; `way` is another way out."""
    if hasattr(model, "output_names_"):
        names = model.output_names_.tolist()
        reason = f"the model has {len(names)} outputs. Use model.output({names[0]!r}){way}."
        raise refuse_value("model", owner, "about one output", model, reason)


def _around(model: Any, kind: type) -> str:
    """What to pass in place of a model that has a bagged one of this kind inside; "" if it has none."""
    path, notes, inner = "", [], model
    while not isinstance(inner, kind):
        if isinstance(inner, Pipeline):
            notes.append(_PIPELINE.format(path or "pipeline"))
            path, inner = f"{path or 'pipeline'}[-1]", inner.steps[-1][1]
        elif hasattr(inner, "best_estimator_"):
            notes.append(_SEARCH)
            path, inner = f"{path or 'search'}.best_estimator_", inner.best_estimator_
        elif isinstance(inner, TransformedTargetRegressor) and hasattr(inner, "regressor_"):
            notes.append(_TARGETS)
            path, inner = f"{path or 'model'}.regressor_", inner.regressor_
        else:
            return ""
    return f"pass {path}. {' '.join(notes)}"


_PIPELINE = (
    "Give it rows as {0}[:-1].transform(X) makes them; what is said is then about the last step alone, because steps "
    "before it have seen all rows. To cover them, too, bag the whole pipeline."
)
_SEARCH = "What is said is then about the parameters as they were chosen, and not about the choice, which saw all rows."
_TARGETS = "What is said is then about the transformed targets."
