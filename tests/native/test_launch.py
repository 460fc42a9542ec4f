"""A task's place in its job: native/runtime/launcher_rank.c says what gnomon/launch/job.py says."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from c_names import built
from hypothesis import given
from hypothesis import strategies as st

from gnomon.launch.job import LAUNCHERS, job, launched

VARIABLES = sorted({variable for launcher in LAUNCHERS for variable in launcher if variable})
# Slurm sets these, too, and they mean something else.
OTHERS = ["SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_NNODES"]
VALUES = st.integers(-1, 9).map(str) | st.text("0189 -+ex\n", max_size=12)

Place = tuple[int, ...] | None


@pytest.fixture(scope="module")
def print_launch() -> Path:
    """Return the C program that says what it finds."""
    return built("print_launcher")


def in_c(program: Path, environment: dict[str, str]) -> Place:
    done = subprocess.run([program], env=environment, capture_output=True, text=True, check=True)
    task, *place = done.stdout.splitlines()
    started = launched(environment)
    assert int(task) == (-1 if started is None else started[1])
    return tuple(map(int, place[0].split())) if place else None


def in_python(environment: dict[str, str]) -> Place:
    found = job(environment)
    if found is None or found.tasks is None or found.tasks < 2:
        return None
    local_task = -1 if found.local_task is None else found.local_task
    return found.task, found.tasks, local_task, found.local_tasks or 0


@given(st.dictionaries(st.sampled_from(VARIABLES + OTHERS), VALUES))
def test_c_says_what_python_says(print_launch: Path, environment: dict[str, str]) -> None:
    assert in_c(print_launch, environment) == in_python(environment)


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        (
            {
                "OMPI_COMM_WORLD_RANK": "5",
                "OMPI_COMM_WORLD_SIZE": "8",
                "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
                "PMIX_RANK": "5",
            },
            (5, 8, 1, 4),
        ),
        ({"PMI_RANK": "2", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "4"}, (2, 4, -1, 4)),
        (
            {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_STEP_NUM_NODES": "1"},
            (3, 4, -1, 4),
        ),
        # In a batch script
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_NNODES": "1"}, None),
        ({"PMI_RANK": "0", "PMI_SIZE": "1"}, None),
        ({}, None),
    ],
)
def test_what_launchers_set(
    print_launch: Path, environment: dict[str, str], expected: Place
) -> None:
    assert in_c(print_launch, environment) == expected == in_python(environment)
