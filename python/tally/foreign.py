"""What the extension asks of other libraries' arrays, each in that library's own terms. None is imported here: an array
that is there has imported its own.

SPDX-License-Identifier: Apache-2.0"""
import array
import math
import struct
import sys

ON_HOST = (1, 3) # DLPack's devices: the CPU, and host memory that CUDA has locked
BUFFER_CODES = {"int8": "b", "int16": "h", "int32": "i", "int64": "q", "uint8": "B", "uint16": "H", "uint32": "I",
                "uint64": "Q", "float16": "e", "float32": "f", "float64": "d", "bool": "?"}


def library_of(x):
    """The library of an array's class, or of the class that it is derived from."""
    names = [one.__module__.partition(".")[0] for one in type(x).__mro__]
    name = next((name for name in names if name in ("numpy", "torch", "cupy")), names[0])
    return "jax" if name == "jaxlib" else name


def export(x):
    """A DLPack capsule, and the CUDA stream in which the array's library computes now (0: none is needed, or known)."""
    library, stream = library_of(x), 0
    is_on_host = x.__dlpack_device__()[0] in ON_HOST
    if library == "torch" and not is_on_host:
        stream = sys.modules["torch"].cuda.current_stream(x.device).cuda_stream or 1
    elif library == "cupy":
        stream = sys.modules["cupy"].cuda.get_current_stream().ptr or 1
    # -1: tally computes in the array's own stream. 1: the library makes CUDA's legacy stream wait for the array.
    options = {} if is_on_host else {"stream": -1 if stream else 1}
    try:
        return x.__dlpack__(max_version=(1, 0), **options), stream
    except TypeError: # from before there were versions
        return x.__dlpack__(**options), stream


def refuse_gradients():
    """Raises where PyTorch would compute gradients."""
    if sys.modules["torch"].is_grad_enabled():
        raise RuntimeError


def view_of(memory, code, shape):
    """Memory without gaps as a memoryview of elements in C order."""
    memory = memoryview(memory).cast("B")
    try:
        return memory.cast(code) if len(shape) == 1 else memory.cast(code, shape)
    except ValueError:
        if code != "e":
            raise
        raise TypeError("memoryviews have no float16 before Python 3.12; name another type with dtype=, or take NumPy's "
                        "arrays") from None


def in_c_order(x):
    """A copy in C order."""
    library = library_of(x)
    if library == "torch":
        return x.clone(memory_format=sys.modules["torch"].contiguous_format)
    if library in ("numpy", "cupy"):
        return sys.modules[library].array(x, order="C")
    if not hasattr(x, "__array_namespace__"):
        view = memoryview(x)
        return view_of(view.tobytes(), view.format[-1], view.shape)
    return x.__array_namespace__().asarray(x, copy=True)


def empty(like, shape, dtype):
    """A new array in C order, of the library and device of 'like'; NumPy's where the library's cannot be written to."""
    library = library_of(like)
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.empty(shape, dtype=getattr(torch, dtype), device=like.device)
    if library == "cupy":
        return sys.modules["cupy"].empty(shape, dtype=dtype)
    if library == "numpy":
        raise TypeError(f"NumPy has no {dtype}; name another type with dtype=")
    if library == "jax":
        if like.__dlpack_device__()[0] not in ON_HOST:
            raise TypeError("tally cannot make arrays of JAX on a GPU; convert with torch.from_dlpack or cupy.from_dlpack")
        return sys.modules["numpy"].empty(shape, dtype=dtype)
    if hasattr(like, "__array_namespace__"):
        module = like.__array_namespace__()
        return module.empty(shape, dtype=getattr(module, dtype), device=like.device)
    if dtype not in BUFFER_CODES:
        raise TypeError(f"memoryviews have no {dtype}; name another type with dtype=")
    code = BUFFER_CODES[dtype]
    return view_of(bytearray(math.prod(shape) * struct.calcsize(code)), code, shape)


def adopted(like, result):
    """NumPy's result as an array of the library of 'like'."""
    return like.__array_namespace__().asarray(result)


def permuted(x, axes):
    if library_of(x) == "torch":
        return x.permute(*axes)
    if hasattr(x, "transpose"):
        return x.transpose(axes)
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__().permute_dims(x, axes)
    raise TypeError(f"tally reduces a {type(x).__name__} only along axes that lie side by side; NumPy's arrays have no such "
                    "limit")


