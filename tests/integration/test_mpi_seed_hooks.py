"""GNOMON_MPI_HOOKS: the functions of mpt.h that a program may define, from a file of Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from mpi import BOTH, OPEN_MPI, Mpi, build, environment, python
from mpi_seed import EXAMPLES, HERE

HOOKS = """\
counted = {}

def MT_trace_event(id):
    counted[id] = counted.get(id, 0) + 1
    return 1

def MT_output_trace(rank):
    return rank == 1

def MT_output_text():
    results = MT_get_allresults(COUNTS, BARRIER_ID)
    rank = MT_get_environment()["mpirank"]
    name = MT_get_mpi_name(BARRIER_ID)
    with open(f"hooks.{rank}", "w") as file:
        print(counted[BARRIER_ID], name, results["all_result"], file=file)
"""


def measured(
    mpi: Mpi, folder: Path, hooks: Path, *command: str | Path
) -> subprocess.CompletedProcess[str]:
    """Run two ranks under `gnomon mpi` with a file of hooks."""
    return subprocess.run(
        ["gnomon", "mpi", "--name", "hooked", "--", mpi.command("mpirun"), "-n", "2", *command],
        cwd=folder,
        env=environment(mpi) | python(mpi, folder) | {"GNOMON_MPI_HOOKS": str(hooks)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("mpi", BOTH, ids=str)
def test_a_program_of_mpi4py_is_asked_in_its_interpreter(mpi: Mpi, tmp_path: Path) -> None:
    hooks = tmp_path / "hooks.py"
    hooks.write_text(HOOKS)
    done = measured(mpi, tmp_path, hooks, sys.executable, HERE / "mpi_trace_program.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done") == 2
    for rank in range(2):
        text = (tmp_path / f"hooks.{rank}").read_text()
        assert text == "5 MPI_Barrier [5, 5]\n", done.stderr
    # MT_output_text takes the place of the text, MT_output_trace chooses who writes the rest.
    written = {path.name for path in tmp_path.glob("mpi_profile*")}
    assert written == {"mpi_profile_1.viz"}
    assert (tmp_path / "hooked.gnomon").is_dir()


def test_what_hooks_raise_is_told_once_and_costs_the_program_nothing(tmp_path: Path) -> None:
    hooks = tmp_path / "hooks.py"
    hooks.write_text("def MT_trace_event(id):\n    raise ValueError('no')\n")
    done = measured(OPEN_MPI, tmp_path, hooks, sys.executable, HERE / "mpi_trace_program.py")
    assert done.returncode == 0
    assert done.stdout.count("done") == 2
    said = "gnomon: GNOMON_MPI_HOOKS: MT_trace_event: ValueError: no; it is asked no more"
    assert done.stderr.count(said) == 2  # one of each rank


def test_a_program_of_c_refuses_a_file_of_python(tmp_path: Path) -> None:
    program = build(OPEN_MPI, EXAMPLES / "mpi_test.c", tmp_path)
    hooks = tmp_path / "hooks.py"
    hooks.write_text(HOOKS)
    done = measured(OPEN_MPI, tmp_path, hooks, program)
    assert done.returncode == 0
    assert done.stderr.count("GNOMON_MPI_HOOKS: this is no program of Python") == 1


def test_a_file_that_is_not_there_is_refused_before_the_program_starts(tmp_path: Path) -> None:
    done = measured(OPEN_MPI, tmp_path, tmp_path / "nothing.py", "true")
    assert done.returncode == 1
    assert "GNOMON_MPI_HOOKS: " in done.stderr
    assert "nothing.py cannot be read" in done.stderr
