"""Instructions of user mode, counted to the last one."""

from __future__ import annotations

from gnomon.counters import EventSet
from guest.inside.conftest import FigureOf
from guest.inside.work import (
    LOOP,
    OF_THE_INTERPRETER,
    PER_ROUND,
    counted,
    differences,
    least,
    loop_instructions,
    shown,
    spun,
    values,
)

LOOP_ROUNDS = (2_000_000, 4_000_000, 8_000_000)
SPIN_ROUNDS = (100_000, 200_000, 400_000, 800_000)


def test_command_is_counted_to_the_last_instruction(figure: FigureOf) -> None:
    """Of a program without start-up code every instruction is known, and every one is counted."""
    counts = [
        values(counted("instructions:u", LOOP, rounds))["instructions:u"] for rounds in LOOP_ROUNDS
    ]
    assert counts == [loop_instructions(rounds) for rounds in LOOP_ROUNDS]
    assert differences(counts) == [PER_ROUND * more for more in differences(LOOP_ROUNDS)]
    figure(
        "`gnomon count -e instructions:u` of loop, N = 2, 4 and 8 million",
        f"{shown(counts)}: every instruction and no other",
    )


def test_same_command_has_the_same_count() -> None:
    counts = {
        values(counted("instructions:u", LOOP, LOOP_ROUNDS[0]))["instructions:u"] for _ in range(3)
    }
    assert len(counts) == 1


def test_event_set_is_linear(figure: FigureOf) -> None:
    """To the last instruction but for the interpreter's own, of which now and then some differ."""
    events = EventSet("instructions:u")
    found = differences(least(lambda rounds: spun(events, rounds), SPIN_ROUNDS))
    events.close()
    expected = [PER_ROUND * more for more in differences(SPIN_ROUNDS)]
    off = [count - right for count, right in zip(found, expected, strict=True)]
    assert max(map(abs, off)) <= OF_THE_INTERPRETER
    figure(
        "event set, instructions:u of 100, 200, 400 and 800 thousand rounds of two",
        f"differences {shown(found)}; off by {shown(off)}",
    )
