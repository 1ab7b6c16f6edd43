#!/usr/bin/env python3
"""Checks the texts against the examples: every C block of README.md and of docs/ must stand, line for line, in one of
examples/*.c, every output block (marked ```text output) in one of examples/expected/*.txt, and every relative link must
lead to a file. Indentation common to a block's lines does not count.

    examples/check_texts.py ROOT

SPDX-License-Identifier: Apache-2.0"""
import pathlib
import re
import sys
import textwrap

root = pathlib.Path(sys.argv[1])
# Files that other programs generate, and which may not be there yet.
GENERATED = {"docs/support.md"}


def stands_in(block, text):
    """Whether the block's lines follow each other in the text, at any one indentation."""
    lines, wanted = text.splitlines(), textwrap.dedent(block).splitlines()
    for first in range(len(lines) - len(wanted) + 1):
        if textwrap.dedent("\n".join(lines[first:first + len(wanted)])).splitlines() == wanted:
            return True
    return False


def main():
    sources = [p.read_text() for p in sorted((root / "examples").glob("*.[ch]"))]
    outputs = [p.read_text() for p in sorted((root / "examples" / "expected").glob("*.txt"))]
    faults = 0
    pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
    pages += sorted(str(p.relative_to(root)) for p in (root / "docs").glob("**/*.md"))
    for name in pages:
        page = root / name
        text = page.read_text()
        for kind, known in (("c", sources), ("text output", outputs)):
            for block in re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S):
                if not any(stands_in(block, known_text) for known_text in known):
                    print(f"{name}: this {kind} block is in no example:\n{block}")
                    faults += 1
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            path = (page.parent / link).resolve()
            generated = any(path == (root / g).resolve() for g in GENERATED)
            if not path.exists() and not generated:
                print(f"{name}: the link to {link} leads nowhere")
                faults += 1
    return 1 if faults else 0


sys.exit(main())
