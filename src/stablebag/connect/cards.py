"""Model cards of skops: a section with a study, a certificate or a comparison of versions."""

from typing import Any

from stablebag._checks import refuse_type


def add_to_card(card: Any, result: Any, section: str = "Stability") -> Any:
    """Add a section to a model card of skops.

    The section contains ``result.to_markdown()``, which any other model card can contain, too.

    Parameters
    ----------
    card : skops.card.Card
        The model card.
    result : Study, certificate or Versions
        What the section shows: for example the result of `study`, `certify` or `compare_versions`.
    section : str, default="Stability"
        The title of the section. ``"Evaluation/Stability"`` is a section inside another. A section with this title is
        replaced.

    Returns
    -------
    skops.card.Card
        The same card.

    Examples
    --------
    >>> from skops.card import Card
    >>> from stablebag import BaggedRegressor, certify
    >>> from stablebag.connect import add_to_card
    >>> model = BaggedRegressor(n_bags=1000, random_state=0).fit([[k] for k in range(50)], range(50))
    >>> card = add_to_card(Card(model), certify(model))
    >>> print(card.select("Stability").content[:86])
    At any test point, at most 5% of the 50 rows (delta = 0.05) are expected to change the
    """
    owner = "add_to_card"
    if not callable(getattr(card, "add", None)):
        raise refuse_type("card", owner, "a model card of skops, such as skops.card.Card(model)", card)
    if isinstance(result, type) or not callable(getattr(result, "to_markdown", None)):
        raise refuse_type("result", owner, "a study, a certificate or a comparison of versions", result)
    if not isinstance(section, str):
        raise refuse_type("section", owner, "the title of a section", section)
    card.add(**{section: result.to_markdown()})
    return card
