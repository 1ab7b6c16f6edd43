"""Plans: the same results as the functions, of their own types and device only; operators of one's own."""
import pickle
import threading

import numpy as np
import pytest

import tally

RUN_OF_ZEROS = tally.Operator(
    "struct acc_t { long long length, leading, trailing, longest; };", "acc_t{0, 0, 0, 0}",
    "acc_t{1, x == 0, x == 0, x == 0}",
    "acc_t{left.length + right.length,"
    " left.leading == left.length ? left.length + right.leading : left.leading,"
    " right.trailing == right.length ? right.length + left.trailing : right.trailing,"
    " max(max(left.longest, right.longest), left.trailing + right.leading)}",
    "acc.longest", acc_bytes=32)


def longest_run_of_zeros(x):
    longest = here = 0
    for value in x:
        here = here + 1 if value == 0 else 0
        longest = max(longest, here)
    return longest


def in_threads(work):
    """Runs it in eight threads at once."""
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("device", ["cpu", "cpu:threads=1", "cpu:baseline"])
@pytest.mark.parametrize("op, options", [
    ("sum", {}), ("sum", {"axis": 0}), ("sum", {"axis": (0, 2), "keepdims": True}), ("sum", {"axis": 1, "exact": True}),
    ("mean", {"axis": -1}), ("max", {"axis": 0}), ("argmin", {"axis": 2}), ("var", {"axis": 1, "correction": 1}), ("any", {})])
def test_reductions_are_those_of_the_functions(device, op, options):
    random = np.random.default_rng(1)
    plan = tally.Plan(op, "float32", device=device, **options)
    for shape in [(2, 3, 4), (5, 1, 6), (30, 40, 50)]:
        x = random.integers(-9, 9, shape).astype("f4")
        for one in (x, x.transpose(2, 0, 1), np.asfortranarray(x)):
            expected, got = getattr(tally, op)(one, **options), plan(one)
            np.testing.assert_array_equal(got, expected)
            assert got.dtype == expected.dtype
            np.testing.assert_array_equal(plan.run(one), expected)


def test_scans_and_groups():
    random = np.random.default_rng(2)
    x = random.integers(-9, 9, 1000).astype("i4")
    offsets, keys, labels = np.array([0, 10, 10, 1000]), np.sort(random.integers(0, 9, 1000)), random.integers(0, 5, 1000)
    scan = tally.Plan("sum", "int32", form="inclusive")
    np.testing.assert_array_equal(scan(x), np.cumsum(x))
    np.testing.assert_array_equal(tally.Plan("sum", "int32", form="exclusive", reverse=True)(x),
                                  tally.cumulative_sum(x, exclusive=True, reverse=True))
    np.testing.assert_array_equal(tally.Plan("sum", "int32", by="offsets")(x, offsets=offsets), tally.sum(x, offsets=offsets))
    by_keys = tally.Plan("max", "int32", by="keys")
    for ours, theirs in zip(by_keys(x, keys=keys), tally.max(x, keys=keys)):
        np.testing.assert_array_equal(ours, theirs)
    by_labels = tally.Plan("sum", "int32", by="labels", index_dtype="int32", keepdims=False)
    np.testing.assert_array_equal(by_labels(x, labels=labels.astype("i4"), groups=5), np.bincount(labels, x))
    out = np.empty(1000, "i8")
    assert scan(x, out=out) is out and out[-1] == x.sum()


def test_what_is_left_out():
    x, labels = np.array([1, np.nan, 4, 8]), np.array([0, 0, -1, 2])
    assert tally.Plan("sum", skip_nan=True)(x) == 13 and np.isnan(tally.Plan("sum")(x))
    by_labels = tally.Plan("sum", by="labels", index_dtype=None, skip_nan=True, skip_bad_labels=True)
    np.testing.assert_array_equal(by_labels(x, labels=labels, groups=3), [1, 0, 8])
    with pytest.raises(ValueError):
        tally.Plan("sum", by="labels")(x, labels=labels, groups=3)


