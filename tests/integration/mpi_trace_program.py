"""A program of mpi4py: five calls of MPI_Barrier.

Hooks have to outlive a collection of garbage, which larger programs have by themselves.
"""

import gc

from mpi4py import MPI

gc.collect()
for _ in range(5):
    MPI.COMM_WORLD.Barrier()
print("done")
