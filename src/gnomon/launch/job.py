"""Which task of which job this process is, by what its launcher put into the environment.

native/runtime/launcher_env.c knows the launchers and their variables.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from gnomon import _core
from gnomon.named_tuple import NamedTuple


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


def job(environment: Mapping[str, str] = os.environ) -> Job | None:
    """Return this process's place in its job, None if no launcher gave it a rank.

    A batch script of Slurm has a SLURM_PROCID and is no task: only srun sets the step's number of
    tasks. A count that contradicts a rank (a size of 2 for rank 5) is as good as none.
    """
    place = _core.rank_place(environment)
    return None if place is None else Job(*place)


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
    is_step = "SLURM_STEP_NUM_TASKS" in environment
    return is_step and environment.get("SLURM_KILL_BAD_EXIT", "") == "1"