def test_two_inputs_and_types():
    x, y = np.arange(10, dtype="f4"), np.ones(10, "f4")
    assert tally.Plan("dot", "float32")(x, y) == 45
    wide = tally.Plan("sum", "float32", out_dtype="float64", acc_dtype="float64")(x)
    assert wide == 45 and wide.dtype == np.float64


def test_sums_of_bools_are_signed():
    x = np.array([True, False, True])
    for op, scan in (("sum", np.cumsum), ("prod", np.cumprod)):
        assert tally.Plan(op, "bool")(x).dtype == getattr(np, op)(x).dtype == getattr(tally, op)(x).dtype
        assert tally.Plan(op, "bool", form="inclusive")(x).dtype == scan(x).dtype
    assert tally.Plan("sum", "bool", acc_dtype="float64")(x) == 2
    assert tally.Plan("sum", "bool", words="in")(tally.Plan("sum", "bool", words="out")(x)).dtype == np.int64


def test_results_that_are_bools():
    x = np.arange(6).reshape(2, 3) % 2 == 1
    for op, theirs in (("min", np.min), ("max", np.max), ("bor", np.bitwise_or.reduce), ("bxor", np.bitwise_xor.reduce)):
        got, expected = tally.Plan(op, "bool", axis=1, out_dtype="bool")(x), theirs(x, axis=1)
        assert got.dtype == bool and got.tolist() == expected.tolist()
    for options in ({}, {"out_dtype": "bool"}):
        assert tally.Plan("any", **options)(np.full(256, 3.0)) is np.True_
    assert tally.Plan("max", "bool", out_dtype="bool", form="inclusive")([]).tolist() == []


OWN = tally.Operator("struct acc_t { int n; };", "acc_t{0}", "acc_t{x}", "acc_t{left.n + right.n}", "acc.n", acc_bytes=4,
                     name="own")


@pytest.mark.parametrize("op, dtype, options, says", [
    ("count_nonzero", "float64", {}, "count_nonzero of float64 gives no bool"), ("sum", "int64", {}, "sum of int64 gives no bool"),
    ("sum", "bool", {}, "sum of bool gives no bool"), ("max", "uint8", {}, "max of uint8 gives no bool"),
    ("argmax", "bool", {}, "argmax of bool"), ("norm_inf", "bool", {}, "norm_inf of bool"), ("band", "bool", {}, "no elements is 255"),
    ("min", "bool", {"form": "exclusive"}, "no elements is 255"), ("max", "bool", {"words": "in"}, "max of states"),
    (OWN, "bool", {}, "own is an operator of your own"),
])
def test_results_that_would_be_invalid_bools_are_refused(op, dtype, options, says):
    with pytest.raises(TypeError, match=says):
        tally.Plan(op, dtype, out_dtype="bool", **options)


def test_other_bytes_do_not_come_out_as_bools():
    plan = tally.Plan("max", "bool", out_dtype="bool")
    with pytest.raises(TypeError, match="takes arrays of bool"):
        plan(np.full(3, 5, "u1"))
    assert plan(np.ones(3, bool)) is np.True_


def test_what_a_plan_does_not_take():
    plan = tally.Plan("sum", "float32")
    x = np.ones(5, "f4")
    for bad in (lambda: plan(np.ones(5)), lambda: plan(x, x), lambda: plan(x, axis=0), lambda: plan(x, labels=np.zeros(5, "i8"), groups=1),
                lambda: tally.Plan("sum", "float32", by="labels")(x, labels=np.zeros(5, "i4"), groups=1),
                lambda: tally.Plan("sum", "float32", by="labels")(x), lambda: tally.Plan("sum", "complex64"), lambda: tally.Plan()):
        with pytest.raises(TypeError):
            bad()
    for bad in (lambda: tally.Plan("sun"), lambda: tally.Plan("sum", form="scan"), lambda: tally.Plan("sum", by="rows"),
                lambda: tally.Plan("sum", device="cpu:threads=x"), lambda: tally.Plan("max", "float32")(np.ones(0, "f4")),
                lambda: tally.Plan("sum", "float32", axis=0, copy=False)(np.ones((9, 9), "f4")[::2])):
        with pytest.raises(ValueError):
            bad()
    for bad in (lambda: tally.Plan("minmax"), lambda: tally.Plan("logsumexp", exact=True)):
        with pytest.raises(NotImplementedError):
            bad()
    assert plan(x) == 5


