"""The survey on the CPU: tally through batches of calls that Python does not interrupt, the roofs of `tally bench` over the
very buffers of the case, and NumPy. Everything takes turns, batch by batch, each batch after a call that warms the caches;
the best batch of each counts.

SPDX-License-Identifier: Apache-2.0"""
import ctypes as c
import os
import time

import numpy as np

from surveys.cases import is_float
from surveys.device import POISON, SPARE, Device, array_at
from tally import ALL, AXIS, INCLUSIVE, KEYS, REDUCE, SEGMENTS, SIZES

BATCH = 0.002  # seconds of a batch, at least
ROUNDS = 5     # at least
LIMIT = 1.5    # seconds of rounds, at most, once there are so many
FAR_BEHIND = 1.3


class Move(c.Structure):
    _fields_ = [("from_", c.c_void_p), ("to", c.c_void_p), ("bytes", c.c_size_t)]


class Roof(c.Structure):
    _fields_ = [("moves", Move * 8), ("count", c.c_size_t), ("bytes", c.c_size_t)]


class Span(c.Structure):
    _fields_ = [("start", c.c_void_p), ("bytes", c.c_size_t)]


def load_helper(path):
    lib = c.CDLL(path)
    lib.survey_memory.restype = c.c_void_p
    lib.survey_memory.argtypes = [c.c_size_t]
    lib.survey_seconds.restype = lib.survey_roof_seconds.restype = c.c_double
    lib.survey_seconds.argtypes = [c.c_void_p, c.c_void_p, c.c_void_p, c.c_size_t]
    lib.survey_roof_seconds.argtypes = [c.c_void_p, c.c_size_t, c.c_size_t]
    lib.survey_check.restype = c.c_int64
    lib.survey_free.argtypes = [c.c_void_p, c.c_size_t]
    lib.bench_roof_of.argtypes = [c.c_void_p, c.c_size_t, c.c_void_p, c.c_size_t, c.c_void_p]
    lib.bench_roof_ways.restype = c.c_size_t
    lib.bench_threads_of.argtypes = [c.c_char_p]
    return lib


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else os.uname().machine


class Host(Device):
    CLASSES = [(16 << 20, "16 MB and more"), (1 << 20, "1 to 16 MB"), (0, "less than 1 MB")]
    RANGE = (16 << 10, 256 << 20)

    def __init__(self, tally, helper, options):
        super().__init__(tally, helper)
        self.pools = {}
        self.run = c.cast(tally.lib.tally_run, c.c_void_p)
        self.lib.bench_team_start(self.lib.bench_threads_of(options.device.encode()))
        self.name = f"{processor()}, {os.cpu_count()} threads, NumPy {np.__version__}"

    # ---- the data ----

    def place(self, name, bytes_, past=0):
        memory, room = self.pools.get(name, (None, 0))
        if room < bytes_ + SPARE:
            if memory:
                self.lib.survey_free(memory, room)
                del self.pools[name]
            room = max(bytes_ + SPARE, 1 << 21)
            memory = self.lib.survey_memory(room)
            if not memory:
                raise MemoryError(f"no {room} bytes of memory")
            self.pools[name] = memory, room
        return memory + past

    def tile(self, address, pool, n, first=0):
        to = np.frombuffer((c.c_char * (n * pool.itemsize)).from_address(address), pool.dtype)
        source = np.roll(pool, -first)
        for start in range(0, n, len(source)):
            part = min(len(source), n - start)
            to[start:start + part] = source[:part]

    def put(self, address, array):
        np.frombuffer((c.c_char * array.nbytes).from_address(address), array.dtype)[:] = array

    def poison(self, address, bytes_):
        array_at(address, "u8", bytes_)[:] = POISON

    def fetch(self, address, bytes_):
        return array_at(address, "u8", bytes_)

    # ---- measuring ----

    def roofs(self, data, args):
        """Each way of the roof, as functions of a number of calls that give the seconds of one."""
        inputs = [Span(a, b) for a, b in ((args.x, data.x_bytes), (args.y, data.x_bytes),
                                          (args.offsets or args.keys, data.index_bytes)) if a]
        outputs = [Span(a, b) for a, b in ((args.out, data.out_bytes), (args.keys_out, data.keys_out_bytes)) if a]
        roof = Roof()
        self.lib.bench_roof_of((Span * len(inputs))(*inputs), len(inputs), (Span * len(outputs))(*outputs),
                               len(outputs), c.byref(roof))
        return [lambda calls, way=way: self.lib.survey_roof_seconds(c.byref(roof), way, calls)
                for way in range(self.lib.bench_roof_ways(c.byref(roof)))]

    def own(self, plan, args):
        def seconds(calls):
            taken = self.lib.survey_seconds(self.run, plan, c.byref(args), calls)
            if taken < 0:
                self.tally.run(plan, args) # for its words
                raise RuntimeError("a call failed once")
            return taken
        return seconds

    def time(self, prepared, row, limit):
        roofs, peer = self.roofs(prepared.data, prepared.args), numpy_peer(prepared)
        subjects = [self.own(prepared.plan, prepared.args)] + ([batches(peer)] if peer else []) + roofs
        best = in_turns(subjects, len(subjects) - len(roofs), min(limit, LIMIT))
        row["tally"], row["roof"] = best[0], min(best[-len(roofs):])
        row["peers"] = {"NumPy": best[1]} if peer else {}


