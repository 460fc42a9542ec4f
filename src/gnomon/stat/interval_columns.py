"""The columns of the table: which there are for what is counted, and which of them fit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from math import isfinite

from gnomon.counters.component import EventInfo
from gnomon.metrics.derived import MetricValue
from gnomon.model.value import Value
from gnomon.named_tuple import NamedTuple
from gnomon.stat.interval_rows import CGROUP, MACHINE, PROCESS, IntervalRow
from gnomon.stat.proc_metrics import CPU_TIMES, SYSTEM_TIME, USER_TIME
from gnomon.stat.watched_events import WatchedEvents
from gnomon.terminal_text import heading

Cell = Callable[[Mapping[str, Value], Mapping[str, MetricValue], float], float | None]
"""What a column shows of a row: of its values and metrics by name, and the interval's seconds."""

Kind = Callable[[str], Cell]
"""Makes what a column shows of an event, a vital or a metric."""

_SI = ("", "k", "M", "G", "T", "P", "E")
_BINARY = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class StatColumn(NamedTuple):
    """One column.

    Attributes:
        head: the lines of its heading.
        cell: what it shows of a row.
        unit: "%", "bytes" or "" for how numbers are written.
        rank: those with the highest go first where the room is short.
        name: the event or metric in full, for the note on columns without room.
        is_metric: it shows a metric.
        of: the event, the vital or the metric that it shows, which says how it was obtained.
        above: what stands above it and its neighbours that have the same.
        padding: how much wider it is than its numbers need, for what stands above.
    """

    head: tuple[str, ...]
    cell: Cell
    unit: str = ""
    rank: int = 0
    name: str = ""
    above: str = ""
    is_metric: bool = False
    of: str = ""
    padding: int = 0

    @property
    def label(self) -> str:
        """What it is called in a sentence."""
        return self.name or self.head[-1]

    @property
    def width(self) -> int:
        """How many characters it takes."""
        return max(_WIDTHS.get(self.unit, 5), *map(len, self.head)) + self.padding


_WIDTHS = {"%": 3, "n": 3, "bytes": 6}


def format_cell(number: float | None, unit: str) -> str:
    """Return a number in at most six characters: 7, 1234, 12.3k, 4.56M; "-" for none."""
    if number is None or not isfinite(number):
        return "-"
    if unit == "%":
        return f"{number:.0f}"
    step, prefixes = (1024, _BINARY) if unit == "bytes" else (1000, _SI)
    size = abs(number)
    if size < 9999.5 and unit != "bytes":
        if size < 9.995 and number != int(number):
            return f"{number:.2f}".rstrip("0").rstrip(".")
        return f"{number:.0f}"
    prefix = 0
    while size >= step * 0.9995 and prefix < len(prefixes) - 1:
        size /= step
        prefix += 1
    digits = 0 if size >= 99.95 or not prefix else 1 if size >= 9.995 else 2
    sign = "-" if number < 0 else ""
    return f"{sign}{size:.{digits}f}{prefixes[prefix]}"


def _share(name: str) -> Cell:
    """Return a CPU time as a share of all of a row's CPU time, in percent."""

    def cell(values: Mapping[str, Value], _: Mapping[str, MetricValue], __: float) -> float | None:
        whole = 0.0
        for one in CPU_TIMES:
            whole += (values[one].value or 0) if one in values else 0
        own = values[name].value if name in values else None
        return 100 * own / whole if own is not None and whole else None

    return cell


def _cpus(name: str) -> Cell:
    """Return a CPU time as percent of one CPU."""
    rate = _rate(name)

    def cell(values: Mapping[str, Value], m: Mapping[str, MetricValue], s: float) -> float | None:
        number = rate(values, m, s)
        return None if number is None else 100 * number

    return cell


def _rate(name: str) -> Cell:
    def cell(values: Mapping[str, Value], _: Mapping[str, MetricValue], s: float) -> float | None:
        value = values.get(name)
        number = value.value if value is not None else None
        if number is None or value is None:
            return None
        return number / (s * 1e9 if value.unit == "ns" else s)

    return cell


def _rate_of_all(name: str) -> Cell:
    """Return the rate of an event, on hybrid CPUs of its counts on every kind of core."""
    ending = f"/{name}/"

    def cell(values: Mapping[str, Value], _: Mapping[str, MetricValue], s: float) -> float | None:
        found = [value.value for event, value in values.items() if event == name or ending in event]
        known = [number for number in found if number is not None]
        return sum(known) / s if known and len(known) == len(found) else None

    return cell


def _present(name: str) -> Cell:
    def cell(values: Mapping[str, Value], _: Mapping[str, MetricValue], __: float) -> float | None:
        return values[name].value if name in values else None

    return cell


def _metric(name: str) -> Cell:
    def cell(_: Mapping[str, Value], metrics: Mapping[str, MetricValue], __: float) -> float | None:
        return metrics[name].value if name in metrics else None

    return cell


