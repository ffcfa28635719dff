from dataclasses import replace

import numpy as np
import pytest

from stablebag._wording import Noun
from stablebag.measuring import Perturbations
from stablebag.measuring.perturbations import BagSpread
from stablebag.proving.scope import Quantity, Rerun, Scope
from stablebag.showing.comparison import Comparison
from stablebag.showing.facts import changes
from stablebag.showing.scores import Loss, Ranking
from stablebag.showing.verdict import decide

N_ROWS, N_POINTS, N_BAGS = 60, 25, 100


def moves(size, seed, noise=0.0, noun=None):
    """Perturbations of a root mean square, with as much noise of bags as is said."""
    values = np.random.default_rng(seed).normal(size=(N_ROWS, N_POINTS))
    values *= np.hypot(size, noise) / np.sqrt(np.mean(values**2))
    bags = None
    if noise:
        without = np.full(N_ROWS, N_BAGS // 2)
        bags = BagSpread(np.full(N_POINTS, noise * np.sqrt(N_BAGS)), None, N_BAGS, without)  # 2 / B - 1 / B
    scope = None if noun is None else Scope(N_ROWS, Quantity.NUMBER, Rerun.REUSED, noun=noun)
    return Perturbations(np.zeros(N_POINTS), values, np.arange(N_ROWS), bags=bags, scope=scope)


def compared(base, bagged, noise=0.0, noun=None):
    """The bagged model as it is left by the bags without a row: with noise, it was not refitted."""
    return Comparison.of(moves(base, 1, noun=noun), moves(bagged, 2, noise, noun=noun))


def refitted(base, bagged, noise, n_samples=400):
    """The bagged model refitted without all rows of the base model's refits, with noise that the spread reveals."""
    moved = moves(np.hypot(bagged, noise), 3)
    spread = np.sqrt(moved.values**2 + (N_BAGS - 1) * noise**2)
    return Comparison(moves(base, 1), moves(bagged, 2, noise), n_samples, "", moved, spread)


def loss(base, bagged, constant, n=100, spread=0.0):
    wobble = spread * np.resize([1.0, -1.0], n)
    return Loss("squared error", np.full(n, base), bagged + wobble, np.full(n, constant))


def test_stabilized_verdict_has_the_ratio():
    verdict = decide(compared(6.0, 2.0), spread=10.0)
    assert verdict.case == "stabilized"
    assert verdict.headline.endswith("refitting without one row changes its predictions 3 times less.")
    assert verdict.remarks == ()
    assert "6 for the base model, 2 for the bagged model;" in verdict.reasons[0]
    assert "3 times the bagged model's, and about the same if any one test point is taken out" in verdict.reasons[1]


def test_change_includes_noise_and_the_limit_comes_second():
    verdict = decide(refitted(6.0, 0.9, noise=1.2), spread=10.0)
    assert verdict.headline.endswith("changes its predictions 4 times less.")  # 6 / sqrt(0.9^2 + 1.2^2)
    assert verdict.reasons[1] == (
        "Of the bagged model's 1.5, 1.2 is bagging noise (squares add up). Infinitely many bags would leave about 0.9, "
        "6.7 times less than the base model."
    )
    assert verdict.advice == (
        "Use the bagged model. Most of its remaining change is bagging noise: 400 bags would halve that."
    )
    assert decide(refitted(6.0, 1.2, noise=0.9), spread=10.0).advice == "Use the bagged model."


def test_change_below_the_noise_is_not_called_zero():
    verdict = decide(compared(6.0, 0.0, noise=1.2), spread=10.0)
    assert verdict.case == "stabilized"
    assert verdict.headline.startswith("Apart from bagging noise, ")
    assert verdict.headline.endswith("changes its predictions by less than bagging noise.")
    assert "6 for the base model, below the noise of its 100 bags (1.2) for the bagged model;" in verdict.reasons[0]
    line = next(changes(compared(6.0, 0.0, noise=0.012)))
    assert (line.text("base"), line.text("bagged")) == ("6", "below the noise")
    assert (
        next(fact for fact in changes(compared(6.0, 0.0, noise=0.012)) if fact.name == "bagging noise").value == 0.012
    )
    assert [*changes(refitted(6.0, 0.0, noise=0.012))][2].text("bagged") == "below the noise"
    assert "would leave is too small to measure" in decide(refitted(6.0, 0.0, noise=1.2)).reasons[1]


def test_stable_base_model_needs_no_bagging():
    verdict = decide(compared(0.2, 0.2, noise=0.4), spread=10.0)
    assert verdict.case == "already stable"
    assert verdict.advice == "You do not need bagging for stability here."
    assert "bagging adds only noise" in verdict.headline
    assert decide(refitted(0.2, 0.2, noise=0.4), spread=10.0).advice == verdict.advice
    assert decide(compared(0.2, 0.2), spread=10.0).advice == verdict.advice


def test_learner_that_never_changes_is_already_stable():
    still = Comparison(moves(0.0, 1), moves(0.1, 2, noise=0.1), n_samples=400)
    verdict = decide(still, spread=10.0)
    assert verdict.case == "already stable"
    assert "leaving out any one of 60 rows does not change its predictions at any test point" in verdict.headline
    assert verdict.advice == "You do not need bagging for stability here."
    moving = decide(replace(still, refitted=moves(0.1, 2)), spread=10.0)
    assert moving.advice == "You do not need bagging for stability here. Bagged, it changes by 0.1."
    assert "up to 18 of the 340 other rows would change it" in verdict.reasons[-1]  # 3 / 60


def test_few_refits_without_change_are_not_enough():
    rows = np.arange(5)
    base, bagged = (Perturbations(np.zeros(3), np.full((5, 3), size), rows) for size in (0.0, 0.1))
    verdict = decide(Comparison(base, bagged, n_samples=400))
    assert verdict.case == "not enough refits"
    assert verdict.headline.startswith("5 rows are too few to say whether the base model is stable")
    assert decide(Comparison(base, bagged, n_samples=5)).case == "already stable"  # these are all


def test_unstable_learner_is_not_stabilized_without_a_smaller_change():
    assert decide(compared(5.0, 5.0), spread=10.0).case == "not stabilized"


def test_too_much_noise_is_not_enough_bags():
    for noisy in (compared(2.0, 0.5, noise=2.5), refitted(2.0, 0.5, noise=2.5)):
        verdict = decide(noisy, spread=10.0)
        assert verdict.case == "not enough bags"
        assert verdict.advice.startswith("Use 630 bags")  # 100 (2 * 2.5 / 2)^2 = 625


def test_answer_resting_on_one_row_or_point_is_not_enough_refits():
    seldom = np.zeros((N_ROWS, N_POINTS))
    seldom[0, :2] = 60.0
    base = Perturbations(np.zeros(N_POINTS), seldom, np.arange(N_ROWS))
    verdict = decide(replace(Comparison.of(base, moves(0.5, 2)), n_samples=400), spread=1.0)
    assert verdict.case == "not enough refits"
    assert "rests on a single row or test point" in verdict.headline
    assert "(n_refits, n_matched)" in verdict.advice
    assert verdict.reasons[-1] == (
        "Leaving out a row changed 2 of 1,500 predictions of the base model, by up to 60; those of the bagged model "
        f"changed by at most {moves(0.5, 2).values.max():.3g}."
    )
    everyone = decide(Comparison.of(base, moves(0.5, 2)), spread=1.0)  # all rows were left out: there are no others
    assert everyone.case == "stabilized"


def test_lost_accuracy_comes_before_stability():
    verdict = decide(compared(6.0, 2.0), (loss(1.0, 1.1, 2.0, spread=0.1),), spread=10.0)
    assert verdict.case == "costs accuracy"
    assert [remark.case for remark in verdict.remarks] == ["stabilized"]
    assert verdict.reasons == ("Squared error on held-out rows: 10% above the base model's.",)


@pytest.mark.parametrize(
    ("bagged", "spread", "n"),
    [(1.1, 0.6, 100), (1.015, 0.0, 100), (1.1, 0.1, 11)],  # by chance; below 2 %; too few rows
)
def test_small_or_unclear_losses_do_not_cost_accuracy(bagged, spread, n):
    assert decide(compared(6.0, 2.0), (loss(1.0, bagged, 2.0, n, spread),), spread=10.0).case == "stabilized"


def test_any_rising_loss_costs_accuracy():
    both = (loss(1.0, 0.9, 2.0), loss(0.071, 0.103, 0.7, spread=0.05)._replace(name="log loss"))
    verdict = decide(compared(6.0, 2.0), both, spread=10.0)
    assert verdict.case == "costs accuracy"
    assert "the log loss on 100 held-out rows rises" in verdict.headline


RANKS, GUESSES = Ranking("rank correlation", 0.6, 0.001, 100), Ranking("rank correlation", 0.1, 0.2, 100)


def test_no_better_than_a_constant_comes_first():
    verdict = decide(compared(6.0, 2.0), (loss(0.9, 0.98, 1.0, spread=0.2),), GUESSES, spread=10.0)
    assert verdict.case == "no better than a constant"
    assert [remark.case for remark in verdict.remarks] == ["costs accuracy", "stabilized"]
    assert not any(remark.advice for remark in verdict.remarks)  # a constant is stable, too
    better = decide(compared(6.0, 2.0), (loss(1.0, 0.9, 1.0, spread=0.2),), RANKS, spread=10.0)
    assert better.case == "stabilized"
    assert better.advice == "Use the bagged model."


def test_ranking_with_a_larger_loss_is_a_case_of_its_own():
    verdict = decide(compared(6.0, 2.0), (loss(1.2, 1.1, 1.0, spread=0.2),), RANKS, spread=10.0)
    assert verdict.case == "ranks, but no better than a constant"
    assert "ranks well" in verdict.headline
    assert [remark.advice for remark in verdict.remarks] == [""]


def test_too_few_held_out_rows_are_a_case():
    few = Ranking("AUC", 0.9, 0.04, 8, are_few=True, rarest=("yes", 2))
    verdict = decide(compared(6.0, 2.0), (loss(1.0, 1.1, 1.0, n=8),), few, spread=10.0)
    assert verdict.case == "too few rows"
    assert verdict.headline == (
        "8 held-out rows (2 of class 'yes') are too few to say whether the bagged model beats a constant."
    )
    assert [remark.advice for remark in verdict.remarks] == [""]


def test_without_the_base_learner_there_is_nothing_to_compare():
    verdict = decide(Comparison.of(None, moves(2.0, 1)))
    assert verdict.case == "not compared"
    assert str(verdict) == "Typically, leaving out a row changes the bagged model's predictions by 2."
    beside = decide(replace(Comparison.of(None, moves(2.0, 1)), reason="It was not fitted."), spread=10.0)
    assert str(beside) == (
        "Typically, leaving out a row changes the bagged model's predictions by 2, 20% of the spread of the targets. "
        "It was not fitted."
    )
    assert "by 2, less than 1% of the spread" in str(decide(Comparison.of(None, moves(2.0, 1)), spread=1000.0))
    still = Perturbations(np.zeros(2), np.zeros((3, 2)), np.arange(3))
    assert decide(Comparison.of(None, still)).headline == (
        "Leaving out any one of 3 rows does not change the bagged model's predictions at any test point."
    )


def test_verdict_names_groups():
    verdict = decide(compared(6.0, 2.0, noun=Noun("patient", "patients")), spread=10.0)
    assert "refitting without a patient changes its predictions" in verdict.headline
    assert "each of the 60 patients, at 25 test points" in verdict.reasons[0]
