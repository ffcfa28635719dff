"""Print the lowest declared version of every dependency, as constraints for pip; `make lowest` uses it."""

import re
import tomllib
from pathlib import Path

# ray and Spark are tested in separate environments.
APART = ("ray", "spark", "all")


def pins():
    """Return a line such as "numpy==2.0.0" for each bound in pyproject.toml."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"].items()
    wanted = [*project["dependencies"], *(each for extra, some in extras if extra not in APART for each in some)]
    found = [re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?>=([\d.]+)", each) for each in wanted]
    assert all(found), f"not of the form name>=version: {[w for w, f in zip(wanted, found, strict=True) if not f]}"
    return sorted({f"{match[1]}=={match[2]}" for match in found if match})


if __name__ == "__main__":
    print("\n".join(pins()))