def with_initial(x, axis, value):
    """x with 'value' before its first elements along an axis."""
    library = library_of(x)
    if library == "builtins":
        data, rows, row = x.tobytes(), math.prod(x.shape[:axis]), math.prod(x.shape[axis:]) * x.itemsize
        first = struct.pack(x.format, value) * math.prod(x.shape[axis + 1:])
        longer = bytearray().join(first + data[k * row:(k + 1) * row] for k in range(rows))
        return view_of(longer, x.format, x.shape[:axis] + (x.shape[axis] + 1,) + x.shape[axis + 1:])
    shape = x.shape[:axis] + (1,) + x.shape[axis + 1:]
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.cat([torch.full(shape, value, dtype=x.dtype, device=x.device), x], dim=axis)
    if library in ("numpy", "cupy"): # the array API's names came with NumPy 2
        module = sys.modules[library]
        return module.concatenate([module.full(shape, value, dtype=x.dtype), x], axis=axis)
    module = x.__array_namespace__()
    return module.concat([module.full(shape, value, dtype=x.dtype), x], axis=axis)


def corrected(x, n, correction, is_root):
    """A variance, or its root, that was divided by n, as if it had been by n - correction."""
    factor = n / (n - correction) if n > correction else math.nan
    factor = math.sqrt(factor) if is_root else factor
    if isinstance(x, memoryview):
        values = memoryview(x.tobytes()).cast(x.format)
        return view_of(array.array(x.format, (value * factor for value in values)), x.format, x.shape)
    return x * (x.dtype.type(factor) if library_of(x) == "numpy" else factor)


def plan_of(plan, arguments):
    """A pickled Plan."""
    positional, named = arguments
    return plan(*positional, **(named or {}))


def place_in(group, x):
    """This process' rank in a group, and how many there are, once all work on x is done that was enqueued for it."""
    library = library_of(x)
    if x.__dlpack_device__()[0] not in ON_HOST if hasattr(x, "__dlpack_device__") else False:
        if library == "torch":
            sys.modules["torch"].cuda.current_stream(x.device).synchronize()
        elif library == "cupy":
            sys.modules["cupy"].cuda.get_current_stream().synchronize()
    if hasattr(group, "Allreduce"): # mpi4py's communicators
        return group.Get_rank(), group.Get_size()
    if hasattr(group, "exchange"):
        return group.rank, group.size
    if "torch" not in sys.modules:
        raise TypeError("group is a group of torch.distributed, a communicator of mpi4py, or an object with rank, size and "
                        f"exchange, not {type(group)}")
    distributed = sys.modules["torch"].distributed
    return distributed.get_rank(group), distributed.get_world_size(group)


def exchange(group, kind, send, receive):
    """One exchange of int64s between the ranks of a group: 'sum' and 'max' of all ranks' words, in place, or 'gather'."""
    if hasattr(group, "Allreduce"):
        mpi = sys.modules["mpi4py.MPI"]
        if kind == "gather":
            group.Allgather([send, mpi.INT64_T], [receive, mpi.INT64_T])
        else:
            group.Allreduce(mpi.IN_PLACE, [receive, mpi.INT64_T], mpi.SUM if kind == "sum" else mpi.MAX)
        return
    if hasattr(group, "exchange"):
        group.exchange(kind, send.cast("q"), receive.cast("q"))
        return
    torch = sys.modules["torch"]
    device = "cuda" if torch.distributed.get_backend(group) == "nccl" else "cpu"
    ours, theirs = (torch.frombuffer(words, dtype=torch.int64) for words in (send, receive))
    words = ours.to(device, copy=True)
    if kind == "gather":
        parts = [torch.empty_like(words) for _ in range(len(theirs) // len(ours))]
        torch.distributed.all_gather(parts, words, group=group)
        theirs.copy_(torch.cat(parts))
    else:
        operation = torch.distributed.ReduceOp.SUM if kind == "sum" else torch.distributed.ReduceOp.MAX
        torch.distributed.all_reduce(words, operation, group=group)
        theirs.copy_(words)


def numbers(x):
    """A list or tuple of numbers as an array: of 64-bit integers if all are integers, else, or without any, of doubles."""
    if not x: # as the array API's asarray
        return array.array("d")
    try:
        return array.array("q", x)
    except TypeError:
        pass
    except OverflowError:
        if all(hasattr(one, "__index__") for one in x):
            raise OverflowError("lists and tuples of integers are int64, and one of them has more bits; NumPy's arrays have "
                                "uint64") from None
    try:
        return array.array("d", x)
    except TypeError:
        raise TypeError("tally takes lists and tuples of numbers, which are arrays of one dimension; numpy.array makes "
                        "arrays of more") from None
