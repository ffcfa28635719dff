"""The four lines that sum up a study: each is true by itself, and none contradicts another, whatever was found."""

import itertools
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, study
from stablebag._wording import GROUPS, ROWS
from stablebag.cli.main import main
from stablebag.measuring import ErrorComparison, ErrorInterval, LeaveOneOutError, Perturbations
from stablebag.measuring.perturbations import BagSpread
from stablebag.showing.comparison import Comparison
from stablebag.showing.facts import summary_text
from stablebag.showing.scores import Covered, HeldOut, Unseen, UnseenError, difference
from stablebag.showing.study import Decisions
from stablebag.showing.verdict import CHECKS, LITTLE, Checks, Finding, decide, summarize, three_digits

N_ROWS, N_POINTS, N_BAGS = 60, 25, 100
SPREAD = 10.0


def moved(size, seed, noise=0.0):
    values = np.random.default_rng(seed).normal(size=(N_ROWS, N_POINTS))
    values *= np.hypot(size, noise) / np.sqrt(np.mean(values**2))
    without = np.full(N_ROWS, N_BAGS // 2)
    bags = BagSpread(np.full(N_POINTS, noise * np.sqrt(N_BAGS)), None, N_BAGS, without) if noise else None
    return Perturbations(np.zeros(N_POINTS), values, np.arange(N_ROWS), bags=bags)


def refitted(base, bagged, noise):
    after = moved(np.hypot(bagged, noise), 3)
    spread = np.sqrt(after.values**2 + (N_BAGS - 1) * noise**2)
    return Comparison(moved(base, 1), moved(bagged, 2, noise), 400, "", after, spread)


def one_row_only():
    """A base model whose change rests on a single row."""
    values = np.zeros((N_ROWS, N_POINTS))
    values[7] = 40.0
    base = Perturbations(np.zeros(N_POINTS), values, np.arange(N_ROWS))
    return Comparison(base, moved(1.0, 2), 400)


STABILITY = {
    "stabilized": Comparison.of(moved(6.0, 1), moved(0.3, 2)),
    "stabilized, and still unstable": Comparison.of(moved(6.0, 1), moved(2.0, 2)),
    "mostly noise": refitted(6.0, 0.1, 0.4),
    "already stable": Comparison.of(moved(0.2, 1), moved(0.2, 2)),
    "never changes": Comparison.of(moved(0.0, 1), moved(0.0, 2)),
    "not stabilized": Comparison.of(moved(6.0, 1), moved(6.0, 2)),
    "not enough bags": Comparison.of(moved(2.0, 1), moved(1.0, 2, noise=6.0)),
    "rests on one row": one_row_only(),
    "below the noise": Comparison.of(moved(6.0, 1), moved(0.0, 2, noise=1.2)),
    "not compared": Comparison(None, moved(0.4, 2, noise=0.1), 400, "The rows are not in memory."),
    "not compared, and unstable": Comparison(None, moved(4.0, 2, noise=0.1), 400, "The rows are not in memory."),
}


class Alone:
    """A base model that has predicted already."""

    def __init__(self, predicted):
        self.predicted = predicted

    def predict(self, X):
        return self.predicted


def accuracy(n, slope, noise, base=None, seed=0):
    """Held-out numbers, and what a model predicts of them."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = x + 0.5 * rng.normal(size=n)
    predicted = slope * x + noise * rng.normal(size=n)
    alone = None if base is None else Alone(y + base * rng.normal(size=n))
    held = HeldOut(alone, y, predicted, y, y=np.zeros(2))
    return held.losses(), held.ranking()


def of_classes(n, share, sure):
    """Held-out classes, and probabilities that know about them; with `sure`, they are far too extreme."""
    rng = np.random.default_rng(1)
    score = rng.normal(size=n)
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-2 * score - np.log(share / (1 - share)))), "yes", "no")
    p = 1 / (1 + np.exp(-2 * sure * score - np.log(share / (1 - share))))
    table = np.column_stack([1 - p, p])
    train = np.where(np.arange(1000) < 1000 * share, "yes", "no")
    held = HeldOut(None, y, table, y, y=train, classes=np.array(["no", "yes"]))
    return held.losses(), held.ranking()


ACCURACY = {
    "good": accuracy(200, 1.0, 0.1),
    "noise": accuracy(200, 0.0, 1.0),
    "nearly a constant": accuracy(200, 0.0, 0.01, seed=1),
    "ranks only": accuracy(200, 4.0, 1.0),
    "few rows": accuracy(4, 1.0, 0.1),
    "one row": accuracy(1, 1.0, 0.1),
    "seems so": accuracy(40, 1.0, 1.0, seed=1),
    "costs accuracy": accuracy(400, 1.0, 0.3, base=0.05),
    "may cost accuracy": accuracy(30, 1.0, 0.3, base=0.5),
    "good classes": of_classes(300, 0.5, 1.0),
    "too sure": of_classes(300, 0.5, 6.0),
    "3 % positives": of_classes(40, 0.03, 1.0),
    "unknown": ((), None),
}
GOOD = ("good", "good classes", "costs accuracy")
FINDINGS = {
    name: Finding(name, f"Something about {name}.", f"Do something about {name}.", (f"Why {name} matters.",))
    for name in (*CHECKS, "numbers as classes")
}
CHECKED = {
    "nothing": Checks(CHECKS, ()),
    "not looked": Checks(),
    "no leaks looked for": Checks(CHECKS[1:], ()),
    "leak": Checks(CHECKS, (FINDINGS["leaking columns"],)),
    "groups and copies": Checks(CHECKS, (FINDINGS["repeated groups"], FINDINGS["copied rows"])),
    "numbers as classes": Checks(CHECKS, (FINDINGS["numbers as classes"],)),
}
COVERED = {"not known": None, "as promised": Covered(0.9, 200, 200, 0.9, 400), "low": Covered(0.5, 200, 200, 0.9, 400)}


def flips(n_flipped, n=100, is_checked=True):
    by_point = np.zeros(n, dtype=int)
    by_point[:n_flipped] = 1
    pairs = np.array([[0, place] for place in range(n_flipped)], dtype=int).reshape(-1, 2)
    refits = np.arange(10) if is_checked else np.empty(0, dtype=int)
    some = Decisions.of_perturbations(Perturbations(np.full((1, 2), 0.5), np.full((1, 1, 2), 0.5), np.arange(1)))
    return Decisions(by_point * is_checked, np.zeros(60, dtype=int), some.names, some.noun, some.points, pairs, refits)


DECISIONS = {"of numbers": None, "clear": flips(0), "few close": flips(2), "many close": flips(9),
             "many suggested": flips(9, is_checked=False)}  # fmt: skip


def unseen(value, constant, width, n_carrying=100.0, is_harder=False):
    """The squared error of a model and a constant at 353 training rows, with an interval of this width."""

    def interval(mean, half):
        return ErrorInterval(mean - half, mean + half, mean, 0.95, "asymptotic", 7.0, 0.1, 353, "As is assumed.")

    size = abs(value - constant)
    enough = 353 * max(width / 2 / size, 1.0) ** 2 * max(1.0, 12 / n_carrying) if size else np.inf
    difference = interval(value - constant, width / 2)
    of_model = LeaveOneOutError(value, 1.0, np.ones(353), np.arange(353))
    against = ErrorComparison(
        ("the bagged model", "a constant"), (of_model, of_model), difference, True, n_carrying, enough
    )
    of = [
        UnseenError("mean absolute error", 46.4567, 60.0, interval(46.4567, 4.0), n_carrying=n_carrying),
        UnseenError(
            "root mean squared error", value**0.5, constant**0.5, interval(value, width / 2), None, True, n_carrying
        ),
    ]
    return Unseen(tuple(of), against, ROWS, 353, is_harder)


NO_INTERVAL = UnseenError("Brier score", 0.0641, 0.47, None)
UNSEEN = {
    "not estimated": None,
    "better": unseen(60.0, 100.0, 40.0),
    "worse": unseen(140.0, 100.0, 40.0),
    "not clear": unseen(95.0, 100.0, 40.0),
    "not clear, above": unseen(105.0, 100.0, 40.0),
    "hardly different": unseen(99.999, 100.0, 40.0),
    "carried by few": unseen(60.0, 100.0, 40.0, n_carrying=3.0),
    "better, but held-out rows are harder": unseen(0.1, 1.0, 0.1, is_harder=True),
    "without interval": Unseen((NO_INTERVAL,), None, ROWS, 20),
    "same as a constant": unseen(100.0, 100.0, 0.0),
    "better groups": replace(unseen(60.0, 100.0, 40.0), noun=GROUPS),
}
GRID = [
    *itertools.product(STABILITY, ACCURACY, CHECKED, COVERED, DECISIONS, ["not estimated"]),
    *itertools.product(["stabilized", "not compared"], ACCURACY, ["nothing", "leak"], ["not known", "low"],
                       ["of numbers"], UNSEEN),
]  # fmt: skip


def lines_of(stability, held_out, checked, covered, decisions, of_unseen="not estimated"):
    compared, (losses, ranking) = STABILITY[stability], ACCURACY[held_out]
    options = {"spread": SPREAD, "quantity": "predictions" if decisions == "of numbers" else "class probabilities",
               "covered": COVERED[covered], "unseen": UNSEEN[of_unseen]}  # fmt: skip
    verdict = decide(compared, losses, ranking, **options)
    about = {"decisions": DECISIONS[decisions], "checks": CHECKED[checked]}
    return verdict, summarize(verdict, compared, losses, ranking, **options, **about)


@pytest.fixture(scope="module")
def summaries():
    return {names: lines_of(*names) for names in GRID}


def test_there_are_always_four_short_lines(summaries):
    for names, (_, lines) in summaries.items():
        assert [line.name for line in lines] == ["predicts", "suspicious", "stable", "next"]
        for line in lines:
            assert line.status in ("good", "warning", "unknown"), names
            assert 10 <= len(line.text) <= 225, (names, line.text)
            assert line.text.endswith("."), line.text
            assert "  " not in line.text
            assert not re.search(r"nan|inf\b|\d\.\d{6}|e-\d|None of None|100\.0%", line.text), line.text
            assert len(summary_text([line], 79).splitlines()) <= 4, line.text


def test_advice_never_contradicts_what_was_found(summaries):
    for names, (_, (predicts, suspicious, stable, to_do)) in summaries.items():
        uses = to_do.text.startswith("Use the bagged model")
        said = (names, predicts.text, suspicious.text, stable.text, to_do.text)
        if not predicts.text.startswith(("Yes.", "It seems so.")):
            assert not uses, said
        if suspicious.status == "warning":
            assert not uses, said
            assert to_do.status == "warning", said
        if stable.text.startswith(("No", "Yes, even without")):
            assert not uses, said
        if uses:
            assert stable.text.startswith(("Yes.", "More stable than the base model.")), said
        if stable.status == "warning" or stable.text.startswith("More stable"):
            assert "You do not need bagging" not in to_do.text, said
        assert not ("Use the bagged model" in to_do.text and "Use the base model" in to_do.text), said
        if to_do.status == "good":
            assert {predicts.status, stable.status} <= {"good"}, said
            assert suspicious.status != "warning", said


def test_data_come_before_accuracy_and_accuracy_before_stability(summaries):
    for names, (verdict, (predicts, suspicious, _, to_do)) in summaries.items():
        _, held_out, checked, *_, of_unseen = names
        found, ranking = CHECKED[checked].found, ACCURACY[held_out][1]
        cases = {verdict.case, *(remark.case for remark in verdict.remarks)}
        if found:
            assert suspicious.text.startswith(found[0].text)
            assert to_do.text == found[0].action
            if found[0].check in CHECKS and held_out in GOOD and of_unseen not in ("worse", "same as a constant"):
                assert predicts.text.startswith("Unclear until the next line is settled.")
        elif "harder" in of_unseen and ranking is not None:
            assert suspicious.text.startswith("The held-out rows seem to differ from the training rows: the root mean ")
        elif "too few rows" in cases and ranking.are_few:
            assert suspicious.text.startswith(f"The hold-out is tiny: {ranking.n} held-out row")
            assert to_do.text.startswith("Hold out more rows" if of_unseen == "not estimated" else "Gather more rows")
        elif "too few rows" in cases:
            assert to_do.text.startswith("Find out how" if suspicious.status == "warning" else "Gather more rows")
        elif "no better than a constant" in cases:
            assert to_do.text.startswith("Fix accuracy first")
        elif suspicious.status == "warning":
            assert suspicious.text.startswith("Only 50% of 200 held-out targets")
            assert to_do.text.startswith("Find out how the held-out rows differ")
        elif held_out == "unknown" and "better" not in of_unseen:
            assert to_do.text.startswith("Measure its accuracy")
        elif cases & {"ranks, but no better than a constant", "costs accuracy"}:
            assert "bagged model." not in to_do.text


def test_prediction_is_confirmed_only_if_it_clearly_beats_a_constant(summaries):
    for names, (_, (predicts, *_)) in summaries.items():
        (losses, ranking), known = ACCURACY[names[1]], UNSEEN[names[-1]]
        by_training = known is not None and known.beats is True
        by_held_out = ranking is not None and ranking.is_real and difference(losses[0], losses[0].constant).is_smaller
        if predicts.text.startswith("Yes."):
            assert by_training or by_held_out, names
            assert known is None or known.beats is not False, names
        if predicts.text.startswith("It seems so."):
            assert by_training or ranking.is_real
            assert known is None or not known.is_above
        if predicts.text.startswith("No."):
            is_larger = ranking is not None and difference(losses[0], losses[0].constant).is_larger
            by_training = by_training and not is_larger
            assert (known is not None and known.beats is False) or not (by_training or by_held_out or ranking.is_real)
    told = {name: lines_of("stabilized", name, "nothing", "not known", "of numbers")[1][0].text for name in ACCURACY}
    assert told["good"].startswith("Yes. The bagged model ranks 200 held-out rows well (rank correlation 0.")
    assert told["noise"].startswith("No. On 200 held-out rows, it does not clearly beat a constant prediction")
    assert told["ranks only"].startswith("Partly. The bagged model ranks")
    assert told["few rows"].startswith("Not known: 4 held-out rows are too few")
    assert told["one row"].startswith("Not known: 1 held-out row is too few")
    assert told["seems so"].startswith("It seems so. The bagged model ranks")
    assert "But bagging costs accuracy: its squared error is 130 times the base model's." in told["costs accuracy"]
    assert told["too sure"].endswith("But it is too sure where it is wrong.") or told["too sure"].startswith("Partly")
    assert "class 'yes'" in told["3 % positives"]
    assert told["unknown"].startswith("Not measured")


def test_the_error_on_unseen_rows_is_stated_with_its_interval_and_next_to_a_constant():
    def told(of_unseen, held_out="good", checked="nothing"):
        return lines_of("stabilized", held_out, checked, "not known", "of numbers", of_unseen)[1][0].text

    error = "On unseen rows, its mean absolute error is about 46.5 (95% interval 42.4 to 50.5)"
    ranks = "It ranks 200 held-out rows well (rank correlation 0.876)."
    assert told("better") == f"Yes. {error}, and its squared error is 40% below a constant's. {ranks}"
    assert told("better groups").startswith("Yes. On unseen groups, its mean absolute error")
    assert told("worse") == f"Partly. {error}, and its squared error is 40% above a constant's. But it {ranks[3:]}"
    assert told("worse", "noise") == f"No. {error}, and its squared error is 40% above a constant's."
    below = "There, its squared error is 76.1% below a constant's."
    assert told("not clear") == f"Yes. {error}. {ranks} {below}"  # the held-out rows are clear
    many = "About 5,700 rows should show whether it beats a constant."
    assert told("not clear", "few rows") == f"Not known. {error}. {many}"
    assert told("not clear, above", "seems so") == f"Not known. {error}. {many}"
    assert told("not clear", "seems so").startswith(f"It seems so. {error}. {many} It ranks 40 held-out rows ")
    assert told("carried by few", "few rows") == (
        f"Not known. {error[:-1]}, or wider). About 1,500 rows should show whether it beats a constant."
    )
    assert told("same as a constant", "few rows") == f"No. {error}, the same as a constant's."
    assert told("hardly different", "few rows").endswith("That it beats a constant is not clear.")
    assert told("better", "few rows").endswith("4 held-out rows are too few to confirm that (rank correlation 0.8).")
    assert told("better", "noise").startswith("No. On 200 held-out rows, it does not clearly beat a constant")
    assert told("better", "nearly a constant").startswith(f"It seems so. {error}")
    assert "200 held-out rows do not confirm that (rank correlation" in told("better", "nearly a constant")
    assert told("better", "unknown") == f"Yes. {error}, and its squared error is 40% below a constant's."
    assert told("not clear", "unknown") == (
        f"Not measured: the targets of the held-out rows are not known. {error}. {many}"
    )
    assert told("better, but held-out rows are harder").startswith("Yes. The bagged model ranks 200 held-out rows")
    assert told("better", "good", "leak") == (
        f"Unclear until the next line is settled. {error}, and its squared error is 40% below a constant's."
    )
    assert told("without interval", "good").startswith("Yes. On unseen rows, its Brier score is about 0.0641. It ranks")


def test_stability_is_confirmed_only_for_small_changes(summaries):
    for names, (_, (_, _, stable, _)) in summaries.items():
        compared = STABILITY[names[0]]
        change = compared.limit_rms if compared.how == "limit" else compared.bagged_rms
        if stable.text.startswith("Yes"):
            assert min(change, compared.base_rms if compared.base is not None else change) <= LITTLE * SPREAD, names
        if stable.status == "good" and DECISIONS[names[4]] is not None:
            assert names[4] in ("clear", "few close")
        if names[4] == "many close":
            assert "At least 9 of 100 decisions hinge on one row." in stable.text
        if names[4] == "many suggested":
            assert "9 of 100 decisions may hinge on one row (not checked by refits)." in stable.text


def test_stability_comes_with_its_bagging_noise():
    mostly_noise = STABILITY["mostly noise"]
    *_, stable, _ = lines_of("mostly noise", "good", "nothing", "not known", "of numbers")[1]
    assert f"changes a prediction by {three_digits(mostly_noise.bagged_rms)} (base model: 6)." in stable.text
    assert "This is 4% of the target's spread and includes bagging noise of 0.4." in stable.text
    *_, below, _ = lines_of("below the noise", "good", "nothing", "not known", "of numbers")[1]
    assert (
        "Apart from bagging noise (1.2), leaving out one training row typically changes a prediction by too little"
        in below.text
    )


def test_only_what_was_checked_is_called_checked(summaries):
    for names, (_, (_, suspicious, *_)) in summaries.items():
        checks = CHECKED[names[2]]
        if suspicious.status == "warning":
            continue
        _, _, made = suspicious.text.partition("Checked: ")
        made, _, missing = made.partition("Not checked: ")
        for name in CHECKS:
            assert (name in made) == (name in checks.made), suspicious.text
            assert (name in missing or name in suspicious.text) or name in checks.made
        assert (suspicious.status == "good") == ("leaking columns" in checks.made)
        assert ("tiny hold-out" in made) == (ACCURACY[names[1]][1] is not None)


# ----------------------------------------------------------------------------------------------------- on real tables


def numbers(rng, n=200):
    X = rng.normal(size=(n, 4))
    return X, X[:, 0] + 0.3 * rng.normal(size=n)


def table_of(name, rng):
    """A table, and options of the command."""
    X, y = numbers(rng)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    if name == "noise":
        return frame.assign(y=rng.normal(size=200)), ()
    if name == "leak":
        late = np.where(y > 0, rng.uniform(5, 50, 200), 0.0)
        return frame.assign(fee=late, y=np.where(y > 0, "late", "paid")), ()
    if name == "imbalanced":
        chance = 1 / (1 + np.exp(-1.5 * X[:, 0] + 4))
        return frame.assign(y=np.where(rng.random(200) < chance, "yes", "no")), ()
    if name == "tiny":
        return frame[:12], ()
    if name == "series":
        return frame.assign(
            date=pd.date_range("2024-01-01", periods=200).astype(str), y=rng.normal(size=200).cumsum()
        ), ()
    if name in ("patients", "grouped patients"):
        who = np.repeat(np.arange(40), 5)
        level = rng.normal(size=40)[who]
        few = frame.assign(patient_id=who, y=3 * level + y)
        return few, ("--group", "patient_id") if name == "grouped patients" else ()
    if name == "heavy tails":
        return frame.assign(y=np.exp(2.5 * rng.normal(size=200) + y)), ()
    if name == "many classes":
        return frame.assign(y=[f"c{k}" for k in np.digitize(y, np.quantile(y, np.arange(0.1, 1, 0.1)))]), ()
    if name == "copies":
        return pd.concat([frame, frame[:100]]), ()
    return frame, ()


ZOO = {
    "good": ("Yes. On unseen rows, its mean absolute error is about", "Nothing found", ""),
    "noise": ("No. On", "Nothing found", "Fix accuracy first"),
    "leak": ("Unclear until", "fee alone predicts y almost perfectly.", "Check whether you know fee when you predict"),
    "imbalanced": ("Not known. On unseen rows, its Brier score is about", "The hold-out is tiny", "Gather more rows"),
    "tiny": (
        "Not known. On unseen rows, its mean absolute error is about",
        "The hold-out is tiny: 3 held-out rows.",
        "Gather more rows",
    ),
    "series": ("Unclear until", "The rows are a time series (by date)", "If you predict the future, add --time"),
    "patients": (
        "Unclear until",
        "40 of 40 held-out rows have a patient_id",
        "If you predict for a new patient_id, add",
    ),
    "grouped patients": ("", "", ""),
    "heavy tails": ("", "", ""),
    "many classes": ("", "", ""),
    "copies": ("Unclear until", "Some held-out rows are exact copies", "Remove repeated rows"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ZOO)
def test_terminal_and_json_have_the_same_four_lines_on_every_table(name, tmp_path):
    frame, more = table_of(name, np.random.default_rng(5))
    frame.to_csv(tmp_path / "t.csv", index=False)
    quick = ("--n-bags", 30, "--refits", 20, "--points", 5, "--jobs", 1, "--json", tmp_path / "n.json")
    arguments = ["measure", tmp_path / "t.csv", "--target", "y", *quick, *more]
    result = CliRunner().invoke(main, [str(argument) for argument in arguments], env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    found = json.loads((tmp_path / "n.json").read_text())
    lines = {line["name"]: line for line in found["summary"]}
    block = " ".join(f"{line['label']} {line['text']}" for line in found["summary"])
    printed = " ".join(result.stdout.split())
    assert printed.startswith(block)
    assert printed.endswith(block)
    for key, begin in zip(("predicts", "suspicious", "next"), ZOO[name], strict=True):
        assert lines[key]["text"].startswith(begin), (key, lines[key]["text"])
    if "typical change" in found["facts"] and found["facts"]["typical change"]["bagged"]:
        assert three_digits(found["facts"]["typical change"]["bagged"]) in lines["stable"]["text"]
    if lines["predicts"]["text"].startswith("Yes."):
        assert found["facts"]["ranking"]["better_than_chance"]
    if lines["suspicious"]["status"] == "warning":
        assert "Use the bagged model" not in printed
    paths = ("Numbers:", "More:")  # lines that may be as long as a path
    assert all(len(line) <= 79 for line in result.stdout.splitlines() if not line.startswith(paths))


@pytest.mark.parametrize("classes", [False, True])
def test_in_python_what_was_not_checked_is_said(classes):
    X, y = numbers(np.random.default_rng(2))
    tree = DecisionTreeClassifier(max_depth=3) if classes else DecisionTreeRegressor(max_depth=3)
    model = (BaggedClassifier if classes else BaggedRegressor)(tree, n_bags=40)
    made = study(model, X, y > 0 if classes else y, n_refits=5, n_points=3, n_matched=2)
    suspicious = made.summary()[1]
    assert suspicious.text.endswith("Not checked: leaking columns, repeated groups, time order, copied rows.")
    assert suspicious.status == "unknown"
    assert str(made.facts()).startswith(f"Does it predict?      {made.summary()[0].text[:30]}")


def quick(X, y, X_test=None, y_test=None, **options):
    options = {"n_refits": 4, "n_matched": 2, "n_points": 3} | options
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), n_bags=40, random_state=0)
    return study(model, X, y, X_test, y_test, **options)


def test_a_target_that_never_changes_is_not_called_a_tiny_hold_out():
    X, y = numbers(np.random.default_rng(0))
    made = quick(X, np.full(200, 7.0))
    predicts, suspicious, *_ = made.summary()
    assert predicts.text == "No. On unseen rows, its root mean squared error is about 0, the same as a constant's."
    assert "tiny: " not in suspicious.text
    assert made.verdict().headline == "On unseen rows, the bagged model is as good as a constant."
    alike = quick(X[:100], np.round(y[:100] / 5), X[100:], np.ones(100))
    assert alike.verdict().case != "too few rows" or alike.summary()[1].text.startswith("All 100 held-out rows have")


def test_one_held_out_row_cannot_show_whether_a_model_ranks():
    X, y = numbers(np.random.default_rng(0))
    assert (
        "1 held-out row cannot show whether the model ranks."
        in quick(X[:60], y[:60], X[60:61], y[60:61]).verdict().reasons
    )


def test_rounding_errors_do_not_cost_accuracy():
    X, y = numbers(np.random.default_rng(0), 10)
    made = quick(np.repeat(X, 20, axis=0), np.repeat(y, 20) / 3)
    exact = study(
        BaggedRegressor(n_bags=40, random_state=0), np.repeat(X, 20, axis=0), np.repeat(y, 20) / 3, n_refits=4
    )
    assert exact.summary()[0].text.startswith("Yes. ")
    assert "costs accuracy" not in exact.summary()[0].text
    assert "Squared error on held-out rows: the same as the base model's." in exact.verdict().reasons
    assert "from 0 to 0" not in " ".join(made.verdict().reasons)


def test_no_interval_of_tiny_targets_is_from_0_to_0():
    X, y = numbers(np.random.default_rng(0))
    made = quick(X, 1e-300 * y)
    assert "from 0 to 0" not in " ".join(made.verdict().reasons)
    assert "E-" not in str(made)  # numbers are written in one way


def test_errors_of_groups_are_said_to_be_of_groups():
    X, y = numbers(np.random.default_rng(0))
    made = quick(X, y, groups=np.arange(200) // 5)
    first = made.facts()["mean absolute error on unseen rows"]
    error, squared = made.verdict().reasons[0], made.verdict().reasons[2]
    assert error.startswith(f"Mean absolute error on unseen groups: {first.value:.3g} (95% interval ")
    assert error.endswith("estimated at 32 training groups, each predicted by the bags without it.")
    assert squared.startswith("By the squared error on unseen groups, ")


def test_a_bagged_model_that_changes_far_is_not_called_stable():
    compared, (losses, ranking) = Comparison.of(moved(0.2, 1), moved(3.0, 2)), ACCURACY["good"]
    verdict = decide(compared, losses, ranking, spread=SPREAD)
    *_, stable, to_do = summarize(verdict, compared, losses, ranking, spread=SPREAD)
    assert verdict.case == "already stable"
    assert stable.text.startswith(
        "The base model is, but the bagged model is not. Leaving out one training row typically"
    )
    assert to_do.text == "You do not need bagging for stability here."
