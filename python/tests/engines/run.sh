#!/bin/sh
# Runs the engines' tests in a virtual environment with Dask, DuckDB, Polars and Spark from PyPI, which is made once. What
# is missing is a failure: Python's module venv, PyPI, and Java for Spark.
# usage: run.sh PACKAGE ENVIRONMENT [PYTEST_ARGUMENT...]     PACKAGE: the folder that has the package tally
set -eu
package=$1 environment=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
command -v java >/dev/null 2>&1 || {
    echo "Spark needs Java; on Debian: apt-get install default-jre-headless" >&2
    exit 1
}
if ! cmp -s "$here/requirements.txt" "$environment/installed.txt"; then
    python3 -m venv --clear "$environment" && "$environment/bin/pip" install -q -r "$here/requirements.txt" || {
        echo "the engines could not be installed from PyPI, see above; on Debian the module venv is python3-venv" >&2
        exit 1
    }
    cp "$here/requirements.txt" "$environment/installed.txt"
fi
# DuckDB's C interface is in the sources of its Python package, and not in what is installed of it.
headers=$environment/duckdb_headers
if [ ! -f "$headers/duckdb_extension.h" ]; then
    version=$("$environment/bin/python" -c 'import duckdb; print(duckdb.__version__)')
    "$environment/bin/pip" download -q --no-deps --no-binary duckdb -d "$headers" "duckdb==$version"
    tar -xf "$headers/duckdb-$version.tar.gz" -C "$headers" --wildcards --transform 's|.*/||' '*/src/include/duckdb.h' \
        '*/src/include/duckdb_extension.h'
    rm "$headers/duckdb-$version.tar.gz"
fi
export TALLY_DUCKDB_HEADERS="$headers" TALLY_REQUIRE="${TALLY_REQUIRE:-},duckdb_headers"
PYTHONPATH=$package PYTHONDONTWRITEBYTECODE=1 exec "$environment/bin/python" -m pytest -q -p no:cacheprovider "$here" "$@"
