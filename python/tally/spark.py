"""Exact sums, means and the like of Spark's frames, by group: partitions send accumulators, not elements.

    tally.spark.aggregate(frame, ["key"], "x", op="mean").show()

Each partition adds its elements to an accumulator for each group, which travels as bytes; a pandas UDF merges those of a
group. The bits are the same for any partitions and order.

SPDX-License-Identifier: Apache-2.0"""
import pickle

from pyspark.sql import functions
from pyspark.sql.types import BinaryType, StructField, StructType

import tally


def _partial(op):
    def partial(frames):
        import pandas
        states = {}
        for frame in frames:
            for key, group in frame.groupby(list(frame.columns[:-1]), dropna=False):
                x = group.iloc[:, -1].dropna().to_numpy(dtype="float64")
                states.setdefault(key, tally.Accumulator(op)).add(x)
        if states:
            yield pandas.DataFrame([(*key, pickle.dumps(state)) for key, state in states.items()])
    return partial


def _merge(op):
    def merge(states) -> float:
        total = tally.Accumulator(op)
        for state in states:
            total += pickle.loads(state)
        return total.value()
    return merge


def aggregate(frame, keys, column, op="sum"):
    """A frame of the keys and, under the column's name, the exact result of op, an operator that accumulators take exactly.
    NULLs and NaNs are left out."""
    chosen = frame.select(*keys, functions.col(column).cast("double").alias(column))
    schema = StructType([chosen.schema[key] for key in keys] + [StructField(column, BinaryType())])
    import pandas
    merge = _merge(op)
    merge.__annotations__ = {"states": pandas.Series, "return": float}
    return chosen.mapInPandas(_partial(op), schema).groupBy(*keys).agg(
        functions.pandas_udf(merge, "double")(column).alias(column))
