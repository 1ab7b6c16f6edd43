#!/usr/bin/env python3
"""Reductions by labels of more elements than a tile, a chunk and a digit hold, which the conformance suite's quick sizes
do not reach: results are NumPy's, bad labels are found and named, and a run that fails leaves its output as it was.

usage: labels.py LIBTALLY      exits with 77 where NumPy is missing, or with 1 where TALLY_REQUIRE names it
"""
import ctypes as c
import os
import sys
from fractions import Fraction

try:
    import numpy as np
except ImportError:
    print(f"{sys.executable} has no NumPy")
    sys.exit(1 if "numpy" in os.environ.get("TALLY_REQUIRE", "").split(",") else 77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from tally import LABELS, OPS, REDUCE, TYPES, Desc, Tally, arguments # noqa: E402

SKIP_BAD, SKIP_NAN, BAD_LABELS, POISON = 4, 8, 10, 0xb9
NUMPY = dict(i32=np.int32, i64=np.int64, u8=np.uint8, u16=np.uint16, u32=np.uint32, f32=np.float32, f64=np.float64)
device = Tally(sys.argv[1], "vulkan:0")
random = np.random.default_rng(5)
failures = 0


def put(array, past=0):
    """A copy on the device, 'past' elements behind the begin of its memory."""
    memory, bytes_ = c.c_void_p(), max(1, array.nbytes)
    device.check(device.lib.tally_alloc(device.device, c.c_size_t(bytes_ + past * array.itemsize), c.byref(memory)))
    address = memory.value + past * array.itemsize
    if array.nbytes:
        device.check(device.lib.tally_copy(device.device, address, array.ctypes.data, array.nbytes))
    return memory, address


def run(op, x, labels, groups, out, mode=0, flags=0, y=None, past=0):
    """The status of the run, and what it leaves in an output of that type."""
    names = {kind: name for name, kind in NUMPY.items()}
    desc = Desc(c.sizeof(Desc), OPS.index(op), REDUCE, LABELS, mode, TYPES.index(names[x.dtype.type]), 0,
                TYPES.index(out), TYPES.index(names[labels.dtype.type]), flags, 0, None)
    plan, found = c.c_void_p(), np.full(groups * (2 if op == "minmax" else 1) * NUMPY[out]().itemsize, POISON, np.uint8)
    device.check(device.lib.tally_plan_create(device.device, c.byref(desc), c.byref(plan)))
    arrays = [put(x, past), put(labels, past), put(found), put(x if y is None else y, past)]
    args = arguments((1, len(x), 1, groups), x=arrays[0][1], labels=arrays[1][1], out=arrays[2][1],
                     out_bytes=found.nbytes)
    if y is not None:
        args.y = arrays[3][1]
    status = device.lib.tally_run(plan, c.byref(args), None)
    if found.nbytes:
        device.check(device.lib.tally_copy(device.device, found.ctypes.data, arrays[2][1], found.nbytes))
    for memory, _ in arrays:
        device.lib.tally_free(device.device, memory)
    device.destroy(plan)
    return status, found.view(NUMPY[out])


def expect(what, status, found, want):
    global failures
    if status or not np.array_equal(found, want):
        failures += 1
        wrong = np.flatnonzero(found != want)[:3] if not status else []
        print(f"{what}: status {status} {device.lib.tally_last_error().decode() if status else ''}, "
              f"{[(int(g), found[g], want[g]) for g in wrong]}")


def rounded(total, to):
    """The nearest float of that type; of two the even one. A double in between would round twice."""
    near = to(float(total))
    around = [np.nextafter(near, to(-np.inf)), near, np.nextafter(near, to(np.inf))]
    return min(around, key=lambda a: (abs(Fraction(float(a)) - total), int(a.view(f"u{a.itemsize}")) & 1))


def exact_sums(values, labels, groups):
    """Correctly rounded, of floats in any order: integers in units of 2^-300."""
    parts, exponents = np.frexp(values.astype(np.float64))
    wholes, totals = (parts * 2.0**53).astype(np.int64), [0] * groups
    for g, whole, exponent in zip(labels.tolist(), wholes.tolist(), exponents.tolist()):
        totals[g] += whole << exponent + 247
    return np.array([rounded(Fraction(total, 1 << 300), values.dtype.type) for total in totals], values.dtype)


def draw(n, groups, kind, skewed=False):
    labels = random.integers(0, groups, n)
    if skewed:
        labels[random.random(n) < 0.5] = groups // 3
    return labels.astype(NUMPY[kind])


for n, groups, kind, skewed in [(70003, 1, "u8", False), (70003, 5, "i32", False), (70003, 256, "u8", True),
                                (70003, 65536, "u16", False), (70003, 70000, "i64", True), (2049, 300, "u32", False),
                                (1, 3, "i32", False), (0, 7, "i32", False), (2200003, 300, "u16", True)]:
    labels, what = draw(n, groups, kind, skewed), f"{n} elements in {groups} groups of {kind}"
    x = random.integers(-1000, 1000, n).astype(np.int32)
    sums = np.bincount(labels, x, groups).astype(np.int64)
    expect(f"sum of {what}", *run("sum", x, labels, groups, "i64", past=1), sums)
    small = random.integers(0, 255, n).astype(np.uint8)
    small_sums = np.bincount(labels, small, groups).astype(np.uint64).view(np.int64)
    expect(f"sum of u8, {what}", *run("sum", small, labels, groups, "i64", past=1), small_sums)
    if n > 100000: # a group that is cut into pieces
        real = (random.standard_normal(n) * np.exp2(random.integers(-60, 60, n))).astype(np.float32)
        expect(f"exact sum of {what}", *run("sum", real, labels, groups, "f32", mode=1), exact_sums(real, labels, groups))
        continue
    y = random.integers(-1000, 1000, n).astype(np.float64)
    expect(f"dot of {what}", *run("dot", x.astype(np.float64), labels, groups, "f64", y=y, past=1),
           np.bincount(labels, x * y, groups).astype(np.float64))
    real = (random.standard_normal(n) * np.exp2(random.integers(-60, 60, n))).astype(np.float32)
    expect(f"exact sum of {what}", *run("sum", real, labels, groups, "f32", mode=1), exact_sums(real, labels, groups))
    status, once = run("sum", real, labels, groups, "f32")
    expect(f"sum of f32 again, {what}", *run("sum", real, labels, groups, "f32"), once)
    expect(f"sum without NaNs of {what}", *run("sum", np.where(real < 0, np.float32(np.nan), np.float32(1)), labels,
                                               groups, "f32", flags=SKIP_NAN),
           np.bincount(labels[real >= 0], minlength=groups).astype(np.float32))
    if n and len(np.unique(labels)) == groups:
        first = np.array([np.flatnonzero(labels == g)[np.argmin(x[labels == g])] for g in range(groups)], np.int64)
        expect(f"argmin of {what}", *run("argmin", x, labels, groups, "i64"), first)
        expect(f"argmin as f32 of {what}", *run("argmin", x, labels, groups, "f32"), first.astype(np.float32))

for of_one in 0, 5000: # four digits, and more groups than elements; one group may be long
    labels = draw(5000 + of_one, 1 << 24, "u32")
    labels[:of_one] = 1 << 23
    labels[7] = (1 << 24) + 4
    want = np.zeros((1 << 24) + 5, np.uint8)
    want[labels] = 1
    expect("any of many groups", *run("any", np.ones(len(labels), np.int32), labels, len(want), "u8"), want)

for kind, bad in [("u8", 200), ("i32", -1), ("i64", 1 << 40), ("u16", 65535), ("u32", 200)]:
    for n, at in [(1, 0), (40000, 0), (40000, 39999), (40000, 20001)]:
        labels, x = draw(n, 200, kind), np.arange(n, dtype=np.int32)
        labels[at:at + 2] = bad
        status, found = run("sum", x, labels, 200, "i64")
        told = device.lib.tally_last_error().decode()
        if status != BAD_LABELS or f"labels[{at}] is {labels[at]};" not in told or not (found.view(np.uint8) == POISON).all():
            failures += 1
            print(f"{kind}, {bad} at {at} of {n}: {status}, {told}, {found[:3]}")
        good = labels != labels[at]
        expect(f"{kind} without {bad} at {at}", *run("sum", x, labels, 200, "i64", flags=SKIP_BAD),
               np.bincount(labels[good], x[good], 200).astype(np.int64))

x, labels = np.ones(300, np.int32), np.zeros(300, np.int32) # of no group
if run("sum", x, labels, 0, "i64")[0] != BAD_LABELS or run("sum", x, labels, 0, "i64", flags=SKIP_BAD)[0]:
    failures += 1
    print("no groups at all")
labels[7:] = 2
status, found = run("max", x, labels, 3, "i32") # group 1 has no elements
if "no element has the label 1" not in device.lib.tally_last_error().decode() or not (found.view(np.uint8) == POISON).all():
    failures += 1
    print(f"an empty group: {status} {device.lib.tally_last_error().decode()}")
sys.exit(failures != 0)
