"""Runs a function as the ranks of a job: processes forked after the import of torch, which takes seconds."""
import datetime
import os
import select
import signal
import sys
import tempfile
import time
import traceback

import torch
import torch.distributed as dist
import tutti_torch  # noqa: F401: registers the backend

torch.set_num_threads(1)  # before the fork: threads of a pool would not survive it
TIMEOUT = datetime.timedelta(seconds=60)
DEADLINE_S = 120
job = {}  # of this rank: a store that it shares with the others


def _rank_main(function, rank, size, backend, store_file, timeout, pipe):
    """In the child: runs the function and tells the parent its exception, if there is one."""
    text = ""
    try:
        store = dist.FileStore(store_file, size)
        job["store"] = dist.PrefixStore("test", store)
        dist.init_process_group(backend, store=store, rank=rank, world_size=size, timeout=timeout)
        function(rank, size)
        dist.destroy_process_group()
    except BaseException:  # pylint: disable=broad-except
        text = traceback.format_exc()
    with os.fdopen(pipe, "w") as out:
        out.write(text)
    sys.stdout.flush()
    os._exit(1 if text else 0)


def run(size, function, backend="tutti", timeout=TIMEOUT, deadline_s=DEADLINE_S):
    """Calls function(rank, size) in `size` processes with a process group. Returns the exceptions by rank, "" for none,
    or the number of the signal that ended the rank. Raises TimeoutError, after it has ended the ranks, if one hangs."""
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for rank in range(size):
            reader, writer = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.close(reader)
                for _, other in children:
                    os.close(other)
                _rank_main(function, rank, size, backend, os.path.join(folder, "store"), timeout, writer)
            os.close(writer)
            children.append((pid, reader))
        return _collect(children, time.monotonic() + deadline_s)


def _collect(children, end):
    results = []
    late = []
    for rank, (pid, reader) in enumerate(children):
        text = b""
        while True:
            if not select.select([reader], [], [], max(0, end - time.monotonic()))[0]:
                late.append(rank)
                os.kill(pid, signal.SIGKILL)
                break
            part = os.read(reader, 65536)
            if not part:
                break
            text += part
        os.close(reader)
        _, status = os.waitpid(pid, 0)
        results.append(os.WTERMSIG(status) if os.WIFSIGNALED(status) else text.decode())
    if late:
        raise TimeoutError(f"ranks {late} did not end before the deadline; results: {results}")
    return results


def check(test, size, function, **options):
    """Runs the function and fails the test of unittest if a rank failed."""
    results = run(size, function, **options)
    failed = {rank: result for rank, result in enumerate(results) if result != ""}
    test.assertFalse(failed, "\n".join(f"rank {rank}:\n{text}" for rank, text in failed.items()))
