import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import train_test_split

from stablebag import BernoulliSubbagging
from stablebag.cli import budget
from stablebag.cli.studying import StudyOrder, held_out
from stablebag.tables.text import TableError

QUICK = ("--n-bags", 20, "--refits", 5, "--points", 4, "--jobs", 1)


def test_influential_rows_are_numbered_as_in_the_file(run, tmp_path):
    odd = np.where(np.arange(100) == 70, 1000.0, np.arange(100.0) / 7)
    frame = pd.DataFrame({"place": np.random.default_rng(0).normal(size=100), "y": odd})
    frame.loc[:9, "y"] = np.nan
    frame.to_csv(tmp_path / "table.csv", index=False)
    numbers = tmp_path / "numbers.json"
    model = ("--param", "min_samples_leaf=20", *QUICK, "--n-bags", 300)  # enough to tell from noise
    table = tmp_path / "table.csv"
    assert run("measure", table, "--target", "y", "--test", table, *model, "--json", numbers).exit_code == 0
    found = json.loads(numbers.read_text())
    assert found["lists"]["most influential"]["rows"][0]["row"] == 70
    assert [found["lists"][name]["rows"][0]["row"] for name in ("moving the predictions", "worth a look")] == [70, 70]


def test_rows_are_held_out_by_class_where_that_can_be_done():
    X, y = np.arange(100), np.repeat(["often", "seldom"], [90, 10])
    X_train, X_test, y_train, y_test = held_out(X, y, 0.2, "classification", 0)
    assert (y_test == "seldom").sum() == 2
    assert sorted([*X_train, *X_test]) == X.tolist()
    np.testing.assert_array_equal(y[X_train], y_train)
    alone = np.where(X == 7, "once", y)  # a class of one row cannot be on both sides
    assert len(held_out(X, alone, 0.2, "classification", 0)[1]) == 20


def test_the_same_seed_holds_out_the_same_rows():
    X, y = np.arange(100), np.arange(100.0)
    tests = [held_out(X, y, 0.3, "regression", seed)[1].tolist() for seed in (0, 0, 1)]
    assert tests[0] == tests[1] != tests[2]
    assert len(tests[0]) == 30


def test_training_rows_of_one_class_are_refused_with_what_to_do():
    X, y = np.arange(100), np.where(np.arange(100) == 26, "8", "7")
    assert 26 in train_test_split(X, test_size=0.2, random_state=0)[1]
    said = (
        r"All rows to train on have class '7': class '8' has 1 row only, and it is held out. Gather more rows of class "
        r"'8', or give held-out rows with --test. If the target is a number, use --task regression.$"
    )
    with pytest.raises(TableError, match=said):
        held_out(X, y, 0.2, "classification", 0)
    with pytest.raises(TableError, match=r"class 'yes' has 1 row only.* --test.$"):
        held_out(X, np.where(y == "8", "yes", "no"), 0.2, "classification", 0)
    assert len(held_out(X, y, 0.2, "classification", 1)[1]) == 20  # it is not held out
    few = np.array(["a"] * 2 + ["b", "c"])
    with pytest.raises(TableError, match="the other 2 classes have so few rows that all of them are held out"):
        held_out(np.arange(4), few, 0.5, "classification", next(s for s in range(99) if _held(s) == {2, 3}))


def _held(seed):
    return set(train_test_split(np.arange(4), test_size=0.5, random_state=seed)[1].tolist())


