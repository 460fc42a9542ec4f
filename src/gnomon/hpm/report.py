"""Measurements as text and as a JSON document; pure functions, nothing is printed here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gnomon.hpm import analyse
from gnomon.hpm.measurement import MEANINGLESS_USAGE, Emulation, GroupPart, Host, Measurement
from gnomon.layout import WIDTH, filled, grid, short_path, suffixes, widths
from gnomon.metrics.derived import MetricValue
from gnomon.model.value import Domain, How, Unavailable
from gnomon.units import duration, number, printable, quantity, signal_name

_PREFIXED = ("ns", "s", "bytes", "bytes/s", "")
# What no shell takes apart; shlex, which quotes the rest, takes longer to import.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")
_TASK_ROWS = 20
_FUNCTION_ROWS = 10
_FUNCTION_WIDTH = 24
_FILE_WIDTH = 16


class Options(NamedTuple):
    """How a report is to look.

    Attributes:
        tool: name of the command, for the headline.
        formulas: print each metric's formula.
        every_usage_row: one line for each field of getrusage(2), those without meaning on
            Linux as n/a; otherwise only those with one.
        per: "thread" or "process" for a table of them, "" for totals only.
        parts: what each of several groups counted apart, and not all of it as one.
        styled: use bold and dim, for a terminal.
        width: columns of the terminal.
    """

    tool: str = "gnomon count"
    formulas: bool = False
    every_usage_row: bool = False
    per: str = ""
    parts: bool = False
    styled: bool = False
    width: int = WIDTH


def text(measurements: Sequence[Measurement], host: Host, options: Options) -> str:
    """Return the report of one execution, or of several with their spread."""
    first = measurements[0]
    style = Style(options.styled)
    lines = [_headline(measurements, options, style), f"  {place(host)}", ""]
    if len(measurements) > 1 and options.parts and first.parts:
        for at, part in enumerate(first.parts):
            own = [
                analyse.of_part(one, one.parts[at]) for one in measurements if at < len(one.parts)
            ]
            lines += [style.bold(_group_title(part)), *_spread_lines(own, options, style)]
    elif len(measurements) > 1:
        lines += _spread_lines(measurements, options, style)
    else:
        lines += _time_lines(first, style)
        lines += _measured_lines(first, options, style)
        lines += _usage_lines(first, options, style)
    if first.emulation is not None:
        lines += _function_lines(first.emulation, options.width, style)
    if options.per and (first.tasks is not None or first.emulation is not None):
        for at, one in enumerate(measurements, 1):
            of = f" of repetition {at}" if len(measurements) > 1 else ""
            lines += _task_lines(one, options.per, of, style)
    for at, one in enumerate(measurements, 1):
        if one.places is not None:
            of = f" of repetition {at}" if len(measurements) > 1 else ""
            lines += _place_lines(one, of, style)
    lines += unavailable_lines(first.unavailable, options.width, style)
    notes = dict.fromkeys(note for one in measurements for note in one.notes)
    lines += [
        line for note in notes for line in filled(f"note: {note}", options.width, "", "      ")
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _headline(measurements: Sequence[Measurement], options: Options, style: Style) -> str:
    first, last = measurements[0], measurements[-1]
    what = _quoted(first.command) if first.command else first.covers or f"process {first.pid}"
    times = f" × {len(measurements)}" if len(measurements) > 1 else ""
    ending = f"  [{_ending(last)}]" if first.command or first.pid else ""
    return style.bold(f"{options.tool}: {what}{times}") + ending


def _ending(measurement: Measurement) -> str:
    if measurement.attached:
        return "attached"
    if measurement.signal:
        return f"killed by {signal_name(measurement.signal)}"
    return f"exit {measurement.exit_status}"


def _quoted(command: Iterable[str]) -> str:
    words = tuple(command)
    if all(word and _PLAIN.issuperset(word) for word in words):
        return " ".join(words)
    import shlex

    return printable(shlex.join(words))


def place(host: Host) -> str:
    """Return the machine in a line."""
    return f"{host.name}: {host.cpu_model}, {host.cpus} CPUs, {host.kernel}"


def _time_lines(one: Measurement, style: Style) -> list[str]:
    if one.emulation is not None:
        words = f"of the emulation with {one.emulation.engine}, not of the program"
        return [*_table([("wall time", duration(one.wall_ns), words)], style), ""]
    rows = [("wall time", duration(one.wall_ns), "")]
    for name, ns in (("user time", one.user_ns), ("system time", one.system_ns)):
        if ns is not None and one.wall_ns:
            share = f"{100 * ns / one.wall_ns:.1f} % of the wall time"
            rows.append((name, duration(ns), "of the whole run" if one.delay_ns else share))
    return [*_table(rows, style), ""]


def _measured_lines(one: Measurement, options: Options, style: Style) -> list[str]:
    if options.parts and one.parts:
        lines = []
        for part in one.parts:
            lines += _part_lines(one, part, options, style)
        rest = analyse.beside_parts(one)
        lines += _counter_lines(rest, style, "counters of the whole run")
        return lines + metric_lines(analyse.metrics_of_counts(rest), options, style)
    lines = _counter_lines(one, style)
    return lines + metric_lines(analyse.metrics(one), options, style)


def _group_title(part: GroupPart) -> str:
    return f"group {part.number} {part.name}: {part.description}"


def _part_lines(one: Measurement, part: GroupPart, options: Options, style: Style) -> list[str]:
    title = _group_title(part)
    own = analyse.of_part(one, part)
    if not part.wall_ns:
        return [style.bold(title), "  not measured: its turn did not come", ""]
    how = ""
    if part.turns:
        turns = "1 turn" if part.turns == 1 else f"{number(part.turns)} turns"
        share = 100 * part.wall_ns / one.wall_ns if one.wall_ns else 0
        how = f"{turns}, {share:.1f} % of the wall time"
    rows = [("wall time", duration(part.wall_ns), how)]
    words = "its share, by the time that the program ran in its turns" if part.turns else ""
    for name, ns in (("user time", part.user_ns), ("system time", part.system_ns)):
        if ns is not None:
            rows.append((name, duration(ns), words))
    lines = [style.bold(title), *_table(rows, style), ""]
    lines += _counter_lines(own, style)
    return lines + metric_lines(analyse.metrics(own), options, style)


def _place_lines(one: Measurement, of: str, style: Style) -> list[str]:
    """Return the rows of CPUs or cores, all of them: they are few, and empty ones tell much."""
    rows = one.places or ()
    events = list(dict.fromkeys(event for row in rows for event in row.values))
    several = any(len(row.cpus) > 1 for row in rows)
    cells = []
    for row in rows:
        ids = [str(n) if n >= 0 else "?" for n in (row.socket, row.core)]
        values = [row.values.get(event) for event in events]
        shown = [analyse.shown(v) if v is not None else "n/a" for v in values]
        cells.append((*ids, ",".join(map(str, row.cpus)), *shown))
    head = ("socket", "core", "CPUs" if several else "CPU", *events)
    whose = one.covers or "of the program"
    return [style.bold(f"cores and CPUs{of}") + style.dim(f"  {whose}"),
            *_grid(head, cells, set(), style), ""]  # fmt: skip


def _counter_lines(one: Measurement, style: Style, title: str = "counters") -> list[str]:
    if not one.values:
        return []
    doubt = one.emulation.doubt if one.emulation is not None else ""
    rows = [
        (value.event, analyse.shown(value), joined(value.how.value, analyse.remark(value, doubt)))
        for value in one.values
    ]
    return [style.bold(title), *_table(rows, style), ""]


def metric_lines(metrics: Sequence[MetricValue], options: Options, style: Style) -> list[str]:
    """Return the table of metrics and an empty line; nothing without metrics."""
    if not metrics:
        return []
    rows = []
    for metric in metrics:
        how = "" if metric.how is How.COUNTED else metric.how.value
        domain = None if metric.how is How.EMULATED else metric.domain
        modes = "" if domain in (None, Domain.ALL) else f"{domain.value} mode only"
        formula = f"= {metric.formula}" if options.formulas else ""
        rows.append(
            (
                metric.name,
                quantity(metric.value, metric.unit),
                joined(how, modes, formula, sep="  "),
            )
        )
    return [style.bold("metrics"), *_table(rows, style), ""]


def _usage_lines(one: Measurement, options: Options, style: Style) -> list[str]:
    if not one.rusage:
        return []
    rows = []
    for row in one.rusage:
        if row.field in MEANINGLESS_USAGE and not options.every_usage_row:
            continue
        if row.field in ("ru_utime", "ru_stime") and not options.every_usage_row:
            continue
        if row.unit == "KiB" and row.value is not None:
            value = quantity(row.value * 1024, "bytes")
        else:
            value = quantity(row.value, row.unit)
        rows.append((row.description, value, joined(row.field, row.remark)))
    lines = [style.bold("resource usage (getrusage)"), *_table(rows, style)]
    if not options.every_usage_row:
        lines.append(style.dim(f"  n/a on Linux: {', '.join(MEANINGLESS_USAGE)}"))
    return [*lines, ""]


def _spread_lines(measurements: Sequence[Measurement], options: Options, style: Style) -> list[str]:
    formulas: dict[str, str] = {}
    if options.formulas:
        formulas = {m.name: f"= {m.formula}" for m in analyse.metrics(measurements[0])}
    rows: list[tuple[str, ...]] = []
    remarks = []
    for spread in analyse.spreads(measurements):
        s = spread.summary
        # One unit for the row, unless the numbers have prefixes of their own.
        prefixed = spread.unit in _PREFIXED
        numbers = (s.mean, s.half_width, s.deviation, s.minimum, s.maximum)
        rows.append(
            (spread.name, *(quantity(one, spread.unit if prefixed else "") for one in numbers))
        )
        how = "" if spread.how is How.COUNTED else spread.how.value
        remarks.append(joined("" if prefixed else spread.unit, how))
    head: tuple[str, ...] = ("", "mean", "± 95 %", "std. dev.", "minimum", "maximum")
    plain = Style(False)
    table = _grid(head, rows, {0}, plain)
    # With room for the shortest remark; longer ones go below their line.
    shortest = min((len(remark) for remark in remarks if remark), default=0)
    fits = max(map(len, table)) + 2 + shortest <= options.width
    if not fits:
        narrow = [row[:3] + row[4:] for row in (head, *rows)]
        table = _grid(narrow[0], narrow[1:], {0}, plain)
    lines = [style.bold(table[0])]
    for row, remark, line in zip(rows, remarks, table[1:], strict=True):
        beside = remark and len(line) + 2 + len(remark) <= options.width
        lines.append(f"{line}  {remark}" if beside else line)
        below = joined("" if beside else remark, formulas.get(row[0], ""))
        lines += map(style.dim, filled(below, options.width, "      ", "        "))
    if not fits:
        lines.append(style.dim("  no room for the standard deviations; --json has them"))
    endings = sorted({_ending(one) for one in measurements})
    if len(endings) > 1:
        lines.append(f"  repetitions ended differently: {', '.join(endings)}")
    return [*lines, ""]


def _task_lines(one: Measurement, per: str, of: str, style: Style) -> list[str]:
    units = {value.event: value.unit for value in one.values}
    events = analyse.process_values(one) if per == "process" else one.task_values
    # What sorts the table, the cells that say who, and the values.
    found: list[tuple[float, tuple[str, ...], Sequence[float | None], str]] = []
    if per == "process":
        who: tuple[str, ...] = ("pid", "parent", "threads", "name")
        title = "processes"
        for row in analyse.processes(one):
            threads = number(row.threads)
            ids: tuple[str, ...] = (str(row.pid), str(row.ppid), threads, printable(row.name))
            found.append(((row.values or (0,))[0] or 0, ids, row.values, _unknown(row.running)))
    else:
        who = ("pid", "tid", "name")
        title = "threads"
        for task in one.tasks or ():
            values = [analyse.task_value(one, task.counts, at) for at in range(len(events))]
            ids = (str(task.pid), str(task.tid), printable(task.name))
            found.append(((values or [0])[0] or 0, ids, values, _unknown(task.running)))
    found.sort(key=lambda row: -row[0])
    rows = [
        (*ids, *(quantity(v, units[e], missing) for v, e in zip(values, events, strict=True)))
        for _, ids, values, missing in found[:_TASK_ROWS]
    ]
    lines = [style.bold(title + of), *_grid((*who, *events), rows, {who.index("name")}, style)]
    if len(found) > _TASK_ROWS:
        lines.append(f"  and {number(len(found) - _TASK_ROWS)} more (all of them with --json)")
    return [*lines, ""]


def _function_lines(emulation: Emulation, width: int, style: Style) -> list[str]:
    """Return the functions with most of the first event, each with its shares of the others."""
    from gnomon.model.shares import shares
    from gnomon.model.symbols import short_name

    found = analyse.functions(emulation)
    events = emulation.events
    if not found or not events:
        return []
    totals = dict(zip(events, map(sum, zip(*(row.values for row in found), strict=True)),
                      strict=True))  # fmt: skip
    rows = found[:_FUNCTION_ROWS]
    several = len({row.program for row in found}) > 1
    heads = (*(("program",) if several else ()), "function", "file")
    least = [*((10,) if several else ()), max(_FUNCTION_WIDTH, width * 3 // 10), _FILE_WIDTH]
    room = width - 2 - 2 * (len(heads) - 1)
    shown = shares(events, totals, room - sum(least))
    files = suffixes({row.file for row in found})
    texts = [
        (
            *((printable(row.program),) if several else ()),
            printable(row.function) or "(unknown)",
            printable(files[row.file]) or "(unknown)",
        )
        for row in rows
    ]
    natural = [max(map(len, column)) for column in zip(*texts, strict=True)]
    wide = widths(natural, least, room - shown.width)
    cells = [
        (
            *shown.cells(dict(zip(events, row.values, strict=True))),
            *(short_path(one, size) for one, size in zip(text_[:-2], wide, strict=False)),
            short_name(text_[-2], wide[-2]),
            short_path(text_[-1], wide[-1]),
        )
        for row, text_ in zip(rows, texts, strict=True)
    ]
    table = grid([*shown.heads, *((head,) for head in heads)], cells, len(shown.heads))
    title = style.bold("functions") + style.dim(f"  by {events[0]}, without callees")
    lines = [title, *map(style.bold, table.heading), *table.rows]
    if len(found) > len(rows) or shown.left_out:
        more = f"{number(len(found) - len(rows))} more functions" if len(found) > len(rows) else ""
        other = f"shares of {', '.join(shown.left_out)}" if shown.left_out else ""
        where = "--run NAME, then gnomon report NAME --per function"
        said = filled(f"and {joined(more, other, sep=', ')}: {where}", width, "  ", "  ")
        lines += map(style.dim, said)
    return [*lines, ""]


def _grid(
    head: tuple[str, ...], rows: Sequence[tuple[str, ...]], left: set[int], style: Style
) -> list[str]:
    """Return a table with a headline; columns are flush right but for those in `left`."""
    widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
    lines = []
    for row in (head, *rows):
        cells = (
            cell.ljust(width) if at in left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  " + "  ".join(cells).rstrip())
    return [style.bold(lines[0]), *lines[1:]]


def _unknown(running: bool) -> str:
    return "still running" if running else "not known"


def unavailable_lines(unavailable: Sequence[Unavailable], width: int, style: Style) -> list[str]:
    """Return why events were not counted, each reason once; nothing if all were."""
    by_cause: dict[tuple[str, str], list[str]] = {}
    for one in unavailable:
        by_cause.setdefault((one.reason, one.remedy), []).append(one.event)
    if not by_cause:
        return []
    lines = [style.bold("not counted")]
    for (reason, remedy), events in by_cause.items():
        lines += filled(", ".join(events), width, "  ", "  ")
        lines += filled(f"why     {reason}", width, "    ", "            ")
        if remedy:
            lines += filled(f"remedy  {remedy}", width, "    ", "            ")
    return [*lines, ""]


def joined(*parts: str, sep: str = "; ") -> str:
    """Return what is not empty, one after the other."""
    return sep.join(part for part in parts if part)


def _table(rows: Sequence[tuple[str, str, str]], style: Style) -> list[str]:
    name = max(len(row[0]) for row in rows)
    value = max(len(row[1]) for row in rows)
    return [
        f"  {row[0]:<{name}}  {row[1]:>{value}}" + (f"  {style.dim(row[2])}" if row[2] else "")
        for row in rows
    ]


class Style:
    """Bold and dim words, where the terminal has them."""

    def __init__(self, styled: bool) -> None:
        self._styled = styled

    def bold(self, words: str) -> str:
        """Return words in bold."""
        return f"\x1b[1m{words}\x1b[0m" if self._styled else words

    def dim(self, words: str) -> str:
        """Return words that stand back."""
        return f"\x1b[2m{words}\x1b[0m" if self._styled else words
