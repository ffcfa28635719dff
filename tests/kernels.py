"""Run the tests marked `kernels` with each of OpenBLAS's kernels that this processor can run; part of `make proofs`.

A matrix product has other last digits on other processors, because OpenBLAS has kernels for each kind, and one machine
can try most of them. Which were run and which were skipped is printed. Arguments are passed on to pytest.
"""

import os
import platform
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
X86 = ["SkylakeX", "Haswell", "Sandybridge", "Nehalem"]
ARM = ["NeoverseV1", "NeoverseN1", "ARMV8"]
AT_ONCE = 2
# Which kernels are in use, after products and decompositions that a processor without their instructions cannot do.
TRIAL = """
import numpy as np, scipy.linalg, threadpoolctl
for n in (1, 7, 300):
    A = np.random.default_rng(0).normal(size=(n, n)) + n * np.eye(n)
    scipy.linalg.svd(A @ A.T), scipy.linalg.cholesky(A @ A.T), np.linalg.eigvalsh(A.T @ A), A @ A[0], A[0] @ A[0]
blas = [pool for pool in threadpoolctl.threadpool_info() if pool["internal_api"] == "openblas"]
print(*{pool["architecture"] for pool in blas})
"""


def environment(kernel):
    """Return the environment in which OpenBLAS uses a kernel, and one thread, because several kernels run at once."""
    return {**os.environ, "OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": "1"}


def why_skipped(kernel):
    """Return why a kernel cannot be run here; nothing if it can."""
    trial = subprocess.run([sys.executable, "-c", TRIAL], env=environment(kernel), capture_output=True, text=True)
    if trial.returncode:
        return "this processor cannot run it"
    used = trial.stdout.split()
    if not used:
        return "numpy and scipy do not use OpenBLAS here"
    return "" if [name.lower() for name in used] == [kernel.lower()] else f"OpenBLAS takes {' and '.join(used)} for it"


def main(arguments):
    """Run the tests, and return whether any failed."""
    marked = sorted(str(path) for path in HERE.rglob("test_*.py") if "mark.kernels" in path.read_text(encoding="utf-8"))
    kernels = ARM if platform.machine().lower() in ("arm64", "aarch64") else X86
    skipped = {kernel: why for kernel in kernels if (why := why_skipped(kernel))}
    usable = [kernel for kernel in kernels if kernel not in skipped]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "kernels and not slow",
        "-p",
        "no:cacheprovider",
        *marked,
        *arguments,
    ]
    waiting, running, failed = list(usable), {}, []
    while waiting or running:
        while waiting and len(running) < AT_ONCE:
            run = subprocess.Popen(
                command, env=environment(waiting[0]), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
            running[waiting.pop(0)] = run, time.monotonic()
        kernel, (run, start) = next(iter(running.items()))
        said, _ = run.communicate()
        del running[kernel]
        print(f"{kernel}: {said.strip().splitlines()[-1]} ({time.monotonic() - start:.0f} s)", flush=True)
        if run.returncode:
            failed.append(kernel)
            print(said)
    for kernel, why in skipped.items():
        print(f"{kernel}: skipped, because {why}.")
    print(f"Run: {', '.join(usable) or 'none'}. Failed: {', '.join(failed) or 'none'}.")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
