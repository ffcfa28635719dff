"""The page itself: numbers and sentences filled into a template, with every value of the data escaped."""

import base64
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from stablebag._checks import refuse_type
from stablebag._wording import ROWS, number, percent, printable
from stablebag._writing import write_text
from stablebag.showing.colophon import Colophon
from stablebag.showing.data_as_read import DataAsRead
from stablebag.showing.displays.display import MOVES
from stablebag.showing.report.charts import Changes, Moves, interactive, interval_picture, label_picture
from stablebag.showing.report.contents import Contents
from stablebag.showing.report.rows import Values
from stablebag.showing.study import Study
from stablebag.showing.verdict import AFTER_CHECKS, ALREADY_STABLE, NOT_COMPARED, STABILIZED, UNTIL_CHECKED

_LONGEST_NOTE = 2000  # letters


def write(
    path: str | Path,
    study: Study,
    *,
    colophon: Colophon | None = None,
    data: DataAsRead | None = None,
    rows: Any = None,
    notes: tuple[str, ...] = (),
    warnings: tuple[str, ...] = (),
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
    colophon : Colophon or None, default=None
        What the data and the target are called, and the command that makes the report again, beside what the study
        itself knows: ``Colophon.of(study, data=..., target=..., command=...)``. None is ``Colophon.of(study)``.
    data : DataAsRead or None, default=None
        What each column of the table was taken for.
    rows : DataFrame or None, default=None
        The training rows, to show the values of the rows, or of the rows of the units, that are named.
    notes : tuple of str, default=()
        Sentences about the data, such as how many rows were left out.
    warnings : tuple of str, default=()
        Sentences to read before the verdict, such as a column that leaks the target.
    delta : float, default=0.05
        A share of the training rows, or units, in [0, 1]: those whose perturbations may be larger than the tables say.

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
    colophon = Colophon.of(study) if colophon is None else colophon
    template = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(_part("page.html.jinja"))
    moves, changes, verdict = _moves(study, colophon), _changes(study, colophon), study.verdict()
    chart = interactive(moves, changes)
    scripts = [chart.library, chart.script, _part("page.js")]
    page = template.render(
        colophon=colophon,
        verdict=verdict,
        careful=bool(warnings) or verdict.case not in (STABILIZED, ALREADY_STABLE, NOT_COMPARED),
        reasons=[*verdict.reasons, *(reason for remark in verdict.remarks for reason in remark.reasons)],
        notes=[printable(note, _LONGEST_NOTE) for note in notes if data is None or note not in data.lines()],
        warnings=[printable(warning, _LONGEST_NOTE) for warning in warnings],
        after_checks=AFTER_CHECKS,
        until_checked=UNTIL_CHECKED,
        study=study,
        noun=study.noun,
        of_units=study.noun != ROWS,
        one="all rows of one " + study.noun.singular if study.noun != ROWS else "one training row",
        are="are" if study.noun != ROWS else "is",
        contents=Contents(study, colophon, Values.of(study, rows), data, delta),
        moves=moves,
        changes=changes,
        chart=chart,
        charts={"curves": moves.picture(), "changes": changes.picture(), **_pictures(study, colophon, delta)},
        proved=study.proved.explain(delta),
        anew=None if study.anew is None else study.anew.explain(delta),
        certificate_json=json.dumps(_certificates(study), indent=1),
        scripts=scripts,
        number=number,
        printable=printable,
        percent=percent,
        hashes=" ".join(map(_hash, scripts)),
    )
    path = Path(path)
    write_text(path, page)
    return path


def _part(name: str) -> str:
    return files("stablebag.showing.report").joinpath(name).read_text(encoding="utf-8")


def _hash(script: str) -> str:
    """What the page says of a script of its own, so that a browser runs no other."""
    digest = hashlib.sha256(script.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _changes(study: Study, colophon: Colophon) -> Changes:
    """How far both models change when they are refitted."""
    if study.task != "regression":
        return Changes(study.compared, "change of the class probabilities")
    return Changes(study.compared, f"change of the prediction of {colophon.called}")


def _moves(study: Study, colophon: Colophon) -> Moves:
    """How far predictions move by the bags that were drawn, with what is proved about that."""
    epsilon, share = study.proved.curve("mean")
    known = np.isfinite(epsilon)
    proved = (epsilon[known], share[known]) if known.any() else None
    if study.task != "regression":
        return Moves({"bagged": study.bagged}, proved, "how far the class probabilities move (at most 1.41)")
    return Moves({"bagged": study.bagged}, proved, MOVES.replace("prediction", f"prediction of {colophon.called}"))


def _pictures(study: Study, colophon: Colophon, delta: float) -> dict[str, Any]:
    if study.intervals is not None:
        targets = study.targets if study.task == "regression" else None
        return {"intervals": interval_picture(study.intervals, targets, colophon.called)}
    if study.decisions is None or study.model is None or study.points is None or len(study.model.classes_) < 2:
        return {}
    return {"labels": label_picture(study.model, study.points, study.decisions.by_point > 0, study.noun, delta)}


def _certificates(study: Study) -> dict[str, Any]:
    parts = {"of_these_bags": study.proved, "of_bags_drawn_anew": study.anew}
    return {name: certificate.to_dict() for name, certificate in parts.items() if certificate is not None}
