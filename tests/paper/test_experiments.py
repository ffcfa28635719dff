"""The paper's experiments, at a size for tests."""

import json
import math
import re
import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from paper.small import small
from stablebag import leave_one_out, leave_one_out_refit, on_progress
from stablebag.measuring import Perturbations
from stablebag.measuring.perturbations import BagSpread
from stablebag.paper import experiments
from stablebag.paper.experiments import Cache, Result, first_class, run, run_all, write_numbers

# ---------------------------------------------------------------------------------------------------------- experiments


@pytest.mark.slow
def test_script_trees_take_their_seeds_from_the_generator_of_the_data():
    """Repeat the script's loop: one generator for the data and all trees, starting with the tree on all rows."""
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


@pytest.mark.slow
def test_certificate_of_drawn_bags_bounds_the_measured_changes():
    for number in (1, 4):
        result = run(small(number), n_bags=60)
        assert result.bagged.scope.mismatch(result.proved.scope) is None
        for rows in range(40):
            assert (result.bagged.epsilon(rows / 40) <= result.proved.epsilon(rows / 40) + 1e-12).all()


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_interrupted_run_continues_from_the_cache(tmp_path, monkeypatch):
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
    with pytest.warns(UserWarning, match="is damaged. It was renamed to damaged-"):
        made_again = run(setting, n_bags=60, cache=tmp_path)
    np.testing.assert_array_equal(made_again.bagged.values, whole.bagged.values)
    assert len(calls) == 6
    more = run(setting, n_bags=80, cache=tmp_path)
    assert len(calls) == 7  # more bags go on from those that are there
    assert more.bagged.bags.n_bags == 80


@pytest.mark.slow
def test_settings_of_another_size_do_not_share_a_cache(tmp_path, monkeypatch):
    first = run(small(4, n=40, d=5), n_bags=20, cache=tmp_path)
    other = run(small(4, n=40, d=6), n_bags=20, cache=tmp_path)
    assert not np.array_equal(first.base.values, other.base.values)
    monkeypatch.setattr(experiments, "N_POINTS", 3)
    assert run(small(4, n=40, d=5), n_bags=20, cache=tmp_path).base.values.shape == (40, 3)


@pytest.mark.slow
def test_rows_are_left_out_in_portions(monkeypatch):
    whole = run(small(4), n_bags=20)
    monkeypatch.setattr(experiments, "_ROWS_AT_ONCE", 15)
    parts = run(small(4), n_bags=20)
    np.testing.assert_array_equal(whole.base.values, parts.base.values)
    assert experiments.n_fits(small(4), 20) == 40 + 3 + 20


@pytest.mark.slow
def test_progress_counts_every_fit_once(tmp_path):
    setting, seen = small(4), []
    with on_progress(lambda done, total: seen.append((done, total))):
        run(setting, n_bags=30, literal_rows=2, cache=tmp_path)
    assert seen[-1] == (41 + 30 + 2 * 2 * 30, experiments.n_fits(setting, 30, 2))
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})


@pytest.mark.slow
def test_literal_refits_are_measured_on_request():
    result = run(small(4), n_bags=30, literal_rows=3)
    assert result.literal.rows.tolist() == [0, 1, 2]
    model = small(4).bagged(30, "script").set_params(random_state=None)
    X, y, points = small(4).data("script")
    expected = leave_one_out_refit(model, X, y, points, rows=[0, 1, 2], random_state=0)
    np.testing.assert_allclose(result.literal.values, expected.values)
    numbers = result.to_dict()["literal_refits"]
    assert len(numbers["perturbations"]) == len(numbers["reused_bags"]) == 3


@pytest.mark.slow
def test_invalid_settings_and_bags_raise():
    with pytest.raises(ValueError, match=r"The setting must be one of \[1, 2, 3, 4\]"):
        run(5)
    with pytest.raises(ValueError, match="'n_bags'"):
        run(1, n_bags=1)


@pytest.mark.slow
def test_run_all_runs_several_settings(monkeypatch):
    monkeypatch.setattr(experiments, "SETTINGS", {1: small(1, n=10), 4: small(4, n=10)})
    results = run_all((4, 1), n_bags=20, variant="text")
    first = next(results)
    assert (first.setting.number, first.n_bags, first.variant) == (4, 20, "text")
    assert [result.setting.number for result in results] == [1]


# -------------------------------------------------------------------------------------------------------------- results


def result_of(values, n_bags=100):
    """Return a result whose subbagged learner has these changes at a single point."""
    values = np.asarray(values, dtype=float)
    moved = Perturbations(np.zeros(1), values[:, None], np.arange(len(values)), bags=BagSpread(np.ones(1), np.ones(1)))
    return Result(small(1, n=len(values)), "script", 0, n_bags, moved, moved, None, 1.0)


def test_the_excess_is_the_largest_ratio_of_the_curve_to_theorem_8():
    # Four rows, bags of two: c = 1/3, so a share 1 / (12 epsilon^2) is allowed. At 0.5 one row, 0.25 / (1/3).
    result = result_of([0.5, 0.1, 0.1, 0.0])
    assert result.excess(result.bagged)[0] == pytest.approx(max(0.25 * 0.25, 0.75 * 0.01) * 12)
    epsilons = np.linspace(1e-3, 1, 5000)
    curve = np.array([(np.array([0.5, 0.1, 0.1, 0.0]) > epsilon).mean() for epsilon in epsilons])
    assert result.excess(result.bagged)[0] == pytest.approx((curve * 12 * epsilons**2).max(), rel=1e-3)


