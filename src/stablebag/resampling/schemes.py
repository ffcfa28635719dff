"""The four schemes of the paper by name, and whatever names a law of bags read as one."""

import re
from fractions import Fraction
from typing import Any, TypeAlias

from stablebag._checks import refuse_type, refuse_value, shown
from stablebag.resampling.bernoulli import BernoulliSubbagging
from stablebag.resampling.classical import ClassicalBagging
from stablebag.resampling.poissonized import PoissonizedBagging
from stablebag.resampling.scheme import ResamplingScheme, ResolvedScheme
from stablebag.resampling.sized import SizedScheme
from stablebag.resampling.subbagging import Subbagging

SCHEMES: dict[str, type[SizedScheme]] = {
    "subbagging": Subbagging,
    "bernoulli": BernoulliSubbagging,
    "classical": ClassicalBagging,
    "poissonized": PoissonizedBagging,
}
_WRITTEN = re.compile(r"\d{1,40}(/0*[1-9]\d{0,39}|\.\d{1,40})?")  # a number or a fraction
Scheme: TypeAlias = ResamplingScheme | ResolvedScheme | str  # what parameters called scheme accept


def scheme_from_words(name: Any, size: Any) -> ResamplingScheme:
    """Return the scheme that a certificate has written down: the name of its class, and its bag size.

    >>> scheme_from_words("Subbagging", "1/3")
    Subbagging(bag_size=Fraction(1, 3))
    """
    classes = {known.__name__: known for known in SCHEMES.values()}
    if not isinstance(name, str) or name not in classes:
        raise ValueError(f"The scheme {shown(name)} is not one of {sorted(classes)}. Give it as the second argument.")
    if isinstance(size, str):
        if not _WRITTEN.fullmatch(size):  # such as 1e999999999, which would take all memory
            raise refuse_value("bag_size", name, "a number or a fraction of two, as it was written", size)
        size = Fraction(size)
    return classes[name](size)


def as_scheme(scheme: Any, owner: str) -> ResamplingScheme | ResolvedScheme:
    """Return a scheme, or the one of that name with its default bag size.

    >>> as_scheme("subbagging", "fit"), as_scheme(ClassicalBagging(100), "fit")
    (Subbagging(bag_size=0.5), ClassicalBagging(bag_size=100))
    """
    expected = f"a resampling scheme, such as Subbagging(bag_size=0.5), or one of {tuple(SCHEMES)}"
    if isinstance(scheme, str):
        if scheme not in SCHEMES:
            raise refuse_value("scheme", owner, expected, scheme)
        return SCHEMES[scheme]()  # type: ignore[call-arg]
    if not isinstance(scheme, ResamplingScheme | ResolvedScheme):
        raise refuse_type("scheme", owner, expected, scheme)
    return scheme


def as_law(scheme: Any, n_samples: int, owner: str) -> ResolvedScheme:
    """Return the law of a scheme on `n_samples` rows; a resolved scheme is returned as it is."""
    known = as_scheme(scheme, owner)
    if isinstance(known, ResamplingScheme):
        return known.resolve(n_samples)
    if known.n_samples != n_samples:
        reason = f"the scheme was resolved for n_samples={known.n_samples}. Resolve it again."
        raise refuse_value("n_samples", owner, "the number of rows of its scheme", n_samples, reason)
    return known
