"""The verdict of a study, decided by declared rules: four lines that sum it up, advice, and the numbers behind it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import hypergeom

from stablebag._wording import (
    ROUNDING,
    ROWS,
    about_count,
    number,
    option,
    percent,
    printable,
    short,
)
from stablebag.showing.comparison import ESTIMATED, LIMIT, REFITTED, Comparison, Ratio
from stablebag.showing.scores import Covered, Difference, Loss, Ranking, Unseen, UnseenError, difference

STABILIZED = "stabilized"
ALREADY_STABLE = "already stable"
NOT_STABILIZED = "not stabilized"
NOT_ENOUGH_BAGS = "not enough bags"
NOT_ENOUGH_REFITS = "not enough refits"
COSTS_ACCURACY = "costs accuracy"
NO_BETTER = "no better than a constant"
TOO_FEW = "too few rows"
ONLY_RANKS = "ranks, but no better than a constant"
NOT_COMPARED = "not compared"
UNTIL_CHECKED = "Until these are settled, the results below say little about new rows."
USE = "Use the bagged model."  # if it is stabilized, and nothing about accuracy speaks against it
NO_NEED = "You do not need bagging for stability here."
_MEND = "Fix accuracy first: check the columns and the target, or try another model. A constant is trivially stable."
NO_GAIN = "Use the base model: bagging costs accuracy here, and does not make it more stable."

_NOT_HELPED = {ALREADY_STABLE, NOT_STABILIZED}  # by bagging
LEAST = 1.1  # "stabilized" needs changes this many times smaller, whichever row or point is taken out
MOST = 1.5  # "not stabilized" needs them less than this many times smaller, whichever row or point is taken out
LITTLE = 0.05  # of the spread of the target: smaller typical changes are called stable
WORTH = 0.02  # relative: a smaller difference of losses does not matter, however clear it is
FEWEST_RANKED = 3  # rows; two rows are in the right order in half of all cases
NEAR = 3.0  # standard errors; an unclear difference below this "may be chance"
_MOST_TIMES = 100  # as many rows as there are: beyond that, a number of rows is no advice
FEWEST_REFITS = 60  # rows left out without any change before a model is called stable (3 / 60 is 5 %)


@dataclass(frozen=True)
class Verdict:
    """The conclusion of a study, by the rules below.

    Both models are refitted without the same rows, with the same seed: the base model, and the bagged model with its
    number of bags. Their changes at the same points are compared by root mean squares (`Comparison`). The ratio comes
    with the smallest and the largest ratio after taking out any one row or point. The first of these rules that applies
    is the verdict, and the others are remarks:

    1. About accuracy, one of these, or none. The loss of the model (the squared error, or the Brier score) is compared
       with that of a constant twice: at the training rows, each predicted by the bags without it (`Unseen`), and at the
       held-out rows (`Difference`). The model *ranks* if the order of its predictions at the held-out rows agrees with
       their targets better than chance explains, at 5 % (`Ranking`). It *beats a constant* if its loss is clearly
       smaller at the training rows, and not clearly larger at the held-out rows; or if it ranks the held-out rows, and
       its loss is clearly smaller there. If the held-out rows are clearly harder than the training rows suggest, only
       they count.

       - *too few rows*: it does not beat a constant, and its loss at the training rows is neither clearly larger nor
         equal. Either an AUC of 0.7, or a rank correlation of 0.4, could go unnoticed on so few held-out rows;
         or its loss is larger than a constant's at the training rows, though not clearly, and smaller at the held-out
         rows, which it ranks.
       - *no better than a constant*: it does not beat a constant, and does not rank.
       - *ranks, but no better than a constant*: it ranks, but does not beat a constant: its loss at the held-out rows
         is larger, or clearly larger at the training rows.

    2. *costs accuracy*: some loss of the bagged model (the squared error; the Brier score, the share of wrong
       decisions, the log loss) is clearly larger than the base model's, and by more than 2 % of it.
       If the first loss is larger by more than 2 %, but not clearly, or if the log loss is more than 2 % above a
       constant's, the verdict stays the same, but the advice is not "Use the bagged model".
    3. About stability, one of these:

       - *not compared*: the base model was not measured, for example because the rows are not in memory.
       - *already stable*: the base model does not change at all without each of 60 rows, or of all; or it changes by
         less than 5 % of the spread of the targets, and bagging makes that less than 1.5 times smaller, even without
         any one row or point.
       - *not enough bags*: the bagged model was not refitted, and bagging noise is at least as large as the base
         model's change.
       - *stabilized*: the ratio is above 1.1, even without any one row or point.
       - *not enough bags*: neither, and most of the bagged model's change is bagging noise, which is more than half
         as large as the base model's change.
       - *not stabilized*: the ratio is below 1.5, even without any one row or point.
       - *not enough refits*: otherwise. The answer rests on a single row or point.

    Attributes
    ----------
    case : str
        One of "stabilized", "already stable", "not stabilized", "not enough bags", "not enough refits", "costs
        accuracy", "too few rows", "no better than a constant", "ranks, but no better than a constant" and
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
    covered: Covered | None = None,
    unseen: Unseen | None = None,
) -> Verdict:
    """Decide what a study comes to, by the rules of `Verdict`.

    Parameters
    ----------
    compared : Comparison
        The changes of the base model and of the bagged model.
    losses : tuple of Loss, default=()
        Losses at held-out rows, the one that says most of a model first.
    ranking : Ranking or None, default=None
        How well the bagged model ranks these rows; without it, the model is not compared with a constant.
    spread : float or None, default=None
        The standard deviation of the targets, in which changes are large or small; None if it is not known.
    quantity : str, default="predictions"
        What changes.
    covered : Covered or None, default=None
        How many of the held-out targets are in their prediction intervals, if there are any.
    unseen : Unseen or None, default=None
        What the training rows say about unseen rows.

    Returns
    -------
    Verdict
    """
    first, *others = [*_of_accuracy(losses, ranking, unseen), _of_stability(compared, spread, quantity)]
    if others:  # what to do about stability must not contradict what was found about accuracy
        found = {other.case for other in others}
        if first.case == COSTS_ACCURACY and found & _NOT_HELPED:
            first = replace(first, advice=NO_GAIN)
        over = {STABILIZED, *_NOT_HELPED} if first.case == COSTS_ACCURACY else found
        others = [replace(other, advice="") if other.case in over else other for other in others]
    elif first.case == STABILIZED and (doubts := " ".join(_doubts(losses))):
        first = replace(first, advice=f"{doubts} {first.advice.removeprefix(USE).strip()}".rstrip())
    of_base = (
        () if first.case == COSTS_ACCURACY or COSTS_ACCURACY in {other.case for other in others} else _of_base(losses)
    )
    facts = (*_of_unseen(unseen), *_of_constant(losses, ranking), *of_base, *_of_coverage(covered))
    return replace(first, reasons=(*facts, *first.reasons), remarks=tuple(others))


