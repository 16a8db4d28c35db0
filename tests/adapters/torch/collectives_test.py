"""Each collective of torch.distributed over tutti against values computed here, with 1, 2 and 3 ranks."""
import unittest

import torch
import torch.distributed as dist

from ranks import check

SIZES = (1, 2, 3)
COUNTS = (0, 1, 7, 1009, 100003)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
COMPLEX = (torch.complex64, torch.complex128)
OPS = {"SUM": lambda x: x.sum(0), "PRODUCT": lambda x: x.prod(0), "MIN": lambda x: x.amin(0),
       "MAX": lambda x: x.amax(0)}
BIT_OPS = {"BAND": torch.bitwise_and, "BOR": torch.bitwise_or, "BXOR": torch.bitwise_xor}


def values(rank, count=7, dtype=torch.float32):
    """Small numbers, so that every type has the exact results; different on each rank."""
    return ((torch.arange(count) * (rank + 2) + rank) % 5).to(dtype)


def all_values(size, count=7):
    return torch.stack([values(rank, count, torch.int64) for rank in range(size)])


def folded(function, rows):
    result = rows[0]
    for row in rows[1:]:
        result = function(result, row)
    return result


def expect(actual, wanted):
    """Exact, unless the wanted values are not."""
    torch.testing.assert_close(actual, wanted.to(actual.dtype), rtol=0 if wanted.dtype == torch.int64 else 1e-2, atol=0)


def spread(tensor):
    """The same elements with gaps between them, and a function that tells whether the gaps are untouched."""
    base = torch.full((tensor.numel(), 3), 77).to(tensor.dtype)
    base[:, 1] = tensor
    return base[:, 1], lambda: bool((base[:, 0] == 77).all() and (base[:, 2] == 77).all())


