"""The screen that `gnomon run` ends with: times, top regions and metrics, what was missing."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gnomon.layout import filled, shortened
from gnomon.model.collected import rows_of
from gnomon.units import duration, printable, quantity

if TYPE_CHECKING:
    from gnomon.cli.gather import Finished

_REGIONS = 5
_METRICS = 6
_REASONS = 3
_WARNINGS = 3
_NAME = 40
# Of the measured ones those that say most first; the rest in the order of the tables.
_FIRST = ("instructions", "cycles", "task-clock", "page-faults", "context-switches", "ru_maxrss")
# Of functions and lines, on the emulated PMU; times are not the program's there.
_INSTRUCTIONS = "PAPI_TOT_INS"
_CPU = "task-clock"
_FEWEST_PROGRAMS = 2
_TIMES = ("wall time", "user time", "system time")


def text(made: Finished, width: int) -> str:
    """Return the summary of a run, at most a screen of 24 lines where names are short."""
    head = made.head
    what = printable(shlex.join(head["command"]))
    status = "status not known" if head["exit_status"] is None else f"exit {head['exit_status']}"
    ranks = f", {head['ranks']} ranks" if head["ranks"] > 1 else ""
    lines = ["", f"{what[: width - 30]}  [{status}{ranks}]", *_times(made)]
    lines += list(_regions(made, width)) or list(_programs(made))
    lines += _metrics(made)
    lines += _missing(head, width)
    for note in head["warnings"][:_WARNINGS]:
        lines += filled(f"note: {printable(note)}", width, "", "      ")
    if len(head["warnings"]) > _WARNINGS:
        more = len(head["warnings"]) - _WARNINGS
        lines.append(f"note: {more} more: gnomon report {_word(made)} run")
    lines.append(f"look at it: gnomon view {_word(made)}")
    return "\n".join(lines) + "\n"


def _word(made: Finished) -> str:
    return shlex.quote(str(made.path))


def _of_command(made: Finished) -> dict[str, tuple[float, dict[str, Any]]]:
    metrics = {row["metric"]: row for row in rows_of(made.tables, "metrics")}
    return {
        str(metrics[row["metric"]]["name"]): (float(row["inclusive"] or 0), metrics[row["metric"]])
        for row in rows_of(made.tables, "profile")
        if row["location"] == 0 and row["path"] == 0
    }


def _times(made: Finished) -> Iterator[str]:
    values = _of_command(made)
    found = {name: values[name][0] for name in _TIMES if name in values}
    if not found:
        yield "  time: not known"
        return
    wall = found.get("wall time", 0.0)
    parts = [f"{name.split()[0]} {duration(ns)}" for name, ns in found.items()]
    used = sum(ns for name, ns in found.items() if name != "wall time")
    if wall > 0:
        parts.append(f"{used / wall:.2f} CPUs busy")
    yield "  time: " + ", ".join(parts)


class _Sums(NamedTuple):
    """What a region came to over all processes and threads; None where one has no value."""

    inclusive: float
    exclusive: float | None
    calls: float
    place: str


def _regions(made: Finished, width: int) -> Iterator[str]:
    """Yield the regions with most of the metric that most regions have: time, or instructions."""
    for wanted in (_INSTRUCTIONS, "wall time"):
        unit, totals = _sums(made, wanted)
        if not totals:
            continue
        is_exclusive = all(one.exclusive is not None for one in totals.values())
        has_calls = any(one.calls for one in totals.values())
        # A value of its own, the calls and what is between take the rest of the line.
        wide = min(max(width - 52, 24), _NAME)
        heads = (["exclusive"] if is_exclusive else []) + ["inclusive"]
        words = "".join(f"{head:>12}" for head in heads) + ("     calls" if has_calls else "")
        ordered = sorted(totals.items(), key=lambda one: -(one[1].exclusive or one[1].inclusive))
        yield f"  {f'top regions by {wanted}':<{wide + 2}}{words}"
        for name, one in ordered[:_REGIONS]:
            values = [one.exclusive, one.inclusive] if is_exclusive else [one.inclusive]
            cells = "".join(f"{quantity(value or 0, unit):>12}" for value in values)
            calls = f"{one.calls:,.0f}".replace(",", " ") if one.calls else ""
            line = f"    {shortened(printable(name), wide):<{wide}}{cells}{calls:>10}"
            fits = len(line) + len(one.place) + 2 <= width
            yield (f"{line}  {one.place}" if fits else line).rstrip()
        return


def _sums(made: Finished, wanted: str) -> tuple[str, dict[str, _Sums]]:
    paths = {row["path"]: row for row in rows_of(made.tables, "paths")}
    regions = {row["region"]: row for row in rows_of(made.tables, "regions")}
    metrics = {row["metric"]: row for row in rows_of(made.tables, "metrics")}
    totals: dict[str, _Sums] = {}
    unit = ""
    for row in rows_of(made.tables, "profile"):
        metric = metrics[row["metric"]]
        path = paths[row["path"]]
        if path["parent"] == -1 or metric["name"] != wanted:
            continue
        unit = str(metric["unit"])
        region = regions[path["region"]]
        place = f"{Path(str(region['file'])).name}:{region['line']}" if region["line"] else ""
        name = str(region["name"]) or "(no symbol)"
        known = totals.get(name, _Sums(0.0, 0.0, 0.0, place))
        own = row["exclusive"]
        # What a region calls itself is in its outermost call already.
        above, is_outermost = path["parent"], True
        while above != -1 and is_outermost:
            is_outermost = paths[above]["region"] != path["region"]
            above = paths[above]["parent"]
        totals[name] = _Sums(
            known.inclusive + (float(row["inclusive"] or 0) if is_outermost else 0.0),
            None if own is None or known.exclusive is None else known.exclusive + float(own),
            known.calls + float(row["calls"] or 0),
            place if place == known.place else "",
        )
    return unit, totals


def _programs(made: Finished) -> Iterator[str]:
    """Yield the programs of a command that ran several, by the CPU time of their processes."""
    metrics = {row["name"]: row["metric"] for row in rows_of(made.tables, "metrics")}
    names = {
        row["location"]: str(row["name"])
        for row in rows_of(made.tables, "locations")
        if row["kind"] == "process"
    }
    totals: dict[str, list[float]] = {}
    for row in rows_of(made.tables, "profile"):
        if row["metric"] == metrics.get(_CPU) and row["path"] == 0 and row["location"] in names:
            sums = totals.setdefault(names[row["location"]], [0.0, 0])
            sums[0] += float(row["inclusive"] or 0)
            sums[1] += 1
    if len(totals) < _FEWEST_PROGRAMS:
        return
    yield f"  top programs by {_CPU}:"
    for name, (value, n) in sorted(totals.items(), key=lambda one: -one[1][0])[:_REGIONS]:
        ran = f"{n:,.0f} process{'' if n == 1 else 'es'}"
        yield f"    {printable(name)[:_NAME]:<{_NAME}} {duration(value):>12}  {ran}"


def _metrics(made: Finished) -> Iterator[str]:
    values = {name: one for name, one in _of_command(made).items() if name not in _TIMES}
    ordered = [name for name in _FIRST if name in values]
    ordered += [name for name in values if name not in ordered]
    if not ordered:
        return
    yield "  top metrics:"
    for name in ordered[:_METRICS]:
        value, metric = values[name]
        unit = str(metric["unit"])
        yield f"    {printable(name)[:_NAME]:<{_NAME}} {quantity(value, unit):>12}  {metric['how']}"


def _missing(head: Mapping[str, Any], width: int) -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for one in head["unavailable"]:
        # Of the whole command and of sections it is the same reason most often.
        reason = str(one["reason"])
        common = reason.removeprefix("in sections: ")
        names = by_reason.setdefault(common if common in by_reason else reason, [])
        if one["event"] not in names:
            names.append(str(one["event"]))
    for reason, names in list(by_reason.items())[:_REASONS]:
        some = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        yield from filled(printable(f"not available: {some}: {reason}"), width, "  ", "    ")
    if len(by_reason) > _REASONS:
        yield f"  not available: {len(by_reason) - _REASONS} more reasons: gnomon doctor"
    for one in head["capabilities"]:
        if not one["used"] and not one["available"]:
            yield from filled(
                printable(f"not available: {one['name']}: {one['reason']}; {one['remedy']}"),
                width, "  ", "    ",
            )  # fmt: skip
