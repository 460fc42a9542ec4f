"""Sampled programs of many threads, processes and programs, and kills at any moment."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from commands import GNOMON, gnomon, run
from sampled import CPU_TIME, check_shares, facts, opened, samples_with, stacks
from test_record import SHARES, WITHOUT_FRAME_POINTERS

from gnomon.store.run import Run

Compiled = Callable[..., Path]

RECORD = (GNOMON, "record", "--name", "r", "--")
RUN = (GNOMON, "run", "--name", "r", "--")
COMMANDS = pytest.mark.parametrize("command", [RECORD, RUN], ids=["record", "run"])
# Moments of a run's first second, always the same; of those but a few in `make test`.
MOMENTS = [
    pytest.param(round(Random(seed).random(), 3), marks=[pytest.mark.long] if seed > 2 else [])
    for seed in range(16)
]


@pytest.fixture(scope="module")
def shares(compiled: Compiled) -> Path:
    """Return a program of known shares."""
    return compiled("gcc", "shares.c", *WITHOUT_FRAME_POINTERS)


def check_adds_up(found: Run) -> None:
    """Fail if the profile is not that of the samples."""
    ((weight,),) = found.query(f"SELECT COALESCE(SUM(weight), 0) FROM {CPU_TIME}")
    ((inclusive,),) = found.query(
        "SELECT COALESCE(SUM(inclusive), 0) FROM profile JOIN metrics m USING (metric) "
        "WHERE m.name = 'CPU time' AND path = 0"
    )
    assert inclusive == pytest.approx(weight)


@COMMANDS
def test_64_threads(command: tuple[str, ...], tmp_path: Path, shares: Path) -> None:
    threads = 64
    # Each has several periods of samples to work, also on a machine that is twice as fast.
    done = run(*command, shares, "1600", str(threads), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = opened(tmp_path / "r")
    check_shares(stacks(found), SHARES, least=100)
    tids = found.query(
        "SELECT DISTINCT tid FROM samples JOIN locations USING (location) "
        "JOIN paths USING (path) JOIN regions r USING (region) WHERE r.name = 'work'"
    )
    assert len(tids) == threads
    assert facts(found)["lost"] == 0
    check_adds_up(found)


@pytest.mark.long
@COMMANDS
def test_6000_forks(
    command: tuple[str, ...], tmp_path: Path, programs: Callable[[str], Path]
) -> None:
    done = run(*command, programs("forks"), "6000", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = opened(tmp_path / "r")
    said = facts(found)
    assert said["lost"] == said["without_memory"] == 0
    assert said["samples"] > 0
    check_adds_up(found)


@COMMANDS
def test_a_chain_of_programs(command: tuple[str, ...], tmp_path: Path, shares: Path) -> None:
    """Each executes the next in its place, shells and Python by turns; the last one works."""
    chain = tmp_path / "chain.sh"
    chain.write_text(
        '[ "$1" = 0 ] && exec "$2" 6000\n'
        f"[ $(($1 % 10)) = 5 ] && exec /usr/bin/python3 -c \"import os, sys; os.execv('/bin/sh', "
        f"['sh', '{chain}', *sys.argv[1:]])\" $(($1 - 1)) \"$2\"\n"
        f'exec sh {chain} $(($1 - 1)) "$2"\n'
    )
    done = run(*command, "sh", chain, "40", shares, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    found = opened(tmp_path / "r")
    check_shares(stacks(found), SHARES, least=25)
    pids = found.query(
        "SELECT DISTINCT pid FROM samples JOIN locations USING (location) "
        "JOIN paths USING (path) JOIN regions r USING (region) WHERE r.name = 'work'"
    )
    assert len(pids) == 1
    check_adds_up(found)


@pytest.mark.parametrize("moment", MOMENTS)
@COMMANDS
def test_the_program_is_killed_at_any_moment(
    command: tuple[str, ...], moment: float, tmp_path: Path, shares: Path
) -> None:
    words = ("timeout", "--foreground", "-s", "KILL", str(moment), shares, "1000000", "2")
    done = run(*command, "sh", "-c", '"$@"; echo $?', "sh", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "137\n"), done.stderr
    found = opened(tmp_path / "r")
    counted = stacks(found)
    # Both of its threads have a moment of two CPUs, or less beside other programs.
    if moment > 0.3:
        assert samples_with(counted, "work") > 0
    check_adds_up(found)


@pytest.mark.parametrize("moment", MOMENTS)
@COMMANDS
def test_gnomon_is_killed_at_any_moment(
    command: tuple[str, ...], moment: float, tmp_path: Path, shares: Path
) -> None:
    """The program goes on, to its own end; what was recorded until then can be had."""
    over = tmp_path / "over"
    script = f"{shares} 8000 2; echo $? >{over}"
    with subprocess.Popen(
        [*command, "sh", "-c", script], cwd=tmp_path, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as recorder:  # fmt: skip
        time.sleep(moment)
        recorder.kill()
    has_begun = _waits_for(over, tmp_path)
    if has_begun:
        assert over.read_text() == "0\n"
    if not (tmp_path / "r.gnomon.raw").exists():
        return
    done = gnomon("repair", "r", cwd=tmp_path)
    assert "Traceback" not in done.stderr
    if done.returncode == 0:
        check_adds_up(opened(tmp_path / "r"))
    else:
        assert done.stderr.count("\n") == 1, done.stderr


def _waits_for(over: Path, folder: Path) -> bool:
    """Return whether the program ran: then it has ended by now."""
    for _ in range(1200):
        if over.exists() and over.read_text():
            return True
        # A process whose folder it is: the program, or its shell.
        if not any(_is_in(folder, entry) for entry in Path("/proc").iterdir()):
            return over.exists()
        time.sleep(0.05)
    return pytest.fail("the program did not end")


def _is_in(folder: Path, process: Path) -> bool:
    try:
        return process.name.isdigit() and os.readlink(process / "cwd") == str(folder)  # noqa: PTH115
    except OSError:
        return False


def test_a_kill_leaves_nothing_that_is_in_the_way(tmp_path: Path, shares: Path) -> None:
    """The same name can be used again once it is repaired or removed."""
    with subprocess.Popen([*RECORD, shares, "1000000"], cwd=tmp_path) as recorder:
        while not list(tmp_path.glob("r.gnomon.raw/*.samples.gnrec")):
            time.sleep(0.02)
        # Its whole group, as a terminal that is closed.
        recorder.send_signal(signal.SIGKILL)
    for process in Path("/proc").iterdir():
        if _is_in(tmp_path, process):
            os.kill(int(process.name), signal.SIGKILL)
    shutil.rmtree(tmp_path / "r.gnomon.raw")
    assert run(*RECORD, shares, "10", cwd=tmp_path).returncode == 0
