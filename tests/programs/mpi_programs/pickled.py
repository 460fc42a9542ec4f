"""Objects and buffers from rank to rank, by mpi4py."""

from __future__ import annotations

import sys
from array import array

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, n_ranks = world.Get_rank(), world.Get_size()
right, left = (rank + 1) % n_ranks, (rank - 1) % n_ranks


def objects(n: int) -> int:
    """Send objects around."""
    came = 0
    for number in range(n):
        request = world.isend({"rank": rank, "number": number}, dest=right, tag=1)
        came += len(world.recv(source=left, tag=1))
        request.wait()
    return came + int(world.allreduce(rank)) + len(world.bcast([1, 2, 3], root=0))


def buffers(n: int) -> float:
    """Send arrays around."""
    out, into = array("d", [rank] * 100), array("d", [0] * 100)
    for _ in range(n):
        world.Sendrecv(out, dest=right, recvbuf=into, source=left)
    world.Allreduce(MPI.IN_PLACE, into, op=MPI.SUM)
    return into[0]


# At once: lines of other ranks would come in between.
sys.stdout.write(f"{rank} {objects(5)} {buffers(7)}\n")
