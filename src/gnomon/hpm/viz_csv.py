"""NAME.viz and NAME.csv: measurements for programs to read.

Source: HPM Toolkit User's Guide 3.2.2, section 2.2, which names the files; `viz.xsd` beside this
file says what is in the one, RFC 4180 how the other is written. libhpm writes the same
(`native/hpm/report_viz.c`, `report_csv.c`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

from gnomon import __version__
from gnomon.hpm.output_names import mpi_task
from gnomon.launch.run_environment import Host
from gnomon.measurement import measurement_metrics, process_counts, report_style
from gnomon.measurement.measurement import Measurement
from gnomon.metrics.derived import MetricValue
from gnomon.model.value import Unavailable, Value
from gnomon.named_tuple import NamedTuple
from gnomon.units import printable

COLUMNS = (
    "program", "host", "process", "task", "section", "label", "parent", "thread", "file", "line",
    "group", "exclusive", "calls", "kind", "name", "value", "unit", "how", "modes",
    "enabled_seconds", "running_seconds", "reason", "formula", "description",
)  # fmt: skip
"""Of NAME.csv, as libhpm has them; with several repetitions `repetition` is one more."""

OF_TASKS = (
    "tasks", "task_count", "with_value", "minimum", "minimum_task", "maximum", "maximum_task",
    "deviation", "bins",
)  # fmt: skip
"""More columns of what an aggregator made of several tasks' values."""

_PROGRAM_SECTION = 0

Attributes = Mapping[str, str | int | float | None]


class Block(NamedTuple):
    """The counts of one group of events that were counted together.

    Attributes:
        group: "2 BRANCH", or "" where events were asked for by name.
        repetition: from 1.
        continues: it shared an execution with the group before it.
        one: the measurement, with the values and times of this group only.
        when: beginning and end of the execution, in seconds since the epoch; None if not known.
        metrics: what follows.
    """

    group: str
    repetition: int
    continues: bool
    one: Measurement
    when: tuple[float, float] | None
    metrics: tuple[MetricValue, ...]


def blocks(measurements: Sequence[Measurement], group: str, *, apart: bool) -> tuple[Block, ...]:
    """Return the counts in blocks, one for each group where groups stay separate.

    Args:
        measurements: executions.
        group: the one that was counted, if it was one.
        apart: each group by itself, and not all of them joined.
    """
    collected = []
    for repetition, measurement in enumerate(measurements, 1):
        whole = (measurement.started, measurement.started + measurement.wall_ns / 1e9)
        if not apart or not measurement.parts:
            collected.append(
                Block(
                    group,
                    repetition,
                    False,
                    measurement,
                    whole,
                    measurement_metrics.derive_metrics(measurement),
                )
            )
            continue
        for part_index, part in enumerate(measurement.parts):
            own = measurement_metrics.part_as_measurement(measurement, part)
            name = f"{part.number} {part.name}"
            continues = part_index > 0 and part.turns > 0
            metrics = measurement_metrics.derive_metrics(own) if own.wall_ns else ()
            # Of executions of their own only the last one's beginning is known.
            when = whole if part.turns else None
            collected.append(Block(name, repetition, continues, own, when, metrics))
        rest = measurement_metrics.without_parts(measurement)
        if rest.values or rest.unavailable:
            collected.append(
                Block(
                    "", repetition, False, rest, whole, measurement_metrics.metrics_of_counts(rest)
                )
            )
    return tuple(collected)


def viz(tool: str, host: Host, measurements: Sequence[Measurement], of: Sequence[Block]) -> str:
    """Return the XML of measurements; `viz.xsd` describes it."""
    first, last = measurements[0], measurements[-1]
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        opened("hpm", {"version": 1, "producer": tool, "release": __version__}),
        "  " + opened("run", {
            "program": program_of(first), "host": host.name, "process": last.pid or None,
            "task": mpi_task(), "started": moment(first.started),
            "stopped": moment(last.started + last.wall_ns / 1e9),
            "wall_seconds": last.wall_ns / 1e9, "exit_status": last.exit_status,
            "events": ",".join(_asked_for(first)), "cpu": host.cpu_model, "cpus": host.cpus,
            "system": host.kernel,
        }),
        *(f"    <argument>{escaped(word)}</argument>" for word in first.command),
        "  </run>",
    ]  # fmt: skip
    many = len(measurements) > 1
    for repetition, measurement in enumerate(measurements, 1):
        if measurement.rusage:
            whose = {"task": mpi_task(), "repetition": repetition if many else None}
            lines.append("  " + opened("usage", whose))
            for row in measurement.rusage:
                field = {
                    "name": row.field, "value": row.value, "unit": row.unit,
                    "description": row.description, "reason": _missing(row.value, row.remark),
                }  # fmt: skip
                lines.append("    " + empty("field", field))
            lines.append("  </usage>")
    lines.append("  " + opened("section", {
        "kind": "program", "id": _PROGRAM_SECTION, "element": 1, "label": program_of(first),
        "process": last.pid or None, "task": mpi_task(),
    }))  # fmt: skip
    for block in of:
        lines += _values(block, block.repetition if many else None)
    lines.append("  </section>")
    notes = dict.fromkeys(note for one in measurements for note in one.notes)
    lines += (f"  <note>{escaped(note)}</note>" for note in notes)
    return "\n".join([*lines, "</hpm>", ""])


