import numpy as np
import pytest
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from stablebag import BaggedRegressor, FunctionRegressor, Subbagging, leave_one_out_refit
from stablebag.measuring import replace_one_refit
from stablebag.measuring.refits import (
    for_one_less,
    names_of_rows,
    replacing_units,
    rows_replaced,
    rows_without,
    units_for,
)
from stablebag.resampling.units import RowIds, Units

GROUPS = ["p", "q", "p", "r", "q"]
UNITS = Units.of_groups(GROUPS, 5)


def test_all_rows_of_a_unit_are_left_out():
    assert [rows_without(UNITS, unit).tolist() for unit in range(3)] == [[1, 3, 4], [0, 2, 3], [0, 1, 2, 4]]
    assert rows_without(Units(RowIds(None, 3)), 1).tolist() == [0, 2]


def test_the_rows_of_a_replacement_stand_where_the_unit_stood():
    same = replacing_units(UNITS, ["q", "p", "r", "p", "q"], 5, "here")
    assert rows_replaced(UNITS, same, 0).tolist() == [6, 1, 8, 3, 4]
    assert rows_replaced(UNITS, same, 2).tolist() == [0, 1, 2, 7, 4]
    longer = replacing_units(UNITS, ["p", "p", "p", "q", "r"], 5, "here")
    assert rows_replaced(UNITS, longer, 0).tolist() == [5, 6, 7, 1, 3, 4]
    assert rows_replaced(UNITS, longer, 1).tolist() == [0, 8, 2, 3]


@pytest.mark.parametrize(("groups", "why"), [
    (None, "the unit of each replacement"), (["p", "q", "q"], "the same units as groups"),
    (["p", "q", "r", "s"], "the same units as groups"), (["p", "q", "s"], "'r'"),
])  # fmt: skip
def test_replacements_of_other_units_are_refused(groups, why):
    with pytest.raises(ValueError, match=f"'groups_replacement' parameter of here must be .*{why}"):
        replacing_units(UNITS, groups, 0 if groups is None else len(groups), "here")
    with pytest.raises(ValueError, match="None without groups"):
        replacing_units(Units(RowIds(None, 3)), [1, 2, 3], 3, "here")


def test_a_bagged_model_is_told_its_units_also_at_the_end_of_a_pipeline():
    bagged = BaggedRegressor(n_bags=5)
    assert names_of_rows(bagged, UNITS)["groups"].tolist() == GROUPS
    assert names_of_rows(bagged, Units(RowIds(None, 2)))["row_ids"].tolist() == [0, 1]
    assert list(names_of_rows(make_pipeline(StandardScaler(), bagged), UNITS)) == ["baggedregressor__groups"]
    assert list(names_of_rows(TransformedTargetRegressor(bagged), UNITS)) == ["groups"]
    assert names_of_rows(Ridge(), UNITS) == {}
    assert names_of_rows(bagged, UNITS, UNITS)["groups"].tolist() == GROUPS * 2


def test_a_fitted_model_knows_its_units():
    X, y = np.arange(5.0)[:, None], np.arange(5.0)
    model = BaggedRegressor(n_bags=5, scheme=Subbagging(1), random_state=0).fit(X, y, groups=GROUPS)
    assert units_for(model, X, 5, None, None, "here") is model.units_
    assert units_for(model, X, 4, None, None, "here").are_rows
    assert len(units_for(model, X, 5, None, [1, 1, 1, 2, 2], "here")) == 2
    assert len(leave_one_out_refit(model, X, y, X[:1]).rows) == 3


def test_bags_are_drawn_of_one_unit_less():
    smaller = for_one_less(make_pipeline(StandardScaler(), BaggedRegressor(scheme=Subbagging(2))), 3, "here")
    assert (smaller[-1].scheme.n_samples, smaller[-1].scheme.bag_size) == (2, 2)


def mean(X, y, seed):
    return lambda points: np.full(len(points), y.mean())


def test_units_of_a_mean_are_left_out_and_replaced_by_hand():
    X, y = np.zeros((5, 1)), np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    without = leave_one_out_refit(FunctionRegressor(mean), X, y, [[0.0]], groups=GROUPS)
    assert without.left_out.ravel().tolist() == [8 / 3, 5 / 3, 7 / 4]
    replaced = replace_one_refit(
        FunctionRegressor(mean), X, y, X[:4], [10.0, 20.0, 30.0, 40.0], [[0.0]], groups=GROUPS,
        groups_replacement=["r", "p", "q", "p"],
    )  # fmt: skip
    assert replaced.left_out.ravel().tolist() == [
        (20 + 40 + 1 + 3 + 4) / 5,
        (30 + 0 + 2 + 3) / 4,
        (10 + 0 + 1 + 2 + 4) / 5,
    ]
    assert replaced.names.rows.tolist() == ["p", "q", "r"]


def test_units_of_one_row_each_are_replaced_as_rows_are():
    rng = np.random.default_rng(0)
    X, y, other = rng.normal(size=(8, 2)), rng.normal(size=8), rng.normal(size=8)
    plain = replace_one_refit(LinearRegression(), X, y, X, other, X[:2])
    order = rng.permutation(8)
    units = replace_one_refit(
        LinearRegression(), X, y, X[order], other[order], X[:2], groups=np.arange(8), groups_replacement=order
    )
    np.testing.assert_array_equal(plain.left_out, units.left_out)
