"""Every sentence about accuracy, on data where it must appear and on data where it must not."""

import numpy as np
import pytest

from stablebag.measuring import Perturbations
from stablebag.showing.comparison import Comparison
from stablebag.showing.scores import SPANS, Covered, HeldOut
from stablebag.showing.study import Decisions
from stablebag.showing.verdict import decide


def moved(size, seed):
    values = size * np.random.default_rng(seed).normal(size=(60, 25))
    return Perturbations(np.zeros(25), values, np.arange(60))


STABILIZED = Comparison.of(moved(6.0, 1), moved(2.0, 2))  # "Use the bagged model", if nothing speaks against it


class Predicts:
    """A base learner that has predicted already."""

    def __init__(self, predicted, classes=None):
        self.predicted = predicted
        if classes is not None:
            self.classes_ = classes
            self.predict_proba = lambda X: predicted

    def predict(self, X):
        return self.predicted if self.predicted.ndim == 1 else self.classes_[self.predicted.argmax(axis=1)]


def of_numbers(predicted, y, train=None, base=None, **groups):
    train = np.array([0.0, 0.0]) if train is None else train
    held = HeldOut(None if base is None else Predicts(base), y, predicted, y, y=train, **groups)
    return decide(STABILIZED, held.losses(), held.ranking(), spread=10.0)


def of_classes(positive, y, share=0.5, base=None, groups=None):
    classes = np.array(["no", "yes"])
    train = np.where(np.arange(1000) < 1000 * share, "yes", "no")
    table = np.column_stack([1 - positive, positive])
    alone = None if base is None else Predicts(np.column_stack([1 - base, base]), classes)
    held = HeldOut(alone, y, table, np.where(y == 1, "yes", "no"), y=train, classes=classes, groups=groups)
    return decide(STABILIZED, held.losses(), held.ranking(), spread=10.0)


def everything(verdict):
    return " ".join([str(verdict), *map(str, verdict.remarks), *verdict.reasons])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def labels(rng, n, share, strength):
    """Classes, and the probabilities of a model that knows about them."""
    p = 1 / (1 + np.exp(-strength * rng.normal(size=n) - np.log(share / (1 - share))))
    return p, (rng.random(n) < p).astype(int)


def test_a_good_model_beats_a_constant_and_is_recommended(rng):
    p, y = labels(rng, 200, 0.5, 2.0)
    verdict = of_classes(p, y)
    assert verdict.case == "stabilized"
    assert verdict.advice == "Use the bagged model."
    assert verdict.reasons[0].startswith("The bagged model beats a constant on 200 held-out rows: AUC 0.")
    assert "Brier score on held-out rows: " in verdict.reasons[1]
    assert "below a constant's" in verdict.reasons[1]
    x = rng.normal(size=100)
    verdict = of_numbers(x, x + 0.5 * rng.normal(size=100))
    assert verdict.reasons[0].startswith("The bagged model beats a constant on 100 held-out rows: rank correlation 0.")


@pytest.mark.parametrize("share", [0.5, 0.11, 0.05])
def test_noise_does_not_clearly_beat_a_constant_and_is_not_recommended(rng, share):
    verdict = of_classes(rng.random(300), (rng.random(300) < share).astype(int), share)
    assert verdict.headline == "On 300 held-out rows, the bagged model does not clearly beat a constant."
    assert verdict.advice.startswith("Fix accuracy first")
    assert "Use the bagged model" not in everything(verdict)
    assert "The bagged model beats" not in everything(verdict)


def test_a_model_that_ranks_but_is_overconfident_is_to_be_calibrated(rng):
    p, y = labels(rng, 400, 0.11, 1.5)
    verdict = of_classes(np.clip(8 * p, 0, 1), y, 0.11)
    assert verdict.case == "ranks, but no better than a constant"
    assert verdict.headline.startswith("The bagged model ranks well (AUC 0.")
    assert verdict.headline.endswith("but its probabilities are worse than a constant's.")
    assert verdict.advice.startswith("Calibrate it")
    assert "does not clearly beat" not in everything(verdict)
    assert "Use the bagged model" not in everything(verdict)
    assert of_classes(p, y, 0.11).case == "stabilized"  # the same ranking, with probabilities that are right


