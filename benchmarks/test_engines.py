"""Bags of rows in Parquet files: two dask workers against one process, and the memory that fits leave behind."""

import time

import joblib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from memory import resident
from sklearn.linear_model import Ridge

from stablebag import BaggedRegressor, ParquetTable, Subbagging

N, D, N_BAGS, BAG_SIZE, ROUNDS = 2_000_000, 10, 100, 10_000, 6
TITLE = f"dask, 2 workers: {N_BAGS} bags of {BAG_SIZE:,} of {N:,} rows in Parquet, ridge regression"


class Clock:
    """CPU seconds of the caller and of the workers, and wall-clock seconds, for some tasks."""

    def __init__(self, client):
        self.client = client

    def __call__(self, task):
        before = self._now()
        task()
        return self._now() - before

    def _now(self):
        workers = sum(self.client.run(time.process_time).values())
        return np.array([time.process_time(), workers, time.perf_counter()])


def test_dask(tmp_path, ratios):
    distributed = pytest.importorskip("distributed")
    rng = np.random.default_rng(0)
    columns = {f"x{k}": rng.normal(size=N).astype(np.float32) for k in range(D)}
    pq.write_table(pa.table({**columns, "y": rng.normal(size=N)}), tmp_path / "0.parquet", row_group_size=250_000)
    table = ParquetTable(tmp_path, target="y", as_frame=False)
    model = BaggedRegressor(Ridge(), scheme=Subbagging(BAG_SIZE), n_bags=N_BAGS, random_state=0)
    model.set_params(prediction_range=None, keep_rows=False)

    def here():
        model.set_params(n_jobs=1).fit(table)

    def there():
        with joblib.parallel_config(backend="dask"):
            model.set_params(n_jobs=2).fit(table)

    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**how) as cluster, distributed.Client(cluster) as client:
        clock = Clock(client)
        here(), there()
        before, rounds = resident("VmRSS"), []
        for _ in range(ROUNDS):
            alone, idle, seconds = clock(here)
            caller, workers, taken = clock(there)
            # Idle workers also take some CPU time, which adds up on a busy machine.
            rounds.append((alone, caller + workers - taken * idle / seconds))
        grown = resident("VmRSS") - before
    found = min(there for _, there in rounds) / min(here for here, _ in rounds)
    ratios(TITLE, "CPU time of caller and workers / of one process (at most 2.5)", found, None)
    rows = N_BAGS * BAG_SIZE * D * 4
    ratios(TITLE, f"what the caller grew by in {ROUNDS} more fits / the rows of one fit", grown / rows, None)
    (tmp_path / "0.parquet").unlink()
