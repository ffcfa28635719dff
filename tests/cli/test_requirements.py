import json
import math
import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import parquet_files
from stablebag._wording import GROUPS
from stablebag.cli.measure import _words as words_of_measure
from stablebag.cli.requirements import Vocabulary, read_requirement
from stablebag.showing.facts import KNOWN, Fact

QUICK = ("--n-bags", 20, "--refits", 5, "--points", 4, "--jobs", 1)
WORDS = Vocabulary("flips<=1%", KNOWN)


def words(result):
    return " ".join(result.output.split())


def typical(value, kind="measured", **details):
    return Fact("typical change", "", kind, {"bagged": value, "base": 30.0}, "prediction", details=details)


def flips(count, total=200, refits=50):
    details = {"n_held_out": total, "n_refits": refits}
    return Fact("flips", "", "measured", {"bagged": count / total}, "share", details=details)


def check(text, *facts, task="classification", **about):
    return read_requirement(text, WORDS).check(facts, task, **about)


# -------------------------------------------------------------------------------------------------------------- grammar


@pytest.mark.parametrize(
    "text", ["typical change<=2", "Typical  Change <= 2.0", "TYPICAL_CHANGE<=2e0", "typical-change <=+2"]
)
def test_case_spaces_and_hyphens_of_a_name_do_not_matter(text):
    read = read_requirement(text, WORDS)
    assert (read.name, read.column, read.comparison, read.limit) == ("typical change", "bagged", "<=", 2.0)


def test_a_point_names_another_number():
    assert read_requirement("typical change.base<2", WORDS).column == "base"
    assert read_requirement("Brier score on unseen rows . high < 2", WORDS).column == "high"
    assert read_requirement("guaranteed change<2", WORDS).column == "proved"
    assert not check("typical change.base<=29", typical(1.0)).passed
    assert check("typical change<=29", typical(1.0)).passed


def test_a_number_of_decisions_and_a_share_of_them_are_two_limits():
    assert check("flips<=3", flips(3)).passed
    assert not check("flips<=2", flips(3)).passed
    assert check("flips<=1.5%", flips(3)).passed  # exactly 3 of 200
    assert not check("flips<1.5%", flips(3)).passed
    assert not check("flips<=28", flips(29, total=100)).passed  # 0.29 * 100 is a little less than 29
    assert check("flips<=1", flips(1)).passed
    assert not check("flips<=1", flips(200)).passed  # 1 is not 100%
    assert check("flips<=100%", flips(200)).passed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flip<=1%", "There is no fact 'flip'. Did you mean 'flips'? --require help lists all of them."),
        ("nothing at all<=1", "There is no fact 'nothing at all'. --require help lists all of them."),
        ("flips<=0.01", "Give a whole number of decisions, or a share with %, such as 5%. Got 'flips<=0.01'."),
        ("flips<=-1", "Give a whole number of decisions"),
        ("flips<=150%", "'flips' is a share, from 0% to 100%."),
        ("coverage>=85", "Did you mean 85%?"),
        ("typical change<=5%", "'typical change' is not a share, so give a number without %."),
        ("typical change.proved<=5", "has no number 'proved'. Use 'typical change' or 'typical change.base'."),
        ("guaranteed change>=5", "is an upper bound, so require it with < or <=."),
        ("flips", "in quotes: --require 'flips<=1%'. Got 'flips'."),
        ("flips<=", "in quotes"),
        ("flips<=few", "in quotes"),
        ("flips==3", "in quotes"),
        ("typical change<=nan", "in quotes"),
        ("typical change<=1,5", "in quotes"),
        ("typical change<=1e400", "A limit must be at most 1e+300. Got 'typical change<=1e400'."),
        ("", "in quotes"),
        ("flips<=1%, typical change<=2", "There is no fact 'flips<=1%, typical change'."),
    ],
)
def test_wrong_requirement_raises_one_sentence(text, said):
    with pytest.raises(ValueError, match=re.escape(said)):
        read_requirement(text, WORDS)