def test_predictions_on_the_wrong_scale_rank_and_are_worse_than_a_constant(rng):
    x = rng.normal(size=200)
    y = x + 0.5 * rng.normal(size=200)
    verdict = of_numbers(4 * x, y)
    assert verdict.headline.startswith("The bagged model ranks well (rank correlation 0.")
    assert verdict.headline.endswith("but its predictions are worse than a constant's.")
    assert of_numbers(x, y).case == "stabilized"


def test_loss_larger_by_chance_is_not_called_worse(rng):
    x = rng.normal(size=60)
    y = x + rng.normal(size=60)
    scale = next(s for s in np.arange(1.5, 4, 0.01) if ((s * x - y) ** 2).mean() > 1.02 * (y**2).mean())
    verdict = of_numbers(scale * x, y)
    assert verdict.headline.endswith("but on these rows its predictions were no better than a constant's.")


@pytest.mark.parametrize("n", [4, 8])
def test_few_held_out_rows_give_no_recommendation(rng, n):
    verdict = of_classes(rng.random(n), np.resize([1, 0, 0, 0], n))
    assert verdict.headline == (
        f"{n} held-out rows ({n // 4} of class 'yes') are too few to say whether the bagged model beats a constant."
    )
    assert verdict.advice.startswith("Hold out more rows (test_size)")
    assert "Use the bagged model" not in everything(verdict)


def test_few_rows_of_a_class_give_no_recommendation(rng):
    y = np.zeros(300, dtype=int)
    y[:3] = 1
    verdict = of_classes(rng.random(300), y, 0.01)
    assert "300 held-out rows (3 of class 'yes') are too few" in verdict.headline
    assert "(3 of class 'yes')" in verdict.headline
    y[:60] = 1
    assert "too few" not in everything(of_classes(rng.random(300), y, 0.2))


def test_held_out_rows_of_one_class_cannot_show_a_ranking(rng):
    verdict = of_classes(rng.random(50), np.zeros(50, dtype=int), 0.02)
    assert "50 held-out rows (0 of class 'yes') are too few" in verdict.headline
    assert "All 50 held-out rows have the same target" in verdict.reasons[0]


def test_clear_ranking_with_an_unclear_loss_says_so(rng):
    x = rng.normal(size=40)
    y = x + rng.standard_t(2, size=40)
    y[0] = x[0] + 60  # which decides about the squared error
    verdict = of_numbers(x, y)
    assert "ranks 40 held-out rows better than chance" in verdict.reasons[0]
    assert "too few to say whether its predictions beat a constant's" in verdict.reasons[0]
    assert "The bagged model beats" not in everything(verdict)


def test_log_loss_above_a_constants_is_mentioned(rng):
    p, y = labels(rng, 300, 0.5, 2.0)
    sure = np.where(p > 0.5, 1.0, 0.0)
    verdict = of_classes(np.where(rng.random(300) < 0.5, sure, p), y)
    assert "Its log loss was above a constant's on these rows" in everything(verdict)
    assert "log loss was above" not in everything(of_classes(p, y))


