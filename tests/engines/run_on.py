"""Fits models on an engine that is really started, and prints as JSON whether they are those of one process.

Started by test_engines.py in a process of its own: ``python run_on.py ENGINE``.
"""

import json
import os
import pickle
import sys
import warnings
from contextlib import contextmanager

import joblib
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from stablebag import BaggedClassifier, BaggedRegressor, BernoulliSubbagging, FunctionRegressor, leave_one_out_refit
from stablebag.measuring.leave_one_out import leave_one_out


@contextmanager
def dask():
    """Two worker processes of dask.distributed, of which none may die."""
    import dask as settings
    from distributed import Client, LocalCluster

    settings.config.set({"distributed.scheduler.allowed-failures": 0})
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster):
        yield


@contextmanager
def ray():
    """Two processors of ray."""
    import ray as engine
    from ray.util.joblib import register_ray

    engine.init(num_cpus=2, include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    register_ray()
    try:
        yield
    finally:
        engine.shutdown()


@contextmanager
def spark():
    """Two threads of Spark, each with a process of Python."""
    from joblibspark import register_spark
    from pyspark.sql import SparkSession

    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}
    session = SparkSession.builder.master("local[2]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    register_spark()
    try:
        yield
    finally:
        session.stop()


ENGINES = {"dask": dask, "ray": ray, "spark": spark}


def tables():
    """A table of numbers, and one of numbers and categories, with the target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)).round(1)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(site=rng.choice(["north", "south", "west"], 60))
    return X, frame, X @ [1, -2, 0, 1] + rng.normal(size=60)


def fails(X, y, points):
    """A learner that refuses the seventh row."""
    if (y == refused).any():
        raise ValueError("this target is refused")
    return np.zeros(len(points))


def found(n_jobs):
    """What is fitted, by name: numbers and sentences that must not hang on where it was fitted."""
    X, frame, y = tables()
    points, classes = X[:10], np.where(y > 0, "up", "down")
    few = {"n_bags": 12, "random_state": 0, "n_jobs": n_jobs}
    reader = make_column_transformer(
        (StandardScaler(), list("abcd")), (OneHotEncoder(handle_unknown="ignore"), ["site"])
    )
    weights = np.linspace(1, 2, len(y))
    tree = BaggedRegressor(DecisionTreeRegressor(), **few).fit(X, y)
    told = ""
    try:
        BaggedRegressor(FunctionRegressor(fails), **few).fit(X, y)
    except ValueError as error:
        told = str(error)
    streamed = leave_one_out(BaggedRegressor(SVR(), **few), points, X_train=X, y_train=y)
    return {
        "trees of a solver": tree.predict(points),
        "the trees themselves": np.concatenate([model.tree_.threshold for model in tree.estimators_]),
        "a learner without a solver, with weights": BaggedRegressor(SVR(), **few)
        .fit(X, y, sample_weight=weights)
        .predict(points),
        "a pipeline on a frame": BaggedRegressor(make_pipeline(reader, Ridge()), **few)
        .fit(frame, y)
        .predict(frame[:10]),
        "classes of patients": BaggedClassifier(DecisionTreeClassifier(max_depth=2), **few)
        .fit(X, classes, groups=np.arange(60) // 3)
        .predict_proba(points),
        "bags that may be empty": BaggedRegressor(SVR(), scheme=BernoulliSubbagging(0.03), **few)
        .fit(X, y)
        .predict(points),
        "neighbours, which refer to rows by their positions": BaggedRegressor(KNeighborsRegressor(1), **few)
        .fit(X, y)
        .predict(points),
        "streamed": streamed.prediction,
        "refits": leave_one_out_refit(SVR(), X, y, points, rows=[0, 7], n_jobs=n_jobs, random_state=0).values,
        "an error": np.frombuffer(told.encode(), np.uint8),
    }


def dies(X, y, points):
    """A learner that takes its process with it, if that is a worker."""
    if os.getpid() != caller:
        os._exit(1)
    return np.zeros(len(points))


def told_of_a_death():
    """Whether an error says which worker is gone, and nothing half-fitted remains."""
    X, _, y = tables()
    model = BaggedRegressor(FunctionRegressor(dies), n_bags=12, random_state=0, n_jobs=2)
    try:
        model.fit(X, y)
    except RuntimeError as error:
        said = str(error).startswith("A worker process crashed or was killed (") and "tcp://" in str(error)
        return said and not hasattr(model, "estimators_") and not hasattr(model, "bags_")
    return False


refused, caller = tables()[2][7], os.getpid()

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    here = found(n_jobs=1)
    with ENGINES[sys.argv[1]](), joblib.parallel_config(backend=sys.argv[1]):
        there = found(n_jobs=2)
        more = {"a worker that died": told_of_a_death()} if sys.argv[1] == "dask" else {}
    assert b"refused" in here["an error"].tobytes()
    print(json.dumps({name: pickle.dumps(here[name]) == pickle.dumps(there[name]) for name in here} | more))
