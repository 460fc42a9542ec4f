"""Sampled programs under strace and gdb: they end, and see no signal that is not theirs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import GNOMON, run
from sampled import opened, samples_with, stacks

RECORD = (GNOMON, "record", "--name", "r", "--")
PYTHON = "/usr/bin/python3"
# Deep, so that a sample's frames are in many pages.
SCRIPT = """
def spin(n):
    total = 0
    for number in range(n):
        total ^= number
    return total

def deep(depth, n):
    return deep(depth - 1, n) if depth else spin(n)

for _ in range({rounds}):
    deep(300, 200000)
print("the end")
raise SystemExit(4)
"""
# However fast the CPU is, it has not ended when it is looked for.
UNTIL_TRACED = """
import time

def is_traced():
    with open("/proc/self/status") as status:
        return "TracerPid:\\t0\\n" not in status.read()

end = time.monotonic() + 60
while not is_traced() and time.monotonic() < end:
    deep(300, 200000)

for _ in"""


def tool(name: str) -> str:
    """Return the path of a program; without it nothing can be tried, which is a failure."""
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is not installed: run `make setup`")
    return found


def script(folder: Path, rounds: int = 20) -> Path:
    path = folder / "deep.py"
    path.write_text(SCRIPT.format(rounds=rounds))
    return path


@pytest.mark.parametrize("rate", ["997", "5000"])
def test_a_traced_program(rate: str, tmp_path: Path) -> None:
    """It would be stopped at each signal of a sample: it gets none, and shows the interpreter."""
    log = tmp_path / "strace.log"
    command = (GNOMON, "record", "-F", rate, "--name", "r", "--", tool("strace"), "-f", "-o", log)
    done = run(*command, PYTHON, script(tmp_path), cwd=tmp_path, timeout=120)
    assert (done.returncode, done.stdout) == (4, "the end\n"), done.stderr
    assert "--- SIGTRAP" not in log.read_text(errors="replace")
    found = opened(tmp_path / "r")
    assert any("traced (strace, gdb)" in note for note in found.head["warnings"])
    assert samples_with(stacks(found), "_PyEval_EvalFrameDefault") > 50


def test_gnomon_is_traced_with_its_program(tmp_path: Path) -> None:
    command = (tool("strace"), "-f", "-o", tmp_path / "strace.log", *RECORD)
    done = run(*command, PYTHON, script(tmp_path), cwd=tmp_path, timeout=120)
    assert (done.returncode, done.stdout) == (4, "the end\n"), done.stderr
    assert sum(stacks(opened(tmp_path / "r")).values()) > 50


def test_gnomon_alone_is_traced(tmp_path: Path) -> None:
    command = (tool("strace"), "-o", tmp_path / "strace.log", *RECORD)
    done = run(*command, PYTHON, script(tmp_path), cwd=tmp_path, timeout=120)
    assert (done.returncode, done.stdout) == (4, "the end\n"), done.stderr
    assert samples_with(stacks(opened(tmp_path / "r")), "spin") > 50


def test_a_program_in_a_debugger(tmp_path: Path) -> None:
    """It stops where it is told to, and at no sample."""
    commands = ("-ex", "break exit", "-ex", "run", "-ex", "bt 1", "-ex", "continue")
    words = (tool("gdb"), "-nx", "-batch", *commands, "--args", PYTHON, script(tmp_path))
    done = run(*RECORD, *words, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "the end" in done.stdout
    assert "exited with code 04" in done.stdout
    assert "SIGTRAP" not in done.stdout + done.stderr
    assert samples_with(stacks(opened(tmp_path / "r")), "_PyEval_EvalFrameDefault") > 50


@pytest.mark.long
def test_a_program_that_is_traced_later(tmp_path: Path) -> None:
    """Each system call of a sample's handler takes longer then: it makes fewer, and goes on."""
    around = '"$@" & program=$!; sleep 0.7; strace -f -o log -p $program; wait $program'
    tool("strace")
    program = script(tmp_path, 150)
    program.write_text(program.read_text().replace("\nfor _ in", UNTIL_TRACED))
    words = ("sh", "-c", around, "sh", PYTHON, program)
    done = run(*RECORD, *words, cwd=tmp_path, timeout=300)
    assert (done.returncode, done.stdout) == (4, "the end\n"), done.stderr
    assert "attached" in done.stderr
    assert samples_with(stacks(opened(tmp_path / "r")), "spin") > 50
