"""The verdict of a study: one of a few plain cases, decided by declared rules, with advice and the numbers behind."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from stablebag._wording import ROWS, number
from stablebag.showing.comparison import ESTIMATED, LIMIT, REFITTED, SURE, Comparison, Ratio
from stablebag.showing.scores import Loss, difference

STABILIZED = "stabilized"
ALREADY_STABLE = "already stable"
NOT_STABILIZED = "not stabilized"
NOT_ENOUGH_BAGS = "not enough bags"
NOT_ENOUGH_REFITS = "not enough refits"
COSTS_ACCURACY = "costs accuracy"
NO_BETTER = "no better than a constant"
NOT_COMPARED = "not compared"

LEAST = 1.1  # times smaller that changes must be, without any one row or point, to be called stabilized
MOST = 1.5  # times smaller that they may at most be, without any one row or point, to be called no smaller
LITTLE = 0.05  # of the spread of the targets: a model that changes less is stable already
WORTH = 0.02  # of the loss: what a difference must exceed besides its standard errors
HINT = 1.0  # standard errors by which a loss must be smaller than a constant's
FEWEST_REFITS = 60  # rows that must be left out without any change before a model is called stable: 3 / 60 is 5 %
FEWEST = 20  # held-out rows without which nothing is said of accuracy


@dataclass(frozen=True)
class Verdict:
    """What a study comes to, by rules that are declared here.

    The base model and the bagged model, with the bags it has, are both refitted without the same rows, with the same
    seed, and their changes at the same points are compared by root mean squares, as `Comparison` has them. The ratio
    comes with the smallest and the largest that it is if any one row or point is taken out. In this order, the first
    rule that applies is the verdict and the others are remarks:

    1. *no better than a constant*: with at least 20 held-out rows, the bagged model's loss (the squared error, or the
       Brier score) is not smaller than that of a constant even by one standard error of the paired difference.
    2. *costs accuracy*: with at least 20 held-out rows, some loss of the bagged model (the squared error; the Brier
       score, the share of wrong decisions, the log loss) is larger than the base learner's by more than two standard
       errors of the paired difference and by more than 2 % of it.
    3. About stability, one of these:

       - *not compared*: the base model was not measured, as where the rows are not in memory.
       - *already stable*: the base model does not change at all without each of 60 rows, or of all; or it changes by
         less than 5 % of the spread of the targets, and bagging makes that less than 1.5 times smaller, even without
         any one row or point.
       - *not enough bags*: the bagged model was not refitted, and the noise of its bags is at least as large as the
         base model's change.
       - *stabilized*: the ratio is above 1.1, even without any one row or point.
       - *not enough bags*: neither, and most of the bagged model's change is bagging noise, which is more than half
         as large as the base model's change.
       - *not stabilized*: the ratio is below 1.5, even without any one row or point.
       - *not enough refits*: otherwise. The answer rests on a single row or point.

    Attributes
    ----------
    case : str
        One of "stabilized", "already stable", "not stabilized", "not enough bags", "not enough refits", "costs
        accuracy", "no better than a constant" and "not compared".
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
    *,
    spread: float | None = None,
    quantity: str = "predictions",
) -> Verdict:
    """Decide what a study comes to, by the rules of `Verdict`.

    Parameters
    ----------
    compared : Comparison
        The changes of the base model and of the bagged model.
    losses : tuple of Loss, default=()
        Losses at held-out rows, the one that says most of a model first.
    spread : float or None, default=None
        The standard deviation of the targets, in which changes are large or small; None if it is not known.
    quantity : str, default="predictions"
        What changes.

    Returns
    -------
    Verdict
    """
    first, *others = [*_of_accuracy(losses), _of_stability(compared, spread, quantity)]
    if first.case == NO_BETTER:  # what to do about stability comes later, if at all
        others = [replace(other, advice="") for other in others]
    return replace(first, remarks=tuple(others))


