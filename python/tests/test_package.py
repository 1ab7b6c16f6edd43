"""What comes with the functions: documentation, stubs, the command, the README's examples."""
import ast
import inspect
import os
import re
import subprocess
import sys

import tally

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def python(*arguments, **options):
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, **options)


def test_stubs_are_those_of_the_extension():
    done = python(os.path.join(ROOT, "tests", "stubs.py"), "--check")
    assert done.returncode == 0, done.stderr
    with open(os.path.join(ROOT, "tally", "__init__.pyi"), encoding="utf-8") as file:
        ast.parse(file.read())


def test_every_function_says_what_it_does():
    functions = [f for f in vars(tally).values() if inspect.isbuiltin(f)]
    assert len(functions) > 25
    for f in functions:
        inspect.signature(f)
        assert len(f.__doc__.splitlines()) > 3
        assert not f.__doc__.startswith("The 1")


def test_import_imports_no_numpy():
    done = python("-c", "import sys, tally; assert 'numpy' not in sys.modules; print(tally.sum([1, 2]), 'numpy' in sys.modules)")
    assert done.stdout == "3 False\n", done.stderr


def test_the_command():
    done = python("-m", "tally", "reduce", "sum", input="1\n2.5\n")
    assert done.stdout == "3.5\n", done.stderr


def test_the_command_ends_quietly_when_nobody_reads_on():
    command = f"seq 100000 | {sys.executable} -m tally scan sum | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_examples_of_the_readme():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        examples = re.findall(r"```python\n(.*?)```", file.read(), re.S)
    assert len(examples) == 3
    for example in examples:
        done = python("-c", example) if "ProcessPool" not in example else python("-", input=example)
        assert done.returncode == 0, done.stderr