def test_claims_are_compared_with_numbers():
    unstable, stable = result_of([0.9] * 40), result_of([1e-3] * 40)
    assert [claim.holds for claim in unstable.claims()] == [True, False]
    assert [claim.holds for claim in stable.claims()] == [False, True]
    assert "times the allowed share" in unstable.claims()[0].found
    assert "violated at 0 of 1" in stable.claims()[0].over_points


@pytest.mark.slow
def test_the_claims_of_setting_2_are_all_checked():
    result = run(small(2, n=40), n_bags=60)
    says = [claim.says for claim in result.claims()]
    assert any("comparable to that of the base learner" in claim for claim in says)
    assert any("each single bag is highly unstable" in claim for claim in says)
    assert result.single_bags.shape == (5, 10)
    assert result.to_dict()["single_bags_excess"] == result.single_bags.tolist()


@pytest.mark.parametrize("number", [1, 4])
def test_all_numbers_are_written_to_json(number, tmp_path):
    result = run(small(number), n_bags=30)
    write_numbers([result], tmp_path / "numbers.json")
    (numbers,) = json.loads((tmp_path / "numbers.json").read_text())
    assert numbers["setting"] == number
    assert np.shape(numbers["base"]["perturbations_by_point"]) == (10, 40)
    assert len(numbers["claims"]) == 2
    bounds = numbers["guarantee"]
    assert all(exact <= paper for exact, paper in zip(bounds["exact"], bounds["theorem_8"], strict=True))
    assert ("excess_in_observed_range" in numbers["base"]) == (number == 4)
    assert bounds["theorem_8"][0] == pytest.approx(math.sqrt(1 / 39 / 4 / bounds["delta"][0]))


def test_first_class_keeps_its_spread():
    left_out = np.arange(12.0).reshape(3, 2, 2)
    spread = BagSpread(np.array([[0.1, 0.2], [0.3, 0.4]]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    moved = Perturbations(np.zeros((2, 2)), left_out, np.arange(3), bags=spread)
    first = first_class(moved)
    assert first.left_out.tolist() == [[0.0, 2.0], [4.0, 6.0], [8.0, 10.0]]
    assert first.bags.deviation.tolist() == [0.1, 0.3]
    assert first.bags.extent.tolist() == [1.0, 3.0]
    assert first_class(first) is first


def test_an_excess_falls_with_the_square_of_the_unit():
    result = replace(result_of([0.5, 0.1, 0.1, 0.0]), target_range=10.0)
    np.testing.assert_allclose(result.excess_in_observed_range(result.bagged), result.excess(result.bagged) / 100)


# ---------------------------------------------------------------------------------------------------------------- cache


class Maker:
    """Make an array, and count the calls."""

    def __init__(self):
        self.made = 0

    def __call__(self):
        self.made += 1
        return np.arange(3.0) + self.made


def test_results_are_cached_for_the_next_run(tmp_path):
    make = Maker()
    folder = tmp_path / "new" / "folder"
    first = Cache(folder, "run").array("a", make)
    np.testing.assert_array_equal(Cache(folder, "run").array("a", make), first)
    assert make.made == 1
    for prefix, name in (("run", "b"), ("other", "a")):
        Cache(folder, prefix).array(name, make)
    assert make.made == 3


def test_without_a_folder_nothing_is_cached():
    make = Maker()
    cache = Cache(None, "run")
    assert cache.array("a", make).tolist() != cache.array("a", make).tolist()
    assert make.made == 2


@pytest.mark.parametrize("kind", ["array", "perturbations"])
def test_changing_any_byte_of_a_cached_file_is_detected(tmp_path, kind):
    moved = Perturbations(np.zeros(2), np.ones((3, 2)), np.arange(3))
    make = Maker() if kind == "array" else lambda: moved
    getattr(Cache(tmp_path, "run"), kind)("a", make)
    (path,) = tmp_path.iterdir()
    good = path.read_bytes()
    for place in range(0, len(good), max(1, len(good) // 100)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        with pytest.warns(UserWarning, match=rf"^The file {re.escape(str(path))} is damaged\. It was renamed to dam"):
            getattr(Cache(tmp_path, "run"), kind)("a", make)
        for left in tmp_path.iterdir():
            if left != path:
                left.unlink()
        path.write_bytes(good)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(Cache(tmp_path, "run"), kind)("a", lambda: pytest.fail("made again"))


@pytest.mark.parametrize("damage", [b"", b"not a zip file", None])
def test_a_damaged_file_is_set_aside_and_computed_again(tmp_path, damage):
    make, cache = Maker(), Cache(tmp_path, "run")
    cache.array("a", make)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:50] if damage is None else damage)
    with pytest.warns(UserWarning, match="damaged"):
        assert cache.array("a", make).tolist() == [2.0, 3.0, 4.0]
    assert cache.array("a", make).tolist() == [2.0, 3.0, 4.0]  # and kept
    assert make.made == 2
    assert path.with_name(f"damaged-{path.name}").exists()


def test_an_interrupted_write_leaves_no_file(tmp_path, monkeypatch):
    def interrupted(path, **arrays):
        path.write_bytes(b"half of it")
        raise KeyboardInterrupt

    cache = Cache(tmp_path, "run")
    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache.array("a", Maker())
    assert list(tmp_path.iterdir()) == []


def test_perturbations_are_cached_like_arrays(tmp_path):
    moved = Perturbations(np.zeros(2), np.ones((3, 2)), np.arange(3))
    cache = Cache(tmp_path, "run")
    assert cache.perturbations("p", lambda: moved) is moved
    kept = cache.perturbations("p", lambda: pytest.fail("made again"))
    np.testing.assert_array_equal(kept.left_out, moved.left_out)
    np.testing.assert_array_equal(kept.rows, moved.rows)
