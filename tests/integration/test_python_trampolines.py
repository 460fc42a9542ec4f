"""`--python trampoline`: the interpreter names its functions, and its maps do not stay."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import GNOMON, gnomon
from sampled import check_shares, opened, samples_with, stacks
from signalled_events import interpreters
from test_python_recorded import LOOP, PLANTED

INTERPRETERS = interpreters()
RECORD = ("record", "--python", "trampoline", "--name", "r", "--")
SPIN = """
def spin(n):
    total = 0
    for number in range(2 * n):
        total ^= number
"""


def has_trampolines(python: str) -> bool:
    code = "import sys; sys.exit(sys.version_info < (3, 12))"
    return subprocess.run([python, "-c", code], check=False).returncode == 0


def maps(folder: Path) -> list[Path]:
    """Return the maps in /tmp that name a program of a folder."""
    return [path for path in Path("/tmp").glob("perf-*.map") if str(folder) in _text(path)]


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""  # gone, or another's


@pytest.fixture(autouse=True)
def _nothing_stays_in_tmp(tmp_path: Path) -> Iterator[None]:
    yield
    assert maps(tmp_path) == []


@pytest.mark.parametrize("python", INTERPRETERS)
def test_planted_shares_come_out(python: str, tmp_path: Path) -> None:
    program = tmp_path / "planted.py"
    program.write_text(PLANTED)
    done = gnomon(*RECORD, python, program, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "done\n")
    # An interpreter without them is read as by default.
    assert ("has no perf trampolines" in done.stderr) is not has_trampolines(python)
    run = opened(tmp_path / "r")
    counted = stacks(run)
    check_shares(counted, {"half": 0.5, "third": 0.3, "fifth": 0.2})
    for stack in counted:
        if "fifth" in stack:
            assert stack[: stack.index("fifth")] == ("<module>", "by_c"), stack
        if "work" in stack:
            assert LOOP not in stack, stack
    assert ("python", str(program)) in run.query(
        "SELECT module, file FROM regions WHERE name = 'work'"
    )


@pytest.mark.parametrize("python", INTERPRETERS)
def test_forked_children_know_what_ran_at_the_fork(python: str, tmp_path: Path) -> None:
    program = tmp_path / "forks.py"
    program.write_text(SPIN + """
import os, subprocess, sys
def in_child():
    spin(3000000)
def forks():
    if not os.fork():
        in_child()
        if not os.fork():
            spin(3000000)
            os._exit(0)
        os.wait()
        os._exit(0)
    os.wait()
def other():
    spin(3000000)
if sys.argv[1:]:
    other()
    sys.exit()
forks()
subprocess.run([sys.executable, __file__, "other"])
""")  # fmt: skip
    done = gnomon(*RECORD, python, program, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    counted = stacks(opened(tmp_path / "r"))
    for path in (
        ("<module>", "forks", "in_child", "spin"),
        ("<module>", "forks", "spin"),
        ("<module>", "other", "spin"),
    ):
        n = sum(count for stack, count in counted.items() if stack[: len(path)] == path)
        assert n > 50, (path, counted.most_common(10))


@pytest.mark.parametrize("python", INTERPRETERS)
def test_an_interpreter_that_ignores_its_environment(python: str, tmp_path: Path) -> None:
    done = gnomon(*RECORD, python, "-I", "-c", SPIN + "spin(3000000)", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert ("wrote no perf map" in done.stderr) is has_trampolines(python)


@pytest.mark.parametrize("python", INTERPRETERS)
def test_maps_of_a_killed_recorder_are_taken_by_repair(python: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(SPIN + "def wanted():\n    spin(5000000)\nwanted()\n"
                       "open('spun', 'w').close()\nimport time\ntime.sleep(60)\n")  # fmt: skip
    recorder = subprocess.Popen([GNOMON, *RECORD, python, program], cwd=tmp_path)
    while not (tmp_path / "spun").exists():
        time.sleep(0.05)
    children = Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()
    time.sleep(0.5)  # until the recorder has read what there is
    recorder.kill()
    recorder.wait()
    for child in children:
        subprocess.run(["kill", "-KILL", child], check=False)
    # Where there was a launcher between both it takes the program along.
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        done = gnomon("repair", "r", cwd=tmp_path)
        if done.returncode == 0:
            break
        time.sleep(0.1)
    assert done.returncode == 0, done.stderr
    assert samples_with(stacks(opened(tmp_path / "r")), "wanted") > 50


# --- processes that run already -------------------------------------------------------------------


def recorded_by_number(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Record a program that Gnomon did not start."""
    program = subprocess.Popen([*command, "-c", SPIN + "spin(10 ** 10)"])
    try:
        time.sleep(0.5)
        return gnomon("record", "--name", "r", "-p", str(program.pid), "-d", "1", cwd=folder)
    finally:
        program.send_signal(signal.SIGKILL)
        program.wait()
        Path(f"/tmp/perf-{program.pid}.map").unlink(missing_ok=True)


def test_a_process_that_was_not_started_by_gnomon(tmp_path: Path) -> None:
    done = recorded_by_number(tmp_path, sys.executable)
    assert "1 Python process is shown with the interpreter's own functions" in done.stderr
    assert samples_with(stacks(opened(tmp_path / "r")), LOOP) > 50


@pytest.mark.parametrize("python", INTERPRETERS)
def test_a_process_that_writes_its_map_itself(python: str, tmp_path: Path) -> None:
    done = recorded_by_number(tmp_path, python, "-X", "perf")
    assert ("interpreter's own functions" in done.stderr) is not has_trampolines(python)
    if has_trampolines(python):
        counted = stacks(opened(tmp_path / "r"))
        assert all(stack[:2] == ("<module>", "spin") for stack in counted), counted


def test_a_running_process_is_as_it_was_started(tmp_path: Path) -> None:
    done = gnomon("record", "-p", "1", "--python", "trampoline", cwd=tmp_path)
    assert done.returncode == 2
    assert "--python goes with a program" in done.stderr
