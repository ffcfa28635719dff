import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import parquet_files
from stablebag import BaggedRegressor, Subbagging, random_n_bags
from stablebag.cli import budget
from stablebag.cli.training import TableError, TwoTables, about_bags
from stablebag.models import RowSource
from stablebag.resampling import RandomBags

CONSOLE = Console(quiet=True)
OPTIONS = {
    "target": "cost", "group": None, "task": None, "model": "tree", "parameters": (), "scheme": "subbagging",
    "bag_size": None, "n_bags": 50, "jobs": 1, "seed": 0, "time_limit": 60.0,
}  # fmt: skip


def read(table, wanted="regression", **options):
    return TwoTables.read({**OPTIONS, "table": table, **options}, table, wanted)


def test_both_tables_are_read_alike(table):
    data = read(table)
    pd.testing.assert_frame_equal(data.X, data.new.X)
    np.testing.assert_array_equal(data.y, data.new.y)
    assert "cost" not in data.X
    assert data.n_units == 120


def test_targets_of_new_rows_count_if_all_are_there(table, tmp_path):
    frame = pd.read_csv(table)
    frame.loc[3, "cost"] = np.nan
    frame.to_csv(tmp_path / "new.csv", index=False)
    data = TwoTables.read({**OPTIONS, "table": table}, tmp_path / "new.csv", "regression")
    assert data.new.y is None
    assert len(data.new.X) == 120


def test_a_number_of_bags_is_drawn_apart_from_the_bags(table, monkeypatch):
    monkeypatch.setattr(budget, "_timed", lambda *fits: (0.0, 0.0, False))  # the number is given
    data = read(table)
    fixed, drawn = (data.model(CONSOLE, BaggedRegressor, random_number=random) for random in (False, True))
    assert fixed.n_bags == 50
    assert isinstance(drawn.n_bags, RandomBags)
    assert drawn.n_bags == data.model(CONSOLE, BaggedRegressor, random_number=True).n_bags
    assert drawn.n_bags.law == Subbagging(0.5).resolve(120)
    assert about_bags(fixed) == ""
    numbers = {
        int(read(table, seed=seed).model(CONSOLE, BaggedRegressor, random_number=True).n_bags) for seed in range(20)
    }
    assert len(numbers) > 5


def test_hardly_any_bags_may_come_out_as_none(table):
    numbers = [int(random_n_bags(Subbagging(2), 120, 2, np.random.default_rng([seed, 1]))) for seed in range(50)]
    few = read(table, seed=int(np.argmin(numbers)), n_bags=2, bag_size="2")
    with pytest.raises(TableError, match=r"2 on average, and came out as [01]. Take more of them with --n-bags"):
        few.model(CONSOLE, BaggedRegressor, random_number=True)


def test_what_is_said_of_rows_is_said_of_patients(clinic):
    data = read(clinic, target="pressure", group="patient_id", bag_size="31")
    with pytest.raises(TableError, match="there are not that many groups"):
        data.model(CONSOLE, BaggedRegressor, random_number=False)


def test_a_large_table_is_fitted_from_its_files(tmp_path):
    parquet_files.one_file(tmp_path, parquet_files.rows(400))
    (tmp_path / "new").mkdir()
    parquet_files.one_file(tmp_path / "new", parquet_files.rows(30))
    options = {**OPTIONS, "table": tmp_path / "all.parquet", "target": "y", "drop": ("name", "patient"), "n_bags": 5}
    options |= {"max_memory": 35_000, "bag_size": "20"}
    data = TwoTables.read(options, tmp_path / "new" / "all.parquet", "regression")
    assert isinstance(data.X, RowSource)
    assert list(data.to_fit) == ["X"]
    assert data.notes[0].startswith("The table would take about 38.4 kB in memory")
    model = data.model(CONSOLE, BaggedRegressor, random_number=False).fit(**data.to_fit)
    assert model.predict(data.new.X).shape == (30,)
