"""Unwound stacks against the calls that programs really make, instruction by instruction."""

from __future__ import annotations

import platform
import re
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest
from building import needs, run, sanitized

PROGRAMS = Path(__file__).parent / "unwind"
MOST = "400000"  # instructions

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="programs are followed on x86-64 only"
)

VARIANTS = {
    "optimized": ["-O2", "-fomit-frame-pointer"],
    "frame pointers": ["-O0"],
    "static": ["-O2", "-static"],
    "no table in the header": ["-O1", "-no-pie", "-Wl,--no-eh-frame-hdr"],
    "rules for debuggers only": ["-O1", "-g", "-fno-asynchronous-unwind-tables"],
}


class Stacks(NamedTuple):
    """What unwind_steps counted."""

    total: int
    as_called: int
    complete: int
    guessed: int


@pytest.fixture(scope="module")
def steps() -> Path:
    return sanitized("unwind_steps") / "native" / "tests" / "unwind_steps"


def compiled(folder: Path, *arguments: str | Path, compiler: str = "gcc") -> Path:
    program = folder / "program"
    run(compiler, *arguments, "-o", program)
    return program


def follow(steps: Path, begin: str, every: int, *program: str | Path) -> tuple[Stacks, str]:
    """Return the counts, and all that unwind_steps printed."""
    done = subprocess.run([steps, begin, str(every), MOST, *program], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL, timeout=300)  # fmt: skip
    counts = re.search(r"(\d+) stacks: (\d+) as called, (\d+) complete, (\d+) with", done.stdout)
    assert counts, done.stdout + done.stderr
    stacks = Stacks(*map(int, counts.groups()))
    assert done.returncode == (stacks.as_called != stacks.total)
    return stacks, done.stdout


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_stack_is_as_called(tmp_path: Path, steps: Path, variant: str) -> None:
    program = compiled(tmp_path, *VARIANTS[variant], PROGRAMS / "frames.c")
    stacks, said = follow(steps, "program", 1, program)
    assert stacks.total > 5000
    assert stacks.as_called == stacks.complete == stacks.total, said


@pytest.mark.parametrize("variant", ["optimized", "frame pointers"])
def test_jumps_and_coroutines(tmp_path: Path, steps: Path, variant: str) -> None:
    # While the registers of another stack are loaded, the rules speak of that one already.
    program = compiled(tmp_path, *VARIANTS[variant], PROGRAMS / "frames.c")
    stacks, said = follow(steps, "program", 1, program, "jumps")
    assert stacks.total > 2000
    assert stacks.as_called > 0.98 * stacks.total, said


def test_exceptions_in_flight(tmp_path: Path, steps: Path) -> None:
    # The C++ runtime overwrites saved registers of its own frames before it jumps.
    needs("g++")
    program = compiled(tmp_path, "-O2", PROGRAMS / "exceptions.cpp", compiler="g++")
    stacks, said = follow(steps, "program", 5, program)
    assert stacks.total > 5000
    assert stacks.as_called > 0.99 * stacks.total, said


def test_assembly_without_rules_is_guessed(tmp_path: Path, steps: Path) -> None:
    program = compiled(tmp_path, "-O2", PROGRAMS / "calls_kernel.c", PROGRAMS / "no_rules.S")
    stacks, said = follow(steps, "program", 1, program)
    assert stacks.as_called == stacks.total, said
    assert stacks.guessed > 100


def test_a_system_program_from_its_first_instruction(steps: Path) -> None:
    stacks, said = follow(steps, "loader", 7, "true")
    assert stacks.total > 5000
    assert stacks.as_called == stacks.total, said


@pytest.mark.long
@pytest.mark.parametrize("program", ["true", "ls"])
def test_every_instruction_of_system_programs(steps: Path, program: str) -> None:
    stacks, said = follow(steps, "loader", 1, program)
    assert stacks.total > 50000
    assert stacks.as_called == stacks.total, said


@pytest.mark.long
def test_a_hundred_thousand_damaged_files() -> None:
    damage = sanitized("test_unwind_damage") / "native" / "tests" / "test_unwind_damage"
    for seed in range(4):
        assert run(damage, "25000", str(1 + 2 * seed)).startswith("25000 damaged images")
