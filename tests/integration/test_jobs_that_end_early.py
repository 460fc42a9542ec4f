"""Jobs that a launcher, a user or a task ends: who is left reports, the gap is named."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import GNOMON, HPMCOUNT, run
from mpi import BOTH, MPICH, OPEN_MPI, Mpi, environment, launch

EVENTS = ("-e", "task-clock,page-faults")
TASK = "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}"
LAUNCHER = {OPEN_MPI: ("--oversubscribe",), MPICH: ()}
both = pytest.mark.parametrize("mpi", BOTH, ids=str)

EXAMPLE = Path(__file__).parents[2] / "examples" / "aggregator-python" / "slowest.py"

# A section is complete, another is not, when the task is killed.
KILLED = """
import os, signal
from gnomon import hpm
with hpm.section("whole"):
    for _ in range(1000 * (1 + int(os.environ["PMI_RANK"]))):
        os.getppid()
with hpm.section("half"):
    pass
with hpm.section("half"):
    os.kill(os.getpid(), signal.SIGKILL)
"""
GETPPID = "syscalls:sys_enter_getppid"


@both
@pytest.mark.parametrize(
    ("number", "who"), [(signal.SIGTERM, "the launcher"), (signal.SIGINT, "")], ids=["TERM", "INT"]
)
def test_a_launcher_that_is_told_to_end(
    mpi: Mpi, number: signal.Signals, who: str, tmp_path: Path
) -> None:
    program = f"touch here.{TASK}; exec sleep 400"
    counted = [HPMCOUNT, "-n", "-o", "r", "-a", "average", *EVENTS, "sh", "-c", program]
    words = ["env", f"--default-signal={number.name[3:]}", mpi.command("mpirun"), *LAUNCHER[mpi],
             "-n", "4", *counted]  # fmt: skip
    with subprocess.Popen(
        words, cwd=tmp_path, env=environment(mpi), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as job:  # fmt: skip
        while len(list(tmp_path.glob("here.*"))) < 4 and job.poll() is None:
            time.sleep(0.05)
        job.send_signal(number)
        out = job.communicate(timeout=300)[0]
    reports = {path.name: path.read_text() for path in tmp_path.glob("*.hpm")}
    assert list(reports) == ["r.hpm"], out
    assert "average over 4 tasks: 0-3" in reports["r.hpm"]
    assert f"note: {who}" in reports["r.hpm"]
    assert "ended the job; counts are those up to then" in reports["r.hpm"]


@both
def test_a_task_that_dies_ends_those_that_wait_for_it(mpi: Mpi, tmp_path: Path) -> None:
    """As the launcher would; but those that are ended report first."""
    wait = f"touch here.{TASK}; exec sleep 400"
    die = (
        "until [ -e here.0 ] && [ -e here.1 ] && [ -e here.3 ]; do sleep 0.05; done; kill -SEGV $$"
    )
    program = f"if [ {TASK} = 2 ]; then {die}; fi; {wait}"
    command = [HPMCOUNT, "-n", "-o", "r", "-a", "average", *EVENTS, "sh", "-c", program]
    job = launch(mpi, 4, *command, folder=tmp_path, status=None)
    assert job.status != 0
    reports = {path.name: path.read_text() for path in tmp_path.glob("*.hpm")}
    assert sorted(reports) == ["r.hpm", "r_2.hpm"], job.said
    assert "average over 3 tasks: 0,1,3\n  task 2 was killed by SIGSEGV" in reports["r.hpm"]
    assert "note: another task failed, which ended the job" in reports["r.hpm"]
    assert "task 2 by itself: it was killed by SIGSEGV" in reports["r_2.hpm"]


@pytest.mark.usefixtures("tracepoints")
def test_raw_files_of_killed_tasks_come_to_one_report(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(KILLED)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("HPM_", "GNOMON_"))}
    for task in (0, 1, 3):
        whose = {"PMI_RANK": str(task), "PMI_SIZE": "4", "HPM_OUTPUT_NAME": f"r{task}"}
        done = run(sys.executable, "prog.py", cwd=tmp_path,
                   env=clean | whose | {"GNOMON_EVENTS": GETPPID})  # fmt: skip
        assert done.returncode == -signal.SIGKILL
    files = [path.name for path in sorted(tmp_path.glob("*.hpmraw"))]
    assert len(files) == 3
    done = run(GNOMON, "repair", "-a", "average", *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "average over 3 tasks: 0,1,3\n  task 2 left no file that was given" in done.stdout
    (row,) = (line.split("  ") for line in done.stdout.splitlines() if "getppid  2 333" in line)
    assert [cell.strip() for cell in row if cell.strip()][1:] == ["2 333", "1 000 (0)", "4 000 (3)"]
    said = " ".join(done.stdout.split())
    assert "note: tasks 0,1,3: the program ended without hpmTerminate" in said
    assert "half was active at the end" in said
    # The same by a plug-in in Python: task 3 has worked most.
    done = run(GNOMON, "repair", "-a", str(EXAMPLE), *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"the slowest of 4 tasks: task \d\n  task 2 left no file that", done.stdout)
    assert re.search(r"getppid +\d 000 +1 000 \(0\) +4 000 \(3\)", done.stdout)
    # Files stay, and reports have the names that are asked for.
    done = run(GNOMON, "repair", "-a", "statistics", "-o", "all", *files, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "all.hpm\n")
    assert "deviation" in (tmp_path / "all.hpm").read_text()


def test_files_that_are_none_are_named(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no raw file\n")
    (tmp_path / "cut.hpmitems").write_bytes(b"HPMITEMS\4\3\2\1")
    cut = "at byte 12: ends in the version"
    for name, said in (("text", "it is no raw file"), ("cut.hpmitems", cut),
                       ("none", "No such file")):  # fmt: skip
        done = run(GNOMON, "repair", "-a", "average", name, cwd=tmp_path)
        assert done.returncode == 1
        assert said in done.stderr
        assert name in done.stderr
    done = run(GNOMON, "repair", "-a", "nosuch", "text", cwd=tmp_path)
    assert done.returncode == 2
    assert "Dynamic link error" in done.stderr
