"""gnomon record, and gnomon run with samples: the functions of programs whose work is known."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import GNOMON, WITHOUT_RIGHTS, gnomon, run
from sampled import CPU_TIME, Stack, check_shares, facts, opened, samples_with, stacks

from gnomon.store.run import Run

Compiled = Callable[..., Path]

SHARES = {"half": 0.5, "third": 0.3, "fifth": 0.2}
WITHOUT_FRAME_POINTERS = ("-O2", "-fomit-frame-pointer", "-pthread")
ROUNDS = "24000"


@pytest.fixture(scope="module")
def shares(compiled: Compiled) -> Path:
    """Return a program of known shares."""
    return compiled("gcc", "shares.c", *WITHOUT_FRAME_POINTERS)


def recorded(folder: Path, *words: str | Path, status: int = 0, command: str = "record") -> Run:
    """Return the run of a recorded program."""
    done = gnomon(command, "--name", "r", *words, cwd=folder)
    assert done.returncode == status, done.stderr
    return opened(folder / "r")


def test_functions_have_the_shares_that_were_planted(tmp_path: Path, shares: Path) -> None:
    run = recorded(tmp_path, "--", shares, ROUNDS)
    counted = stacks(run)
    check_shares(counted, SHARES)
    # All but the start of the process is in main, and what works stands above who asked for it.
    total = sum(counted.values())
    assert samples_with(counted, "main") > 0.9 * total
    (most, n), *_ = counted.most_common(1)
    assert most[-2:] == ("half", "work") or "half" in most[-3:], most
    assert {"main", "deal"} <= set(most)
    assert n > 0.2 * total
    said = facts(run)
    assert said["complete"] >= 0.99 * said["stacks"]


def test_shares_of_a_c_plus_plus_program_that_throws(tmp_path: Path, compiled: Compiled) -> None:
    program = compiled("g++", "shares.cpp", "-O2", "-fomit-frame-pointer")
    run = recorded(tmp_path, "--", program, "20000")
    names = {f"Shared<{share}>::perform": share / 100 for share in (50, 30, 20)}
    check_shares(stacks(run), names)
    said = facts(run)
    assert said["complete"] >= 0.99 * said["stacks"]


def test_shares_of_a_fortran_program(tmp_path: Path, compiled: Compiled) -> None:
    program = compiled("gfortran", "shares.f90", "-O2", "-fomit-frame-pointer", "-fno-inline",
                       "-J", str(tmp_path))  # fmt: skip
    run = recorded(tmp_path, "--", program, "24000")
    counted = stacks(run)
    check_shares(counted, {f"dealing::{name}": share for name, share in SHARES.items()})
    (most, _), *_ = counted.most_common(1)
    assert most[-4:] == ("shares", "dealing::play", "dealing::half", "dealing::work"), most
    said = facts(run)
    assert said["complete"] >= 0.99 * said["stacks"]


def test_shares_of_functions_that_were_inlined(tmp_path: Path, compiled: Compiled) -> None:
    program = compiled("gcc", "shares.c", *WITHOUT_FRAME_POINTERS, "-DINLINED")
    counted = stacks(recorded(tmp_path, "--", program, ROUNDS))
    check_shares(counted, SHARES)
    (most, _), *_ = counted.most_common(1)
    assert most[-3:] == ("recurse", "half", "work"), most


def test_shares_of_functions_that_are_jumped_to(tmp_path: Path, compiled: Compiled) -> None:
    program = compiled("gcc", "shares.c", *WITHOUT_FRAME_POINTERS, "-DTAIL_CALLED")
    counted = stacks(recorded(tmp_path, "--", program, ROUNDS))
    check_shares(counted, SHARES)
    # Who jumps is no longer there, and nobody else is in its place.
    (most, _), *_ = counted.most_common(1)
    assert most[-3:] == ("deal", "half", "work"), most


def test_a_recursion_is_told_from_its_end(tmp_path: Path, shares: Path) -> None:
    counted = stacks(recorded(tmp_path, "--", shares, ROUNDS, "0", "40"))
    check_shares(counted, SHARES)
    depths = {stack.count("recurse") for stack in counted if "work" in stack}
    assert depths == {41}


def test_a_frame_larger_than_what_is_copied(tmp_path: Path, compiled: Compiled) -> None:
    program = compiled("gcc", "large_frame.c", "-O2", "-fomit-frame-pointer")
    run = recorded(tmp_path, "--stack", "16", "--", program, "1000000")
    counted = stacks(run)
    whole = {stack for stack in counted if "(truncated)" not in stack and "large_frame" in stack}
    assert {stack[stack.index("main") :][:3] for stack in whole} == {
        ("main", "caller", "large_frame")
    }
    # Those of the end are read when the process is gone.
    n = samples_with(counted, "large_frame")
    assert n > 300
    assert sum(counted[stack] for stack in whole) > n / 4
    assert facts(run)["guessed"] > n / 4


def test_a_program_that_ends_before_its_samples_are_read(tmp_path: Path, shares: Path) -> None:
    """It is still in /proc, and has no root there any more."""
    said = facts(recorded(tmp_path, "--", shares, "1200"))
    assert said["stacks"] >= 10
    assert said["complete"] == said["stacks"]


def test_threads_that_come_and_go(tmp_path: Path, shares: Path) -> None:
    threads = 16
    run = recorded(tmp_path, "--", shares, "2500", str(threads))
    check_shares(stacks(run), SHARES)
    tids = run.query(
        "SELECT DISTINCT tid FROM samples JOIN locations USING (location) "
        "JOIN paths USING (path) JOIN regions r USING (region) WHERE r.name = 'work'"
    )
    assert len(tids) == threads


def test_the_profile_adds_up_to_the_samples(tmp_path: Path, shares: Path) -> None:
    run = recorded(tmp_path, "-e", "cpu-clock,page-faults", "--", shares, "3000")
    metrics = dict(run.query("SELECT name, unit FROM metrics WHERE component = 'samples'"))
    assert metrics == {"CPU time": "s", "page-faults (sampled)": ""}
    for name in metrics:
        ((taken, weight),) = run.query(
            f"SELECT COUNT(*), SUM(weight) FROM samples JOIN metrics m USING (metric) "
            f"WHERE m.name = '{name}'"
        )
        ((inclusive, raw),) = run.query(
            f"SELECT SUM(inclusive), SUM(raw) FROM profile JOIN metrics m USING (metric) "
            f"WHERE m.name = '{name}' AND path = 0"
        )
        ((exclusive,),) = run.query(
            f"SELECT SUM(exclusive) FROM profile JOIN metrics m USING (metric) "
            f"WHERE m.name = '{name}'"
        )
        assert taken > 0
        assert raw == taken
        assert inclusive == pytest.approx(weight)
        assert exclusive == pytest.approx(weight)


def test_processes_that_fork_and_execute(tmp_path: Path, shares: Path) -> None:
    script = f"{shares} 4000 & {shares} 4000 & wait; exec sh -c 'exec {shares} 4000'"
    run = recorded(tmp_path, "--", "sh", "-c", script)
    check_shares(stacks(run), SHARES)
    pids = run.query(
        "SELECT pid, COUNT(*) FROM samples JOIN locations USING (location) "
        "JOIN paths USING (path) JOIN regions r USING (region) WHERE r.name = 'work' GROUP BY pid"
    )
    assert len(pids) == 3
    # The same work in each.
    counts = [n for _, n in pids]
    assert max(counts) < 2 * min(counts)


def test_many_forks_lose_nothing(tmp_path: Path, programs: Callable[[str], Path]) -> None:
    forks = 1000
    run = recorded(tmp_path, "--", programs("forks"), str(forks))
    said = facts(run)
    assert said["lost"] == said["without_memory"] == 0
    assert said["samples"] > 0
    # A page of the stack that a child has not touched since the fork is not there to be copied.
    assert said["complete"] >= 0.95 * said["stacks"]


def test_a_run_has_samples_beside_its_counters(tmp_path: Path, shares: Path) -> None:
    words = ("--with", "samples", "--samples-rate", "499", "--", shares, "8000", "4")
    run = recorded(tmp_path, *words, command="run")
    check_shares(stacks(run), SHARES, least=100)
    ((sampled,),) = run.query(f"SELECT SUM(weight) FROM {CPU_TIME}")
    ((counted,),) = run.query(
        "SELECT SUM(inclusive) * 1e-9 FROM profile JOIN metrics m USING (metric) "
        "JOIN locations l USING (location) WHERE m.name = 'task-clock' AND path = 0 "
        "AND l.kind = 'command'"
    )
    assert sampled == pytest.approx(counted, rel=0.2)
    # Those of the four threads that work are theirs, although the kernel switches between them.
    of_thread = run.query(
        "SELECT tid, inclusive * 1e-9 FROM profile JOIN metrics m USING (metric) "
        "JOIN locations l USING (location) WHERE m.name = 'task-clock' AND path = 0 "
        "AND l.kind = 'thread' ORDER BY inclusive DESC LIMIT 4"
    )
    total = sum(seconds for _, seconds in of_thread)
    assert all(0.15 < seconds / total < 0.35 for _, seconds in of_thread), of_thread


def test_a_process_that_runs_already(tmp_path: Path, shares: Path) -> None:
    with subprocess.Popen([str(shares), "1000000", "4"]) as program:
        try:
            run = recorded(tmp_path, "-p", str(program.pid), "-d", "2")
        finally:
            program.kill()
    check_shares(stacks(run), SHARES)
    tids = run.query("SELECT DISTINCT tid FROM samples JOIN locations USING (location)")
    assert len(tids) >= 4
    assert run.head["command"] == ["shares--O2--fom", "-p", str(program.pid)]


def test_a_process_until_it_ends(tmp_path: Path, shares: Path) -> None:
    with subprocess.Popen([str(shares), "20000"]) as program:
        run = recorded(tmp_path, "-p", str(program.pid))
    assert samples_with(stacks(run), "work") > 0


def test_a_process_that_sleeps_all_the_time(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as program:
        try:
            status = Path(f"/proc/{program.pid}/status")
            while "State:\tS" not in status.read_text():
                time.sleep(0.01)
            done = gnomon(
                "record", "-p", str(program.pid), "-d", "0.2", "--name", "r", cwd=tmp_path
            )
        finally:
            program.kill()
    assert done.returncode == 0
    (note,) = opened(tmp_path / "r").head["warnings"]
    assert f"none was taken: process {program.pid} did not run, it waited all the time" in note
    assert "note: samples: none was taken" in done.stderr


def test_the_machine_while_a_command_runs(tmp_path: Path, shares: Path) -> None:
    run = recorded(tmp_path, "-a", "--", shares, "10000")
    counted: dict[Stack, int] = stacks(run)
    assert any("work" in stack for stack in counted)
    assert run.head["command"] == ["machine"]


def test_periods_are_weights(tmp_path: Path, shares: Path) -> None:
    run = recorded(tmp_path, "-c", "2000000", "--", shares, "8000")
    weights = {round(weight, 9) for (weight,) in run.query("SELECT weight FROM samples")}
    assert weights == {0.002}
    ((description,),) = run.query("SELECT description FROM metrics WHERE name = 'CPU time'")
    assert description == "samples of cpu-clock, every 2000000 ns"


def test_code_that_a_program_compiled_itself(
    tmp_path: Path, programs: Callable[[str], Path]
) -> None:
    if os.uname().machine != "x86_64":
        pytest.skip("its code is that of x86-64")
    done = gnomon("record", "--name", "r", "--", programs("compiled_code"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    Path(done.stdout.strip()).unlink()
    counted = stacks(opened(tmp_path / "r"))
    compiled = samples_with(counted, "script::count_down")
    assert compiled > 0.8 * sum(counted.values())
    assert ("main", "call", "script::count_down") in {stack[-3:] for stack in counted}


def test_a_small_limit_of_memory_makes_smaller_rings(tmp_path: Path, shares: Path) -> None:
    """A user gets 516 KB for each CPU, of which others may have taken all, and ulimit -l."""
    command = f"ulimit -l 600; exec {GNOMON} record -F 499 --name r -- {shares} 6000"
    done = run(*WITHOUT_RIGHTS, "sh", "-c", command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    check_shares(stacks(opened(tmp_path / "r")), SHARES, least=60)
