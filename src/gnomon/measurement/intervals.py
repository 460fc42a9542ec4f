"""What was counted in each interval while a program runs: records, text and JSON lines.

`interval.schema.json` beside this file describes a line.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gnomon.measurement import report_style
from gnomon.model.value import Value
from gnomon.named_tuple import NamedTuple
from gnomon.terminal_text import WIDTH

SCHEMA_VERSION = 1
SCHEMA = Path(__file__).parent / "interval.schema.json"


class Interval(NamedTuple):
    """The counts of one interval.

    Attributes:
        number: 1 for the first.
        end_ns: its end, in nanoseconds since counting began.
        span_ns: how long it was.
        values: what was counted in it; of gauges the value at its end.
        cpus: the same for each CPU, by the CPU's number; {} if they were not asked for apart.
    """

    number: int
    end_ns: int
    span_ns: int
    values: tuple[Value, ...]
    cpus: dict[int, tuple[Value, ...]]


class Intervals(NamedTuple):
    """What is to be told while the program runs.

    Attributes:
        period_ns: how long an interval is.
        most: after so many intervals no more are told; 0 for no limit.
        tell: is given each interval as it ends.
    """

    period_ns: int
    most: int
    tell: Callable[[Interval], None]


def heading() -> str:
    """Return the line above the text of intervals."""
    return f"{'# seconds':>10}  {'value':>14}  event"


def render_interval(interval: Interval) -> str:
    """Return an interval as lines: when it ended, a value, its event and what to know of it."""
    end_text = f"{interval.end_ns / 1e9:10.3f}"
    rows = [("", value) for value in interval.values]
    if interval.cpus:
        rows = [
            (f"  CPU {cpu}", value) for cpu, values in interval.cpus.items() for value in values
        ]
    lines = []
    for where, value in rows:
        line = f"{end_text}  {report_style.format_value(value):>14}  {value.event}{where}"
        remarks = "; ".join(part for part in (_how(value), report_style.remark(value)) if part)
        # What does not change from interval to interval is in the report at the end.
        for remark in (remarks, _how(value)):
            if remark and len(line) + 2 + len(remark) <= WIDTH:
                line += f"  {remark}"
                break
        lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def document(interval: Interval) -> dict[str, Any]:
    """Return an interval as a JSON object."""
    result: dict[str, Any] = {
        "schema": "gnomon/interval",
        "schema_version": SCHEMA_VERSION,
        "interval": interval.number,
        "end_seconds": interval.end_ns / 1e9,
        "seconds": interval.span_ns / 1e9,
        "counters": [counter(value) for value in interval.values],
    }
    if interval.cpus:
        result["cpus"] = [
            {"cpu": cpu, "counters": [counter(value) for value in values]}
            for cpu, values in interval.cpus.items()
        ]
    return result


def counter(value: Value) -> dict[str, Any]:
    """Return a value as the JSON object that it is in every line."""
    return {
        "event": value.event,
        "value": value.value,
        "unit": value.unit,
        "how": value.how.value,
        "raw": None if value.is_derived else value.raw,
        "enabled_ns": value.enabled_ns,
        "running_ns": value.running_ns,
    }


def _how(value: Value) -> str:
    return "" if value.how.value == "counted" else value.how.value
