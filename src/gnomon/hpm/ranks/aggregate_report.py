"""What aggregators make of items, as text that fits 80 columns. A pure function of items to text.

Items are printed in their order, but the resource usage of some tasks comes after the counters of
the same tasks, as it does in the report of one program.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from math import inf, isfinite

from gnomon.count.count_report import metric_lines, place, unavailable_lines
from gnomon.launch.run_environment import Host
from gnomon.measurement.items import (
    IS_NET,
    IS_NODE_WIDE,
    OVERHEAD,
    SYSTEM,
    USER,
    WALLCLOCK,
    EventInfo,
    Item,
    RankFile,
    Spread,
)
from gnomon.measurement.measurement_items import domain_of, has_value, how_of, metrics_of
from gnomon.measurement.report_style import ReportOptions, Style, joined
from gnomon.model.value import Domain, How, Unavailable
from gnomon.named_tuple import NamedTuple
from gnomon.terminal_text import filled
from gnomon.units import number, printable, quantity, signal_name

_TIMES = ((WALLCLOCK, "wall time"), (USER, "user time"), (SYSTEM, "system time"),
          (OVERHEAD, "overhead"))  # fmt: skip
_NARROW = "    "
_BAR = 40


class _Row(NamedTuple):
    """A quantity over tasks, as text; `bins` are the rows of its histogram, after the table."""

    name: str
    value: str
    minimum: str
    maximum: str
    deviation: str
    remark: str
    bins: tuple[tuple[str, int], ...] = ()


def render_aggregate_report(file: RankFile, host: Host, options: ReportOptions) -> str:
    """Return the report of items, and of why some of them lack."""
    style = Style(options.styled)
    lines = [_headline(file, options, style), f"  {place(host)}", ""]
    for items in _of_the_same_tasks(file.items):
        # What is said of the first holds for all: it comes before the counters.
        said: set[str] = set()
        lines += _description_lines(items[0], said, options, style)
        first_last = items[1:] + items[:1] if items[0].is_rusage else items
        for item in first_last:
            lines += _description_lines(item, said, options, style)
            lines += _item_lines(item, options, style)
    lines += unavailable_lines(tuple(_missing(file.items)), options.width, style)
    for note in dict.fromkeys(file.notes.splitlines()):
        lines += filled(f"note: {printable(note)}", options.width, "", "      ")
    return "\n".join(lines).rstrip("\n") + "\n"


def _headline(file: RankFile, options: ReportOptions, style: Style) -> str:
    what = printable(file.command or file.program)
    over = max((item.n_tasks for item in file.items), default=0)
    if file.size > 1 or over > 1:
        size = f"{file.size} tasks" if file.size else f"files of {over} tasks"
        whose = size if over else f"task {file.task} of {file.size}"
        return style.bold(f"{options.tool}: {what}") + f"  [{whose}]"
    if file.task >= 0 and not file.size:
        return style.bold(f"{options.tool}: {what}") + f"  [task {file.task}]"
    ending = f"killed by {signal_name(file.signal)}" if file.signal else f"exit {file.exit_status}"
    known = file.signal or file.exit_status >= 0
    return style.bold(f"{options.tool}: {what}") + (f"  [{ending}]" if known else "")


def _of_the_same_tasks(items: Sequence[Item]) -> list[list[Item]]:
    """Return runs of items that are of the same tasks; one of resource usage begins a run."""
    runs: list[list[Item]] = []
    for item in items:
        if not runs or item.is_rusage or _whose(item) != _whose(runs[-1][0]):
            runs.append([item])
        else:
            runs[-1].append(item)
    return runs


def _whose(item: Item) -> tuple[int, str]:
    return item.mpi_task_id, item.tasks


def _description_lines(
    item: Item, said: set[str], options: ReportOptions, style: Style
) -> list[str]:
    """Return an aggregator's descriptions of items, each line once for the items of some ranks."""
    lines: list[str] = []
    for line in item.description.splitlines():
        if line in said:
            continue
        if said:
            lines += filled(printable(line), options.width, "  ", "    ")
        else:
            lines += map(style.bold, filled(printable(line), options.width, "", "  "))
        said.add(line)
    return [*lines, ""] if lines else []


