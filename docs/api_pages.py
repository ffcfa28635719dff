"""The pages of the reference, one per room, written from the names that the package says it has."""

import importlib
from pathlib import Path

import stablebag

ROOMS = ("resampling", "learning", "proving", "measuring", "deciding", "showing", "paper")
# What has a name of its own in a room, and is not offered at the front door.
BEYOND = {
    "learning": {"stablebag.learning.sources.remainder": ["Remainder"]},
    "proving": {
        "stablebag.proving.frontier": ["FrontierPoint", "frontier", "largest_mean"],
        "stablebag.proving.bounds": None,  # all of them
    },
    "showing": {"stablebag.showing.study": ["Study", "study"], "stablebag.showing.report.page": ["write"]},
    "paper": {
        "stablebag.paper.counterexamples": ["Memorizer", "ThresholdCount"],
        "stablebag.paper.experiments": ["run", "run_all"],
        "stablebag.paper.figures": ["figure_1", "figure_2", "figure_3"],
        "stablebag.paper.results": ["Claim", "Result"],
        "stablebag.paper.settings": ["Setting"],
    },
}
# Where the two estimators have their methods, and which of these are for users; the others are for the rooms after.
ESTIMATORS = tuple(
    f"stablebag.learning.{file}" for file in ("ensemble", "regressor", "classifier", "members", "routing")
)
FOR_USERS = {
    "bag_predictions",
    "decision_function",
    "estimators_features_",
    "estimators_samples_",
    "fit",
    "get_metadata_routing",
    "output",
    "predict",
    "predict_log_proba",
    "predict_once",
    "predict_proba",
}


def is_for_other_rooms(name: str, home: str) -> bool:
    """Whether a member that is defined in the module `home` is one of an estimator that users never call."""
    return home in ESTIMATORS and name[0].islower() and name not in FOR_USERS


def front_door(room: str) -> list[str]:
    """Return the names of a room that `from stablebag import ...` knows."""
    return sorted(name for name, home in stablebag.HOMES.items() if home.split(".")[1] == room)


def page(room: str) -> str:
    """Return the page of a room, in reStructuredText."""
    sentence = (importlib.import_module(f"stablebag.{room}").__doc__ or "").split("\n")[0]
    lines = [room, "=" * len(room), "", sentence, ""]
    if names := front_door(room):
        lines += _table("stablebag", names)
    for module, chosen in BEYOND.get(room, {}).items():
        names = chosen or sorted(importlib.import_module(module).__all__)
        title = f"``{module}``"
        lines += [title, "-" * len(title), "", *_table(module, names)]
    return "\n".join(lines)


def write(folder: Path) -> None:
    """Write the pages of all rooms, and leave alone those that have not changed."""
    folder.mkdir(exist_ok=True)
    for room in ROOMS:
        path, text = folder / f"{room}.rst", page(room)
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
