import numpy as np
from sklearn.linear_model import Ridge

from learners import RowRecorder
from stablebag.models.fitted import fitted
from stablebag.models.rows import is_per_row
from stablebag.models.solving import FitJob, General, same_model
from stablebag.resampling import Bags

X, Y = np.random.default_rng(0).normal(size=(12, 2)), np.arange(12.0)


def job_of(learner, **fit_params):
    bags = Bags([[0, 1, 1, 5], [7, 2, 3, 4]], n_samples=12)
    return FitJob(learner, X, Y, bags, np.array([3, 4]), fit_params=fit_params)


def test_a_bag_is_one_fit_of_the_learner_to_its_rows():
    job = job_of(Ridge(), sample_weight=np.arange(1.0, 13.0))
    general = General(job)
    for rows, seed in zip(job.bags, job.seeds, strict=True):
        expected = Ridge(random_state=int(seed)).fit(X[rows], Y[rows], sample_weight=np.arange(1.0, 13.0)[rows])
        assert same_model(general.fit(rows, int(seed)), expected)


def test_the_learner_sees_no_other_row():
    job = job_of(RowRecorder())
    rows = job.bags[1]
    model = General(job).fit(rows, 4)
    np.testing.assert_array_equal(fitted(model).X, X[rows])


def test_a_parameter_of_the_length_of_the_table_is_one_per_row():
    assert is_per_row(np.ones(12), 12)
    assert is_per_row([1] * 12, 12)
    assert not is_per_row(np.ones(11), 12)
    assert not is_per_row("twelve chars", 12)
