"""Exact aggregates of Dask's frames: a partition sends an accumulator for each group. SPDX-License-Identifier: Apache-2.0"""
import functools

import tally


def aggregation(op="sum"):
    """For frame.groupby(keys)[column].agg(...); op: any exact accumulator's."""
    from dask.dataframe import Aggregation

    def accumulated(column):
        accumulator = tally.Accumulator(op, column.dtype)
        accumulator.add(column.to_numpy())
        return accumulator

    merged = functools.partial(functools.reduce, tally.Accumulator.__add__)
    return Aggregation(f"exact_{op}", lambda grouped: grouped.apply(accumulated), lambda grouped: grouped.apply(merged),
                       lambda column: column.map(tally.Accumulator.value))
