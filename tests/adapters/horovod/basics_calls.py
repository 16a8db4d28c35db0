"""Calls Horovod's C functions through ctypes as Horovod's Python class does.

basics_calls.py LIBRARY FOLDER: every rank checks its answers and prints one line at the end."""

import ctypes
import os
import sys

ERROR_INIT, ERROR_DYNAMIC, ERROR_UNKNOWN, ERROR_FOREIGN, ERROR_SHUTDOWN, ERROR_EXISTING = -1, -2, -3, -4, -5, -6

library = ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
folder = sys.argv[2]
rank = int(os.environ["RANK"])
size = int(os.environ["WORLD_SIZE"])


def expect(found, wanted, text):
    if found != wanted:
        sys.exit("rank %d: %s: expected %r, got %r" % (rank, text, wanted, found))


def init(ranks=(), process_sets=()):
    flat = [member for one in process_sets for member in one]
    sizes = [len(one) for one in process_sets]
    # The Python class reads the result as an int, as ctypes does by default.
    return library.horovod_init((ctypes.c_int * len(ranks))(*ranks), ctypes.c_int(len(ranks)),
                                (ctypes.c_int * len(flat))(*flat), (ctypes.c_int * len(sizes))(*sizes),
                                ctypes.c_int(len(sizes))) & 0xff


def add(ranks):
    return library.horovod_add_process_set((ctypes.c_int * len(ranks))(*ranks), ctypes.c_int(len(ranks)))


def sets():
    ids = (ctypes.c_int * library.horovod_number_of_process_sets())()
    library.horovod_process_set_ids(ids)
    found = {}
    for one in ids:
        ranks = (ctypes.c_int * library.horovod_process_set_size(ctypes.c_int(one)))()
        expect(library.horovod_process_set_ranks(ctypes.c_int(one), ranks), 0, "ranks of set %d" % one)
        found[one] = list(ranks)
    return found


def check_before():
    for name in ("rank", "size", "local_rank", "local_size", "cross_rank", "cross_size", "mpi_threads_supported",
                 "stop_timeline"):
        expect(getattr(library, "horovod_" + name)(), -1, name + " before init")
    expect(library.horovod_is_initialized(), 0, "is_initialized before init")
    expect(library.horovod_start_timeline(b"x", ctypes.c_bool(False)), -1, "start_timeline before init")
    expect(library.horovod_process_set_size(ctypes.c_int(1)), ERROR_INIT, "process_set_size before init")
    expect(add([0]), ERROR_INIT, "add_process_set before init")
    library.horovod_shutdown()


def check_constants():
    ops = [getattr(library, "horovod_reduce_op_" + name)()
           for name in ("average", "sum", "adasum", "min", "max", "product")]
    expect(ops, list(range(6)), "reductions")
    for name in ("mpi", "gloo", "ddl", "cuda", "rocm"):
        expect(getattr(library, "horovod_%s_built" % name)() & 0xff, 0, name + "_built")
    expect(library.horovod_nccl_built(), 0, "nccl_built")
    expect((library.horovod_mpi_enabled() | library.horovod_gloo_enabled()) & 0xff, 0, "enabled")
    values = [ctypes.c_int.in_dll(library, "HOROVOD_PROCESS_SET_ERROR_" + name).value
              for name in ("INIT", "DYNAMIC", "UNKNOWN_SET", "FOREIGN_SET", "SHUTDOWN", "EXISTING_SET")]
    expect(values, list(range(-1, -7, -1)), "error numbers")


def check_place():
    expect(library.horovod_is_initialized(), 1, "is_initialized")
    expect((library.horovod_rank(), library.horovod_size()), (rank, size), "rank and size")
    expect((library.horovod_local_rank(), library.horovod_local_size()), (rank, size), "local rank and size")
    expect((library.horovod_cross_rank(), library.horovod_cross_size()), (0, 1), "cross rank and size")
    expect(library.horovod_is_homogeneous() & 0xff, 1, "is_homogeneous")


