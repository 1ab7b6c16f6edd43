#!/usr/bin/env python3
"""Writes docs/bench/README.md from the figures that bench/run --docs has left there: what was measured, how, on what,
and a summary of the rows of `tally bench` that gives each group's ratios to the roof beside its floor.

    bench/page.py docs/bench

SPDX-License-Identifier: Apache-2.0"""
import json
import os
import sys

from floors import CEILING_NS, floor, is_one_call, misses, reached

CASES = [("sum/f32", "Sum of f32"), ("max/f32", "Maximum of f32"), ("argmax/f32", "Index of the maximum of f32"),
         ("scan/f32", "Inclusive scan of f32"), ("sum/f64", "Sum of f64"),
         ("exact/f64", "Exact sum of f64 (NumPy's row: Python's `math.fsum`)"),
         ("labels_256/f32", "Sums of f32 by 256 labels (NumPy's row: `bincount`)"),
         ("labels_65536/f32", "Sums of f32 by 65536 labels (NumPy's row: `bincount`)")]

HOW = """## How it was measured

- **The roof** of a computation is the time of the best plain loop that reads each input byte once and writes each
  output byte once, over the same buffers. For bytes that are only read, the loop is a sum in eight independent vector
  accumulators. For bytes that are read and written, it is a copy (plain stores, streaming stores or `memcpy`). For
  further output it is a fill. The loop runs on one thread or on all, whichever is faster at that size. Ratio 1.00 is
  that speed. Ratios a little above 1 occur, because a real computation may use the memory system better than a plain
  loop.
- **Turns.** The roof and the computation alternate batch by batch within one measurement, for at least five rounds and
  until neither gets better. The best batch of each counts. So other programs on a shared machine disturb both alike.
  The peers are programs that live through the whole run and take turns in the same way.
- **Data** are varied: near-normal floats, random bits for integers. Memory is touched before, in large pages if the
  system grants them. Throughput counts each byte read or written once.
- **The peers** are built with `-O3 -march=native`, run with their default number of threads, and compute the same
  numbers; the runner reports results that differ. tally runs the simple calls of its header. NumPy and Eigen use one
  thread. OpenBLAS 0.3.21 has no plain sum that is right at every size and instruction set, so its sum of absolute
  values stands in. OpenMP's scan is the `simd inscan` loop.
- **No figure is asserted** in a test. Absolute figures hold for one machine at one hour; quote the ratios.

## The survey

*Its figures: [CPU](survey-cpu.md), CUDA on an [H100](survey-h100.md) and an [H200](survey-h200.md), Vulkan on an
[H100](survey-vulkan-h100.md) and an [H200](survey-vulkan-h200.md).* The CPU's survey ran on two idle cores.

The rows above were chosen. `bench/survey` draws computations at random: a seed chooses operator, form, grouping, types,
size, alignment, shape and lengths of segments. The survey compares every result with an oracle; a page says so where a
run compared no results. It times each case in turns with the roof of the bytes that the case must move, and with every
peer that has the computation. It prints the distribution of the ratios by class, our time over the peers', and the
worst cases, each with the command that repeats it.

    bench/survey --seed 7 --cases 160                            the CPU, beside NumPy
    bench/survey --device cuda:0 --peers libpeers.so             CUDA, beside CUB and PyTorch
    bench/survey --device cuda:0 --peers libpeers.so --small     2^8 to 2^22 values: single calls, and graphs of 32
    bench/survey --device vulkan:0 --beside cuda:0               Vulkan, its clocks held up by sums on CUDA
    bench/survey --tally old/libtally.so                         the same cases with another library
    bench/survey --case sum/reduce/axis/f32/300x5x700+1,0        one case alone
    bench/surveys/page.py h100 figures.json                      figures of --json as a page with a chart
    bench/surveys/counters.py --worst 20 --figures figures.json --tally build/src/libtally.so     why the worst are slow

`bench/survey --help` lists all options, and `bench/surveys/cases.py` says how a case is written. The survey needs
Python with NumPy, and `build/src/libtally.so`.

- **CPU**: the roof is that of `tally bench`, over the case's own buffers. Batches of at least 2 ms alternate, each
  after a call that warms the caches; the best batch counts. Small calls are repeated in C, so that Python adds nothing.
- **CUDA**: figures are medians of the device's time between events. The second-level cache is cleared before each run.
  The roof is a kernel that reads, with as many thread blocks as are fastest for the size. Where an eighth or more of
  the bytes is written, the roof is the driver's copy. A peer that takes more than three times as long as tally is timed
  once. Plans are compiled first, by as many processes as there are cores.
- **Vulkan**: figures are the least of several synchronous calls. With `--beside cuda:0`, CUDA's sum and copy are the
  roof. The time of a sum of one element, timed in turns with each case, is then taken off, because the change from CUDA
  costs that much: 208 to 534 us on an H200, which is why the least of several calls is taken. (The pages of
  2026-11-30 and before have medians.) Without the option, the device's own sum and copy are the roof.
- **Peers' types**: CUB sums in the library's default result types. CUB's signed kernels stand for unsigned types, and
  its maximum for the minimum. NumPy and PyTorch compute with their own default result types.

CUB is a part of CCCL, of any version. For its main branch, clone it and name its folders with `-I`:

    nvcc -O3 -std=c++17 -shared -Xcompiler -fPIC -arch=native -I cccl/cub -I cccl/thrust -I cccl/libcudacxx/include \\
        -o libpeers.so bench/cuda/cub.cu

## How to repeat it

    bench/run --docs

builds everything into `build-bench/`, runs the peers and `tally bench`, and rewrites this folder: `peers.json`,
`tally.json` (both in the format of Google Benchmark), `tally.txt`, `chart.svg` and this page. It reports missing peers
and leaves them out. On Debian this command installs all of them:

    apt-get install libtbb-dev libeigen3-dev libopenblas-dev pkg-config python3-numpy python3-matplotlib

`build/tally bench --filter RE` measures a few rows, and `--quick` all of them roughly.
"""


