"""Unwound stacks against the calls that programs really make, instruction by instruction."""

from __future__ import annotations

import os
import platform
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from building import needs, run, sanitized

PROGRAMS = Path(__file__).parent / "unwind"
LIBRARY = PROGRAMS / "calls_library.c"
EMBEDDING = Path(__file__).parents[1] / "programs" / "python_frames" / "embedding.c"
MOST = "400000"  # instructions

pytestmark = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="programs are followed on x86-64 only"
)

VARIANTS = {
    "optimized": ["-O2", "-fomit-frame-pointer"],
    "frame pointers": ["-O0"],
    "static": ["-O2", "-static"],
    "static, at any address": ["-O2", "-static-pie"],
    "no table in the header": ["-O1", "-no-pie", "-Wl,--no-eh-frame-hdr"],
    "rules for debuggers only": ["-O1", "-g", "-fno-asynchronous-unwind-tables"],
}


class Stacks(NamedTuple):
    """What unwind_steps counted."""

    total: int
    as_called: int
    complete: int
    guessed: int
    guessed_wrong: int
    cut: int

    def check(self, said: str) -> None:
        """Fail unless every stack is as called; a guess may go wrong, but hardly ever does."""
        assert self.as_called + self.guessed_wrong == self.total, said
        assert self.guessed_wrong <= 3 + 0.02 * self.guessed, said


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
    counts = re.search(
        r"(\d+) stacks: (\d+) as called, (\d+) complete, (\d+) with a guess, (\d+)"
        r" guessed wrong, (\d+) cut",
        done.stdout,
    )
    assert counts, done.stdout + done.stderr
    stacks = Stacks(*map(int, counts.groups()))
    assert done.returncode == (stacks.as_called != stacks.total)
    return stacks, done.stdout


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_stack_is_as_called(tmp_path: Path, steps: Path, variant: str) -> None:
    program = compiled(tmp_path, *VARIANTS[variant], PROGRAMS / "frames.c")
    stacks, said = follow(steps, "program", 1, program)
    assert stacks.total > 5000
    assert stacks.complete == stacks.total, said
    stacks.check(said)


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


def test_coroutines_of_cpp(tmp_path: Path, steps: Path) -> None:
    needs("g++")
    program = compiled(tmp_path, "-std=c++20", "-O2", PROGRAMS / "coroutines.cpp", compiler="g++")
    stacks, said = follow(steps, "program", 3, program)
    assert stacks.total > 5000
    # One of them throws: see below.
    assert stacks.as_called > 0.99 * stacks.total, said


def test_assembly_with_rules_of_its_own(tmp_path: Path, steps: Path) -> None:
    program = compiled(tmp_path, "-O2", PROGRAMS / "calls_kernel.c", PROGRAMS / "with_rules.S")
    stacks, said = follow(steps, "program", 1, program)
    assert stacks.as_called == stacks.complete == stacks.total > 2000, said
    assert stacks.guessed == 0


def test_assembly_without_rules_is_followed(tmp_path: Path, steps: Path) -> None:
    program = compiled(tmp_path, "-O2", PROGRAMS / "calls_kernel.c", PROGRAMS / "no_rules.S")
    stacks, said = follow(steps, "program", 1, program)
    assert stacks.as_called == stacks.complete == stacks.total > 2000, said
    assert stacks.guessed == 0


def test_assembly_without_rules_or_symbols_is_guessed(tmp_path: Path, steps: Path) -> None:
    program = compiled(tmp_path, "-O2", "-s", PROGRAMS / "calls_kernel.c", PROGRAMS / "no_rules.S")
    stacks, said = follow(steps, "program", 1, program)
    stacks.check(said)
    assert stacks.guessed > 100


def test_musl_has_no_rules_but_symbols(tmp_path: Path, steps: Path) -> None:
    program = compiled(tmp_path, "-O2", "-static", LIBRARY, compiler="musl-gcc")
    stacks, said = follow(steps, "program", 1, program)
    assert stacks.total > 3000
    # Within the restorer of signals, behind its first instruction, the rest is a guess: what the
    # stack holds by chance decides whether it is wrong or cut.
    assert stacks.as_called + stacks.guessed_wrong + stacks.cut == stacks.total, said
    assert stacks.as_called >= stacks.total - 5, said


@pytest.mark.parametrize("flag", ["-static", "-no-pie"])
def test_stacks_end_where_musl_is_stripped(tmp_path: Path, steps: Path, flag: str) -> None:
    program = compiled(tmp_path, "-O2", "-s", flag, LIBRARY, compiler="musl-gcc")
    stacks, said = follow(steps, "program", 1, program)
    assert stacks.total > 3000
    # What is said to be complete is; but what lies next to the first function is taken for it.
    assert stacks.as_called + stacks.cut > 0.98 * stacks.total, said
    assert stacks.cut > 0.3 * stacks.total, said


