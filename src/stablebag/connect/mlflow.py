"""MLflow: the metrics, the report and the numbers of a study in a run."""

import json
import math
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from stablebag._checks import refuse_type, refuse_value
from stablebag.showing.report.page import Colophon, write
from stablebag.showing.study import Study

_MORE = ("base", "constant", "measured", "low", "high")  # numbers next to the main number of a fact


def log_study(study: Study, name: str = "stablebag") -> None:
    """Log a study to the active run of MLflow; without an active run, MLflow starts one.

    It logs each fact of the study as a metric, such as ``stablebag/typical_change``, with ``.base`` for the base model,
    ``.constant`` for a constant, ``.measured`` for what was measured next to a guarantee, and ``.low`` and ``.high``
    for an interval. Facts without a number are not logged. The case of the verdict is the tag ``stablebag.verdict``.
    The artifacts are ``report.html``, ``report.md`` and ``facts.json``. The last records for each fact whether it was
    measured, estimated or proved.

    Parameters
    ----------
    study : Study
        The result of `study`.
    name : str, default="stablebag"
        The folder of the artifacts, and the beginning of the names of metrics and the tag: letters, digits,
        underscores and hyphens.

    Examples
    --------
    >>> import mlflow  # doctest: +SKIP
    >>> from stablebag.connect import log_study
    >>> with mlflow.start_run():  # doctest: +SKIP
    ...     log_study(result)
    """
    owner = "log_study"
    if not isinstance(study, Study):
        raise refuse_type("study", owner, "a Study, as stablebag.study makes it", study)
    if not isinstance(name, str):
        raise refuse_type("name", owner, "the name of a folder", name)
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        raise refuse_value("name", owner, "letters, digits, underscores and hyphens", name)
    try:
        import mlflow
    except ImportError as error:
        raise ImportError("Logging to MLflow needs MLflow: pip install mlflow.") from error
    facts = study.facts()
    metrics: dict[str, float] = {}
    for fact in facts:
        called = f"{name}/{re.sub('[^A-Za-z0-9.-]+', '_', fact.name)}"
        others = {f"{called}.{column}": fact.numbers[column] for column in _MORE if column in fact.numbers}
        metrics |= {key: float(value) for key, value in {called: fact.value, **others}.items() if math.isfinite(value)}
    numbers = {**facts.to_dict(), "task": study.task, "delta": study.delta, **Colophon.of(study).to_dict()}
    with TemporaryDirectory() as folder:
        path = Path(folder)
        write(path / "report.html", study)
        (path / "report.md").write_text(f"{study.to_markdown()}\n", encoding="utf-8")
        (path / "facts.json").write_text(f"{json.dumps(numbers, indent=1)}\n", encoding="utf-8")
        mlflow.log_metrics(metrics)
        mlflow.set_tag(f"{name}.verdict", facts.verdict.case)
        mlflow.log_artifacts(folder, artifact_path=name)
