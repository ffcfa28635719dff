import json
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from stablebag import BaggedClassifier, BaggedRegressor, random_n_bags
from stablebag.cli import saving
from stablebag.cli import training as tables
from stablebag.cli.saving import SavedModel, check_can_save, save_model
from stablebag.models.fitted import Fitted
from stablebag.resampling.schemes import SCHEMES
from stablebag.tables.columns import Columns, Kind
from stablebag.tables.text import TableError
from stablebag.tables.training import Reading

pytestmark = pytest.mark.slow

skops = pytest.importorskip("skops.io")
RNG = np.random.default_rng(0)
N = 24
MIXED = pd.DataFrame(
    {
        "area": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N)),
        "town": RNG.choice(["Rome", "Oslo"], N),
        "seen": pd.date_range("2024-01-01", periods=N).astype(str),
        "said": [" ".join(RNG.choice(["a", "b", "c"], 5)) + f" {row}" for row in range(N)],
    }
)
NUMBERS = pd.DataFrame(RNG.normal(size=(N, 2)), columns=["a", "b"])
Y = RNG.normal(size=N)
FAST = {
    "forest": {"n_estimators": 2},
    "boosting": {"max_iter": 2, "min_samples_leaf": 2},
    "mlp": {"max_iter": 2, "hidden_layer_sizes": (2,)},
}


def reading(frame, task="regression", group=None):
    return Reading(Columns.of(frame), "price", Kind("number", "."), task, group)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


@pytest.fixture
def model():
    return BaggedRegressor(Columns.of(NUMBERS).pipeline(tables.MODELS["ridge"][0]), n_bags=3, random_state=0).fit(
        NUMBERS, Y
    )


CASES = [(name, task) for name, pair in tables.MODELS.items() for task, one in enumerate(pair) if one is not None]


@pytest.mark.filterwarnings("ignore")  # of learners that have not converged
@pytest.mark.parametrize(("name", "task"), CASES)
@pytest.mark.parametrize("frame", [MIXED, NUMBERS], ids=["mixed", "numbers"])
def test_models_of_the_command_line_load_without_trust(path, frame, name, task):
    learner = clone(tables.MODELS[name][task]).set_params(**FAST.get(name, {}))
    kind, y = ((BaggedRegressor, Y), (BaggedClassifier, np.where(Y > 0, "yes", "no")))[task]
    read, columns = reading(frame, tables.TASKS[task]), Columns.of(frame)
    frame = columns.read(frame)
    model = kind(columns.pipeline(learner), n_bags=2, random_state=0).fit(frame, y)
    said = save_model(path, model, read, "folder/homes.csv")
    assert said == f"Model: {path} (for stablebag predict)"
    saved = SavedModel.load(path)
    assert saved.reading == read
    assert saved.note == ""
    np.testing.assert_array_equal(saved.model.predict(frame), model.predict(frame))
    pd.testing.assert_frame_equal(Fitted(saved.model).X, frame)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_models_of_groups_and_random_numbers_of_bags_load_without_trust(path, scheme):
    groups = pd.Series(np.repeat([f"p{unit}" for unit in range(8)], 3), name="patient_id")
    n_bags = random_n_bags(scheme, 8, 16, random_state=1)
    learner = Columns.of(NUMBERS).pipeline(tables.MODELS["ridge"][0])
    model = BaggedRegressor(learner, scheme=scheme, n_bags=n_bags, random_state=0).fit(NUMBERS, Y, groups=groups)
    save_model(path, model, reading(NUMBERS, group="patient_id"), "folder/homes.csv")
    again = SavedModel.load(path).model
    assert Fitted(again).has_random_n_bags
    assert again.units_.names_of_rows.tolist() == groups.tolist()
    assert str(again.units_) == str(model.units_)


