"""Arrays of other libraries, on their own device: each that this machine has. TALLY_REQUIRE=torch,cupy makes those that
it has not failures."""
import importlib
import os

import numpy as np
import pytest

import tally


class Plain:
    """An array with nothing but DLPack, as a library that nobody knows would have it."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **options):
        return self.x.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


def module_of(name):
    try:
        module = importlib.import_module(name)
        if name == "torch" and int(module.__version__.split(".")[0]) < 2:
            raise ImportError("PyTorch before 2, whose bools have no DLPack")
        return module
    except ImportError:
        if name in os.environ.get("TALLY_REQUIRE", "").split(","):
            raise
        pytest.skip(f"{name} is not on this machine")


def torch_cuda():
    torch = module_of("torch")
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return torch


LIBRARIES = {
    "torch": (lambda: module_of("torch"), lambda m, x: m.from_numpy(x.copy()), lambda y: y.numpy()),
    "torch on CUDA": (torch_cuda, lambda m, x: m.from_numpy(x.copy()).cuda(), lambda y: y.cpu().numpy()),
    "cupy": (lambda: module_of("cupy"), lambda m, x: m.asarray(x), lambda y: y.get()),
    "jax": (lambda: module_of("jax"), lambda m, x: m.device_put(x, m.devices("cpu")[0]), np.asarray),
    "array_api_strict": (lambda: module_of("array_api_strict"), lambda m, x: m.asarray(x.copy()), np.asarray),
}


@pytest.mark.parametrize("library", LIBRARIES)
def test_results_are_the_callers_kind_of_array(library):
    find, make, back = LIBRARIES[library]
    module = find()
    random = np.random.default_rng(3)
    for shape, dtype in [((7,), "float32"), ((3, 4, 5), "float32"), ((2, 1000, 3), "int32"), ((5, 1), "int8")]:
        x = random.integers(-9, 9, shape).astype(dtype)
        ours = make(module, x)
        for axis in [None, 0, -1]:
            for name in ("sum", "max", "argmin", "any"):
                result = getattr(tally, name)(ours, axis=axis)
                assert type(result) is type(ours)
                np.testing.assert_array_equal(back(result), getattr(np, name)(x, axis=axis))
        result = tally.cumulative_sum(ours, axis=0)
        assert type(result) is type(ours)
        np.testing.assert_array_equal(back(result), np.cumsum(x, axis=0, dtype="i8" if dtype[0] == "i" else None))


@pytest.mark.parametrize("library", ["torch", "torch on CUDA", "cupy"])
def test_any_layout_in_place(library):
    find, make, back = LIBRARIES[library]
    module = find()
    x = np.arange(24, dtype="f4").reshape(2, 3, 4)
    ours = make(module, x)
    moved = ours.permute(2, 0, 1) if "torch" in library else ours.transpose(2, 0, 1)
    for axis in (0, 1, 2):
        np.testing.assert_array_equal(back(tally.sum(moved, axis=axis, copy=False)), x.transpose(2, 0, 1).sum(axis=axis))
        np.testing.assert_array_equal(back(tally.cumulative_sum(moved, axis=axis, copy=False)),
                                      np.cumsum(x.transpose(2, 0, 1), axis=axis))
    np.testing.assert_array_equal(back(tally.sum(ours[:, ::2], axis=1)), x[:, ::2].sum(axis=1))
    with pytest.raises(ValueError):
        tally.sum(ours[:, ::2], axis=1, copy=False)
    labels = make(module, np.array([0, 2, 2, 1], "i4"))
    np.testing.assert_array_equal(back(tally.sum(ours[0, 0], offsets=make(module, np.array([0, 1, 4])))), [0, 6])
    sums, keys = tally.sum(ours[0, 0], keys=labels)
    np.testing.assert_array_equal(back(sums), [0, 3, 3])
    np.testing.assert_array_equal(back(keys), [0, 2, 1])
    assert float(tally.sum(make(module, np.array([1e16, 1, -1e16])), exact=True)) == 1


@pytest.mark.parametrize("library", ["torch on CUDA", "cupy"])
def test_the_callers_stream_is_used(library):
    find, make, back = LIBRARIES[library]
    module = find()
    stream = module.cuda.Stream()
    with module.cuda.stream(stream) if "torch" in library else stream:
        x = module.ones(1 << 26, dtype=module.float32)
        for _ in range(20):
            x = x + 1 # takes longer than a launch: a sum in another stream would come too early
        result = tally.sum(x)
    stream.synchronize()
    assert float(result) == 21 * (1 << 26)


def test_dlpack_alone_is_enough():
    assert tally.sum(Plain(np.arange(5))) == 10
    assert list(tally.sum(Plain(np.arange(6.0).reshape(2, 3)), axis=0)) == [3, 5, 7]


def test_elements_that_tally_has_not_are_refused():
    with pytest.raises(TypeError):
        tally.sum(Plain(np.ones(3, "c16")))


def test_gradients_are_not_lost_in_silence():
    torch = module_of("torch")
    with pytest.raises((BufferError, RuntimeError)):
        tally.sum(torch.ones(3, requires_grad=True))
    with torch.no_grad():
        assert float(tally.sum(torch.ones(3, requires_grad=True))) == 3
