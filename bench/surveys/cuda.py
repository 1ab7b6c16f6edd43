"""The survey on CUDA: memory, streams and events are PyTorch's; times are of the device, between events, each after the
second-level cache was cleared. Peers: PyTorch, and CUB through what bench/cuda/cub.cu was built into.

SPDX-License-Identifier: Apache-2.0"""
import concurrent.futures
import ctypes as c
import os
import sys

import numpy as np
import torch

sys.path.insert(1, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cuda"))
from device import TORCH, Clock, enqueue # noqa: E402
from peers import Cub # noqa: E402
from surveys.cases import is_float # noqa: E402
from surveys.device import POISON, SPARE, Device # noqa: E402
from surveys.gpu import CLASSES, RANGE, compile_ahead # noqa: E402
from tally import ALL, AXIS, EXCLUSIVE, INCLUSIVE, KEYS, REDUCE, SEGMENTS, SIZES # noqa: E402

# Bytes of a type as PyTorch can copy and convert them.
RAW = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


class Cuda(Device):
    RANGE, CLASSES = RANGE, CLASSES

    def __init__(self, tally, helper, options):
        super().__init__(tally, helper)
        self.options = options
        self.arenas = {}
        self.peers = Cub(options.peers or self.roofs_alone())
        self.clock = Clock(self.peers)
        self.workers = concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 4))
        self.name = f"{torch.cuda.get_device_name(0)}, PyTorch {torch.__version__}"
        if options.small:
            self.tell_launch()

    @staticmethod
    def roofs_alone():
        sys.exit("bench/survey: --peers is missing: nvcc -O3 -std=c++17 -shared -Xcompiler -fPIC -arch=native "
                 "-o libpeers.so bench/cuda/cub.cu builds it")

    def tell_launch(self):
        with torch.cuda.stream(self.clock.stream):
            nothing = self.peers.read(self.clock.scratch(1 << 10), 16, 1)
            print(f"a launch: {self.clock.single(nothing) * 1e6:.2f} us alone, "
                  f"{self.clock.graph(nothing) * 1e6:.2f} us in a graph")

    def ready(self, cases):
        compile_ahead(self.options, cases)

    # ---- the data ----

    def place(self, name, bytes_, past=0):
        if name not in self.arenas or self.arenas[name].numel() < bytes_ + SPARE:
            self.arenas.pop(name, None)
            self.arenas[name] = torch.empty(bytes_ + SPARE, dtype=torch.uint8, device="cuda")
        return self.arenas[name].data_ptr() + past

    def view(self, address, dtype, count):
        """A tensor over memory that place() gave."""
        for arena in self.arenas.values():
            past = address - arena.data_ptr()
            if 0 <= past < arena.numel():
                size = torch.empty((), dtype=dtype).element_size()
                return arena[past:past + count * size].view(dtype)
        raise ValueError("no such memory")

    def tile(self, address, pool, n, first=0):
        raw = pool.view(np.dtype(f"i{pool.itemsize}"))
        to = self.view(address, RAW[pool.itemsize], n)
        source = torch.from_numpy(np.roll(raw, -first)[:n])
        to[:len(source)] = source.to("cuda")
        filled = len(source)
        while filled < n:
            part = min(filled, n - filled)
            to[filled:filled + part] = to[:part]
            filled += part

    def put_index(self, address, case, data):
        """As surveys.device.index_of, on the device."""
        ends, groups = data.ends
        period = torch.from_numpy(ends).to("cuda")
        whole = -(-groups // len(ends))
        starts = torch.arange(whole, dtype=torch.int64, device="cuda") * int(ends[-1])
        all_ends = (starts[:, None] + period).reshape(-1)[:groups].clamp_(max=case.n)
        raw = RAW[SIZES[case.index]]
        if case.grouping == SEGMENTS:
            to = self.view(address, raw, groups + 1)
            to[:1] = 0
            to[1:] = all_ends.to(raw)
        else:
            numbers = torch.arange(groups, dtype=torch.int64, device="cuda").to(raw)
            lengths = torch.diff(all_ends, prepend=all_ends.new_zeros(1))
            self.view(address, raw, case.n)[:] = torch.repeat_interleave(numbers, lengths, output_size=case.n)

    def poison(self, address, bytes_):
        self.view(address, torch.uint8, bytes_).fill_(POISON)

    def fetch(self, address, bytes_):
        return self.view(address, torch.uint8, bytes_).cpu().numpy()

    def measure(self, case, limit):
        with torch.cuda.stream(self.clock.stream):
            return super().measure(case, limit)

    def prepare(self, case, plan):
        prepared = super().prepare(case, plan)
        torch.cuda.synchronize() # tally's own stream does not wait for PyTorch's
        return prepared

    # ---- timing ----

    def time(self, prepared, row, limit):
        own = enqueue(self.tally, prepared.plan, prepared.args)
        row["workspace"] = own.workspace
        peers = {name: call for name, call in (("CUB", self.cub_peer(prepared)), ("PyTorch", self.torch_peer(prepared)))
                 if call and runs(call)}
        if self.options.small:
            self.time_small(own, peers, row)
        else:
            self.time_large(own, peers, prepared.data, row)

    def time_small(self, own, peers, row):
        row["tally"], row["graph"] = self.clock.single(own), self.clock.graph(own)
        row["peers"] = {name: self.clock.single(call) for name, call in peers.items()}
        row["graph_peers"] = {}
        for name, call in peers.items():
            try:
                row["graph_peers"][name] = self.clock.graph(call)
            except RuntimeError: # a function of PyTorch's that synchronizes cannot be captured
                torch.cuda.synchronize()

    def time_large(self, own, peers, data, row):
        roof = self.clock.roof(data.read, data.written)
        repeat = 7 if row["bytes"] > 1 << 28 else 15 if row["bytes"] > 1 << 25 else 25
        row["roof"], row["tally"], row["peers"] = self.clock.beside(roof, own, peers, repeat)

    # ---- the peers ----

    def cub_peer(self, prepared):
        """CUB's algorithm for the case, or None. Unsigned types take what signed ones of their width take, the minimum what
        the maximum takes."""
        case, data, args = prepared.case, prepared.data, prepared.args
        type_ = case.type.replace("u", "i")
        op = {"min": "max", "argmin": "argmax"}.get(case.op, case.op)
        narrow = not is_float(case.type) and SIZES[case.type] < 8 # sums have wider results
        wide = "wide_" if narrow and case.out == "default" else ""
        x, out = c.c_void_p(args.x), c.c_void_p(args.out)
        name, arguments = None, [x, out, case.n]
        if case.grouping == ALL:
            name = {(REDUCE, op): f"{op}_{type_}", (INCLUSIVE, "sum"): f"{wide}scan_{type_}",
                    (EXCLUSIVE, "sum"): f"{wide}exclusive_{type_}",
                    (INCLUSIVE, "max"): f"max_scan_{type_}"}.get((case.form, op))
        elif case.grouping == AXIS and case.form == REDUCE and case.shape[2] == 1 and case.shape[1] < 1 << 31:
            name, arguments = f"rows_{op}_{type_}", [x, out, case.shape[0], case.shape[1]]
        elif case.grouping == SEGMENTS and case.index == "i64":
            name = {(REDUCE, op): f"segments_{op}_{type_}",
                    (INCLUSIVE, "sum"): None if wide else f"segments_scan_{type_}"}.get((case.form, op))
            arguments = [x, c.c_void_p(args.offsets), out, data.groups]
        elif case.grouping == KEYS and SIZES[case.index] >= 4 and op == "sum" and case.out == "default":
            kind = f"{case.index.replace('u', 'i')}_{type_}"
            keys = c.c_void_p(args.keys)
            if case.form == REDUCE:
                runs_ = torch.zeros(1, dtype=torch.int64, device="cuda")
                name, arguments = f"keys_sum_{kind}", [keys, x, c.c_void_p(args.keys_out), out, runs_, case.n]
            elif case.form == INCLUSIVE:
                name, arguments = f"keys_scan_{kind}", [keys, x, out, case.n]
        name = f"cub_{name}"
        return self.peers.call(name, *arguments) if self.peers.has(name) else None

    def torch_peer(self, prepared):
        """PyTorch's function for the case, or None."""
        case, data, args = prepared.case, prepared.data, prepared.args
        if case.type not in TORCH:
            return None
        x = self.view(args.x, TORCH[case.type], case.n)
        if case.grouping == AXIS:
            x = x.view(case.shape)
        dim = 1 if case.grouping == AXIS else 0
        if case.grouping in (ALL, AXIS):
            if case.form == REDUCE:
                y = self.view(args.y, TORCH[case.type], case.n) if args.y and case.grouping == ALL else None
                return torch_reduction(case, x, y, dim)
            return torch_scan(case, x, dim, prepared.out_type) if case.form == INCLUSIVE else None
        if case.grouping == SEGMENTS and case.form == REDUCE and case.op in ("sum", "mean", "min", "max") \
                and case.type in ("f32", "f64") and case.index in ("i32", "i64"):
            offsets = self.view(args.offsets, TORCH[case.index], data.groups + 1)
            return lambda: torch.segment_reduce(x, case.op, offsets=offsets, unsafe=True)
        return None


def torch_reduction(case, x, y, dim):
    floats = {"mean": lambda: torch.mean(x, dim), "var": lambda: torch.var(x, dim, correction=0),
              "std": lambda: torch.std(x, dim, correction=0), "logsumexp": lambda: torch.logsumexp(x, dim),
              "norm1": lambda: torch.linalg.vector_norm(x, 1, dim), "norm2": lambda: torch.linalg.vector_norm(x, 2, dim),
              "norm_inf": lambda: torch.linalg.vector_norm(x, float("inf"), dim)}
    every = {"sum": lambda: torch.sum(x, dim), "prod": lambda: torch.prod(x, dim), "min": lambda: torch.amin(x, dim),
             "max": lambda: torch.amax(x, dim), "argmin": lambda: torch.argmin(x, dim),
             "argmax": lambda: torch.argmax(x, dim), "minmax": lambda: torch.aminmax(x, dim=dim),
             "any": lambda: torch.any(x, dim), "all": lambda: torch.all(x, dim),
             "count_nonzero": lambda: torch.count_nonzero(x, dim)}
    if case.op == "dot":
        return (lambda: torch.dot(x, y)) if y is not None and is_float(case.type) else None
    return every.get(case.op) or (floats.get(case.op) if is_float(case.type) else None)


def torch_scan(case, x, dim, out_type):
    return {"sum": lambda: torch.cumsum(x, dim, dtype=TORCH[out_type]),
            "prod": lambda: torch.cumprod(x, dim, dtype=TORCH[out_type]),
            "logsumexp": (lambda: torch.logcumsumexp(x, dim)) if is_float(case.type) else None}.get(
                case.op if out_type in TORCH else None)


def runs(call):
    """Whether a peer has the computation at all: what it refuses, it says when it is called."""
    try:
        call()
        torch.cuda.synchronize()
        return True
    except (RuntimeError, NotImplementedError):
        return False
