#!/usr/bin/env python3
"""Who is how wrong on hard inputs: sums, means, variances and norms by NumPy, PyTorch and tally beside the exact results,
which are computed with integers. Prints docs/bench/accuracy.md's table; what is not installed is left out.

usage: bench/accuracy.py [LIBTALLY.SO]

SPDX-License-Identifier: Apache-2.0"""
import math
import os
import sys
from fractions import Fraction

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tally

try:
    import torch
except ImportError:
    torch = None

N = 1 << 16
# For each type: NumPy's, bits of the significand, exponents of the least bit and beyond the largest number, and of numbers
# whose squares are too small for a normal number.
TYPES = {"f64": (np.float64, 53, -1074, 1024, -530), "f32": (np.float32, 24, -149, 128, -80)}
OPERATORS = ["sum", "mean", "var", "norm1", "norm2"]


def inputs(name):
    """Named arrays of a type, each hard in its own way."""
    kind, precision, _, _, tiny = TYPES[name]
    r = np.random.default_rng(1)
    normal = r.standard_normal(N)
    pairs = (normal[:N // 2 - 1] * 2.0 ** precision).astype(kind)
    cancelling = np.concatenate([pairs, -pairs, np.array([1, 2], kind)])
    r.shuffle(cancelling)
    largest = np.finfo(kind).max
    return {
        "normal": normal.astype(kind),
        "far mean": (normal + 2.0 ** (precision - 10)).astype(kind),
        "cancelling": cancelling,
        "exponents of +-20": (normal * 2.0 ** r.integers(-20, 21, N)).astype(kind),
        "huge": np.resize(np.array([largest, -largest, largest / 2, -largest / 2, 3], kind), N),
        "small": (normal * 2.0 ** tiny).astype(kind),
        "one large": np.concatenate([np.array([2.0 ** precision], kind), np.ones(N - 1, kind)]),
    }


def root_of(value):
    """The root of a rational to thousands of bits, with a last bit that stands for the rest."""
    if not value:
        return value
    shift = 4 * 1200
    number, rest = divmod(value.numerator << 2 * shift, value.denominator)
    root = math.isqrt(number)
    return Fraction(2 * root + (rest > 0 or root * root < number), 2 << shift)


def exact(op, x):
    values = [Fraction(v) for v in map(float, x)]
    scale = 1 << 1074
    integers = [v.numerator * (scale // v.denominator) for v in values]
    total, squares = Fraction(sum(integers), scale), Fraction(sum(i * i for i in integers), scale * scale)
    n = len(values)
    return {"sum": lambda: total, "mean": lambda: total / n, "var": lambda: (n * squares - total * total) / (n * n),
            "norm1": lambda: Fraction(sum(map(abs, integers)), scale), "norm2": lambda: root_of(squares)}[op]()


def unit_of(value, name):
    """The last place's unit of a rational as a float."""
    _, precision, least, _, _ = TYPES[name]
    if not value:
        return Fraction(2) ** least
    value = abs(value)
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    exponent -= value < Fraction(2) ** exponent
    return Fraction(2) ** max(exponent - precision + 1, least)


def rounded(value, name):
    """The nearest float, ties to even, as a rational; None for an overflow."""
    unit = unit_of(value, name)
    nearest = round(value / unit) * unit
    return nearest if abs(nearest) < Fraction(2) ** TYPES[name][3] else None


def verdict(result, want, name):
    right = rounded(want, name)
    if math.isnan(result):
        return "NaN"
    if math.isinf(result):
        return "right" if right is None and (result > 0) == (want > 0) else "infinite"
    if right is not None and Fraction(result) == right:
        return "right"
    units = float(abs(Fraction(result) - want) / unit_of(want, name))
    wrong = abs(Fraction(result) - want) >= abs(want) / 2 if want else True
    return "no digit" if wrong else f"{units:.2g}"


class Numpy:
    name = "NumPy " + np.__version__

    def __call__(self, op, x, _):
        with np.errstate(all="ignore"):
            return {"sum": np.sum, "mean": np.mean, "var": np.var, "norm1": lambda v: np.linalg.norm(v, 1),
                    "norm2": np.linalg.norm}[op](x)


class Torch:
    name = "PyTorch " + (torch.__version__ if torch else "")

    def __call__(self, op, x, _):
        t = torch.frombuffer(bytearray(x.tobytes()), dtype=torch.float64 if x.itemsize == 8 else torch.float32)
        norm = torch.linalg.vector_norm
        return {"sum": t.sum, "mean": t.mean, "var": lambda: t.var(unbiased=False), "norm1": lambda: norm(t, 1),
                "norm2": lambda: norm(t, 2)}[op]().item()


class Tally:
    def __init__(self, library, mode):
        self.library, self.mode = library, mode
        self.name = "tally, " + ["fast", "exact"][mode]

    def __call__(self, op, x, name):
        out = np.empty(1, x.dtype)
        plan = self.library.plan(op, name, mode=self.mode)
        self.library.run(plan, tally.arguments((1, len(x), 1, 0), x=x.ctypes.data, out=out.ctypes.data,
                                               out_bytes=out.nbytes))
        self.library.destroy(plan)
        return out[0]


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    library = tally.Tally(sys.argv[1] if len(sys.argv) > 1 else root + "/build/src/libtally.so", "cpu")
    peers = [Numpy()] + ([Torch()] if torch else []) + [Tally(library, 0), Tally(library, 1)]
    print("| type | input | result | " + " | ".join(p.name for p in peers) + " |")
    print("|---|---|---|" + "---|" * len(peers))
    for name in TYPES:
        for title, x in inputs(name).items():
            for op in OPERATORS:
                want = exact(op, x)
                found = [verdict(float(p(op, x, name)), want, name) for p in peers]
                print(f"| {name} | {title} | {op} | " + " | ".join(found) + " |")


if __name__ == "__main__":
    main()
