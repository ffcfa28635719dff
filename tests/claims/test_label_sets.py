"""Sentences about label sets: each on data where it must appear, and on data where it must not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from sklearn.tree import DecisionTreeClassifier

from stablebag import BaggedClassifier, predict_set
from stablebag._wording import percent
from stablebag.cli.main import main

QUICK = ("--n-bags", 60, "--jobs", 1)
LEARNER = DecisionTreeClassifier(min_samples_leaf=5)


def churn(n, rate, seed=0, noise=1.0):
    """Rows of which a share `rate` has the label yes: clear if there is no noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = X[:, 0] + X[:, 1] + noise * rng.normal(size=n)
    return X, np.where(score > np.quantile(score, 1 - rate), "yes", "no")


def sets_of(rate, n=400, noise=1.0, groups=None, **options):
    """The sets of 1,000 new rows, their labels, and the warnings."""
    X, y = churn(n + 1000, rate, noise=noise)
    model = BaggedClassifier(LEARNER, n_bags=60, random_state=0).fit(X[:n], y[:n], groups=groups)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sets = predict_set(model, X[n:], method="jackknife+", **options)
    return sets, y[n:], " ".join(str(warning.message) for warning in caught)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Customers of whom 8 % leave, with an ID that nobody names, and five columns in all."""
    folder = tmp_path_factory.mktemp("customers")
    X, y = churn(400, 0.08)
    table = pd.DataFrame(X, columns=["age", "fee", "calls"]).assign(churn=y, cost=X[:, 0].round(3))
    table.insert(0, "customer_id", [f"c{number:04d}" for number in range(400)])
    for name, target in (("churn", "cost"), ("cost", "churn")):
        table[:300].drop(columns=target).to_csv(folder / f"{name}.csv", index=False)
        table[300:].drop(columns=target).to_csv(folder / f"{name}-new.csv", index=False)
    return folder


def run(*arguments):
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


def test_overall_sets_may_miss_a_rare_class_and_say_so():
    sets, y, said = sets_of(0.05, by_class=False)
    assert "These sets cover all classes together at level 0.9. By the training rows, they cover only" in said
    assert " rows). Use by_class=True to cover each class." in said
    assert sets.coverage(y) > 0.85
    assert sets.coverage_by_class(y)["yes"] < 0.4  # it is true


@pytest.mark.parametrize("options", [{"rate": 0.5}, {"rate": 0.3, "noise": 0.0, "n": 1000}, {"rate": 0.5, "n": 30}])
def test_no_class_is_called_missed_if_none_is(options):
    sets, y, said = sets_of(**options, by_class=False)
    assert "cover all classes together" not in said
    assert min(sets.coverage_by_class(y).values()) > 0.7


def test_every_set_has_the_label_of_a_class_with_too_few_rows():
    sets, _, said = sets_of(0.05, n=100)
    assert "Every set has the label yes (" in said
    assert "ruling out a class at level 0.9 takes 9 training rows of that class." in said
    assert sets.members[:, 1].all()
    assert not sets.members[:, 0].all()


def test_no_label_is_in_every_set_with_enough_rows_of_each_class():
    for options in ({"rate": 0.05}, {"rate": 0.05, "n": 100, "by_class": False}, {"rate": 0.2, "n": 100}):
        assert "Every set has" not in sets_of(**options)[2]
    X, y = np.arange(20.0)[:, None], np.repeat(["no", "yes"], [11, 9])  # nine rows are enough
    model = BaggedClassifier(LEARNER, n_bags=60, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        predict_set(model, X, method="jackknife+")


def test_the_sets_have_all_labels_if_every_class_has_too_few_rows():
    sets, _, said = sets_of(0.4, n=14)
    assert "Every set has all labels, no (" in said
    assert sets.members.all()
    assert "Every set has all labels" not in sets_of(0.4, n=60)[2]


def test_with_groups_a_class_is_counted_in_groups():
    _, _, said = sets_of(0.3, n=120, groups=np.arange(120) // 10)
    assert "takes 9 groups, each counted by the share of its rows that are of that class" in said
    assert "Every set has" not in sets_of(0.3, n=120, groups=np.arange(120) // 3)[2]


def test_coverage_of_each_class_is_promised_by_class_only():
    by_class, y, _ = sets_of(0.1)
    overall = sets_of(0.1, by_class=False)[0]
    assert "coverage of each class is at least 0.8; typically it is near 0.9." in by_class.guarantee
    assert min(by_class.coverage_by_class(y).values()) > 0.8  # it is true
    assert "each class" not in overall.guarantee
    assert "coverage is at least 0.8; typically it is near 0.9." in overall.guarantee


@pytest.mark.parametrize("by_class", [False, True])
def test_estimated_coverage_is_close_to_that_of_new_rows(by_class):
    sets, y, _ = sets_of(0.1, n=1500, by_class=by_class)
    said = " ".join(sets.explain().split())
    assert "Estimated from the training rows, each predicted without itself, the sets cover" in said
    for share, label in zip(sets.training_coverage, sets.labels, strict=True):
        assert f"{percent(share)} of class {label}" in said
        # 150 training rows and 100 new ones: the difference has a standard error of 0.065 at the most.
        assert abs(sets.coverage_by_class(y)[label] - share) < 0.25
    assert "Estimated" not in predict_set_stable().explain()


@pytest.mark.parametrize(("n_rare", "has_estimate"), [(8, True), (9, False), (10, True)])
def test_class_covered_only_without_a_row_has_no_estimate(n_rare, has_estimate):
    X, y = churn(100, n_rare / 100)
    assert (y == "yes").sum() == n_rare
    model = BaggedClassifier(LEARNER, n_bags=60, random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sets = predict_set(model, X, method="jackknife+")
    assert np.isnan(sets.training_coverage).tolist() == [False, not has_estimate]
    said = " ".join(sets.explain().split())
    assert said.endswith("; no estimate for class yes (9 rows).") == (not has_estimate)
    assert ("of class yes (" in said) == has_estimate
    assert "nan" not in said
    if n_rare == 8:  # every set has it, of new rows as well
        assert sets.training_coverage[1] == 1
        assert sets.members[:, 1].all()


def test_class_covered_only_without_a_group_has_no_estimate():
    X, y = churn(120, 0.15)
    y[:] = "no"
    y[:18] = "yes"
    for size, has_estimate in ((1, True), (2, False)):  # 18 or 9 groups of class yes
        model = BaggedClassifier(LEARNER, n_bags=60, random_state=0).fit(X, y, groups=np.arange(120) // size)
        sets = predict_set(model, X, method="jackknife+")
        assert np.isnan(sets.training_coverage).tolist() == [False, not has_estimate]


def predict_set_stable():
    X, y = churn(60, 0.4)
    return predict_set(BaggedClassifier(n_bags=60, random_state=0).fit(X, y), X)


def test_least_and_most_covered_of_many_classes_are_named():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 2)), rng.integers(8, size=300)
    sets = predict_set(BaggedClassifier(n_bags=40, random_state=0).fit(X, y), X, method="jackknife+")
    assert "the sets cover from" in " ".join(sets.explain().split())
    assert " to " in sets.explain()


def test_terminal_has_a_table_of_classes(folder):
    arguments = ("sets", folder / "churn.csv", "--target", "churn", "--test", folder / "churn-new.csv", *QUICK)
    by_class, overall = (run(*arguments, "--method", "jackknife+", how) for how in ("--by-class", "--overall"))
    for said in (by_class, overall):
        assert "rows covered" in said
        assert "training rows covered" in said
        assert "new rows covered" in said
    assert "coverage of each class is at least 0.8" in by_class
    assert "coverage of each class" not in overall
    assert "Use --by-class to cover each class." in overall
    assert "Use --by-class" not in by_class
    stable = run(*arguments)
    assert "new rows covered" in stable
    assert "training rows covered" not in stable
    assert run(*arguments, "--method", "jackknife+").count("coverage of each class") == 1  # the default


def test_without_known_labels_and_coverage_the_terminal_has_no_table_of_classes(folder):
    pd.read_csv(folder / "churn-new.csv").drop(columns="churn").to_csv(folder / "unknown.csv", index=False)
    arguments = ("sets", folder / "churn.csv", "--target", "churn", "--test", folder / "unknown.csv", *QUICK)
    assert "rows covered" not in run(*arguments)
    assert "new rows covered" not in run(*arguments, "--method", "jackknife+")


def test_options_of_covering_sets_fail_for_stable_sets(folder):
    arguments = ("sets", folder / "churn.csv", "--target", "churn", "--test", folder / "churn-new.csv", "--overall")
    result = CliRunner().invoke(main, [*map(str, arguments)])
    assert result.exit_code == 2
    assert "--by-class and --overall are for sets that cover the true label" in " ".join(result.output.split())


def test_recognised_id_is_in_every_file_of_results(folder):
    outputs = {name: folder / f"{name}.out.csv" for name in ("sets", "interval", "predict", "few")}
    about = {"sets": "churn", "interval": "cost"}
    for command, target in about.items():
        paths = (folder / f"{target}.csv", "--target", target, "--test", folder / f"{target}-new.csv")
        said = run(command, *paths, "--output", outputs[command], *QUICK, "--save", folder / f"{command}.skops")
        assert "1 not used (id)" in said
    run("predict", folder / "sets.skops", folder / "churn-new.csv", "--output", outputs["predict"])
    run("predict", folder / "sets.skops", folder / "churn-new.csv", "--keep", "fee", "--output", outputs["few"])
    for name, target in (*about.items(), ("predict", "churn")):
        own, written = pd.read_csv(folder / f"{target}-new.csv"), pd.read_csv(outputs[name])
        pd.testing.assert_frame_equal(written[own.columns], own)
    assert pd.read_csv(outputs["few"]).columns.tolist()[:4] == ["row", "customer_id", "fee", "prediction"]
