#!/usr/bin/env python3
"""The words of exact sums against fractions: each part's words are the digits of the sum of its finite elements and say
what else was there; added as int64s they are the digits of the sum of all, however uneven the parts are; a plan that
takes them gives the bits that a run over everything gives. Layout and check word follow docs/words.md, not the library.

usage: words.py LIBTALLY [SEED [CASES [DEVICE]]]
"""
import ctypes as c
import math
import os
import random
import struct
import sys
from fractions import Fraction

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
from tally import ALL, AXIS, OPS, REDUCE, SIZES, TYPES, Desc, Tally, arguments # noqa: E402

SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
CASES = int(sys.argv[3]) if len(sys.argv) > 3 else 300
DEVICE = sys.argv[4] if len(sys.argv) > 4 else "cpu"
EXACT, WORDS_IN, WORDS_OUT = 1, 1 << 4, 1 << 5
FLOATS = {"f16": (11, -24, 16), "bf16": (8, -133, 16), "f32": (24, -149, 32), "f64": (53, -1074, 64)}
INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
MODULUS = 1 << 64
tally = Tally(sys.argv[1], DEVICE)
lib = tally.lib
lib.tally_accumulator_add.argtypes = [c.c_void_p, c.c_void_p, c.c_void_p, c.c_size_t]
lib.tally_accumulator_words.argtypes = [c.c_void_p, c.c_void_p, c.c_size_t]
lib.tally_accumulator_destroy.argtypes = [c.c_void_p]


# ---- elements ----

def value_of(bits, kind):
    """A fraction, or one of the strings nan, inf, -inf, -0."""
    if kind in INTEGERS:
        width = 8 * SIZES[kind]
        return Fraction(bits - (1 << width) if kind[0] == "i" and bits >> (width - 1) else bits)
    precision, lowest, width = FLOATS[kind]
    field = bits >> (precision - 1) & ((1 << (width - precision)) - 1)
    significand, sign = bits & ((1 << (precision - 1)) - 1), "-" if bits >> (width - 1) else ""
    if field == (1 << (width - precision)) - 1:
        return "nan" if significand else sign + "inf"
    if not field and not significand:
        return "-0" if sign else Fraction(0)
    significand |= (field > 0) << (precision - 1)
    return (-1 if sign else 1) * significand * Fraction(2) ** (lowest + max(field, 1) - 1)


def product(a, b):
    if "nan" in (a, b):
        return "nan"
    negative = [x.startswith("-") if isinstance(x, str) else x < 0 for x in (a, b)]
    sign = "-" if negative[0] != negative[1] else ""
    zero = [x == "-0" or x == 0 for x in (a, b)]
    if any(isinstance(x, str) and x.endswith("inf") for x in (a, b)):
        return "nan" if any(zero) else sign + "inf"
    if any(zero):
        return "-0" if sign else Fraction(0)
    return a * b


def draw(rng, kind, n, data):
    width = 8 * SIZES[kind]
    if kind in INTEGERS or data == "bits":
        return [rng.getrandbits(width) for _ in range(n)]
    precision = FLOATS[kind][0]
    one = ((1 << (width - precision - 1)) - 1) << (precision - 1)
    zero, infinity = 1 << (width - 1), ((1 << (width - precision)) - 1) << (precision - 1)
    usual = [one + rng.getrandbits(precision + 1) * rng.choice((1, -1)) | rng.getrandbits(1) << (width - 1)
             for _ in range(n)]
    if data == "zeros":
        return [rng.choice((0, zero)) if rng.random() < 0.1 else zero for _ in range(n)]
    if data == "specials":
        return [rng.choice((infinity, infinity | zero, infinity | 1, zero)) if rng.random() < 0.02 else x for x in usual]
    return usual


# ---- the words, as docs/words.md has them ----

def weight(tag, i):
    z = (tag + i * 0x9e3779b97f4a7c15) % MODULUS
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9 % MODULUS
    z = (z ^ z >> 27) * 0x94d049bb133111eb % MODULUS
    return z ^ z >> 31 | 1


def tag_of(name):
    h = 0xcbf29ce484222325 + 1
    for byte in name.encode():
        h = (h ^ byte) * 0x100000001b3 % MODULUS
    return h


def signed(x):
    x %= MODULUS
    return x - MODULUS if x >> 63 else x


def name_of(op, kind):
    if kind in FLOATS:
        return f"exact {'sum' if op in ('sum', 'mean') else 'sum of products'} of {kind}"
    size = SIZES[kind]
    monoid = ("sum" if size <= 2 else "wide_sum") if op == "mean" else \
        "sumsq" if size == 1 else "wide_sumsq" if size <= 4 else "widest_sumsq"
    return f"{monoid} of {kind} in {kind[0]}64"


def check_words(words, op, kind, terms, parts, where):
    """Words of 'parts' added states against the terms that they are the sum of."""
    tag = tag_of(name_of(op, kind))
    assert words[0] == signed(sum(weight(tag, i) * w for i, w in enumerate(words) if i)), (where, "check")
    assert words[1] == len(terms), (where, "elements")
    total = sum((t for t in terms if not isinstance(t, str)), Fraction(0))
    if kind in INTEGERS:
        digits = words[2:]
        if len(digits) == 1:
            assert digits[0] == signed(int(total)), (where, "sum")
            return
        lowest = 0
    else:
        digits = words[6:]
        lowest = (-1074 if kind == "f64" else -149) * (1 if op in ("sum", "mean") else 2)
        seen = ["inf" in terms, "-inf" in terms, "nan" in terms, any(t != "-0" for t in terms)]
        for word, is_there in zip(words[2:6], seen):
            assert (word > 0) == is_there and word <= parts, (where, "specials", words[:6])
    assert sum(d * Fraction(2) ** (lowest + 32 * i) for i, d in enumerate(digits)) == total, (where, "digits")
    if parts == 1:
        assert all(0 <= d < 1 << 32 for d in digits[:-1]), (where, "carries")


