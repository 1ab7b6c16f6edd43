"""group=: parts of arrays on ranks give what the whole gives, whoever carries the words."""
import importlib.util
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import threading

import numpy as np
import pytest

import tally


class Rank:
    """A rank that is a thread."""

    def __init__(self, rank, size, memory):
        self.rank, self.size, self.memory = rank, size, memory

    def exchange(self, kind, send, receive):
        sent, barrier = self.memory
        sent[self.rank] = np.array(send)
        barrier.wait()
        if kind == "gather":
            receive[:] = memoryview(np.concatenate(sent))
        else:
            receive[:] = memoryview(np.sum(sent, axis=0) if kind == "sum" else np.max(sent, axis=0))
        barrier.wait()


def on_ranks(parts, function):
    """What function(part, group) gives on each rank; exceptions are results, too."""
    size, results = len(parts), [None] * len(parts)
    memory = [None] * size, threading.Barrier(size, timeout=60)

    def run(rank):
        try:
            results[rank] = function(parts[rank], Rank(rank, size, memory))
        except Exception as error: # noqa: BLE001
            results[rank] = error
    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def parts_of(random, x, ranks, axis=0):
    return np.split(x, np.sort(random.integers(0, x.shape[axis] + 1, ranks - 1)), axis=axis)


@pytest.mark.parametrize("op", ["sum", "prod", "min", "max", "argmin", "argmax", "mean", "any", "all", "count_nonzero", "norm1",
                                "sumsq", "logsumexp", "var", "std"])
@pytest.mark.parametrize("dtype", ["int32", "float64"])
def test_reductions(op, dtype):
    random = np.random.default_rng(1)
    for ranks in (1, 2, 5):
        x = random.integers(-9, 9, 100).astype(dtype)
        for got in on_ranks(parts_of(random, x, ranks), lambda part, group: getattr(tally, op)(part, group=group)):
            np.testing.assert_allclose(got, getattr(tally, op)(x), rtol=1e-12)


@pytest.mark.parametrize("shape, axis", [((6, 4, 5), 0), ((4, 6, 5), 1), ((4, 5, 6), -1), ((6, 1, 5), 0), ((1, 6), 1), ((6, 2, 3), (0, 1)),
                                         ((6, 2, 3), (0, 2)), ((6, 1, 1), 0)])
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes_of_any_layout(shape, axis, keepdims):
    random = np.random.default_rng(2)
    split = axis[0] if isinstance(axis, tuple) else axis
    x = random.integers(-99, 99, shape)
    for parts in (parts_of(random, x, 3, split), np.array_split(x, 6, split), [np.asfortranarray(p) for p in np.array_split(x, 2, split)]):
        for got in on_ranks(parts, lambda part, group: tally.sum(part, axis=axis, keepdims=keepdims, group=group)):
            np.testing.assert_array_equal(got, x.sum(axis=axis, keepdims=keepdims))


def test_two_inputs_and_corrections():
    random = np.random.default_rng(9)
    x, y = random.integers(-9, 9, (2, 100)).astype("f8")
    parts = list(zip(parts_of(np.random.default_rng(1), x, 3), parts_of(np.random.default_rng(1), y, 3)))
    for got in on_ranks(parts, lambda part, group: tally.dot(*part, group=group)):
        assert got == x @ y
    for got in on_ranks(np.split(x, 4), lambda part, group: tally.var(part, correction=1, group=group)):
        assert got == pytest.approx(x.var(ddof=1), rel=1e-12)
    for got in on_ranks(np.split(x, 4), lambda part, group: tally.var(part, correction=0.5, group=group)):
        assert isinstance(got, ValueError)


def test_exact_sums_have_the_bits_of_one_process():
    random = np.random.default_rng(3)
    x = random.standard_normal(10000) * 10.0 ** random.integers(-150, 150, 10000)
    for ranks in (2, 3, 7):
        for got in on_ranks(parts_of(random, x, ranks), lambda part, group: tally.sum(part, exact=True, group=group)):
            assert got == tally.sum(x, exact=True)


def test_scans_go_on_from_rank_to_rank():
    random = np.random.default_rng(4)
    x = random.integers(-9, 9, 1000)
    for options in ({}, {"reverse": True}, {"exclusive": True}):
        got = on_ranks(parts_of(random, x, 4), lambda part, group: tally.cumulative_sum(part, group=group, **options))
        np.testing.assert_array_equal(np.concatenate(got), tally.cumulative_sum(x, **options))
    x = x.reshape(100, 10)
    got = on_ranks(parts_of(random, x, 3), lambda part, group: tally.cumulative_max(part, axis=0, group=group))
    np.testing.assert_array_equal(np.concatenate(got), tally.cumulative_max(x, axis=0))


