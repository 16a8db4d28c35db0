"""DistributedDataParallel over tutti: the weights that Gloo gives, and the same bits in each run."""
import copy
import os
import tempfile
import unittest

import torch
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.nn.parallel import DistributedDataParallel

from ranks import check

STEPS = 8


def model_and_data(rank):
    torch.manual_seed(7)
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 64),
                          nn.ReLU(), nn.Linear(64, 10))
    torch.manual_seed(100 + rank)
    return model, torch.randn(STEPS, 6, 1, 8, 8), torch.randint(0, 10, (STEPS, 6))


def train(rank, hook=None, **options):
    """Weights after some steps. The buckets are small, so that there are several and they overlap the backward pass."""
    model, inputs, labels = model_and_data(rank)
    parallel = DistributedDataParallel(model, bucket_cap_mb=0.01, **options)
    if hook is not None:
        parallel.register_comm_hook(None, hook)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1, momentum=0.9)
    for step in range(STEPS):
        optimizer.zero_grad()
        if step == 3:
            with parallel.no_sync():
                nn.functional.cross_entropy(parallel(inputs[step]), labels[step]).backward()
        nn.functional.cross_entropy(parallel(inputs[step]), labels[step]).backward()
        optimizer.step()
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def train_sharded(rank, size):
    """Fully sharded training against one of the whole batch on each rank."""
    from torch.distributed.fsdp import FullyShardedDataParallel
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(33, 65), nn.ReLU(), nn.Linear(65, 10))
    whole = copy.deepcopy(model)
    sharded = FullyShardedDataParallel(model, device_id=torch.device("cpu"))
    optimizers = [torch.optim.SGD(each.parameters(), lr=0.1) for each in (sharded, whole)]
    for _ in range(STEPS):
        inputs = torch.randn(4 * size, 33)
        for each, part, optimizer in zip((sharded, whole), (inputs[4 * rank:4 * rank + 4], inputs), optimizers):
            optimizer.zero_grad()
            each(part).square().mean().backward()
            optimizer.step()
    inputs = torch.randn(5, 33)
    torch.testing.assert_close(sharded(inputs), whole(inputs), rtol=1e-4, atol=1e-5)


class Training(unittest.TestCase):
    def weights(self, size, backend, **options):
        """Weights of all ranks after a training over the backend."""
        with tempfile.TemporaryDirectory() as folder:
            check(self, size, lambda rank, _: torch.save(train(rank, **options), os.path.join(folder, str(rank))),
                  backend=backend)
            return [torch.load(os.path.join(folder, str(rank))) for rank in range(size)]

    def compare(self, size, **options):
        first = self.weights(size, "tutti", **options)
        again = self.weights(size, "tutti", **options)
        gloo = self.weights(size, "gloo", **options)
        untrained = model_and_data(0)[0].state_dict()
        for name, value in first[0].items():
            for rank in range(size):
                self.assertTrue(torch.equal(first[rank][name], again[rank][name]), f"{name} on rank {rank}")
                torch.testing.assert_close(first[rank][name], gloo[rank][name], rtol=1e-4, atol=1e-5)
            if "running" not in name and "num_batches" not in name:  # statistics belong to each rank
                for rank in range(size):
                    self.assertTrue(torch.equal(first[rank][name], first[0][name]), f"{name} on rank {rank}")
        self.assertFalse(torch.equal(first[0]["4.weight"], untrained["4.weight"]))

    def test_two_ranks(self):
        self.compare(2)

    def test_three_ranks(self):
        self.compare(3)

    def test_unused_parameters_are_looked_for(self):
        self.compare(2, find_unused_parameters=True)

    def test_gradients_in_half_precision(self):
        self.compare(2, hook=default_hooks.fp16_compress_hook)

    def test_different_data_on_the_ranks_matter(self):
        alone = self.weights(1, "tutti")
        together = self.weights(2, "tutti")
        self.assertFalse(torch.equal(alone[0]["4.weight"], together[0]["4.weight"]))

    @unittest.skipIf(torch.__version__.startswith("1."), "torch 1 shards on CUDA only")
    def test_fully_sharded(self):
        check(self, 2, train_sharded)


if __name__ == "__main__":
    unittest.main()