def _beats_constant(losses: tuple[Loss, ...], ranking: Ranking | None, unseen: Unseen | None) -> bool:
    """Whether the bagged model beats a constant, by the training rows or else by the held-out rows."""
    by_training = unseen is not None and unseen.beats is True
    if not losses or ranking is None:
        return by_training
    found = difference(losses[0], losses[0].constant)
    by_held_out = ranking.is_real and found.is_smaller and not (unseen is not None and unseen.beats is False)
    return by_held_out or (by_training and not found.is_larger)


def _of_accuracy(losses: tuple[Loss, ...], ranking: Ranking | None, unseen: Unseen | None) -> Iterator[Verdict]:
    """Findings about accuracy, which come before stability."""
    is_worse = unseen is not None and unseen.beats is False  # clearly, at the training rows
    if unseen is not None and is_worse and (not losses or ranking is None):
        yield Verdict(NO_BETTER, f"On unseen {unseen.noun.plural}, {_no_better(unseen)}.", _MEND)
    if losses and ranking is not None and not _beats_constant(losses, ranking, unseen):
        found = difference(losses[0], losses[0].constant)
        of_numbers = ranking.name != "AUC"
        is_above = unseen is not None and unseen.beats is None and unseen.is_above
        if not is_worse and (ranking.are_few or (ranking.is_real and found.mean <= 0 and is_above)):
            few = f"{_held_out(ranking)}{_few_of(ranking)}"
            if unseen is not None and unseen.against is not None and not unseen.is_harder:
                few = f"{_training(unseen)} and {few}"
            are = "is" if ranking.n == 1 and few.startswith("1 ") else "are"
            yield Verdict(
                TOO_FEW,
                f"{few} {are} too few to say whether the bagged model beats a constant.",
                "Gather more rows before you rely on its predictions."
                if unseen is not None
                else f"Hold out more rows ({option('test_size')}), or gather more, before you rely on its predictions.",
            )
        elif not ranking.is_real:
            worse = f"On unseen {unseen.noun.plural}, {_no_better(unseen)}." if unseen is not None else ""
            clear = f"On {ranking.n:,} held-out rows, the bagged model does not clearly beat a constant."
            yield Verdict(NO_BETTER, worse if is_worse else clear, _MEND)
        elif found.mean > 0 or is_worse:
            how = "well" if ranking.is_good else "better than chance"
            ranks = (
                f"The bagged model ranks {how} ({ranking.name} {short(ranking.value, 1)} on {ranking.n:,} held-out "
                "rows), but"
            )
            what = "predictions" if of_numbers else "probabilities"
            worse = f"its {what} are worse than a constant's" if found.is_larger or is_worse else (
                f"on these rows its {what} were no better than a constant's")  # fmt: skip
            if unseen is not None and is_worse and unseen.is_constant:
                worse = "on unseen rows its errors are those of a constant"
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
            tuple(_relative(loss, difference(loss, loss.base), "the base model's", float(loss.base.mean()))
                  for loss in worse_than if loss.base is not None),
        )  # fmt: skip


def _no_better(unseen: Unseen) -> str:
    return f"the bagged model is {'as good as' if unseen.is_constant else 'worse than'} a constant"


def _training(unseen: Unseen) -> str:
    return f"{unseen.n:,} training {unseen.noun.plural if unseen.n != 1 else unseen.noun.singular}"


def _held_out(ranking: Ranking) -> str:
    return f"{ranking.n:,} held-out {'row' if ranking.n == 1 else 'rows'}"


def _few_of(ranking: Ranking) -> str:
    """How many groups the held-out rows have, and how many rows of the rarer class, in brackets."""
    among = [] if ranking.n_groups is None else [f"of {ranking.groups.count(ranking.n_groups)}"]
    if ranking.rarest is not None:
        label, n = ranking.rarest
        among.append(f"{n:,} of class {printable(label, 20)!r}")
    return f" ({', '.join(among)})" if among else ""


def _doubts(losses: tuple[Loss, ...]) -> Iterator[str]:
    """Findings about accuracy that are too unclear for a verdict, but replace "Use the bagged model"."""
    is_larger = bool(losses) and _was_larger(losses[0])
    if is_larger:
        yield f"It is more stable, but {_above_base(losses[0])}; hold out more rows to see whether that is chance."
    if any(loss.name == "log loss" and _is_too_sure(loss) for loss in losses):
        calibrated = "(for example with scikit-learn's CalibratedClassifierCV)"
        yield f"Calibrate its probabilities in any case {calibrated}." if is_larger else _calibrate(losses)


