"""What was counted as Prometheus and others scrape it.

Sources: OpenMetrics 1.0 (types, units, escaping); Prometheus text exposition format 0.0.4, which is
what node_exporter's textfile collector and `promtool check metrics` read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import isfinite

from gnomon.counters.component import EventInfo
from gnomon.metrics.derived import MetricValue
from gnomon.model.value import Domain
from gnomon.named_tuple import NamedTuple
from gnomon.stat.interval_rows import CGROUP, CORE, CPU, MACHINE, NODE, PROCESS, SOCKET, IntervalRow
from gnomon.stat.totals import Totals

OPENMETRICS = "application/openmetrics-text; version=1.0.0; charset=utf-8"
TEXT = "text/plain; version=0.0.4; charset=utf-8"

_PREFIX = "gnomon_"
_LABEL = {CPU: "cpu", CORE: "core", NODE: "node", SOCKET: "socket", CGROUP: "cgroup",
          PROCESS: "pid"}  # fmt: skip
_PARTS = (CPU, CORE, NODE, SOCKET)

# Units as Prometheus wants them: the base unit, and the factor into it.
_UNITS = {
    "ns": ("seconds", 1e-9),
    "s": ("seconds", 1.0),
    "bytes": ("bytes", 1.0),
    "bytes/s": ("bytes_per_second", 1.0),
    "MB/s": ("bytes_per_second", 1e6),
    "MiB/s": ("bytes_per_second", 1048576.0),
    "MiB": ("bytes", 1048576.0),
    "Mi": ("", 1048576.0),
    "%": ("ratio", 0.01),
    "/s": ("per_second", 1.0),
    "/CPU s": ("per_cpu_second", 1.0),
    "Mflop/CPU s": ("flops_per_user_cpu_second", 1e6),
    "Mflip/CPU s": ("flips_per_user_cpu_second", 1e6),
    "GHz": ("hertz", 1e9),
    "M": ("", 1e6),
    "W": ("watts", 1.0),
    "J": ("joules", 1.0),
    "nJ": ("joules", 1e-9),
    "Mflop/s": ("flop_per_second", 1e6),
    "Mflip/s": ("flip_per_second", 1e6),
    "Minstr/s": ("instructions_per_second", 1e6),
    "°C": ("celsius", 1.0),
}
_TYPES = ("counter", "gauge", "histogram", "summary", "untyped")
_NO_NAME = re.compile(r"[^a-zA-Z0-9_]+")


class Point(NamedTuple):
    """One number with its labels."""

    labels: tuple[tuple[str, str], ...]
    number: float


class MetricFamily:
    """The numbers of one name."""

    def __init__(self, name: str, kind: str, unit: str, text: str) -> None:
        self.name = name
        self.kind = kind
        self.unit = unit
        self.text = text
        self.points: dict[tuple[tuple[str, str], ...], float] = {}


def families(
    totals: Totals, infos: Mapping[str, EventInfo], groups: Mapping[str, str]
) -> list[MetricFamily]:
    """Return the counts since the beginning, by name.

    Counts are counters, which only grow. Gauges and metrics are gauges, of the last interval; those
    of a row that has gone are left out, so that they go stale. What parts of the machine have
    (CPUs, cores, nodes) the machine itself has not: a sum over them would count it twice.

    Args:
        totals: of all intervals.
        infos: what each event is.
        groups: for an event of an event group the group's name.
    """
    with totals.lock:
        return _families(totals, infos, groups)


def _families(
    totals: Totals, infos: Mapping[str, EventInfo], groups: Mapping[str, str]
) -> list[MetricFamily]:
    by_name: dict[str, MetricFamily] = {}
    sample = totals.sample
    if sample is None:
        return []
    present = {row.key: row for row in sample.rows}
    # A sum over CPUs must not count the machine as another one.
    of_parts = {
        name for (kind, _), events in totals.rows.items() if kind in _PARTS for name in events
    }
    for key, events in totals.rows.items():
        row = totals.last[key]
        labels = _labels(row)
        is_here = key in present and not present[key].gap
        # A sensor that has gone is still an event, and has no value.
        now = {value.event for value in row.values if value.value is not None}
        for event, total in events.items():
            if row.kind == MACHINE and event in of_parts:
                continue
            info = infos.get(event)
            is_gauge = total.is_gauge or total.last.is_derived
            if is_gauge and not (is_here and event in now):
                continue
            unit = info.unit if info is not None else total.last.unit
            text = info.description if info is not None else event
            number = total.last.value if is_gauge else total.sum
            if number is None:
                continue
            own = [*labels]
            if not event.startswith("proc."):
                own.append(("event", event))
            if event in groups:
                own.append(("group", groups[event]))
            if total.last.domain not in (Domain.ALL, Domain.USER_KERNEL):
                own.append(("domain", total.last.domain.value))
            own.append(("how", total.how.value))
            kind = "gauge" if is_gauge else "counter"
            _add(by_name, event, kind, unit, text, own, number)
    metrics_of_parts = {
        metric.name for row in sample.rows if row.kind in _PARTS for metric in row.metrics
    }
    for row in sample.rows:
        for metric in row.metrics if not row.gap else ():
            if row.kind != MACHINE or metric.name not in metrics_of_parts:
                _add_metric(by_name, row, metric)
    for name, text, number in (
        ("interval", "length of the last interval", sample.span_ns / 1e9),
        ("last_interval_time", "end of the last interval, since the epoch", sample.time),
    ):
        _add(by_name, name, "gauge", "s", text, [], number)
    _add(by_name, "intervals", "counter", "", "intervals that were counted", [], sample.number)
    return list(by_name.values())


def _add_metric(by_name: dict[str, MetricFamily], row: IntervalRow, metric: MetricValue) -> None:
    labels = [*_labels(row), ("how", metric.how.value)]
    text = metric.description or metric.name
    _add(by_name, f"metric_{metric.name}", "gauge", metric.unit, text, labels, metric.value)


def _labels(row: IntervalRow) -> list[tuple[str, str]]:
    if row.kind == MACHINE:
        return []
    labels = [(_LABEL[row.kind], row.name)]
    if row.kind == PROCESS:
        labels.append(("program", row.program))
    return labels


def _add(
    by_name: dict[str, MetricFamily],
    event: str,
    kind: str,
    unit: str,
    text: str,
    labels: Iterable[tuple[str, str]],
    number: float,
) -> None:
    base, factor = _UNITS.get(unit, ("", 1.0))
    if not isfinite(number):
        return
    name = _name(event, base)
    # The same name may stand for a count and for a gauge: of an event, and of one that is derived.
    family_name = name if name not in by_name or by_name[name].kind == kind else f"{name}_{kind}"
    family = by_name.get(family_name)
    if family is None:
        has_unit = bool(base) and family_name.endswith(f"_{base}")
        shown = text if base or not unit else f"{text} [{unit}]"
        family = by_name[family_name] = MetricFamily(
            family_name, kind, base if has_unit else "", shown
        )
    family.points[tuple(labels)] = number * factor


def _name(event: str, unit: str) -> str:
    """Return the name of an event's family: lower case, its unit at its end."""
    plain = _NO_NAME.sub("_", event.lower()).strip("_")
    for ending in ("_total", "_ns" if unit == "seconds" else "_total"):
        plain = plain.removesuffix(ending)
    # Prometheus's own linter refuses names with the words that are types.
    words = [f"{word}s" if word in _TYPES else word for word in plain.split("_")]
    plain = "_".join(words)
    if unit and not plain.endswith(unit):
        if unit == "seconds" and words[-1] == "time" and len(words) > 1:
            plain = plain.removesuffix("_time")
        plain = f"{plain}_{unit}"
    return _PREFIX + plain