def csv(host: Host, measurements: Sequence[Measurement], of: Sequence[Block]) -> str:
    """Return a row for each quantity of measurements, after a row of `COLUMNS`."""
    first = measurements[0]
    many = len(measurements) > 1
    rows: list[list[str | int | float | None]] = [[*COLUMNS, "repetition"] if many else [*COLUMNS]]

    def add(process: int, repetition: int, **fields: str | int | float | None) -> None:
        cells: dict[str, str | int | float | None] = {
            "program": program_of(first), "host": host.name, "process": process or None,
            "task": mpi_task(), "repetition": repetition,
        }  # fmt: skip
        cells.update(fields)
        rows.append([cells.get(str(column)) for column in rows[0]])

    for repetition, one in enumerate(measurements, 1):
        for row in one.rusage:
            add(one.pid, repetition, kind="usage", name=row.field, value=row.value, unit=row.unit,
                reason=_missing(row.value, row.remark), description=row.description)  # fmt: skip
    for block in of:
        whose: dict[str, str | int | float | None] = {
            "section": _PROGRAM_SECTION, "label": program_of(first), "group": block.group,
            "exclusive": "no", "calls": 1,
        }  # fmt: skip
        for fields in _quantities(block):
            add(block.one.pid, block.repetition, **whose, **fields)
    for repetition, one in enumerate(measurements, 1):
        for pid, fields in _of_parts(one):
            add(pid, repetition, **fields)
    return "".join(map(csv_row, rows))


def _of_parts(
    measurement: Measurement,
) -> Iterator[tuple[int, dict[str, str | int | float | None]]]:
    """Yield process and fields of each count of a process, thread, CPU or core, where asked for."""
    of = {value.event: {"unit": value.unit, "how": value.how.value} for value in measurement.values}
    for process in process_counts.process_rows(measurement):
        for event, number in zip(
            process_counts.process_events(measurement), process.values, strict=True
        ):
            whose = {"label": process.name, "kind": "process"}
            yield process.pid, {**whose, "name": event, "value": number, **of.get(event, {})}
    for task in measurement.tasks or ():
        for at, event in enumerate(measurement.task_values):
            whose = {"label": task.name, "kind": "thread"}
            count = process_counts.task_value(measurement, task.counts, at)
            yield task.pid, {
                **whose, "thread": task.tid, "name": event, "value": count, **of.get(event, {}),
            }  # fmt: skip
    for row in measurement.places or ():
        cpus = ", ".join(map(str, row.cpus))
        label = f"socket {row.socket}, core {row.core}, CPU {cpus}"
        for value in row.values.values():
            kind = "core" if row.is_core else "cpu"
            yield measurement.pid, {"label": label, "kind": kind, **_of_value(value)}


def program_of(measurement: Measurement) -> str:
    """Return the name of the measured program, or of another target."""
    if measurement.command:
        return measurement.command[0].rpartition("/")[2] or measurement.command[0]
    return measurement.covers or f"process {measurement.pid}"


def _asked_for(measurement: Measurement) -> Iterator[str]:
    if measurement.parts:
        yield from (f"{part.number} {part.name}" for part in measurement.parts)
        return
    yield from (value.event for value in measurement.values)
    yield from (missing.event for missing in measurement.unavailable)


def _quantities(block: Block) -> Iterator[dict[str, str | int | float | None]]:
    measured = block.one
    for name, seconds in _times(block):
        yield {"kind": "time", "name": name, "value": seconds, "unit": "s"}
    for value in measured.values:
        yield {"kind": "event", **_of_value(value)}
    for missing in measured.unavailable:
        yield {"kind": "event", "name": missing.event, "reason": _reason(missing)}
    for metric in block.metrics:
        yield {"kind": "metric", **metric_fields(metric)}


