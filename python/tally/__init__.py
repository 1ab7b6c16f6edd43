"""Reductions and prefix scans at the speed of memory, and exact on request.

Every function takes arrays of NumPy, PyTorch and CuPy, and whatever else has the buffer protocol or DLPack, in place and on
their own device, and returns the same kind of array. Names and rules are the array API's; exact=, offsets=, keys= and
labels= are tally's own. help(tally.sum) says the rest.

SPDX-License-Identifier: Apache-2.0"""
from tally._tally import *  # noqa: F403
from tally._tally import __version__  # noqa: F401
