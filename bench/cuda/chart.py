#!/usr/bin/env python3
"""Draws what bench/cuda/run printed: for each row the share of the roof that tally and the peers reach, and the floor;
and in a second chart what small inputs take, a call alone and a call in a graph.

    bench/cuda/chart.py FIGURES.txt CHART.svg SMALL.svg

The same text gives the same bytes: no date, fixed identifiers.

SPDX-License-Identifier: Apache-2.0"""
import re
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402  (the back end must be chosen first)

ROW = re.compile(r"^(\S.*?)\s+(?:[\d.]+ us\s+)?(?:\d+ GB/s\s+)?of roof ([\d.]+)\s+floor ([\d.]+)"
                 r"(?: of (\w+))?(?:\s+below)?\s*(.*)$")
PEER = re.compile(r"(CUB|cuBLAS|torch|CuPy|plain) [\d.]+ \(([\d.]+)\)")
SMALL = re.compile(r"^latency/(\w+)/f32/2\^(\d+)\s+one call\s+([\d.]+) us, CUB\s+([\d.]+).*in a graph\s+([\d.]+) us, "
                   r"CUB\s+([\d.]+)")
PANELS = [("reduce/", "Reductions"), ("scan/", "Scans"), ("segments/sum", "Sums of segments"),
          ("segments/scan", "Scans of segments"), ("keys/", "Sums by key"), ("axis sum", "Sums along an axis"),
          ("axis scan", "Cumulative sums along an axis"), ("exact/", "Exact sums (beside: the plain sum)")]
# Colours that colour-blind readers can distinguish (Okabe and Ito); markers distinguish them without colour.
PEERS = {"CUB": ("#0072b2", "s"), "cuBLAS": ("#56b4e9", "v"), "torch": ("#009e73", "^"), "CuPy": ("#cc79a7", "D"),
         "plain": ("#5f5f5f", "o")}
TALLY = "#d55e00"


def parse(path):
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            found = ROW.match(line.rstrip("\n"))
            if found:
                ratio = float(found[2])
                peers = {p: ratio * float(r) for p, r in PEER.findall(found[5]) if float(r) > 0}
                yield found[1], ratio, float(found[3]) * (peers[found[4]] if found[4] else 1), peers


def panel_of(name):
    if name.startswith("axis"):
        return "axis scan" if "/scan/" in name else "axis sum"
    return next((key for key, _ in PANELS if name.startswith(key)), None)


def label_of(name):
    """A row's name without the part that its panel's title has."""
    if name.startswith("scan/exclusive sum/"):
        return "exclusive " + name[len("scan/exclusive sum/"):]
    for prefix in ("reduce/", "scan/sum/", "segments/sum/f32/", "segments/scan/f32/", "keys/sum/f32/", "exact/sum/"):
        if name.startswith(prefix):
            rest = name[len(prefix):].replace("checked while running", "while running")
            return rest.replace("1048576", "2^20").replace("16777216", "2^24")
    return re.sub(r"axis (\d) of (\S+?)/.*", r"\2, axis \1", name)


