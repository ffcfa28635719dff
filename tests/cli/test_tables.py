import numpy as np
import pandas as pd
import pytest

from stablebag.cli.training import TrainingTable
from stablebag.tables.text import TableError

N = 40


@pytest.fixture
def clinic(tmp_path):
    """A file as an office writes it: semicolons, decimal commas, codes with zeros, Windows-1252."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "visit": [f"V{k}" for k in range(N)],
            "patient": [f"{k // 4:03d}" for k in range(N)],
            "dose": rng.normal(10, 2, N).round(1),
            "city": rng.choice(["Köln", "Düren"], N),
            "price": [f"{k}.000,50 €" for k in range(1, N + 1)],
            "same": 1,
            "pressure": rng.normal(120, 9, N).round(1),
        }
    )
    path = tmp_path / "clinic.csv"
    frame.to_csv(path, sep=";", decimal=",", index=False, encoding="cp1252")
    return path


def read(path, target="pressure", **options):
    return TrainingTable.from_options({"table": path, "target": target, **options})


def write(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_messy_table_is_read_and_it_is_said_how(clinic):
    data = read(clinic, group="patient", ids=("visit",))
    assert data.task == "regression"
    assert data.X.columns.tolist() == ["dose", "city", "price"]
    assert data.X.index.tolist()[:2] == ["V0", "V1"]
    assert data.X["price"].tolist()[:2] == [1000.5, 2000.5]
    assert data.groups.tolist()[:5] == ["000", "000", "000", "000", "001"]
    assert data.as_read.lines() == [
        "5 columns beside the target and the group: 2 numbers, 1 category; 2 left out (1 constant, 1 id).",
        "The file was read as Windows-1252 (Latin-1), because it is not UTF-8, with ';' between columns and with ',' "
        "for decimals.",
    ]
    assert data.covered().startswith("Without any single patient, every column would be read as it is")


def test_columns_are_dropped_and_chosen(clinic):
    data = read(clinic, drop=("city, price",), kinds=("patient=number", "dose=category"))
    assert data.reading.columns.named("number") == ["patient"]
    assert data.reading.columns.named("category") == ["dose"]
    assert [column.kind for column in data.as_read.columns].count("dropped") == 2
    for options in ({"drop": ("citi",)}, {"ids": ("Citi",)}, {"kinds": ("CITY=text",)}, {"group": "Ciy"}):
        with pytest.raises(TableError, match=r"Did you mean 'city'\?"):
            read(clinic, **options)
    with pytest.raises(TableError, match=r"Did you mean 'pressure'\?"):
        read(clinic, "Pressure")


def test_new_rows_are_read_as_the_training_table_was(clinic, tmp_path):
    data = read(clinic, group="patient", ids=("visit",))
    new = "price;dose;city;visit;patient;pressure\n1.234;7;Rom;A17;007;100,5\nabc;;Rom;A18;;99\n"
    found = data.read_new(write(tmp_path, new, "new.csv"))
    assert found.X.index.tolist() == ["A17", "A18"]
    assert found.X["price"].tolist()[0] == 1234.0  # and not 1.234: the training table has decimal commas
    assert found.X["dose"].tolist()[0] == 7
    assert found.y.tolist() == [100.5, 99.0]
    assert found.groups.tolist() == ["007", None]
    assert found.said == (
        "1 of 'price' in new.csv cannot be read as numbers, and are taken as missing.",
        "2 values of 'city' in new.csv are not in the training table (Rom), and taken as rare.",
    )
    assert data.read_new(write(tmp_path, "price;dose;city\n1;2;Rom\n", "new.csv")).y is None


def test_targets_of_new_rows_count_if_they_are_there(clinic, tmp_path):
    data = read(clinic)
    new = write(tmp_path, "price;dose;city;patient;pressure\n1;2;Rom;3;\n1;2;Rom;3;9,5\n", "new.csv")
    assert data.read_new(new).y is None
    assert data.read_new(new, needs_target=True).y.tolist() == [9.5]
    empty = write(tmp_path, "price;dose;city;patient;pressure\n1;2;Rom;3;\n", "new.csv")
    with pytest.raises(TableError, match=r"The target 'pressure' is missing in every row of .*new.csv"):
        data.read_new(empty, needs_target=True)


@pytest.mark.parametrize(("text", "words"), [
    ("y,a\n,1\n,2\n", "The target 'y' is missing in every row"),
    ("y,a\n1,1\n", "The target 'y' is known in one row, and two are needed"),
    ("y,a\nu,1\nu,2\n", "has one class only, 'u'"),
    ("y,a\n1,1\n2\n", "fewer fields"),
])  # fmt: skip
def test_tables_without_anything_to_predict_are_refused(tmp_path, text, words):
    with pytest.raises(TableError, match=words):
        read(write(tmp_path, text), "y")


def test_rows_whose_target_must_be_a_number_and_is_none_are_left_out(tmp_path):
    rows = "".join(f"{k / 7},{k % 3}\n" for k in range(30))
    path = write(tmp_path, f"y,a\n{rows}n.d.,1\n,2\n")
    assert read(path, "y").task == "classification"
    data = read(path, "y", kinds=("y=number",))
    assert (data.task, len(data.y), data.n_without_target, len(data.X)) == ("regression", 30, 2, 30)


def test_rows_that_decide_how_a_column_is_read_are_named(tmp_path):
    rows = "".join(f"{k / 7},{k}\n" for k in range(60))
    path = write(tmp_path, f"y,a\n{rows}3.5,n.d.\n")
    data = read(path, "y")
    assert data.decisive == (60,)
    assert data.covered() == (
        "Without the row 60, some column would be read otherwise, so the guarantee is not about it (1 of 61). --kind, "
        "--drop or --task decides how it is read. Row 0 is the first row below the header."
    )
    assert data.covered(data.X.index[:50]).startswith("Without any single row")  # it is held out
    assert "--kind a=number" in data.as_read.noticed[0]
    assert read(path, "y", kinds=("a=number",)).decisive == ()


def test_what_leaks_the_target_is_a_warning(tmp_path):
    rows = "".join(f"{'yes' if k % 2 else 'no'},{k % 2},{k * 7 % 11}\n" for k in range(30))
    data = read(write(tmp_path, f"ill,code,a\n{rows}"), "ill")
    assert data.as_read.warned == (
        "code alone predicts ill almost perfectly (code > 0: accuracy 1.000 on 10 held-out rows). That is often too "
        "good to be true: is it known at the time of prediction? If not, add --drop code.",
    )
    assert data.as_read.columns[1].remark == "predicts the target alone"


def test_a_table_of_many_columns_is_read(tmp_path):
    names = ",".join(f"x{k}" for k in range(300))
    rows = "".join(",".join(str((j * k) % 7) for k in range(300)) + "\n" for j in range(15))
    data = read(write(tmp_path, f"{names}\n{rows}"), "x1")
    assert len("".join(data.as_read.lines())) < 1000
    assert len(data.as_read.columns) == 300
