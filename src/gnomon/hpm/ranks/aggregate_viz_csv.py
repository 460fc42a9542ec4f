"""NAME.viz and NAME.csv of items: as those of one task, with the statistics over several ranks.

`viz.xsd` and `gnomon.hpm.viz_csv` say what is in them; libhpm writes the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import isfinite

from gnomon import __version__
from gnomon.hpm.viz_csv import (
    COLUMNS,
    OF_TASKS,
    Attributes,
    csv_row,
    empty,
    escaped,
    metric_fields,
    moment,
    opened,
)
from gnomon.launch.run_environment import Host
from gnomon.measurement.items import IS_NODE_WIDE, TIME_NAMES, EventInfo, Item, RankFile, Spread
from gnomon.measurement.measurement_items import domain_of, has_value, how_of, metrics_of

# What XML must have, and an aggregator may have left out.
_NAMELESS = "_"
_NO_TOKEN = re.compile(r"[^A-Za-z0-9_.:-]")
# Of what a date can be, with a margin for time zones.
_LAST_MOMENT = 2.0**37

_Fields = dict[str, str | int | float | None]


def viz(tool: str, host: Host, file: RankFile) -> str:
    """Return the XML of items; `viz.xsd` describes it."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        opened("hpm", {"version": 1, "producer": tool, "release": __version__}),
        "  " + opened("run", {
            "program": file.program or _NAMELESS, "host": file.host or host.name,
            "process": file.process if file.process > 0 else None, "task": _known(file.task),
            "started": _moment(file.started) or _moment(0.0), "stopped": _moment(file.stopped),
            "wall_seconds": _seconds(file.wall_s),
            "exit_status": _known(file.exit_status), "events": file.events,
            "cpu": host.cpu_model, "cpus": host.cpus, "system": host.kernel,
        }),
        *([f"    <argument>{escaped(file.command)}</argument>"] if file.command else []),
        "  </run>",
    ]  # fmt: skip
    for item in file.items:
        if item.is_rusage and item.data:
            lines.append("  " + opened("usage", {"task": _known(item.mpi_task_id), **_tasks(item)}))
            for field in item.data:
                fields = _of_field(field)
                fields["name"] = _NO_TOKEN.sub("_", field.name) or _NAMELESS
                lines.append("    " + empty("field", fields))
            lines.append("  </usage>")
    sections: list[list[Item]] = []
    for item in file.items:
        if item.is_rusage:
            continue
        if sections and _section(sections[-1][-1]) == _section(item):
            sections[-1].append(item)
        else:
            sections.append([item])
    for element, items in enumerate(sections, 1):
        lines.append("  " + opened("section", {**_section(items[0]), "element": element}))
        for item in items:
            lines += _values(item)
        lines.append("  </section>")
    notes = dict.fromkeys(file.notes.splitlines())
    lines += (f"  <note>{escaped(note)}</note>" for note in notes)
    return "\n".join([*lines, "</hpm>", ""])


def csv(host: Host, file: RankFile) -> str:
    """Return a row for each quantity of items, after a row of names."""
    columns = (*COLUMNS, *OF_TASKS)
    rows = [csv_row(columns)]
    for item in file.items:
        common: _Fields = {
            "program": file.program, "host": file.host or host.name,
            "process": item.process_id or None, "task": _known(item.mpi_task_id), **_tasks(item),
        }  # fmt: skip
        if not item.is_rusage:
            common |= {
                "section": item.instr_id, "label": item.label, "parent": item.parent_id or None,
                "thread": item.thread_id or None, "file": item.file, "line": item.line or None,
                "group": item.group, "exclusive": "yes" if item.is_exclusive else "no",
                "calls": item.count,
            }  # fmt: skip
        for fields in _quantities(item):
            whole = {**common, **fields}
            rows.append(csv_row(whole.get(column) for column in columns))
    return "".join(rows)


