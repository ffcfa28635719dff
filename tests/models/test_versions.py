import copy
import pickle

import numpy as np
import pytest
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.linear_model import Ridge

import stablebag
from stablebag import BaggedClassifier, BaggedRegressor
from stablebag.models import ensemble as versions
from stablebag.models.ensemble import OtherVersionWarning

X = np.random.default_rng(0).normal(size=(20, 2))


@pytest.fixture
def model():
    return BaggedRegressor(Ridge(), n_bags=4, random_state=0).fit(X, X[:, 0])


def test_model_of_this_version_loads_without_a_warning(model):
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model), copy.copy(model)):
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        assert vars(again).keys() == vars(model).keys() - {"_memory"}


@pytest.mark.parametrize("made_by", ["0.0.1", "99.0"])
def test_model_of_another_version_warns(model, made_by, monkeypatch):
    monkeypatch.setattr(versions, "__version__", made_by)
    text = pickle.dumps(model)
    monkeypatch.undo()
    words = (
        f"This BaggedRegressor was saved by stablebag {made_by}, and you are using stablebag {stablebag.__version__}"
    )
    with pytest.warns(OtherVersionWarning, match=words.replace(".", "[.]")) as caught:
        again = pickle.loads(text)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    (warning,) = [one for one in caught if one.category is OtherVersionWarning]
    assert warning.message.made_by == made_by


def test_model_without_a_version_warns():
    state = BaggedClassifier(n_bags=3).__getstate__()
    del state["_stablebag_version"], state["max_features"], state["oob_score"]
    model = BaggedClassifier.__new__(BaggedClassifier)
    with pytest.warns(InconsistentVersionWarning, match="saved by an early stablebag that did not record its version"):
        model.__setstate__(state)
    assert model.fit(X, X[:, 0] > 0).predict(X).shape == (20,)  # with the defaults of what it did not have


def test_skops_files_carry_the_version_too(model, monkeypatch):
    skops = pytest.importorskip("skops.io")
    monkeypatch.setattr(versions, "__version__", "0.0.1")
    text = skops.dumps(model)
    monkeypatch.undo()
    with pytest.warns(OtherVersionWarning, match="saved by stablebag 0[.]0[.]1"):
        skops.loads(text, trusted=skops.get_untrusted_types(data=text))
