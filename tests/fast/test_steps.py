import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from marks import solver_compared
from stablebag.fast.linear import step_of
from stablebag.models.solving import NotCovered, same_model

RNG = np.random.default_rng(0)
X = RNG.normal(size=(41, 5)) * [1, 1e6, 1e-9, 0, 1] + [0, 1e6, 0, 3, 1e9]
SCALERS = [StandardScaler(with_mean=mean, with_std=std) for mean in (True, False) for std in (True, False)]
TRANSFORMERS = [*SCALERS, SimpleImputer(), SimpleImputer(strategy="median", keep_empty_features=True)]


@solver_compared
@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=str)
@pytest.mark.parametrize("n_rows", [1, 2, 40, 41])
@pytest.mark.parametrize("order", ["C", "F"])
def test_what_is_found_and_transformed_is_scikit_learns_to_the_last_bit(transformer, n_rows, order):
    rows, step = np.array(X[:n_rows], order=order), step_of(transformer)
    expected = type(transformer)(**transformer.get_params()).fit(rows)
    ours = type(transformer)(**transformer.get_params())
    ours.n_features_in_ = 5
    transformed, found = step.fit(rows.copy(order="K"))
    step.fill(ours, found, n_rows)
    assert len(found) == step.size(5)
    assert same_model(ours, expected)
    assert transformed.tobytes() == expected.transform(rows).tobytes()
    assert step.transform(X, found).tobytes() == expected.transform(X).tobytes()


@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=str)
def test_transforming_points_leaves_them_alone(transformer):
    step, points = step_of(transformer), X.copy()
    step.transform(points, step.fit(X.copy())[1])
    assert np.array_equal(points, X)


@pytest.mark.parametrize(
    "transformer",
    [MinMaxScaler(), StandardScaler(copy=False), StandardScaler().set_output(transform="pandas"), "passthrough",
     SimpleImputer(add_indicator=True), SimpleImputer(missing_values=0), SimpleImputer(strategy="constant")],
    ids=str,
)  # fmt: skip
def test_other_transformers_are_not_covered(transformer):
    with pytest.raises(NotCovered):
        step_of(transformer)


@solver_compared
@pytest.mark.parametrize("transformer", TRANSFORMERS, ids=str)
@pytest.mark.parametrize("n_rows", [1, 2, 3, 8])
def test_negative_zeros_have_scikit_learns_sign(transformer, n_rows):
    zeros = np.where(np.arange(5) % 2, -0.0, np.where(np.arange(n_rows)[:, np.newaxis] % 2, 0.0, -0.0))
    expected, ours = (type(transformer)(**transformer.get_params()) for _ in range(2))
    ours.n_features_in_ = 5
    step = step_of(transformer)
    transformed, found = step.fit(zeros.copy())
    step.fill(ours, found, n_rows)
    assert same_model(ours, expected.fit(zeros))
    assert transformed.tobytes() == expected.transform(zeros).tobytes()
