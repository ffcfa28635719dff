"""Rows in Parquet files: filling bags against a bare scan with pyarrow, portions, memory, and a fit against loading."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from helpers import constant, cpu_seconds

from stablebag import BaggedRegressor, FunctionRegressor, ParquetTable, Subbagging
from stablebag.models.fitting import cuts

N, D, FILES = 5_000_000, 10, 5
COLUMNS = [f"x{k}" for k in range(D)]
BUDGET = 200_000_000
_MEMORIES = (2**31, 80_000_000)  # for one portion, and for seven
TITLE = f"Parquet, {N:,} rows of {D} float32 columns (CPU time of all threads)"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path, rng = tmp_path_factory.mktemp("parquet"), np.random.default_rng(0)
    for file in range(FILES):
        columns = {name: rng.normal(size=N // FILES).astype(np.float32) for name in COLUMNS}
        whole = pa.table({**columns, "y": rng.normal(size=N // FILES)})
        pq.write_table(whole, path / f"{file}.parquet", row_group_size=250_000)
    yield path
    for file in path.glob("*.parquet"):
        file.unlink()


def ratio(one, other, n_rounds=7):
    """The ratio of the times of two tasks in turns; the minimum of each is affected least by other work."""
    one(), other()
    rounds = [(cpu_seconds(one), cpu_seconds(other)) for _ in range(n_rounds)]
    return min(taken for taken, _ in rounds) / min(taken for _, taken in rounds)


@pytest.mark.parametrize(("as_frame", "most"), [(False, 1.3), (True, 1.5)])
def test_filling(folder, ratios, as_frame, most):
    table = ParquetTable(folder, target="y", as_frame=as_frame)
    rows = np.sort(np.random.default_rng(1).choice(table.n_samples, N // 20, replace=False))
    files = sorted(map(str, folder.glob("*.parquet")))

    def scan():
        how = {"batch_size": 2**17, "batch_readahead": 4, "fragment_readahead": 1}
        for _ in pyarrow.dataset.dataset(files).to_batches(columns=COLUMNS, **how):
            pass

    what = f"filling with 5 % of the rows, as a {'frame' if as_frame else 'matrix'} / a bare scan (at most {most})"
    ratios(TITLE, what, ratio(lambda: table.take(rows), scan), None)


def fitted(table, bag_size, n_bags):
    model = BaggedRegressor(FunctionRegressor(constant), scheme=Subbagging(bag_size), n_bags=n_bags, random_state=0)
    return model.set_params(prediction_range=None, keep_rows=False).fit(table)


def test_portions(folder, ratios):
    """B m = n, and a learner that costs nothing: every additional pass is one more scan of the files."""
    whole, parts = (ParquetTable(folder, target="y", as_frame=False, max_memory=memory) for memory in _MEMORIES)
    n_passes = len(list(cuts(Subbagging(10_000).resolve(N).draw(500, random_state=0), parts)))
    found = ratio(lambda: fitted(parts, 10_000, 500), lambda: fitted(whole, 10_000, 500), n_rounds=4)
    ratios(TITLE, f"a fit in {n_passes} portions / in one (at most 1.3)", found, None)


@pytest.mark.parametrize("as_frame", [False, True])
def test_memory(folder, ratios, as_frame):
    script = Path(__file__).with_name("parquet_memory.py")
    command = [sys.executable, str(script), str(folder), str(BUDGET), str(as_frame)]
    found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    what = f"extra peak memory / budget, {found['passes']} portions, {'frame' if as_frame else 'matrix'} (at most 1.2)"
    ratios(TITLE, what, found["extra"] / BUDGET, None)


def test_against_loading(folder, ratios):
    def out_of_core():
        fitted(ParquetTable(folder, target="y", as_frame=False), 10_000, 50)

    def in_memory():
        whole = pq.read_table(folder)
        y = whole["y"].to_numpy()
        X = np.column_stack([whole[name].to_numpy() for name in COLUMNS])
        model = BaggedRegressor(FunctionRegressor(constant), scheme=Subbagging(10_000), n_bags=50, random_state=0)
        model.set_params(prediction_range=None, keep_rows=False).fit(X, y)

    what = "a fit out of core / loading the whole table and fitting in memory (at most 1.0)"
    ratios(TITLE, what, ratio(out_of_core, in_memory, n_rounds=3), None)
