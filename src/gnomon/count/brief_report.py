"""The short report of `gnomon count`: what every run is asked first; the rest is left to --all."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.launch.resource_usage import UsageRow
from gnomon.measurement import report_style
from gnomon.measurement.measurement import WHOLE_MACHINE, Measurement
from gnomon.measurement.report_style import joined
from gnomon.metrics import user_definitions
from gnomon.metrics.derived import MetricValue
from gnomon.model.value import How, Value
from gnomon.named_tuple import NamedTuple
from gnomon.units import duration, number, quantity

_CPU_TIME = "task-clock"
_CPUS = "cpus_utilised"
_FAULTS = "page-faults"
_SWITCHES = "context-switches"
_HARDWARE = "cpu"
"""The component whose events a short report shows even if nobody chose them."""


class HiddenRows(NamedTuple):
    """What a short report leaves out of its tables.

    Attributes:
        events: whose counters stand in the overview, or wait for --all.
        metrics: likewise.
        shown: those of both that stand in the overview.
    """

    events: frozenset[str]
    metrics: frozenset[str]
    shown: frozenset[str]


def hidden(measurement: Measurement, *, default_events: bool) -> HiddenRows:
    """Return the events and metrics that a short report leaves out.

    Args:
        measurement: the measurement.
        default_events: the user chose no events.
    """
    if measurement.emulation is not None:
        return HiddenRows(frozenset(), frozenset(), frozenset())
    events = [value.event for value in measurement.values if value.component != _HARDWARE]
    own = frozenset(events if default_events else ())
    metrics = {metric.name for metric in user_definitions.metrics().obtainable(own)}
    return HiddenRows(
        own,
        frozenset(metrics | {_CPUS}),
        frozenset({_CPUS} | (own & {_CPU_TIME, _FAULTS, _SWITCHES})),
    )


def rows(
    measurement: Measurement,
    metrics: Sequence[MetricValue],
    *,
    default_events: bool,
    formulas: bool = False,
) -> list[tuple[str, str, str]]:
    """Return name, value and remark of the quantities that matter most.

    Args:
        measurement: one execution.
        metrics: that follow from it.
        default_events: the user chose no events.
        formulas: with the formula of the utilisation.
    """
    values = {value.event: value for value in measurement.values}
    lines = [("wall time", duration(measurement.wall_ns), "")]
    lines += _cpu_rows(measurement, values.get(_CPU_TIME), metrics, formulas=formulas)
    usage = {row.field: row for row in measurement.rusage}
    peak = usage.get("ru_maxrss")
    if peak is not None:
        lines.append(("peak memory", usage_text(peak), peak.remark))
    if default_events:
        of_machine = measurement.covers == WHOLE_MACHINE
        major = usage.get("ru_majflt")
        with_io = f"{number(major.value)} with I/O" if major is not None and major.value else ""
        for name, event, more in (("page faults", _FAULTS, with_io),
                                  ("context switches", _SWITCHES, "")):  # fmt: skip
            value = values.get(event)
            if value is not None:
                lines.append(
                    (
                        name,
                        report_style.format_value(value),
                        more or report_style.remark(value, of_machine=of_machine),
                    )
                )
    return lines


def _cpu_rows(
    measurement: Measurement,
    clock: Value | None,
    metrics: Sequence[MetricValue],
    *,
    formulas: bool,
) -> list[tuple[str, str, str]]:
    """Return the rows of CPU time and of how many CPUs that is."""
    user, system = measurement.user_ns, measurement.system_ns
    whole = "" if not measurement.delay_ns else " of the whole run"
    split = (
        f"user {duration(user)}, system {duration(system)}{whole}"
        if user is not None and system is not None
        else ""
    )
    lines = []
    if clock is not None and clock.value is not None and not clock.is_watch:
        lines.append(("CPU time", report_style.format_value(clock), split))
    elif split and user is not None and system is not None:
        lines.append(("CPU time", duration(user + system), split))
    cpus = next((metric for metric in metrics if metric.name == _CPUS), None)
    if cpus is not None:
        how = "" if cpus.how is How.COUNTED else cpus.how.value
        formula = f"= {cpus.formula}" if formulas else ""
        lines.append(("CPUs utilised", quantity(cpus.value, ""), joined(how, formula, sep="  ")))
    return lines


def remainder(
    measurement: Measurement, metrics: Sequence[MetricValue], left_out: HiddenRows
) -> str:
    """Return the line that says what --all shows, "" for nothing.

    Args:
        measurement: one execution.
        metrics: that follow from it.
        left_out: what its tables leave out.
    """
    events = len(left_out.events - left_out.shown)
    waiting = sum(metric.name in left_out.metrics - left_out.shown for metric in metrics)
    parts = [
        *_counted(events, "counter"),
        *_counted(waiting, "metric"),
        *(("resource usage",) if measurement.rusage else ()),
    ]
    return f"more with --all: {', '.join(parts)}" if parts else ""


def _counted(count: int, what: str) -> Sequence[str]:
    return (f"{count} {what}{'s' * (count != 1)}",) if count else ()


def usage_text(row: UsageRow) -> str:
    """Return a value of getrusage(2) as tables print it."""
    if row.unit == "KiB" and row.value is not None:
        return quantity(row.value * 1024, "bytes")
    return quantity(row.value, row.unit)