def batches(call):
    def seconds(calls):
        call()
        start = time.perf_counter()
        for _ in range(calls):
            call()
        return (time.perf_counter() - start) / calls
    return seconds


def in_turns(subjects, optional_from, limit):
    """The best seconds of each subject. Subjects from 'optional_from' on are ways of one thing: of those, what has
    fallen far behind the best is asked no more after three rounds. The first subject is timed before each way too: on
    a busy machine, the best of few batches would lose to the best of many."""
    calls = []
    for subject in subjects:
        calls.append(1)
        for _ in range(2):
            calls[-1] = max(1, min(1000000, int(BATCH / max(subject(calls[-1]), 1e-9))))
    best, start, rounds = [float("inf")] * len(subjects), time.perf_counter(), 0
    while rounds < ROUNDS or (rounds < 4 * ROUNDS and time.perf_counter() - start < limit / 4):
        leader = min(best[optional_from:], default=0)
        for k, subject in enumerate(subjects):
            if k < optional_from or rounds < 3 or best[k] <= leader * FAR_BEHIND:
                best[k] = min(best[k], subject(calls[k]))
                if k > optional_from:
                    best[0] = min(best[0], subjects[0](calls[0]))
        rounds += 1
        if rounds >= 3 and time.perf_counter() - start > limit:
            break
    return best


REDUCTIONS = dict(sum=np.sum, prod=np.prod, min=np.min, max=np.max, any=np.any, all=np.all, mean=np.mean, var=np.var,
                  std=np.std, argmin=np.argmin, argmax=np.argmax, count_nonzero=np.count_nonzero,
                  band=np.bitwise_and.reduce, bor=np.bitwise_or.reduce, bxor=np.bitwise_xor.reduce)
UFUNCS = dict(sum=np.add, prod=np.multiply, min=np.minimum, max=np.maximum, band=np.bitwise_and, bor=np.bitwise_or,
              bxor=np.bitwise_xor)


def numpy_peer(prepared):
    """What NumPy has for the case in one call, or None."""
    case, data, out_type, args = prepared.case, prepared.data, prepared.out_type, prepared.args
    if case.type == "bf16":
        return None
    x = array_at(args.x, case.type, case.n)
    axis = None
    if case.grouping == AXIS:
        dims = [d for k, d in enumerate(case.shape) if d > 1 or k == 1]
        axis = 1 if case.shape[0] > 1 else 0
        x = x.reshape(dims)
    if case.grouping in (ALL, AXIS) and case.form == REDUCE:
        if case.op == "dot" and case.grouping == ALL and (is_float(case.type) or SIZES[case.type] == 8):
            y = array_at(args.y, case.type, case.n)
            return lambda: np.dot(x, y)
        function = REDUCTIONS.get(case.op)
        return function and (lambda: function(x, axis=0 if axis is None else axis))
    ufunc = UFUNCS.get(case.op)
    if not ufunc or case.grouping == KEYS:
        return None
    if case.grouping in (ALL, AXIS) and case.form == INCLUSIVE:
        out = array_at(args.out, out_type, case.n).reshape(x.shape)
        return lambda: ufunc.accumulate(x, 0 if axis is None else axis, dtype=out.dtype, out=out)
    if case.grouping == SEGMENTS and case.form == REDUCE:
        starts = array_at(args.offsets, case.index, data.groups + 1)
        out = array_at(args.out, out_type, data.groups)
        if (np.diff(starts.astype(np.int64)) > 0).all(): # reduceat means something else by empty ones
            starts = starts[:-1].astype(np.intp)
            return lambda: ufunc.reduceat(x, starts, dtype=out.dtype, out=out)
    return None
