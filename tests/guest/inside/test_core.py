"""The core's own tests, in C, on this architecture and against this PMU."""

from __future__ import annotations

import re

import pytest

from guest.inside.conftest import FigureOf
from guest.inside.machine import user_access
from guest.inside.work import BIN, IS_POWER, run

# A machine that takes 64 ns for an instruction is too slow for the timers of test_buffer: the next
# signal is there before the handler of the last has ended.
CORE = (
    "test_perf",
    "test_rotate",
    "test_clock",
    "test_buffer_faults",
    *(("test_buffer",) if IS_POWER else ()),
)


def test_hardware_groups(figure: FigureOf) -> None:
    if not IS_POWER:
        user_access(True)
    done = run(BIN / "test_hardware")
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.findall(r"^  (\d+) rounds: \d+ instructions, ([+-]\d+)$", done.stdout, re.MULTILINE)
    assert found
    figure(
        "core in C: instructions of 200, 400 and 800 thousand rounds against twice those of half",
        ", ".join(more for _, more in found[:3]),
    )
    figure(
        "core in C: tests of hardware groups (test_hardware.c)",
        f"{len(re.findall('^test_', done.stdout, re.MULTILINE))} passed",
    )


def test_hardware_sets(figure: FigureOf) -> None:
    if not IS_POWER:
        user_access(True)
    done = run(BIN / "test_hardware_sets")
    assert done.returncode == 0, done.stdout + done.stderr
    figure(
        "libgnomon: tests of sets of hardware events (test_hardware_sets.c)",
        f"{len(re.findall('^test_', done.stdout, re.MULTILINE))} passed",
    )
    for found in re.findall(r"^  (\d+ turns, .+)$", done.stdout, re.MULTILINE):
        figure("libgnomon: 10 events in turns of 10 ms", found)


def test_hardware_sections(figure: FigureOf) -> None:
    if not IS_POWER:
        user_access(True)
    done = run(BIN / "test_hardware_sections")
    assert done.returncode == 0, done.stdout + done.stderr
    figure(
        "libhpm: tests of sections of hardware events (test_hardware_sections.c)",
        f"{len(re.findall('^test_', done.stdout, re.MULTILINE))} passed",
    )
    for found in re.findall(r"^  (.+: no system call)$", done.stdout, re.MULTILINE):
        figure("libhpm: sections on counters that the program reads", found)


@pytest.mark.parametrize("test", CORE)
def test_core(test: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GNOMON_TEST_WORK", "2")
    done = run(BIN / test)
    assert done.returncode == 0, done.stdout + done.stderr
