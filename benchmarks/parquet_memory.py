"""Print how much memory it takes to fill portions of bags from Parquet files: `python benchmarks/parquet_memory.py`.

The arguments are a folder of files, the budget in bytes, and whether rows become a frame. It runs in a separate
process, because the peak of a process includes everything that ran in it before. The number is in bytes, above the
memory that was in use when the targets and the bags were known.
"""

import json
import sys

import numpy as np
from memory import resident

from stablebag import ParquetTable, Subbagging
from stablebag.models.fitting import portions
from stablebag.models.solving import FitJob

N_BAGS, BAG_SIZE = 400, 10_000


def main(folder, budget, as_frame):
    table = ParquetTable(folder, target="y", as_frame=as_frame == "True", max_memory=int(budget))
    table.take(np.arange(10))  # imports
    bags = Subbagging(BAG_SIZE).resolve(table.n_samples).draw(N_BAGS, random_state=0)
    job = FitJob(None, table, table.targets(), bags, np.arange(N_BAGS))
    before, passes = resident("VmRSS"), 0
    for portion in portions(job):
        passes += 1
        del portion
    print(json.dumps({"extra": resident("VmHWM") - before, "passes": passes}))


if __name__ == "__main__":
    main(*sys.argv[1:])
