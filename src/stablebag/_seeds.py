"""Independent random streams from one `random_state`: for drawing bags, for seeding learners, and for everything else.

All streams are counter-based (Philox). So bag b depends only on (random_state, b), and not on the number of bags, or
the order, batches or processes in which they are drawn.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.random import Generator, Philox, SeedSequence

from stablebag._checks import refuse_type, refuse_value

RandomState: TypeAlias = "int | np.random.RandomState | Generator | Seeds | None"

_LARGEST_LEARNER_SEED = 2**31 - 1  # every learner accepts this, even those written in C with signed integers
_LARGEST_ROOT = 2**32 - 1  # the limit of scikit-learn's check_random_state


@dataclass(frozen=True)
class Seeds:
    """Independent streams that depend on one number, `root`.

    Parameters
    ----------
    root : int
        A non-negative integer; the same root gives the same bags and the same learner seeds.

    Examples
    --------
    >>> seeds = Seeds(root=0)
    >>> seeds.learner_seeds(0, 5)[3:].tolist() == seeds.learner_seeds(3, 5).tolist()
    True
    """

    root: int
    _keys: tuple[np.ndarray, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        streams = SeedSequence(self.root).spawn(3)  # for generators of bags, seeds of learners, and matched bags
        object.__setattr__(self, "_keys", tuple(stream.generate_state(2, np.uint64) for stream in streams))

    @classmethod
    def from_random_state(cls, random_state: RandomState, owner: str = "Seeds") -> "Seeds":
        """Read scikit-learn's `random_state`.

        An integer is the root itself. From a RandomState or a Generator, one number is drawn, so a second call
        continues where the first stopped. None draws that number from numpy's global state, as scikit-learn does.
        Errors name `owner`.
        """
        if isinstance(random_state, Seeds):
            return random_state
        if isinstance(random_state, Generator):
            return cls(int(random_state.integers(_LARGEST_ROOT, endpoint=True)))
        if random_state is None:
            return cls(int(np.random.randint(_LARGEST_ROOT, dtype=np.int64)))
        if isinstance(random_state, np.random.RandomState):
            return cls(int(random_state.randint(_LARGEST_ROOT, dtype=np.int64)))
        return cls(_check_root(random_state, owner))

    def generator(self) -> Generator:
        """Return a generator for all draws that are neither bags nor seeds."""
        return Generator(Philox(key=self._keys[0], counter=[0, 0, 0, 2]))

    def bag_generators(self, first: int, stop: int) -> Iterator[Generator]:
        """Yield the generator of bag `first`, `first + 1`, ..., `stop - 1`.

        It is the same generator each time, moved to the stream of the next bag, which is five times faster than making
        a new one. So use it before you ask for the next.
        """
        bits = Philox(key=self._keys[0])
        generator, start = Generator(bits), bits.state
        for bag in range(first, stop):
            # The counter's third word is the bag's number: the streams of two bags are 2**128 draws apart.
            start["state"]["counter"][:] = (0, 0, bag, 0)
            bits.state = start
            yield generator

    def bag_words(self, first: int, stop: int) -> np.ndarray:
        """Return four random 64-bit words for each bag from `first` to `stop - 1`; shape (stop - first, 4)."""
        return Philox(key=self._keys[2], counter=first).random_raw(4 * (stop - first)).reshape(-1, 4)

    def block_generator(self, bag: int, block: int, n_words: int) -> tuple[np.ndarray, Generator]:
        """Return random 64-bit words for a block of rows at a bag, and a generator that continues after them."""
        bits = Philox(key=self._keys[2], counter=[0, block, bag, 1])
        return bits.random_raw(n_words), Generator(bits)

    def learner_seeds(self, first: int, stop: int) -> np.ndarray:
        """Return the seeds of the learners of the bags from `first` to `stop - 1`, integers below 2**31 - 1."""
        # Philox makes four words per bag; the first one is used.
        words = Philox(key=self._keys[1], counter=first).random_raw(4 * (stop - first))[::4]
        return (words % np.uint64(_LARGEST_LEARNER_SEED)).astype(np.int64)


def _check_root(value: Any, owner: str) -> int:
    expected = "None, an integer in [0, 2**32 - 1], a numpy RandomState or a numpy Generator"
    if not isinstance(value, int | np.integer) or isinstance(value, bool):
        raise refuse_type("random_state", owner, expected, value)
    if not 0 <= value <= _LARGEST_ROOT:
        raise refuse_value("random_state", owner, expected, int(value))
    return int(value)
