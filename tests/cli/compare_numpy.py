#!/usr/bin/env python3
"""Compares the command with NumPy: every operator, type, axis, memory order and byte order, reductions and scans; and
skewness and kurtosis with SciPy.

usage: compare_numpy.py TALLY [reduce|scan|groups|input|moments]...   exits with 77 where NumPy is missing, and for
moments SciPy, or with 1 where TALLY_REQUIRE names it
"""
import importlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import warnings


def need(module, of):
    try:
        return importlib.import_module(module)
    except ImportError:
        print(f"{sys.executable} has no {of}")
        sys.exit(1 if of in os.environ.get("TALLY_REQUIRE", "").split(",") else 77)


np = need("numpy", "numpy")
np.seterr(all="ignore")
TALLY = os.path.abspath(sys.argv[1])
INTEGERS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]
FLOATS = ["f2", "f4", "f8"]
RANDOM = np.random.default_rng(20)
failures = 0
count = 0


def run(*arguments, stdin=None, fails=False):
    done = subprocess.run([TALLY, *arguments], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0 and not fails:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def check(what, got, expected, tolerance=0.0):
    """Same shape; same values, or within the tolerance relative to 'expected', where sums that cancel and products that
    run below a type's range count as 0.01."""
    global failures, count
    count += 1
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape == expected.shape:
        g, e = got.astype(np.longdouble), expected.astype(np.longdouble)
        same = (g == e) | (np.isnan(g) & np.isnan(e))
        if tolerance:
            same |= np.abs(g - e) <= tolerance * np.maximum(np.abs(e), 1e-2)
        if np.all(same):
            return
    failures += 1
    if failures <= 20:
        print(f"FAILED: {what}\n  got      {got.dtype} {got.shape} {got.ravel()[:6]}\n"
              f"  expected {expected.dtype} {expected.shape} {expected.ravel()[:6]}")


def values(dtype, shape):
    n = int(np.prod(shape, dtype=int))
    if dtype == "?":
        return (RANDOM.random(n) < 0.6).reshape(shape)
    if dtype[0] == "f":
        return (RANDOM.random(n) * 3 - 0.5).astype(dtype).reshape(shape)
    low = 0 if dtype[0] == "u" else -20
    return RANDOM.integers(low, 100, n).astype(dtype).reshape(shape)


def wide(x):
    """The type that the library accumulates in: 64-bit integers; for floats NumPy's widest type as an oracle."""
    if x.dtype.kind == "f":
        return x.astype(np.longdouble)
    return x.astype(np.uint64 if x.dtype.kind in "ub" else np.int64)


def mean_like(x):
    return x.astype(np.longdouble)


def norm_inf(x, axis):
    return np.max(np.abs(x.astype(np.longdouble)), axis=axis, initial=0)


REDUCTIONS = {
    "sum": lambda x, a: np.sum(wide(x), axis=a),
    "prod": lambda x, a: np.prod(wide(x), axis=a),
    "min": lambda x, a: np.min(x, axis=a),
    "max": lambda x, a: np.max(x, axis=a),
    "argmin": lambda x, a: np.argmin(x, axis=a),
    "argmax": lambda x, a: np.argmax(x, axis=a),
    "minmax": lambda x, a: np.stack([np.min(x, axis=a), np.max(x, axis=a)], axis=-1),
    "any": lambda x, a: np.any(x, axis=a).astype("u1"),
    "all": lambda x, a: np.all(x, axis=a).astype("u1"),
    "count_nonzero": lambda x, a: np.count_nonzero(x, axis=a),
    "band": lambda x, a: np.bitwise_and.reduce(x if x.dtype != bool else x.astype("u1"), axis=a),
    "bor": lambda x, a: np.bitwise_or.reduce(x if x.dtype != bool else x.astype("u1"), axis=a),
    "bxor": lambda x, a: np.bitwise_xor.reduce(x if x.dtype != bool else x.astype("u1"), axis=a),
    "sumsq": lambda x, a: np.sum(wide(x) * wide(x), axis=a),
    "norm1": lambda x, a: np.sum(np.abs(wide(x)), axis=a),
    "norm2": lambda x, a: np.sqrt(np.sum(mean_like(x) ** 2, axis=a)),
    "norm_inf": norm_inf,
    "mean": lambda x, a: np.mean(mean_like(x), axis=a),
    "var": lambda x, a: np.var(mean_like(x), axis=a),
    "std": lambda x, a: np.std(mean_like(x), axis=a),
    "logsumexp": lambda x, a: np.log(np.sum(np.exp(mean_like(x) - mean_like(x).max()), axis=a)) + mean_like(x).max(),
}
BITWISE = {"band", "bor", "bxor"}
ROUNDED = {"sum", "prod", "sumsq", "norm1", "norm2", "mean", "var", "std", "logsumexp"}
TOLERANCE = {"f2": 4e-3, "f4": 1e-5, "f8": 1e-12}
SCANS = {
    "sum": lambda x, a: np.cumsum(wide(x), axis=a),
    "prod": lambda x, a: np.cumprod(wide(x), axis=a),
    "min": lambda x, a: np.minimum.accumulate(x.ravel() if a is None else x, axis=a or 0),
    "max": lambda x, a: np.maximum.accumulate(x.ravel() if a is None else x, axis=a or 0),
}


def tolerance(op, dtype):
    if op not in ROUNDED:
        return 0
    return TOLERANCE.get(dtype, 1e-12 if op in ("norm2", "mean", "var", "std", "logsumexp") else 0)


def save(x, order, byte_order):
    x = np.asarray(x, order=order)
    if byte_order == ">":
        x = x.astype(x.dtype.newbyteorder(">"))
    np.save("x.npy", x)


def layouts(dtype, shape):
    orders = "CF" if len(shape) > 1 else "C"
    return itertools.product(orders, "<>" if dtype not in ("i1", "u1", "?") else "<")


def read_text(text, expected, dtype):
    """Integers as they are; floats are printed to read back exactly as their own type."""
    if expected.dtype.kind in "iu":
        return np.array([int(v) for v in text.split()], expected.dtype).reshape(expected.shape)
    return np.array([float(v) for v in text.split()]).astype(dtype if dtype[0] == "f" else "f8").reshape(expected.shape)


def reduce():
    shapes = [(), (1,), (7,), (300,), (5, 9), (3, 1, 4), (4, 33, 3), (2, 3, 4, 5)]
    for dtype, shape in itertools.product(INTEGERS + FLOATS + ["?"], shapes):
        x = values(dtype, shape)
        for order, byte_order in layouts(dtype, shape):
            save(x, order, byte_order)
            for op, oracle in REDUCTIONS.items():
                if op in BITWISE and dtype[0] == "f":
                    continue
                if order + byte_order != "C<" and RANDOM.integers(4):  # orders do not depend on the operator
                    continue
                for axis in [None] + ([RANDOM.integers(-len(shape), len(shape))] if shape else []):
                    what = f"reduce {op} {byte_order}{dtype} {shape} order {order} axis {axis}"
                    option = [] if axis is None else ["--axis", str(axis)]
                    expected = np.asarray(oracle(x, axis))
                    try:
                        text = run("reduce", op, "x.npy", *option).decode()
                        if axis is None and text.count("\n") != 1:
                            raise RuntimeError(f"not one line: {text!r}")
                        check(what, read_text(text, expected, dtype), expected, tolerance(op, dtype))
                        if RANDOM.integers(4) == 0:
                            run("reduce", op, "x.npy", *option, "-o", "out.npy")
                            check(what + " -o", np.load("out.npy"), expected, tolerance(op, dtype))
                    except (RuntimeError, ValueError) as error:
                        check(f"{what}: {error}", 0, 1)


def scan():
    shapes = [(), (1,), (300,), (5, 9), (3, 1, 4), (4, 33, 3)]
    for dtype, shape in itertools.product(INTEGERS + FLOATS, shapes):
        x = values(dtype, shape)
        for order, byte_order in layouts(dtype, shape):
            save(x, order, byte_order)
            for op, oracle in SCANS.items():
                for axis in [None] + ([RANDOM.integers(-len(shape), len(shape))] if shape else []):
                    reverse = bool(RANDOM.integers(2))
                    what = f"scan {op} {byte_order}{dtype} {shape} order {order} axis {axis} reverse {reverse}"
                    y = x.ravel() if axis is None else x
                    expected = oracle(np.flip(y, axis) if reverse else y, axis)
                    expected = np.flip(expected, axis) if reverse else expected
                    try:
                        run("scan", op, "x.npy", *([] if axis is None else ["--axis", str(axis)]),
                            *(["--reverse"] if reverse else []), "-o", "out.npy")
                        got = np.load("out.npy")
                        check(what, got, expected, 5 * tolerance(op, dtype))
                        if got.ndim > 1 and order == "F" and min(got.shape[0], got[0].size) > 1:
                            check(what + ": order of the output", got.flags.f_contiguous, True)
                    except (RuntimeError, ValueError) as error:
                        check(f"{what}: {error}", 0, 1)
    large_scans()


def large_scans():
    """Groups larger than the command's buffer, which go through it in pieces, from either end."""
    for shape, axis in [((3_000_001,), None), ((2, 1_500_000), 1), ((1_500_000, 2), 0), ((2, 3, 700_000), 1)]:
        x = RANDOM.integers(-1000, 1000, shape)
        np.save("x.npy", x)
        for reverse, exclusive in itertools.product([0, 1], [0, 1]):
            y = np.flip(x, axis) if reverse else x
            expected = np.cumsum(y, axis=axis)
            expected = expected - y if exclusive else expected
            expected = np.flip(expected, axis) if reverse else expected
            run("scan", "sum", "x.npy", *([] if axis is None else ["--axis", str(axis)]), "-o", "out.npy",
                *(["--reverse"] if reverse else []), *(["--exclusive"] if exclusive else []))
            check(f"large scan {shape} axis {axis} reverse {reverse} exclusive {exclusive}", np.load("out.npy"), expected)
            piped = run("scan", "sum", *([] if axis is None else ["--axis", str(axis)]), "-o", "-",
                        *(["--reverse"] if reverse else []), *(["--exclusive"] if exclusive else []),
                        stdin=open("x.npy", "rb").read())
            check(f"large scan {shape} axis {axis} reverse {reverse} from pipe to pipe", piped == open("out.npy", "rb").read(),
                  True)
        for axis_now in range(len(shape)):
            run("reduce", "argmax", "x.npy", "--axis", str(axis_now), "-o", "out.npy")
            check(f"large argmax {shape} axis {axis_now}", np.load("out.npy"), np.argmax(x, axis=axis_now))
    x = np.asfortranarray(RANDOM.integers(0, 9, (1500, 2000)).astype("f4"))
    np.save("x.npy", x)
    check("argmax of a Fortran-order array", int(run("reduce", "argmax", "x.npy")), np.argmax(x))
    check("argmin of a Fortran-order array", int(run("reduce", "argmin", "x.npy")), np.argmin(x))
    for reverse in [0, 1]:
        for op in ["argmin", "argmax"]:
            x = RANDOM.integers(0, 5, 2_000_000)
            np.save("x.npy", x)
            run("scan", op, "x.npy", "-o", "out.npy", *(["--reverse"] if reverse else []))
            best = np.minimum.accumulate(x[::-1] if reverse else x) if op == "argmin" else \
                np.maximum.accumulate(x[::-1] if reverse else x)
            best = best[::-1] if reverse else best
            check(f"scan {op} reverse {reverse}", x[np.load("out.npy")], best)


def groups():
    for dtype in INTEGERS + FLOATS:
        for n, segments in [(0, 3), (50, 7), (100_000, 1000), (3_000_000, 5), (2_000_000, 300_000)]:
            if n > 100_000 and dtype not in ("i4", "f8"):
                continue
            x = values(dtype, (n,))
            offsets = np.sort(RANDOM.integers(0, n + 1, segments + 1))
            np.save("x.npy", x)
            np.save("o.npy", offsets.astype(RANDOM.choice(["i4", "i8", "u4", ">u8"])))
            run("segments", "sum", "x.npy", "o.npy", "-o", "out.npy")
            total = np.concatenate([[0], np.cumsum(wide(x))])
            check(f"segments sum {dtype} {n} {segments}", np.load("out.npy"), total[offsets[1:]] - total[offsets[:-1]],
                  0 if dtype[0] != "f" else max(1e-9, TOLERANCE[dtype]))
            lengths = RANDOM.integers(1, 2 * max(1, n // segments) + 1, segments)
            keys = np.repeat(np.arange(segments) % 100, lengths)[:n]
            keys = np.concatenate([keys, np.full(n - len(keys), 101)]).astype(RANDOM.choice(["i1", "i4", "u8", ">i8"]))
            np.save("k.npy", keys)
            run("keys", "sum", "x.npy", "k.npy", "-o", "out.npy", "--keys-out", "keys.npy")
            starts = np.concatenate([[0], np.nonzero(np.diff(keys.astype(int)))[0] + 1]).astype(int) if n else np.array([], int)
            ends = np.append(starts, n)[1:]
            check(f"keys sum {dtype} {n} {segments}", np.load("out.npy"), total[ends] - total[starts] if n else [],
                  0 if dtype[0] != "f" else max(1e-9, TOLERANCE[dtype]))
            check(f"keys of keys {dtype} {n} {segments}", np.load("keys.npy"), keys[starts])
            labels = RANDOM.integers(-1, segments + 1, n)
            np.save("l.npy", labels.astype(RANDOM.choice(["i4", "i8", ">i4"])))
            run("labels", "sum", "x.npy", "l.npy", "-o", "out.npy", "--groups", str(segments), "--skip-bad")
            sums, good = np.zeros(segments, total.dtype), (labels >= 0) & (labels < segments)
            np.add.at(sums, labels[good], wide(x)[good])
            check(f"labels sum {dtype} {n} {segments}", np.load("out.npy"), sums,
                  0 if dtype[0] != "f" else max(1e-9, TOLERANCE[dtype]))


def inputs():
    """The same numbers in every format give the same bits."""
    for dtype in INTEGERS + FLOATS:
        x = values(dtype, (5000,))
        name = {"i": "i", "u": "u", "f": "f"}[dtype[0]] + str(8 * x.dtype.itemsize)
        np.save("x.npy", x)
        x.tofile("x.raw")
        x.astype(x.dtype.newbyteorder(">")).tofile("y.raw")
        with open("x.txt", "w") as file:
            file.writelines(f"{v!s}\n" for v in x)
        with open("x.csv", "w") as file:
            file.writelines(['name,"the ""value""",more\r\n'] + [f'"a\nb, {i}", "{v!s}",\r\n' for i, v in enumerate(x)])
        for op in ["sum", "max", "mean", "argmin"]:
            expected = run("reduce", op, "x.npy", "--exact" if op in ("sum", "mean") and dtype[0] == "f" else "--device=cpu")
            exact = ["--exact"] if op in ("sum", "mean") and dtype[0] == "f" else []
            for arguments in (["x.raw", "--dtype", name], ["y.raw", "--dtype", ">" + name],
                              ["x.txt", "--dtype", name], ["x.csv", "--dtype", name, "--column", 'the "value"'],
                              ["x.csv", "--dtype", name, "--column", "2"]):
                check(f"{op} {dtype} of {arguments}", run("reduce", op, *arguments, *exact) == expected, True)
            for path, arguments in [("x.npy", []), ("x.raw", ["--raw", "--dtype", name]), ("x.txt", ["--dtype", name])]:
                check(f"{op} {dtype} of {path} through a pipe",
                      run("reduce", op, *arguments, *exact, stdin=open(path, "rb").read()) == expected, True)
        shown = json.loads(run("reduce", "minmax", "x.npy", "--json"))
        check(f"JSON of {dtype}", [shown["op"], shown["n"], shown["dtype"]] == ["minmax", 5000, name], True)
        check(f"JSON of {dtype}, result", np.array(shown["result"]).astype(dtype), [x.min(), x.max()])
    x = np.array([[1.5, np.nan], [np.inf, -np.inf]])
    np.save("x.npy", np.asfortranarray(x))
    shown = json.loads(run("reduce", "max", "x.npy", "--axis", "0", "--json"))
    check("JSON of what is no number", shown["result"] == ["inf", "nan"], True)
    for version in [(1, 0), (2, 0), (3, 0)]:
        with open("x.npy", "wb") as file:
            np.lib.format.write_array(file, np.arange(10.0), version)
        check(f"npy format {version}", float(run("reduce", "sum", "x.npy")), 45)


def moments():
    """Skewness and kurtosis with and without the correction for bias, prefixes too. Few elements, which have none, and
    equal ones, whose moments have no ratio, are among them."""
    stats = need("scipy.stats", "scipy")
    warnings.filterwarnings("ignore", message="Precision loss")  # of equal elements
    oracles = {"skewness": stats.skew, "kurtosis": stats.kurtosis}
    shapes = [(1,), (2,), (3,), (4,), (5,), (300,), (20_000,), (5, 9), (4, 33, 3)]
    for dtype, shape in itertools.product(INTEGERS + FLOATS, shapes):
        spread = RANDOM.gamma(2.0, 10.0, shape)
        equal = np.full(shape, 3.0)
        for kind, x in [("gamma", spread), ("far", spread + 1e6), ("equal", equal), ("NaN", np.where(spread > 9, spread, np.nan))]:
            if dtype[0] != "f" and kind == "NaN" or dtype in ("i1", "u1", "i2", "u2", "f2") and kind == "far":
                continue
            x = x.astype(dtype)
            np.save("x.npy", x)
            axis = None if len(shape) == 1 else int(RANDOM.integers(-len(shape), len(shape)))
            option = [] if axis is None else ["--axis", str(axis)]
            for (op, oracle), ddof in itertools.product(oracles.items(), [0, 1]):
                what = f"{op} {dtype} {shape} axis {axis} ddof {ddof} {kind}"
                expected = oracle(x.astype("f8"), axis=axis, bias=ddof == 0)
                if kind == "equal":
                    expected = np.full(np.shape(expected), np.nan)
                run("reduce", op, "x.npy", "--ddof", str(ddof), *option, "-o", "out.npy")
                close = {"f2": 4e-3, "f4": 1e-5}.get(dtype, 1e-7 if kind == "far" else 1e-10)
                check(what, np.load("out.npy"), expected, close)
                if shape == (5,):
                    prefixes = [oracle(x[:k].astype("f8"), bias=ddof == 0) for k in range(1, 6)]
                    run("scan", op, "x.npy", "--ddof", str(ddof), "-o", "out.npy")
                    defined = np.array([len(set(x[:k].tolist())) > 1 for k in range(1, 6)])
                    check(f"prefixes: {what}", np.load("out.npy"), np.where(defined, prefixes, np.nan), close)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    parts = {"reduce": reduce, "scan": scan, "groups": groups, "input": inputs, "moments": moments}
    for part in sys.argv[2:] or parts:
        parts[part]()
    os.chdir("/")
print(f"{count} comparisons, {failures} failed")
sys.exit(failures > 0 or count == 0)
