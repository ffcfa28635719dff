from dataclasses import dataclass, replace

import numpy as np
import pytest

from stablebag.measuring.suspects import InfluentialRow, Suspects, UnusualRow
from stablebag.showing.report.page import Colophon, Contents, Values
from stablebag.showing.study import Study


def contents_of(result, rows=None, data=None, target="price_eur"):
    return Contents(result, Colophon.of(result, target=target), Values.of(result, rows), data)


def texts(table):
    return [[cell.text for cell in line] for line in table.lines]


def test_moves_scores_and_proofs_are_those_of_the_study(diabetes):
    result, _ = diabetes
    contents = contents_of(result)
    assert contents.section("changes").lines[0][2].value == result.facts()["typical change"]["bagged"]
    assert result.compared.where() in contents.section("changes").caption
    assert [line[3].value for line in contents.section("scores").lines][:3] == [
        score.constant for score in result.scores
    ]
    assert "lower is better" in contents.section("scores").lines[0][0].text
    lines, facts = contents.section("guarantees").lines, result.facts().section("guarantees").facts
    for line, fact in zip(lines, facts, strict=True):
        shown = line[2].text.replace(",", "")
        assert shown == "" if np.isnan(fact["proved"]) else float(shown) >= fact["proved"]
    assert lines[0][4].text == f"{facts[0]['bags']:,}"


def test_what_is_below_the_noise_is_never_written_as_zero(diabetes):
    result, _ = diabetes
    still = replace(result.compared.bagged, left_out=np.tile(result.compared.bagged.prediction, (15, 1)))
    about = {"bagged": still, "refitted": None, "weights": None}
    quiet = replace(result, compared=replace(result.compared, spread=None, **about))
    assert contents_of(quiet).section("changes").lines[0][2].text.startswith("below the noise (")


def test_suspicious_rows_stand_beside_their_noise_with_the_targets_own_name(diabetes):
    result, X = diabetes
    far = (UnusualRow(4, 4, -1234567.0, 1000.0, 1234.6), UnusualRow(7, 7, 9999.0, 1000.0, 10.0))
    moving = (InfluentialRow(9, 9, 2.5, 0.5, 0.001),)
    found = replace(result, suspects=Suspects(moving, far, 0.5, 1000.0))
    contents = contents_of(found, X[:200])
    table = contents.rows("worth a look", 3)
    assert table.head[:5] == ("row", "off by", "usual size", "times the usual size", "price_eur")
    assert texts(table)[0][:4] == ["4", "-1,234,567", "1,000", "1,235"]
    assert table.lines[0][1].value == 1234567.0  # sorted by size, whatever its sign
    assert (table.sorted_by, table.ascending) == (3, False)
    assert table.caption.startswith("2 training rows to look at")
    assert texts(contents.rows("moving the predictions"))[0][:3] == ["9", "2.5", "0.5"]
    none = replace(result, suspects=Suspects((), (), 0.5, 1000.0))
    assert contents_of(none).rows("worth a look") is None
    assert contents_of(none).rows("moving the predictions") is None
    assert contents_of(none).noise == 0.5


def test_rows_whose_class_is_unlikely_come_first(cancer):
    far = (UnusualRow(4, 4, 0.001, 0.99, 19.0), UnusualRow(7, 7, 0.02, 0.9, 8.0))
    table = contents_of(replace(cancer, suspects=Suspects((), far, 0.5, np.nan))).rows("worth a look", 3)
    assert table.head[1:4] == ("probability of its class", "usual in its class", "distance")
    assert (table.sorted_by, table.ascending) == (3, False)


def test_where_nothing_was_tested_rows_that_move_most_are_named_without_a_claim(diabetes):
    result, _ = diabetes
    alone = contents_of(Study.of(result.bagged, result.proved))
    most = alone.rows("most influential")
    assert [line[1].value for line in most.lines] == result.ranked(15)[1].tolist()
    assert "move the predictions most" in most.caption
    assert "beyond" not in most.caption
    assert alone.rows("worth a look") is None
    quiet = replace(result.bagged, left_out=np.tile(result.bagged.prediction, (200, 1)))
    assert contents_of(Study.of(quiet, result.proved)).rows("most influential") is None


def test_rows_that_flip_decisions_are_counted(cancer):
    table, (names, counts) = contents_of(cancer).rows("flips"), cancer.decisions.most_flips(15)
    if table is None:
        pytest.skip("no decision of this study hinges on one row")
    assert [line[1].value for line in table.lines] == counts.tolist()
    assert [line[0].text for line in table.lines] == [str(name) for name in names]


@dataclass
class Column:
    name: str = "\x00evil"
    kind: str = "number"
    missing: float = 0.25
    n_values: int = 1200
    example: str = "1 to 7"
    remark: str = ""


class Read:
    n_sampled = None
    name, n_rows = "a.csv", 12345

    def shown(self, most):
        return (Column(), Column("b", "dropped", 0.0, 1, "", "the same as a"))

    def rest(self, most):
        return f"more than {most}"


def test_columns_are_shown_as_they_were_read(diabetes):
    contents = contents_of(diabetes[0], data=Read())
    assert contents.columns.caption == "a.csv: 12,345 rows with a target"
    assert texts(contents.columns) == [
        ["\\x00evil", "number", "25%", "1,200", "1 to 7", ""],
        ["b", "dropped", "", "1", "", "the same as a"],
    ]
    assert contents.rest == "more than 40"
    assert contents_of(diabetes[0]).columns is None
