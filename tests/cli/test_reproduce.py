import json

import pytest
from click.testing import CliRunner

from paper.small import small
from stablebag.cli.main import main
from stablebag.paper import experiments
from stablebag.paper.settings import SETTINGS


def test_reproduce_writes_figures_and_json_and_prints_claims(tmp_path, monkeypatch):
    monkeypatch.setitem(SETTINGS, 4, small(4, n=60))
    done = CliRunner().invoke(
        main, ["reproduce", "--setting", "4", "--n-bags", "40", "--jobs", "1", "--output", str(tmp_path)]
    )
    assert done.exit_code == 0, done.output
    assert "The paper's claims" in done.output
    assert "2 of 2 claims agree with the paper." in done.output
    assert (tmp_path / "figure3.svg").exists()
    assert json.loads((tmp_path / "numbers.json").read_text())[0]["n_bags"] == 40


@pytest.mark.slow
def test_interrupted_reproduce_keeps_finished_work(tmp_path, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiments, "run", interrupted)
    done = CliRunner().invoke(main, ["reproduce", "--quick", "--output", str(tmp_path)])
    assert done.exit_code == 130
    assert "continues from there" in done.output.replace("\n", " ")


@pytest.mark.slow
@pytest.mark.parametrize(("arguments", "words"), [
    (["--quick", "--n-bags", "10"], "--quick and --n-bags both set the number"),
    (["--setting", "5"], "5 is not in the range"),
    (["--n-bags", "2"], "are never left out"),
    (["--jobs", "0"], "--jobs"), (["--n-bags", "1" + 20 * "0"], "is not in the range"),
    (["--n-bags", "1"], "1 is not in the range"), (["--variant", "paper"], "'paper' is not one of"),
])  # fmt: skip
def test_reproduce_fails_early_on_wrong_options(arguments, words, tmp_path):
    done = CliRunner().invoke(main, ["reproduce", *arguments, "--output", str(tmp_path / "new")])
    assert done.exit_code == 2
    assert words in done.output
    assert "Traceback" not in done.output
    assert not (tmp_path / "new").exists()


@pytest.mark.slow
@pytest.mark.parametrize("place", ["file.txt/new", "file.txt/new/folder"])
def test_reproduce_fails_early_without_a_folder(place, tmp_path, monkeypatch):
    monkeypatch.setattr(experiments, "run", lambda *arguments, **options: pytest.fail("there was work"))
    (tmp_path / "file.txt").write_text("mine")
    done = CliRunner().invoke(main, ["reproduce", "--quick", "--output", str(tmp_path / place)])
    assert done.exit_code == 2
    assert "is a file. Choose another path." in done.output.replace("\n", " ")
    assert (tmp_path / "file.txt").read_text() == "mine"
