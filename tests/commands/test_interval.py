import pandas as pd


def words(result):
    return " ".join(result.output.split())


def test_intervals_are_written(run, table, tmp_path):
    output = tmp_path / "intervals.csv"
    arguments = ("--target", "cost", "--test", table.with_name("new-cost.csv"), "--output", output)
    result = run("interval", table, *arguments, "--n-bags", 20, "--jobs", 1, "--confidence", 0.8)
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(output)
    assert frame.columns.tolist() == ["prediction", "lower", "upper"]
    assert len(frame) == 7
    assert (frame["lower"] <= frame["upper"]).all()
    assert "7 intervals by jackknife+ at level 0.8" in words(result)


def test_known_targets_are_held_against_the_intervals(run, table, tmp_path):
    known = pd.read_csv(table)[:9]
    known.to_csv(tmp_path / "known.csv", index=False)
    output = tmp_path / "intervals.csv"
    arguments = ("--target", "cost", "--test", tmp_path / "known.csv", "--output", output, "--method", "jackknife")
    result = run("interval", table, *arguments, "--n-bags", 20, "--jobs", 1)
    assert result.exit_code == 0, result.output
    frame = pd.read_csv(output)
    inside = known["cost"].between(frame["lower"], frame["upper"]).mean()
    assert f"{inside:.1%} of the known targets are inside." in words(result)
    assert "9 intervals by jackknife at level 0.9" in words(result)
