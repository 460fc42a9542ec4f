"""A task's place in its job, from what launchers put into the environment."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gnomon.launch.job import Job, job, launcher_ends_job

OPEN_MPI = {
    "OMPI_COMM_WORLD_RANK": "5",
    "OMPI_COMM_WORLD_SIZE": "8",
    "OMPI_COMM_WORLD_LOCAL_RANK": "1",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "4",
    "OMPI_MCA_orte_num_nodes": "2",
    "PMIX_RANK": "5",
}
HYDRA = {"PMI_RANK": "2", "PMI_SIZE": "4", "MPI_LOCALRANKID": "2", "MPI_LOCALNRANKS": "4"}
STEP = {
    "SLURM_STEP_ID": "0",
    "SLURM_PROCID": "6",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_STEP_NUM_NODES": "2",
    "SLURM_LOCALID": "2",
    "SLURM_NTASKS": "8",
}
BATCH = {
    "SLURM_JOB_ID": "200505",
    "SLURM_PROCID": "0",
    "SLURM_NTASKS": "4",
    "SLURM_NNODES": "1",
    "SLURM_LOCALID": "0",
}
MVAPICH = {
    "MV2_COMM_WORLD_RANK": "1",
    "MV2_COMM_WORLD_SIZE": "2",
    "MV2_COMM_WORLD_LOCAL_RANK": "0",
    "MV2_COMM_WORLD_LOCAL_SIZE": "1",
}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        (OPEN_MPI, Job(5, 8, 1, 4, 2)),
        # All on one of the two nodes that mpirun was given.
        (OPEN_MPI | {"OMPI_COMM_WORLD_LOCAL_SIZE": "8"}, Job(5, 8, 1, 8, 1)),
        (OPEN_MPI | {"OMPI_MCA_orte_num_nodes": "1"}, Job(5, 8, 1, 4, None)),
        (HYDRA, Job(2, 4, 2, 4, 1)),
        (HYDRA | {"MPI_LOCALNRANKS": "3"}, Job(2, 4, 2, 3, None)),
        ({"PMI_RANK": "2"}, Job(2)),
        ({"PMIX_RANK": "7"}, Job(7)),
        (MVAPICH, Job(1, 2, 0, 1, None)),
        (STEP, Job(6, 8, 2, None, 2)),
        (STEP | {"SLURM_STEP_NUM_NODES": "1"}, Job(6, 8, 2, 8, 1)),
        # A batch script is no task, whatever the job's number of tasks.
        (BATCH, None),
        # srun --mpi=pmix and --mpi=pmi2
        (STEP | {"PMIX_RANK": "6"}, Job(6, 8, 2, None, 2)),
        (STEP | {"PMI_RANK": "6", "PMI_SIZE": "8"}, Job(6, 8, 2, None, 2)),
        # mpirun in a batch script; its daemons in a step of their own, one on each node
        (BATCH | HYDRA, Job(2, 4, 2, 4, 1)),
        (
            BATCH | OPEN_MPI | {"SLURM_STEP_NUM_TASKS": "2", "SLURM_PROCID": "1"},
            Job(5, 8, 1, 4, 2),
        ),
        # What contradicts itself is not known.
        ({"PMI_RANK": "5", "PMI_SIZE": "2"}, Job(5)),
        ({"PMI_RANK": "0", "PMI_SIZE": "0"}, Job(0)),
        (HYDRA | {"MPI_LOCALRANKID": "3"}, Job(2, 4, None, 4, 1)),
        (HYDRA | {"MPI_LOCALNRANKS": "5"}, Job(2, 4, 2, None, None)),
        (HYDRA | {"MPI_LOCALNRANKS": "0"}, Job(2, 4, 2, None, None)),
        # No numbers are no rank, and the next launcher is asked.
        ({"PMIX_RANK": "x"} | STEP, Job(6, 8, 2, None, 2)),
        ({"PMI_RANK": "-1"}, None),
        ({"PMI_RANK": "1234567890"}, None),
        ({"PMI_RANK": "\u0663"}, None),
        ({"PMI_RANK": "1\n"}, None),
    ],
)
def test_place_in_the_job(environment: Mapping[str, str], expected: Job | None) -> None:
    assert job(environment) == expected


VARIABLES = sorted({*OPEN_MPI, *HYDRA, *STEP, *BATCH, *MVAPICH, "PMIX_SIZE", "PMIX_LOCAL_RANK"})
VALUES = st.integers(-1, 9).map(str) | st.text("0189 -+ex\n\u0661", max_size=12)


@given(st.dictionaries(st.sampled_from(VARIABLES), VALUES))
def test_whatever_the_environment_the_numbers_agree(environment: dict[str, str]) -> None:
    found = job(environment)
    if found is None:
        return
    assert found.task >= 0
    assert found.tasks is None or found.tasks > found.task
    assert found.local_task is None or found.local_task <= found.task
    if found.local_tasks is not None:
        assert found.local_tasks >= 1
        assert found.local_task is None or found.local_task < found.local_tasks
    if found.nodes == 1:
        assert found.tasks in (None, found.local_tasks)


@pytest.mark.parametrize(
    ("environment", "after_a_kill", "after_a_status"),
    [
        (OPEN_MPI, True, True),
        (HYDRA | {"HYDI_CONTROL_FD": "7"}, True, False),
        (STEP, False, False),
        (STEP | {"SLURM_KILL_BAD_EXIT": "1"}, True, True),
        ({}, False, False),
    ],
)
def test_tasks_are_ended_only_where_the_launcher_would(
    environment: Mapping[str, str], after_a_kill: bool, after_a_status: bool
) -> None:
    def ends(killed: bool, status: int) -> bool:
        return launcher_ends_job(killed=killed, status=status, environment=environment)

    assert ends(True, 137) == after_a_kill
    assert ends(False, 3) == after_a_status
    assert not ends(False, 0)