def _quantities(item: Item) -> Iterator[_Fields]:
    if item.is_rusage:
        for field in item.data:
            yield {"kind": "usage", **_of_field(field)}
        return
    for name, seconds, spread in _times(item):
        yield {"kind": "time", "name": name, "value": seconds, "unit": "s", **_spread(spread)}
    for event in item.data:
        yield {"kind": "event", **_of_event(event)}
    for metric in metrics_of(item):
        yield {"kind": "metric", **metric_fields(metric)}


def _values(item: Item) -> list[str]:
    lines = ["    " + opened("values", {
        "exclusive": "true" if item.is_exclusive else "false",
        "continues": "true" if item.is_mplex_cont else "false",
        "group": item.group, "calls": max(item.count, 0),
    })]  # fmt: skip
    for name, seconds, spread in _times(item):
        fields: _Fields = {"name": name, "seconds": seconds, **_spread(spread)}
        lines.append("      " + empty("time", fields))
    for event in item.data:
        fields = _of_event(event)
        fields = {"name": fields.pop("name") or _NAMELESS, "component": event.component, **fields}
        if has_value(event) and event.flags & IS_NODE_WIDE:
            fields["scope"] = "node"
        lines.append("      " + empty("event", fields))
    for metric in metrics_of(item):
        fields = {
            "name": metric.guide_name or metric.name, "value": metric.value,
            "unit": metric.unit,
            "how": metric.how.value, "modes": metric.domain.value if metric.domain else None,
            "scope": metric.scope.value if metric.scope else None, "formula": metric.formula,
            "description": metric.description,
        }  # fmt: skip
        lines.append("      " + empty("metric", fields))
    return [*lines, "    </values>"]


def _section(item: Item) -> Attributes:
    return {
        "kind": "region" if item.instr_id > 0 else "program", "id": max(item.instr_id, 0),
        "label": item.label or _NAMELESS, "file": item.file,
        "line": item.line if item.line > 0 else None,
        "parent": item.parent_id if item.parent_id > 0 else None,
        "thread": item.thread_id if item.thread_id > 0 else None,
        "process": item.process_id if item.process_id > 0 else None,
        "task": _known(item.mpi_task_id), "description": item.xml_descr, **_tasks(item),
    }  # fmt: skip


def _tasks(item: Item) -> _Fields:
    return {"tasks": item.tasks, "task_count": item.n_tasks if item.n_tasks > 0 else None}


def _of_field(field: EventInfo) -> _Fields:
    return {
        "name": field.name, "value": field.value if has_value(field) else None, "unit": field.unit,
        "description": field.description, "reason": field.reason, **_spread(field.spread),
    }  # fmt: skip


def _of_event(event: EventInfo) -> _Fields:
    if not has_value(event):
        reason = event.reason or "not measured"
        return {"name": event.name, "unit": event.unit, "reason": reason}
    return {
        "name": event.name, "value": event.value, "unit": event.unit, "how": how_of(event).value,
        "enabled_seconds": _seconds(event.enabled_s),
        "running_seconds": _seconds(event.running_s),
        "modes": domain_of(event).value, "description": event.description,
        **_spread(event.spread),
    }  # fmt: skip


def _times(item: Item) -> Iterator[tuple[str, float, Spread | None]]:
    spreads: Sequence[Spread | None] = item.times_spread or [None] * len(item.times)
    for name, seconds, spread in zip(TIME_NAMES, item.times, spreads, strict=True):
        if isfinite(seconds):
            yield name, seconds, spread


def _spread(spread: Spread | None) -> _Fields:
    if spread is None:
        return {}
    return {
        "with_value": _known(spread.n),
        "minimum": spread.minimum,
        "minimum_task": _known(spread.min_task),
        "maximum": spread.maximum,
        "maximum_task": _known(spread.max_task),
        "deviation": spread.deviation,
        "bins": " ".join(str(max(n, 0)) for n in spread.bins),
    }


def _seconds(span: float) -> float | None:
    return abs(span) if span >= 0 else None


def _moment(seconds: float) -> str | None:
    return moment(seconds) if 0 <= seconds < _LAST_MOMENT else None


def _known(number: int) -> int | None:
    return number if number >= 0 else None