# ---- runs ----

def plan_of(op, kind, flags, grouping):
    desc = Desc(c.sizeof(Desc), OPS.index(op), REDUCE, grouping, EXACT, TYPES.index(kind), 0, 0, 0, flags, 0, None)
    plan = c.c_void_p()
    tally.check(lib.tally_plan_create(tally.device, c.byref(desc), c.byref(plan)))
    return plan


def run(op, kind, flags, shape, x, y, bytes_out):
    """The output's bytes."""
    plan = plan_of(op, kind, flags, AXIS)
    addresses = []
    for data in (x, y, bytes(bytes_out)):
        memory = c.c_void_p()
        tally.check(lib.tally_alloc(tally.device, c.c_size_t(len(data or b"")), c.byref(memory)))
        if data:
            tally.check(lib.tally_copy(tally.device, memory, data, len(data)))
        addresses.append(memory)
    args = arguments(shape, x=addresses[0], y=addresses[1] if y is not None else None, out=addresses[2],
                     out_bytes=bytes_out)
    tally.run(plan, args)
    out = c.create_string_buffer(bytes_out)
    tally.check(lib.tally_copy(tally.device, out, addresses[2], bytes_out))
    for memory in addresses:
        lib.tally_free(tally.device, memory)
    tally.destroy(plan)
    return out.raw


def words_of_accumulator(op, kind, x, y, n, count):
    desc = Desc(c.sizeof(Desc), OPS.index(op), REDUCE, ALL, EXACT, TYPES.index(kind), 0, 0, 0, 0, 0, None)
    accumulator = c.c_void_p()
    tally.check(lib.tally_accumulator_create_for(c.byref(desc), c.byref(accumulator)))
    tally.check(lib.tally_accumulator_add(accumulator, x, y, n))
    words = (c.c_int64 * count)()
    tally.check(lib.tally_accumulator_words(accumulator, words, 8 * count))
    lib.tally_accumulator_destroy(accumulator)
    return list(words)


def cut(rng, n):
    """Parts of uneven lengths, some of them empty."""
    ends = sorted(rng.choice((0, n, rng.randint(0, n), rng.randint(0, n))) for _ in range(rng.randint(0, 12)))
    return list(zip([0] + ends, ends + [n]))


def main():
    rng = random.Random(SEED)
    for case in range(CASES):
        kind = rng.choice(list(FLOATS) * 4 + INTEGERS * (DEVICE == "cpu")) # GPUs have words of floats
        op = rng.choice(["sum", "mean", "sumsq", "norm2", "dot"] if kind in FLOATS else ["mean", "norm2"])
        data = rng.choice(["usual", "bits", "specials", "zeros"])
        n = rng.choice((0, 1, rng.randint(2, 70), rng.randint(2, 3000)))
        x = draw(rng, kind, n, data)
        y = draw(rng, kind, n, rng.choice(["usual", data])) if op == "dot" else None
        size, code = SIZES[kind], CODES[SIZES[kind]]
        values = [value_of(b, kind) for b in x]
        others = [value_of(b, kind) for b in y] if y else values
        terms = values if op in ("sum", "mean") else [product(a, b) for a, b in zip(values, others)]
        where = (SEED, case, op, kind, data, n)
        plan = plan_of(op, kind, WORDS_OUT, AXIS)
        count = tally.result_of(plan)[1]
        tally.destroy(plan)
        result = SIZES[kind] if kind in FLOATS else 8
        total, parts = [0] * count, cut(rng, n)
        for begin, end in parts:
            px = struct.pack(f"={end - begin}{code}", *x[begin:end])
            py = struct.pack(f"={end - begin}{code}", *y[begin:end]) if y is not None else None
            words = list(struct.unpack(f"={count}q", run(op, kind, WORDS_OUT, (1, end - begin, 1, 0), px, py, 8 * count)))
            check_words(words, op, kind, terms[begin:end], 1, where)
            assert words == words_of_accumulator(op, kind, px, py, end - begin, count), (where, "accumulator")
            total = [signed(a + b) for a, b in zip(total, words)]
        check_words(total, op, kind, terms, len(parts), where)
        whole = run(op, kind, 0, (1, n, 1, 0), struct.pack(f"={n}{code}", *x),
                    struct.pack(f"={n}{code}", *y) if y is not None else None, result)
        given = run(op, kind, WORDS_IN, (1, 1, 1, 0), struct.pack(f"={count}q", *total), None, result)
        assert whole == given, (where, whole.hex(), given.hex())
    # 2^31 states of the largest sums: the digits have room for all of them
    big = struct.pack("=1000d", *[sys.float_info.max] * 1000)
    words = struct.unpack("=74q", run("sum", "f64", WORDS_OUT, (1, 1000, 1, 0), big, None, 592))
    many = [w * (1 << 31) for w in words[1:]]
    assert all(-MODULUS // 2 <= w < MODULUS // 2 for w in many), "a digit overflowed"
    total = [signed(w << 31) for w in words]
    mean = run("mean", "f64", WORDS_IN, (1, 1, 1, 0), struct.pack("=74q", *total), None, 8)
    assert struct.unpack("=d", mean)[0] == sys.float_info.max
    assert math.isinf(struct.unpack("=d", run("sum", "f64", WORDS_IN, (1, 1, 1, 0), struct.pack("=74q", *total), None, 8))[0])
    print(f"{CASES} cases, seed {SEED}: the words are the digits of the fractions")


main()
