import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeRegressor

from fast.reader_cases import case
from marks import solver_compared
from stablebag.fast.reader import ColumnReader
from stablebag.models.solving import NotCovered, same_model
from stablebag.tables.columns import Columns

pytestmark = solver_compared
FRAME = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [3, 1, 2], "c": ["x", "y", None]}).astype({"c": object})
NAMES = ["a", "b", "c"]


def transformer(**changed):
    return Columns.of(FRAME).pipeline(DecisionTreeRegressor())[0].set_params(**changed)


@pytest.mark.parametrize("number", range(5))
def test_a_filled_transformer_is_the_fitted_one_and_its_matrix_the_one_that_was_made(number):
    _, X, _, rows, _, _ = drawn = case(number)
    unfitted = drawn.learner[0]
    reader = ColumnReader.of(unfitted, list(X.columns))
    matrix, found = reader.fit(reader.look(X), rows)
    filled, fitted = clone(unfitted), clone(unfitted)
    expected = fitted.fit_transform(X.iloc[rows])
    assert reader.fill(filled, found, len(rows)) == expected.shape[1]
    assert same_model(filled, fitted)
    np.testing.assert_array_equal(matrix, expected.astype(np.float32))
    assert filled.get_params(deep=False).keys() == fitted.get_params(deep=False).keys()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"remainder": "passthrough"}, "remainder='passthrough'"),
        ({"sparse_threshold": 0.3}, "sparse_threshold=0.3"),
        ({"n_jobs": 2}, "n_jobs=2"),
        ({"transformer_weights": {"numbers": 2.0}}, "transformer_weights="),
        ({"numbers__memory": "folder"}, "with memory"),
    ],
)
def test_other_ways_to_put_columns_together_are_refused(changed, why):
    ColumnReader.of(transformer(), NAMES)
    with pytest.raises(NotCovered, match=why):
        ColumnReader.of(transformer(**changed), NAMES)


def test_a_transformer_that_makes_frames_or_is_fitted_is_refused():
    with pytest.raises(NotCovered, match="has the attribute _sklearn_output_config"):
        ColumnReader.of(transformer().set_output(transform="pandas"), NAMES)
    with pytest.raises(NotCovered, match="has the attribute"):
        ColumnReader.of(transformer().fit(FRAME), NAMES)


def test_columns_that_are_read_twice_or_not_at_all_are_refused():
    for names in (["a", "b"], ["a", "b", "c", "d"], ["a", "b", "b"]):
        with pytest.raises(NotCovered, match="read twice, or not at all"):
            ColumnReader.of(transformer(), names)
    twice = transformer()
    twice.transformers = [*twice.transformers, ("again", twice.transformers[0][1], ["a"])]
    with pytest.raises(NotCovered, match="read twice, or not at all"):
        ColumnReader.of(twice, NAMES)


@pytest.mark.parametrize("table", [FRAME.to_numpy(), FRAME[["b", "a", "c"]], FRAME[:0], FRAME["a"]])
def test_other_tables_are_not_looked_at(table):
    with pytest.raises(NotCovered, match="a table"):
        ColumnReader.of(transformer(), NAMES).look(table)
