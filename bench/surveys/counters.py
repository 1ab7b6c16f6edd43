#!/usr/bin/env python3
"""Why a case of the survey is slow: what the device's counters say of each of its kernels, by Nsight Compute (ncu).

    bench/surveys/counters.py --tally libtally.so --case sum/inclusive/axis/bf16/1x116760x4 --case ...
    bench/surveys/counters.py --tally libtally.so --worst 20 --figures figures.json... --json counters.json

Each kernel runs alone, from a cold second-level cache, at the clocks that the device has, so its time is not that of the
survey. DRAM and issue: shares of what the memory and the schedulers can do. Waits: for what the warps waited, in warps
of each scheduler at an issued instruction. Options that are not known here go to bench/survey.

SPDX-License-Identifier: Apache-2.0"""
import argparse
import csv
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
STALL = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
STALLS = {"long_scoreboard": "memory", "short_scoreboard": "shared", "barrier": "barrier", "membar": "fence",
          "mio_throttle": "shared's queue", "lg_throttle": "memory's queue", "math_pipe_throttle": "arithmetic",
          "wait": "latency", "not_selected": "another warp", "no_instruction": "code", "branch_resolving": "branch",
          "sleeping": "sleep", "imc_miss": "constants", "dispatch_stall": "dispatch", "drain": "stores"}
COUNTERS = dict(ns="gpu__time_duration.sum", bytes="dram__bytes.sum",
                dram="gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
                issue="smsp__issue_active.avg.pct_of_peak_sustained_active",
                warps="sm__warps_active.avg.pct_of_peak_sustained_active", instructions="smsp__inst_executed.sum",
                registers="launch__registers_per_thread", blocks="launch__grid_size", threads="launch__block_size")


def kernels_of_tally():
    """The names of the kernels: the survey's process runs PyTorch's, too."""
    with open(os.path.join(ROOT, "src", "cuda", "kernels.def"), encoding="utf-8") as file:
        return set(re.findall(r"^TALLY_CUDA_(?:KERNEL|ENTRY)\((\w+),", file.read(), re.MULTILINE))


def worst_of(files, count):
    rows = []
    for name in files:
        with open(name, encoding="utf-8") as file:
            rows += [row for row in json.load(file)["cases"] if row.get("tally")]
    rows.sort(key=lambda row: row["roof"] / row["tally"])
    return [row["case"] for row in rows[:count]]


def profile(options, survey, folder):
    """Runs the survey's cases once each under ncu; returns the case of each profiled kernel, and the report's file."""
    report = os.path.join(folder, "report.ncu-rep")
    metrics = list(COUNTERS.values()) + [STALL.format(name) for name in STALLS]
    command = ["ncu", "--clock-control", "none", "--metrics", ",".join(metrics), "-f", "-o", report,
               "-k", "regex:^({})$".format("|".join(sorted(kernels_of_tally()))),
               sys.executable, "-u", os.path.join(ROOT, "bench", "survey"), "--device", options.device, "--tally",
               options.tally, "--check", "--compilers", "0", *survey]
    for case in options.case:
        command += ["--case", case]
    told = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout
    owners, waiting, left = [], 0, list(options.case)
    for line in told.splitlines():
        waiting += line.startswith("==PROF== Profiling")
        if left and line.split(" ")[0] == left[0]:
            owners += [left.pop(0)] * waiting
            waiting = 0
    if not owners:
        sys.exit(f"counters: ncu profiled nothing:\n{told[-2000:]}")
    return owners, report


def counted(report):
    """The counters of each profiled kernel, in the order of the launches."""
    text = subprocess.run(["ncu", "-i", report, "--csv", "--page", "raw", "--print-units", "base"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = list(csv.DictReader(text.splitlines()))[1:] # the first is the units
    value = lambda row, name: float((row.get(name) or "nan").replace(",", ""))
    for row in rows:
        waits = {word: value(row, STALL.format(name)) for name, word in STALLS.items()}
        yield dict(kernel=row["Kernel Name"], **{k: value(row, name) for k, name in COUNTERS.items()},
                   waits=dict(sorted(waits.items(), key=lambda wait: -wait[1])[:3]))


def lines_of(rows):
    yield f"{'kernel':22} {'blocks':>7} {'us':>8} {'DRAM':>5} {'issue':>5} {'warps':>5} {'regs':>4} {'Minst':>7}  waits for"
    last = None
    for row in rows:
        if row["case"] != last:
            last = row["case"]
            yield last
        waits = ", ".join(f"{word} {value:.1f}" for word, value in row["waits"].items())
        yield (f"  {row['kernel'][:20]:20} {row['blocks']:7.0f} {row['ns'] / 1e3:8.1f} {row['dram']:4.0f}% {row['issue']:4.0f}% "
               f"{row['warps']:4.0f}% {row['registers']:4.0f} {row['instructions'] / 1e6:7.2f}  {waits}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--tally", required=True, help="libtally.so")
    parser.add_argument("--case", action="append", default=[], help="as the survey prints it")
    parser.add_argument("--worst", type=int, default=0, metavar="N", help="of the figures that bench/survey --json kept")
    parser.add_argument("--figures", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--json", metavar="FILE", help="also write every figure to this file")
    options, survey = parser.parse_known_args()
    options.case += worst_of(options.figures, options.worst)
    with tempfile.TemporaryDirectory() as folder:
        owners, report = profile(options, survey, folder)
        rows = [dict(case=case, **row) for case, row in zip(owners, counted(report))]
    print("\n".join(lines_of(rows)))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)


if __name__ == "__main__":
    main()
