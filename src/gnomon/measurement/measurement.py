"""What one measured execution of a program leaves, before anything is derived from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gnomon._core import LEAST_CPU_NS
from gnomon.model.value import Unavailable, Value
from gnomon.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from gnomon.counters.emulation.caches import Cache
    from gnomon.counters.emulation.engine import ProcessCounts
    from gnomon.counters.thread_records import TaskRow
    from gnomon.launch.resource_usage import UsageRow
    from gnomon.model.contention import Contention

WHOLE_MACHINE = "the whole machine"
"""What a measurement covers that counts everything that runs on any CPU."""


class Emulation(NamedTuple):
    """What an emulated PMU has beside the values: each process, each line.

    Attributes:
        engine: name and version of the engine.
        caches: the simulated caches, by level (I1, D1, LL).
        events: names of the events that it counted.
        places: for each of them, which of a line's counts it is the sum of.
        processes: every process with its lines.
        doubt: why the totals are not the program's, in a few words; "" if they are.
    """

    engine: str
    caches: Mapping[str, Cache]
    events: tuple[str, ...]
    places: tuple[tuple[int, ...], ...]
    processes: tuple[ProcessCounts, ...]
    doubt: str = ""

    def of(self, counts: Sequence[int]) -> tuple[int, ...]:
        """Return the events' values of a line's or process's counts."""
        return tuple(sum(counts[at] for at in places) for places in self.places)


class GroupPart(NamedTuple):
    """What one of several groups counted, in its turns or in an execution of its own.

    Attributes:
        number, name, description: the group's.
        values: its events' counts of that time, not extrapolated.
        wall_ns: for how long it counted.
        user_ns, system_ns: CPU time in that time; with turns, its share of the whole; None if
            not known.
        turns: how many turns it had; 0 if it counted through the whole of an execution.
        unavailable: its events that could not be counted.
    """

    number: int
    name: str
    description: str
    values: tuple[Value, ...]
    wall_ns: int
    user_ns: int | None
    system_ns: int | None
    turns: int = 0
    unavailable: tuple[Unavailable, ...] = ()


class PlaceRow(NamedTuple):
    """Counts of one CPU, or of the CPUs of one core.

    Attributes:
        socket, core: numbers of the kernel's topology; -1 where it tells none.
        cpus: the CPUs.
        values: by event, in the order of the measurement's events that count on CPUs.
        is_core: the row is of a core, and not of one CPU.
    """

    socket: int
    core: int
    cpus: tuple[int, ...]
    values: Mapping[str, Value]
    is_core: bool = False


class Measurement(NamedTuple):
    """One execution of a command, or one attachment to a process.

    Attributes:
        command: program and arguments; () for an attachment.
        pid: the process; 0 where there was none, only a machine or cgroup.
        attached: it was there before; its status and resource usage are not ours to know.
        exit_status: as the shell gives it (128 + signal if killed); None if it still runs.
        signal: the signal that killed it, 0 for none.
        started: seconds since the epoch.
        wall_ns: from just before it was executed until it was gone.
        user_ns, system_ns: CPU time of it and the children it waited for; None if attached, or
            if both together are too short to be told apart.
        values: counts, in the order in which they were asked for.
        unavailable: requested events that could not be counted.
        notes: sentences that belong beside the counts.
        rusage: resource usage, () if attached.
        tasks: a row per thread where asked for, else None.
        task_values: names of the values that `tasks` has counts of, in their order.
        interrupted: the user pressed Ctrl-C.
        terminated: we were told to end by SIGTERM, and the program with us.
        emulation: the program ran on an emulated PMU; the times are then the emulation's.
        covers: what was counted if not the program: "the whole machine", "cgroup NAME".
        delay_ns: so long the program had run when counting began.
        parts: what each of several groups counted, where they took turns or had executions of
            their own; `values` then is all of it, extrapolated to the whole where need be.
        places: a row per CPU or core where asked for, else None.
        contention: what the rest of the machine kept from the program; None if not known.
    """

    command: tuple[str, ...]
    pid: int
    attached: bool
    exit_status: int | None
    signal: int
    started: float
    wall_ns: int
    user_ns: int | None
    system_ns: int | None
    values: tuple[Value, ...]
    unavailable: tuple[Unavailable, ...]
    notes: tuple[str, ...]
    rusage: tuple[UsageRow, ...]
    tasks: tuple[TaskRow, ...] | None = None
    task_values: tuple[str, ...] = ()
    interrupted: bool = False
    emulation: Emulation | None = None
    covers: str = ""
    delay_ns: int = 0
    parts: tuple[GroupPart, ...] = ()
    places: tuple[PlaceRow, ...] | None = None
    terminated: bool = False
    contention: Contention | None = None


def split_cpu_time(
    user_ns: int, system_ns: int, counted_ns: int | None = None
) -> tuple[int | None, int | None]:
    """Return user and system time, or None twice where the kernel cannot have told them apart.

    Args:
        user_ns: the kernel's account of user time.
        system_ns: the kernel's account of system time.
        counted_ns: CPU time by a counter of the same program, if there was one. It leaves out
            what switching from task to task takes. Where the accounts come to more, the two are
            shares of what was counted, as they are in sections: no program has more user time
            than CPU time.
    """
    accounted = user_ns + system_ns
    limit = accounted if counted_ns is None else min(accounted, counted_ns)
    if limit < LEAST_CPU_NS:
        return None, None
    user = round(user_ns * limit / accounted)
    return user, limit - user
