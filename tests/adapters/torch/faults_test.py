"""Late and dead ranks: exceptions with tutti's text, and no rank that hangs."""
import datetime
import os
import signal
import unittest

import torch
import torch.distributed as dist
import tutti_torch

from ranks import run

SHORT = datetime.timedelta(seconds=2)


def error_of(call):
    """The text of the exception that the call raises."""
    try:
        call()
    except RuntimeError as error:
        return str(error)
    raise AssertionError("no error was raised")


def late_rank(rank, size):
    dist.all_reduce(torch.ones(1))
    if rank == size - 1:
        return
    text = error_of(lambda: dist.all_reduce(torch.ones(4)))
    assert "allreduce" in text and f"{size - 1}" in text, text


def late_rank_in_monitored_barrier(rank, size):
    if rank == size - 1:
        os.read(hold[0], 1)  # until the others have seen the timeout
        return
    text = error_of(lambda: tutti_torch.monitored_barrier(timeout=datetime.timedelta(milliseconds=500)))
    assert "barrier" in text and f"rank {size - 1}" in text, text
    os.write(hold[1], b"x")


def dead_rank(rank, size):
    works = [dist.all_reduce(torch.ones(100), async_op=True) for _ in range(3)]
    for work in works:
        work.wait()
    if rank == size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    text = error_of(lambda: dist.all_reduce(torch.ones(1 << 20)))
    assert f"rank {size - 1}" in text, text
    future = dist.all_reduce(torch.ones(3), async_op=True).get_future()
    error_of(future.wait)  # later calls fail, too


def dead_sender(rank, size):
    dist.all_reduce(torch.ones(1))
    if rank == size - 1:
        os.kill(os.getpid(), signal.SIGKILL)
    if rank == 0:
        text = error_of(lambda: dist.recv(torch.empty(8), size - 1))
        assert f"rank {size - 1}" in text, text


def forgotten_work(rank, _):
    if rank == 0:
        dist.all_reduce(torch.ones(4), async_op=True)  # the other rank does not call it, and nobody waits for it


def different_calls(rank, _):
    error_of(lambda: dist.all_reduce(torch.ones(4 + rank)))


class Faults(unittest.TestCase):
    """Ranks that fail on purpose end by a signal or as usual; the others must end as usual."""

    def expect(self, function, size, killed=(), **options):
        results = run(size, function, **options)
        for rank, result in enumerate(results):
            self.assertEqual(result, signal.SIGKILL if rank in killed else "", f"rank {rank}: {result}")

    def test_late_rank(self):
        self.expect(late_rank, 2, timeout=SHORT)

    def test_monitored_barrier_names_the_late_rank(self):
        global hold  # pylint: disable=global-statement
        hold = os.pipe()
        self.expect(late_rank_in_monitored_barrier, 2)

    def test_dead_rank(self):
        self.expect(dead_rank, 2, killed=(1,))
        self.expect(dead_rank, 3, killed=(2,))

    def test_dead_sender(self):
        self.expect(dead_sender, 2, killed=(1,))

    def test_forgotten_work_does_not_keep_the_program(self):
        self.expect(forgotten_work, 2)

    def test_different_calls(self):
        self.expect(different_calls, 2, timeout=SHORT)

    def test_missing_rank_is_named_when_the_ranks_meet(self):
        store = dist.HashStore()
        with self.assertRaisesRegex(RuntimeError, "rank 1 has not come"):
            tutti_torch._C.create(store, 0, 2, datetime.timedelta(milliseconds=300), "alone")


if __name__ == "__main__":
    unittest.main()
