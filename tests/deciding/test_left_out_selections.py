import numpy as np

from stablebag._wording import Noun
from stablebag.deciding import LeftOutSelections
from stablebag.measuring.perturbations import Names

MEASURED = LeftOutSelections(
    np.array([True, False, True]),
    np.array([True, True, False]),
    np.array([0.1, 0.2, 0.3]),
    Names(np.array(["ann", "bob", "eve"])),
    Noun("patient", "patients"),
)


def test_rows_that_change_the_winner_are_called_by_their_names():
    assert MEASURED.rows_that_change_the_winner().tolist() == ["ann", "eve"]
    assert MEASURED.to_frame().loc["eve"].tolist() == [True, False, 0.3]
    assert len(MEASURED) == 3


def test_sentences_are_about_what_is_left_out():
    assert "without 2 of the 3 patients (ann, eve) another choice has most" in str(MEASURED)
    assert "without 1 the selected choices have" in " ".join(str(MEASURED).split())


def test_shares_are_of_all_rows():
    assert (round(MEASURED.instability, 9), round(MEASURED.winner_instability, 9)) == (0.333333333, 0.666666667)
