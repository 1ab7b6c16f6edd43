"""tally.spark on a local cluster: the same bits for any partitions."""
import os
import sys

import numpy as np
import pandas
import pytest
from pyspark.sql import SparkSession

import tally
import tally.spark


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    session = SparkSession.builder.master("local[2]").config("spark.ui.enabled", False).config(
        "spark.sql.shuffle.partitions", 3).getOrCreate()
    yield session
    session.stop()


@pytest.mark.parametrize("op", ["sum", "mean", "var"])
def test_any_partitions_give_the_same_bits(spark, op):
    random = np.random.default_rng(1)
    x, key = random.standard_normal(3000) * 10.0 ** random.integers(-50, 50, 3000), random.integers(0, 7, 3000)
    frame = spark.createDataFrame(pandas.DataFrame({"key": key, "other": key % 2, "x": x}))
    expected = [getattr(tally, op)(x[key == k], exact=True) for k in range(7)]
    for partitions in (1, 5):
        rows = tally.spark.aggregate(frame.repartition(partitions), ["key", "other"], "x", op).orderBy("key").collect()
        assert [(row["key"], row["other"]) for row in rows] == [(k, k % 2) for k in range(7)]
        assert [row["x"] for row in rows] == expected


def test_nulls_and_other_types(spark):
    frame = spark.createDataFrame([("a", 1), ("a", None), ("b", 5), (None, 7)], "key string, x int")
    rows = tally.spark.aggregate(frame, ["key"], "x").collect()
    assert {row["key"]: row["x"] for row in rows} == {"a": 1.0, "b": 5.0, None: 7.0}
