import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_linnerud
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, brier_score_loss, log_loss
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import (
    BaggedClassifier,
    BaggedRegressor,
    BernoulliSubbagging,
    ClassicalBagging,
    Subbagging,
    leave_one_out,
    leave_one_out_error,
)

X, Y = load_diabetes(return_X_y=True)
X, Y = X[:120], Y[:120]


@pytest.mark.parametrize("scheme", [Subbagging(0.5), ClassicalBagging(1.0), BernoulliSubbagging(0.5)], ids=str)
def test_each_row_is_predicted_by_the_bags_without_it(scheme):
    model = BaggedRegressor(DecisionTreeRegressor(max_depth=3), scheme=scheme, n_bags=60, random_state=0).fit(X, Y)
    own = leave_one_out(model, X).left_out[np.arange(120), np.arange(120)]
    error = leave_one_out_error(model)
    np.testing.assert_allclose(error.losses, (own - Y) ** 2)
    assert error.value == pytest.approx(np.mean((own - Y) ** 2))
    assert error.standard_error == pytest.approx(np.std((own - Y) ** 2, ddof=1) / np.sqrt(120))
    assert leave_one_out_error(model, "absolute").value == pytest.approx(np.abs(own - Y).mean())
    assert float(leave_one_out_error(model, lambda f, y: (f > y) * 1.0)) == pytest.approx(np.mean(own > Y))


def test_rows_that_change_the_range_are_predicted_within_the_range_without_them():
    y = np.append(np.linspace(0, 1, 19), 100.0)
    model = BaggedRegressor(LinearRegression(), n_bags=100, random_state=0).fit(np.eye(20), y)
    own = leave_one_out(model, np.eye(20)).left_out[np.arange(20), np.arange(20)]
    np.testing.assert_allclose(leave_one_out_error(model, lambda f, y: f).losses, own)
    assert own[-1] <= 1.0


def test_classifiers_have_losses_of_labels_and_of_probabilities():
    table, labels = load_breast_cancer(return_X_y=True)
    table, labels = table[:150], np.where(labels[:150] == 1, "benign", "malignant")
    model = BaggedClassifier(DecisionTreeClassifier(max_depth=2), n_bags=80, random_state=0).fit(table, labels)
    own = leave_one_out(model, table).left_out[np.arange(150), np.arange(150)]
    predicted = model.classes_[own.argmax(axis=1)]
    assert leave_one_out_error(model).value == pytest.approx(1 - accuracy_score(labels, predicted))
    assert leave_one_out_error(model, "log").value == pytest.approx(log_loss(labels, own))
    brier = 2 * brier_score_loss(labels == "malignant", own[:, 1])
    assert leave_one_out_error(model, "brier").value == pytest.approx(brier)
    callable_loss = leave_one_out_error(model, lambda probabilities, y: (y == "benign") * probabilities[:, 1])
    assert callable_loss.value == pytest.approx(np.mean((labels == "benign") * own[:, 1]))


def test_rows_in_every_bag_raise_or_are_skipped_and_counted():
    model = BaggedRegressor(LinearRegression(), scheme=Subbagging(100), n_bags=4, random_state=0).fit(X, Y)
    always = int((model.bags_.n_without == 0).sum())
    assert always > 0
    with pytest.raises(ValueError, match="never left out, so there is no prediction without them"):
        leave_one_out_error(model)
    error = leave_one_out_error(model, undefined="skip")
    assert error.n_undefined == always
    assert len(error.rows) == len(error.losses) == 120 - always
    assert f"; skipped {always} rows in every bag" in repr(error)
    only = BaggedRegressor(LinearRegression(), scheme=Subbagging(119), n_bags=1, random_state=0).fit(X, Y)
    assert len(leave_one_out_error(only, undefined="skip").rows) == 1
    assert np.isnan(leave_one_out_error(only, undefined="skip").standard_error)


def test_with_all_bags_each_is_weighted_by_its_probability():
    model = BaggedRegressor(DecisionTreeRegressor(random_state=0), scheme=BernoulliSubbagging(2), n_bags="all")
    model.fit(X[:6], Y[:6])
    own = leave_one_out(model, X[:6]).left_out[np.arange(6), np.arange(6)]
    np.testing.assert_allclose(leave_one_out_error(model, lambda f, y: f).losses, own)


@pytest.mark.parametrize(("loss", "error", "words"), [
    ("log", ValueError, "this loss is for a classifier"),
    ("huber", ValueError, "Got 'huber'"), (3, TypeError, "'loss'"),
    (lambda f, y: np.mean(f), ValueError, "must return one value for each of the 120 rows"),
])  # fmt: skip
def test_invalid_losses_raise(loss, error, words):
    model = BaggedRegressor(LinearRegression(), n_bags=50, random_state=0).fit(X, Y)
    with pytest.raises(error, match=words):
        leave_one_out_error(model, loss)
    with pytest.raises(ValueError, match="'undefined'"):
        leave_one_out_error(model, undefined="ignore")


def test_several_outputs_need_one_output_or_a_loss_of_all():
    X, y = load_linnerud(return_X_y=True)
    model = BaggedRegressor(LinearRegression(), n_bags=60, random_state=0).fit(X, y)
    own = leave_one_out(model, X).left_out[np.arange(20), np.arange(20)]
    for place in range(3):
        np.testing.assert_allclose(leave_one_out_error(model.output(place)).losses, (own - y)[:, place] ** 2)
    together = leave_one_out_error(model, lambda prediction, y: ((prediction - y) ** 2).sum(axis=1))
    np.testing.assert_allclose(together.losses, ((own - y) ** 2).sum(axis=1))
    for loss in (None, "absolute"):
        with pytest.raises(ValueError, match=r"Use model.output\(0\), or a function of all outputs as loss"):
            leave_one_out_error(model, loss)


def test_the_error_at_some_rows_uses_their_losses(seed):
    X, y = load_diabetes(return_X_y=True)
    model = BaggedRegressor(n_bags=60, random_state=seed).fit(X, y)
    whole, rows = leave_one_out_error(model), np.array([3, 400, 17])
    some = leave_one_out_error(model, rows=rows)
    assert some.rows.tolist() == rows.tolist()
    np.testing.assert_allclose(some.losses, whole.losses[rows], rtol=1e-12)
    drawn = leave_one_out_error(model, rows=50, random_state=seed)
    np.testing.assert_allclose(drawn.losses, whole.losses[drawn.rows], rtol=1e-12)
    assert len(drawn.rows) == 50