def check_static_sets():
    lists = [[0], list(range(size)), [0]] + ([[1, 0]] if size > 1 else [])
    expect(init(process_sets=lists), 1, "init with process sets")
    expect(init(), 1, "a second init")
    check_place()
    wanted = [list(range(size))]
    for one in ([0], [0, 1]):
        if one not in wanted and len(one) <= size:
            wanted.append(one)
    expect(list(sets().values()), wanted, "process sets of init")
    expect(add([0]), ERROR_DYNAMIC, "add_process_set without dynamic sets")
    expect(library.horovod_remove_process_set(ctypes.c_int(1)), ERROR_DYNAMIC, "remove without dynamic sets")
    expect(library.horovod_start_timeline(b"x", ctypes.c_bool(False)), -2, "start_timeline without HOROVOD_TIMELINE")
    expect(library.horovod_stop_timeline(), 1, "stop_timeline")
    library.horovod_shutdown()
    expect(library.horovod_is_initialized(), 0, "is_initialized after shutdown")


def check_dynamic_sets():
    # As init("dynamic") of the Python class does.
    os.environ["HOROVOD_DYNAMIC_PROCESS_SETS"] = "1"
    os.environ["HOROVOD_TIMELINE"] = "DYNAMIC"
    expect(init(), 1, "init again")
    expect(sets(), {0: list(range(size))}, "process sets")
    expect(add(list(range(size))), ERROR_EXISTING, "add all ranks")
    expect(add([size]), ERROR_UNKNOWN, "add a rank that does not exist")
    expect(library.horovod_process_set_rank(ctypes.c_int(7)), ERROR_UNKNOWN, "rank in an unknown set")
    expect(library.horovod_process_set_ranks(ctypes.c_int(7), (ctypes.c_int * 1)()), ERROR_UNKNOWN, "unknown ranks")
    expect(library.horovod_remove_process_set(ctypes.c_int(7)), ERROR_UNKNOWN, "remove an unknown set")
    if size > 1:
        last = size - 1
        if size > 2:
            expect(add([last, 0]) > 0, True, "add two ranks")
            expect(add([0, last]), ERROR_EXISTING, "add them again")
        single = add([last])
        expect(library.horovod_process_set_size(ctypes.c_int(single)), 1, "size of a set")
        expect(library.horovod_process_set_included(ctypes.c_int(single)), int(rank == last), "included")
        expect(library.horovod_process_set_rank(ctypes.c_int(single)), 0 if rank == last else ERROR_FOREIGN, "rank in")
        expect(library.horovod_remove_process_set(ctypes.c_int(single)), single, "remove")
        expect(library.horovod_process_set_size(ctypes.c_int(single)), ERROR_UNKNOWN, "size of a removed set")
        expect(add([last]), single, "the number of a removed set again")
    path = os.path.join(folder, "timeline.json")
    expect(library.horovod_start_timeline(ctypes.c_char_p(path.encode()), ctypes.c_bool(True)), 1, "start_timeline")
    expect(library.horovod_stop_timeline(), 1, "stop_timeline")
    expect(rank != 0 or open(path).read().rstrip().endswith("]"), True, "the timeline is complete")
    library.horovod_shutdown()


def check_parts():
    """Groups of some ranks: the first one alone, the others together in reverse order."""
    mine = [0] if rank == 0 else list(range(size - 1, 0, -1))
    expect(init(ranks=mine), 1, "init with a list of ranks")
    expect((library.horovod_rank(), library.horovod_size()), (mine.index(rank), len(mine)), "rank and size of a part")
    expect(sets(), {0: list(range(len(mine)))}, "process sets of a part")
    library.horovod_shutdown()
    expect(init(ranks=[size + 1]), 0, "init with a list without this rank")
    expect(library.horovod_is_initialized(), 0, "is_initialized after an error")


check_before()
check_constants()
check_static_sets()
check_dynamic_sets()
check_parts()
print("rank %d of %d: all answers are right" % (rank, size))
