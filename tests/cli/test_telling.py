import numpy as np
import pytest
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag._wording import ROWS, Noun, number
from stablebag.cli.telling import called, suspicious, tell
from stablebag.showing.study import study


@pytest.fixture(scope="module")
def numbers():
    X, y = load_diabetes(return_X_y=True)
    y[7] = 1500.0
    options = {"n_bags": 100, "n_refits": 10, "n_points": 5}
    return study(DecisionTreeRegressor(max_depth=4), X[:200], y[:200], X[200:260], y[200:260], **options)


@pytest.fixture(scope="module")
def classes():
    X, y = load_breast_cancer(return_X_y=True)
    options = {"n_bags": 40, "n_refits": 5, "n_points": 5}
    return study(DecisionTreeClassifier(max_depth=2), X[:150], y[:150], X[150:200], y[150:200], **options)


def told(result, **options):
    console = Console(width=80, record=True, file=None)
    with console.capture() as captured:
        tell(console, result, **options)
    return captured.get()


def test_the_verdict_comes_first_and_notes_last_within_80_columns(numbers, classes):
    for result in (numbers, classes):
        text = told(result, notes=["A note."])
        words = " ".join(text.split())
        assert words.startswith(str(result.verdict()).strip())
        assert words.endswith("A note.")
        assert max(map(len, text.splitlines())) <= 80
        for name in ("base model", "bagged", "constant", "measured", "proved", "price"):
            assert name in words


@pytest.mark.filterwarnings("ignore:The intervals are infinite")
def test_infinite_intervals_are_called_so_and_do_not_cover_100_percent(numbers):
    X, y = load_diabetes(return_X_y=True)
    few = study(DecisionTreeRegressor(), X[:6], y[:6], X[6:8], y[6:8], n_bags=20, n_refits=2, n_points=2)
    (row,) = [line for line in told(few).splitlines() if "covered by 90 % intervals" in line]
    assert "infinite" in row
    assert "%" not in row.replace("90 %", "")
    assert "infinite " not in told(numbers)


def test_remarks_follow_the_verdict():
    rng = np.random.default_rng(0)
    X, y, Z, z = rng.normal(size=(80, 2)), rng.normal(size=80), rng.normal(size=(40, 2)), rng.normal(size=40)
    result = study(DecisionTreeRegressor(), X, y, Z, z, n_bags=100, n_refits=20, n_points=5)
    assert result.verdict().case == "no better than a constant"
    assert "Also: bagging stabilizes this model" in told(result)


def test_suspicious_rows_are_told_with_the_noise_beside_them(numbers):
    moving, far = suspicious(numbers)
    assert "Row 0 is the first row below the header." in told(numbers)
    first = numbers.suspects.influential[0]
    assert f"row 7 (by {number(first.change)}, noise {number(first.noise)})" in moving
    assert moving.endswith("If no row had an effect, the chance of listing any would be at most 5%.")
    times = f"{numbers.suspects.unusual[0].distance:.1f} times the usual size"
    assert f"predict, the first 5: row 7 (off by +{number(numbers.suspects.unusual[0].value)}, {times})" in far
    assert far.endswith("This is a ranking: clean data have one too.")


def test_rows_of_pure_noise_are_not_said_to_move_predictions(classes):
    assert classes.suspects.influential == ()
    moving, far = suspicious(classes)
    assert moving == (
        f"No row moves predictions at {len(classes.bagged.prediction)} test points clearly beyond bagging noise "
        f"({number(classes.suspects.noise)})."
    )
    assert far.startswith("Worth a look, 10 training rows farthest from what the other rows predict, the first 5: row ")


def test_rows_and_units_are_called_once():
    patients = Noun("patient", "patients")
    assert called(np.int64(17), ROWS) == "row 17"
    assert called("ann", patients) == "patient ann"
    assert called("Patient 7", patients) == "Patient 7"
    assert called(17.0, patients) == "patient 17"