def test_other_words_for_scores_are_suggested_and_not_accepted():
    for text, meant in (("mae<3", "mean absolute error"), ("neg_log_loss<1", "log loss"), ("roc_auc>0.7", "AUC")):
        with pytest.raises(ValueError, match=f"Did you mean '{meant}'"):
            read_requirement(text, words_of_measure())
    assert read_requirement("f1>=0.8", words_of_measure()).name == "f1"
    assert read_requirement("auc>=70%", words_of_measure()).limit == 0.7
    for text in ("mean absolute error<=5%", "lead over a constant>=20%"):  # not shares
        with pytest.raises(ValueError, match="without %"):
            read_requirement(text, words_of_measure())


# ------------------------------------------------------------------------------------------------- numbers in sentences


@given(
    st.floats(1e-9, 1e12), st.sampled_from(["<=", "<", ">=", ">"]),
    st.sampled_from([0.0, 1e-15, 1e-6, 1e-3, 0.5, -1e-15, -1e-4]),
)  # fmt: skip
def test_printed_number_is_on_the_same_side_of_the_limit_as_the_exact_one(limit, comparison, off):
    value = limit * (1 + off)
    for kind in ("measured", "proved"):
        fact = Fact("typical change", "", kind, {"bagged": value}, "prediction")
        found = check(f"typical change{comparison}{limit!r}", fact)
        exact = {"<=": value <= limit, "<": value < limit, ">=": value >= limit, ">": value > limit}[comparison]
        assert found.passed is exact
        printed = float(re.search(r"(?:with|it is) ([-+\d.,e]+) \(", found.sentence)[1].replace(",", ""))
        assert {"<=": printed <= limit, "<": printed < limit, ">=": printed >= limit, ">": printed > limit}[
            comparison
        ] is exact
        assert kind == "measured" or printed >= value * (1 - 1e-15)  # a bound is not rounded down


def test_a_number_just_above_its_limit_is_not_printed_as_the_limit():
    found = check("typical change<=2", typical(2.0000004))
    assert found.sentence == "Required typical change<=2, but it is 2.0000004 (measured)."
    assert check("typical change<=2", typical(2.0)).sentence == "Holds: typical change<=2, with 2 (measured)."
    assert check("typical change<=2", typical(2.31449)).sentence.endswith("it is 2.31 (measured).")
    assert check("typical change<=2", typical(1234567.8)).sentence.endswith("it is 1,230,000 (measured).")


def test_sentences_say_whether_a_number_is_proved_measured_or_estimated():
    bound = Fact("guaranteed change", "", "proved", {"measured": 0.2, "proved": 3.001}, "prediction")
    assert check("guaranteed change<=4", bound).sentence == "Holds: guaranteed change<=4, with 3.01 (proved)."
    assert check("guaranteed change.measured<=4", bound).kind == "measured"
    estimated = typical(1.0, "estimated")
    assert check("typical change<=2", estimated).sentence.endswith("(estimated).")
    assert check("typical change.base<=2", estimated).kind == "measured"  # base models are refitted
    below = Fact("typical change with infinitely many bags", "", "estimated", {"bagged": 0.0}, "prediction",
                 {"bagged": "below the noise"})  # fmt: skip
    found = check("typical change with infinitely many bags<=2", below)
    assert found.sentence.endswith("with 0 (estimated; below the noise).")
    wide = Fact("coverage", "", "measured", {"bagged": 1.0}, "share", {"bagged": "infinite"})
    assert check("coverage>=85%", wide, task="regression").sentence.endswith("with 100% (measured; infinite).")


