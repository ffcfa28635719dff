"""An upgrade does not change anybody's bags, predictions and certificates, unless the changelog says so."""

import importlib.util
import json
from pathlib import Path

import pytest

pytestmark = pytest.mark.kernels

HERE = Path(__file__).parent
SPEC = importlib.util.spec_from_file_location("golden_models", HERE / "models.py")
golden = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(golden)
KEPT = json.loads(golden.FILE.read_text())
WHAT_TO_DO = (
    "differ from tests/golden/numbers.json, so users will get other {kind} from the same seed after an upgrade. If "
    "this was not intended, fix the change. If it was, describe it in CHANGELOG.md, under Changed, and update the "
    "file: make golden"
)


@pytest.fixture(scope="module")
def now():
    return golden.made_now()


@pytest.mark.parametrize("kind", ["bags", "predictions"])
@pytest.mark.parametrize("name", KEPT["exact"])
def test_the_same_seed_gives_the_same_bags_and_predictions(now, name, kind):
    assert now["exact"][name][kind] == KEPT["exact"][name][kind], (
        f"The {kind} of '{name}' {WHAT_TO_DO.format(kind=kind)}"
    )


@pytest.mark.parametrize("name", KEPT["close"])
def test_the_same_seed_gives_the_same_certificates(now, name):
    found, kept = (list(map(float.fromhex, values["close"][name])) for values in (now, KEPT))
    # Roots and logarithms may differ in the last digit between machines.
    assert found == pytest.approx(kept, rel=1e-12), f"The numbers of '{name}' {WHAT_TO_DO.format(kind='numbers')}"


def test_file_lists_every_number(now):
    assert {kind: list(what) for kind, what in now.items()} == {kind: list(what) for kind, what in KEPT.items()}


def test_numbers_depend_on_the_seed():
    model = golden.regressor(golden.SCHEMES["subbagging"]).set_params(random_state=golden.SEED + 1)
    assert golden.exact(model.fit(golden.X, golden.Y)) != KEPT["exact"]["regressor, subbagging"]
