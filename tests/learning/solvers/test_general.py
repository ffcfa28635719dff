import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge

from stablebag import Bags
from stablebag.learning.job import FitJob
from stablebag.learning.solvers.general import General

TABLE = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 3.0]])


def job_of(X):
    return FitJob(Ridge(), X, np.arange(3.0), Bags([[0, 1]], n_samples=3), np.array([0]))


@pytest.mark.parametrize("make", [sparse.csc_array, sparse.coo_array, sparse.lil_array, sparse.csc_matrix])
def test_sparse_formats_without_quick_rows_are_converted_once(make):
    job = job_of(make(TABLE))
    prepared = General().prepared(job)
    assert prepared.X.format == "csr"
    np.testing.assert_array_equal(prepared.X.toarray(), TABLE)
    assert job.X.format != "csr"
    assert prepared.bags is job.bags


@pytest.mark.parametrize("make", [np.array, sparse.csr_array])
def test_other_tables_are_left_as_they_are(make):
    job = job_of(make(TABLE))
    assert General().prepared(job) is job


def test_it_is_for_any_learner():
    assert General.covers(Ridge())
    assert General.covers(object())
