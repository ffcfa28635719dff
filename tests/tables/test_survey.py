import numpy as np
import pyarrow as pa
import pytest

from stablebag.tables.parquet import Survey


def survey(*files, **how):
    """Files of lists of batches; each batch is a dict of columns."""
    batches, place = [], 0
    for number, file in enumerate(files):
        for columns in file:
            batch = pa.record_batch(columns)
            batches.append((number, place, batch))
            place += batch.num_rows
    return Survey(batches, tuple("abc"[: len(files)]), "y", **how)


def test_places_in_the_files_are_those_of_rows_with_a_target():
    found = survey([{"y": [None, 1.0]}, {"y": [2.0, None, None]}], [], [{"y": [float("nan"), 6.0, 7.0]}])
    assert found.known == (2, 0, 2)
    assert found.missing.tolist() == [0, 3, 4, 5]
    assert found.targets.tolist() == [1, 2, 6, 7]
    assert found.places(np.arange(4)).tolist() == [1, 2, 6, 7]
    assert found.known_of(0, 2).tolist() == [1]
    assert found.known_of(5, 3).tolist() == [1, 2]


def test_places_are_the_numbers_of_rows_if_all_have_a_target(seed):
    found = survey([{"y": [1, 2, 3]}])
    assert found.targets.dtype == np.int64
    assert found.places(np.array([0, 2])).tolist() == [0, 2]


def test_places_agree_with_a_list_of_all_of_them(seed):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(300) < 0.3, np.nan, 1.0)
    found = survey([{"y": y[:100]}, {"y": y[100:]}])
    np.testing.assert_array_equal(found.places(np.arange(found.n_samples)), np.flatnonzero(~np.isnan(y)))


@pytest.mark.parametrize("encode", [lambda array: array, lambda array: array.dictionary_encode()])
def test_labels_are_objects_that_equal_ones_share(encode):
    found = survey([{"y": encode(pa.array(["b", None, "a"]))}, {"y": encode(pa.array(["c", "b"]))}])
    assert found.targets.tolist() == ["b", "a", "c", "b"]
    assert found.targets[0] is found.targets[3]


def test_names_and_units_are_those_of_rows_with_a_target():
    found = survey([{"y": [1, None, 3], "g": ["u", "v", "w"]}], [{"y": [4], "g": ["u"]}], named=("g",))
    assert found.named["g"].name == "g"
    assert found.named["g"].tolist() == ["u", "w", "u"]


def test_units_that_are_all_missing_in_one_file_are_missing():
    found = survey([{"y": [1, 2], "g": ["u", "v"]}], [{"y": [3], "g": pa.nulls(1)}], named=("g",))
    assert found.named["g"].isna().tolist() == [False, False, True]


def test_dictionaries_and_missing_values_are_noted():
    town = [pa.array(values).dictionary_encode() for values in (["u", "v"], ["u", "v"], ["w", None])]
    files = [[{"y": [1, 2], "t": values, "k": [1, None if values is town[2] else 2]}] for values in town]
    found = survey(*files, categories=("t",), counted=("k",))
    assert [(path, values.to_pylist()) for path, values in found.dictionaries["t"]] == [("a", ["u", "v"]), ("c", ["w"])]
    assert found.has_nulls == {"k": True}


def test_targets_cannot_be_altered():
    with pytest.raises(ValueError, match="read-only"):
        survey([{"y": [1.0]}]).targets[0] = 2
