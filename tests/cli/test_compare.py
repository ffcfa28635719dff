import json
import re

import numpy as np
import pandas as pd
import pytest

from stablebag import BaggedRegressor, Subbagging, compare_versions
from stablebag.showing.report.change_page import ChangeFooter, write_change

QUICK = ("--n-bags", 60, "--bag-size", 30, "--jobs", 1)


def words(result):
    return " ".join(result.output.split())


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    """Customers of eight months; in the new version the first month is gone, and the last has a planted shift."""
    rng, n = np.random.default_rng(0), 400
    frame = pd.DataFrame(
        {
            "customer": [f"c{i}" for i in range(n)],
            "age": rng.integers(18, 80, n),
            "plan": rng.choice(["family", "single"], n),
            "month": np.repeat([f"m{i}" for i in range(8)], 50),
        }
    )
    frame["risk"] = frame["age"] / 10 + rng.normal(size=n)
    frame["class"] = np.where(frame["risk"] > 5, "bad", "good")
    new = frame[50:].copy()
    new.loc[(new["month"] == "m7") & (new["plan"] == "family"), "risk"] += 9
    new["class"] = np.where(new["risk"] > 5, "bad", "good")
    folder = tmp_path_factory.mktemp("versions")
    for target, other in (("risk", "class"), ("class", "risk")):
        frame[:350].drop(columns=other).to_csv(folder / f"old-{target}.csv", index=False)
        new.drop(columns=other).to_csv(folder / f"new-{target}.csv", index=False)
    frame[::40].drop(columns=["risk", "class"]).to_csv(folder / "points.csv", index=False)
    (folder / "ids.txt").write_text("c7\n\nc300\n")
    return folder


def arguments(folder, target="risk", *more):
    old, new = folder / f"old-{target}.csv", folder / f"new-{target}.csv"
    return ("compare", old, new, "--target", target, "--id", "customer", *QUICK, *more)


def test_two_tables_are_compared_and_everything_is_written(run, versions, tmp_path):
    report, numbers, table = tmp_path / "change.html", tmp_path / "change.json", tmp_path / "change.csv"
    result = run(
        *arguments(versions, "risk", "--block", "month", "--output", report, "--json", numbers, "--table", table)
    )
    assert result.exit_code == 0, result.output
    text = words(result)
    assert "Rows: 50 left, 50 came, 300 are the same." in text
    assert "plan = family" in text
    assert "At every point they add up to the change." in text
    assert "m7" in text
    written = json.loads(numbers.read_text())
    assert written["rows"] == {"noun": "row", "n_left": 50, "n_came": 50, "n_corrected": 0, "n_common": 300}
    assert {block["name"] for block in written["blocks"]} == {"m0", "m7"}
    assert set(written["parts"]) == {"left", "came"}
    assert written["guarantee"]["n_left"] == 50
    lines = pd.read_csv(table, index_col=0)
    assert len(lines) == 350 == written["n_points"]
    np.testing.assert_allclose(lines["left"] + lines["came"], lines["change"])
    assert lines["beyond_noise"].sum() == written["n_beyond_noise"] > 0
    page = report.read_text()
    for part in (
        "<dt>Who</dt>",
        "<dt>Noise</dt>",
        "<dt>Why</dt>",
        "<dt>Guarantee</dt>",
        "SHA-256",
        "old-risk.csv",
        "plan = family",
    ):
        assert part in page, part


def test_the_numbers_are_those_of_the_library(run, versions, tmp_path):
    """Fitted by hand, with the same bags and range."""
    table = tmp_path / "change.csv"
    command = arguments(versions, "risk", "--drop", "plan,month", "--model", "ridge", "--table", table, "--no-parts")
    assert run(*command).exit_code == 0
    from sklearn.linear_model import Ridge

    from stablebag import FixedRange
    from stablebag.tables import read_table

    both = [pd.read_csv(versions / f"{name}-risk.csv") for name in ("old", "new")]
    ends = np.concatenate([frame["risk"] for frame in both])
    reading = read_table(versions / "old-risk.csv", "risk", ids=["customer"], drop=["plan", "month"])
    models = [
        BaggedRegressor(
            reading.pipeline(Ridge()), scheme=Subbagging(30), n_bags=60, random_state=0,
            prediction_range=FixedRange(ends.min(), ends.max()),
        ).fit(frame[["age"]], frame["risk"], row_ids=frame["customer"].tolist())
        for frame in both
    ]  # fmt: skip
    found = compare_versions(*models, both[1][["age"]])
    np.testing.assert_allclose(pd.read_csv(table)["change"], found.change, atol=1e-9)


