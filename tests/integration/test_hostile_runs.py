"""Real run directories, mutated at random: every command says what is wrong, and none fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import hostile_raw
import hostile_runs
import mpi
import pytest
from commands import GNOMON, run
from hypothesis import given, settings
from hypothesis import strategies as st
from property_tests import all_are_tried
from run_programs import WAITS, compiled

PROGRAM = Path(hostile_runs.__file__)
SEEDS, AT_ONCE, COMMANDS, PROCESSES = 60, 10, 3, 2
BATCHES = 25 if all_are_tried() else 1
# For root no file is forbidden, unless it gives these up.
AS_USERS = ("setpriv", "--bounding-set=-dac_override,-dac_read_search") if os.geteuid() == 0 else ()
DIES = WAITS.replace("for (;;)\n\t\tpause();", "raise(SIGKILL);")
ENDS = WAITS.replace("for (;;)\n\t\tpause();", "return 0;")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a run of every origin."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "dies").mkdir()
    ends = compiled(folder, ENDS)
    dies = compiled(folder / "dies", "#include <signal.h>\n" + DIES)
    for status, *words in (
        (0, "count", "-r", "2", "--per", "thread", "--name", "threads", "-o", "/dev/null", "--",
         "sh", "-c", "ls / | sort"),
        (0, "count", "-r", "2", "--pmu", "emulated", "--name", "lines", "-o", "/dev/null", "--",
         "true"),
        (0, "run", "--name", "sections", "--", ends),
        (-signal.SIGKILL, "run", "--name", "killed", "--", dies),
    ):  # fmt: skip
        done = run(GNOMON, *map(str, words), cwd=folder)
        assert done.returncode == status, done.stderr
    mpi.launch(mpi.MPICH, 4, GNOMON, "run", "--name", "ranks", "--", ends, folder=folder)
    hostile_raw.made(folder)
    names = {path.name for path in folder.glob("*.gnomon")}
    assert names == {
        f"{one}.gnomon" for one in ("threads", "lines", "sections", "killed", "ranks", "whole")
    }
    return folder


def examined(source: Path, first: int, end: int, commands: int) -> str:
    """Return what went wrong with mutations of some seeds, a crash of the process too."""
    each = (end - first) // PROCESSES
    begun = [
        subprocess.Popen(
            [*AS_USERS, sys.executable, PROGRAM, source, str(at), str(at + each), str(commands)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for at in range(first, end, each)
    ]  # fmt: skip
    found = ""
    for one in begun:
        out, err = one.communicate(timeout=500)
        found += out if one.returncode == 0 else f"{out}status {one.returncode}: {err[-3000:]}"
    return found


def test_mutations_crash_nothing(measured: Path) -> None:
    assert examined(measured, 0, SEEDS, 1) == ""


@pytest.mark.long
def test_a_thousand_mutations_crash_nothing(measured: Path) -> None:
    assert examined(measured, SEEDS, 1000 + SEEDS, 1) == ""


@given(batch=st.integers(1, 1_000_000))
@settings(max_examples=BATCHES)
def test_any_mutation_crashes_nothing(measured: Path, batch: int) -> None:
    """With `make fuzz`, 250 others in each round."""
    assert examined(measured, batch * AT_ONCE, (batch + 1) * AT_ONCE, COMMANDS) == ""
