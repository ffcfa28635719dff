"""Label sets of the jackknife+, against their definition."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from stablebag import BaggedClassifier, ClusterSubbagging, Subbagging, leave_one_out, predict_set, random_n_bags
from stablebag.deciding.label_sets import JackknifeSets
from stablebag.models.fitted import Fitted

pytestmark = pytest.mark.kernels


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int) + (X[:, 1] > 0.5)


def by_definition(model, X, level, by_class):
    """Label by label, row by row; each unit has weight one, in fractions."""
    units, at_rows = model.units_, leave_one_out(model, Fitted(model).X).left_out
    left_out, n_labels = leave_one_out(model, X).left_out, len(model.classes_)
    inside = np.empty((len(X), n_labels), dtype=bool)
    for point in range(len(X)):
        for label in range(n_labels):
            beaten, total = Fraction(0), Fraction(0)
            for row, unit in enumerate(units.of_rows):
                if by_class and Fitted(model).y[row] != model.classes_[label]:
                    continue
                weight = Fraction(1, int(units.sizes[unit]))
                total += weight
                own = at_rows[unit, row, np.searchsorted(model.classes_, Fitted(model).y[row])]
                if left_out[unit, point, label] < own - 1e-12:
                    beaten += weight
            inside[point, label] = beaten < Fraction(str(level)) * (total + 1)
    return inside


@pytest.mark.filterwarnings("ignore:Every set has", "ignore:The sets have all", "ignore:These sets cover all classes")
@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("level", [0.5, 0.8, 0.9])
@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(12), [1, 2, 3, 4] * 3)])
def test_sets_are_those_of_the_definition(level, groups, by_class):
    X, y = table(30)
    model = BaggedClassifier(LogisticRegression(), n_bags=60, random_state=1).fit(X, y, groups=groups)
    points = table(20, seed=1)[0]
    found = predict_set(model, points, method="jackknife+", confidence_level=level, by_class=by_class)
    assert (found.members == by_definition(model, points, level, by_class)).all()
    assert (found.prediction == model.predict_proba(points)).all()
    assert found.confidence_level == level
    assert found.epsilon is None
    assert found.delta is None


@pytest.mark.slow
@pytest.mark.parametrize("by_class", [False, True])
def test_blocks_do_not_matter(monkeypatch, by_class):
    X, y = table(40)
    groups = np.arange(40) // 2
    points = table(25, seed=1)[0]
    for unit in (None, groups):
        model = BaggedClassifier(LogisticRegression(), n_bags=60, random_state=1).fit(X, y, groups=unit)
        rule = JackknifeSets(Fraction(8, 10), by_class)
        whole = rule.members(model, points)[1]
        with monkeypatch.context() as patch:
            patch.setattr("stablebag.deciding.label_sets._PAIRS", 100)
            patch.setattr("stablebag.measuring.leave_one_out._LEFT_OUT", 500)
            assert (rule.members(model, points)[1] == whole).all()


@pytest.mark.parametrize("by_class", [False, True])
@pytest.mark.parametrize("groups", [None, np.repeat(np.arange(14), [1, 2, 3, 4, 1, 4, 5] * 2)])
def test_training_rows_are_covered_as_if_each_were_new(by_class, groups):
    X, y = table(40)
    model = BaggedClassifier(LogisticRegression(), n_bags=60, random_state=1).fit(X, y, groups=groups)
    units, left_out = model.units_, leave_one_out(model, X).left_out
    own = left_out[units.of_rows, np.arange(40), np.searchsorted(model.classes_, y)]
    for row, found in enumerate(JackknifeSets(Fraction(8, 10), by_class).covered_rows(model)):
        others = [k for k in range(40) if units.of_rows[k] != units.of_rows[row] and (not by_class or y[k] == y[row])]
        weight = {k: Fraction(1, int(units.sizes[units.of_rows[k]])) for k in others}
        beaten = sum((weight[k] for k in others if own[k] > own[row] + 1e-12), Fraction(0))
        assert found == (beaten < Fraction(8, 10) * (sum(weight.values(), Fraction(0)) + 1))


@pytest.mark.filterwarnings("ignore:Every set has", "ignore:The sets have all")
def test_sets_grow_with_the_level():
    X, y = table(60)
    model = BaggedClassifier(LogisticRegression(), n_bags=60, random_state=1).fit(X, y)
    sets = [
        predict_set(model, X, method="jackknife+", confidence_level=level).members for level in (0.3, 0.6, 0.9, 0.97)
    ]
    assert all((smaller <= larger).all() for smaller, larger in itertools.pairwise(sets))


def test_the_proof_says_what_it_needs():
    X, y = table(40)
    fixed = BaggedClassifier(LogisticRegression(), n_bags=60, random_state=0).fit(X, y)
    drawn = BaggedClassifier(LogisticRegression(), n_bags=random_n_bags(Subbagging(0.5), 40, 60), random_state=0)
    clusters = ClusterSubbagging(5, clusters=np.arange(40) // 4)
    unequal = BaggedClassifier(LogisticRegression(), scheme=clusters, n_bags=60, random_state=0).fit(X, y)
    said = {name: JackknifeSets(Fraction(9, 10)).guarantee(m) for name, m in (("fixed", fixed), ("unequal", unequal))}
    assert "coverage of each class is at least 0.8" in said["fixed"]
    assert "coverage is at least 0.8" in JackknifeSets(Fraction(9, 10), by_class=False).guarantee(fixed)
    assert "holds only approximately" in said["fixed"]
    assert said["unequal"].startswith("Nothing is proved")
    assert (
        JackknifeSets(Fraction(4, 10)).guarantee(fixed).startswith("Nothing is proved about their coverage at so low")
    )
    assert "approximately" not in JackknifeSets(Fraction(9, 10)).guarantee(drawn.fit(X, y))
