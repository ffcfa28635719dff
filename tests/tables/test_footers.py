import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stablebag.tables.files import Files, Footer, Kind


def footer(folder, table, **how):
    pq.write_table(pa.table(table), folder / "a.parquet", **how)
    return Footer.of(Files.of(folder), 0)


def test_missing_values_are_counted_where_they_decide_about_a_type(tmp_path):
    table = {
        "s": [{"x": 1}] * 4,
        "a": [1, None, 3, None],
        "b": [True] * 4,
        "f": [None, 1.0, 2.0, 3.0],
        "n": pa.nulls(4),
    }
    found = footer(tmp_path, table, row_group_size=1)
    assert found.n_rows == 4
    assert found.nulls(["a", "b", "f", "n"]) == {"a": 2, "b": 0, "f": 0, "n": 4}


def test_a_file_that_does_not_count_says_so(tmp_path):
    assert footer(tmp_path, {"a": [1, None], "f": [1.0, None]}, write_statistics=False).nulls(["a", "f"]) == {
        "a": None,
        "f": 0,
    }
    assert footer(tmp_path, {"a": pa.array([], pa.int64())}, write_statistics=False).nulls(["a"]) == {"a": 0}


def test_the_largest_group_is_that_of_the_columns(tmp_path):
    found = footer(tmp_path, {"a": range(1000), "b": range(1000)}, row_group_size=600, use_dictionary=False)
    assert 600 * 8 <= found.largest_group(["a"]) < 600 * 9
    assert found.largest_group(["a", "b"]) == 2 * found.largest_group(["a"])


def test_texts_take_the_bytes_that_they_have_in_the_file(tmp_path):
    texts = [f"{k:0100d}" for k in range(200)]
    found = footer(tmp_path, {"t": texts, "x": range(200)})
    assert 20_000 < found.text_bytes([Kind("t", "other"), Kind("x", "number")]) < 30_000
    assert found.text_bytes([Kind("x", "number")]) == 0


@pytest.mark.parametrize("length", [10, 100, 1000])
@pytest.mark.parametrize("size", [1, 7, 200])
def test_headers_of_small_row_groups_are_no_texts(tmp_path, length, size):
    texts = [f"{k:0{length}d}" for k in range(200)]
    found = footer(tmp_path, {"t": texts}, row_group_size=size)
    assert found.text_bytes([Kind("t", "other")]) <= 200 * (length + 4) + 1000
    assert Footer.sampled_bytes(Files.of(tmp_path), 0, ["t"])[0] >= length
