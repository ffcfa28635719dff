import pytest

from stablebag.tables.columns import is_called_like_an_id, is_called_like_units


@pytest.mark.parametrize("name", ["patient_id", "PatientID", "Patient No", "id_patient", "user", "group", "stop_id"])
def test_units_are_called_so(name):
    assert is_called_like_units(name)
    assert is_called_like_an_id(name)


@pytest.mark.parametrize("name", ["index", "Unnamed: 0", "row", "RowNumber", "row_id"])
def test_rows_are_called_so(name):
    assert is_called_like_an_id(name)


@pytest.mark.parametrize("name", ["age", "n_patient", "age_group", "zip_code", "paid", "hospital_beds", "", "room no"])
def test_others_are_not(name):
    assert not is_called_like_units(name)
    assert not is_called_like_an_id(name)
