import numpy as np

from stablebag._wording import Noun
from stablebag.deciding import LeftOutRankings
from stablebag.measuring.perturbations import Names

MEASURED = LeftOutRankings(
    np.array([True, True, False]),
    np.array([True, False, False]),
    np.array([True, True, False]),
    np.array([True, True, True]),
    np.array([0.1, 0.2, 0.3]),
    2,
    Names(np.array(["ann", "bob", "eve"])),
    Noun("patient", "patients"),
)


def test_lines_of_the_frame_are_called_by_the_names_of_what_is_left_out():
    assert MEASURED.to_frame().loc["bob"].tolist() == [True, False, True, True, 0.2]


def test_sentences_count_what_changes():
    said = " ".join(str(MEASURED).split())
    assert (
        "leaving out one of the 3 patients changes the order by the scores for 2 of them and the first 2 for 1" in said
    )
    assert "none in common for 1, and those of the first 2 fewer than 2 items for 0" in said
    assert len(MEASURED) == 3
