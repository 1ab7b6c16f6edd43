"""Reductions and prefix scans at the speed of memory, and exact on request.

Every function takes arrays of NumPy, PyTorch and CuPy, and whatever else has the buffer protocol or DLPack, in place and on
their own device, and returns the same kind of array. Names and rules are the array API's; exact=, offsets=, keys= and
labels= are tally's own. help(tally.sum) says the rest.

SPDX-License-Identifier: Apache-2.0"""
from tally._tally import *  # noqa: F403
from tally._tally import __version__  # noqa: F401


class Operator:
    """A monoid of your own for Plan, as texts that every device compiles: acc declares "struct acc_t { ... };" of acc_bytes
    bytes, and functions; identity, lift, combine and lower are expressions over x, index, left, right, acc and count. The
    guide's part on user operators has the language. commutes: whether combine(a, b) is combine(b, a), which is faster."""

    def __init__(self, acc, identity, lift, combine, lower, *, acc_bytes, commutes=False, name="Operator"):
        self.acc, self.identity, self.lift, self.combine, self.lower = acc, identity, lift, combine, lower
        self.acc_bytes, self.commutes, self.name = acc_bytes, commutes, name
