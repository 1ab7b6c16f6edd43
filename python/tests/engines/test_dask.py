"""tally.dask on a cluster of processes: the bits of one exact sum for any chunking."""
import dask
import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas
import pytest

import tally
import tally.dask


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=3, threads_per_worker=2, processes=True, dashboard_address=None) as local, \
            distributed.Client(local):
        yield


def drawn(shape, dtype="f8"):
    random = np.random.default_rng(1)
    return (random.standard_normal(shape) * 10.0 ** random.integers(-15, 15, shape)).astype(dtype)


@pytest.mark.parametrize("op, options", [("sum", {}), ("mean", {}), ("var", {"correction": 1}), ("std", {})])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_any_chunking_gives_the_same_bits(cluster, op, options, axis):
    for x in (drawn((60, 50)), drawn((60, 50), "f4")):
        expected = getattr(tally, op)(x, axis=axis, exact=True, **options)
        for chunks, keepdims in [((60, 50), False), ((7, 50), True), ((11, 13), False), ((30, 5), True)]:
            lazy = getattr(tally.dask, op)(da.from_array(x, chunks), axis=axis, keepdims=keepdims, **options)
            got = lazy.compute()
            assert got.tobytes() == expected.tobytes() and got.dtype == lazy.dtype and got.shape == lazy.shape


def test_splits_of_the_tree(cluster):
    x = drawn(10000)
    for chunk in (10000, 999, 101):
        with dask.config.set(split_every=2):
            assert tally.dask.sum(da.from_array(x, chunk)).compute() == tally.sum(x, exact=True)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_cumulative_sums_go_on_from_chunk_to_chunk(cluster, dtype):
    for shape, axis, chunks in [((1000,), 0, 137), ((40, 30), 0, (7, 30)), ((40, 30), 1, (9, 11)), ((9, 8, 7), 1, (4, 3, 7))]:
        x = drawn(shape, dtype) if dtype != "i4" else np.random.default_rng(2).integers(-9, 9, shape).astype(dtype)
        lazy = tally.dask.cumulative_sum(da.from_array(x, chunks), axis)
        expected = tally.cumulative_sum(x, axis=axis, exact=True)
        got = lazy.compute()
        assert got.tobytes() == expected.tobytes() and got.dtype == lazy.dtype


@pytest.mark.parametrize("op", ["sum", "mean"])
def test_groups(cluster, op):
    x, labels = drawn(3000), np.random.default_rng(3).integers(0, 20, 3000)
    expected = getattr(tally, op)(x, labels=labels, groups=20, exact=True)
    for chunk in (3000, 100, 77):
        assert tally.dask.group_by(da.from_array(x, chunk), da.from_array(labels, 300), 20, op).compute().tobytes() == expected.tobytes()


@pytest.mark.parametrize("op", ["sum", "mean", "norm1"])
def test_frames(cluster, op):
    x, keys = drawn(3000), np.random.default_rng(4).integers(0, 9, 3000)
    expected = getattr(tally, op)(x, labels=keys, exact=True)
    for partitions in (1, 7):
        frame = dd.from_pandas(pandas.DataFrame({"x": x, "key": keys}), npartitions=partitions)
        got = frame.groupby("key")["x"].agg(tally.dask.aggregation(op)).compute().sort_index()
        assert got.to_numpy(dtype="f8").tobytes() == expected.tobytes()
