"""What known.c does, in Python: 1000 calls of getsid(2) times the rank plus one.

With the argument `hpm` in a section of its own.
"""

from __future__ import annotations

import os
import sys
from contextlib import AbstractContextManager, nullcontext

from mpi4py import MPI

from gnomon import hpm

IS_MARKED = "hpm" in sys.argv


def section(label: str) -> AbstractContextManager[object]:
    return hpm.section(label) if IS_MARKED else nullcontext()


def main() -> None:
    world = MPI.COMM_WORLD
    if IS_MARKED:
        hpm.init(name="known")
    with section("work"):
        for _ in range(1000 * (world.rank + 1)):
            os.getsid(0)
    with section("exchange"):
        total = world.allreduce(world.rank)
    assert total == world.size * (world.size - 1) // 2
    if IS_MARKED:
        hpm.terminate()


main()
