"""What every machine shows: that its PMU is found, and that it counts work of known size."""

from __future__ import annotations

import json

import pytest

from gnomon.counters import EventSet
from gnomon.counters.components import component
from guest.inside.conftest import FigureOf
from guest.inside.work import (
    COMMAND_ROUNDS,
    INSTRUCTIONS,
    IS_POWER,
    LOOP,
    PER_ROUND,
    counted,
    differences,
    gnomon,
    least,
    loop_instructions,
    report,
    spin,
    spun,
    values,
)

ROUNDS = 1_000_000


def test_cpu_component_works() -> None:
    assert component("cpu").availability().available
    listed = json.loads(gnomon("components", "--json"))["components"]
    (cpu,) = (one for one in listed if one["name"] == "cpu")
    assert cpu["available"]
    assert cpu["counters"] == 6


def test_doctor_finds_the_pmu() -> None:
    checks = {check["name"]: check for check in json.loads(gnomon("doctor", "--json"))["checks"]}
    assert checks["core PMU"]["state"] == "ok"
    assert checks["core PMU"]["found"].startswith("cpu" if IS_POWER else "armv8_pmuv3")


def test_event_set_counts_what_was_done() -> None:
    with EventSet("instructions,cycles") as events:
        spin(ROUNDS)
    reading = events.read()
    assert PER_ROUND * ROUNDS <= reading.raw(0) < 1.2 * PER_ROUND * ROUNDS
    assert reading.raw(1) > 0
    assert [value.how.value for value in (reading[0], reading[1])] == ["counted", "counted"]
    assert reading[0].running_ns == reading[0].enabled_ns > 0


def test_instructions_grow_with_the_work() -> None:
    events = EventSet(INSTRUCTIONS)
    counts = least(lambda rounds: spun(events, rounds), (ROUNDS, 2 * ROUNDS, 4 * ROUNDS), 5)
    events.close()
    first, second = differences(counts)
    assert first == pytest.approx(PER_ROUND * ROUNDS, rel=0.01)
    assert second == pytest.approx(2 * PER_ROUND * ROUNDS, rel=0.01)


def test_reads_never_go_back_and_a_start_is_from_zero() -> None:
    events = EventSet("instructions,cycles")
    events.start()
    spin(ROUNDS)
    readings = [events.read() for _ in range(100)]
    for at in (0, 1):
        seen = [reading.raw(at) for reading in readings]
        assert seen == sorted(seen)
        assert seen[0] < seen[-1]
    events.stop()
    events.start()
    assert events.read().raw(0) < PER_ROUND * ROUNDS / 2
    events.close()


def test_presets_are_the_machines_events() -> None:
    with EventSet("PAPI_TOT_INS,PAPI_TOT_CYC,instructions") as events:
        spin(ROUNDS)
    reading = events.read()
    assert [event.name for event in events.events] == [
        "PAPI_TOT_INS",
        "PAPI_TOT_CYC",
        "instructions",
    ]
    assert reading.raw(0) == pytest.approx(reading.raw(2), rel=0.001)
    # QEMU does not count PM_RUN_CYC, which POWER's preset is.
    assert reading.raw(1) > 0 or IS_POWER


def test_command_is_counted(figure: FigureOf) -> None:
    rounds = COMMAND_ROUNDS
    document = counted(f"{INSTRUCTIONS},cycles", LOOP, rounds)
    # On POWER the preset is the event itself, which one counter counts: they would take turns.
    found = values(document) | values(counted("PAPI_TOT_INS", LOOP, rounds))
    assert document["unavailable"] == []
    assert found["cycles"] > 0
    assert found[INSTRUCTIONS] == pytest.approx(loop_instructions(rounds), rel=0.2)
    assert found["PAPI_TOT_INS"] >= found[INSTRUCTIONS] * 0.99
    assert {counter["how"] for counter in document["counters"]} == {"counted"}
    figure(
        f"`gnomon count -e {INSTRUCTIONS} -- loop {rounds}`",
        f"{found[INSTRUCTIONS]:,} instructions; {loop_instructions(rounds):,} in the program",
    )


def test_report_names_the_counts() -> None:
    said = report("-e", "cycles,instructions", "--", LOOP, COMMAND_ROUNDS)
    (line,) = (line for line in said.splitlines() if line.strip().startswith("instructions "))
    words = line.split()
    assert words[-1] == "counted"
    assert int("".join(words[1:-1])) >= loop_instructions(COMMAND_ROUNDS)
    assert "ipc" in said