@pytest.mark.parametrize("device", ["cpu", "cpu:threads=1"])
def test_operators_of_ones_own(device):
    random = np.random.default_rng(3)
    whole = tally.Plan(RUN_OF_ZEROS, "int32", out_dtype="int64", device=device)
    rows = tally.Plan(RUN_OF_ZEROS, "int32", out_dtype="int64", device=device, axis=1)
    scan = tally.Plan(RUN_OF_ZEROS, "int32", out_dtype="int64", device=device, form="inclusive")
    segments = tally.Plan(RUN_OF_ZEROS, "int32", out_dtype="int64", device=device, by="offsets")
    for n in (1, 7, 1000, 50000):
        x = (random.random(n) < 0.2).astype("i4")
        assert whole(x) == longest_run_of_zeros(x)
        assert scan(x)[-1] == whole(x) and (np.diff(scan(x)) >= 0).all()
        np.testing.assert_array_equal(segments(x, offsets=np.array([0, n // 2, n])),
                                      [longest_run_of_zeros(x[:n // 2]), longest_run_of_zeros(x[n // 2:])])
    x = (random.random((5, 300)) < 0.2).astype("i4")
    np.testing.assert_array_equal(rows(x), [longest_run_of_zeros(row) for row in x])


def test_texts_that_an_attribute_makes_anew_are_kept():
    class Made:
        name, acc_bytes, commutes = "Made", 4, True

        def __getattr__(self, name):
            texts = {"acc": "struct acc_t { int n; };", "identity": "acc_t{0}", "lift": "acc_t{x}",
                     "combine": "acc_t{left.n + right.n}", "lower": "acc.n"}
            return " ".join([texts[name], "/*", str(id(self)), "*/"]) if name in texts else object.__getattribute__(self, name)
    plan, x, wrong = tally.Plan(Made(), "int32", out_dtype="int32"), np.ones(1 << 18, "i4"), []

    def work(): # several threads at once take plans of their own, which are made of the texts again
        try:
            for _ in range(20):
                assert plan(x) == 1 << 18
        except Exception as error:
            wrong.append(error)
    in_threads(work)
    assert not wrong


def test_words_of_too_many_dimensions():
    x = memoryview(bytearray(8)).cast("B").cast("d", [1] * 64)
    with pytest.raises(ValueError, match="64 dimensions"):
        tally.Plan("sum", axis=0, keepdims=True, words="out")(x)
    assert tally.Plan("sum", words="out")(x).shape == (3,)


def test_operators_that_are_wrong():
    good = dict(acc="struct acc_t { int n; };", identity="acc_t{0}", lift="acc_t{1}", combine="acc_t{left.n + right.n}",
                lower="acc.n", acc_bytes=4)
    assert tally.Plan(tally.Operator(**good), "int32", out_dtype="int32")(np.ones(3, "i4")) == 3
    for name, text in [("lift", "acc_t{z}"), ("acc", "struct acc_t {"), ("combine", "left +"), ("lower", "acc.m")]:
        with pytest.raises((ValueError, NotImplementedError), match=f"user operator 'Operator'.*{name}"):
            tally.Plan(tally.Operator(**{**good, name: text}), "int32", out_dtype="int32")
    with pytest.raises(ValueError, match="out"):
        tally.Plan(tally.Operator(**good), "int32")
    with pytest.raises(TypeError):
        tally.Plan(tally.Operator(**{**good, "lift": 3}), "int32", out_dtype="int32")
    with pytest.raises(TypeError):
        tally.Plan(object(), "int32", out_dtype="int32")


def test_texts_are_not_cut_at_null_characters():
    good = dict(acc="struct acc_t { int n; };", identity="acc_t{0}", lift="acc_t{1}", combine="acc_t{left.n + right.n}",
                lower="acc.n", acc_bytes=4, name="count")
    bad = [lambda: tally.Plan("sum\0x"), lambda: tally.Plan("sum", "f4\0x"), lambda: tally.Plan("sum", out_dtype="f8\0"),
           lambda: tally.sum([1], dtype="f8\0x"), lambda: tally.Accumulator("sum", "f4\0x"), lambda: tally.Accumulator("sum\0x"),
           lambda: tally.Plan("sum", device="cpu\0"), lambda: tally.Plan("sum", form="reduce\0")]
    bad += [lambda name=name: tally.Plan(tally.Operator(**{**good, name: good[name] + "\0 + 1"}), "int32", out_dtype="int32")
            for name, text in good.items() if isinstance(text, str)]
    for one in bad:
        with pytest.raises(ValueError, match="null character"):
            one()


def slow_plan():
    """Some hundred milliseconds for 2^22 elements."""
    body = "int f(int x) { for (int k = 0; k < 60; k++) x = x * 1664525 + 1013904223; return x; }"
    return tally.Plan(tally.Operator("struct acc_t { int n; }; " + body, "acc_t{0}", "acc_t{f(x)}", "acc_t{left.n ^ right.n}",
                                     "acc.n", acc_bytes=4, commutes=True), "int32", out_dtype="int32", device="cpu:threads=1")


def test_the_interpreter_goes_on_while_a_plan_runs():
    plan, x, ticks, stop = slow_plan(), np.arange(1 << 22, dtype="i4"), [0], threading.Event()

    def tick():
        while not stop.is_set():
            ticks[0] += 1
    ticking = threading.Thread(target=tick)
    ticking.start()
    before = ticks[0]
    plan(x)
    during = ticks[0] - before
    stop.set()
    ticking.join()
    assert during > 1000 # with the lock held it would be none


def test_any_thread_runs_a_plan():
    x = np.random.default_rng(4).standard_normal((50, 3000))
    plan, wrong = tally.Plan("sum", axis=1, exact=True), []
    expected = plan(x)

    def work():
        for _ in range(30):
            if not (plan(x) == expected).all() or plan(x[:1])[0] != expected[0]:
                wrong.append(1)
    in_threads(work)
    assert not wrong


@pytest.mark.parametrize("op, dtype, exact", [("sum", "float64", True), ("mean", "float32", True), ("var", "float64", True), ("sum", "int32", False)])
def test_states_in_words_add_up(op, dtype, exact):
    random = np.random.default_rng(5)
    x = random.integers(-99, 99, (6, 10, 4)).astype(dtype)
    for axis in (None, 0, 1, 2, (0, 1)):
        for keepdims in (False, True):
            states = tally.Plan(op, dtype, axis=axis, keepdims=keepdims, exact=exact, words="out")
            value = tally.Plan(op, dtype, axis=0, exact=exact, words="in")
            expected = getattr(tally, op)(x, axis=axis, keepdims=keepdims, exact=exact)
            assert states(x).shape[:-1] == expected.shape and states(x).dtype == np.int64
            np.testing.assert_array_equal(value(states(x)[None]), expected)
            if axis is not None:
                at = axis if isinstance(axis, int) else axis[0]
                total = sum(states(part) for part in np.array_split(x, 3, at))
                np.testing.assert_array_equal(value(total[None]), expected)
    both = tally.Plan(op, dtype, axis=1, exact=exact, words="both")
    rows = tally.Plan(op, dtype, axis=-1, exact=exact, words="out")(x)
    np.testing.assert_array_equal(value(both(rows)[None]), getattr(tally, op)(x, axis=(1, 2), exact=exact))
    labels = random.integers(0, 3, 6)
    by = tally.Plan(op, dtype, exact=exact, by="labels", words="out") if op != "var" else None
    if by:
        np.testing.assert_array_equal(value(by(x[:, 0, 0], labels=labels, groups=3)[None]),
                                      getattr(tally, op)(x[:, 0, 0], labels=labels, groups=3, exact=exact))
    for bad in (rows[..., :-1], rows[0, 0, 0]):
        with pytest.raises(ValueError):
            value(bad)
    with pytest.raises(TypeError):
        value(x.astype("f4"))


@pytest.mark.parametrize("words", ["in", "both"])
def test_states_of_operators_with_two_inputs_come_in_one_array(words):
    x, y = np.random.default_rng(6).standard_normal((2, 5, 40))
    states = tally.Plan("dot", axis=1, exact=True, words="out")(x, y)
    plan = tally.Plan("dot", axis=0, exact=True, words=words)
    got = plan(states) if words == "in" else tally.Plan("dot", axis=0, exact=True, words="in")(plan(states)[None])
    assert got == tally.dot(x.ravel(), y.ravel(), exact=True)
    with pytest.raises(TypeError, match="1 positional argument "):
        plan(states, states)


def test_groups_of_states():
    x, labels = np.random.default_rng(7).standard_normal((6, 50)), np.array([2, 0, 2, 2, 0, 1])
    states = tally.Plan("sum", axis=1, exact=True, words="out")(x)
    for by, one in (("labels", {"labels": labels, "groups": 3}), ("offsets", {"offsets": np.array([0, 2, 2, 6])}),
                    ("keys", {"keys": labels})):
        got = tally.Plan("sum", exact=True, by=by, words="in")(states, **one)
        several = {by: np.repeat(labels, 50) if by != "offsets" else one[by] * 50, **({"groups": 3} if by == "labels" else {})}
        np.testing.assert_equal(got, tally.sum(x.ravel(), exact=True, **several))
        np.testing.assert_equal(tally.Plan("sum", exact=True, by=by, words="in")(states[:, ::-1][:, ::-1], **one), got)
        with pytest.raises(ValueError, match="states has"): # it would have been read past its end
            tally.Plan("sum", exact=True, by=by, words="in")(states[:, 0], **one)


def test_plans_pickle():
    x = np.arange(6, dtype="f4").reshape(2, 3)
    for plan in (tally.Plan("sum", "float32", axis=0, device="cpu:threads=1"), tally.Plan("mean", "float32")):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(plan))(x), plan(x))
    zeros = tally.Plan(RUN_OF_ZEROS, "int32", out_dtype="int64")
    assert pickle.loads(pickle.dumps(zeros))(np.zeros(5, "i4")) == 5


def test_many_threads_share_the_functions():
    x = np.random.default_rng(4).standard_normal(100000)
    expected = [tally.sum(x, exact=True), tally.max(x), tally.cumulative_sum(x)[-1]]
    wrong = []

    def work():
        for _ in range(30):
            if [tally.sum(x, exact=True), tally.max(x), tally.cumulative_sum(x)[-1]] != expected:
                wrong.append(1)
    in_threads(work)
    assert not wrong


def test_the_words_of_nothing_are_a_state():
    x = np.array([3.0, 1.0])
    state, combine = tally.Plan("min", "float64", words="out"), tally.Plan("min", "float64", words="in")
    assert combine(np.stack([state(x[:0]), state(x)])) == 1


@pytest.mark.parametrize("options, says", [
    ({"skip_nan": True, "words": "in"}, "skip_nan with words='in'"),
    ({"exact": True, "acc_dtype": "float64"}, "leave acc_dtype None"),
    ({"correction": 1}, "correction is 1; it is for"),
    ({"reverse": True}, "reverse is for scans"),
    ({"skip_bad_labels": True}, "skip_bad_labels is for labels"),
    ({"index_dtype": "int32"}, "this plan has no by"),
    ({"words": "out", "out_dtype": "float32"}, "leave out_dtype None with words='out'"),
])
def test_messages_name_options_of_python(options, says):
    with pytest.raises((ValueError, NotImplementedError)) as error:
        tally.Plan("sum", **options)
    assert says in str(error.value) and "TALLY_" not in str(error.value) and "desc." not in str(error.value)
