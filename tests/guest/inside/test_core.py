"""The core's own tests, in C, on this architecture and against this PMU."""

from __future__ import annotations

import re

import pytest

from guest.inside.conftest import FigureOf
from guest.inside.machine import user_access
from guest.inside.work import BIN, IS_POWER, run

# A machine that takes 64 ns for an instruction is too slow for the timers of test_record_file: the
# next signal is there before the handler of the last has ended.
CORE = (
    "test_perf",
    "test_rotate",
    "test_clock",
    "test_record_file_faults",
    "test_unwind",
    "test_unwind_aarch64",
    "test_unwind_damage",
    "test_sampling",
    "test_sample_records",
    *(("test_record_file",) if IS_POWER else ()),
)


def passed(figure: FigureOf, program: str, what: str) -> str:
    """Return what a program of tests printed, which has to pass."""
    if not IS_POWER:
        user_access(True)
    done = run(BIN / program)
    assert done.returncode == 0, done.stdout + done.stderr
    count = len(re.findall("^test_", done.stdout, re.MULTILINE))
    figure(f"{what} ({program}.c)", f"{count} passed")
    return done.stdout


def test_hardware_groups(figure: FigureOf) -> None:
    said = passed(figure, "test_hardware", "core in C: tests of hardware groups")
    found = re.findall(r"^  (\d+) rounds: \d+ instructions, ([+-]\d+)$", said, re.MULTILINE)
    assert found
    figure(
        "core in C: instructions of 200, 400 and 800 thousand rounds against twice those of half",
        ", ".join(more for _, more in found[:3]),
    )


def test_hardware_sets(figure: FigureOf) -> None:
    said = passed(figure, "test_hardware_sets", "libgnomon: tests of sets of hardware events")
    for what, found in re.findall(r"^  (\d+ events.*): (.+)$", said, re.MULTILINE):
        figure(f"libgnomon: {what} of 10 ms", found)


def test_hardware_overflow(figure: FigureOf) -> None:
    said = passed(figure, "test_hardware_overflow", "libgnomon: tests of overflow and profiles")
    for line in re.findall(r"^  (.+ of .+ overflows .+|profile of .+)$", said, re.MULTILINE):
        figure("libgnomon: overflow", line)


def test_hardware_sections(figure: FigureOf) -> None:
    said = passed(figure, "test_hardware_sections", "libhpm: tests of sections of hardware events")
    for found in re.findall(r"^  (.+: no system call)$", said, re.MULTILINE):
        figure("libhpm: sections on counters that the program reads", found)


@pytest.mark.parametrize("test", CORE)
def test_core(test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNOMON_TEST_WORK", "2")
    done = run(BIN / test)
    assert done.returncode == 0, done.stdout + done.stderr
