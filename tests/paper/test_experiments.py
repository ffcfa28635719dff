"""The paper's settings, experiments and figures, at a size for tests."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.tree import DecisionTreeRegressor

from stablebag import Perturbations, leave_one_out_refit, on_progress, stream_leave_one_out
from stablebag.commands.main import main
from stablebag.measuring.perturbations import BagSpread
from stablebag.paper import experiments, figures
from stablebag.paper.experiments import run
from stablebag.paper.results import Result, write_numbers
from stablebag.paper.settings import SETTINGS, ScaledLogisticRegression, Setting


def small(number, n=40, d=5):
    """A setting with the learner and the data of the paper's, and fewer rows and features."""
    of = SETTINGS[number]
    return Setting(number, "small", n, d, of.classifies, of.make_learner, of.make_data)


# ------------------------------------------------------------------------------------------------------------- the data


@pytest.mark.parametrize("number", [1, 2, 3])
def test_the_scripts_data_are_drawn_in_the_scripts_order(number):
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


def test_the_scripts_trees_get_noise_from_minus_one_to_one():
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


def test_the_texts_data_are_as_the_text_says():
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


def test_a_variant_that_is_none_is_refused():
    with pytest.raises(ValueError, match="'variant'"):
        SETTINGS[1].data("paper")
    with pytest.raises(ValueError, match="There are settings"):
        run(5)
    with pytest.raises(ValueError, match="'n_bags'"):
        run(1, n_bags=1)


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


def test_the_claims_of_setting_2_are_all_checked():
    result = run(small(2, n=40), n_bags=60)
    says = [claim.says for claim in result.claims()]
    assert any("comparable to that of the base learner" in claim for claim in says)
    assert any("each single bag is highly unstable" in claim for claim in says)
    assert result.single_bags.shape == (5, 10)
    assert result.to_dict()["single_bags_excess"] == result.single_bags.tolist()


def test_what_is_proved_of_the_drawn_bags_bounds_what_was_measured():
    for number in (1, 4):
        result = run(small(number), n_bags=60)
        assert result.bagged.scope.mismatch(result.proved.scope) is None
        for rows in range(40):
            assert (result.bagged.epsilon(rows / 40) <= result.proved.epsilon(rows / 40) + 1e-12).all()


# ------------------------------------------------------------------------------------------------------ the experiments


@pytest.mark.parametrize("number", [1, 3, 4])
def test_a_run_measures_what_refits_and_reused_bags_measure(number):
    setting = small(number)
    result = run(setting, n_bags=60, seed=2)
    X, y, points = setting.data("script", 2)
    base = leave_one_out_refit(setting.learner("script"), X, y, points, random_state=2)
    if number == 4:  # whose trees have each their own seed
        base = result.base
    bagged = stream_leave_one_out(setting.bagged(60, "script", seed=2), X, y, points)
    for mine, other in ((result.base, base), (result.bagged, bagged)):
        values = other.values if other.values.ndim == 2 else other.values[:, :, 0]
        np.testing.assert_allclose(mine.values, values, atol=1e-12)
    if setting.classifies:
        np.testing.assert_array_equal(result.scale, 1.0)
    else:
        np.testing.assert_allclose(result.scale, bagged.bags.extent)
        assert result.target_range == pytest.approx(y.max() - y.min())


def result_of(values, n_bags=100):
    """A result whose subbagged learner has these perturbations at a single point."""
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


def test_claims_are_held_against_numbers():
    unstable, stable = result_of([0.9] * 40), result_of([1e-3] * 40)
    assert [claim.holds for claim in unstable.claims()] == [True, False]
    assert [claim.holds for claim in stable.claims()] == [False, True]
    assert "times what is allowed" in unstable.claims()[0].found
    assert "violated at 0 of 1" in stable.claims()[0].over_points


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
    for path in tmp_path.glob("*bags0-20.npz"):  # a damaged file is made again
        path.write_bytes(path.read_bytes()[:50])
    np.testing.assert_array_equal(run(setting, n_bags=60, cache=tmp_path).bagged.values, whole.bagged.values)
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


@pytest.mark.parametrize("number", [1, 4])
def test_every_number_goes_to_json(number, tmp_path):
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


# --------------------------------------------------------------------------------------------- the figures, the command


def test_figures_are_laid_out_like_the_papers(tmp_path):
    results = [run(small(number), n_bags=30) for number in (1, 4)]
    first, second, third = figures.figure_1(results[0]), figures.figure_2(60, 30), figures.figure_3(results)
    assert [len(figure.axes) for figure in (first, second, third)] == [1, 1, 4]
    assert [line.get_label() for line in second.axes[0].lines if not line.get_label().startswith("_")] == [
        "the exact frontier"
    ]
    labels = third.axes[1].get_legend_handles_labels()[1]
    assert labels == ["base learner", "subbagged", "Theorem 8, all bags", "proved of these bags, subbagged"]
    paths = figures.save(first, tmp_path / "new", "figure1")
    assert [path.suffix for path in paths] == [".png", ".svg", ".pdf"]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_the_command_writes_figures_numbers_and_the_table_of_claims(tmp_path, monkeypatch):
    monkeypatch.setitem(SETTINGS, 4, small(4, n=60))
    done = CliRunner().invoke(main, ["reproduce", "--setting", "4", "--n-bags", "40", "--output", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "The paper's claims" in done.output
    assert "2 of 2 claims are as the paper has them." in done.output
    assert (tmp_path / "figure3.svg").exists()
    assert json.loads((tmp_path / "numbers.json").read_text())[0]["n_bags"] == 40


def test_the_command_keeps_what_is_done_when_interrupted(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "run", interrupted)
    done = CliRunner().invoke(main, ["reproduce", "--quick", "--output", str(tmp_path)])
    assert done.exit_code == 130
    assert "goes on from there" in done.output.replace("\n", " ")


@pytest.mark.parametrize(("arguments", "words"), [
    (["--quick", "--n-bags", "10"], "--quick and --n-bags both set the number"),
    (["--setting", "5"], "5 is not in the range"),
    (["--n-bags", "1"], "1 is not in the range"), (["--variant", "paper"], "'paper' is not one of"),
])  # fmt: skip
def test_bad_options_end_with_two_and_a_sentence(arguments, words):
    done = CliRunner().invoke(main, ["reproduce", *arguments])
    assert done.exit_code == 2
    assert words in done.output
    assert "Traceback" not in done.output
