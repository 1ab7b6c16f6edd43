"""The oracle of bench/survey.c: what a case's results must be, computed in the plainest way from the pools that its data
repeat.

SPDX-License-Identifier: Apache-2.0"""
import ctypes as c

from tally import KEYS, OPS, REDUCE, SEGMENTS, TYPES

Y_FROM = 12345 # element i of the second input is element i + Y_FROM of the first's pool


class SurveyCase(c.Structure):
    _fields_ = [(name, c.c_int) for name in ("op", "form", "grouping", "in_", "out", "key")]
    _fields_ += [(name, c.c_uint64) for name in ("outer", "extent", "inner")]
    _fields_ += [("pool", c.c_void_p), ("period", c.c_uint64), ("y_from", c.c_uint64), ("ends", c.c_void_p),
                 ("lengths", c.c_uint64), ("groups", c.c_uint64), ("result", c.c_void_p), ("keys_out", c.c_void_p)]


def check(lib, case, data, out_type, result, keys_out):
    """What is wrong, in words, or None. 'result' and 'keys_out' are NumPy's arrays of bytes in host memory."""
    ends, groups = data.ends if data.ends is not None else (data.pool, 0)
    s = SurveyCase(OPS.index(case.op), case.form, case.grouping, TYPES.index(case.type), TYPES.index(out_type),
                   TYPES.index(case.index), *case.shape, data.pool.ctypes.data, len(data.pool), Y_FROM,
                   ends.ctypes.data, len(ends), groups, result.ctypes.data,
                   keys_out.ctypes.data if keys_out is not None else None)
    message = c.create_string_buffer(256)
    return message.value.decode() if lib.survey_check(c.byref(s), message, len(message)) >= 0 else None


class Data:
    """The pools of a case, and the bytes that it reads and writes."""

    def __init__(self, case, out_type, elements, size_of):
        self.pool = case.pool()
        self.ends = case.ends() if case.grouping >= SEGMENTS else None
        n, groups = case.n, self.ends[1] if self.ends else case.shape[0] * case.shape[2]
        self.groups = groups
        self.x_bytes = n * size_of[case.type]
        self.index_bytes = 0
        if case.grouping == SEGMENTS:
            self.index_bytes = (groups + 1) * size_of[case.index]
        elif case.grouping == KEYS:
            self.index_bytes = n * size_of[case.index]
        results = n if case.form != REDUCE else groups
        self.out_bytes = results * elements * size_of[out_type]
        self.keys_out_bytes = groups * size_of[case.index] if case.grouping == KEYS and case.form == REDUCE else 0
        self.read = self.x_bytes * (2 if case.op == "dot" else 1) + self.index_bytes
        self.written = self.out_bytes + self.keys_out_bytes
