#!/usr/bin/env python3
"""Shapes at the edges of the Vulkan kernels' tiles, vectors and columns, which the conformance suite's quick sizes do not
reach: results are what the oracle of bench/survey gives.

usage: shapes.py LIBTALLY LIBSURVEY      exits with 77 where NumPy is missing, or with 1 where TALLY_REQUIRE names it
"""
import os
import sys

try:
    import numpy as np
except ImportError:
    print(f"{sys.executable} has no NumPy")
    sys.exit(1 if "numpy" in os.environ.get("TALLY_REQUIRE", "").split(",") else 77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from surveys.cases import parse # noqa: E402
from surveys.gpu import Gpu # noqa: E402
from surveys.host import load_helper # noqa: E402
from tally import AXIS, INCLUSIVE, KEYS, REDUCE, SEGMENTS, Tally, arguments # noqa: E402

CASES = """
sum/inclusive/all/f32/40003+1,3                              tiles whose results lie across vectors
sum/exclusive/all/i32/40003+2,1                              and are wider than the elements
max/inclusive/all/u8/70001+1,5                               which are bytes
minmax/inclusive/all/u16/40003+3,1                           two results an element
any/inclusive/all/f32/40003+1,2                              results of less than a vector
sum/inclusive/axis/u16/600x701x1+3,1                         rows that begin anywhere, scanned whole
sum/inclusive/segments/f32/70003+1,3/i64:exponential:24      heads of segments, empty ones too
mean/inclusive/segments/u8/70003/i32:uniform:3000            groups that begin in an earlier chunk
minmax/inclusive/keys/f16/70003/i16:constant:30              more keys in a vector than elements
bxor/exclusive/keys/i64/40003/i32:power:300                  fewer
minmax/reduce/keys/u64/40003+3,1/i16:exponential:24          runs that end in another tile
sum/reduce/keys/u8/70003+3,0/i32:uniform:2                   more runs in a tile than are staged at once
argmin/reduce/segments/i64/40003/i64:uniform:20              places in a tile
sum/reduce/segments/f32/300003+1,0/i32:constant:140000       segments of more tiles than a thread joins
max/reduce/segments/u16/70003+3,1/i64:power:2                more segments in a tile than are staged at once
sum/reduce/axis/f32/3x13x5003+1,2                            a row's last columns overlap
argmax/reduce/axis/u8/3x1003x503
max/reduce/axis/i8/7x3x1003+1,2                              narrow results, which units of columns store as words
min/reduce/axis/i16/5x40x801+3,1
any/reduce/axis/f32/3x1x4001+1,3                             an extent of 1 is one row
max/reduce/axis/bf16/2x3x4096+1,1
max/reduce/axis/i8/1x1x40003+3,1                             a unit of 16 columns
max/reduce/axis/i8/7x3x20003+1,2                             slabs of several workgroups
mean/reduce/axis/u8/7x3x4001+1,0                             of 8, whose results are wide
sum/reduce/axis/f32/300x5003x1+1,0                           rows that begin anywhere
all/reduce/axis/u8/5x2x257+3,2
minmax/reduce/axis/u8/3x2x401+1,1
bxor/reduce/axis/u32/9x4x66+1,0                              rows that end in the middle of a vector
dot/reduce/axis/f32/3x19x302+1,0
max/reduce/axis/f16/3x21x333+1,0                             or of a word
dot/reduce/axis/i8/4001x3x3+3,1                              narrow elements of slabs, in words of two arrays
band/reduce/axis/u8/20011x3x3+1,2                            more slabs of them than there are cells
max/reduce/axis/bf16/301x41x9+1,1
norm1/reduce/axis/f64/40x61x3+1,0                            fewer columns than a vector has
sum/reduce/axis/f64/3x103x1501
bor/exclusive/axis/i8/3x60x3003+3,0                          scanned as words
sum/inclusive/axis/i16/2x100x4501+1,1
minmax/inclusive/axis/u8/2x30x4501+1,1
any/inclusive/axis/f32/2x30x4501+1,1
var/inclusive/all/f32/10003+1,0                              moments in lanes
std/inclusive/keys/f32/40003/i32:uniform:9000                groups of more than a tile
var/inclusive/segments/f64/40003+1,2/i64:exponential:11      empty ones, and doubles that begin anywhere
var/inclusive/axis/u16/600x2701x1+3,1                        rows of more than a tile, scanned whole
std/reduce/keys/u8/70003+1,0/i16:uniform:3                   runs that end in another tile,
var/reduce/keys/f64/40003+1,1/i64:uniform:9000               or tiles later
logsumexp/exclusive/segments/f32/40003+1,2/i64:exponential:11    empty segments before an element
argmax/inclusive/axis/i16/3x40003x1+1,1                      an index an element
argmin/inclusive/axis/f64/3x2039x63+1,1                      columns whose results have 8 bytes
prod/exclusive/all/i64/100003+1,3                            rows of such off vectors
minmax/inclusive/keys/f64/40003/i64:uniform:17
var/inclusive/axis/f64/2x3001x5                              moments down columns
std/inclusive/axis/f32/301x37x1                              and short rows
logsumexp/reduce/keys/u8/40003+1,0/i32:uniform:30            bytes whose runs begin anywhere
prod/reduce/axis/f32/1x4001x17+1,0                           few columns, as a stretch that begins anywhere
argmin/reduce/axis/u8/2x8001x21+3,1
var/reduce/axis/f32/1x5001x7
sumsq/inclusive/axis/u64/2x3x585                             few rows, scanned
sum/inclusive/axis/f32/3x4x1001+1,1
norm_inf/inclusive/axis/i32/7x5452x2+2,4                     few columns, scanned in tiles of slabs
var/inclusive/axis/f16/1x4002x160
minmax/inclusive/axis/u8/2x9001x7+1,1
sum/reduce/segments/f32/70003+1,3/i64:exponential:24         segments that begin in another tile, and empty ones
count_nonzero/reduce/segments/u8/70003/i32:power:900         or chunks before, counted in 32 bits in a tile
min/reduce/segments/i16/70003+3,1/u32:uniform:3              more in a tile than are staged at once
any/reduce/segments/u8/70003+1,3/i32:exponential:5           results stored as words, beside another tile's
norm_inf/reduce/segments/f64/40003/i64:power:345
argmin/reduce/keys/f32/70003+1,3/i32:power:29                a place from another tile
argmin/inclusive/segments/f32/40003/i32:uniform:5000         or from many tiles before
argmax/inclusive/keys/i64/40003/i64:constant:9000
count_nonzero/inclusive/segments/f32/70003+1,2/i32:power:900
sum/exclusive/keys/i32/40003/i32:exponential:1.5             nearly each element begins a run
"""
LIBTALLY, LIBSURVEY = sys.argv[1:]
device = Gpu(Tally(LIBTALLY, "vulkan:0"), load_helper(LIBSURVEY), None)
failures = 0
for line in CASES.strip().splitlines():
    case = parse(line.split()[0])
    wrong = device.measure(case, 0)[1]()
    if wrong:
        failures += 1
        print(f"{case}: {wrong}")


def check_far_first(grouping, shape, keys=None):
    """Running variances stay as exact as tests/oracle/reference.h says if the first element is far from the others, from
    which distances are measured."""
    n = shape[0] * shape[1] * shape[2]
    x = np.random.default_rng(7).normal(size=(shape[0], shape[1], shape[2]))
    x[:, 0, :] = 1000
    plan = device.tally.plan("var", "f64", INCLUSIVE, grouping, index="i32" if keys is not None else "default")
    fields = dict(x=device.place("x", 8 * n), out=device.place("out", 8 * n), out_bytes=8 * n)
    device.put(fields["x"], x)
    if keys is not None:
        fields["keys"] = device.place("keys", 4 * n)
        device.put(fields["keys"], keys)
    device.tally.run(plan, arguments((*shape, 0), **fields))
    got = device.fetch(fields["out"], 8 * n).view(np.float64).reshape(x.shape)
    device.tally.destroy(plan)
    mean = np.zeros((shape[0], shape[2]), np.longdouble)
    squares = mean.copy()
    for k in range(shape[1]):
        away = x[:, k, :] - mean
        mean += away / (k + 1)
        squares += away * (x[:, k, :] - mean)
        allowed = (25 + 2 * np.log2(k + 1) + (k + 1) ** 0.5) * 2.0**-53
        error = np.abs(got[:, k, :] - squares / (k + 1))
        if not (error <= allowed * squares / (k + 1)).all():
            return f"var far from its first element, {shape}: off by {error.max()} after {k + 1} elements"
    return None


def check_crowded(op, form, n, segments, out):
    """Nearly all of 2^24 and more segments are empty and lie in one place; a device in software has a limit of rounds."""
    x, offsets = np.arange(n, dtype=np.uint8) % 2, np.full(segments + 1, n // 2, np.uint32)
    offsets[0], offsets[-1] = 0, n
    groups, kind = [x[:n // 2], x[n // 2:]], dict(u8=np.uint8, f16=np.float16)[out]
    if form == INCLUSIVE:
        want = np.concatenate([np.logical_or.accumulate(g) for g in groups]).astype(kind)
    else:
        want = np.full(segments, np.nan if op == "var" else 0, kind)
        want[[0, -1]] = [dict(var=np.var, any=np.any)[op](g) for g in groups]
    plan = device.tally.plan(op, "u8", form, SEGMENTS, out=out, index="u32")
    fields = dict(x=device.place("x", x.nbytes), offsets=device.place("offsets", offsets.nbytes),
                  out=device.place("out", want.nbytes), out_bytes=want.nbytes)
    device.put(fields["x"], x)
    device.put(fields["offsets"], offsets)
    device.poison(fields["out"], want.nbytes)
    device.tally.run(plan, arguments((1, n, 1, segments), **fields))
    got = device.fetch(fields["out"], want.nbytes).view(kind)
    device.tally.destroy(plan)
    wrong = np.flatnonzero((got != want) & ~(np.isnan(got) & np.isnan(want)))
    return f"{op} of {n} elements in {segments} segments: {len(wrong)} wrong, from {wrong[0]} on" if len(wrong) else None


for wrong in (check_far_first(AXIS, (1, 3000, 1)), check_far_first(AXIS, (40, 60, 3)), check_far_first(AXIS, (1, 3000, 7)),
              check_far_first(KEYS, (1, 3000, 1), np.zeros(3000, np.int32)),
              check_crowded("var", REDUCE, 5000, 17 << 20, "f16"), check_crowded("any", REDUCE, 19 << 20, 18 << 20, "u8"),
              check_crowded("any", INCLUSIVE, 19 << 20, 18 << 20, "u8")):
    if wrong:
        failures += 1
        print(wrong)
sys.exit(failures != 0)
