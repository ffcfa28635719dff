"""Check that an installed stablebag works; `make release` runs it in an empty environment outside the checkout.

`python smoke.py VERSION` needs only the package itself. Commands that need an extra must say which one. A second
argument, `compiled` or `pure`, is what the package must be: with its C library, or without.
"""

import importlib.metadata
import subprocess
import sys
import sysconfig
from pathlib import Path

import stablebag
from stablebag.fast.native.library import library


def main(version, expected=None):
    """Import, fit, certify and measure, call the command line, and check the installed files."""
    here, site = Path(stablebag.__file__).resolve(), Path(sysconfig.get_path("purelib")).resolve()
    assert site in here.parents, f"{here} is not what was installed"
    assert stablebag.__version__ == importlib.metadata.version("stablebag") == version
    for name in stablebag.__all__:
        if not name.endswith("Display"):  # those need matplotlib
            assert getattr(stablebag, name) is not None
    X, y = [[i, i % 3] for i in range(20)], [float(i % 7) for i in range(20)]
    model = stablebag.BaggedRegressor(n_bags=50, random_state=0).fit(X, y)
    measured, proved = stablebag.leave_one_out(model, X), stablebag.certify(model, reused=True)
    assert measured.epsilon(0.1).max() <= proved.epsilon(0.1)
    assert "every" in str(stablebag.certify(model))
    result = subprocess.run(
        [sys.executable, "-m", "stablebag", "--version"], capture_output=True, text=True, check=False
    )
    assert version in result.stdout or "stablebag[cli]" in result.stderr, result
    files = [str(file) for file in importlib.metadata.files("stablebag") or ()]
    assert "stablebag/py.typed" in files
    assert any(file.endswith("licenses/LICENSE") for file in files)
    assert not any(file.startswith(("tests", "docs")) or file.endswith(".c") for file in files)
    trees = "compiled" if library() is not None else "pure"
    assert expected in (None, trees), f"this is the {trees} package, and not the {expected} one"
    print(f"stablebag {version} ({trees}) works on Python {sys.version.split()[0]}.")


if __name__ == "__main__":
    main(*sys.argv[1:])
