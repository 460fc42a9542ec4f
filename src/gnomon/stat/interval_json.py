"""Intervals as JSON lines and as CSV.

`gnomon/measurement/interval.schema.json` describes a line; `gnomon count --json -I` writes such
lines, too.
"""

from __future__ import annotations

import csv
import io
import time
from collections.abc import Mapping, Sequence
from typing import Any

from gnomon.counters.component import EventInfo
from gnomon.measurement import intervals
from gnomon.metrics.derived import MetricValue
from gnomon.model.value import Unavailable, Value
from gnomon.stat.interval_rows import MACHINE, PROCESS, IntervalRow, Sample


def document(
    sample: Sample,
    infos: Mapping[str, EventInfo],
    notes: Sequence[str] = (),
    unavailable: Sequence[Unavailable] = (),
) -> dict[str, Any]:
    """Return an interval as a JSON object; of a summary all intervals together.

    Args:
        sample: the interval.
        infos: what each event is.
        notes: sentences on the whole, for the first interval.
        unavailable: what cannot be counted, for the first interval.
    """
    result: dict[str, Any] = {
        "schema": "gnomon/interval" if sample.number else "gnomon/stat-summary",
        "schema_version": intervals.SCHEMA_VERSION,
    }
    if sample.number:
        result["interval"] = sample.number
    result["end_seconds"] = sample.end_ns / 1e9
    result["seconds"] = sample.span_ns / 1e9
    result["time"] = _moment(sample.time)
    whole = next((row for row in sample.rows if row.kind == MACHINE), None)
    result["counters"] = [] if whole is None else _counters(whole, infos)
    result["metrics"] = [] if whole is None else [_metric(one) for one in whole.metrics]
    others = [row for row in sample.rows if row.kind != MACHINE]
    if others:
        result["rows"] = [_row(row, infos) for row in others]
    if sample.notes or notes:
        result["notes"] = [*notes, *sample.notes]
    if unavailable:
        result["unavailable"] = [one._asdict() for one in unavailable]
    return result


def _row(row: IntervalRow, infos: Mapping[str, EventInfo]) -> dict[str, Any]:
    row_document: dict[str, Any] = {"of": row.kind, "name": row.name}
    if row.kind == PROCESS:
        row_document["program"] = row.program
    if row.gap:
        row_document["gap"] = row.gap
    row_document["counters"] = _counters(row, infos)
    row_document["metrics"] = [_metric(one) for one in row.metrics]
    return row_document


def _counters(row: IntervalRow, infos: Mapping[str, EventInfo]) -> list[dict[str, Any]]:
    return [_counter(value, infos) for value in row.values]


def _counter(value: Value, infos: Mapping[str, EventInfo]) -> dict[str, Any]:
    counter = intervals.counter(value)
    info = infos.get(value.event)
    if info is not None and info.gauge:
        counter["gauge"] = True
    return counter


def _metric(metric: MetricValue) -> dict[str, Any]:
    return {
        "metric": metric.name,
        "value": metric.value,
        "unit": metric.unit,
        "how": metric.how.value,
    }


def _moment(seconds: float) -> str:
    """Return a time as ISO 8601 has it, in UTC to the millisecond."""
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{whole}.{int(seconds % 1 * 1000):03d}Z"


CSV_HEAD = ("time", "interval", "seconds", "of", "name", "quantity", "value", "unit", "how")


def csv_head() -> str:
    """Return the first line of a CSV file."""
    return _csv([CSV_HEAD])


def csv_lines(sample: Sample) -> str:
    """Return an interval as lines of CSV, one for each number; what is not known is empty.

    Lines and not columns: which events a row has may change while the file grows.
    """
    moment = _moment(sample.time)
    seconds = f"{sample.span_ns / 1e9:.9f}"
    rows: list[Sequence[object]] = []
    for row in sample.rows:
        front = (moment, sample.number, seconds, row.kind, row.name)
        for value in row.values:
            number = value.value
            shown = "" if number is None else repr(number)
            rows.append((*front, value.event, shown, value.unit, value.how.value))
        for one in row.metrics:
            rows.append((*front, one.name, repr(one.value), one.unit, one.how.value))
    return _csv(rows)


def _csv(rows: Sequence[Sequence[object]]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()
