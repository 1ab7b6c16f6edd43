#!/usr/bin/env python3
"""The pages that are written by hand have an entry for every operator, type, option and section, and what docs/support.md says of the
CPU is what the library answers.

usage: pages.py TALLY CONFORMANCE ROOT
"""
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
print(f"{len(operators)} operators, {len(types)} types, {len(commands)} commands: {failures} failures")
sys.exit(failures > 0 or not (operators and types and len(commands) >= 8))
