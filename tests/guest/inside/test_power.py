"""POWER's own events by the names that IBM gives them."""

from __future__ import annotations

import pytest

from gnomon.counters import EventSet
from gnomon.counters.event_resolver import resolve
from gnomon.counters.libpfm import libpfm_pmus
from gnomon.errors import EventUnavailableError
from guest.inside.conftest import FigureOf
from guest.inside.work import (
    COMMAND_ROUNDS,
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

ROUNDS = 5_000_000
HERE = next(pmu.name for pmu in libpfm_pmus() if pmu.is_present and pmu.is_core)
OTHER = {"power9": "power10", "power10": "power9"}[HERE]
# IBM's codes, as libpfm4 has them; PM_RUN_INST_CMPL is also 0x500fa, another counter's.
CODES = {
    "PM_INST_CMPL": {"power9": 0x10002, "power10": 0x100FE},
    "PM_RUN_INST_CMPL": {"power9": 0x400FA, "power10": 0x400FA},
    "PM_CYC": {"power9": 0x1001E, "power10": 0x100F0},
}
INSTRUCTIONS = ("PM_INST_CMPL", "PM_RUN_INST_CMPL")


@pytest.mark.parametrize("name", CODES)
def test_names_are_ibms_codes(name: str) -> None:
    for spelled in (name, name.lower(), f"{HERE}::{name}"):
        (event,) = resolve(spelled).events
        assert event.info.component == "cpu"
        encoding = event.spec.terms[0].encoding
        assert hex(encoding.config) == hex(CODES[name][HERE])


@pytest.mark.parametrize(
    "name", [*CODES, "cpu/instructions/", "cpu/cpu-cycles/", "cpu/event=0x500fa/"]
)
def test_name_counts(name: str) -> None:
    events = EventSet(name)
    counts = least(lambda rounds: spun(events, rounds), (ROUNDS, 2 * ROUNDS), 5)
    events.close()
    assert 0 < counts[0] < counts[1]
    if "cyc" not in name.lower():
        assert differences(counts)[0] == pytest.approx(PER_ROUND * ROUNDS, rel=0.01)


@pytest.mark.parametrize("name", INSTRUCTIONS)
def test_command_counts_by_name(name: str, figure: FigureOf) -> None:
    """Linear in the work; the kernel's instructions are in every count of this PMU."""
    rounds = [COMMAND_ROUNDS, 2 * COMMAND_ROUNDS, 4 * COMMAND_ROUNDS]
    found = []
    for n in rounds:
        document = counted(name, LOOP, n)
        assert document["unavailable"] == []
        assert document["counters"][0]["how"] == "counted"
        found.append(min(values(document)[name], values(counted(name, LOOP, n))[name]))
    figure(
        f"`gnomon count -e {name}` of loop, N = 100, 200 and 400 million",
        ", ".join(
            f"{count:,} ({100 * (count / loop_instructions(n) - 1):+.2f} %)"
            for count, n in zip(found, rounds, strict=True)
        ),
    )
    for count, n in zip(found, rounds, strict=True):
        assert loop_instructions(n) <= count < 1.1 * loop_instructions(n)
    for count, n in zip(differences(found), differences(rounds), strict=True):
        assert count == pytest.approx(PER_ROUND * n, rel=0.02)


def test_both_names_count_together(figure: FigureOf) -> None:
    with EventSet(",".join(INSTRUCTIONS)) as events:
        spin(ROUNDS)
    reading = events.read()
    completed, run = reading.raw(0), reading.raw(1)
    figure(" and ".join(INSTRUCTIONS) + " in one set", f"{completed:,} and {run:,}")
    assert completed >= PER_ROUND * ROUNDS
    assert completed == pytest.approx(run, rel=0.001)


def test_cycles_count_by_name(figure: FigureOf) -> None:
    found = values(counted("PM_CYC", LOOP, COMMAND_ROUNDS))["PM_CYC"]
    assert found > 0
    figure(f"`gnomon count -e PM_CYC` of loop {COMMAND_ROUNDS}", f"{found:,} cycles")


def test_name_of_another_cpu_is_refused() -> None:
    name = f"{OTHER}::PM_INST_CMPL"
    with pytest.raises(EventUnavailableError, match=OTHER.upper()):
        EventSet(name)
    said = report("-e", name, "--", LOOP, "1000")
    assert "which this machine does not have" in said


def test_event_that_does_not_fit_is_refused() -> None:
    """Both are events of counter 1 alone, so no group holds both."""
    events = EventSet("PM_INST_CMPL,PM_CYC", strict=False)
    with events:
        spin(1000)
    if HERE == "power10":
        assert [one.event for one in events.unavailable] == ["PM_CYC"]
        assert "does not fit" in events.unavailable[0].reason
    assert events.read().raw(0) > 0


def test_names_are_listed() -> None:
    listed = gnomon("events", "PM_")
    for name in CODES:
        assert f"{HERE}::{name} " in listed
