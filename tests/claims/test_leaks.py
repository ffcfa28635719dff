"""What must be checked before any score is believed, on tables where it must be said and where it must not."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine

from stablebag.cli.main import main
from stablebag.tables.columns import rating_warnings
from stablebag.tables.leakage import copy_warnings, leak_warnings, leaks, time_order, time_order_warnings
from stablebag.tables.roles import suggest_group
from stablebag.tables.training import read_table

QUICK = ("--n-bags", 20, "--refits", 5, "--points", 5, "--jobs", 1)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def asked(X, y, target="y"):
    """What is asked about the columns of a table."""
    task = "regression" if np.asarray(y).dtype.kind == "f" else "classification"
    return leak_warnings(leaks(pd.DataFrame(X), np.asarray(y), task), target)


# ----------------------------------------------------------------------------------- one column predicts the target


def test_fee_that_only_defaulters_pay_is_a_leak(rng):
    default = rng.random(500) < 0.3
    fee = np.where(default, rng.exponential(50, 500) + 1, 0)
    found = asked({"income": rng.normal(size=500), "collections_fee": fee}, np.where(default, "yes", "no"), "default")
    assert found == [
        "collections_fee alone predicts default almost perfectly (collections_fee > 0: balanced accuracy 1.000 on 100 "
        "held-out rows). Is it known at the time of prediction? If not, it leaks the target: add "
        "drop=['collections_fee']."
    ]


@pytest.mark.parametrize("share", [0.02, 0.98])
def test_leak_is_found_with_2_percent_positives(rng, share):
    y = (rng.random(1000) < share).astype(int)
    X = {"honest": y + rng.normal(size=1000), "leak": np.where(y == 1, 3.5, rng.integers(0, 3, 1000))}
    (said,) = asked(X, y)
    assert said.startswith("leak alone predicts y almost perfectly (leak > 3: balanced accuracy 1.000")
    assert asked({"honest": X["honest"], "constant but for one": (np.arange(1000) == 7).astype(float)}, y) == []


def test_a_leak_through_what_is_missing_is_found(rng):
    died = rng.random(400) < 0.4
    X = {"age": rng.normal(size=400), "closed": np.where(died, rng.normal(size=400), np.nan)}
    (said,) = asked(X, np.where(died, "yes", "no"))
    assert "(closed is missing: " in said
    when = pd.Series(pd.to_datetime(np.where(died, "2024-03-01", None)))
    assert "(closed_on is missing: " in asked({"closed_on": when}, np.where(died, "yes", "no"))[0]
    X["closed"] = np.where(rng.random(400) < 0.5, X["age"], np.nan)  # missing at random
    assert asked(X, np.where(died, "yes", "no")) == []


def test_a_leak_through_categories_and_codes_is_found(rng):
    y = rng.integers(0, 2, 300)
    status = np.where(y == 1, "charged off", rng.choice(["paid", "current"], 300))
    assert "(status = charged off: " in asked({"status": status}, y)[0]
    code = np.where(y == 1, 2.0, rng.choice([1.0, 3.0], 300))  # no split tells these
    assert "(code = 2.0: " in asked({"code": code}, y)[0]
    mixed = np.where(rng.random(300) < 0.1, rng.permutation(status), status)
    assert asked({"status": mixed}, y) == []


def test_leak_of_several_classes_is_found_by_splits(rng):
    y = rng.integers(0, 4, 400)
    assert (
        "(3 splits of score: accuracy 1.000 on 80 held-out rows)" in asked({"score": y + 0.3 * rng.random(400)}, y)[0]
    )
    assert asked({"score": y + 0.5 * rng.normal(size=400)}, y) == []


@pytest.mark.parametrize("how", ["copy", "rescaled", "monotone", "falling", "not monotone", "by category"])
def test_column_that_restates_the_target_is_a_leak(rng, how):
    y = rng.standard_t(3, size=300)
    X = {"copy": y, "rescaled": 32 + 1.8 * y, "monotone": y**3, "falling": -np.exp(y), "not monotone": y}
    if how == "by category":
        city = rng.choice(list("abcdef"), 300)
        found = asked({"city": city}, np.array([ord(letter) for letter in city], dtype=float))
    else:
        found = asked({"other": rng.normal(size=300), "told": X[how]}, np.abs(y) if how == "not monotone" else y)
    assert len(found) == 1
    assert "almost perfectly" in found[0]
    assert "R2" in found[0]


@pytest.mark.parametrize("noise", [0.2, 0.5, 1.0])
def test_strong_honest_predictor_is_not_called_a_leak(rng, noise):
    y = rng.normal(size=500)
    assert asked({"x": y + noise * rng.normal(size=500)}, y) == []
    assert asked({"x": y + noise * rng.normal(size=500)}, np.where(y > 0, "high", "low")) == []


@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer, load_diabetes])
def test_ordinary_tables_have_no_leak(load):
    data = load(as_frame=True)
    assert asked(data.data, data.target.to_numpy()) == []


def test_noise_in_tiny_tables_is_not_called_a_leak(rng):
    for _ in range(20):
        n = int(rng.integers(10, 50))
        X = pd.DataFrame(rng.normal(size=(n, 20)).round(1)).rename(columns="x{}".format).assign(x0=np.nan)
        assert asked(X, (rng.random(n) < 0.2).astype(int)) == []
        assert asked(X, rng.normal(size=n)) == []


def test_leak_is_found_among_many_columns_and_rows(rng):
    y = (rng.random(100_000) < 0.01).astype(int)
    (said,) = asked({"x": rng.normal(size=100_000), "fee": y * rng.random(100_000)}, y)
    assert "(fee > 0: balanced accuracy 1.000 on 4,000 held-out rows)" in said
    wide = pd.DataFrame(rng.normal(size=(200, 500))).rename(columns="x{}".format)
    assert asked(wide, rng.integers(0, 2, 200)) == []


# -------------------------------------------------------------------------------------------------- rows in time


def daily(rng, n=300):
    sales = 200 + np.cumsum(rng.normal(size=n)) + 5 * np.sin(np.arange(n) * 2 * np.pi / 7)
    return pd.DataFrame({"date": pd.date_range("2022-01-01", periods=n), "promo": rng.integers(0, 2, n)}), sales


def test_daily_sales_follow_each_other_in_time(rng):
    X, sales = daily(rng)
    (said,) = time_order_warnings(time_order(X, sales, "regression"), "sales")
    assert said.startswith("The rows are a time series (by date), and sales is similar in neighbouring rows")
    assert said.endswith("If you predict the future, hold out the latest rows.")
    mixed = rng.permutation(300)
    assert time_order(X.iloc[mixed], sales[mixed], "regression")  # in any order of the file
    assert time_order(X.assign(date=np.arange(300)).rename(columns={"date": "day"}), sales, "regression")
    assert time_order(X, np.where(sales > np.median(sales), "high", "low"), "classification")


def test_dates_with_independent_targets_are_not_a_series(rng):
    X, _ = daily(rng)
    assert time_order(X, rng.normal(size=300), "regression") is None
    assert time_order_warnings(None, "sales") == []
    assert time_order(X, rng.choice(["a", "b"], 300), "classification") is None


def test_dates_of_birth_and_rows_sorted_by_class_are_not_a_series(rng):
    born = pd.to_datetime("1950-01-01") + pd.to_timedelta(rng.integers(0, 20_000, 300), unit="D")
    age = (pd.Timestamp("2024-01-01") - born).days.to_numpy() / 365
    assert time_order(pd.DataFrame({"date_of_birth": born}), age, "regression") is None
    assert time_order(pd.DataFrame({"joined": born}), age, "regression") is None  # neither regular nor in order
    iris = load_iris(as_frame=True)
    assert time_order(iris.data.assign(number=np.arange(150)), iris.target.to_numpy(), "classification") is None


# --------------------------------------------------------------------------------- groups, copies and ratings


def test_held_out_visits_of_patients_that_were_trained_on_are_counted(rng):
    visits = pd.DataFrame({"patient_id": np.repeat(np.arange(60), 5), "bmi": rng.normal(size=300)})
    mixed = visits.iloc[rng.permutation(300)]
    said = suggest_group(mixed[:240], mixed[240:])
    assert said.startswith("60 of 60 held-out rows belong to groups in the training rows (patient_id)")
    assert said.endswith("add group='patient_id', which holds out whole groups.")
    assert suggest_group(visits[:240], visits[240:]) == ""  # other patients are held out
    assert suggest_group(mixed.rename(columns={"patient_id": "dose"})[:240], mixed[240:]) == ""


def test_dropped_group_column_is_still_reported(rng, tmp_path):
    frame = pd.DataFrame(
        {"patient_id": np.repeat(np.arange(40), 3), "x": rng.normal(size=120), "y": rng.normal(size=120)}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)

    def warned(**options):
        return read_table(tmp_path / "t.csv", "y", **options).as_read.warned

    (said,) = warned(drop=("patient_id",))
    assert said.startswith("The dropped column patient_id has 40 values in 120 rows.")
    assert "use group='patient_id' instead of drop=['patient_id']" in said
    assert "use group='patient_id' instead of ids" in warned(ids=("patient_id",))[0]
    assert warned(group="patient_id") == warned(drop=("x",)) == ()


def test_copies_of_training_rows_are_counted_beyond_chance(rng):
    X, y = pd.DataFrame({"a": rng.normal(size=100), "b": rng.choice(list("xy"), 100)}), rng.normal(size=100)
    (said,) = copy_warnings(X, y, X[:20], y[:20])
    assert said.startswith("20 of 20 held-out rows (100%) are exact copies of training rows")
    assert copy_warnings(X[:80], y[:80], X[80:], y[80:]) == []
    few = pd.DataFrame({"a": rng.integers(0, 3, 200), "b": rng.integers(0, 2, 200)})
    yes = rng.integers(0, 2, 200)
    assert copy_warnings(few[:150], yes[:150], few[150:], yes[150:]) == []  # there are 12 different rows


@pytest.mark.parametrize(("values", "is_said"), [
    ([1, 2, 3, 4, 5], True), ([0, 1, 2], True), ([3, 4, 5, 6, 7, 8], True),
    ([0, 1], False), ([1, 2, 4], False), (["1 star", "2 stars", "3 stars"], False), ([10, 20, 30], False),
])  # fmt: skip
def test_ratings_that_were_read_as_classes_are_named(values, is_said):
    column = pd.Series(values * 10)
    said = rating_warnings(column, "stars", "classification", None)
    assert bool(said) == is_said
    assert rating_warnings(column, "stars", "classification", "classification") == []  # as was asked for
    if said:
        low, high = min(values), max(values)
        assert said[0].startswith(f"The numbers {low} to {high} of stars were read as classes without an order.")
        assert "If they are ratings or counts, use task='regression'." in said[0]


# ------------------------------------------------------------------------------- before the verdict, in the same order


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A leaking table of ratings in which patients repeat, as it is told, written and reported."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("leak")
    stars = rng.integers(1, 6, 150)
    frame = pd.DataFrame({"patient_id": np.repeat(np.arange(50), 3), "bmi": rng.normal(size=150)})
    frame = frame.assign(leak=stars * 10.0, stars=stars)
    frame.to_csv(folder / "t.csv", index=False)
    files = {"--output": folder / "r.html", "--json": folder / "n.json"}
    arguments = [
        "measure",
        folder / "t.csv",
        "--target",
        "stars",
        *QUICK,
        *(part for pair in files.items() for part in pair),
    ]
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return " ".join(result.stdout.split()), (folder / "r.html").read_text(), json.loads((folder / "n.json").read_text())


@pytest.mark.slow
def test_warnings_come_before_the_numbers_in_terminal_report_and_json(measured):
    text, page, numbers = measured
    assert [warning.split()[0] for warning in numbers["warnings"]] == ["leak", "30", "The"]
    assert list(numbers)[:3] == ["warnings", "summary", "verdict"]
    for whole, first in ((text, "How much"), (page, 'id="verdict"')):
        places = [whole.index(warning[:30], whole.find("Check first")) for warning in numbers["warnings"]]
        assert places == sorted(places)
        assert places[-1] < whole.index(first)
    predicts, suspicious, _, to_do = numbers["summary"]
    assert predicts["text"].startswith("Unclear until the next line is settled.")
    assert suspicious["text"] == (
        "leak alone predicts stars almost perfectly. Also found: repeated groups, numbers as classes."
    )
    assert to_do["text"] == "Check whether you know leak when you predict. If not: --drop leak."
    assert text.startswith("Does it predict? Unclear until the next line is settled.")
    assert text.endswith(f"What to do {to_do['text']}")
    assert numbers["facts"]["ranking"]["better_than_chance"]


def test_the_latest_rows_are_held_out_on_request(rng, tmp_path):
    X, sales = daily(rng, 120)
    X.assign(sales=sales).sample(frac=1, random_state=0).to_csv(tmp_path / "t.csv", index=False)

    def run(*more):
        arguments = ["measure", tmp_path / "t.csv", "--target", "sales", *QUICK, *more]
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    result = run("--time", "date")
    text = " ".join(result.stdout.split())
    assert "The latest rows are held out: those with date from 2022-04-07 on." in text
    assert "Trained on 96 rows, held out 24." in text
    assert "are a time series" not in text
    assert "both decide which rows are held out" in run("--time", "date", "--group", "promo").output
    assert "There is no column 'dat' in the table. Did you mean 'date'?" in " ".join(
        run("--time", "dat").output.split()
    )
    assert "There is no column 'zz' in the table; it has 'date', " in " ".join(run("--time", "zz").output.split())
    assert "is not a column of dates or numbers" in run("--time", "sales").output
