import pytest
from sklearn.base import is_classifier, is_regressor

from stablebag.cli.training import make_learner, parse_parameters
from stablebag.tables.text import TableError


@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "ridge", "knn", "mlp", "svm"])
def test_models_have_short_names(name):
    assert is_regressor(make_learner(name, "regression", {}))
    if name != "ridge":
        assert is_classifier(make_learner(name, "classification", {}))
    assert make_learner(name, "regression", {}) is not make_learner(name, "regression", {})


def test_models_are_imported_and_take_parameters():
    parameters = parse_parameters(("max_depth=3", "criterion=absolute_error"))
    assert make_learner("sklearn.tree:DecisionTreeRegressor", "regression", parameters).max_depth == 3
    for name, words in (("oak", "There is no model 'oak'"), ("sklearn.tree:Oak", "cannot be made"),
                        ("no.such:Thing", "cannot be made"), ("math:sqrt", "is not a scikit-learn estimator"),
                        ("os:abort", "is not a scikit-learn estimator"), ("forrest", "Did you mean 'forest'"),
                        ("logistic", "is not for regression")):  # fmt: skip
        with pytest.raises(TableError, match=words):
            make_learner(name, "regression", {})
    with pytest.raises(TableError, match="does not take a parameter"):
        make_learner("tree", "regression", {"branches": 3})
    with pytest.raises(TableError, match="name=value"):
        parse_parameters(("max_depth",))
