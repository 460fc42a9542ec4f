"""The part of a run that this process makes: its name, its place in the job, its staging folder."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from gnomon import _core
from gnomon.errors import UsageError
from gnomon.launch.job import Job, job
from gnomon.launch.program_names import program_name
from gnomon.launch.run_environment import kept_environment, this_host
from gnomon.named_tuple import NamedTuple
from gnomon.store import run_directory, staging

_STAMP = "%Y%m%d-%H%M%S"


class RunPart(NamedTuple):
    """Where this process's part of a run goes.

    Attributes:
        name: of the run.
        task: its number in the job, 0 without one.
        rank: the same, -1 without a job.
        tasks: how many tasks the job has; 0 if the launcher does not tell.
        identity: the same for all tasks of this job, and no other.
        stamp: when the job began, if that and the program made the name; else "".
        force: it replaces a run of that name.
    """

    name: str
    task: int
    rank: int
    tasks: int
    identity: str
    stamp: str = ""
    force: bool = False


def plan_part(command: Sequence[str], name: str | None, *, force: bool = False) -> RunPart:
    """Return where the part of this process goes.

    Without a name it is that of the program, also behind a launcher's own options, and the time.
    `force` replaces a run of that name.

    Raises:
        UsageError: the tasks of the job cannot agree on a name.
    """
    own = job()
    if own is None:
        chosen = name or _free(_named(command, time.localtime()))
        identity = f"{os.getpid()} {time.time_ns()}"
        return RunPart(chosen, 0, -1, 1, identity, force=force)
    began, identity = _launcher(own)
    if not name and not identity:
        raise UsageError(
            "the tasks of this job are on several nodes and cannot agree on a name for the run; "
            "give one: gnomon run --name NAME -- program"
        )
    when = time.localtime(began)
    stamp = "" if name else time.strftime(_STAMP, when)
    chosen = name or _named(command, when)
    return RunPart(chosen, own.task, own.task, own.tasks or 0, identity, stamp, force)


def create_staging(
    part: RunPart, command: Sequence[str], used: Sequence[str]
) -> tuple[Path, RunPart]:
    """Make the staging folder with what is about to run; return it, and where the part goes.

    A job may have several programs (mpirun -n 2 ./a : -n 2 ./b). Without --name its tasks take the
    name of the first that began.

    Raises:
        RunDirectoryError: the name is taken, or nothing can be written there.
    """
    if not part.stamp:
        return _create(part, command, used), part
    with staging.locked(Path()):
        name = staging.begun(Path(), f"*-{part.stamp}", part.identity)
        part = part._replace(name=name or part.name)
        return _create(part, command, used), part


def _create(part: RunPart, command: Sequence[str], used: Sequence[str]) -> Path:
    run_directory.check_free(part.name, force=part.force)
    return staging.create_staging(
        part.name,
        part.task,
        {
            "job": part.identity,
            "tasks": part.tasks,
            "rank": part.rank,
            "force": part.force,
            "command": list(command),
            "host": this_host()._asdict(),
            "started": time.time(),
            "environment": kept_environment(),
            "working_directory": str(Path.cwd()),
            "capabilities": list(used),
        },
    )  # fmt: skip


def discard_staging(folder: Path, task: int) -> None:
    """Leave nothing of a task whose program was not executed."""
    (folder / f"task.{task}.json").unlink(missing_ok=True)
    with suppress(OSError):  # no descriptor is left to look into it; an empty one goes all the same
        folder.rmdir()
        return
    if not any(folder.glob("task.*.json")):
        staging.remove(folder)


def _named(command: Sequence[str], when: time.struct_time) -> str:
    return f"{program_name(command)}-{time.strftime(_STAMP, when)}"


def _free(name: str) -> str:
    """Return the name, or one with a number behind it where several runs begin in a second."""
    chosen, suffix = name, 1
    while run_directory.path_of(chosen).exists() or staging.raw_of(chosen).exists():
        suffix += 1
        chosen = f"{name}-{suffix}"
    return chosen


def _launcher(own: Job) -> tuple[float, str]:
    """Return when the job's launcher began, since the epoch, and its identity; "" if not known."""
    if own.nodes != 1 and own.tasks != own.local_tasks:
        return 0.0, ""
    launcher = _core.launcher_process()
    if launcher is None:
        return 0.0, ""
    pid, ticks = launcher
    try:
        boot = next(
            int(line.split()[1])
            for line in Path("/proc/stat").read_text().splitlines()
            if line.startswith("btime")
        )
    except (OSError, ValueError, StopIteration):
        return 0.0, ""
    return boot + ticks / os.sysconf("SC_CLK_TCK"), f"{pid} {ticks}"
