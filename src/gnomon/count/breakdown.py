"""Tables of what a program consists of: its threads, processes and functions, CPUs it ran on."""

from __future__ import annotations

from collections.abc import Sequence

from gnomon.measurement import process_counts, report_style
from gnomon.measurement.measurement import Emulation, Measurement
from gnomon.measurement.report_style import ReportOptions, Style, joined
from gnomon.terminal_text import cut, filled, grid, heading, short_path, suffixes, widths
from gnomon.units import number, printable, quantity

_TASK_ROWS = 20
_FUNCTION_ROWS = 10
_FUNCTION_WIDTH = 24
_FILE_WIDTH = 16
_NAME_WIDTH = 15
_FUNCTION_LEAST, _FILE_LEAST = 16, 12


def lines(measurements: Sequence[Measurement], options: ReportOptions, style: Style) -> list[str]:
    """Return the tables that a report ends with: functions, threads or processes, CPUs.

    Args:
        measurements: the repetitions.
        options: of the report.
        style: of the headings.
    """
    first, width = measurements[0], options.width
    tables: list[str] = []
    if first.emulation is not None:
        tables += _function_lines(first.emulation, width, style)
    if options.per and (first.tasks is not None or first.emulation is not None):
        for at, one in enumerate(measurements, 1):
            of = f" of repetition {at}" if len(measurements) > 1 else ""
            tables += _task_lines(one, options.per, of, style, width)
    for at, measurement in enumerate(measurements, 1):
        if measurement.places is not None:
            of = f" of repetition {at}" if len(measurements) > 1 else ""
            tables += _place_lines(measurement, of, style, width)
    return tables


def _place_lines(measurement: Measurement, of: str, style: Style, width: int) -> list[str]:
    """Return the rows of CPUs or cores, all of them: they are few, and empty ones tell much."""
    rows = measurement.places or ()
    events = list(dict.fromkeys(event for row in rows for event in row.values))
    several = any(len(row.cpus) > 1 for row in rows)
    who, cells = [], []
    for row in rows:
        ids = [str(n) if n >= 0 else "?" for n in (row.socket, row.core)]
        values = [row.values.get(event) for event in events]
        who.append((*ids, ",".join(map(str, row.cpus))))
        cells.append([report_style.format_value(v) if v is not None else "n/a" for v in values])
    head = ("socket", "core", "CPUs" if several else "CPU")
    whose = measurement.covers or "of the program"
    title = style.bold(f"cores and CPUs{of}") + style.dim(f"  {whose}")
    return [title, *_event_table(head, who, events, cells, style, width), ""]


def _task_lines(measurement: Measurement, per: str, of: str, style: Style, width: int) -> list[str]:
    """Return the table of threads or processes, those with most of the first event first."""
    units = {value.event: value.unit for value in measurement.values}
    events = (
        process_counts.process_events(measurement) if per == "process" else measurement.task_values
    )
    # The cells that say who, the name, the values, and what stands where there is none.
    tasks: list[tuple[tuple[str, ...], str, Sequence[float | None], str]] = []
    if per == "process":
        who: tuple[str, ...] = ("pid", "parent", "threads")
        for row in process_counts.process_rows(measurement):
            ids: tuple[str, ...] = (str(row.pid), str(row.ppid), number(row.threads))
            tasks.append((ids, row.name, row.values, _unknown(row.running)))
    else:
        who = ("pid", "tid")
        for task in measurement.tasks or ():
            values = [
                process_counts.task_value(measurement, task.counts, at) for at in range(len(events))
            ]
            ids = (str(task.pid), str(task.tid))
            tasks.append((ids, task.name, values, _unknown(task.running)))
    tasks.sort(key=lambda task: -((task[2] or (0,))[0] or 0))
    shown = tasks[:_TASK_ROWS]
    cells = [
        [quantity(v, units[e], missing) for v, e in zip(values, events, strict=True)]
        for _, _, values, missing in shown
    ]
    names = [cut(printable(name), _NAME_WIDTH) for _, name, _, _ in shown]
    title = style.bold(("processes" if per == "process" else "threads") + of)
    ids_of = [ids for ids, _, _, _ in shown]
    lines = [title, *_event_table(who, ids_of, events, cells, style, width, names)]
    if len(tasks) > _TASK_ROWS:
        lines.append(f"  and {number(len(tasks) - _TASK_ROWS)} more (all of them with --json)")
    return [*lines, ""]


