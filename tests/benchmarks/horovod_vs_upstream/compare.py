#!/usr/bin/env python3
"""Compares the Horovod-compatible engine with upstream Horovod: the same tensors, two ranks, in turns in one run.

compare.py --tutti build/release/bin/tutti --benchmark build/release/benchmarks/horovod_benchmark [--rounds N]
           [--python PYTHON] [--check]

PYTHON is one that can import horovod.torch. Exit codes: 0, 1 for a missed target with --check, 77 if there is no
upstream Horovod.
"""
import argparse
import os
import statistics
import subprocess
import sys

TARGETS = {"many": 3, "large": 2, "small": 20}
TITLES = {
    "many": "2000 tensors of 1 to 64 KiB, 66.5 MB in all",
    "large": "one tensor of 66.5 MB",
    "small": "one cached tensor of 8 B",
}
INSTALL = """{python} cannot import horovod.torch. To install it (Debian: python3-torch libtorch-dev python3-dev
pybind11-dev libopenmpi-dev openmpi-bin cmake; two minutes):
  /usr/bin/python3 -m venv --system-site-packages upstream
  HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITH_MPI=1 \\
    HOROVOD_WITHOUT_GLOO=1 HOROVOD_CPU_OPERATIONS=MPI upstream/bin/pip install --no-build-isolation horovod==0.28.1
  compare.py --python upstream/bin/python ..."""


def run(command, environment=None):
    """The numbers that rank 0 prints, by name."""
    done = subprocess.run(command, env={**os.environ, **(environment or {})}, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=240, check=False)
    # tutti run begins lines with the rank.
    words = [line.removeprefix("[0] ").split() for line in done.stdout.splitlines()]
    numbers = {word[0]: float(word[1]) for word in words if len(word) == 2 and word[0] in TARGETS}
    if done.returncode != 0 or len(numbers) != len(TARGETS):
        sys.exit(f"{' '.join(command)} failed with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tutti", required=True)
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    probe = subprocess.run([options.python, "-c", "import horovod.torch"], capture_output=True, check=False)
    if probe.returncode != 0:
        print(INSTALL.format(python=options.python), file=sys.stderr)
        return 77
    ranks = os.path.join(os.path.dirname(os.path.abspath(__file__)), "upstream_ranks.py")
    # Bound to a core each, the ranks of upstream would share it with their background threads.
    upstream = ["mpirun", "-n", "2", "--bind-to", "none", options.python, ranks]
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    tutti = [options.tutti, "run", "-n", "2", "--backend", "native", "--", options.benchmark, "--engine"]
    columns = {name: {"tutti": [], "upstream": [], "fast": []} for name in TARGETS}
    for _ in range(options.rounds):
        for column, found in (("tutti", run(tutti)), ("upstream", run(upstream, as_root)),
                              ("fast", run(upstream, {**as_root, "HOROVOD_CYCLE_TIME": "0.1"}))):
            for name, us in found.items():
                columns[name][column].append(us)
    print("| | tutti, us | upstream, us | times as fast | target | upstream at a cycle of 0.1 ms, us | times as fast |")
    print("|---|---|---|---|---|---|---|")
    missed = False
    for name, target in TARGETS.items():
        column = columns[name]

        def ratio(of, its=column):
            return statistics.median(them / us for them, us in zip(its[of], its["tutti"]))

        middle = {one: statistics.median(times) for one, times in column.items()}
        missed |= ratio("upstream") < target
        print(f"| {TITLES[name]} | {middle['tutti']:.1f} | {middle['upstream']:.1f} | {ratio('upstream'):.1f} | {target} "
              f"| {middle['fast']:.1f} | {ratio('fast'):.1f} |")
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
