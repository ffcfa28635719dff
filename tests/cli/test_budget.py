import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeRegressor

from stablebag import BernoulliSubbagging, ClassicalBagging, Subbagging
from stablebag._wording import Noun
from stablebag.cli import budget
from stablebag.cli.budget import default_scheme, room_named, workload
from stablebag.fast.native.library import library
from stablebag.fast.reader import TreePipelines
from stablebag.models.fitting import cuts
from stablebag.models.rows import RowSource
from stablebag.resampling.bags import Bags
from stablebag.tables.columns import Columns

ROWS_PER_SECOND = 10_000


class Clocked(RegressorMixin, BaseEstimator):
    """Takes a second of the clock for ten thousand rows, or for the square of their number."""

    def __init__(self, power=1, fewest=0):
        self.power = power
        self.fewest = fewest

    def fit(self, X, y):
        if len(y) < self.fewest:
            raise ValueError("too few")
        CLOCK[0] += (len(y) / ROWS_PER_SECOND) ** self.power
        return self

    def predict(self, X):
        return np.zeros(len(X))


CLOCK = [0.0]


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    monkeypatch.setattr(budget.time, "perf_counter", lambda: CLOCK[0])
    monkeypatch.setattr(budget, "cpu_count", lambda: 2)


def load_of(n, learner=None, scheme=Subbagging(0.5), **wanted):  # noqa: B008
    X = np.zeros((n, 1))
    return workload(Clocked() if learner is None else learner, X, X.ravel(), scheme, jobs=2, **wanted)


def test_first_pair_within_the_time_limit_is_chosen():
    # A bag takes 0.2 s and a refit 0.4 s, and a bag again for each, on two workers, with two fits of all rows alone and
    # 15 % for the rest.
    seconds = [1.15 * ((bags * 0.2 + refits * 0.6) / 2 + 0.8) for bags, refits in budget.LADDER]
    for place, limit in enumerate(seconds):
        load = load_of(4000, limit=limit + 1e-6)
        assert (load.n_bags, load.n_refits) == budget.LADDER[place]
        assert load.seconds == pytest.approx(limit)
        chosen = "--n-bags", str(load.n_bags), "--refits", str(load.n_refits), "--matched", "0"
        assert load.chosen == chosen  # there is no time to refit the bagged model
    assert (load_of(4000, limit=seconds[-1] / 2).n_bags) == budget.LADDER[-1][0]  # and no fewer


def test_more_than_500_bags_are_chosen_only_if_they_take_little_time_and_memory():
    each = 1.15 * (0.2 / 2)  # seconds that a bag of 2,000 rows takes on two workers
    others = 1.15 * (200 * 0.6 / 2 + 0.8)
    assert load_of(4000, limit=12 * (2000 * each + others) + 1e-6).n_bags == 2000
    assert load_of(4000, limit=12 * (2000 * each + others) - 1e-3).n_bags == 1000
    assert load_of(4000, limit=12 * (1000 * each + others) - 1e-3).n_bags == 500
    assert load_of(4000, limit=10**6, n_bags=300).n_bags == 300
    # 2,000 bags of 2,501 rows have more rows in all than 500 bags of 10,000.
    assert [load_of(n, limit=10**6).n_bags for n in (5_000, 5_002, 10_000, 10_002)] == [2000, 1000, 1000, 500]
    load = load_of(4000, limit=10**6)
    assert "usual" not in load.sentence
    assert load.chosen[:2] == ("--n-bags", "2000")


def test_bagged_model_is_refitted_without_10_rows_or_more_as_time_allows():
    each = 1.15 * 250 * 0.2 / 2 + 0.03  # half of the bags contain a row
    others = 1.15 * ((500 * 0.2 + 200 * 0.6) / 2 + 0.8)
    load = load_of(4000, limit=others + 10 * each + 1e-6)
    assert (load.n_bags, load.n_refits, load.n_matched) == (500, 200, 10)
    assert load.matched_seconds == pytest.approx(each)
    assert load.seconds == pytest.approx(others + 10 * each)
    assert load_of(4000, limit=others + 9.9 * each).n_matched == 0
    assert load_of(4000, limit=others + 10 * each, n_matched=7).n_matched == 7
    assert load_of(4000, limit=10**6, n_refits=5).n_matched == 5  # without no more rows than the base model
    quick = load_of(200, Clocked(power=3))  # refits take at most 4 seconds, or as long as everything else
    assert quick.n_matched > 10
    assert quick.n_matched * quick.matched_seconds <= 4 < (quick.n_matched + 5) * quick.matched_seconds