def test_requirements_that_do_not_hold_end_with_code_3(run, versions, tmp_path):
    report, numbers = tmp_path / "change.html", tmp_path / "change.json"
    written = ("--output", report, "--json", numbers)
    result = run(*arguments(versions, "risk", "--no-parts", "--require", "changed<=1%", *written))
    assert result.exit_code == 3
    assert result.output.strip().split("\n")[-1].startswith("Required changed<=1%, but it is ")
    assert "Required changed&lt;=1%, but it is" in report.read_text()
    found = json.loads(numbers.read_text())
    (required,) = found["requirements"]
    assert required["value"] == found["n_beyond_noise"] / found["n_points"]
    assert (required["limit"], required["kind"], required["passed"]) == (0.01, "estimated", False)
    count = found["n_beyond_noise"]
    exact = ("--require", f"changed<={count}", "--require", f"changed >= {count}", "--require", "changed<=100%")
    assert run(*arguments(versions, "risk", "--no-parts", *exact)).exit_code == 0
    assert run(*arguments(versions, "risk", "--no-parts", "--require", f"changed<{count}")).exit_code == 3
    result = run(
        *arguments(versions, "class", "--no-parts", "--require", "decisions <= 0", "--require", "changed<=350")
    )
    assert result.exit_code == 3
    assert re.search(r"Required decisions <= 0, but it is \d+ of 350 decisions \(measured\)\.$", words(result))
    result = run(*arguments(versions, "risk", "--require", "chnged<5"))
    assert result.exit_code == 2
    assert "Did you mean 'changed'?" in words(result)
    result = run(*arguments(versions, "risk", "--no-parts", "--require", "decisions<=5%"))
    assert result.exit_code == 3
    assert "this was not measured: it is for classes, and the target has numbers" in words(result)


def test_a_deletion_request_says_what_was_removed_and_that_a_fresh_fit_is_the_same(run, versions, tmp_path):
    report = tmp_path / "deletion.html"
    command = ("compare", versions / "old-risk.csv", "--target", "risk", "--id", "customer", *QUICK)
    result = run(*command, "--forget", versions / "ids.txt", "--output", report)
    assert result.exit_code == 0, result.output
    text = words(result)
    assert "2 rows removed. A fresh fit to the 348 others gives the same predictions at all 350 rows" in text
    assert "Rows: 2 left, 0 came, 348 are the same." in text
    assert "old-risk.csv without ids.txt" in report.read_text()
    (tmp_path / "wrong.txt").write_text("c7\nnobody\n")
    result = run(*command, "--forget", tmp_path / "wrong.txt")
    assert result.exit_code == 2
    assert "'nobody' is not an ID of the table" in words(result)
    assert "Give --id or --group" in words(
        run("compare", versions / "old-risk.csv", "--target", "risk", "--forget", versions / "ids.txt")
    )


def test_points_of_another_table_are_compared(run, versions):
    result = run(*arguments(versions, "risk", "--points", versions / "points.csv", "--no-parts"))
    assert result.exit_code == 0, result.output
    assert "10 points" in words(result)
    assert "The points are training rows" not in words(result)


def test_saved_models_are_compared(run, versions, tmp_path):
    pytest.importorskip("skops")
    saved = []
    for name in ("old", "new"):
        path = tmp_path / f"{name}.skops"
        result = run("measure", versions / f"{name}-risk.csv", "--target", "risk", "--id", "customer", *QUICK,
                     "--refits", 2, "--points", 2, "--save", path)  # fmt: skip
        assert result.exit_code == 0, result.output
        saved.append(path)
    result = run("compare", *saved, "--points", versions / "points.csv")
    assert result.exit_code == 0, result.output
    assert "10 points" in words(result)
    assert "Who:" in words(result)
    assert "two saved models" in words(run("compare", saved[0], versions / "new-risk.csv"))


