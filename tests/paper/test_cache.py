import re
import warnings

import numpy as np
import pytest

from stablebag.measuring import Perturbations
from stablebag.paper.experiments import Cache


class Maker:
    """Makes an array, and counts how often."""

    def __init__(self):
        self.made = 0

    def __call__(self):
        self.made += 1
        return np.arange(3.0) + self.made


def test_what_was_made_is_kept_for_the_next_run(tmp_path):
    make = Maker()
    folder = tmp_path / "new" / "folder"
    first = Cache(folder, "run").array("a", make)
    np.testing.assert_array_equal(Cache(folder, "run").array("a", make), first)
    assert make.made == 1
    for prefix, name in (("run", "b"), ("other", "a")):
        Cache(folder, prefix).array(name, make)
    assert make.made == 3


def test_without_a_folder_nothing_is_kept():
    make = Maker()
    cache = Cache(None, "run")
    assert cache.array("a", make).tolist() != cache.array("a", make).tolist()
    assert make.made == 2


@pytest.mark.parametrize("kind", ["array", "perturbations"])
def test_every_byte_that_is_changed_is_noticed_and_the_file_made_again(tmp_path, kind):
    moved = Perturbations(np.zeros(2), np.ones((3, 2)), np.arange(3))
    make = Maker() if kind == "array" else lambda: moved
    getattr(Cache(tmp_path, "run"), kind)("a", make)
    (path,) = tmp_path.iterdir()
    good = path.read_bytes()
    for place in range(0, len(good), max(1, len(good) // 100)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :])
        with pytest.warns(UserWarning, match=rf"^The file {re.escape(str(path))} is damaged\. It was set aside as dam"):
            getattr(Cache(tmp_path, "run"), kind)("a", make)
        for left in tmp_path.iterdir():
            if left != path:
                left.unlink()
        path.write_bytes(good)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        getattr(Cache(tmp_path, "run"), kind)("a", lambda: pytest.fail("made again"))


@pytest.mark.parametrize("damage", [b"", b"not a zip file", None])
def test_a_damaged_file_is_set_aside_and_made_again(tmp_path, damage):
    make, cache = Maker(), Cache(tmp_path, "run")
    cache.array("a", make)
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:50] if damage is None else damage)
    with pytest.warns(UserWarning, match="damaged"):
        assert cache.array("a", make).tolist() == [2.0, 3.0, 4.0]
    assert cache.array("a", make).tolist() == [2.0, 3.0, 4.0]  # and kept
    assert make.made == 2
    assert path.with_name(f"damaged-{path.name}").exists()


def test_an_interrupted_write_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(path, **arrays):
        path.write_bytes(b"half of it")
        raise KeyboardInterrupt

    cache = Cache(tmp_path, "run")
    monkeypatch.setattr(np, "savez_compressed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cache.array("a", Maker())
    assert list(tmp_path.iterdir()) == []


def test_perturbations_are_kept_like_arrays(tmp_path):
    moved = Perturbations(np.zeros(2), np.ones((3, 2)), np.arange(3))
    cache = Cache(tmp_path, "run")
    assert cache.perturbations("p", lambda: moved) is moved
    kept = cache.perturbations("p", lambda: pytest.fail("made again"))
    np.testing.assert_array_equal(kept.left_out, moved.left_out)
    np.testing.assert_array_equal(kept.rows, moved.rows)
