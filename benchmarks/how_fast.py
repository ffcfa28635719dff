"""Makes the section of the README that says how fast it is, from what `make bench` measured.

`python benchmarks/how_fast.py` writes it; a test checks that the README has what was measured.
"""

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "benchmarks" / "measured.json"
BEGIN, END = "<!-- made by benchmarks/how_fast.py -->", "<!-- until here -->"


def table(measured):
    """Return what was measured as a table in Markdown: one line per case, one column per peer."""
    lines = {}
    for row in measured["ratios"]:
        if row["title"] not in _TITLES or " / ours" not in row["what"]:
            continue
        case, peer = row["what"].rsplit(": ", 1)
        lines.setdefault((row["title"], case), {})[peer.replace(" / ours", "", 1)] = row["ratio"]
    peers = {"bare loop": "a bare loop of fits", "scikit-learn's Bagging": "scikit-learn's `Bagging*`"}
    head = ["| | " + " | ".join(peers.values()) + " |", "|---|" + "---|" * len(peers)]
    body = [
        f"| {title}: {case} | " + " | ".join(_times(found.get(peer)) for peer in peers) + " |"
        for (title, case), found in lines.items()
        if found.keys() & peers.keys()
    ]
    others = [
        f"- {title}, {case}: {_times(ratio)} {peer}"
        for (title, case), found in lines.items()
        for peer, ratio in found.items()
        if peer not in peers
    ]
    of = measured["versions"]
    how = f"scikit-learn {of['scikit-learn']}, numpy {of['numpy']}, Python {of['Python']}, {of['machine']}"
    return "\n".join([f"Times faster than ({how}; CPU time of one thread):", "", *head, *body, "", *others])


_TITLES = ("fit", "fit and predict", "predict", "intervals", "the paper", "memory")


def _times(ratio):
    return "" if ratio is None else f"{ratio:.1f}" if ratio < 10 else f"{ratio:.0f}"


def section():
    return f"{BEGIN}\n{table(json.loads(MEASURED.read_text()))}\n{END}"


def main():
    readme = ROOT / "README.md"
    text = readme.read_text()
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    readme.write_text(before + section() + after)


if __name__ == "__main__":
    main()
