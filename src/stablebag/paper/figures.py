"""The paper's three figures, laid out as in the paper."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stablebag._writing import whole
from stablebag.paper.experiments import Result
from stablebag.proving.certificate import Certificate
from stablebag.resampling.schemes import Subbagging
from stablebag.showing.displays.display import as_steps
from stablebag.showing.displays.phase_diagram import PhaseDiagramDisplay

FORMATS = ("png", "svg", "pdf")
_BASE, _BAGGED = {"color": "tab:red"}, {"color": "tab:blue"}


def figure_1(result: Result) -> Any:
    """Draw histograms of the leave-one-out changes of a learner and of its subbagged version (Setting 1)."""
    figure, ax = _subplots(1, 1, figsize=(6, 3.6))
    _histogram(ax, result)
    ax.legend()
    return figure


def figure_2(n_samples: int = 500, bag_size: int = 250) -> Any:
    """Draw the phase diagram: what Theorem 8 guarantees, what Theorem 10 excludes, and the exact frontier."""
    figure, ax = _subplots(1, 1, figsize=(6, 4.4))
    certificate = Certificate(Subbagging(bag_size), n_samples)
    display = PhaseDiagramDisplay.compute(certificate, bound="paper")
    # The paper has epsilon on the horizontal axis.
    epsilon_max = 0.2
    delta = display.delta
    ax.fill_betweenx(delta, display.guaranteed, epsilon_max, alpha=0.25, label="guaranteed (Theorem 8)", **_BAGGED)
    ax.plot(display.guaranteed, delta, **_BAGGED)
    style = {"facecolor": "none", "edgecolor": "tab:red", "hatch": "///", "linewidth": 0, "alpha": 0.6}
    ax.fill_betweenx(delta, 0, display.impossible, label="impossible (Theorem 10)", **style)
    ax.plot(display.impossible, delta, "--", **_BASE)
    ax.plot(display.exact, delta, ":", color="black", label="the exact frontier")
    ax.set(xlabel="$\\varepsilon$", ylabel="$\\delta$", xlim=(0, epsilon_max), ylim=(0, 0.5))
    ax.set_title(str(certificate.scheme))
    ax.legend()
    return figure


def figure_3(results: Sequence[Result]) -> Any:
    """Draw histograms and stability curves with the guarantee, one row of panels per setting."""
    figure, axes = _subplots(len(results), 2, figsize=(10, 2.9 * len(results)), squeeze=False)
    for (left, right), result in zip(axes, results, strict=True):
        _histogram(left, result)
        left.set_title(f"Setting {result.setting.number}: {result.setting.title}", fontsize="medium")
        _curves(right, result)
    axes[0, 0].legend()
    axes[0, 1].legend(fontsize="small")
    return figure


def save(figure: Any, folder: str | Path, name: str) -> list[Path]:
    """Write a figure in all formats to a folder, which is created if needed; `name` comes without an ending."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{ending}" for ending in FORMATS]
    for path in paths:
        with whole(path) as partial:
            figure.savefig(partial, dpi=150)
    return paths


def _subplots(*shape: int, **options: Any) -> Any:
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("Figures need matplotlib. Install it with: pip install 'stablebag[plot]'.") from error
    del mpl
    squeeze = options.pop("squeeze", True)
    figure = Figure(layout="constrained", **options)  # unlike pyplot, needs no display and no closing
    return figure, figure.subplots(*shape, squeeze=squeeze)


def _at_the_point(result: Result) -> tuple[np.ndarray, np.ndarray]:
    unit = result.scale[0]
    return result.base.values[:, 0] / unit, result.bagged.values[:, 0] / unit


def _histogram(ax: Any, result: Result) -> None:
    base, bagged = _at_the_point(result)
    bins = np.linspace(0, float(max(base.max(), bagged.max())) or 1.0, 41)
    ax.hist(base, bins, alpha=0.6, hatch="///", edgecolor="white", label="base learner", **_BASE)
    ax.hist(bagged, bins, alpha=0.6, label=f"subbagged, {result.n_bags:,} bags", **_BAGGED)
    divided = "" if result.setting.classifies else " / Range(D, x), estimated"
    ax.set(xlabel=f"leave-one-out perturbation{divided}", ylabel="rows")
    ax.set_yscale("symlog", linthresh=10)


def _curves(ax: Any, result: Result) -> None:
    n, (base, bagged) = result.setting.n_samples, _at_the_point(result)
    right = max(0.2, 1.05 * float(np.sort(base)[-max(1, n // 100)]))
    shares = np.arange(n, 0, -1) / n
    for values, style, dash, name in ((base, _BASE, "--", "base learner"), (bagged, _BAGGED, "-", "subbagged")):
        # k rows exceed an epsilon just below the k-th largest value; none exceed one above the largest.
        ordered = np.sort(values)
        ax.step(np.append(ordered, right), np.append(shares, 0.0), dash, where="pre", label=name, **style)
    rows = np.unique(np.geomspace(1, n - 1, 150).astype(int))
    limit = result.certificate(np.inf)
    ax.plot([limit.epsilon(k / n, "paper") for k in rows], rows / n, ":", color="black", label="Theorem 8, all bags")
    if result.proved is not None:
        of_these = np.array([result.proved.epsilon(k / n)[0] / result.scale[0] for k in rows])
        ax.plot(*as_steps(of_these, rows / n), "-.", color="gray", label="proved for these bags, subbagged")
    divided = "" if result.setting.classifies else " / Range(D, x), estimated"
    ax.set(xlabel=f"$\\varepsilon${divided}", ylabel="$\\delta$", xlim=(0, right), ylim=(0, 1.02))
