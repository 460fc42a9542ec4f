"""From a measurement to items, and from items to values and metrics."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from math import isfinite, nan
from typing import TYPE_CHECKING

from gnomon.measurement import measurement_metrics, report_style
from gnomon.measurement.items import (
    HOWS,
    IS_DERIVED,
    IS_NODE_WIDE,
    MODES,
    SYSTEM,
    UNAVAILABLE,
    USER,
    WALLCLOCK,
    EventInfo,
    Item,
    RankFile,
)
from gnomon.measurement.measurement import Measurement
from gnomon.model.value import Domain, How, Scope, Unavailable, Value

if TYPE_CHECKING:
    from gnomon.metrics.derived import MetricValue

_NS = 1e9
# No run takes 30 000 years; what says so is no time.
_LONGEST_S = 1e12
_MODE_BITS = {domain: bits for bits, domain in MODES.items()}
_VARIABLES = (("wall_seconds", WALLCLOCK), ("user_seconds", USER), ("system_seconds", SYSTEM))
WHOLE_RUN = "counters of the whole run"
"""The group of what was counted all the time while groups took turns."""


def rank_file(
    measurement: Measurement,
    group: str,
    *,
    task: int | None,
    size: int | None,
    host: str,
    order: Sequence[str] = (),
) -> RankFile:
    """Return all that a task measured.

    Args:
        measurement: an execution.
        group: the one that was counted, as "2 BRANCH"; "" for several, or none.
        task: in the job; None without one.
        size: tasks of the job; None if not known.
        host: where it ran.
        order: names of events as they are to follow each other, whether they could be counted on
            this task or not: tasks with the same events are alike.
    """
    places = {name: at for at, name in enumerate(order)}
    program = measurement.command[0].rpartition("/")[2] if measurement.command else ""
    of_task = -1 if task is None else task
    items = [_usage(measurement, of_task)] if measurement.rusage else []
    if measurement.parts:
        for at, part in enumerate(measurement.parts):
            own = measurement_metrics.part_as_measurement(measurement, part)
            items.append(_item(own, f"{part.number} {part.name}", of_task, program, at > 0, places))
        rest = measurement_metrics.without_parts(measurement)
        if rest.values or rest.unavailable:
            items.append(_item(rest, WHOLE_RUN, of_task, program, True, places))
    else:
        items.append(_item(measurement, group, of_task, program, False, places))
    asked = [f"{part.number} {part.name}" for part in measurement.parts] or [
        *(value.event for value in measurement.values),
        *(missing.event for missing in measurement.unavailable),
    ]
    wall_s = measurement.wall_ns / _NS
    return RankFile(
        tuple(items), program, " ".join(measurement.command), host,
        "\n".join(measurement.notes), ",".join(asked), of_task, size or 0, measurement.pid,
        -1 if measurement.exit_status is None else measurement.exit_status, measurement.signal,
        measurement.started, measurement.started + wall_s, wall_s,
    )  # fmt: skip


def _usage(measurement: Measurement, task: int) -> Item:
    data = tuple(
        EventInfo(
            row.field,
            "",
            row.unit,
            row.description,
            "" if row.value is not None else row.remark or "Linux gives it no meaning",
            nan if row.value is None else float(row.value),
            how=UNAVAILABLE if row.value is None else 0,
        )
        for row in measurement.rusage
    )
    return Item(
        data, _times(measurement), is_rusage=True, mpi_task_id=task, process_id=measurement.pid
    )


def _item(
    measurement: Measurement,
    group: str,
    task: int,
    label: str,
    continues: bool,
    places: Mapping[str, int],
) -> Item:
    data = [_event(value) for value in measurement.values]
    data += [
        EventInfo(missing.event, reason=_reason(missing)) for missing in measurement.unavailable
    ]
    data.sort(key=lambda event: places.get(event.name, len(places)))
    return Item(
        tuple(data), _times(measurement), is_mplex_cont=continues, mpi_task_id=task, label=label,
        group=group, process_id=measurement.pid, xml_element_id=1,
    )  # fmt: skip


def _times(measurement: Measurement) -> tuple[float, ...]:
    wall = measurement.wall_ns / _NS
    user, system = (
        nan if ns is None else ns / _NS for ns in (measurement.user_ns, measurement.system_ns)
    )
    return (
        wall,
        wall,
        user,
        system,
        measurement.started,
        measurement.started + wall,
        nan,
        measurement.started,
    )


def _event(value: Value) -> EventInfo:
    number = value.value
    derived = IS_DERIVED if value.is_derived else 0
    return EventInfo(
        value.event,
        value.component,
        value.unit,
        "",
        "" if number is not None else report_style.remark(value) or "not measured",
        nan if number is None else float(number),
        value.enabled_ns / _NS,
        value.running_ns / _NS,
        UNAVAILABLE if number is None else HOWS.index(value.how),
        0 if value.unit in ("ns", "s") else _MODE_BITS[value.domain],
        derived | (IS_NODE_WIDE if value.scope is Scope.NODE else 0),
    )


def _reason(missing: Unavailable) -> str:
    return f"{missing.reason}; {missing.remedy}" if missing.remedy else missing.reason


# --- and back -----------------------------------------------------------------------------------


def has_value(event: EventInfo) -> bool:
    """Return whether an event has a value that is one."""
    return event.how != UNAVAILABLE and isfinite(event.value)


def how_of(event: EventInfo) -> How:
    """Return how an event's value was obtained; the least certain way if that is not known."""
    return HOWS[event.how] if 0 <= event.how < len(HOWS) else HOWS[-1]


