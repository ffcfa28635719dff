"""The page itself: numbers and sentences filled into a template, with every value of the data escaped."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from stablebag import __version__
from stablebag._checks import refuse_type
from stablebag.showing.report.charts import interactive, static_charts
from stablebag.showing.study import Study

_MOST_COLUMNS = 12  # the most columns of an influential row that are shown
_MOST_ROWS = 15


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
        The training rows, to show the values of the most influential ones.
    command : str or None, default=None
        The command that reproduces the report.
    notes : tuple of str, default=()
        Sentences about the data, such as how many rows were left out.
    delta : float, default=0.05
        A share of the training rows, in [0, 1]: those whose perturbations may be larger than the verdict says.

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
        verdict=study.verdict(delta),
        notes=notes,
        study=study,
        comparison=[(name, _number(a), _number(b), _number(c)) for name, a, b, c in study.comparison(delta)],
        scores=[(name, _number(a), _number(b)) for name, (a, b) in study.scores.items()],
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
    path.write_text(page, encoding="utf-8")
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
    """The rows that move the predictions most, over all points, with their values."""
    order, effects = study.most_influential(_MOST_ROWS)
    names = [] if rows is None else [str(name) for name in list(rows.columns)[:_MOST_COLUMNS]]
    lines = []
    for row, effect in zip(order.tolist(), effects, strict=True):
        values = [] if rows is None else [_text(rows.iloc[row][name]) for name in list(rows.columns)[:_MOST_COLUMNS]]
        name = row if rows is None else _text(rows.index[row])
        lines.append(
            {
                "row": name,
                "moves": _number(effect),
                "target": "" if study.model is None else _text(study.model.y_[row]),
                "values": values,
            }
        )
    hidden = 0 if rows is None else max(0, len(rows.columns) - _MOST_COLUMNS)
    noise = float(np.sqrt(np.mean(study.bagged.noise**2))) if study.bagged.noise_known else float("nan")
    return {"columns": names, "lines": lines, "hidden": hidden, "noise": _number(noise)}


def _certificates(study: Study) -> dict[str, Any]:
    parts = {"of_these_bags": study.proved, "of_bags_drawn_anew": study.anew}
    return {name: certificate.to_dict() for name, certificate in parts.items() if certificate is not None}


def _number(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4g}"


def _text(value: Any) -> str:
    shown = f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
