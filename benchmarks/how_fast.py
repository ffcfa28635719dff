"""Makes the section of docs/speed.md that says how fast it is, from what `make bench` measured.

`python benchmarks/how_fast.py` writes it; a test checks that the page has what was measured.
"""

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "benchmarks" / "measured.json"
BEGIN, END = "<!-- made by benchmarks/how_fast.py -->", "<!-- until here -->"


TITLES = ("fit", "fit and predict", "predict", "intervals", "the paper", "memory")
PEERS = {"bare loop": "a bare loop of fits", "scikit-learn's Bagging": "scikit-learn's `Bagging*`"}


def table(measured):
    """Return what was measured as a table in Markdown, one line per case and one column per peer, and as a list."""
    lines = _lines(measured["ratios"])
    body = [
        f"| {title}: {case} | " + " | ".join(_times(found.get(peer)) for peer in PEERS) + " |"
        for (title, case), found in lines.items()
        if found.keys() & PEERS.keys()
    ]
    of = measured["versions"]
    how = f"scikit-learn {of['scikit-learn']}, numpy {of['numpy']}, Python {of['Python']}, {of['machine']}"
    return "\n".join([
        f"Times faster than ({how}; CPU time of one thread):", "",
        "| | " + " | ".join(PEERS.values()) + " |", "|---|" + "---|" * len(PEERS), *body, "",
        "Ours fits all of these bags; the loop and `Bagging*` fit a tenth of them, and their times count ten times.",
        *_others(lines, "Times faster than others, by their names:", memory=False),
        *_others(lines, "Memory of scikit-learn's trees, times ours:", memory=True),
    ])  # fmt: skip


def _lines(rows):
    """The ratios by title and case, and then by peer."""
    lines = {}
    for row in rows:
        if row["title"] in TITLES and " / ours" in row["what"]:
            case, peer = row["what"].rsplit(": ", 1)
            lines.setdefault((row["title"], case), {})[peer.replace(" / ours", "", 1)] = row["ratio"]
    return lines


def _others(lines, sentence, *, memory):
    """What is not in the table, as a list under a sentence: about memory, or about time."""
    found = [
        f"- {case}: {_times(ratio)}" if memory else f"- {title}, {case}: {_times(ratio)} ({peer})"
        for (title, case), by_peer in lines.items()
        for peer, ratio in by_peer.items()
        if peer not in PEERS and (title == "memory") == memory
    ]
    return ["", sentence, "", *found] if found else []


def _times(ratio):
    return "" if ratio is None else f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


def section():
    return f"{BEGIN}\n{table(json.loads(MEASURED.read_text()))}\n{END}"


def main():
    page = ROOT / "docs" / "speed.md"
    text = page.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    page.write_text(before + section() + after)


if __name__ == "__main__":
    main()
