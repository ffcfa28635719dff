"""Write the pages of the reference, one per subpackage, from the public names of the package."""

import importlib
from pathlib import Path

import stablebag
from stablebag.proving import bounds

ROOMS = ("resampling", "models", "tables", "proving", "measuring", "deciding", "showing", "paper", "connect")


def _is_bound(name: str) -> bool:
    return getattr(getattr(bounds, name), "__module__", "") == bounds.__name__ and not name.startswith(("_", "check_"))


# Functions that are imported from their file.
BEYOND = {
    "proving": {
        "stablebag.proving.frontier": ["FrontierPoint", "frontier", "largest_mean"],
        "stablebag.proving.bounds": [name for name in vars(bounds) if _is_bound(name)],
    },
    "showing": {
        "stablebag.showing.report.page": ["write"],
        "stablebag.showing.report.change_page": ["write_change", "ChangeFooter"],
    },
}
# Some classes have methods that only other subpackages call. For these, the methods that users call; the pages of all
# other classes show everything. A name that does not exist is a warning, and so an error.
_CERTIFICATE = "explain to_markdown epsilon delta mean rms worst_case curve to_dict"
_ESTIMATOR = (
    "fit predict predict_once bag_predictions estimators_samples_ estimators_features_ "
    "get_params set_params get_metadata_routing"
)
_SOURCE = "n_samples n_features shape targets row_ids groups labels take blocks"
_OWN_LAW = "resolve draw_bag enumerate_bags"
FOR_USERS = {
    "BagPredictions": "",
    "BaggedClassifier": f"{_ESTIMATOR} predict_proba predict_log_proba decision_function",
    "BaggedRegressor": f"{_ESTIMATOR} output",
    "Bags": "sizes inclusion counts to_sparse n_without without with_any in_every_bag take",
    "BernoulliSubbagging": "resolve",
    "Certificate": f"{_CERTIFICATE} for_targets for_labels norm loss replace_one replace_one_in_expectation best price "
    "from_dict",
    "ClassicalBagging": "resolve",
    "ClusterSubbagging": "resolve",
    "FixedRange": "interval delta",
    "FunctionClassifier": "fit predict predict_proba",
    "FunctionRegressor": "fit predict",
    "IntervalDisplay": "from_intervals plot",
    "LabelSetDisplay": "from_sets plot",
    "Memorizer": "fit predict data_set",
    "ObservedRange": "interval delta",
    "ParquetTable": f"{_SOURCE} n_missing_targets_ places to_memory",
    "PerturbationDisplay": "from_perturbations plot",
    "PhaseDiagramDisplay": "compute from_certificate plot",
    "PointCertificate": _CERTIFICATE,
    "PoissonizedBagging": "resolve",
    "PredictionRange": "interval delta changes reach",
    "Remainder": f"{_SOURCE} numbers",
    "ResamplingScheme": f"{_OWN_LAW} pick inclusion_probability negative_covariance count_law without_one",
    "ResolvedScheme": "bag_size inclusion_probability negative_covariance inclusion_probabilities constant "
    "row_constants empty_probability support_size support draw without_one without",
    "ReusedBagsCertificate": f"{_CERTIFICATE} price",
    "RowIds": "names positions without",
    "RowSource": "n_samples n_features part_sizes bytes_per_row bytes_to_read take read targets row_ids groups labels "
    "fingerprint",
    "StabilityCurveDisplay": "from_perturbations plot",
    "StratifiedSubbagging": "resolve",
    "Study": "of verdict facts to_frame to_markdown most_influential ranked",
    "Subbagging": "resolve",
    "Suspects": "explain to_frame",
    "Versions": "summary topics change n_points changed_points n_beyond_noise changed_decisions noise_floor bags_for "
    "n_fits with_parts to_frame blocks_to_frame to_markdown to_dict",
    "VersionsCertificate": "epsilon epsilon_of_any_rows worst_case explain in_short to_markdown to_dict",
    "ThresholdCount": "fit predict data_set",
    "TrimmedRange": "interval delta",
    "UnequalScheme": f"{_OWN_LAW} inclusion_probabilities covariance without",
}


def at_the_top(room: str) -> list[str]:
    """Return the top-level names that this subpackage defines."""
    return [name for name in stablebag.__all__ if getattr(stablebag, name).__module__.split(".")[1] == room]


def page(room: str) -> str:
    """Return the page of a subpackage, in reStructuredText."""
    package = importlib.import_module(f"stablebag.{room}")
    lines = [room, "=" * len(room), "", _sentence(package), ""]
    parts = {"stablebag": at_the_top(room), f"stablebag.{room}": package.__all__, **BEYOND.get(room, {})}
    for module, names in parts.items():
        title = f"``{module}``"
        lines += [title, "-" * len(title), "", *_table(module, names)] if names else []
    return "\n".join(lines)


def overview() -> str:
    """Return all subpackages and their public names, in Markdown, for the first page of the reference."""
    lines = []
    for room in ROOMS:
        package = importlib.import_module(f"stablebag.{room}")
        lines += [f"## {{doc}}`{room} <api/{room}>`", "", _sentence(package), "", "| name | description |", "|---|---|"]
        for module, names in ((stablebag, at_the_top(room)), (package, package.__all__)):
            for name in names:
                about = _sentence(getattr(module, name))
                lines.append(f"| {{py:obj}}`{name} <{module.__name__}.{name}>` | {about} |")
        lines.append("")
    return "\n".join(lines)


def full_name(name: str) -> str | None:
    """Return the full path of a public name, which docstrings of other subpackages use alone."""
    first, *rest = name.split(".")
    for package in ("stablebag", *(f"stablebag.{room}" for room in ROOMS)):
        if first in importlib.import_module(package).__all__:
            return ".".join([package, first, *rest])
    return None


def _sentence(about: object) -> str:
    return (about.__doc__ or "").split("\n")[0].replace("|", "\\|")


def write(folder: Path) -> None:
    """Write the pages of all subpackages, except those that have not changed."""
    folder.mkdir(exist_ok=True)
    pages = {f"{room}.rst": page(room) for room in ROOMS}
    for name, text in {**pages, "overview.md": overview()}.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def _table(module: str, names: list[str]) -> list[str]:
    entries = [f"   {name}" for name in names]
    return [
        f".. currentmodule:: {module}",
        "",
        ".. autosummary::",
        "   :toctree: generated",
        "   :nosignatures:",
        "",
        *entries,
        "",
    ]
