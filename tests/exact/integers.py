#!/usr/bin/env python3
"""Exact mean and norm2 of random integers, in every type, grouping, form and output type, whole and in pieces, and by
accumulators that are merged and saved: every result is the fraction, or the root, that Python's integers give, rounded
once.

usage: integers.py LIBTALLY [SEED [CASES [DEVICE]]]
"""
import ctypes as c
import math
import os
import random
import struct
import sys
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from tally import (ALL, AXIS, EXCLUSIVE, INCLUSIVE, KEYS, OPS, REDUCE, SEGMENTS, SIZES, TYPES, Tally, # noqa: E402
                   arguments)

SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
CASES = int(sys.argv[3]) if len(sys.argv) > 3 else 400
DEVICE = sys.argv[4] if len(sys.argv) > 4 else "cpu"
EXACT = 1
REVERSE = 2
INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = {"f16": (11, -24, 16), "bf16": (8, -133, 16), "f32": (24, -149, 32), "f64": (53, -1074, 64)}
tally = Tally(sys.argv[1], DEVICE)
lib = tally.lib


# ---- the oracle ----

def bits_of(units, exponent, rest, out):
    """The bits of units * 2^exponent and a little more, if there is a rest, rounded to nearest, ties to even."""
    precision, lowest, width = FLOATS[out]
    sign = (units < 0) << (width - 1)
    units = abs(units)
    place = max(units.bit_length() + exponent - precision, lowest)
    drop = place - exponent
    if drop > 0:
        left = units & ((1 << drop) - 1)
        units >>= drop
        half = 1 << (drop - 1)
        units += left > half or (left == half and (rest or units & 1))
    else:
        assert not rest, "a number with a rest has bits to spare"
        units <<= -drop
    infinity = ((1 << (width - precision)) - 1) << (precision - 1)
    if units == 0:
        return sign
    return sign | min(((place - lowest) << (precision - 1)) + units, infinity)


def expected(op, x, out):
    precision, _, width = FLOATS[out]
    if op == "mean":
        if not x:
            return ((1 << (width - precision + 1)) - 1) << (precision - 2)
        mean = Fraction(sum(x), len(x))
        units, rest = divmod(abs(mean.numerator) << 200, mean.denominator)
        units = -units if mean < 0 else units
        return bits_of(units, -200, rest != 0, out)
    squares = sum(v * v for v in x) << 200
    units = math.isqrt(squares)
    return bits_of(units, -100, units * units != squares, out)


# ---- inputs ----

def draw(rng, in_, n):
    width = 8 * SIZES[in_]
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if in_[0] == "i" else (0, (1 << width) - 1)
    kind = rng.randrange(7)
    if kind == 0:
        return [rng.randint(low, high) for _ in range(n)]
    if kind == 1:
        return [rng.choice((low, high)) for _ in range(n)]
    if kind == 2:
        return [rng.choice((low, low + 1, 0, 1, high - 1, high)) for _ in range(n)]
    if kind == 3:
        return [max(low, min(high, rng.randint(-3, 3))) for _ in range(n)]
    if kind == 4:
        same = rng.randint(low, high)
        return [same] * n
    if kind == 5: # halfway between doubles, and next to it
        middle = 1 << rng.randrange(width)
        return [max(low, min(high, rng.choice((-1, 1)) * (middle + rng.randint(-2, 2)))) for _ in range(n)]
    return [max(low, min(high, rng.choice((-1, 1)) * rng.getrandbits(rng.randrange(1, width + 1)))) for _ in range(n)]


class Memory:
    """An array in the device's memory, behind 'skip' bytes."""
    def __init__(self, data, skip=0):
        self.size, self.skip = len(data), skip
        self.start = c.c_void_p()
        tally.check(lib.tally_alloc(tally.device, c.c_size_t(self.size + skip + 64), c.byref(self.start)))
        self.address = self.start.value + skip
        if data:
            tally.check(lib.tally_copy(tally.device, self.address, bytes(data), len(data)))

    def read(self):
        data = c.create_string_buffer(self.size or 1)
        if self.size:
            tally.check(lib.tally_copy(tally.device, data, self.address, self.size))
        return data.raw[:self.size]

    def __del__(self):
        lib.tally_free(tally.device, self.start)


