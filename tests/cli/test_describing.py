import pandas as pd

from stablebag.tables.columns import Columns, decide, described


def test_each_column_is_described():
    n = 60
    frame = pd.DataFrame(
        {
            "y": [str(k / 7) for k in range(n)],
            "who": ["a", "b", "c"] * 20,
            "code": [f"{k % 30:03d}" for k in range(n)],
            "price": [f"€ {k},50" for k in range(n)],
            "when": [f"{k % 28 + 1:02d}.01.2020" for k in range(n)],
            "same": ["x"] * n,
            "empty": [None] * n,
            "name": [f"n{k}" for k in range(n)],
            "city": ["Rome", "Oslo", None] * 20,
            "out": ["1"] * n,
            "many": [f"m{k % 55}" for k in range(n)],
        },
        dtype=object,
    )
    kinds = decide(frame.drop(columns=["who", "out"]), target="y").kinds
    X = Columns(kinds).read(frame)
    found = described(frame, X, kinds, target="y", group="who", ids=(), drop=("out",), leaking=["many"])
    told = {column.name: (column.kind, column.n_values, column.example, column.remark) for column in found}
    assert told == {
        "y": ("target", 60, "0 to 8.429", ""),
        "who": ("group", 3, "a, b, c", "says whose rows are whose"),
        "code": ("category", 30, "000, 001, 002, ...", "codes with leading zeros"),
        "price": ("number", 60, "0.5 to 59.5", "written with €"),
        "when": ("date", 28, "2020-01-01 to 2020-01-28", "day.month.year"),
        "same": ("constant", 1, "x", "left out: one value only"),
        "empty": ("constant", 0, "", "left out: empty"),
        "name": ("id", 60, "n0, ...", "left out: all values differ"),
        "city": ("category", 2, "Oslo, Rome", ""),
        "out": ("dropped", 1, "1", "left out by --drop"),
        "many": ("category", 55, "m0, m1, m2, ...", "predicts the target alone"),
    }
    assert next(column.missing for column in described(
        frame[["city"]], X, kinds, target="y", group=None, ids=(), drop=(), leaking=[]
    )) == 1 / 3  # fmt: skip