def test_flips_in_some_of_the_rows_are_at_least_so_many():
    some = check("flips<=2%", flips(3), n=120)
    assert some.passed
    assert some.to_dict()["at_least"]
    assert some.sentence == (
        "Holds as far as checked: flips<=2%, with at least 3 of 200 decisions, 1.5% (measured; 50 of 120 rows were "
        "left out in turn)."
    )
    failed = check("flips<=1%", flips(3), n=120)
    assert failed.sentence.startswith(
        "Required flips<=1%, but it is at least 3 of 200 decisions, 1.5% (measured; 50 of"
    )
    assert check("flips>=1", flips(3), n=120).sentence.startswith("Holds: ")  # more refits find no fewer
    every = check("flips<=2%", flips(3, refits=120), n=120)
    assert every.sentence == "Holds: flips<=2%, with 3 of 200 decisions, 1.5% (measured)."
    assert not every.at_least
    mean = check("typical change<=2", typical(1.0, bagged_rows=7), n=30, noun=GROUPS)
    assert mean.sentence.endswith("with 1 (measured; 7 of 30 groups were left out in turn).")  # may be more or less


def test_what_was_not_measured_fails_with_the_reason():
    for text, facts, task, said in [
        ("flips<=1%", (), "regression", "this was not measured: it is for classes, and the target has numbers."),
        ("coverage>=80%", (), "classification", "it is for numbers, and the target has classes."),
        ("flips<=1%", (), "classification", "it takes refits of the bagged model (--matched)"),
        ("typical change<=2", (typical(math.nan),), "regression", "it takes refits of the bagged model (--matched)"),
        ("bagging noise<=2", (), "regression", "no bagging noise is known."),
        ("guaranteed change<=9", (Fact("guaranteed change", "", "proved", {"proved": math.nan}, "prediction"),),
         "regression", "nothing is proved: no bound is below the range of the predictions."),
        ("brier score on unseen rows.low<=9",
         (Fact("Brier score on unseen rows", "", "estimated", {"bagged": 0.2}, "score"),),
         "classification", "no interval was computed for it."),
    ]:  # fmt: skip
        found = check(text, *facts, task=task)
        assert not found.passed
        assert found.sentence.startswith(f"Required {text}, but ")
        assert said in found.sentence
        written = json.loads(json.dumps(found.to_dict(), allow_nan=False))
        assert (written["value"], written["kind"], written["passed"]) == (None, None, False)
    base = Fact("R2", "", "measured", {"base": math.nan, "bagged": 0.5, "constant": 0.0}, "score")
    found = read_requirement("r2.base>=0", words_of_measure()).check([base], "regression")
    assert found.sentence == "Required r2.base>=0, but this was not measured for the base model."


def test_an_infinite_number_is_valid_json():
    ratio = Fact("times smaller", "", "measured", {"value": math.inf}, "times")
    found = check("times smaller>=2", ratio)
    assert found.sentence == "Holds: times smaller>=2, with infinite (measured)."
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["passed"]


# -------------------------------------------------------------------------------------------------------------- measure


def test_a_wrong_requirement_is_an_error_before_the_table_is_read(run, tmp_path):
    about = ("measure", tmp_path / "no.csv", "--target", "y")
    result = run(*about, "--require", "flips<=1%", "--require", "typicl change<=2")
    assert result.exit_code == 2
    assert "Did you mean 'typical change'" in words(result)
    result = run(*about, "--require", "f1>=0.5")
    assert result.exit_code == 2
    assert "needs a score that is not measured. Add --metric f1." in words(result)
    assert "no.csv" in words(run(*about, "--require", "f1>=0.5", "--metric", "f1"))
    assert "Add --metric r2." in words(run(*about, "--require", "r2>=0.5", "--metric", "neg_max_error"))


