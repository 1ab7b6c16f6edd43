"""examples/duckdb: aggregates by DuckDB's C interface. TALLY_DUCKDB_HEADERS names a folder with duckdb_extension.h, which
run.sh takes from PyPI; TALLY_REQUIRE=duckdb_headers makes it a failure that there is none."""
import os
import sys

import numpy as np
import pyarrow
import pytest

import tally

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "examples", "duckdb"))
import load # noqa: E402


@pytest.fixture(params=[1, 4])
def connection(request, tmp_path):
    headers = os.environ.get("TALLY_DUCKDB_HEADERS")
    if not headers:
        assert "duckdb_headers" not in os.environ.get("TALLY_REQUIRE", "").split(",")
        pytest.skip("TALLY_DUCKDB_HEADERS names no folder with duckdb_extension.h")
    with load.connect(headers, tmp_path, threads=request.param) as made:
        yield made


def test_groups_of_any_size(connection):
    random = np.random.default_rng(1)
    for n, groups in [(0, 1), (10, 3), (300000, 7), (300000, 3000)]:
        x, key = random.standard_normal(n) * 10.0 ** random.integers(-150, 150, n), random.integers(0, groups, n)
        numbers = pyarrow.table({"x": x, "key": key}) # noqa: F841 (DuckDB finds it by its name)
        rows = connection.execute("SELECT key, exact_sum(x), exact_mean(x) FROM numbers GROUP BY key ORDER BY key").fetchall()
        present = np.unique(key)
        assert [row[0] for row in rows] == present.tolist()
        assert [row[1] for row in rows] == tally.sum(x, labels=key, groups=groups, exact=True)[present].tolist()
        assert [row[2] for row in rows] == tally.mean(x, labels=key, groups=groups, exact=True)[present].tolist()
        total = connection.execute("SELECT exact_sum(x) FROM numbers").fetchone()[0]
        assert total == (tally.sum(x, exact=True) if n else None)


def test_nulls(connection):
    rows = connection.execute("SELECT exact_sum(x), exact_mean(x) FROM (VALUES (1, 1e16), (1, 1.0), (1, NULL), (1, -1e16), (2, NULL)) "
                              "t(k, x) GROUP BY k ORDER BY k").fetchall()
    assert rows == [(1.0, 1 / 3), (None, None)]


def test_windows(connection):
    rows = connection.execute("SELECT exact_sum(x) OVER (ORDER BY i ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) "
                              "FROM (VALUES (1, 1e16), (2, 1.0), (3, -1e16), (4, 3.0)) t(i, x) ORDER BY i").fetchall()
    assert rows == [(1e16,), (1e16 + 1,), (1 - 1e16,), (3 - 1e16,)] # two summands: the processor rounds once, too
