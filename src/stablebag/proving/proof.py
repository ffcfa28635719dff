"""A bound is a number with the name of its proof."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Proof:
    """What a bound rests on.

    Attributes
    ----------
    words : str
        The theorem or argument, to follow "Proved by".
    exact : bool
        Whether no smaller number holds for every learner.
    """

    words: str
    exact: bool = False

    @property
    def sentence(self) -> str:
        """What a bound rests on, as the beginning of a sentence."""
        if self.words == TRIVIAL.words:
            return f"All that is known is {self.words}"
        return f"Proved by {self.words}" + (", and no smaller number holds for every learner" if self.exact else "")

    def and_(self, *others: str) -> "Proof":
        """Return the proof with further steps."""
        return Proof(", ".join([self.words, *others]), self.exact)


@dataclass(frozen=True, order=True)
class Bound:
    """A number with its proof; the smaller, the better.

    Attributes
    ----------
    value : float
        The number.
    proof : Proof
        What it rests on.
    """

    value: float
    proof: Proof = field(compare=False)


# What takes the place of Theorem 8 for a law that does not treat all rows alike (docs/proofs.md, 11).
PROPOSITION_5 = 'Proposition 5 of Barber and Samworth (2026), "Algorithmic stability via ensembling"'
TRIVIAL = Proof("that no prediction leaves its range")
ALL_ROWS = Proof("counting all rows")
