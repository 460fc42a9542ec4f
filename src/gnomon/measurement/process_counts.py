"""Counts of single processes and functions of a measurement, and of one thread."""

from __future__ import annotations

from collections.abc import Sequence
from operator import add

from gnomon.counters.component import RawCount
from gnomon.measurement.measurement import Emulation, Measurement
from gnomon.named_tuple import NamedTuple


class ProcessRow(NamedTuple):
    """Counts of one process: the sums over its threads, in the order of `process_events`.

    A sum is None while one of the threads still runs (`running`), where the counts of one are not
    known, and for an event that comes from a formula, if there are several threads. An emulated
    PMU does not know how many threads there were.
    """

    pid: int
    ppid: int
    name: str
    threads: int | None
    values: tuple[float | None, ...]
    running: bool


class FunctionRow(NamedTuple):
    """Counts of one function, without what it calls: the sums over its lines and all processes.

    The file is the one that the function stands in; parts of it may be inlined from others.
    """

    program: str
    function: str
    file: str
    values: tuple[int, ...]


def process_rows(measurement: Measurement) -> tuple[ProcessRow, ...]:
    """Return the counts of each process, in the order of their numbers."""
    if measurement.emulation is not None:
        emulation = measurement.emulation
        return tuple(
            ProcessRow(
                one.pid, one.ppid, program_name(one.command), None, emulation.of(one.totals), False
            )
            for one in emulation.processes
        )
    by_pid: dict[int, list[int]] = {}
    tasks = measurement.tasks or ()
    is_derived = {value.event: value.is_derived for value in measurement.values}
    for at, task in enumerate(tasks):
        by_pid.setdefault(task.pid, []).append(at)
    rows = []
    for pid, members in by_pid.items():
        leader = next((tasks[at] for at in members if tasks[at].tid == pid), tasks[members[0]])
        sums: list[float | None] = []
        for event, name in enumerate(measurement.task_values):
            if is_derived[name] and len(members) > 1:  # what formulas come to does not add up
                sums.append(None)
                continue
            counts = [task_value(measurement, tasks[at].counts, event) for at in members]
            known = [count for count in counts if count is not None]
            sums.append(sum(known) if len(known) == len(counts) else None)
        running = any(tasks[at].running for at in members)
        rows.append(ProcessRow(pid, leader.ppid, leader.name, len(members), tuple(sums), running))
    return tuple(rows)


def process_events(measurement: Measurement) -> tuple[str, ...]:
    """Return the events that `process_rows` has counts of."""
    emulation = measurement.emulation
    return measurement.task_values if emulation is None else emulation.events


def program_name(command: str) -> str:
    """Return the name of the program of a command line."""
    return command.partition(" ")[0].rpartition("/")[2]


def function_rows(emulation: Emulation) -> tuple[FunctionRow, ...]:
    """Return the counts of every function, those with the most of the first event first."""
    from gnomon.model.inlining import FunctionFragment, defining_files

    parts: dict[FunctionFragment, tuple[int, ...]] = {}
    for process in emulation.processes:
        program = program_name(process.command)
        for line, counts in process.lines.items():
            part = FunctionFragment(program, line.function, line.file)
            known = parts.get(part)
            parts[part] = counts if known is None else tuple(map(add, known, counts))
    values = {part: emulation.of(counts) for part, counts in parts.items()}
    home = defining_files({part: (of_part or (0,))[0] for part, of_part in values.items()})
    sums: dict[FunctionFragment, tuple[int, ...]] = {}
    for part, of_part in values.items():
        who = part._replace(file=home[part])
        before = sums.get(who)
        sums[who] = of_part if before is None else tuple(map(add, before, of_part))
    rows = (FunctionRow(*who, of_function) for who, of_function in sums.items())
    return tuple(sorted(rows, key=lambda row: (*(-value for value in row.values), row[:3])))


def task_value(
    measurement: Measurement, counts: Sequence[RawCount] | None, event: int
) -> float | None:
    """Return a thread's count of one event in the event's unit, None if it is not known."""
    if counts is None:
        return None
    count = counts[event]
    total = next(v for v in measurement.values if v.event == measurement.task_values[event])
    if total.is_derived:
        return count.derived
    if count.running_ns == count.enabled_ns:
        return count.raw * total.unit_factor if total.unit_factor != 1 else count.raw
    if not count.running_ns:
        return None
    return count.raw * count.enabled_ns / count.running_ns * total.unit_factor
