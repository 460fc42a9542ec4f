"""Unwinding copied stacks: what a frame costs, and an address that was not seen before."""

from __future__ import annotations

import sys

from benchmarks.build import columns, program
from benchmarks.table import Row, Table

WORK = """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
while True:
    sorted(range(9), key=lambda x: fib(x))
"""


def run(rounds: int) -> Table:
    """Return nanoseconds of CPU time, of stacks of this Python at work."""
    frame, address, frames, complete = columns(
        program("bench_unwind"), str(rounds), sys.executable, "-c", WORK
    )
    return Table(
        "unwind",
        "ns",
        [Row("frame, address seen before", "", frame), Row("new address", "", address)],
        [f"{frames:.1f} frames a stack, {complete:.1f} % complete"],
    )
