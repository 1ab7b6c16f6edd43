#!/usr/bin/env python3
"""NumPy among the peers: answers the requests of peer_main.c's protocol, on the same numbers.

math.fsum stands beside the exact sum: it is what a Python programmer has for a correctly rounded one. It walks a list
of objects, so it is asked for small sizes only. Sums by label are bincount's or, with the argument "add.at", that ufunc's.

SPDX-License-Identifier: Apache-2.0"""
import math
import sys
import time

import numpy as np

CASES = {
    "sum/f32": lambda x, out: x.sum(),
    "sum/f64": lambda x, out: x.sum(),
    "max/f32": lambda x, out: x.max(),
    "argmax/f32": lambda x, out: x.argmax(),
    "scan/f32": lambda x, out: np.cumsum(x, out=out)[-1],
    "exact/f64": lambda x, out: math.fsum(x),
}


def with_bincount(groups):
    return lambda x, labels: np.bincount(labels, x, groups)[groups // 2]


def with_add_at(groups):
    def work(x, labels):
        sums = np.zeros(groups, x.dtype)
        np.add.at(sums, labels, x)
        return sums[groups // 2]
    return work


GROUPS = {"labels_256/f32": 256, "labels_65536/f32": 65536}
CASES.update((name, with_bincount(groups)) for name, groups in GROUPS.items())
CASES_OF_ADD_AT = {name: with_add_at(groups) for name, groups in GROUPS.items()}
LARGEST = {"exact/f64": 1 << 18}


def hashes(first, past):
    """splitmix64's finaliser, as peer_main.c has it."""
    z = np.arange(first + 1, past + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def numbers(n, is_double):
    """The first n values of peer_main.c, uniform in [-1, 1)."""
    x = np.empty(n, np.float64 if is_double else np.float32)
    for start in range(0, n, 1 << 20):
        end = min(n, start + (1 << 20))
        z = hashes(start, end)
        if is_double:
            x[start:end] = (z >> np.uint64(11)).astype(np.float64) * 2.0**-52 - 1
        else:
            x[start:end] = (z >> np.uint64(40)).astype(np.float32) * np.float32(2.0**-23) - np.float32(1)
    return x


class Workload:
    def __init__(self, work, name, n, seconds):
        self.key = (name, n)
        self.work = work
        self.x = numbers(n, "f64" in name)
        self.out = np.ones_like(self.x) if name.startswith("scan") else None
        if name in GROUPS:
            self.out = (hashes(n, 2 * n) % np.uint64(GROUPS[name])).astype(np.int32)
        self.calls = 1
        for _ in range(3):
            calls = seconds / (self.batch()[0] + 1e-10)
            if calls <= self.calls:
                break
            self.calls = int(calls) + 1

    def batch(self):
        work, x, out, calls = self.work, self.x, self.out, range(self.calls)
        start = time.perf_counter()
        for _ in calls:
            result = work(x, out)
        return (time.perf_counter() - start) / self.calls, result


def main():
    is_add_at = sys.argv[1:] == ["add.at"]
    cases = CASES_OF_ADD_AT if is_add_at else CASES
    print(f"NumPy{' add.at' if is_add_at else ''}\t{np.__version__}", flush=True)
    workload = None
    for line in sys.stdin:
        words = line.split()
        if words[:1] == ["drop"]:
            workload = None
            print("dropped", flush=True)
            continue
        name, n, seconds = words[0], int(words[1]), float(words[2])
        if name not in cases or n > LARGEST.get(name, n):
            print("none", flush=True)
            continue
        if workload is None or workload.key != (name, n):
            workload = None  # its memory first
            workload = Workload(cases[name], name, n, seconds)
        taken, result = workload.batch()
        print(f"{taken:.6e} {workload.calls} {float(result):.9e}", flush=True)


if __name__ == "__main__":
    main()
