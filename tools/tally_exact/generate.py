#!/usr/bin/env python3
"""Writes single/tally_exact.c and .h: the declarations of src/exact, and of the layouts in src/core, that the functions
of api.c reach, made static, between shims.c.in, for what they take from the rest of the library, and api.c. What
shims.c.in declares stands for what has the same name in the sources.

It takes clang-format.

usage: generate.py [--check]      --check: fails if the files are not what would be written

Sources in clang-format's layout are easy to read: a declaration begins in the first column and ends with a brace or a
semicolon outside of braces.

SPDX-License-Identifier: Apache-2.0"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCES = ["core/layout.h", "core/layout.c", "exact/superaccumulator.h", "exact/superaccumulator.c", "exact/round.h",
           "exact/round.c", "exact/saved.h", "exact/saved.c"]
IN_HEADER = ["TALLY_LIMBS_MAX", "tally_exact_layout", "tally_superaccumulator"]


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def code_of(text):
    """Without comments and strings."""
    return re.sub(r'/\*.*?\*/|"(\\.|[^"\\])*"', " ", text, flags=re.S).strip()


class Declaration:
    """One with the comment right above it."""

    def __init__(self, comment, text):
        self.comment, self.text, code = comment, text, code_of(text)
        self.uses = set(re.findall(r"[A-Za-z_]\w*", code))
        self.is_prototype = bool(re.search(r"\);$", code)) and "{" not in code
        inside = code[code.find("{"):]
        members = re.findall(r"(\w+)\s*(?:=[^,}]*)?[,}]", inside) if re.match(r"(typedef )?enum", code) else []
        if code.startswith("#define"):
            self.names = [code.split()[1].split("(")[0]]
        elif code.startswith("enum"):
            self.names = members
        elif code.startswith("typedef"):
            self.names = [re.search(r"(\w+);$", code).group(1)] + members
        elif code.startswith("static const struct {"):
            self.names = [re.search(r"\} (\w+)", code).group(1)]
        else:
            self.names = [re.search(r"(\w+)(\(|\[| =)", code).group(1)]

    def written(self):
        is_function = not re.match(r"static|typedef|enum|#", self.text)
        return self.comment + ("static " if is_function else "") + self.text


def declarations(text):
    found, comment, lines = [], "", iter(text.split("\n"))
    for line in lines:
        block = line
        if line.startswith("/*"):
            while not line.endswith("*/"):
                line = next(lines)
                block += "\n" + line
            comment = block + "\n"
            continue
        if line.startswith("#"):
            if re.match(r"#define \w+[ (].", line):
                found.append(Declaration(comment, line))
        elif line:
            while code_of(block)[-1] not in ";}" or code_of(block).count("{") != code_of(block).count("}"):
                block += "\n" + next(lines)
            found.append(Declaration(comment, block))
        comment = ""
    return found


def reached(parts, roots):
    """The declarations that the names in 'roots' reach."""
    while True:
        kept = [d for d in parts if roots & set(d.names)]
        more = roots.union(*(d.uses for d in kept))
        if more == roots:
            return kept
        roots = more


def in_order(parts):
    """Without the prototypes whose function comes before its first use; it inherits the prototype's comment."""
    defined = {d.names[0]: d for d in parts if not d.is_prototype}
    kept = []
    for at, part in enumerate(parts):
        if part.is_prototype:
            definition = defined[part.names[0]]
            if not any(part.names[0] in d.uses for d in parts[at + 1:parts.index(definition)] if not d.is_prototype):
                definition.comment = definition.comment or part.comment
                continue
        kept.append(part)
    return kept


def filled(template, values):
    text = re.sub(r"@(\w+)@", lambda match: values[match.group(1)], template)
    return subprocess.run(["clang-format", f"--assume-filename={ROOT}/single/tally_exact.c"], input=text,
                          capture_output=True, text=True, check=True).stdout


def generate():
    api, shims, head = (read("tools", "tally_exact", name) for name in ("api.c", "shims.c.in", "head.h.in"))
    shimmed = {name for d in declarations(shims.replace("@tally_float_format@", "")) for name in d.names}
    sources = [d for source in SOURCES for d in declarations(read("src", source))]
    parts = reached([d for d in sources if not shimmed & set(d.names)], Declaration("", "void api(" + api).uses)
    names = [name for d in parts if not d.is_prototype for name in d.names]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        sys.exit(f"generate.py: two of the sources declare: {', '.join(sorted(twice))}")

    public = {name: next(d for d in parts if name in d.names) for name in IN_HEADER}
    inside = [d.written() for d in in_order([d for d in parts if d not in public.values()])]
    floats = next(d for d in declarations(read("src", "core", "dtype.h")) if "tally_float_format" in d.names)
    return {"tally_exact.h": filled(head, {name: d.written() for name, d in public.items()}),
            "tally_exact.c": filled("\n".join([shims, "/* ---- from tally's src/exact ---- */\n", "\n\n".join(inside), api]),
                                    {"tally_float_format": floats.written()})}


if __name__ == "__main__":
    for file_name, text in generate().items():
        if "--check" not in sys.argv:
            with open(os.path.join(ROOT, "single", file_name), "w", encoding="utf-8") as out:
                out.write(text)
        elif read("single", file_name) != text:
            sys.exit(f"single/{file_name} is not that of the sources: run tools/tally_exact/generate.py")
