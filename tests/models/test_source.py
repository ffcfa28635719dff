import numpy as np
import pytest

from stablebag import BaggedRegressor, Subbagging, leave_one_out_error
from stablebag.models import RowSource
from stablebag.models.rows import as_bytes


class InMemory(RowSource):
    """A source of one's own, with as little as has to be there, that tells how often it was asked for rows."""

    bytes_per_row = 16
    n_features = 2

    def __init__(self, X, y, max_memory):
        self.X, self.y, self.max_memory, self.asked = X, y, max_memory, []

    @property
    def n_samples(self):
        return len(self.X)

    @property
    def part_sizes(self):
        return (len(self.X),)

    def take(self, rows):
        self.asked.append(rows)
        return self.X[rows]

    def read(self, part, n_rows):
        return self.blocks(n_rows)

    def targets(self):
        return self.y


@pytest.fixture
def data(seed):
    X = np.random.default_rng(seed).normal(size=(200, 2))
    return X, X[:, 0] + X[:, 1] ** 2


def test_own_row_source_is_fitted_in_portions(data):
    X, y = data
    model = BaggedRegressor(scheme=Subbagging(20), n_bags=10, random_state=0)
    expected, error = model.fit(X, y).predict(X), leave_one_out_error(model).value
    source = InMemory(X, y, max_memory=20 * 32 * 3)  # three bags without a row in common
    np.testing.assert_array_equal(model.fit(source).predict(X), expected)
    assert leave_one_out_error(model).value == error
    checked, *portions, checked_again, every_row = source.asked
    assert (checked.tolist(), checked_again.tolist()) == ([0, 1], [0])
    assert all((np.diff(rows) > 0).all() and len(rows) <= 60 for rows in portions)
    assert 3 <= len(portions) <= 4
    assert len(every_row) == 200
    assert set(np.concatenate(portions)) == set(np.concatenate(list(model.bags_)))


def test_sources_differ_by_type_and_shape(data):
    X, y = data
    assert InMemory(X, y, 1).equals(InMemory(X, y, 2))
    assert not InMemory(X, y, 1).equals(InMemory(X[:9], y[:9], 1))
    assert not InMemory(X, y, 1).equals(X)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (5000, 5000),
        ("5000", 5000),
        ("2KB", 2000),
        ("1.5gb", 1_500_000_000),
        (" 2 GiB", 2**31),
        ("7 B", 7),
        (1e6, 10**6),
    ],
)
def test_amounts_of_memory_are_parsed(given, expected):
    assert as_bytes(given, "max_memory", "ParquetTable") == expected


@pytest.mark.parametrize("given", ["", "GB", "1 GX", "-1MB", 0, None, True, "1e3000", float("nan"), [1]])
def test_wrong_amounts_of_memory_raise(given):
    with pytest.raises(ValueError, match="The 'max_memory' parameter of ParquetTable must be a number of bytes"):
        as_bytes(given, "max_memory", "ParquetTable")
