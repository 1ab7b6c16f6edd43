"""Every function of the module against NumPy, on arrays that nobody chose: shapes, layouts, types and axes are drawn."""
import ctypes
import itertools
import math
import sys
import warnings

import numpy as np
import pytest

import tally

TYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64", "bool"]
INTEGERS = [name for name in TYPES if "int" in name]
REDUCTIONS = {
    "sum": np.sum, "prod": np.prod, "min": np.min, "max": np.max, "argmin": np.argmin, "argmax": np.argmax,
    "any": np.any, "all": np.all, "count_nonzero": np.count_nonzero, "mean": np.mean, "var": np.var, "std": np.std,
}
SCANS = {"cumulative_sum": np.cumsum, "cumulative_prod": np.cumprod}


def drawn_array(random, dtype):
    """Any layout: dimensions in any order, some of length 0 or 1, some with gaps, backwards or the same again."""
    ndim = int(random.integers(0, 5))
    shape = [int(random.choice([0, 1, 2, 3, 5, 8, 17], p=[.04, .2, .16, .2, .2, .1, .1])) for _ in range(ndim)]
    x = random.integers(-3, 4, shape) if dtype[0] in "if" else random.integers(0, 5, shape)
    x = np.asarray(x).astype(dtype)
    kind = random.integers(0, 6)
    if kind == 1:
        x = x.transpose(random.permutation(ndim))
    elif kind == 2 and ndim:
        wide = np.repeat(x, 2, axis=int(random.integers(0, ndim)))
        x = wide[tuple(slice(None, None, int(random.choice([1, 2]))) for _ in range(ndim))]
    elif kind == 3 and ndim:
        x = np.flip(x, int(random.integers(0, ndim)))
    elif kind == 4 and ndim:
        x = np.broadcast_to(x, [2] + list(x.shape))
    elif kind == 5:
        x = x[..., np.newaxis]
    return x


def same(ours, theirs, rounds):
    assert np.shape(ours) == np.shape(theirs)
    assert np.asarray(ours).dtype == np.asarray(theirs).dtype
    if rounds and np.asarray(theirs).dtype.kind == "f":
        eps = np.finfo(np.asarray(theirs).dtype).eps
        np.testing.assert_allclose(ours, theirs, rtol=64 * eps, atol=64 * eps, equal_nan=True)
    else:
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("kind", [list, tuple])
def test_lists_and_tuples_of_numbers(kind):
    assert repr(tally.sum(kind([1, 2, 4]))) == "7" and repr(tally.sum(kind([1, 2.5]))) == "3.5"
    assert repr(tally.argmax(kind([3]))) == "0" and tally.dot(kind([1, 2]), kind([3, 4])) == 11
    np.testing.assert_array_equal(tally.cumulative_sum(kind([1, 2, 4])), [1, 3, 7])
    np.testing.assert_array_equal(tally.sum(kind([1, 2, 4]), labels=kind([1, 0, 1])), [2, 5])
    for wrong in (kind(["1"]), kind([[1, 2]]), kind([None])):
        with pytest.raises(TypeError):
            tally.sum(wrong)