def _above_base(loss: Loss) -> str:
    """How far a loss of the bagged model was above the base model's."""
    n = len(loss.bagged)
    rows = "this held-out row" if n == 1 else f"these {n:,} held-out rows"
    return f"on {rows} its {loss.name} was {_next_to_base(loss)}"


def _next_to_base(loss: Loss) -> str:
    """How many times the base model's a loss is, if it is larger, or by which share it is above."""
    assert loss.base is not None
    before, after = float(loss.base.mean()), float(loss.bagged.mean())
    if before == 0:
        return "above the base model's, which is 0"
    times = after / before
    return f"{_times(times)} times the base model's" if times >= 2 else f"{percent(times - 1)} above the base model's"


def _calibrate(losses: tuple[Loss, ...]) -> str:
    """Advice for a model with overconfident probabilities."""
    wrong = next((loss for loss in losses if loss.name == "share of wrong decisions"), None)
    decides = wrong is None or wrong.bagged.mean() <= wrong.constant.mean()
    return (
        f"Use its ranking{' and decisions' if decides else ''}, or calibrate its probabilities first (for example "
        "with scikit-learn's CalibratedClassifierCV)."
    )


def _is_too_sure(loss: Loss) -> bool:
    """Whether a log loss was above a constant's by more than 2 %."""
    return float(loss.bagged.mean()) > (1 + WORTH) * float(loss.constant.mean())


def _was_larger(loss: Loss) -> bool:
    """Whether the bagged model's loss was larger than the base model's by more than 2 %, clearly or not."""
    if loss.base is None or not len(loss.base):
        return False
    least = (1 + WORTH) * float(loss.base.mean()) + ROUNDING * float(loss.constant.mean())
    return float(loss.bagged.mean()) > least


def _of_constant(losses: tuple[Loss, ...], ranking: Ranking | None) -> tuple[str, ...]:
    """Reasons that compare the bagged model with a constant on the held-out rows."""
    if not losses or ranking is None:
        return ()
    first, *others = losses
    found, rows = difference(first, first.constant), f"{ranking.n:,} held-out row{'s' * (ranking.n != 1)}"
    what = "predictions" if ranking.name != "AUC" else "probabilities"
    guessing = f"{ranking.name} {short(ranking.value, 1)}, where guessing gives {ranking.by_chance:g} on average"
    relative = _relative(first, found, "a constant's", float(first.constant.mean()))
    if math.isnan(ranking.value):
        all_rows = f"All {rows} have the same target, so they" if ranking.n > 1 else rows
        said = f"{all_rows} cannot show whether the model ranks."
    elif ranking.is_real and found.is_smaller:
        said = f"The bagged model beats a constant on {rows}: {guessing}."
    elif ranking.is_real and found.mean <= 0:
        said = (
            f"The bagged model ranks {rows} better than chance ({guessing}), but they are too few to say "
            f"whether its {what} beat a constant's."
        )
    else:
        said = f"{guessing[0].upper()}{guessing[1:]}." if ranking.n >= FEWEST_RANKED else ""
    sharp = [
        f"Its log loss was above a constant's on these rows ({short(float(loss.bagged.mean()))} against "
        f"{short(float(loss.constant.mean()))}): it was too sure where it was wrong."
        for loss in others
        if loss.name == "log loss" and _is_too_sure(loss)
    ]
    return tuple(filter(None, (said, relative, *sharp)))


def _of_base(losses: tuple[Loss, ...]) -> Iterator[str]:
    """A reason that compares the first loss at the held-out rows with the base model's."""
    if not losses or losses[0].base is None or not len(losses[0].base):
        return
    first, base = losses[0], losses[0].base
    found = difference(first, base)
    low, high = (end * first.unit for end in found.ends)
    interval = ""
    if low < high and not _is_rounding(found, first):  # numbers that are too small for floats have equal ends
        interval = f" The 95% interval of the difference is from {three_digits(low)} to {three_digits(high)}."
    yield _relative(first, found, "the base model's", float(base.mean())) + interval


def _of_unseen(unseen: Unseen | None) -> Iterator[str]:
    """Reasons about unseen rows, from the training rows."""
    if unseen is None:
        return
    at = f"at {_training(unseen)}, each predicted by the bags without it"
    for error in unseen.errors:
        named = f"{capitalized(error.name)} on unseen {unseen.noun.plural}"
        yield f"{named}: {three_digits(error.bagged)}{_interval(error)}, estimated {at}."
    if unseen.against is not None and unseen.compared is not None:
        verdict = unseen.against.verdict
        like = " like the training rows" if unseen.is_harder else ""
        yield f"By the {unseen.compared.loss} on unseen {unseen.noun.plural}{like}, {verdict[0].lower()}{verdict[1:]}"


def capitalized(text: str) -> str:
    """Return a text with a capital first letter."""
    return text[:1].upper() + text[1:]


def _interval(error: UnseenError) -> str:
    """The interval of an error in brackets; "" if there is none."""
    if error.interval is None:
        return ""
    return f" ({percent(error.interval.confidence_level)} interval {error.interval_text()})"


def _of_coverage(covered: Covered | None) -> tuple[str, ...]:
    """A reason if prediction intervals miss more held-out targets than chance explains."""
    if covered is None or not covered.is_low:
        return ()
    return (
        f"Only {percent(covered.share)} of {covered.n:,} held-out targets are in their {percent(covered.level)} "
        "intervals: the held-out rows seem to differ from the training rows.",
    )


def _is_worse(loss: Loss) -> bool:
    assert loss.base is not None
    return difference(loss, loss.base).is_larger and _was_larger(loss)


