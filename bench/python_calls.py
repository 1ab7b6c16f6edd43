#!/usr/bin/env python3
"""The Python package beside the C call, NumPy, math.fsum and, where it is there, PyTorch: a Markdown table, as docs/bench/python.md
has it. Best of the rounds, each of many calls.

usage: PYTHONPATH=build/python/package bench/python_calls.py
"""
import ctypes
import math
import os
import subprocess
import sys
import tempfile
import time

sys.path.pop(0) # bench/tally.py is another one

import numpy as np # noqa: E402

import tally # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
C = r"""
#include <tally/tally.h>
#include <time.h>
double seconds(int dtype, const void *x, size_t n, int calls) {
    double out;
    struct timespec begin, end;
    tally_device *device = 0;
    tally_plan *plan = 0;
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    desc.in = dtype;
    args.x = x, args.shape.extent = n, args.out = &out, args.out_bytes = sizeof out;
    if (tally_open("cpu", &device) || tally_plan_create(device, &desc, &plan)) return -1;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (int k = 0; k < calls; k++) tally_run(plan, &args, TALLY_SYNCHRONOUS);
    clock_gettime(CLOCK_MONOTONIC, &end);
    tally_plan_destroy(plan), tally_close(device);
    return (end.tv_sec - begin.tv_sec) + 1e-9 * (end.tv_nsec - begin.tv_nsec);
}
"""
TYPES = {"float32": 11, "float64": 12} # tally_dtype


def library():
    folder = os.path.dirname(tally._tally.__file__)
    with tempfile.TemporaryDirectory() as work:
        with open(work + "/call.c", "w", encoding="utf-8") as file:
            file.write(C)
        subprocess.run([os.environ.get("CC", "cc"), "-O2", "-shared", "-fPIC", f"-I{ROOT}/include", work + "/call.c",
                        folder + "/libtally_of_package.so", "-o", work + "/call.so", "-Wl,-rpath," + folder], check=True)
        loaded = ctypes.CDLL(work + "/call.so")
    loaded.seconds.restype = ctypes.c_double
    loaded.seconds.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return loaded


def seconds(work, calls):
    begin = time.perf_counter()
    for _ in range(calls):
        work()
    return time.perf_counter() - begin


def table(title, unit, rows, calls, rounds):
    """Rows take turns, so that a busy machine slows all of them."""
    best = dict.fromkeys(rows, math.inf)
    for _ in range(rounds):
        for name, work in rows.items():
            took = work(calls) if getattr(work, "counts", False) else seconds(work, calls)
            best[name] = min(best[name], took / calls)
    print(f"\n| {title} | {unit} |\n|---|---:|")
    for name, took in best.items():
        print(f"| {name} | {took * {'us': 1e6, 'ms': 1e3}[unit]:.{2 if unit == 'us' else 1}f} |")


def c_call(loaded, x):
    def work(calls):
        return loaded.seconds(TYPES[x.dtype.name], x.ctypes.data, x.size, calls)
    work.counts = True
    return work


def small(n, loaded):
    x, out = np.random.default_rng(1).standard_normal(n), np.empty(())
    plan = tally.Plan("sum", "float64")
    rows = {"the C call": c_call(loaded, x), "`plan.run(x, out=out)`": lambda: plan.run(x, out=out), "`plan.run(x)`": lambda: plan.run(x),
            "`tally.sum(x)`": lambda: tally.sum(x), "`tally.sum(x, exact=True)`": lambda: tally.sum(x, exact=True),
            "`numpy.sum(x)`": lambda: np.sum(x), "`numpy.add.reduce(x)`": lambda: np.add.reduce(x)}
    if "torch" in sys.modules:
        tensor = sys.modules["torch"].from_numpy(x)
        rows |= {"`tally.sum(tensor)`": lambda: tally.sum(tensor), "`tensor.sum()`": lambda: tensor.sum()}
    table(f"one call on {n} doubles", "us", rows, 20000, 25)


def large(loaded):
    x = np.random.default_rng(1).standard_normal(1 << 26, dtype=np.float32)
    out = np.empty_like(x)
    table("2^26 floats", "ms", {
        "the C call, sum": c_call(loaded, x), "`tally.sum(x)`": lambda: tally.sum(x), "`numpy.sum(x)`": lambda: np.sum(x),
        "`tally.sum(x, exact=True)`": lambda: tally.sum(x, exact=True),
        "`tally.cumulative_sum(x, out=out)`": lambda: tally.cumulative_sum(x, axis=0, out=out),
        "`numpy.cumsum(x, out=out)`": lambda: np.cumsum(x, out=out)}, 1, 9)
    numbers = x.tolist()
    table("2^26 floats", "ms", {"`math.fsum(x)`": lambda: math.fsum(x), "`math.fsum(x.tolist())`, without the list": lambda: math.fsum(numbers)}, 1, 2)


if __name__ == "__main__":
    try:
        import torch  # noqa: F401
    except ImportError:
        pass
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, tally {tally.__version__}"
          + (f", PyTorch {torch.__version__}" if "torch" in sys.modules else ""))
    with_c = library()
    small(100, with_c)
    large(with_c)
