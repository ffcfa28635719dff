"""Saves fitted models in files with skops, and loads them without running code from the file.

A file is one of skops with one more member, stablebag.json: the target, the task, the columns and the versions. It is
read first, as text. Loading a model creates only known types; unlike pickle, skops runs no code of the file.
"""

import json
import platform
import warnings
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stablebag import __version__
from stablebag._writing import refuse_unwritable, whole
from stablebag.models.fitted import fitted
from stablebag.tables.text import TableError, name_of
from stablebag.tables.training import Reading

_ORIGIN = "stablebag.json"
_FORMAT = 2
# What a model of a table is made of, besides what skops trusts by default: all estimators of scikit-learn, and arrays.
TRUSTED = frozenset(
    {
        "fractions.Fraction",
        "numpy.dtype",
        "sklearn.compose._column_transformer._RemainderColsList",  # a list of columns, in scikit-learn 1.6
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.tree._tree.Tree",
        "stablebag._seeds.Seeds",
        "stablebag._wording.Noun",
        "stablebag.tables.columns.as_categories",
        "stablebag.tables.columns.as_text",
        "stablebag.tables.text.date_parts",
        "stablebag.models.average.BagAverage",
        "stablebag.models.estimators.BaggedClassifier",
        "stablebag.models.rows.SavedTable",
        "stablebag.models.fitting.Models",
        "stablebag.models.ranges.OutputRanges",
        "stablebag.models.ranges.FixedRange",
        "stablebag.models.ranges.ObservedRange",
        "stablebag.models.estimators.BaggedRegressor",
        "stablebag.models.solving.SolverChoice",
        "stablebag.fast.reader.ReadTreeStructure",
        "stablebag.models.rows.Output",
        "stablebag.resampling.bags.Bags",
        "stablebag.resampling.schemes.BernoulliSubbagging",
        "stablebag.resampling.schemes.ClassicalBagging",
        "stablebag.resampling.schemes.PoissonizedBagging",
        "stablebag.resampling.schemes.RandomBags",
        "stablebag.resampling.units.RowIds",
        "stablebag.resampling.law.ResolvedScheme",
        "stablebag.resampling.schemes.Subbagging",
        "stablebag.resampling.units.Units",
    }
)


def check_can_save(path: Path | None, *read: Path | None) -> None:
    """Raise an error before any fit if no model can be saved to a path; None means no path."""
    if path is not None:
        refuse_unwritable(path, *read)
        _skops()


def save_model(path: Path, model: Any, reading: Reading, table: Any) -> str:
    """Save a fitted model and how its table was read; return a sentence about the file."""
    skops = _skops()
    origin = {
        "format": _FORMAT,
        "table": name_of(table),
        "reading": reading.to_dict(),
        "n_rows": len(fitted(model).y),
        "versions": _versions(),
    }
    with whole(path) as partial:
        try:
            skops.dump(model, partial, compression=zipfile.ZIP_DEFLATED)
        except OSError:
            raise
        except Exception as error:
            raise TableError(f"The model cannot be saved by skops: {_first_line(error)}.") from error
        with zipfile.ZipFile(partial, "a") as file:
            file.writestr(_ORIGIN, json.dumps(origin, indent=1))
    return f"Model: {path} (for stablebag predict)"


@dataclass(frozen=True)
class SavedModel:
    """A model from a file, and how its table was read.

    Attributes
    ----------
    model : BaggedRegressor or BaggedClassifier
        The fitted model.
    reading : Reading
        How its table was read.
    note : str
        A sentence about other versions; "" if the same versions saved the model.
    """

    model: Any
    reading: Reading
    note: str = ""

    @classmethod
    def load(cls, path: Path, trust: Iterable[str] = ()) -> "SavedModel":
        """Load a model; raise an error for types that are neither known nor named in `trust`."""
        from stablebag.models.ensemble import BaggedEnsemble, OtherVersionWarning

        origin, skops = _origin(path), _skops()
        try:
            types = set(skops.get_untrusted_types(file=path))
            unknown = sorted(types - TRUSTED - set(trust))
            if unknown:
                ways = " ".join(f"--trust {name}" for name in unknown)
                raise TableError(
                    f"The file {path} contains {_types(unknown)}, which stablebag does not know. If you trust the "
                    f"author of the file, add {ways}."
                )
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", OtherVersionWarning)  # the note says it
                model = skops.load(path, trusted=sorted(types))
        except TableError:
            raise
        except Exception as error:
            reason = _first_line(error)
            raise TableError(f"The model in {path} cannot be loaded ({reason}). {_other_versions(origin)}") from error
        if not isinstance(model, BaggedEnsemble):
            raise TableError(f"The file {path} contains a {type(model).__name__}, not a model of stablebag.")
        return cls(model, origin["reading"], _other_versions(origin))


def _origin(path: Path) -> dict[str, Any]:
    """The description of a model in its file."""
    if not path.is_file():
        raise TableError(f"There is no file {path}.")
    try:
        with zipfile.ZipFile(path) as file:
            origin: dict[str, Any] = json.loads(file.read(_ORIGIN))
        if origin["format"] != _FORMAT:
            version = origin["versions"]["stablebag"]
            raise TableError(f"The file {path} was saved by another version of stablebag, {version}. Refit it.")
        origin["reading"] = Reading.from_dict(origin["reading"])
    except TableError:
        raise
    except Exception:  # damaged archives can raise anything
        raise TableError(
            f"The file {path} is not a saved model of stablebag. Save one with stablebag measure --save."
        ) from None
    return origin


def _skops() -> Any:
    try:
        import skops.io
    except ImportError:
        raise TableError("Saving and loading models needs skops: pip install skops.") from None
    return skops.io


def _versions() -> dict[str, str]:
    import numpy
    import sklearn

    return {
        "stablebag": __version__,
        "scikit-learn": sklearn.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
    }


def _other_versions(origin: dict[str, Any]) -> str:
    """Name the versions that differ from those that saved a model, in one of the first two numbers."""
    now = _versions()
    others = [
        f"{name} {version} (here {now[name]})"
        for name, version in origin["versions"].items()
        if name in now and version.split(".")[:2] != now[name].split(".")[:2]
    ]
    return f"It was saved with {', '.join(others)}; predictions may differ." if others else ""


def _types(names: list[str]) -> str:
    return f"{'a type' if len(names) == 1 else 'types'} {', '.join(names)}"


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