def _event_table(
    who: Sequence[str],
    ids: Sequence[Sequence[str]],
    events: Sequence[str],
    cells: Sequence[Sequence[str]],
    style: Style,
    width: int,
    names: Sequence[str] | None = None,
) -> list[str]:
    """Return a table with a column for each event for which there is room.

    Args:
        who: headings of the columns that say whose values they are.
        ids: for each row the cells of those.
        events: headings of the values.
        cells: for each row its values.
        style: of the heading.
        width: columns of the terminal.
        names: a last column, flush left; None for none.
    """
    room = width - 2 - sum(2 + max(map(len, column)) for column in zip(who, *ids, strict=True))
    if names is not None:
        room -= max(map(len, ("name", *names)))
    heads = [[event] for event in events]
    shown = _fitting(heads, cells, room)
    if shown < len(events):
        heads = [heading(event) for event in events]
        shown = max(_fitting(heads, cells, room), 1)
    last = () if names is None else (("name",),)
    rows = [
        (*own, *values[:shown], *(() if names is None else (names[at],)))
        for at, (own, values) in enumerate(zip(ids, cells, strict=True))
    ]
    columns = [*((head,) for head in who), *heads[:shown], *last]
    table = grid(columns, rows, len(who) + shown)
    lines = [*map(style.bold, table.heading), *table.rows]
    if shown < len(events):
        left_out = f"no room for {', '.join(events[shown:])}: a wider terminal, or --json"
        lines += map(style.dim, filled(left_out, width, "  ", "  "))
    return lines


def _fitting(heads: Sequence[Sequence[str]], cells: Sequence[Sequence[str]], room: int) -> int:
    """Return for how many of the first columns there is room."""
    for index, head in enumerate(heads):
        room -= 2 + max(map(len, (*head, *(row[index] for row in cells))))
        if room < 0:
            return index
    return len(heads)


def _unknown(running: bool) -> str:
    return "still running" if running else "not known"


def _function_lines(emulation: Emulation, width: int, style: Style) -> list[str]:
    """Return the functions with most of the first event, each with its shares of the others."""
    from gnomon.model.percent_columns import leading_shares
    from gnomon.model.symbol_names import short_name

    functions = process_counts.function_rows(emulation)
    events = emulation.events
    if not functions or not events:
        return []
    totals = dict(zip(events, map(sum, zip(*(row.values for row in functions), strict=True)),
                      strict=True))  # fmt: skip
    rows = functions[:_FUNCTION_ROWS]
    several = len({row.program for row in functions}) > 1
    heads = (*(("program",) if several else ()), "function", "file")
    files = suffixes({row.file for row in functions})
    texts = [
        (
            *((printable(row.program),) if several else ()),
            printable(row.function) or "(unknown)",
            printable(files[row.file]) or "(unknown)",
        )
        for row in rows
    ]
    natural = [max(map(len, column)) for column in zip(*texts, strict=True)]
    room = width - 2 - 2 * (len(heads) - 1)
    least = [*((10,) if several else ()), max(_FUNCTION_WIDTH, width * 3 // 10), _FILE_WIDTH]
    tight = [*least[:-2], _FUNCTION_LEAST, _FILE_LEAST]
    shown = leading_shares(
        events, totals, *(room - sum(map(min, natural, n)) for n in (least, tight))
    )
    wide = widths(natural, tight, room - shown.width)
    cells = [
        (
            *shown.cells(dict(zip(events, row.values, strict=True))),
            *(short_path(one, size) for one, size in zip(text[:-2], wide, strict=False)),
            short_name(text[-2], wide[-2]),
            short_path(text[-1], wide[-1]),
        )
        for row, text in zip(rows, texts, strict=True)
    ]
    table = grid([*shown.heads, *((head,) for head in heads)], cells, len(shown.heads))
    title = style.bold("functions") + style.dim(f"  by {events[0]}, without callees")
    lines = [title, *map(style.bold, table.heading), *table.rows]
    if len(functions) > len(rows) or shown.left_out:
        more = len(functions) - len(rows)
        others = f"{number(more)} more functions" if more else ""
        columns = f"shares of {', '.join(shown.left_out)}" if shown.left_out else ""
        where = "--name NAME, then gnomon report NAME hotspots"
        said = filled(f"and {joined(others, columns, sep=', ')}: {where}", width, "  ", "  ")
        lines += map(style.dim, said)
    return [*lines, ""]
