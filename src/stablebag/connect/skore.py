"""skore: a check that says whether the predictions of a model hinge on single training rows."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import is_classifier, is_regressor

from stablebag._checks import check_integer, check_jobs, check_real
from stablebag._seeds import Seeds
from stablebag._wording import ROWS, percent, short
from stablebag.measuring.leave_one_out import leave_one_out
from stablebag.measuring.refits import leave_one_out_refit
from stablebag.models.ensemble import BaggedEnsemble
from stablebag.models.fitted import fitted
from stablebag.models.rows import n_rows, take_rows
from stablebag.showing.study import draw_units


@dataclass(frozen=True)
class SingleRowCheck:
    """A check for skore: an issue if many predictions at test rows hinge on a single training row.

    Add it to the report of an estimator, or of a comparison of estimators: ``report.checks.add([SingleRowCheck()])``.

    The estimator is refitted with the same seed without each of `n_refits` training rows, drawn at random. A decision
    of a classifier hinges on a row if it is another one without it. A prediction of a regressor hinges on a row if it
    changes by more than `tolerance` times the standard deviation of the training targets. The check finds an issue if
    at least a share `share` of the predictions hinge on one of these rows. Other rows may change more, so the numbers
    are lower limits unless all rows were left out.

    A model of stablebag is not refitted: a prediction without a row is the average over the bags that do not contain
    it. Bagging noise is part of these changes. With the same seed and training rows, the same rows are left out.

    Parameters
    ----------
    n_refits : int, default=50
        The most training rows to leave out, one at a time, each by a refit. One more fit is to all rows.
    n_points : int, default=200
        The most test rows to predict, drawn at random.
    tolerance : float, default=0.1
        For regression, a prediction hinges on a row if it changes by more than this many standard deviations of the
        target.
    share : float, default=0.05
        It is an issue if at least this share of the predictions hinge on a row, in [0, 1].
    n_jobs : int or None, default=None
        The number of fits in parallel.
    random_state : int, default=0
        Determines which rows are drawn, and the seed of the refits.

    Examples
    --------
    >>> from stablebag.connect import SingleRowCheck
    >>> check = SingleRowCheck(n_refits=30)
    >>> check.title
    'Predictions that hinge on one training row (up to 30 left out, 200 test rows)'
    >>> report.checks.add([check])  # doctest: +SKIP
    >>> report.checks.summarize()  # doctest: +SKIP
    """

    code: ClassVar[str] = "STB001"
    report_types: ClassVar[list[str]] = ["estimator"]  # reports of a comparison pass it on to these
    docs_url: ClassVar[str | None] = None
    severity: ClassVar[Literal["issue", "tip"]] = "issue"
    slow: ClassVar[bool] = True

    n_refits: int = 50
    n_points: int = 200
    tolerance: float = 0.1
    share: float = 0.05
    n_jobs: int | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        owner = "SingleRowCheck"
        check_integer(self.n_refits, "n_refits", owner, minimum=1)
        check_integer(self.n_points, "n_points", owner, minimum=1)
        check_real(self.tolerance, "tolerance", owner, low=0.0)
        check_real(self.share, "share", owner, low=0.0, high=1.0)
        check_jobs(self.n_jobs, owner)
        Seeds.from_random_state(check_integer(self.random_state, "random_state", owner, minimum=0), owner)

    @property
    def title(self) -> str:
        """What the check looks for, and at how many rows."""
        size = f"up to {self.n_refits:,} left out, {self.n_points:,} test rows"
        return f"Predictions that hinge on one training row ({size})"

    def check_function(self, report: Any) -> str | None:
        """Return a sentence about the predictions that hinge on one row; None if they are few.

        Parameters
        ----------
        report : skore.EstimatorReport
            The report to check.

        Returns
        -------
        str or None
        """
        from skore import CheckNotApplicable

        model = report.estimator_
        if not (is_classifier(model) or is_regressor(model)):
            raise CheckNotApplicable("The estimator is neither a classifier nor a regressor.")
        try:
            return self._finding(model, report)
        except (TypeError, ValueError) as error:  # for example no training rows, or a class with a single row
            raise CheckNotApplicable(f"The model could not be measured without single rows: {error}") from error

    def _finding(self, model: Any, report: Any) -> str | None:
        points = draw_units(n_rows(report.X_test), self.n_points, self.random_state)
        X_test, is_bagged = take_rows(report.X_test, points), isinstance(model, BaggedEnsemble)
        if is_bagged:
            n_samples, noun, y = len(model.units_), model.units_.noun, fitted(model).y
            rows = draw_units(n_samples, self.n_refits, self.random_state)
            changes = leave_one_out(model, X_test, rows=rows)
        else:
            if report.X_train is None:
                raise ValueError("the report has no training rows.")
            n_samples, noun, y = n_rows(report.X_train), ROWS, report.y_train
            rows = draw_units(n_samples, self.n_refits, self.random_state)
            options: dict[str, Any] = {"rows": rows, "n_jobs": self.n_jobs, "random_state": self.random_state}
            changes = leave_one_out_refit(model, report.X_train, y, X_test, **options)
        if is_classifier(model):
            hinging, size = changes.flips().any(axis=0), ""
        else:
            if changes.prediction.ndim > 1:
                raise ValueError("it predicts several numbers per row.")
            largest, spread = changes.values.max(axis=0), float(np.std(np.asarray(y, dtype=float)))
            hinging = largest > self.tolerance * spread
            size = (
                f" by more than {short(self.tolerance * spread)} ({percent(self.tolerance)} of the standard deviation "
                f"of the training targets), and by up to {short(float(largest.max()))}"
            )
        n_hinging, n = int(hinging.sum()), len(points)
        if not n_hinging or n_hinging < self.share * n:
            return None
        what = "decisions" if is_classifier(model) else "predictions"
        one, several = ("training row", "training rows") if noun == ROWS else (noun.singular, noun.plural)
        least, left_out = "", f"each of the {n_samples:,} {several}"
        if len(rows) < n_samples:
            least, left_out = "At least ", f"{len(rows):,} of the {n_samples:,} {several}, drawn at random"
        if is_bagged:
            how = "averaging over the bags without it"
            more = "" if model.derandomized_ else " Bagging noise is part of this: more bags make it smaller."
        else:
            how, more = "refitting without it", " stablebag.study compares the model with its bagged version."
        return (
            f"{least}{n_hinging:,} of {n:,} {what} at test rows hinge on one {one}: {how} changes them{size}. "
            f"Left out in turn: {left_out}.{more}"
        )
