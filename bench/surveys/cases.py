"""The cases of the survey: how one is drawn, how it is written as a word and read back, and its data.

A case is written as OP/FORM/GROUPING/TYPE/SIZE, where more is said as it is needed:

    sum/reduce/all/f32/1000000            a number of elements
    max/inclusive/axis/i16/100x3x2000     outer x extent x inner
    sum/reduce/segments/f32/5000+1,3/i64:exponential:24
                                          the input begins 1 element past an aligned address, the output 3; offsets of
                                          i64, lengths exponential with a mean of 24 (constant, uniform, power)
    sum/reduce/keys/f64/5000/i32:constant:8
    sum/inclusive/all/i8/5000=i8          the results' type, where it is not the default

The same word always gives the same data.

SPDX-License-Identifier: Apache-2.0"""
import math
import random
import re
import zlib

import numpy as np

from tally import ALL, AXIS, EXCLUSIVE, INCLUSIVE, KEYS, OPS, REDUCE, SEGMENTS, SIZES

FORMS = ["reduce", "inclusive", "exclusive"]
GROUPINGS = ["all", "axis", "segments", "keys"]
LENGTHS = ["constant", "uniform", "exponential", "power"]
NO_EXCLUSIVE = {"argmin", "argmax", "minmax", "mean", "var", "std"}
INTEGERS_ONLY = {"band", "bor", "bxor"}
NO_VALUE_OF_NOTHING = {"min", "max", "argmin", "argmax", "minmax"}
WIDENING = {"sum", "prod", "sumsq", "norm1", "dot"}
# What people sum most comes oftener: sums three times any other operator, f32 thrice, f64, i32 and i64 twice.
DRAWN_OPS = OPS + ["sum", "sum"]
WIDE = ["f32", "f32", "f32", "f64", "f64", "i32", "i32", "i64", "i64", "u32", "u64"]
NARROW = ["i8", "i16", "u8", "u16", "f16", "bf16"]
DEFAULT_OUT = {"argmin": "i64", "argmax": "i64", "any": "u8", "all": "u8", "count_nonzero": "i64"}
NUMPY = dict(i8=np.int8, i16=np.int16, i32=np.int32, i64=np.int64, u8=np.uint8, u16=np.uint16, u32=np.uint32,
             u64=np.uint64, f16=np.float16, bf16=np.uint16, f32=np.float32, f64=np.float64)
# Elements of the pools that inputs repeat: odd, so that no tile of a kernel sees the same values as the one before.
PERIOD = 1000003
WORD = re.compile(r"^(\w+)/(reduce|inclusive|exclusive)/(all|axis|segments|keys)/(\w+)/(?:(\d+)x(\d+)x)?(\d+)"
                  r"(?:\+(\d+),(\d+))?(?:/(\w+):(\w+):([\d.]+))?(?:=(\w+))?$")


def is_float(type_):
    return type_[0] in "fb"


class Case:
    def __init__(self, op, form, grouping, type_, shape, off=(0, 0), lengths=None, out="default"):
        self.op, self.form, self.grouping, self.type = op, form, grouping, type_
        self.shape = shape # outer, extent, inner
        self.off = off # elements by which input and output are misaligned
        self.index, self.kind, self.mean = lengths or ("default", None, 0)
        self.out = out

    @property
    def n(self):
        return math.prod(self.shape)

    def __str__(self):
        word = f"{self.op}/{FORMS[self.form]}/{GROUPINGS[self.grouping]}/{self.type}/"
        word += "x".join(map(str, self.shape)) if self.grouping == AXIS else str(self.n)
        word += f"+{self.off[0]},{self.off[1]}" if any(self.off) else ""
        word += f"/{self.index}:{self.kind}:{self.mean:g}" if self.kind else ""
        return word + (f"={self.out}" if self.out != "default" else "")

    def ends(self):
        """Where the groups of one period of lengths end, and how many groups there are in all."""
        draw = np.random.default_rng(zlib.crc32(str(self).encode()))
        count = int(min(PERIOD, 4 * self.n / self.mean + 16))
        may_be_empty = self.grouping == SEGMENTS and self.form == REDUCE and self.op not in NO_VALUE_OF_NOTHING
        may_be_empty |= self.grouping == SEGMENTS and self.form != REDUCE
        if self.kind == "constant":
            lengths = np.full(count, round(self.mean))
        elif self.kind == "uniform":
            lengths = draw.integers(1, max(1, round(2 * self.mean - 1)), count, endpoint=True)
        elif self.kind == "exponential":
            lengths = draw.exponential(self.mean, count).astype(np.int64)
        else: # a Pareto law of exponent 3/2 from a third of the mean on
            lengths = ((1 + draw.pareto(1.5, count)) * self.mean / 3).astype(np.int64)
        ends = np.cumsum(np.maximum(lengths, 0 if may_be_empty else 1), dtype=np.int64)
        if ends[-1] == 0:
            ends += 1
        whole, rest = divmod(self.n, int(ends[-1]))
        return ends, whole * count + (int(np.searchsorted(ends, rest)) + 1 if rest else 0)

    def pool(self, at_least=0):
        """PERIOD values of the input's type, as NumPy's; bf16 as the upper halves of f32. They are chosen so that the
        oracle can be strict: floats that are summed are small integers, whose sums are exact in any order; factors are
        1 or -1; what is only compared is any number. 'any' finds nothing until the end, 'all' nothing that is zero, so
        that nobody is done early."""
        draw = np.random.default_rng(zlib.crc32(str(self).encode()) + 1)
        type_ = NUMPY[self.type]
        if self.op in ("any", "all"):
            values = np.full(PERIOD, 0 if self.op == "any" else 1, np.float32)
        elif is_float(self.type) and self.op == "prod":
            values = draw.choice(np.float32([1, -1]), PERIOD)
        elif is_float(self.type) and self.op in ("min", "max", "argmin", "argmax", "minmax", "norm_inf", "logsumexp"):
            values = draw.standard_normal(PERIOD, np.float32)
        elif is_float(self.type) or self.op in ("mean", "var", "std", "norm2", "logsumexp"):
            values = draw.integers(0, 17, PERIOD).astype(np.float32) - (0 if self.type[0] == "u" else 8)
        else:
            values = np.frombuffer(draw.bytes(PERIOD * SIZES[self.type]), type_)
        if self.type == "bf16":
            return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return values.astype(type_)

    def result_bytes(self):
        """The bytes of one element of the output, by the default output types."""
        if self.out != "default":
            return SIZES[self.out]
        if self.op in DEFAULT_OUT:
            return SIZES[DEFAULT_OUT[self.op]]
        size = SIZES[self.type]
        if not is_float(self.type) and (self.op in WIDENING or self.op in ("norm2", "mean", "var", "std", "logsumexp")):
            return 8
        return 2 * size if self.op == "minmax" else size


