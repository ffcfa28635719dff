from dataclasses import replace

import numpy as np
import pytest

from learners import FailsOn, RowRecorder
from stablebag.models.fitted import Fitted
from stablebag.models.fitting import fit_bags
from stablebag.models.solving import FitJob
from stablebag.resampling import Bags


@pytest.fixture
def job():
    X, bags = np.arange(6.0)[:, None], Bags([[0, 1], [2, 3], [3, 3], [4, 5], [5, 0]], n_samples=6)
    return FitJob(RowRecorder(), X, X.ravel(), bags, np.arange(10, 15), fit_params={"tag": "all"}, empty_value=3.0)


def test_a_part_has_its_bags_with_their_seeds_and_numbers(job):
    part = job.part(1, 4)
    assert (len(job), len(part)) == (5, 3)
    assert part.bags == job.bags[1:4]
    assert part.seeds.tolist() == [11, 12, 13]
    assert (part.first, part.part(1, 3).first) == (1, 2)
    assert part.part(1, 3).seeds.tolist() == [12, 13]


def test_a_part_fits_the_same_models_as_the_whole(job):
    whole, part = list(fit_bags(job)), list(fit_bags(job.part(2, 4)))
    assert [model.seed_ for model in part] == [12, 13]
    for model, same in zip(part, whole[2:4], strict=True):
        np.testing.assert_array_equal(Fitted(model).X, Fitted(same).X)


def test_errors_in_a_part_name_the_bag_by_its_number_in_the_whole(job):
    failing = FitJob(FailsOn(row=4.0), job.X, job.y, job.bags, job.seeds)
    with pytest.raises(RuntimeError, match=r"failed to fit on bag 3 \(2 rows\)"):
        list(fit_bags(failing.part(2, 5)))


def test_a_part_on_its_own_rows_fits_the_same_models_and_has_no_others(job):
    own = job.part(2, 4).on_own_rows()
    assert (own.X.ravel().tolist(), own.y.tolist()) == ([3.0, 4.0, 5.0], [3.0, 4.0, 5.0])
    assert [rows.tolist() for rows in own.bags] == [[0, 0], [1, 2]]
    assert (own.first, own.seeds.tolist()) == (2, [12, 13])
    for model, same in zip(fit_bags(own), list(fit_bags(job))[2:4], strict=True):
        np.testing.assert_array_equal(Fitted(model).X, Fitted(same).X)


def test_on_its_own_rows_a_job_knows_which_parameters_were_given_by_row(job):
    given = replace(job, fit_params={"sample_weight": np.arange(6.0), "three": [7, 8, 9]})
    own = given.part(2, 4).on_own_rows()  # has three rows, like the parameter that has nothing to do with rows
    assert own.params_by_row() == own.part(0, 1).params_by_row() == {"sample_weight"}
    assert own.fit_params["sample_weight"].tolist() == [3.0, 4.0, 5.0]
    assert own.fit_params["three"] == [7, 8, 9]


def test_bags_that_are_all_empty_have_one_row_that_no_one_sees(job):
    own = replace(job, bags=Bags([[], []], n_samples=6), seeds=np.arange(2)).on_own_rows()
    assert (len(own.X), [len(rows) for rows in own.bags]) == (1, [0, 0])
    assert [model.predict([[0.0]]).tolist() for model in fit_bags(own)] == [[3.0], [3.0]]


def test_without_rows_everything_but_the_data_is_left(job):
    light = job.without_rows()
    assert light.X is None
    assert len(light.y) == 0
    assert light.bags == job.bags
    assert (light.fit_params, light.empty_value, len(light.seeds)) == ({"tag": "all"}, 3.0, 5)
    assert len(job.y) == 6  # which is left as it was
