#!/usr/bin/env python3
"""Writes single/vectors.json: inputs and the correctly rounded results that any exact sum, mean or dot product must give.
The results come from Python's fractions; math.fsum agrees where it can compute them.

usage: vectors.py [--check]      --check: fails if the file is not what would be written

SPDX-License-Identifier: Apache-2.0"""
import json
import math
import os
import random
import struct
import sys
from fractions import Fraction

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "single", "vectors.json")
ABOUT = ("Correctly rounded results: the true value of the finite inputs, rounded once, to nearest, ties to even. Numbers "
         "are the bits of IEEE 754, in hexadecimal; 'bits*n' stands for n such elements; 'nan' for any NaN. The order of "
         "the elements changes no result.")


class Format:
    def __init__(self, name, precision, exponent_bits):
        self.name, self.precision, self.bits = name, precision, precision + exponent_bits
        self.bias = (1 << (exponent_bits - 1)) - 1
        self.lowest = 2 - self.bias - precision  # the smallest subnormal is 2^lowest
        self.top = self.bias  # the largest binade begins at 2^top
        self.infinity = ((1 << exponent_bits) - 1) << (precision - 1)
        self.sign = 1 << (self.bits - 1)
        self.nan = self.infinity | 1 << (precision - 2)
        self.most = self.infinity - 1

    def value(self, bits):
        """The fraction of finite bits."""
        field, rest = (bits & ~self.sign) >> (self.precision - 1), bits & ((1 << (self.precision - 1)) - 1)
        if field:
            rest |= 1 << (self.precision - 1)
        magnitude = Fraction(rest) * Fraction(2) ** (self.lowest + max(field, 1) - 1)
        return -magnitude if bits & self.sign else magnitude

    def rounded(self, value):
        """The bits of a fraction other than zero."""
        sign, value = (self.sign, -value) if value < 0 else (0, value)
        exponent = value.numerator.bit_length() - value.denominator.bit_length()
        exponent -= value < Fraction(2) ** exponent
        unit = max(exponent - self.precision + 1, self.lowest)
        kept = round(value / Fraction(2) ** unit)  # Python rounds halves to even
        return sign | min(((unit - self.lowest) << (self.precision - 1)) + kept, self.infinity)

    def of(self, number):
        """The bits of an int, float or fraction, which must be one of the format's numbers."""
        if number == 0:
            return self.sign if math.copysign(1, number) < 0 else 0
        bits = self.rounded(Fraction(number))
        assert self.value(bits) == Fraction(number), number
        return bits

    def special(self, bits):
        return bits & ~self.sign >= self.infinity

    def any(self, draw):
        return draw.getrandbits(self.bits)

    def near(self, draw, lowest, highest):
        """A random number whose exponent lies between."""
        exponent = draw.randint(lowest, highest)
        significand = draw.getrandbits(self.precision - 1) | 1 << (self.precision - 1)
        return self.of(Fraction(significand) * Fraction(2) ** (exponent - self.precision + 1) * draw.choice((1, -1)))


F32, F64 = Format("f32", 24, 8), Format("f64", 53, 11)


def summed(form, summands, divisor):
    """The bits of the sum of summands, each of which is 'nan', 'inf', '-inf', '-0' or a fraction."""
    if "nan" in summands or ("inf" in summands and "-inf" in summands):
        return "nan"
    for name, sign in (("inf", 0), ("-inf", form.sign)):
        if name in summands:
            return form.infinity | sign
    total = sum((s for s in summands if s != "-0"), Fraction(0))
    if total == 0:
        return form.sign if summands and all(s == "-0" for s in summands) else 0
    return form.rounded(total / divisor)


def summand(form, bits):
    if not form.special(bits):
        return "-0" if bits == form.sign else form.value(bits)
    return "nan" if bits & ~form.sign != form.infinity else "-inf" if bits & form.sign else "inf"


def product(form, a, b):
    one, other = summand(form, a), summand(form, b)
    minus = (a ^ b) & form.sign
    if "nan" in (one, other):
        return "nan"
    if form.special(a) or form.special(b):
        is_zero = 0 in (a & ~form.sign, b & ~form.sign)
        return "nan" if is_zero else "-inf" if minus else "inf"
    value = form.value(a) * form.value(b)
    return "-0" if value == 0 and minus else value