def _is_rounding(found: Difference, loss: Loss) -> bool:
    """Whether a difference of losses is nothing but rounding errors."""
    return abs(found.mean) <= ROUNDING * float(loss.constant.mean())


def _relative(loss: Loss, found: Difference, whose: str, unit: float) -> str:
    """A loss of the bagged model relative to another, and whether the difference may be chance.

    The standard error of the difference is not that of the ratio, so the sentence does not have it.
    """
    name = f"{capitalized(loss.name)} on held-out rows"
    if _is_rounding(found, loss):
        return f"{name}: the same as {whose}."
    if unit == 0:
        return f"{name}: above {whose}, which is 0."
    way, may_be_chance = "below", not found.is_smaller
    if found.mean > 0:  # also where it is far above, and too few rows carry that for the test
        way, may_be_chance = "above", not found.is_larger and not found.mean > NEAR * found.error
    chance = ", which may be chance" if may_be_chance else ""
    return f"{name}: {percent(abs(found.mean) / unit)} {way} {whose}{chance}."


def _of_stability(compared: Comparison, spread: float | None, quantity: str) -> Verdict:
    noun = compared.bagged.noun
    if compared.base is None:
        return _not_compared(compared, spread, quantity)
    before, reasons, noise = compared.base_rms, _numbers(compared), compared.noise
    is_little = spread is not None and before <= LITTLE * spread
    is_noise = noise > compared.limit_rms  # most of the bagged model's change
    moves = compared.how != LIMIT and compared.bagged_rms > 1e-3 * compared.scale
    unseen, n_left_out = compared.n_samples - compared.n_rows, len(compared.base.rows)
    if before == 0 and compared.base_changes:
        return Verdict(
            NOT_ENOUGH_REFITS,
            f"There are too few refits of the bagged model to compare it: leaving out the same "
            f"{noun.count(compared.n_rows)} does not change the base model at any test point, but leaving out others "
            "does.",
            f"Use more refits of the bagged model ({option('n_matched')}).",
            reasons,
        )
    if before == 0 and n_left_out < min(FEWEST_REFITS, compared.n_samples):
        return Verdict(
            NOT_ENOUGH_REFITS,
            f"{noun.count(n_left_out)} are too few to say whether the base model is stable: leaving out each of "
            "them changed nothing.",
            f"Use more refits ({option('n_refits')}).",
            reasons,
        )
    if before == 0:
        some = noun.count(n_left_out)
        if others := compared.n_samples - n_left_out:
            most = _most_unseen(compared.n_samples, n_left_out)
            up_to = f"up to {most:,} of the {others:,} other {noun.plural}" if most else f"no other {noun.singular}"
            reasons += (f"With 95% confidence, {up_to} would change it.",)
        return Verdict(
            ALREADY_STABLE,
            f"The base model is already stable: leaving out any one of {some} does not change its {quantity} at any "
            "test point.",
            NO_NEED + (f" Bagged, it changes by {three_digits(compared.bagged_rms)}." if moves else ""),
            reasons,
        )
    ratio, enough = compared.ratio(), _enough_bags(compared)
    reasons += _rests_on(compared, ratio)
    more = f"Use {enough:,} bags, so that bagging noise is half as large as the base model's change" if enough else ""
    if ratio.high < MOST and (is_little or spread is None):
        adds = "bagging adds only noise" if is_noise else "bagging does not make it more stable"
        return Verdict(ALREADY_STABLE, f"The base model is already stable, and {adds}.", NO_NEED, reasons)
    if compared.how == LIMIT and (noise >= before or (not compared.is_close and compared.at_least() < MOST)):
        large = "as large as the base model's change" if noise >= before else "most of what was measured"
        return Verdict(
            NOT_ENOUGH_BAGS,
            f"There are not enough bags to compare the models: bagging noise is {large}.",
            f"{more}." if more else f"Use more than {compared.n_bags:,} bags." if compared.n_bags else "",
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
            "Use smaller bags, so that fewer bags contain any one row.",
            reasons,
        )
    few, rests = ("refits", f"a single {noun.singular} or test point") if unseen else ("test points", "one of them")
    return Verdict(
        NOT_ENOUGH_REFITS,
        f"There are too few {few} to say whether bagging stabilizes this model: the answer rests on {rests}.",
        f"Use more refits ({option('n_refits')}, {option('n_matched')}), or hold out more rows."
        if unseen
        else "Hold out more rows.",
        (*reasons, *_rarely(compared)),
    )


def _not_compared(compared: Comparison, spread: float | None, quantity: str) -> Verdict:
    """The verdict on the bagged model alone."""
    noun = compared.bagged.noun
    one = "leaving out a row" if noun == ROWS else f"leaving out {noun.any_one}"
    apart = f"Apart from bagging noise, {one} typically" if compared.how == LIMIT else f"Typically, {one}"
    far = f"{three_digits(compared.limit_rms)}{_of_spread(compared, spread)}"
    moved = f"{apart} changes the bagged model's {quantity} by {far}."
    if not compared.limit_rms and compared.noise:
        moved = (
            f"Typically, {one} changes the bagged model's {quantity} by less than bagging noise, "
            f"{three_digits(compared.noise)}."
        )
    elif not compared.limit_rms:
        some = noun.count(compared.n_rows)
        moved = f"Leaving out any one of {some} does not change the bagged model's {quantity} at any test point."
    return Verdict(NOT_COMPARED, moved, compared.reason, _numbers(compared))


def _one(compared: Comparison) -> str:
    noun = compared.bagged.noun
    doing = "leaving out" if compared.how == LIMIT else "refitting without"
    return f"{doing} one row" if noun == ROWS else f"{doing} {noun.any_one}"