def test_the_installed_python_library(tmp_path: Path, steps: Path) -> None:
    libraries = sorted(Path("/usr/lib").glob("*/libpython3.*.so.1.0"))
    if not libraries:
        pytest.fail("no libpython below /usr/lib: run `make setup`, or install python3-dev")
    program = compiled(tmp_path, "-O2", EMBEDDING, libraries[-1])
    stacks, said = follow(steps, "program", 37, program)
    assert stacks.total > 5000
    stacks.check(said)


def test_instructions_are_as_long_as_objdump_says() -> None:
    lengths = sanitized("x86_lengths") / "native" / "tests" / "x86_lengths"
    libc = next(Path("/usr/lib").glob("*/libc.so.6"))
    text = run("objdump", "-d", "-w", libc)
    pattern = r"^ +[0-9a-f]+:\t((?:[0-9a-f]{2} )+) *\t(?!\(bad\))"
    shown = set(re.findall(pattern, text, re.MULTILINE))
    assert len(shown) > 50_000
    done = subprocess.run(
        [lengths], input="\n".join(shown), capture_output=True, text=True, check=True, timeout=120
    )
    measured = list(map(int, done.stdout.split()))
    wrong = [(code, n) for code, n in zip(shown, measured, strict=True) if n != len(code.split())]
    assert wrong == []


def test_a_system_program_from_its_first_instruction(steps: Path) -> None:
    stacks, said = follow(steps, "loader", 7, "true")
    assert stacks.total > 5000
    stacks.check(said)


@pytest.mark.long
@pytest.mark.parametrize("program", ["true", "ls"])
def test_every_instruction_of_system_programs(steps: Path, program: str) -> None:
    stacks, said = follow(steps, "loader", 1, program)
    assert stacks.total > 50000
    stacks.check(said)


@pytest.mark.long
def test_a_hundred_thousand_damaged_files() -> None:
    damage = sanitized("test_unwind_damage") / "native" / "tests" / "test_unwind_damage"
    for seed in range(4):
        assert run(damage, "25000", str(1 + 2 * seed)).startswith("25000 damaged images")


BUSY = {
    "xz": ["xz", "-9", "-T1", "-c", "/dev/zero"],
    "sqlite3": ["sqlite3", ":memory:", "with recursive c(x) as (select 1 union all "
                "select x + 1 from c) select sum(x * x % 7) from c"],
    "python3": ["/usr/bin/python3", "-c", "f = lambda n: n if n < 2 else f(n - 1) + f(n - 2)\n"
                "while True: sorted(range(9), key=lambda x: f(12))"],
    "node": ["node", "-e", "const f = n => n < 2 ? n : f(n - 1) + f(n - 2);\n"
             "for (;;) [1, 2, 3].map(x => f(x + 12))"],
}  # fmt: skip

FRAMES_OF_GDB = """
frame = gdb.newest_frame()
while frame:
    if frame.type() != gdb.INLINE_FRAME:
        print(f"pc {frame.pc():x}")
    frame = frame.older()
"""


@pytest.fixture
def busy(request: pytest.FixtureRequest) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that was stopped at work."""
    command = BUSY[request.param]
    needs(command[0])
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    try:
        while cpu_seconds(process.pid) < 0.5:
            assert process.poll() is None
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        yield process
    finally:
        process.kill()
        process.wait()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def frames_of_gdb(pid: int, script: Path) -> list[int]:
    needs("gdb")
    script.write_text(FRAMES_OF_GDB)
    done = subprocess.run(
        ["gdb", "-nx", "-batch", "-p", str(pid), "-ex", "set backtrace past-main on",
         "-ex", "set backtrace past-entry on", "-x", script],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False,
    )  # fmt: skip
    return [int(pc, 16) for pc in re.findall(r"^pc ([0-9a-f]+)$", done.stdout, re.MULTILINE)]


@pytest.mark.long
@pytest.mark.parametrize("busy", BUSY, indirect=True)
def test_stacks_are_those_of_gdb(tmp_path: Path, busy: subprocess.Popen[bytes]) -> None:
    program = sanitized("unwind_process") / "native" / "tests" / "unwind_process"
    *lines, end = run(program, str(busy.pid)).splitlines()
    assert end == "end 0"
    frames = [line.split() for line in lines]
    pcs = [int(frame[0], 16) for frame in frames]
    # gdb knows nothing of code that was made at run time.
    n = next((i for i, frame in enumerate(frames) if frame[2] == "-"), len(frames))
    expected = frames_of_gdb(busy.pid, tmp_path / "frames.py")
    assert len(expected) > 2
    assert pcs[:n] == expected[:n]
    assert n < len(pcs) or len(expected) == len(pcs)