class Cases:
    def __init__(self):
        self.lines, self.seen = [], set()

    def add(self, about, form, x, y=None, operations=("sum", "mean")):
        x = [bits if isinstance(bits, tuple) else (bits, 1) for bits in x]
        if y is not None:
            y, operations = [(bits, 1) for bits in y], ("dot",)
        for operation in operations:
            self.add_case(about, operation, form, x, y)

    def add_case(self, about, operation, form, x, y):
        every = [bits for bits, times in x for _ in range(times)]
        if y:
            summands = [product(form, a, b) for a, (b, _) in zip(every, y)]
        else:
            summands = [summand(form, bits) for bits in every]
        empty_mean = operation == "mean" and not every
        result = "nan" if empty_mean else summed(form, summands, len(every) if operation == "mean" else 1)
        if operation == "sum" and form is F64 and all(isinstance(s, Fraction) for s in summands):
            try:
                sum_of_floats = math.fsum(float(s) for s in summands)
                assert struct.pack(">d", sum_of_floats) == result.to_bytes(8, "big"), (about, every)
            except OverflowError:
                pass
        case = {"about": about, "operation": operation, "type": form.name, "x": written(form, x)}
        if y:
            case["y"] = written(form, y)
        case["result"] = result if result == "nan" else f"{result:0{form.bits // 4}x}"
        line = json.dumps(case)
        if line not in self.seen:
            self.seen.add(line)
            self.lines.append(line)


def written(form, numbers):
    return [f"{bits:0{form.bits // 4}x}" + (f"*{times}" if times > 1 else "") for bits, times in numbers]


def negated(form, numbers):
    return [(one[0] ^ form.sign, one[1]) if isinstance(one, tuple) else one ^ form.sign for one in numbers]


def hand_made(cases, form):
    """Where rounding goes wrong, with both signs."""
    p, two, tiny = form.precision, (lambda e: form.of(Fraction(2) ** e)), form.of(Fraction(2) ** form.lowest)
    minus = lambda bits: bits ^ form.sign  # noqa: E731
    one, odd = form.of(1), form.of(1 + Fraction(2) ** (1 - p))
    half, quarter = two(-p), two(-p - 1)  # of the last place of 1
    groups = {
        "sums that are numbers themselves": [
            [one], [two(-1)], [form.of(3)], [odd], [form.most], [tiny], [two(1 - form.bias)], [two(1 - form.bias) - 1],
            [one, one], [two(1), minus(one)], [one, minus(two(1))], [form.of(100), form.of(23)],
            [two(10), minus(two(-10))], [form.most, minus(one), one], [(one, 1001)], [(odd, 1024)], [(form.of(3), 5000)],
            [(one, 1500), (minus(two(1)), 600)], [(tiny, 2000)]],
        "just inside a power of two": [
            [two(1), minus(two(1 - p))], [one, minus(half)], [one, minus(two(-p - 1))], [one, minus(two(-p - 2))],
            [two(20), minus(two(20 - p))], [two(1), minus(two(1 - p)), tiny], [two(1), minus(two(1 - p)), minus(tiny)],
            [two(form.top), minus(two(form.top - p))], [(two(1 - 10), 1024), minus(two(1 - p))]],
        "ties and what is beside them": [
            [one, half], [odd, half], [one, half, tiny], [one, half, minus(tiny)], [odd, half, minus(tiny)],
            [one, quarter], [one, quarter, quarter], [one, quarter, quarter, tiny], [odd, quarter, half],
            [two(p), one], [two(p), one, one], [two(p), form.of(3)], [two(p + 1), one], [two(p + 1), form.of(3)],
            [(quarter, 1023), one, quarter], [(half, 2000), one]],
        "at the largest number": [
            [form.most, two(form.top - p)], [form.most, two(form.top - p), minus(tiny)], [form.most, two(form.top - p - 1)],
            [form.most, form.most], [form.most, form.most, minus(form.most)], [two(form.top), two(form.top)],
            [(form.most, 1000), (minus(form.most), 999)], [form.most, tiny], [form.most, two(form.top - p), minus(one)],
            [form.most, form.most, form.of(-1), minus(form.most), minus(form.most)]],
        "at the smallest numbers": [
            [tiny, tiny], [tiny, minus(tiny)], [(tiny, 3)], [two(1 - form.bias), minus(tiny)], [two(1 - form.bias) - 1, tiny],
            [two(1 - form.bias), tiny], [one, tiny], [one, tiny, minus(one)], [form.most, tiny, minus(form.most)],
            [two(2 - form.bias), minus(tiny)], [tiny, 0, 0]],
        "cancellation": [
            [two(p + 2), one, minus(two(p + 2))], [one, two(90), minus(two(90))], [form.most, one, minus(form.most)],
            [two(100), two(50), one, two(-50), minus(two(100)), minus(two(50))],
            [two(form.top), minus(two(form.lowest + 1)), minus(two(form.top)), tiny],
            [two(64), minus(one)], [two(96), minus(two(31))], [two(120), minus(tiny)],
            [(two(31), 2), minus(two(32)), two(-30)], [minus(two(32)), (two(0), 1100)]],
    }
    for about, inputs in groups.items():
        for x in inputs:
            cases.add(about, form, x)
            cases.add(about, form, negated(form, x))
    zero, infinity = 0, form.infinity
    for x in ([], [zero], [form.sign], [form.sign, form.sign], [form.sign, zero], [(form.sign, 1200)],
              [(form.sign, 1200), zero], [one, minus(one)], [minus(one), one, form.sign], [form.sign, tiny, minus(tiny)]):
        cases.add("zeros", form, x)
    for x in ([infinity], [minus(infinity)], [infinity, one], [infinity, minus(infinity)], [infinity, infinity],
              [form.nan], [form.nan, infinity], [one, form.nan | form.sign], [form.infinity + 1],
              [form.most, form.most, minus(infinity)], [(one, 1300), infinity], [(infinity, 3), (minus(infinity), 2)]):
        cases.add("infinities and NaNs", form, x)
    for x in ([one, form.of(2)], [one, one, two(1)], [form.most, form.most], [minus(form.most), minus(form.most), minus(form.most)],
              [tiny, zero], [tiny, tiny, zero], [(tiny, 3), zero], [odd, one], [(one, 2), zero], [(one, 6), zero],
              [(form.of(5), 2), (zero, 5)], [form.most, minus(form.most), tiny], [(odd, 3), (one, 4)]):
        cases.add("means", form, x, operations=("mean",))


