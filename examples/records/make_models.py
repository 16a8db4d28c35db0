#!/usr/bin/env python3
"""Makes the records of gradients in this folder: alexnet, resnet18, resnet50, resnet101, transformer and vgg16.

One step of data-parallel training, as a backward pass makes it: an asynchronous allreduce for the gradient of each
parameter, last layer first, and the time that computing the gradient takes before it; at the end the step waits for all
of them. The layers are those of the published architectures; the sums of their parameters are checked.

usage: make_models.py [FOLDER]
"""

import os
import sys

# Speed of the backward pass: operations per second, and pictures per step and rank. A multiply-add counts as two.
SPEED = 40e12
BATCH = 64
STEPS = 10


class Model:
    """A list of parameters in the order of the forward pass: (name, elements, floating-point operations)."""

    def __init__(self, name, about, expected):
        self.name, self.about, self.expected = name, about, expected
        self.parameters = []

    def add(self, name, elements, flops):
        self.parameters.append((name, elements, flops))

    def convolution(self, name, inputs, outputs, kernel, size, bias):
        """`size`: width and height of the output."""
        flops = 2 * kernel * kernel * inputs * outputs * size * size
        self.add(name + ".weight", kernel * kernel * inputs * outputs, flops)
        if bias:
            self.add(name + ".bias", outputs, outputs * size * size)

    def normalisation(self, name, channels, size):
        self.add(name + ".weight", channels, 2 * channels * size * size)
        self.add(name + ".bias", channels, 2 * channels * size * size)

    def linear(self, name, inputs, outputs):
        self.add(name + ".weight", inputs * outputs, 2 * inputs * outputs)
        self.add(name + ".bias", outputs, outputs)

    def text(self):
        total = sum(elements for _, elements, _ in self.parameters)
        assert total == self.expected, (self.name, total, self.expected)
        lines = [
            "tutti-record 1",
            "# Made by make_models.py.",
            "ranks any",
            f'about "{self.about}"',
            "sequence all",
            f"repeat {STEPS}",
        ]
        # The gradients of the weights and of the inputs cost as much as the forward pass each. The forward pass itself
        # comes before the first gradient.
        forward = sum(flops for _, _, flops in self.parameters)
        gap = forward * BATCH / SPEED
        for name, elements, flops in reversed(self.parameters):
            gap += 2 * flops * BATCH / SPEED
            lines.append(f'  allreduce {elements} float32 average in_place async label="{name}" +{gap * 1e6:.1f}')
            gap = 0
        lines += ["  wait all", "end"]
        return "\n".join(lines) + "\n"


def resnet(depth, blocks, bottleneck, expected):
    """`blocks`: of each stage; a block is two 3x3 convolutions, or with `bottleneck` a 3x3 between two 1x1."""
    about = f"ResNet-{depth}: gradients of {expected / 1e6:.1f} million parameters, float32"
    model = Model(f"resnet{depth}", about, expected)
    model.convolution("conv1", 3, 64, 7, 112, False)
    model.normalisation("bn1", 64, 112)
    inputs = 64
    for stage, (width, count, size) in enumerate(zip((64, 128, 256, 512), blocks, (56, 28, 14, 7)), 1):
        outputs = 4 * width if bottleneck else width
        for block in range(count):
            name = f"layer{stage}.{block}"
            # The first block of a stage halves the picture in its first 3x3 convolution.
            before = size * 2 if block == 0 and stage > 1 and bottleneck else size
            kernels = (1, 3, 1) if bottleneck else (3, 3)
            for place, kernel in enumerate(kernels, 1):
                after = outputs if place == len(kernels) else width
                extent = before if place == 1 else size
                model.convolution(f"{name}.conv{place}", inputs if place == 1 else width, after, kernel, extent, False)
                model.normalisation(f"{name}.bn{place}", after, extent)
            if inputs != outputs:
                model.convolution(name + ".downsample.0", inputs, outputs, 1, size, False)
                model.normalisation(name + ".downsample.1", outputs, size)
            inputs = outputs
    model.linear("fc", inputs, 1000)
    return model


def alexnet():
    model = Model("alexnet", "AlexNet: gradients of 61.1 million parameters, float32", 61_100_840)
    inputs = 3
    layers = [(0, 64, 11, 55), (3, 192, 5, 27), (6, 384, 3, 13), (8, 256, 3, 13), (10, 256, 3, 13)]
    for place, outputs, kernel, size in layers:
        model.convolution(f"features.{place}", inputs, outputs, kernel, size, True)
        inputs = outputs
    for place, (before, after) in zip((1, 4, 6), [(256 * 6 * 6, 4096), (4096, 4096), (4096, 1000)]):
        model.linear(f"classifier.{place}", before, after)
    return model


def transformer():
    """The layers of BERT-base, for pieces of text of 128 words."""
    width, hidden, words, length = 768, 3072, 30_522, 128
    model = Model("transformer", "Transformer as BERT-base: gradients of 109.5 million parameters, float32", 109_482_240)

    def dense(name, before, after, more=0):
        model.add(name + ".weight", before * after, 2 * before * after * length + more)
        model.add(name + ".bias", after, after * length)

    def layer_norm(name):
        model.add(name + ".weight", width, 4 * width * length)
        model.add(name + ".bias", width, width * length)

    for name, rows in [("word", words), ("position", 512), ("token_type", 2)]:
        model.add(f"embeddings.{name}.weight", rows * width, width * length)
    layer_norm("embeddings.norm")
    for layer in range(12):
        name = f"layer.{layer}"
        for part in ("query", "key", "value"):
            dense(f"{name}.attention.{part}", width, width)
        # The products of queries, keys and values have no parameters of their own.
        dense(f"{name}.attention.output", width, width, 4 * length * length * width)
        layer_norm(f"{name}.attention.norm")
        dense(f"{name}.intermediate", width, hidden)
        dense(f"{name}.output", hidden, width)
        layer_norm(f"{name}.output.norm")
    dense("pooler", width, width)
    return model


def vgg16():
    model = Model("vgg16", "VGG-16: gradients of 138.4 million parameters, float32", 138_357_544)
    inputs, place = 3, 0
    for width, layers, size in [(64, 2, 224), (128, 2, 112), (256, 3, 56), (512, 3, 28), (512, 3, 14)]:
        for _ in range(layers):
            model.convolution(f"features.{place}", inputs, width, 3, size, True)
            inputs, place = width, place + 2
        place += 1
    for place, (before, after) in zip((0, 3, 6), [(512 * 7 * 7, 4096), (4096, 4096), (4096, 1000)]):
        model.linear(f"classifier.{place}", before, after)
    return model


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
    models = [
        alexnet(),
        resnet(18, (2, 2, 2, 2), False, 11_689_512),
        resnet(50, (3, 4, 6, 3), True, 25_557_032),
        resnet(101, (3, 4, 23, 3), True, 44_549_160),
        transformer(),
        vgg16(),
    ]
    for model in models:
        with open(os.path.join(folder, model.name + ".record"), "w", encoding="ascii") as file:
            file.write(model.text())


if __name__ == "__main__":
    main()
