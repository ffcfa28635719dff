"""The paper's experiments, at a size for tests."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from paper.small import small
from stablebag import leave_one_out, leave_one_out_refit, on_progress
from stablebag.paper import experiments
from stablebag.paper.experiments import run, run_all

pytestmark = pytest.mark.slow


def test_the_scripts_trees_take_their_seeds_from_the_generator_of_the_data():
    """The script's own loop: one generator for the data and for every tree, the one on all rows first."""
    n, d = 40, 5
    setting = small(4, n, d)
    np.random.seed(1234567891)
    X = np.random.rand(n, d)
    y = np.sin(X / np.arange(1, d + 1)).sum(axis=1)
    y[::4] += 2 * (0.5 - np.random.rand(n // 4))
    y[::3] += 0.5 * (0.5 - np.random.rand(1 + n // 3))
    point = np.random.rand(1, d)
    whole = DecisionTreeRegressor(max_depth=50).fit(X, y).predict(point)[0]
    rest = [
        DecisionTreeRegressor(max_depth=50).fit(np.delete(X, row, 0), np.delete(y, row)).predict(point)[0]
        for row in range(n)
    ]
    result = run(setting, n_bags=30, n_jobs=2)
    assert result.base.prediction[0] == whole
    np.testing.assert_array_equal(result.base.left_out[:, 0], rest)
    same = leave_one_out_refit(setting.learner("text"), *setting.data("script"), random_state=0)
    assert not np.array_equal(same.left_out, result.base.left_out)  # one seed for all gives another curve
    assert setting.refit_seeds("text") is None
    assert small(1).refit_seeds("script") is None


def test_what_is_proved_of_the_drawn_bags_bounds_what_was_measured():
    for number in (1, 4):
        result = run(small(number), n_bags=60)
        assert result.bagged.scope.mismatch(result.proved.scope) is None
        for rows in range(40):
            assert (result.bagged.epsilon(rows / 40) <= result.proved.epsilon(rows / 40) + 1e-12).all()


@pytest.mark.parametrize("number", [1, 3, 4])
def test_a_run_measures_what_refits_and_reused_bags_measure(number):
    setting = small(number)
    result = run(setting, n_bags=60, seed=2)
    X, y, points = setting.data("script", 2)
    bagged = leave_one_out(setting.bagged(60, "script", seed=2), points, X_train=X, y_train=y)
    pairs = [(result.bagged, bagged)]
    if number != 4:  # whose trees have each their own seed: another test compares them with the script's loop
        pairs.append((result.base, leave_one_out_refit(setting.learner("script"), X, y, points, random_state=2)))
    for mine, other in pairs:
        values = other.values if other.values.ndim == 2 else other.values[:, :, 0]
        np.testing.assert_allclose(mine.values, values, atol=1e-12)
    if setting.classifies:
        np.testing.assert_array_equal(result.scale, 1.0)
    else:
        np.testing.assert_allclose(result.scale, bagged.bags.extent)
        assert result.target_range == pytest.approx(y.max() - y.min())


def test_what_is_done_is_cached_and_an_interrupted_run_goes_on(tmp_path, monkeypatch):
    setting = small(4)
    monkeypatch.setattr(experiments, "_BAGS_AT_ONCE", 20)
    whole = run(setting, n_bags=60)

    calls = []
    original = experiments.fit_and_predict_bags

    def failing(*arguments, **options):
        calls.append(len(arguments[0]))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(*arguments, **options)

    monkeypatch.setattr(experiments, "fit_and_predict_bags", failing)
    with pytest.raises(KeyboardInterrupt):
        run(setting, n_bags=60, cache=tmp_path)
    assert not list(tmp_path.glob("partial-*"))
    resumed = run(setting, n_bags=60, cache=tmp_path)
    assert calls == [41, 20, 20, 20, 20]  # the refits and the first portion of bags were kept
    np.testing.assert_array_equal(resumed.bagged.values, whole.bagged.values)
    again = run(setting, n_bags=60, cache=tmp_path)
    assert len(calls) == 5
    np.testing.assert_array_equal(again.base.values, whole.base.values)
    (path,) = tmp_path.glob("*bags0-20.*.npz")
    path.write_bytes(path.read_bytes()[:50])
    with pytest.warns(UserWarning, match="is damaged. It was set aside as damaged-"):
        made_again = run(setting, n_bags=60, cache=tmp_path)
    np.testing.assert_array_equal(made_again.bagged.values, whole.bagged.values)
    assert len(calls) == 6
    more = run(setting, n_bags=80, cache=tmp_path)
    assert len(calls) == 7  # more bags go on from those that are there
    assert more.bagged.bags.n_bags == 80


def test_settings_of_another_size_do_not_share_a_cache(tmp_path, monkeypatch):
    first = run(small(4, n=40, d=5), n_bags=20, cache=tmp_path)
    other = run(small(4, n=40, d=6), n_bags=20, cache=tmp_path)
    assert not np.array_equal(first.base.values, other.base.values)
    monkeypatch.setattr(experiments, "N_POINTS", 3)
    assert run(small(4, n=40, d=5), n_bags=20, cache=tmp_path).base.values.shape == (40, 3)


def test_rows_are_left_out_in_portions(monkeypatch):
    whole = run(small(4), n_bags=20)
    monkeypatch.setattr(experiments, "_ROWS_AT_ONCE", 15)
    parts = run(small(4), n_bags=20)
    np.testing.assert_array_equal(whole.base.values, parts.base.values)
    assert experiments.n_fits(small(4), 20) == 40 + 3 + 20


def test_progress_counts_every_fit_once(tmp_path):
    setting, seen = small(4), []
    with on_progress(lambda done, total: seen.append((done, total))):
        run(setting, n_bags=30, literal_rows=2, cache=tmp_path)
    assert seen[-1] == (41 + 30 + 2 * 2 * 30, experiments.n_fits(setting, 30, 2))
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


def test_literal_refits_are_measured_on_request():
    result = run(small(4), n_bags=30, literal_rows=3)
    assert result.literal.rows.tolist() == [0, 1, 2]
    model = small(4).bagged(30, "script").set_params(random_state=None)
    X, y, points = small(4).data("script")
    expected = leave_one_out_refit(model, X, y, points, rows=[0, 1, 2], random_state=0)
    np.testing.assert_allclose(result.literal.values, expected.values)
    numbers = result.to_dict()["literal_refits"]
    assert len(numbers["perturbations"]) == len(numbers["reused_bags"]) == 3


def test_numbers_of_settings_and_bags_that_there_are_not_are_refused():
    with pytest.raises(ValueError, match="There are settings"):
        run(5)
    with pytest.raises(ValueError, match="'n_bags'"):
        run(1, n_bags=1)


def test_several_settings_are_run_one_after_the_other(monkeypatch):
    monkeypatch.setattr(experiments, "SETTINGS", {1: small(1, n=10), 4: small(4, n=10)})
    results = run_all((4, 1), n_bags=20, variant="text")
    first = next(results)
    assert (first.setting.number, first.n_bags, first.variant) == (4, 20, "text")
    assert [result.setting.number for result in results] == [1]