def hand_made_products(cases, form):
    p, two, tiny = form.precision, (lambda e: form.of(Fraction(2) ** e)), form.of(Fraction(2) ** form.lowest)
    one, minus = form.of(1), lambda bits: bits ^ form.sign  # noqa: E731
    odd, high = form.of(1 + Fraction(2) ** (1 - p)), two(form.top)
    inputs = [
        ([], []), ([one], [one]), ([minus(one)], [one]), ([odd], [odd]), ([odd], [minus(odd)]), ([high], [high]),
        ([high, high], [high, minus(high)]), ([high, high, one], [high, minus(high), odd]), ([tiny], [tiny]),
        ([tiny, one], [minus(tiny), one]), ([tiny, one, one], [tiny, one, two(-p)]), ([form.most], [form.most]),
        ([form.most, form.most, one], [form.most, minus(form.most), one]), ([odd, one], [odd, minus(odd)]),
        ([odd, one, one], [odd, minus(one), minus(two(2 - p))]), ([0], [minus(one)]), ([form.sign, 0], [one, minus(one)]),
        ([form.sign], [minus(one)]), ([form.infinity], [0]), ([form.infinity], [minus(tiny)]), ([form.nan], [0]),
        ([form.infinity, one], [one, minus(form.infinity)]), ([form.most], [two(-1)]), ([minus(form.most)], [one]),
        ([minus(two(1)), two(1)], [one, two(-p)]), ([two(form.lowest // 2)], [two(form.lowest - form.lowest // 2 - 1)]),
        ([two(form.lowest // 2), tiny], [two(form.lowest - form.lowest // 2 - 1), tiny])]
    for x, y in inputs:
        cases.add("products", form, x, y)


def drawn(cases, form, draw):
    span = form.precision
    for _ in range(25):
        n = draw.randint(2, 12)
        cases.add("random bits", form, [bits for bits in (form.any(draw) for _ in range(n)) if not form.special(bits)])
    for _ in range(25):
        middle = draw.randint(form.lowest + 3 * span, form.top - 2 * span)
        x = [form.near(draw, middle - span, middle + span) for _ in range(draw.randint(2, 10))]
        cases.add("random, of like size", form, x)
        cases.add("random, mostly cancelled", form, x + [bits ^ form.sign for bits in x[1:]] + [form.near(draw, middle - 2 * span, middle)])
    for _ in range(15):  # the sum of the first is rounded and taken away: what is left is its error
        x = [form.near(draw, -5, 5) for _ in range(draw.randint(2, 8))]
        rounded = summed(form, [form.value(bits) for bits in x], 1)
        cases.add("what rounding left", form, x + [rounded ^ form.sign])
    for _ in range(25):
        n = draw.randint(1, 8)
        x, y = ([form.near(draw, -form.bias // 2, form.bias // 2) for _ in range(n)] for _ in range(2))
        cases.add("random products", form, x, y)
        x, y = ([form.near(draw, -3, 3) for _ in range(n)] for _ in range(2))
        rounded = summed(form, [product(form, a, b) for a, b in zip(x, y)], 1)
        cases.add("what rounding of products left", form, x + [rounded ^ form.sign], y + [form.of(1)])


def text():
    cases = Cases()
    for form, seed in ((F64, 1), (F32, 2)):
        hand_made(cases, form)
        hand_made_products(cases, form)
        drawn(cases, form, random.Random(seed))
    return f'{{"about": {json.dumps(ABOUT)},\n"cases": [\n' + ",\n".join(cases.lines) + "\n]}\n"


if __name__ == "__main__":
    if "--check" not in sys.argv:
        with open(PATH, "w", encoding="utf-8") as out:
            out.write(text())
    else:
        with open(PATH, encoding="utf-8") as file:
            sys.exit(file.read() != text() and "single/vectors.json: run tools/tally_exact/vectors.py")
