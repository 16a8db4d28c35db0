"""Makes a known number of MPI calls through mpi4py, which opens the MPI library when it is imported."""

import array
import sys

from mpi4py import MPI

world = MPI.COMM_WORLD
mine = array.array("i", [world.rank + 1] * 10)
total = array.array("i", [0] * 10)
for _ in range(5):
    world.Allreduce(mine, total)
if total[0] != world.size * (world.size + 1) // 2:
    sys.exit("wrong sum")
world.Bcast(mine, root=0)
half = world.Split(world.rank % 2)
half.Barrier()
half.Free()
request = world.Ibarrier()
request.Wait()
