"""Damaged, truncated or invented files: they load, or raise an error in one sentence that names them."""

import json
import math
import os
import pickle
import random

import pytest

from hostile.rule import fault_of, outcome
from hostile.subjects import POINTS, perturbations, regressor
from stablebag import BernoulliSubbagging, Certificate, Subbagging, TrimmedRange
from stablebag.measuring import Perturbations

pytestmark = pytest.mark.slow

TIMES = int(os.environ.get("STABLEBAG_HOSTILE", "1"))
WRONG = [
    "1e999999999", "1/0", "nan", "-1", "", 10**400, -1, 0, 2.5, math.nan, math.inf, True, None, [], {}, [1], {"a": 1},
    "x" * 10_000,
]  # fmt: skip
CERTIFICATES = [
    Certificate(Subbagging(0.5), 50, 100),
    Certificate(BernoulliSubbagging(0.3), 2**63),
    Certificate.for_targets(Subbagging(5), [0.0, 1.0, 2.0, 3.0, 9.0, 9.5, 10.0], TrimmedRange(2), 1000),
]


@pytest.mark.parametrize("certificate", CERTIFICATES, ids=["fixed", "huge", "trimmed"])
def test_a_certificate_can_be_saved_and_loaded(certificate):
    again = Certificate.from_dict(json.loads(json.dumps(certificate.to_dict())))
    assert again.to_dict() == certificate.to_dict()


@pytest.mark.parametrize("certificate", CERTIFICATES, ids=["fixed", "huge", "trimmed"])
def test_a_certificate_with_a_wrong_entry_raises(certificate):
    right = certificate.to_dict()
    for name in right:
        for wrong in WRONG:
            if wrong == right[name]:
                continue
            answer, error = outcome(lambda name=name, wrong=wrong: Certificate.from_dict({**right, name: wrong}))
            if error is None:  # it may say less, such as None for all bags, but not something else
                assert answer.to_dict()[name] == wrong, (name, wrong)
            else:
                assert fault_of(error) is None, (name, str(wrong)[:50], repr(error)[:300])


@pytest.mark.parametrize("wrong", [None, [], "{}", 5, {"scheme": "Subbagging"}, [["scheme", "Subbagging"]]])
def test_text_that_is_not_a_certificate_raises(wrong):
    with pytest.raises(TypeError, match="a dictionary from to_dict"):
        Certificate.from_dict(wrong)


def damaged(data, generator):
    """Yield the bytes with one bit flipped, truncated, or with a repeated part."""
    how = generator.randrange(4)
    place = generator.randrange(len(data))
    if how == 0:
        return data[:place]
    if how == 1:
        return data[:place] + data[max(0, place - 40) :]
    changed = bytearray(data)
    changed[place] ^= 1 << generator.randrange(8)
    return bytes(changed)


@pytest.mark.parametrize("ending", [".npz", ".json"])
def test_a_damaged_file_of_perturbations_loads_or_raises_an_error_that_names_it(ending, tmp_path):
    path = tmp_path / f"moves{ending}"
    perturbations().save(path)
    data, generator = path.read_bytes(), random.Random(3)
    for _ in range(100 * TIMES):
        path.write_bytes(damaged(data, generator))
        answer, error = outcome(lambda: Perturbations.load(path))
        if error is None:
            assert answer.prediction.shape == (len(POINTS),)
        else:
            assert fault_of(error) is None, repr(error)
            assert isinstance(error, ValueError)
            assert "damaged" in str(error)


@pytest.mark.parametrize("entry", [
    {"prediction": [math.nan, 1.0, 2.0]}, {"left_out": 5}, {"rows": "a"}, {"bags.n_bags": -3}, {"names": "[]"},
    {"bags.deviation": [-1.0, 1.0, 1.0]}, {"bags.n_without": [0] * 12}, {"scope": "{}"}, {"scope": "1e999999999"},
    {"left_out": {"a": 1}}, {"distances": [[[math.nan] * 3] * 12]}, {"extra": 1}, {"prediction": None},
])  # fmt: skip
def test_invalid_perturbations_raise(entry, tmp_path):
    path = tmp_path / "moves.json"
    perturbations().save(path)
    path.write_text(json.dumps({**json.loads(path.read_text()), **entry}))
    with pytest.raises(ValueError, match=r"moves.json' is damaged or was not written by Perturbations.save"):
        Perturbations.load(path)


def test_loading_a_pickle_as_perturbations_runs_no_code(tmp_path):
    class Harm:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    path = tmp_path / "moves.npz"
    path.write_bytes(pickle.dumps(Harm()))
    with pytest.raises(ValueError, match="is damaged"):
        Perturbations.load(path)
    assert not (tmp_path / "harm").exists()


def test_a_damaged_model_predicts_or_raises_an_error_that_names_it(tmp_path):
    pytest.importorskip("skops")
    from stablebag.cli.saving import SavedModel
    from stablebag.tables.text import TableError

    path = tmp_path / "model.skops"
    generator = random.Random(5)
    data = _saved(path)
    for _ in range(40 * TIMES):
        path.write_bytes(damaged(data, generator))
        answer, error = outcome(lambda: SavedModel.load(path))
        if error is not None:
            assert isinstance(error, TableError), repr(error)
            assert str(path) in str(error)
        else:
            assert len(answer.model.predict(POINTS)) == len(POINTS)


def _saved(path):
    from stablebag.cli.saving import save_model
    from stablebag.tables.columns import Columns, Kind
    from stablebag.tables.training import Reading

    reading = Reading(Columns.from_dict({}), "y", Kind("number"), "regression")
    save_model(path, regressor(), reading, "table.csv")
    return path.read_bytes()
