"""`gnomon record` of Python programs: their functions stand in the call paths."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import gnomon
from sampled import Stack, check_shares, facts, opened, stacks
from signalled_events import interpreters, shared_interpreter

from gnomon.store.run import Run

PROGRAMS = Path(__file__).parents[1] / "programs" / "python_frames"
INTERPRETERS = interpreters()

# One and the same work, of which functions do shares by the number of their rounds.
PLANTED = """
def work():
    total = 0
    for number in range(20000):
        total ^= number
def half():
    for _ in range(5):
        work()
def third():
    for _ in range(3):
        work()
def fifth():
    for _ in range(2):
        work()
def by_c(_):
    fifth()
for _ in range(250):
    half()
    third()
    max([0], key=by_c)
print("done")
"""

LOOP = "_PyEval_EvalFrameDefault"


def recorded(folder: Path, *command: str | Path, rate: int = 997) -> Run:
    """Record a program and return its run."""
    done = gnomon("record", "-F", str(rate), "--name", "r", "--", *map(str, command), cwd=folder)
    assert done.returncode == 0, done.stderr
    return opened(folder / "r")


def python_stacks(run: Run) -> Counter[Stack]:
    return Counter(
        {stack: n for stack, n in stacks(run).items() if "<module>" in stack or "work" in stack}
    )


@pytest.mark.parametrize("python", INTERPRETERS)
def test_planted_shares_come_out(python: str, tmp_path: Path) -> None:
    program = tmp_path / "planted.py"
    program.write_text(PLANTED)
    run = recorded(tmp_path, python, program)
    own = python_stacks(run)
    check_shares(own, {"half": 0.5, "third": 0.3, "fifth": 0.2})
    # Nothing of the interpreter stands between the functions.
    of_fifth = [stack for stack in own if "fifth" in stack]
    assert all(stack[: stack.index("fifth")] == ("<module>", "by_c") for stack in of_fifth), (
        of_fifth
    )
    rows = run.query("SELECT module, file, MIN(line), MAX(line) FROM regions "
                     "WHERE name = 'work' GROUP BY module, file")  # fmt: skip
    assert [tuple(row) for row in rows] == [("python", str(program), 4, 5)] or [
        tuple(row)[:2] for row in rows
    ] == [("python", str(program))]
    # Moments at which a stack cannot be read.
    said = facts(run)
    assert said["python"] > 0.9 * said["samples"]
    assert said["python_unreadable"] < 0.03 * said["samples"]
    assert sum(n for stack, n in stacks(run).items() if LOOP in stack) < 0.05 * said["samples"]


def test_a_c_extension_stands_below_the_function_that_calls_it(tmp_path: Path) -> None:
    program = tmp_path / "numpy_program.py"
    program.write_text(
        "import numpy\n"
        "def product(matrix):\n"
        "    for _ in range(12):\n"
        "        matrix = matrix @ matrix / 1000\n"
        "def main():\n"
        "    product(numpy.ones((700, 700)))\n"
        "main()\n"
    )
    run = recorded(tmp_path, sys.executable, program)
    below = [stack[3:] for stack in stacks(run) if stack[:3] == ("<module>", "main", "product")]
    assert any(len(stack) > 1 for stack in below), below
    modules = {
        name
        for (name,) in run.query(
            "SELECT DISTINCT r.module FROM samples JOIN paths USING (path) JOIN regions r "
            "USING (region)"
        )
    }
    assert any("blas" in name for name in modules), modules


def test_children_and_threads_have_their_functions(tmp_path: Path) -> None:
    program = tmp_path / "children.py"
    program.write_text(
        "import os, subprocess, sys, threading\n"
        "def spin(n):\n"
        "    total = 0\n"
        "    for number in range(2 * n):\n"
        "        total ^= number\n"
        "def in_thread():\n"
        "    spin(3000000)\n"
        "def in_child():\n"
        "    spin(3000000)\n"
        "def in_other():\n"
        "    spin(3000000)\n"
        "if sys.argv[1:]:\n"
        "    in_other()\n"
        "    sys.exit()\n"
        "if not os.fork():\n"
        "    in_child()\n"
        "    os._exit(0)\n"
        "thread = threading.Thread(target=in_thread)\n"
        "thread.start()\n"
        "subprocess.run([sys.executable, __file__, 'other'], check=True)\n"
        "thread.join()\n"
        "os.wait()\n"
    )
    counted = stacks(recorded(tmp_path, INTERPRETERS[0], program))
    for name in ("in_thread", "in_child", "in_other"):
        spins = sum(n for stack, n in counted.items() if stack[-2:] == (name, "spin"))
        assert spins > 50, (name, counted.most_common(20))


def test_python_in_a_c_program_stands_below_it(tmp_path: Path) -> None:
    library = shared_interpreter()
    program = tmp_path / "embedding"
    source = PROGRAMS / "embedding.c"
    subprocess.run(["cc", "-g", "-O1", source, "-o", program, library], check=True)
    counted = stacks(recorded(tmp_path, program))
    spins = sum(
        n for stack, n in counted.items()
        if stack[:4] == ("main", "<module>", "embedded", "spin")
    )  # fmt: skip
    assert spins > 50, counted.most_common(20)


# What a process may have done by which it no longer reaches the recorder.
CHANGES = {
    "environment": "os.environ.clear()",
    "descriptors": """
        resource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))
        while True:
            try:
                os.open("/dev/null", os.O_RDONLY)
            except OSError:
                break""",
    "user": "os.setgroups([]); os.setgid(65534); os.setuid(65534)",
    "root": "os.chroot(sys.argv[1])",
}
EXECUTING = """
import os, resource, sys
def work():
    total = 0
    for number in range(100000):
        total ^= number
for _ in range(10):
    child = os.fork()
    if not child:
        work()
        {change}
        os.execv(sys.argv[2], [sys.argv[2], "1"])
    status = os.waitpid(child, 0)[1]
    if status:
        sys.exit(f"the program that was executed ended with wait status {{status}}")
"""


@pytest.mark.parametrize("change", CHANGES)
def test_no_sample_kills_a_program_that_is_executed(
    change: str, tmp_path: Path, compiled: Callable[..., Path]
) -> None:
    if change in ("user", "root") and os.geteuid():
        pytest.fail("only root can give up its user and root: run `make test` as root")
    root, program = tmp_path / "root", Path("/bin/true")
    if change == "root":
        # There are no libraries.
        static = compiled("gcc", "shares.c", "-O2", "-static", "-pthread")
        root.mkdir()
        shutil.copy(static, root / "program")
        program = Path("/program")
    text = EXECUTING.format(change=CHANGES[change])
    run = recorded(tmp_path, sys.executable, "-c", text, root, program, rate=5000)
    assert any("work" in stack for stack in python_stacks(run))
