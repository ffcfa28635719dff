"""Run the tests marked `kernels` with each OpenBLAS kernel that this processor supports; part of `make proofs`.

The last digits of matrix products depend on the processor, because OpenBLAS has different kernels. One machine can try
most of them. The script prints which kernels were run and which were skipped, and passes its arguments to pytest.
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
# Prints the kernels in use, after operations that fail on a processor without the required instructions.
TRIAL = """
import numpy as np, scipy.linalg, threadpoolctl
for n in (1, 7, 300):
    A = np.random.default_rng(0).normal(size=(n, n)) + n * np.eye(n)
    scipy.linalg.svd(A @ A.T), scipy.linalg.cholesky(A @ A.T), np.linalg.eigvalsh(A.T @ A), A @ A[0], A[0] @ A[0]
blas = [pool for pool in threadpoolctl.threadpool_info() if pool["internal_api"] == "openblas"]
print(*{pool["architecture"] for pool in blas})
"""


def environment(kernel):
    """Return the environment for one kernel, with a single thread because several kernels run at the same time."""
    return {**os.environ, "OPENBLAS_CORETYPE": kernel, "OPENBLAS_NUM_THREADS": "1"}


def why_skipped(kernel):
    """Return why a kernel cannot be run here, or an empty string."""
    trial = subprocess.run([sys.executable, "-c", TRIAL], env=environment(kernel), capture_output=True, text=True)
    if trial.returncode:
        return "this processor does not support it"
    used = trial.stdout.split()
    if not used:
        return "numpy and scipy do not use OpenBLAS here"
    return "" if [name.lower() for name in used] == [kernel.lower()] else f"OpenBLAS uses {' and '.join(used)} instead"


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
        output, _ = run.communicate()
        del running[kernel]
        print(f"{kernel}: {output.strip().splitlines()[-1]} ({time.monotonic() - start:.0f} s)", flush=True)
        if run.returncode:
            failed.append(kernel)
            print(output)
    for kernel, why in skipped.items():
        print(f"{kernel}: skipped, because {why}.")
    print(f"Run: {', '.join(usable) or 'none'}. Failed: {', '.join(failed) or 'none'}.")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
