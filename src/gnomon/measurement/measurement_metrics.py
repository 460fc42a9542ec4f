"""From measurements to what they mean: derived metrics, and the spread over repetitions."""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from operator import add
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from gnomon.counters.component import RawCount
from gnomon.counters.sysfs_pmu import core_pmus
from gnomon.errors import GnomonError
from gnomon.launch.resource_usage import PEAK_MEMORY
from gnomon.measurement.measurement import Emulation, GroupPart, Measurement
from gnomon.metrics import user_definitions
from gnomon.metrics.definitions import Metrics
from gnomon.metrics.derived import MetricValue, computable, possible, quantities
from gnomon.metrics.user_constants import given
from gnomon.model.value import Domain, How, Scope, Value
from gnomon.units import quantity

if TYPE_CHECKING:
    from gnomon.counters.event_resolver import Resolved
    from gnomon.counters.hardware.metric_constants import Constants
    from gnomon.metrics.groups import Group
    from gnomon.metrics.statistics import Summary

DEFAULT_GROUP = 0
_HOW_ORDER = tuple(How)


class Spread(NamedTuple):
    """One quantity over repeated executions; `how` is the least certain of the repetitions'."""

    name: str
    unit: str
    how: How
    summary: Summary


class ProcessRow(NamedTuple):
    """Counts of one process: the sums over its threads, in the order of `process_values`.

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


def events_of_groups(wanted: Iterable[str]) -> tuple[str, ...]:
    """Return the event names of groups given by number, name or file, each once.

    Raises:
        UsageError: there is no such group, a file of groups is wrong, or a number that the
            environment states is none.
    """
    return tuple(dict.fromkeys(event for group in chosen(wanted) for event in group.events))


def chosen(wanted: Iterable[str]) -> tuple[Group, ...]:
    """Return the groups of numbers, names or files.

    Raises:
        UsageError: as `events_of_groups`.
    """
    check_given()
    return user_definitions.chosen(wanted, core_models, is_known)


def wanted(names: str | Iterable[str]) -> Resolved:
    """Return the events of event lists as a task of a job counts them, which most programs are not.

    Raises:
        EventNameError: a name that nothing here answers to; carries the nearest right ones.
        UsageError: the list itself is malformed.
    """
    from gnomon.counters.event_resolver import resolve

    found = resolve(names)
    if all(event.info.scope is not Scope.NODE for event in found.events):
        return found
    from gnomon.measurement.per_node import once

    return once(found)


def without_processes(wanted: Resolved) -> Resolved:
    """Return the events that no process needs to be named for: those of CPUs and the machine."""
    kept = tuple(event for event in wanted.events if event.info.scope is not Scope.PROCESS)
    return wanted._replace(events=kept)


def check_given() -> None:
    """Check the numbers that the environment states, before the program runs and not after.

    Raises:
        UsageError: one of them is none.
    """
    given(os.environ)


def core_models() -> tuple[str, ...]:
    """Return libpfm4's names of the core PMUs that the kernel shows, () without any."""
    return _constants().cpus() if core_pmus() else ()


class _Machine:
    """What formulas may ask of this machine, looked up when one does."""

    def constant(self, name: str) -> float | None:
        return _constants().constant(name)

    def cpus(self) -> tuple[str, ...]:
        return _constants().cpus()


MACHINE = _Machine()
"""This machine, for those who compute metrics of their own counts."""


@cache
def _constants() -> Constants:
    from gnomon.counters.hardware.metric_constants import Constants

    return Constants()


def is_known(event: str) -> bool:
    """Return whether there is an event of such a name on this machine."""
    from gnomon.counters.event_resolver import one

    try:
        return bool(one(event))
    except GnomonError:
        return False


