#!/usr/bin/env python3
"""Runs the sums of doubles of vectors.json through math.fsum. What its documentation excepts is left out: infinities, NaNs,
partial sums that overflow, and the sign of zero.

SPDX-License-Identifier: Apache-2.0"""
import json
import math
import os
import struct
import sys


def number(bits):
    return struct.unpack(">d", bytes.fromhex(bits))[0]


def elements(x):
    for one in x:
        bits, _, times = one.partition("*")
        yield from [number(bits)] * int(times or 1)


with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json"), encoding="utf-8") as file:
    chosen = [case for case in json.load(file)["cases"] if (case["operation"], case["type"]) == ("sum", "f64")]
cases = failures = 0
for case in chosen:
    try:
        right, total = number(case["result"]) if case["result"] != "nan" else math.nan, math.fsum(elements(case["x"]))
    except (OverflowError, ValueError):
        continue
    if math.isfinite(right):
        cases += 1
        failures += total != right
        if total != right:
            print(f"{case['about']}: {total!r} instead of {right!r}: {case['x']}")
print(f"{cases} cases, {failures} failures")
sys.exit(failures > 0 or cases < 200)
