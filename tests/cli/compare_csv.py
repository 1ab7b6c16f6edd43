#!/usr/bin/env python3
"""Random text against Python's own csv module and integers: quoting, delimiters, line ends, byte order marks, blank and
commented lines, rows across the reader's buffers, pipes in odd pieces; and sums and products that may pass 64 bits.

usage: compare_csv.py TALLY [SEED [PART]]   the seed of the first case, from which all others follow; 8: an eighth of them
"""
import csv
import io
import itertools
import math
import os
import random
import subprocess
import sys
import tempfile

TALLY = os.path.abspath(sys.argv[1])
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
PART = int(sys.argv[3]) if len(sys.argv) > 3 else 1
failures = 0
count = 0


def run(*arguments, pieces=None):
    """The exit status, output and errors; 'pieces' of bytes come through a pipe."""
    process = subprocess.Popen([TALLY, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        for piece in pieces or []:
            process.stdin.write(piece)
            process.stdin.flush()
    except BrokenPipeError:
        pass
    out, err = process.communicate()
    return process.returncode, out.decode(), err.decode()


def check(what, got, expected):
    """'expected' is the output, a float that it must read as, or None for a result that passes 64 bits."""
    global failures, count
    count += 1
    status, out, err = got
    if expected is None:
        good = status == 1 and "passes 64 bits" in err
    elif isinstance(expected, float):
        good = status == 0 and float(out) == expected
    else:
        good = status == 0 and out == expected
    if not good:
        failures += 1
        if failures <= 10:
            print(f"FAILED: {what}\n  status {status}, {out[:80]!r}, {err[:200]!r}\n  expected {str(expected)[:80]!r}")


def cut(data):
    """Pieces of sizes that no buffer expects."""
    at = 0
    while at < len(data):
        size = random.choice([1, 7, 4095, 65536, 100000])
        yield data[at:at + size]
        at += size


def number(kind):
    if kind == "integer":
        return str(random.choice([random.randint(-100, 100), random.randint(-10**12, 10**12),
                                  random.randint(-2**62, 2**62)]))
    if kind == "float":
        return random.choice([repr(random.uniform(-1e6, 1e6)), f"{random.uniform(-1, 1):.3e}",
                              f"{random.randint(0, 10**20)}.{random.randint(0, 999)}"])
    return random.choice(["Ulm", "New York", 'a"b', "x,y", "x;y", "line\nbreak", "\u00fc", "", "#tag", "tab\there", "1O"])


def in_range(value, low=-2**63):
    return low <= value < low + 2**64


def expected_of(op, texts):
    if all("." not in t and "e" not in t for t in texts):
        x = [int(t) for t in texts]
        if op == "scan":
            sums = list(itertools.accumulate(x))
            return "".join(f"{s}\n" for s in sums) if all(map(in_range, sums)) else None
        result = {"sum": sum, "max": max, "min": min}[op](x)
        return f"{result}\n"
    x = [float(t) for t in texts]
    return {"sum": math.fsum, "max": max, "min": min}[op](x)


def small_table():
    """As the csv module writes it, whatever its dialect."""
    columns = random.randint(1, 6)
    wanted = random.randrange(columns)
    kinds = [random.choice(["integer", "float", "word"]) for _ in range(columns)]
    kinds[wanted] = random.choice(["integer", "float"])
    rows = [[number(kind) for kind in kinds] for _ in range(random.choice([1, 2, 3, 10, 200]))]
    names = [random.choice(["a", "price", "2019", "x y", 'q"q', "c,d"]) + str(i) for i in range(columns)]
    delimiter, end = random.choice(",;\t|"), random.choice(["\n", "\r\n"])
    header = random.random() < 0.7
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=end,
                        quoting=random.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]))
    writer.writerows([names] * header + rows)
    text = text.getvalue()
    if random.random() < 0.2:
        text = text[:-len(end)]
    if '"' not in text and random.random() < 0.5:
        text = text.replace(end, end + random.choice([end, "  " + end]), random.randint(1, 3))
    if random.random() < 0.2:
        text = "\ufeff" + text
    op = random.choice(["sum", "max", "min"] + ["scan"] * (kinds[wanted] == "integer"))
    arguments = ["scan", "sum"] if op == "scan" else ["reduce", op]
    arguments += ["--column", names[wanted] if header and random.random() < 0.5 else str(wanted + 1)]
    arguments += ["--delimiter", "tab" if delimiter == "\t" else delimiter, "--header" if header else "--no-header"]
    arguments += ["--exact"] if kinds[wanted] == "float" else []
    data = text.encode()
    with open("t.csv", "wb") as file:
        file.write(data)
    got = run(*arguments, "t.csv") if random.random() < 0.5 else run(*arguments, pieces=cut(data))
    check(f"{arguments} of {text[:200]!r}", got, expected_of(op, [row[wanted] for row in rows]))


