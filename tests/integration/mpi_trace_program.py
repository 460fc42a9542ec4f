"""A program of mpi4py: five calls of MPI_Allreduce."""

from array import array

from mpi4py import MPI

total = array("i", [0])
for _ in range(5):
    MPI.COMM_WORLD.Allreduce(array("i", [1]), total)
print("done")