@pytest.mark.parametrize("share", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_of_rows_that_is_none_is_refused(share):
    with pytest.raises(ValueError, match="--test-size is a share of the rows between 0 and 1"):
        held_out(np.arange(9), np.arange(9.0), share, "regression", 0)


def test_an_order_asks_for_what_the_options_say(monkeypatch):
    monkeypatch.setattr("sys.argv", ["/bin/stablebag", "measure", "my table.csv", "--target", "y"])
    chosen = {"model": "ridge", "parameters": ("alpha=2",), "scheme": "bernoulli", "bag_size": "0.3", "n_bags": 70}
    run = {"points": 3, "refits": 4, "jobs": 1, "seed": 5, "output": None, "json_path": None}
    run |= {"time_limit": 60.0, "cache": None}
    run |= {"matched": 2, "metrics": ("r2",), "delta": 0.1, "table": Path("folder/my table.csv"), "target": "y"}
    order = StudyOrder.from_options({**chosen, **run})
    assert order.command == "stablebag measure 'my table.csv' --target y"
    assert order.scheme == BernoulliSubbagging(0.3)
    assert (order.model, order.parameters, order.n_bags, order.n_points, order.n_refits) == (
        "ridge", ("alpha=2",), 70, 3, 4,
    )  # fmt: skip
    assert (order.size_is_given, order.limit, order.cache) == (True, 60.0, None)
    assert (order.n_matched, order.metrics, order.delta, order.data, order.target) == (
        2,
        ("r2",),
        0.1,
        "my table.csv",
        "y",
    )
    assert (order.jobs, order.seed, order.output, order.numbers) == (1, 5, None, None)


def test_a_study_without_the_folder_to_write_to_is_not_begun(tmp_path, monkeypatch):
    monkeypatch.setattr("stablebag.cli.studying.study", lambda *arguments, **options: pytest.fail("begun"))
    order = StudyOrder("command", numbers=tmp_path / "none" / "numbers.json")
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*none to write numbers.json to"):
        order.carry_out(pd.DataFrame({"a": range(9)}), np.arange(9.0), None, None, "regression", [])


def test_what_was_chosen_is_in_the_command_of_the_report_and_chooses_it_again(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr(budget, "LADDER", ((20, 4),))
    page, numbers = tmp_path / "a.html", [tmp_path / "a.json", tmp_path / "b.json"]
    given = ["measure", table, "--target", "cost", "--model", "ridge", "--points", 4, "--jobs", 1]
    chosen = ("--n-bags", 20, "--refits", 4, "--matched", 4)
    for asked, more, number in zip(((), chosen), (("--output", page), ()), numbers, strict=True):
        monkeypatch.setattr("sys.argv", ["stablebag", *map(str, [*given, *asked])])
        done = run(*given, *asked, *more, "--json", number)
        assert done.exit_code == 0, done.output
        assert "20 bags of 48 rows, 4 refits of the base model and 4 of the bagged model take " in done.output
    assert "--points 4 --jobs 1 --n-bags 20 --refits 4 --matched 4</" in page.read_text()
    command = json.loads(numbers[0].read_text())["command"]
    assert command.endswith("--points 4 --jobs 1 --n-bags 20 --refits 4 --matched 4")
    assert numbers[0].read_text() == numbers[1].read_text()


def test_with_a_cache_nothing_is_fitted_twice_and_the_numbers_are_the_same(run, table, tmp_path):
    given = ["measure", table, "--target", "ill", *QUICK, "--cache", tmp_path / "kept"]
    outputs = [run(*given, "--json", tmp_path / f"{k}.json").output for k in range(2)]
    assert "fits are taken from" not in outputs[0]
    assert "20 of 20 fits are taken from" in outputs[1]
    assert "5 of 5 fits are taken from" in outputs[1]
    assert (tmp_path / "0.json").read_text() == (tmp_path / "1.json").read_text()


def test_an_interrupt_says_where_fits_are_kept(run, table, tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("stablebag.cli.studying.study", interrupted)
    given = ["measure", table, "--target", "ill", *QUICK]
    assert run(*given).output.splitlines()[-1] == "Interrupted."
    done = run(*given, "--cache", tmp_path / "kept")
    kept = f"What was done is kept in {tmp_path / 'kept'}; the same command continues from there."
    assert (done.exit_code, done.output.splitlines()[-1]) == (130, f"Interrupted. {kept}")