@pytest.mark.parametrize("nothing", [[], ()])
def test_lists_without_elements_are_of_doubles(nothing):
    for name, theirs in {**REDUCTIONS, **SCANS}.items():
        def result(function, x):
            try:
                with np.errstate(all="ignore"):
                    return np.asarray(function(x))
            except ValueError:
                return None # the least of nothing
        with warnings.catch_warnings():
            warnings.simplefilter("ignore") # NumPy's, about the mean of nothing
            wanted = result(theirs, np.asarray(nothing))
        got = result(getattr(tally, name), nothing)
        assert (got is None) == (wanted is None), name
        if wanted is not None:
            same(got, wanted, rounds=False)
    assert repr(tally.sum(nothing)) == "0.0" and repr(tally.all(nothing)) == "True"
    np.testing.assert_array_equal(tally.cumulative_sum([], include_initial=True), [0.0])
    for index in ({"labels": [], "groups": 2}, {"labels": (), "groups": 2}, {"offsets": [0, 0, 0]}):
        np.testing.assert_array_equal(tally.sum(nothing, **index), [0.0, 0.0])
    assert [len(of) for of in tally.sum(nothing, keys=[])] == [0, 0]
    for dtype in ("int32", "float32"): # where a type is fixed, it is that type's
        assert tally.Plan("sum", dtype)(nothing) == 0
        accumulator = tally.Accumulator("sum", dtype)
        accumulator.add(nothing)
        assert accumulator.count == 0


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dtype", TYPES)
def test_reductions(name, dtype):
    random = np.random.default_rng([len(name), ord(name[0]), TYPES.index(dtype)])
    for _ in range(60):
        x = drawn_array(random, dtype)
        axes = [None] + list(range(-x.ndim, x.ndim))
        if name not in ("argmin", "argmax"):
            axes += [axis for k in range(x.ndim + 1) for axis in itertools.combinations(range(x.ndim), k)]
        axis = axes[random.integers(len(axes))]
        keepdims = bool(random.integers(2))
        ours = getattr(tally, name)
        try:
            with np.errstate(all="ignore"):
                theirs = REDUCTIONS[name](x, axis=axis, keepdims=keepdims)
        except ValueError:
            with pytest.raises(ValueError):
                ours(x, axis=axis, keepdims=keepdims)
            continue
        if name in ("mean", "var", "std") and dtype == "float16":
            with np.errstate(all="ignore"):
                theirs = np.asarray(REDUCTIONS[name](x.astype("f8"), axis=axis, keepdims=keepdims)).astype("f2")
        same(ours(x, axis=axis, keepdims=keepdims), theirs, True)


@pytest.mark.parametrize("name", SCANS)
@pytest.mark.parametrize("dtype", TYPES)
def test_scans(name, dtype):
    random = np.random.default_rng([len(name), TYPES.index(dtype)])
    for _ in range(60):
        x = drawn_array(random, dtype)
        if x.ndim == 0:
            with pytest.raises(ValueError):
                getattr(tally, name)(x)
            continue
        axis = int(random.integers(-x.ndim, x.ndim))
        with np.errstate(all="ignore"):
            theirs = SCANS[name](x.astype("f4") if dtype == "float16" else x, axis=axis)
            theirs = theirs.astype("f2") if dtype == "float16" else theirs # tally adds narrow floats in f32
        same(getattr(tally, name)(x, axis=axis), theirs, True)
        longer = getattr(tally, name)(x, axis=axis, include_initial=True)
        first = np.full(x.shape[:axis % x.ndim] + (1,) + x.shape[axis % x.ndim + 1:], name == "cumulative_prod", theirs.dtype)
        same(longer, np.concatenate([first, theirs], axis=axis), True)


def test_bools_of_nothing_are_zero_or_one():
    for shape, options in (((0, 3), {"axis": 0}), (2, {"offsets": [0, 0, 2]}), (2, {"labels": [0, 1], "groups": 3})):
        x = np.ones(shape, bool)
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "any", "all"):
            got = getattr(tally, name)(x, **options)
            assert got.dtype == bool and set(got.view("u1")) <= {0, 1}
        assert tally.bitwise_and(x, **options).all()


def test_dtype_converts_elements_first():
    wide, precise = np.full((3, 9), 1 << 62), (1000 + np.arange(33) / 7).astype("f4")
    for name in ("sum", "prod", "sumsq", "norm1", "cumulative_sum", "cumulative_prod"):
        f = getattr(tally, name)
        for dtype, x in (("float32", wide), ("float64", wide), ("float64", precise)): # int64 would wrap, float32 round
            with np.errstate(over="ignore"):
                same(f(x.ravel(), dtype=dtype), f(x.ravel().astype("f8")).astype(dtype), True)
    for name in ("mean", "var", "std", "norm2", "skewness", "kurtosis", "logsumexp"):
        same(getattr(tally, name)(precise, dtype="float64"), getattr(tally, name)(precise.astype("f8")), True)


