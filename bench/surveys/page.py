#!/usr/bin/env python3
"""Writes the page of a survey, and its chart, from the figures that bench/survey --json has kept: those of several seeds
on one device are joined.

    bench/surveys/page.py NAME FIGURES.json... [COUNTERS.json]      writes docs/bench/survey-NAME.md and .svg

COUNTERS.json is what bench/surveys/counters.py has kept of the worst cases.

The same figures give the same bytes. SPDX-License-Identifier: Apache-2.0"""
import json
import os
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt # noqa: E402  (the back end must be chosen first)

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
from surveys import counters, report # noqa: E402
from surveys.cases import parse # noqa: E402

CHARTED = ["all", "grouping and form", "bytes moved", "alignment", "type"]


def shares(rows, sizes):
    """(what, name) -> the sorted shares of the roof, in the order of the report."""
    found = {}
    for row in rows:
        for key in report.classes_of(row["parsed"], row["bytes"], sizes):
            found.setdefault(key, []).append(row["roof"] / row["tally"])
    return {key: sorted(found[key]) for key in sorted(found, key=lambda key: report.order_of(key, sizes))}


def draw(found, title, path):
    """A line a class: a dot a case, a bar from the 5th percentile to the median."""
    found = [(key, values) for key, values in found.items() if key[0] in CHARTED]
    plt.rcParams.update({"svg.hashsalt": "tally", "svg.fonttype": "path", "font.family": "DejaVu Sans"})
    figure, axes = plt.subplots(figsize=(10, 1.4 + 0.34 * len(found)), facecolor="white")
    places, place, last = [], 0.0, None
    for (what, _), _ in found:
        place += 1 if what == last else 1.6
        last = what
        places.append(-place)
    for place, (_, values) in zip(places, found):
        low, median = report.at(values, 0.05), report.at(values, 0.5)
        axes.plot([low, median], [place, place], color="#0072b2", linewidth=7, alpha=0.35, solid_capstyle="butt")
        axes.plot([min(v, 1.25) for v in values], [place] * len(values), "|", color="#333333", markersize=6, alpha=0.45)
        axes.plot([median], [place], "o", color="#d55e00", markersize=6, zorder=5)
    axes.axvline(1, color="black", linewidth=1.2, linestyle=(0, (5, 2)))
    axes.set_yticks(places, [f"{name}  ({len(values)})" for (_, name), values in found], fontsize=10.5)
    axes.set_xlim(0, 1.27)
    axes.set_ylim(places[-1] - 0.8, -0.8)
    axes.set_xlabel("share of the roof's speed (a stroke: one case, at 1.25 if above; dot: median; bar: from the 5th percentile)", fontsize=10.5)
    figure.suptitle(title, x=0.012, ha="left", fontsize=12.5, fontweight="bold")
    axes.grid(axis="x", color="#d8d8d8", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.tick_params(axis="y", length=0)
    figure.tight_layout()
    figure.savefig(path, format="svg", metadata={"Date": None, "Creator": "bench/surveys/page.py"}, facecolor="white")


def table(lines):
    """The report's columns as they were printed."""
    return "```text\n" + "\n".join(lines) + "\n```\n"


def write(name, figures, counted, folder):
    rows = [row for f in figures for row in f["cases"]]
    for row in rows:
        row["parsed"] = parse(row["case"])
    sizes = figures[0]["sizes"]
    measured = [row for row in rows if "roof" in row and "tally" in row]
    found = shares(measured, sizes)
    first, everything = figures[0], found["all", "all"]
    seeds = ", ".join(f["seed"] for f in figures)
    unchecked = [f["seed"] for f in figures if f.get("unchecked")] # the survey was ended before its oracle was done
    left_out = f" The results of seeds {' and '.join(unchecked)} were not compared." if unchecked else ""
    device = f"{first['name']} ({first['device']})"
    draw(found, f"{len(measured)} computations drawn at random, on {first['name'].split(',')[0]}", os.path.join(folder, f"survey-{name}.svg"))
    with open(os.path.join(folder, f"survey-{name}.md"), "w", encoding="utf-8") as page:
        page.write(f"""# Survey: {device}

*This page is written by `bench/surveys/page.py`; edit that instead. [README.md](README.md#the-survey) says how it is
measured.*

{len(rows)} cases, {sum('refused' in r for r in rows)} refused, {sum(bool(r.get('wrong')) for r in rows)} wrong; tally \
{first['tally']}, seeds {seeds}.{left_out} The share of the roof's speed:

| median | 5th percentile | worst |
|---:|---:|---:|
| **{report.at(everything, 0.5):.2f}** | {report.at(everything, 0.05):.2f} | {everything[0]:.3f} |

![The share of the roof of each case, by class](survey-{name}.svg)

## By class

{table(report.distribution(measured, sizes))}
## Beside the peers

{table(report.beside_peers(measured))}
## The worst beside the roof

{table(report.worst(measured, lambda r: r["roof"] / r["tally"], lambda r: f"{r['roof'] / r['tally']:.3f}",
                    f"bench/survey --device {first['device']}"))}""")
        if counted:
            page.write(f"""
## What the counters say of them

One launch of each kernel, by `bench/surveys/counters.py`, which says what the columns mean.

{table(counters.lines_of(counted))}""")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    figures, counted = [], []
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
        if isinstance(kept, list):
            counted += kept
        else:
            figures.append(kept)
    if len({(f["device"], f["name"], f["tally"]) for f in figures}) > 1:
        sys.exit("page.py: these figures are of several devices or libraries")
    write(sys.argv[1], figures, counted, os.path.join(ROOT, "docs", "bench"))


if __name__ == "__main__":
    main()
