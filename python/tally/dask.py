"""Exact sums, means and variances of Dask's arrays and frames: the same bits for any chunking, cluster and order. A chunk's
state in words (docs/words.md) is an array of int64, which Dask adds up; the sum is rounded once. Arrays take sum, mean, var,
std, cumulative_sum and group_by; groupby(...).agg of frames takes aggregation(...). SPDX-License-Identifier: Apache-2.0"""
import functools
from types import SimpleNamespace

import dask.array as da
import numpy as np

import tally
from tally.dask_frames import aggregation # noqa: F401


def _states(plan, chunks, *arrays):
    """A state for each of the arrays' chunks, of which 'plan' makes them; chunks: those of the states but for the words."""
    meta = plan(*(np.empty((0,) * one.ndim, one.dtype) for one in arrays))
    return da.map_blocks(plan, *arrays, chunks=(*chunks, meta.shape[-1:]), new_axis=range(arrays[0].ndim, meta.ndim), meta=meta)


def _along(op, x, axes, correction=0):
    plan = tally.Plan(op, x.dtype, exact=True, axis=axes, keepdims=True, correction=correction, words="out")
    return _states(plan, [(1,) * len(of) if d in axes else of for d, of in enumerate(x.chunks)], x)


def _rounded(states, op, dtype, correction=0):
    plan = tally.Plan(op, dtype, exact=True, axis=0, correction=correction, words="in")
    meta = np.empty((0,) * (states.ndim - 1), getattr(tally, op)(np.ones(1, dtype), exact=True).dtype)
    return states.map_blocks(lambda words: plan(words[None]), drop_axis=states.ndim - 1, meta=meta)


def _reduction(op, x, axis=None, keepdims=False, correction=0):
    axes = tuple(range(x.ndim) if axis is None else (range(x.ndim)[d] for d in np.atleast_1d(axis)))
    return _rounded(_along(op, x, axes, correction).sum(axes, keepdims=keepdims), op, x.dtype, correction)


sum, mean, var, std = (functools.partial(_reduction, op) for op in ("sum", "mean", "var", "std"))


def cumulative_sum(x, axis=0):
    """Each result is rounded once, from the exact sum of all elements up to it."""
    axis, dims = range(x.ndim)[axis], tuple(range(x.ndim))
    states = _along("sum", x, (axis,))
    before = da.cumsum(states, axis) - states # of chunks, whose numbers of elements differ from those of x

    def scan(chunk, state): # for tally the second of two ranks: the first has what comes before the chunk
        def exchange(kind, send, receive):
            if kind == "gather":
                receive[:] = memoryview(np.concatenate([state.ravel(), send]))
        return tally.cumulative_sum(chunk, axis=axis, exact=True, group=SimpleNamespace(rank=1, size=2, exchange=exchange))
    return da.blockwise(scan, dims, x, dims, before, (*dims, x.ndim), align_arrays=False, concatenate=True,
                        meta=tally.cumulative_sum(np.empty((0,) * x.ndim, x.dtype), axis=axis))


def group_by(x, labels, groups, op="sum"):
    """The sum or mean of x's elements with label g, for each g below groups, of arrays of one dimension."""
    plan = tally.Plan(op, x.dtype, exact=True, by="labels", index_dtype=labels.dtype, words="out")
    states = _states(lambda x, labels: plan(x, labels=labels, groups=groups)[None], [(1,) * x.npartitions, (groups,)],
                     x, labels.rechunk(x.chunks))
    return _rounded(states.sum(0), op, x.dtype)
