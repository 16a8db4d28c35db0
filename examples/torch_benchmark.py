"""Compares torch.distributed over tutti with Gloo, in turns in one run, so that both meet the same noise.

    python examples/torch_benchmark.py                # allreduce of 64 MB and smaller, 2 ranks
    python examples/torch_benchmark.py --training     # steps of DistributedDataParallel
"""
import argparse
import datetime
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

import tutti_torch  # noqa: F401: registers the backend

BACKENDS = ("tutti", "gloo")


def seconds_of(call):
    dist.barrier()
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def compare(name, calls, rounds, rank):
    """Prints the medians over the rounds and their ratio; one of each backend per round."""
    times = {backend: [] for backend in BACKENDS}
    for turn in range(rounds + 2):  # the first two are not counted
        for backend in BACKENDS if turn % 2 else reversed(BACKENDS):
            seconds = seconds_of(calls[backend])
            if turn >= 2:
                times[backend].append(seconds)
    medians = {backend: statistics.median(values) for backend, values in times.items()}
    if rank == 0:
        print(f"| {name} | {medians['tutti'] * 1e3:.3f} | {medians['gloo'] * 1e3:.3f} | "
              f"{medians['gloo'] / medians['tutti']:.2f} |", flush=True)


def allreduces(groups, rounds, rank):
    for count in (1, 1 << 10, 1 << 14, 1 << 18, 1 << 22, 1 << 24):
        tensor = torch.zeros(count)
        calls = {backend: lambda group=group: dist.all_reduce(tensor, group=group) for backend, group in groups.items()}
        compare(f"allreduce of {count * 4} B", calls, rounds, rank)


def trainings(groups, rounds, rank, width):
    inputs = torch.randn(16, width)
    labels = torch.randint(0, 10, (16,))
    calls = {}
    for backend, group in groups.items():
        torch.manual_seed(1)
        layers = [layer for _ in range(6) for layer in (nn.Linear(width, width), nn.ReLU())]
        model = DistributedDataParallel(nn.Sequential(*layers, nn.Linear(width, 10)), process_group=group)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

        def step(model=model, optimizer=optimizer):
            optimizer.zero_grad()
            functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()
        calls[backend] = step
    compare(f"step of DistributedDataParallel, {6 * width * width * 4 >> 20} MB of gradients", calls, rounds, rank)


def rank_main(rank, size, options, folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=size, init_method=f"file://{folder}/store",
                            timeout=datetime.timedelta(minutes=2))
    groups = {backend: dist.new_group(backend=backend) for backend in BACKENDS}
    if rank == 0:
        print(f"torch {torch.__version__}, {size} ranks, {options.rounds} rounds\n\n"
              "| call | tutti, ms | Gloo, ms | Gloo / tutti |\n|---|---|---|---|")
    if options.training:
        for width in (256, 1024, 1672):
            trainings(groups, options.rounds, rank, width)
    else:
        allreduces(groups, options.rounds, rank)
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--training", action="store_true", help="steps of a training instead of single calls")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        multiprocessing.start_processes(rank_main, (options.ranks, options, folder), options.ranks,
                                        start_method="fork")


if __name__ == "__main__":
    main()