def _stabilized(compared: Comparison, ratio: Ratio, quantity: str) -> str:
    times = f"{_times(ratio.value)} times less"
    if math.isinf(ratio.value):
        times = "by less than bagging noise" if compared.how == LIMIT else "not at all"
    elif not compared.is_close:
        times = f"at least {_times(compared.at_least())} times less"
    elif compared.how == ESTIMATED:
        times = f"about {times} (estimated)"
    apart = "Apart from bagging noise, bagging" if compared.how == LIMIT else "Bagging"
    return f"{apart} stabilizes this model: {_one(compared)} changes its {quantity} {times}."


def _of_spread(compared: Comparison, spread: float | None) -> str:
    """The typical change as a share of the spread of the targets, if that is known."""
    if spread is None or not spread > 0:
        return ""
    share = compared.limit_rms / spread
    return f", {f'{share:.0%}' if share > 0.01 else 'less than 1%'} of the spread of the targets"


def _numbers(compared: Comparison) -> tuple[str, ...]:
    """Reasons with the typical changes, how they were measured, and how much of them is noise."""
    noun, by = compared.bagged.noun, compared.where()
    what = f"Typical change (root mean square) without one {noun.singular}"
    base = "" if compared.base is None else f"{three_digits(compared.base_rms)} for the base model, "
    noise, limit = three_digits(compared.noise), three_digits(compared.limit_rms)
    bags = f"its {compared.n_bags:,} bags" if compared.n_bags else "its bags"
    if compared.how == LIMIT:
        apart = f"{limit} for the bagged model, apart from the noise of {bags} ({noise})"
        below = f"below the noise of {bags} ({noise}) for the bagged model"
        return (f"{what}: {base}{apart if compared.limit_rms else below}; without {by}.",)
    if compared.how == ESTIMATED:
        total = f"about {three_digits(compared.bagged_rms)} for the bagged model with {bags}"
        source = f"one refitted bag for each {noun.singular}"
        if compared.n_refitted:
            source = f"its bags and from refits without {compared.n_refitted:,} of these {noun.plural}"
        said = f"{what}: {base}{total}; without {by}. That of the bagged model is estimated from {source}."
    else:
        total = f"{three_digits(compared.bagged_rms)} for the bagged model"
        total += f" with {bags}" if compared.n_bags else ""
        said = f"{what}: {base}{total}; {'refitted ' if compared.n_refitted else ''}without {by}."
    if not compared.noise:
        return (said,)
    rest = f"Of the bagged model's {three_digits(compared.bagged_rms)}, {noise} is bagging noise (squares add up)."
    if noise == three_digits(compared.bagged_rms):
        rest = f"Nearly all of the bagged model's {noise} is bagging noise."
    if not compared.limit_rms:
        return said, f"{rest} What infinitely many bags would leave is too small to measure."
    less = ""
    if compared.base is not None and compared.base_rms > 0:
        times = compared.limit_ratio()
        less = f", {_times(times)} times less than the base model" if times > 1 else ""
    return said, f"{rest} Infinitely many bags would leave about {limit}{less}."


def _rarely(compared: Comparison) -> tuple[str, ...]:
    """A reason if the base model changes rarely but by a lot."""
    if compared.base is None or not compared.still > 0.5:
        return ()
    furthest, cases = float(compared.base.values.max()), compared.base.values.size
    one, changed = compared.bagged.noun.singular, f"{compared.n_changed:,} of {cases:,} predictions"
    said = f"Leaving out a {one} changed {changed} of the base model, by up to {three_digits(furthest)}"
    after = compared.refitted if compared.refitted is not None else compared.bagged
    if compared.how != REFITTED or compared.n_rows < len(compared.base.rows):  # the bagged model has fewer rows
        return (f"{said}.",)
    return (f"{said}; those of the bagged model changed by at most {three_digits(float(after.values.max()))}.",)


def _rests_on(compared: Comparison, ratio: Ratio) -> tuple[str, ...]:
    """A reason that says whether the ratio rests on a single row or point."""
    if math.isnan(ratio.value) or compared.n_rows < 2:
        return ()
    noun = compared.bagged.noun
    one = f"{noun.singular} or test point" if compared.n_rows < compared.n_samples else "test point"
    said = f"The base model's change is {_times(ratio.value)} times the bagged model's"
    if _times(ratio.value) == "1":
        said = "The base model's change is about as large as the bagged model's"
    if math.isinf(ratio.value):
        below = "less than bagging noise" if compared.how == LIMIT else "nothing"
        said = f"The base model changes and the bagged model changes by {below}"
    ends = [_times(end) for end in (ratio.low, ratio.high)]
    if len({*ends, _times(ratio.value)}) == 1:
        return (f"{said}, and about the same if any one {one} is taken out of the comparison.",)
    between = f"at least {ends[0]}" if math.isinf(ratio.high) else f"{ends[0]} to {ends[1]}"
    return (f"{said}; {between} if any one {one} is taken out of the comparison.",)


def _most_unseen(n_samples: int, n_left_out: int) -> int:
    """How many rows may matter, with 95 % confidence, if none of some that were drawn at random does."""
    counts = np.arange(1, min(n_samples - n_left_out, math.ceil(4 * n_samples / n_left_out)) + 1)
    return int(np.count_nonzero(hypergeom.pmf(0, n_samples, counts, n_left_out) > 0.05))


def _enough_bags(compared: Comparison) -> int:
    """How many bags would make their noise half as large as the base model's change; 0 if these are enough."""
    if not compared.n_bags or not compared.base_rms > 0 or compared.noise <= compared.base_rms / 2:
        return 0
    return about_count(compared.n_bags * (2 * compared.noise / compared.base_rms) ** 2)


