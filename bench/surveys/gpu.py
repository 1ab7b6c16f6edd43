"""A GPU through tally's own memory and copies: what the survey does on Vulkan, and in the processes that compile plans
ahead.

A Vulkan device that waits for each call falls to its idle clocks. With --beside cuda:0 a sum on the CUDA device holds
them up before each call; what the change from one to the other costs is measured with a sum of one element and taken off.

SPDX-License-Identifier: Apache-2.0"""
import concurrent.futures
import ctypes as c
import os
import subprocess
import sys
import time

import numpy as np

from surveys.device import POISON, SPARE, Device
from tally import Refused, Tally, arguments

RANGE = (1 << 20, 2 << 30)
CLASSES = [(64 << 20, "64 MB and more"), (1 << 20, "1 to 64 MB"), (0, "less than 1 MB")]
WAKING = 256 << 20 # bytes of the sum that holds the clocks up


class Memory:
    """Buffers of a device that grow."""

    def __init__(self, tally):
        self.tally, self.buffers = tally, {}

    def place(self, name, bytes_, past=0):
        memory, room = self.buffers.get(name, (None, 0))
        if room < bytes_ + SPARE:
            if memory:
                self.tally.lib.tally_free(self.tally.device, memory)
                del self.buffers[name]
            memory, room = c.c_void_p(), bytes_ + SPARE
            self.tally.check(self.tally.lib.tally_alloc(self.tally.device, c.c_size_t(room), c.byref(memory)))
            memory = memory.value
            self.buffers[name] = memory, room
        return memory + past

    def free(self):
        for memory, _ in self.buffers.values():
            self.tally.lib.tally_free(self.tally.device, memory)
        self.buffers.clear()

    def copy(self, to, from_, bytes_):
        self.tally.check(self.tally.lib.tally_copy(self.tally.device, to, from_, bytes_))


class Gpu(Device):
    RANGE, CLASSES = RANGE, CLASSES

    def __init__(self, tally, helper, options):
        super().__init__(tally, helper)
        self.memory = Memory(tally)
        self.place = self.memory.place
        self.name = "through tally_alloc"

    def put(self, address, array):
        self.memory.copy(address, array.ctypes.data, array.nbytes)

    def tile(self, address, pool, n, first=0):
        """The pool goes there once, and then what is there doubles."""
        source = np.roll(pool, -first)[:n]
        self.put(address, source)
        filled, size = len(source), pool.itemsize
        while filled < n:
            part = min(filled, n - filled)
            self.memory.copy(address + filled * size, address, part * size)
            filled += part

    def poison(self, address, bytes_):
        self.tile(address, np.full(min(bytes_, 1 << 20), POISON, np.uint8), bytes_)

    def fetch(self, address, bytes_):
        array = np.empty(bytes_, np.uint8)
        self.memory.copy(array.ctypes.data, address, bytes_)
        return array


class Roof:
    """Reads or copies of a device, as synchronous calls: its sum of i32, and its copy."""

    def __init__(self, tally):
        self.tally, self.memory = tally, Memory(tally)
        self.plan = tally.plan("sum", "i32")

    def sum(self, bytes_):
        x, out = self.memory.place("x", bytes_), self.memory.place("out", 64)
        args = arguments((1, max(1, bytes_ // 4), 1, 0), x=x, out=out, out_bytes=8)
        return lambda: self.tally.run(self.plan, args)

    def call(self, read, written):
        if written * 8 < read:
            return self.sum(read + written)
        half = (read + written) // 2
        x = self.memory.place("x", 2 * half)
        return lambda: self.memory.copy(x + half, x, half)


class Vulkan(Gpu):
    def __init__(self, tally, helper, options):
        super().__init__(tally, helper, options)
        self.options = options
        beside = Tally(options.tally, options.beside) if options.beside else None
        self.roof = Roof(beside or tally)
        self.wake = Roof(beside).sum(WAKING) if beside else lambda: None
        roof = f"the roof is {options.beside}'s" if beside else "its own sum of i32 and its copy are the roofs"
        self.name = f"{tally.name()}, Vulkan; {roof}"
        if beside: # the CPU has nothing else to do
            self.workers = concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 4))
        # Calls that compute next to nothing, timed in turns with each case: what they take differs from minute to minute.
        self.empty = [Roof(tally).sum(4), Roof(beside).sum(4)] if beside else []

    def ready(self, cases):
        compile_ahead(self.options, cases)

    def turns(self, calls, repeat):
        """The least of several: on an H200 a call that computes nothing took from 208 to 534 us."""
        times = [[] for _ in calls]
        for turn in range(repeat + 1):
            for k, call in enumerate(calls):
                self.wake()
                begin = time.perf_counter()
                call()
                if turn:
                    times[k].append(time.perf_counter() - begin)
        return [min(t) for t in times]

    def time(self, prepared, row, limit):
        own = self.tally.lib.tally_run
        reference = c.byref(prepared.args)
        calls = [lambda: own(prepared.plan, reference, None), self.roof.call(prepared.data.read, prepared.data.written)]
        repeat = 7 if row["bytes"] > 1 << 28 else 15
        row["as_called"], roof, *empty = self.turns(calls + self.empty, repeat)
        row["taken_off"], roof_off = empty or (0, 0)
        # At least a tenth is left of what was measured, where the call was shorter than the change.
        row["tally"] = max(row["as_called"] - row["taken_off"], row["as_called"] / 10)
        row["roof"] = max(roof - roof_off, roof / 10)
        row["peers"] = {}


def compile_ahead(options, cases):
    """Kernels are compiled by many processes beforehand: one after the other they would take most of the time."""
    if options.compilers < 1:
        return
    parts = min(options.compilers, len(cases))
    start = time.perf_counter()
    command = [sys.executable, *sys.argv, "--compile-part"]
    running = [subprocess.Popen(command + [f"{k}/{parts}"], stdout=subprocess.DEVNULL) for k in range(parts)]
    failed = sum(process.wait() != 0 for process in running)
    print(f"compiled in {time.perf_counter() - start:.1f} s by {parts} processes"
          + (f", {failed} of which failed" if failed else ""), flush=True)


def compile_part(options, cases):
    """Compiles every so-many-th case, so that its kernels lie in the folder of the cache. Vulkan's are made with the plan,
    CUDA's when it is first run, on data as they come."""
    part, parts = map(int, options.compile_part.split("/"))
    device = Gpu(Tally(options.tally, options.device), None, options)
    device.tile = device.poison = lambda *any_: None
    for case in cases[part::parts]:
        try:
            plan = device.tally.plan(case.op, case.type, case.form, case.grouping, 0, case.out, case.index)
            if options.device.startswith("cuda"):
                _, _, args = device.prepare(case, plan)
                device.tally.run(plan, args)
            device.tally.destroy(plan)
        except (Refused, RuntimeError): # the survey itself says so
            pass
        device.memory.free() # the other processes need some too