def draw_panel(axes, title, rows):
    places = range(len(rows))
    axes.barh(places, [r[1] for r in rows], height=0.62, color=TALLY, zorder=2)
    for k, (_, _, floor, peers) in enumerate(rows):
        axes.plot([floor, floor], [k - 0.42, k + 0.42], color="black", linewidth=1.4, zorder=4)
        for peer, ratio in peers.items():
            colour, marker = PEERS[peer]
            axes.plot([ratio], [k], color=colour, marker=marker, markersize=6, markeredgecolor="white",
                      markeredgewidth=0.7, linestyle="none", zorder=5, clip_on=False)
    axes.axvline(1, color="black", linewidth=1.2, linestyle=(0, (5, 2)), zorder=3)
    axes.set_yticks(list(places), [label_of(r[0]) for r in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlim(0, 1.12)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25%", "50%", "75%", "roof"], fontsize=8)
    axes.set_title(title, fontsize=10, loc="left", fontweight="bold")
    axes.grid(axis="x", color="#dddddd", linewidth=0.7, zorder=0)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)


def draw_small(figures, chart):
    """Microseconds over the number of values, tally beside CUB."""
    with open(figures, encoding="utf-8") as lines:
        found = [match.groups() for match in map(SMALL.match, lines) if match]
    figure, panels = plt.subplots(1, 2, figsize=(11, 3.9), sharey=True, facecolor="white")
    for axes, form, title in zip(panels, ("reduce", "scan"), ("Sum of few values", "Running sums of few values")):
        rows = [(int(k), [float(t) for t in times]) for kind, k, *times in found if kind == form]
        sizes = [1 << k for k, _ in rows]
        for at, label, colour, marker, dashes in ((0, "tally, one call", TALLY, "o", ()),
                                                  (1, "CUB, one call", PEERS["CUB"][0], "s", ()),
                                                  (2, "tally, in a graph", TALLY, "o", (4, 2)),
                                                  (3, "CUB, in a graph", PEERS["CUB"][0], "s", (4, 2))):
            axes.plot(sizes, [times[at] for _, times in rows], color=colour, marker=marker, markersize=5,
                      markeredgecolor="white", markeredgewidth=0.7, linewidth=1.6, dashes=dashes, label=label)
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set_yticks([1, 2, 5, 10, 20, 50], ["1 us", "2 us", "5 us", "10 us", "20 us", "50 us"], fontsize=8)
        axes.minorticks_off()
        axes.set_xticks(sizes, [f"$2^{{{k}}}$" for k, _ in rows], fontsize=9)
        axes.set_title(title, fontsize=10, loc="left", fontweight="bold")
        axes.grid(color="#dddddd", linewidth=0.7)
        for side in ("top", "right"):
            axes.spines[side].set_visible(False)
    panels[0].legend(frameon=False, fontsize=9)
    figure.tight_layout()
    save(figure, chart)


def save(figure, chart):
    figure.savefig(chart, metadata={"Date": None, "Creator": "bench/cuda/chart.py"})


def draw_shares(rows, chart):
    panels = [(title, [r for r in rows if panel_of(r[0]) == key]) for key, title in PANELS]
    columns = [[], []]
    for panel in (p for p in panels if p[1]): # the shorter column takes the next
        min(columns, key=lambda c: sum(len(r) + 3 for _, r in c)).append(panel)
    tall = max(sum(len(r) + 3 for _, r in c) for c in columns)
    figure = plt.figure(figsize=(11, 0.215 * tall + 0.9), facecolor="white")
    outer = figure.add_gridspec(1, 2, left=0.135, right=0.985, top=1 - 0.95 / (0.215 * tall + 0.9), bottom=0.03,
                                wspace=0.42)
    for k, column in enumerate(columns):
        rest = tall - sum(len(r) + 3 for _, r in column)
        heights = [len(r) for _, r in column] + ([rest] if rest else [])
        grid = outer[k].subgridspec(len(heights), 1, height_ratios=heights,
                                    hspace=len(heights) * 3 / max(tall, 1) * 1.1)
        for place, (title, some) in enumerate(column):
            draw_panel(figure.add_subplot(grid[place]), title, some)
    handles = [plt.Rectangle((0, 0), 1, 1, color=TALLY, label="tally")]
    handles += [plt.Line2D([], [], color=c, marker=m, linestyle="none", markersize=6,
                           label={"torch": "PyTorch", "plain": "tally's plain sum"}.get(p, p))
                for p, (c, m) in PEERS.items() if any(p in r[3] for r in rows)]
    handles += [plt.Line2D([], [], color="black", linewidth=1.4, marker="|", markersize=10, linestyle="none",
                           label="the floor asked"),
                plt.Line2D([], [], color="black", linewidth=1.2, linestyle=(0, (5, 2)), label="roof: read or copy")]
    figure.legend(handles=handles, loc="upper left", bbox_to_anchor=(0.01, 1), ncol=len(handles), frameon=False,
                  fontsize=9)
    save(figure, chart)


def main():
    figures, chart, small = sys.argv[1:]
    plt.rcParams["svg.hashsalt"] = "tally"
    plt.rcParams["font.family"] = "DejaVu Sans"
    draw_shares(list(parse(figures)), chart)
    draw_small(figures, small)


if __name__ == "__main__":
    main()