def test_log_loss_above_a_constants_asks_for_calibration(rng):
    p, y = labels(rng, 300, 0.5, 2.0)
    sure = np.where(rng.random(300) < 0.5, np.where(p > 0.5, 1.0, 0.0), p)
    verdict = of_classes(sure, y)
    assert verdict.case == "stabilized"
    assert verdict.advice == (
        "Use its ranking and decisions, or calibrate its probabilities first (for example with scikit-learn's "
        "CalibratedClassifierCV)."
    )
    assert of_classes(p, y).advice == "Use the bagged model."
    base = sure.copy()
    missed = np.flatnonzero(np.abs(sure - y) == 1)[:6]
    base[missed] = y[missed]
    both = of_classes(sure, y, base=base).advice  # the Brier score is larger than the base model's as well
    assert both.startswith("It is more stable, but on these 300 held-out rows its Brier score was ")
    assert "Calibrate its probabilities in any case" in both
    assert "Use" not in both
    rare, few = labels(rng, 2000, 0.1, 1.5)
    bold = np.where((rare > 0.3) & (rare < 0.5), 0.52, rare)
    bold[np.flatnonzero(few)[:10]] = 0.0
    assert "Use its ranking, or calibrate" in of_classes(bold, few, 0.1).advice  # it decides worse than "no" always


def test_equal_looking_log_losses_are_not_compared(rng):
    p, y = labels(rng, 300, 0.5, 2.0)
    two = np.flatnonzero(y)[:2]
    rest = -np.log(np.where(y == 1, p, 1 - p))[np.setdiff1d(np.arange(300), two)].sum()
    for above, is_named in ((1.0005, False), (1.03, True)):  # the others' log loss and two rows that make it so large
        p[two] = np.exp(-(above * 300 * np.log(2) - rest) / 2)
        verdict = of_classes(p, y)
        assert verdict.case == "stabilized"
        assert ("log loss was above" in everything(verdict)) == is_named
        assert ("Use the bagged model" in verdict.advice) != is_named


def test_bagging_costs_accuracy_only_beyond_chance(rng):
    x = rng.normal(size=200)
    y = x + 0.3 * rng.normal(size=200)
    verdict = of_numbers(0.5 * x, y, base=x)
    assert verdict.headline.startswith("Bagging costs accuracy here: the squared error on 200 held-out rows rises")
    assert "Use the bagged model" not in everything(verdict)
    assert "above the base model's" in everything(verdict)
    assert of_numbers(x, y, base=x + 0.01 * rng.normal(size=200)).case == "stabilized"


def test_larger_loss_than_the_base_models_replaces_the_advice_to_use_it(rng):
    x = rng.normal(size=48)
    y = x + 0.1 * rng.normal(size=48)
    y[0] += 3.0  # one row carries the difference, so that it is not clear
    base, bagged = x.copy(), x.copy()
    base[0] += 2.9
    verdict = of_numbers(bagged, y, base=base)
    times = ((bagged - y) ** 2).mean() / ((base - y) ** 2).mean()
    assert verdict.case == "stabilized"
    assert verdict.advice == (
        f"It is more stable, but on these 48 held-out rows its squared error was {times:.2g} times the base model's; "
        "hold out more rows to see whether that is chance."
    )
    base[0] = y[0] - 2.8
    assert "squared error was 27.3% above the base model's; hold out" in of_numbers(bagged, y, base=base).advice
    assert "above the base model's, which is 0; hold out" in of_numbers(bagged, y, base=y).advice
    for others in (bagged, bagged + 0.001, np.zeros(48)):
        assert of_numbers(bagged, y, base=others).advice == "Use the bagged model."
    assert of_numbers(y + 1e-15, y, base=y).advice == "Use the bagged model."  # a rounding error


def test_share_of_a_constants_loss_says_if_it_may_be_chance(rng):
    y = rng.standard_t(2, size=200)
    said = everything(of_numbers(y + 0.01 * rng.normal(size=200), y))  # its loss is almost exactly known to be small
    assert "Squared error on held-out rows: over 99.9% below a constant's." in said
    assert "standard error" not in said
    x = rng.normal(size=30)
    assert "a constant's, which may be chance." in everything(of_numbers(0.1 * x, 3 * rng.normal(size=30)))
    assert "may be chance" not in everything(of_numbers(4 * x, x))  # clearly worse
    assert "Squared error on held-out rows: above a constant's, which is 0." in everything(of_numbers(x, np.zeros(30)))
    assert "Squared error on held-out rows: the same as a constant's." in everything(of_numbers(np.zeros(30), x))


