"""The part of `gnomon run` around the program: its raw folder, its job, the run made of both."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.cli import repetitions
from gnomon.errors import RunDirectoryError, UsageError
from gnomon.hpm.tables import PEAK_MEMORY
from gnomon.launch.host import component_states, kept_environment, this_host
from gnomon.launch.job import Job, job
from gnomon.launch.program_names import program_name
from gnomon.model.collected import Collected, rows_of
from gnomon.store import assembly, rawfolder, rundir

if TYPE_CHECKING:
    from gnomon.capabilities import Capability, Inside, Runner
    from gnomon.model.tables import Table

# Programs of a job whose commands are kept; a job that has more is named by the first ones.
_PROGRAMS = 4
_STAMP = "%Y%m%d-%H%M%S"

_KILLED = (
    "gnomon run was killed before the program's end, or could not write what it counted: "
    "counters and times are lost"
)


class Finished(NamedTuple):
    """A run that was written.

    Attributes:
        path: its directory.
        head: what is in run.json.
        tables: of the model.
    """

    path: Path
    head: Mapping[str, Any]
    tables: tuple[Table, ...]


class Place(NamedTuple):
    """Where this process's part goes.

    Attributes:
        name: of the run.
        task: its number in the job, 0 without one.
        rank: the same, -1 without a job.
        tasks: how many tasks the job has; 0 if the launcher does not tell.
        identity: the same for all tasks of this job, and no other.
        stamp: when the job began, if that and the program made the name; else "".
    """

    name: str
    task: int
    rank: int
    tasks: int
    identity: str
    stamp: str = ""
    force: bool = False


def place(command: Sequence[str], name: str | None, *, force: bool = False) -> Place:
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
        return Place(chosen, 0, -1, 1, identity, force=force)
    began, identity = _launcher(own)
    if not name and not identity:
        raise UsageError(
            "the tasks of this job cannot agree on a name for the run, as they are on several "
            "nodes; give one: gnomon run --name NAME -- program"
        )
    when = time.localtime(began)
    stamp = "" if name else time.strftime(_STAMP, when)
    chosen = name or _named(command, when)
    return Place(chosen, own.task, own.task, own.tasks or 0, identity, stamp, force)


def begin(where: Place, command: Sequence[str], used: Sequence[Capability]) -> tuple[Path, Place]:
    """Make the raw folder and say in it what is about to run; return it, and where the part goes.

    A job may have several programs (mpirun -n 2 ./a : -n 2 ./b). Without --name its tasks take the
    name of the first that began.

    Raises:
        RunDirectoryError: the name is taken, or nothing can be written there.
    """
    if not where.stamp:
        return _begin(where, command, used), where
    with rawfolder.locked(Path()):
        name = rawfolder.begun(Path(), f"*-{where.stamp}", where.identity)
        where = where._replace(name=name or where.name)
        return _begin(where, command, used), where


def _begin(where: Place, command: Sequence[str], used: Sequence[Capability]) -> Path:
    rundir.check_free(where.name, force=where.force)
    host = this_host()
    return rawfolder.begin(
        where.name,
        where.task,
        {
            "job": where.identity,
            "tasks": where.tasks,
            "rank": where.rank,
            "force": where.force,
            "command": list(command),
            "host": {"name": host.name, "cpu_model": host.cpu_model, "cpus": host.cpus,
                     "kernel": host.kernel},
            "started": time.time(),
            "environment": kept_environment(),
            "working_directory": str(Path.cwd()),
            "capabilities": [one.name for one in used],
        },
    )  # fmt: skip


def withdraw(folder: Path, task: int) -> None:
    """Leave nothing of a task whose program was not executed."""
    (folder / f"task.{task}.json").unlink(missing_ok=True)
    if not any(folder.glob("task.*.json")):
        rawfolder.remove(folder)


def close(
    folder: Path, name: str, tell: Callable[[str], object] = lambda _: None, *, force: bool = False
) -> Finished:
    """Write the run of all that is in a raw folder, and remove that.

    Args:
        folder: the raw folder.
        name: of the run.
        tell: called with what is being done, several times in a long work.
        force: replace a run of that name, also where the run itself was not to.

    Raises:
        RunDirectoryError: what is there is damaged, or the run cannot be written.
    """
    from gnomon.capabilities import CAPABILITIES, Inside

    tell("reading what was measured")
    found = rawfolder.parts(folder)
    first = found[0].head
    command = _command(found)
    of_job = int(first.get("rank", -1)) >= 0
    states = [(one, one.availability()) for one in CAPABILITIES]
    inside = [
        left
        for one in CAPABILITIES
        if isinstance(one, Inside)
        for left in repetitions.collected(one, folder)
    ]
    tables = [
        assembly.of_task(part.collected.tables, part.task) if of_job else part.collected.tables
        for part in found
    ]
    sets = [*tables, *(one.tables for one in inside)]
    try:
        whole = assembly.assembled(
            _counted(sets, tell),
            program=Path(command[0]).name, module=command[0],
            host=str(first["host"].get("name", "")), job=of_job,
        )  # fmt: skip
    except (KeyError, TypeError, IndexError, ValueError):
        raise RunDirectoryError(
            f"{folder}: its tables do not fit together: a part is damaged; remove that part.N.json"
        ) from None
    collected = [part.collected for part in found] + inside
    head = _head(found, command, collected, [
        {"name": one.name, "title": one.title, "used": one.name in first.get("capabilities", ()),
         "available": state.available, "reason": state.reason, "remedy": state.remedy}
        for one, state in states
    ])  # fmt: skip
    seen = {row["rank"] for row in rows_of(whole, "locations")} - {-1}
    head["ranks"] = max(head["ranks"], len(seen))
    head["repetitions"] = max(repetitions.count(folder), 1)
    tell("writing the run")
    path = rundir.write(name, head, whole, {}, force=force or rawfolder.replaces(folder))
    rawfolder.remove(folder)
    return Finished(path, head, whole)


def _counted(
    parts: Sequence[Sequence[Table]], tell: Callable[[str], object]
) -> Iterator[Sequence[Table]]:
    for at, part in enumerate(parts):
        tell(f"putting the run together, {at} of {len(parts)} parts")
        yield part


def _command(found: Sequence[rawfolder.Part]) -> list[str]:
    """Return the command that was measured, of several programs as mpirun is told them."""
    programs: dict[str, list[str]] = {}
    for part in found:
        words = [str(word) for word in part.head["command"]]
        programs.setdefault(program_name(words) if words else "", words)
    shown = list(programs.values())[:_PROGRAMS]
    shown += [["..."]] if len(programs) > _PROGRAMS else []
    whole = list(shown[0])
    for words in shown[1:]:
        whole += [":", *words]
    return whole


def _head(
    found: Sequence[rawfolder.Part],
    command: list[str],
    collected: Sequence[Collected],
    capabilities: list[dict[str, Any]],
) -> dict[str, Any]:
    first = found[0].head
    ends = [part.end for part in found if part.end is not None]
    started = min(float(part.head["started"]) for part in found)
    ended = max(
        (float(end["started"]) + int(end["wall_ns"]) / 1e9 for end in ends), default=started
    )
    # The first that failed says how it went: the launcher ends the others.
    failed = sorted(
        (end for end in ends if end["exit_status"]),
        key=lambda end: float(end["started"]) + int(end["wall_ns"]) / 1e9,
    )
    last = failed[0] if failed else ends[0] if ends else None
    tasks = int(first["tasks"])
    hosts = {str(part.head["host"].get("name")): part.head["host"] for part in found}
    warnings = [note for one in collected for note in one.warnings]
    lost = [part.task for part in found if part.end is None]
    if lost:
        which = "" if len(found) == 1 else f"rank {', '.join(map(str, lost))}: "
        warnings.insert(0, which + _KILLED)
    if tasks > len(found):
        there = {part.task for part in found}
        gone = [str(task) for task in range(tasks) if task not in there]
        warnings.insert(0, f"rank {', '.join(gone)}: left nothing")
    unavailable = {(one.event, one.reason): one for each in collected for one in each.unavailable}
    # A job's peak is that of the rank with most, whoever else has none.
    known = {row["name"] for part in found for row in rows_of(part.collected.tables, "metrics")}
    if PEAK_MEMORY in known:
        unavailable = {key: one for key, one in unavailable.items() if one.event != PEAK_MEMORY}
    return {
        "capability": "run",
        "capabilities": capabilities,
        "command": command,
        "pid": last["pid"] if last else -1,
        "ranks": max(tasks, len(found), 1),
        "environment": first.get("environment", {}),
        "working_directory": first.get("working_directory", ""),
        "hosts": list(hosts.values()),
        "started": started,
        "ended": ended,
        "wall_seconds": max((int(end["wall_ns"]) / 1e9 for end in ends), default=0.0),
        "exit_status": last["exit_status"] if last else None,
        "signal": last["signal"] if last else 0,
        "repetitions": 1,
        "components": component_states(),
        "unavailable": [
            {"event": u.event, "reason": u.reason, "remedy": u.remedy, "errno": u.errno}
            for u in unavailable.values()
        ],
        "warnings": list(dict.fromkeys(warnings)),
    }


# --- the job --------------------------------------------------------------------------------------


def _named(command: Sequence[str], when: time.struct_time) -> str:
    return f"{program_name(command)}-{time.strftime(_STAMP, when)}"


def _free(name: str) -> str:
    """Return the name, or one with a number behind it where several runs begin in a second."""
    chosen, at = name, 1
    while rundir.path_of(chosen).exists() or rawfolder.raw_of(chosen).exists():
        at += 1
        chosen = f"{name}-{at}"
    return chosen


def _launcher(own: Job) -> tuple[float, str]:
    """Return when what started the job began, since the epoch, and its identity; "" if not known.

    It is the nearest ancestor that has no rank itself: mpirun, or its helper on this node.
    """
    if own.nodes != 1 and own.tasks != own.local_tasks:
        return 0.0, ""
    pid = os.getppid()
    try:
        while pid > 1:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            entries = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            pairs = (os.fsdecode(entry).partition("=") for entry in entries)
            if job({key: value for key, _, value in pairs}) is None:
                ticks = int(fields[19])
                boot = next(
                    int(line.split()[1])
                    for line in Path("/proc/stat").read_text().splitlines()
                    if line.startswith("btime")
                )
                return boot + ticks / os.sysconf("SC_CLK_TCK"), f"{pid} {ticks}"
            pid = int(fields[1])
    except (OSError, ValueError, IndexError, StopIteration):
        pass
    return 0.0, ""


def choose(words: str | None) -> tuple[Runner, tuple[Inside, ...]]:
    """Return what runs the program, and what measures inside it.

    Raises:
        UsageError: a word is none of them, or one that was asked for does not work here.
    """
    from gnomon.capabilities import CAPABILITIES, Inside, Runner

    wanted = [word.strip() for word in (words or "").split(",") if word.strip()]
    by_name = {one.name: one for one in CAPABILITIES}
    for word in wanted:
        if word not in by_name:
            raise UsageError(
                f"--with {word}: there is none of that name; there are {', '.join(by_name)}"
            )
        state = by_name[word].availability()
        if not state.available:
            raise UsageError(f"--with {word}: {state.reason}; {state.remedy}")
    named = [by_name[word] for word in wanted]
    runners = [one for one in named if isinstance(one, Runner)]
    if len(runners) > 1:
        names = " and ".join(one.name for one in runners)
        raise UsageError(f"--with {names}: each runs the program itself; run it twice")
    usual = [one for one in CAPABILITIES if one.is_default and one.availability().available]
    runner = next(one for one in (*runners, *usual) if isinstance(one, Runner))
    inside = [one for one in CAPABILITIES if one in usual or one in named]
    return runner, tuple(one for one in inside if isinstance(one, Inside))
