"""Two ranks exchange pickled objects from two callers of one function, and add up a buffer."""

from __future__ import annotations

from array import array

from mpi4py import MPI

WORLD = MPI.COMM_WORLD


def exchange(n: int) -> None:
    """Exchange a list."""
    other = WORLD.rank ^ 1
    assert WORLD.sendrecv([other] * n, dest=other, source=other) == [WORLD.rank] * n


def often() -> None:
    """Exchange seven times."""
    for _ in range(7):
        exchange(3)


def seldom() -> None:
    """Exchange twice."""
    for _ in range(2):
        exchange(3)


often()
seldom()
numbers, sums = array("i", [1, 2, 3]), array("i", [0, 0, 0])
WORLD.Allreduce(numbers, sums)
WORLD.Allreduce(numbers, sums)
assert sums.tolist() == [2, 4, 6]
