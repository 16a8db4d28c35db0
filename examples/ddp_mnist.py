"""Data-parallel training with torch.distributed over tutti, on images like those of MNIST that the script makes.

    python examples/ddp_mnist.py                      # 2 ranks, ResNet-18
    python examples/ddp_mnist.py --model resnet50 --ranks 3 --epochs 2
    python examples/ddp_mnist.py --table              # speed-up for 1 to 4 ranks, with and without collectives
    python examples/ddp_mnist.py --backend gloo       # the same over another backend

PYTHONPATH must have the folder of tutti_torch, unless it is installed (adapters/torch/README.md).
"""
import argparse
import datetime
import os
import statistics
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing
from torch import nn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel

CLASSES = 10
SIDE = 28


class Block(nn.Module):
    """Residual block: two 3x3 convolutions, or 1x1, 3x3 and 1x1 ones that widen by four."""

    def __init__(self, inputs, width, stride, is_wide):
        super().__init__()
        outputs = 4 * width if is_wide else width
        shapes = [(1, 1), (3, stride), (1, 1)] if is_wide else [(3, stride), (3, 1)]
        layers = []
        channels = inputs
        for i, (side, step) in enumerate(shapes):
            after = outputs if i + 1 == len(shapes) else width
            layers += [nn.Conv2d(channels, after, side, step, side // 2, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
            channels = after
        self.body = nn.Sequential(*layers[:-1])
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, data):
        return functional.relu(self.body(data) + self.shortcut(data))


def resnet(blocks, is_wide, base):
    """ResNet for small images: without the pooling at the start. `base` is the width of the first blocks, 64 in the
    paper."""
    layers = [nn.Conv2d(1, base, 3, 1, 1, bias=False), nn.BatchNorm2d(base), nn.ReLU()]
    channels = base
    for stage, count in enumerate(blocks):
        width = base << stage
        for i in range(count):
            layers.append(Block(channels, width, 2 if stage > 0 and i == 0 else 1, is_wide))
            channels = 4 * width if is_wide else width
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES))


class Transformer(nn.Module):
    """Encoder of 6 layers and 4 heads over the rows of the image."""

    def __init__(self, width):
        super().__init__()
        self.embedding = nn.Linear(SIDE, width)
        self.position = nn.Parameter(torch.randn(1, SIDE, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, images):
        rows = self.embedding(images.squeeze(1)) + self.position
        return self.head(self.encoder(rows).mean(1))


MODELS = {
    "resnet18": lambda width: resnet((2, 2, 2, 2), False, width),
    "resnet50": lambda width: resnet((3, 4, 6, 3), True, width),
    "resnet101": lambda width: resnet((3, 4, 23, 3), True, width),
    "transformer": lambda width: Transformer(4 * width),
}


def make_images(count, seed):
    """Images of ten shapes, moved about and with noise, and their classes."""
    shapes = torch.nn.functional.interpolate(
        (torch.rand(CLASSES, 1, 7, 7, generator=torch.Generator().manual_seed(1)) > 0.5).float(), SIDE)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, CLASSES, (count,), generator=generator)
    moves = torch.randint(-2, 3, (count, 2), generator=generator)
    images = torch.stack([shapes[label].roll(tuple(move.tolist()), (1, 2)) for label, move in zip(labels, moves)])
    return images + 0.5 * torch.randn(images.shape, generator=generator), labels


def make_training(options, size, with_collectives):
    """A model and a function that trains it with a batch. Without collectives each rank trains a model of its own."""
    torch.manual_seed(3)
    plain = MODELS[options.model](options.width)
    model = DistributedDataParallel(plain, bucket_cap_mb=options.bucket_mb) if with_collectives else plain
    optimizer = torch.optim.Adam(model.parameters(), lr=options.rate * (size if with_collectives else 1))

    def step(images, labels):
        begin = time.perf_counter()
        optimizer.zero_grad()
        functional.cross_entropy(model(images), labels).backward()
        optimizer.step()
        return time.perf_counter() - begin
    return plain, step


def accuracy_of(model, images, labels):
    model.eval()
    with torch.no_grad():
        right = sum((model(part).argmax(1) == wanted).sum().item()
                    for part, wanted in zip(images.split(64), labels.split(64)))
    model.train()
    return right / len(labels)


