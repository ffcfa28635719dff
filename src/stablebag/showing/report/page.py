"""The page itself: numbers and sentences filled into a template, with every value of the data escaped."""

import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from stablebag import __version__
from stablebag._checks import refuse_type
from stablebag._wording import ROWS
from stablebag._writing import write_text
from stablebag.resampling.row_ids import is_missing
from stablebag.showing.report.charts import interactive, static_charts
from stablebag.showing.study import Study

_MOST_COLUMNS = 12  # the most columns of an influential row, or unit, that are shown
_MOST_ROWS = 15
_FEW = 3  # different texts of one unit that fit in a cell


def write(
    path: str | Path,
    study: Study,
    *,
    title: str = "Stability report",
    rows: Any = None,
    command: str | None = None,
    notes: tuple[str, ...] = (),
    delta: float = 0.05,
) -> Path:
    """Write the report of a study to one HTML file that opens offline.

    Parameters
    ----------
    path : str or Path
        The file to write.
    study : Study
        What was measured and proved, as `stablebag.showing.study.study` returns it; or ``Study.of(...)``, built from
        existing perturbations, a certificate about them and intervals.
    title : str, default="Stability report"
        The title of the page.
    rows : DataFrame or None, default=None
        The training rows, to show the values of the most influential ones, or of the rows of influential units.
    command : str or None, default=None
        The command that reproduces the report.
    notes : tuple of str, default=()
        Sentences about the data, such as how many rows were left out.
    delta : float, default=0.05
        A share of the training rows, or units, in [0, 1]: those whose perturbations may be larger than the verdict
        says.

    Returns
    -------
    Path
    """
    if not isinstance(study, Study):
        reason = "build one from existing objects with Study.of(bagged, proved, ...)."
        raise refuse_type("study", "report.write", "a Study, as stablebag.showing.study.study makes it", study, reason)
    try:
        from jinja2 import Environment
    except ImportError as error:
        raise ImportError("Reports need jinja2, matplotlib and bokeh: pip install 'stablebag[report]'.") from error
    source = files("stablebag.showing.report").joinpath("page.html.jinja").read_text(encoding="utf-8")
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(source)
    named = {"bagged": study.bagged}
    if study.base is not None:
        named = {"base learner": study.base, **named}
    guarantee = _guarantee(study)
    library, script, div = interactive(named, guarantee)
    page = template.render(
        title=title,
        verdict=study.verdict(),
        notes=notes,
        study=study,
        noun=study.noun,
        of_units=study.noun != ROWS,
        flips=_flips(study),
        comparison=[(line.what, *line.shown(), "") for line in study.comparison(delta)],
        scores=[(score.name, _number(score.base), _number(score.bagged)) for score in study.scores],
        charts=static_charts(named, guarantee, study.intervals, _numbers(study)),
        influential=_influential(study, rows),
        proved=study.proved.explain(delta),
        anew=None if study.anew is None else study.anew.explain(delta),
        certificate_json=json.dumps(_certificates(study), indent=1),
        command=command,
        version=__version__,
        n_base=0 if study.base is None else len(study.base.rows),
        n_points=len(study.bagged.prediction),
        library=library,
        script=script,
        div=div,
    )
    path = Path(path)
    write_text(path, page)
    return path


def _numbers(study: Study) -> np.ndarray | None:
    return study.targets if study.task == "regression" else None


def _guarantee(study: Study) -> tuple[np.ndarray, np.ndarray] | None:
    moved = [study.bagged] if study.base is None else [study.base, study.bagged]
    widest = max(float(np.max(each.max())) for each in moved)
    epsilon, delta = study.proved.curve("mean")
    shown = epsilon <= max(4 * widest, float(np.max(study.proved.epsilon(0.5))))
    return (epsilon[shown], delta[shown]) if shown.any() else None


def _influential(study: Study, rows: Any) -> dict[str, Any]:
    """The rows, or units, that move the predictions most, over all points, with their values."""
    numbers, effects = study.ranked(_MOST_ROWS)
    names, rows_of = study.bagged.names.of_rows(numbers), _rows_of(study)
    shown = [] if rows is None or rows_of is None else list(rows.columns)[:_MOST_COLUMNS]
    lines = []
    for number, name, effect in zip(numbers.tolist(), names, effects, strict=True):
        its = [] if rows_of is None else rows_of(number)
        called = rows.index[number] if rows is not None and study.noun == ROWS else name
        lines.append(
            {
                "name": _text(called),
                "moves": _number(effect),
                "n_rows": f"{len(its):,}",
                "target": "" if study.model is None else _together(study.model.y_[its]),
                "values": [_together(rows.iloc[its, place]) for place in range(len(shown))],
            }
        )
    noise = float(np.sqrt(np.mean(study.bagged.noise**2))) if study.bagged.noise_known else float("nan")
    return {
        "columns": [str(name) for name in shown],
        "lines": lines,
        "hidden": max(0, len(rows.columns) - _MOST_COLUMNS) if shown else 0,
        "noise": _number(noise),
        "have_rows": rows_of is not None,
    }


def _flips(study: Study) -> list[tuple[str, str]]:
    """The rows, or units, that flip most decisions, with how many; none if there are no decisions."""
    if study.decisions is None:
        return []
    names, counts = study.decisions.most_flips(_MOST_ROWS)
    return [(_text(name), f"{count:,}") for name, count in zip(names, counts, strict=True)]


def _rows_of(study: Study) -> Callable[[int], list[int]] | None:
    """What gives the rows of a unit by its number; None if that is not known."""
    if study.noun == ROWS:
        return lambda number: [number]
    if study.model is None:
        return None
    units = study.model.units_
    return lambda number: units.rows_of(np.array([number])).tolist()


def _together(values: Any) -> str:
    """The values of all rows of a unit in one cell: the one that they share, their range, or how many there are."""
    all_values = np.asarray(values, dtype=object).tolist()
    different = {_text(value): value for value in all_values if not is_missing(value)}
    if len(different) < 2:
        return next(iter(different), _text(all_values[0]))
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in different.values()):
        return f"{_text(min(different.values()))} to {_text(max(different.values()))}"
    return _text(" / ".join(different)) if len(different) <= _FEW else f"{len(different)} values"


def _certificates(study: Study) -> dict[str, Any]:
    parts = {"of_these_bags": study.proved, "of_bags_drawn_anew": study.anew}
    return {name: certificate.to_dict() for name, certificate in parts.items() if certificate is not None}


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}"


def _text(value: Any) -> str:
    shown = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
