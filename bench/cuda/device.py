"""What bench/cuda/run and bench/survey share on a CUDA device: a clock over PyTorch's streams and events, the roofs, and
calls of tally over PyTorch's memory.

SPDX-License-Identifier: Apache-2.0"""
import ctypes as c
import statistics
import time

import torch

from tally import arguments

TORCH = dict(i8=torch.int8, i16=torch.int16, i32=torch.int32, i64=torch.int64, u8=torch.uint8, f16=torch.float16,
             bf16=torch.bfloat16, f32=torch.float32, f64=torch.float64)


FAR_SLOWER = 3 # a peer that takes so many times as long as tally is timed once only


class Clock:
    """Times of the device, each after the second-level cache has been cleared. Use it inside its stream."""

    def __init__(self, peers):
        self.peers = peers
        self.stream = torch.cuda.Stream()
        self.processors = torch.cuda.get_device_properties(0).multi_processor_count
        # Reading it also takes longer than the host needs to enqueue the call that is timed next.
        self.flush = torch.ones(512 << 20, dtype=torch.uint8, device="cuda")
        self.memory = None
        self.calibrate()

    def calibrate(self):
        """The number of thread blocks with which reading alone is fastest, for a flush and for each size of a roof."""
        self.clear, self.fastest = lambda: None, {}
        with torch.cuda.stream(self.stream): # that all is enqueued in, clearing too
            seconds, blocks = self.fastest_read(1 << 30)
            self.clear = self.peers.read(self.flush, self.flush.numel(), blocks)
        print(f"reading alone: {(1 << 30) / seconds * 1e-9:.0f} GB/s with {blocks} blocks")

    def fastest_read(self, bytes_):
        """Its seconds and thread blocks. With 8448 blocks, the fastest for 1 GB, 2.5 MB take 8.5 us on an H100, with 1056
        they take 4.6."""
        memory = self.scratch(bytes_)
        choices = [self.processors * k for k in (1, 2, 4, 8, 16, 32, 64)]
        times = self.time([self.peers.read(memory, bytes_, blocks) for blocks in choices], 9)
        return min(zip(times, choices))

    def time(self, calls, repeat):
        """Median seconds of each call, in turns, each after a flush of the cache."""
        times = [[] for _ in calls]
        for turn in range(repeat + 2):
            for k, call in enumerate(calls):
                self.clear()
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                begin.record()
                call()
                end.record()
                end.synchronize()
                if turn >= 2:
                    times[k].append(begin.elapsed_time(end) * 1e-3)
        return [statistics.median(t) for t in times]

    def beside(self, roof, own, peers, repeat):
        """Seconds of the roof, of our own call, and of each of the named peers."""
        first = dict(zip(["tally", *peers], self.time([own, *peers.values()], 1)))
        slow = {name: first[name] for name in peers if first[name] > FAR_SLOWER * first["tally"]}
        close = {name: call for name, call in peers.items() if name not in slow}
        roof, own, *others = self.time([roof, own, *close.values()], repeat)
        times = {**slow, **dict(zip(close, others))}
        return roof, own, {name: times[name] for name in peers}

    def roof(self, read, written):
        """A kernel that only reads, or a copy if a large part of the bytes read is written too."""
        scratch = self.scratch(read + written)
        if written * 8 >= read:
            return self.peers.copy(scratch, read + written)
        size = (read + written).bit_length()
        if size not in self.fastest:
            self.fastest[size] = self.fastest_read(read + written)[1]
        return self.peers.read(scratch, read + written, self.fastest[size])

    def scratch(self, bytes_):
        if self.memory is None or self.memory.numel() < bytes_:
            self.memory = None
            self.memory = torch.ones(bytes_ + 32, dtype=torch.uint8, device="cuda")
        return self.memory

    def single(self, call, repeat=300):
        """Seconds from the call until the host knows that it is done."""
        times = []
        for _ in range(repeat):
            begin = time.perf_counter()
            call()
            self.stream.synchronize()
            times.append(time.perf_counter() - begin)
        return statistics.median(times)

    def graph(self, call, calls=32, repeat=30):
        """Seconds of one of many calls in a graph."""
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            for _ in range(calls):
                call()
        times = []
        for _ in range(repeat):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end) * 1e-3 / calls)
        return statistics.median(times)


def enqueue(tally, plan, args, keep=()):
    """A function that enqueues the run in the current stream; its workspace is PyTorch's."""
    tally.fit(args)
    need = tally.workspace_of(plan, args)
    workspace = torch.empty(max(need, 1), dtype=torch.uint8, device="cuda")
    args.workspace, args.workspace_bytes = workspace.data_ptr(), need
    stream = c.c_void_p(torch.cuda.current_stream().cuda_stream)
    function, reference = tally.lib.tally_run, c.byref(args)

    def run():
        status = function(plan, reference, stream)
        if status:
            tally.check(status)
    run.keep = (keep, workspace, args)
    run.workspace = need
    return run


def call_of(tally, plan, shape, out, **tensors):
    """The same over tensors."""
    fields = {name: tensor.data_ptr() for name, tensor in tensors.items()}
    if "keys_out" in tensors:
        fields["keys_out_bytes"] = tensors["keys_out"].numel() * tensors["keys_out"].element_size()
    args = arguments(shape, out=out.data_ptr(), out_bytes=out.numel() * out.element_size(), **fields)
    return enqueue(tally, plan, args, (out, tensors))
