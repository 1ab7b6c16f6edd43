"""Builds the extension of exact_sum.c, and loads it into a connection of DuckDB.

    python3 load.py HEADERS [FOLDER]      HEADERS: a folder with duckdb.h and duckdb_extension.h: duckdb_capi of
    github.com/duckdb/extension-template-c, or src/include of DuckDB's sources

SPDX-License-Identifier: Apache-2.0"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SINGLE = os.path.join(HERE, "..", "..", "single")
INTERFACE = "v1.2.0" # of duckdb_extension.h, the first that has aggregates


def build(headers, folder, platform):
    """The path of exact_sum.duckdb_extension: a shared object that ends with what DuckDB wants to know of it."""
    path = os.path.join(folder, "exact_sum.duckdb_extension")
    subprocess.run([os.environ.get("CC", "cc"), "-O2", "-fPIC", "-shared", "-I", headers, "-I", SINGLE, os.path.join(HERE, "exact_sum.c"),
                    os.path.join(SINGLE, "tally_exact.c"), "-o", path], check=True)
    fields = ["", "", "", "C_STRUCT", "v0.1.0", INTERFACE, platform, "4"]
    with open(path, "ab") as file:
        file.write(b"\0\x93\x04\x10duckdb_signature\x80\x04") # a section's head, as WebAssembly has it
        file.write(b"".join(field.encode().ljust(32, b"\0") for field in fields) + bytes(256))
    return path


def connect(headers, folder, **config):
    import duckdb
    connection = duckdb.connect(config={"allow_unsigned_extensions": "true", **config})
    platform = connection.execute("PRAGMA platform").fetchone()[0]
    connection.execute(f"LOAD '{build(headers, folder, platform)}'")
    return connection


if __name__ == "__main__":
    with connect(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ".") as opened:
        print(opened.sql("SELECT exact_sum(x), exact_mean(x), sum(x) FROM (VALUES (1e16), (1.0), (-1e16)) t(x)"))