def _of_accuracy(losses: tuple[Loss, ...]) -> Iterator[Verdict]:
    losses = tuple(loss for loss in losses if len(loss.bagged) >= FEWEST)
    if losses:
        better, error = difference(losses[0].bagged, losses[0].constant)
        if better > -HINT * error:
            yield Verdict(
                NO_BETTER,
                f"It cannot be told from {len(losses[0].bagged):,} held-out rows that the bagged model predicts better "
                "than a constant.",
                "Look at the columns and the target, or at another learner, before stability: a constant is stable, "
                "too.",
                (_beside(losses[0], losses[0].constant, "a constant"),),
            )
    worse = [loss for loss in losses if loss.base is not None and _is_worse(loss)]
    if worse:
        yield Verdict(
            COSTS_ACCURACY,
            f"Bagging costs accuracy here: the {worse[0].name} on {len(worse[0].bagged):,} held-out rows rises by more "
            "than chance explains.",
            "Try larger bags or another learner, or accept it as the cost of stability.",
            tuple(_beside(loss, loss.base, "the base learner") for loss in worse if loss.base is not None),
        )


def _is_worse(loss: Loss) -> bool:
    assert loss.base is not None
    rise, error = difference(loss.bagged, loss.base)
    return rise > SURE * error and rise > WORTH * float(loss.base.mean())


def _beside(loss: Loss, theirs: np.ndarray, whose: str) -> str:
    """A loss of the bagged model beside another's, in units of the other's."""
    rise, error = difference(loss.bagged, theirs)
    unit = float(theirs.mean())
    if unit == 0:
        return f"{loss.name}: 0 for {whose}, {number(float(loss.bagged.mean()))} for the bagged model."
    way = "more" if rise > 0 else "less"
    return (
        f"{loss.name}: for the bagged model {abs(rise) / unit:.1%} {way} than for {whose} (standard error "
        f"{error / unit:.1%})."
    )


def _of_stability(compared: Comparison, spread: float | None, quantity: str) -> Verdict:
    noun = compared.bagged.noun
    if compared.base is None:
        return _not_compared(compared, spread, quantity)
    before, reasons, noise = compared.base_rms, _numbers(compared), compared.noise
    is_little = spread is not None and before <= LITTLE * spread
    is_noise = noise > compared.limit_rms  # most of the bagged model's change
    moves = compared.how != LIMIT and compared.bagged_rms > 0
    unseen = compared.n_samples - compared.n_rows
    if before == 0 and unseen and compared.n_rows < FEWEST_REFITS:
        return Verdict(
            NOT_ENOUGH_REFITS,
            f"{noun.count(compared.n_rows)} are too few to say whether the base model is stable: leaving out each of "
            "them changed nothing.",
            f"Refit it without more {noun.plural} (--refits).",
            reasons,
        )
    if before == 0:
        some = noun.count(compared.n_rows)
        if unseen:
            reasons += (f"Of the {noun.plural} that were not left out, up to {min(1.0, 3 / compared.n_rows):.1%} may "
                        "still change it (with 95% confidence).",)  # fmt: skip
        return Verdict(
            ALREADY_STABLE,
            f"The base model is stable already: leaving out each of {some} changes its {quantity} at no test point.",
            "Do not bag it for stability"
            + (f": bagged, it changes by {_three(compared.bagged_rms)}." if moves else "."),
            reasons,
        )
    ratio, enough = compared.ratio(), _enough_bags(compared)
    reasons += _rests_on(compared, ratio)
    more = f"Use {enough:,} bags, so that bagging noise is half as large as the base model's change" if enough else ""
    if ratio.high < MOST and (is_little or spread is None):
        adds = "bagging adds only noise" if is_noise else "bagging does not make it more so"
        kept = f"{more}, or do not bag." if is_noise and more else "There is no need to bag it for stability."
        return Verdict(ALREADY_STABLE, f"The base model is stable already, and {adds}.", kept, reasons)
    if compared.how == LIMIT and noise >= before:
        return Verdict(
            NOT_ENOUGH_BAGS,
            "There are not enough bags to compare the models: bagging noise is as large as the base model's change.",
            f"{more}." if more else "",
            reasons,
        )
    if ratio.low > LEAST:
        advice = "Use the bagged model."
        if compared.how != LIMIT and is_noise and compared.n_bags:
            advice += f" Most of its remaining change is bagging noise: {4 * compared.n_bags:,} bags would halve that."
        return Verdict(STABILIZED, _stabilized(compared, ratio, quantity), advice, (*reasons, *_rarely(compared)))
    if is_noise and more:
        return Verdict(
            NOT_ENOUGH_BAGS,
            f"{compared.n_bags:,} bags are too few to say whether bagging stabilizes this model: most of its change is "
            "bagging noise.",
            f"Use {max(enough, 4 * (compared.n_bags or 0)):,} bags, so that bagging noise is at most half as large as "
            "the base model's change.",
            (*reasons, *_rarely(compared)),
        )
    if ratio.high < MOST:
        return Verdict(
            NOT_STABILIZED,
            f"Bagging does not stabilize this model: {_one(compared)} changes its {quantity} about as much as before.",
            "Use smaller bags: fewer of them then contain a row.",
            reasons,
        )
    few, rests = ("refits", f"a single {noun.singular} or test point") if unseen else ("test points", "one of them")
    return Verdict(
        NOT_ENOUGH_REFITS,
        f"There are too few {few} to say whether bagging stabilizes this model: the answer rests on {rests}.",
        f"Refit without more {noun.plural} (--refits, --matched), or hold out more rows."
        if unseen
        else "Hold out more rows.",
        (*reasons, *_rarely(compared)),
    )


