"""The report of `gnomon count`: measurements as text; pure functions, nothing is printed here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gnomon.count import brief_report
from gnomon.count.brief_report import HiddenRows, usage_text
from gnomon.launch.resource_usage import MEANINGLESS_USAGE
from gnomon.launch.run_environment import Host
from gnomon.measurement import measurement_metrics, report_style
from gnomon.measurement.measurement import WHOLE_MACHINE, GroupPart, Measurement
from gnomon.measurement.report_style import ReportOptions, Style, joined
from gnomon.metrics.derived import MetricValue
from gnomon.model.value import Domain, How, Unavailable
from gnomon.terminal_text import facts, filled
from gnomon.units import duration, number, printable, quantity, signal_name

_PREFIXED = ("ns", "s", "bytes", "bytes/s", "")
# What no shell takes apart; shlex, which quotes the rest, takes longer to import.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-")
_NOTHING_HIDDEN = HiddenRows(frozenset(), frozenset(), frozenset())


def render_measurements(
    measurements: Sequence[Measurement], host: Host, options: ReportOptions
) -> str:
    """Return the report of one execution, or of several with their spread."""
    first = measurements[0]
    style = Style(options.styled)
    metrics = measurement_metrics.derive_metrics(first)
    hidden = _NOTHING_HIDDEN
    if options.brief:
        hidden = brief_report.hidden(first, default_events=options.default_events)
    lines = [_headline(measurements, options, style)]
    lines += [*filled(place(host), options.width, "  ", "    "), ""]
    if len(measurements) > 1 and options.parts and first.parts:
        for part_index, part in enumerate(first.parts):
            own = [
                measurement_metrics.part_as_measurement(one, one.parts[part_index])
                for one in measurements
                if part_index < len(one.parts)
            ]
            lines.append(style.bold(_group_title(part)))
            lines += _spread_lines(
                own, measurement_metrics.derive_metrics(own[0]), hidden, options, style
            )
    elif len(measurements) > 1:
        lines += _spread_lines(measurements, metrics, hidden, options, style)
    else:
        lines += _time_lines(first, metrics, options, style)
        lines += _measured_lines(first, metrics, hidden, options, style)
        if not options.brief:
            lines += _usage_lines(first, options, style)
    if first.emulation is not None or first.tasks is not None or first.places is not None:
        from gnomon.count import breakdown

        lines += breakdown.lines(measurements, options, style)
    lines += unavailable_lines(first.unavailable, options.width, style)
    notes = dict.fromkeys(note for one in measurements for note in one.notes)
    lines += [
        line for note in notes for line in filled(f"note: {note}", options.width, "", "      ")
    ]
    if options.brief and (rest := brief_report.remainder(first, metrics, hidden)):
        lines += map(style.dim, filled(rest, options.width))
    return "\n".join(lines).rstrip("\n") + "\n"


def _headline(measurements: Sequence[Measurement], options: ReportOptions, style: Style) -> str:
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


def _time_lines(
    measurement: Measurement, metrics: Sequence[MetricValue], options: ReportOptions, style: Style
) -> list[str]:
    if measurement.emulation is not None:
        words = f"of the emulation with {measurement.emulation.engine}, not of the program"
        rows = [("wall time", duration(measurement.wall_ns), words)]
    elif options.brief:
        rows = brief_report.rows(
            measurement, metrics, default_events=options.default_events, formulas=options.formulas
        )
    else:
        rows = [("wall time", duration(measurement.wall_ns), "")]
        for name, ns in (
            ("user time", measurement.user_ns),
            ("system time", measurement.system_ns),
        ):
            if ns is not None and measurement.wall_ns:
                share = f"{100 * ns / measurement.wall_ns:.1f} % of the wall time"
                rows.append(
                    (name, duration(ns), "of the whole run" if measurement.delay_ns else share)
                )
    return [*facts(rows, options.width, style.dim), ""]


def _measured_lines(
    measurement: Measurement,
    metrics: Sequence[MetricValue],
    hidden: HiddenRows,
    options: ReportOptions,
    style: Style,
) -> list[str]:
    if options.parts and measurement.parts:
        lines = []
        for part in measurement.parts:
            lines += _part_lines(measurement, part, options, style)
        rest = measurement_metrics.without_parts(measurement)
        lines += _counter_lines(rest, options, style, "counters of the whole run")
        return lines + metric_lines(measurement_metrics.metrics_of_counts(rest), options, style)
    values = tuple(value for value in measurement.values if value.event not in hidden.events)
    shown = [metric for metric in metrics if metric.name not in hidden.metrics]
    lines = _counter_lines(measurement._replace(values=values), options, style)
    return lines + metric_lines(shown, options, style)


def _group_title(part: GroupPart) -> str:
    return f"group {part.number} {part.name}: {part.description}"


def _part_lines(
    measurement: Measurement, part: GroupPart, options: ReportOptions, style: Style
) -> list[str]:
    title = _group_title(part)
    own = measurement_metrics.part_as_measurement(measurement, part)
    if not part.wall_ns:
        return [style.bold(title), "  not measured: its turn did not come", ""]
    how = ""
    if part.turns:
        turns = "1 turn" if part.turns == 1 else f"{number(part.turns)} turns"
        share = 100 * part.wall_ns / measurement.wall_ns if measurement.wall_ns else 0
        how = f"{turns}, {share:.1f} % of the wall time"
    rows = [("wall time", duration(part.wall_ns), how)]
    words = "its share, by the time that the program ran in its turns" if part.turns else ""
    for name, ns in (("user time", part.user_ns), ("system time", part.system_ns)):
        if ns is not None:
            rows.append((name, duration(ns), words))
    lines = [style.bold(title), *facts(rows, options.width, style.dim), ""]
    lines += _counter_lines(own, options, style)
    return lines + metric_lines(measurement_metrics.derive_metrics(own), options, style)


def _counter_lines(
    measurement: Measurement, options: ReportOptions, style: Style, title: str = "counters"
) -> list[str]:
    if not measurement.values:
        return []
    doubt = measurement.emulation.doubt if measurement.emulation is not None else ""
    of_machine = measurement.covers == WHOLE_MACHINE
    rows = [
        (
            value.event,
            report_style.format_value(value),
            joined(value.how.value, report_style.remark(value, doubt, of_machine=of_machine)),
        )
        for value in measurement.values
    ]
    return [style.bold(title), *facts(rows, options.width, style.dim), ""]


def metric_lines(
    metrics: Sequence[MetricValue], options: ReportOptions, style: Style, n_tasks: int = 0
) -> list[str]:
    """Return the table of metrics and an empty line; nothing without metrics.

    Args:
        metrics: what to show.
        options: how.
        style: bold and dim words.
        n_tasks: how many tasks of a job the values are of, if of several.
    """
    if not metrics:
        return []
    rows = []
    for metric in metrics:
        how = "" if metric.how is How.COUNTED else metric.how.value
        domain = None if metric.how is How.EMULATED else metric.domain
        modes = "" if domain in (None, Domain.ALL) else f"{domain.value} mode only"
        some = f"{metric.tasks} of {n_tasks} tasks" if 0 < metric.tasks < n_tasks else ""
        formula = f"= {metric.formula}" if options.formulas else ""
        rows.append(
            (
                _name_of(metric, options),
                quantity(metric.value, metric.unit),
                joined(how, modes, some, formula, sep="  "),
            )
        )
    return [style.bold("metrics"), *facts(rows, options.width, style.dim), ""]


def _name_of(metric: MetricValue, options: ReportOptions) -> str:
    return (options.guide_names and metric.guide_name) or metric.name


def _usage_lines(measurement: Measurement, options: ReportOptions, style: Style) -> list[str]:
    if not measurement.rusage:
        return []
    rows = []
    for row in measurement.rusage:
        if row.field in MEANINGLESS_USAGE and not options.every_usage_row:
            continue
        if row.field in ("ru_utime", "ru_stime") and not options.every_usage_row:
            continue
        rows.append((row.description, usage_text(row), joined(row.field, row.remark)))
    lines = [style.bold("resource usage (getrusage)"), *facts(rows, options.width, style.dim)]
    if not options.every_usage_row:
        meaningless = f"n/a on Linux: {', '.join(MEANINGLESS_USAGE)}"
        lines += map(style.dim, filled(meaningless, options.width, "  ", "    "))
    return [*lines, ""]


def _spread_lines(
    measurements: Sequence[Measurement],
    metrics: Sequence[MetricValue],
    hidden: HiddenRows,
    options: ReportOptions,
    style: Style,
) -> list[str]:
    formulas: dict[str, str] = {}
    shown: dict[str, str] = {}
    for metric in metrics:
        shown[metric.name] = _name_of(metric, options)
        if options.formulas:
            formulas[shown[metric.name]] = f"= {metric.formula}"
    left_out = (hidden.events | hidden.metrics) - hidden.shown
    rows: list[tuple[str, ...]] = []
    remarks = []
    for spread in measurement_metrics.repeat_statistics(measurements):
        if spread.name in left_out:
            continue
        s = spread.summary
        # One unit for the row, unless the numbers have prefixes of their own.
        prefixed = spread.unit in _PREFIXED
        numbers = (s.mean, s.telling_half_width, s.deviation, s.minimum, s.maximum)
        rows.append(
            (
                *(quantity(one, spread.unit if prefixed else "") for one in numbers),
                shown.get(spread.name, spread.name),
            )
        )
        how = "" if spread.how is How.COUNTED else spread.how.value
        remarks.append(joined("" if prefixed else spread.unit, how))
    head = ("mean", "± 95 %", "std. dev.", "min", "max", "")
    names = max((len(row[-1]) for row in rows), default=0)
    # With room for the shortest remark; longer ones go below their line.
    shortest = min((len(remark) for remark in remarks if remark), default=0)
    columns = [0, 1, 2, 3, 4]
    dropped = []
    for column in (2, 4, 3):  # the order in which columns are given up
        cells = sum(2 + max(len(row[at]) for row in (head, *rows)) for at in columns)
        if 2 + names + cells + 2 + shortest <= options.width:
            break
        columns.remove(column)
        dropped.append(head[column])
    wide = [max(len(row[at]) for row in (head, *rows)) for at in columns]

    def line_of(name: str, row: Sequence[str]) -> str:
        cells = "  ".join(row[at].rjust(width) for at, width in zip(columns, wide, strict=True))
        return f"  {name:<{names}}  {cells}"

    lines = [style.bold(line_of("", head))]
    for row, remark in zip(rows, remarks, strict=True):
        line = line_of(row[-1], row)
        beside = remark and len(line) + 2 + len(remark) <= options.width
        lines.append(f"{line}  {remark}" if beside else line)
        below = joined("" if beside else remark, formulas.get(row[-1], ""))
        lines += map(style.dim, filled(below, options.width, "      ", "        "))
    if dropped:
        lines.append(style.dim(f"  no room for {', '.join(dropped)}; --json has them"))
    endings = sorted({_ending(one) for one in measurements})
    if len(endings) > 1:
        lines.append(f"  repetitions ended differently: {', '.join(endings)}")
    return [*lines, ""]


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
