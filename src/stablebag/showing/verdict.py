"""The verdict of a study: one of a few plain cases, decided by declared rules, with advice and the numbers behind."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stablebag._wording import ROWS, number, percent, short
from stablebag.showing.comparison import Comparison, Ratio
from stablebag.showing.scores import Difference, Loss, Ranking, difference

STABILIZED = "stabilized"
ALREADY_STABLE = "already stable"
NOT_STABILIZED = "not stabilized"
NOT_ENOUGH_BAGS = "not enough bags"
NOT_ENOUGH_REFITS = "not enough refits"
COSTS_ACCURACY = "costs accuracy"
NO_BETTER = "no better than a constant"
TOO_FEW = "too few held-out rows"
ONLY_RANKS = "ranks, but no better than a constant"
NOT_COMPARED = "not compared"
AFTER_CHECKS = "Once the points above are settled:"  # before the advice, if there is something to check first

LEAST = 1.1  # times smaller that moves must surely be to be called stabilized
MOST = 1.5  # times smaller that they may at most be, surely, to be called no smaller
LITTLE = 0.05  # of the spread of the targets: a learner that moves less is stable already
WORTH = 0.02  # of the loss: what a difference must exceed besides being clear
FEWEST_REFITS = 60  # rows that must be left out without any move before a learner is called stable: 3 / 60 is 5 %


@dataclass(frozen=True)
class Verdict:
    """What a study comes to, by rules that are declared here.

    Moves are compared by their root mean squares over the same left-out rows and the same points, the bagged model's
    without the noise of its bags. Their ratio has an interval of about 95 %, as `Comparison.ratio` gives it. In this
    order, the first rule that applies is the verdict and the others are remarks:

    1. About accuracy, one of these, or none. The model *ranks* if the order of its predictions at the held-out rows
       agrees with their targets better than chance explains, at 5 % (`Ranking`). Its loss (the squared error, or the
       Brier score) is next to that of a constant (`Difference`).

       - *too few held-out rows*: an AUC of 0.7, or a rank correlation of 0.4, could go unnoticed, and the model does
         not both rank and have a clearly smaller loss.
       - *no better than a constant*: the model does not rank.
       - *ranks, but no better than a constant*: the model ranks, and its loss is larger than that of a constant.

    2. *costs accuracy*: some loss of the bagged model (the squared error; the Brier score, the share of wrong
       decisions, the log loss) is clearly larger than the base learner's, and by more than 2 % of it.
    3. About stability, one of these:

       - *not compared*: the base learner was not measured, as where the rows are not in memory.
       - *already stable*: the base learner does not move at all without each of 60 rows, or of all; or it moves by less
         than 5 % of the spread of the targets, and bagging makes that at most 1.5 times smaller, or adds at least as
         much noise as there was.
       - *not enough bags*: the noise of the bags in a move is at least as large as the base learner's moves.
       - *stabilized*: the lower end of the interval is above 1.1.
       - *not stabilized*: the upper end of the interval is below 1.5, and the base learner moves by more than 5 %
         of the spread of the targets.
       - Otherwise it cannot be told: *not enough bags* if most of what is measured of the bagged model is noise,
         and else *not enough refits*.

    Attributes
    ----------
    case : str
        One of "stabilized", "already stable", "not stabilized", "not enough bags", "not enough refits", "costs
        accuracy", "too few held-out rows", "no better than a constant", "ranks, but no better than a constant" and
        "not compared".
    headline : str
        The conclusion, in one sentence.
    advice : str
        What to do, in one or two sentences; "" if there is nothing to do.
    reasons : tuple of str
        The numbers behind it, as short lines.
    remarks : tuple of Verdict, default=()
        What else is true, in order of importance.
    """

    case: str
    headline: str
    advice: str = ""
    reasons: tuple[str, ...] = ()
    remarks: tuple["Verdict", ...] = ()

    def __str__(self) -> str:
        return " ".join(filter(None, [self.headline, self.advice]))


def decide(
    compared: Comparison,
    losses: tuple[Loss, ...] = (),
    ranking: Ranking | None = None,
    *,
    spread: float | None = None,
    quantity: str = "predictions",
) -> Verdict:
    """Decide what a study comes to, by the rules of `Verdict`.

    Parameters
    ----------
    compared : Comparison
        The moves of the base learner and of the bagged model.
    losses : tuple of Loss, default=()
        Losses at held-out rows, the one that says most of a model first.
    ranking : Ranking or None, default=None
        How well the bagged model ranks these rows; without it, the model is not compared with a constant.
    spread : float or None, default=None
        The standard deviation of the targets, in which moves are large or small; None if it is not known.
    quantity : str, default="predictions"
        What moves.

    Returns
    -------
    Verdict
    """
    first, *others = [*_of_accuracy(losses, ranking), _of_stability(compared, spread, quantity)]
    if others:  # what to do about stability must not contradict what was found about accuracy
        over = (STABILIZED,) if first.case == COSTS_ACCURACY else tuple(other.case for other in others)
        others = [replace(other, advice="") if other.case in over else other for other in others]
    facts = _of_constant(losses, ranking)
    return replace(first, reasons=(*facts, *first.reasons), remarks=tuple(others))


def _of_accuracy(losses: tuple[Loss, ...], ranking: Ranking | None) -> Iterator[Verdict]:
    """What was found about accuracy that comes before stability."""
    if losses and ranking is not None:
        found = difference(losses[0], losses[0].constant)
        of_numbers = ranking.name != "AUC"
        if ranking.are_few and not (ranking.is_real and found.is_smaller):
            among = [] if ranking.n_groups is None else [f"of {ranking.n_groups:,} groups"]
            if ranking.rarest is not None:
                among.append(f"{ranking.rarest[1]:,} of class {ranking.rarest[0]!r}")
            these = f" ({', '.join(among)})" if among else ""
            yield Verdict(
                TOO_FEW,
                f"{ranking.n:,} held-out {'row is' if ranking.n == 1 else 'rows are'} too few to say whether the "
                f"bagged model beats a constant{these}.",
                "Hold out more rows (--test-size, --test), or gather more, before you rely on its predictions.",
            )
        elif not ranking.is_real:
            yield Verdict(
                NO_BETTER,
                f"On {ranking.n:,} held-out rows, the bagged model does not clearly beat a constant.",
                "Fix accuracy first: check the columns and the target, or try another model. A constant is trivially "
                "stable.",
            )
        elif found.mean > 0:
            how = "well" if ranking.is_good else "better than chance"
            ranks = (
                f"The bagged model ranks {how} ({ranking.name} {short(ranking.value, 1)} on {ranking.n:,} held-out "
                "rows), but"
            )
            what = "predictions" if of_numbers else "probabilities"
            worse = f"its {what} are worse than a constant's" if found.is_larger else (
                f"on these rows its {what} were no better than a constant's")  # fmt: skip
            mend = "Calibrate it (for example with scikit-learn's CalibratedClassifierCV), or use only the ranking."
            if of_numbers:
                mend = "Look at its largest errors and at the scale of its predictions, or use only the ranking."
            yield Verdict(ONLY_RANKS, f"{ranks} {worse}.", mend)
    worse_than = [loss for loss in losses if loss.base is not None and _is_worse(loss)]
    if worse_than:
        yield Verdict(
            COSTS_ACCURACY,
            f"Bagging costs accuracy here: the {worse_than[0].name} on {len(worse_than[0].bagged):,} held-out rows "
            "rises by more than chance explains.",
            "Try larger bags or another learner, or accept it as the cost of stability.",
            tuple(_beside(loss, difference(loss, loss.base), "the base learner's", float(loss.base.mean()))
                  for loss in worse_than if loss.base is not None),
        )  # fmt: skip


def _of_constant(losses: tuple[Loss, ...], ranking: Ranking | None) -> tuple[str, ...]:
    """How the bagged model does beside a constant: what the held-out rows show, and what they do not."""
    if not losses or ranking is None:
        return ()
    first, *others = losses
    found, rows = difference(first, first.constant), f"{ranking.n:,} held-out row{'s' * (ranking.n != 1)}"
    what = "predictions" if ranking.name != "AUC" else "probabilities"
    guessing = f"{ranking.name} {short(ranking.value, 1)}, where guessing gives {ranking.by_chance:g}"
    beside = _beside(first, found, "a constant's", float(first.constant.mean()))
    if math.isnan(ranking.value):
        said = f"All {rows} have the same target, so they cannot show whether the model ranks."
    elif ranking.is_real and found.is_smaller:
        said = f"The bagged model beats a constant on {rows}: {guessing}."
    elif ranking.is_real and found.mean <= 0:
        said = (
            f"The bagged model ranks {rows} better than chance ({guessing}), but they are too few to say "
            f"whether its {what} beat a constant's."
        )
    else:
        said = f"{guessing[0].upper()}{guessing[1:]}."
    sharp = [
        f"Its log loss was above a constant's on these rows ({short(float(loss.bagged.mean()))} against "
        f"{short(float(loss.constant.mean()))}): it was too sure where it was wrong."
        for loss in others
        if loss.name == "log loss" and loss.bagged.mean() > loss.constant.mean()
    ]
    return (said, beside, *sharp)


def _is_worse(loss: Loss) -> bool:
    assert loss.base is not None
    rise = difference(loss, loss.base)
    return rise.is_larger and rise.mean > WORTH * float(loss.base.mean())


def _beside(loss: Loss, found: Difference, whose: str, unit: float) -> str:
    """A loss of the bagged model beside another's, in units of the other's."""
    name = loss.name[0].upper() + loss.name[1:]
    if unit == 0:
        return f"{name}: 0 is {whose}, {short(float(loss.bagged.mean()))} the bagged model's."
    error = "" if math.isnan(found.error) else f" (standard error {percent(found.error / unit)})"
    way = "above" if found.mean > 0 else "below"
    if found.mean == 0:
        return f"{name}: the same as {whose}."
    return f"{name}: {percent(abs(found.mean) / unit)} {way} {whose}{error}."


def _of_stability(compared: Comparison, spread: float | None, quantity: str) -> Verdict:
    noun = compared.bagged.noun
    one = "a left-out row" if noun == ROWS else f"leaving out {noun.any_one}"
    bags, noise = compared.bagged.bags, compared.noise
    n_bags = None if bags is None else bags.n_bags
    if compared.base is None:
        far = f"{number(compared.bagged_rms)}{_of_spread(compared, spread)}"
        moved = f"Typically, {one} moves the bagged model's {quantity} by {far}."
        if not compared.bagged_rms and noise:
            moved = (
                f"Typically, {one} moves the bagged model's {quantity} by less than the noise of its bags, "
                f"{number(float(f'{noise:.2g}'))}."
            )
        elif not compared.bagged_rms:
            some = noun.count(compared.n_rows)
            moved = f"None of {some} moves the bagged model's {quantity} at any test point when it is left out."
        return Verdict(NOT_COMPARED, moved, compared.reason, _numbers(compared))
    before, reasons = compared.base_rms, _numbers(compared)
    is_little = spread is not None and before <= LITTLE * spread
    enough = _more_bags(compared, n_bags)
    drawn = "" if n_bags is None else f" of {n_bags:,} bags"
    more = f"Use {enough:,} bags, so that their noise is half as large as the base learner's moves" if enough else ""
    unseen = compared.n_samples - compared.n_rows
    if before == 0 and unseen and compared.n_rows < FEWEST_REFITS:
        return Verdict(
            NOT_ENOUGH_REFITS,
            f"It cannot be told whether the base learner is stable: only {noun.count(compared.n_rows)} were left out.",
            f"Refit it without more {noun.plural} (--refits).",
            reasons,
        )
    if before == 0:
        some = noun.count(compared.n_rows)
        if unseen:
            reasons += (f"Of the {noun.plural} that were not left out, up to {min(1.0, 3 / compared.n_rows):.1%} may "
                        "still move it (with 95 % confidence).",)  # fmt: skip
        return Verdict(
            ALREADY_STABLE,
            f"The base learner is stable already: none of {some} moves its {quantity} at any test point.",
            "Do not bag it for stability" + (f": bagging only adds the noise{drawn}." if noise else "."),
            reasons,
        )
    ratio = compared.ratio()
    if noise >= before and not (is_little or ratio.high < MOST):
        return Verdict(
            NOT_ENOUGH_BAGS,
            "There are not enough bags to tell: their noise is as large as the base learner's moves.",
            f"{more}." if more else "",
            reasons,
        )
    if (ratio.high < MOST and (is_little or spread is None)) or (is_little and noise >= before):
        kept = f"{more}, or do not bag." if noise > before / 2 and more else "There is no need to bag it for stability."
        adds = "bagging adds only the noise of its bags" if noise else "bagging does not make it more so"
        return Verdict(
            ALREADY_STABLE,
            f"The base learner is stable already, and {adds}.",
            kept,
            (*reasons, _interval(ratio)),
        )
    if ratio.low > LEAST:
        times = f"{_times(ratio.value)} times" if math.isfinite(ratio.value) else f"at least {_times(ratio.low)} times"
        if math.isfinite(ratio.value) and math.isfinite(ratio.high):
            between = f" (between {_times(ratio.low)} and {_times(ratio.high)})"
        elif math.isfinite(ratio.value):
            between = f" (at least {_times(ratio.low)})"
        else:
            between = ""
        advice = "Use the bagged model."
        if noise > compared.bagged_rms and more:
            advice += " What is left of its moves is mostly noise, which more bags would reduce."
        headline = f"Bagging stabilizes this learner: {one} moves its {quantity} {times} less{between}."
        return Verdict(STABILIZED, headline, advice, (*reasons, *_rarely(compared)))
    if ratio.high < MOST:
        return Verdict(
            NOT_STABILIZED,
            f"Bagging does not stabilize this learner: {one} moves its {quantity} about as far as before.",
            "Use smaller bags: fewer of them then contain a row.",
            (*reasons, _interval(ratio)),
        )
    if noise > compared.bagged_rms and more:
        return Verdict(
            NOT_ENOUGH_BAGS,
            "There are not enough bags to tell: most of what is measured of the bagged model is their noise.",
            f"{more}.",
            (*reasons, _interval(ratio)),
        )
    return Verdict(
        NOT_ENOUGH_REFITS,
        f"It cannot be told whether bagging stabilizes this learner: too few {noun.plural} move it at all.",
        f"Refit the base learner without more {noun.plural} (--refits), or hold out more rows.",
        (*reasons, _interval(ratio), *_rarely(compared)),
    )


def _of_spread(compared: Comparison, spread: float | None) -> str:
    """Moves in units of the spread of the targets, where that is known."""
    if spread is None or not spread > 0:
        return ""
    share = compared.bagged_rms / spread
    return f", {f'{share:.0%}' if share > 0.01 else 'less than 1%'} of the spread of the targets"


def _numbers(compared: Comparison) -> tuple[str, ...]:
    """What moves come to: over which rows and points, of both models, and of the noise."""
    bags, noise = compared.bagged.bags, number(float(f"{compared.noise:.2g}"))
    base = "" if compared.base is None else f"{number(compared.base_rms)} for the base learner and "
    by = f"The typical move (root mean square by {compared.where()}) is {base}"
    if not compared.noise or bags is None or bags.n_bags is None:
        return (f"{by}{number(compared.bagged_rms)} for the bagged model.",)
    drawn = f"the noise of its {bags.n_bags:,} bags"
    if compared.bagged_rms == 0:
        return (f"{by}below {drawn}, {noise}, for the bagged model.",)
    return (f"{by}{number(compared.bagged_rms)} for the bagged model, without {drawn}, {noise}.",)


def _rarely(compared: Comparison) -> tuple[str, ...]:
    """That a learner which seldom moves does so far, and its bagged version often and little."""
    if compared.base is None or not compared.still > 0.5:
        return ()
    (moved, furthest), (also, after) = (_changed(each.values) for each in (compared.base, compared.bagged))
    total = compared.base.values.size
    return (
        f"Of {total:,} predictions (each left-out {compared.bagged.noun.singular} at each test point), {moved:,} of "
        f"the base learner changed, by up to {short(furthest)}; {also:,} of the bagged model changed, by up to "
        f"{short(after)}.",
    )


def _changed(values: np.ndarray) -> tuple[int, float]:
    """How many moves there are, and the largest."""
    largest = float(values.max(initial=0.0))
    return int(np.count_nonzero(values > 1e-12 * largest)), largest


def _interval(ratio: Ratio) -> str:
    if math.isinf(ratio.high):
        return f"The base learner's moves are at least {_times(ratio.low)} times those of the bagged model."
    return f"The base learner's moves are {_times(ratio.low)} to {_times(ratio.high)} times those of the bagged model."


def _more_bags(compared: Comparison, n_bags: int | None) -> int:
    """How many bags would make their noise half as large as the base learner's moves; 0 if these are enough."""
    if n_bags is None or not compared.base_rms > 0 or compared.noise <= compared.base_rms / 2:
        return 0
    exact = n_bags * (2 * compared.noise / compared.base_rms) ** 2
    unit = 10 ** max(0, math.floor(math.log10(exact)) - 1)
    return int(math.ceil(exact / unit) * unit)


def _times(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{float(f'{value:.2g}'):,.0f}"
