#!/usr/bin/env python3
"""The Python package beside the C call, NumPy, math.fsum and, where it is there, PyTorch: Markdown tables, as
docs/bench/python.md has them. Best of the rounds, each of many calls; rows take turns.

usage: PYTHONPATH=build/python/package bench/python_calls.py [small] [large] [exact] [cuda]      without a name, all but cuda

small: one call on 100 doubles. large: 2^26 floats, beside a program that only reads them. exact: beside math.fsum. cuda:
calls on PyTorch's tensors on a GPU, from the call to its return.
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

try:
    import torch
except ImportError:
    torch = None

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
C = r"""
#include <pthread.h>
#include <stdint.h>
#include <tally/tally.h>
#include <time.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + 1e-9 * time.tv_nsec;
}

double seconds(const char *spec, int dtype, const void *x, size_t n, void *out, int calls, void *stream) {
    tally_device *device = 0;
    tally_plan *plan = 0;
    tally_desc desc = TALLY_DESC_INIT;
    tally_args args = TALLY_ARGS_INIT;
    desc.in = dtype;
    args.x = x, args.shape.extent = n, args.out = out, args.out_bytes = 8;
    if (tally_open(spec, &device) || tally_plan_create(device, &desc, &plan) || tally_run(plan, &args, TALLY_SYNCHRONOUS)) return -1;
    double begin = now();
    for (int k = 0; k < calls; k++) tally_run(plan, &args, stream);
    double took = now() - begin;
    tally_run(plan, &args, TALLY_SYNCHRONOUS); // what was enqueued is done
    tally_plan_destroy(plan), tally_close(device);
    return took;
}

struct part { const uint64_t *words; size_t n; uint64_t sum; };

static void *read_part(void *argument) {
    struct part *part = argument;
    const uint64_t *words = part->words;
    uint64_t sum = 0;
    for (size_t i = 0; i < part->n; i++) sum ^= words[i];
    part->sum = sum;
    return 0;
}

