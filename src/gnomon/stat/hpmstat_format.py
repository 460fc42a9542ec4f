"""Intervals as measurements, which hpmstat reports as hpmcount reports a program.

Source: HPM Toolkit User's Guide 3.2.2, section 4.
"""

from __future__ import annotations

import resource

from gnomon.launch.resource_usage import usage_rows
from gnomon.measurement.measurement import WHOLE_MACHINE, GroupPart, Measurement
from gnomon.stat.interval_rows import MACHINE, IntervalRow, Sample
from gnomon.stat.monitor import Monitor
from gnomon.stat.proc_metrics import CPU_TIMES, SYSTEM_TIME, USER_TIME
from gnomon.stat.watched_events import WatchedEvents


def measurement(sample: Sample, monitor: Monitor, choice: WatchedEvents) -> Measurement:
    """Return an interval as a measurement of the machine.

    Resource usage is what getrusage(2) says of the process that calls it: of hpmstat, since its
    beginning.
    """
    row = next((one for one in sample.rows if one.kind == MACHINE), IntervalRow(MACHINE, "", ()))
    user_ns, system_ns = (_time_ns(row, name) for name in (USER_TIME, SYSTEM_TIME))
    # User and system time stand above the counters.
    values = tuple(
        value for value in row.values if choice.is_default or value.event not in CPU_TIMES
    )
    whole = Measurement(
        command=(),
        pid=0,
        attached=True,
        exit_status=None,
        signal=0,
        started=sample.time - sample.span_ns / 1e9,
        wall_ns=sample.span_ns,
        user_ns=user_ns,
        system_ns=system_ns,
        values=values,
        unavailable=monitor.unavailable,
        notes=(
            *monitor.notes,
            *sample.notes,
            "counters are of the whole machine, resource usage is hpmstat's own",
        ),
        rusage=usage_rows(resource.getrusage(resource.RUSAGE_SELF), {}, 0),
        covers=WHOLE_MACHINE,
    )
    return whole._replace(parts=_parts(whole, choice)) if len(choice.groups) > 1 else whole


def _parts(whole: Measurement, choice: WatchedEvents) -> tuple[GroupPart, ...]:
    """Return the totals of each group; counts in turns are extrapolated to the interval."""
    values = {value.event: value for value in whole.values}
    parts = []
    for group in choice.groups:
        names = [event.name for event in group.wanted.events]
        parts.append(
            GroupPart(
                group.number,
                group.name,
                group.description,
                tuple(values[name] for name in names if name in values),
                whole.wall_ns,
                whole.user_ns,
                whole.system_ns,
                0,
                tuple(
                    one
                    for one in whole.unavailable
                    if one.event in names or one in group.wanted.unavailable
                ),
            )
        )
    return tuple(parts)


def _time_ns(row: IntervalRow, name: str) -> int | None:
    return next((value.raw for value in row.values if value.event == name), None)