def load(folder, name):
    try:
        with open(os.path.join(folder, name)) as f:
            return json.load(f)
    except OSError:
        return None


def power(n):
    return f"2^{n.bit_length() - 1}"


def machine(peers, library):
    context = peers["context"]
    device = library["context"] if library else {}
    lines = [f"- processor: {context['processor']}, {context['num_cpus']} threads",
             f"- tally {device.get('tally_version', '')}: {device.get('tally_device_name', '')} "
             f"({device.get('tally_device_detail', '')}), built by {context['compiler']}",
             f"- date: {context['date'][:10]}; load of other programs at the start: {context['load_avg'][0]}"]
    seconds = device.get("min_time")
    lines.append(f"- peers: best of {context['rounds']} turns; `tally bench`: "
                 f"at least {seconds:g} s and five rounds a row" if seconds else "- `tally bench` was not run")
    lines += [f"- {name}: {version}" for name, version in context["versions"].items() if name not in ("tally", "roof")]
    return "## The machine\n\n" + "\n".join(lines) + "\n"


def side_by_side(peers):
    rows, parts = peers["benchmarks"], ["## Side by side\n\nGB/s; the fastest program of each column is bold.\n"]
    for case, title in CASES:
        found = [r for r in rows if r["case"] == case]
        if not found:
            continue
        sizes = sorted({r["n"] for r in found})
        rate = {(r["label"], r["n"]): r["bytes_per_second"] * 1e-9 for r in found}
        names = list(dict.fromkeys(r["label"] for r in found))
        lines = [f"### {title}\n", "| | " + " | ".join(power(n) for n in sizes) + " |", "|---|" + "---:|" * len(sizes)]
        for name in names:
            cells = []
            for n in sizes:
                value = rate.get((name, n))
                best = max(rate.get((other, n), 0) for other in names if other != "roof")
                text = "-" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"
                cells.append(f"**{text}**" if value == best and name != "roof" else text)
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def group_of(name):
    head = name.split("/")[0]
    if head in ("segments", "keys", "labels", "exact", "exact_scan", "roof"):
        return head
    return "scan" if "scan" in head else head.split("_axis")[0] + " along an axis" if "_axis" in head else "reduce"


def summary(library):
    rows = [r for r in library["benchmarks"] if not r["name"].startswith("roof/")]
    groups = {}
    for row in rows:
        groups.setdefault(group_of(row["name"]), []).append(row)
    lines = ["## The library beside the roof\n",
             f"{len(rows)} rows of `tally bench`. {sum(map(misses, rows))} of them are below their floor, the ratio that "
             "the project asks of itself.\nAll rows: [tally.txt](tally.txt).\n",
             "| group | rows | ratio: least, median, greatest | below the floor |", "|---|---:|---|---:|"]
    for group, members in groups.items():
        ratios = sorted(reached(r) for r in members if not is_one_call(r) and not r.get("error_occurred"))
        shown = f"{ratios[0]:.2f}, {ratios[len(ratios) // 2]:.2f}, {ratios[-1]:.2f}" if ratios else "-"
        shown += " (of the plain sum)" if group == "exact" else " (of the plain scan)" if group == "exact_scan" else ""
        lines.append(f"| {group} | {len(members)} | {shown} | {sum(map(misses, members))} |")
    below = [r for r in rows if misses(r)]
    if below:
        lines += ["", "Below the floor:", "", "| row | got | floor |", "|---|---:|---:|"]
    for r in below:
        got = "failed" if r.get("error_occurred") else f"{r['real_time']:.0f} ns" if is_one_call(r) else \
            f"{reached(r):.2f}"
        asked = f"{CEILING_NS:g} ns" if is_one_call(r) else f"{floor(r):.2f}"
        lines.append(f"| {r['name']} | {got} | {asked} |")
    return "\n".join(lines) + "\n"


def main():
    folder = sys.argv[1]
    peers, library = load(folder, "peers.json"), load(folder, "tally.json")
    if not peers:
        sys.exit(f"bench/page.py: no peers.json in {folder}; run bench/run --docs")
    parts = ["# Measured: tally and its peers\n",
             "*This page is written by `bench/run --docs`; edit `bench/page.py` instead.*\n",
             "![Throughput against the number of values, for tally, its peers and the roof of memory](chart.svg)\n",
             machine(peers, library)]
    if library:
        parts.append(summary(library))
    parts += [side_by_side(peers), HOW]
    with open(os.path.join(folder, "README.md"), "w") as f:
        f.write("\n".join(parts))


if __name__ == "__main__":
    main()
