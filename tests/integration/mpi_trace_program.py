"""A program of mpi4py: five calls of MPI_Barrier."""

from mpi4py import MPI

for _ in range(5):
    MPI.COMM_WORLD.Barrier()
print("done")