def variables(measurement: Measurement) -> dict[str, float | None]:
    """Return the variables that formulas may use beside events."""

    def seconds(ns: int | None) -> float | None:
        return None if ns is None else ns / 1e9

    if measurement.emulation is not None:
        # The times are the emulator's: nothing of the program follows from them.
        return {"wall_seconds": None, "user_seconds": None, "system_seconds": None,
                "cpus": os.cpu_count() or 1}  # fmt: skip
    # CPU time is the program's from its beginning: of nothing else that may have been counted.
    is_others = measurement.covers and measurement.command
    whole = not is_others and not measurement.delay_ns
    return {
        "wall_seconds": measurement.wall_ns / 1e9,
        "user_seconds": seconds(measurement.user_ns) if whole else None,
        "system_seconds": seconds(measurement.system_ns) if whole else None,
        "cpus": os.cpu_count() or 1,
    }


Definitions = dict[Hashable, Metrics]
"""Those that measurements can have values of, by what is the same in these but the values."""


def metrics(measurement: Measurement) -> tuple[MetricValue, ...]:
    """Return the derived metrics that follow from what was counted."""
    refused = [one.event for one in measurement.unavailable]
    return metrics_of_values(measurement.values, variables(measurement), refused)


def metrics_of_values(
    values: Iterable[Value],
    numbers: Mapping[str, float | None],
    refused: Iterable[str],
    tasks: Mapping[str, int] = MappingProxyType({}),
    definitions: Definitions | None = None,
) -> tuple[MetricValue, ...]:
    """Return the derived metrics that follow from values.

    Args:
        values: of events; of one execution, or what came out of several tasks of a job.
        numbers: the variables that formulas may use beside them.
        refused: events that have no value.
        tasks: `Quantity.tasks` of each value, by event or variable of formulas.
        definitions: who asks for many measurements of the same events gives the same each time,
            empty at first.
    """
    if tasks:  # on whatever nodes
        numbers = {**numbers, "cpus": None}
    known = quantities(values, numbers, given(os.environ), refused, tasks)
    if definitions is None:
        return computable(user_definitions.metrics(), known, MACHINE)
    alike = tuple((name, one.domain, one.is_event, one.tasks) for name, one in known.items())
    if alike not in definitions:
        definitions[alike] = possible(user_definitions.metrics(), known, MACHINE)
    return computable(definitions[alike], known, MACHINE)


def of_part(measurement: Measurement, part: GroupPart) -> Measurement:
    """Return what one of several groups counted as a measurement of its own."""
    return measurement._replace(
        values=part.values,
        wall_ns=part.wall_ns,
        user_ns=part.user_ns,
        system_ns=part.system_ns,
        unavailable=part.unavailable,
        rusage=(),
        parts=(),
    )


def beside_parts(measurement: Measurement) -> Measurement:
    """Return what was counted through the whole of a run in which groups took turns."""
    counted = {value.event for part in measurement.parts for value in part.values}
    values = tuple(value for value in measurement.values if value.event not in counted)
    missing = {one.event for part in measurement.parts for one in part.unavailable}
    rest = tuple(one for one in measurement.unavailable if one.event not in missing)
    return measurement._replace(values=values, unavailable=rest, parts=())


def metrics_of_counts(measurement: Measurement) -> tuple[MetricValue, ...]:
    """Return the metrics that follow from counts, and not from times alone."""
    return not_of_times_alone(metrics(measurement))


def not_of_times_alone(metrics: Iterable[MetricValue]) -> tuple[MetricValue, ...]:
    """Return those of metrics that follow from a count, too."""
    return tuple(metric for metric in metrics if metric.scope is not None)