def long_table():
    """Rows, quotes, comments and ends of lines that lie across the reader's buffers of 2^18 bytes."""
    end = random.choice(["\n", "\r\n"])
    size = random.choice([1, 1, 2, 5]) * 262144 + random.randint(-60, 60)
    text = "# " + "x" * random.randint(262100, 262180) + end if random.random() < 0.3 else ""
    header = random.random() < 0.5
    lines, values = [text, 'id,"v, n",txt' + end] if header else [text], []
    length = sum(map(len, lines))
    while length < size:
        value = random.randint(-10**6, 10**6)
        shown = random.choice([f"{value}", f'"{value}"', f" {value} "])
        word = random.choice(["abc", '"a""b"', f'"x{end}y"', '"' + "z" * random.randint(0, 300) + '"', ""])
        line = f"{len(values)},{shown},{word}{end}"
        if random.random() < 0.04:
            line += random.choice([end, f'#, comment "{"q" * random.randint(0, 200)}{end}'])
        values.append(value)
        lines.append(line)
        length += len(line)
    data = "".join(lines).encode()
    arguments = ["reduce", "sum", "--comment", "#", "--column", "v, n" if header else "2"]
    arguments += [] if header else ["--no-header"]
    check(f"{arguments} of {len(data)} bytes", run(*arguments, pieces=cut(data)), f"{sum(values)}\n")


def wide_groups():
    """Integers near 2^63 in every grouping: right, or said to pass 64 bits."""
    n = random.choice([1, 2, 5, 50, 3000])
    large = random.choice([3, 2**62])
    x = [random.choice([random.randint(-5, 5), random.randint(-large, large)]) for _ in range(n)]
    op = random.choice(["sum", "prod", "sumsq", "norm1"])
    if op == "prod":
        x = [v if random.random() < 0.05 else random.choice([1, -1, 2]) for v in x]
    of = {"sum": sum, "prod": math.prod, "sumsq": lambda v: sum(a * a for a in v), "norm1": lambda v: sum(map(abs, v))}[op]
    step = {"sum": lambda a, v: a + v, "prod": lambda a, v: a * v, "sumsq": lambda a, v: a + v * v,
            "norm1": lambda a, v: a + abs(v)}[op]
    start = 1 if op == "prod" else 0
    with open("x.txt", "w") as file:
        file.writelines(f"{v}\n" for v in x)
    with open("o.txt", "w") as file:
        offsets = sorted(random.randint(0, n) for _ in range(random.randint(1, 20)))
        file.writelines(f"{v}\n" for v in offsets)
    with open("k.txt", "w") as file:
        keys = [random.choice([1, 1, 1, 2]) for _ in range(n)]
        file.writelines(f"{v}\n" for v in keys)
    with open("l.txt", "w") as file:
        labels = [random.randint(-1, 4) for _ in range(n)]
        file.writelines(f"{v}\n" for v in labels)
    labelled = [[v for v, label in zip(x, labels) if label == g] for g in range(4)]
    runs = [(key, [v for _, v in group]) for key, group in itertools.groupby(zip(keys, x), key=lambda pair: pair[0])]
    backward = list(itertools.accumulate(x[::-1], step, initial=start))[1:][::-1]
    forward = list(itertools.accumulate(x, step, initial=start))
    for arguments, results, heads in [
            (["reduce", op, "x.txt"], [of(x)], itertools.repeat("")),
            (["scan", op, "x.txt"], forward[1:], itertools.repeat("")),
            (["scan", op, "x.txt", "--exclusive"], forward[:-1], itertools.repeat("")),
            (["scan", op, "x.txt", "--reverse"], backward, itertools.repeat("")),
            (["segments", op, "x.txt", "o.txt"], [of(x[a:b]) for a, b in zip(offsets, offsets[1:])], itertools.repeat("")),
            (["labels", op, "x.txt", "l.txt", "--groups", "4", "--skip-bad"], [of(v) for v in labelled], itertools.repeat("")),
            (["keys", op, "x.txt", "k.txt"], [of(group) for _, group in runs], [f"{key} " for key, _ in runs])]:
        fit = all(in_range(r, 0 if op == "norm1" else -2**63) for r in results)
        fit |= arguments[0] == "reduce" and op in ("sum", "norm1")
        check(f"{arguments} of {n} up to {large}", run(*arguments),
              "".join(f"{head}{r}\n" for head, r in zip(heads, results)) if fit else None)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for kind, times in [(small_table, 300), (long_table, 10), (wide_groups, 60)]:
        for i in range(times // PART):
            random.seed(f"{SEED} {kind.__name__} {i}")
            kind()
    os.chdir("/")
print(f"{count} comparisons, {failures} failed")
sys.exit(failures > 0 or count == 0)