def _values(block: Block, repetition: int | None) -> list[str]:
    measured = block.one
    lines = ["    " + opened("values", {
        "exclusive": "false", "continues": "true" if block.continues else "false",
        "group": block.group, "calls": 1, "repetition": repetition,
    })]  # fmt: skip
    lines += ("      " + empty("time", {"name": n, "seconds": s}) for n, s in _times(block))
    for value in measured.values:
        fields = _of_value(value)
        fields = {"name": fields.pop("name"), "component": value.component, **fields}
        if value.value is not None:
            fields["scope"] = value.scope.value
        lines.append("      " + empty("event", fields))
    for missing in measured.unavailable:
        fields = {"name": missing.event, "reason": _reason(missing)}
        lines.append("      " + empty("event", fields))
    for metric in block.metrics:
        fields = metric_fields(metric)
        fields["scope"] = metric.scope.value if metric.scope else None
        lines.append("      " + empty("metric", fields))
    return [*lines, "    </values>"]


def _times(block: Block) -> Iterator[tuple[str, float]]:
    """Yield the times of a block in seconds; `start` and `stop` are since the epoch."""
    measured = block.one
    yield "wall", measured.wall_ns / 1e9
    if measured.user_ns is not None:
        yield "user", measured.user_ns / 1e9
    if measured.system_ns is not None:
        yield "system", measured.system_ns / 1e9
    if block.when is not None:
        yield "start", block.when[0]
        yield "stop", block.when[1]


def _of_value(value: Value) -> dict[str, str | int | float | None]:
    if value.value is None:
        reason = report_style.remark(value) or "not measured"
        return {"name": value.event, "unit": value.unit, "reason": reason}
    return {
        "name": value.event,
        "value": value.value,
        "unit": value.unit,
        "how": value.how.value,
        "enabled_seconds": value.enabled_ns / 1e9,
        "running_seconds": value.running_ns / 1e9,
        "modes": value.domain.value,
    }


def metric_fields(metric: MetricValue) -> dict[str, str | int | float | None]:
    """Return the fields that are written of a metric."""
    return {
        "name": metric.guide_name or metric.name,
        "value": metric.value,
        "unit": metric.unit,
        "how": metric.how.value,
        "modes": metric.domain.value if metric.domain else None,
        "formula": metric.formula,
        "description": metric.description,
    }


def _missing(value: float | None, remark: str) -> str:
    return "" if value is not None else remark or "Linux gives it no meaning"


def _reason(missing: Unavailable) -> str:
    return f"{missing.reason}; {missing.remedy}" if missing.remedy else missing.reason


def moment(seconds: float) -> str:
    """Return seconds since the epoch as XML has a moment, in local time."""
    return datetime.fromtimestamp(seconds).astimezone().isoformat(timespec="milliseconds")


def opened(name: str, attributes: Attributes) -> str:
    """Return the start tag of an element."""
    return f"<{name}{_written(attributes)}>"


def empty(name: str, attributes: Attributes) -> str:
    """Return an element without content."""
    return f"<{name}{_written(attributes)}/>"


def _written(attributes: Attributes) -> str:
    """Return attributes as XML has them; what says nothing is left out."""
    texts = ((name, field_text(value)) for name, value in attributes.items())
    return "".join(f' {name}="{escaped(text)}"' for name, text in texts if text)


def field_text(value: str | int | float | None) -> str:
    """Return a value as text; "" for what is not there."""
    if isinstance(value, float):
        # The shortest text that reads as the same double; 1e16 has no point, 100.0 needs none.
        return repr(value).removesuffix(".0") if math.isfinite(value) else ""
    return "" if value is None else str(value)


def escaped(text: str) -> str:
    """Return text as XML has it."""
    shown = printable(text)
    for plain, name in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ('"', "&quot;")):
        shown = shown.replace(plain, name)
    return shown


def csv_row(fields: Iterable[str | int | float | None]) -> str:
    """Return a row of CSV with its end, as RFC 4180 has it."""
    return ",".join(_quoted(field_text(field)) for field in fields) + "\r\n"


def _quoted(text: str) -> str:
    shown = printable(text)
    if any(one in shown for one in ',"') or shown != shown.strip():
        return '"' + shown.replace('"', '""') + '"'
    return shown