def packed(in_, x):
    return b"".join(v.to_bytes(SIZES[in_], sys.byteorder, signed=in_[0] == "i") for v in x)


def unpacked(out, data):
    size = SIZES[out]
    return [int.from_bytes(data[k:k + size], sys.byteorder) for k in range(0, len(data), size)]


# ---- the cases ----

def cut(rng, n, parts):
    return [0] + sorted(rng.randint(0, n) for _ in range(parts - 1)) + [n]


def groups_of(rng, grouping):
    """The number of elements, each group's indices, and the shape."""
    if grouping == AXIS:
        outer, inner = rng.choice(((1, 1), (1, 5), (4, 1), (3, 7), (40, 1), (1, 40), (2, 33)))
        extent = rng.choice((1, 2, 3, 5, 17, 64, 300))
        return outer * extent * inner, [[(o * extent + e) * inner + i for e in range(extent)]
                                        for o in range(outer) for i in range(inner)], (outer, extent, inner, 0)
    n = rng.choice((0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 65, 127, 130, 255, 1000, 5000))
    if grouping == ALL:
        return n, [list(range(n))], (1, n, 1, 0)
    offsets = cut(rng, n, rng.choice((1, 2, 5, 30)))
    if grouping == KEYS:
        offsets = sorted(set(offsets)) if n else [0]
    groups = [list(range(a, b)) for a, b in zip(offsets, offsets[1:])]
    return n, groups, (1, n, 1, len(groups))


def plan_of(op, in_, form, grouping, out, flags=0):
    class Desc(c.Structure):
        _fields_ = [("struct_size", c.c_size_t)] + [(name, c.c_int) for name in
                    ("op", "form", "grouping", "mode", "in_", "acc", "out", "index", "flags", "ddof")] + \
                   [("user", c.c_void_p)]
    desc = Desc(c.sizeof(Desc), OPS.index(op), form, grouping, EXACT, TYPES.index(in_), 0, TYPES.index(out), 0, flags)
    plan = c.c_void_p()
    tally.check(lib.tally_supports(tally.device, c.byref(desc)))
    tally.check(lib.tally_plan_create(tally.device, c.byref(desc), c.byref(plan)))
    return plan


def whole(rng, op, in_, out):
    grouping = rng.choice((ALL, AXIS, SEGMENTS, KEYS))
    form = rng.choice((REDUCE, REDUCE, REDUCE, INCLUSIVE) + ((EXCLUSIVE,) if op == "norm2" else ()))
    flags = REVERSE if form != REDUCE and rng.random() < 0.3 else 0
    n, groups, shape = groups_of(rng, grouping)
    x = draw(rng, in_, n)
    words = f"{op} {in_} to {out} grouping {grouping} form {form} flags {flags} shape {shape}"
    if form == REDUCE:
        want = [expected(op, [x[k] for k in g], out) for g in groups]
    else:
        want = [0] * n
        for g in groups:
            for at, k in enumerate(g):
                part = g[at + (form == EXCLUSIVE):] if flags else g[:at + (form == INCLUSIVE)]
                want[k] = expected(op, [x[j] for j in part], out)
    skip = rng.choice((0, 0, SIZES[in_], 3 * SIZES[in_]))
    values, results = Memory(packed(in_, x), skip), Memory(bytes(len(want) * SIZES[out]))
    fields = {"x": values.address, "out": results.address, "out_bytes": results.size}
    if grouping == SEGMENTS:
        ends = [g[0] if g else None for g in groups] + [n]
        for k in reversed(range(len(groups))):
            ends[k] = ends[k + 1] - len(groups[k])
        offsets = Memory(struct.pack(f"{len(ends)}q", *ends))
        fields["offsets"] = offsets.address
    if grouping == KEYS:
        keys = Memory(struct.pack(f"{n}q", *[key for key, g in enumerate(groups) for _ in g]))
        fields["keys"] = keys.address
    plan = plan_of(op, in_, form, grouping, out, flags)
    tally.run(plan, arguments(shape, **fields))
    got = unpacked(out, results.read())
    tally.destroy(plan)
    return words, got, want


