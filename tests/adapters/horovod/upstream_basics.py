"""Drives the adapter by Horovod's own Python class, unchanged, of the package from PyPI.

upstream_basics.py SOURCE LIBRARY FOLDER: SOURCE is the unpacked package; every rank checks its answers and prints one
line at the end."""

import json
import os
import sys
import types

source, library, folder = sys.argv[1:4]
rank = int(os.environ["RANK"])
size = int(os.environ["WORLD_SIZE"])

# The package's own __init__ imports its launcher, which needs more packages. horovod.common is imported from its files.
package = types.ModuleType("horovod")
package.__path__ = [os.path.join(source, "horovod")]
sys.modules["horovod"] = package

from horovod.common import process_sets, util  # noqa: E402
from horovod.common.basics import HorovodBasics  # noqa: E402
from horovod.common.process_sets import ProcessSet, global_process_set  # noqa: E402


def expect(found, wanted, text):
    if found != wanted:
        sys.exit(f"rank {rank}: {text}: expected {wanted!r}, got {found!r}")


def refused(words, call, *arguments, **options):
    """The class raises a ValueError with these words."""
    try:
        found = call(*arguments, **options)
    except ValueError as error:
        expect(words in str(error), True, f"text of {call.__name__}, which is {error}")
        return
    sys.exit(f"rank {rank}: {call.__name__}{arguments} is not refused, it returns {found!r}")


def load():
    """The class opens a file beside a package, as horovod/torch/mpi_ops.py has it do."""
    mine = os.path.join(folder, f"package{rank}")
    os.mkdir(mine)
    os.symlink(library, os.path.join(mine, "mpi_lib_v2" + util.get_ext_suffix()))
    file = os.path.join(mine, "__init__.py")
    util.check_extension("horovod.torch", "HOROVOD_WITH_PYTORCH", file, "mpi_lib_v2")
    basics = HorovodBasics(file, "mpi_lib_v2")
    process_sets._setup(basics)
    return basics


def check_before(hvd):
    expect([hvd.Average, hvd.Sum, hvd.Adasum, hvd.Min, hvd.Max, hvd.Product], list(range(6)), "reductions")
    expect(hvd.is_initialized(), False, "is_initialized before init")
    for call in (hvd.rank, hvd.size, hvd.local_rank, hvd.local_size, hvd.cross_rank, hvd.cross_size, hvd.stop_timeline):
        refused("Horovod has not been initialized", call)
    refused("Horovod has not been initialized", hvd.start_timeline, "file")
    refused("Horovod has not been initialized", process_sets.add_process_set, [0])
    expect([hvd.mpi_built(), hvd.mpi_enabled(), hvd.gloo_built(), hvd.gloo_enabled(), hvd.ddl_built(),
            hvd.cuda_built(), hvd.rocm_built(), hvd.nccl_built()], [False] * 7 + [0], "built and enabled")
    expect(hvd.ccl_built() in (False, True), True, "ccl_built")
    refused("MPI is not enabled", hvd.mpi_threads_supported)
    refused("has not been built with MPI support", hvd.init, comm=object())
    refused("has not been built with MPI support", ProcessSet, object())


def check_place(hvd):
    expect(hvd.is_initialized(), True, "is_initialized")
    expect((hvd.rank(), hvd.size()), (rank, size), "rank and size")
    expect((hvd.local_rank(), hvd.local_size()), (rank, size), "local rank and size")
    expect((hvd.cross_rank(), hvd.cross_size()), (0, 1), "cross rank and size")
    expect(hvd.is_homogeneous(), True, "is_homogeneous")
    expect((global_process_set.ranks, global_process_set.size(), global_process_set.rank(),
            global_process_set.included()), (list(range(size)), size, rank, True), "the set of all ranks")


def check_member(one, ranks, text):
    expect((one.ranks, one.size(), one.included()), (ranks, len(ranks), rank in ranks), text)
    if rank in ranks:
        expect(one.rank(), ranks.index(rank), "rank in " + text)
    else:
        refused("Process is not part", one.rank)


def check_static_sets(hvd):
    parts = [list(range(0, size, 2)), list(range(1, size, 2))] if size > 1 else []
    sets = [ProcessSet(part) for part in parts]
    hvd.init(process_sets=sets)
    check_place(hvd)
    expect([one.process_set_id for one in sets], [1, 2][:len(sets)], "numbers of the sets")
    for one, part in zip(sets, parts):
        check_member(one, part, f"set of {part}")
    refused("Set HOROVOD_DYNAMIC_PROCESS_SETS=1", process_sets.add_process_set, [0])
    if sets:
        refused("Set HOROVOD_DYNAMIC_PROCESS_SETS=1", process_sets.remove_process_set, sets[0])
    refused("Set HOROVOD_TIMELINE=DYNAMIC", hvd.start_timeline, os.path.join(folder, "none"))
    hvd.stop_timeline()
    hvd.shutdown()
    expect(hvd.is_initialized(), False, "is_initialized after shutdown")
    refused("is a duplicate", hvd.init, process_sets=[ProcessSet(range(size))])
    hvd.shutdown()


def check_dynamic_sets(hvd):
    os.environ["HOROVOD_TIMELINE"] = "DYNAMIC"
    hvd.init(process_sets="dynamic")
    check_place(hvd)
    refused("duplicate", process_sets.add_process_set, range(size))
    if size > 1:
        last = process_sets.add_process_set([size - 1])
        check_member(last, [size - 1], "the set of the last rank")
        number = last.process_set_id
        expect(process_sets.remove_process_set(last), True, "removal of a set")
        expect((last.process_set_id, process_sets.remove_process_set(last)), (None, False), "a removed set")
        refused("does not exist", hvd._process_set_size, number)
    expect(process_sets.remove_process_set(global_process_set), False, "removal of the set of all ranks")
    path = os.path.join(folder, "timeline.json")
    hvd.start_timeline(path, mark_cycles=True)
    hvd.stop_timeline()
    if rank == 0:
        with open(path, encoding="utf-8") as file:
            expect(isinstance(json.load(file), list), True, "the timeline is a list of JSON")
    hvd.shutdown()


def check_parts(hvd):
    """The first rank alone, the others together in reverse order."""
    mine = [0] if rank == 0 else list(range(size - 1, 0, -1))
    hvd.init(comm=mine)
    expect((hvd.rank(), hvd.size()), (mine.index(rank), len(mine)), "rank and size of a part")
    expect(global_process_set.ranks, list(range(len(mine))), "the set of all ranks of a part")
    hvd.shutdown()
    refused("Horovod initialization failed", hvd.init, comm=[size + 1])


def main():
    hvd = load()
    check_before(hvd)
    check_static_sets(hvd)
    check_dynamic_sets(hvd)
    check_parts(hvd)
    hvd.init()  # ended by the class itself, at exit
    print(f"rank {rank} of {size}: upstream's class has right answers")


main()
