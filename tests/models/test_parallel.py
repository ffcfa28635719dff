import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from contextlib import closing

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_info

from learners import FailsOn, RowRecorder, Sleeper, UnpicklableError
from marks import posix_only
from stablebag import BaggedRegressor, FunctionRegressor, Subbagging, leave_one_out_refit
from stablebag._seeds import Seeds
from stablebag.measuring import stability_test
from stablebag.models.fitting import fit_and_predict_bags, fit_bags
from stablebag.models.parallel import BagError, Pace, n_workers, results
from stablebag.models.solving import FitJob

pytestmark = pytest.mark.slow


@pytest.fixture
def data():
    return np.arange(60.0).reshape(30, 2), np.random.default_rng(0).normal(size=30)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize(("error", "kind"), [
    (RuntimeError, RuntimeError), (TypeError, TypeError), (KeyError, RuntimeError), (UnpicklableError, RuntimeError),
])  # fmt: skip
def test_error_in_a_bag_has_the_type_of_its_cause_or_is_a_runtime_error(error, kind, n_jobs):
    X = np.arange(10.0)[:, None]
    with pytest.raises(kind, match=r"FailsOn failed to fit on bag .*boom"):
        BaggedRegressor(FailsOn(3, error), n_bags=60, n_jobs=n_jobs, random_state=0).fit(X, X.ravel())


def test_every_bag_is_fitted_by_one_thread_of_blas():
    def threads(X, y, seed):
        return lambda points: np.full(len(points), max(pool["num_threads"] for pool in threadpool_info()))

    X = np.zeros((10, 1))
    for n_jobs in (1, 2):
        model = BaggedRegressor(FunctionRegressor(threads), n_bags=4, prediction_range=None, n_jobs=n_jobs)
        assert (model.fit(X, X.ravel()).predict(X) == 1).all()