def in_pieces(rng, op, in_, out):
    inner = rng.choice((1, 1, 6, 50))
    rows = rng.choice((0, 1, 9, 400))
    x = draw(rng, in_, rows * inner)
    plan = plan_of(op, in_, REDUCE, ALL if inner == 1 else AXIS, out)
    ends = cut(rng, rows, rng.choice((1, 2, 4))) if rows else [0, 0]
    for a, b in zip(ends, ends[1:]):
        piece = Memory(packed(in_, x[a * inner:b * inner]))
        tally.check(lib.tally_push(plan, c.byref(arguments((1, b - a, inner, 0), x=piece.address))))
    results = Memory(bytes(inner * SIZES[out]))
    tally.check(lib.tally_finish(plan, c.c_void_p(results.address), c.c_size_t(results.size)))
    tally.destroy(plan)
    return (f"{op} {in_} to {out} of {inner} columns in pieces {ends}", unpacked(out, results.read()),
            [expected(op, x[j::inner], out) for j in range(inner)])


def by_accumulators(rng, op, in_, out):
    n = rng.choice((0, 1, 2, 33, 1000))
    x = draw(rng, in_, n)
    ends = cut(rng, n, rng.choice((1, 2, 4)))
    total = None
    for a, b in zip(ends, ends[1:]):
        made = c.c_void_p()
        tally.check(lib.tally_accumulator_create(OPS.index(op), TYPES.index(in_), c.byref(made)))
        tally.check(lib.tally_accumulator_add(made, packed(in_, x[a:b]), None, c.c_size_t(b - a)))
        saved, size, loaded = c.create_string_buffer(2048), c.c_size_t(), c.c_void_p()
        tally.check(lib.tally_accumulator_save(made, saved, c.c_size_t(2048), c.byref(size)))
        tally.check(lib.tally_accumulator_load(saved, size, c.byref(loaded)))
        lib.tally_accumulator_destroy(made)
        if total:
            tally.check(lib.tally_accumulator_merge(total, loaded))
            lib.tally_accumulator_destroy(loaded)
        total = total or loaded
    value = c.create_string_buffer(SIZES[out])
    tally.check(lib.tally_accumulator_value(total, TYPES.index(out), value))
    lib.tally_accumulator_destroy(total)
    return f"{op} {in_} to {out} by accumulators {ends}", unpacked(out, value.raw), [expected(op, x, out)]


failures = 0
for case in range(SEED, SEED + CASES):
    rng = random.Random(case)
    op, in_ = rng.choice(("mean", "norm2")), rng.choice(INTEGERS)
    out = rng.choice(("f64", "f64", "f64", "f32", "f16", "bf16"))
    kinds = (whole, whole, whole, in_pieces) + ((by_accumulators,) if DEVICE.startswith("cpu") else ())
    words, got, want = rng.choice(kinds)(rng, op, in_, out)
    if got != want:
        failures += 1
        wrong = [k for k, (a, b) in enumerate(zip(got, want)) if a != b]
        print(f"{words}, seed {case}: {len(wrong)} wrong, result {wrong[0]} is {got[wrong[0]]:#x} and not "
              f"{want[wrong[0]]:#x}" if wrong else f"{words}, seed {case}: {len(got)} results and not {len(want)}")
print(f"{CASES} cases from seed {SEED} on, {failures} wrong")
sys.exit(1 if failures else 0)