def test_two_rows_have_no_rank_correlation():
    two = everything(of_numbers(np.array([1.0, 2.0]), np.array([1.5, 1.8])))
    assert "2 held-out rows are too few" in two
    assert "correlation" not in two
    three = everything(of_numbers(np.array([1.0, 2.0, 3.0]), np.array([1.5, 1.8, 1.9])))
    assert "Rank correlation 1, where guessing gives 0 on average." in three


def about_coverage(*numbers):
    return [reason for reason in decide(STABILIZED, covered=Covered(*numbers)).reasons if "intervals" in reason]


def test_intervals_that_miss_too_often_are_mentioned():
    assert about_coverage(0.1875, 80, 80, 0.9, 320) == [
        "Only 18.8% of 80 held-out targets are in their 90% intervals: the held-out rows seem to differ from the "
        "training rows."
    ]
    assert about_coverage(0.1875, 80, 6, 0.9, 320)  # 80 rows of 6 spans of time, and still too few
    assert not about_coverage(0.723, 47, 12, 0.9, 48)  # 47 rows of 12 patients
    assert not about_coverage(0.78, 100, 100, 0.9, 320)  # it may be 0.8, which is what is proved
    assert not about_coverage(0.65, 1000, 1000, 0.9, 10)  # 10 training rows, which may be unlucky ones
    assert about_coverage(0.65, 1000, 1000, 0.9, 1000)
    assert not about_coverage(0.0, 1000, 1000, 0.5, 1000)  # nothing is proved


def test_similar_rows_are_rarely_called_different(rng):
    for n_trained in (10, 40, 200):  # intervals by a quantile, whose coverage is exactly 0.8 on average
        uniform = np.sort(rng.random((4000, n_trained)), axis=1)
        each = uniform[:, int(np.ceil(0.8 * (n_trained + 1))) - 1]
        seen = rng.binomial(100, each)
        is_low = np.array([Covered(inside / 100, 100, 100, 0.9, n_trained).is_low for inside in range(101)])
        false = is_low[seen].mean()
        assert false <= 0.01 + 4 * np.sqrt(0.01 * 0.99 / 4000)


def test_one_close_call_is_singular():
    left_out = np.array([[[0.4, 0.6], [0.9, 0.1]], [[0.7, 0.3], [0.9, 0.1]]])
    one = Perturbations(np.array([[0.6, 0.4], [0.9, 0.1]]), left_out, np.arange(2))
    assert Decisions.of_perturbations(one).advice() == (
        "1 decision is a close call: have someone review it, or answer with a set of labels (stablebag sets)."
    )
    left_out = left_out[:, [0, 0]]
    two = Perturbations(np.array([[0.6, 0.4], [0.6, 0.4]]), left_out, np.arange(2))
    assert (
        Decisions.of_perturbations(two)
        .advice()
        .startswith("2 of 2 decisions are close calls: have someone review them")
    )


def test_rows_of_one_group_count_once(rng):
    groups = np.repeat(np.arange(6), 50)
    level, guess = rng.normal(size=6), rng.normal(size=6)
    guess = guess * np.sign(np.corrcoef(level, guess)[0, 1])
    y, x = level[groups] + 0.1 * rng.normal(size=300), guess[groups] + 0.1 * rng.normal(size=300)
    assert "too few" not in of_numbers(0.3 * x, y).headline
    said = of_numbers(0.3 * x, y, groups=groups).headline
    assert said == ("300 held-out rows (of 6 groups) are too few to say whether the bagged model beats a constant.")
    in_time = of_numbers(0.3 * x, y, groups=groups, grouped=SPANS).headline
    assert in_time.startswith("300 held-out rows (of 6 spans of time) are too few")
    many = np.repeat(np.arange(100), 3)
    level = rng.normal(size=100)[many]
    assert of_numbers(level, level + rng.normal(size=300), groups=many).case == "stabilized"