def _item_lines(item: Item, options: ReportOptions, style: Style) -> list[str]:
    if item.is_rusage:
        rows = [_usage_row(field, item) for field in item.data]
        known = any(has_value(field) for field in item.data)
        return [*_table("resource usage", rows, options, style), ""] if known else []
    title = _title(item)
    lines = [style.bold(line) for line in filled(title, options.width, "", "  ")] if title else []
    times = [_time_row(item, at, name) for at, name in _TIMES if isfinite(item.times[at])]
    lines += [*_table("times", times, options, style), ""] if times else []
    rows = [_event_row(event, item) for event in item.data if has_value(event)]
    lines += [*_table("counters", rows, options, style), ""] if rows else []
    return lines + metric_lines(metrics_of(item), options, style, item.n_tasks)


def _title(item: Item) -> str:
    """Return whose values these are: a section, a group; "" for all of a program."""
    words = []
    if item.instr_id:
        label = f" {printable(item.label)}" if item.label else ""
        kind = "exclusive" if item.is_exclusive else "inclusive"
        calls = f"{item.count} call{'s' * (item.count != 1)}"
        words.append(f"section {item.instr_id}{label}  [{kind} values, {calls}]")
    if item.group:
        own = item.group[:1].isdigit()
        group = f"group {printable(item.group)}" if own else printable(item.group)
        words.append(
            f"{group} (counted along with the one before)" if item.is_mplex_cont else group
        )
    return "  ".join(words)


# --- rows -----------------------------------------------------------------------------------------


def _time_row(item: Item, time_index: int, name: str) -> _Row:
    spread = item.times_spread[time_index] if time_index < len(item.times_spread) else None
    share = ""
    if time_index in (USER, SYSTEM) and item.times[WALLCLOCK] > 0 and spread is None:
        share = f"{100 * item.times[time_index] / item.times[WALLCLOCK]:.1f} % of the wall time"
    return _row(name, item.times[time_index], "s", spread, item, share)


def _usage_row(field: EventInfo, item: Item) -> _Row:
    is_kib = field.unit == "KiB"
    name = printable(re.split(r" \(| of ", field.description)[0] or field.name)
    value = field.value * 1024 if is_kib else field.value
    spread = field.spread
    if is_kib and spread is not None:
        spread = spread._replace(
            minimum=spread.minimum * 1024, maximum=spread.maximum * 1024,
            deviation=spread.deviation * 1024,
        )  # fmt: skip
    unit = "bytes" if is_kib else printable(field.unit)
    if not has_value(field):
        return _Row(name, quantity(None, unit), "", "", "", "")
    return _row(name, value, unit, spread, item, "")


def _event_row(event: EventInfo, item: Item) -> _Row:
    how = how_of(event)
    domain = domain_of(event)
    modes = domain not in (Domain.ALL, Domain.USER_KERNEL)
    scaled = how is How.SCALED and event.enabled_s > 0
    remark = joined(
        "" if how is How.COUNTED else how.value,
        f"{domain.value} mode only" if modes else "",
        "less measuring" if event.flags & IS_NET else "",
        "of whole nodes, not only the program" if event.flags & IS_NODE_WIDE else "",
        f"counted {100 * event.running_s / event.enabled_s:.1f} % of the time" if scaled else "",
    )
    unit = printable(event.unit)
    return _row(printable(event.name), event.value, unit, event.spread, item, remark)


def _row(
    name: str, value: float, unit: str, spread: Spread | None, item: Item, remark: str
) -> _Row:
    if spread is None:
        return _Row(name, quantity(value, unit), "", "", "", remark)
    # Without tasks it is a spread over something else, such as earlier runs.
    if 0 < spread.n < item.n_tasks and spread.min_task >= 0:
        remark = joined(f"{spread.n} of {item.n_tasks} tasks have it", remark)
    return _Row(
        name,
        quantity(value, unit),
        _at_task(spread.minimum, unit, spread.min_task),
        _at_task(spread.maximum, unit, spread.max_task),
        quantity(spread.deviation, unit) if isfinite(spread.deviation) else "",
        remark,
        tuple(_bins(spread, unit)),
    )


