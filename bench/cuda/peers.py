"""What tally is timed beside, each as a function that enqueues one call in the current stream: CUB from the toolkit's
own headers or from others (cub.cu), cuBLAS and CuPy where they are installed, and the roofs.

SPDX-License-Identifier: Apache-2.0"""
import ctypes as c

import torch

try:
    import cupy
except ImportError:
    cupy = None


def stream_now():
    return c.c_void_p(torch.cuda.current_stream().cuda_stream)


def address(tensor):
    return c.c_void_p(tensor.data_ptr())


class Cub:
    """The functions of cub.cu, the roofs among them."""

    def __init__(self, path):
        self.lib = c.CDLL(path)
        self.never = torch.zeros(4, dtype=torch.int32, device="cuda")

    def has(self, name):
        return hasattr(self.lib, name)

    def call(self, name, *arguments):
        """Scratch memory is allocated here, once, as a caller of CUB would."""
        function = getattr(self.lib, name)
        need = c.c_size_t()
        stream = stream_now()
        wrapped = [address(a) if isinstance(a, torch.Tensor) else a if isinstance(a, c.c_void_p) else c.c_size_t(a)
                   for a in arguments]
        function(None, c.byref(need), *wrapped, stream)
        scratch = torch.empty(max(need.value, 1), dtype=torch.uint8, device="cuda")

        def run():
            status = function(address(scratch), c.byref(need), *wrapped, stream)
            if status:
                raise RuntimeError(f"{name}: CUDA error {status}")
        run.keep = (scratch, arguments)
        return run

    def read(self, memory, bytes_, blocks):
        stream = stream_now()
        return lambda: self.lib.roof_read(address(memory), c.c_size_t(bytes_), address(self.never), blocks, stream)

    def copy(self, memory, bytes_):
        """The first half of 'memory' to its second."""
        half, stream = bytes_ // 2 // 16 * 16, stream_now()
        second = c.c_void_p(memory.data_ptr() + half)
        return lambda: self.lib.roof_copy(second, address(memory), c.c_size_t(half), stream)


class Cublas:
    """Dot products and norms, their results left on the device."""
    NAMES = {("dot", "f32"): "cublasSdot_v2_64", ("dot", "f64"): "cublasDdot_v2_64",
             ("norm2", "f32"): "cublasSnrm2_v2_64", ("norm1", "f32"): "cublasSasum_v2_64"}
    RESULT_ON_DEVICE = 1

    def __init__(self):
        self.lib = None
        for name in ("libcublas.so.13", "libcublas.so.12", "libcublas.so"):
            try:
                self.lib = c.CDLL(name)
                break
            except OSError:
                pass
        if self.lib:
            self.handle = c.c_void_p()
            self.check(self.lib.cublasCreate_v2(c.byref(self.handle)))
            self.check(self.lib.cublasSetPointerMode_v2(self.handle, self.RESULT_ON_DEVICE))

    @staticmethod
    def check(status):
        if status:
            raise RuntimeError(f"cuBLAS: status {status}")

    def has(self, op, type_):
        return self.lib is not None and (op, type_) in self.NAMES

    def call(self, op, type_, x, y, out):
        self.check(self.lib.cublasSetStream_v2(self.handle, stream_now()))
        function = getattr(self.lib, self.NAMES[op, type_])
        vectors = [part for v in (x, y) if v is not None for part in (address(v), c.c_int64(1))]

        def run():
            self.check(function(self.handle, c.c_int64(x.numel()), *vectors, address(out)))
        run.keep = (x, y, out)
        return run


def cupy_call(name, x, *more):
    """One of CuPy's functions over PyTorch's memory; None if CuPy is missing or has no such type."""
    if cupy is None or x.dtype == torch.bfloat16:
        return None
    more = [cupy.asarray(value) if isinstance(value, torch.Tensor) else value for value in more]
    array, stream = cupy.asarray(x), cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)

    def run():
        with stream:
            getattr(cupy, name)(array, *more)
    return run