def exposition(metric_families: Iterable[MetricFamily], *, openmetrics: bool) -> str:
    """Return families as text, in OpenMetrics 1.0 or in Prometheus's older format."""
    lines = []
    for family in metric_families:
        name = family.name
        of_counter = f"{name}_total"
        if family.kind == "counter" and not openmetrics:
            name = of_counter
        lines.append(f"# TYPE {name} {family.kind}")
        if family.unit and openmetrics:
            lines.append(f"# UNIT {name} {family.unit}")
        lines.append(f"# HELP {name} {_help(family.text, openmetrics=openmetrics)}")
        sample = of_counter if family.kind == "counter" else name
        for labels, number in family.points.items():
            inside = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels)
            lines.append(f"{sample}{{{inside}}} {_number(number)}" if inside
                         else f"{sample} {_number(number)}")  # fmt: skip
    if openmetrics:
        lines.append("# EOF")
    return "".join(f"{line}\n" for line in lines)


def _number(number: float) -> str:
    if isinstance(number, int) or (number.is_integer() and abs(number) < 1e15):
        return str(int(number))
    return repr(number)


def _escaped(text: str) -> str:
    safe = text.encode("utf-8", "backslashreplace").decode()
    return safe.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _help(text: str, *, openmetrics: bool) -> str:
    if openmetrics:
        return _escaped(text)
    safe = text.encode("utf-8", "backslashreplace").decode()
    return safe.replace("\\", r"\\").replace("\n", r"\n")
