import pytest

_RATIOS = []


@pytest.fixture
def ratios():
    """Keep a ratio for the table at the end: (title, what, ratio, target or None)."""
    return lambda *row: _RATIOS.append(row)


def pytest_terminal_summary(terminalreporter):
    if not _RATIOS:
        return
    terminalreporter.section("ratios measured in this run")
    title = None
    for of, what, ratio, target in _RATIOS:
        if of != title:
            terminalreporter.write_line(title := of)
        wish = "" if target is None else f"  (target {target:.2f}{'' if ratio >= target else ', missed'})"
        terminalreporter.write_line(f"    {what:<48} {ratio:6.2f}{wish}")
