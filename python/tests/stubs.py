#!/usr/bin/env python3
"""Writes tally/__init__.pyi, the types of the package for editors and checkers, from the functions' own signatures.

    PYTHONPATH=build/python/package python3 python/tests/stubs.py [--check]

SPDX-License-Identifier: Apache-2.0"""
import inspect
import os
import sys

import tally

PATH = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tally", "__init__.pyi")
TYPES = {"axis": "int | tuple[int, ...] | None", "dtype": "Any", "out": "Any", "copy": "bool | None", "offsets": "Any",
         "keys": "Any", "labels": "Any", "groups": "int | None", "correction": "float", "group": "Any"}
HEAD = '''"""Written by tests/stubs.py from the extension's own signatures; edit that instead."""
from typing import Any

__version__: str
'''
TAIL = '''
class Operator:
    def __init__(self, acc: str, identity: str, lift: str, combine: str, lower: str, *, acc_bytes: int, commutes: bool = False, name: str = "Operator") -> None: ...

class Plan:
    def __init__(self, op: str | Operator, dtype: Any = "float64", *, device: str = "cpu", form: str = "reduce", reverse: bool = False, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, exact: bool = False, out_dtype: Any = None, acc_dtype: Any = None, correction: int = 0, by: str | None = None, index_dtype: Any = None, words: str | None = None, copy: bool | None = None, skip_nan: bool = False, skip_bad_labels: bool = False) -> None: ...
    def run(self, x: Any, y: Any = None, /, *, out: Any = None, offsets: Any = None, keys: Any = None, labels: Any = None, groups: int | None = None, group: Any = None) -> Any: ...
    def __call__(self, x: Any, y: Any = None, /, *, out: Any = None, offsets: Any = None, keys: Any = None, labels: Any = None, groups: int | None = None, group: Any = None) -> Any: ...

class Accumulator:
    count: int
    def __init__(self, op: str = "sum", dtype: Any = "float64", exact: bool = True, correction: int = 0) -> None: ...
    def add(self, x: Any, y: Any = None, /) -> None: ...
    def merge(self, other: Accumulator, /) -> None: ...
    def value(self, dtype: Any = None, /) -> Any: ...
    def words(self) -> bytes: ...
    def add_words(self, words: Any, /) -> None: ...
    def copy(self) -> Accumulator: ...
    def __add__(self, other: Accumulator, /) -> Accumulator: ...
    def __iadd__(self, other: Accumulator, /) -> Accumulator: ...
'''


def line(name):
    parameters = []
    for parameter in inspect.signature(getattr(tally, name)).parameters.values():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            parameters.append(f"{parameter.name}: Any")
        else:
            parameters += ["/", "*"] if "*" not in parameters else []
            kind = TYPES.get(parameter.name, "bool")
            parameters.append(f"{parameter.name}: {kind} = {parameter.default}")
    return f"def {name}({', '.join(parameters)}) -> Any: ..."


def text():
    names = sorted(name for name in dir(tally) if inspect.isbuiltin(getattr(tally, name)))
    return HEAD + "\n" + "\n".join(line(name) for name in names) + "\n" + TAIL


if __name__ == "__main__":
    if "--check" in sys.argv:
        with open(PATH, encoding="utf-8") as file:
            sys.exit(file.read() != text() and "stubs.py: the stubs are not those of the extension")
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text())