def test_choice_is_printed_with_its_time_and_the_options_that_change_it():
    assert load_of(4000, limit=1000).sentence == (
        "500 bags of 2,000 rows, 200 refits of the base model and 10 of the bagged model take about 7 minutes with 2 "
        "jobs."
    )
    estimated = "There is no time to refit the bagged model, so its change is estimated; use --matched 10 to refit it."
    assert load_of(4000, limit=60).sentence == (
        f"200 bags of 2,000 rows and 100 refits of the base model take about 60 seconds with 2 jobs. {estimated} The "
        "usual 500 bags and 200 refits of the base model would take about 3 minutes, more than --time-limit (60 "
        "seconds); set them with --n-bags and --refits."
    )
    assert load_of(4000, limit=9, n_refits=0).sentence == (
        "50 bags of 2,000 rows take a few seconds with 2 jobs. The usual 500 bags would take about 60 seconds, more "
        "than --time-limit (10 seconds); set them with --n-bags."
    )
    assert load_of(4000, limit=1, units=40, noun=Noun("patient", "patients")).sentence == (
        "50 bags of 20 patients and 20 refits of the base model take about 20 seconds with 2 jobs. "
        f"{estimated} That is more than --time-limit (a few seconds), but fewer would measure too little. A smaller "
        "--bag-size, more --jobs or another --model takes less time."
    )


def test_given_numbers_are_used():
    load = load_of(4000, limit=1, n_bags=3000, n_refits=7, n_matched=0)
    assert (load.n_bags, load.n_refits, load.n_matched, load.chosen) == (3000, 7, 0, ())
    assert load.sentence.endswith(
        "3,000 bags of 2,000 rows and 7 refits of the base model take about 6 minutes with 2 jobs."
    )
    load = load_of(4000, limit=30, n_bags=100)
    assert (load.n_bags, load.n_refits, load.chosen) == (100, 50, ("--refits", "50", "--matched", "0"))
    assert load_of(30, n_bags=None).n_refits == 30  # there are no more rows


def test_bags_of_large_tables_are_capped_at_10000_rows():
    assert default_scheme(Subbagging(0.5), 20_000) == (Subbagging(0.5), False)
    assert default_scheme(Subbagging(0.5), 20_001) == (Subbagging(10_000), True)
    assert default_scheme(BernoulliSubbagging(0.5), 40_000) == (BernoulliSubbagging(10_000), True)
    assert default_scheme(ClassicalBagging(), 10**6) == (ClassicalBagging(20_000), True)
    load = load_of(30_000, limit=10**5)
    assert load.scheme == Subbagging(10_000)
    assert load.chosen[-2:] == ("--bag-size", "10000")
    assert "Above 20,000 rows, bags are capped at 10,000; --bag-size sets another size." in load.sentence
    load = load_of(30_000, limit=10**5, size_is_given=True)
    assert (load.scheme, "--bag-size" in load.chosen) == (Subbagging(0.5), False)


@pytest.mark.parametrize("power", [1, 2])
def test_long_fits_are_estimated_instead_of_timed(power):
    before = CLOCK[0]
    load = load_of(100_000, Clocked(power), limit=10.0)
    spent = CLOCK[0] - before
    assert spent <= 2 * 0.1**power + 2 * 0.4**power + 1.6**power  # of 1,000, 4,000 and 16,000 rows, but never of more
    assert load.bag_seconds == pytest.approx(1.0)
    assert load.refit_seconds == pytest.approx(10.0**power)


def test_sizes_at_which_the_learner_fails_are_skipped():
    load = load_of(8_000, Clocked(fewest=2_000), limit=600.0)
    assert load.bag_seconds == pytest.approx(0.4)
    load = load_of(4000, Clocked(fewest=10**6))  # the real fit says what is wrong
    assert (load.bag_seconds, load.n_bags, load.sentence) == (
        0.0,
        500,
        "500 bags of 2,000 rows, 200 refits of the base model and 10 of the bagged model.",
    )


