"""Threads at the same objects. With the interpreter's lock little can go wrong; free-threaded builds run them at once."""
import subprocess
import sys
import sysconfig
import threading

import pytest

import tally

np = pytest.importorskip("numpy")
THREADS = 8


def at_once(work):
    """Runs work(number) in threads that start together; gives their results."""
    start, results = threading.Barrier(THREADS), [None] * THREADS

    def run(k):
        start.wait()
        results[k] = work(k)

    threads = [threading.Thread(target=run, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_one_accumulator():
    total, other = tally.Accumulator("sum", "float64"), tally.Accumulator("sum", "float64")
    x = np.array([1e300, 1.0, -1e300, 2.0**-1000])
    other.add(x)

    def work(k):
        for _ in range(2000):
            total.add(x) if k % 2 else total.merge(other)
            total.value(), total.count
    at_once(work)
    assert (total.count, total.value()) == (THREADS * 2000 * 4, THREADS * 2000.0)


def test_one_plan():
    plan = tally.Plan("sum", "float64", axis=1, exact=True)
    inputs = [np.full((4, 100 + k), 0.1 * (k + 1)) for k in range(THREADS)]
    expected = [plan(x) for x in inputs]
    for results in at_once(lambda k: [plan(inputs[k]) for _ in range(300)]):
        assert any(np.array_equal(results[0], e) for e in expected) and all(np.array_equal(r, results[0]) for r in results)


def test_first_calls_of_a_process():
    code = f"""
import sys; sys.path[:0] = {sys.path!r}
from test_threads import *
names = "int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 bool".split()
arrays = [np.ones((2, 3), name) for name in names]
for results in at_once(lambda k: [(tally.sum(x, axis=1), tally.max(x) if x.dtype != bool else 1) for x in arrays]):
    assert all((s == 3).all() and m == 1 for s, m in results)
print(tally.sum([1, 2]), memoryview(b"12").nbytes)
"""
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode) == ("3 2\n", 0), done.stderr


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python has a lock")
def test_the_lock_stays_off():
    assert not sys._is_gil_enabled()