def parse(word):
    found = WORD.match(word)
    if not found or found[1] not in OPS or found[4] not in SIZES:
        raise ValueError(f"'{word}' is not a case: OP/FORM/GROUPING/TYPE/SIZE[+IN,OUT][/INDEX:LENGTHS:MEAN][=OUT]")
    outer, extent, inner = (found[5] or 1, found[6], found[7]) if found[5] else (1, found[7], 1)
    lengths = (found[10], found[11], float(found[12])) if found[10] else None
    grouping = GROUPINGS.index(found[3])
    if (grouping >= SEGMENTS) != bool(lengths) or (lengths and lengths[1] not in LENGTHS):
        raise ValueError(f"'{word}': segments and keys, and they alone, have /INDEX:LENGTHS:MEAN; lengths: "
                         + ", ".join(LENGTHS))
    return Case(found[1], FORMS.index(found[2]), grouping, found[4], (int(outer), int(extent), int(inner)),
                (int(found[8] or 0), int(found[9] or 0)), lengths, found[13] or "default")


def log_uniform(draw, least, most):
    return math.exp(draw.uniform(math.log(least), math.log(max(least, most))))


def split(draw, n):
    """n as outer x extent x inner, log-uniform; the extent is 1, 2 or 3 in a quarter of the cases."""
    low, high = sorted((draw.random(), draw.random()))
    low, high = draw.choice([(low, high), (low, high), (0, high), (low, 1)])
    outer = max(1, round(n ** low))
    extent = draw.randint(1, 3) if draw.random() < 0.25 else max(1, round(n ** (high - low)))
    if high == 1: # the last axis
        return (max(1, n // extent), extent, 1) if extent <= 3 else (outer, max(1, n // outer), 1)
    if low == 0: # the first
        return 1, extent, max(1, n // extent)
    return outer, extent, max(1, n // (outer * extent))


def draw_case(seed, number, bytes_range, values_range=None):
    """Case 'number' of a seed: of as many bytes read and written, or of as many values."""
    draw = random.Random(f"{seed}/{number}")
    op = draw.choice(DRAWN_OPS)
    form = draw.choice([REDUCE, REDUCE, REDUCE, INCLUSIVE, INCLUSIVE, EXCLUSIVE])
    if form == EXCLUSIVE and op in NO_EXCLUSIVE:
        form = INCLUSIVE
    grouping = draw.choices([ALL, AXIS, SEGMENTS, KEYS], [35, 35, 19, 11])[0]
    type_ = draw.choice(WIDE if draw.random() < 0.75 else NARROW)
    while op in INTEGERS_ONLY and is_float(type_):
        type_ = draw.choice(WIDE if draw.random() < 0.75 else NARROW)
    narrow = not is_float(type_) and form != REDUCE and op in WIDENING and draw.random() < 0.5
    off = (draw.randint(0, 5), draw.randint(0, 5)) if draw.random() < 0.25 else (0, 0)
    mean, lengths = 1.0, None
    if grouping >= SEGMENTS:
        mean = float(f"{log_uniform(draw, 1, 1e6):.3g}")
        index = draw.choice(["i64", "i64", "i32", "u32" if grouping == SEGMENTS else "i16"])
        lengths = (index, draw.choice(LENGTHS), mean)
    case = Case(op, form, grouping, type_, (1, 1, 1), off, lengths, type_ if narrow else "default")
    # Bytes of an element and its share of a group.
    each = SIZES[type_] * (2 if op == "dot" else 1) + (SIZES[index] if grouping == KEYS else 0)
    if form != REDUCE:
        each += case.result_bytes()
    elif grouping >= SEGMENTS:
        each += (case.result_bytes() + SIZES[index]) / mean
    n = log_uniform(draw, *values_range) if values_range else log_uniform(draw, *bytes_range) / each
    n = max(1, min(round(n), (1 << 31) - 8))
    case.shape = split(draw, n) if grouping == AXIS else (1, n, 1)
    if lengths and mean > n:
        case.mean = float(f"{max(1.0, n / 4):.3g}")
    return case
