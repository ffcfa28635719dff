"""Write the table of docs/speed.md from the measurements of `make bench`.

`python benchmarks/how_fast.py` writes it; a test checks that the page shows the measurements.
"""

import json
from pathlib import Path

ROOT = Path(__file__).parents[1]
MEASURED = ROOT / "benchmarks" / "measured.json"
BEGIN, END = "<!-- made by benchmarks/how_fast.py -->", "<!-- until here -->"


TITLES = ("fit", "fit and predict", "predict", "intervals", "out of bag", "the paper", "memory")
PEER = "scikit-learn's Bagging"
PEERS = {"bare loop": "a bare loop of fits", PEER: "scikit-learn's `Bagging*`"}
KINDS = {"trees": ["tree"], "linear models": ["logistic", "ridge"], "nearest neighbours": ["neighbours"]}


def table(measured):
    """Return the measurements: a sentence on how much faster, then tables by peer, of other cases, and of memory."""
    lines = _lines(measured["ratios"])
    body = [
        f"| {title}: {case} | " + " | ".join(_times(found.get(peer)) for peer in PEERS) + " |"
        for (title, case), found in lines.items()
        if found.keys() & PEERS.keys()
    ]
    of = measured["versions"]
    how = f"scikit-learn {of['scikit-learn']}, numpy {of['numpy']}, Python {of['Python']}, {of['machine']}"
    return "\n".join([
        *_sentence(lines), "",
        "| how many times faster than | " + " | ".join(PEERS.values()) + " |", "|---|" + "---|" * len(PEERS), *body, "",
        f"This is CPU time of one thread ({how}). Ours fits all of these bags; the loop and `Bagging*`",
        "fit a tenth of them, and their times count ten times.",
        *_others(lines, "| | times faster | than |"),
        *_others(lines, "| the memory of trees | scikit-learn's, times ours |"),
    ])  # fmt: skip


def _sentence(lines):
    """The smallest and the largest ratio for each kind of learner, compared with scikit-learn's Bagging."""
    found = {kind: [] for kind in KINDS}
    for (title, case), by_peer in lines.items():
        for kind, words in KINDS.items():
            if title.startswith("fit") and any(word in case for word in words) and PEER in by_peer:
                found[kind].append(by_peer[PEER])
    told = [f"{kind} {_times(min(some))} to {_times(max(some))}" for kind, some in found.items() if some]
    return [f"Fits are this many times faster than {PEERS[PEER]}: {', '.join(told)}."] if told else []


def _lines(rows):
    """The ratios by title and case, then by peer."""
    lines = {}
    for row in rows:
        if row["title"] in TITLES and " / ours" in row["what"]:
            case, peer = row["what"].rsplit(": ", 1)
            lines.setdefault((row["title"], case), {})[peer.replace(" / ours", "", 1)] = row["ratio"]
    return lines


def _others(lines, head):
    """The cases that are not in the first table, as a table under this head: about memory or about time."""
    memory = "memory" in head
    found = [
        f"| {case} | {_times(ratio)} |" if memory else f"| {title}: {case} | {_times(ratio)} | {_short(peer)} |"
        for (title, case), by_peer in lines.items()
        for peer, ratio in by_peer.items()
        if peer not in PEERS and (title == "memory") == memory
    ]
    return ["", head, "|---" * (head.count("|") - 1) + "|", *found] if found else []


def _short(peer):
    """The name of a peer without comments, formatted as code if it is code."""
    name = peer.split(", which")[0]
    return f"`{name}`" if "=" in name else name


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
