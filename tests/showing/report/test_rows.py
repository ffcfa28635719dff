import numpy as np
import pandas as pd
import pytest

from stablebag.models.fitted import Fitted
from stablebag.showing.report.page import Cell, Values, together
from stablebag.showing.study import Study


@pytest.mark.parametrize(("values", "text"), [
    ([3.0], "3"), ([2.5, 7.0, 2.5], "2.5 to 7"), (["f", "f"], "f"), (["f", "m", None], "f / m"), ([np.nan], "missing"),
    (list("abcd"), "4 values"), ([np.nan, 4.0], "4"), ([True, False], "True / False"), (pd.Series([1, pd.NA]), "1"),
    ([1999], "1999"), ([1234567.0], "1,234,567"), ([12345.678], "12,346"), ([-0.0123456789], "-0.0123457"),
    ([pd.Timestamp("2024-05-01")], "2024-05-01"), ([pd.Timestamp("2024-05-01 12:30")], "2024-05-01 12:30:00"),
    ([pd.Timestamp("2024-05-02"), pd.Timestamp("2024-05-01")], "2024-05-01 to 2024-05-02"),
    (["a\x00b"], "a\\x00b"), (["x" * 99], "x" * 57 + "..."),
])  # fmt: skip
def test_the_values_of_several_rows_fit_into_a_cell(values, text):
    assert together(values).text == text


def test_cells_of_numbers_are_sorted_as_numbers():
    assert together([1234567.0]) == Cell("1,234,567", 1234567.0)
    assert together([5.0, 3.0]).value == 3.0
    assert together(["5"]).value is None
    assert together([np.nan]).value is None


def test_rows_are_called_as_in_their_frame_and_have_their_values(diabetes):
    result, X = diabetes
    named = X[:200].set_axis([f"case {k}" for k in range(200)])
    values = Values.of(result, named)
    assert values.name_of(7, "another") == "case 7"
    target, *cells = values.cells(7, counted=False, targets=True)
    assert target.value == Fitted(result.model).y[7]
    assert cells[0].value == named.iloc[7, 0]
    assert len(cells) == len(values.columns) == 10


def test_units_have_the_values_of_all_their_rows(visits):
    result, X, patients = visits
    values = Values.of(result, X)
    name = result.bagged.names.of_rows(np.array([3]))[0]
    own = X[(patients == name).to_numpy()]
    count, _, *cells = values.cells(3, counted=True, targets=True)
    assert count.value == len(own)
    assert cells[list(X.columns).index("level")].value == own["level"].iloc[0]
    alone = Values.of(Study.of(result.bagged, result.proved), X)
    assert not alone.known
    assert alone.columns == []
    assert alone.name_of(3, name) == name


def test_names_of_columns_are_safe_to_show_and_wide_tables_are_cut(diabetes):
    result, X = diabetes
    wide = pd.concat([X.add_suffix(f"\x00{k}" + "y" * 99) for k in range(4)], axis=1)
    values = Values.of(result, wide[:200])
    assert values.hidden == 28
    assert all(name.isprintable() and len(name) <= 60 for name in values.columns)
