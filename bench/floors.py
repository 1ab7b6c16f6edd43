"""The project's floors for the rows of `tally bench`: shares of the roof's speed in the same run, on two threads.

SPDX-License-Identifier: Apache-2.0"""
import re

# The first pattern that matches a row's name counts. Exact sums and scans are compared with the plain ones, not
# the roof.
FLOORS = [
    (r"exact/.*/normal", 0.95),
    (r"exact/", 0.05),
    (r"exact_scan/sum/f64/normal", 0.55),
    (r"exact_scan/sum/f64/spread_20", 0.35),
    (r"exact_scan/.*/normal", 0.85),
    (r"exact_scan/.*/spread_20", 0.60),
    (r"exact_scan/", 0.02),
    (r"segments/", 0.70),
    (r"keys/", 0.60),
    (r"labels/.*[/_]256", 0.50),
    (r"labels/.*[/_]65536", 0.20),
    (r"labels/", 0.05),
    (r"cumsum_axis", 0.65),
    (r"sum_axis", 0.80),
    (r"\w+_scan/.*/2\^26", 0.90),
    (r"\w+_scan/", 0.70),
    (r"\w+/(i8|i16|f16|bf16)/", 0.85),
    (r"var/.*/2\^26", 0.90),
    (r"\w+/.*/2\^26", 0.95),
    (r"\w+/.*/2\^", 0.80),
]

# For rows of 16 values: the longest time that one call with a ready plan may take.
CEILING_NS = 60


def is_one_call(row):
    return row["name"].endswith("/16")


def floor(row):
    return next(share for pattern, share in FLOORS if re.match(pattern, row["name"]))


def reached(row):
    return row.get("plain_ratio", row.get("roof_ratio", 0))


def misses(row):
    if row.get("error_occurred"):
        return True
    return row["real_time"] > CEILING_NS if is_one_call(row) else reached(row) < floor(row)
