"""Measurements as one JSON document; `count.schema.json` beside this file describes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gnomon import __version__
from gnomon.launch.run_environment import Host
from gnomon.measurement import measurement_metrics, process_counts
from gnomon.measurement.measurement import GroupPart, Measurement
from gnomon.model.value import Value
from gnomon.units import signal_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SCHEMA_VERSION = 1
SCHEMA = Path(__file__).parent / "count.schema.json"


def document(measurements: Sequence[Measurement], host: Host) -> dict[str, Any]:
    """Return the document of one execution, or of several with their spread.

    The top level describes the last execution; with more than one, `repetitions` holds all and
    `spread` the statistics over them.
    """
    last = measurements[-1]
    result: dict[str, Any] = {
        "schema": "gnomon/count",
        "schema_version": SCHEMA_VERSION,
        "gnomon_version": __version__,
        "host": host._asdict(),
        **_execution(last),
        "unavailable": [u._asdict() for u in last.unavailable],
        "notes": list(dict.fromkeys(note for one in measurements for note in one.notes)),
    }
    if len(measurements) > 1:
        result["repetitions"] = [_execution(one) for one in measurements]
        result["spread"] = [
            {
                "name": spread.name,
                "unit": spread.unit,
                "how": spread.how.value,
                "n": spread.summary.n,
                "mean": spread.summary.mean,
                "deviation": spread.summary.deviation,
                "confidence_95": spread.summary.half_width,
                "minimum": spread.summary.minimum,
                "maximum": spread.summary.maximum,
                "median": spread.summary.median,
            }
            for spread in measurement_metrics.repeat_statistics(measurements)
        ]
    return result


def _execution(measurement: Measurement) -> dict[str, Any]:
    result: dict[str, Any] = {
        "command": list(measurement.command),
        "pid": measurement.pid,
        "attached": measurement.attached,
        "exit_status": measurement.exit_status,
        "signal": signal_name(measurement.signal) if measurement.signal else None,
        "interrupted": measurement.interrupted,
        "started": measurement.started,
        "wall_seconds": measurement.wall_ns / 1e9,
        "user_seconds": None if measurement.user_ns is None else measurement.user_ns / 1e9,
        "system_seconds": None if measurement.system_ns is None else measurement.system_ns / 1e9,
        "counters": [_counter(value, _doubt(measurement)) for value in measurement.values],
        "metrics": _metrics(measurement),
        "rusage": [
            {
                "field": row.field,
                "value": row.value,
                "unit": row.unit,
                "description": row.description,
                "remark": row.remark,
            }
            for row in measurement.rusage
        ],
    }
    if measurement.covers:
        result["covers"] = measurement.covers
    if measurement.delay_ns:
        result["delay_seconds"] = measurement.delay_ns / 1e9
    if measurement.contention is not None:
        waited_ns = measurement.contention.waited_ns
        result["contention"] = {
            "waited_seconds": None if waited_ns is None else waited_ns / 1e9,
            "others_cpus": measurement.contention.others_ns / max(measurement.wall_ns, 1),
            "idle_cpus": measurement.contention.idle_ns / max(measurement.wall_ns, 1),
            "stolen_seconds": measurement.contention.stolen_ns / 1e9,
        }
    if measurement.parts:
        result["groups"] = [_part(measurement, part) for part in measurement.parts]
    if measurement.places is not None:
        result["places"] = [
            {
                "socket": None if row.socket < 0 else row.socket,
                "core": None if row.core < 0 else row.core,
                "cpus": list(row.cpus),
                "counters": [_counter(value) for value in row.values.values()],
            }
            for row in measurement.places
        ]
    if measurement.tasks is not None:
        result["threads"] = [
            {
                "pid": task.pid,
                "tid": task.tid,
                "ppid": task.ppid,
                "name": task.name,
                "running": task.running,
                "values": {
                    event: process_counts.task_value(measurement, task.counts, at)
                    for at, event in enumerate(measurement.task_values)
                },
            }
            for task in measurement.tasks
        ]
    if measurement.tasks is not None or measurement.emulation is not None:
        events = process_counts.process_events(measurement)
        result["processes"] = [
            {
                "pid": row.pid,
                "ppid": row.ppid,
                "name": row.name,
                "threads": row.threads,
                "running": row.running,
                "values": dict(zip(events, row.values, strict=True)),
            }
            for row in process_counts.process_rows(measurement)
        ]
    if measurement.emulation is not None:
        result["emulation"] = {
            "engine": measurement.emulation.engine,
            "caches": {
                level: {"bytes": cache.size, "ways": cache.ways, "line_bytes": cache.line}
                for level, cache in measurement.emulation.caches.items()
            },
            "functions": [
                {
                    "program": row.program,
                    "function": row.function,
                    "file": row.file,
                    "values": dict(zip(measurement.emulation.events, row.values, strict=True)),
                }
                for row in process_counts.function_rows(measurement.emulation)
            ],
        }
    return result


def _part(measurement: Measurement, part: GroupPart) -> dict[str, Any]:
    return {
        "number": part.number,
        "name": part.name,
        "turns": part.turns,
        "wall_seconds": part.wall_ns / 1e9,
        "user_seconds": None if part.user_ns is None else part.user_ns / 1e9,
        "system_seconds": None if part.system_ns is None else part.system_ns / 1e9,
        "counters": [_counter(value) for value in part.values],
        "metrics": _metrics(measurement_metrics.part_as_measurement(measurement, part))
        if part.wall_ns
        else [],
        "unavailable": [missing.event for missing in part.unavailable],
    }


def _doubt(one: Measurement) -> str:
    return one.emulation.doubt if one.emulation is not None else ""


def _counter(value: Value, doubt: str = "") -> dict[str, Any]:
    """Return a counter; `doubt` goes with it as it does in the text, where there is any."""
    return {
        "event": value.event,
        "value": value.value,
        "unit": value.unit,
        "how": value.how.value,
        "component": value.component,
        "domain": value.domain.value,
        "scope": value.scope.value,
        "raw": None if value.is_derived else value.raw,
        "derived": value.is_derived,
        "negative": value.is_negative,
        "scale": value.scale,
        "enabled_ns": value.enabled_ns,
        "running_ns": value.running_ns,
        **({"doubt": doubt} if doubt else {}),
    }


def _metrics(measurement: Measurement) -> list[dict[str, Any]]:
    doubt = _doubt(measurement)
    return [
        {
            "name": metric.name,
            "value": metric.value,
            "unit": metric.unit,
            "how": metric.how.value,
            "formula": metric.formula,
            "description": metric.description,
            **({"doubt": doubt} if doubt else {}),
        }
        for metric in measurement_metrics.derive_metrics(measurement)
    ]
