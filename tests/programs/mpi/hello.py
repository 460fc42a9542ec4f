"""Each task says who it is, and the sum of all ranks."""

from __future__ import annotations

from mpi4py import MPI

world = MPI.COMM_WORLD
print(f"task {world.rank} of {world.size}, sum {world.allreduce(world.rank)}")
