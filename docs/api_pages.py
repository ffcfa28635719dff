"""The pages of the reference, one per room, written from the names that the package says it has."""

import importlib
from pathlib import Path

import stablebag

ROOMS = ("resampling", "models", "tables", "proving", "measuring", "deciding", "showing", "paper")
# What has a name of its own in a room, and is not offered at the front door.
BEYOND = {
    "resampling": {"stablebag.resampling.law": ["ResolvedScheme"]},
    "tables": {
        "stablebag.tables.subsets": ["Remainder"],
        "stablebag.tables.training": ["TrainingTable", "read_table"],
    },
    "proving": {
        "stablebag.proving.frontier": ["FrontierPoint", "frontier", "largest_mean"],
        "stablebag.proving.bounds": None,  # all of them
    },
    "showing": {"stablebag.showing.study": ["Study", "study"], "stablebag.showing.report.page": ["write"]},
    "paper": {
        "stablebag.paper.counterexamples": ["Memorizer", "ThresholdCount"],
        "stablebag.paper.figures": ["figure_1", "figure_2", "figure_3"],
        "stablebag.paper.experiments": ["Claim", "Result", "run", "run_all"],
        "stablebag.paper.settings": ["Setting"],
    },
}
# What users call of classes that have more than that, for other rooms; of all other classes a page has everything.
# A name that is not there is a warning, and so an error.
_CERTIFICATE = "explain epsilon delta mean rms worst_case curve to_dict"
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
    "FunctionRange": "interval delta",
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
    "Study": "of verdict comparison proofs most_influential",
    "Subbagging": "resolve",
    "Suspects": "explain to_frame",
    "ThresholdCount": "fit predict data_set",
    "TrimmedRange": "interval delta",
    "UnequalScheme": f"{_OWN_LAW} inclusion_probabilities covariance without",
    "VectorCertificate": f"{_CERTIFICATE} for_targets for_labels for_classes price",
}


def front_door(room: str) -> list[str]:
    """Return the names of a room that `from stablebag import ...` knows."""
    return sorted(name for name, home in stablebag.HOMES.items() if home.split(".")[1] == room)


def page(room: str) -> str:
    """Return the page of a room, in reStructuredText."""
    lines = [room, "=" * len(room), "", _sentence(importlib.import_module(f"stablebag.{room}")), ""]
    if names := front_door(room):
        lines += _table("stablebag", names)
    for module, chosen in BEYOND.get(room, {}).items():
        names = chosen or sorted(importlib.import_module(module).__all__)
        title = f"``{module}``"
        lines += [title, "-" * len(title), "", *_table(module, names)]
    return "\n".join(lines)


def overview() -> str:
    """Return the rooms and what is in them at the front door, in Markdown, for the page above them."""
    lines = []
    for room in ROOMS:
        lines += [f"## {{doc}}`{room} <api/{room}>`", "", _sentence(importlib.import_module(f"stablebag.{room}")), ""]
        names = front_door(room)
        entries = [
            f"| {{py:obj}}`{name} <stablebag.{name}>` | {_sentence(getattr(stablebag, name))} |" for name in names
        ]
        lines += ["| name | what it is |", "|---|---|", *entries, ""] if entries else []
    return "\n".join(lines)


def _sentence(about: object) -> str:
    return (about.__doc__ or "").split("\n")[0].replace("|", "\\|")


def write(folder: Path) -> None:
    """Write the pages of all rooms, and leave alone those that have not changed."""
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
