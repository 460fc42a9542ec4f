"""What HPM measured, as aggregators get it and as it is written: hpm_data.h in Python.

The members have the header's names, so that one page describes them for C and Python. A text that
C has NULL for is "".
"""

from __future__ import annotations

from collections.abc import Mapping
from math import nan

from gnomon.model.value import Domain, How
from gnomon.named_tuple import NamedTuple

N_TIMES = 8
WALLCLOCK, CYCLE, USER, SYSTEM, START, STOP, OVERHEAD, INIT = range(N_TIMES)
"""Places in `Item.times`, in seconds; NaN is not known. START, STOP, INIT: since the epoch."""

TIME_NAMES = ("wall", "cycle", "user", "system", "start", "stop", "overhead", "init")

UNAVAILABLE = -1
"""`EventInfo.how` of what has no value; all others are places in `HOWS`."""

HOWS = (How.COUNTED, How.SCALED, How.SAMPLED, How.EMULATED, How.MODELLED, How.ESTIMATED)

MODES: Mapping[int, Domain] = {
    0: Domain.ALL, 1: Domain.USER, 2: Domain.KERNEL, 3: Domain.USER_KERNEL, 4: Domain.HYPERVISOR,
    7: Domain.ALL,
}  # fmt: skip
"""`EventInfo.modes`; 0 is what has none, such as a time."""

IS_DERIVED = 1
IS_NODE_WIDE = 2
IS_NET = 4  # less what starts and stops of sections counted
"""Bits of `EventInfo.flags`."""


class Spread(NamedTuple):
    """A value over the tasks of a job; NaN, or -1 for a task, is not known.

    Attributes:
        n: tasks that had a value.
        minimum, maximum: of the tasks' values.
        deviation: standard deviation of the tasks' values, n - 1 in the denominator.
        min_task, max_task: the lowest task that has it.
        bins: tasks in bins of equal width from minimum to maximum; () without a histogram.
    """

    n: int = 0
    minimum: float = nan
    maximum: float = nan
    deviation: float = nan
    min_task: int = -1
    max_task: int = -1
    bins: tuple[int, ...] = ()


class EventInfo(NamedTuple):
    """One event, or one field of getrusage(2).

    Attributes:
        name: as the user gave it; ru_utime ... for resource usage.
        component: what counted it; "" for resource usage.
        unit: of `value`; "" for a plain count.
        description: one line, or "".
        reason: why there is no value, with the remedy; "" if there is one.
        value: scaled for multiplexing; NaN if there is none.
        enabled_s, running_s: for how long it was meant to count, and for how long it did.
        how: place in `HOWS`, or UNAVAILABLE.
        modes: key of `MODES`.
        flags: IS_DERIVED, IS_NODE_WIDE, IS_NET.
        spread: over the tasks; None for one task's own value.
    """

    name: str
    component: str = ""
    unit: str = ""
    description: str = ""
    reason: str = ""
    value: float = nan
    enabled_s: float = 0.0
    running_s: float = 0.0
    how: int = UNAVAILABLE
    modes: int = 0
    flags: int = 0
    spread: Spread | None = None


class Item(NamedTuple):
    """The counts of one group of events, on one rank or over several.

    Attributes:
        data: the events.
        times: by `WALLCLOCK` ... `INIT`.
        is_mplex_cont: it took turns with the item before it.
        is_rusage: `data` are the fields of getrusage(2) in its order.
        mpi_task_id: the task, the lowest of several; -1 without MPI.
        instr_id: the section; 0 for the whole program.
        count: of calls.
        is_exclusive: without the values of the section's parts.
        xml_element_id: the same for everything of one section; 0 is none.
        description: printed before the item; may have several lines.
        xml_descr: the same for the XML output, in one line.
        label, group, file, line: of the section; `group` is whose events these are.
        parent_label, parent_id: of the parent section; "" and 0 without one.
        thread_id, process_id: 0 for all threads, and for several processes.
        n_tasks, tasks: how many tasks this is of and which ("0-31,40"); 0 and "" for one's own.
        times_spread: of the times, in their order; () without.
    """

    data: tuple[EventInfo, ...]
    times: tuple[float, ...] = (nan,) * N_TIMES
    is_mplex_cont: bool = False
    is_rusage: bool = False
    mpi_task_id: int = -1
    instr_id: int = 0
    count: int = 1  # type: ignore[assignment]  # the header's name; tuple has it, too
    is_exclusive: bool = False
    xml_element_id: int = 0
    description: str = ""
    xml_descr: str = ""
    label: str = ""
    group: str = ""
    file: str = ""
    parent_label: str = ""
    line: int = 0
    parent_id: int = 0
    thread_id: int = 0
    process_id: int = 0
    n_tasks: int = 0
    tasks: str = ""
    times_spread: tuple[Spread, ...] = ()


class RankFile(NamedTuple):
    """All that one task measured, or what an aggregator made of several tasks'.

    Attributes:
        items: resource usage first, where there is any.
        program, command, host: what ran, and where.
        notes: sentences that belong beside the counts, one a line.
        events: the groups or events that were asked for.
        task, size: of the job; -1 and 0 without one.
        process: its number.
        exit_status: as a shell gives it; -1 where it is not known.
        signal: that killed the program; 0 for none.
        started, stopped, wall_s: of the program; since the epoch, and for how long.
    """

    items: tuple[Item, ...]
    program: str = ""
    command: str = ""
    host: str = ""
    notes: str = ""
    events: str = ""
    task: int = -1
    size: int = 0
    process: int = 0
    exit_status: int = -1
    signal: int = 0
    started: float = nan
    stopped: float = nan
    wall_s: float = nan
