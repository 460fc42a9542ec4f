"""Which task of which job this process is, by what its launcher put into the environment.

native/runtime/job.c is the same in C. Nothing here asks MPI: the distributor runs before MPI_Init.

Sources: Open MPI 4.1, mpirun(1), "Exported Environment Variables"; Hydra's and MVAPICH2's as their
processes get them; Slurm, srun(1), "OUTPUT ENVIRONMENT VARIABLES".
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple


class Job(NamedTuple):
    """A task's place in its job; None for what the launcher does not tell.

    Attributes:
        task: the rank in MPI_COMM_WORLD, from 0.
        tasks: how many tasks the job has.
        local_task: the rank among this node's tasks, from 0; the first reads what is node-wide.
        local_tasks: how many tasks this node has.
        nodes: how many nodes the job's tasks are on.
    """

    task: int
    tasks: int | None = None
    local_task: int | None = None
    local_tasks: int | None = None
    nodes: int | None = None


class Launcher(NamedTuple):
    """The variables that a launcher sets, one for each field of a Job; "" where it has none."""

    task: str
    tasks: str
    local_task: str
    local_tasks: str
    nodes: str


# The first whose rank is there is believed. Slurm comes last: within its jobs others start tasks,
# too, and then its numbers are those of the step that the launcher's own daemons are.
LAUNCHERS = (
    # Open MPI, IBM Spectrum MPI, PRRTE
    Launcher(
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE",
        "OMPI_MCA_orte_num_nodes",
    ),
    # PMIx of whatever launcher; PMIx itself puts only the rank into the environment
    Launcher("PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK", "PMIX_LOCAL_SIZE", ""),
    # MPICH, Intel MPI and MVAPICH by Hydra
    Launcher("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", ""),
    # MVAPICH2 by mpirun_rsh
    Launcher(
        "MV2_COMM_WORLD_RANK",
        "MV2_COMM_WORLD_SIZE",
        "MV2_COMM_WORLD_LOCAL_RANK",
        "MV2_COMM_WORLD_LOCAL_SIZE",
        "",
    ),
    Launcher("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "", "SLURM_STEP_NUM_NODES"),
)
_SLURM = LAUNCHERS[-1]

# More digits than any job has tasks are no rank.
_NUMBER = re.compile("[0-9]{1,9}")


def job(environment: Mapping[str, str] = os.environ) -> Job | None:
    """Return this process's place in its job, None if no launcher gave it a rank.

    A batch script of Slurm has a SLURM_PROCID and is no task: only srun sets the step's number of
    tasks. A count that contradicts a rank (a size of 2 for rank 5) is as good as none.
    """
    started = launched(environment)
    if started is None:
        return None
    return _with_nodes(_completed(_of(*started, environment), environment))


def job_of(pid: int) -> Job | None:
    """Return another process's place in its job; None also where it has ended, or may not be asked.

    What it executed its program with is looked at, and not what it has made of that since.
    """
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return None
    pairs = (os.fsdecode(entry).partition("=") for entry in entries)
    return job({name: value for name, _, value in pairs})


def launched(environment: Mapping[str, str] = os.environ) -> tuple[Launcher, int] | None:
    """Return the launcher that gave this process a rank, and the rank."""
    for launcher in LAUNCHERS:
        task = _number(environment, launcher.task)
        if task is None or (launcher is _SLURM and _number(environment, launcher.tasks) is None):
            continue
        return launcher, task
    return None


def launcher_ends_job(
    *, killed: bool, status: int, environment: Mapping[str, str] = os.environ
) -> bool:
    """Return whether the launcher ends all tasks because one of them ended so.

    Open MPI does so where one was killed or returned a status other than 0, Hydra where one was
    killed, Slurm only where it was told to. Source: mpirun(1) of Open MPI 4.1 and tried with it and
    MPICH 4.0; srun(1), --kill-on-bad-exit.
    """
    if not killed and status <= 0:
        return False
    if "OMPI_COMM_WORLD_RANK" in environment:
        return True
    if "HYDI_CONTROL_FD" in environment:
        return killed
    return environment.get("SLURM_KILL_BAD_EXIT", "") == "1" and _SLURM.tasks in environment


def _of(launcher: Launcher, task: int, environment: Mapping[str, str]) -> Job:
    tasks = _number(environment, launcher.tasks)
    if tasks is not None and tasks <= task:
        tasks = None
    local_tasks = _number(environment, launcher.local_tasks)
    if local_tasks == 0 or (local_tasks and tasks and local_tasks > tasks):
        local_tasks = None
    local_task = _number(environment, launcher.local_task)
    if local_task is not None and (
        local_task > task or (local_tasks is not None and local_task >= local_tasks)
    ):
        local_task = None
    return Job(task, tasks, local_task, local_tasks, _number(environment, launcher.nodes) or None)


# srun as the launcher of another's ranks (srun --mpi=pmix), told by its numbers being the same.
def _completed(job: Job, environment: Mapping[str, str]) -> Job:
    tasks = _number(environment, _SLURM.tasks)
    if tasks is None or job.tasks not in (None, tasks):
        return job
    if _number(environment, _SLURM.task) != job.task:
        return job
    step = _of(_SLURM, job.task, environment)
    return job._replace(
        tasks=step.tasks if job.tasks is None else job.tasks,
        local_task=step.local_task if job.local_task is None else job.local_task,
        nodes=step.nodes if job.nodes is None else job.nodes,
    )


# A launcher's number of nodes is that of what it was given, of which a small job uses one.
def _with_nodes(job: Job) -> Job:
    local_tasks = job.local_tasks
    if local_tasks is None and job.nodes == 1:
        local_tasks = job.tasks
    if job.tasks is None or local_tasks is None:
        return job._replace(local_tasks=local_tasks)
    if local_tasks == job.tasks:
        return job._replace(local_tasks=local_tasks, nodes=1)
    return job._replace(nodes=None if job.nodes == 1 else job.nodes)


def _number(environment: Mapping[str, str], variable: str) -> int | None:
    text = environment.get(variable, "") if variable else ""
    return int(text) if _NUMBER.fullmatch(text) else None
