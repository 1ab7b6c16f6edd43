"""tally.arrow: lists of DuckDB and Polars, with NULLs, against tally's own segments."""
import duckdb
import numpy as np
import polars
import pyarrow
import pytest

import tally
import tally.arrow


def drawn(n, groups):
    random = np.random.default_rng(1)
    return random.standard_normal(n) * 10.0 ** random.integers(-99, 99, n), random.integers(0, groups, n)


@pytest.mark.parametrize("threads", [1, 4])
def test_duckdb(threads):
    x, key = drawn(20000, 30)
    numbers = pyarrow.table({"x": x, "key": key}) # noqa: F841 (DuckDB finds it by its name)
    with duckdb.connect(config={"threads": threads}) as connection:
        tally.arrow.register(connection)
        rows = connection.sql("SELECT key, exact_sum(list(x)), exact_mean(list(x)) FROM numbers GROUP BY key ORDER BY key").fetchall()
    assert [row[0] for row in rows] == list(range(30))
    assert [row[1] for row in rows] == tally.sum(x, labels=key, exact=True).tolist()
    assert [row[2] for row in rows] == tally.mean(x, labels=key, exact=True).tolist()


def test_nulls_in_sql():
    with duckdb.connect() as connection:
        tally.arrow.register(connection)
        rows = connection.sql("SELECT exact_sum(list(x)) FROM (VALUES (1, 1e16), (1, 1.0), (1, NULL), (1, -1e16), (2, NULL)) t(k, x) "
                              "GROUP BY k ORDER BY k").fetchall()
        assert rows == [(1.0,), (None,)]
        assert connection.sql("SELECT exact_sum(NULL::DOUBLE[]), exact_sum([])").fetchall() == [(None, None)]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_polars(dtype):
    x, key = drawn(20000, 30)
    with np.errstate(over="ignore"):
        x = (x if dtype == "f8" else x.clip(-1e30, 1e30)).astype(dtype)
    frame = polars.DataFrame({"x": x, "key": key})
    got = frame.group_by("key").agg("x").with_columns(tally.arrow.column("x")).sort("key")
    assert got["x"].to_numpy().tobytes() == tally.sum(x, labels=key, exact=True).tobytes()


def test_slices_and_chunks():
    column = pyarrow.array([[1.0, 2.0], None, [], [None, 4.0], [8.0]])
    chunked = pyarrow.chunked_array([column, column.slice(1, 3), column.slice(4)])
    assert tally.arrow.lists(tally.sum, chunked).to_pylist() == [3.0, None, None, 4.0, 8.0, None, None, 4.0, 8.0]
    assert tally.arrow.lists(tally.mean, column.slice(3)).to_pylist() == [4.0, 8.0]