def test_labels_and_keys():
    random = np.random.default_rng(5)
    x, labels, keys = random.integers(-9, 9, 1000), random.integers(0, 7, 1000), np.sort(random.integers(0, 5, 1000))
    cuts = [0, 300, 300, 777, 1000]
    parts = [slice(a, b) for a, b in zip(cuts, cuts[1:])]
    for got in on_ranks(parts, lambda part, group: tally.sum(x[part], labels=labels[part], groups=7, group=group)):
        np.testing.assert_array_equal(got, np.bincount(labels, x, 7))
    got = on_ranks(parts, lambda part, group: tally.sum(x[part], keys=keys[part], group=group))
    for ours, theirs in zip(zip(*got), tally.sum(x, keys=keys)):
        np.testing.assert_array_equal(np.concatenate(ours), theirs)


def test_plans_take_groups():
    plans = [tally.Plan("mean", "float32", exact=True) for _ in range(3)]
    x = np.random.default_rng(6).standard_normal(999).astype("f4")
    for got in on_ranks(np.split(x, 3), lambda part, group: plans[group.rank](part, group=group)):
        assert got == tally.mean(x, exact=True)


def test_every_rank_hears_of_an_error():
    x = np.arange(10.0)
    results = on_ranks([x, x[:0], x], lambda part, group: tally.sum(part, labels=np.full(len(part), 9 if group.rank else 0), groups=3, group=group))
    assert all(isinstance(one, ValueError) and "label" in str(one) for one in results), results
    results = on_ranks([x, x.astype("f4")], lambda part, group: tally.sum(part, group=group))
    assert all(isinstance(one, ValueError) for one in results), results
    results = on_ranks([x[:0]] * 2, lambda part, group: tally.max(part, group=group))
    assert all(isinstance(one, ValueError) for one in results), results


PLAN = tally.Plan("sum", "float64")
X = np.arange(6.0)


@pytest.mark.parametrize("wrong", [
    lambda group: tally.sum(X.astype(complex), group=group), lambda group: tally.sum("text", group=group),
    lambda group: tally.sum(X, axis=7, group=group), lambda group: tally.sum(X, dtype="int8", group=group),
    lambda group: tally.sum(X, nothing=1, group=group), lambda group: tally.sum(group=group),
    lambda group: tally.dot(X, X[1:], group=group), lambda group: tally.sum(X, labels=X[1:], groups=3, group=group),
    lambda group: tally.sum(X, labels=np.zeros(6, int), group=group), lambda group: tally.cumulative_sum(X.reshape(2, 3), group=group),
    lambda group: tally.sum(X, out=np.empty(3), group=group), lambda group: tally.sum(X, offsets=X[:0], group=group),
    lambda group: PLAN(X.astype("f4"), group=group), lambda group: PLAN(X, keepdims=True, group=group),
    lambda group: PLAN(X, keys=[1, 2], group=group),
])
@pytest.mark.parametrize("right", [
    lambda group: tally.sum(X, group=group), lambda group: tally.cumulative_sum(X, group=group),
    lambda group: tally.sum(X.reshape(3, 2), axis=0, group=group), lambda group: tally.sum(X, keys=X, group=group),
    lambda group: tally.sum(X, offsets=[0, 6], group=group), lambda group: tally.sum(X, labels=[0] * 6, groups=3, group=group),
    lambda group: PLAN(X, group=group),
])
def test_every_rank_hears_of_a_call_that_cannot_be(wrong, right):
    results = on_ranks([right, wrong, right], lambda function, group: function(group))
    assert isinstance(results[1], (TypeError, ValueError, IndexError)), results
    for other in (results[0], results[2]):
        assert type(other) is ValueError and str(other) == f"rank 1: {results[1]}", results


def test_every_rank_has_its_own_error():
    results = on_ranks([1, 2, 3], lambda axis, group: tally.sum(X, axis=axis, group=group))
    assert [str(one)[:6] for one in results] == ["axis 1", "axis 2", "axis 3"]
    results = on_ranks(["float64", "float32", "float64"], lambda dtype, group: tally.sum(X, keys=X.astype(dtype), group=group))
    assert all(isinstance(one, ValueError) for one in results), results
    assert tally.sum(X, group=Rank(0, 1, ([None], threading.Barrier(1)))) == X.sum() # nothing is left behind


def test_an_engine_that_fails():
    class Broken:
        rank, size = 0, 2

        def exchange(self, kind, send, receive):
            raise OSError("the network is gone")
    with pytest.raises(OSError, match="the network is gone"):
        tally.sum(np.ones(3), group=Broken())
    with pytest.raises(IndexError, match="axis 7"): # what came first
        tally.sum(np.ones(3), axis=7, group=Broken())


