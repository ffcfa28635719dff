"""The same rows as Parquet files with many layouts, for tests of results that must not depend on the layout."""

import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

N = 240


def rows(n=N, seed=0):
    """Return rows with missing values, categories, strings, times and missing targets."""
    rng = np.random.default_rng(seed)
    x, level = rng.normal(size=n), rng.choice(["low", "mid", "high"], n)
    number = pa.array(rng.integers(0, 50, n), mask=np.arange(n) % 60 == 7)
    flag = pa.array(rng.random(n) < 0.5, mask=np.arange(n) % 80 == 5)
    town = pa.array(rng.choice(["Ulm", "Bonn", "Kiel", "Jena"], n), mask=np.arange(n) % 40 == 9).dictionary_encode()
    return pa.table({
        "x": x, "z": rng.normal(size=n).astype(np.float32), "whole": rng.integers(0, 5, n), "number": number,
        "flag": flag, "town": town, "level": level,
        "day": pa.array(np.datetime64("2024-01-01") + rng.integers(0, 300, n)),
        "patient": [f"p{k}" for k in rng.integers(0, 40, n)], "name": [f"row {k}" for k in range(n)],
        "y": pa.array(x + (level == "mid") + rng.normal(size=n), mask=np.arange(n) % 30 == 11),
        "kind": pa.array(rng.choice(["red", "green", "blue"], n), mask=np.arange(n) % 90 == 3),
    })  # fmt: skip


def one_file(folder, table):
    pq.write_table(table, folder / "all.parquet")


def one_row_groups(folder, table):
    pq.write_table(table, folder / "all.parquet", row_group_size=1)


def uneven_files(folder, table):
    """Write files of all sizes, one of them empty, with their own dictionaries, and one without statistics."""
    ends = [0, 1, 1, 30, 31, 100, len(table)]
    for k, (first, stop) in enumerate(itertools.pairwise(ends)):
        part = table.slice(first, stop - first)
        if "town" in table.column_names:
            own = pa.chunked_array(part["town"].cast(pa.string())).combine_chunks().dictionary_encode()
            part = part.set_column(part.schema.get_field_index("town"), "town", own)
        folder.joinpath("abcdef"[k]).mkdir()
        pq.write_table(part, folder / "abcdef"[k] / "part.parquet", row_group_size=7, write_statistics=k != 3)


def other_order_of_columns(folder, table):
    for k in range(3):
        part = table.slice(k * len(table) // 3, (k + 1) * len(table) // 3 - k * len(table) // 3)
        pq.write_table(part.select(part.column_names[::-1] if k else part.column_names), folder / f"{k}.parquet")


def by_pandas(folder, table):
    """Write files as pandas does, with an index; columns without missing values keep their integer type."""
    half = len(table) // 2
    for k, part in enumerate((table.slice(0, half), table.slice(half))):
        frame = part.to_pandas()
        frame["number"], frame["flag"] = frame["number"].astype("Int64"), frame["flag"].astype("boolean")
        frame.index = pd.Index(np.arange(len(frame))[::-1], name="place")
        frame.to_parquet(folder / f"{k}.parquet", compression=["gzip", "snappy"][k])


LAYOUTS = [one_file, one_row_groups, uneven_files, other_order_of_columns, by_pandas]