def _bins(spread: Spread, unit: str) -> Iterator[tuple[str, int]]:
    """Yield from where to where, and how many tasks; of tasks that all have one value nothing."""
    if not spread.bins or not 0 < spread.maximum - spread.minimum < inf:
        return
    step = (spread.maximum - spread.minimum) / len(spread.bins)
    ends = [*(spread.minimum + at * step for at in range(len(spread.bins))), spread.maximum]
    for low, high, count in zip(ends, ends[1:], spread.bins, strict=False):
        yield f"{quantity(low, unit)} to {quantity(high, unit)}", count


def _at_task(value: float, unit: str, task: int) -> str:
    if not isfinite(value):
        return ""
    return f"{quantity(value, unit)} ({task})" if task >= 0 else quantity(value, unit)


def _missing(items: Iterable[Item]) -> Iterator[Unavailable]:
    """Yield the events that have no value, with the reason; each reason of an event once."""
    counted = {e.name for item in items for e in item.data if has_value(e)}
    seen = set()
    for item in items:
        for event in () if item.is_rusage else item.data:
            if not has_value(event) and event.reason and (event.name, event.reason) not in seen:
                seen.add((event.name, event.reason))
                where = f" ({_whose_words(item)})" if event.name in counted else ""
                reason, _, remedy = event.reason.partition("; ")
                yield Unavailable(printable(event.name) + where, printable(reason),
                                  printable(remedy))  # fmt: skip


def _whose_words(item: Item) -> str:
    return f"tasks {printable(item.tasks)}" if item.tasks else f"task {item.mpi_task_id}"


# --- tables ---------------------------------------------------------------------------------------


def _table(title: str, rows: Sequence[_Row], options: ReportOptions, style: Style) -> list[str]:
    """Return a table under its heading; where it is too wide, names have lines of their own."""
    of_tasks = any(row.minimum.endswith(")") or row.maximum.endswith(")") for row in rows)
    extremes = ("minimum (task)", "maximum (task)") if of_tasks else ("minimum", "maximum")
    head = _Row(title, "value", *extremes, "deviation", "")
    shown = [at for at in range(1, 5) if any(row[at] for row in rows)]
    if shown == [1]:
        head = head._replace(value="")
    columns = [max(len(str(row[at])) for row in (head, *rows)) for at in shown]
    name = max(len(row.name) for row in (head, *rows))
    is_narrow = 2 + name + sum(columns) + 2 * len(columns) > options.width
    lines = []
    for row in (head, *rows):
        cells = "".join(f"  {row[at]!s:>{width}}" for at, width in zip(shown, columns, strict=True))
        if is_narrow:
            line = f"{_NARROW}{cells}".rstrip()
            above = f"  {row.name}" if row is not head else row.name
            lines.append(style.bold(above) if row is head else above)
            if row.remark:
                lines[-1] += f"  {style.dim(row.remark)}"
            lines += [line] if line.strip() else []
        else:
            line = (
                f"  {row.name:<{name}}{cells}"
                if row is not head
                else f"{row.name:<{name + 2}}{cells}"
            )
            line = line.rstrip()
            beside = row.remark and len(line) + 2 + len(row.remark) <= options.width
            lines.append(style.bold(line) if row is head else line)
            if beside:
                lines[-1] += f"  {style.dim(row.remark)}"
            elif row.remark:
                lines += map(style.dim, filled(row.remark, options.width, "      ", "      "))
    for row in rows:
        lines += _histogram_lines(row, options, style)
    return lines


def _histogram_lines(row: _Row, options: ReportOptions, style: Style) -> list[str]:
    if not row.bins:
        return []
    names = max(len(name) for name, _ in row.bins)
    numbers = max(len(number(count)) for _, count in row.bins)
    room = max(min(_BAR, options.width - 6 - names - numbers), 1)
    most = max(max(count for _, count in row.bins), 1)
    lines = ["", style.bold(f"tasks by {row.name}")]
    for name, count in row.bins:
        bar = "#" * -(-max(count, 0) * room // most)
        lines.append(f"  {name:<{names}}  {number(count):>{numbers}}  {bar}".rstrip())
    return lines