def test_types_by_numpys_codes():
    for dtype in TYPES[:-1]:
        for code in (np.dtype(dtype).str, np.dtype(dtype).str[1:], np.dtype(dtype), np.dtype(dtype).type):
            assert tally.Plan("max", code)(np.ones(3, dtype)) == 1
    for wrong in ("", "f3", np.dtype("f4").newbyteorder(), object):
        with pytest.raises(TypeError, match="no type"):
            tally.Plan("max", wrong)


class Own(np.ndarray):
    pass


class OwnMasked(np.ma.MaskedArray):
    pass


def test_classes_derived_from_numpys():
    x = np.arange(6.0).reshape(2, 3)
    assert type(tally.sum(x.view(Own))) is np.float64
    np.testing.assert_array_equal(tally.sum(x.view(Own), axis=0), [3, 5, 7])
    for gaps in (x[:, ::2], np.arange(24.0).reshape(2, 3, 4)[:, ::2]):
        same(tally.sum(gaps.view(Own), axis=0), gaps.sum(axis=0), False)
        same(tally.cumulative_sum(gaps.view(Own), axis=1, include_initial=True),
             tally.cumulative_sum(gaps, axis=1, include_initial=True), False)
    with pytest.raises(TypeError, match="masks"):
        tally.sum(np.ma.masked_array(x, x > 1).view(OwnMasked))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_exact_sums_are_fsum(dtype):
    random = np.random.default_rng(5)
    for _ in range(50):
        x = (random.standard_normal(random.integers(1, 400)) * 10.0 ** random.integers(-12, 12)).astype(dtype)
        x = np.concatenate([x, -x[::-1][: len(x) // 2]])
        assert tally.sum(x, exact=True) == np.dtype(dtype).type(math.fsum(x.astype("f8"))) or dtype == "float32"
        assert float(tally.sum(x, exact=True, dtype="float64")) == math.fsum(x.astype("f8"))


@pytest.mark.parametrize("correction", [0, 1, 2.0, 0.5, -1, 7])
def test_corrections(correction):
    x = np.random.default_rng(8).standard_normal((5, 6)).astype("f4")
    with np.errstate(all="ignore"):
        for axis in (None, 0, 1):
            n = x.size if axis is None else x.shape[axis]
            theirs = np.var(x, axis=axis, ddof=correction) if n > correction else np.full_like(np.var(x, axis=axis), np.nan)
            same(tally.var(x, axis=axis, correction=correction), theirs, True)
            same(tally.std(x, axis=axis, correction=correction), np.sqrt(theirs), True)


def test_groups():
    random = np.random.default_rng(6)
    for _ in range(100):
        n = int(random.integers(1, 300))
        x = random.integers(-50, 50, n)
        labels = random.integers(0, 7, n)
        np.testing.assert_array_equal(tally.sum(x, labels=labels), np.bincount(labels, x).astype("i8"))
        np.testing.assert_array_equal(tally.sum(x, labels=labels, groups=9), np.bincount(labels, x, 9).astype("i8"))
        cuts = np.sort(np.concatenate([[0, n], random.integers(0, n + 1, 5)]))
        np.testing.assert_array_equal(tally.sum(x, offsets=cuts), [x[a:b].sum() for a, b in zip(cuts, cuts[1:])])
        keys = np.sort(labels)
        sums, names = tally.sum(x, keys=keys)
        np.testing.assert_array_equal(names, np.unique(keys))
        np.testing.assert_array_equal(sums, [x[keys == name].sum() for name in names])
        running = tally.cumulative_sum(x, offsets=cuts)
        np.testing.assert_array_equal(running, np.concatenate([np.cumsum(x[a:b]) for a, b in zip(cuts, cuts[1:])]))


def test_groups_take_the_defaults_of_other_options():
    x, given = np.arange(4.0), {"axis": None, "out": None, "correction": 0}
    for index in ({"offsets": [0, 1, 4]}, {"keys": [0, 1, 1, 1]}, {"labels": [0, 1, 1, 1]}):
        np.testing.assert_equal(tally.var(x, keepdims=False, **given, **index), tally.var(x, **index))
        with pytest.raises(ValueError, match="no axis, keepdims, out"):
            tally.sum(x, keepdims=True, **index)
        if "labels" not in index:
            np.testing.assert_equal(tally.cumulative_sum(x, include_initial=False, **index), tally.cumulative_sum(x, **index))
            with pytest.raises(ValueError, match="or include_initial"):
                tally.cumulative_sum(x, include_initial=True, **index)


@pytest.mark.parametrize("greatest", [2 ** 31 - 1, 2 ** 63 - 1])
def test_labels_of_more_groups_than_there_can_be(greatest):
    for options in ({}, {"skip_bad_labels": True}):
        with pytest.raises(ValueError, match=f"the greatest label is {greatest}"):
            tally.sum(np.ones(2), labels=np.array([0, greatest]), **options)
    assert tally.sum([1, 2], labels=[0, greatest], groups=1, skip_bad_labels=True).tolist() == [1]


def test_out_is_written_and_returned():
    x, out = np.arange(12.0).reshape(3, 4), np.empty(4)
    assert tally.sum(x, axis=0, out=out) is out
    np.testing.assert_array_equal(out, x.sum(axis=0))
    for wrong in (np.empty(3), np.empty(4, "f4"), np.empty(8)[::2]):
        with pytest.raises(ValueError):
            tally.sum(x, axis=0, out=wrong)
    locked = np.empty(4)
    locked.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        tally.sum(x, axis=0, out=locked)


SKIPPING = {
    "sum": np.nansum, "prod": np.nanprod, "min": np.nanmin, "max": np.nanmax, "argmin": np.nanargmin,
    "argmax": np.nanargmax, "mean": np.nanmean, "var": np.nanvar, "std": np.nanstd,
    "cumulative_sum": np.nancumsum, "cumulative_prod": np.nancumprod,
}


def with_nans(random, dtype):
    """Some dimensions, some missing values, now and then nothing else along an axis."""
    x = random.integers(-3, 4, [int(n) for n in random.integers(1, 40, random.integers(1, 4))]).astype(dtype)
    x[random.random(x.shape) < random.choice([0, .05, .5, .9])] = np.nan
    return x


@pytest.mark.parametrize("name", SKIPPING)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.filterwarnings("ignore")
def test_nans_are_left_out(name, dtype):
    random = np.random.default_rng([len(name), ord(name[-1]), TYPES.index(dtype)])
    for _ in range(60):
        x, exact = with_nans(random, dtype), name in ("sum", "mean", "cumulative_sum") and bool(random.integers(2))
        x = np.sign(x) if "prod" in name else x # NumPy's products overflow where ours do not
        axis = int(random.integers(x.ndim))
        options = {"exact": True} if exact else {"correction": int(random.integers(3))} if name in ("var", "std") else {}
        ours = np.asarray(getattr(tally, name)(x, axis=axis, skip_nan=True, **options))
        nothing = np.isnan(x).all(axis=axis)
        if name.startswith("arg"): # NumPy has an error
            filled = np.where(np.isnan(x), 0, x) if nothing.any() else x
            theirs = np.where(nothing, -1, SKIPPING[name](np.where(np.expand_dims(nothing, axis), filled, x), axis=axis))
        elif name in ("var", "std"):
            theirs = SKIPPING[name](x.astype("f8"), axis=axis, ddof=options["correction"]).astype(dtype)
        else:
            theirs = SKIPPING[name](x.astype("f8"), axis=axis)
        same(ours, theirs.astype(ours.dtype), True)


def test_nans_are_left_out_of_groups():
    random = np.random.default_rng(4)
    for _ in range(40):
        x = with_nans(random, "float32").ravel()
        labels = random.integers(0, 5, x.size)
        kept = ~np.isnan(x)
        for g, mean in enumerate(tally.mean(x, labels=labels, groups=6, skip_nan=True)):
            chosen = x[kept & (labels == g)]
            same(np.float32(mean), np.float32(chosen.astype("f8").mean()) if chosen.size else np.float32(np.nan), True)
        offsets = np.sort(random.integers(0, x.size + 1, 4))
        largest = tally.max(x, offsets=offsets, skip_nan=True)
        for g, (begin, end) in enumerate(zip(offsets, offsets[1:])):
            chosen = x[begin:end][kept[begin:end]]
            same(largest[g], chosen.max() if chosen.size else np.float32(np.nan), False)


@pytest.mark.parametrize("name", ["min", "max", "argmin", "argmax"])
def test_nothing_is_as_nothing_but_nans(name):
    f, nan = getattr(tally, name), np.full(1, np.nan)
    for of_nothing, of_nans in ((f(nan[:0], skip_nan=True), f(nan, skip_nan=True)),
                                (f(np.empty((0, 3)), axis=0, skip_nan=True), f(np.full((1, 3), np.nan), axis=0, skip_nan=True))):
        np.testing.assert_array_equal(of_nothing, of_nans)
    with pytest.raises(ValueError, match="nothing"):
        f(np.empty(0, "i8"), skip_nan=True)


def test_nans_that_were_left_out_can_be_counted():
    x = np.array([1, np.nan, 0, np.nan, np.inf])
    assert tally.count_nonzero(x) - tally.count_nonzero(x, skip_nan=True) == 2
    assert tally.sum(np.arange(5), skip_nan=True) == 10 # integers have none
    assert math.isnan(tally.max(x[1:2], skip_nan=True)) and tally.argmax(x[1:2], skip_nan=True) == -1
    with pytest.raises(ValueError):
        tally.var(x, correction=.5, skip_nan=True)


@pytest.mark.parametrize("bad", [
    lambda x: tally.sum(), lambda x: tally.sum(x, x), lambda x: tally.sum(x, axes=0), lambda x: tally.sum(None),
    lambda x: tally.sum(x, dtype="int32"), lambda x: tally.sum(x, dtype="complex64"), lambda x: tally.sum("text"),
    lambda x: tally.sum(np.ma.masked_array(x, x > 1)), lambda x: tally.argmin(x, axis=(0,)), lambda x: tally.bitwise_and(x),
    lambda x: tally.sum(x.astype("c8")), lambda x: tally.sum(x, labels=x, keys=x), lambda x: tally.sum(x, groups=3),
    lambda x: tally.mean(x.astype("i4"), dtype="int64"), lambda x: tally.sum(np.zeros(2, [("a", "i4")])),
    lambda x: tally.sum(x.astype(object)), lambda x: tally.sum([[1]]),
])
def test_what_is_no_computation_is_a_type_error(bad):
    with pytest.raises((TypeError, NotImplementedError)):
        bad(np.arange(3.0))


@pytest.mark.parametrize("bad", [
    lambda x: tally.sum(x, axis=(0, 0)), lambda x: tally.kurtosis(x, correction=.5), lambda x: tally.var(x, correction=.5, exact=True),
    lambda x: tally.min(x[:0]), lambda x: tally.sum(x, labels=np.array([0, 1, -1])), lambda x: tally.sum(x, labels=np.array([0])),
    lambda x: tally.sum(x, offsets=np.array([0, 4])), lambda x: tally.sum(x, offsets=np.array([], "i8")),
    lambda x: tally.sum(x, labels=[0] * 3, groups=-1), lambda x: tally.sum(x, labels=[0] * 3, groups=2 ** 31),
    lambda x: tally.sum(x, labels=[0] * 3, groups=2 ** 70),
    lambda x: tally.sum(x[::-1], copy=False), lambda x: tally.dot(x, x[:2]), lambda x: tally.cumulative_sum(np.ones((2, 2))),
])
def test_what_does_not_fit_is_a_value_error(bad):
    with pytest.raises(ValueError):
        bad(np.arange(3.0))


def test_axis_out_of_bounds():
    with pytest.raises(IndexError):
        tally.sum(np.arange(3.0), axis=1)


def test_messages_name_what_python_has():
    x = np.arange(8.0)
    for bad, says in ((lambda: tally.sum(x.astype(x.dtype.newbyteorder())), "newbyteorder"), (lambda: tally.sum([[1]]), "one dimension"),
                      (lambda: tally.cumulative_sum(x[1:], out=x[:-1]), "out overlaps x"), (lambda: tally.bitwise_or(x), "bitwise_or"),
                      (lambda: tally.Accumulator().merge(tally.Accumulator(dtype="f4")), "^merge: .* float64 and sum of float32"),
                      (lambda: tally.sum(x, labels=x), "of type float64: they are int32, int64, uint8, uint16 or uint32")):
        with pytest.raises((TypeError, ValueError, NotImplementedError), match=says):
            bad()


def test_buffers_without_strides():
    assert tally.sum((ctypes.c_double * 3)(1, 2, 4)) == 7
    rows = (ctypes.c_int * 3 * 2)((1, 2, 3), (4, 5, 6))
    assert tally.sum(rows, axis=0).tolist() == [5, 7, 9] and tally.sum(ctypes.c_int(5)) == 5


def viewed(x):
    """A memoryview of Python's own, of as many dimensions."""
    return memoryview(x.tobytes()).cast(x.dtype.char, x.shape)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32", "float64"])
def test_memoryviews_of_several_dimensions(dtype):
    x = np.random.default_rng(9).integers(1, 9, (3, 4, 5)).astype(dtype)
    for axis in (0, 1, 2, -1):
        for ours in (viewed(x), memoryview(np.repeat(x, 2, axis=1)[:, ::2])):
            for f, options in ((tally.var, {"correction": .5}), (tally.std, {"correction": .5}), (tally.std, {"correction": 99.5}),
                               (tally.sum, {}), (tally.cumulative_sum, {"include_initial": True}),
                               (tally.cumulative_prod, {"include_initial": True})):
                got = f(ours, axis=axis, **options)
                assert isinstance(got, memoryview)
                same(np.asarray(got), f(x, axis=axis, **options), True)
    options = {"axis": (1, 2), "keepdims": True, "correction": .5}
    same(np.asarray(tally.var(viewed(x), **options)), tally.var(x, **options), True)
    assert tally.var(viewed(x), correction=.5) == pytest.approx(float(tally.var(x, correction=.5)))
    with pytest.raises(TypeError, match="axes that lie side by side"):
        tally.sum(viewed(x), axis=(0, 2))


def test_memoryviews_with_gaps():
    assert tally.sum(memoryview((ctypes.c_double * 4)(1, 2, 4, 8))[::2]) == 5
    assert tally.sum(memoryview((ctypes.c_int * 4)(1, 2, 4, 8))[::-2]) == 10


def test_narrow_floats_of_buffers_are_numbers():
    x = memoryview(np.array([2048, 1, 2.0 ** -10], "f2"))
    assert tally.sum(x, exact=True) == 2050 and tally.max(x) == 2048 and isinstance(tally.max(x), float)
    assert tally.sum([256, 1.5], dtype="bfloat16") == 258
    with pytest.raises(TypeError, match="memoryviews have no bfloat16"):
        tally.cumulative_sum([256, 1.5], dtype="bfloat16")
    if sys.version_info < (3, 12):
        with pytest.raises(TypeError, match="memoryviews have no float16"):
            tally.cumulative_sum(x)
    else:
        assert tally.cumulative_sum(x).tolist() == [2048, 2048, 2050]


def test_large_integers_among_floats():
    for kind in (list, tuple):
        for x in ([2 ** 63, 1.5], [1.5, 2 ** 63], [-2 ** 70, 0, 0.5]):
            assert tally.sum(kind(x)) == math.fsum(x)
        with pytest.raises(OverflowError, match="integers are int64"):
            tally.sum(kind([1, 2 ** 63]))
        with pytest.raises(TypeError, match="lists and tuples of numbers"):
            tally.sum(kind([2 ** 63, "1"]))


def test_buffers_need_no_numpy():
    assert tally.sum([1, 2, 3]) == 6 and isinstance(tally.sum([1, 2, 3]), int)
    assert tally.sum([1e16, 1.0, -1e16], exact=True) == 1.0
    assert tally.sum(b"\x01\x02") == 3
    assert tally.cumulative_sum([1, 2, 3]).tolist() == [1, 3, 6]
    assert tally.mean(memoryview(b"\x01\x02")) == 1.5