def spreads(measurements: Sequence[Measurement]) -> tuple[Spread, ...]:
    """Return times, peak memory, counters and metrics over repetitions, what all of them have."""
    from gnomon.metrics.statistics import summarise

    rows: dict[str, list[tuple[str, How, float | None]]] = {}
    for one in measurements:
        times = (("wall time", one.wall_ns), ("user time", one.user_ns),
                 ("system time", one.system_ns))  # fmt: skip
        for name, ns in times:
            rows.setdefault(name, []).append(("ns", How.COUNTED, ns))
        for usage in one.rusage:
            if usage.field == "ru_maxrss":
                bytes_most = None if usage.value is None else usage.value * 1024
                rows.setdefault(PEAK_MEMORY, []).append(("bytes", How.COUNTED, bytes_most))
        for value in one.values:
            rows.setdefault(value.event, []).append((value.unit, value.how, value.value))
        for metric in metrics(one):
            rows.setdefault(metric.name, []).append((metric.unit, metric.how, metric.value))
    found = []
    for name, seen in rows.items():
        numbers = [number for _, _, number in seen if number is not None]
        if len(numbers) == len(measurements):
            how = max((h for _, h, _ in seen), key=_HOW_ORDER.index)
            found.append(Spread(name, seen[0][0], how, summarise(numbers)))
    return tuple(found)


def processes(measurement: Measurement) -> tuple[ProcessRow, ...]:
    """Return the counts of each process, in the order of their numbers."""
    if measurement.emulation is not None:
        emulation = measurement.emulation
        return tuple(
            ProcessRow(
                one.pid, one.ppid, program_of(one.command), None, emulation.of(one.totals), False
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


def process_values(measurement: Measurement) -> tuple[str, ...]:
    """Return the events that `processes` has counts of."""
    emulation = measurement.emulation
    return measurement.task_values if emulation is None else emulation.events


def program_of(command: str) -> str:
    """Return the name of the program of a command line."""
    return command.partition(" ")[0].rpartition("/")[2]


def functions(emulation: Emulation) -> tuple[FunctionRow, ...]:
    """Return the counts of every function, those with the most of the first event first."""
    from gnomon.model.inlining import Part, homes

    parts: dict[Part, tuple[int, ...]] = {}
    for process in emulation.processes:
        program = program_of(process.command)
        for line, counts in process.lines.items():
            part = Part(program, line.function, line.file)
            known = parts.get(part)
            parts[part] = counts if known is None else tuple(map(add, known, counts))
    values = {part: emulation.of(counts) for part, counts in parts.items()}
    home = homes({part: (of_part or (0,))[0] for part, of_part in values.items()})
    sums: dict[Part, tuple[int, ...]] = {}
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


def shown(value: Value) -> str:
    """Return a value as tables print it."""
    return quantity(value.value, value.unit, "not measured")


def remark(value: Value, doubt: str = "", *, of_machine: bool = False) -> str:
    """Return what must be said beside a value: modes, scope, multiplexing; "" for nothing.

    Args:
        value: the value.
        doubt: why emulated counts of this measurement are not whole, "" if they are.
        of_machine: the report is of a machine or cgroup and says so above.
    """
    parts = []
    if value.how is How.EMULATED:
        from gnomon.counters.emulation.events import emulated_event
        from gnomon.counters.event_grammar import modifiers

        event = emulated_event(modifiers(value.event)[0])
        if doubt:
            return doubt
        return "exact" if event is not None and event.is_exact else "simulated"
    if value.domain not in (Domain.ALL, Domain.USER_KERNEL):
        parts.append(f"{value.domain.value} mode only")
    if value.is_watch:
        parts.append("the time CPUs were watched, busy or idle")
    elif value.scope is Scope.NODE:
        parts += [] if of_machine else ["whole machine, not only the program"]
    elif value.how is How.SAMPLED:
        parts.append("of the process itself, now and then while it ran")
    elif value.scope is Scope.PROCESS:
        parts.append("process and the children it waited for")
    if value.how is How.SCALED and value.enabled_ns:
        parts.append(f"counted {100 * value.running_ns / value.enabled_ns:.1f} % of the time")
    if value.is_negative:
        parts.append("negative: less was counted of what is added than of what is taken away")
    if value.is_derived and value.derived is None and value.running_ns:
        parts.append("its formula has no value here: it divides by zero")
    elif value.value is None and value.component in ("cpu", "kernel"):
        parts.append("never had a counter: the run was too short or the PMU was full")
    elif value.value is None:
        parts.append("could not be read while the program ran")
    return "; ".join(parts)
