#!/usr/bin/env python3
"""The pages that are written by hand have an entry for every operator, type, option and section, what docs/support.md says of the
CPU is what the library answers, and no line of a paragraph begins like an entry of a list, since it would become one.

usage: pages.py TALLY CONFORMANCE ROOT
"""
import glob
import json
import os
import re
import subprocess
import sys

TALLY, CONFORMANCE, ROOT = sys.argv[1:]
failures = 0


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def page(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def expect(where, entries, what, text):
    """Every entry stands in the text as a word."""
    global failures
    for entry in entries:
        if not re.search(rf"(?<![\w-]){re.escape(entry)}(?![\w-])", text):
            print(f"FAIL {where} lacks {what} {entry}")
            failures += 1


def rows(text, begins, columns):
    """The given columns of the Markdown table whose header begins so."""
    table = text[text.index(begins):].split("\n\n")[0]
    return " ".join(" ".join(line.split("|")[1:1 + columns]) for line in table.splitlines()[2:])


def entries_by_chance(text):
    """Lines within paragraphs that begin like an entry of a list."""
    marker, in_code, block = re.compile(r" {0,3}([-+*]|1[.)]) "), False, []
    for line in text.splitlines():
        in_code ^= line.startswith("```")
        if in_code or not line.strip():
            block = []
            continue
        is_paragraph = block and not marker.match(block[0]) and block[0][0] not in " |`" and not block[-1].endswith(":")
        if is_paragraph and marker.match(line):
            yield line
        block.append(line)


operators = [entry["op"] for entry in json.loads(run(TALLY, "ops", "--json"))]
types = re.search(r"of text: (.*);", run(TALLY, "reduce", "--help")).group(1).split()
commands = re.findall(r"^(?:usage:)? +tally ([a-z|]+(?: \| [a-z]+)*)", run(TALLY, "--help"), re.M)
commands = {name for group in commands for name in re.split(r" ?\| ?", group)} - {"help"}

manual, library, guide, support = (page("docs/" + name) for name in ("man/tally.1", "man/tally.3", "guide.md", "support.md"))
expect("tally.3", ["TALLY_" + op.upper() for op in operators], "the operator", library)
expect("tally.3", ["TALLY_" + name.upper() for name in types], "the type", library)
expect("tally.1", types, "the type", manual[manual.index("raw numbers or of text:"):manual.index("or NumPy's names.")])
for command in commands:
    options = re.findall(r"^  (?:-., )?(--[a-z-]+)", run(TALLY, command, "--help"), re.M)
    expect("tally.1", [option[1:] for option in options], f"of tally {command} the option", manual)
expect("guide.md's model", operators, "the operator", re.search(r"^\| \*\*operator\*\*.*", guide, re.M).group(0))
expect("guide.md's table of exact mode", operators, "the operator", rows(guide, "| | f16, bf16,", 1))
expect("guide.md's contents", re.findall(r"^## (.*)", guide, re.M), "the section", guide[:guide.index("\n## ")])
expect("guide.md's table of types", operators, "the operator", rows(guide, "| operator | accumulator: integers", 1))
for line in run(CONFORMANCE, "--device", "cpu", "--table").splitlines():
    if line.startswith("|") and line not in support:
        print(f"FAIL support.md lacks the row {line}")
        failures += 1
for line in page("tests/conformance/refused-cpu.txt").splitlines()[2:]:
    if line not in support:
        print(f"FAIL support.md lacks the refusal {line}")
        failures += 1
for path in (path for where in ("*", "docs/**/*", "python/*", "single/*") for path in glob.glob(where + ".md", root_dir=ROOT, recursive=True)):
    for line in entries_by_chance(page(path)):
        print(f"FAIL {path}: a line of a paragraph begins like an entry of a list: {line}")
        failures += 1
print(f"{len(operators)} operators, {len(types)} types, {len(commands)} commands: {failures} failures")
sys.exit(failures > 0 or not (operators and types and len(commands) >= 8))
