import numpy as np
import pytest

from stablebag.paper.settings import SETTINGS, ScaledLogisticRegression


@pytest.mark.parametrize("number", [1, 2, 3])
def test_script_data_are_drawn_in_the_order_of_the_script(number):
    setting = SETTINGS[number]
    X, y, points = setting.data("script")
    legacy = np.random.RandomState(1234567891)
    legacy.normal(size=(1, 200))
    first = legacy.normal(size=(1, 200))
    np.testing.assert_array_equal(X, legacy.normal(size=(setting.n_samples, 200)))
    chance = 1 / (1 + np.exp(-X.sum(axis=1) * 0.1))
    np.testing.assert_array_equal(y, legacy.uniform(size=setting.n_samples) < chance)
    np.testing.assert_allclose(points[0], (first - first.mean())[0])
    assert np.abs(points.sum(axis=1)).max() < 1e-12  # centred, so that x'theta = 0
    assert points.shape == (10, 200)


def test_script_data_of_trees_have_noise_from_minus_one_to_one():
    X, y, points = SETTINGS[4].data("script")
    legacy = np.random.RandomState(1234567891)
    np.testing.assert_array_equal(X, legacy.uniform(size=(500, 40)))
    clean = np.sin(X / np.arange(1, 41)).sum(axis=1)
    extra = y - clean
    untouched = np.array([i % 4 != 0 and i % 3 != 0 for i in range(500)])
    np.testing.assert_allclose(extra[untouched], 0, atol=1e-12)
    fourth = extra[[i for i in range(500) if i % 4 == 0 and i % 3 != 0]]
    assert fourth.min() < -0.8
    assert fourth.max() > 0.8
    third = extra[[i for i in range(500) if i % 3 == 0 and i % 4 != 0]]
    assert np.abs(third).max() <= 0.25
    assert points.shape == (10, 40)


def test_text_data_follow_the_text():
    X, y, points = SETTINGS[1].data("text", seed=3)
    assert X.shape == (500, 200)
    assert set(y) == {0, 1}
    assert np.abs(points.sum(axis=1)).max() > 1  # not centred
    again = SETTINGS[1].data("text", seed=3)
    np.testing.assert_array_equal(X, again[0])
    assert not np.array_equal(X, SETTINGS[1].data("text", seed=4)[0])
    X, y, _ = SETTINGS[4].data("text", seed=3)
    extra = y - np.sin(X / np.arange(1, 41)).sum(axis=1)
    fourth = extra[[i for i in range(500) if i % 4 == 0 and i % 3 != 0]]
    assert fourth.min() >= 0
    assert fourth.max() <= 1


def test_the_paper_has_these_learners():
    assert ScaledLogisticRegression().fit(np.eye(4), [0, 1, 0, 1]).model_.get_params()["C"] == 250.0
    assert not ScaledLogisticRegression().fit(np.eye(4), [0, 1, 0, 1]).model_.fit_intercept
    network = SETTINGS[3].learner("script")
    options = {"hidden_layer_sizes": (40,), "solver": "sgd", "learning_rate_init": 0.2, "max_iter": 8, "alpha": 1e-4}
    assert options.items() <= network.get_params().items()
    assert network.random_state == 1
    assert SETTINGS[3].learner("text").random_state is None
    assert SETTINGS[4].learner().max_depth == 50
    bagged = SETTINGS[2].bagged(7, n_jobs=2)
    assert bagged.scheme.resolve(1000).bag_size == 500
    assert SETTINGS[4].bagged(7).prediction_range is None


def test_unknown_variant_raises():
    with pytest.raises(ValueError, match="'variant'"):
        SETTINGS[1].data("paper")
    with pytest.raises(ValueError, match=r"'variant' parameter of Setting\.learner"):
        SETTINGS[1].learner("paper")
