"""Intervals as wide as the bags differ there: the jackknife family with residuals divided by the spread of the bags.

Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), "Distribution-free predictive inference for regression", divide
residuals by an estimate of their size. Here it is the standard deviation over the bags without the row, of the same
models that make the prediction without it, not clipped, so that the proofs of the jackknife+ hold (docs/proofs.md, 12).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stablebag.deciding.group_jackknife import GroupJackknife
from stablebag.deciding.jackknife import Ends, Jackknife, everything, refuse_unless
from stablebag.measuring.leave_one_out import left_out_at_rows
from stablebag.measuring.left_out_spread import left_out_spread, spread, spread_at_rows
from stablebag.resampling.units import Units

_AT_ONCE = 2**21  # predictions without rows that are held at once


@dataclass(frozen=True)
class LocallyWeighted:
    """A method of the jackknife family, in units of the spread of the bags.

    A score is a residual divided by the spread over the bags without the row, there. If these bags all agree, the score
    is zero if they are right, and otherwise infinite: the row then stands for an interval without ends.

    Parameters
    ----------
    rule : Jackknife
        The method with residuals as they are, for rows or for units.
    units : Units
        What is left out.
    """

    rule: Jackknife
    units: Units

    def of_model(self, model: Any, X: Any) -> Iterator[tuple[np.ndarray, Ends]]:
        """Yield the predictions of a fitted model, and the ends of the intervals, at blocks of points."""
        scores = scores_of(np.abs(model.y_ - left_out_at_rows(model)), spread_at_rows(model))
        average, step = model.average_, max(1, _AT_ONCE // len(scores))
        for _, raw in model.raw_blocks(X):
            for first in range(0, raw.shape[1], step):
                some = raw[:, first : first + step]
                with_all = average.prediction([some]), spread(average, some)
                without = average.left_out(some), left_out_spread(average, some)
                yield with_all[0], self.ends(scores, *with_all, *without)

    def ends(
        self, scores: np.ndarray, prediction: np.ndarray, there: np.ndarray, left_out: np.ndarray, without: np.ndarray
    ) -> Ends:
        """Return the ends of the intervals at some points.

        Parameters
        ----------
        scores : ndarray of shape (n_rows,)
            The score of each training row.
        prediction : ndarray of shape (n_points,)
            The predictions with all rows.
        there : ndarray of shape (n_points,)
            The spread over all bags.
        left_out : ndarray of shape (n_units, n_points)
            The predictions without each unit.
        without : ndarray of shape (n_units, n_points)
            The spread over the bags without each unit.

        Returns
        -------
        tuple of two ndarray of shape (n_points,)
        """
        refuse_unless(bool(np.isfinite(left_out).all() and np.isfinite(without).all()))
        if self.rule.rank(len(self.units)) > len(self.units):
            return everything(len(prediction))
        if self.rule.name == "jackknife+":
            of_rows = self.units.of_rows
            centres, radii = left_out.T[:, of_rows], times(scores, without.T[:, of_rows])
            return -self._quantile(radii - centres), self._quantile(radii + centres)
        score = self._quantile(scores[None])
        if self.rule.name == "jackknife":
            radius = times(score, there)
            return prediction - radius, prediction + radius
        radii = times(score, without)
        return (left_out - radii).min(axis=0), (left_out + radii).max(axis=0)

    def _quantile(self, values: np.ndarray) -> np.ndarray:
        """The order statistic of each line, in which every unit has the same weight."""
        if not self.units.are_rows:
            return GroupJackknife(self.rule.level, self.units).quantile(values)
        rank = self.rule.rank(values.shape[1])
        found: np.ndarray = np.partition(values, rank - 1, axis=1)[:, rank - 1]
        return found


def scores_of(residuals: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return residuals in units of the spread; without spread, none is zero and any other infinite.

    >>> scores_of(np.array([3.0, 0.0, 1.0]), np.array([2.0, 0.0, 0.0]))
    array([1.5, 0. , inf])
    """
    with np.errstate(over="ignore"):  # of a residual that no spread explains
        scores: np.ndarray = residuals / np.where(spread > 0, spread, 1.0)
    scores[(spread == 0) & (residuals > 0)] = np.inf
    return scores


def times(scores: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return the radii of scores: infinite for an infinite score, even without spread.

    >>> times(np.array([1.5, np.inf, 2.0]), np.array([2.0, 0.0, 0.0]))
    array([ 3., inf,  0.])
    """
    radii: np.ndarray = np.where(np.isinf(scores), np.inf, np.where(np.isinf(scores), 0.0, scores) * spread)
    return radii