def train(rank, size, options):
    """Trains and prints the images per second of all ranks since the first steps, tests excluded."""
    model, train_step = make_training(options, size, True)
    images, labels = make_images(options.images, 100 + rank)
    test_images, test_labels = make_images(options.images // 4, 99)
    times = []
    step = 0
    for epoch in range(options.epochs):
        begin = time.perf_counter()
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(epoch))
        for part in order.split(options.batch):
            times.append(train_step(images[part], labels[part]))
            step += 1
            counted = times[options.warm_up:]
            if rank == 0 and counted and step % options.report == 0:
                print(f"- Step{step}: {size * options.batch * len(counted) / sum(counted):.2f} data/sec", flush=True)
        test_begin = time.perf_counter()
        accuracy = accuracy_of(model, test_images, test_labels)
        if rank == 0:
            print(f"- Epoch {epoch} in {test_begin - begin:.2f} sec, "
                  f"test time {time.perf_counter() - test_begin:.2f} sec, test accuracy:{accuracy:.4f}", flush=True)


def compare(rank, size, options):
    """Trains without and with collectives, a step of each in turns, so that both meet the same noise of the machine.
    Rank 0 prints a row: images per second of all ranks, by the median step of each."""
    steps = {kind: make_training(options, size, kind)[1] for kind in (False, True)}
    images, labels = make_images(options.images, 100 + rank)
    times = {kind: [] for kind in steps}
    for part in torch.arange(len(images)).split(options.batch):
        for kind, step in steps.items():
            times[kind].append(step(images[part], labels[part]))
    medians = torch.tensor([statistics.median(times[kind][options.warm_up:]) for kind in (False, True)])
    dist.all_reduce(medians)
    alone, together = (size * options.batch / (medians / size)).tolist()
    if rank == 0:
        base_file = os.path.join(options.folder, "base")
        if size == 1:
            torch.save(alone, base_file)
        base = torch.load(base_file)
        print(f"| {size} | {alone:.2f} | {alone / base:.2f}x | {together:.2f} | {together / base:.2f}x | "
              f"{100 * together / alone:.0f} % |", flush=True)


def rank_main(rank, size, options, body):
    torch.set_num_threads(1)
    if options.backend == "tutti":
        import tutti_torch  # noqa: F401: registers the backend
    dist.init_process_group(options.backend, rank=rank, world_size=size,
                            init_method=f"file://{options.folder}/store{size}", timeout=datetime.timedelta(minutes=5))
    body(rank, size, options)
    dist.destroy_process_group()


def run(size, options, body):
    multiprocessing.start_processes(rank_main, (size, options, body), size, start_method="fork")


def print_table(options):
    """Rates without collectives (each rank trains alone) and with them, and the gain over one rank."""
    print(f"# {options.model}, batch {options.batch} per rank, backend {options.backend}, {os.cpu_count()} cores\n")
    print("| ranks | without collectives, data/sec | speed-up | with collectives, data/sec | speed-up | with/without |")
    print("|---|---|---|---|---|---|", flush=True)
    for size in range(1, 5):
        run(size, options, compare)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", choices=MODELS, default="resnet18")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--backend", default="tutti")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--images", type=int, default=None, help="per rank and epoch; default: 640, with --table 320")
    parser.add_argument("--batch", type=int, default=None, help="images per rank and step; default: 32, with --table 8")
    parser.add_argument("--width", type=int, default=16, help="of the first layers; 64: the full model")
    parser.add_argument("--rate", type=float, default=0.002, help="learning rate per rank")
    parser.add_argument("--bucket-mb", type=float, default=25, help="gradients that are reduced together")
    parser.add_argument("--report", type=int, default=10, help="steps between two lines")
    parser.add_argument("--warm-up", type=int, default=2, help="first steps that are not timed")
    parser.add_argument("--table", action="store_true", help="speed-up with and without collectives, 1 to 4 ranks")
    options = parser.parse_args()
    options.images = options.images or (320 if options.table else 640)
    options.batch = options.batch or (8 if options.table else 32)
    with tempfile.TemporaryDirectory() as options.folder:
        if options.table:
            print_table(options)
            return
        print(f"# {options.model}, {options.ranks} ranks, batch {options.batch} per rank, backend {options.backend}\n",
              flush=True)
        run(options.ranks, options, train)


if __name__ == "__main__":
    main()