def reductions(_, size):
    rank = dist.get_rank()
    for dtype in FLOATS + INTEGERS:
        for name, function in OPS.items():
            tensor = values(rank, dtype=dtype)
            dist.all_reduce(tensor, getattr(dist.ReduceOp, name))
            expect(tensor, function(all_values(size)))
        average = values(rank, dtype=dtype)
        dist.all_reduce(average, dist.ReduceOp.AVG)
        total = all_values(size).sum(0)
        expect(average, total.double() / size if dtype in FLOATS else total // size)
    for dtype in INTEGERS:
        for name, function in BIT_OPS.items():
            tensor = values(rank, dtype=dtype)
            dist.all_reduce(tensor, getattr(dist.ReduceOp, name))
            expect(tensor, folded(function, all_values(size)))
    for dtype in COMPLEX:
        tensor = values(rank, dtype=dtype) * (1 + 2j)
        dist.all_reduce(tensor)
        assert torch.equal(tensor, all_values(size).sum(0).to(dtype) * (1 + 2j))


def bool_reductions(rank, size):
    mine = values(rank) > 1
    everything = all_values(size) > 1
    wanted = {"SUM": everything.any(0), "PRODUCT": everything.all(0), "MIN": everything.all(0),
              "MAX": everything.any(0), "BAND": everything.all(0), "BOR": everything.any(0),
              "BXOR": everything.sum(0) % 2 == 1}
    for name, result in wanted.items():
        tensor = mine.clone()
        dist.all_reduce(tensor, getattr(dist.ReduceOp, name))
        assert tensor.dtype == torch.bool and torch.equal(tensor, result), name


def counts(rank, size):
    for count in COUNTS:
        tensor = values(rank, count)
        dist.all_reduce(tensor)
        expect(tensor, all_values(size, count).sum(0))
        parts = [torch.empty(count) for _ in range(size)]
        dist.all_gather(parts, values(rank, count))
        for other in range(size):
            expect(parts[other], values(other, count))
        output = torch.empty(count)
        dist.reduce_scatter(output, [values(rank + block, count) for block in range(size)])
        expect(output, torch.stack([values(other + rank, count, torch.int64) for other in range(size)]).sum(0))


def rooted(rank, size):
    for root in range(size):
        for dtype in FLOATS + INTEGERS + COMPLEX + (torch.bool,):
            tensor = values(rank, dtype=dtype)
            dist.broadcast(tensor, root)
            assert torch.equal(tensor, values(root, dtype=dtype))
            parts = [torch.zeros(7, dtype=dtype) for _ in range(size)]
            dist.gather(values(rank, dtype=dtype), parts if rank == root else None, root)
            if rank == root:
                for other in range(size):
                    assert torch.equal(parts[other], values(other, dtype=dtype))
            output = torch.zeros(7, dtype=dtype)
            dist.scatter(output, [values(other, dtype=dtype) for other in range(size)] if rank == root else None, root)
            assert torch.equal(output, values(rank, dtype=dtype))
        tensor = values(rank)
        dist.reduce(tensor, root)
        if rank == root:
            expect(tensor, all_values(size).sum(0))


def flat_forms(rank, size):
    whole = torch.empty(7 * size)
    gather = getattr(dist, "all_gather_into_tensor", None) or dist._all_gather_base
    gather(whole, values(rank))
    expect(whole, all_values(size).flatten())
    scatter = getattr(dist, "reduce_scatter_tensor", None) or dist._reduce_scatter_base
    part = torch.empty(7)
    scatter(part, values(rank, 7 * size))
    expect(part, all_values(size, 7 * size).sum(0)[7 * rank:7 * rank + 7])


def coalesced(rank, size):
    for lengths in ((3, 5, 0), (100003, 1)):
        tensors = [values(rank, length) for length in lengths]
        dist.all_reduce_coalesced(tensors)
        for tensor, length in zip(tensors, lengths):
            expect(tensor, all_values(size, length).sum(0))
        outputs = [[torch.zeros(length) for length in lengths] for _ in range(size)]
        dist.all_gather_coalesced(outputs, [values(rank, length) for length in lengths])
        for other in range(size):
            for output, length in zip(outputs[other], lengths):
                expect(output, values(other, length))
    mixed = [values(rank), values(rank, dtype=torch.int32)]
    dist.distributed_c10d._get_default_group().allreduce_coalesced(mixed, dist.AllreduceCoalescedOptions()).wait()
    for tensor in mixed:
        expect(tensor, all_values(size).sum(0))


def uneven(rank, size):
    parts = [torch.empty(other + 2) for other in range(size)]
    dist.all_gather(parts, values(rank, rank + 2))
    for other in range(size):
        expect(parts[other], values(other, other + 2))
    output = torch.empty(rank + 2)
    dist.reduce_scatter(output, [values(rank, block + 2) for block in range(size)])
    expect(output, all_values(size, rank + 2).sum(0))
    outputs = [torch.empty(2 * other + rank) for other in range(size)]
    dist.all_to_all(outputs, [values(rank, 2 * rank + other) for other in range(size)])
    for other in range(size):
        expect(outputs[other], values(other, 2 * other + rank))


def alltoall_rows(rank, size):
    output = torch.empty(2 * size, 3)
    dist.all_to_all_single(output, values(rank, 6 * size).view(2 * size, 3))
    for other in range(size):
        expect(output[2 * other:2 * other + 2].flatten(), values(other, 6 * size)[6 * rank:6 * rank + 6])
    sent = [rank + other for other in range(size)]
    rows = torch.full((sum(sent), 2), float(rank))
    received = torch.empty(sum(sent), 2)
    dist.all_to_all_single(received, rows, sent, sent)
    expect(received[:, 0], torch.cat([torch.full((rank + other,), other) for other in range(size)]))


def gaps(rank, size):
    tensor, are_untouched = spread(values(rank))
    dist.all_reduce(tensor)
    expect(tensor, all_values(size).sum(0))
    assert are_untouched()
    output, are_untouched = spread(torch.zeros(7))
    dist.broadcast(tensor, 0)
    dist.reduce_scatter(output, [spread(values(rank))[0] for _ in range(size)])
    expect(output, all_values(size).sum(0))
    assert are_untouched()
    turned = values(rank, 6).view(2, 3).t()  # dense, in another order
    dist.all_reduce(turned)
    expect(turned.t().flatten(), all_values(size, 6).sum(0))
    parts = [torch.zeros(3, 2).t() for _ in range(size)]
    dist.all_gather(parts, values(rank, 6).view(2, 3))
    for other in range(size):
        expect(parts[other].flatten(), values(other, 6))
    whole = torch.zeros(size, 5)  # the outputs lie one after another: filled without a copy
    dist.all_gather(list(whole), values(rank, 5))
    expect(whole, all_values(size, 5))


def leaf_with_gradient(rank, size):
    parameter = torch.nn.Parameter(values(rank))
    dist.broadcast(parameter.data, 0)
    with torch.no_grad():
        dist.all_reduce(parameter)
    expect(parameter.detach(), values(0) * size)


class Collectives(unittest.TestCase):
    """One test per function above."""


for _function in (reductions, bool_reductions, counts, rooted, flat_forms, coalesced, uneven, alltoall_rows, gaps,
                  leaf_with_gradient):
    for _size in SIZES:
        setattr(Collectives, f"test_{_function.__name__}_of_{_size}",
                lambda self, size=_size, function=_function: check(self, size, function))

if __name__ == "__main__":
    unittest.main()