INTERRUPTED = """
import sys
import numpy as np
sys.path.insert(0, {tests!r})
from learners import Sleeper
from stablebag import BaggedRegressor
X = np.zeros((20, 1))
print("fitting", flush=True)
try:
    BaggedRegressor(Sleeper({folder!r}), n_bags=10_000, n_jobs={n_jobs}).fit(X, X.ravel())
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@posix_only
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt_stops_quickly_and_leaves_no_workers(n_jobs, tmp_path):
    code = INTERRUPTED.format(tests=os.path.dirname(os.path.dirname(__file__)), folder=str(tmp_path), n_jobs=n_jobs)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        while len(list(tmp_path.iterdir())) < n_jobs:  # until the workers are at work
            time.sleep(0.05)
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert "interrupted" in output
    for name in tmp_path.iterdir():
        with pytest.raises(ProcessLookupError):
            os.kill(int(name.name), 0)


def test_overlapping_threads_restore_the_number_of_threads(data):
    X, y = data
    before = [pool["num_threads"] for pool in threadpool_info()]
    models = [BaggedRegressor(n_bags=n_bags, random_state=0) for n_bags in (20, 60, 40)]
    threads = [threading.Thread(target=model.fit, args=(X, y)) for model in models]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [pool["num_threads"] for pool in threadpool_info()] == before
    bags, seeds = Subbagging(0.5).resolve(30).draw(5, 0), Seeds(0).learner_seeds(0, 5)
    stream = fit_and_predict_bags(FitJob(RowRecorder(), X, y, bags, seeds), X)
    next(stream)
    assert [pool["num_threads"] for pool in threadpool_info()] == before  # also between two predictions


@pytest.mark.filterwarnings("ignore:.*have been cancelled")  # warning filters are not safe among threads
def test_cancelled_threads_stop(data, tmp_path):
    X, y = data
    bags, seeds = Subbagging(0.5).resolve(30).draw(2000, random_state=0), Seeds(0).learner_seeds(0, 2000)

    job = FitJob(Sleeper(str(tmp_path), 0.001), X, y, bags, seeds)
    with joblib.parallel_config(backend="threading"), closing(fit_bags(job, n_jobs=2)) as fitting:
        next(fitting)
    time.sleep(0.3)
    fitted = sum(len(file.read_text()) for file in tmp_path.iterdir())
    time.sleep(0.5)
    assert sum(len(file.read_text()) for file in tmp_path.iterdir()) == fitted < 2000


def test_batches_have_one_bag_until_the_time_per_bag_is_known():
    pace = Pace(workers=2)
    batches = pace.batches(10)
    assert [next(batches), next(batches)] == [(0, 1), (1, 2)]
    pace.learn(1, seconds=0.125)  # four take half a second, but then one worker would have nothing left at the end
    assert list(batches) == [(2, 4), (4, 6), (6, 7), (7, 8), (8, 9), (9, 10)]


def test_batches_take_about_half_a_second():
    pace = Pace(workers=2)
    pace.learn(5, seconds=0.5)
    sizes = [stop - first for first, stop in pace.batches(1000)]
    assert sum(sizes) == 1000
    assert max(sizes) == sizes[0] == 5
    assert sizes[-1] == 1


def test_learners_that_share_state_get_one_thread():
    assert n_workers(3) == n_workers(3, beside_others=False) == n_workers(3, threads=True) == 3
    assert n_workers(3, threads=True, beside_others=False) == 1
    with joblib.parallel_config(backend="threading"):
        assert (n_workers(3), n_workers(3, beside_others=False)) == (3, 1)


def test_bag_error_has_the_text_of_errors_that_cannot_be_pickled():
    class LocalError(Exception):
        """Has a name that another process does not know."""

    error = pickle.loads(pickle.dumps(BagError.of(7, "fit", ValueError("boom"), " (2 rows)")))
    assert (error.number, error.doing, type(error.cause)) == (7, "fit", ValueError)
    assert str(error.explained("Ridge failed on")) == "Ridge failed on bag 7 (2 rows): ValueError: boom"
    told = BagError.of(7, "fit", LocalError("boom"))
    assert type(told.cause) is RuntimeError
    assert str(told.cause) == "LocalError: boom"


def test_results_come_in_order_up_to_the_first_error():
    def squares(first):
        for number in range(first, first + 3):
            if number == 7:
                raise BagError.of(7, "count", ZeroDivisionError("seven"))
            yield number**2

    with results(squares, [(0,), (3,)], n_jobs=2, require="sharedmem") as found:
        assert list(found) == [0, 1, 4, 9, 16, 25]
    seen = []
    with pytest.raises(BagError), results(squares, [(0,), (6,), (9,)], n_jobs=2, require="sharedmem") as found:
        seen.extend(found)  # which keeps what came before the error
    assert seen == [0, 1, 4, 36]


@pytest.mark.parametrize("wrong", [0, "a", 1.5, True, [2]])
def test_bad_n_jobs_raises_before_any_fit(data, wrong):
    X, y = data
    sentence = r"The 'n_jobs' parameter of {} must be None or an integer other than 0\. Got .*: use 1, or -1 for all"
    with pytest.raises((TypeError, ValueError), match=sentence.format("BaggedRegressor")):
        BaggedRegressor(n_bags=2, n_jobs=wrong).fit(X, y)
    with pytest.raises((TypeError, ValueError), match=sentence.format("leave_one_out_refit")):
        leave_one_out_refit(LinearRegression(), X, y, X[:1], n_jobs=wrong)
    with pytest.raises((TypeError, ValueError), match=sentence.format("stability_test")):
        stability_test(LinearRegression(), X, y, n_samples=5, n_jobs=wrong, epsilon=1.0, delta=0.1)


def test_at_most_two_workers_per_processor_are_started(data, tmp_path):
    X, y = data
    most = 2 * joblib.cpu_count()
    assert n_workers(10**9) == most
    assert n_workers(-1) == joblib.cpu_count()
    assert n_workers(-(10**9)) == 1
    with joblib.parallel_config(backend="threading", n_jobs=10**6):
        assert n_workers(None) == most
        model = BaggedRegressor(FunctionRegressor(_number_of_threads), n_bags=50, prediction_range=None)
        assert model.fit(X, y).predict(X).max() < most + 20


def _number_of_threads(X, y, seed):
    number = threading.active_count()
    return lambda points: np.full(len(points), number)


def _until(true, process):
    """Wait for workers; a process that ends before is an error."""
    while not true():
        time.sleep(0.05)
        assert process.poll() is None


def _is_alive(number):
    try:
        with open(f"/proc/{number}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL"])  # Windows has no SIGKILL
def test_workers_end_with_their_parent_process(name, tmp_path):
    number = getattr(signal, name)
    code = INTERRUPTED.format(tests=os.path.dirname(os.path.dirname(__file__)), folder=str(tmp_path), n_jobs=2)
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL) as process:
        _until(lambda: len(list(tmp_path.iterdir())) == 2, process)
        process.send_signal(number)
        assert process.wait(timeout=60) == -number
    workers = [int(name.name) for name in tmp_path.iterdir()]
    for _ in range(200):
        if not any(map(_is_alive, workers)):
            return
        time.sleep(0.1)
    pytest.fail("workers live on")


@posix_only
def test_killed_worker_raises_an_error_with_the_likely_cause(tmp_path):
    code = INTERRUPTED.format(tests=os.path.dirname(os.path.dirname(__file__)), folder=str(tmp_path), n_jobs=2)
    code += "except RuntimeError as error:\n    print(error)\n"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        _until(lambda: len(list(tmp_path.iterdir())) == 2, process)
        os.kill(int(next(tmp_path.iterdir()).name), signal.SIGKILL)
        output, _ = process.communicate(timeout=60)
    assert output.splitlines()[1].startswith("A worker process crashed or was killed, most often because")
    assert "memory ran out. Use fewer jobs (n_jobs=1 or --jobs 1)" in output


def test_learners_that_hash_strings_are_reproducible_with_a_fixed_hash_seed():
    code = (
        "import numpy as np\n"
        "from stablebag import BaggedRegressor, FunctionRegressor\n"
        "def hashed(X, y, seed):\n"
        "    drawn = hash('text') % 1000 / 1000\n"
        "    return lambda points: np.full(len(points), drawn)\n"
        "X = np.arange(20.0)[:, None]\n"
        "for n_jobs in (1, 2):\n"
        "    model = BaggedRegressor(FunctionRegressor(hashed), n_bags=4, n_jobs=n_jobs, random_state=0)\n"
        "    model.set_params(prediction_range=None)\n"
        "    print(repr(model.fit(X, X.ravel()).predict(X[:1])))\n"
    )
    seeded = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], env=seeded, capture_output=True, text=True, check=True)
    alone, workers = done.stdout.splitlines()
    assert alone == workers
