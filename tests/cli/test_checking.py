import pytest

from stablebag.cli.training import TableError, check_level, check_share


@pytest.mark.parametrize(("value", "meant"), [(95, "Did you mean 0.95?"), (99.5, "Did you mean 0.995?"), (1, "Got 1.")])
def test_percentages_are_asked_about(value, meant):
    with pytest.raises(TableError, match=meant):
        check_level(value, "--confidence")


def test_a_share_may_be_all_or_none_and_a_level_may_not():
    check_share(0, "--delta")
    check_share(1, "--delta")
    check_level(0.5, "--confidence")
    for value in (0, 1, -0.1, 100, float("nan")):
        with pytest.raises(TableError, match="--confidence is a level between 0 and 1"):
            check_level(value, "--confidence")
    with pytest.raises(TableError, match=r"Did you mean 0\.05"):
        check_share(5, "--delta")
