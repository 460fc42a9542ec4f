"""User mode, kernel mode and both: exclude_kernel and exclude_user."""

from __future__ import annotations

import os

import pytest

from gnomon.counters import EventSet
from gnomon.model.value import Domain
from guest.inside.conftest import FigureOf
from guest.inside.work import LOOP, PER_ROUND, counted, loop_instructions, spin, values

NAMES = ("instructions:u", "instructions:k", "instructions:uk", "instructions")
ROUNDS = 500_000
CALLS = 2000


def test_user_and_kernel_are_all(figure: FigureOf) -> None:
    with EventSet(",".join(NAMES)) as events:
        spin(ROUNDS)
        for _ in range(CALLS):
            os.getppid()
    reading = events.read()
    user, kernel, both, everything = (reading.raw(at) for at in range(4))
    assert [reading[at].domain for at in range(4)] == [
        Domain.USER,
        Domain.KERNEL,
        Domain.USER_KERNEL,
        Domain.ALL,
    ]
    assert user > PER_ROUND * ROUNDS
    assert kernel > 50 * CALLS
    apart = everything - user - kernel
    figure(
        "event set: instructions :u + :k against all",
        f"{user:,} + {kernel:,} = {everything:,} {-apart:+,}",
    )
    # The kernel switches the events of a group on and off one after the other.
    assert abs(apart) < 0.001 * everything
    assert both == pytest.approx(everything, rel=0.001)


def test_system_calls_are_the_kernels() -> None:
    """The same calls, ten times: user mode's share grows by its part, the kernel's by its."""
    events = EventSet("instructions:u,instructions:k")
    counts = []
    for calls in (CALLS, 10 * CALLS):
        events.start()
        for _ in range(calls):
            os.getppid()
        reading = events.stop()
        counts.append((reading.raw(0), reading.raw(1)))
    events.close()
    assert counts[1][1] - counts[0][1] > 9 * CALLS * 50


def test_command_without_the_kernel(figure: FigureOf) -> None:
    rounds = 4_000_000
    found = values(counted(",".join(NAMES), LOOP, rounds))
    assert found["instructions:u"] == loop_instructions(rounds)
    assert found["instructions:k"] > 0
    apart = found["instructions"] - found["instructions:u"] - found["instructions:k"]
    figure(
        f"`gnomon count` of loop {rounds}: instructions :u, :k, all",
        f"{found['instructions:u']:,} (exact), {found['instructions:k']:,}, "
        f"{found['instructions']:,}",
    )
    assert abs(apart) < 0.001 * found["instructions"]
