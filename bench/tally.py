"""tally's plain C interface from Python, over addresses: for bench/survey and bench/cuda/run. The library is opened by its
path, so that an older one can be measured too.

SPDX-License-Identifier: Apache-2.0"""
import ctypes as c

OPS = ["sum", "prod", "min", "max", "argmin", "argmax", "minmax", "any", "all", "count_nonzero", "band", "bor", "bxor",
       "sumsq", "norm1", "norm2", "norm_inf", "mean", "var", "std", "dot", "logsumexp"]
TYPES = ["default", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"]
SIZES = dict(i8=1, i16=2, i32=4, i64=8, u8=1, u16=2, u32=4, u64=8, f16=2, bf16=2, f32=4, f64=8)
REDUCE, INCLUSIVE, EXCLUSIVE = 0, 1, 2
ALL, AXIS, SEGMENTS, KEYS, LABELS = 0, 1, 2, 3, 4
SKIP_NAN = 1 << 3


class Desc(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("op", c.c_int), ("form", c.c_int), ("grouping", c.c_int),
                ("mode", c.c_int), ("in_", c.c_int), ("acc", c.c_int), ("out", c.c_int), ("index", c.c_int),
                ("flags", c.c_uint), ("ddof", c.c_int), ("user", c.c_void_p)]


class Args(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("shape", c.c_uint64 * 4), ("x", c.c_void_p), ("y", c.c_void_p),
                ("offsets", c.c_void_p), ("keys", c.c_void_p), ("initial", c.c_void_p), ("out", c.c_void_p),
                ("out_bytes", c.c_size_t), ("keys_out", c.c_void_p), ("keys_out_bytes", c.c_size_t),
                ("count", c.c_void_p), ("workspace", c.c_void_p), ("workspace_bytes", c.c_size_t),
                ("labels", c.c_void_p)]


class Info(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("spec", c.c_char * 64), ("name", c.c_char * 128),
                ("detail", c.c_char * 128), ("memory_bytes", c.c_uint64)]


class Refused(RuntimeError):
    """The library does not have this computation."""


class Tally:
    UNSUPPORTED, BAD_LABELS = 2, 10

    def __init__(self, path, device="cuda:0"):
        self.lib = c.CDLL(path)
        self.lib.tally_last_error.restype = self.lib.tally_version.restype = c.c_char_p
        self.lib.tally_run.argtypes = [c.c_void_p, c.POINTER(Args), c.c_void_p]
        self.lib.tally_copy.argtypes = [c.c_void_p, c.c_void_p, c.c_void_p, c.c_size_t]
        self.lib.tally_free.argtypes = [c.c_void_p, c.c_void_p]
        self.lib.tally_status_name.restype = c.c_char_p
        self.has_labels = self.lib.tally_status_name(self.BAD_LABELS) == b"TALLY_BAD_LABELS"
        self.version = self.lib.tally_version().decode()
        self.device = c.c_void_p()
        self.check(self.lib.tally_open(device.encode(), c.byref(self.device)))

    def name(self):
        """The device's, for people."""
        info = Info(c.sizeof(Info))
        self.check(self.lib.tally_device_describe(self.device, c.byref(info)))
        return info.name.decode()

    def check(self, status):
        if status == self.UNSUPPORTED:
            raise Refused(self.lib.tally_last_error().decode())
        if status:
            raise RuntimeError(self.lib.tally_last_error().decode())

    def plan(self, op, in_, form=REDUCE, grouping=ALL, mode=0, out="default", index="default", flags=0):
        desc = Desc(c.sizeof(Desc), OPS.index(op), form, grouping, mode, TYPES.index(in_), 0, TYPES.index(out),
                    TYPES.index(index), flags, 0, None)
        plan = c.c_void_p()
        self.check(self.lib.tally_plan_create(self.device, c.byref(desc), c.byref(plan)))
        return plan

    def destroy(self, plan):
        self.lib.tally_plan_destroy(plan)

    def result_of(self, plan):
        """The type of the results, and how many elements each has."""
        desc, elements = Desc(), c.c_size_t()
        desc.struct_size = c.sizeof(Desc)
        self.check(self.lib.tally_plan_describe(plan, c.byref(desc), c.byref(elements)))
        return TYPES[desc.out], elements.value

    def workspace_of(self, plan, args):
        need = c.c_size_t()
        self.check(self.lib.tally_plan_workspace(plan, c.byref(args, Args.shape.offset), c.byref(need)))
        return need.value

    def fit(self, args):
        """Gives arguments the size that this library knows."""
        if not self.has_labels:
            args.struct_size = Args.labels.offset # as in libraries from before there were labels

    def run(self, plan, args, stream=None):
        self.fit(args)
        self.check(self.lib.tally_run(plan, c.byref(args), stream))


def arguments(shape, **fields):
    """Arguments of tally_run: 'shape' is outer, extent, inner, groups; the rest are addresses and sizes by name."""
    args = Args(c.sizeof(Args), (c.c_uint64 * 4)(*shape))
    for name, value in fields.items():
        setattr(args, name, value)
    return args
