import math

import pytest

from stablebag.tables.text import parsed, spelling


@pytest.mark.parametrize(("text", "sign", "point", "comma"), [
    ("12", "", 12, 12), ("-3", "", -3, -3), ("\u22123", "", -3, -3), ("1e5", "", 1e5, 1e5), (".5", "", 0.5, None),
    ("1.", "", 1, None), ("0.123", "", 0.123, None), ("1.234", "", 1.234, 1234), ("1,234", "", 1234, 1.234),
    ("1,5", "", None, 1.5), ("1,234.50", "", 1234.5, None), ("1.234,50", "", None, 1234.5),
    ("1.234.567", "", None, 1234567), ("1 234,5", "", None, 1234.5), ("1'234.5", "", 1234.5, None),
    ("1,234.50 €", "€", 1234.5, None), ("€ 1.234,50", "€", None, 1234.5), ("12 %", "%", 12, 12),
    ("$-5", "$", -5, -5), ("-$5", "$", -5, -5), ("EUR 7", "EUR", 7, 7),
    ("1,23,4", "", None, None), ("n.d.", "", None, None), ("inf", "", None, None), ("1_000", "", None, None),
    ("2020-01-01", "", None, None), ("12 kg", "", None, None), ("1e999", "", None, None), ("", "", None, None),
])  # fmt: skip
def test_numbers_are_what_people_write(text, sign, point, comma):
    for texts in ([text], [text, "x"]):  # the second has no short way
        found = spelling(texts)
        assert (found.point[0], found.comma[0]) == (point is not None, comma is not None)
        assert found.sign[0] == sign
        for decimal, value in ((".", point), (",", comma)):
            number = parsed(texts, decimal)[0]
            assert math.isnan(number) if value is None else number == value


def test_codes_with_leading_zeros_are_numbers_only_if_they_must_be():
    assert not spelling(["00012", "7"]).point[0]
    assert parsed(["00012", "7", "000", "00,5"], ",").tolist() == [12, 7, 0, 0.5]


def test_lines_in_texts_do_not_count_as_texts():
    assert spelling(["1\n2", "abc"]).point.tolist() == [False, False]
