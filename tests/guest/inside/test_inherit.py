"""Threads and children: counted where inheritance is asked for, and only there."""

from __future__ import annotations

import os
import threading

import pytest

from gnomon.counters import EventSet
from gnomon.counters.component import Target
from guest.inside.conftest import FigureOf
from guest.inside.work import (
    FAMILY,
    INSTRUCTIONS,
    IS_POWER,
    LOOP,
    PER_ROUND,
    counted,
    loop_instructions,
    spin,
    values,
)

ROUNDS = 50_000_000 if IS_POWER else 5_000_000
# What fork, the start of threads and, on POWER, the kernel add.
MARGIN = 0.25 if IS_POWER else 0.05


@pytest.mark.parametrize("inherit", [True, False])
def test_event_set_and_its_family(inherit: bool) -> None:
    events = EventSet(INSTRUCTIONS, target=Target(inherit=inherit))
    events.start()
    child = os.fork()
    if child == 0:
        spin(2 * ROUNDS)
        os._exit(0)
    os.waitpid(child, 0)
    thread = threading.Thread(target=spin, args=(ROUNDS,))
    thread.start()
    thread.join()
    count = events.stop().raw(0)
    events.close()
    expected = 3 * PER_ROUND * ROUNDS if inherit else 0
    assert expected <= count < expected + 3 * PER_ROUND * ROUNDS * MARGIN


def test_command_with_children_and_threads(figure: FigureOf) -> None:
    processes, threads = 3, 4
    found = values(counted(INSTRUCTIONS, FAMILY, processes, threads, ROUNDS))[INSTRUCTIONS]
    work = processes * threads * PER_ROUND * ROUNDS
    figure(
        f"inherit: `gnomon count` of {processes} children with {threads} threads each",
        f"{found:,} instructions; {work:,} in their loops ({100 * (found / work - 1):+.2f} %)",
    )
    assert work <= found < work * (1 + MARGIN)


def test_command_that_is_a_shell(figure: FigureOf) -> None:
    script = f"{LOOP} {ROUNDS} & {LOOP} {ROUNDS}; wait"
    found = values(counted(INSTRUCTIONS, "sh", "-c", script))[INSTRUCTIONS]
    work = 2 * loop_instructions(ROUNDS)
    figure(
        "inherit: `gnomon count` of a shell that runs two programs at once",
        f"{found:,} instructions; {work:,} in the programs",
    )
    assert work <= found < work * (1 + MARGIN)


def test_other_processes_are_not_counted() -> None:
    with EventSet(INSTRUCTIONS) as events:
        child = os.fork()
        if child == 0:
            spin(10 * ROUNDS)
            os._exit(0)
        os.waitpid(child, 0)
        count = events.read().raw(0)
    assert count < PER_ROUND * ROUNDS
