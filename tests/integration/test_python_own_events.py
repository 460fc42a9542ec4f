"""A Python program has events of its own: they stand for those of the tree, and nothing is lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from sampled import facts, samples_with, stacks
from signalled_events import interpreters
from test_python_recorded import recorded

from gnomon.store.run import Run

PYTHON = interpreters()[0]
# What events of a process's own have to do with: a thread, a fork that executes nothing, and a fork
# of that, a program that a child executes, another one that takes the process's place.
PROGRAM = """
import os, subprocess, sys, threading
def spin():
    total = 0
    for number in range(2500000):
        total ^= number
def in_main():
    spin()
def in_thread():
    spin()
def in_child():
    spin()
def in_child_of_child():
    spin()
in_main()
thread = threading.Thread(target=in_thread)
thread.start()
thread.join()
if not os.fork():
    in_child()
    if not os.fork():
        in_child_of_child()
        os._exit(0)
    os.wait()
    os._exit(0)
os.wait()
subprocess.run([*sys.argv[1:], "1500000"], check=True)
os.execv(sys.argv[1], [*sys.argv[1:], "1500000"])
"""
# Of a process that is traced no events signal anything, nor can they be opened for its children.
TRACED = """
import os, subprocess, sys, time
def spin():
    total = 0
    for number in range(5000000):
        total ^= number
log, shares = sys.argv[1:]
me = str(os.getpid())
tracer = subprocess.Popen(["strace", "-f", "-q", "-o", log, "-p", me])
while f"TracerPid:\\t{tracer.pid}\\n" not in open("/proc/self/status").read():
    time.sleep(0.01)
child = os.fork()
if not child:
    spin()
    if not os.fork():
        spin()
        os.execv(shares, [shares, "9000"])
    os.wait()
    os._exit(0)
os.waitpid(child, 0)
tracer.terminate()
tracer.wait()
"""
FUNCTIONS = ("in_main", "in_thread", "in_child", "in_child_of_child")


def write_program(folder: Path) -> Path:
    program = folder / "program.py"
    program.write_text(PROGRAM)
    return program


def check_cpu_time(run: Run) -> None:
    """Fail if samples stand for less or more CPU time than the kernel counted."""
    used = dict(
        run.query(
            "SELECT name, SUM(inclusive) FROM profile JOIN metrics USING (metric) "
            "WHERE path = 0 GROUP BY name"
        )
    )
    assert 0.85 < used["CPU time"] / (used["user time"] + used["system time"]) * 1e9 < 1.1, used


def test_the_events_of_the_tree_wait_while_the_program_has_its_own(
    tmp_path: Path, compiled: Callable[..., Path]
) -> None:
    program, calls = write_program(tmp_path), compiled("cc", "calls.c", "-O2")
    run = recorded(tmp_path, PYTHON, program, calls)
    check_cpu_time(run)
    counted = stacks(run)
    spins = [
        sum(n for stack, n in counted.items() if stack[-2:] == (name, "spin")) for name in FUNCTIONS
    ]
    assert min(spins) > 30, counted.most_common(20)
    # The last program is the first process.
    names = run.query(
        "SELECT l.name, COUNT(DISTINCT p.pid), COUNT(*) FROM samples JOIN locations l "
        "USING (location) JOIN locations p ON l.parent = p.location GROUP BY l.name"
    )
    n_processes, n_samples = {name: (n, m) for name, n, m in names}[calls.name]
    assert (n_processes, n_samples > 60) == (2, True)
    # Beside its own it had those of the tree until it asked.
    said = facts(run)
    assert said["left_out"] <= 3, said


def test_a_python_program_that_another_one_starts_has_both(
    tmp_path: Path, compiled: Callable[..., Path]
) -> None:
    program, calls = write_program(tmp_path), compiled("cc", "calls.c", "-O2")
    run = recorded(tmp_path, "sh", "-c", f"{PYTHON} {program} {calls}; true")
    check_cpu_time(run)
    said = facts(run)
    of_functions = sum(samples_with(stacks(run), name) for name in FUNCTIONS)
    assert said["left_out"] > 0.5 * of_functions, said


def test_a_child_without_events_of_its_own_has_those_of_the_tree(
    tmp_path: Path, compiled: Callable[..., Path]
) -> None:
    if shutil.which("strace") is None:
        pytest.fail("strace is not installed: run `make setup`")
    program, shares = tmp_path / "traced.py", compiled("gcc", "shares.c", "-O2", "-pthread")
    program.write_text(TRACED)
    run = recorded(tmp_path, PYTHON, program, tmp_path / "strace.log", shares)
    check_cpu_time(run)
    assert facts(run)["processes_without"] == 0
    # The interpreter's own functions, as of all traced programs, in both children.
    rows = run.query(
        "SELECT l.pid, COUNT(*) FROM samples JOIN locations l USING (location) "
        "GROUP BY l.pid ORDER BY 2 DESC LIMIT 2"
    )
    assert min(n for _, n in rows) > 60, rows
    assert samples_with(stacks(run), "_PyEval_EvalFrameDefault") > 100
    assert samples_with(stacks(run), "work") > 60
