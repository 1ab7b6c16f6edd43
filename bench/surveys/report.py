"""What the survey prints: a line a case, the distribution by class, our time beside the peers', and the worst.

SPDX-License-Identifier: Apache-2.0"""
from surveys.cases import FORMS, GROUPINGS
from tally import SIZES


def at(values, share):
    """The value that 'share' of the sorted ones stay below."""
    return values[min(len(values) - 1, int(share * len(values)))]


def seconds_text(seconds):
    return f"{seconds * 1e9:.0f} ns" if seconds < 1e-6 else f"{seconds * 1e6:.1f} us"


def line(row):
    if "refused" in row:
        return f"{row['case']:64s} refused: {row['refused']}"
    if "tally" not in row:
        return f"{row['case']:64s} {'wrong: ' + row['wrong'] if row.get('wrong') else 'right'}"
    text = f"{row['case']:64s} {seconds_text(row['tally']):>11s}"
    if "roof" in row:
        text += f"  {row['bytes'] * 1e-6:9.2f} MB  of roof {row['roof'] / row['tally']:.3f}"
    if "graph" in row:
        text += f"  in a graph {seconds_text(row['graph'])}"
    for peer, theirs in row["peers"].items():
        text += f"  {peer} {seconds_text(theirs)} ({row['tally'] / theirs:.2f})"
    for peer, theirs in row.get("graph_peers", {}).items():
        text += f"  {peer} in a graph {seconds_text(theirs)} ({row['graph'] / theirs:.2f})"
    return text + (f"  WRONG: {row['wrong']}" if row.get("wrong") else "")


def classes_of(case, moved, sizes):
    """The names of the classes that a case is in, by what they tell apart."""
    form = "reduce" if FORMS[case.form] == "reduce" else "scan"
    yield "all", "all"
    yield "grouping and form", f"{form} {GROUPINGS[case.grouping]}"
    yield "bytes moved", next(name for least, name in sizes if moved >= least)
    yield "alignment", "misaligned by some elements" if any(case.off) else "aligned"
    yield "type", "4- and 8-byte types" if SIZES[case.type] >= 4 else "smaller types"
    yield "operator", case.op


def distribution(rows, sizes):
    found = {}
    for row in rows:
        for what, name in classes_of(row["parsed"], row["bytes"], sizes):
            found.setdefault((what, name), []).append(row["roof"] / row["tally"])
    yield f"{'of the roof':44s} cases   worst      p5     p25  median"
    last = None
    for (what, name), ratios in sorted(found.items(), key=lambda item: order_of(item[0], sizes)):
        if what != last and last is not None:
            yield ""
        last = what
        ratios.sort()
        yield f"{name:44s} {len(ratios):5d}" + "".join(f" {at(ratios, s):7.3f}" for s in (0, 0.05, 0.25, 0.5))


def order_of(key, sizes):
    whats = ["all", "grouping and form", "bytes moved", "alignment", "type", "operator"]
    names = [name for _, name in sizes]
    return whats.index(key[0]), names.index(key[1]) if key[0] == "bytes moved" else 0, key[1]


def beside_peers(rows, own="tally", theirs="peers", title="beside peers: our time over theirs"):
    found = {}
    for row in rows:
        for peer, seconds in row.get(theirs, {}).items():
            found.setdefault(peer, []).append(row[own] / seconds)
    if found:
        yield f"{title:44s} cases  median     p95  greatest"
    for peer, ratios in sorted(found.items()):
        ratios.sort()
        yield (f"{peer:44s} {len(ratios):5d} {at(ratios, 0.5):7.3f} {at(ratios, 0.95):7.3f} {ratios[-1]:9.3f}"
               f"   slower in {sum(r > 1 for r in ratios)}")


def worst(rows, key, text, command):
    for row in sorted(rows, key=key)[:20]:
        yield f"{text(row):>9s}  {command} --case {row['case']}"


def report(rows, sizes, command, small):
    measured = [row for row in rows if "tally" in row]
    with_roof = [row for row in measured if "roof" in row]
    with_peers = [row for row in measured if row["peers"]]
    if with_roof:
        yield from distribution(with_roof, sizes)
        yield ""
    yield from beside_peers(measured, title="single calls: our time over theirs" if small else
                            "beside peers: our time over theirs")
    yield from beside_peers(measured, "graph", "graph_peers", "in graphs: our time over theirs")
    if with_roof:
        yield "\nthe worst beside the roof"
        yield from worst(with_roof, lambda r: r["roof"] / r["tally"], lambda r: f"{r['roof'] / r['tally']:.3f}", command)
    if with_peers:
        def slowest(row):
            both = [row["tally"] / t for t in row["peers"].values()]
            return max(both + [row["graph"] / t for t in row.get("graph_peers", {}).values()])
        yield "\nthe worst beside a peer"
        yield from worst(with_peers, lambda r: -slowest(r), lambda r: f"{slowest(r):.2f}", command)
    refused = [row for row in rows if "refused" in row]
    wrong = [row for row in rows if row.get("wrong")]
    yield f"\n{len(rows)} cases, {len(refused)} refused, {len(wrong)} wrong"
    for row in wrong:
        yield f"wrong: {command} --case {row['case']}: {row['wrong']}"
