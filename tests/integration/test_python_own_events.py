"""A Python program has events of its own: they stand for those of the tree, and nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

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
