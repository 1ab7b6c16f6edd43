"""Sums a tensor that lies in shards on the ranks of torch.distributed, exactly: every rank gets the sum of all elements,
rounded once, so the bits do not depend on the number of ranks, the shards or the backend.

    torchrun --nproc-per-node 4 examples/torch_sum.py           Gloo, on CPUs
    torchrun --nproc-per-node 2 examples/torch_sum.py nccl      NCCL, on GPUs

Each rank reduces its shard to a state: int64s (17 of f32) where the shard is. An all-reduce adds them, and a second plan
rounds. tally.sum(shard, exact=True, group=group) does all of this in one call.
"""
import os
import sys

import tally
import torch
import torch.distributed as dist


def exact_sum(shard, group=None):
    """The sum of all ranks' shards, as a tensor of one element on every rank."""
    name = str(shard.dtype).removeprefix("torch.")
    device = f"cuda:{shard.device.index}" if shard.is_cuda else "cpu"
    words = tally.Plan("sum", name, exact=True, words="out", device=device)(shard)
    dist.all_reduce(words, dist.ReduceOp.SUM, group)
    return tally.Plan("sum", name, exact=True, words="in", device=device)(words)


def main():
    backend = sys.argv[1] if len(sys.argv) > 1 else "gloo"
    dist.init_process_group(backend)
    rank, ranks = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if backend == "nccl" else torch.device("cpu")
    if device.type == "cuda":
        torch.cuda.set_device(device)

    # The same million numbers everywhere, of which each rank keeps its shard. Their plain sum depends on the order.
    torch.manual_seed(1)
    x = torch.randn(1_000_003) * 10.0 ** torch.randint(-8, 8, (1_000_003,))
    shard = x.tensor_split(ranks)[rank].to(device)

    total = exact_sum(shard)
    assert total.item() == float(tally.sum(x, exact=True)), "other bits than one process has"
    if rank == 0:
        print(f"exact sum {total.item():.9g}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
