"""A rank of upstream Horovod with the tensors of horovod_benchmark: prints "many", "large" and "small" with microseconds.

The slowest rank counts; medians after three steps that are not counted."""
import statistics
import time

import horovod.torch as hvd
import torch

TENSORS = 2000


def median_us(repetitions, step):
    times = []
    for i in range(repetitions + 3):
        hvd.barrier()
        begin = time.perf_counter()
        step()
        if i >= 3:
            times.append((time.perf_counter() - begin) * 1e6)
    slowest = hvd.allreduce(torch.tensor([statistics.median(times)]), name="median", op=hvd.Max)
    return float(slowest[0])


def main():
    torch.set_num_threads(1)
    hvd.init()
    tensors = [torch.ones(256 * (1 + i * 37 % 64)) for i in range(TENSORS)]
    large = torch.ones(sum(tensor.numel() for tensor in tensors))
    small = torch.ones(2)

    def many():
        handles = [hvd.allreduce_async_(t, name=f"gradient.{i}", op=hvd.Sum) for i, t in enumerate(tensors)]
        for handle in handles:
            hvd.synchronize(handle)

    results = [
        ("many", median_us(15, many)),
        ("large", median_us(9, lambda: hvd.allreduce_(large, name="large", op=hvd.Sum))),
        ("small", median_us(300, lambda: hvd.allreduce_(small, name="small", op=hvd.Sum))),
    ]
    if hvd.rank() == 0:
        for name, us in results:
            print(name, f"{us:.1f}", flush=True)


main()
