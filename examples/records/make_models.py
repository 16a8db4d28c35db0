#!/usr/bin/env python3
"""Makes the records of gradients in this folder: resnet50.record and vgg16.record.

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


def resnet50():
    model = Model("resnet50", "ResNet-50: gradients of 25.6 million parameters, float32", 25_557_032)
    model.convolution("conv1", 3, 64, 7, 112, False)
    model.normalisation("bn1", 64, 112)
    inputs = 64
    for stage, (width, blocks, size) in enumerate([(64, 3, 56), (128, 4, 28), (256, 6, 14), (512, 3, 7)], 1):
        for block in range(blocks):
            name = f"layer{stage}.{block}"
            # The first block of a stage halves the picture in its 3x3 convolution.
            before = size * 2 if block == 0 and stage > 1 else size
            model.convolution(name + ".conv1", inputs, width, 1, before, False)
            model.normalisation(name + ".bn1", width, before)
            model.convolution(name + ".conv2", width, width, 3, size, False)
            model.normalisation(name + ".bn2", width, size)
            model.convolution(name + ".conv3", width, 4 * width, 1, size, False)
            model.normalisation(name + ".bn3", 4 * width, size)
            if block == 0:
                model.convolution(name + ".downsample.0", inputs, 4 * width, 1, size, False)
                model.normalisation(name + ".downsample.1", 4 * width, size)
            inputs = 4 * width
    model.linear("fc", 2048, 1000)
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
    for model in (resnet50(), vgg16()):
        with open(os.path.join(folder, model.name + ".record"), "w", encoding="ascii") as file:
            file.write(model.text())


if __name__ == "__main__":
    main()