double reading(const void *x, size_t bytes, int threads) { // the roof: threads that read and do next to nothing
    struct part parts[64];
    pthread_t others[64];
    size_t each = bytes / 8 / threads;
    double begin = now();
    for (int k = 0; k < threads; k++) parts[k] = (struct part){(const uint64_t *)x + k * each, each, 0};
    for (int k = 1; k < threads; k++) pthread_create(&others[k], 0, read_part, &parts[k]);
    read_part(&parts[0]);
    for (int k = 1; k < threads; k++) pthread_join(others[k], 0);
    double took = now() - begin;
    volatile uint64_t kept = 0;
    for (int k = 0; k < threads; k++) kept ^= parts[k].sum;
    return took;
}
"""
TYPES = {"float32": 11, "float64": 12} # tally_dtype


def library():
    folder = os.path.dirname(tally._tally.__file__)
    with tempfile.TemporaryDirectory() as work:
        with open(work + "/call.c", "w", encoding="utf-8") as file:
            file.write(C)
        subprocess.run([os.environ.get("CC", "cc"), "-O3", "-march=native", "-shared", "-fPIC", "-pthread", f"-I{ROOT}/include", work + "/call.c",
                        folder + "/libtally_of_package.so", "-o", work + "/call.so", "-Wl,-rpath," + folder], check=True)
        loaded = ctypes.CDLL(work + "/call.so")
    loaded.seconds.restype = loaded.reading.restype = ctypes.c_double
    loaded.seconds.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_int,
                               ctypes.c_void_p]
    loaded.reading.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return loaded


def seconds(work, calls):
    begin = time.perf_counter()
    for _ in range(calls):
        work()
    return time.perf_counter() - begin


def table(title, unit, rows, calls, rounds, bytes_read=0, after=lambda: None):
    """Rows take turns, so that a busy machine slows all of them. bytes_read: by a call, for a column of GB/s."""
    best = dict.fromkeys(rows, math.inf)
    for _ in range(rounds):
        for name, work in rows.items():
            took = work(calls) if getattr(work, "counts", False) else seconds(work, calls)
            best[name] = min(best[name], took / calls)
            after()
    print(f"\n| {title} | {unit} |{' GB/s |' if bytes_read else ''}\n|---|---:|{'---:|' if bytes_read else ''}")
    for name, took in best.items():
        print(f"| {name} | {took * {'us': 1e6, 'ms': 1e3}[unit]:.{2 if unit == 'us' else 1}f} |"
              + (f" {bytes_read / took / 1e9:.1f} |" if bytes_read else ""), flush=True)


def counted(work):
    """Marks a function that takes the number of calls, and gives the seconds that they took."""
    work.counts = True
    return work


def c_call(loaded, x, out=None):
    out = np.empty(1) if out is None else out
    return counted(lambda calls: loaded.seconds(b"cpu", TYPES[x.dtype.name], x.ctypes.data, x.size, out.ctypes.data, calls, None))


def small(loaded, n=100):
    x, out = np.random.default_rng(1).standard_normal(n), np.empty(())
    plan = tally.Plan("sum", "float64")
    rows = {"the C call (`tally_run`)": c_call(loaded, x), "`plan.run(x, out=out)`": lambda: plan.run(x, out=out),
            "`plan.run(x)`": lambda: plan.run(x),
            "`tally.sum(x)`": lambda: tally.sum(x), "`tally.sum(x, exact=True)`": lambda: tally.sum(x, exact=True),
            "`numpy.sum(x)`": lambda: np.sum(x), "`numpy.add.reduce(x)`": lambda: np.add.reduce(x)}
    if torch:
        tensor = torch.from_numpy(x)
        rows |= {"`tally.sum(tensor)`": lambda: tally.sum(tensor), "`tensor.sum()`": lambda: tensor.sum()}
    table(f"one call on {n} doubles", "us", rows, 500, 1000) # short rounds: the best of them met no other program


def large(loaded):
    x = np.random.default_rng(1).standard_normal(1 << 26, dtype=np.float32)
    out = np.empty_like(x)

    def reading(threads):
        return counted(lambda calls: loaded.reading(x.ctypes.data, x.nbytes, threads))
    threads = {f"reading alone, {n} thread{'s' if n > 1 else ''}": reading(n) for n in sorted({1, os.cpu_count()})}
    table("sum of 2^26 floats", "ms", {
        **threads, "the C call": c_call(loaded, x), "`tally.sum(x)`": lambda: tally.sum(x),
        "`tally.sum(x, exact=True)`": lambda: tally.sum(x, exact=True), "`numpy.sum(x)`": lambda: np.sum(x)}, 1, 31, x.nbytes)
    table("running sum of 2^26 floats", "ms", {
        "`tally.cumulative_sum(x, out=out)`": lambda: tally.cumulative_sum(x, axis=0, out=out),
        "`numpy.cumsum(x, out=out)`": lambda: np.cumsum(x, out=out)}, 1, 9, 2 * x.nbytes)


def exact(loaded):
    x = np.random.default_rng(1).standard_normal(1 << 26, dtype=np.float32)
    numbers = x.tolist()
    table("exact sum of 2^26 floats", "ms", {
        "`tally.sum(x, exact=True)`": lambda: tally.sum(x, exact=True), "`math.fsum(x)`": lambda: math.fsum(x),
        "`math.fsum(x.tolist())`, without the list": lambda: math.fsum(numbers)}, 1, 3, x.nbytes)


def cuda(loaded):
    for n in (100, 100_000):
        x, total = torch.rand(n, device="cuda"), torch.empty((), device="cuda")
        running, plan = torch.empty_like(x), tally.Plan("sum", "float32", device="cuda:0")
        legacy = ctypes.c_void_p(1) # CUDA's default stream, in which PyTorch computes here
        table(f"one call on {n} floats on a GPU", "us", {
            "the C call (`tally_run`)": counted(lambda calls: loaded.seconds(b"cuda:0", TYPES["float32"], x.data_ptr(), n,
                                                                             total.data_ptr(), calls, legacy)),
            "`plan.run(x, out=out)`": lambda: plan.run(x, out=total), "`tally.sum(x, out=out)`": lambda: tally.sum(x, out=total),
            "`tally.sum(x)`": lambda: tally.sum(x), "`tensor.sum()`": lambda: x.sum(),
            "`torch.empty(())` alone": lambda: torch.empty((), device="cuda"),
            "`tally.cumulative_sum(x, out=out)`": lambda: tally.cumulative_sum(x, axis=0, out=running),
            "`torch.cumsum(x, 0, out=out)`": lambda: torch.cumsum(x, 0, out=running)}, 200, 60, after=torch.cuda.synchronize)


if __name__ == "__main__":
    print(f"Python {sys.version.split()[0]}, NumPy {np.__version__}, tally {tally.__version__}"
          + (f", PyTorch {torch.__version__}" if torch else ""))
    with_c = library()
    for name in sys.argv[1:] or ["small", "large", "exact"]:
        {"small": small, "large": large, "exact": exact, "cuda": cuda}[name](with_c)