def _not_compared(compared: Comparison, spread: float | None, quantity: str) -> Verdict:
    """What is known of the bagged model alone."""
    noun = compared.bagged.noun
    one = "leaving out a row" if noun == ROWS else f"leaving out {noun.any_one}"
    apart = f"Apart from bagging noise, {one} typically" if compared.how == LIMIT else f"Typically, {one}"
    far = f"{_three(compared.limit_rms)}{_of_spread(compared, spread)}"
    moved = f"{apart} changes the bagged model's {quantity} by {far}."
    if not compared.limit_rms and compared.noise:
        moved = (
            f"Typically, {one} changes the bagged model's {quantity} by less than the noise of its bags, "
            f"{_three(compared.noise)}."
        )
    elif not compared.limit_rms:
        some = noun.count(compared.n_rows)
        moved = f"Leaving out each of {some} changes the bagged model's {quantity} at no test point."
    return Verdict(NOT_COMPARED, moved, compared.reason, _numbers(compared))


def _one(compared: Comparison) -> str:
    noun = compared.bagged.noun
    doing = "leaving out" if compared.how == LIMIT else "refitting without"
    return f"{doing} one row" if noun == ROWS else f"{doing} {noun.any_one}"


def _stabilized(compared: Comparison, ratio: Ratio, quantity: str) -> str:
    times = f"{_times(ratio.value)} times less"
    if math.isinf(ratio.value):
        times = "by less than bagging noise" if compared.how == LIMIT else "not at all"
    elif compared.how == ESTIMATED:
        times = f"about {times} (estimated)"
    apart = "Apart from bagging noise, bagging" if compared.how == LIMIT else "Bagging"
    return f"{apart} stabilizes this model: {_one(compared)} changes its {quantity} {times}."


def _of_spread(compared: Comparison, spread: float | None) -> str:
    """Changes in units of the spread of the targets, where that is known."""
    if spread is None or not spread > 0:
        return ""
    share = compared.limit_rms / spread
    return f", {f'{share:.0%}' if share > 0.01 else 'less than 1%'} of the spread of the targets"