# ------------------------------------------------------------------------------------------------- what is said first


def changed(versions, tmp_path, change):
    frame = pd.read_csv(versions / "new-risk.csv")
    path = tmp_path / "new.csv"
    change(frame).to_csv(path, index=False)
    return ("compare", versions / "old-risk.csv", path, "--target", "risk", "--id", "customer", *QUICK, "--no-parts")


@pytest.mark.parametrize(
    ("change", "words_of_it"),
    [
        (lambda frame: frame.sample(frac=1, random_state=0), "in another order. They are matched by their IDs"),
        (lambda frame: frame.assign(more=np.arange(350) % 7), "not used: 'more' (new)"),
        (lambda frame: frame.drop(columns="plan"), "not used: 'plan' (old)"),
        (
            lambda frame: frame.assign(plan=np.where(frame.index % 9 == 0, "solo", frame["plan"])),
            "new categories: solo",
        ),
        (
            lambda frame: frame.assign(age=np.where(frame.index % 3 == 0, "old", frame["age"].astype(str))),
            "'age' was read as number",
        ),
        (lambda frame: frame.assign(customer="x" + frame["customer"]), "so every row is new"),
        (lambda frame: frame.assign(risk=frame["risk"].where(frame.index != 4)), "1 row of new.csv without a target"),
    ],
)
def test_what_differs_between_the_tables_is_said_first(run, versions, tmp_path, change, words_of_it):
    result = run(*changed(versions, tmp_path, change))
    assert result.exit_code == 0, result.output
    text = words(result)
    assert words_of_it in text
    assert text.index("Check first:") < text.index(words_of_it) < text.index("Who:")


@pytest.mark.parametrize(
    ("change", "words_of_it"),
    [
        (
            lambda frame: frame.assign(customer=np.where(frame.index == 3, None, frame["customer"])),
            "have no 'customer'",
        ),
        (lambda frame: frame.assign(customer=np.where(frame.index == 3, "c60", frame["customer"])), "there twice"),
        (lambda frame: frame.drop(columns="risk"), "risk"),
        (lambda frame: frame[:20], "too few for bags of 30"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_way_out(run, versions, tmp_path, change, words_of_it):
    result = run(*changed(versions, tmp_path, change))
    assert result.exit_code == 2
    assert words_of_it in words(result)


def test_groups_are_matched_and_rows_without_ids_are_pointed_out(run, versions):
    base = ("compare", versions / "old-risk.csv", versions / "new-risk.csv", "--target", "risk", "--no-parts", *QUICK)
    result = run(*base, "--group", "customer")
    assert result.exit_code == 0, result.output
    assert "Groups: 50 left, 50 came, 300 are the same." in words(result)
    assert "Rows are matched by their position in the files" in words(run(*base))


def test_one_version_alone_is_refused(run, versions):
    result = run("compare", versions / "old-risk.csv", "--target", "risk")
    assert result.exit_code == 2
    assert "two versions, old and new, or one version and --forget" in words(result)
    assert "--target" in words(run("compare", versions / "old-risk.csv", versions / "new-risk.csv"))


# ----------------------------------------------------------------------------------------------------------- the report


def test_names_of_the_data_cannot_become_code_in_the_report(tmp_path):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "<script>"])
    X.index = [f"<s>{i}</s>" for i in range(60)]
    y = X["a"].to_numpy()
    model = {"scheme": Subbagging(20), "n_bags": 50, "random_state": 0}
    old = BaggedRegressor(**model).fit(X, y)
    new = BaggedRegressor(**model).fit(X, y + 3 * (X["<script>"] > 0))
    footer = ChangeFooter("<i>title</i>", target="$x$", facts=(("a", "<u>b</u>"),), command="<a>")
    page = write_change(tmp_path / "r.html", compare_versions(old, new, X), footer=footer, warnings=["<p>"]).read_text()
    for text in ("<s>", "<script>", "<i>", "<u>", "<a>"):
        assert text not in page
    assert "&lt;script&gt; &gt;" in page
    with pytest.raises(TypeError, match="the result of compare_versions"):
        write_change(tmp_path / "r.html", old)