def test_saved_file_describes_itself_in_plain_text(path, model):
    save_model(path, model, reading(NUMBERS), "folder/homes.csv")
    with zipfile.ZipFile(path) as file:
        about = json.loads(file.read("stablebag.json"))
    assert (about["table"], about["n_rows"]) == ("homes.csv", 24)
    assert about["reading"] == reading(NUMBERS).to_dict()
    assert (about["reading"]["target"], about["reading"]["task"]) == ("price", "regression")
    assert set(about["versions"]) == {"stablebag", "scikit-learn", "numpy", "python"}


class Foreign(type(tables.MODELS["ridge"][0])):
    """A learner of somebody else's."""


def foreign():
    return BaggedRegressor(Foreign(), n_bags=2, random_state=0).fit(NUMBERS, Y)


def test_unknown_types_are_named_and_need_trust(path):
    save_model(
        path, BaggedRegressor(Foreign(), n_bags=2, random_state=0).fit(NUMBERS, Y), reading(NUMBERS), "folder/homes.csv"
    )
    name = f"{Foreign.__module__}.Foreign"
    with pytest.raises(TableError, match=rf"contains a type {name}, which .* If you trust .* --trust {name}"):
        SavedModel.load(path)
    assert isinstance(SavedModel.load(path, [name]).model.estimator, Foreign)


def test_untrusted_file_creates_no_object(path, monkeypatch):
    save_model(
        path, BaggedRegressor(Foreign(), n_bags=2, random_state=0).fit(NUMBERS, Y), reading(NUMBERS), "folder/homes.csv"
    )
    monkeypatch.setattr(skops, "load", lambda *arguments, **more: pytest.fail("it was loaded"))
    with pytest.raises(TableError):
        SavedModel.load(path)


def test_trusted_types_are_ours_or_plain():
    others = {name for name in saving.TRUSTED if not name.startswith("stablebag.")}
    assert others == {
        "fractions.Fraction",
        "numpy.dtype",
        "sklearn.compose._column_transformer._RemainderColsList",  # of scikit-learn 1.6: names of columns
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
        "sklearn.metrics._dist_metrics.EuclideanDistance64",
        "sklearn.neighbors._kd_tree.KDTree",
        "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
        "sklearn.tree._tree.Tree",
    }


def test_loading_other_files_raises_an_error(path, tmp_path, model):
    with pytest.raises(TableError, match="There is no file"):
        SavedModel.load(path)
    path.write_text("not a model")
    with pytest.raises(TableError, match="is not a saved model of stablebag"):
        SavedModel.load(path)
    skops.dump(model, path)  # without the text
    with pytest.raises(TableError, match="is not a saved model of stablebag"):
        SavedModel.load(path)
    _saved_with(path, model, lambda about: about | {"format": 99})
    with pytest.raises(TableError, match="was saved by another version of stablebag"):
        SavedModel.load(path)
    _saved_with(path, model.estimator, lambda about: about)
    with pytest.raises(TableError, match="contains a Pipeline, not a model of stablebag"):
        SavedModel.load(path)


def test_loading_names_other_versions(path, model):
    _saved_with(path, model, lambda about: about | {"versions": {**about["versions"], "numpy": "1.0.3"}})
    assert SavedModel.load(path).note.startswith("It was saved with numpy 1.0.3 (here ")


def _saved_with(path, model, change):
    """Save something beside another text."""
    skops.dump(model, path)
    about = {"format": 2, "reading": reading(NUMBERS).to_dict(), "versions": saving._versions()}
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("stablebag.json", json.dumps(change(about)))


def test_a_model_that_cannot_be_saved_leaves_no_file(path, model):
    model._X = NUMBERS.assign(a=[(row, 1) for row in range(N)])
    with pytest.raises(TableError, match="cannot be saved by skops: skops cannot save column 'a'"):
        save_model(path, model, reading(NUMBERS), "folder/homes.csv")
    assert not path.exists()


def test_saving_without_skops_fails_early_with_the_install_command(path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "skops.io", None)
    with pytest.raises(TableError, match="needs skops: pip install skops"):
        check_can_save(path)
    check_can_save(None)