def test_too_few_bags_raise_an_error_before_any_fit():
    with pytest.raises(
        ValueError, match=r"^With 2 bags of 2,000, about 1,000 of the 4,000 rows are in every bag, .* Use more"
    ):
        load_of(4000, n_bags=2)


def test_refits_count_for_more_of_the_work_than_bags():
    load = load_of(4000, limit=200, n_matched=3)
    bags, refits, matched = 500 * 0.2, 201 * 0.4, 2 * 3 * load.matched_seconds  # by two workers
    whole = bags + refits + matched
    assert [load.share(done) for done in (0, 250, 500, 501, 701, 703, 704, 999)] == pytest.approx(
        [
            0,
            bags / 2 / whole,
            bags / whole,
            (bags + 0.4) / whole,
            (bags + refits) / whole,
            1 - matched / 3 / whole,
            1,
            1,
        ]
    )
    assert load_of(4000, Clocked(fewest=10**6)).share(711) == 1.0


class Files(RowSource):
    """Rows that take three seconds to be read, whichever they are, and have room for ten bags."""

    n_features, bytes_per_row, n_samples, part_sizes = 1, 24.0, 100_000, (100_000,)
    max_memory = 10 * 10_000 * (24 + 16)

    def take(self, rows):
        CLOCK[0] += 3.0
        return np.zeros((len(rows), 1))

    def read(self, part, n_rows):
        raise AssertionError

    def targets(self):
        return np.zeros(self.n_samples)


def test_time_includes_reading_files():
    files = Files()
    load = workload(Clocked(), files, files.targets(), Subbagging(0.5), n_refits=0, jobs=2, limit=1e6)
    # A bag of 10,000 rows takes a second. All rows have room: what counts is the rows of bags, of 24 bytes each.
    assert (load.n_bags, load.pass_seconds, load.bag_seconds) == (500, 3.0, pytest.approx(1.0))
    assert load.n_passes == 1 + 30
    assert load.seconds == pytest.approx(1.15 * 500 / 2 + 31 * 3)
    assert "the files are read about 31 times, about 2 minutes in total" in load.sentence
    some = workload(Clocked(), files, files.targets(), Subbagging(0.5), n_refits=0, jobs=2, limit=load.seconds - 1)
    assert some.n_bags == 200


def test_bag_larger_than_memory_raises_an_error_with_the_memory_it_needs():
    files = Files()
    files.max_memory = 10_000 * (24 + 16) - 1
    with pytest.raises(ValueError, match=r"A bag of 10,000 rows takes about 1MB, .* --max-memory 1MB, or a smaller"):
        workload(Clocked(), files, files.targets(), Subbagging(0.5), n_refits=0)


def test_bag_of_large_groups_larger_than_memory_names_the_option():
    files = Files()
    bags = Bags([range(10), range(90_000)], n_samples=100_000)
    files.max_memory = 10**6
    sentence = r"Bag 1 has 90,000 rows, which do not fit into memory. Use --max-memory 4MB, or a smaller --b"
    with pytest.raises(ValueError, match=sentence), room_named():
        list(cuts(bags, files))


def test_timed_fits_use_the_solver_if_bags_do(monkeypatch):
    frame = pd.DataFrame({"a": np.arange(40.0), "b": ["x", "y"] * 20})
    columns = Columns.of(frame)
    X, learner = columns.read(frame), columns.pipeline(DecisionTreeRegressor())

    def clocked(kind, seconds):
        def fit(*given, fit=kind.fit):
            CLOCK[0] += seconds
            return fit(*given)

        monkeypatch.setattr(kind, "fit", fit)

    clocked(TreePipelines, 0.03)
    clocked(Pipeline, 7.0)
    known = ".".join(sklearn.__version__.split(".")[:2]) in TreePipelines.versions and library() is not None
    loads = [workload(learner, X, np.arange(40.0), Subbagging(0.5), jobs=2, limit=1e6)]
    monkeypatch.setattr(TreePipelines, "versions", ())
    loads.append(workload(learner, X, np.arange(40.0), Subbagging(0.5), jobs=2, limit=1e6))
    by_learner, by_solver = (7.0, 2), (0.03, 1)
    found = [(pytest.approx(load.refit_seconds), load.workers) for load in loads]
    assert found == [by_solver if known else by_learner, by_learner]
