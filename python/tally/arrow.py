"""Exact sums and means of lists in Arrow's layout, which DuckDB and Polars make of groups: values and offsets, in place.

    tally.arrow.register(connection)                            # a connection of DuckDB
    connection.sql("SELECT key, exact_sum(list(x)) FROM t GROUP BY key")

    frame.group_by("key").agg("x").with_columns(tally.arrow.column("x"))       # Polars

The lists may have any floats. NULLs are left out; lists without values give NULL. The bits are those of tally.sum and
tally.mean with exact=True, whatever the order, the threads and the cut of the data.

SPDX-License-Identifier: Apache-2.0"""
import functools

import numpy as np
import pyarrow

import tally


def lists(operation, column):
    """An Arrow array of results for one of lists; operation: tally.sum or tally.mean."""
    chunks = column.chunks if isinstance(column, pyarrow.ChunkedArray) else [column]
    return pyarrow.concat_arrays([_of_array(operation, chunk) for chunk in chunks])


def _of_array(operation, column):
    values, offsets = column.values, column.offsets.to_numpy()
    if values.null_count: # what is left closes up
        kept = values.is_valid().to_numpy(zero_copy_only=False)
        values, offsets = values.drop_null(), np.concatenate([[0], np.cumsum(kept)])[offsets].astype(offsets.dtype)
    results = operation(values.to_numpy(), offsets=offsets, exact=True)
    return pyarrow.array(results, mask=(np.diff(offsets) == 0) | column.is_null().to_numpy(zero_copy_only=False))


def register(connection, type="DOUBLE"):
    """Adds exact_sum and exact_mean, of lists, to a connection of DuckDB."""
    for name, operation in (("exact_sum", tally.sum), ("exact_mean", tally.mean)):
        connection.create_function(name, functools.partial(lists, operation), [f"{type}[]"], type, type="arrow",
                                   null_handling="special")


def column(name, operation=tally.sum):
    """An expression of Polars: the results of a column of lists."""
    import polars
    return polars.col(name).map_batches(lambda series: polars.Series(lists(operation, series.to_arrow())))