@pytest.mark.parametrize("command", ["measure", "compare"])
def test_help_lists_every_fact_at_80_columns_without_a_table(run, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    result = run(command, "--require", "help")
    assert result.exit_code == 0
    names = KNOWN if command == "measure" else ("changed", "decisions", "typical change")
    *table, note = result.output.rstrip("\n").split("\n")
    assert max(map(len, table)) <= 80
    cells = " ".join(line[:28].strip() for line in table) if command == "measure" else result.output
    for name in names:
        assert name in cells, name
    assert note
    line = next(line for line in run(command, "--help").output.splitlines() if "--require TEXT" in line)
    assert line.endswith("else exit with 3; help lists facts.")


@pytest.mark.slow
def test_measure_fails_with_the_reason_last_and_writes_everything(run, table, tmp_path):
    report, numbers = tmp_path / "report.html", tmp_path / "numbers.json"
    asked = ["R2>=-5", "flips<=1%", "typical change<=0", "guaranteed largest change<1000", "coverage>=0%"]
    given = [part for text in asked for part in ("--require", text)]
    result = run("measure", table, "--target", "cost", *QUICK, *given, "--output", report, "--json", numbers)
    assert result.exit_code == 3, result.output
    lines = result.stdout.strip().split("\n")[-len(asked) :]
    assert [line.split(",")[0] for line in lines] == [
        "Holds: R2>=-5", "Holds: coverage>=0%", "Required flips<=1%", "Required typical change<=0",
        "Required guaranteed largest change<1000",
    ]  # fmt: skip
    written = json.loads(numbers.read_text())
    assert [each["requirement"] for each in written["requirements"]] == asked
    assert [each["passed"] for each in written["requirements"]] == [True, False, False, False, True]
    for each in written["requirements"]:
        assert each["sentence"] in lines
        if each["value"] is not None:
            fact = written["facts"][each["name"]]
            assert each["value"] == fact[each["column"]]
            assert each["unit"] == fact["unit"]
    assert {fact["kind"] for fact in written["facts"].values()} == {"proved", "measured", "estimated"}
    assert "Required typical change&lt;=0, but it is" in report.read_text()
    held = run("measure", table, "--target", "cost", *QUICK, "--require", "R2>=-5")
    assert held.exit_code == 0, held.output


@pytest.mark.slow
def test_measure_gates_decisions_and_groups(run, clinic, tmp_path):
    numbers = tmp_path / "numbers.json"
    result = run("measure", clinic, "--target", "ill", "--group", "patient_id", *QUICK, "--require", "flips<=100%",
                 "--require", "flips<=1000", "--require", "accuracy<0%", "--json", numbers)  # fmt: skip
    assert result.exit_code == 3, result.output
    assert "Holds as far as checked: flips<=100%, with at least " in words(result)
    assert " of 24 groups were left out in turn)" in words(result)
    share, count, _ = json.loads(numbers.read_text())["requirements"]
    assert (share["unit"], count["unit"]) == ("share", "count")
    facts = json.loads(numbers.read_text())["facts"]
    assert (share["value"], count["value"]) == (facts["flips"]["bagged"], facts["flips"]["decisions"])


@pytest.mark.slow
def test_requirements_of_a_table_on_disk_fail_where_nothing_was_measured(run, tmp_path):
    parquet_files.one_file(tmp_path, parquet_files.rows(400))
    few = (
        "--n-bags",
        8,
        "--bag-size",
        20,
        "--points",
        4,
        "--jobs",
        1,
        "--drop",
        "name,patient",
        "--max-memory",
        "35KB",
    )
    result = run("measure", tmp_path / "all.parquet", "--target", "y", *few, "--require", "typical change<=1000",
                 "--require", "typical change with infinitely many bags<=1000", "--require", "R2.base<=1")  # fmt: skip
    assert result.exit_code == 3, result.output
    assert "Holds: typical change with infinitely many bags<=1000" in words(result)
    assert "Required typical change<=1000, but this was not measured: it takes refits of the bagged model" in words(
        result
    )
    assert "Required R2.base<=1, but this was not measured for the base model." in words(result)


@pytest.mark.slow
def test_at_least_is_not_said_if_every_row_was_left_out(run, tmp_path, table):
    pd.read_csv(table)[:40].to_csv(tmp_path / "few.csv", index=False)
    result = run("measure", tmp_path / "few.csv", "--target", "ill", "--n-bags", 20, "--refits", 32, "--matched", 32,
                 "--points", 4, "--jobs", 1, "--require", "flips<=100%", "--require", "largest change<=2")  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "Holds: flips<=100%, with " in words(result)
    assert "Holds: largest change<=2, with " in words(result)
    assert "as far as checked" not in words(result)