def _by_default(kind: str) -> list[StatColumn]:
    """Return the columns of a row where the user chose no events."""

    def column(above: str, head: str, of: str, cell: Kind, unit: str, rank: int) -> StatColumn:
        name = f"{above} {head}".strip()
        return StatColumn((head,), cell(of), unit, rank, name, above, cell is _metric, of)

    defaults: list[StatColumn] = []
    if kind == MACHINE:
        defaults += [
            column("tasks", "r", "proc.runnable", _present, "n", 1),
            column("tasks", "b", "proc.blocked", _present, "n", 2),
        ]
    if kind in (CGROUP, PROCESS):
        defaults += [
            column("CPU %", "us", USER_TIME, _cpus, "%", 0),
            column("CPU %", "sy", SYSTEM_TIME, _cpus, "%", 0),
            column("", "memory", "proc.resident_memory", _present, "bytes", 2),
        ]
    else:
        defaults += [
            column("CPU %", head, name, _share, "%", 0)
            for head, name in zip(("us", "sy", "id", "wa", "st"), CPU_TIMES, strict=True)
        ]
    defaults += [
        column("hardware, per second", "IPC", "ipc", _metric, "", 1),
        column("hardware, per second", "Minst", "mips", _metric, "", 2),
        column("hardware, per second", "cmiss", "cache-misses", _rate_of_all, "", 3),
        column("hardware, per second", "bmiss", "branch-misses", _rate_of_all, "", 4),
        column("per second", "cs", "context-switches", _rate, "", 1),
    ]
    if kind == MACHINE:
        defaults.append(column("per second", "in", "proc.interrupts", _rate, "", 2))
    defaults += [
        column("per second", "migr", "cpu-migrations", _rate, "", 5),
        column("per second", "fault", "page-faults", _rate, "", 2),
        column("per second", "major", "major-faults", _rate, "", 6),
    ]
    if kind == MACHINE:
        defaults += [
            column("disk B/s", "read", "io:::disk_read_bytes", _rate, "bytes", 3),
            column("disk B/s", "write", "io:::disk_write_bytes", _rate, "bytes", 3),
            column("net B/s", "in", "network:::rx_bytes", _rate, "bytes", 4),
            column("net B/s", "out", "network:::tx_bytes", _rate, "bytes", 4),
            column("memory", "free", "proc.available_memory", _present, "bytes", 7),
        ]
    return defaults


def columns(
    choice: WatchedEvents, kind: str, rows: Sequence[IntervalRow], infos: Mapping[str, EventInfo]
) -> list[StatColumn]:
    """Return the columns of the chosen events and metrics.

    Args:
        choice: what is counted.
        kind: what most rows are of.
        rows: of the first interval, whose metrics say which there are.
        infos: what each event is.
    """
    have = {value.event for row in rows for value in row.values}
    metrics = {one.name: one for row in rows for one in row.metrics}
    if choice.is_default:
        values = {value.event: value for row in rows for value in row.values}
        return [one for one in _by_default(kind) if one.cell(values, metrics, 1.0) is not None]
    wanted = [name for group in choice.groups for name in _metrics_of(group.number, group.name)]
    chosen = []
    order = [name for name in dict.fromkeys(wanted) if name in metrics]
    order += [name for name in metrics if name not in order]
    for rank, name in enumerate(choice.names):
        if name in have or name in infos:
            chosen.append(_of_event(name, infos, rank if not choice.groups else 100 + rank))
    chosen += [_of_metric(metrics[name], 50 + rank) for rank, name in enumerate(order)]
    return chosen


def _metrics_of(number: int, name: str) -> tuple[str, ...]:
    from gnomon.metrics import user_definitions

    for group in user_definitions.groups():
        if (group.number, group.name) == (number, name):
            return group.metrics
    return ()


def _of_event(name: str, infos: Mapping[str, EventInfo], rank: int) -> StatColumn:
    info = infos.get(name)
    gauge = info is not None and info.gauge
    unit = info.unit if info is not None else ""
    lines = heading(name)
    if not gauge:
        lines.append(f"{'B' if unit == 'bytes' else 's' if unit in ('ns', 's') else unit}/s")
    elif unit:
        lines.append(unit)
    cell = _present(name) if gauge else _rate(name)
    return StatColumn(tuple(lines), cell, "bytes" if unit == "bytes" else "", rank, name, of=name)


def _of_metric(metric: MetricValue, rank: int) -> StatColumn:
    lines = [line.rstrip("_") for line in heading(metric.name.replace("_", "-"))]
    lines = [line.rstrip("-") for line in lines]
    unit = metric.unit if len(metric.unit) <= 8 else ""
    lines += [unit] if unit else []
    kind = "bytes" if metric.unit in ("bytes", "bytes/s") else ""
    name = metric.name
    return StatColumn(tuple(lines), _metric(name), kind, rank, name, is_metric=True, of=name)


def columns_that_fit(
    wanted: Sequence[StatColumn], room: int
) -> tuple[list[StatColumn], list[StatColumn]]:
    """Return the columns that fit side by side into so many characters, and the others.

    At least one fits. Those of the highest rank go first, of equals the last.
    """
    kept = list(wanted)
    left: list[StatColumn] = []
    while len(kept) > 1 and sum(column.width + 1 for column in _titled(kept)) > room:
        highest = max(column.rank for column in kept)
        at = max(i for i, column in enumerate(kept) if column.rank == highest)
        left.append(kept.pop(at))
    return _titled(kept), left


def _titled(columns: Sequence[StatColumn]) -> list[StatColumn]:
    """Return columns that are as wide together as what stands above them."""
    wide: list[StatColumn] = []
    for above, group in groupby(columns, key=lambda column: column.above):
        neighbours = list(group)
        own = sum(column.width + 1 for column in neighbours) - 1
        if len(above) > own:
            neighbours[0] = neighbours[0]._replace(padding=len(above) - own)
        wide += neighbours
    return wide
