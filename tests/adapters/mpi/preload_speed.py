"""Compares an MPI benchmark with and without tutti's adapter, in turns:

preload_speed.py TUTTI RUNS COMMAND...

COMMAND prints lines of IMB-MPI1: bytes, repetitions, least, greatest and average time. Prints for each size the medians
of the average times of the runs with their ratio, and the same of the least ones, which other programs disturb less."""

import re
import statistics
import subprocess
import sys

tutti, runs, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
LINE = re.compile(r"^\s*(\d+)\s+\d+\s+[\d.]+\s+[\d.]+\s+([\d.]+)\s*$", re.MULTILINE)


def times(line):
    result = subprocess.run(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    if result.returncode != 0:
        sys.exit("%s ended with %d:\n%s%s" % (" ".join(line), result.returncode, result.stdout, result.stderr))
    found = {int(size): float(time) for size, time in LINE.findall(result.stdout)}
    if not found:
        sys.exit("%s printed no times:\n%s" % (" ".join(line), result.stdout))
    return found


plain, served = [], []
for _ in range(runs):
    plain.append(times(command))
    served.append(times([tutti, "preload", "mpi", "--"] + command))
print("%10s %12s %12s %7s %12s %12s %7s" % ("bytes", "MPI us", "tutti us", "ratio", "MPI least", "tutti least", "ratio"))
for size in sorted(plain[0]):
    if size == 0:
        continue
    row = [size]
    for summary in (statistics.median, min):
        before = summary(one[size] for one in plain)
        after = summary(one[size] for one in served)
        row += [before, after, before / after]
    print("%10d %12.1f %12.1f %7.2f %12.1f %12.1f %7.2f" % tuple(row))
