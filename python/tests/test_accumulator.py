"""Accumulators: any split, order and process gives the same value."""
import copy
import importlib.util
import math
import pickle
import statistics
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import tally


def accumulator_of(op, x, **options):
    made = tally.Accumulator(op, x.dtype, **options)
    made.add(x)
    return made


def drawn(random, dtype="f8"):
    return (random.standard_normal(random.integers(1, 500)) * 10.0 ** random.integers(-9, 9)).astype(dtype)


def test_any_split_gives_fsum():
    random = np.random.default_rng(1)
    for _ in range(100):
        x = np.concatenate([drawn(random), drawn(random)])
        parts = [accumulator_of("sum", part) for part in np.split(x, np.sort(random.integers(0, len(x), 4)))]
        random.shuffle(parts)
        total = tally.Accumulator("sum")
        for part in parts:
            total += pickle.loads(pickle.dumps(part))
        assert total.value() == math.fsum(x) and total.count == len(x)


def test_plus_leaves_both_as_they_were():
    a, b = accumulator_of("sum", np.array([1.0, 2.0])), accumulator_of("sum", np.array([4.0]))
    assert (a + b).value() == 7 and a.value() == 3 and b.value() == 4
    assert sum([a, b, b]).value() == 11 and a.value() == 3 and b.value() == 4 # Python's sum() starts from 0
    assert sum([a]) is not a
    with pytest.raises(TypeError):
        1 + a
    twin = copy.copy(a)
    twin.add(np.array([1.0]))
    assert twin.value() == 4 and a.value() == 3


@pytest.mark.parametrize("op, oracle", [
    ("sum", np.sum), ("min", np.min), ("max", np.max), ("argmin", np.argmin), ("argmax", np.argmax), ("mean", np.mean),
    ("var", np.var), ("std", np.std), ("any", np.any), ("count_nonzero", np.count_nonzero), ("norm1", lambda x: np.abs(x).sum()),
    ("minmax", lambda x: (x.min(), x.max())),
])
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_every_operator_in_parts(op, oracle, dtype):
    random = np.random.default_rng(2)
    for _ in range(20):
        x = random.integers(-50, 50, random.integers(5, 300)).astype(dtype)
        parts = np.split(x, np.sort(random.integers(0, len(x), 3)))
        total = tally.Accumulator(op, dtype, exact=False)
        for part in parts:
            total.merge(pickle.loads(pickle.dumps(accumulator_of(op, part, exact=False))))
        np.testing.assert_allclose(total.value(), oracle(x.astype("f8") if op in ("mean", "var", "std") else x), rtol=1e-6)


def test_a_subinterpreter_leaves_the_classes_alone():
    interpreters = next((name for name in ("_interpreters", "_xxsubinterpreters") if importlib.util.find_spec(name)), None)
    if not interpreters:
        pytest.skip("no subinterpreters")
    code = f"""
import pickle, sys; sys.path[:0] = {sys.path!r}
import {interpreters} as interpreters
other = interpreters.create()
getattr(interpreters, "exec", getattr(interpreters, "run_string", None))(other, '''
try:
    import tally # some versions of Python refuse it
except ImportError:
    pass
''')
import tally
for made in (tally.Accumulator(), tally.Plan("sum")):
    pickle.loads(pickle.dumps(made))
print(tally.sum([1, 2]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "3\n", done.stderr


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "uint64", "float16", "float64", "bfloat16"])
def test_pickles_keep_the_type(dtype):
    a = tally.Accumulator("sum", dtype)
    if dtype != "bfloat16":
        a.add(np.array([1, 2], dtype))
    b = pickle.loads(pickle.dumps(a))
    b.merge(a)
    assert b.value() == 2 * a.value()


def exact_part(x):
    return accumulator_of("sum", x)


def test_processes():
    x = np.random.default_rng(3).standard_normal(10000) * 1e10
    with ProcessPoolExecutor(2) as pool:
        total = sum(pool.map(exact_part, np.array_split(x, 7)), tally.Accumulator("sum"))
    assert total.value() == math.fsum(x)


def test_what_does_not_fit_is_refused():
    a = tally.Accumulator("sum", "float32")
    for bad in (lambda: a.add(np.ones(2)), lambda: a.add("text"), lambda: a.merge(3), lambda: a + 3,
                lambda: a.add(np.ones(2, "f4"), np.ones(2, "f4")), lambda: tally.Accumulator("sum", "complex64")):
        with pytest.raises(TypeError):
            bad()
    for bad in (lambda: a.merge(tally.Accumulator("sum", "float64")), lambda: a.add_words(b"12345678"),
                lambda: tally.Accumulator("sun"), lambda: tally.Accumulator("min").value()):
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(NotImplementedError):
        tally.Accumulator("logsumexp")
    assert a.value() == 0 and a.count == 0


def every_value_of(dtype):
    bits = np.arange(1 << 16, dtype="u2")
    with np.errstate(invalid="ignore"): # some of the NaNs are signalling
        return (bits.view("f2") if dtype == "float16" else (bits.astype("u4") << 16).view("f4")).astype("f8")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_values_of_narrow_floats_are_rounded_to_them(dtype):
    values = every_value_of(dtype)
    for value in values[::97]:
        np.testing.assert_equal(accumulator_of("sum", np.array([value])).value(dtype), value)
    finite = np.unique(values[np.isfinite(values)])
    for k in np.random.default_rng(6).integers(0, len(finite) - 1, 2000):
        low, high = finite[k:k + 2]
        between = accumulator_of("sum", np.array([low, (high - low) * 0.25]))
        assert between.value(dtype) == low
        between.add(np.array([(high - low) * 0.375]))
        assert between.value(dtype) == high


def test_values_are_rounded_once():
    total = accumulator_of("sum", np.array([2048, 1, 2.0 ** -10], "f2"))
    assert total.value("float16") == total.value() == 2050 and total.value("float32") == np.float32(2049 + 2.0 ** -10)
    assert accumulator_of("sum", np.array([65504, 65504], "f2")).value() == math.inf
    assert accumulator_of("sum", np.array([256, 1, 2.0 ** -30])).value("bfloat16") == 258


@pytest.mark.parametrize("op, dtype", [("count_nonzero", "float64"), ("sum", "int32"), ("max", "uint8")])
def test_only_flags_are_bools(op, dtype):
    with pytest.raises(TypeError, match=f"{op} gives no bool"):
        accumulator_of(op, np.full(256, 3, dtype), exact=False).value("bool")
    assert accumulator_of("any", np.full(256, 3, dtype), exact=False).value("bool") is True


def test_variance_with_correction():
    x = np.random.default_rng(4).standard_normal(100)
    assert accumulator_of("var", x, exact=False, correction=1).value() == pytest.approx(statistics.variance(x.tolist()))
