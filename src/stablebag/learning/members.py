"""A fitted ensemble as a sequence of its bags' models, with the rows and the columns that each of them saw."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from stablebag.learning.models import Models
from stablebag.resampling.bags import Bags
from stablebag.resampling.units import Units


class Members:
    """What gives an ensemble a length, places and members: the fitted models, in bag order."""

    n_bags: Any
    estimators_: Models
    bags_: Bags
    units_: Units
    n_features_in_: int

    def __len__(self) -> int:
        """Return the number of fitted models: one for each bag, and none where all bags are averaged in closed form."""
        check_is_fitted(self)
        return len(self.estimators_)

    def __bool__(self) -> bool:
        """Return True: a model is there before it is fitted, too, when it has no length yet."""
        return True

    def __getitem__(self, place: Any) -> Any:
        """Return the fitted model of a bag, or a list of those of some bags."""
        check_is_fitted(self)
        return self.estimators_[place]

    def __iter__(self) -> Iterator[Any]:
        check_is_fitted(self)
        return iter(self.estimators_)

    @property
    def n_estimators(self) -> int:
        """The number of bags, as scikit-learn calls it: of the fit, or else as `n_bags` asks for."""
        if hasattr(self, "estimators_"):
            return len(self.estimators_)
        if isinstance(self.n_bags, str):
            raise AttributeError(f"n_bags={self.n_bags!r}: how many bags there are is known after fit.")
        return int(self.n_bags)

    @property
    def estimators_samples_(self) -> list[np.ndarray]:
        """The positions of the rows of each bag, in the order and with the repeats in which its learner saw them."""
        check_is_fitted(self)
        return list(self.units_.rows_of_bags(self.bags_))

    @property
    def estimators_features_(self) -> list[np.ndarray]:
        """The columns that each bag's learner saw: all, or those that were drawn for it."""
        check_is_fitted(self)
        drawn = self.estimators_.subspaces
        if drawn is None:
            return [np.arange(self.n_features_in_) for _ in range(len(self.estimators_))]
        return [drawn.of(int(seed)) for seed in self.estimators_.seeds]