def test_what_is_no_group(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    with pytest.raises(TypeError, match="rank, size and exchange"):
        tally.sum(np.ones(3), group=3)


ENGINES = {"torch": """
import torch.distributed as engine
engine.init_process_group("gloo", init_method="file://" + sys.argv[1], rank=int(sys.argv[2]), world_size=int(sys.argv[3]))
group, rank = engine.group.WORLD, engine.get_rank()
""", "mpi4py": """
from mpi4py import MPI
group, rank = MPI.COMM_WORLD, MPI.COMM_WORLD.Get_rank()
"""}
PROGRAM = """
import sys
import numpy as np
import tally
{engine}
x = np.random.default_rng(7).standard_normal(3000) * 10.0 ** np.random.default_rng(8).integers(-90, 90, 3000)
part = np.array_split(x, 3)[rank]
assert tally.sum(part, exact=True, group=group) == tally.sum(x, exact=True)
assert tally.max(part, group=group) == x.max() and tally.argmax(part, group=group) == x.argmax()
y = np.arange(3000)
ours = np.array_split(y, 3)[rank]
assert (tally.cumulative_sum(ours, group=group) == np.array_split(np.cumsum(y), 3)[rank]).all()
assert (tally.sum(ours, labels=ours % 5, groups=5, group=group) == np.bincount(y % 5, y)).all()
try:
    tally.sum(part.astype(complex) if rank == 1 else part, group=group)
except (TypeError, ValueError) as error:
    assert str(error) == ("" if rank == 1 else "rank 1: ") + "tally has no elements of format 'Zd'", error
    print("done", flush=True)
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_processes(engine, tmp_path):
    if not importlib.util.find_spec(engine): # not imported here: a process with MPI may start no others
        assert engine not in os.environ.get("TALLY_REQUIRE", "").split(",")
        pytest.skip(f"{engine} is not on this machine")
    program = PROGRAM.format(engine=ENGINES[engine])
    if engine == "mpi4py":
        mpiexec = shutil.which("mpiexec.openmpi") or "mpiexec" # MPICH's may be there as well; Debian's mpi4py is Open MPI's
        done = subprocess.run([mpiexec, "--allow-run-as-root", "--oversubscribe", "-n", "3", sys.executable, "-c", program],
                              capture_output=True, text=True, timeout=120, check=False)
        assert done.stdout.count("done") == 3, done
        return
    ranks = [subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "meeting"), str(rank), "3"], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) for rank in range(3)]
    for rank in ranks:
        out, err = rank.communicate(timeout=120)
        assert out == "done\n", err


ON_TWO_GPUS = """
import sys
import torch
import torch.distributed as engine
import tally
rank = int(sys.argv[2])
torch.cuda.set_device(rank)
engine.init_process_group("nccl", init_method="file://" + sys.argv[1], rank=rank, world_size=2)
generator = torch.Generator().manual_seed(7)
exponents = torch.randint(-90, 90, (300001,), generator=generator).double()
x = torch.randn(300001, generator=generator, dtype=torch.float64) * 10.0 ** exponents
y = torch.randint(-9, 9, (300001,), generator=generator)
part, ours = (t.split([200003, 99998])[rank].to("cuda") for t in (x, y))
group = engine.group.WORLD
total = tally.sum(part, exact=True, group=group)
assert total.is_cuda and total.item() == tally.sum(x, exact=True).item()
assert tally.argmax(part, group=group).item() == x.argmax().item() and tally.min(ours, group=group).item() == y.min().item()
for reverse in (False, True):
    got = tally.cumulative_sum(ours, reverse=reverse, group=group)
    whole = tally.cumulative_sum(y, reverse=reverse)
    assert torch.equal(got.cpu(), whole.split([200003, 99998])[rank])
labels = (ours % 5 + 5) % 5
assert torch.equal(tally.sum(ours, labels=labels, groups=5, group=group).cpu(), tally.sum(y, labels=(y % 5 + 5) % 5, groups=5))
print("done", flush=True)
engine.destroy_process_group()
"""


def test_two_gpus(tmp_path):
    if not importlib.util.find_spec("torch"):
        pytest.skip("torch is not on this machine")
    counted = subprocess.run([sys.executable, "-c", "import torch; print(torch.cuda.device_count())"], capture_output=True,
                             text=True, timeout=120, check=False)
    if not counted.stdout.strip().isdigit() or int(counted.stdout) < 2:
        pytest.skip("this machine has no two GPUs for NCCL")
    ranks = [subprocess.Popen([sys.executable, "-c", ON_TWO_GPUS, str(tmp_path / "meeting"), str(rank)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) for rank in range(2)]
    for rank in ranks:
        out, err = rank.communicate(timeout=120)
        assert out.endswith("done\n"), err


def test_the_example_for_torch(tmp_path):
    if not importlib.util.find_spec("torch"):
        assert "torch" not in os.environ.get("TALLY_REQUIRE", "").split(",")
        pytest.skip("torch is not on this machine")
    example = pathlib.Path(__file__).parents[2] / "examples" / "torch_sum.py"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), "WORLD_SIZE": "2"}
    ranks = [subprocess.Popen([sys.executable, example], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path,
                              env={**os.environ, **meeting, "RANK": str(rank), "LOCAL_RANK": str(rank)}) for rank in range(2)]
    said = [rank.communicate(timeout=120) for rank in ranks]
    assert said[0][0] == "exact sum 247570832\n" and said[1][0] == "", said
