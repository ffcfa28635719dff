import numpy as np
import pandas as pd
import pytest

from stablebag.tables.text import date_formats, date_parts, parsed_dates, said_of


@pytest.mark.parametrize(("texts", "form", "said"), [
    (["13/02/2020", "02/03/2020", "05/06/2020"], "%d/%m/%Y", "day/month/year"),
    (["02/03/2020", "05/16/2020"], "%m/%d/%Y", "month/day/year"),
    (["2020-01-01", "2020-01-02 10:00"], "ISO8601", ""), (["3.2.2020", "14.12.2021"], "%d.%m.%Y", "day.month.year"),
    (["14.12.21 10:30"], "%d.%m.%y %H:%M", "day.month.year"),
])  # fmt: skip
def test_the_last_format_is_one_of_all(texts, form, said):
    *_, (last, found) = date_formats(texts)
    assert last == form
    assert found.all()
    assert said_of(form) == said


def test_texts_that_are_no_dates_have_no_formats():
    for texts in (["Rome", "Oslo"], [], ["1.5", "2.5"], ["v1.2.3 is out", "no"]):
        assert list(date_formats(texts)) == []


def test_a_date_means_the_same_in_every_bag_and_call():
    texts = pd.Series(["13/02/2020", "02/03/2020", "05/06/2020"])
    together = parsed_dates(texts, "%d/%m/%Y")
    one_by_one = [parsed_dates(texts[[row]], "%d/%m/%Y").iloc[0] for row in range(3)]
    assert together.tolist() == one_by_one
    assert together[1] == pd.Timestamp("2020-03-02")


def test_parts_of_dates_are_days_and_places_in_year_and_week():
    dates = parsed_dates(pd.Series(["2000-01-02", "2001-01-01", None]), "ISO8601")
    parts = date_parts(pd.DataFrame({"when": dates}))
    assert parts[:2, 0].tolist() == [1, 366]
    np.testing.assert_allclose(parts[0, 1:3], [np.sin(4 * np.pi / 365.25), np.cos(4 * np.pi / 365.25)])
    assert parts[:2, 3].tolist() == [6, 0]  # a Sunday and a Monday
    assert np.isnan(parts[2]).all()
