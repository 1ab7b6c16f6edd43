"""Exact sums, means and variances of Dask's arrays and frames: the same bits for any chunking, cluster and order.

A chunk's result is its state in words (docs/words.md). States are added as arrays of int64 in a tree, and rounded once at
the end. Arrays take sum, mean, var, std, cumulative_sum and group_by; groupby(...).agg of frames takes aggregation(...).

SPDX-License-Identifier: Apache-2.0"""
import functools

import dask
import dask.array as da
import numpy as np

import tally


def _words(x, axis, keepdims, op, correction):
    return tally.Plan(op, x.dtype, exact=True, axis=axis, keepdims=True, correction=correction, words="out")(x)


def _added(parts, axis=None, keepdims=None):
    return functools.reduce(np.add, map(_added, parts)) if isinstance(parts, list) else parts


def _value(parts, axis, keepdims, op, correction, dtype):
    value = tally.Plan(op, dtype, exact=True, axis=0, correction=correction, words="in")(_added(parts)[None])
    return value if keepdims else value.squeeze(axis)


def _reduction(op, x, axis=None, keepdims=False, correction=0):
    dtype = getattr(tally, op)(np.ones(1, x.dtype), exact=True).dtype
    words, value = (functools.partial(part, op=op, correction=correction) for part in (_words, _value))
    return da.reduction(x, words, functools.partial(value, dtype=x.dtype), combine=_added, axis=axis, keepdims=keepdims,
                        dtype=dtype, concatenate=False, meta=np.empty((0,) * x.ndim, dtype))


sum, mean, var, std = (functools.partial(_reduction, op) for op in ("sum", "mean", "var", "std"))


class _After:
    """For tally the second of two ranks: the first has what comes before a chunk, of which there is the state."""
    rank, size = 1, 2

    def __init__(self, before):
        self.before = before.ravel()

    def exchange(self, kind, send, receive):
        if kind == "gather":
            receive[:] = memoryview(np.concatenate([self.before, np.asarray(send)]))


def cumulative_sum(x, axis=0):
    """Each result is rounded once, from the exact sum of all elements up to it."""
    x = da.moveaxis(x, axis, 0)
    dtype, before, made = tally.cumulative_sum(np.ones(1, x.dtype)).dtype, {}, np.empty(x.numblocks, object)
    for at, block in np.ndenumerate(x.to_delayed()):
        state, earlier = dask.delayed(_words)(block, 0, True, "sum", 0), before.get(at[1:])
        group = None if earlier is None else dask.delayed(_After)(earlier)
        scanned = dask.delayed(tally.cumulative_sum)(block, axis=0, exact=True, group=group)
        made[at] = da.from_delayed(scanned, x.blocks[at].shape, dtype)
        before[at[1:]] = state if earlier is None else earlier + state
    return da.moveaxis(da.block(made.tolist()), 0, axis)


def group_by(x, labels, groups, op="sum"):
    """The sum or mean of x's elements with label g, for each g below groups, of arrays of one dimension and equal chunks."""
    plan = dask.delayed(tally.Plan(op, x.dtype, exact=True, by="labels", index_dtype=labels.dtype, words="out"))
    states = [plan(part, labels=of, groups=groups) for part, of in zip(x.to_delayed(), labels.to_delayed())]
    while len(states) > 1:
        states = [dask.delayed(_added)(states[k:k + 8]) for k in range(0, len(states), 8)]
    value = dask.delayed(_value)(states[0], 0, True, op, 0, x.dtype)
    return da.from_delayed(value, (groups,), getattr(tally, op)(np.ones(1, x.dtype), exact=True).dtype)


def _accumulated(column, op):
    accumulator = tally.Accumulator(op, column.dtype)
    accumulator.add(column.to_numpy())
    return accumulator


def aggregation(op="sum"):
    """For frame.groupby(keys)[column].agg(...); op: any exact accumulator's."""
    from dask.dataframe import Aggregation
    merged = functools.partial(functools.reduce, tally.Accumulator.__add__)
    return Aggregation(f"exact_{op}", lambda grouped: grouped.apply(_accumulated, op), lambda grouped: grouped.apply(merged),
                       lambda column: column.map(tally.Accumulator.value))
