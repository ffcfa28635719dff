import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from stablebag.cli.main import main


@pytest.fixture(scope="session")
def run():
    def run(*arguments):
        return CliRunner().invoke(main, [str(argument) for argument in arguments])

    return run


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "age": np.where(rng.random(n) < 0.1, np.nan, rng.normal(50, 10, n)),
            "city": rng.choice(["Rome", "Oslo", "Lima"], n),
            "seen": pd.date_range("2024-01-01", periods=n).astype(str),
            "<script>alert(1)</script>": rng.normal(size=n),
        }
    )
    frame["cost"] = frame["age"].fillna(40) + 5 * (frame["city"] == "Rome") + rng.normal(size=n)
    frame["ill"] = np.where(frame["cost"] > frame["cost"].median(), "yes", "no")
    path = tmp_path_factory.mktemp("tables") / "patients.csv"
    frame.to_csv(path, index=False)
    for target in ("cost", "ill"):
        frame.drop(columns=target)[:7].to_csv(path.with_name(f"new-{target}.csv"), index=False)
    return path


@pytest.fixture(scope="session")
def clinic(tmp_path_factory):
    """Visits of thirty patients, whose levels differ far more than their visits do."""
    rng = np.random.default_rng(0)
    names, visits = [f"{name}-{k}" for name in ("ann", "bob", "eve") for k in range(10)], rng.integers(1, 8, 30)
    frame = pd.DataFrame({"patient_id": np.repeat(names, visits), "age": np.repeat(rng.integers(20, 90, 30), visits)})
    frame["dose"] = rng.normal(size=len(frame))
    frame["pressure"] = np.repeat(rng.normal(120, 20, 30), visits) + frame["dose"]
    frame["ill"] = np.where(frame["pressure"] > 120, "yes", "no")
    path = tmp_path_factory.mktemp("clinic") / "visits.csv"
    frame.to_csv(path, index=False)
    new = frame[:9].copy()
    new.loc[2:, "patient_id"] = "new"
    new.to_csv(path.with_name("new.csv"), index=False)
    return path
