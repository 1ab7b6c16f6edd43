"""tally's plain C interface from Python, over PyTorch's memory and streams, for bench/cuda/run.

SPDX-License-Identifier: Apache-2.0"""
import ctypes as c

import torch

OPS = ["sum", "prod", "min", "max", "argmin", "argmax", "minmax", "any", "all", "count_nonzero", "band", "bor", "bxor",
       "sumsq", "norm1", "norm2", "norm_inf", "mean", "var", "std", "dot", "logsumexp"]
TYPES = ["default", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "bf16", "f32", "f64"]
SIZES = dict(i8=1, i16=2, i32=4, i64=8, u8=1, u16=2, u32=4, u64=8, f16=2, bf16=2, f32=4, f64=8)
TORCH = dict(i8=torch.int8, i16=torch.int16, i32=torch.int32, i64=torch.int64, u8=torch.uint8, f16=torch.float16,
             bf16=torch.bfloat16, f32=torch.float32, f64=torch.float64)
REDUCE, INCLUSIVE, EXCLUSIVE = 0, 1, 2
ALL, AXIS, SEGMENTS, KEYS = 0, 1, 2, 3


class Desc(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("op", c.c_int), ("form", c.c_int), ("grouping", c.c_int),
                ("mode", c.c_int), ("in_", c.c_int), ("acc", c.c_int), ("out", c.c_int), ("index", c.c_int),
                ("flags", c.c_uint), ("ddof", c.c_int), ("user", c.c_void_p)]


class Args(c.Structure):
    _fields_ = [("struct_size", c.c_size_t), ("shape", c.c_uint64 * 4), ("x", c.c_void_p), ("y", c.c_void_p),
                ("offsets", c.c_void_p), ("keys", c.c_void_p), ("initial", c.c_void_p), ("out", c.c_void_p),
                ("out_bytes", c.c_size_t), ("keys_out", c.c_void_p), ("keys_out_bytes", c.c_size_t),
                ("count", c.c_void_p), ("workspace", c.c_void_p), ("workspace_bytes", c.c_size_t)]


class Tally:
    def __init__(self, path):
        self.lib = c.CDLL(path)
        self.lib.tally_last_error.restype = c.c_char_p
        self.device = c.c_void_p()
        self.check(self.lib.tally_open(b"cuda:0", c.byref(self.device)))

    def check(self, status):
        if status:
            raise RuntimeError(self.lib.tally_last_error().decode())

    def plan(self, op, in_, form=REDUCE, grouping=ALL, mode=0, out="default", index="default"):
        desc = Desc(c.sizeof(Desc), OPS.index(op), form, grouping, mode, TYPES.index(in_), 0, TYPES.index(out),
                    TYPES.index(index), 0, 0, None)
        plan = c.c_void_p()
        self.check(self.lib.tally_plan_create(self.device, c.byref(desc), c.byref(plan)))
        return plan

    def call(self, plan, shape, out, **pointers):
        """A function that enqueues the run in the current stream; its workspace is PyTorch's."""
        args = Args(c.sizeof(Args), (c.c_uint64 * 4)(*shape))
        keep = [out] + [t for t in pointers.values()]
        args.out, args.out_bytes = out.data_ptr(), out.numel() * out.element_size()
        for name, tensor in pointers.items():
            setattr(args, name, tensor.data_ptr())
        if "keys_out" in pointers:
            args.keys_out_bytes = pointers["keys_out"].numel() * pointers["keys_out"].element_size()
        need = c.c_size_t()
        self.check(self.lib.tally_plan_workspace(plan, c.byref(args, Args.shape.offset), c.byref(need)))
        workspace = torch.empty(max(need.value, 1), dtype=torch.uint8, device="cuda")
        args.workspace, args.workspace_bytes = workspace.data_ptr(), need.value
        stream = c.c_void_p(torch.cuda.current_stream().cuda_stream)

        def run():
            self.check(self.lib.tally_run(plan, c.byref(args), stream))
        run.keep = (keep, workspace, args)
        run.workspace = need.value
        return run
