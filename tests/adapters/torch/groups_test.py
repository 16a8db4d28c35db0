"""Sub-groups, asynchronous works, messages, objects and refused arguments."""
import unittest

import torch
import torch.distributed as dist
import tutti_torch

from ranks import TIMEOUT, check, job


def sub_groups(rank, size):
    outer = dist.new_group([0, size - 1])
    alone = dist.new_group([1])
    for _ in range(3):
        tensor = torch.tensor([float(rank + 1)])
        if rank in (0, size - 1):
            dist.all_reduce(tensor, group=outer)
            assert tensor.item() == 1 + size
            dist.broadcast(tensor, size - 1, group=outer)
        else:
            dist.all_reduce(tensor, group=alone)
            assert tensor.item() == rank + 1
        dist.all_reduce(tensor)
    dist.destroy_process_group(outer) if rank != 1 else None
    dist.barrier()


def groups_with_the_same_store(rank, size):
    for _ in range(3):  # torch 1 itself cannot initialise twice with a store
        group = tutti_torch._C.create(job["store"], rank, size, TIMEOUT, "again")
        tensor = torch.full((3,), float(rank))
        group.allreduce([tensor], dist.AllreduceOptions()).wait()
        assert bool((tensor == sum(range(size))).all())
        del group


def works_of_any_order(rank, size):
    tensors = [torch.full((1000 * i + 1,), float(rank + i)) for i in range(20)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    for i in reversed(range(20)):
        assert works[i].wait()
        assert works[i].is_completed() and works[i].is_success()
        wanted = sum(other + i for other in range(size))
        assert bool((tensors[i] == wanted).all())


def work_ends_without_its_caller(rank, _):
    tensor = torch.full((1 << 20,), 1.0)
    work = dist.all_reduce(tensor, async_op=True)
    other = torch.ones(1000)
    while not work.is_completed():  # computes only; the test has a deadline
        other = other * 1.0
    assert bool((tensor == dist.get_world_size()).all())
    dist.all_reduce(torch.ones(1))


def futures(rank, size):
    tensor = torch.full((5,), float(rank))
    total = float(sum(range(size)))
    future = dist.all_reduce(tensor, async_op=True).get_future()
    doubled = future.then(lambda done: done.value()[0] * 2).wait()
    assert bool((doubled == 2 * total).all())

    def calls_again(_):
        inner = torch.ones(3)
        dist.all_reduce(inner)  # blocks in the callback
        return inner

    inner = dist.all_reduce(torch.ones(2), async_op=True).get_future().then(calls_again).wait()
    assert bool((inner == size).all())
    parts = [torch.zeros(2) for _ in range(size)]
    gathered = dist.all_gather(parts, torch.full((2,), float(rank)), async_op=True).get_future().wait()
    assert [part[0].item() for part in gathered] == list(range(size))


def messages(rank, size):
    for count in (0, 1, 1 << 21):
        right, left = (rank + 1) % size, (rank - 1) % size
        received = torch.empty(count)
        works = [dist.isend(torch.full((count,), float(rank)), right), dist.irecv(received, left)]
        for work in works:
            work.wait()
        assert bool((received == left).all())
    if rank == 0:
        for i in range(10):
            dist.send(torch.tensor([i]), 1)
    elif rank == 1:
        for i in range(10):
            tensor = torch.tensor([-1])
            dist.recv(tensor, 0)
            assert tensor.item() == i
    gapped = torch.zeros(4, 2)
    operations = [dist.P2POp(dist.isend, torch.ones(2, 4).t()[:, 0], right),
                  dist.P2POp(dist.irecv, gapped[:, 1], left)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    assert gapped[:, 1].sum() == 4 and gapped[:, 0].sum() == 0


def messages_pass_collectives(rank, _):
    if rank == 0:
        work = dist.all_reduce(torch.ones(1), async_op=True)
        dist.send(torch.ones(1), 1)
        work.wait()
    else:
        dist.recv(torch.empty(1), 0)
        dist.all_reduce(torch.ones(1))


def objects(rank, size):
    gathered = [None] * size
    dist.all_gather_object(gathered, {"rank": rank, "text": "x" * rank * 100})
    assert [entry["rank"] for entry in gathered] == list(range(size))
    told = ["from the last", 3] if rank == size - 1 else [None, None]
    dist.broadcast_object_list(told, size - 1)
    assert told == ["from the last", 3]
    collected = [None] * size if rank == 0 else None
    dist.gather_object(rank * rank, collected, 0)
    assert rank != 0 or collected == [other * other for other in range(size)]
    output = [None]
    dist.scatter_object_list(output, [f"to {other}" for other in range(size)] if rank == 0 else None, 0)
    assert output == [f"to {rank}"]


def refused(call, *words):
    """Calls it and checks that it raises an error with the words."""
    try:
        call()
    except (RuntimeError, ValueError) as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in: {error}"
        return
    raise AssertionError(f"no error; expected {words}")


def refused_arguments(rank, size):
    peer = (rank + 1) % size
    refused(lambda: dist.send(torch.ones(1), peer, tag=5), "tag 5", "leave the tag out")
    refused(lambda: dist.recv(torch.ones(1)), "any rank", "src=")
    refused(lambda: dist.all_reduce(torch.ones(2, dtype=torch.bool), dist.ReduceOp.AVG), "bool", "average")
    refused(lambda: dist.all_reduce(torch.ones(2, dtype=torch.complex64), dist.ReduceOp.MAX), "complex")
    refused(lambda: dist.all_reduce(torch.ones(2), dist.ReduceOp.BAND), "float32")
    output = torch.empty(3)
    group = dist.distributed_c10d._get_default_group()
    refused(lambda: group._allgather_base(output, torch.ones(2)).wait(), "3 elements", "times as large")
    refused(lambda: dist.all_to_all_single(torch.empty(5), torch.empty(5), [1] * (size + 1), [1] * (size + 1)), "split")
    tensor = torch.ones(2)  # none of these has harmed the group
    dist.all_reduce(tensor)
    assert bool((tensor == size).all())
    assert tutti_torch.engine() == "native"


def named_for_both_devices(rank, size):
    group = dist.distributed_c10d._get_default_group()
    for kind in ("cpu", "cuda"):  # an error for a group that is not one of tutti
        assert tutti_torch._C.engine(group._get_backend(torch.device(kind))) == "native", kind
    tensor = torch.full((4,), float(rank))
    dist.all_reduce(tensor)
    assert bool((tensor == sum(range(size))).all())
    gathered = [None] * size
    dist.all_gather_object(gathered, rank)
    assert gathered == list(range(size))


class Groups(unittest.TestCase):
    """One test per function above."""

    @unittest.skipIf(torch.__version__.startswith("1."), "torch 1 has one backend for all devices")
    def test_named_for_both_devices(self):
        check(self, 2, named_for_both_devices, backend="cpu:tutti,cuda:tutti")


_SIZES = {sub_groups: (3,), groups_with_the_same_store: (1, 3), works_of_any_order: (1, 2, 3),
          work_ends_without_its_caller: (2,), futures: (1, 2, 3), messages: (2, 3), messages_pass_collectives: (2,),
          objects: (1, 2, 3), refused_arguments: (2,)}
for _function, _sizes in _SIZES.items():
    for _size in _sizes:
        setattr(Groups, f"test_{_function.__name__}_of_{_size}",
                lambda self, size=_size, function=_function: check(self, size, function))

if __name__ == "__main__":
    unittest.main()
