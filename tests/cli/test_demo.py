import pytest

from stablebag.cli import measure
from stablebag.showing.study import study


@pytest.fixture
def studied(monkeypatch):
    """The studies that are made, each smaller than it was ordered."""
    made = []

    def smaller(model, X, y, X_test, y_test, **options):
        made.append((len(X), len(X_test), model.n_bags, options["n_refits"], model.random_state))
        fewer = {**options, "n_refits": 2, "n_points": 3}
        return study(model.set_params(n_bags=20), X, y, X_test, y_test, **fewer)

    monkeypatch.setattr(measure, "study", smaller)
    return made


def test_demo_writes_a_table_and_a_report_for_numbers_and_for_classes(run, studied, tmp_path):
    folder = tmp_path / "new" / "folder"
    result = run("demo", "--output", folder, "--jobs", 1, "--seed", 3)
    assert result.exit_code == 0, result.output
    assert studied == [(353, 89, 500, 150, 3), (455, 114, 500, 150, 3)]
    assert sorted(path.name for path in folder.iterdir()) == [
        "breast-cancer.csv", "breast-cancer.html", "diabetes.csv", "diabetes.html",
    ]  # fmt: skip
    assert "<h3>Prediction intervals</h3>" in (folder / "diabetes.html").read_text()
    cancer = (folder / "breast-cancer.html").read_text()
    assert "<title>Predicting diagnosis from breast-cancer.csv with a decision tree</title>" in cancer
    assert f"stablebag measure {folder / 'breast-cancer.csv'} --target diagnosis" in cancer
    words = " ".join(result.output.split())
    assert f"stablebag measure {folder / 'diabetes.csv'} --target progression" in words
    assert words.count("Nothing found. Checked: leaking columns, repeated groups, time order, copied rows,") == 4
    assert "accuracy (higher is better)" in words


@pytest.mark.slow
def test_demo_fails_if_its_folder_is_a_file(run, studied, tmp_path):
    (tmp_path / "taken").write_text("")
    result = run("demo", "--output", tmp_path / "taken")
    assert result.exit_code == 2
    assert "is a file" in " ".join(result.output.split())
    assert studied == []