def _times(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{float(f'{value:.2g}'):,.0f}"


def three_digits(value: float, scale: float = 0.0) -> str:
    """Return a number with three digits, as sentences and tables have it."""
    return number(float(f"{value:.3g}"), scale)


# -------------------------------------------------------------------------------------------------------------- summary
# Four lines that sum up a study. They are made together, so that no line contradicts another.

GOOD, WARNING, UNKNOWN = "good", "warning", "unknown"
LEAKS, REPEATED, TIME, COPIES = CHECKS = ("leaking columns", "repeated groups", "time order", "copied rows")
TINY, COVERAGE, HARDER = "tiny hold-out", "coverage of intervals", "harder held-out rows"
NEW_CLASSES = "classes without training rows"
LABELS = {
    "predicts": "Does it predict?",
    "suspicious": "Anything suspicious?",
    "stable": "Is it stable?",
    "next": "What to do",
}


class SummaryLine(NamedTuple):
    """One of the four lines that sum up a study.

    Attributes
    ----------
    name : {"predicts", "suspicious", "stable", "next"}
        Its name.
    label : str
        The question that it answers.
    text : str
        The answer, in one to three short sentences.
    status : {"good", "warning", "unknown"}
        Whether there is something to worry about; "unknown" if that was not measured, or the data are too few to say.
    """

    name: str
    label: str
    text: str
    status: str

    def __str__(self) -> str:
        return f"{self.label} {self.text}"


class Finding(NamedTuple):
    """Something suspicious about the data.

    Attributes
    ----------
    check : str
        What was looked for, such as "leaking columns".
    text : str
        What was found, in one short sentence.
    action : str
        What to do about it, in one short sentence.
    details : tuple of str, default=()
        The same in full sentences.
    """

    check: str
    text: str
    action: str
    details: tuple[str, ...] = ()


class Checks(NamedTuple):
    """What was looked for in the data before a study, and what was found.

    Attributes
    ----------
    made : tuple of str, default=()
        What was looked for.
    found : tuple of Finding, default=()
        What was found, the most important first.
    """

    made: tuple[str, ...] = ()
    found: tuple[Finding, ...] = ()


NO_CHECKS = Checks()


def summarize(
    verdict: Verdict,
    compared: Comparison,
    losses: tuple[Loss, ...] = (),
    ranking: Ranking | None = None,
    *,
    spread: float | None = None,
    quantity: str = "predictions",
    covered: Covered | None = None,
    unseen: Unseen | None = None,
    decisions: Any = None,
    checks: Checks = NO_CHECKS,
) -> tuple[SummaryLine, SummaryLine, SummaryLine, SummaryLine]:
    """Sum up a study in four lines: does it predict, is anything suspicious, is it stable, and what to do.

    Parameters
    ----------
    verdict : Verdict
        What `decide` returns for the same data.
    compared, losses, ranking, spread, quantity, covered, unseen
        As in `decide`.
    decisions : Decisions or None, default=None
        For a classifier, which decisions hinge on one row.
    checks : Checks, default=no checks
        What was looked for in the data, and found.

    Returns
    -------
    tuple of four SummaryLine
    """
    cases = {one.case: one for one in (verdict, *verdict.remarks)}
    found = (*checks.found, *_of_held_out(cases, ranking, covered, losses, unseen))
    predicts = _predicts(cases, losses, ranking, checks, unseen)
    stable = _stable(cases, compared, spread, quantity, decisions)
    texts = (
        predicts,
        _suspicious(checks, found, ranking, covered, unseen),
        stable,
        _next(cases, found, losses, unseen, decisions, stable[1]),
    )
    first, second, third, fourth = (
        SummaryLine(name, LABELS[name], *text) for name, text in zip(LABELS, texts, strict=True)
    )
    return first, second, third, fourth


def _predicts(
    cases: dict[str, Verdict],
    losses: tuple[Loss, ...],
    ranking: Ranking | None,
    checks: Checks,
    unseen: Unseen | None,
) -> tuple[str, str]:
    """The error on unseen rows next to a constant's, and whether the model ranks held-out rows."""
    # The error is stated without a comparison that is not clear if the held-out rows show that it beats a constant.
    by_held_out = _beats_constant(losses, ranking, unseen) and not (unseen is not None and unseen.beats)
    of_unseen = "" if unseen is None or unseen.is_harder else _on_unseen(unseen, compare=not by_held_out)
    if not losses or ranking is None:
        if unseen is None or unseen.beats is None:
            return f"Not measured: the targets of the held-out rows are not known. {of_unseen}".rstrip(), UNKNOWN
        return (f"Yes. {of_unseen}", GOOD) if unseen.beats else (f"No. {of_unseen}", WARNING)
    first, rows = losses[0], _held_out(ranking)
    value = f"{ranking.name} {short(ranking.value, 1)}"
    guessing = f"{value}; guessing gives {ranking.by_chance:g}"
    if TOO_FEW in cases:
        if of_unseen and unseen is not None and unseen.against is not None and unseen.beats is None:
            return f"Not known. {of_unseen}", UNKNOWN
        are = "is" if ranking.n == 1 else "are"
        few = f"{rows}{_few_of(ranking)} {are} too few to say whether it beats a constant prediction"
        return f"Not known: {few}.", UNKNOWN
    if NO_BETTER in cases:
        if of_unseen and unseen is not None and unseen.beats is False:
            return f"No. {of_unseen}", WARNING
        return f"No. On {rows}, it does not clearly beat a constant prediction ({guessing}).", WARNING
    found, constant = difference(first, first.constant), float(first.constant.mean())
    how = "well" if ranking.is_good else "better than chance"
    if ONLY_RANKS in cases:
        if of_unseen and unseen is not None and unseen.beats is False:
            return f"Partly. {of_unseen} But it ranks {rows} {how} ({value}).", WARNING
        size = "larger than" if found.is_larger else "not smaller than"
        there = "" if found.is_larger else " on these rows"
        ranks = f"The bagged model ranks {rows} {how} ({value})"
        return f"Partly. {ranks}, but its {first.name} is {size} that of a constant prediction{there}.", WARNING
    by_training = unseen is not None and unseen.beats is True
    ranks, sure = f"The bagged model ranks {rows} {how} ({value}).", by_training or found.is_smaller
    if by_training and not ranking.is_real:
        are, do = ("is", "does") if ranking.n == 1 else ("are", "do")
        ranks = f"{rows} {are} too few to confirm that" if ranking.are_few else f"{rows} {do} not confirm that"
        ranks += "." if math.isnan(ranking.value) else f" ({value})."
        sure = ranking.are_few
    elif by_held_out:
        ranks += f" Its {first.name} is {percent(-found.mean / constant)} below a constant's."
    elif not sure and not of_unseen:
        ranks = f"{ranks[:-1]}, but these are too few to say whether it beats a constant prediction."
    short_of = of_unseen if by_training else ranks  # where there is more to say
    if any(finding.check in CHECKS for finding in checks.found):  # which make scores better than they are
        return f"Unclear until the next line is settled. {short_of}", UNKNOWN
    text = ranks
    if of_unseen:
        text = f"{of_unseen} {ranks.replace('The bagged model', 'It').replace(' Its ', ' There, its ')}"
    answer = "Yes" if sure else "It seems so"
    if COSTS_ACCURACY in cases:
        larger = next(loss for loss in losses if loss.base is not None and _is_worse(loss))
        worse = f"its {larger.name} is {_next_to_base(larger)}"
        return f"{answer}. {short_of} But bagging costs accuracy: {worse}.", WARNING
    if any(loss.name == "log loss" and _is_too_sure(loss) for loss in losses[1:]):
        return f"{answer}. {short_of} But it is too sure where it is wrong.", WARNING
    return f"{answer}. {text}", GOOD


def _on_unseen(unseen: Unseen, *, compare: bool) -> str:
    """The error on unseen rows with its interval, next to a constant's; "" if there is none."""
    if not unseen.errors:
        return ""
    last = unseen.errors[-1]
    first = next((error for error in unseen.errors if error.interval is not None), last) if last.is_root else last
    text = f"On unseen {unseen.noun.plural}, its {first.name} is about {three_digits(first.bagged)}{_interval(first)}"
    against = unseen.against
    if against is None or not compare:
        return f"{text}."
    if unseen.beats is None:
        enough, noun = against.n_enough, unseen.noun
        if not enough <= _MOST_TIMES * unseen.n:
            return f"{text}. That it beats a constant is not clear."
        return f"{text}. About {about_count(enough):,} {noun.plural} should show whether it beats a constant."
    if unseen.is_constant:
        return f"{text}, the same as a constant's."
    size = 2 if last.is_root else 1
    before, after = last.constant**size, last.bagged**size
    way = "below" if after < before else "above"
    share = (
        f"{percent(abs(after / before - 1))} {way} a constant's" if before > 0 else f"{way} a constant's, which is 0"
    )
    return f"{text}, and its squared error is {share}." if last.is_root else f"{text}, {share}."


def _of_held_out(
    cases: dict[str, Verdict],
    ranking: Ranking | None,
    covered: Covered | None,
    losses: tuple[Loss, ...],
    unseen: Unseen | None,
) -> Iterator[Finding]:
    """What the held-out rows themselves show that is suspicious."""
    if losses and (n := losses[0].n_unknown):
        of = f"{n:,} of {len(losses[0].bagged) + n:,} held-out rows"
        text = f"{of} {'has' if n == 1 else 'have'} a class that no training row has, so they are always wrong."
        yield Finding(NEW_CLASSES, text, "Train on rows of every class, or leave these held-out rows out.")
    if losses and unseen is not None and unseen.is_harder and (error := unseen.compared) is not None:
        held = float(losses[0].of_units.mean()) * losses[0].unit
        here = three_digits(math.sqrt(held) if error.is_root else held)
        text = (
            f"The held-out rows seem to differ from the training rows: the {error.name} is {here} there, and "
            f"{three_digits(error.bagged)} at training {unseen.noun.plural} that were left out."
        )
        yield Finding(HARDER, text, "Find out how the held-out rows differ from the training rows.")
    if TOO_FEW in cases and ranking is not None and ranking.are_few:
        tiny = f"The hold-out is tiny: {_held_out(ranking)}{_few_of(ranking)}."
        if ranking.n >= FEWEST_RANKED and math.isnan(ranking.value) and ranking.rarest is None:
            tiny = f"All {_held_out(ranking)} have the same target."
        yield Finding(TINY, tiny, cases[TOO_FEW].advice)
    if low := _of_coverage(covered):
        action = "Find out how the held-out rows differ from the training rows. Until then, do not rely on intervals."
        yield Finding(COVERAGE, low[0], action)


def _suspicious(
    checks: Checks,
    found: tuple[Finding, ...],
    ranking: Ranking | None,
    covered: Covered | None,
    unseen: Unseen | None,
) -> tuple[str, str]:
    """What was found that is suspicious, and otherwise what was looked for."""
    if found:
        others = list(dict.fromkeys(finding.check for finding in found[1:] if finding.check != found[0].check))
        also = f" Also found: {', '.join(others)}." if others else ""
        return f"{found[0].text}{also}", WARNING
    made = [name for name in CHECKS if name in checks.made]
    harder = None if unseen is None else unseen.is_harder
    made += [name for name, of in ((TINY, ranking), (COVERAGE, covered), (HARDER, harder)) if of is not None]
    left = [name for name in CHECKS if name not in checks.made]
    missing = f" Not checked: {', '.join(left)}." if left else ""
    if not made:
        return missing.strip(), UNKNOWN
    return f"Nothing found. Checked: {', '.join(made)}.{missing}", UNKNOWN if LEAKS in left else GOOD


def _stable(
    cases: dict[str, Verdict], compared: Comparison, spread: float | None, quantity: str, decisions: Any
) -> tuple[str, str]:
    """How far leaving out one row changes the bagged model, with bagging noise, next to the base model."""
    change = compared.limit_rms if compared.how == LIMIT else compared.bagged_rms
    is_little = spread is not None and change <= LITTLE * spread
    answer, status = "No, and bagging does not help.", WARNING
    if ALREADY_STABLE in cases:
        answer, status = "Yes, even without bagging.", GOOD
        if spread and not is_little:
            answer = "The base model is, but the bagged model is not."
    elif STABILIZED in cases:
        answer, status = ("Yes.", GOOD) if is_little else ("More stable than the base model.", WARNING)
    elif NOT_COMPARED in cases:
        answer, status = ("Yes.", GOOD) if is_little else ("Not very.", WARNING) if spread else ("", UNKNOWN)
    elif NOT_ENOUGH_BAGS in cases:
        answer, status = "Not known: too few bags.", UNKNOWN
    elif NOT_ENOUGH_REFITS in cases:
        answer, status = "Not clear: it hinges on too few rows or test points.", UNKNOWN
    if decisions is not None and decisions.are_many and status == GOOD:
        answer, status = "Mostly.", WARNING
    counted = "" if decisions is None else decisions.counted()
    return " ".join(filter(None, [answer, _change(compared, change, spread, quantity), counted])), status


def _change(compared: Comparison, change: float, spread: float | None, quantity: str) -> str:
    """The typical change without one row, with bagging noise, in one or two sentences."""
    noise, of_classes = compared.noise, quantity != "predictions"
    one = compared.bagged.noun.singular
    n_refits = compared.n_refitted if compared.base is None else len(compared.base.rows)
    if change == 0 and noise == 0 and n_refits and not compared.base_changes:
        what = "class probability" if of_classes else "prediction"
        refits = "1 refit" if n_refits == 1 else f"{n_refits:,} refits"
        return f"In {refits} without one training {one}, no {what} changed."
    leaving = (
        f"leaving out one training {one} typically changes {'class probabilities' if of_classes else 'a prediction'}"
    )
    base = f" (base model: {three_digits(compared.base_rms)})" if compared.base is not None else ""
    share = ""
    if spread and not of_classes and change > 0:
        share = f"{change / spread:.0%}" if change > 0.01 * spread else "under 1%"
    if compared.how == LIMIT and noise > 0:
        by = three_digits(change) if change > 0 else "too little to measure"
        relative = f", {share} of the target's spread" if share else ""
        return f"Apart from bagging noise ({three_digits(noise)}), {leaving} by {by}{base}{relative}."
    about = "about " if compared.how == ESTIMATED else ""
    included = f"includes bagging noise of {three_digits(noise)}" if noise > 0 else ""
    relative = f"is {share} of the target's spread" if share else ""
    more = " and ".join(filter(None, (relative, included)))
    that = f" This {more}." if more else ""
    return f"{leaving[0].upper()}{leaving[1:]} by {about}{three_digits(change)}{base}.{that}"


def _review(decisions: Any) -> str:
    n, noun = decisions.n_close, decisions.noun.singular
    hinge = f"the decision that hinges on one {noun}" if n == 1 else f"the {n:,} decisions that hinge on one {noun}"
    if not len(decisions.refitted):
        hinge = hinge.replace("hinges", "may hinge").replace(" hinge on", " may hinge on").replace("may may", "may")
    return f"Have someone review {hinge}, or answer with sets of labels."


def _next(
    cases: dict[str, Verdict],
    found: tuple[Finding, ...],
    losses: tuple[Loss, ...],
    unseen: Unseen | None,
    decisions: Any,
    stable: str,
) -> tuple[str, str]:
    """The one thing to do first: about the data, then about accuracy, then about stability."""
    if found and (NO_BETTER not in cases or found[0].check != COVERAGE):
        return found[0].action, WARNING
    if not losses and (unseen is None or unseen.beats is None):
        return "Measure its accuracy before you use it: these numbers do not say whether it predicts.", UNKNOWN
    for case, status in ((TOO_FEW, UNKNOWN), (NO_BETTER, WARNING), (ONLY_RANKS, WARNING), (COSTS_ACCURACY, WARNING)):
        if case in cases:
            return cases[case].advice, status
    if losses and _was_larger(losses[0]):
        return f"Hold out more rows before you use it: {_above_base(losses[0])}, which may be chance.", UNKNOWN
    if any(loss.name == "log loss" and _is_too_sure(loss) for loss in losses[1:]):
        return _calibrate(losses), WARNING
    for case in (NOT_ENOUGH_BAGS, NOT_ENOUGH_REFITS):
        if case in cases:
            return cases[case].advice, UNKNOWN
    if decisions is not None and decisions.are_many:
        return _review(decisions), WARNING
    for case in (ALREADY_STABLE, NOT_STABILIZED):
        if case in cases:
            return cases[case].advice, stable
    if NOT_COMPARED in cases:
        return "Decide whether this change is small enough for you. If not, try smaller bags.", stable
    less = "" if stable == GOOD or "bags" in cases[STABILIZED].advice else " Smaller bags may make it more stable."
    return f"{cases[STABILIZED].advice}{less}", stable
