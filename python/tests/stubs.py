#!/usr/bin/env python3
"""Writes tally/__init__.pyi, the types of the package for editors and checkers, from the functions' own signatures.

    PYTHONPATH=build/python/package python3 python/tests/stubs.py [--check]

SPDX-License-Identifier: Apache-2.0"""
import inspect
import os
import sys

import tally

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tally", "__init__.pyi")
TYPES = {"acc": "str", "acc_bytes": "int", "axis": "int | tuple[int, ...] | None", "by": "str | None", "combine": "str",
         "copy": "bool | None", "correction": "float", "device": "str", "form": "str", "groups": "int | None", "identity": "str",
         "lift": "str", "lower": "str", "name": "str", "op": "str | Operator", "other": "Accumulator", "words": "str | None"}
ANY = ("acc_dtype", "dtype", "group", "index_dtype", "keys", "labels", "offsets", "out", "out_dtype", "x", "y")
TYPES |= dict.fromkeys(ANY, "Any")
# Where a class means something else by the same name.
OWN = {"Accumulator": {"op": "str", "correction": "int"}, "Accumulator.add_words": {"words": "Any"}, "Plan": {"correction": "int"}}
RETURNS = {"add": "None", "add_words": "None", "copy": "Accumulator", "merge": "None", "words": "bytes"}
HEAD = '''"""Written by tests/stubs.py from the extension's own signatures; edit that instead."""
from typing import Any, Self, final

__version__: str
'''


def parameters(of, first=None):
    """The parameters of a function or a class as a stub has them."""
    texts, kinds = [first] if first else [], []
    types = TYPES | OWN.get(getattr(of, "__qualname__", ""), {})
    for one in inspect.signature(of).parameters.values():
        if kinds and kinds[-1] == one.POSITIONAL_ONLY != one.kind:
            texts.append("/")
        if one.kind == one.KEYWORD_ONLY not in kinds:
            texts.append("*")
        kinds.append(one.kind)
        # A default that is no bool says that the name needs a type.
        kind = types.get(one.name, "bool" if isinstance(one.default, bool) else None)
        assert kind or one.name == "self", f"stubs.py: no type for {one.name} of {of}"
        texts.append((f"{one.name}: {kind}" if kind else one.name) + (f" = {one.default!r}" if one.default is not one.empty else ""))
    return ", ".join(texts + ["/"] * (kinds[-1:] == [inspect.Parameter.POSITIONAL_ONLY]))


def text_of_class(one):
    lines = [f"class {one.__name__}:"]
    if one is tally.Operator: # of Python; the others are of the extension, which makes them by __new__ and lets none be derived
        return "\n".join(lines + [f"    def __init__({parameters(one, 'self')}) -> None: ..."])
    lines = ["@final"] + lines + [f"    def __new__({parameters(one, 'cls')}) -> Self: ..."]
    for name, method in sorted(vars(one).items()):
        if inspect.isgetsetdescriptor(method):
            lines.append("    @property\n" + f"    def {name}(self) -> int: ...")
        elif name in ("__add__", "__iadd__"):
            lines.append(f"    def {name}(self, other: Accumulator, /) -> Accumulator: ...")
        elif name == "__radd__": # for Python's sum(), which starts from 0
            lines.append("    def __radd__(self, other: int, /) -> Accumulator: ...")
        elif name == "__call__":
            lines.append(f"    def __call__({parameters(one.run)}) -> Any: ...")
        elif not name.startswith("_"):
            lines.append(f"    def {name}({parameters(method)}) -> {RETURNS.get(name, 'Any')}: ...")
    return "\n".join(lines)


def text():
    functions = [(name, one) for name, one in sorted(vars(tally).items()) if inspect.isbuiltin(one)]
    lines = [f"def {name}({parameters(one)}) -> Any: ..." for name, one in functions]
    classes = [text_of_class(one) for one in (tally.Operator, tally.Plan, tally.Accumulator)]
    return HEAD + "\n" + "\n".join(lines) + "\n\n" + "\n\n".join(classes) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        with open(PATH, encoding="utf-8") as file:
            sys.exit(file.read() != text() and "stubs.py: the stubs are not those of the extension")
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text())
