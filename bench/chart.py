#!/usr/bin/env python3
"""Draws throughput against the number of values from the JSON of bench/run: one panel a computation, the roof of memory
as a dashed line, tally's own line bold. The same figures give the same bytes: no date, fixed identifiers.

    bench/chart.py FIGURES.json CHART.svg      ('-' reads standard input)

SPDX-License-Identifier: Apache-2.0"""
import json
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (the back end must be chosen first)
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

PANELS = [("sum/f32", "Sum of f32"), ("max/f32", "Maximum of f32"), ("scan/f32", "Cumulative sum of f32"),
          ("exact/f64", "Exact sum of f64, beside plain sums")]
# Colours that colour-blind readers can distinguish (Okabe and Ito); markers distinguish them without colour.
STYLES = {
    "tally": ("#d55e00", "o"), "NumPy": ("#0072b2", "s"), "OpenMP": ("#009e73", "^"), "oneTBB": ("#cc79a7", "D"),
    "Eigen": ("#56b4e9", "v"), "OpenBLAS": ("#8a6d00", "P"), "C++ std par": ("#5f5f5f", "X"),
}


def points(rows, case, name):
    found = sorted((r["n"], r["bytes_per_second"] * 1e-9) for r in rows if r["case"] == case and r["label"] == name)
    return [n for n, _ in found], [rate for _, rate in found]


def draw_line(axes, rows, case, name, label=None, **kwargs):
    n, rate = points(rows, case, name)
    if not n:
        return None
    colour, marker = STYLES[name]
    is_tally = name == "tally"
    style = dict(color=colour, marker=marker, linewidth=3.2 if is_tally else 1.5, markersize=7.5 if is_tally else 5,
                 zorder=5 if is_tally else 3, label=label or name, markeredgecolor="white", markeredgewidth=0.6)
    style.update(kwargs)
    return axes.plot(n, rate, **style)[0]


def draw_panel(axes, rows, case, title):
    handles = {}
    n, rate = points(rows, case, "roof")
    if n:
        handles["roof of memory"] = axes.plot(n, rate, color="black", linewidth=1.8, linestyle=(0, (5, 2)), zorder=4,
                                              label="roof of memory")[0]
        axes.fill_between(n, rate, [max(rate) * 100] * len(n), color="#ececec", zorder=0, linewidth=0)
    for name in STYLES:
        if case == "exact/f64" and name == "tally":
            handles["tally"] = draw_line(axes, rows, case, name)
            handles["tally, plain sum"] = draw_line(axes, rows, "sum/f64", name, "tally, plain sum", linewidth=1.8,
                                                    markersize=5, markerfacecolor="white", markeredgecolor="#d55e00",
                                                    linestyle=(0, (1, 1.2)))
        elif case == "exact/f64":
            handles[name] = draw_line(axes, rows, "sum/f64", name)
            if name == "NumPy":
                handles["Python math.fsum (exact)"] = draw_line(axes, rows, case, name, "Python math.fsum (exact)",
                                                                marker="*", markersize=8, linestyle=(0, (1, 1.2)))
        else:
            handles[name] = draw_line(axes, rows, case, name)
    dress(axes, rows, case, title)
    return {name: handle for name, handle in handles.items() if handle}


def dress(axes, rows, case, title):
    axes.set_title(title, fontsize=14, fontweight="bold", loc="left", pad=8)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted({r["n"] for r in rows})
    axes.xaxis.set_major_locator(FixedLocator([n for n in sizes if (n.bit_length() - 1) % 4 == 2] or sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda n, _: f"$2^{{{int(n).bit_length() - 1}}}$"))
    axes.yaxis.set_major_locator(FixedLocator([0.1, 1, 3, 10, 30, 100, 300, 1000]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda rate, _: f"{rate:g}"))
    shown = [r["bytes_per_second"] * 1e-9 for r in rows
             if r["case"] == case or (case == "exact/f64" and r["case"] == "sum/f64")]
    axes.set_ylim(max(min(shown) / 1.5, 0.1), max(shown) * 1.6)
    axes.set_xlim(sizes[0] / 1.25, sizes[-1] * 1.25)
    axes.grid(color="#d8d8d8", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.tick_params(labelsize=12, length=3)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def draw(figures, path):
    rows, context = figures["benchmarks"], figures["context"]
    plt.rcParams.update({"svg.hashsalt": "tally", "svg.fonttype": "path", "font.family": "DejaVu Sans"})
    figure, grid = plt.subplots(2, 2, figsize=(12, 10), facecolor="white", sharex=True)
    handles = {}
    for axes, (case, title) in zip(grid.flat, PANELS):
        handles.update(draw_panel(axes, rows, case, title))
    for axes in grid[:, 0]:
        axes.set_ylabel("GB/s, read and written", fontsize=12.5)
    for axes in grid[1]:
        axes.set_xlabel("number of values", fontsize=12.5)
    order = ["tally", "tally, plain sum", "roof of memory", *[name for name in STYLES if name != "tally"],
             "Python math.fsum (exact)"]
    order = [name for name in order if name in handles]
    figure.legend([handles[name] for name in order], order, loc="lower center", ncol=4, fontsize=12.5, frameon=False,
                  bbox_to_anchor=(0.5, 0.005), handlelength=2.8, columnspacing=1.6)
    threads = context["num_cpus"]
    figure.suptitle("Throughput, higher is better (grey: above what memory and caches can do)", fontsize=15.5,
                    x=0.012, y=0.985, ha="left", fontweight="bold")
    figure.text(0.012, 0.942, f"{context['processor']}, {threads} thread{'s' if threads != 1 else ''}; "
                "every program takes turns with the others, best of the rounds", fontsize=12, color="#444444")
    figure.tight_layout(rect=(0, 0.1, 1, 0.95), h_pad=2.2, w_pad=2.2)
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": "bench/chart.py"}, facecolor="white")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.argv[1] == "-":
        figures = json.load(sys.stdin)
    else:
        with open(sys.argv[1]) as f:
            figures = json.load(f)
    draw(figures, sys.argv[2])


if __name__ == "__main__":
    main()
