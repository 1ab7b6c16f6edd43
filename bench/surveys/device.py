"""What the survey does alike on every device: makes the data of a case, runs it once, has the results compared, and leaves
the timing to the device.

SPDX-License-Identifier: Apache-2.0"""
import ctypes as c

import numpy as np

from surveys.cases import NUMPY
from surveys.oracle import Y_FROM, Data, check
from tally import KEYS, SEGMENTS, SIZES, arguments

SPARE = 256 # bytes behind a buffer, for misalignment
POISON = 0xa5


def array_at(address, type_, count):
    return np.frombuffer((c.c_char * (count * SIZES[type_])).from_address(address), NUMPY[type_])


def index_of(case, data):
    """Offsets or keys, before they are converted; the key of a run is its number."""
    ends, groups = data.ends
    whole = -(-groups // len(ends))
    all_ends = (np.arange(whole, dtype=np.int64)[:, None] * ends[-1] + ends).reshape(-1)[:groups]
    np.minimum(all_ends, case.n, out=all_ends)
    if case.grouping == SEGMENTS:
        return np.concatenate([[0], all_ends]).astype(NUMPY[case.index])
    return np.repeat(np.arange(groups).astype(NUMPY[case.index]), np.diff(all_ends, prepend=0))


class Device:
    """The device's own part:

        place(name, bytes, past)      address of a buffer that stays, 'past' bytes behind an aligned one
        tile(address, pool, n, first) writes n elements there, those of the pool from 'first' on, again and again
        put(address, array)           writes a NumPy array there
        poison(address, bytes)
        fetch(address, bytes)         the bytes as a NumPy array in host memory, to be compared at leisure
        time(prepared, row, limit)    adds 'tally' (seconds), 'roof' and 'peers' to the row
    """
    workers = None # a pool of threads in which results are compared, or None: at once

    def __init__(self, tally, helper):
        self.tally, self.lib = tally, helper

    def prepare(self, case, plan):
        out_type, elements = self.tally.result_of(plan)
        data = Data(case, out_type, elements, SIZES)
        past = case.off[0] * SIZES[case.type]
        fields = dict(x=self.place("x", data.x_bytes, past), out_bytes=data.out_bytes,
                      out=self.place("out", data.out_bytes, case.off[1] * SIZES[out_type]))
        self.tile(fields["x"], data.pool, case.n)
        if case.op == "dot":
            fields["y"] = self.place("y", data.x_bytes, past)
            self.tile(fields["y"], data.pool, case.n, Y_FROM)
        if data.ends:
            name = "offsets" if case.grouping == SEGMENTS else "keys"
            fields[name] = self.place("index", data.index_bytes)
            self.put_index(fields[name], case, data)
        if data.keys_out_bytes:
            fields["keys_out"] = self.place("keys_out", data.keys_out_bytes)
            fields["keys_out_bytes"] = data.keys_out_bytes
            self.poison(fields["keys_out"], data.keys_out_bytes)
        self.poison(fields["out"], data.out_bytes)
        segments = data.groups if case.grouping == SEGMENTS else 0
        return data, out_type, arguments((*case.shape, segments), **fields)

    def put_index(self, address, case, data):
        self.put(address, index_of(case, data))

    def compare(self, case, data, out_type, args):
        """A function that says what is wrong with the results, or None."""
        result = self.fetch(args.out, data.out_bytes)
        keys = self.fetch(args.keys_out, data.keys_out_bytes) if data.keys_out_bytes else None
        if not self.workers:
            wrong = check(self.lib, case, data, out_type, result, keys)
            return lambda: wrong
        return self.workers.submit(check, self.lib, case, data, out_type, result, keys).result

    def measure(self, case, limit):
        """A row of figures, and a function that gives what is wrong with the results, or None."""
        plan = self.tally.plan(case.op, case.type, case.form, case.grouping, 0, case.out, case.index)
        try:
            data, out_type, args = self.prepare(case, plan)
            self.tally.run(plan, args)
            wrong = self.compare(case, data, out_type, args)
            row = dict(bytes=data.read + data.written)
            if limit > 0: # else rightness alone is asked for
                self.time(Prepared(case, plan, data, out_type, args), row, limit)
            return row, wrong
        finally:
            self.tally.destroy(plan)


class Prepared:
    def __init__(self, case, plan, data, out_type, args):
        self.case, self.plan, self.data, self.out_type, self.args = case, plan, data, out_type, args
