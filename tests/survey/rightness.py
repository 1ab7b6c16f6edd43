#!/usr/bin/env python3
"""A few cases of bench/survey on the CPU: the library's results are what the survey's oracle gives, the oracle finds a
result with one wrong bit, a case's word names the same case again, and the program prints and writes what it says.

usage: rightness.py LIBTALLY LIBSURVEY      exits with 77 where NumPy is missing, or with 1 where TALLY_REQUIRE names it
"""
import json
import os
import subprocess
import sys
import tempfile
import types

try:
    import numpy as np
except ImportError:
    print(f"{sys.executable} has no NumPy")
    sys.exit(1 if "numpy" in os.environ.get("TALLY_REQUIRE", "").split(",") else 77)

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)
from surveys.cases import draw_case, parse # noqa: E402
from surveys.host import Host, load_helper # noqa: E402
from tally import SIZES, Tally # noqa: E402

CASES = 240
LIBTALLY, LIBSURVEY = sys.argv[1:]
failures = []


def expect(condition, words):
    if not condition:
        failures.append(words)
        print(words)


class Corrupting(Host):
    """Has the oracle look at results of which one is wrong: two bits of an element's last byte are flipped."""
    draw = np.random.default_rng(1)

    def compare(self, case, data, out_type, args):
        self.size = SIZES[out_type]
        return super().compare(case, data, out_type, args)

    def fetch(self, address, bytes_):
        wrong = super().fetch(address, bytes_).copy()
        wrong[self.draw.integers(len(wrong) // self.size) * self.size + self.size - 1] ^= 0x41
        return wrong


def oracle_and_library():
    options = types.SimpleNamespace(device="cpu")
    host, corrupting = (kind(Tally(LIBTALLY, "cpu"), load_helper(LIBSURVEY), options) for kind in (Host, Corrupting))
    for number in range(CASES):
        case = draw_case("rightness", number, (1 << 8, 1 << 18))
        expect(str(parse(str(case))) == str(case), f"{case} is read back as {parse(str(case))}")
        _, wrong = host.measure(case, 0)
        expect(wrong() is None, f"{case}: {wrong()}")
        _, wrong = corrupting.measure(case, 0)
        expect(wrong() is not None, f"{case}: a wrong result was not found")


def program():
    with tempfile.TemporaryDirectory() as folder:
        figures = os.path.join(folder, "figures.json")
        done = subprocess.run([sys.executable, os.path.join(BENCH, "survey"), "--tally", LIBTALLY, "--helper", LIBSURVEY,
                               "--cases", "4", "--bytes", "16K:64K", "--json", figures], stdout=subprocess.PIPE,
                              text=True)
        expect(done.returncode == 0, f"bench/survey exits with {done.returncode}")
        expect("4 cases, 0 refused, 0 wrong" in done.stdout, f"bench/survey printed:\n{done.stdout}")
        with open(figures, encoding="utf-8") as file:
            cases = json.load(file)["cases"]
        expect(len(cases) == 4 and all(c["tally"] > 0 and c["roof"] > 0 for c in cases), f"the figures are {cases}")


oracle_and_library()
program()
sys.exit(1 if failures else 0)