def domain_of(event: EventInfo) -> Domain:
    """Return the privilege levels that an event was counted in."""
    return MODES.get(event.modes, Domain.ALL)


def _ns(seconds: float) -> int | None:
    return round(seconds * _NS) if 0 <= seconds < _LONGEST_S else None


def _value(event: EventInfo) -> Value:
    """Return an event's value such that `Value.value` is its number."""
    enabled_ns, running_ns = _ns(event.enabled_s) or 0, _ns(event.running_s) or 0
    how = how_of(event)
    if not (how is How.SCALED and 0 < running_ns < enabled_ns):
        running_ns = enabled_ns
    scope = Scope.NODE if event.flags & IS_NODE_WIDE else Scope.THREAD
    domain = domain_of(event)
    if event.flags & IS_DERIVED:
        return Value(event.name, event.component, 0, enabled_ns, running_ns, event.unit, 1, domain,
                     scope, how, event.value, True)  # fmt: skip
    # A mean is no whole number; the parts of one event on several kinds of cores add up by `raw`.
    share = running_ns / enabled_ns if running_ns < enabled_ns else 1.0
    raw, divisor = (event.value * share).as_integer_ratio()
    return Value(event.name, event.component, raw, enabled_ns, running_ns, event.unit,
                 1 if divisor == 1 else 1 / divisor, domain, scope, how)  # fmt: skip


def metrics_of(
    item: Item, definitions: measurement_metrics.Definitions | None = None
) -> Sequence[MetricValue]:
    """Return the metrics that follow from an item's values.

    Args:
        item: what came out on one task, or over several.
        definitions: as `measurement_metrics.metrics_of_values` has them.
    """
    if item.is_rusage:
        return ()
    metrics = measurement_metrics.metrics_of_values(
        values_of(item),
        {name: _rounded_s(item.times[at]) for name, at in _VARIABLES}
        | {"wall_seconds": _rounded_s(item.times[WALLCLOCK]) or 0.0, "cpus": os.cpu_count() or 1},
        [event.name for event in item.data if not has_value(event)],
        _tasks(item),
        definitions,
    )
    if item.group == WHOLE_RUN:
        return measurement_metrics.not_of_times_alone(metrics)
    return metrics


def values_of(item: Item) -> tuple[Value, ...]:
    """Return the values of an item's events, of those that have one."""
    return tuple(map(_value, filter(has_value, item.data)))


def _rounded_s(seconds: float) -> float | None:
    """Return a time as measurements have it, in whole nanoseconds; None where it is none."""
    ns = _ns(seconds)
    return None if ns is None else ns / _NS


def _tasks(item: Item) -> dict[str, int]:
    """Return `Quantity.tasks` of each value, by event or variable; {} of one task's own."""
    if item.n_tasks < 2:
        return {}
    spreads = {event.name: event.spread for event in item.data if event.spread is not None}
    if item.times_spread:
        spreads |= {name: item.times_spread[at] for name, at in _VARIABLES}
    # Without tasks it is over something else, such as earlier runs.
    return {name: -one.n if one.min_task < 0 else one.n for name, one in spreads.items()}