def _numbers(compared: Comparison) -> tuple[str, ...]:
    """How large the typical changes are, how they were measured, and what of them is noise."""
    noun, by = compared.bagged.noun, compared.where()
    what = f"Typical change (root mean square) without one {noun.singular}"
    base = "" if compared.base is None else f"{_three(compared.base_rms)} for the base model, "
    noise, limit = _three(compared.noise), _three(compared.limit_rms)
    bags = f"its {compared.n_bags:,} bags" if compared.n_bags else "its bags"
    if compared.how == LIMIT:
        apart = f"{limit} for the bagged model, apart from the noise of {bags} ({noise})"
        below = f"below the noise of {bags} ({noise}) for the bagged model"
        return (f"{what}: {base}{apart if compared.limit_rms else below}; without {by}.",)
    if compared.how == ESTIMATED:
        total = f"about {_three(compared.bagged_rms)} for the bagged model with {bags}"
        source = f"one refitted bag for each {noun.singular}"
        if compared.n_refitted:
            source = f"its bags and from refits without {compared.n_refitted:,} of these {noun.plural}"
        said = f"{what}: {base}{total}; without {by}. That of the bagged model is estimated from {source}."
    else:
        total = f"{_three(compared.bagged_rms)} for the bagged model"
        total += f" with {bags}" if compared.n_bags else ""
        said = f"{what}: {base}{total}; refitted without {by}."
    if not compared.noise:
        return (said,)
    rest = f"Of the bagged model's {_three(compared.bagged_rms)}, {noise} is bagging noise (squares add up)."
    if not compared.limit_rms:
        return said, f"{rest} What infinitely many bags would leave is too small to measure."
    less = ""
    if compared.base is not None and compared.base_rms > 0:
        times = compared.limit_ratio()
        less = f", {_times(times)} times less than the base model" if times > 1 else ""
    return said, f"{rest} Infinitely many bags would leave about {limit}{less}."


def _rarely(compared: Comparison) -> tuple[str, ...]:
    """That a model which seldom changes does so by much, and its bagged version often and by little."""
    if compared.base is None or not compared.still > 0.5:
        return ()
    furthest, cases = float(compared.base.values.max()), compared.base.values.size
    one, changed = compared.bagged.noun.singular, f"{compared.n_changed:,} of {cases:,} predictions"
    said = f"Leaving out a {one} changed {changed} of the base model, by up to {_three(furthest)}"
    after = compared.refitted if compared.refitted is not None else compared.bagged
    if compared.how != REFITTED:
        return (f"{said}.",)
    return (f"{said}; those of the bagged model changed by at most {_three(float(after.values.max()))}.",)


def _rests_on(compared: Comparison, ratio: Ratio) -> tuple[str, ...]:
    """Whether the ratio rests on a single row or point."""
    if math.isnan(ratio.value) or compared.n_rows < 2:
        return ()
    noun = compared.bagged.noun
    one = f"{noun.singular} or test point" if compared.n_rows < compared.n_samples else "test point"
    said = f"The base model's change is {_times(ratio.value)} times the bagged model's"
    if math.isinf(ratio.value):
        below = "less than bagging noise" if compared.how == LIMIT else "nothing"
        said = f"The base model changes and the bagged model changes by {below}"
    ends = [_times(end) for end in (ratio.low, ratio.high)]
    if len({*ends, _times(ratio.value)}) == 1:
        return (f"{said}, and about the same if any one {one} is taken out of the comparison.",)
    between = f"at least {ends[0]}" if math.isinf(ratio.high) else f"{ends[0]} to {ends[1]}"
    return (f"{said}; {between} if any one {one} is taken out of the comparison.",)


def _enough_bags(compared: Comparison) -> int:
    """How many bags would make their noise half as large as the base model's change; 0 if these are enough."""
    if not compared.n_bags or not compared.base_rms > 0 or compared.noise <= compared.base_rms / 2:
        return 0
    exact = compared.n_bags * (2 * compared.noise / compared.base_rms) ** 2
    unit = 10 ** max(0, math.floor(math.log10(exact)) - 1)
    return int(math.ceil(exact / unit) * unit)


def _times(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{float(f'{value:.2g}'):,.0f}"


def _three(value: float) -> str:
    """A number with three digits, as sentences have them."""
    return number(float(f"{value:.3g}"))
