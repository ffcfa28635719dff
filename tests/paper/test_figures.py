import numpy as np
import pytest

from paper.small import small
from stablebag.paper import figures
from stablebag.paper.experiments import run

pytestmark = pytest.mark.slow


def test_figures_are_laid_out_like_the_papers(tmp_path):
    results = [run(small(number), n_bags=30) for number in (1, 4)]
    first, second, third = figures.figure_1(results[0]), figures.figure_2(60, 30), figures.figure_3(results)
    assert [len(figure.axes) for figure in (first, second, third)] == [1, 1, 4]
    assert [line.get_label() for line in second.axes[0].lines if not line.get_label().startswith("_")] == [
        "the exact frontier"
    ]
    labels = third.axes[1].get_legend_handles_labels()[1]
    assert labels == ["base learner", "subbagged", "Theorem 8, all bags", "proved for these bags, subbagged"]
    paths = figures.save(first, tmp_path / "new", "figure1")
    assert [path.suffix for path in paths] == [".png", ".svg", ".pdf"]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_the_phase_diagram_has_epsilon_on_the_horizontal_axis_as_in_the_paper():
    guaranteed, impossible, exact = figures.figure_2(60, 30).axes[0].lines
    np.testing.assert_allclose(guaranteed.get_xdata(), 1 / np.sqrt(4 * 59 * guaranteed.get_ydata()))  # Theorem 8
    assert (impossible.get_xdata() <= exact.get_xdata() + 1e-12).all()
    assert (exact.get_xdata() <= guaranteed.get_xdata()).all()


def test_curves_decrease_from_all_rows_to_none():
    result = run(small(4), n_bags=30)
    _, curves = figures.figure_3([result]).axes
    tree, bagged = curves.lines[:2]
    for line, moved in ((tree, result.base), (bagged, result.bagged)):
        np.testing.assert_allclose(line.get_xdata()[:-1], np.sort(moved.values[:, 0]) / result.scale[0])
        np.testing.assert_allclose(line.get_ydata(), np.arange(40, -1, -1) / 40)
    assert curves.get_xlabel().endswith("/ Range(D, x), estimated")
    assert figures.figure_1(result).axes[0].get_legend_handles_labels()[1] == ["base learner", "subbagged, 30 bags"]
