import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from learners import Sleeper
from stablebag import BaggedClassifier, BaggedRegressor, FunctionRegressor, leave_one_out_refit, on_progress
from stablebag.models.caching import FileCache, keep_fits
from stablebag.models.parallel import on_notice

# ----------------------------------------------------------------------------------------------------------- kept files


def test_written_files_are_read_by_name(tmp_path):
    files = FileCache(tmp_path / "new", ".txt")
    assert files.read("a", Path.read_text, "none") == "none"
    files.write("a", lambda path: path.write_text("first"))
    files.write("ab", lambda path: path.write_text("second"))
    assert [files.read(name, Path.read_text) for name in ("a", "ab")] == ["first", "second"]
    (path,) = (tmp_path / "new").glob("a.*")
    assert path.name == "a.a7937b64b8caa58f.txt"  # sha256 of "first"
    files.write("a", lambda path: path.write_text("first"))
    assert len(list((tmp_path / "new").iterdir())) == 2


@pytest.mark.parametrize("damage", ["contents", "reader"])
def test_damaged_file_is_renamed_and_reported(tmp_path, damage):
    files, told = FileCache(tmp_path, ".txt"), []
    files.write("a", lambda path: path.write_text("7"))
    (path,) = tmp_path.iterdir()

    def load(path):
        return int(path.read_text()) if damage == "contents" else int("of another version")

    if damage == "contents":
        path.write_text("8")
    with on_notice(told.append):
        assert files.read("a", load) is None
        assert files.read("a", load) is None
    aside = f"damaged-{path.name}"
    assert told == [f"The file {path} is damaged. It was renamed to {aside}, and its contents are computed again."]
    assert [left.name for left in tmp_path.iterdir()] == [aside]


def test_failed_write_leaves_no_file(tmp_path):
    files = FileCache(tmp_path, ".txt")
    with pytest.raises(OSError, match="full"):
        files.write("a", lambda path: (_ for _ in ()).throw(OSError("full")))
    assert list(tmp_path.iterdir()) == []


# ------------------------------------------------------------------------------------------------------------ kept fits


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 2)), rng.normal(size=40)


@pytest.fixture
def told():
    told = []
    with on_notice(told.append):
        yield told


def counts(folder):
    return sum(len(file.read_text()) for file in folder.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupted_fit_continues_where_it_stopped(data, tmp_path, told, n_jobs):
    (fits := tmp_path / "fits").mkdir()
    model = BaggedRegressor(Sleeper(str(fits), 0.01), n_bags=12, n_jobs=n_jobs, random_state=0)

    def interrupt(done, total):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), keep_fits(tmp_path / "kept"), on_progress(interrupt):
        model.fit(*data)
    before = counts(fits)
    kept = len(list((tmp_path / "kept").iterdir()))
    assert 5 <= kept <= before
    with keep_fits(tmp_path / "kept"):
        model.fit(*data)
    assert counts(fits) - before == 12 - kept
    assert told == [f"{kept} of 12 fits were loaded from {tmp_path / 'kept'}."]
    assert len(model.estimators_) == 12


@pytest.mark.parametrize("learner", [DecisionTreeClassifier(), DecisionTreeClassifier(max_features=1)])
def test_stored_fits_have_the_same_bits_as_new_ones(data, tmp_path, told, learner):
    X, y = data
    fresh = BaggedClassifier(learner, n_bags=30, random_state=0).fit(X, y > 0)
    for n_bags in (20, 30):  # some kept, some made
        with keep_fits(tmp_path):
            kept = BaggedClassifier(learner, n_bags=n_bags, random_state=0).fit(X, y > 0)
    assert told == [f"20 of 30 fits were loaded from {tmp_path}."]
    np.testing.assert_array_equal(kept.predict_proba(X), fresh.predict_proba(X))
    assert kept.solver_ == fresh.solver_


def test_refits_are_stored_too(data, tmp_path, told):
    X, y = data
    fresh = leave_one_out_refit(Ridge(), X, y, X[:3], rows=range(5), random_state=0)
    for _ in range(2):
        with keep_fits(tmp_path):
            moved = leave_one_out_refit(Ridge(), X, y, X[:3], rows=range(5), random_state=0)
    np.testing.assert_array_equal(moved.left_out, fresh.left_out)
    assert told == [f"5 of 5 fits were loaded from {tmp_path}."]


def test_stored_fits_are_not_reused_if_anything_differs(data, tmp_path, told):
    X, y = data
    tree = DecisionTreeRegressor()
    with keep_fits(tmp_path):
        BaggedRegressor(tree, n_bags=4, random_state=0).fit(X, y)
        BaggedRegressor(tree, n_bags=4, random_state=1).fit(X, y)
        BaggedRegressor(DecisionTreeRegressor(max_depth=2), n_bags=4, random_state=0).fit(X, y)
        BaggedRegressor(tree, n_bags=4, random_state=0).fit(X, y + 1)
        BaggedRegressor(tree, n_bags=4, random_state=0).fit(X + 1, y)
        BaggedRegressor(tree, n_bags=4, random_state=0).fit(X, y, sample_weight=np.arange(40.0))
        for points in (X[:2], X[:3]):
            leave_one_out_refit(tree, X, y, points, rows=range(4), random_state=0)
    assert told == []


def test_damaged_fit_is_renamed_and_fitted_again(data, tmp_path, told):
    X, y = data
    model = BaggedRegressor(DecisionTreeRegressor(), n_bags=5, random_state=0)
    with keep_fits(tmp_path):
        before = model.fit(X, y).predict(X)
    path = sorted(tmp_path.iterdir())[2]
    path.write_bytes(path.read_bytes()[:-1])
    with keep_fits(tmp_path):
        np.testing.assert_array_equal(model.fit(X, y).predict(X), before)
    assert told[0] == f"5 of 5 fits were loaded from {tmp_path}."
    assert "is damaged. It was renamed to damaged-" in told[1]
    assert len(told) == 2


def test_fits_of_a_lambda_are_not_stored(data, tmp_path):
    X, y = data
    with keep_fits(tmp_path):
        BaggedRegressor(FunctionRegressor(lambda X, y, seed: lambda points: points[:, 0]), n_bags=3).fit(X, y)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name != "posix", reason="permissions")
def test_folder_that_others_can_write_to_raises(tmp_path):
    tmp_path.chmod(0o777)
    with (
        pytest.raises(PermissionError, match=r"^Other users can write to the folder .* chmod go-w"),
        keep_fits(tmp_path),
    ):
        pytest.fail("not refused")
    with keep_fits(tmp_path / "new"):
        assert Path(tmp_path / "new").stat().st_mode & 0o777 == 0o700
